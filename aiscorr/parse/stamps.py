"""Times as logs print them, in nanoseconds.

Which date a stamp without year belongs to is decided by YearContext from the file's full stamps, else from its
modification time; which day one without a date, from the stamps around it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from aiscorr import native
from aiscorr.parse.spec.formats import LineFormat

SECOND_NS = 1_000_000_000
DAY_NS = 86_400 * SECOND_NS
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_MONTHS = {
    name: number
    for number, name in enumerate(
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1
    )
}
_ISO = re.compile(r"(\d{4})[-/](\d\d)[-/](\d\d)[ T_](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?")


@lru_cache(maxsize=4096)
def day_ns(year: int, month: int, day: int) -> int:
    """Nanoseconds from 1970 to the start of a day. Raises ValueError for a day that does not exist."""
    return (date(year, month, day).toordinal() - _EPOCH_DAY) * DAY_NS


def clock_ns(hour: int, minute: int, second: int, fraction: str | None) -> int:
    """Nanoseconds since midnight; the fraction is the digits behind the point, up to nine."""
    part = int((fraction or "0")[:9].ljust(9, "0"))
    return (hour * 3600 + minute * 60 + min(second, 59)) * SECOND_NS + part


def iso_ns(text: str) -> int:
    """`2026-11-20 23:05:55,123` (also with T, _ or / between) in nanoseconds, read as if it were UTC."""
    match = _ISO.match(text)
    if match is None:
        raise ValueError(text)
    return iso_bytes_ns(match.group().encode())


def iso_bytes_ns(raw: bytes) -> int:
    """As iso_ns, of bytes that are nothing but the time."""
    plain = native.iso_ns(raw)
    if plain is not None:
        return plain
    moment = _second_ns(raw[:19])
    return moment + int(raw[20:29].ljust(9, b"0")) if len(raw) > 20 else moment


@lru_cache(maxsize=4096)
def _second_ns(raw: bytes) -> int:
    """The first 19 bytes of a time laid out so; lines of one second follow each other."""
    if _ISO.fullmatch(raw.decode("ascii", "replace")) is None:
        raise ValueError(raw)
    start = day_ns(int(raw[:4]), int(raw[5:7]), int(raw[8:10]))
    return start + clock_ns(int(raw[11:13]), int(raw[14:16]), int(raw[17:19]), None)


def zone_seconds(text: str) -> int:
    """`Z` → 0, `+09:00` → 32400, `-0800` → -28800."""
    if text in ("Z", "z"):
        return 0
    digits = text[1:].replace(":", "")
    seconds = int(digits[:2]) * 3600 + int(digits[2:4] or "0") * 60
    return -seconds if text[0] == "-" else seconds


def year_of_ns(moment_ns: int) -> int:
    """The calendar year of a moment."""
    return datetime.fromtimestamp(moment_ns / 1e9, UTC).year


@dataclass
class YearContext:
    """The year of stamps that print none.

    Holds a full date from the same file, else its modification time. Near a full date the nearest year
    is right: with an anchor of 2027-01-01T00:10, a stamp of 31 December is 2026; with an anchor of
    2026-12-31, a stamp of 1 January is 2027 (rollover in the middle of a file). A modification time is
    an upper bound: with one of 2026-11-20, a stamp of 15 April is 2026, never 2027. A year that the user gave is that
    of the first stamp: with 2026, a stamp of 1 January behind one of 31 December is 2027.

    `near_ns` is the last stamp of the file that was read: a time of day without a date is of the day on which it comes
    nearest to it.
    """

    anchor_ns: int
    is_given: bool = False
    is_bound: bool = True
    is_begun: bool = False
    near_ns: int | None = None

    def resolve(self, month: int, day: int) -> int:
        """The start of that day, in nanoseconds, in the fitting year."""
        year = year_of_ns(self.anchor_ns)
        if self.is_given and not self.is_begun:
            self.anchor_ns = day_ns(year, month, day)
            self.is_begun = True
            return self.anchor_ns
        best: int | None = None
        for candidate in (year - 1, year, year + 1):
            try:
                start = day_ns(candidate, month, day)
            except ValueError:
                continue
            if self.is_bound and start > self.anchor_ns + 2 * DAY_NS:
                continue
            if best is None or abs(start - self.anchor_ns) < abs(best - self.anchor_ns):
                best = start
        if best is None:
            raise ValueError(f"{month}-{day}")
        return best

    def nearest(self, of_day_ns: int) -> int:
        """A time of day, in nanoseconds since midnight, on the fitting day. Raises ValueError before any date."""
        if self.near_ns is None:
            raise ValueError("no stamp with a date yet")
        moment = self.near_ns // DAY_NS * DAY_NS + of_day_ns
        return moment + (self.near_ns - moment + DAY_NS // 2) // DAY_NS * DAY_NS

    def note(self, moment_ns: int) -> None:
        """A full date of the file was seen."""
        if not self.is_given:
            self.anchor_ns = moment_ns
            self.is_bound = False


class Stamp(NamedTuple):
    """A time stamp: nanoseconds as printed, zone if printed, whether the year was printed."""

    local_ns: int
    zone_offset_s: int | None
    is_year_known: bool
    pid: int | None = None
    rank: int | None = None
    end: int = 0
    local_rank: int | None = None
    host: str | None = None


def plain_group(regex: re.Pattern[bytes]) -> int:
    """The number of the group that is the whole time of a match, where it took part; 0 where there is more to read."""
    numbers = regex.groupindex
    return numbers.get("iso", 0) if "host" not in numbers or "local_rank" not in numbers else 0


class StampReader:
    """Reads the time in the groups of one format's matches."""

    def __init__(self, regex: re.Pattern[bytes]) -> None:
        numbers = regex.groupindex
        self._iso = plain_group(regex)
        self._zone, self._pid, self._rank = (numbers.get(name, 0) for name in ("zone", "pid", "rank"))

    def read(self, match: re.Match[bytes], years: YearContext) -> Stamp | None:
        """As stamp_of, for less work where the time is a plain one in one group."""
        raw = match[self._iso] if self._iso else None
        local_ns = native.iso_ns(raw) if raw else None
        if local_ns is None:
            return stamp_of(match, years)
        zone, pid, rank = (match[number] if number else None for number in (self._zone, self._pid, self._rank))
        years.near_ns = local_ns
        zone_s = zone_seconds(zone.decode()) if zone else None
        pid_no, rank_no = int(pid) if pid is not None else None, int(rank) if rank is not None else None
        return tuple.__new__(Stamp, (local_ns, zone_s, True, pid_no, rank_no, match.end(), None, None))


def stamp_of(match: re.Match[bytes], years: YearContext) -> Stamp | None:
    """The time in the groups of a stamp or wrapper match, or None where the digits make no date."""
    stamp = _stamp_in(match, match.groupdict(), years)
    if stamp is not None:
        years.near_ns = stamp.local_ns
    return stamp


def _stamp_in(match: re.Match[bytes], groups: dict[str, Any], years: YearContext) -> Stamp | None:
    raw_zone, raw_pid, raw_rank = groups.get("zone"), groups.get("pid"), groups.get("rank")
    zone = zone_seconds(raw_zone.decode()) if raw_zone else None
    pid = int(raw_pid) if raw_pid is not None else None
    rank = int(raw_rank) if raw_rank is not None else None
    try:
        full = groups.get("iso") or groups.get("table_time")
        if full:
            return _placed(Stamp(iso_bytes_ns(full), zone, True, pid, rank, match.end()), groups)
        epoch = groups.get("epoch")
        if epoch is not None:
            fraction = int((groups.get("fraction") or b"0").ljust(9, b"0"))
            return Stamp(int(epoch) * SECOND_NS + fraction, 0, True, pid, rank, match.end())
        of_day = _of_day(groups)
        if "day" not in groups and "compact_date" not in groups:
            return Stamp(years.nearest(of_day), zone, False, pid, rank, match.end())
        start, is_year_known = _day_of(groups, years)
        return Stamp(start + of_day, zone, is_year_known, pid, rank, match.end())
    except (ValueError, KeyError):
        return None


def _placed(stamp: Stamp, groups: dict[str, bytes | None]) -> Stamp:
    """The stamp with host and local rank, where its format has them."""
    raw = groups.get("local_rank")
    host = groups.get("host")
    if raw is None or host is None:
        return stamp
    return stamp._replace(local_rank=int(raw), host=host.decode("utf-8", "replace"))


def _of_day(groups: dict[str, bytes]) -> int:
    hour, minute, second = map(int, groups["hms"].split(b":"))
    fraction, half = groups.get("fraction"), groups.get("half")
    if half:  # of 12 hours, the first of which is called 12
        hour = hour % 12 + (12 if half == b"PM" else 0)
    return clock_ns(hour, minute, second, fraction.decode() if fraction else None)


def _day_of(groups: dict[str, bytes], years: YearContext) -> tuple[int, bool]:
    """The start of the day that a stamp in parts names, and whether it names the year."""
    compact = groups.get("compact_date")
    if compact is not None:
        return day_ns(int(compact[:4]), int(compact[4:6]), int(compact[6:8])), True
    raw_month = groups.get("month")
    month = int(raw_month) if raw_month is not None else _MONTHS[groups["month_name"].decode()]
    raw_year = groups.get("year")
    if raw_year is None:
        return years.resolve(month, int(groups["day"])), False
    year = int(raw_year)
    return day_ns(year if year > 99 else 2000 + year, month, int(groups["day"])), True


def format_values(form: LineFormat, line: str, years: YearContext) -> dict[str, object] | None:
    """What a wrapper, stamp or rank format reads from a line, for its samples; None = no match."""
    match = (
        form.regex.search(line.encode()) if form.is_anywhere or form.role == "rank" else form.regex.match(line.encode())
    )
    if match is None:
        return None
    values: dict[str, object] = {}
    for name, raw in match.groupdict().items():
        if raw is not None:
            key = "rank" if re.fullmatch(r"rank\d?", name) else name
            values[key] = int(raw) if raw.isdigit() and key != "process_group" else raw.decode().replace(" (", "(")
    if {"iso", "hms", "epoch", "table_time"} & set(match.re.groupindex):
        stamp = stamp_of(match, years)
        if stamp is None:
            return None
        seconds, fraction = divmod(stamp.local_ns, SECOND_NS)
        values["at"] = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{fraction:09d}"
        values["zone_offset_s"] = stamp.zone_offset_s
        values["is_year_known"] = stamp.is_year_known
    return values
