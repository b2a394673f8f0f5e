"""What columns of tables and views mean, and what a view or table is with all of its columns."""

from __future__ import annotations

import difflib
import json
import tomllib
from functools import lru_cache
from importlib.resources import files
from typing import Any

from aiscorr import cache
from aiscorr.analysis.spec import build_views, view_specs, views_key
from aiscorr.errors import UsageError
from aiscorr.schema.tables import TABLES
from aiscorr.store.database import in_memory

_COLUMNS = """
select table_name, column_name, data_type
from duckdb_columns() where not internal and not starts_with(table_name, 'stored_') order by table_name, column_index
"""


@lru_cache(maxsize=1)
def column_file() -> dict[str, Any]:
    """What columns.toml says: a meaning for each column, or a table of them for a view where it means another thing."""
    return tomllib.loads((files("aiscorr.catalog") / "columns.toml").read_text("utf-8"))


@lru_cache(maxsize=1)
def column_meanings() -> dict[str, str]:
    """What each documented column of tables and views means, where its view says nothing else of it."""
    stored = {column.name: column.meaning for table in TABLES for column in table.columns}
    return stored | {name: text for name, text in column_file().items() if isinstance(text, str)}


def own_meanings(view: str) -> dict[str, str]:
    """What columns of this view or stored table mean in it, where it differs."""
    table = next((table for table in TABLES if table.name == view), None)
    stored = {column.name: column.meaning for column in table.columns} if table else {}
    told = column_file().get(view)
    return stored | told if isinstance(told, dict) else stored


def describe(view: str, meanings: dict[str, str]) -> str:
    """What a view or stored table is, and each of its columns. Raises UsageError for an unknown name."""
    specs = {spec.name: spec for spec in view_specs()}
    tables = {table.name: table for table in TABLES}
    if view in specs:
        spec = specs[view]
        head = [
            f"{spec.name}: {spec.sentence}",
            f"grain: {spec.grain}",
            f"note: {spec.note}" if spec.note else "",
            f"reads: {', '.join(spec.reads) or 'nothing'}",
        ]
        columns = list(all_columns()[view].items())
    elif view in tables:
        head = [f"{view}: {tables[view].sentence}", "a table that ingest fills"]
        columns = [(column.name, column.type) for column in tables[view].columns]
    else:
        near = difflib.get_close_matches(view, [*specs, *tables], n=4)
        raise UsageError(
            f"there is no view {view!r}",
            where="--describe",
            try_this=", ".join(near) or (f"aiscorr explain {view[1:]}" if view[:1] == "@" else "aiscorr query --list"),
        )
    meanings = meanings | own_meanings(view)
    sizes = [max(len(item[index]) for item in columns) for index in (0, 1)]
    lines = [line for line in head if line] + [""]
    lines += [f"  {name:<{sizes[0]}}  {kind:<{sizes[1]}}  {meanings.get(name, '')}".rstrip() for name, kind in columns]
    return "\n".join(lines) + "\n"


@lru_cache(maxsize=1)
def all_columns() -> dict[str, dict[str, str]]:
    """The columns of every view and stored table with their types, as a database without rows has them; kept."""

    def make() -> bytes:
        found: dict[str, dict[str, str]] = {}
        with in_memory() as connection:
            for table in TABLES:
                connection.execute(table.create_statement())
            build_views(connection)
            for name, column, kind in connection.execute(_COLUMNS).fetchall():
                found.setdefault(name, {})[column] = kind
        return json.dumps(found).encode()

    return cache.cached_json(f"all-columns-{views_key()}.json", make, dict)
