"""Rows collected and written out as parts in Arrow's file format; memory stays bounded by the flush limit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aiscorr.parse.redact import redacted
from aiscorr.parse.values import Value
from aiscorr.schema.arrow import arrow_type
from aiscorr.schema.tables import FILE_TABLES, Column, Table

if TYPE_CHECKING:
    import pyarrow as pa

FLUSH_ROWS = 50_000
_PACK_ROWS = 2_000
#: Rows of records with many texts, which are added by column.
FLUSH_COLUMN_ROWS = 10_000


class RowBatch:
    """Rows of one stored table, in Arrow as soon as there are some thousands; missing values are null."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._rows: list[dict[str, Value]] = []
        self._packed: list[pa.RecordBatch] = []
        self._packed_count = 0

    def __len__(self) -> int:
        return self._packed_count + len(self._rows)

    def add(self, values: dict[str, Value]) -> bool:
        """One row; keys are column names, others are left out. The row is the batch's from now on.

        True where rows became Arrow: the batch may be full.
        """
        self._rows.append(values)
        if len(self._rows) < _PACK_ROWS:
            return False
        self._pack_rows()
        return True

    def extend(self, values: dict[str, list[Value]], count: int) -> None:
        """Rows given by column, all of one length; columns that are not given are null."""
        self._pack_rows()
        self._pack([values.get(name) or None for name in self.table.column_names], count)

    def take(self) -> pa.RecordBatch:
        """The rows as Arrow; the batch is empty afterwards."""
        import pyarrow as pa

        self._pack_rows()
        if not self._packed:
            self._pack([None for _ in self.table.columns], 0)
        rows = self._packed[0] if len(self._packed) == 1 else pa.concat_batches(self._packed)
        self._packed, self._packed_count = [], 0
        return rows

    def _pack_rows(self) -> None:
        if self._rows:
            rows, self._rows = self._rows, []
            used = set().union(*rows)
            columns = [[row.get(name) for row in rows] if name in used else None for name in self.table.column_names]
            self._pack(columns, len(rows))

    def _pack(self, columns: Sequence[list[Value] | None], count: int) -> None:
        import pyarrow as pa

        arrays = [
            pa.nulls(count, arrow_type(column.type)) if values is None else _array(column, values)
            for column, values in zip(self.table.columns, columns, strict=True)
        ]
        self._packed.append(pa.RecordBatch.from_arrays(arrays, names=list(self.table.column_names)))
        self._packed_count += count


def _array(column: Column, values: list[Value]) -> pa.Array:
    """The values of a column; texts without secrets, whatever reader they come from."""
    import pyarrow as pa

    if column.type == "VARCHAR":
        found = redacted(text for text in dict.fromkeys(values) if isinstance(text, str))
        if found:
            values = [found.get(text, text) if isinstance(text, str) else text for text in values]
    return pa.array(values, type=arrow_type(column.type))


class PartSink:
    """Writes batches of all file tables as parts `<table>-<label>-<n>.arrow` into a folder."""

    def __init__(self, folder: str, label: str) -> None:
        self._folder = folder
        self._label = label
        self._number = 0
        self.paths: list[tuple[str, str]] = []
        self.batches = {table.name: RowBatch(table) for table in FILE_TABLES}

    def add(self, table_name: str, values: dict[str, Value]) -> None:
        """One row for a table; a full batch is written out."""
        batch = self.batches[table_name]
        if batch.add(values) and len(batch) >= FLUSH_ROWS:
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

        self._number += 1
        path = os.path.join(self._folder, f"{table_name}-{self._label}-{self._number}.arrow")
        # numbers are read back soon: to compress them takes longer than to write and read some more bytes
        has_text = any(pa.types.is_string(column.type) for column in rows.schema)
        options = pa.ipc.IpcWriteOptions(compression="lz4" if has_text else None)
        with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, rows.schema, options=options) as writer:
            writer.write_batch(rows)
        self.paths.append((table_name, path))

    def flush(self) -> None:
        """Writes what is left."""
        for name, batch in self.batches.items():
            if len(batch):
                self.write(name, batch.take())
