"""Says when each line of a file was written, in UTC: by its own stamp and the file's clock as ingest found it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from aiscorr.parse.stamps import DAY_NS, SECOND_NS, YearContext, clock_ns
from aiscorr.parse.values import strip_ansi
from aiscorr.parse.worker.prefixes import STAMP_BYTES, LinePrefix, PrefixReader

_RECORD = re.compile(rb"(?:^|\s)[IWEF] (\d\d):(\d\d):(\d\d)\.(\d{1,9}) ")


class Moments:
    """The times of one file's lines, read in their order.

    A line whose time was stored has that. Of another the stamp is moved by the clock's shift and put on the day on
    which it is nearest to the line before: with a shift of -8 h, `E 15:58:52.3` behind 23:58:51 UTC is 23:58:52.3. A
    line without a stamp has the time of the one before it.
    """

    def __init__(self, kind: str, shift_ns: int, stored: Mapping[int, int], near_ns: int) -> None:
        self._is_ais = kind == "ais_log"
        self._shift_ns = shift_ns
        self._stored = stored
        self._last_ns: int | None = None
        self._near_ns = near_ns

    def read(self, number: int, line: bytes) -> tuple[int | None, bool, int | None, bytes]:
        """Nanoseconds since 1970 where they are known, whether the line itself tells them, and the rank it names.

        Last its words: the line without what a collector or launcher puts in front of it.
        """
        prefix, words = (None, line) if self._is_ais else _prefix(line, self._near_ns)
        stamp_ns = _record_ns(line, self._shift_ns) if self._is_ais else self._of_stamp(prefix)
        rank = None if prefix is None else prefix.rank
        moment = self._stored.get(number)
        if moment is None and stamp_ns is not None:
            near = self._last_ns if self._last_ns is not None else self._near_ns
            moment = stamp_ns + (near - stamp_ns + DAY_NS // 2) // DAY_NS * DAY_NS
        if moment is not None:
            self._last_ns = moment
        return self._last_ns, moment is not None, rank, words

    def put(self, moment: int) -> None:
        """The line that was read last was written then, as other lines tell."""
        self._last_ns = moment

    def _of_stamp(self, prefix: LinePrefix | None) -> int | None:
        stamp = None if prefix is None else prefix.stamp or prefix.wrapper_stamp
        if stamp is None:
            return None
        ahead = self._shift_ns if stamp.zone_offset_s is None else stamp.zone_offset_s * SECOND_NS
        return stamp.local_ns - ahead


def _record_ns(line: bytes, shift_ns: int) -> int | None:
    """The time of day of a record of AIStore in UTC; on no day yet."""
    found = _RECORD.search(line, 0, STAMP_BYTES)
    if found is None:
        return None
    hour, minute, second = (int(found[number]) for number in (1, 2, 3))
    return clock_ns(hour, minute, second, found[4].decode()) - shift_ns


def _prefix(line: bytes, near_ns: int) -> tuple[LinePrefix, bytes]:
    plain = strip_ansi(line.decode("utf-8", "replace")).encode() if b"\x1b" in line else line
    prefix = _reader().read(plain, YearContext(near_ns, is_bound=False, near_ns=near_ns))
    return prefix, plain[prefix.body_start :]


@lru_cache(maxsize=1)
def _reader() -> PrefixReader:
    return PrefixReader()
