"""Rows of a statement as dictionaries, for those who read a few of them and know their columns by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb


def records(
    connection: duckdb.DuckDBPyConnection, sql: str, values: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """All rows, by the names of their columns; `values` are the statement's named parameters."""
    result = connection.execute(sql, None if values is None else dict(values))
    names = [column[0] for column in result.description or []]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]
