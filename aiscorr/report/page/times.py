"""Marks the times of a failure's rows as moments that programs can read."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from html import escape

from aiscorr.report import document as doc

_CLOCK = re.compile(r"(~?)(\d\d:\d\d:\d\d(?:\.\d{1,6})?)(?= |$)")


class Times:
    """Knows the day of each time of day in a report: the first such time since shortly before its picture begins."""

    def __init__(self, failure: doc.FailureReport) -> None:
        self._start = failure.picture.from_.replace(tzinfo=None) - timedelta(hours=1) if failure.picture else None

    def marked(self, text: str) -> str:
        """A text as HTML; the time of day that it begins with becomes a `time` element."""
        found = _CLOCK.match(text)
        if found is None or self._start is None:
            return escape(text)
        moment = self._moment(found[2], self._start)
        return f'{found[1]}<time datetime="{moment}">{found[2]}</time>{escape(text[found.end() :])}'

    @staticmethod
    def _moment(clock: str, start: datetime) -> str:
        """`23:04:52.8` on the first day on which it is not before `start`."""
        of_day = datetime.fromisoformat(f"{start:%Y-%m-%d}T{clock}")
        if of_day < start:
            of_day += timedelta(days=1)
        return of_day.isoformat(timespec="milliseconds") + "Z"
