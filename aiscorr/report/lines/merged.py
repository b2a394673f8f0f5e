"""The lines of all files of a failure in order of their corrected time, each with whose it is and where it stands."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from aiscorr.errors import SourceError, UsageError
from aiscorr.parse.redact import redact
from aiscorr.query.formats import printable
from aiscorr.report.lines.moments import Moments
from aiscorr.report.lines.numbered import numbered_lines
from aiscorr.report.lines.stored import NOBODY, StoredFile, StoredLines, files_of, line_span, stored_lines

if TYPE_CHECKING:
    import duckdb

_SECOND_NS = 1_000_000_000
#: Processes of one file write out of order by less than this.
_LATE_NS = 60 * _SECOND_NS
#: So far before and behind the window of a failure the lines go that its report names.
_FAR_NS = 900 * _SECOND_NS
#: A traceback is no longer than this, and lines of several processes are out of order by less.
_LONGEST = 1_000
#: Files that are open at a time, besides those of the program.
_OWN_FILES = 64
#: The lines that the verdict stands on, and the steps of its chain.
_CITED = """
select path, line_no, event_at from evidence where failure_id = $id and place = 1 and kind = 'supports'
union select i.path, s.line_no, s.event_at from failure_chain as c
join get_batch_chain_step as s on s.chain_id = c.chain_id join ingested_file as i on i.file_id = s.file_id
where c.failure_id = $id and c.is_verdict
"""
#: When what the report shows was: those lines, and the main events of its timeline.
_NAMED = f"""
select distinct epoch_ns(event_at) from (select event_at from ({_CITED}) union select event_at from timeline
where failure_id = $id and weight = 1) where event_at is not null
"""


@dataclass(frozen=True)
class Span:
    """A failure, its job and cluster, the time that is looked at, and that of all lines its report names.

    Times are nanoseconds since 1970.
    """

    failure_id: str
    job_id: str
    cluster: str | None
    first_ns: int
    last_ns: int
    named_first_ns: int
    named_last_ns: int


@dataclass(frozen=True)
class MergedLine:
    """A line: when it was written, whose it is, where it stands, and what marks it.

    `is_exact` says whether the line itself tells its time; None where it has that of a line next to it. `words` are
    what the program wrote, which is the same in each file that holds the record.
    """

    utc_ns: int
    is_exact: bool | None
    who: str
    path: str
    line_no: int
    text: str
    mark: str
    words: bytes


@dataclass(frozen=True)
class _Source:
    """A file with what is stored of it, and the numbers of its lines between which the time lies."""

    position: int
    file: StoredFile
    known: StoredLines
    estimates: dict[int, int]
    first: int
    last: int | None


def span_of(connection: duckdb.DuckDBPyConnection, failure_id: str, before_s: float, after_s: float) -> Span:
    """The window of a failure with what its report names near it, and so many seconds before and after that.

    Raises UsageError where no line of it has a time.
    """
    job_id, cluster, first_ns, last_ns = connection.execute(
        "select job_id, cluster, epoch_ns(coalesce(window_started_at, hang_started_at, first_error_at, ended_at)),"
        " epoch_ns(coalesce(window_ended_at, ended_at, hang_started_at, first_error_at))"
        " from failure where failure_id = ?", [failure_id],
    ).fetchall()[0]  # fmt: skip
    if first_ns is None:
        raise UsageError(
            "none of its lines has a time", where=failure_id, try_this="aiscorr lines FILE:1, with a file of the job"
        )
    last_ns = last_ns or first_ns
    named = [int(row[0]) for row in connection.execute(_NAMED, {"id": failure_id}).fetchall()]
    near = [moment for moment in named if first_ns - _FAR_NS <= moment <= last_ns + _FAR_NS]
    named += first_ns, last_ns
    first_ns = min((first_ns, *near)) - round(before_s * _SECOND_NS)
    last_ns = max((last_ns, *near)) + round(after_s * _SECOND_NS)
    return Span(failure_id, job_id, cluster, first_ns, last_ns, min(named), max(named))


def merged_lines(
    connection: duckdb.DuckDBPyConnection, span: Span, gone: Callable[[SourceError], None]
) -> tuple[list[str], Iterator[MergedLine]]:
    """The paths of the files, and their lines; `gone` is told of each file that cannot be read, and the others go on.

    The database is asked before the first line comes, the files are read while lines are taken.
    """
    files = files_of(connection, span.job_id, span.cluster, span.first_ns, span.last_ns)
    spans = line_span(connection, [one.file_id for one in files], span.first_ns, span.last_ns + _LATE_NS)
    cited, estimates = _cited(connection, span.failure_id), _estimates(connection, span.failure_id)
    sources = []
    for position, one in enumerate(files):
        first, last = spans.get(one.file_id, (1, None))
        known = stored_lines(connection, one.file_id, first, last)
        sources.append(_Source(position, one, known, estimates.get(one.file_id, {}), first, last))
    _allow_open_files(len(sources))
    streams = (_lines(source, span, cited, gone) for source in sources)
    merged = heapq.merge(*streams, key=lambda one: (one[0], one[1]))
    return [one.path for one in files], _once(merged)


def _cited(connection: duckdb.DuckDBPyConnection, failure_id: str) -> set[tuple[str, int]]:
    """The lines that the verdict stands on, and the steps of its chain."""
    rows = connection.execute(f"select path, line_no from ({_CITED})", {"id": failure_id}).fetchall()
    return {(str(row[0]), int(row[1])) for row in rows if row[1] is not None}


def _estimates(connection: duckdb.DuckDBPyConnection, failure_id: str) -> dict[int, dict[int, int]]:
    """For each file the lines without a time of their own to which the timeline gives one."""
    rows = connection.execute(
        "select file_id, line_no, min(epoch_ns(event_at)) from timeline where failure_id = $id and not is_exact"
        " and source = 'worker' and line_no is not null group by file_id, line_no", {"id": failure_id},
    ).fetchall()  # fmt: skip
    found: dict[int, dict[int, int]] = {}
    for file_id, line_no, moment in rows:
        found.setdefault(int(file_id), {})[int(line_no)] = int(moment)
    return found


def _lines(
    source: _Source, span: Span, cited: set[tuple[str, int]], gone: Callable[[SourceError], None]
) -> Iterator[tuple[int, int, MergedLine]]:
    """The lines of one file in its time, with the time at which they are put: in order, so far as it is near.

    One that tells whole seconds only is behind the line above it that is of the same second.
    """
    path, latest, above = source.file.path, span.first_ns, 0
    near: list[tuple[int, int, MergedLine]] = []
    try:
        for utc_ns, is_exact, who, number, raw, words in _dated(source, span):
            if not span.first_ns <= utc_ns <= span.last_ns or not raw.strip():
                continue
            mark = ">" if (path, number) in cited else "!" if number in source.known.errors else " "
            text = printable(redact(raw.decode("utf-8", "replace")))
            line = MergedLine(utc_ns, is_exact, who, path, number, text, mark, words)
            is_same_second = not utc_ns % _SECOND_NS and utc_ns // _SECOND_NS == above // _SECOND_NS
            above = max(utc_ns, above) if is_same_second else utc_ns
            heapq.heappush(near, (above, number, line))
            while len(near) > _LONGEST or (near and near[0][0] < above - _LATE_NS):
                latest = max(latest, near[0][0])
                yield latest, source.position, heapq.heappop(near)[2]
    except SourceError as error:
        gone(error)
    for put_ns, _, line in sorted(near):
        yield max(latest, put_ns), source.position, line


_Dated = tuple[int, bool | None, str, int, bytes, bytes]


def _dated(source: _Source, span: Span) -> Iterator[_Dated]:
    """The lines of a file with their times, up to the end of the span; of a traceback all have that of its error."""
    moments = Moments(
        source.file.kind, source.file.shift_ns, source.known.moments, source.file.first_ns or span.first_ns
    )
    rank: int | None = None
    undated: list[_Dated] = []
    for number, raw in numbered_lines(source.file.path, source.first):
        utc_ns, is_exact, named, words = moments.read(number, raw)
        rank = named if named is not None or is_exact else rank
        whose = source.known.ranks.get(number, rank)
        who = f"rank {whose}" if whose is not None else source.file.who
        is_behind = is_exact and utc_ns is not None and utc_ns > span.last_ns + _LATE_NS
        if is_behind or (source.last is not None and number > source.last):
            break
        estimate = None if is_exact else source.estimates.get(number)
        if estimate is not None:
            moments.put(estimate)
            yield from ((max(estimate, one[0]), *one[1:]) for one in undated)
            undated = []
            yield estimate, False, who, number, raw, words
            continue
        line: _Dated = (span.first_ns - 1 if utc_ns is None else utc_ns, is_exact or None, who, number, raw, words)
        if not is_exact and len(undated) < _LONGEST:
            undated.append(line)
        else:
            yield from (*undated, line)
            undated = []
    yield from undated


def _once(lines: Iterable[tuple[int, int, MergedLine]]) -> Iterator[MergedLine]:
    """Each line once: of a record in several files, with the same time and words, the one that is marked."""
    for _, group in groupby(lines, key=lambda one: one[0]):
        kept: dict[tuple[str, int, bytes, int], MergedLine] = {}
        in_file: Counter[tuple[str, int, bytes, str]] = Counter()
        for _, _, line in group:
            is_own = line.who != NOBODY or (line.is_exact and line.utc_ns % _SECOND_NS)
            record = line.who if is_own else line.path, line.utc_ns, line.words
            in_file[*record, line.path] += 1
            key = *record, in_file[*record, line.path]
            if key not in kept or _WEIGHT[line.mark] > _WEIGHT[kept[key].mark]:
                kept[key] = line
        yield from kept.values()


_WEIGHT = {" ": 0, "!": 1, ">": 2}


def _allow_open_files(count: int) -> None:
    """Thousands of ranks have thousands of files, and all are open at once."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + _OWN_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            top = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, top), hard))
