"""Reads training worker logs from blocks to rows: recognised lines, the last words of each rank, attempts.

A file may hold one rank, all ranks of a node interleaved, or a launcher's stream; several attempts of a
job may follow each other in it.
"""

from __future__ import annotations

from aiscorr.model import FileSummary
from aiscorr.parse.batches import PartSink
from aiscorr.parse.search.chunks import Block
from aiscorr.parse.search.scan import LineWalker, Segment
from aiscorr.parse.spec.pattern import Pattern
from aiscorr.parse.spec.pattern_files import pattern_set
from aiscorr.parse.values import strip_ansi
from aiscorr.parse.worker.broken_lines import BrokenLines
from aiscorr.parse.worker.enclosed_lines import MARK
from aiscorr.parse.worker.line import Row, line_of
from aiscorr.parse.worker.look_back import LookBack
from aiscorr.parse.worker.open_blocks import OpenBlocks
from aiscorr.parse.worker.patterns import WorkerPatterns
from aiscorr.parse.worker.prefixes import PrefixReader, behind_bar
from aiscorr.parse.worker.rows import WorkerRows
from aiscorr.parse.worker.settled import SettledLines, SettledRows, ends_attempt
from aiscorr.parse.worker.state import WorkerState
from aiscorr.parse.worker.steps import StepLines, StepPatterns
from aiscorr.parse.worker.tail import Tail, TailPatterns, last_words
from aiscorr.parse.worker.thread_blocks import ThreadBlocks
from aiscorr.parse.zone import ZoneClock


class WorkerLogReader:
    """Compiled patterns and prefix formats; opens one WorkerFile after the other."""

    def __init__(
        self, sink: PartSink, pattern_folders: tuple[str, ...] = (), format_folders: tuple[str, ...] = ()
    ) -> None:
        self.sink = sink
        self.patterns = WorkerPatterns(pattern_folders)
        self.tail_patterns = TailPatterns(pattern_set("tail", pattern_folders))
        self.prefixes = PrefixReader(format_folders)
        self.steps = StepPatterns(self.prefixes, pattern_folders)
        self.repeated = StepPatterns(self.prefixes, pattern_folders, "repeated")
        self.broken_lines = BrokenLines(self.patterns, self.prefixes)
        self.settled = SettledRows(self.patterns.all, self.prefixes.plain)

    def open_file(
        self, summary: FileSummary, state: WorkerState, zone: ZoneClock | None = None, sink: PartSink | None = None
    ) -> WorkerFile:
        """The reader of one file, at its start or where `state` left it; its rows go to `sink`."""
        return WorkerFile(self, summary, state, zone, sink or self.sink)

    def flush(self) -> None:
        """Writes the rows that are still gathered."""
        self.settled.flush(self.sink)


class WorkerFile:
    """Feeds on the blocks of one file, in order."""

    def __init__(
        self,
        reader: WorkerLogReader,
        summary: FileSummary,
        state: WorkerState,
        zone: ZoneClock | None,
        sink: PartSink,
    ) -> None:
        self._reader = reader
        self._sink = sink
        self._zone = zone
        self._summary = summary
        self.state = state
        self._years = state.years()
        self._walker = LineWalker(reader.patterns.prefilter, line_no=state.line_no)
        self._behind = LookBack(reader.prefixes, state, self._years)
        self._rows = WorkerRows(sink, summary, state, zone, self._behind)
        self._blocks = OpenBlocks(reader.patterns, self._rows, ThreadBlocks(sink, summary, state))
        self._steps = StepLines(reader.steps, reader.repeated, sink, summary, state, self._years, self._rows.stored)
        self._is_told = False
        if zone is not None:
            reader.settled.flush(reader.sink)  # rows of files with another clock
        is_plain = sink is reader.sink  # another one moves rows to where their lines really are
        lines = SettledLines(reader.settled, summary, state, self._years, self._blocks)
        self._settled = lines if is_plain else None

    @property
    def is_between_records(self) -> bool:
        """Whether reading may go on from here later without losing part of a block."""
        return self._blocks.is_empty

    @property
    def is_recognised(self) -> bool:
        """Whether a line was recognised, or the last words tell a rank or step, or the name one and lines a time."""
        named = (self._summary.path_rank, self._summary.path_local_rank, self._summary.worker_node_no)
        is_named = self.state.first_ns is not None and any(number is not None for number in named)
        return is_named or self._is_told or self._summary.event_count > 0 or self.state.step_first_count > 0

    def feed(self, block: Block) -> None:
        """The next block of whole lines."""
        self._reader.settled.expect(block.size)
        self._behind.open_block(block, self._walker.line_no)
        for segment in self._walker.walk(block, self._settled):
            self._take(segment)
            self._walker.wants_every_line = not self._blocks.is_empty
        self._steps.look(block, self.state.line_no)
        self._behind.close_block(block, self._walker.line_no)
        self._reader.settled.flush_where_full(self._sink, self._zone)
        self.state.line_no = self._walker.line_no
        self.state.keep_years(self._years)

    def finish(self, *, ends_with_newline: bool = True) -> None:
        """The end of the file: writes what is open, the last words, and the summary's times."""
        self._blocks.close()
        if not self.state.is_tail_taken:
            self._take_tail(self._behind.tail_at_end(self._walker.line_no))
        self._behind.find_last_stamp(self._walker.line_no)
        self._summary.line_count = self._walker.line_no - 1 + (0 if ends_with_newline else 1)
        is_utc = 0 if self.state.is_utc else None
        self._summary.first_ns = self._rows.stored(self.state.first_ns, is_utc)
        self._summary.last_ns = self._rows.stored(self.state.last_ns, is_utc)
        self._summary.is_utc = self.state.is_utc or self._zone is not None
        if self.state.first_ns is not None:
            is_guessed = self._years.is_bound and not self.state.is_utc
            self._summary.date_method = "mtime" if is_guessed else "given" if self._years.is_given else "stamp"

    def preload(self, before: bytes) -> None:
        """The text in front of the place where reading goes on, for looking back."""
        self._behind.preload(before)

    def _take(self, segment: Segment) -> None:
        raw = segment.text.strip(b"\0")
        text = strip_ansi(raw.decode("utf-8", "replace")).encode("utf-8", "replace") if b"\x1b" in raw else raw
        text = behind_bar(text)
        prefix = self._reader.prefixes.read(text, self._years)
        if prefix.stamp is not None:
            self.state.note_stamp(prefix.stamp, prefix.wrapper_stamp, segment.line_offset)
        line = line_of((segment, text, prefix))
        if self._walker.wants_every_line and self._blocks.feed(line):
            return
        found = self._reader.patterns.find(line)
        if found is None or (MARK in text and self._blocks.read_enclosed(line)):
            return
        pattern, values = found
        if prefix.wrapper_stamp is not None:
            self._rows.mark_wrapper(line)
        if pattern.opens == "threads":
            self._blocks.open_threads(line, (above.text for above in self._behind.tail_before(segment.start).lines()))
        elif pattern.opens == "traceback":
            self._blocks.open_traceback(line, pattern)
        elif pattern.opens == "torchrun_table":
            self._end_attempt(segment, pattern)
            self._blocks.open_table(line)
        else:
            row = self._rows.of_pattern(line, pattern, values)
            self._note_attempt(segment, pattern, row)
            if pattern.opens is None or not self._blocks.hold(line, pattern, row):
                self._rows.write(row)

    def _note_attempt(self, segment: Segment, pattern: Pattern, row: Row) -> None:
        rank = row["rank"]
        rank = rank if isinstance(rank, int) else None
        if pattern.marks == "attempt_start" and self.state.starts_attempt(rank, segment.line_offset):
            row["attempt_no"] = self.state.attempt_no
            self._blocks.close()  # the processes of the attempt before write no more
        if ends_attempt(pattern):
            self._end_attempt(segment, pattern)

    def _end_attempt(self, segment: Segment, pattern: Pattern) -> None:
        if not self.state.is_tail_taken:
            self._take_tail(self._behind.tail_before(segment.start))
        if pattern.marks == "attempt_end" or pattern.opens == "torchrun_table":
            self.state.is_attempt_over = True

    def _take_tail(self, tail: Tail) -> None:
        self.state.is_tail_taken = True
        self._steps.last(tail)
        tail = tail.since(self.state.attempt_offset)
        rows = last_words(tail, self._reader.prefixes, self._years, self._summary.path_rank, self._reader.tail_patterns)
        for row in rows:
            self._is_told |= any(row[name] is not None for name in ("rank", "local_rank", "step"))
            row["local_ns"] = self._rows.stored(row["local_ns"], row["zone_offset_s"])
            place = {"file_id": self._summary.file_id, "attempt_no": self.state.attempt_no}
            self._sink.add("worker_tail", {**row, **place})
