"""Reads one source whatever its kind: detects, picks the reader, keeps a place to go on from, sums up."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from aiscorr.checksum import ContentSum
from aiscorr.model import ByteStream, FileSummary, IngestOptions, KnownFile, SourceRef
from aiscorr.parse.batches import PartSink
from aiscorr.parse.detect import Detected, detect
from aiscorr.parse.headed_stream import HeadedStream, take_head
from aiscorr.parse.mended import MendedSink, MendedStream, is_all_code, label_of, margin_of, quote_depth
from aiscorr.parse.packed import packing_of
from aiscorr.parse.path_hints import ais_hints, is_dump_name, job_of, worker_hints
from aiscorr.parse.resume_place import ResumePlace, resume
from aiscorr.parse.search.chunks import BlockReader
from aiscorr.parse.stamps import DAY_NS, SECOND_NS, YearContext, day_ns
from aiscorr.parse.whole import sum_up
from aiscorr.parse.zone import ZoneClock

if TYPE_CHECKING:
    from aiscorr.parse.ais.reader import AisFile, AisLogReader
    from aiscorr.parse.worker.reader import WorkerFile, WorkerLogReader

#: Raise when rows would come out differently: files are then read again.
PARSER_VERSION = 11
_ZONE_SPAN_NS = 14 * 3600 * SECOND_NS


class ReadStopped(Exception):
    """The user asked to stop in the middle of a file."""


def options_key(options: IngestOptions) -> str:
    """The options that change how a file is read, as text; other options may differ freely."""
    chosen = {
        "kind": options.kind,
        "cluster": options.cluster,
        "job": options.job_id,
        "job_templates": options.job_templates,
        "zone": options.timezone,
        "globs": options.timezone_globs,
        "year": options.year,
    }
    return json.dumps({key: value for key, value in chosen.items() if value}, sort_keys=True)


def zone_for(path: str, options: IngestOptions) -> str | None:
    """The zone the user gave for this path: the first matching glob, else --timezone."""
    for glob, zone in options.timezone_globs:
        if fnmatch(path, glob) or fnmatch(path.rsplit("/", 1)[-1], glob):
            return zone
    return options.timezone


class FileReader:
    """Readers of all kinds over one sink; one per process. Each is imported when a file of its kind comes."""

    def __init__(self, sink: PartSink, options: IngestOptions, *, now_ns: int) -> None:
        self._sink = sink
        self._options = options
        self._now_ns = now_ns
        self._key = options_key(options)
        self._ais: AisLogReader | None = None
        self._worker: WorkerLogReader | None = None
        self.should_stop: Callable[[], bool] = lambda: False

    def flush(self) -> None:
        """Writes everything that is still gathered."""
        for reader in (self._ais, self._worker):
            if reader is not None:
                reader.flush()
        self._sink.flush()

    def read(self, ref: SourceRef, stream: ByteStream, file_id: int) -> FileSummary:
        """Reads a source from its start. Raises ReadStopped where should_stop says so."""
        head = take_head(stream)
        summary = self._summary(ref, file_id)
        found = detect(head, forced=self._options.kind, format_folders=self._options.format_folders)
        if (found.kind == "unknown" or found.is_tentative) and is_dump_name(ref.path):
            found = Detected("flight_recorder", f"the name of a Flight Recorder dump; content: {found.reason}")
        summary.kind, summary.kind_reason = found.kind, found.reason
        whole: ByteStream = HeadedStream(head, stream)
        sink, mended = self._sink, self._mended(head, whole, found)
        if mended is not None:
            found, whole = mended
            sink = MendedSink(sink, whole)
            summary.kind, summary.kind_reason = found.kind, found.reason
        self._read_as(found, summary, whole, sink)
        if found.kind == "unknown":
            content = ContentSum()
            content.add(memoryview(head))
            sum_up(summary, content)
        if isinstance(whole, MendedStream):
            whole.restore(summary)
        if summary.kind == "unknown":
            summary.state = "unknown"
        return summary

    def _read_as(self, found: Detected, summary: FileSummary, whole: ByteStream, sink: PartSink) -> None:
        """Reads a source as what it is; rows go to `sink`."""
        if found.kind == "ais_log":
            self._read_blocks(summary, whole, self._open_ais(summary, sink), ContentSum())
        elif found.kind == "worker_log" and found.reason != "error.json of torch elastic":
            worker = self._open_worker(summary, sink)
            self._read_blocks(summary, whole, worker, ContentSum())
            if found.is_tentative and not worker.is_recognised:
                what = "text" if summary.last_ns is None else "text with dates, but"
                summary.kind, summary.kind_reason = "unknown", f"{what} without a line that is recognised"
        elif found.kind == "flight_recorder":
            from aiscorr.parse.flight.reader import read_flight_dump

            read_flight_dump(self._note_worker(summary), whole, self._sink)
        elif found.kind in ("stack_dump", "worker_log"):
            from aiscorr.parse.small_sources import read_dump

            self._note_worker(summary)
            read_dump(summary, whole, sink, found.reason)
        elif found.kind == "node_status":
            from aiscorr.parse.ais.node_status import read_node_status

            read_node_status(summary, whole, self._sink)

    def _mended(self, head: bytes, whole: ByteStream, found: Detected) -> tuple[Detected, MendedStream] | None:
        """What a text is whose lines were broken or quoted, and the text as it was; None where none were."""
        if found.kind not in ("worker_log", "stack_dump", "unknown"):
            return None
        lines = head.split(b"\n")
        marks = packing_of, quote_depth, margin_of, is_all_code, label_of
        if found.kind == "unknown" and not any(mark(lines) for mark in marks):
            return None
        mending = self._worker_reader().broken_lines.look(head)
        if not mending.is_needed:
            return None
        mended_head = take_head(MendedStream(io.BytesIO(head), mending))
        again = detect(mended_head, forced=self._options.kind, format_folders=self._options.format_folders)
        is_read = again.kind in ("worker_log", "stack_dump") or (again.kind == "ais_log" and not mending.breaks_lines)
        if not is_read:
            return None
        return again, MendedStream(whole, mending)

    def read_on(self, ref: SourceRef, stream: ByteStream, known: KnownFile, before: bytes) -> FileSummary:
        """Reads a grown file from the place kept last time; `before` are the bytes in front of it."""
        summary = self._summary(ref, known.file_id)
        summary.kind = known.kind
        kept, content = resume(known.resume_state or "{}", summary, before)
        reader: AisFile | WorkerFile
        if known.kind == "ais_log":
            from aiscorr.parse.ais.state import AisState

            reader = self._ais_reader().open_file(self._ais_identity(summary), AisState.load(kept), self._zone(summary))
        else:
            from aiscorr.parse.worker.state import WorkerState

            state = WorkerState.load(kept)
            reader = self._worker_reader().open_file(self._note_worker(summary), state, self._zone(summary))
            reader.preload(before)
            summary.resume_attempt_no = state.first_open_attempt
        summary.resume_line_no = reader.state.line_no
        self._read_blocks(summary, stream, reader, content)
        return summary

    def _summary(self, ref: SourceRef, file_id: int) -> FileSummary:
        summary = FileSummary(ref, file_id, options_key=self._key, parser_version=PARSER_VERSION)
        summary.cluster = self._options.cluster
        summary.is_cluster_given = self._options.cluster is not None
        summary.zone = zone_for(ref.path, self._options)
        return summary

    def _zone(self, summary: FileSummary) -> ZoneClock | None:
        return ZoneClock(summary.zone) if summary.zone else None

    def _ais_reader(self) -> AisLogReader:
        if self._ais is None:
            from aiscorr.parse.ais.reader import AisLogReader

            self._ais = AisLogReader(self._sink, self._options.pattern_folders)
        return self._ais

    def _worker_reader(self) -> WorkerLogReader:
        if self._worker is None:
            from aiscorr.parse.worker.reader import WorkerLogReader

            self._worker = WorkerLogReader(self._sink, self._options.pattern_folders, self._options.format_folders)
        return self._worker

    def _ais_identity(self, summary: FileSummary) -> FileSummary:
        hints = ais_hints(summary.ref.path)
        summary.node_role, summary.host = hints.role, hints.host
        summary.node_id = hints.node_id
        summary.node_id_source = "file_name" if hints.node_id else None
        return summary

    def _open_ais(self, summary: FileSummary, sink: PartSink) -> AisFile:
        from aiscorr.parse.ais.state import AisState

        self._ais_identity(summary)
        state = AisState(day_ns=self._first_day(summary), role=(summary.node_role or "")[:1])
        return self._ais_reader().open_file(summary, state, self._zone(summary), sink)

    def _first_day(self, summary: FileSummary) -> int:
        modified = summary.ref.modified_ns or self._now_ns
        hints = ais_hints(summary.ref.path)
        if hints.date is not None:
            year, month, day, *_ = hints.date
            with contextlib.suppress(ValueError):  # a name that looks like a date and is none
                first = day_ns(year, month, day) if hints.has_year else self._years(modified).resolve(month, day)
                summary.date_method = "file_name"
                return first
        summary.date_method = "mtime"
        return modified // DAY_NS * DAY_NS

    def _years(self, modified_ns: int) -> YearContext:
        if self._options.year is not None:
            return YearContext(day_ns(self._options.year, 7, 1), is_given=True, is_bound=False)
        return YearContext(modified_ns)

    def _note_worker(self, summary: FileSummary) -> FileSummary:
        hints = worker_hints(summary.ref.path)
        told = job_of(summary.ref.file_path, self._options.job_templates)
        summary.job_id = self._options.job_id or told or hints.job_id
        summary.job_folder, summary.run_name = hints.job_folder, hints.run_name
        summary.attempt_no, summary.worker_node_no = hints.attempt_no, hints.node_no
        summary.path_rank, summary.path_local_rank = hints.rank, hints.local_rank
        summary.is_stream_copy = hints.is_launcher_stream
        return summary

    def _open_worker(self, summary: FileSummary, sink: PartSink) -> WorkerFile:
        from aiscorr.parse.worker.state import WorkerState

        self._note_worker(summary)
        years = self._years(summary.ref.modified_ns or self._now_ns)
        state = WorkerState(year_anchor_ns=years.anchor_ns, is_year_given=years.is_given, is_year_bound=years.is_bound)
        return self._worker_reader().open_file(summary, state, self._zone(summary), sink)

    def _read_blocks(
        self, summary: FileSummary, stream: ByteStream, reader: AisFile | WorkerFile, content: ContentSum
    ) -> None:
        byte_count = stream.byte_count if isinstance(stream, HeadedStream) else None
        blocks = BlockReader(stream, content=content, byte_count=byte_count)
        place: ResumePlace | None = None
        try:
            for block in blocks:
                if self.should_stop():
                    raise ReadStopped
                if reader.is_between_records and block.before.byte_count and not isinstance(stream, MendedStream):
                    place = ResumePlace.of(block.before, reader.state, summary)
                reader.feed(block)
        except ReadStopped:
            raise
        except Exception as error:
            if type(error).__name__ != "TruncatedError":
                raise
            summary.problem, summary.is_cut_short = f"ends early: {error}", True
        if place is not None:
            place.note(summary)
        reader.finish(ends_with_newline=blocks.is_ended_by_newline)
        sum_up(summary, blocks.content)
        if summary.date_method == "mtime" and summary.last_ns is not None:
            _settle_date(summary, reader, summary.ref.modified_ns or self._now_ns)


def _settle_date(summary: FileSummary, reader: AisFile | WorkerFile, modified_ns: int) -> None:
    """Without header, file name or marker the last line is at most as late as the modification time.

    Zones reach 14 hours ahead, so a last line up to 14 hours after it may still be of that day.
    """
    from aiscorr.parse.ais.reader import AisFile

    if summary.last_ns is None or not isinstance(reader, AisFile):
        return
    days = max(0, -(-(summary.last_ns - modified_ns - _ZONE_SPAN_NS) // DAY_NS))
    if days and not reader.state.is_shift_known:
        reader.mark_date_shift(-days)
