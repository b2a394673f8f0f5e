"""Rows of a statement as frozen objects of a report: lists become tuples, columns bear the names of the fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from aiscorr.store.records import records

if TYPE_CHECKING:
    import duckdb

_T = TypeVar("_T")


def plain_records(
    connection: duckdb.DuckDBPyConnection, sql: str, failure_id: str | None = None
) -> list[dict[str, Any]]:
    """The rows by the names of their columns; a statement about one failure calls its id `$id`."""
    found = records(connection, sql, None if failure_id is None else {"id": failure_id})
    return [{name: tuple(value) if isinstance(value, list) else value for name, value in row.items()} for row in found]


def all_of(
    connection: duckdb.DuckDBPyConnection, kind: type[_T], sql: str, failure_id: str | None = None
) -> tuple[_T, ...]:
    """The rows as objects of a class whose fields are called as the columns."""
    return tuple(kind(**record) for record in plain_records(connection, sql, failure_id))
