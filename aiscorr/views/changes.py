"""Tells to which views a table is another one than before: those that use a row and a column that changed.

Of a table of few rows those that went and came are found by their hashes, and looked at one by one. Of one of many the
rows that a view uses are counted, before and after, and where they are as many their columns summed up. Of the stored
tables it is the rows of the files that an ingest reads, which are all that it changes.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiscorr.schema.tables import FILE_TABLES, INGESTED_FILE
from aiscorr.views.inputs import Use

if TYPE_CHECKING:
    import duckdb

Readers = Mapping[str, Use]
#: Values of rows: of those that went by -1 and the row's number, of those that came by 1 and the row's number.
_Rows = dict[tuple[int, int], tuple[str, ...]]
#: With more files, or more rows of them in a table, it takes too long to look which views use them.
_MANY_FILES = 500
_MANY_ROWS = 100_000
#: Of a table of more rows DuckDB finds those that differ; of one of yet more none is looked for, and of more that
#: differ not what is in them.
FEW_ROWS = 10_000
_SOME_ROWS = 1_000_000
_FEW_DIFFERENT = 200
#: Types of which Python has the whole value; of a time it leaves out nanoseconds.
_WHOLE = re.compile(r"(BOOLEAN|\w*INT|INTEGER|BIGINT|DOUBLE|VARCHAR|DECIMAL\(\d+,\d+\))(\[\])*")


@dataclass(frozen=True)
class _Side:
    """A table as one connection sees it, and those of its rows that count."""

    connection: duckdb.DuckDBPyConnection
    table: str
    rows: str = "true"

    def values(self, columns: list[str]) -> list[Any]:
        """The only row of a select from it."""
        sql = f"select {', '.join(columns)} from {self.table} where {self.rows}"
        return list(self.connection.execute(sql).fetchall()[0])

    def columns(self) -> dict[str, str]:
        """The names of its columns and their types."""
        found = self.connection.execute(f"from {self.table} limit 0").description
        return {column[0]: str(column[1]) for column in found}

    def hashes(self, only: Collection[int] | None = None) -> dict[int, int]:
        """The hash of each row, or of those that have one of these hashes, by the row's number."""
        which = self.rows if only is None else f"hash(r) in ({', '.join(map(str, only)) or 'null'})"
        return dict(self.connection.execute(f"select rowid, hash(r) from {self.table} as r where {which}").fetchall())


def hashes(connection: duckdb.DuckDBPyConnection, table: str) -> dict[int, int]:
    """The hash of each row of a table by the row's number."""
    return _Side(connection, table).hashes()


def that_see(
    connection: duckdb.DuckDBPyConnection,
    tables: tuple[str, str],
    readers: Readers,
    row_count: int,
    new: dict[int, int] | None = None,
) -> set[str]:
    """The readers that use other columns and rows of the first table than of the second.

    `row_count`: of the larger one; `new`: the hashes of the second, where they are known.
    """
    if not readers:
        return set()
    before, after = (_Side(connection, table) for table in tables)
    if row_count <= FEW_ROWS:
        return _that_see(before, after, readers, before.hashes(), after.hashes() if new is None else new)
    if row_count > _SOME_ROWS:
        return _by_sums(before, after, readers)
    some = _different(connection, tables)
    return _that_see(before, after, readers, before.hashes(some), after.hashes(some))


def _different(connection: duckdb.DuckDBPyConnection, tables: tuple[str, str]) -> list[int]:
    """The hashes that not as many rows of one table have as of the other, up to one more than are looked at."""
    rows = " union all ".join(
        f"select hash(r) as h, {sign} as sign from {one} as r" for one, sign in zip(tables, (-1, 1), strict=True)
    )
    sql = f"select h from ({rows}) group by h having sum(sign) <> 0 limit {_FEW_DIFFERENT + 1}"
    return [row[0] for row in connection.execute(sql).fetchall()]


def that_see_files(
    connection: duckdb.DuckDBPyConnection, table: str, file_ids: Collection[int], readers: Readers
) -> set[str]:
    """The readers that use other columns and rows of a stored table than before the open transaction.

    `file_ids`: the files of which rows came and went.
    """
    if not readers or len(file_ids) > _MANY_FILES or table not in _BY_FILE:
        return set(readers)
    of_files = f"file_id in ({', '.join(map(str, file_ids)) or 'null'})"
    which = "true" if table == INGESTED_FILE.name else of_files
    with contextlib.closing(connection.cursor()) as outside:
        before, after = (_Side(one, table, which) for one in (outside, connection))
        most = max(*before.values(["count(*)"]), *after.values(["count(*)"]))
        if most > _MANY_ROWS:
            return set(readers)
        if most > FEW_ROWS:
            return _by_sums(before, after, readers)
        return _that_see(before, after, readers, before.hashes(), after.hashes())


_BY_FILE = frozenset(table.name for table in (INGESTED_FILE, *FILE_TABLES))


def _that_see(before: _Side, after: _Side, readers: Readers, old: dict[int, int], new: dict[int, int]) -> set[str]:
    """As `that_see`, from the hashes of the rows, of which those may be left out that as many on both sides have."""
    kept = Counter(old.values()) & Counter(new.values())
    gone, come = _without(old, kept), _without(new, kept)
    if len(gone) + len(come) > _FEW_DIFFERENT:
        return _by_sums(before, after, readers)
    return _by_rows(_Difference(before, gone, after, come), readers) if gone or come else set()


def _without(rows: dict[int, int], kept: Counter[int]) -> list[int]:
    """The numbers of the rows that are left when as many of each hash as are told of are taken away."""
    left = Counter(rows.values()) - kept
    found = []
    for number, own in rows.items():
        if left[own]:
            left[own] -= 1
            found.append(number)
    return found


@dataclass(frozen=True)
class _Difference:
    """The numbers of the rows that a table lost, and those of the rows that it has got."""

    before: _Side
    gone: list[int]
    after: _Side
    come: list[int]

    def told(self, values: list[str]) -> _Rows:
        """Values of these rows, as text that tells them apart."""
        found: _Rows = {}
        for connection, rows in self._sources():
            sql = f'select "-sign", "-number", {", ".join(values)} from ({rows})'
            found |= {(row[0], row[1]): tuple(map(repr, row[2:])) for row in connection.execute(sql).fetchall()}
        return found

    def without_values(self) -> _Rows:
        """These rows with nothing of what is in them."""
        return {(sign, number): () for sign, some in ((-1, self.gone), (1, self.come)) for number in some}

    def _sources(self) -> list[tuple[duckdb.DuckDBPyConnection, str]]:
        """Selects of them: one for both sides, where one connection sees them."""
        sides = ((-1, self.before, self.gone), (1, self.after, self.come))
        found = [
            (
                side.connection,
                f'select {sign} as "-sign", rowid as "-number", * from {side.table}'
                f" where rowid in ({', '.join(map(str, numbers))})",
            )
            for sign, side, numbers in sides
            if numbers
        ]
        if self.before.connection is self.after.connection:
            return [(self.after.connection, " union all by name ".join(rows for _, rows in found))]
        return found


def _by_rows(difference: _Difference, readers: Readers) -> set[str]:
    """Of which readers the columns that they use are others in the rows that went than in those that came."""
    types = difference.after.columns()
    names = list(types)
    if difference.gone and difference.come:
        values = [f'"{name}"' if _WHOLE.fullmatch(kind) else f'hash("{name}")' for name, kind in types.items()]
        rows = difference.told(values)
        used = {reader: [names.index(name) for name in use.columns(names)] for reader, use in readers.items()}
    else:  # whatever is in rows of one side alone, they differ from none
        rows = difference.without_values()
        used = {reader: [] for reader in readers}
    seen = {reader for reader, places in used.items() if _differ(rows, places)}
    conditions = {reader: condition for reader in seen if (condition := readers[reader].condition(names)) != "true"}
    asked = list(dict.fromkeys(conditions.values()))
    met = difference.told([f"({condition}) is true" for condition in asked]) if asked else {}
    for reader, condition in conditions.items():
        place = asked.index(condition)
        if not _differ({key: row for key, row in rows.items() if met[key][place] == "True"}, used[reader]):
            seen.discard(reader)
    return seen


def _differ(rows: _Rows, places: list[int]) -> bool:
    """Whether the rows that came differ at these places from those that went, in whatever order."""
    left = Counter[tuple[str, ...]]()
    for (sign, _), row in rows.items():
        left[tuple(row[place] for place in places)] += sign
    return any(left.values())


def _by_sums(before: _Side, after: _Side, readers: Readers) -> set[str]:
    """Of which readers the rows that they use are not as many, or do not give the same sum of hashes."""
    columns = list(after.columns())
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
