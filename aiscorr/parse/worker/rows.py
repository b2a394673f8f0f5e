"""Makes the rows of one worker log and writes them: recognised lines, failed processes, marks of its clock."""

from __future__ import annotations

from aiscorr.model import FileSummary
from aiscorr.parse.batches import PartSink
from aiscorr.parse.ids import client_ids, may_hold_ids, words_of
from aiscorr.parse.spec.pattern import Pattern
from aiscorr.parse.stamps import SECOND_NS
from aiscorr.parse.values import Value, add_values, character_count
from aiscorr.parse.worker.blocks import failed_process
from aiscorr.parse.worker.line import COLUMNS, Line, Row
from aiscorr.parse.worker.look_back import LookBack
from aiscorr.parse.worker.state import WorkerState
from aiscorr.parse.zone import ZoneClock

TEXT_LIMIT = 4096


class WorkerRows:
    """Gives each line of a file its place, its time and whose it is; a line without a stamp borrows one."""

    def __init__(
        self, sink: PartSink, summary: FileSummary, state: WorkerState, zone: ZoneClock | None, behind: LookBack
    ) -> None:
        self._sink = sink
        self._summary = summary
        self._state = state
        self._zone = zone
        self._behind = behind

    def stored(self, moment: Value, zone_offset_s: Value = None) -> int | None:
        """The file's clock as stored: UTC where the stamp prints its zone or the user named it, else as printed."""
        if not isinstance(moment, int):
            return None
        if isinstance(zone_offset_s, int):
            return moment - zone_offset_s * SECOND_NS
        return self._zone.to_utc(moment) if self._zone is not None else moment

    def time_of(self, line: Line) -> tuple[int | None, int | None]:
        """The time of a line as stored, and the zone it printed; those of the nearest stamp where it has none."""
        stamp = line.prefix.stamp
        if stamp is None:
            self._behind.find_stamp(line.segment.start)
            local_ns, zone_offset_s = self._state.stamp_ns, self._state.stamp_zone_s
        else:
            local_ns, zone_offset_s = stamp[:2]
        return self.stored(local_ns, zone_offset_s), zone_offset_s

    def of_pattern(self, line: Line, pattern: Pattern, values: dict[str, Value]) -> Row:
        """The row of a recognised line."""
        local_ns, zone_offset_s = self.time_of(line)
        segment, raw, prefix = line
        (_, stamp_source, _, rank, rank_source, local_rank, group_rank, process_group, task, pid, host, body_start,
         message_start) = prefix  # fmt: skip
        text = raw.decode("utf-8", "replace")
        state, summary = self._state, self._summary
        if rank is None:
            rank, rank_source = summary.path_rank, "file" if summary.path_rank is not None else None
        row: Row = {
            "file_id": summary.file_id,
            "line_no": segment.line_no,
            "byte_offset": segment.line_offset,
            "attempt_no": state.attempt_no,
            "local_ns": local_ns,
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
        if len(text) < len(raw):  # else there is a character for each byte
            row |= {name: character_count(raw, getattr(prefix, name)) for name in ("body_start", "message_start")}
        if may_hold_ids(held := words_of(raw)):
            row.update(client_ids(text, held))
        add_values(row, values, COLUMNS)
        return row

    def of_failed_process(self, line: Line, entry: Row) -> Row:
        """The row of an entry of torchrun's failure table, which ends with this line."""
        return {
            "file_id": self._summary.file_id,
            "line_no": line.segment.line_no,
            "byte_offset": line.segment.line_offset,
            "attempt_no": self._state.attempt_no,
            "local_ns": self.stored(self._state.stamp_ns, self._state.stamp_zone_s),
            "zone_offset_s": self._state.stamp_zone_s,
            "stamp_source": "own",
            "text": line.text.decode("utf-8", "replace")[:TEXT_LIMIT],
            **failed_process(entry),
        }

    def mark_wrapper(self, line: Line) -> None:
        """Marks the clock where a collector's stamp with a zone stands in front of the program's own without."""
        stamp, outer = line.prefix.stamp, line.prefix.wrapper_stamp
        if stamp is None or outer is None or stamp is outer or outer.zone_offset_s is None:
            return
        if stamp.zone_offset_s is not None:
            return
        self._sink.add(
            "clock_mark",
            {
                "file_id": self._summary.file_id,
                "line_no": line.segment.line_no,
                "process_no": self._state.attempt_no,
                "kind": "wrapper",
                "local_ns": stamp.local_ns,
                "utc_ns": outer.local_ns - outer.zone_offset_s * SECOND_NS,
                "text": line.text.decode("utf-8", "replace")[:512],
            },
        )

    def write(self, row: Row) -> None:
        """Writes the row of a recognised line, which counts as an event."""
        self._summary.event_count += 1
        self._sink.add("worker_line", row)
