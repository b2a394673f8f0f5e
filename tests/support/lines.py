"""Reads text as one source, without a database: what the readers hand on, as rows of plain dictionaries."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from aiscorr import native
from aiscorr.model import FileSummary, IngestOptions, SourceRef
from aiscorr.parse.ais.reader import AisLogReader
from aiscorr.parse.ais.state import AisState
from aiscorr.parse.batches import PartSink
from aiscorr.parse.file_reader import FileReader
from aiscorr.parse.search import sieve
from aiscorr.parse.search.chunks import BlockReader
from aiscorr.parse.stamps import iso_ns
from aiscorr.parse.worker import settled
from aiscorr.parse.worker.reader import WorkerLogReader
from aiscorr.parse.worker.state import WorkerState
from aiscorr.schema.tables import FILE_TABLES

if TYPE_CHECKING:
    import pyarrow as pa

Row = dict[str, Any]
#: Small texts go through what is meant for large logs, too.
settled.WORTH_BYTES = 0
TABLES_BY_NAME = {table.name: table for table in FILE_TABLES}
NOW_NS = iso_ns("2026-12-24 12:00:00")
AIS_HEADER = "Started up at 2026/11/20 23:02:57, host ais-target-0, go1.26.6 for linux/amd64\n"
#: A traceback without its exception, which the caller appends.
TRACEBACK = """Traceback (most recent call last):
  File "/w/train.py", line 9, in main
    step(batch)
  File "/opt/lib/python3.11/site-packages/aistore/sdk/request_client.py", line 50, in request
    raise
"""


class RowSink(PartSink):
    """Keeps rows in memory."""

    def __init__(self) -> None:
        super().__init__("", "")
        self.tables: dict[str, list[Row]] = {}

    def add(self, table_name: str, values: dict[str, Any]) -> None:
        """One row."""
        empty = dict.fromkeys(TABLES_BY_NAME[table_name].column_names)
        self.tables.setdefault(table_name, []).append({**empty, **values})

    def add_columns(self, table_name: str, values: dict[str, list[Any]], count: int) -> None:
        """Rows given by column."""
        for number in range(count):
            self.add(table_name, {name: column[number] for name, column in values.items()})

    def write(self, table_name: str, rows: pa.RecordBatch) -> None:
        """Rows that are Arrow already."""
        self.tables.setdefault(table_name, []).extend(rows.to_pylist())


@dataclass
class Reading:
    """What one source gave: its summary and its rows by table."""

    summary: FileSummary
    tables: dict[str, list[Row]] = field(default_factory=dict)

    def __getattr__(self, name: str) -> list[Row]:
        return self.tables.get(name, [])

    def patterns(self) -> list[str]:
        """The recognised patterns in the order of the lines."""
        return [row["pattern"] for row in events(self)]

    def only(self, pattern: str) -> Row:
        """The one event of a pattern."""
        (row,) = [row for row in events(self) if row["pattern"] == pattern]
        return row

    def counters(self) -> dict[str, int]:
        """Counter values by name; the last one wins."""
        return {row["name"]: row["value"] for row in self.tables.get("counter_sample", [])}


def events(reading: Reading) -> list[Row]:
    """The recognised lines of either side in the order of the file."""
    found = [*reading.tables.get("ais_line", []), *reading.tables.get("worker_line", [])]
    return sorted(found, key=lambda row: (row["line_no"], row["byte_offset"]))


def told(reading: Reading, *names: str) -> list[tuple[Any, ...]]:
    """The named values of every event in the order of the lines."""
    return [tuple(row.get(name) for name in names) for row in events(reading)]


def as_bytes(text: str | bytes) -> bytes:
    """Text as UTF-8."""
    return text.encode() if isinstance(text, str) else text


def read_text(
    text: str | bytes,
    path: str = "/logs/some.log",
    *,
    options: IngestOptions | None = None,
    modified_ns: int = NOW_NS,
    stream: io.RawIOBase | None = None,
) -> Reading:
    """Reads a text as a file of that path and that time."""
    chosen = options or IngestOptions()
    reader, sink = _reader_of(chosen, native.module is not None)
    sink.tables = {}
    source = stream or io.BytesIO(as_bytes(text))
    summary = reader.read(SourceRef(path, path, modified_ns=modified_ns), source, 1)  # type: ignore[arg-type]
    reader.flush()
    return Reading(summary, sink.tables)


@lru_cache(maxsize=8)
def _reader_of(options: IngestOptions, _is_compiled: bool) -> tuple[FileReader, RowSink]:
    sink = RowSink()
    return FileReader(sink, options, now_ns=NOW_NS), sink


def read_ais(text: str | bytes, path: str = "/logs/t1/aistarget.INFO", **options: Any) -> Reading:
    """Reads lines of an AIStore daemon, headed by a start line."""
    return read_text(as_bytes(AIS_HEADER) + as_bytes(text), path, **options)


def read_worker(text: str | bytes, path: str = "/logs/job7/rank0.log", **options: Any) -> Reading:
    """Reads lines of a worker log, whatever they look like."""
    chosen = options.pop("options", IngestOptions(kind="worker_log"))
    return read_text(text, path, options=chosen, **options)


class PieceStream(io.RawIOBase):
    """Gives the bytes in pieces of the given sizes, over and over, as a slow pipe does."""

    def __init__(self, data: bytes, sizes: Sequence[int]) -> None:
        super().__init__()
        self._data, self._sizes, self._position, self._turn = data, sizes, 0, 0

    def readinto(self, buffer: Any, /) -> int:
        """The next piece."""
        size = min(len(buffer), self._sizes[self._turn % len(self._sizes)])
        self._turn += 1
        piece = self._data[self._position : self._position + size]
        buffer[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)


_readers: dict[tuple[str, bool], AisLogReader | WorkerLogReader] = {}


def read_pieces(kind: str, data: bytes, sizes: Sequence[int]) -> Reading:
    """Reads bytes with the reader of a kind, cut into blocks at about these sizes."""
    sink = RowSink()
    key = kind, native.module is not None
    if key not in _readers:
        with patch.object(sieve, "WORTH_BYTES", 0):  # else only large logs go through it
            _readers[key] = AisLogReader(sink) if kind == "ais" else WorkerLogReader(sink)
    reader = _readers[key]
    reader.sink = sink
    summary = FileSummary(SourceRef("/x/some.log", "/x/some.log"), 1)
    if isinstance(reader, AisLogReader):
        reader.counters = type(reader.counters)(sink)
        file: Any = reader.open_file(summary, AisState(day_ns=NOW_NS))
    else:
        file = reader.open_file(summary, WorkerState(year_anchor_ns=NOW_NS))
    blocks = BlockReader(PieceStream(data, sizes))
    for block in blocks:
        file.feed(block)
    file.finish(ends_with_newline=blocks.is_ended_by_newline)
    reader.flush()
    return Reading(summary, sink.tables)
