"""One line of an AIStore daemon: prefix, severity, time of day, message; glued records are separated.

Source: AIStore cmn/nlog, releases 3.18 to 5.0 (facts: no date and no zone in a line; I lines are cut
at 2048 bytes without newline, so the next record may follow on the same line).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from aiscorr import native
from aiscorr.parse.stamps import SECOND_NS, clock_ns, day_ns, iso_ns, zone_seconds

#: `journalctl` writes it before every line, behind a time in one of its forms: the host, and the unit's process.
_UNIT = rb"[\w.-]{1,64} [\w./@-]{1,40}\[\d{1,8}\]: "
#: What tells no moment in UTC: `kubectl logs --prefix`, before the collector's time, and syslog's time.
_LABEL = re.compile(
    rb"\[pod/[\w.-]+/[\w.-]+\] |(?:[A-Z][a-z]{2} [ \d]\d|(?:[A-Z][a-z]{2} )?\d{4}-\d\d-\d\d)"
    rb" \d\d:\d\d:\d\d(?:\.\d{1,6})?(?: [A-Z]{2,5})? " + _UNIT
)
_WRAPPER = re.compile(
    rb"(?:\s*\| )?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?)(Z|[+-]\d\d:?\d\d)"
    rb"(?: std(?:out|err) [FP])?(?: \| |[ \t]+)(?:" + _UNIT + rb")?"
)
_PREFIX = re.compile(
    rb"(?:\[while stopping:\] |Error: logging before flag\.Parse: )?"
    rb"([IWE]) (\d\d:\d\d:\d\d\.\d{6}) (?:([A-Za-z_0-9]+(?:\.go)?:\d+)\]? )?"
)
_GLUED = re.compile(rb"[IWE](?<=.[IWE]) [012]\d:[0-5]\d:[0-5]\d\.\d{6} ")
_STATS = re.compile(rb"I (\d\d:\d\d:\d\d\.\d{6}) \{")
_INFO = re.compile(rb"I (\d\d:\d\d:\d\d\.\d{6}) (?:[A-Za-z_0-9]+(?:\.go)?:\d+\]? )?(?!\{)")
HEADER = re.compile(rb"(Started up|Rotated) at (\d{4})/(\d\d)/(\d\d) (\d\d):(\d\d):(\d\d), host (\S+?), (go\S+)")
_MARKER = re.compile(
    rb"(\d\d) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) (\d\d) (\d\d):(\d\d) ([A-Z]{1,5}|[+-]\d{2,4}) ====="
)
_MONTHS = b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
#: Zone abbreviations that mean one offset only; the rest (CST, IST, BST …) name several zones.
ZONE_SECONDS = {
    "UTC": 0,
    "GMT": 0,
    "Z": 0,
    "PST": -8 * 3600,
    "PDT": -7 * 3600,
    "MST": -7 * 3600,
    "MDT": -6 * 3600,
    "EST": -5 * 3600,
    "EDT": -4 * 3600,
    "CET": 3600,
    "CEST": 7200,
    "EET": 7200,
    "EEST": 10800,
    "MSK": 10800,
    "JST": 9 * 3600,
    "KST": 9 * 3600,
    "HKT": 8 * 3600,
    "SGT": 8 * 3600,
    "AEST": 10 * 3600,
    "AEDT": 11 * 3600,
    "NZST": 12 * 3600,
    "NZDT": 13 * 3600,
}


class AisRecord(NamedTuple):
    """A prefixed record. `of_day_ns`: nanoseconds since midnight, as printed. `start`: where the
    record begins in its line; `message_start`: where the message begins, both in bytes."""

    severity: str
    of_day_ns: int
    source_loc: str | None
    message: bytes
    start: int
    message_start: int
    wrapper_utc_ns: int | None


def of_day_ns(raw: bytes) -> int:
    """Nanoseconds since midnight of `23:05:55.123456`, as nlog prints it."""
    return clock_ns(int(raw[:2]), int(raw[3:5]), int(raw[6:8]), None) + int(raw[9:]) * 1000


def stats_of(line: bytes) -> tuple[int, bytes] | None:
    """Nanoseconds since midnight and what stands between the braces, of a line that is a statistics record alone."""
    match = _STATS.match(line)
    return (of_day_ns(match.group(1)), line[match.end() : -1]) if match is not None and line.endswith(b"}") else None


def info_ns(line: bytes) -> int | None:
    """Nanoseconds since midnight of an INFO record that stands alone in its line and is no hourly marker, else None."""
    match = _INFO.match(line)
    if match is None or b" =====" in line or _glued_record(line, match.end()):
        return None
    return of_day_ns(match.group(1))


def plain_record(line: bytes) -> AisRecord | None:
    """The record of a line that holds nothing else and is no statistics; None where `records_of` is to look at it."""
    head = native.record_head(line)
    if head is None:
        return None
    severity, of_day, source_loc, start = head
    return AisRecord(severity, of_day, source_loc, line[start:], 0, start, None)


def wrapper_time(line: bytes) -> tuple[int | None, int]:
    """UTC of a collector's RFC 3339 prefix, and the length of all that collectors put in front; (None, 0): nothing."""
    label = _LABEL.match(line)
    start = label.end() if label else 0
    match = _WRAPPER.match(line, start)
    if match is None:
        return None, start
    try:
        moment = iso_ns(match.group(1).decode()) - zone_seconds(match.group(2).decode()) * SECOND_NS
    except ValueError:
        return None, start
    return moment, match.end()


def _glued_record(line: bytes, start: int = 0) -> re.Match[bytes] | None:
    """The first record head behind this place that does not begin the line; most lines hold no letter for one."""
    if line.find(b"I ", start) < 0 and line.find(b"W ", start) < 0 and line.find(b"E ", start) < 0:
        return None
    return _GLUED.search(line, start)


def records_of(line: bytes) -> tuple[list[AisRecord], int | None]:
    """The records of a line (more than one where a cut line has the next glued to it), and the
    collector's time. No record: the line is a header or continues the record before it."""
    wrapped_ns, position = wrapper_time(line)
    found: list[AisRecord] = []
    match = _PREFIX.match(line, position)
    while match is not None:
        glued = _glued_record(line, match.end())
        end = glued.start() if glued else len(line)
        severity, time_of_day, location = match.groups()
        found.append(
            AisRecord(
                severity.decode(),
                of_day_ns(time_of_day),
                location.decode() if location else None,
                line[match.end() : end],
                match.start(),
                match.end(),
                wrapped_ns,
            )
        )
        match = _PREFIX.match(line, glued.start()) if glued else None
    if not found:
        glued = _glued_record(line)
        if glued is not None:
            inner, _ = records_of(line[glued.start() :])
            shift = glued.start()
            found = [
                AisRecord(
                    r.severity,
                    r.of_day_ns,
                    r.source_loc,
                    r.message,
                    r.start + shift,
                    r.message_start + shift,
                    wrapped_ns,
                )
                for r in inner
            ]
    return found, wrapped_ns


def header_ns(match: re.Match[bytes]) -> int | None:
    """The local time of a `Started up at` or `Rotated at` line, in nanoseconds; None: its date does not exist."""
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[1:7])
    try:
        return day_ns(year, month, day) + clock_ns(hour, minute, second, None)
    except ValueError:
        return None


def marker_of(message: bytes) -> tuple[int, str] | None:
    """The hourly marker's local minute in nanoseconds and its zone as printed: `20 Nov 26 23:59 UTC`."""
    match = _MARKER.search(message)
    if match is None:
        return None
    day, month, year, hour, minute, zone = match.groups()
    try:
        start = day_ns(2000 + int(year), _MONTHS.index(month) + 1, int(day))
    except ValueError:
        return None
    return start + clock_ns(int(hour), int(minute), 0, None), zone.decode()


def zone_of_marker(zone: str) -> int | None:
    """Seconds east of UTC of a zone abbreviation, or None where it names several zones.

    Go prints `+03` where a zone has no abbreviation.
    """
    if zone[0] in "+-":
        return zone_seconds(zone + "00" if len(zone) == 3 else zone)
    return ZONE_SECONDS.get(zone)
