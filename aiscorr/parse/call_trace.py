"""Files of Python's trace module, and of NicerTrace, to counts: how often each line and function ran, which was last.

Such files grow to gigabytes, so that lines are counted and not kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from aiscorr.checksum import ContentSum
from aiscorr.model import ByteStream, FileSummary
from aiscorr.parse.batches import PartSink
from aiscorr.parse.values import Value

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


def read_trace(summary: FileSummary, stream: ByteStream, sink: PartSink, content: ContentSum) -> None:
    """Counts the lines of a trace of any size."""
    counts: dict[_Place, _Count] = {}
    last: dict[tuple[bytes | None, bool], _Count] = {}
    line_no = offset = 0
    for line in _lines(stream, content):
        line_no += 1
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
        offset += len(line) + 1
    summary.line_count = line_no
    if len(counts) >= _MAX_PLACES:
        summary.problem = f"more than {_MAX_PLACES} places in the source: the others are not counted"
    _add_counts(summary, sink, counts, {id(entry) for entry in last.values()})


def _lines(stream: ByteStream, content: ContentSum) -> Iterator[bytes]:
    buffer, rest = bytearray(1 << 20), b""
    with memoryview(buffer) as view:
        while count := int(stream.readinto(view) or 0):
            content.add(view[:count])
            *whole, rest = (rest + bytes(view[:count])).split(b"\n")
            yield from whole
    if rest:
        yield rest


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
