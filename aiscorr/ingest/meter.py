"""Counts what a scan has done, and keeps rows from being lost to a full disk without a word."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from aiscorr.errors import DatabaseError
from aiscorr.parse.batches import PartSink

if TYPE_CHECKING:
    import pyarrow as pa

#: Told of files, bytes as stored on disk, and rows.
Report = Callable[[int, int, int], None]
_EVERY_S = 0.1


class TaskSink(PartSink):
    """A sink that counts its rows. Raises DatabaseError where they cannot be written."""

    def __init__(self, folder: str, label: str) -> None:
        super().__init__(folder, label)
        self._written_count = 0

    @property
    def row_count(self) -> int:
        """All rows so far, written out or still gathered."""
        return self._written_count + sum(len(batch) for batch in self.batches.values())

    def write(self, table_name: str, rows: pa.RecordBatch) -> None:
        """As PartSink."""
        self._written_count += rows.num_rows
        try:
            super().write(table_name, rows)
        except OSError as error:
            raise DatabaseError(
                f"rows on their way into the database cannot be written: {error.strerror or error}",
                where=self._folder,
                try_this="free space beside the database; it is as it was before this run",
            ) from None


class Meter:
    """Adds up what one process reads and tells it, not more often than ten times a second.

    Bytes are those on disk. A file that is read twice, or left after its first bytes, counts by its size.
    """

    def __init__(self, sink: TaskSink, report: Report) -> None:
        self._sink = sink
        self._report = report
        self._told = (0, 0, 0)
        self._file_count = self._before = self._inside = self._size = 0
        self._next_s = 0.0

    def open_file(self, stored_byte_count: int) -> None:
        """The next file begins."""
        self._inside, self._size = 0, stored_byte_count

    def close_file(self) -> None:
        """The file is done with."""
        self._before += self._size
        self._file_count += 1
        self.open_file(0)
        self.tell()

    def advance(self, byte_count: int) -> None:
        """So many bytes were read from disk."""
        self._inside = min(self._inside + byte_count, self._size)
        self.tell()

    def tell(self, *, is_last: bool = False) -> None:
        """Tells what is new since it was told last."""
        now = time.monotonic()
        if now < self._next_s and not is_last:
            return
        self._next_s = now + _EVERY_S
        found = (self._file_count, self._before + self._inside, self._sink.row_count)
        self._report(*(new - old for new, old in zip(found, self._told, strict=True)))
        self._told = found
