"""Finds in the parsed SQL of a view the conditions that rows of a table have to meet to matter to it.

A condition counts where a row for which it does not hold cannot change what the select gives: it stands in `where` or
`on`, names columns of this table alone, and no join on the way keeps or chooses rows before it is asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiscorr.views.stars import Node, objects

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Condition:
    """SQL that holds for some rows of a table, and the names of the columns in it."""

    sql: str
    names: frozenset[str]


#: Conditions of which one holds for each row that is used; none where every row is.
Rows = frozenset[Condition] | None
#: What a condition may be made of: nothing that looks at other rows, and no cast, which may fail where it is not asked.
_PLAIN = frozenset(("COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "FUNCTION", "OPERATOR", "BETWEEN", "CASE"))
#: By kind of join: whether conditions after it reach rows on its left and right, and whether those of its `on` do.
_REACH = {
    ("REGULAR", "INNER"): (True, True, True, True),
    ("REGULAR", "LEFT"): (True, False, False, True),
    ("REGULAR", "RIGHT"): (False, True, True, False),
    ("REGULAR", "SEMI"): (True, False, True, True),
    ("REGULAR", "ANTI"): (True, False, False, True),
    ("CROSS", "INNER"): (True, True, True, True),
    ("ASOF", "INNER"): (True, False, False, False),
    ("ASOF", "LEFT"): (True, False, False, False),
}
_NOWHERE = (False, False, False, False)
_AND = {"class": "CONJUNCTION", "type": "CONJUNCTION_AND", "alias": "", "query_location": 0}


def conditions(connection: duckdb.DuckDBPyConnection, nodes: Sequence[Node]) -> dict[str, frozenset[Condition]]:
    """The tables every mention of which has conditions, with those; `nodes`: all objects of the parsed SQL."""
    (bare,) = connection.execute("select json_serialize_sql('select 1 where true')").fetchall()[0]
    found: dict[str, set[Condition | None]] = {}
    for node in nodes:
        if node.get("type") != "SELECT_NODE":
            continue
        sources = list(_reached(node["from_table"], tuple(_parts(node["where_clause"]))))
        for table, wanted in sources:
            if table["type"] == "BASE_TABLE":
                own = [part for part in wanted if _is_of(part, table, is_only=len(sources) == 1)]
                found.setdefault(table["table_name"], set()).add(_condition(connection, bare, own) if own else None)
    return {name: frozenset(one for one in some if one) for name, some in found.items() if None not in some}


def _reached(table: Node, wanted: tuple[Node, ...]) -> Iterator[tuple[Node, tuple[Node, ...]]]:
    """What a `from` joins, each with the conditions that reach its rows."""
    if table["type"] != "JOIN":
        yield table, wanted
        return
    after_left, after_right, on_left, on_right = _REACH.get((table["ref_type"], table["join_type"]), _NOWHERE)
    own = tuple(_parts(table["condition"]))
    yield from _reached(table["left"], wanted * after_left + own * on_left)
    yield from _reached(table["right"], wanted * after_right + own * on_right)


def _parts(condition: Node | None) -> Iterator[Node]:
    """What is joined by `and`."""
    if condition is not None and condition["type"] == "CONJUNCTION_AND":
        for child in condition["children"]:
            yield from _parts(child)
    elif condition is not None:
        yield condition


def _is_of(condition: Node, table: Node, *, is_only: bool) -> bool:
    """Whether a condition is plain and names columns of this table alone: bare names are its where it stands alone."""
    called = table["alias"] or table["table_name"]
    found = list(_expressions(condition))
    names = [node["column_names"] for node in found if node["class"] == "COLUMN_REF"]
    is_whole = not table["column_name_alias"] and table["sample"] is None
    is_plain = is_whole and bool(names) and all(node["class"] in _PLAIN for node in found)
    return is_plain and all(name[:-1] == [called] or (len(name) == 1 and is_only) for name in names)


def _condition(connection: duckdb.DuckDBPyConnection, bare: str, parts: Sequence[Node]) -> Condition:
    """The parts as SQL over the columns of their table, without its name; `bare`: a select with another condition."""
    statement = json.loads(bare)
    own = [_unqualified(part) for part in parts]
    statement["statements"][0]["node"]["where_clause"] = {**_AND, "children": own} if len(own) > 1 else own[0]
    (sql,) = connection.execute("select json_deserialize_sql(?)", [json.dumps(statement)]).fetchall()[0]
    found = (node for part in parts for node in _expressions(part))
    names = frozenset(node["column_names"][-1].lower() for node in found if node["class"] == "COLUMN_REF")
    return Condition(str(sql).partition(" WHERE ")[2], names)


def _expressions(tree: Any) -> Iterator[Node]:
    """Every expression of a tree, from the root on."""
    return (node for node in objects(tree) if "class" in node)


def _unqualified(tree: Any) -> Any:
    """The tree with the last name of each column alone."""
    if isinstance(tree, dict):
        bare = {key: _unqualified(value) for key, value in tree.items()}
        return {**bare, "column_names": tree["column_names"][-1:]} if tree.get("class") == "COLUMN_REF" else bare
    return [_unqualified(value) for value in tree] if isinstance(tree, list) else tree
