"""A view is said to see a change of a table exactly where other rows that it uses differ in columns that it uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import duckdb
import pytest
from budgets import drawn
from hypothesis import given
from hypothesis import strategies as st

from aiscorr.views import changes
from aiscorr.views.changes import hashes, that_see
from aiscorr.views.inputs import Use
from aiscorr.views.row_uses import Condition

Row = tuple[int | None, str | None, bool | None, int]
COLUMNS = ("a", "b", "c", "t")
CONDITIONS: dict[str, Callable[[Row], bool]] = {
    "c": lambda row: row[2] is True,
    "a > 1": lambda row: row[0] is not None and row[0] > 1,
    "b = 'x'": lambda row: row[1] == "x",
}
ROWS = st.lists(
    st.tuples(
        st.sampled_from((None, 1, 2)),
        st.sampled_from((None, "x", "null", "")),
        st.sampled_from((None, True, False)),
        st.sampled_from((1_000_000_001, 1_000_000_002, 2_000_000_000)),
    ),
    max_size=6,
)


def readers() -> dict[str, Use]:
    """What views may use: some columns, or all, of rows of one of some conditions, or of all."""
    some_names = (None, frozenset[str](), *({name} for name in COLUMNS), {"a", "t"}, {"b", "other"})
    some_rows = (None, *((text,) for text in CONDITIONS), ("c", "a > 1"))
    return {
        f"{names} {rows}": Use(
            None if names is None else frozenset(names),
            None if rows is None else frozenset(Condition(text, frozenset((text[0],))) for text in rows),
        )
        for names in some_names
        for rows in some_rows
    }


READERS = readers()


def used(rows: list[Row], use: Use) -> Counter[tuple[object, ...]]:
    """What a view takes of the rows."""
    asked = None if use.rows is None else [CONDITIONS[one.sql] for one in use.rows]
    taken = [row for row in rows if asked is None or any(holds(row) for holds in asked)]
    places = [COLUMNS.index(name) for name in use.columns(COLUMNS)]
    return Counter(tuple(row[place] for place in places) for row in taken)


def fill(connection: duckdb.DuckDBPyConnection, table: str, rows: list[Row]) -> None:
    """Makes the table; the last column has nanoseconds, which a time in Python has not."""
    connection.execute(f"create or replace table {table} (a integer, b varchar, c boolean, t timestamp_ns)")
    for row in rows:
        connection.execute(f"insert into {table} select ?, ?, ?, make_timestamp_ns(?)", list(row))


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    """An empty database."""
    return duckdb.connect(":memory:")


@drawn(40, 400)
@given(before=ROWS, after=ROWS, row_count=st.sampled_from((6, 100_000, 10_000_000)))
def test_who_sees(connection: duckdb.DuckDBPyConnection, before: list[Row], after: list[Row], row_count: int) -> None:
    """Row by row and by sums, those see a change to whom what they use is another, and no one else."""
    fill(connection, "before", before)
    fill(connection, "after", after)
    wanted = {reader for reader, use in READERS.items() if used(before, use) != used(after, use)}
    new = hashes(connection, "after") if row_count == 6 else None
    assert that_see(connection, ("before", "after"), READERS, row_count, new) == wanted


@pytest.mark.parametrize("row_count", [2, 100_000])
def test_many_that_differ(
    row_count: int, connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where too many rows differ to be looked at the answer is the same."""
    monkeypatch.setattr(changes, "_FEW_DIFFERENT", 2)
    before: list[Row] = [(1, "x", True, 1_000_000_001), (2, "x", False, 1_000_000_001)]
    after: list[Row] = [(1, "x", True, 1_000_000_002), (2, "null", False, 1_000_000_001)]
    fill(connection, "before", before)
    fill(connection, "after", after)
    wanted = {reader for reader, use in READERS.items() if used(before, use) != used(after, use)}
    assert that_see(connection, ("before", "after"), READERS, row_count) == wanted
