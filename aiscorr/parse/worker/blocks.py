"""Records of several lines in worker logs: tracebacks, torchrun's failure table, collective stacks, messages.

A block is fed with the lines behind its first, and hands out finished rows.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from aiscorr.parse.ids import client_ids
from aiscorr.parse.spec.pattern import Pattern
from aiscorr.parse.stacks.frame_kinds import (
    C10D,
    HELPER,
    LIBRARY,
    MANAGER,
    ends_in_loader,
    frame_kind_of,
    is_of_compiler,
    is_reading,
    is_saving,
    waits_for_data,
)
from aiscorr.parse.values import last_name
from aiscorr.parse.worker.line import COLUMNS, Row

MAX_BLOCK_LINES = 600

_FRAME = re.compile(rb'^\s+File "([^"]+)", line (\d+), in (\S+)')
_FRAME_BEGUN = re.compile(rb'\s+File "')
_CHAIN = (b"During handling of the above exception", b"The above exception was the direct cause")
#: One blank may have gone with a collector's prefix.
_INDENTED = (b"  ", b"\t", b" \t", b' File "')
#: What underlines a part of a call (Python 3.11 on); a launcher's prefix may take the place of the blanks before it.
_MARKS = b"^~ "
#: A header, with the rank that handed its traceback over to the others (checkpoints of PyTorch 2.0 to 2.15).
_TRACEBACK = re.compile(rb"Traceback \(most recent call last\):(?: \(RANK (\d{1,6})\))?$")
#: A line of a log of its own, and none of a message.
_RECORD = re.compile(rb"\[|\d{4}-\d\d|[IWEF]\d{4} |\w+(?:\.\w+)*(?:Error|Exception)\b|(?:srun|slurmstepd): ")
#: How PyTorch (1.13 to 2.15) goes on in the message of an error of NCCL.
_OF_NCCL = re.compile(rb"nccl\w+Error: |Last error:")
#: The end of a line behind which a message goes on: a colon, or the request's number of huggingface_hub (0.2x to 1.x).
_ANNOUNCING = re.compile(rb":$|\(Request ID: [^)]*\)$")
_TYPE = re.compile(rb"^([A-Za-z_][\w.]*)(?::|$)")
#: The name of an exception as no other line begins: with its kind at the end, or with its module.
_SURE = re.compile(rb"(?:\w+\.)+[A-Za-z_]\w*(?::|$)|\w*(?:Error|Exception|Interrupt|Exit|Iteration|Timeout)\b")
#: An exception that no pattern knows, or one of Ray's: `RayTaskError(ValueError): …`.
_NAMED = re.compile(rb"[A-Za-z_][\w.]*(?:\([\w., ]*\))?(?::|$)")
#: One word alone that is the name of no exception: the rest of a call whose line was broken or cut.
_REST = re.compile(rb"(?!(?:\w+\.)*(?:_*[A-Z]\w*|h?error|timeout|gaierror)$)[\w.]+$")
#: One word alone, which may be the beginning of a name where a text ends with it.
_WORD = re.compile(rb"\w+$")
_TABLE_FIELD = re.compile(rb"^\s+(time|host|rank|exitcode|error_file|traceback)\s*: (.*)$")
_STACK_FRAME = re.compile(rb"^#\d+ (\S+) from (\S+):(\d+)")


def _announces(message: bytes) -> bool:
    """Whether a message goes on behind this line of it."""
    return _ANNOUNCING.search(message.rstrip()) is not None


@dataclass
class TracebackBlock:
    """One traceback of one rank, with the chain of exceptions it ends in.

    `rows`: finished rows of exceptions; all but the last are chained (a later one replaced them). `is_stamped`: a
    collector put a time in front of each of its lines. `head`: the row of its first line, of use where no more comes.
    `is_begun`: a call stands there, though the text may end inside of it.
    `is_headless`: calls with no header and no rank, as printed stacks have too; only an exception makes them one.
    `is_amid_other`: its last traceback came up while the exception before it was handled, and not because of it.
    `half_line`: the line, by its number in the block, whose one word may be half the name of an exception.
    """

    first_line_no: int
    is_tagged: bool
    line_count: int = 0
    state: str = "frames"
    paths: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    is_announcing: bool = False
    is_ignored: bool = False
    is_stamped: bool = False
    is_headless: bool = False
    is_begun: bool = False
    is_amid_other: bool = False
    half_line: int | None = None
    user_location: str | None = None
    collective: str | None = None
    of_rank: int | None = None
    head: Row | None = None
    rows: list[Row] = field(default_factory=list)

    def begin(self, message: bytes) -> None:
        """The first line: the header, or the call behind it where the header is lost."""
        self._frame(message)
        self.is_headless = bool(self.paths) and not self.is_tagged

    def may_end(self, message: bytes) -> bool:
        """Whether the line behind the calls may be their exception, which a stack that a program prints has not."""
        return not self.is_headless or _SURE.match(message.strip()) is not None

    def wants(self, message: bytes) -> str:
        """What the next line is to this block: frame, exception, follow or end."""
        self.line_count += 1
        text = message.strip()
        if self.line_count > MAX_BLOCK_LINES:
            return "end"
        header = _TRACEBACK.search(text)
        if header is not None and self._is_another(text, header.group(1)):
            return "end"
        if header is not None:
            self._open(header.group(1))
            return "frame"
        if not text:
            return "frame"
        if text.startswith(_CHAIN):
            self._chain()
            self.is_amid_other = not text.startswith(_CHAIN[1])
            return "frame"
        if self.state == "frames":
            if message.startswith(_INDENTED) or text.startswith(b"[Previous line") or not text.strip(_MARKS):
                self._frame(message)
                return "frame"
            return "exception" if _REST.match(text) is None else "frame"
        if _FRAME.match(message):
            self.state = "frames"  # what was taken for the exception was a damaged frame
            self._frame(message)
            return "frame"
        return "follow"

    def _is_another(self, text: bytes, rank: bytes | None) -> bool:
        """Whether a header behind an exception begins a traceback that has nothing to do with it."""
        is_bare = text.startswith(b"Traceback") and rank is None and self.of_rank is None
        return is_bare and self.state == "named" and not self.is_tagged and not self.is_announcing

    def close(self) -> list[Row]:
        """The rows of the exceptions; where the last traceback is cut off the one before it is the last that is known.

        What Python ignored is noise.
        """
        if self.state == "frames" and self.rows:
            self.rows[-1]["is_chained"] = False
        for row in self.rows if self.is_ignored else ():
            row.update(pattern="python_exception_ignored", severity="info")
        return self.rows

    def cut_off(self) -> list[Row]:
        """The rows at the end of the text; where it ends before any exception is named, or in the middle of its name,
        the first line tells that one was raised. So it does where an exception that no pattern knows was being handled:
        what came of it is not there."""
        if self.half_line == self.line_count:
            self.rows.pop()
            self.state = "frames"
        last = self.rows[-1]["pattern"] if self.rows else None
        is_open = last is None or (self.is_amid_other and self.state == "frames" and last == "python_exception")
        if is_open and self.head is not None and self.is_begun and not (self.is_ignored or self.is_headless):
            self.head.update(
                severity="error",
                block_line_no=self.first_line_no,
                is_uncaught=True if self.is_tagged else None,
                is_chained=False,
                frame_kind=self.frame_kind(),
                user_location=self.user_location,
            )
            self.rows.append(self.head)
        return self.close()

    def _open(self, rank: bytes | None) -> None:
        """A further traceback: of an exception that this one follows from, or of a rank that handed it over."""
        is_of_peer = self.of_rank is not None and rank is not None
        self._chain(is_cause=not is_of_peer)
        self.of_rank = int(rank) if rank is not None else None

    def _chain(self, *, is_cause: bool = True) -> None:
        if self.rows and is_cause:
            self.rows[-1]["is_chained"] = True
        self.state = "frames"
        self.paths, self.functions, self.user_location = [], [], None

    def _frame(self, message: bytes) -> None:
        self.is_begun |= _FRAME_BEGUN.match(message) is not None
        match = _FRAME.match(message)
        if match is None:
            return
        path = match.group(1).decode("utf-8", "replace")
        self.paths.append(path)
        function = match.group(3).decode("utf-8", "replace")
        self.functions.append(function)
        if C10D in path and function != "wrapper" and self.collective is None:
            self.collective = function
        if not LIBRARY.search(path) and not path.startswith("<"):
            self.user_location = f"{path}:{int(match.group(2))}"

    def frame_kind(self) -> str | None:
        """What the frames so far were doing, or None where there are none."""
        return frame_kind_of(self.paths) if self.paths else None

    def insides(self) -> tuple[str | None, ...]:
        """What patterns may ask of the frames so far: their kind, and whether the last calls talked to a process
        (a manager of shared objects), waited for data that the program itself was to get, are a compiler's or a
        loader's, were after data, or moved some at all."""
        is_helper = any(HELPER.search(path) for path in self.paths[-2:])
        is_manager = any(MANAGER.search(path) for path in self.paths[-5:])
        is_wait = waits_for_data(self.paths, self.functions)
        is_read = is_reading(self.paths, self.functions)
        told = (
            *(("manager_process", is_manager), ("helper_process", is_helper), ("data_wait", is_wait)),
            *(("compiler", is_of_compiler(self.paths)), ("loader", ends_in_loader(self.paths))),
            *(("reading", is_read), ("transfer", is_read or is_saving(self.paths, self.functions))),
        )
        return (None, self.frame_kind(), *(name for name, is_so in told if is_so))

    def add_exception(self, row: Row, message: bytes, frame_kind: str | None) -> None:
        """The line that names the exception; its row gets what the frames told, their kind among it."""
        type_match = _TYPE.match(message.strip())
        if row.get("exception") is None and type_match is not None:
            row["exception"] = last_name(type_match.group(1).decode("utf-8", "replace"))
        row["block_line_no"] = self.first_line_no
        row["is_uncaught"] = True if self.is_tagged else None
        row["is_chained"] = False
        row["frame_kind"] = frame_kind
        row["user_location"] = row.get("user_location") or self.user_location
        row["collective"] = self.collective
        self._add(row)
        self.state = "named"
        self.is_announcing = _announces(message)
        text = message.strip()
        is_half = _WORD.match(text) is not None and _SURE.match(text) is None
        self.half_line = self.line_count if is_half else None

    def holds(self, message: bytes) -> bool:
        """Whether a line behind the exception is of its message, whatever it says: it has its tag, or is NCCL's."""
        return self.is_tagged or _OF_NCCL.match(message) is not None

    def goes_on(self, message: bytes) -> bool:
        """Whether a line behind the exception is of its message: that holds it, or was to go on and it is no record."""
        return self.holds(message) or (self.is_announcing and not _RECORD.match(message))

    def add_cause(self, row: Row) -> None:
        """A further line of the message that names the cause, which the line of the exception does not."""
        last = self.rows[-1]
        for name in ("exception", "block_line_no", "is_uncaught", "is_chained", "frame_kind", "collective"):
            row[name] = last.get(name)
        row["user_location"] = row.get("user_location") or last.get("user_location")
        last["is_chained"] = True
        self._add(row)

    def _add(self, row: Row) -> None:
        """The row becomes one of the rank that handed its traceback over, where one did."""
        if self.of_rank is not None:
            row.update(rank=self.of_rank, rank_source="field", local_rank=None, pid=None, host=None)
        self.rows.append(row)

    def add_follow(self, message: bytes) -> None:
        """A further line of the message: may hold the address the exception is about."""
        self.is_announcing = _announces(message) or (self.is_announcing and not message.strip(b"\"' \r"))
        if self.rows:
            for key, value in client_ids(message.decode("utf-8", "replace")).items():
                self.rows[-1].setdefault(key, value)
                if self.rows[-1][key] is None:
                    self.rows[-1][key] = value


@dataclass
class TableBlock:
    """torchrun's failure table (PyTorch 1.9 to 2.15): one entry a failed process."""

    is_root: bool
    line_count: int = 0
    entry: Row = field(default_factory=dict)

    @staticmethod
    def is_foreign(message: bytes, found: tuple[Pattern, object] | None) -> bool:
        """Whether a line is a record of its own, recognised and not indented: the table's end mark was lost."""
        return found is not None and found[0].opens != "torchrun_table" and not message.startswith((b"  ", b"\t"))

    def feed(self, message: bytes) -> tuple[bool, Row | None]:
        """(whether the table goes on, a finished entry or None)."""
        self.line_count += 1
        text = message.strip()
        if text.startswith(b"====") and self.line_count > 1:
            return False, None
        if text.startswith(b"Root Cause"):
            self.is_root = True
        match = _TABLE_FIELD.match(message)
        if match is None:
            return self.line_count < MAX_BLOCK_LINES, None
        name, value = match.group(1).decode(), match.group(2).decode("utf-8", "replace").strip()
        if name == "time":
            self.entry = {"capture_time": value}
        elif name == "host":
            self.entry["host"] = value
        elif name == "rank":
            found = re.match(r"(\d+) \(local_rank: (\d+)\)", value)
            if found:
                self.entry["rank"], self.entry["local_rank"] = int(found.group(1)), int(found.group(2))
        elif name == "exitcode":
            found = re.match(r"(-?\d+) \(pid: (\d+)\)", value)
            if found:
                self.entry["exit_code"], self.entry["pid"] = int(found.group(1)), int(found.group(2))
            return True, {**self.entry, "is_root": self.is_root}
        return True, None


def is_exception(message: bytes) -> bool:
    """Whether a line may be the last of a traceback: it begins with the name of an exception."""
    return _NAMED.match(message.strip()) is not None


def failed_process(entry: Row) -> Row:
    """What an entry of torchrun's failure table tells of its process, as part of a row."""
    return {
        "severity": "error",
        "pattern": "torchrun_failure_entry",
        "body_start": 0,
        "message_start": 0,
        "rank": entry.get("rank"),
        "rank_source": "field",
        "local_rank": entry.get("local_rank"),
        "pid": entry.get("pid"),
        "host": entry.get("host"),
        "exit_code": entry.get("exit_code"),
        "capture": json.dumps({"is_root_cause": bool(entry.get("is_root"))}),
    }


@dataclass
class StackBlock:
    """`Stack trace of the failed collective:` and its `#0 f from path:line` lines, innermost first."""

    row: Row
    frames: list[str] = field(default_factory=list)
    line_count: int = 0

    def feed(self, message: bytes) -> bool:
        """Whether the stack goes on."""
        self.line_count += 1
        match = _STACK_FRAME.match(message.strip())
        if match is None:
            return False
        path = match.group(2).decode("utf-8", "replace")
        place = f"{path}:{int(match.group(3))}"
        self.frames.append(f"{match.group(1).decode('utf-8', 'replace')} {place}")
        if self.row.get("user_location") is None and not LIBRARY.search(path):
            self.row["user_location"] = place
        return self.line_count < 100

    def finished_row(self) -> Row:
        """The row with the frames, innermost first, as its capture."""
        if self.frames:
            self.row["capture"] = json.dumps({"frames": self.frames[:20]})
        return self.row


@dataclass
class MessageBlock:
    """A message that may go on in the next lines; its pattern reads the whole again at the end."""

    row: Row
    pattern: Pattern
    text: bytes
    line_count: int = 0

    def feed(self, message: bytes) -> bool:
        """Whether more lines may belong to it."""
        self.line_count += 1
        self.text += b" " + message.strip()
        return self.line_count < 6

    def finished_row(self) -> Row:
        """The row with what only the joined message tells."""
        match = self.pattern.regex.search(self.text)
        for name, value in (self.pattern.values(match) if match else {}).items():
            if name in COLUMNS and self.row.get(name) is None:
                self.row[name] = value
        return self.row
