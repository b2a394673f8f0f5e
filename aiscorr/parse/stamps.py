"""What stands in front of a worker line: collector wrappers, time stamps and rank tags, in that order.

Comes in: a line without terminal colours. Goes out: a LinePrefix. Which date a stamp without year
belongs to is decided by YearContext from the file's full stamps, else from its modification time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache

from aiscorr.parse.formats import LineFormat, load_formats
from aiscorr.parse.regex_facts import first_bytes, words_needed

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
_SEARCH_LIMIT = 512


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
    year, month, day, hour, minute, second, fraction = match.groups()
    return day_ns(int(year), int(month), int(day)) + clock_ns(int(hour), int(minute), int(second), fraction)


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
    """

    anchor_ns: int
    is_given: bool = False
    is_bound: bool = True
    is_begun: bool = False

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

    def note(self, moment_ns: int) -> None:
        """A full date of the file was seen."""
        if not self.is_given:
            self.anchor_ns = moment_ns
            self.is_bound = False


@dataclass(frozen=True, slots=True)
class Stamp:
    """A time stamp: nanoseconds as printed, zone if printed, whether the year was printed."""

    local_ns: int
    zone_offset_s: int | None
    is_year_known: bool
    pid: int | None = None
    rank: int | None = None
    end: int = 0


def stamp_of(match: re.Match[bytes], years: YearContext) -> Stamp | None:
    """The time in the groups of a stamp or wrapper match, or None where the digits make no date."""
    groups = {name: raw.decode("ascii", "replace") for name, raw in match.groupdict().items() if raw is not None}
    zone = zone_seconds(groups["zone"]) if groups.get("zone") else None
    pid = int(groups["pid"]) if "pid" in groups else None
    rank = int(groups["rank"]) if "rank" in groups else None
    try:
        if "epoch" in groups:
            return Stamp(int(groups["epoch"]) * SECOND_NS, 0, True, pid, rank, match.end())
        full = groups.get("iso") or groups.get("table_time")
        if full:
            return Stamp(iso_ns(full), zone, True, pid, rank, match.end())
        hour, minute, second = (int(part) for part in groups["hms"].split(":"))
        of_day = clock_ns(hour, minute, second, groups.get("fraction"))
        if "compact_date" in groups:
            text = groups["compact_date"]
            start = day_ns(int(text[:4]), int(text[4:6]), int(text[6:8]))
            return Stamp(start + of_day, zone, True, pid, rank, match.end())
        month = int(groups["month"]) if "month" in groups else _MONTHS[groups["month_name"]]
        if "year" in groups:
            year = int(groups["year"])
            start = day_ns(year if year > 99 else 2000 + year, month, int(groups["day"]))
            return Stamp(start + of_day, zone, True, pid, rank, match.end())
        return Stamp(years.resolve(month, int(groups["day"])) + of_day, zone, False, pid, rank, match.end())
    except (ValueError, KeyError):
        return None


@dataclass(frozen=True, slots=True)
class LinePrefix:
    """Everything read in front of a line's message.

    `body_start`: bytes before the text behind wrappers and rank tag (indentation kept, stamp included);
    `message_start`: bytes before the message behind the stamp as well.
    """

    stamp: Stamp | None
    stamp_source: str | None
    wrapper_stamp: Stamp | None
    rank: int | None
    rank_source: str | None
    local_rank: int | None
    group_rank: int | None
    process_group: str | None
    task: int | None
    pid: int | None
    host: str | None
    body_start: int
    message_start: int


@dataclass(frozen=True, slots=True)
class _Searched:
    """A format that may stand anywhere in a line, and words of which one stands in every match, in lower case."""

    form: LineFormat
    words: tuple[bytes, ...] | None

    def search(self, line: bytes, folded: bytes, limit: int) -> re.Match[bytes] | None:
        """The first match in the first bytes of a line; `folded` is the line in lower case."""
        if not _may_hold(folded, self.words):
            return None
        return self.form.regex.search(line, 0, limit)


def _may_hold(folded: bytes, words: tuple[bytes, ...] | None) -> bool:
    """Whether a text in lower case holds one of the words; yes where no words are known."""
    if words is None:
        return True
    for word in words:  # noqa: SIM110 (any() takes three times as long here, once for each line)
        if word in folded:
            return True
    return False


def _searched(form: LineFormat) -> _Searched:
    return _Searched(form, words_needed(form.regex))


def _by_first_byte(forms: tuple[LineFormat, ...]) -> list[tuple[LineFormat, ...]]:
    """For each byte the formats that can match a text that begins with it; the last entry is for no text."""
    firsts = [None if form.is_anywhere else first_bytes(form.regex) for form in forms]
    pairs = list(zip(forms, firsts, strict=True))
    chosen = [tuple(form for form, first in pairs if first is None or byte in first) for byte in range(256)]
    return [*chosen, forms]


class PrefixReader:
    """Reads line prefixes with the formats of the package and of the user's folders.

    Only formats are tried that can match at all, by the first byte or by a word they need.
    """

    def __init__(self, extra_folders: tuple[str, ...] = ()) -> None:
        self._wrappers = _by_first_byte(load_formats("wrapper", extra_folders))
        self._stamps = _by_first_byte(load_formats("stamp", extra_folders))
        self._stamp_words = {
            form.name: words_needed(form.regex) for form in load_formats("stamp", extra_folders) if form.is_anywhere
        }
        ranks = {f.name: _searched(f) for f in load_formats("rank", extra_folders)}
        self._tag = ranks.pop("rank_tag")
        self._group = ranks.pop("rank_group")
        self._bare = ranks.pop("rank_bare")
        self._fields = tuple(sorted(ranks.values(), key=lambda searched: searched.form.order))

    def read(self, line: bytes, years: YearContext) -> LinePrefix:
        """The prefix of a line; `years` is told every full date met."""
        found: dict[str, int | str | None] = {}
        folded = line[: 8 * _SEARCH_LIMIT].lower()
        position, wrapper_stamp = self._unwrap(line, years, found)
        tag = self._tag.form.regex.match(line, position)
        body_start = position
        if tag is not None:
            body_start = tag.end() + (line[tag.end() : tag.end() + 1] == b" ")
            position = body_start
            while line[position : position + 1] == b" ":
                position += 1
            found["rank"], found["rank_source"] = int(tag.group("rank")), "tag"
        stamp, position = self._own_stamp(line, folded, position, years)
        if tag is None:
            self._late_rank(line, folded, stamp, found)
        group = self._group.search(line, folded, _SEARCH_LIMIT)
        bare = None if group else self._bare.search(line, folded, _SEARCH_LIMIT)
        group_rank = int((group or bare).group("group_rank")) if (group or bare) else None  # type: ignore[union-attr]
        source = "own" if stamp else ("wrapper" if wrapper_stamp else None)
        pid = found.get("pid") or (stamp.pid if stamp else None)
        return LinePrefix(
            stamp=stamp or wrapper_stamp,
            stamp_source=source,
            wrapper_stamp=wrapper_stamp,
            rank=_as_int(found.get("rank")),
            rank_source=_as_str(found.get("rank_source")),
            local_rank=_as_int(found.get("local_rank")),
            group_rank=group_rank,
            process_group=group.group("process_group").decode("utf-8", "replace").replace(" (", "(") if group else None,
            task=_as_int(found.get("task")),
            pid=_as_int(pid),
            host=_as_str(found.get("host")),
            body_start=body_start,
            message_start=position,
        )

    def _unwrap(self, line: bytes, years: YearContext, found: dict[str, int | str | None]) -> tuple[int, Stamp | None]:
        position, wrapper_stamp = 0, None
        for _ in range(6):
            rest = line[position : position + _SEARCH_LIMIT]
            for wrapper in self._wrappers[rest[0] if rest else -1]:
                match = wrapper.regex.match(rest)
                if match is None:
                    continue
                _take_groups(match, found)
                if "iso" in match.re.groupindex:
                    stamp = stamp_of(match, years)
                    if stamp is not None and stamp.is_year_known:
                        years.note(stamp.local_ns)
                        wrapper_stamp = stamp
                position += match.end()
                break
            else:
                break
        return position, wrapper_stamp

    def _own_stamp(self, line: bytes, folded: bytes, position: int, years: YearContext) -> tuple[Stamp | None, int]:
        rest = line[position : position + 2 * _SEARCH_LIMIT]
        is_whole = position + 2 * _SEARCH_LIMIT <= len(folded) or len(folded) == len(line)
        for form in self._stamps[rest[0] if rest else -1]:
            if form.is_anywhere:
                if is_whole and not _may_hold(folded, self._stamp_words[form.name]):
                    continue
                match = form.regex.search(rest)
            else:
                match = form.regex.match(rest)
            if match is None:
                continue
            stamp = stamp_of(match, years)
            if stamp is None:
                continue
            if stamp.is_year_known and stamp.zone_offset_s is None:
                years.note(stamp.local_ns)
            return stamp, (position + match.end() if form.name != "stamp_slurm" else position)
        return None, position

    def _late_rank(self, line: bytes, folded: bytes, stamp: Stamp | None, found: dict[str, int | str | None]) -> None:
        tag = self._tag.search(line, folded, 8 * _SEARCH_LIMIT)
        if tag is not None:
            found["rank"], found["rank_source"] = int(tag.group("rank")), "tag"
            return
        if stamp is not None and stamp.rank is not None:
            found["rank"], found["rank_source"] = stamp.rank, "field"
            return
        if "rank" in found:
            found["rank_source"] = "field"
            return
        for field in self._fields:
            match = field.search(line, folded, _SEARCH_LIMIT)
            if match is not None:
                found["rank"] = int(next(group for group in match.groups() if group is not None))
                found["rank_source"] = "field"
                return


def _take_groups(match: re.Match[bytes], found: dict[str, int | str | None]) -> None:
    for name, raw in match.groupdict().items():
        if raw is None:
            continue
        if name in ("local_rank", "task", "pid", "rank"):
            found[name] = int(raw)
        elif name == "host":
            found[name] = raw.decode("utf-8", "replace")


def _as_int(value: int | str | None) -> int | None:
    return value if isinstance(value, int) else None


def _as_str(value: int | str | None) -> str | None:
    return value if isinstance(value, str) else None


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
