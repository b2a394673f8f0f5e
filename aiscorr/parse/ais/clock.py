"""The clock of one AIStore log: the day and moment of its lines, and the marks by which other clocks are told.

A record prints a time of day only; headers and hourly markers print the date, markers and collectors a zone.
"""

from __future__ import annotations

from aiscorr.model import FileSummary
from aiscorr.parse.ais import record as rec
from aiscorr.parse.ais.state import AisState
from aiscorr.parse.batches import PartSink
from aiscorr.parse.search.scan import Segment
from aiscorr.parse.stamps import DAY_NS, SECOND_NS
from aiscorr.parse.values import Value
from aiscorr.parse.zone import ZoneClock


class AisClock:
    """Moves the state's day on, notes the file's first and last time, writes rows of clock_mark."""

    def __init__(self, sink: PartSink, summary: FileSummary, state: AisState, zone: ZoneClock | None) -> None:
        self._sink = sink
        self._summary = summary
        self._state = state
        self._zone = zone

    def stored(self, moment: int) -> int:
        """The file's clock as stored: UTC where the user named the zone, else as printed."""
        return self._zone.to_utc(moment) if self._zone is not None else moment

    def time_of(self, segment: Segment, line: bytes, of_day_ns: int) -> int:
        """The moment of a line that printed this time of day."""
        moment, jumped = self._state.place(of_day_ns)
        self._note_time(moment)
        if jumped:
            self._mark(segment.line_no, "jump", moment, line)
        return moment

    def take_header(self, segment: Segment, line: bytes, stated_ns: int) -> int:
        """Takes the day from the head of a file or of a run of the daemon; returns its moment."""
        if not self._state.is_dated and self._state.last_ns >= 0:
            self._mark_shift(segment, self._state.days_to(stated_ns))
        moment = stated_ns - self._state.shift_ns
        if not self._state.is_dated:
            self._summary.date_method, self._summary.date_line_no = "header", segment.line_no
        self._state.start_day(moment)
        self._note_time(moment)
        self._mark(segment.line_no, "header", moment, line)
        return moment

    def mark_date_shift(self, days: int) -> None:
        """All dates of the file are to be moved by so many days."""
        self._state.is_shift_known = True
        self._mark(0, "date_shift", self._state.last_ns, b"", self._state.last_ns + days * DAY_NS)

    def take_marker(self, segment: Segment, line: bytes, message: bytes, moment: int) -> int:
        """Takes day and zone from an hourly marker; returns the marker's own moment."""
        marker = rec.marker_of(message)
        if marker is None:
            return moment
        minute_ns, zone = marker
        # the minute was taken up to a minute before the line was written, perhaps before midnight
        days = (minute_ns - self._state.shift_ns - moment + DAY_NS // 2) // DAY_NS
        if days and not self._state.is_dated and not self._state.is_shift_known:
            self._mark_shift(segment, days)
        elif days:
            self._state.day_ns += days * DAY_NS
            self._state.last_ns += days * DAY_NS
            moment += days * DAY_NS
        self._state.is_shift_known = True
        offset = rec.zone_of_marker(zone)
        utc = moment - offset * SECOND_NS if offset is not None else None
        self._mark(segment.line_no, "utc_marker" if utc is not None else "zone_marker", moment, line, utc, zone)
        return moment

    def note_wrapper(self, segment: Segment, line: bytes, moment: int, utc_ns: int) -> None:
        """Marks the clock by a collector's stamp in front of a line, the first time."""
        if "wrapper" not in self._state.facts:
            self._state.facts["wrapper"] = "seen"
            self._mark(segment.line_no, "wrapper", moment, line, utc_ns)

    def mark_smap(self, segment: Segment, row: dict[str, Value], message: bytes, moment: int) -> None:
        """A new cluster map reaches all nodes within milliseconds: it ties their clocks together."""
        if row["pattern"] in ("ais_smap_received", "ais_smap_sent") and row.get("smap_version"):
            key = f"{row.get('smap_uuid') or '?'}/v{row['smap_version']}"
            self._mark(segment.line_no, "smap", self.stored(moment), message, key=key)

    def _mark_shift(self, segment: Segment, days: int) -> None:
        if not self._state.is_shift_known:
            self._state.is_shift_known = True
            self._state.shift_ns = days * DAY_NS
            last = self._state.last_ns
            self._mark(segment.line_no, "date_shift", last, segment.text, last + self._state.shift_ns)

    def _note_time(self, moment: int) -> None:
        moment = self.stored(moment)
        if self._summary.first_ns is None:
            self._summary.first_ns = moment
        self._summary.last_ns = max(moment, self._summary.last_ns or moment)

    def _mark(self, line_no: int, kind: str, local: int, text: bytes, utc: int | None = None, key: str = "") -> None:
        self._sink.add(
            "clock_mark",
            {
                "file_id": self._summary.file_id,
                "line_no": line_no,
                "process_no": self._state.process_no,
                "kind": kind,
                "local_ns": local,
                "utc_ns": utc,
                "key": key or None,
                "text": text.decode("utf-8", "replace")[:512],
            },
        )
