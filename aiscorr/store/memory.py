"""How much memory DuckDB is given to make a database in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiscorr.store.database import DEFAULT_MEMORY_LIMIT

if TYPE_CHECKING:
    import duckdb

#: What DuckDB needs for a thread, and for a recognised line. More would fill with blocks of the file, and gain little.
_ENOUGH_BYTES = 120_000_000
_LINE_BYTES = 48
#: The most for a slice of a lake, whose rows are given to what judges them as well.
_SLICE_LIMIT = "600MB"


def slice_limit(memory_limit: str) -> str:
    """What a slice of a lake is opened with, where what is given is the usual limit; any other holds."""
    return _SLICE_LIMIT if memory_limit == DEFAULT_MEMORY_LIMIT else memory_limit


def give_memory(connection: duckdb.DuckDBPyConnection, memory_limit: str) -> None:
    """Has DuckDB take what a slice is opened with again."""
    connection.execute(f"set memory_limit = '{slice_limit(memory_limit)}'")


def limit_memory(connection: duckdb.DuckDBPyConnection, memory_limit: str) -> None:
    """Has DuckDB take no more than its rows need, unless a limit is given that is not the usual one.

    A view for which that is too little has DuckDB open the copy again.
    """
    if memory_limit != DEFAULT_MEMORY_LIMIT:
        return
    sql = (
        "select max(estimated_size), current_setting('threads') from duckdb_tables()"
        " where database_name = current_database() and table_name in ('ais_line', 'worker_line')"
    )
    count, threads = connection.execute(sql).fetchall()[0]
    limit = min(max(_ENOUGH_BYTES * threads, count * _LINE_BYTES), 1_000_000_000)
    connection.execute(f"set memory_limit = '{limit}B'")
