"""Stack dumps to rows: what `text.py` has read of text, and the JSON of py-spy."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from aiscorr.model import FileSummary
from aiscorr.parse.batches import PartSink
from aiscorr.parse.stacks.text import Frame, ProcessStack, StackText, Thread, telling
from aiscorr.parse.stamps import iso_ns
from aiscorr.parse.values import Value
from aiscorr.parse.whole import add_reject

#: A frame's name in py-spy's JSON; variables have a name too, but no file after it.
_FRAME_NAME = re.compile(r'"name"\s*:\s*(?:null|"(?:[^"\\]|\\.)*")\s*,\s*"filename"\s*:')
_SOLID = re.compile(r"\S")
_MOMENT = re.compile(r"(?<!\d)(20\d{6})[T_-]?([0-2]\d[0-5]\d[0-5]\d)(?!\d)")


def read_text_stacks(summary: FileSummary, text: str, sink: PartSink) -> None:
    """The rows of a dump in text: py-spy, faulthandler, or a page or file of the debug server."""
    found = StackText().read(text)
    add_processes(summary, sink, found.processes)
    for line_no, offset, words in found.failures:
        reject(summary, sink, "a stack could not be had", words, (line_no, offset))


def add_processes(
    summary: FileSummary,
    sink: PartSink,
    processes: list[ProcessStack],
    *,
    first_no: int = 0,
    moment: dict[str, Value] | None = None,
) -> None:
    """The rows of processes; `moment` is the attempt and time of the log they stand in, None in a file of stacks."""
    taken_ns = taken_at(summary.ref.path) if moment is None else None
    for dump_no, process in enumerate(processes, first_no):
        main = process.main_thread()
        about: dict[str, Value] = {
            "file_id": summary.file_id,
            "dump_no": dump_no,
            "pid": process.pid,
            "parent_pid": process.parent_pid,
            "command": process.command[:512] if process.command else None,
            "rank": process.rank if process.rank is not None else summary.path_rank,
            "host": process.host,
            "task_no": process.task_no,
            "taken_ns": taken_ns,
            **(moment or {}),
        }
        for thread in process.threads:
            for row in _frame_rows(thread):
                summary.event_count += 1
                sink.add("stack_frame", {**about, **row, "is_main": thread is main})


def _frame_rows(thread: Thread) -> Iterator[dict[str, Value]]:
    for frame_no, frame in enumerate(thread.frames):
        kept = telling(frame.variables)
        yield {
            "thread_name": thread.name,
            "is_active": thread.is_active,
            "owns_gil": thread.owns_gil,
            "frame_no": frame_no,
            "function": frame.function,
            "source_file": frame.source_file,
            "source_line": frame.source_line,
            "locals": json.dumps(kept) if kept else None,
            "line_no": frame.line_no,
            "byte_offset": frame.byte_offset,
            "text": frame.text[:4096] if frame.text else None,
        }


def taken_at(path: str) -> int | None:
    """The moment in a file's name, else in its folder's, as written: stacks_20261120_213810.txt."""
    for part in reversed(re.split(r"[/!]", path)[-2:]):
        match = _MOMENT.search(part)
        if match is not None:
            day, time = match.groups()
            try:
                return iso_ns(f"{day[:4]}-{day[4:6]}-{day[6:]} {time[:2]}:{time[2:4]}:{time[4:]}")
            except ValueError:
                continue
    return None


def read_json_stacks(summary: FileSummary, text: str, sink: PartSink) -> None:
    """The rows of a dump of `py-spy dump --json`, or of several behind each other."""
    try:
        threads = list(_json_items(text))
    except (ValueError, RecursionError) as error:
        reject(summary, sink, f"JSON of py-spy that cannot be parsed: {error}", text)
        return
    processes: dict[object, ProcessStack] = {}
    lines = _name_lines(text)
    for number, (dump_no, thread) in enumerate(threads):
        if not isinstance(thread, dict):
            reject(summary, sink, f"thread {number} of the stack dump is not an object", str(thread))
            continue
        pid = thread.get("pid")
        process = processes.setdefault((dump_no, str(pid)), ProcessStack(_number(pid)))
        about = thread.get("process_info")
        if isinstance(about, dict):
            parent = about.get("parent")
            process.command = str(about["command_line"]) if about.get("command_line") else None
            process.parent_pid = _number(parent.get("pid")) if isinstance(parent, dict) else None
        name = str(thread.get("thread_name") or thread.get("os_thread_id") or thread.get("thread_id"))
        found = Thread(
            name, _number(thread.get("os_thread_id")), bool(thread.get("active")), bool(thread.get("owns_gil"))
        )
        found.frames += [_json_frame(frame, next(lines, (None, None))) for frame in _frames_of(thread)]
        process.threads.append(found)
    add_processes(summary, sink, list(processes.values()))


def _json_items(text: str) -> Iterator[tuple[int, Any]]:
    """The threads of each dump in the text; a file may hold several, one behind the other."""
    decoder, position, dump_no = json.JSONDecoder(), 0, 0
    while (more := _SOLID.search(text, position)) is not None:
        value, position = decoder.raw_decode(text, more.start())
        for item in value if isinstance(value, list) else []:
            yield dump_no, item
        dump_no += 1


def _json_frame(frame: dict[str, Any], place: tuple[int | None, str | None]) -> Frame:
    name, variables = frame.get("short_filename") or frame.get("filename"), frame.get("locals")
    shown = [item for item in variables if isinstance(item, dict)] if isinstance(variables, list) else []
    return Frame(
        function=str(frame.get("name")),
        source_file=str(name) if name else None,
        source_line=_number(frame.get("line")),
        line_no=place[0],
        byte_offset=None,
        text=place[1],
        variables={str(item.get("name")): str(item["repr"]) for item in shown if item.get("repr")},
    )


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 1 << 31 else None


def _name_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that name the frames, in order; they say where in the file a frame stands."""
    line_no, position = 1, 0
    for match in _FRAME_NAME.finditer(text):
        line_no, position = line_no + text.count("\n", position, match.start()), match.start()
        start, end = text.rfind("\n", 0, position) + 1, text.find("\n", position)
        yield line_no, text[start : end if end >= 0 else None].strip()[:512]


def _frames_of(thread: dict[str, Any]) -> Iterator[dict[str, Any]]:
    frames = thread.get("frames")
    for frame in frames if isinstance(frames, list) else []:
        if isinstance(frame, dict):
            yield frame


def reject(summary: FileSummary, sink: PartSink, reason: str, text: str, place: tuple[int, int] = (1, 0)) -> None:
    """A line, or by default the whole file, that gave no rows, with the reason."""
    summary.problem = reason
    add_reject(summary, sink, reason, text, line_no=place[0], byte_offset=place[1])
