"""What collectors put in front of a worker line, one behind the other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

from aiscorr.parse.stamps import Stamp, YearContext
from aiscorr.parse.worker.prefix_formats import SEARCH_LIMIT, TriedFormat, by_first_byte, either

_MOST_WRAPPERS = 6
_new = tuple.__new__  # what the __new__ of a NamedTuple calls in the end


class Wrapped(NamedTuple):
    """What collectors put in front of a line: where they end, their time, what else they tell."""

    end: int = 0
    stamp: Stamp | None = None
    rank: int | None = None
    local_rank: int | None = None
    task: int | None = None
    pid: int | None = None
    host: str | None = None


BARE_LINE = Wrapped()
_HOST = Wrapped._fields.index("host")


class Wrapper(TriedFormat):
    """A format of a collector."""

    @cached_property
    def fields(self) -> list[tuple[int, int]]:
        """Where in a Wrapped the values of groups go, with the numbers of the groups."""
        numbers = self.form.regex.groupindex
        return [(place, numbers[name]) for place, name in enumerate(Wrapped._fields) if place > 1 and name in numbers]


class Wrappers:
    """All formats of collectors; `rank_bits` are the words of those that may tell a rank."""

    def __init__(self, wrappers: Sequence[Wrapper]) -> None:
        self._wrappers = by_first_byte(wrappers)
        self.rank_bits = either(wrapper.bits for wrapper in wrappers if wrapper.has_rank)

    def unwrap(self, line: bytes, held: int, years: YearContext) -> Wrapped:
        """What stands in front of a line that holds these words; `years` is told every full date."""
        found, rest = BARE_LINE, line[:SEARCH_LIMIT]
        for _ in range(_MOST_WRAPPERS):
            for wrapper in self._wrappers[rest[0] if rest else -1]:
                match = wrapper.match(rest) if held & wrapper.bits else None
                if match is not None:
                    found = _with_wrapper(found, wrapper, match, years)
                    break
            else:
                break
            rest = line[found.end : found.end + SEARCH_LIMIT]
        return found


def _with_wrapper(found: Wrapped, wrapper: Wrapper, match: re.Match[bytes], years: YearContext) -> Wrapped:
    """What was found with what one more collector wrote."""
    values: list[Any] = list(found)
    values[0] += match.end()
    own = wrapper.stamp_of(match, years) if wrapper.has_time else None
    has_zone = found.stamp is not None and found.stamp.zone_offset_s is not None
    is_better = own is not None and (own.is_year_known or found.stamp is None)
    if own is not None and is_better and (own.zone_offset_s is not None or not has_zone):
        if own.is_year_known:
            years.note(own.local_ns)
        values[1] = own
    for place, number in wrapper.fields:
        raw = match[number]
        if raw is not None:
            values[place] = raw.decode("utf-8", "replace") if place == _HOST else int(raw)
    return _new(Wrapped, values)
