"""Removes what is old from a database, and nothing that a report says of a failure which is kept.

Around every kept failure counters and events stay, and all lines of its job. That this is enough is not taken for
granted: each report is made before and after, and where one would say something else, more is kept around it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from aiscorr import __version__
from aiscorr.analysis.refresh import are_views_current, refresh_alone
from aiscorr.errors import AiscorrError
from aiscorr.model import Retention
from aiscorr.report.build import build_report
from aiscorr.report.render import render_json
from aiscorr.store import removal
from aiscorr.store.database import DEFAULT_MEMORY_LIMIT, reading, writing
from aiscorr.store.working_copy import WorkingCopy

if TYPE_CHECKING:
    import duckdb

_NS = 1_000_000_000
#: Kept around a window beyond its own length on either side: statistics lines are up to minutes apart, nodes are
#: missed within minutes.
_MARGIN_NS = 3600 * _NS
_DAY_NS = 86400 * _NS
_TRIES = 4
_END_NS = -removal.BEGINNING
_FAILURES = """
select f.failure_id, f.job_id, c.cluster,
    2 * epoch_ns(f.window_started_at) - epoch_ns(f.window_ended_at) as low_ns,
    2 * epoch_ns(f.window_ended_at) - epoch_ns(f.window_started_at) as high_ns,
    epoch_ns(j.started_at) as job_low_ns,
    epoch_ns(j.ended_at) as job_high_ns
from failure as f
left join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt
left join job as j on j.job_id = f.job_id and j.attempt = f.attempt
"""
_JOBS = """
select w.job_id, max(coalesce(i.last_ns - k.shift_ns, i.modified_ns, 9000000000000000000)) as last_ns,
    list(w.file_id) as file_ids
from worker_file as w
join ingested_file as i on i.file_id = w.file_id
left join clock as k on k.file_id = w.file_id
group by w.job_id
"""


@dataclass(frozen=True)
class Removed:
    """What went: rows of each kind, and the moments up to which they were old; `problem`: why nothing went."""

    rows: Mapping[str, int]
    before: Mapping[str, datetime]
    problem: str | None = None

    @property
    def row_count(self) -> int:
        """All rows that went."""
        return sum(self.rows.values())


class _OtherReportError(AiscorrError):
    """Reports of failures that are kept would say something else."""

    def __init__(self, failure_ids: frozenset[str]) -> None:
        self.failure_ids = failure_ids
        super().__init__("reports would change", where=", ".join(sorted(failure_ids)), try_this="keep more")


class _NothingError(AiscorrError):
    """No row is to go, so nothing is published."""

    def __init__(self) -> None:
        super().__init__("nothing is old", where="the database", try_this="nothing")


@dataclass(frozen=True)
class _Failure:
    """A failure and a cluster of its job (None: it used none), with the spans that its report may look at."""

    failure_id: str
    job_id: str
    cluster: str | None
    low_ns: int | None
    high_ns: int | None
    job_low_ns: int | None
    job_high_ns: int | None

    def span(self, width: int) -> tuple[int, int]:
        """What of its clusters is kept: around the window, around the job, or all."""
        around = (self.low_ns, self.high_ns) if width == 0 else (self.job_low_ns, self.job_high_ns)
        if width > 1 or self.low_ns is None or self.high_ns is None or around[0] is None or around[1] is None:
            return removal.BEGINNING, _END_NS
        beside = _MARGIN_NS if width == 0 else _DAY_NS
        return min(around[0], self.low_ns) - beside, max(around[1], self.high_ns) + beside


def remove_old(
    db_path: str,
    keep: Retention,
    *,
    now: datetime,
    memory_limit: str = DEFAULT_MEMORY_LIMIT,
    threads: int | None = None,
) -> Removed:
    """Removes what is older than it is kept for, by whole days; every report of a kept failure stays as it is."""
    before = _limits(keep, now)
    if not before or not os.path.exists(db_path):
        return Removed({}, before)
    with reading(db_path, memory_limit=memory_limit, threads=threads) as connection:
        if not are_views_current(connection):
            return Removed({}, before, "nothing was removed: the views are of another version; the next run makes them")
        if not _Removal(connection, before, {}).is_needed():
            return Removed({}, before)
    widths: dict[str, int] = {}
    for _ in range(_TRIES):
        try:
            with writing(db_path, memory_limit=memory_limit, threads=threads, is_packed=True) as copy:
                return Removed(_Removal(copy.connection, before, widths).run(copy, now), before)
        except _NothingError:
            return Removed({}, before)
        except _OtherReportError as error:
            widths.update({failure_id: widths.get(failure_id, 0) + 1 for failure_id in error.failure_ids})
    names = ", ".join(sorted(widths)[:3])
    return Removed({}, before, f"nothing was removed: the report of {names} would have changed (please report it)")


def _limits(keep: Retention, now: datetime) -> dict[str, datetime]:
    """The moment up to which rows of each kind are old, at midnight; counters go no later than events."""
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    ages = {"counters": keep.counters or keep.events, "events": keep.events, "failures": keep.failures}
    return {kind: midnight - age for kind, age in ages.items() if age is not None}


class _Removal:
    """One removal from a database, or the question whether one is needed."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, before: Mapping[str, datetime], widths: Mapping[str, int]
    ) -> None:
        self._connection = connection
        self._before_ns = {kind: int(moment.timestamp()) * _NS for kind, moment in before.items()}
        self._before = before
        self._widths = widths
        self._jobs = {row[0]: (row[1], row[2]) for row in connection.execute(_JOBS).fetchall()}
        self._failures = [_Failure(*row) for row in connection.execute(_FAILURES).fetchall()]
        self._kept = [one for one in self._failures if not self._is_old(one.job_id, "failures")]

    def is_needed(self) -> bool:
        """Whether any row is to go."""
        if self._mark_jobs(is_failed=True) or self._mark_jobs(is_failed=False):
            return True
        for kind in ("counters", "events"):
            if self._mark_times(kind) and removal.removable_count(self._connection, kind):
                return True
        return False

    def run(self, copy: WorkingCopy, now: datetime) -> dict[str, int]:
        """Removes; gives the rows of each kind. Raises _OtherReportError where reports would change."""
        connection, counts = copy.connection, {}
        was = self._reports(connection, now)
        connection.execute("begin")
        if self._mark_jobs(is_failed=True):
            counts["failures"] = removal.remove_whole(connection, now)
        for kind in ("counters", "events"):
            if self._mark_times(kind):
                counts[kind] = removal.remove_aged(connection, kind, now)
        if self._mark_jobs(is_failed=False):
            rows, files = removal.remove_whole(connection, now)
            counts["events"] = (counts.get("events", (0, 0))[0] + rows, counts.get("events", (0, 0))[1] + files)
        counts = {kind: found for kind, found in counts.items() if found[0]}
        if not counts:
            raise _NothingError
        for kind, (row_count, file_count) in counts.items():
            moment = (value.astimezone(UTC).replace(tzinfo=None) for value in (now, self._before[kind]))
            row = [*moment, row_count, file_count]
            connection.execute(
                f"insert into retention_log select $1::timestamp, '{kind}', $2::timestamp, $3, $4, '{__version__}'", row
            )
        connection.execute("commit")
        refresh_alone(copy, _forget_conclusions)
        is_now = self._reports(copy.connection, now)
        others = {
            failure_id for failure_id in was.keys() | is_now.keys() if was.get(failure_id) != is_now.get(failure_id)
        }
        if others:
            raise _OtherReportError(frozenset(others))
        return {kind: rows for kind, (rows, _) in counts.items()}

    def _reports(self, connection: duckdb.DuckDBPyConnection, now: datetime) -> dict[str, str]:
        """A sum of the report of each failure that is kept."""
        old = {one.failure_id for one in self._failures} - {one.failure_id for one in self._kept}
        names = [row[0] for row in connection.execute("select failure_id from failure").fetchall()]
        return {
            name: hashlib.sha256(render_json(build_report(connection, name, now)).encode()).hexdigest()
            for name in names
            if name not in old
        }

    def _is_old(self, job_id: str, kind: str) -> bool:
        """The last word of the job is older than that kind of rows is kept."""
        return kind in self._before_ns and job_id in self._jobs and self._jobs[job_id][0] < self._before_ns[kind]

    def _mark_jobs(self, *, is_failed: bool) -> int:
        """Marks the files of jobs that are old: those that failed, or those that did not; counts their rows."""
        kind = "failures" if is_failed else "events"
        if kind not in self._before_ns or any(self._widths.get(one.failure_id, 0) > 1 for one in self._kept):
            return 0
        kept = {one.job_id for one in self._kept}
        failed = {one.job_id for one in self._failures} - kept
        old = [
            file_ids
            for job_id, (_, file_ids) in self._jobs.items()
            if job_id not in kept and (job_id in failed) == is_failed and self._is_old(job_id, kind)
        ]
        removal.mark_files(self._connection, [file_id for file_ids in old for file_id in file_ids])
        return removal.whole_count(self._connection) if old else 0

    def _mark_times(self, kind: str) -> bool:
        """Marks the stretches of each cluster that are old and free of kept failures."""
        if kind not in self._before_ns:
            return False
        clusters = [row[0] for row in self._connection.execute("select distinct cluster from ais_file").fetchall()]
        end = self._before_ns[kind]
        spans: dict[str, list[tuple[int, int]]] = {}
        for one in self._kept:
            if one.cluster is not None:
                spans.setdefault(one.cluster, []).append(one.span(self._widths.get(one.failure_id, 0)))
        everywhere = [span for found in spans.values() for span in found]
        stretches = {cluster: free_stretches(spans.get(cluster, []), end) for cluster in clusters}
        removal.mark_stretches(self._connection, {**stretches, removal.EVERYWHERE: free_stretches(everywhere, end)})
        return True


def free_stretches(spans: list[tuple[int, int]], end: int) -> list[removal.Stretch]:
    """What lies before `end` and in none of the spans; gaps of less than two margins are no stretch."""
    found: list[removal.Stretch] = []
    at = removal.BEGINNING
    for low, high in [*sorted(spans), (end, end)]:
        low = min(low, end)
        if low - at >= 2 * _MARGIN_NS:
            found.append((at, low))
        at = max(at, high)
    return found


def _forget_conclusions(connection: duckdb.DuckDBPyConnection) -> None:
    """Of failures that are no more."""
    connection.execute("delete from conclusion where failure_id not in (select failure_id from failure)")
