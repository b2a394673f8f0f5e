"""Reads training worker logs from blocks to rows: recognised lines, tracebacks, last words, clock marks.

A file may hold one rank, all ranks of a node interleaved, or a launcher's stream; several attempts of a
job may follow each other in it.
"""

from __future__ import annotations

from collections.abc import Iterable

from aiscorr.model import FileSummary
from aiscorr.parse.batches import PartSink
from aiscorr.parse.chunks import Block
from aiscorr.parse.ids import client_ids, may_hold_ids, words_of
from aiscorr.parse.look_back import LookBack
from aiscorr.parse.prefilter import Expression, Prefilter, build_prefilter
from aiscorr.parse.prefixes import LinePrefix, PrefixReader
from aiscorr.parse.scan import LineWalker, Segment
from aiscorr.parse.sieve import sieved
from aiscorr.parse.spec import Pattern, pattern_set
from aiscorr.parse.stamps import SECOND_NS
from aiscorr.parse.step_lines import StepLines, StepPatterns
from aiscorr.parse.thread_blocks import ThreadBlocks
from aiscorr.parse.values import Value, add_values, character_count, strip_ansi
from aiscorr.parse.worker_blocks import (
    Key,
    MessageBlock,
    Row,
    StackBlock,
    TableBlock,
    TracebackBlock,
    failed_process,
    key_of,
)
from aiscorr.parse.worker_state import WorkerState
from aiscorr.parse.worker_tail import TailLine, TailPatterns, last_words
from aiscorr.parse.zone import ZoneClock
from aiscorr.tables import WORKER_LINE

TEXT_LIMIT = 4096
_COLUMNS = frozenset(WORKER_LINE.column_names)
#: Lines of others after which a block is over.
_STALE = 1000
#: Patterns from this priority on know the form of an exception and not what its message means.
_GENERIC = 89
#: Whose words may stand behind the first line of an exception's message.
_MESSAGE_TIERS = ("data_io", "gpu", "network")
_ENDING_TIERS = ("collective", "process", "launcher", "gpu")


class WorkerLogReader:
    """Compiled patterns and prefix formats; opens one WorkerFile after the other."""

    def __init__(
        self, sink: PartSink, pattern_folders: tuple[str, ...] = (), format_folders: tuple[str, ...] = ()
    ) -> None:
        self.sink = sink
        self.patterns: tuple[Pattern, ...] = pattern_set("worker", pattern_folders)
        self.tail_patterns = TailPatterns(pattern_set("tail", pattern_folders))
        self.prefixes = PrefixReader(format_folders)
        self.steps = StepPatterns(self.prefixes, pattern_folders)
        self.repeated = StepPatterns(self.prefixes, pattern_folders, "repeated")
        expressions = [Expression(p.regex_text, p.literals, p.prefilter) for p in self.patterns]
        self.prefilter: Prefilter = sieved(build_prefilter(expressions), expressions)
        self.fallback = next((p for p in self.patterns if p.name == "python_exception"), None)
        self.generic = {p.name for p in self.patterns if p.priority >= _GENERIC}

    def open_file(self, summary: FileSummary, state: WorkerState, zone: ZoneClock | None = None) -> WorkerFile:
        """The reader of one file, at its start or where `state` left it."""
        return WorkerFile(self, summary, state, zone)

    def flush(self) -> None:
        """Nothing is held back here."""


class WorkerFile:
    """Feeds on the blocks of one file, in order."""

    def __init__(
        self, reader: WorkerLogReader, summary: FileSummary, state: WorkerState, zone: ZoneClock | None
    ) -> None:
        self._reader = reader
        self._zone = zone
        self._sink = reader.sink
        self._summary = summary
        self.state = state
        self._years = state.years()
        self._walker = LineWalker(reader.prefilter, line_no=state.line_no)
        self._tracebacks: dict[Key, TracebackBlock] = {}
        self._tables: dict[Key, TableBlock] = {}
        self._stacks: list[StackBlock] = []
        self._messages: dict[Key, MessageBlock] = {}
        self._threads = ThreadBlocks(reader.sink, summary, state)
        self._fed: dict[Key, int] = {}
        self._behind = LookBack(reader.prefixes, state, self._years)
        self._is_told = False
        self._steps = StepLines(reader.steps, reader.repeated, self._sink, summary, state, self._years, self._stored)

    @property
    def is_between_records(self) -> bool:
        """Whether reading may go on from here later without losing part of a block."""
        return not (self._tracebacks or self._tables or self._stacks or self._messages or self._threads.blocks)

    @property
    def is_recognised(self) -> bool:
        """Whether a line was recognised, or the last words tell a rank or step, or the name one and lines a time."""
        named = (self._summary.path_rank, self._summary.path_local_rank, self._summary.worker_node_no)
        is_named = self.state.first_ns is not None and any(number is not None for number in named)
        return is_named or self._is_told or self._summary.event_count > 0 or self.state.step_first_count > 0

    def feed(self, block: Block) -> None:
        """The next block of whole lines."""
        self._behind.open_block(block, self._walker.line_no)
        walker, is_closed = self._walker, self.is_between_records
        for segment in walker.walk(block):
            self._take(segment, is_closed)
            is_closed = self.is_between_records
            walker.wants_every_line = not is_closed
        self._steps.look(block, self.state.line_no)
        self._behind.close_block(block, self._walker.line_no)
        self.state.line_no = self._walker.line_no
        self.state.keep_years(self._years)

    def finish(self, *, ends_with_newline: bool = True) -> None:
        """The end of the file: writes what is open, the last words, and the summary's times."""
        for key in list(self._tracebacks):
            self._close_traceback(key)
        for stack in self._stacks:
            self._write(stack.finished_row())
        self._stacks = []
        for key in list(self._messages):
            self._close_message(key)
        self._threads.close(*self._threads.blocks)
        if not self.state.is_tail_taken:
            self._take_tail(self._behind.lines_at_end(self._walker.line_no))
        self._behind.find_last_stamp(self._walker.line_no)
        self._summary.line_count = self._walker.line_no - 1 + (0 if ends_with_newline else 1)
        is_utc = 0 if self.state.is_utc else None
        self._summary.first_ns = self._stored(self.state.first_ns, is_utc)
        self._summary.last_ns = self._stored(self.state.last_ns, is_utc)
        self._summary.is_utc = self.state.is_utc or self._zone is not None

    def preload(self, before: bytes) -> None:
        """The text in front of the place where reading goes on, for looking back."""
        self._behind.preload(before)

    def _take(self, segment: Segment, is_between_records: bool) -> None:
        raw = segment.text.strip(b"\0")
        line = strip_ansi(raw.decode("utf-8", "replace")).encode("utf-8", "replace") if b"\x1b" in raw else raw
        prefix = self._reader.prefixes.read(line, self._years)
        if prefix.stamp is not None:
            self.state.note_stamp(prefix.stamp, prefix.wrapper_stamp, segment.line_offset)
        key = key_of(prefix)
        if not is_between_records:
            self._close_stale(segment.line_no)
        self._fed[key] = segment.line_no
        if not is_between_records and self._feed_blocks(segment, line, prefix, key):
            return
        found = self._classify(segment, line) if segment.candidates else None
        if found is None:
            return
        pattern, values = found
        if prefix.wrapper_stamp is not None:
            self._note_wrapper(segment, prefix, line)
        if pattern.opens == "threads":
            self._open_threads(segment, line, prefix, key)
            return
        if pattern.opens == "traceback":
            block = self._tracebacks.get(key)
            if block is None:
                self._tracebacks[key] = TracebackBlock(segment.line_no, prefix.rank_source == "tag")
            return
        if pattern.opens == "torchrun_table":
            self._end_attempt(segment, pattern)
            self._tables[key] = TableBlock(is_root=b"Root Cause" in line)
            return
        row = self._row(segment, line, prefix, pattern, values)
        self._note_attempt(segment, pattern, row)
        if pattern.opens == "collective_stack":
            self._stacks.append(StackBlock(row))
        elif pattern.opens == "message":
            self._messages[key] = MessageBlock(row, pattern, line[prefix.message_start :])
        else:
            self._write(row)

    def _open_threads(self, segment: Segment, line: bytes, prefix: LinePrefix, key: Key) -> None:
        if prefix.stamp is None:
            self._behind.find_stamp(segment.start)
        before = (tail.text for tail in self._behind.lines_before(segment.start))
        self._threads.open(key, prefix, before, self._stored)
        self._threads.feed(key, line, line[prefix.body_start :], segment)

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

    def _feed_blocks(self, segment: Segment, line: bytes, prefix: LinePrefix, key: Key) -> bool:
        """Gives the line to open blocks; True where it belongs to one and is nothing else."""
        message = line[prefix.body_start :]
        table = self._tables.get(key)
        if table is not None and table.is_foreign(line[prefix.message_start :], self._classify(segment, line)):
            del self._tables[key]
        elif table is not None:
            goes_on, entry = table.feed(line[prefix.message_start :])
            if entry is not None:
                self._write(self._entry_row(segment, line, entry))
            if not goes_on:
                del self._tables[key]
            return True
        if self._stacks and not self._stacks[-1].feed(line):
            self._write(self._stacks.pop().finished_row())
        held = self._messages.get(key)
        if held is not None and (prefix.stamp_source is not None or segment.candidates or not held.feed(message)):
            self._close_message(key)
        if self._threads.feed(key, line, message, segment):
            return True
        block = self._tracebacks.get(key)
        return block is not None and self._feed_traceback(block, segment, line, message, prefix, key)

    def _feed_traceback(
        self, block: TracebackBlock, segment: Segment, line: bytes, message: bytes, prefix: LinePrefix, key: Key
    ) -> bool:
        if prefix.stamp_source == "own" and not message.lstrip().startswith(b"File "):
            self._close_traceback(key)
            return False
        step = block.wants(message)
        if step == "frame":
            return True
        if step == "exception":
            frame_kind = block.frame_kind()
            found = self._classify(segment, line, block.insides()) if segment.candidates else None
            pattern, values = found or (self._reader.fallback, {})
            if pattern is None or pattern.opens == "torchrun_table":
                self._close_traceback(key)
                return False
            row = self._row(segment, line, prefix, pattern, values)
            block.add_exception(row, message, "data_loading" if pattern.inside == "data_wait" else frame_kind)
            return True
        if step == "follow" and block.goes_on(message) and self._names_cause(block, segment, line, prefix):
            return True
        is_loose = message[:1] in b" ," or block.goes_on(message)
        if step == "follow" and (block.is_tagged or (not segment.candidates and is_loose)):
            block.add_follow(message)
            return True
        self._close_traceback(key)
        return False

    def _names_cause(self, block: TracebackBlock, segment: Segment, line: bytes, prefix: LinePrefix) -> bool:
        """Whether a further line of a message that told no cause is one that does; it becomes a row of its own."""
        if not segment.candidates or not block.rows or block.rows[-1]["pattern"] not in self._reader.generic:
            return False
        found = self._classify(segment, line, block.insides())
        if found is None or found[0].role != "cause" or found[0].tier not in _MESSAGE_TIERS:
            return False
        block.add_cause(self._row(segment, line, prefix, *found))
        return True

    def _classify(
        self, segment: Segment, line: bytes, insides: tuple[str | None, ...] = (None,)
    ) -> tuple[Pattern, dict[str, Value]] | None:
        """The first pattern that fits a line; `insides` is what the traceback tells whose exception the line is."""
        for number in segment.candidates:
            pattern = self._reader.patterns[number]
            if pattern.inside not in insides:
                continue
            match = pattern.regex.search(line)
            if match is not None:
                return pattern, pattern.values(match)
        return None

    def _row(
        self, segment: Segment, line: bytes, prefix: LinePrefix, pattern: Pattern, values: dict[str, Value]
    ) -> Row:
        if prefix.stamp is None:
            self._behind.find_stamp(segment.start)
        text = line.decode("utf-8", "replace")
        (stamp, stamp_source, _, rank, rank_source, local_rank, group_rank, process_group, task, pid, host, body_start,
         message_start) = prefix  # fmt: skip
        state, summary = self.state, self._summary
        if rank is None:
            rank, rank_source = summary.path_rank, "file" if summary.path_rank is not None else None
        local_ns, zone_offset_s = stamp[:2] if stamp is not None else (state.stamp_ns, state.stamp_zone_s)
        row: Row = {
            "file_id": summary.file_id,
            "line_no": segment.line_no,
            "byte_offset": segment.line_offset,
            "attempt_no": state.attempt_no,
            "local_ns": self._stored(local_ns, zone_offset_s),
            "stamp_source": stamp_source or state.borrowed_from(segment.line_offset),
            "zone_offset_s": zone_offset_s,
            "rank": rank,
            "rank_source": rank_source,
            "local_rank": local_rank if local_rank is not None else summary.path_local_rank,
            "group_rank": group_rank,
            "task": task,
            "pid": pid,
            "host": host,
            "process_group": process_group,
            "severity": pattern.severity,
            "pattern": pattern.name,
            "text": text if len(text) <= TEXT_LIMIT else text[:TEXT_LIMIT],
            "body_start": body_start,
            "message_start": message_start,
        }
        if len(text) < len(line):  # else there is a character for each byte
            row |= {name: character_count(line, getattr(prefix, name)) for name in ("body_start", "message_start")}
        if may_hold_ids(held := words_of(line)):
            row.update(client_ids(text, held))
        add_values(row, values, _COLUMNS)
        return row

    def _entry_row(self, segment: Segment, line: bytes, entry: Row) -> Row:
        return {
            "file_id": self._summary.file_id,
            "line_no": segment.line_no,
            "byte_offset": segment.line_offset,
            "attempt_no": self.state.attempt_no,
            "local_ns": self._stored(self.state.stamp_ns, self.state.stamp_zone_s),
            "zone_offset_s": self.state.stamp_zone_s,
            "stamp_source": "own",
            "text": line.decode("utf-8", "replace")[:TEXT_LIMIT],
            **failed_process(entry),
        }

    def _stored(self, moment: Value, zone_offset_s: Value = None) -> int | None:
        """The file's clock as stored: UTC where the stamp prints its zone or the user named it, else as printed."""
        if not isinstance(moment, int):
            return None
        if isinstance(zone_offset_s, int):
            return moment - zone_offset_s * SECOND_NS
        return self._zone.to_utc(moment) if self._zone is not None else moment

    def _note_wrapper(self, segment: Segment, prefix: LinePrefix, line: bytes) -> None:
        stamp, outer = prefix.stamp, prefix.wrapper_stamp
        if stamp is None or outer is None or stamp is outer or outer.zone_offset_s is None:
            return
        if stamp.zone_offset_s is not None:
            return
        self._sink.add(
            "clock_mark",
            {
                "file_id": self._summary.file_id,
                "line_no": segment.line_no,
                "process_no": self.state.attempt_no,
                "kind": "wrapper",
                "local_ns": stamp.local_ns,
                "utc_ns": outer.local_ns - outer.zone_offset_s * SECOND_NS,
                "text": line.decode("utf-8", "replace")[:512],
            },
        )

    def _note_attempt(self, segment: Segment, pattern: Pattern, row: Row) -> None:
        rank = row["rank"]
        if pattern.marks == "attempt_start" and self.state.starts_attempt(rank if isinstance(rank, int) else None):
            row["attempt_no"] = self.state.attempt_no
        ends = pattern.severity == "error" and pattern.tier in _ENDING_TIERS and pattern.role in ("cause", "symptom")
        if ends or pattern.marks == "attempt_end":
            self._end_attempt(segment, pattern)

    def _end_attempt(self, segment: Segment, pattern: Pattern) -> None:
        if not self.state.is_tail_taken:
            self._take_tail(self._behind.lines_before(segment.start))
        if pattern.marks == "attempt_end" or pattern.opens == "torchrun_table":
            self.state.is_attempt_over = True

    def _take_tail(self, lines: Iterable[TailLine]) -> None:
        self.state.is_tail_taken = True
        found = list(lines)
        self._steps.last(found)
        rows = last_words(
            found, self._reader.prefixes, self._years, self._summary.path_rank, self._reader.tail_patterns
        )
        for row in rows:
            self._is_told |= any(row[name] is not None for name in ("rank", "local_rank", "step"))
            row["local_ns"] = self._stored(row["local_ns"], row["zone_offset_s"])
            self._sink.add(
                "worker_tail", {**row, "file_id": self._summary.file_id, "attempt_no": self.state.attempt_no}
            )

    def _close_traceback(self, key: Key) -> None:
        for row in self._tracebacks.pop(key).rows:
            self._write(row)

    def _close_message(self, key: Key) -> None:
        held = self._messages.pop(key)
        for name, value in held.values().items():
            if name in _COLUMNS and held.row.get(name) is None:
                held.row[name] = value
        self._write(held.row)

    def _write(self, row: Row) -> None:
        self._summary.event_count += 1
        self._sink.add("worker_line", row)
