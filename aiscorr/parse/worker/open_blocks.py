"""The blocks of one worker log that are being read: each is given the lines behind its first that have its key.

Tracebacks, failure tables, messages and stacks of ranks that interleave in a file stay apart so. What a block is
stands in blocks.py and thread_blocks.py.
"""

from __future__ import annotations

from collections.abc import Iterable

from aiscorr.parse.spec.pattern import Pattern
from aiscorr.parse.worker.blocks import MessageBlock, StackBlock, TableBlock, TracebackBlock, is_exception
from aiscorr.parse.worker.enclosed_lines import enclosed_lines
from aiscorr.parse.worker.line import Key, Line, Row
from aiscorr.parse.worker.patterns import WorkerPatterns
from aiscorr.parse.worker.rows import TEXT_LIMIT, WorkerRows
from aiscorr.parse.worker.thread_blocks import ThreadBlocks

#: Lines of others after which a block is over.
_STALE = 1000
#: A traceback that Python ignores begins within so many lines of the one that says so.
_NEAR = 4
#: What C++ prints of an abort: indented, and never part of a table or of a traceback of Python that it falls into.
_ABORT_REASON = b"  what():"
#: Errors whose line tells no cause; it follows, behind `Last error:` (PyTorch 2.0 to 2.15), `encountered:` (DALI), or
#: as a message below a bare name.
_TELLING_LATER = ("nccl_internal_error", "nccl_system_error", "dali_failed", "process_exception_wrapper")
#: What only a collector's time stands in front of: a logger's record has its message there.
_HEADER = b"Traceback (most recent call last):"
#: Whose words may stand behind the first line of an exception's message.
_MESSAGE_TIERS = ("data_io", "gpu", "network")


class OpenBlocks:
    """Opens, feeds and closes blocks; the rows they end in are written."""

    def __init__(self, patterns: WorkerPatterns, rows: WorkerRows, threads: ThreadBlocks) -> None:
        self._patterns = patterns
        self._rows = rows
        self._threads = threads
        self._tracebacks: dict[Key, TracebackBlock] = {}
        self._tables: dict[Key, TableBlock] = {}
        self._messages: dict[Key, MessageBlock] = {}
        self._stacks: list[StackBlock] = []
        #: The latest line of each key that announces an exception which Python ignores.
        self._ignored: dict[Key, int] = {}
        #: The latest line of each key.
        self._fed: dict[Key, int] = {}

    @property
    def is_empty(self) -> bool:
        """Whether no block wants the next line."""
        return not (self._tracebacks or self._tables or self._stacks or self._messages or self._threads.blocks)

    def open_traceback(self, line: Line, pattern: Pattern) -> None:
        """A traceback begins, with its header or with a call where that is lost, or one goes on with another."""
        key = self._note_fed(line)
        if key not in self._tracebacks:
            block = self._tracebacks[key] = TracebackBlock(line.segment.line_no, line.is_tagged)
            block.is_stamped = line.prefix.stamp_source == "own" and line.message.lstrip().startswith(_HEADER)
            block.head = self._rows.of_pattern(line, pattern, {})
            block.begin(line.body)
            block.is_ignored = line.segment.line_no - self._ignored.pop(key, -_NEAR) < _NEAR

    def read_enclosed(self, line: Line) -> bool:
        """Reads a traceback that is a field of this line; whether there is one that tells its exception."""
        block = TracebackBlock(line.segment.line_no, is_tagged=False)
        prefix = line.prefix._replace(body_start=0, message_start=0)
        for piece, meant in enclosed_lines(line.text):
            count = len(block.rows)
            if not self._takes(block, line._replace(text=meant, prefix=prefix)):
                block.add_follow(meant)
            for row in block.rows[count:]:
                row["text"] = piece.decode("utf-8", "replace")[:TEXT_LIMIT]
        for row in block.close():
            self._rows.write(row)
        return bool(block.rows)

    def open_table(self, line: Line) -> None:
        """torchrun's failure table begins, with its head or with an entry where that is lost."""
        table = self._tables[self._note_fed(line)] = TableBlock(is_root=b"Root Cause" in line.text)
        table.feed(line.message)

    def open_threads(self, line: Line, before: Iterable[bytes]) -> None:
        """Stacks begin behind `before`, the lines above, latest first."""
        self._note_fed(line)
        self._threads.open(line, before, self._rows.time_of(line))

    def hold(self, line: Line, pattern: Pattern, row: Row) -> bool:
        """Whether the row waits for the lines behind it."""
        if pattern.opens == "collective_stack":
            self._stacks.append(StackBlock(row))
        elif pattern.opens == "ignored":
            self._ignored[self._note_fed(line)] = line.segment.line_no
            return False
        elif pattern.opens == "message":
            self._messages[self._note_fed(line)] = MessageBlock(row, pattern, line.message)
        else:
            return False
        return True

    def feed(self, line: Line) -> bool:
        """Gives the line to the blocks of its key; True where it belongs to one and is nothing else."""
        self._close_stale(line.segment.line_no)
        key = self._note_fed(line)
        is_abort = line.body.startswith(_ABORT_REASON)
        table = None if is_abort else self._tables.get(key)
        if table is not None and table.is_foreign(line.message, self._patterns.find(line)):
            del self._tables[key]
        elif table is not None:
            goes_on, entry = table.feed(line.message)
            if entry is not None:
                self._rows.write(self._rows.of_failed_process(line, entry))
            if not goes_on:
                del self._tables[key]
            return True
        if self._stacks and not self._stacks[-1].feed(line.text):
            self._rows.write(self._stacks.pop().finished_row())
        held = self._messages.get(key)
        if held is not None and not self._goes_on(held, line):
            self._close_message(key)
        if self._threads.feed(key, line):
            return True
        block = self._tracebacks.get(key)
        return block is not None and not is_abort and self._feed_traceback(block, line, key)

    def close(self) -> None:
        """The end of the file, or of the processes that wrote it so far."""
        for block in self._tracebacks.values():
            for row in block.cut_off():
                self._rows.write(row)
        self._tracebacks.clear()
        for stack in self._stacks:
            self._rows.write(stack.finished_row())
        self._stacks = []
        for key in list(self._messages):
            self._close_message(key)
        self._threads.close(*self._threads.blocks)

    def _note_fed(self, line: Line) -> Key:
        key = line.key
        self._fed[key] = line.segment.line_no
        return key

    def _close_stale(self, line_no: int) -> None:
        """Ends blocks of ranks that have been silent while others went on: a rank that died writes no next line."""
        open_keys = (*self._tracebacks, *self._messages, *self._tables, *self._threads.blocks)
        for key in [k for k in open_keys if line_no - self._fed[k] > _STALE]:
            if key in self._tracebacks:
                self._close_traceback(key)
            if key in self._messages:
                self._close_message(key)
            self._threads.close(key)
            self._tables.pop(key, None)

    def _goes_on(self, held: MessageBlock, line: Line) -> bool:
        """Whether a line is of the message: it has no stamp, is nothing that is recognised, and there is room."""
        return line.prefix.stamp_source is None and self._patterns.find(line) is None and held.feed(line.body)

    def _feed_traceback(self, block: TracebackBlock, line: Line, key: Key) -> bool:
        if block.is_stamped and line.prefix.stamp_source == "own":
            line = line.behind_stamp()
        elif line.prefix.stamp_source == "own" and not line.body.lstrip().startswith(b"File "):
            self._close_traceback(key)
            return False
        if self._takes(block, line):
            return True
        self._close_traceback(key)
        return False

    def _takes(self, block: TracebackBlock, line: Line) -> bool:
        """Whether a line behind the header is of the traceback."""
        body = line.body
        step = block.wants(body)
        if step == "frame" or (step == "exception" and self._add_exception(block, line)):
            return True
        if step == "follow" and block.goes_on(body) and self._names_cause(block, line):
            return True
        if step == "follow":
            self._note_listed(block, line)
        is_loose = step == "follow" and (body[:1] in b" ," or block.goes_on(body))
        if step == "follow" and (block.holds(body) or (is_loose and self._patterns.find(line) is None)):
            block.add_follow(body)
            return True
        return False

    def _add_exception(self, block: TracebackBlock, line: Line) -> bool:
        """Whether the line behind the frames names their exception; where it does, its row is the block's."""
        frame_kind = block.frame_kind()
        if not block.may_end(line.body):
            return False
        found = self._patterns.find(line, block.insides())
        if found is None and not is_exception(line.body):
            return False
        pattern, values = found or (self._patterns.fallback, {})
        if pattern is None or pattern.opens == "torchrun_table":
            return False
        row = self._rows.of_pattern(line, pattern, values)
        block.add_exception(row, line.body, "data_loading" if pattern.inside == "data_wait" else frame_kind)
        return True

    def _names_cause(self, block: TracebackBlock, line: Line) -> bool:
        """Whether a further line of a message that told no cause is one that does; it becomes a row of its own."""
        if not block.rows:
            return False
        told = block.rows[-1]["pattern"]
        if told not in _TELLING_LATER and not self._patterns.is_generic(told):
            return False
        found = self._patterns.find(line, block.insides())
        if found is None or found[0].role != "cause" or found[0].tier not in _MESSAGE_TIERS or found[0].name == told:
            return False
        block.add_cause(self._rows.of_pattern(line, *found))
        return True

    def _note_listed(self, block: TracebackBlock, line: Line) -> None:
        """A further line of a message that tells what one rank called becomes a row, and stays of the message."""
        found = self._patterns.find(line, block.insides())
        if found is not None and found[0].role == "context" and found[0].tier == "collective":
            self._rows.write(self._rows.of_pattern(line, *found))

    def _close_traceback(self, key: Key) -> None:
        for row in self._tracebacks.pop(key).close():
            self._rows.write(row)

    def _close_message(self, key: Key) -> None:
        self._rows.write(self._messages.pop(key).finished_row())
