"""Says which columns of which tables a view stands on, from its SQL as DuckDB parses it.

A column counts as used where its name, or a star over its table, stands anywhere in the view: a column told of too much
costs a view computed in vain, one too little would leave it stale.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from aiscorr import cache
from aiscorr.store.database import in_memory
from aiscorr.views import ViewSpec

if TYPE_CHECKING:
    import duckdb

#: Names of columns, some of which may be of other tables; none where every column is used.
Names = frozenset[str] | None
_READER_VERSION = "1"


@dataclass(frozen=True)
class Mentions:
    """The names in the SQL of a view, and the tables all of whose columns it takes."""

    names: frozenset[str]
    whole: frozenset[str]


@lru_cache(maxsize=2)
def column_uses(specs: Sequence[ViewSpec]) -> dict[str, dict[str, Names]]:
    """For each view the tables and stored views it stands on, also by way of views, with the names that may be used."""
    mentioned = _all_mentions(specs)
    is_plain = {spec.name for spec in specs if not spec.is_stored}
    uses: dict[str, dict[str, Names]] = {}
    for spec in specs:
        found = mentioned[spec.name]
        own: dict[str, Names] = {}
        for name in spec.reads:
            more = uses[name] if name in is_plain else {name: None if name in found.whole else found.names}
            for source, names in more.items():
                held = own.get(source, frozenset())
                own[source] = None if held is None or names is None else held | names
        uses[spec.name] = own
    return uses


def _all_mentions(specs: Sequence[ViewSpec]) -> dict[str, Mentions]:
    """What the views mention, kept from one run to the next: parsing all of them takes longer than a small ingest."""
    import duckdb

    def make() -> bytes:
        with in_memory() as connection:
            found = {spec.name: mentions(connection, spec.select) for spec in specs}
        return json.dumps({name: [sorted(one.names), sorted(one.whole)] for name, one in found.items()}).encode()

    key = cache.key_of((_READER_VERSION, duckdb.__version__, *(f"{spec.name} {spec.select}" for spec in specs)))
    name = f"columns-{key}.json"
    try:
        held = json.loads(cache.cached(name, make))
    except ValueError:
        cache.drop(name)
        held = json.loads(make())
    return {name: Mentions(frozenset(names), frozenset(whole)) for name, (names, whole) in held.items()}


def mentions(connection: duckdb.DuckDBPyConnection, select: str) -> Mentions:
    """The names that a select mentions."""
    (text,) = connection.execute("select json_serialize_sql(?)", [select]).fetchall()[0]
    tree = json.loads(text)
    nodes = list(_nodes(tree))
    names = {name.lower() for node in nodes if node.get("type") == "COLUMN_REF" for name in node["column_names"]}
    names |= {name.lower() for node in nodes for name in node.get("using_columns", ())}
    tables = [node for node in nodes if node.get("type") == "BASE_TABLE"]
    # a table named where a value is wanted is the whole row; names given to its columns hide theirs
    whole = {t["table_name"] for t in tables if {t["alias"], t["table_name"]} & _last_names(nodes)}
    whole |= {t["table_name"] for t in tables if t["column_name_alias"]}
    unnamed = ("PIVOT", "SHOW_REF", "POSITIONAL_REFERENCE")
    if tree["error"] or "rowid" in names or any(node.get("type") in unnamed for node in nodes):
        whole |= {t["table_name"] for t in tables}
    for node in nodes:
        if node.get("type") == "SELECT_NODE":
            whole |= set(_starred(node))
    return Mentions(frozenset(names), frozenset(whole))


def _last_names(nodes: list[dict[str, Any]]) -> set[str]:
    return {node["column_names"][-1] for node in nodes if node.get("type") == "COLUMN_REF"}


def _starred(select: dict[str, Any]) -> Iterator[str]:
    """The tables in the `from` of one select that a star, or a join by whatever names are alike, takes whole."""
    has_star = any(node.get("type") == "STAR" for node in _nodes(select, "from_table", "cte_map"))
    sources = list(_sources(select["from_table"]))
    if has_star or any(node.get("ref_type") == "NATURAL" for node in sources):
        yield from (node["table_name"] for node in sources if node["type"] == "BASE_TABLE")


def _sources(table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What a `from` joins; selects inside it are looked at on their own."""
    yield table
    if table["type"] == "JOIN":
        yield from _sources(table["left"])
        yield from _sources(table["right"])


def _nodes(tree: Any, *without: str) -> Iterator[dict[str, Any]]:
    """Every object of the tree, those below the named keys of its root left out."""
    if isinstance(tree, dict):
        yield tree
        for key, value in tree.items():
            if key not in without:
                yield from _nodes(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _nodes(value)
