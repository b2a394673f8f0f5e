"""Tells to which views a table is another one than before: those that use a row and a column that changed.

What a view uses is summed up, before and after. Of the stored tables it is the rows of the files that an ingest reads,
which are all that it changes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiscorr.inputs import Use
from aiscorr.tables import FILE_TABLES, INGESTED_FILE

if TYPE_CHECKING:
    import duckdb

Readers = Mapping[str, Use]
Sums = tuple[Any, ...]
#: With more files, or more rows of them in a table, it takes too long to look which views use them.
_MANY_FILES = 500
_MANY_ROWS = 100_000


@dataclass(frozen=True)
class _Part:
    """Some columns of those rows of a table for which a condition holds."""

    columns: tuple[str, ...]
    condition: str

    @property
    def sums(self) -> str:
        """Two columns that tell whether the part holds what it held, whatever the order of its rows."""
        which = f" filter (where {self.condition})"
        return f"count(*){which}, " + (f"sum(hash({', '.join(self.columns)})){which}" if self.columns else "0")


def that_see(connection: duckdb.DuckDBPyConnection, tables: tuple[str, str], readers: Readers) -> set[str]:
    """The readers that use other columns and rows of the first table than of the second."""
    if not readers:
        return set()
    parts = _parts(connection, tables[0], readers)
    before, after = _sums(connection, tables, parts.values())
    return {reader for reader, part in parts.items() if before[part] != after[part]}


@dataclass(frozen=True)
class Watched:
    """What views saw of the stored tables before rows came and went."""

    relations: dict[str, str]
    before: dict[str, dict[_Part, Sums]]

    def that_see(self, connection: duckdb.DuckDBPyConnection, table: str, readers: Readers) -> set[str]:
        """The readers that use other columns and rows of a table than then."""
        relation = self.relations.get(table)
        if not readers or relation is None or _counts(connection, [relation])[0] > _MANY_ROWS:
            return set(readers)
        parts = _parts(connection, table, readers)
        held = self.before.get(table)
        (after,) = _sums(connection, [relation], parts.values())
        before = {part: (0, None if part.columns else 0) for part in after} if held is None else held
        return {reader for reader, part in parts.items() if before[part] != after[part]}


def watch(connection: duckdb.DuckDBPyConnection, file_ids: Collection[int], readers: Mapping[str, Readers]) -> Watched:
    """Looks at the tables before rows of these files, and of no others, come and go; `readers`: for each table."""
    if len(file_ids) > _MANY_FILES:
        return Watched({}, {})
    which = f"where file_id in ({', '.join(map(str, file_ids)) or 'null'})"
    relations = {table.name: f"(from {table.name} {which})" for table in FILE_TABLES if table.name in readers}
    relations[INGESTED_FILE.name] = INGESTED_FILE.name
    counts = dict(zip(relations, _counts(connection, list(relations.values())), strict=True))
    few = {table: relation for table, relation in relations.items() if counts[table] <= _MANY_ROWS}
    before: dict[str, dict[_Part, Sums]] = {}
    for table, relation in few.items():
        if counts[table]:
            parts = _parts(connection, table, readers[table]).values()
            (before[table],) = _sums(connection, [relation], parts)
    return Watched(few, before)


def _counts(connection: duckdb.DuckDBPyConnection, relations: Sequence[str]) -> list[int]:
    sql = ", ".join(f"(select count(*) from {relation})" for relation in relations)
    return list(connection.execute(f"select {sql}").fetchall()[0])


def _parts(connection: duckdb.DuckDBPyConnection, table: str, readers: Readers) -> dict[str, _Part]:
    """What each reader uses of the table."""
    columns = [row[0] for row in connection.execute(f"from {table} limit 0").description]
    return {reader: _Part(use.columns(columns), use.condition(columns)) for reader, use in readers.items()}


def _sums(
    connection: duckdb.DuckDBPyConnection, relations: Sequence[str], parts: Collection[_Part]
) -> list[dict[_Part, Sums]]:
    """For each relation the sums of the parts."""
    some = list(dict.fromkeys(parts))
    listed = ", ".join(part.sums for part in some)
    sql = " union all ".join(f"select {number}, {listed} from {name}" for number, name in enumerate(relations))
    rows = sorted(connection.execute(sql).fetchall())
    return [{part: row[1 + 2 * place : 3 + 2 * place] for place, part in enumerate(some)} for row in rows]
