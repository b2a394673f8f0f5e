"""Which views cannot have a row, because a table that they select from has none, and what columns they have.

Nearly all that a view costs is reading its SQL, with many rows or none, and most logs have no dumps, no stacks, no slow
steps. What a view needs is inferred from its SQL as DuckDB parses it: of joined tables that must have a row each, of a
union one side. Its columns are known from the last time that it was computed without rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache, reduce
from itertools import product
from typing import TYPE_CHECKING, Any

from aiscorr import cache
from aiscorr.analysis.spec import ViewSpec, view_specs, views_key
from aiscorr.store.database import in_memory

if TYPE_CHECKING:
    import duckdb

_VERSION = "2"
#: Sets of names: of one of them, all must have rows. None: it may have rows whatever else has none.
Needs = frozenset[frozenset[str]] | None
_Node = dict[str, Any]
#: The columns of each table, as another is made of them.
_COLUMNS = """
select table_name, string_agg('"' || column_name || '" ' || data_type, ', ' order by column_index)
from duckdb_columns()
group by table_name
"""
#: So many sets are not told apart any more.
_MANY = 32


class Presence:
    """Which tables and views have rows, as they become known; `with_rows`: tables of which that is known at first."""

    def __init__(self, with_rows: Iterable[str], *, is_patient: bool = False) -> None:
        self._known = cache.kept(_file(), lambda data: dict(json.loads(data))) or {}
        # to parse all views takes as long as to compute some of them, and is of no use without their columns
        self._needs = (needs_of_views() if is_patient and self._known else _known_needs()) or {}
        self._with_rows = set(with_rows)

    def may_have_rows(self, spec: ViewSpec) -> bool:
        """Whether all that it needs has rows."""
        needs = self._needs.get(spec.name)
        return needs is None or any(self._with_rows.issuperset(names) for names in needs)

    def columns(self, spec: ViewSpec) -> str | None:
        """The columns of a view that cannot have rows, as a table is made of them; None where they are not known."""
        return None if self.may_have_rows(spec) else self._known.get(spec.name)

    def has_rows(self, name: str) -> bool:
        """Whether a table or view has rows, or is not known to have none."""
        return name in self._with_rows

    def note(self, spec: ViewSpec, row_count: int | None) -> None:
        """Notes how many rows a view has; None for one that is not computed."""
        if row_count or (row_count is None and self.may_have_rows(spec)):
            self._with_rows.add(spec.name)

    def keep(self, connection: duckdb.DuckDBPyConnection, tables: Mapping[str, str]) -> None:
        """Keeps the columns of views that have no rows now; `tables`: by view, the table of its rows."""
        new = {view for view in tables if view not in self._known and not self.has_rows(view)}
        if new:
            held = dict(connection.execute(_COLUMNS).fetchall())
            found = {view: held[tables[view]] for view in new}
            cache.keep(_file(), json.dumps({**self._known, **found}).encode())


def definition(rows: duckdb.DuckDBPyRelation) -> str:
    """The columns of a relation, as a table is made of them."""
    return ", ".join(f'"{name}" {kind}' for name, kind in zip(rows.columns, rows.types, strict=True))


def _file() -> str:
    return f"columns-{views_key()}.json"


def _known_needs() -> Mapping[str, Needs] | None:
    """What each view needs, where that was inferred from its SQL before."""
    return cache.kept(_needs_file(), _read_needs)


def _needs_file() -> str:
    return f"needs-{_VERSION}-{views_key()}.json"


def _read_needs(data: bytes) -> dict[str, Needs]:
    held = json.loads(data)
    return {name: None if some is None else frozenset(map(frozenset, some)) for name, some in held.items()}


def needs_of_views() -> Mapping[str, Needs]:
    """What each view needs to have a row."""

    def make() -> bytes:
        with in_memory() as connection:
            found = {spec.name: needs(connection, spec.select) for spec in view_specs()}
        return json.dumps(
            {name: None if some is None else [sorted(names) for names in some] for name, some in found.items()}
        ).encode()

    return cache.cached(_needs_file(), make, _read_needs)


def needs(connection: duckdb.DuckDBPyConnection, select: str) -> Needs:
    """What a select needs to have a row; a condition on rows is not looked at, but that other rows exist is."""
    (text,) = connection.execute("select json_serialize_sql(?)", [select]).fetchall()[0]
    tree = json.loads(text)
    return None if tree["error"] else _of_node(tree["statements"][0]["node"], {})


def _of_node(node: _Node, steps: Mapping[str, Needs]) -> Needs:
    """`steps`: the common tables before it."""
    own = dict(steps)
    for entry in node["cte_map"]["map"]:
        own[entry["key"]] = _of_node(_query_of(entry["value"]), own)
    if node["type"] == "SET_OPERATION_NODE":
        sides = [_of_node(side, own) for side in node.get("children") or (node["left"], node["right"])]
        return reduce(_either, sides) if node["setop_type"].startswith("UNION") else sides[0]
    if node["type"] != "SELECT_NODE" or _gives_a_row_of_none(node):
        return None
    return _both(_of_source(node["from_table"], own), _of_condition(node["where_clause"], own))


def _query_of(value: _Node) -> _Node:
    """The select of a common table: DuckDB 1.5 wraps it once more."""
    return value["query_node"] if "query_node" in value else value["query"]["node"]  # type: ignore[no-any-return]


def _gives_a_row_of_none(select: _Node) -> bool:
    """Whether a select gives a row where what it selects from has none: an aggregate without groups does."""
    if len(select["group_sets"]) > 1:
        return True
    return not select["group_expressions"] and (select["having"] is not None or _has_aggregate(select["select_list"]))


def _of_source(source: _Node, steps: Mapping[str, Needs]) -> Needs:
    """What a `from` needs."""
    if source["type"] == "BASE_TABLE":
        name = source["table_name"]
        return steps[name] if name in steps else frozenset([frozenset([name])])
    if source["type"] == "SUBQUERY":
        return _of_node(source["subquery"]["node"], steps)
    if source["type"] != "JOIN" or source["ref_type"] not in ("REGULAR", "CROSS", "ASOF"):
        return None
    left, right = (_of_source(source[side], steps) for side in ("left", "right"))
    kind = source["join_type"]
    if kind in ("INNER", "SEMI"):
        return _both(left, right)
    return {"LEFT": left, "ANTI": left, "RIGHT": right}.get(kind)


def _of_condition(condition: _Node | None, steps: Mapping[str, Needs]) -> Needs:
    """What a `where` needs: each select of which a row must exist, or hold a value."""
    if condition is None:
        return None
    if condition["type"] == "CONJUNCTION_AND":
        found: Needs = None
        for child in condition["children"]:
            found = _both(found, _of_condition(child, steps))
        return found
    if condition["type"] == "SUBQUERY" and condition["subquery_type"] in ("EXISTS", "ANY"):
        return _of_node(condition["subquery"]["node"], steps)
    return None


def _both(one: Needs, other: Needs) -> Needs:
    if one is None or other is None:
        return other if one is None else one
    return _few(frozenset(left | right for left, right in product(one, other))) or one


def _either(one: Needs, other: Needs) -> Needs:
    return None if one is None or other is None else _few(one | other)


def _few(some: frozenset[frozenset[str]]) -> Needs:
    """Without those that need more than another; None where there are too many."""
    least = frozenset(names for names in some if not any(other < names for other in some))
    return least if len(least) <= _MANY else None


@lru_cache(maxsize=1)
def _aggregates() -> frozenset[str]:
    with in_memory() as connection:
        sql = "select distinct function_name from duckdb_functions() where function_type = 'aggregate'"
        return frozenset(row[0] for row in connection.execute(sql).fetchall())


def _has_aggregate(tree: Any) -> bool:
    """Whether an expression aggregates: then a select without groups gives a row of no rows."""
    if isinstance(tree, list):
        return any(map(_has_aggregate, tree))
    if not isinstance(tree, dict) or tree.get("class") == "SUBQUERY":
        return False
    if tree.get("class") == "FUNCTION" and tree["function_name"].lower() in _aggregates():
        return True
    return any(_has_aggregate(child) for key, child in tree.items() if isinstance(child, dict | list))
