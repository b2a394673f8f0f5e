"""Stacks as text: py-spy, faulthandler, and the pages and files of PyTorch's debug server, of one process or many.

Lines of several nodes may be mixed behind labels (`srun -l`, pdsh); each label has its own process then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape

from aiscorr.parse.path_hints import worker_hints

_PROCESS = re.compile(r"^Process (\d{1,10}):(?: (.*))?")
_PARENT = re.compile(r"^Parent Process (\d{1,10})\b")
_THREAD = re.compile(r"^Thread (?:0x)?([0-9A-Fa-f]+) \((active|idle)(\+gil)?[^)]*\)(?:: \"(.*)\")?")
_FAULT_THREAD = re.compile(r"^(Current thread|Thread) 0x([0-9a-f]+)(?: \[(.*)\])? \(most recent call first\)")
_FRAME = re.compile(r"^    (\S.*?) \(([^()]*?)(?::(\d{1,9}))?\)\s*$")
_BARE_FRAME = re.compile(r"^    ([\w.<>]+)\s*$")
_TIMEOUT = re.compile(r"^Timeout \(\d{1,6}:\d\d:\d\d(?:\.\d+)?\)!\s*$")
_FAULT_FRAME = re.compile(r'^  File "([^"]*)", line (\d{1,9}|\?\?\?) in (.+?)\s*$')
_VARIABLE = re.compile(r"^ {12}(\w+): (.*)$")
_SECTION = re.compile(r"^\s*(?:===|<h2>) ?Rank (\d{1,6}): (?:https?://)?(\[[^\]]*\]|[^/:\s]+)?\S*(?: ===|</h2>)")
_LISTED = re.compile(r"^==> (.+) <==$")
_RULE = re.compile(r"^-{16,20}$")
_LABEL = re.compile(r"^ {0,4}(?:(\d{1,5})|([\w.-]{1,64})):(?: (.*))?$")
_FAILURE = re.compile(
    r"^(?:Error: |\s*<p>Failed to fetch|Failed to get stack|  Rank \d+: \S*(?:Error|Timeout))", re.IGNORECASE
)
_SIMPLE_HOST = re.compile(r"[A-Za-z0-9][\w.-]*")


@dataclass
class Frame:
    """A frame as printed, the place it stands at, and variables that were shown with it."""

    function: str
    source_file: str | None
    source_line: int | None
    line_no: int | None
    byte_offset: int | None
    text: str | None
    variables: dict[str, str] = field(default_factory=dict)


@dataclass
class Thread:
    """A thread: its name or number, its state, its frames, innermost first."""

    name: str
    number: int | None
    is_active: bool | None
    owns_gil: bool | None
    frames: list[Frame] = field(default_factory=list)
    is_current: bool = False


@dataclass
class ProcessStack:
    """The threads of a process, and what the dump says about it."""

    pid: int | None = None
    parent_pid: int | None = None
    command: str | None = None
    rank: int | None = None
    host: str | None = None
    task_no: int | None = None
    threads: list[Thread] = field(default_factory=list)

    def main_thread(self) -> Thread | None:
        """The one called MainThread, else numbered as the process, else the last that began in a module."""
        named = [thread for thread in self.threads if thread.name == "MainThread"]
        numbered = [thread for thread in self.threads if thread.number is not None and thread.number == self.pid]
        started = [thread for thread in self.threads if thread.frames and thread.frames[-1].function == "<module>"]
        alone = self.threads if len(self.threads) == 1 else []
        return next(iter(named or numbered or started[-1:] or alone), None)


@dataclass
class _Stream:
    """The lines behind one label: where they have got to."""

    host: str | None = None
    task_no: int | None = None
    rank: int | None = None
    process: ProcessStack | None = None
    thread: Thread | None = None
    is_ruled: bool = False


@dataclass
class StackText:
    """The processes of a text, and the lines that say that a stack could not be had."""

    processes: list[ProcessStack] = field(default_factory=list)
    failures: list[tuple[int, int, str]] = field(default_factory=list)
    streams: dict[str, _Stream] = field(default_factory=dict)

    def read(self, text: str) -> StackText:
        """Takes the whole text."""
        is_labelled = _is_labelled(text)
        offset = 0
        for line_no, raw in enumerate(text.split("\n"), 1):
            line, label = raw.rstrip("\r"), ""
            if is_labelled and (match := _LABEL.match(line)) is not None:
                label, line = match.group(1) or match.group(2), match.group(3) or ""
            self.take(line, (line_no, offset, raw.strip("\r")), label)
            offset += len(raw.encode("utf-8", "replace")) + 1
        return self

    def _stream(self, label: str) -> _Stream:
        if label not in self.streams:
            is_task = label.isdigit()
            self.streams[label] = _Stream(None if is_task else label or None, int(label) if is_task else None)
        return self.streams[label]

    def take(self, line: str, place: tuple[int, int, str], label: str = "") -> None:
        """A line without its label; `place` is its number, the bytes before it and the line as written."""
        stream = self._stream(label)
        if "<pre>" in line or "</pre>" in line:
            line = re.sub(r"^\s*<pre>|</pre>.*$", "", line)
        if _take_heading(stream, line):
            return
        process, parent = _PROCESS.match(line), _PARENT.match(line)
        if process is not None:
            self._open(stream, int(process.group(1)), process.group(2))
        elif parent is not None and stream.process is not None:
            stream.process.parent_pid = int(parent.group(1))
        elif (thread := _thread_of(line)) is not None:
            opened = stream.process or self._open(stream, None, None)
            opened.threads.append(thread)
            stream.thread = thread
        elif stream.thread is not None and (frame := _frame_of(unescape(line), place)) is not None:
            stream.thread.frames.append(frame)
        elif stream.thread is not None and stream.thread.frames and (value := _VARIABLE.match(unescape(line))):
            stream.thread.frames[-1].variables[value.group(1)] = value.group(2)
        elif _FAILURE.match(line):
            self.failures.append((place[0], place[1], line.strip()))

    def _open(self, stream: _Stream, pid: int | None, command: str | None) -> ProcessStack:
        host, rank = stream.host, stream.rank
        stream.process = ProcessStack(pid, None, command, rank, host, stream.task_no)
        stream.thread = None
        self.processes.append(stream.process)
        return stream.process


def _take_heading(stream: _Stream, line: str) -> bool:
    """A line that says whose stacks follow: of the debug server, of `tail` or `head`, of dshbak."""
    section, listed = _SECTION.match(line), _LISTED.match(line)
    if section is not None:
        stream.rank, stream.host = int(section.group(1)), section.group(2) or stream.host
    elif listed is not None:
        name = listed.group(1)
        stream.rank = worker_hints("/" + name).rank
        stream.host = name if _SIMPLE_HOST.fullmatch(name) and stream.rank is None else None
    elif _TIMEOUT.match(line):
        pass  # faulthandler's timer of a process: what follows is that process's
    elif stream.is_ruled and _SIMPLE_HOST.fullmatch(line.strip()):
        stream.rank, stream.host, stream.is_ruled = None, line.strip(), False
    else:
        stream.is_ruled = bool(_RULE.match(line))
        return stream.is_ruled
    stream.process = stream.thread = None
    return True


def _thread_of(line: str) -> Thread | None:
    match = _THREAD.match(line)
    if match is not None:
        number, state, gil, name = match.groups()
        return Thread(name or number, int(number) if number.isdigit() else None, state == "active", gil is not None)
    match = _FAULT_THREAD.match(line)
    if match is None:
        return None
    return Thread(match.group(3) or match.group(2), None, None, None, is_current=match.group(1) == "Current thread")


def _frame_of(line: str, place: tuple[int, int, str]) -> Frame | None:
    line_no, offset, raw = place
    match = _FAULT_FRAME.match(line)
    if match is not None:
        name, number, function = match.groups()
        return Frame(function, name, int(number) if number.isdigit() else None, line_no, offset, raw)
    match = _FRAME.match(line)
    if match is not None:
        function, name, number = match.groups()
        return Frame(function, name, int(number) if number else None, line_no, offset, raw)
    match = _BARE_FRAME.match(line)
    return Frame(match.group(1), None, None, line_no, offset, raw) if match is not None else None


def _is_labelled(text: str) -> bool:
    """Most lines that can be understood are so only without what stands before their first colon."""
    bare = stripped = 0
    for line in text[: 1 << 18].split("\n"):
        match = _LABEL.match(line)
        bare += _is_known(line)
        stripped += match is not None and _is_known(match.group(3) or "")
    return stripped > bare


def is_stack_line(line: str) -> bool:
    """Whether a line without its label may be part of a dump that has begun."""
    if not line.strip() or line.startswith((" " * 8, "Python v")):
        return True
    return _TIMEOUT.match(line) is not None or _is_known(line)


def _is_known(line: str) -> bool:
    return any(form.match(line) for form in (_PROCESS, _THREAD, _FAULT_THREAD, _FRAME, _FAULT_FRAME, _VARIABLE))


def telling(variables: dict[str, str]) -> dict[str, str]:
    """The variables that may name an object, an address or a file; the rest says nothing about storage.

    `url: "http://10.0.0.1:51080/v1/objects/b/x.tar"` stays, `step: 5` and `self: <Foo at 0x7f>` do not.
    """
    return dict(list(_telling(variables))[:24])


_NAMING = re.compile(
    r"(?i)^(?:.*_)?(?:url|uri|path|obj|object|object_?name|obj_?name|name|key|bucket|bck|wid|uuid|request_?id|shard|file|filename|cut|sample)s?$"
)


def _telling(variables: dict[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in variables.items():
        is_text = value[:1] in "\"'" and len(value) > 3
        if "/v1/" in value or "://" in value or (is_text and (_NAMING.match(name) or "/" in value)):
            yield name, value[:400]
