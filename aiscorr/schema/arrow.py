"""Arrow types of the stored tables' columns, so that rows load without a cast, and where Arrow's memory is from."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from aiscorr.schema.tables import Table


def use_plain_memory() -> None:
    """Makes Arrow take memory as Python does, in this process.

    Its own way gives memory back to the system while parts are written and takes it again: slower, and 20 MiB more.
    """
    import pyarrow as pa

    pa.set_memory_pool(pa.system_memory_pool())


def arrow_type(duckdb_type: str) -> pa.DataType:
    """The Arrow type of a DuckDB type used in tables.py."""
    import pyarrow as pa

    return {
        "INTEGER": pa.int32(),
        "BIGINT": pa.int64(),
        "DOUBLE": pa.float64(),
        "BOOLEAN": pa.bool_(),
        "VARCHAR": pa.string(),
        "TIMESTAMP_NS": pa.timestamp("ns"),
    }[duckdb_type]


def arrow_schema(table: Table) -> pa.Schema:
    """The Arrow schema of a stored table."""
    import pyarrow as pa

    return pa.schema([(column.name, arrow_type(column.type)) for column in table.columns])
