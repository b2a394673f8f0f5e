"""A line of a file with those around it, from the original file, each with its time in UTC where that is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aiscorr.errors import UsageError
from aiscorr.parse.redact import redacted_lines
from aiscorr.query.formats import printable
from aiscorr.report.lines.moments import Moments
from aiscorr.report.lines.numbered import numbered_lines
from aiscorr.report.lines.stored import stored_file, stored_lines

if TYPE_CHECKING:
    import duckdb

#: So many lines before the first one shown are read for their times: a traceback has the time of what stands above it.
_LEAD = 200


@dataclass(frozen=True)
class NearLine:
    """A line: its number, its UTC time where it is known, whether the line itself tells it, and its printable text."""

    line_no: int
    utc_ns: int | None
    is_exact: bool
    text: str


def lines_around(
    connection: duckdb.DuckDBPyConnection | None, path: str, line_no: int, around: int
) -> Iterator[NearLine]:
    """The line and as many before and after it. Raises SourceError where the file is gone, UsageError for no line."""
    first = max(1, line_no - around)
    start, last = max(1, first - _LEAD), line_no + around
    moments = _moments(connection, path, start, last)
    number = start - 1
    near: list[NearLine] = []
    for number, raw in numbered_lines(path, start):
        utc_ns, is_exact = (None, False) if moments is None else moments.read(number, raw)[:2]
        if number >= first:
            near.append(NearLine(number, utc_ns, is_exact, raw.decode("utf-8", "replace")))
        if number == last:
            break
    clean = redacted_lines([one.text for one in near])
    yield from (replace(one, text=printable(text)) for one, text in zip(near, clean, strict=True))
    if number < line_no:
        raise UsageError(f"it has no line {line_no}", where=printable(path), try_this=_there(path, start))


def _there(path: str, start: int) -> str:
    """Which lines there are, where the file ends before the one that was asked for."""
    count = max((number for number, _ in numbered_lines(path, 1 if start > 1 else start)), default=0)
    return f"a line from 1 to {count}" if count else "another file: it is empty"


def _moments(connection: duckdb.DuckDBPyConnection | None, path: str, first: int, last: int) -> Moments | None:
    found = None if connection is None else stored_file(connection, path)
    if connection is None or found is None or found.first_ns is None:
        return None
    known = stored_lines(connection, found.file_id, first, last).moments
    near_ns = min(known.items(), default=(0, found.first_ns))[1]
    return Moments(found.kind, found.shift_ns, known, near_ns)
