"""Marks the times of a failure's rows as moments that programs can read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from html import escape

from aiscorr.report import document as doc
from aiscorr.report.blocks import clock

_CLOCK = re.compile(r"(~?)(\d\d:\d\d:\d\d(?:\.\d{1,6})?)(?= |$)")


class Times:
    """Knows the moment of each time of day that a report shows in its rows.

    Of a time that is none of them the day is that of the first such time since shortly before the picture begins.
    """

    def __init__(self, failure: doc.FailureReport) -> None:
        self._start = failure.picture.from_.replace(tzinfo=None) - timedelta(hours=1) if failure.picture else None
        self._known = {clock(moment): moment.replace(tzinfo=None) for moment in _moments(failure)}

    def marked(self, text: str) -> str:
        """A text as HTML; the time of day that it begins with becomes a `time` element."""
        found = _CLOCK.match(text)
        moment = self._moment(found[2]) if found else None
        if found is None or moment is None:
            return escape(text)
        exact = moment.isoformat(timespec="milliseconds") + "Z"
        return f'{found[1]}<time datetime="{exact}">{found[2]}</time>{escape(text[found.end() :])}'

    def _moment(self, text: str) -> datetime | None:
        """The moment of `23:04:52.8`; None where no day is known."""
        if text in self._known or self._start is None:
            return self._known.get(text)
        of_day = datetime.fromisoformat(f"{self._start:%Y-%m-%d}T{text}")
        return of_day if of_day >= self._start else of_day + timedelta(days=1)


def _moments(failure: doc.FailureReport) -> Iterator[datetime]:
    """The moments of rows, those that a reader looks for first at the end."""
    found = [line.last_seen_at for line in failure.ranks]
    found += [step.at for chain in failure.chains for step in chain.steps]
    found += [item.at for item in failure.timeline]
    found += [failure.first_error_at, failure.hang_started_at, failure.ended_at]
    yield from (moment for moment in found if moment is not None)
