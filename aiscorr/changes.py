"""Tells to which views a table is another one than before: those that use a row and a column that changed.

The rows that a view uses are counted, before and after, and where they are as many their columns summed up. Of the
stored tables it is the rows of the files that an ingest reads, which are all that it changes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiscorr.inputs import Use
from aiscorr.tables import FILE_TABLES, INGESTED_FILE

if TYPE_CHECKING:
    import duckdb

Readers = Mapping[str, Use]
#: With more files, or more rows of them in a table, it takes too long to look which views use them.
_MANY_FILES = 500
_MANY_ROWS = 100_000


@dataclass(frozen=True)
class _Side:
    """A table as one connection sees it."""

    connection: duckdb.DuckDBPyConnection
    relation: str

    def values(self, columns: Collection[str]) -> list[Any]:
        """The only row of a select from it."""
        return list(self.connection.execute(f"select {', '.join(columns)} from {self.relation}").fetchall()[0])


def that_see(connection: duckdb.DuckDBPyConnection, tables: tuple[str, str], readers: Readers) -> set[str]:
    """The readers that use other columns and rows of the first table than of the second."""
    before, after = (_Side(connection, table) for table in tables)
    return _that_see(before, after, readers)


def that_see_files(
    connection: duckdb.DuckDBPyConnection, table: str, file_ids: Collection[int], readers: Readers
) -> set[str]:
    """The readers that use other columns and rows of a stored table than before the open transaction.

    `file_ids`: the files of which rows came and went.
    """
    if not readers or len(file_ids) > _MANY_FILES or table not in _BY_FILE:
        return set(readers)
    which = "" if table == INGESTED_FILE.name else f" where file_id in ({', '.join(map(str, file_ids)) or 'null'})"
    with contextlib.closing(connection.cursor()) as outside:
        before, after = (_Side(one, f"{table}{which}") for one in (outside, connection))
        if max(*before.values(["count(*)"]), *after.values(["count(*)"])) > _MANY_ROWS:
            return set(readers)
        return _that_see(before, after, readers)


_BY_FILE = frozenset(table.name for table in (INGESTED_FILE, *FILE_TABLES))


def _that_see(before: _Side, after: _Side, readers: Readers) -> set[str]:
    if not readers:
        return set()
    columns = [row[0] for row in after.connection.execute(f"from {after.relation} limit 0").description]
    conditions = {reader: use.condition(columns) for reader, use in readers.items()}
    asked = list(dict.fromkeys(conditions.values()))
    counts = [f"count(*) filter (where {condition})" for condition in asked]
    numbers = dict(zip(asked, zip(before.values(counts), after.values(counts), strict=True), strict=True))
    alike = {condition for condition, (one, other) in numbers.items() if one == other}
    parts = {
        reader: (used, condition)
        for reader, condition in conditions.items()
        if condition in alike and numbers[condition] != (0, 0) and (used := readers[reader].columns(columns))
    }
    asked_parts = list(dict.fromkeys(parts.values()))
    sums = [f"sum(hash({', '.join(used)})) filter (where {condition})" for used, condition in asked_parts]
    pairs = zip(before.values(sums), after.values(sums), strict=True) if sums else ()
    other = {part for part, (old, new) in zip(asked_parts, pairs, strict=True) if old != new}
    return {reader for reader, condition in conditions.items() if condition not in alike or parts.get(reader) in other}
