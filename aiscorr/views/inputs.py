"""Says which columns and rows of which tables a view stands on, from its SQL as DuckDB parses it.

A column counts as used where its name stands in a select from the table, or below that, or anywhere where a star takes
it (stars.py): one told of too much costs a view computed in vain, one too little would leave it stale. Rows are used
where a condition on them holds (row_uses.py), all of them where a mention of the table has none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from aiscorr import cache
from aiscorr.store.database import in_memory
from aiscorr.views.row_uses import Condition, Rows, conditions
from aiscorr.views.spec import ViewSpec
from aiscorr.views.stars import are_named_later, called, objects, sources, stars_of

if TYPE_CHECKING:
    import duckdb

#: Names of columns, some of which may be of other tables; none where every column is used.
Names = frozenset[str] | None
_READER_VERSION = "7"


@dataclass(frozen=True)
class Use:
    """What a view uses of a table: names of columns, and the rows for which one of the conditions holds."""

    names: Names
    rows: Rows

    def __or__(self, other: Use) -> Use:
        names = None if self.names is None or other.names is None else self.names | other.names
        return Use(names, None if self.rows is None or other.rows is None else self.rows | other.rows)

    def columns(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Those of the table's columns that it uses, be it to tell its rows."""
        if self.names is None:
            return tuple(columns)
        used = self.names.union(*(row.names for row in self.rows or ()))
        return tuple(name for name in columns if name.lower() in used)

    def condition(self, columns: Sequence[str]) -> str:
        """SQL that holds for the rows that it uses; a condition with a name that is no column was of something else."""
        rows = () if self.rows is None else sorted(self.rows, key=lambda row: row.sql)
        own = {name.lower() for name in columns}
        return " or ".join(row.sql for row in rows) if rows and all(row.names <= own for row in rows) else "true"


_EVERYTHING = Use(None, None)


@lru_cache(maxsize=2)
def view_uses(specs: Sequence[ViewSpec]) -> dict[str, dict[str, Use]]:
    """For each view the tables and stored views it stands on, also by way of views, with what it uses of them."""
    mentioned = _all_mentions(specs)
    is_plain = {spec.name for spec in specs if not spec.is_stored}
    uses: dict[str, dict[str, Use]] = {}
    for spec in specs:
        own: dict[str, Use] = {}
        for name in spec.reads:
            more = uses[name] if name in is_plain else {name: mentioned[spec.name].get(name, _EVERYTHING)}
            for source, use in more.items():
                own[source] = own[source] | use if source in own else use
        uses[spec.name] = own
    return uses


def _all_mentions(specs: Sequence[ViewSpec]) -> dict[str, dict[str, Use]]:
    """What the views mention, kept from one run to the next: parsing all of them takes longer than a small ingest."""
    import duckdb

    def make() -> bytes:
        with in_memory() as connection:
            found = {spec.name: _of_inputs(spec, mentions(connection, spec.select)) for spec in specs}
        return json.dumps(found, default=_plain).encode()

    key = cache.key_of(
        (_READER_VERSION, duckdb.__version__, *(f"{spec.name} {spec.reads} {spec.select}" for spec in specs))
    )
    return cache.cached_json(f"columns-{key}.json", make, _uses)


def _uses(held: dict[str, dict[str, dict[str, Any]]]) -> dict[str, dict[str, Use]]:
    """As they were before they became JSON."""
    return {view: {table: _use(**parts) for table, parts in found.items()} for view, found in held.items()}


def _of_inputs(spec: ViewSpec, found: dict[str, Use]) -> dict[str, Use]:
    """What is mentioned of the inputs; common tables are left out."""
    return {name: use for name, use in found.items() if name in spec.reads}


def _plain(value: Use | Condition | frozenset[Any]) -> object:
    """As JSON has it."""
    return sorted(value, key=str) if isinstance(value, frozenset) else value.__dict__


def _use(names: list[str] | None, rows: list[dict[str, Any]] | None) -> Use:
    some = None if rows is None else frozenset(Condition(row["sql"], frozenset(row["names"])) for row in rows)
    return Use(None if names is None else frozenset(names), some)


def mentions(connection: duckdb.DuckDBPyConnection, select: str) -> dict[str, Use]:
    """The tables that a select mentions, with what it uses of them."""
    (text,) = connection.execute("select json_serialize_sql(?)", [select]).fetchall()[0]
    tree = json.loads(text)
    nodes = list(objects(tree))
    tables = [node for node in nodes if node.get("type") == "BASE_TABLE"]
    found = {table["table_name"] for table in tables}
    if tree["error"] or _is_unnamed(nodes):
        return dict.fromkeys(found, _EVERYTHING)
    rows = _as_rows(nodes, tables)
    # a table named where a value is wanted is the whole row; names given to its columns hide theirs
    whole = {t["table_name"] for t in tables if called(t) in rows or t["column_name_alias"]}
    subqueries = {node["alias"].lower() for node in nodes if node.get("type") == "SUBQUERY" and "subquery" in node}
    is_lost = not (whole or subqueries & rows) and are_named_later(tree["statements"][0]["node"], nodes)
    with_numbers = _numbered(nodes)
    numbered = {t["table_name"] for t in tables if called(t) in with_numbers}
    names: dict[str, set[str]] = {}
    for node in nodes:
        if node.get("type") == "SELECT_NODE":
            some = set(_starred(node))
            whole |= set() if is_lost else some
            for table, own in _named(node, {t["alias"] or t["table_name"] for t in tables}):
                names.setdefault(table, set()).update(own, _all_names(nodes) if table in some else ())
    some_rows = conditions(connection, nodes)
    told = {table: frozenset(names[table]) for table in found - whole - numbered if table in names}
    used = {table: Use(told.get(table), some_rows.get(table)) for table in sorted(found)}
    return used | dict.fromkeys(numbered, _EVERYTHING)


def _references(nodes: list[dict[str, Any]]) -> list[list[str]]:
    """Every name of a column in the SQL, in its parts."""
    return [[*map(str.lower, node["column_names"])] for node in nodes if node.get("type") == "COLUMN_REF"]


def _as_rows(nodes: list[dict[str, Any]], tables: list[dict[str, Any]]) -> set[str]:
    """The last parts of names that may be tables as values: not where a table stands in front of its column."""
    known = {called(table) for table in tables} | {
        str(node.get("alias", "")).lower() for node in nodes if node.get("type") == "SUBQUERY"
    }
    return {name[-1] for name in _references(nodes) if len(name) == 1 or name[0] not in known}


def _numbered(nodes: list[dict[str, Any]]) -> set[str]:
    """What the tables are called of which the SQL takes the numbers of rows."""
    return {name[-2] for name in _references(nodes) if len(name) > 1 and name[-1] == "rowid"}


def _is_unnamed(nodes: list[dict[str, Any]]) -> bool:
    """Whether columns are used without a name that stands in the SQL, or rows of an unnamed table by their numbers."""
    odd = ("PIVOT", "SHOW_REF", "POSITIONAL_REFERENCE", "NATURAL")
    is_odd = any(node.get("type") in odd or node.get("ref_type") in odd for node in nodes)
    joined = [name for node in nodes for name in node.get("using_columns", ())]
    return is_odd or ["rowid"] in _references(nodes) or "rowid" in map(str.lower, joined)


def _all_names(nodes: list[dict[str, Any]]) -> set[str]:
    names = {name.lower() for node in nodes if node.get("type") == "COLUMN_REF" for name in node["column_names"]}
    return names | {name.lower() for node in nodes for name in node.get("using_columns", ())}


def _named(select: dict[str, Any], aliases: set[str]) -> Iterator[tuple[str, set[str]]]:
    """The tables in the `from` of one select, each with the names in the select that may be of its columns."""
    below = list(objects(select, "cte_map"))
    names = [node["column_names"] for node in below if node.get("type") == "COLUMN_REF"]
    joined = {name.lower() for node in below for name in node.get("using_columns", ())}
    for source in sources(select["from_table"]):
        if source["type"] == "BASE_TABLE":
            own_name = source["alias"] or source["table_name"]
            own = [name[1:] if name[0] == own_name and len(name) > 1 else name for name in names
                   if len(name) == 1 or name[0] == own_name or name[0] not in aliases]  # fmt: skip
            yield source["table_name"], {part.lower() for name in own for part in name} | joined


def _starred(select: dict[str, Any]) -> Iterator[str]:
    """The tables in the `from` of one select that a star of its own takes."""
    stars = {star["relation_name"] for star in stars_of(select)}
    for node in sources(select["from_table"]):
        if node["type"] == "BASE_TABLE" and not stars.isdisjoint(("", node["alias"] or node["table_name"])):
            yield node["table_name"]
