"""Stacks that stand in a log: of faulthandler's timer or signal, or of py-spy called by something that watches the job.

What a dying process prints of itself (`Fatal Python error: …`) tells where it was killed, not what it waited for,
unless another thread than the main one ended it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

from aiscorr.model import FileSummary
from aiscorr.parse.batches import PartSink
from aiscorr.parse.stacks.reader import add_processes
from aiscorr.parse.stacks.text import ProcessStack, StackText, is_stack_line
from aiscorr.parse.values import Value
from aiscorr.parse.worker.line import Key, Line
from aiscorr.parse.worker.prefixes import LinePrefix
from aiscorr.parse.worker.state import WorkerState

#: Lines of something else, one behind the other, after which the stacks are over.
_OTHERS = 3
_MOST_LINES = 5000
_FATAL = (b"Fatal Python error: ", b"Windows fatal exception: ")
_LINES_ABOVE = 4
_RANK = re.compile(rb"\brank\"?[ =:#]{0,2}(\d{1,6})\b", re.IGNORECASE)
#: What a process says of itself before it prints its stacks.
_ASKED = re.compile(
    rb"watchdog|dump|stack|no (?:step|progress|heartbeat)|stuck|\bh[au]ng|stall|time-?d?[ -]?out", re.IGNORECASE
)


@dataclass
class _ThreadBlock:
    """The stacks behind one prefix of a log; `moment` is the attempt and the time they are given."""

    prefix: LinePrefix
    moment: dict[str, Value]
    is_of_dying: bool
    heading: bytes
    text: StackText = field(default_factory=StackText)
    line_count: int = 0
    other_count: int = 0


class ThreadBlocks:
    """The stacks of one log that are being read, each behind a prefix of its own."""

    def __init__(self, sink: PartSink, summary: FileSummary, state: WorkerState) -> None:
        self._sink = sink
        self._summary = summary
        self._state = state
        #: The stacks that are being read, by whose they are.
        self.blocks: dict[Key, _ThreadBlock] = {}

    def open(self, line: Line, before: Iterable[bytes], time: tuple[int | None, int | None]) -> None:
        """Stacks begin behind `before`, the lines above, latest first; `time` is that of the line, and its zone."""
        local_ns, zone_offset_s = time
        moment: dict[str, Value] = {
            "attempt_no": self._state.attempt_no,
            "local_ns": local_ns,
            "zone_offset_s": zone_offset_s,
        }
        above = list(islice(before, _LINES_ABOVE))
        is_of_dying = any(word in text for text in above for word in _FATAL)
        self.blocks[line.key] = _ThreadBlock(line.prefix, moment, is_of_dying, next(iter(above), b""))
        self.feed(line.key, line)

    def feed(self, key: Key, line: Line) -> bool:
        """Whether the line belongs to the stacks of its key."""
        block = self.blocks.get(key)
        if block is None:
            return False
        bare = line.body.decode("utf-8", "replace").rstrip("\r")
        block.line_count += 1
        if is_stack_line(bare) and not (bare.startswith("Process ") and _awaits_threads(block.text)):
            block.other_count = 0
            count = len(block.text.processes)
            place = line.segment.line_no, line.segment.line_offset
            block.text.take(bare, (*place, line.text.decode("utf-8", "replace")))
            for process in block.text.processes[count:]:
                if process.pid is not None or (block.prefix.rank is None and self._summary.path_rank is None):
                    process.rank = _rank_told(block.heading, process.pid)
            return True
        if _is_whole(block.text):
            self.close(key)
            return False
        block.heading = line.text
        block.other_count += 1
        if block.other_count >= _OTHERS or block.line_count >= _MOST_LINES:
            self.close(key)
        return False

    def close(self, *keys: Key) -> None:
        """Writes what was read; a process that a watcher names by its number need not be the rank of the file."""
        for block in [self.blocks.pop(key) for key in keys if key in self.blocks]:
            own_rank = block.prefix.rank if block.prefix.rank is not None else self._summary.path_rank
            found = [process for process in block.text.processes if any(thread.frames for thread in process.threads)]
            if block.is_of_dying:
                found = [process for process in found if _is_ended_by_another(process)]
            for process in found:
                process.host, process.task_no = block.prefix.host, block.prefix.task
                if process.rank is None:
                    process.rank = block.prefix.rank if process.pid is not None else own_rank
            add_processes(self._summary, self._sink, found, first_no=self._state.dump_count, moment=block.moment)
            self._state.dump_count += len(found)


def _is_ended_by_another(process: ProcessStack) -> bool:
    """Whether a thread beside the main one ended the process, as a guard does: the main one stood where it waited."""
    main = process.main_thread()
    return main is not None and not main.is_current and any(thread.is_current for thread in process.threads)


def _awaits_threads(text: StackText) -> bool:
    """Whether a process was named last: lines that all begin like one are a program's own words, not a dump."""
    return bool(text.processes) and not text.processes[-1].threads


def _is_whole(text: StackText) -> bool:
    """Whether the stacks that faulthandler prints of a process are over: its main thread is last, its module too."""
    if len(text.processes) != 1 or text.processes[0].pid is not None or not text.processes[0].threads:
        return False
    frames = text.processes[0].threads[-1].frames
    return bool(frames) and frames[-1].function == "<module>"


def _rank_told(heading: bytes, pid: int | None) -> int | None:
    """The rank in the line above a process that tells it by its number, or says why its own stacks follow."""
    is_told = _ASKED.search(heading) if pid is None else re.search(rb"\b%d\b" % pid, heading)
    if not is_told:
        return None
    match = _RANK.search(heading)
    return int(match.group(1)) if match is not None else None
