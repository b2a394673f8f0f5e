"""Files of Python's trace module, and of NicerTrace, to counts: how often each line and function ran, which was last.

Such files grow to gigabytes, so that lines are counted and not kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from aiscorr.model import ByteStream, FileSummary
from aiscorr.parse.batches import PartSink
from aiscorr.parse.search.chunks import BlockReader
from aiscorr.parse.values import Value
from aiscorr.parse.whole import sum_up

_NAME = re.compile(r"(?:^|/)trace-(.+)-(\d{1,4})-(\d{1,8})\.\w+$")
_CODE = re.compile(
    rb"(?:(\d{1,10}) )?(?:(\d+\.\d\d|(?:\d+ days?, )?\d+:\d\d:\d\d) )?([^\s():]+\.py|<[\w -]+>)"
    rb"(?:\((\d{1,9})\)|: +(\d{1,9})): "
)
_ENTERED = re.compile(
    rb"(?:(\d{1,10}) )?(?: --- modulename: (\S+), funcname: (\S+)| {8}([\w./<>-]+):(\d{1,9}) ([\w<>]+))\s*$"
)
_MAX_PLACES = 200_000
#: Process, function or null, file or null, line or null.
_Place = tuple["bytes | None", "bytes | None", "bytes | None", "bytes | None"]


@dataclass
class _Count:
    """How often a place ran, and where it stands first and last."""

    count: int
    first_line_no: int
    line_no: int
    byte_offset: int
    text: bytes
    clock: bytes | None


def read_trace(summary: FileSummary, stream: ByteStream, sink: PartSink) -> None:
    """Counts the lines of a trace of any size."""
    counts: dict[_Place, _Count] = {}
    last: dict[tuple[bytes | None, bool], _Count] = {}
    blocks, line_no = BlockReader(stream), 0
    for line_no, offset, line in _lines(blocks):
        found = _place_of(line)
        if found is not None:
            place, clock = found
            entry = counts.get(place)
            if entry is None and len(counts) < _MAX_PLACES:
                entry = counts[place] = _Count(0, line_no, line_no, offset, line, clock)
            if entry is not None:
                entry.count, entry.line_no, entry.byte_offset = entry.count + 1, line_no, offset
                entry.text, entry.clock = line, clock
                last[place[0], place[1] is None] = entry
    summary.line_count = line_no
    sum_up(summary, blocks.content)
    if len(counts) >= _MAX_PLACES:
        summary.problem = f"more than {_MAX_PLACES} places in the source: the others are not counted"
    _add_counts(summary, sink, counts, {id(entry) for entry in last.values()})


def _lines(blocks: BlockReader) -> Iterator[tuple[int, int, bytes]]:
    """Number, place and text of each line; of one that is too long for a block, its beginning."""
    line_no, goes_on = 0, False
    for block in blocks:
        offset = block.offset
        pieces = bytes(block.data[: block.size]).split(b"\n")
        if not pieces[-1]:
            pieces.pop()
        for piece in pieces:
            if not goes_on:
                line_no += 1
                yield line_no, offset, piece
            goes_on = False
            offset += len(piece) + 1
        goes_on = block.is_cut and block.data[block.size - 1 : block.size] != b"\n"


def _place_of(line: bytes) -> tuple[_Place, bytes | None] | None:
    match = _CODE.match(line)
    if match is not None:
        pid, clock, file, number, nicer_number = match.groups()
        return (pid, None, file, number or nicer_number), clock
    match = _ENTERED.match(line)
    if match is None:
        return None
    pid, module, function, nicer_module, number, nicer_function = match.groups()
    return (pid, (module or nicer_module) + b":" + (function or nicer_function), None, number), None


def _add_counts(summary: FileSummary, sink: PartSink, counts: dict[_Place, _Count], last: set[int]) -> None:
    name = _NAME.search(summary.ref.path)
    host, local_rank, file_pid = name.groups() if name is not None else (None, None, None)
    if local_rank is not None:
        summary.path_local_rank = int(local_rank)
    for (pid, function, file, number), entry in counts.items():
        summary.event_count += 1
        values: dict[str, Value] = {
            "file_id": summary.file_id,
            "line_no": entry.line_no,
            "byte_offset": entry.byte_offset,
            "rank": summary.path_rank,
            "local_rank": summary.path_local_rank,
            "host": host,
            "pid": int(pid or file_pid or 0) or None,
            "function": _text(function),
            "source_file": _text(file),
            "source_line": int(number) if number else None,
            "call_count": entry.count,
            "first_line_no": entry.first_line_no,
            "is_last": id(entry) in last,
            "clock": _text(entry.clock),
            "text": _text(entry.text[:4096]),
        }
        sink.add("trace_call", values)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "replace")
