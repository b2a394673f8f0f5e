"""Slices of a lake as database files of this machine, which every verb reads as it reads any other.

A slice is named by the lake, its snapshot and what is in it, so one that is there is never stale. The last few are
kept in the cache.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from aiscorr import cache
from aiscorr.analysis.cases import Part, judge_in_turn
from aiscorr.analysis.refresh import refresh_alone
from aiscorr.analysis.spec import views_key
from aiscorr.errors import DatabaseError
from aiscorr.lake.address import Lake
from aiscorr.lake.ledger import Ledger, ledger
from aiscorr.lake.pull import Results, Scope, Span, pull, results, scope_of_cases
from aiscorr.lake.push import note
from aiscorr.lake.shape import CASES, CLUSTER, LAKE
from aiscorr.lake.site import attached, no_lake, reading_lake
from aiscorr.store.database import DEFAULT_MEMORY_LIMIT, reading, writing
from aiscorr.store.memory import limit_memory, slice_limit

if TYPE_CHECKING:
    import duckdb

#: So many slices are kept, those that were asked for last.
_MOST_SLICES = 12
#: So often it is noted that a slice was asked for.
_TOUCH_S = 60.0
_OTHER_VIEWS = "the results in this lake were made by another version of aiscorr or DuckDB"
#: How much of what is newest is looked at where not everything is: the most of these hours that hold few enough rows,
#: the first of them in any case.
_HOURS = (1, 2, 4, 8, 12, 24, 48, 96, 168, 336, 720, 1440, 2880, 8760)
_NEWEST_SPAN = f"""
with file as (
    select first_ns - coalesce(shift_ns, 0) as first_ns, last_ns - coalesce(shift_ns, 0) as last_ns,
        event_count + counter_count as row_count, kind = 'ais_log' as is_cut
    from {LAKE}.ingested_file where state = 'ingested' and last_ns is not null
),
span as (
    select hours, (select max(last_ns) from file) - hours * 3600000000000 as low_ns,
        (select max(last_ns) from file) as high_ns
    from (select unnest($hours) as hours)
),
fitting as (
    select s.low_ns, s.high_ns from span as s join file as f on f.last_ns >= s.low_ns
    group by s.hours, s.low_ns, s.high_ns
    having s.hours = 1 or sum(f.row_count * case when f.is_cut and f.first_ns < s.low_ns
        then (f.last_ns - s.low_ns) / (f.last_ns - f.first_ns) else 1 end) <= $most
)
select min(low_ns), any_value(high_ns), strftime(make_timestamp_ns(min(low_ns)), '%Y-%m-%d %H:%M') from fitting
"""


@dataclass(frozen=True)
class Wanted:
    """What a slice is for: results alone, the cases of some jobs, a span of time (UTC, ns), or what is newest."""

    jobs: tuple[str, ...] = ()
    span_ns: tuple[int, int] | None = None
    is_results: bool = False


@dataclass(frozen=True)
class Slice:
    """The file of a slice, the snapshot of the lake and its time (UTC), and whether all of the lake is in it."""

    path: str
    snapshot: int
    taken_at: datetime
    is_whole: bool


NEWEST = Wanted()
RESULTS = Wanted(is_results=True)


def slice_path(
    lake: Lake,
    wanted: Wanted = NEWEST,
    *,
    memory_limit: str = DEFAULT_MEMORY_LIMIT,
    threads: int | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> str:
    """The file of a slice of the lake's newest snapshot, which is made where it is missing.

    A small lake is one slice, whatever is wanted. `say` is told what of a large one is not in it.
    """
    return newest_slice(lake, wanted, memory_limit=memory_limit, threads=threads, say=say).path


def newest_slice(
    lake: Lake, wanted: Wanted, *, memory_limit: str, threads: int | None, say: Callable[[str], None]
) -> Slice:
    """As `slice_path`, with what the slice is of."""
    with ledger(lake) as book:
        if book.data_path() is None:
            raise no_lake(lake)
        snapshot, taken_at = book.newest()
        rows = book.row_count(snapshot)
        chosen = None if rows <= lake.most_rows else _chosen(book, snapshot, wanted, rows, say)
        key = cache.key_of((lake.name, str(snapshot), str(taken_at), repr(chosen), views_key()))
        path = _folder() / f"{key}.duckdb"
        if not is_kept(str(path)):
            _make(str(path), book, snapshot, chosen, memory_limit, threads, say)
            _forget_old(path)
        return Slice(str(path), snapshot, taken_at, chosen is None)


def is_kept(path: str) -> bool:
    """Whether a slice is still there; it then stays longer than those that nobody asks for."""
    try:
        # a reader that opens it meanwhile takes it for another file, and opens it again
        if time.time() - os.stat(path).st_mtime > _TOUCH_S:
            os.utime(path)
    except FileNotFoundError:
        return False
    except OSError:
        return os.path.exists(path)
    return True


def jobs_of(path: str, names: Collection[str]) -> tuple[str, ...]:
    """The jobs of failures, by what a slice says."""
    with reading(path) as connection:
        rows = connection.execute(
            "select distinct job_id from failure where list_contains(?, failure_id) order by 1", [list(names)]
        ).fetchall()
    return tuple(row[0] for row in rows)


@contextlib.contextmanager
def failures(lake: Lake) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database that holds of each failure of the lake its id, job and end, in the table `failure`, and no job."""
    with ledger(lake) as book, reading_lake(book) as connection:
        connection.execute("create table failure (failure_id varchar, job_id varchar, ended_at timestamp_ns)")
        connection.execute("create table job (job_id varchar, end_reason varchar)")
        if note(connection, "views") is not None:
            connection.execute(f"insert into failure select failure_id, job_id, ended_at from {LAKE}.stored_failure")
        yield connection


def jobs_around(lake: Lake, path: str, line_no: int) -> tuple[str, ...]:
    """The job whose case a line of a file may be in: that of the file, or the one nearest to the line in time."""
    sql = (
        "select c.job_id, l.local_ns - coalesce(f.shift_ns, 0) as at_ns"
        f" from {LAKE}.ingested_file as f join {LAKE}.{CASES} as c on list_contains(c.file_ids, f.file_id)"
        f"  or f.kind = 'ais_log' and list_contains(c.clusters, f.{CLUSTER})"
        f" left join {LAKE}.ais_line as l on l.file_id = f.file_id and l.line_no = ?"
        " where f.path = ? order by not list_contains(c.file_ids, f.file_id),"
        "  greatest(c.since_ns - at_ns, at_ns - c.until_ns, 0), c.job_id limit 1"
    )
    with ledger(lake) as book, reading_lake(book) as connection:
        rows = connection.execute(sql, [line_no, path]).fetchall()
    return tuple(row[0] for row in rows)


def _chosen(book: Ledger, snapshot: int, wanted: Wanted, rows: int, say: Callable[[str], None]) -> Wanted:
    """What is wanted of a large lake, where nothing was said the newest rows that fit."""
    if wanted != NEWEST:
        return wanted
    with reading_lake(book, snapshot) as connection:
        found = connection.execute(_NEWEST_SPAN, {"hours": list(_HOURS), "most": book.lake.most_rows}).fetchall()[0]
    if found[0] is None:
        say(f"this lake holds {rows:,} rows; only what was concluded of them is looked at")
        return RESULTS
    say(f"this lake holds {rows:,} rows; those from {found[2]} UTC on are looked at")
    return Wanted(span_ns=(int(found[0]), int(found[1])))


def _make(
    path: str, book: Ledger, snapshot: int, wanted: Wanted | None, memory_limit: str, threads: int | None,
    say: Callable[[str], None],
) -> None:  # fmt: skip
    """Pulls a slice, and computes its views. What was judged is taken from the lake where the same views judged it."""
    with writing(path, memory_limit=slice_limit(memory_limit), threads=threads, wait_s=600) as copy:
        if os.path.exists(path):  # another process made it while this one waited
            return
        connection = copy.connection
        with attached(connection, book, snapshot=snapshot):
            is_current = note(connection, "views") == views_key()
            known = results(connection, None) if is_current else None
            pull(connection, _scope(connection, wanted, known))
        if not is_current:
            say(f"warning: {_OTHER_VIEWS}; aiscorr ingest, on the same logs or an empty folder, makes them again")
        limit_memory(connection, memory_limit)
        count = threads or len(os.sched_getaffinity(0))
        judging = partial(judge_in_turn, threads=count, memory_limit=memory_limit)
        refresh_alone(copy, lambda _: None, judging, count, part=_part(known, wanted))


def _scope(connection: duckdb.DuckDBPyConnection, wanted: Wanted | None, known: Results | None) -> Scope:
    if wanted is None:
        return Scope(is_whole=True)
    scope = scope_of_cases(connection, wanted.jobs)
    if wanted.span_ns is not None:
        scope = replace(scope, spans=(*scope.spans, Span(*wanted.span_ns, *wanted.span_ns)), clusters=None)
    return replace(scope, named_ids=known.file_ids() if known is not None else ())


def _part(known: Results | None, wanted: Wanted | None) -> Part:
    """Judges nothing where it is known what judging gave, else the cases that the slice is for."""

    def jobs(connection: duckdb.DuckDBPyConnection) -> Collection[str]:
        if known is not None:
            return ()
        if wanted is not None:
            return wanted.jobs
        return {row[0] for row in connection.execute("select job_id from case_scope").fetchall()}

    return Part(jobs, lambda connection: None if known is None else known.fill(connection))


def _folder() -> Path:
    folder = cache.cache_folder() / "lake"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise DatabaseError(
            f"the folder for slices of a lake cannot be made: {error.strerror}", where=str(folder),
            try_this="XDG_CACHE_HOME names another place for it",
        ) from None  # fmt: skip
    return folder


def _forget_old(newest: Path) -> None:
    """Removes slices that were not asked for lately; who has one open keeps it."""
    with contextlib.suppress(OSError):
        found = sorted(newest.parent.glob("*.duckdb"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
        for path in found[_MOST_SLICES:]:
            for name in (path, Path(f"{path}.lock")):
                name.unlink(missing_ok=True)
