"""Rows collected by column and written out as Parquet parts; memory stays bounded by the flush limit."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from aiscorr.arrow_types import arrow_type
from aiscorr.parse.redact import redact
from aiscorr.parse.values import Value
from aiscorr.tables import FILE_TABLES, Column, Table

if TYPE_CHECKING:
    import pyarrow as pa

FLUSH_ROWS = 50_000
#: Rows of records with many texts, which are added by column.
FLUSH_COLUMN_ROWS = 10_000


class RowBatch:
    """Rows of one stored table, kept as one list a column; missing values are null."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._columns: dict[str, list[Value]] = {name: [] for name in table.column_names}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, values: dict[str, Value]) -> None:
        """One row; keys are column names."""
        for name, value in values.items():
            if value is not None and name in self._columns:
                self._padded(name).append(value)
        self._count += 1

    def extend(self, values: dict[str, list[Value]], count: int) -> None:
        """Rows given by column, all of one length; columns that are not given are null."""
        for name in self._columns:
            self._padded(name).extend(values.get(name) or [None] * count)
        self._count += count

    def _padded(self, name: str) -> list[Value]:
        """A column, filled up with nulls for the rows so far: most rows have no value for most columns."""
        column = self._columns[name]
        missing = self._count - len(column)
        if missing:
            column.extend([None] * missing)
        return column

    def take(self) -> pa.RecordBatch:
        """The rows as Arrow; the batch is empty afterwards."""
        import pyarrow as pa

        arrays = [self._array(column) for column in self.table.columns]
        self._columns = {name: [] for name in self.table.column_names}
        self._count = 0
        return pa.RecordBatch.from_arrays(arrays, names=list(self.table.column_names))

    def _array(self, column: Column) -> pa.Array:
        """The values of a column; texts without secrets, whatever reader they come from."""
        import pyarrow as pa

        values = pa.array(self._padded(column.name), type=arrow_type(column.type))
        if column.type != "VARCHAR":
            return values
        texts = values.unique().to_pylist()
        clean = [text and redact(text) for text in texts]
        if clean == texts:
            return values
        return pa.array(clean, type=values.type).take(values.dictionary_encode("encode").indices)


class PartSink:
    """Writes batches of all file tables as Parquet parts `<table>-<label>-<n>.parquet` into a folder."""

    def __init__(self, folder: str, label: str) -> None:
        self._folder = folder
        self._label = label
        self._number = 0
        self.paths: list[tuple[str, str]] = []
        self.batches = {table.name: RowBatch(table) for table in FILE_TABLES}

    def add(self, table_name: str, values: dict[str, Value]) -> None:
        """One row for a table; a full batch is written out."""
        batch = self.batches[table_name]
        batch.add(values)
        if len(batch) >= FLUSH_ROWS:
            self.write(table_name, batch.take())

    def add_columns(self, table_name: str, values: dict[str, list[Value]], count: int) -> None:
        """Rows given by column; a full batch is written out."""
        batch = self.batches[table_name]
        batch.extend(values, count)
        if len(batch) >= FLUSH_COLUMN_ROWS:
            self.write(table_name, batch.take())

    def write(self, table_name: str, rows: pa.RecordBatch) -> None:
        """Rows that are Arrow already."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._number += 1
        path = os.path.join(self._folder, f"{table_name}-{self._label}-{self._number}.parquet")
        repeating = [name for name in rows.schema.names if name != "value"]  # counters' values hardly repeat
        pq.write_table(
            pa.Table.from_batches([rows]), path, compression="lz4", write_statistics=False, use_dictionary=repeating
        )
        self.paths.append((table_name, path))

    def flush(self) -> None:
        """Writes what is left."""
        for name, batch in self.batches.items():
            if len(batch):
                self.write(name, batch.take())
