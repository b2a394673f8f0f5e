"""What a reader of one worker log knows while it reads: attempt, latest stamp, year, first and last time."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from aiscorr.parse.stamps import DAY_NS, SECOND_NS, Stamp, YearContext

#: Stamps of one file lie no further from each other, or one of them is of a wrong clock.
MONTH_NS = 31 * DAY_NS
_QUARTER_NS = 900 * SECOND_NS


def in_quarter_hours(span_ns: int) -> int:
    """The nearest multiple of a quarter hour, as zones lie apart; in nanoseconds."""
    count = (abs(span_ns) + _QUARTER_NS // 2) // _QUARTER_NS
    return count * _QUARTER_NS if span_ns >= 0 else -count * _QUARTER_NS


@dataclass
class WorkerState:
    """Everything needed to read on in the middle of a file; times in nanoseconds, places in bytes."""

    line_no: int = 1
    attempt_no: int = 0
    attempt_offset: int = 0
    is_attempt_over: bool = False
    is_tail_taken: bool = False
    started_ranks: list[int] = field(default_factory=list)
    stamp_ns: int | None = None
    stamp_zone_s: int | None = None
    stamp_offset: int = -1
    searched_offset: int = 0
    year_anchor_ns: int = 0
    is_year_bound: bool = True
    is_year_given: bool = False
    is_year_begun: bool = False
    near_ns: int | None = None
    first_ns: int | None = None
    last_ns: int | None = None
    own_zone_ns: int | None = None
    is_lone: bool = True
    odd_ns: int | None = None
    is_utc: bool = False
    dump_count: int = 0
    step_first_count: int = 0
    step_next_offset: int = 0
    step_literals: list[str] = field(default_factory=list)
    repeated_first_count: int = 0

    def copy(self) -> WorkerState:
        """The state as it is now."""
        found = object.__new__(WorkerState)
        found.__dict__.update(self.__dict__)  # replace() takes ten times as long, once for each block
        found.started_ranks = list(self.started_ranks)
        return found

    def dump(self) -> str:
        """As JSON, for ingested_file.resume_state."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def load(cls, text: str) -> WorkerState:
        """From JSON."""
        return cls(**json.loads(text))

    @property
    def first_open_attempt(self) -> int:
        """The first attempt whose last words are not taken yet."""
        return self.attempt_no + self.is_tail_taken

    def starts_attempt(self, rank: int | None, offset: int) -> bool:
        """Takes note of a start line and its place; True if it begins another attempt.

        After the end of an attempt the launcher's start line begins the next. A rank's own start line does so
        only when that rank had started before: a rank may still announce itself while others are shut down.
        """
        is_known = rank is None or rank in self.started_ranks
        is_new = self.is_attempt_over and is_known
        if is_new:
            self.attempt_no += 1
            self.attempt_offset = offset
            self.is_attempt_over = self.is_tail_taken = False
            self.started_ranks.clear()
        if rank is not None and rank not in self.started_ranks:
            self.started_ranks.append(rank)
        return is_new

    def years(self) -> YearContext:
        """The year context as it stands."""
        return YearContext(
            self.year_anchor_ns, self.is_year_given, self.is_year_bound, self.is_year_begun, self.near_ns
        )

    def keep_years(self, years: YearContext) -> None:
        """Takes back what a reader told the year context."""
        self.year_anchor_ns, self.is_year_bound, self.is_year_begun = years.anchor_ns, years.is_bound, years.is_begun
        self.near_ns = years.near_ns

    def borrowed_from(self, offset: int) -> str | None:
        """Whether a line without a stamp takes the stamp before it, or, at the start of a file, the one after it."""
        if self.stamp_ns is None:
            return None
        return "before" if self.stamp_offset <= offset else "after"

    def note_stamp(self, stamp: Stamp, outer: Stamp | None, offset: int) -> None:
        """A line at this place had a stamp, perhaps of the collector that wrapped it (`outer`)."""
        self.stamp_ns, self.stamp_zone_s, self.stamp_offset = stamp.local_ns, stamp.zone_offset_s, offset
        if offset > self.searched_offset:
            self.searched_offset = offset
        self.note_span(stamp, outer)

    def note_span(self, stamp: Stamp, outer: Stamp | None) -> None:
        """A line of the file had a stamp, wherever it stands; its zone may be that of lines that a collector dated."""
        own_ns = stamp.local_ns
        is_outer = stamp.zone_offset_s is None and outer is not None and outer.zone_offset_s is not None
        stamp = outer if is_outer and outer is not None else stamp
        moment = stamp.local_ns
        if stamp.zone_offset_s is not None:
            moment -= stamp.zone_offset_s * SECOND_NS
            self.is_utc = True
        elif self.own_zone_ns is not None:
            moment -= self.own_zone_ns
        if is_outer:
            self.own_zone_ns = in_quarter_hours(own_ns - moment)
        self._extend(moment)

    def _extend(self, moment: int) -> None:
        """The file's first and last time, with this one; a stamp that lies more than a month off counts where another
        agrees with it: with stamps of 20 November and one of a clock that begins in 1970, the file is of 20 November.
        """
        if self.first_ns is None or self.last_ns is None:
            self.first_ns = self.last_ns = moment
        elif self.first_ns - MONTH_NS <= moment <= self.last_ns + MONTH_NS:
            self.is_lone = self.is_lone and moment in (self.first_ns, self.last_ns)
            self.first_ns, self.last_ns = min(self.first_ns, moment), max(self.last_ns, moment)
        elif self.odd_ns is None or self.odd_ns == moment or abs(self.odd_ns - moment) > MONTH_NS:
            self.odd_ns = moment
        else:
            known = () if self.is_lone else (self.first_ns, self.last_ns)
            self.first_ns, self.last_ns = min(self.odd_ns, moment, *known), max(self.odd_ns, moment, *known)
            self.is_lone, self.odd_ns = False, None
