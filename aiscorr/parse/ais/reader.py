"""Reads AIStore daemon logs from blocks to rows: events, counters, headers, rejects.

A file may be a rotation, a stderr copy or a sidecar stream with several runs of the daemon in it.
"""

from __future__ import annotations

import re

from aiscorr.model import FileSummary
from aiscorr.parse.ais import record as rec
from aiscorr.parse.ais.bulk import whole_lines
from aiscorr.parse.ais.clock import AisClock
from aiscorr.parse.ais.counters import PAIRS, StatsPlace, counter_batch, good_pairs, stats_body
from aiscorr.parse.ais.messages import Messages
from aiscorr.parse.ais.state import AisState
from aiscorr.parse.batches import PartSink
from aiscorr.parse.ids import ais_ids
from aiscorr.parse.search.chunks import Block
from aiscorr.parse.search.prefilter import Expression, Prefilter, build_prefilter
from aiscorr.parse.search.scan import LineWalker, Segment
from aiscorr.parse.search.sieve import sieved
from aiscorr.parse.spec.pattern import Pattern
from aiscorr.parse.spec.pattern_files import pattern_set
from aiscorr.parse.values import Value, character_count
from aiscorr.parse.whole import add_reject
from aiscorr.parse.zone import ZoneClock

TEXT_LIMIT = 4096
#: Searched besides the patterns: warnings and errors, statistics lines (a sieve knows these two), headers, title lines.
_FIXED = (
    Expression(rb"[EW] [012]\d:[0-5]\d:[0-5]\d\.\d", (b"E ", b"W "), "[EW] [012]"),
    Expression(rb"I [012]\d:[0-5]\d:[0-5]\d\.\d{6} \{[a-zA-Z]", (b" {",), r"\d\d \{[a-zA-Z]"),
    Expression(rb"(?:Started up|Rotated) at \d{4}/", (b"Started up at ", b"Rotated at ")),
    Expression(rb"[tp]\[[\w-]{4,}\], Version ", (b"], Version ",)),
)
_STATISTICS = 1
_TITLE = re.compile(rb"(?:Node [tp]\[[\w-]+\], )?Version \d")
#: What ends a process on stderr, often right behind its last E line; it is no part of that record.
_CRASH = re.compile(rb"panic: |fatal error: ")
_PANIC = re.compile(rb"(?:panic: |fatal error: |\[signal SIG|goroutine \d+ \[)")


class AisLogReader:
    """Compiled patterns and the shared counter batch; opens one AisFile after the other."""

    def __init__(self, sink: PartSink, pattern_folders: tuple[str, ...] = ()) -> None:
        self.sink = sink
        self.counters = counter_batch(sink)
        patterns: tuple[Pattern, ...] = pattern_set("ais", pattern_folders)
        self.messages = Messages((*(None for _ in _FIXED), *patterns))
        expressions = [*_FIXED, *(Expression(p.regex_text, p.literals, p.prefilter) for p in patterns)]
        plain = build_prefilter(expressions)
        self.prefilter: Prefilter = sieved(plain, expressions[_STATISTICS + 1 :], _STATISTICS)

    def open_file(
        self, summary: FileSummary, state: AisState, zone: ZoneClock | None = None, sink: PartSink | None = None
    ) -> AisFile:
        """The reader of one file, at its start or where `state` left it; but for counters its rows go to `sink`."""
        return AisFile(self, summary, state, zone, sink or self.sink)

    def flush(self) -> None:
        """Writes the counters that are still gathered."""
        self.counters.flush()


class AisFile:
    """Feeds on the blocks of one file, in order."""

    def __init__(
        self, reader: AisLogReader, summary: FileSummary, state: AisState, zone: ZoneClock | None, sink: PartSink
    ) -> None:
        self._reader = reader
        self._zone = zone
        self._sink = sink
        self._summary = summary
        self.state = state
        self._clock = AisClock(sink, summary, state, zone)
        self._walker = LineWalker(reader.prefilter, line_no=state.line_no)
        self._pending: dict[str, Value] | None = None
        self._follow = 0
        is_plain = zone is None
        self._whole_lines = whole_lines(reader.counters, summary, state, self._close_pending) if is_plain else None

    @property
    def is_between_records(self) -> bool:
        """Whether reading may go on from here later without losing a record's continuation lines."""
        return self._pending is None

    def feed(self, block: Block) -> None:
        """The next block of whole lines."""
        for segment in self._walker.walk(block, self._whole_lines):
            if segment.is_clipped or len(segment.text) >= TEXT_LIMIT * 8:
                self._reject(segment, "line longer than 64 KiB: searched in windows")
            self._take(segment)
            self._walker.wants_every_line = self._pending is not None
        self.state.line_no = self._walker.line_no
        self._reader.counters.flush_where_full()

    def finish(self, *, ends_with_newline: bool = True) -> None:
        """The end of the file: writes what is open and fills the summary."""
        self._close_pending()
        self._whole_lines = None  # which knows this file, whose blocks would stay until circles are looked for
        self._summary.line_count = self._walker.line_no - 1 + (0 if ends_with_newline else 1)
        self._summary.is_utc = self._zone is not None
        self.state.describe(self._summary)

    def mark_date_shift(self, days: int) -> None:
        """All dates of the file are to be moved by so many days."""
        self._clock.mark_date_shift(days)

    def _take(self, segment: Segment) -> None:
        line = segment.text.strip(b"\0")
        record = rec.plain_record(line)
        if record is not None and (segment.candidates or record.severity != "I"):
            self._close_pending()
            self._take_record(segment, line, record)
            return
        stats = rec.stats_of(line)
        if stats is not None and PAIRS.fullmatch(stats[1]):
            self._close_pending()
            self._add_stats(segment, stats[1], self._clock.time_of(segment, line, stats[0]), is_whole=True)
            return
        info_ns = rec.info_ns(line) if self.state.ids and not segment.candidates else None
        if info_ns is not None:  # stands behind a warning and ends it, tells nothing itself
            self._close_pending()
            self._clock.time_of(segment, line, info_ns)
            return
        records, _ = rec.records_of(line) if line else ([], None)
        if not records:
            self._take_unprefixed(segment, line)
            return
        self._close_pending()
        start = records[0].start
        if len(records) > 1 or (start > 40 and start - rec.wrapper_time(line)[1] > 40):
            self._reject(segment, "a cut record with the next one glued to it: both were read")
        for record in records:
            self._close_pending()
            self._take_record(segment, line, record)

    def _take_unprefixed(self, segment: Segment, line: bytes) -> None:
        _, skip = rec.wrapper_time(line)
        header = rec.HEADER.match(line, skip)
        if header is not None:
            self._close_pending()
            self._take_header(segment, line, header)
        elif _TITLE.match(line, skip):
            self._close_pending()
            self.state.note_identity(line)
            self._emit_plain(segment, line, "ais_node_title", line[skip:])
        elif self._pending is not None and not _CRASH.match(line, skip):
            if line.strip():
                self._follow += 1
                if self._follow >= 400:
                    self._close_pending()
            else:
                self._close_pending()
        elif _PANIC.match(line, skip):
            self._close_pending()
            self._emit_plain(segment, line, "ais_go_panic", line[skip:])

    def _take_header(self, segment: Segment, line: bytes, header: re.Match[bytes]) -> None:
        printed_ns = rec.header_ns(header)
        if printed_ns is None:
            self._reject(segment, "a header with a date that does not exist: no run begins here")
            return
        is_start = header.group(1) == b"Started up"
        if is_start:
            self.state.process_no += 1
        moment = self._clock.take_header(segment, line, printed_ns)
        self.state.facts["host"] = header.group(8).decode("utf-8", "replace").rstrip(",")
        name = "ais_process_started" if is_start else "ais_log_rotated"
        self._emit_plain(segment, line, name, header.group(0), moment)

    def _take_record(self, segment: Segment, line: bytes, record: rec.AisRecord) -> None:
        moment = self._clock.time_of(segment, line, record.of_day_ns)
        if record.wrapper_utc_ns is not None:
            self._clock.note_wrapper(segment, line, moment, record.wrapper_utc_ns)
        if record.message.startswith(b"{") and record.source_loc is None:
            self._take_stats(segment, record, moment)
            return
        self.state.note_identity(record.message)
        if b" =====" in record.message:
            moment = self._clock.take_marker(segment, line, record.message, moment)
        told = self._reader.messages.told(record, segment.candidates, self.state.self_id(self._summary.node_id))
        if told.name is None:
            return
        row = self._row(segment, line, told.name, moment)
        row["severity"] = record.severity
        row["source_loc"] = record.source_loc
        row["message_start"] = character_count(line, record.message_start)
        row.update(told.values)
        self._clock.mark_smap(segment, row, record.message, moment)
        if record.severity in "WE":
            self._pending, self._follow = row, 0
        else:
            self._write(row)

    def _take_stats(self, segment: Segment, record: rec.AisRecord, moment: int) -> None:
        body, is_whole = stats_body(record.message)
        if not is_whole:
            self._reject(segment, "statistics line cut: its last pair was dropped, the others count")
        body, are_all_good = good_pairs(body)
        if not are_all_good:
            self._reject(segment, "statistics line with a pair that is not name:integer: the other pairs count")
        self._add_stats(segment, body, moment, is_whole=is_whole)

    def _add_stats(self, segment: Segment, body: bytes, moment: int, *, is_whole: bool) -> None:
        """A statistics line and its good pairs."""
        place = StatsPlace(self._summary.file_id, segment.line_no, self.state.process_no, self._clock.stored(moment))
        count = self._reader.counters.add(body, place, segment.line_offset, is_whole=is_whole)
        self._summary.counter_count += count
        self._summary.event_count += 1

    def _emit_plain(self, segment: Segment, line: bytes, name: str, message: bytes, moment: int | None = None) -> None:
        self.state.note_identity(message)
        row = self._row(segment, line, name, moment if moment is not None else max(self.state.last_ns, 0))
        row["message_start"] = max(0, line.find(message))
        row.update(ais_ids(message.decode("utf-8", "replace"), self.state.self_id(self._summary.node_id)))
        row["peer_node_id"] = None
        self._write(row)

    def _row(self, segment: Segment, line: bytes, name: str, moment: int) -> dict[str, Value]:
        return {
            "file_id": self._summary.file_id,
            "line_no": segment.line_no,
            "byte_offset": segment.line_offset,
            "process_no": self.state.process_no,
            "local_ns": self._clock.stored(moment),
            "pattern": name,
            "text": line.decode("utf-8", "replace")[:TEXT_LIMIT],
            "follow_count": 0,
        }

    def _close_pending(self) -> None:
        if self._pending is not None:
            self._pending["follow_count"] = self._follow
            self._write(self._pending)
            self._pending = None

    def _write(self, row: dict[str, Value]) -> None:
        self._summary.event_count += 1
        self._sink.add("ais_line", row)

    def _reject(self, segment: Segment, reason: str) -> None:
        text = segment.text.decode("utf-8", "replace")
        add_reject(self._summary, self._sink, reason, text, line_no=segment.line_no, byte_offset=segment.line_offset)
