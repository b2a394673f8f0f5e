"""Tells of parsed SQL whether a column that a star takes has to be named somewhere to matter to what the SQL gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

Node = dict[str, Any]


def objects(tree: Any, *without: str, is_one_select: bool = False) -> Iterator[Node]:
    """Every object of a tree, those below the named keys of its root left out, and selects in it if so wished."""
    waiting = [tree]
    while waiting:
        at = waiting.pop()
        below = at
        if isinstance(at, dict):
            yield at
            below = [at[key] for key in at if key not in without and not (is_one_select and key == "subquery")]
        waiting += [part for part in reversed(below) if isinstance(part, (dict, list))]
        without = ()


def stars_of(select: Node) -> list[Node]:
    """The stars in what one select gives, or asks for in another place than its `from`."""
    own = objects(select, "from_table", "cte_map", is_one_select=True)
    return [node for node in own if node.get("type") == "STAR"]


def are_named_later(root: Node, nodes: Sequence[Node]) -> bool:
    """Whether every column that a star takes is lost where no name asks for it; `nodes`: all objects below the root.

    It is not where rows are compared whole, columns are told by their place, or a star stands in what the root gives.
    A star of a common table that names all its columns takes none but by name.
    """
    plain = _plain_tables(root)
    starred = [node for node in nodes if node.get("type") == "SELECT_NODE" and not _is_of(node, plain)]
    kept = [*_selects(root), *(select for node in nodes for select in _by_place(node))]
    if any(one is other for one in starred for other in kept):
        return False
    if any(node.get("aliases") or node.get("column_name_alias") for node in nodes):
        return False
    return all(_is_simple(select) for select in starred)


def _plain_tables(root: Node) -> set[str]:
    """The common tables of the root that name all their columns, or take them with a star from such a one."""
    plain: set[str] = set()
    for entry in root.get("cte_map", {}).get("map", ()):
        value, name = entry["value"], entry["key"].lower()
        query = value.get("query_node") or value.get("query", {}).get("node")
        if (
            query
            and name not in map(called, objects(query))
            and all(_is_of(select, plain) for select in _selects(query))
        ):
            plain.add(name)
    return plain


def _is_of(select: Node, plain: set[str]) -> bool:
    """Whether the stars of a select, if it has any, take columns of these common tables alone."""
    named = {star["relation_name"].lower() for star in stars_of(select)}
    parts = [part for part in sources(select["from_table"]) if part["type"] != "JOIN"]
    taken = parts if "" in named else [part for part in parts if called(part) in named]
    return named <= {"", *map(called, taken)} and all(part.get("table_name", "").lower() in plain for part in taken)


def sources(table: Node) -> Iterator[Node]:
    """What a `from` joins, and the joins; selects inside it are looked at on their own."""
    yield table
    if table["type"] == "JOIN":
        yield from sources(table["left"])
        yield from sources(table["right"])


def called(table: Node) -> str:
    """The name by which a select calls what stands in its `from`."""
    return str(table.get("alias") or table.get("table_name") or "").lower()


def _is_simple(select: Node) -> bool:
    """Neither distinct nor grouped by all, and the names are those of the table."""
    is_whole = any(node["type"] == "DISTINCT_MODIFIER" for node in select["modifiers"])
    is_odd = any(star["columns"] or star["expr"] or star["rename_list"] for star in stars_of(select))
    return not is_whole and not is_odd and select["aggregate_handling"] == "STANDARD_HANDLING"


def _by_place(node: Node) -> Iterator[Node]:
    """The selects whose columns an object takes by their place, or compares."""
    if node.get("class") == "SUBQUERY" and node["subquery_type"] != "EXISTS":
        yield from _selects(node["subquery"].get("node", node["subquery"]))
    if node.get("type") == "RECURSIVE_CTE_NODE":
        yield from _selects(node)
    if node.get("type") == "SET_OPERATION_NODE" and not (node["setop_type"] == "UNION_BY_NAME" and node["setop_all"]):
        yield from _selects(node)


def _selects(node: Node) -> Iterator[Node]:
    """The selects that give the rows of a statement, a union or a common table."""
    if node.get("type") == "SELECT_NODE":
        yield node
        return
    for part in node.get("children") or (node.get("left"), node.get("right")):
        if part is not None:
            yield from _selects(part)
