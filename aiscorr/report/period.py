"""Spans and moments as people write them: `30d`, `6h`, a day, a moment in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from aiscorr.errors import UsageError

_DURATION = re.compile(r"(\d{1,6})([smhd])")
_DAYS = {"today": timedelta(0), "yesterday": timedelta(days=1)}
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
#: Longer ago than any log.
_FIRST = datetime(1970, 1, 2, tzinfo=UTC)


def duration(text: object, where: str) -> timedelta:
    """`90s`, `10m`, `6h` or `2d`. Raises UsageError."""
    match = _DURATION.fullmatch(str(text))
    if match is None or int(match.group(1)) == 0:
        raise UsageError(f"{text!r} is no duration", where=where, try_this="a number and s, m, h or d, such as 10m")
    return timedelta(seconds=int(match.group(1)) * _UNITS[match.group(2)])


def moment_since(text: str, now: datetime, where: str) -> datetime:
    """The moment of `30d` (so long ago), `yesterday`, `2026-09-14` or `2026-09-14T10:00:00`, UTC if it has no zone.

    Raises UsageError, also where it lies ahead.
    """
    if text in _DAYS:
        return (now.astimezone(UTC) - _DAYS[text]).replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        if _DURATION.fullmatch(text) is None:
            said = f"{text!r} is no duration, day or moment"
            raise UsageError(said, where=where, try_this="30d, 6h, yesterday, 2026-09-14 or 2026-09-14T10:00") from None
        return (now - min(duration(text, where), now - _FIRST)).astimezone(UTC)
    moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    if moment > now:
        raise UsageError(f"{text!r} lies ahead", where=where, try_this="a day or a moment that is over, or 30d")
    return moment
