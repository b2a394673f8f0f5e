"""Small structured sources: py-spy stacks (text and JSON) and error.json of torch elastic."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from aiscorr.checksum import ContentSum
from aiscorr.model import ByteStream, FileSummary
from aiscorr.parse.batches import PartSink
from aiscorr.parse.stamps import SECOND_NS
from aiscorr.parse.values import Value, last_name

_LIMIT_BYTES = 64 * 1024 * 1024
_PROCESS = re.compile(r"^Process (\d+):")
_THREAD = re.compile(r"^Thread (?:0x)?([0-9A-Fa-f]+) \((active|idle)(\+gil)?\)(?:: \"(.*)\")?")
_FRAME = re.compile(r"^    (\S.*?) \(([^()]*?)(?::(\d+))?\)\s*$")
_FRAME_NAME = re.compile(r'"name"\s*:')
_BARE_FRAME = re.compile(r"^    ([\w.<>]+)\s*$")


def read_all(stream: ByteStream, content: ContentSum, limit: int = _LIMIT_BYTES) -> tuple[bytes, bool]:
    """The bytes of a small source and whether it was cut at the limit."""
    parts: list[bytes] = []
    size = 0
    buffer = bytearray(1 << 20)
    with memoryview(buffer) as view:
        while size < limit:
            count = int(stream.readinto(view) or 0)
            if count == 0:
                return b"".join(parts), False
            content.add(view[:count])
            parts.append(bytes(view[:count]))
            size += count
    return b"".join(parts), True


def read_dump(summary: FileSummary, stream: ByteStream, sink: PartSink, reason: str) -> None:
    """Reads a stack dump or an error.json."""
    content = ContentSum()
    data, is_cut = read_all(stream, content)
    summary.content_hash, summary.head_hash = content.identity(), content.head_hash()
    summary.byte_count = content.byte_count
    if is_cut:
        summary.problem = "larger than 64 MiB: only its beginning was read"
    summary.line_count = data.count(b"\n") + (0 if data.endswith(b"\n") or not data else 1)
    text = data.decode("utf-8", "replace")
    if summary.kind == "worker_log":
        _read_error_json(summary, text, sink)
    elif reason == "JSON of py-spy":
        _read_json_stacks(summary, text, sink)
    else:
        _read_text_stacks(summary, text, sink)


def _read_text_stacks(summary: FileSummary, text: str, sink: PartSink) -> None:
    dump_no, pid, frame_no, offset = -1, None, 0, 0
    thread: dict[str, Value] = {}
    for line_no, line in enumerate(text.split("\n"), 1):
        size = len(line.encode("utf-8", "replace")) + 1
        process, header = _PROCESS.match(line), _THREAD.match(line)
        frame = _FRAME.match(line) or _BARE_FRAME.match(line)
        if process is not None:
            dump_no, pid = dump_no + 1, int(process.group(1))
        elif header is not None:
            frame_no = 0
            thread = {
                "thread_name": header.group(4) or header.group(1),
                "is_active": header.group(2) == "active",
                "owns_gil": header.group(3) is not None,
            }
        elif frame is not None and thread:
            groups = (*frame.groups(), None, None)
            row: dict[str, Value] = {
                "function": groups[0],
                "source_file": groups[1],
                "source_line": int(groups[2]) if groups[2] else None,
                "line_no": line_no,
                "byte_offset": offset,
                "text": line[:4096],
            }
            _add_frame(summary, sink, row, thread, max(dump_no, 0), pid, frame_no)
            frame_no += 1
        offset += size


def _add_frame(
    summary: FileSummary,
    sink: PartSink,
    row: dict[str, Value],
    thread: dict[str, Value],
    dump_no: int,
    pid: Value,
    frame_no: int,
) -> None:
    summary.event_count += 1
    sink.add(
        "stack_frame",
        {
            **row,
            **thread,
            "file_id": summary.file_id,
            "dump_no": dump_no,
            "pid": pid,
            "rank": summary.path_rank,
            "frame_no": frame_no,
        },
    )


def _read_json_stacks(summary: FileSummary, text: str, sink: PartSink) -> None:
    try:
        threads = json.loads(text)
    except (ValueError, RecursionError) as error:
        _reject(summary, sink, f"JSON of py-spy that cannot be parsed: {error}", text)
        return
    pids: list[int] = []
    lines = _name_lines(text)
    for number, thread in enumerate(threads if isinstance(threads, list) else []):
        if not isinstance(thread, dict):
            _reject(summary, sink, f"thread {number} of the stack dump is not an object", str(thread))
            continue
        pid = thread.get("pid")
        if pid not in pids:
            pids.append(pid)  # type: ignore[arg-type]
        about: dict[str, Value] = {
            "thread_name": thread.get("thread_name") or str(thread.get("thread_id")),
            "is_active": bool(thread.get("active")),
            "owns_gil": bool(thread.get("owns_gil")),
        }
        for frame_no, frame in enumerate(_frames_of(thread)):
            line_no, raw = next(lines, (None, None))
            row: dict[str, Value] = {
                "function": frame.get("name"),
                "source_file": frame.get("short_filename") or frame.get("filename"),
                "source_line": frame.get("line"),
                "line_no": line_no,
                "text": raw,
            }
            _add_frame(summary, sink, row, about, pids.index(pid), pid, frame_no)  # type: ignore[arg-type]


def _name_lines(text: str) -> Iterator[tuple[int | None, str | None]]:
    """The lines that name the frames, in order; they say where in the file a frame stands."""
    for line_no, line in enumerate(text.split("\n"), 1):
        for _ in _FRAME_NAME.finditer(line):
            yield line_no, line.strip()[:512]


def _frames_of(thread: dict[str, Any]) -> Iterator[dict[str, Any]]:
    frames = thread.get("frames")
    for frame in frames if isinstance(frames, list) else []:
        if isinstance(frame, dict):
            yield frame


def _read_error_json(summary: FileSummary, text: str, sink: PartSink) -> None:
    """error.json of @record (PyTorch 1.9 to 2.15): message and an epoch that needs no zone."""
    try:
        body = json.loads(text)["message"]
        extra = body["extraInfo"]
        moment = int(extra["timestamp"]) * SECOND_NS
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        _reject(summary, sink, f"error.json of torch elastic in an unknown form: {error}", text)
        return
    message = str(body["message"])
    summary.event_count += 1
    summary.first_ns = summary.last_ns = moment
    summary.is_utc = True
    sink.add(
        "worker_line",
        {
            "file_id": summary.file_id,
            "line_no": 1,
            "byte_offset": 0,
            "attempt_no": 0,
            "local_ns": moment,
            "stamp_source": "own",
            "zone_offset_s": 0,
            "rank": summary.path_rank,
            "local_rank": summary.path_local_rank,
            "severity": "error",
            "pattern": "torchrun_error_file",
            "text": message[:4096],
            "message_start": 0,
            "exception": last_name(message.partition(":")[0]),
        },
    )


def _reject(summary: FileSummary, sink: PartSink, reason: str, text: str) -> None:
    summary.reject_count += 1
    summary.problem = reason
    sink.add(
        "rejected_line",
        {"file_id": summary.file_id, "line_no": 1, "byte_offset": 0, "reason": reason, "text": text[:512]},
    )
