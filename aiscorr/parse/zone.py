"""Local time of a zone the user named, turned into UTC, through changes of daylight saving time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from aiscorr.errors import UsageError
from aiscorr.parse.stamps import SECOND_NS

_EPOCH = datetime(1970, 1, 1)


class ZoneClock:
    """Converts one file's moments in order; an hour that occurs twice is told apart by that order.

    Example: Europe/Berlin, 2026-10-25: 02:30 after 01:50 → 00:30Z (summer time); 02:10 after that
    02:30 → 01:10Z (winter time), because a log does not run backwards.
    """

    def __init__(self, name: str) -> None:
        from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

        try:
            self._zone = ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise UsageError(
                f"time zone {name!r} is not known",
                where="--timezone",
                try_this="an IANA name such as Europe/Berlin or UTC",
            ) from None
        self.name = name
        self._last_ns = 0
        self._offsets: dict[tuple[int, int], int] = {}

    def to_utc(self, local_ns: int) -> int:
        """UTC nanoseconds of a local moment."""
        early = local_ns - self._offset_ns(local_ns, 0)
        late = local_ns - self._offset_ns(local_ns, 1)
        moment = late if late != early and early < self._last_ns - 600 * SECOND_NS else early
        self._last_ns = max(self._last_ns, moment)
        return moment

    def _offset_ns(self, local_ns: int, fold: int) -> int:
        quarter = local_ns // (900 * SECOND_NS)
        key = (quarter, fold)
        if key not in self._offsets:
            moment = (_EPOCH + timedelta(seconds=quarter * 900)).replace(tzinfo=self._zone, fold=fold)
            offset = moment.utcoffset() or timedelta()
            self._offsets[key] = int(offset.total_seconds()) * SECOND_NS
        return self._offsets[key]


def utc_datetime(moment_ns: int) -> datetime:
    """A moment in nanoseconds as an aware datetime (to the microsecond)."""
    return datetime.fromtimestamp(moment_ns // SECOND_NS, UTC) + timedelta(microseconds=moment_ns % SECOND_NS // 1000)
