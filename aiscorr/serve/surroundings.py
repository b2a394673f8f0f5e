"""A line of an ingested file with those around it, read in the original file again, and which of them are recognised.

Only files that the database knows are opened; lines are shown without colours, with secrets taken out, long ones cut.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from aiscorr.errors import SourceError, UsageError
from aiscorr.parse.redact import redacted_lines
from aiscorr.parse.values import strip_ansi
from aiscorr.sources.read import TruncatedError, buffered, open_member
from aiscorr.store.records import records

if TYPE_CHECKING:
    import duckdb

AROUND, MOST_AROUND = 20, 500
_MOST_LINES = 1 << 40
_LONGEST_LINE = 2000
#: When the way to a line, in an archive perhaps, is given up.
_MOST_S = 20.0
_FILE = """
select s.file_id, s.path, s.kind, s.node_id, s.job_id, s.lines, c.method, c.zone_offset_s
from source_file as s left join clock as c on c.file_id = s.file_id
where s.path = $path and s.state = 'ingested' and s.kind <> 'flight_recorder' order by s.file_id desc limit 1
"""
_RECOGNISED = """
select line_no, event_at, severity, pattern, rank, text from worker_event
where file_id = $file_id and line_no between $first and $last
union all by name
select line_no, event_at, severity, pattern, null::integer as rank, text from ais_event
where file_id = $file_id and line_no between $first and $last
order by line_no
"""


@dataclass(frozen=True)
class Line:
    """A line; `event` has event_at, severity, pattern and rank of a recognised one. `is_stored`: not read again."""

    line_no: int
    text: str
    event: dict[str, Any] | None = None
    is_stored: bool = False


@dataclass(frozen=True)
class Surroundings:
    """A file as the database knows it, the lines around one of them, and what kept the file from being read."""

    file: dict[str, Any]
    line_no: int
    around: int
    lines: tuple[Line, ...]
    problem: str | None = None


def known_lines(connection: duckdb.DuckDBPyConnection, path: str, line_no: int, around: int) -> Surroundings:
    """What the database has of the lines around one. Raises UsageError for a file that was not ingested, or no line."""
    if not 1 <= line_no <= _MOST_LINES or not 0 <= around <= MOST_AROUND:
        raise UsageError(
            f"lines count from 1, and at most {MOST_AROUND} around one are shown", where="lines", try_this="line=1"
        )
    found = records(connection, _FILE, {"path": path})
    if not found:
        raise UsageError("no such file of lines was ingested", where="lines", try_this="/queries/files lists them")
    span = {"file_id": found[0]["file_id"], "first": line_no - around, "last": line_no + around}
    rows = records(connection, _RECOGNISED, span)
    lines = tuple(Line(row["line_no"], row["text"] or "", row, is_stored=True) for row in rows)
    return Surroundings(found[0], line_no, around, lines)


def read_again(known: Surroundings) -> Surroundings:
    """The same with all lines, read in the file; without them where it is gone."""
    first, last = max(known.line_no - known.around, 1), known.line_no + known.around
    try:
        texts = _texts(known.file["path"], first, last)
    except (SourceError, TruncatedError, OSError) as error:
        reason = error.what if isinstance(error, SourceError) else str(error)
        return replace(known, problem=f"The file cannot be read any more ({reason}): only stored lines are shown.")
    events = {line.line_no: line.event for line in known.lines}
    lines = tuple(Line(first + place, text, events.get(first + place)) for place, text in enumerate(texts))
    problem = None if any(line.line_no == known.line_no for line in lines) else f"It has no line {known.line_no:,}."
    return replace(known, lines=lines, problem=problem)


def _texts(path: str, first: int, last: int) -> list[str]:
    end = time.monotonic() + _MOST_S
    with buffered(open_member(path)) as stream:
        for number, _ in enumerate(islice(stream, first - 1)):
            if number % 65536 == 0 and time.monotonic() > end:
                raise SourceError("the way to the line takes too long", where=path, try_this="unpack the archive")
        kept: deque[bytes] = deque(islice(stream, last - first + 1))
    texts = redacted_lines([strip_ansi(raw.decode("utf-8", "replace")).rstrip("\r\n") for raw in kept])
    return [text if len(text) <= _LONGEST_LINE else text[:_LONGEST_LINE] + " … (cut)" for text in texts]
