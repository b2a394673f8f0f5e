"""Ingest into a lake: reads what is new, judges it in a pulled slice, and commits rows and results at once.

Files are read before the lake is asked to let this process write, so that several may read at a time. What the slice
holds beside the new rows is what they may change: the jobs of their files, and cases of their time.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from aiscorr.analysis.cases import Judging, Part
from aiscorr.analysis.conclusions import changed_failures
from aiscorr.analysis.facts import patterns_key
from aiscorr.analysis.spec import views_key
from aiscorr.errors import DatabaseError
from aiscorr.ingest import engine
from aiscorr.ingest.judging import judging
from aiscorr.ingest.merge import Merged, merge
from aiscorr.ingest.pipeline import Progress, analyse, no_progress, scan_all, store_rows, summary_of
from aiscorr.ingest.plan import Plan, what_to_read
from aiscorr.ingest.scanning import ScanResult
from aiscorr.lake.address import Lake
from aiscorr.lake.case import judged_case
from aiscorr.lake.clusters import clusters_of_new, folder_of
from aiscorr.lake.ledger import Ledger, ledger
from aiscorr.lake.pull import (
    COUNTER_MARGIN_NS,
    MARGIN_NS,
    ZONE_NS,
    Results,
    Scope,
    Span,
    cases_near,
    pull,
    results,
    scope_of_cases,
)
from aiscorr.lake.push import Change, note, push, put_cases, turn
from aiscorr.lake.shape import CASES, LAKE
from aiscorr.lake.site import attached, make, reading_lake, sweep, sweep_after_the_dead
from aiscorr.model import FileSummary, IngestOptions, IngestSummary, KnownFile
from aiscorr.parse.file_reader import PARSER_VERSION, options_key
from aiscorr.sources.discover import discover
from aiscorr.store.database import DEFAULT_MEMORY_LIMIT, scratch
from aiscorr.store.load import known_files
from aiscorr.store.memory import give_memory, limit_memory, slice_limit
from aiscorr.store.work_folder import work_folder
from aiscorr.store.working_copy import WorkingCopy

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from aiscorr.analysis.judge import Result

#: So long an ingest waits for another that writes.
_WAIT_S = 600.0


def ingest_into_lake(
    paths: Iterable[str],
    lake: Lake,
    options: IngestOptions,
    *,
    now: datetime,
    memory_limit: str = DEFAULT_MEMORY_LIMIT,
    threads: int | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    progress: Progress = no_progress,
) -> IngestSummary:
    """As `pipeline.ingest`, into a lake, which is made where it is missing."""
    started = time.monotonic()
    with ledger(lake) as book:
        make(book)
        sweep_after_the_dead(book)
        sources = list(discover(paths))
        names = [source.path for source in sources]
        known = book.known(names)
        plan = what_to_read(sources, known, book.archives(names), options, ())
        progress("read", len(plan.to_read), sum(ref.stored_byte_count for ref, _ in plan.to_read), 0)
        with _work_folder(lake) as folder, engine.workers(options.engine, options.job_count) as workers:
            found = scan_all(plan, folder, options, now, should_stop, progress, workers)
            if _is_current(book) and not any(result.summaries or result.archives for result in found):
                return summary_of(0, plan, merge(found, known, known), time.monotonic() - started)
            run = _Run(book, plan, found, options, now, memory_limit, threads or options.job_count, progress, workers)
            judge_all = judging(options.job_count, memory_limit, workers)
            with book.committing(_WAIT_S):
                summary = run.commit(judge_all, known)
        return replace(summary, seconds=time.monotonic() - started)


@contextlib.contextmanager
def _work_folder(lake: Lake) -> Iterator[str]:
    """Where workers leave rows: where the settings say, else in this machine's folder for what is temporary."""
    if lake.work:
        try:
            os.makedirs(lake.work, exist_ok=True)
        except OSError as error:
            raise DatabaseError(
                f"the folder for rows on their way cannot be made: {error.strerror}", where=lake.work,
                try_this="AISCORR_LAKE_WORK, or work under [lake] in aiscorr.toml",
            ) from None  # fmt: skip
        with work_folder(os.path.join(lake.work, "lake")) as folder:
            yield folder
        return
    with tempfile.TemporaryDirectory(prefix="aiscorr-lake-") as folder:
        yield folder


def _is_current(book: Ledger) -> bool:
    """Whether no writer died, and the results in the lake are of the views of this program."""
    with reading_lake(book) as connection:
        return note(connection, "views") == views_key() and not book.unconfirmed()


class _Run:
    """One commit to a lake."""

    def __init__(
        self, book: Ledger, plan: Plan, read: list[ScanResult], options: IngestOptions, now: datetime,
        memory_limit: str, threads: int, progress: Progress, workers: engine.Workers | None,
    ) -> None:  # fmt: skip
        self._book, self._plan, self._read, self._options = book, plan, read, options
        self._now, self._memory_limit, self._threads, self._progress = now, memory_limit, threads, progress
        self._workers, self._snapshot = workers, 0
        self._is_whole = False
        self._jobs: list[str] = []
        self._stale: list[str] = []
        self._results: Results | None = None

    def commit(self, judge_all: Judging, known_before: dict[str, KnownFile]) -> IngestSummary:
        """Judges what was read in a slice, and writes both; no other process writes meanwhile."""
        book, read = self._book, [summary for result in self._read for summary in result.summaries]
        self._progress("load", len(read), 0, sum(summary.event_count for summary in read))
        with (
            tempfile.TemporaryDirectory(prefix="aiscorr-slice-") as folder,
            scratch(
                os.path.join(folder, "slice.duckdb"),
                memory_limit=slice_limit(self._memory_limit),
                threads=self._threads,
            ) as copy,
        ):
            with attached(copy.connection, book):
                sweep(copy.connection, book)
                self._snapshot = book.snapshot()
                seen = turn(copy.connection)
                merged = self._merged(read, known_before)
                self._pull(copy.connection, merged)
            batch = book.claim(_contents(merged.summaries), [s.file_id for s in merged.summaries])
            judged = self._judge(copy, merged, batch, judge_all)
            self._progress("publish", 0, 0, 0)
            connection = copy.connection
            failures = changed_failures(connection, batch)
            forgotten = self._forgotten(connection, merged)
            change = Change(batch, merged.summaries, merged.touched, merged.replaced, judged, forgotten, seen)
            give_memory(connection, self._memory_limit)  # what is sent to S3 is in memory, 76 MiB for each file
            with attached(connection, book):
                connection.execute("begin")
                push(connection, change, patterns_key(self._options.pattern_folders))
                for job, rows in self._judged_again({*judged, *forgotten}):
                    put_cases(connection, [job], rows)
                connection.execute("commit")
                latest = _latest(connection) if failures else None
            self._confirm(connection, batch, merged)
            summary = summary_of(batch, self._plan, merged, 0.0)
            return replace(summary, failures=failures, latest_failure_id=latest)

    def _judge(self, copy: WorkingCopy, merged: Merged, batch: int, judge_all: Judging) -> list[str]:
        """Puts the new rows into the slice and judges its cases; gives the jobs that were judged."""
        limit_memory(copy.connection, self._memory_limit)
        store_rows(copy.connection, merged, self._plan, self._now, self._options, batch)
        judged: set[str] = set()
        part = Part(self._may_be_judged(merged), self._fill)
        analyse(copy, batch, self._now, self._options.job_count, _noting(judge_all, judged), self._progress, part)
        return sorted(judged)

    def _merged(self, read: list[FileSummary], known_before: dict[str, KnownFile]) -> Merged:
        book = self._book
        known = book.known_contents({s.content_hash for s in read if s.byte_count})
        known.update(book.known({s.ref.path.partition("!")[0] for s in read}))
        return merge(self._read, known, known_before, book.next_file_id())

    def _pull(self, connection: duckdb.DuckDBPyConnection, merged: Merged) -> None:
        """Pulls what new rows may change, and what was concluded of it."""
        is_current = note(connection, "views") == views_key()
        self._is_whole = self._book.row_count(self._snapshot) <= self._book.lake.most_rows
        if self._is_whole:
            pull(connection, Scope(is_whole=True))
            self._results = results(connection, None) if is_current else None
            return
        if not is_current:
            self._stale = [row[0] for row in connection.execute(f"select job_id from {LAKE}.{CASES}").fetchall()]
        read = [s for s in merged.summaries if s.state == "ingested"]
        spans = _spans(connection, read)
        ids = sorted({s.file_id for s in (*read, *merged.touched)})
        self._jobs = cases_near(connection, spans, ids)
        cases = scope_of_cases(connection, self._jobs)
        workers = [s for s in read if s.kind != "ais_log"]
        times = [one for span in spans for one in (span.low_ns, span.high_ns)] or [0]
        new = clusters_of_new(connection, read, merged.parts, merged.final_ids, (min(times), max(times)))
        scope = Scope(
            spans=(*spans, *cases.spans), file_ids=tuple(sorted({*ids, *cases.file_ids, *merged.replaced})),
            folders=tuple(sorted({folder_of(s) for s in workers})),
            job_ids=tuple(sorted({s.job_id for s in workers if s.job_id})),
            run_names=tuple(sorted({s.run_name for s in workers if s.run_name})),
            clusters=None if new is None else tuple(sorted({*new, *(cases.clusters or ())})),
        )  # fmt: skip
        pull(connection, scope)
        self._results = results(connection, self._jobs) if is_current else None

    def _may_be_judged(self, merged: Merged) -> Callable[[duckdb.DuckDBPyConnection], Collection[str]]:
        ids = [s.file_id for s in merged.summaries]

        def jobs(connection: duckdb.DuckDBPyConnection) -> Collection[str]:
            if self._is_whole:
                return {row[0] for row in connection.execute("select job_id from case_scope").fetchall()}
            sql = "select distinct job_id from worker_file where list_contains(?, file_id)"
            return {*self._jobs, *(row[0] for row in connection.execute(sql, [ids]).fetchall())}

        return jobs

    def _fill(self, connection: duckdb.DuckDBPyConnection) -> None:
        limit_memory(connection, self._memory_limit)
        if self._results is not None:
            self._results.fill(connection)

    def _forgotten(self, connection: duckdb.DuckDBPyConnection, merged: Merged) -> list[str]:
        """Jobs that were cases, and by what is known now are none."""
        cases = {row[0] for row in connection.execute("select job_id from case_scope").fetchall()}
        jobs = set(self._may_be_judged(merged)(connection))
        if self._is_whole and self._results is not None:
            jobs.update(self._results.rows["case_input"]["job_id"].to_pylist())
        return sorted(jobs - cases)

    def _judged_again(self, done: set[str]) -> Iterator[tuple[str, dict[str, pa.Table]]]:
        """The other cases of a lake whose results are of other views, each judged from its own slice."""
        jobs = [job for job in self._stale if job not in done]
        given = [(self._book.lake, self._snapshot, job, self._memory_limit) for job in jobs]
        if self._workers is not None and given:
            for number, rows in engine.run(self._workers(), judged_case, given, lambda: False):
                yield jobs[number], judged_case(*given[number]) if rows is None else rows
            return
        for job, one in zip(jobs, given, strict=True):
            yield job, judged_case(*one, threads=self._threads)

    def _confirm(self, connection: duckdb.DuckDBPyConnection, batch: int, merged: Merged) -> None:
        ids = {s.file_id for s in (*merged.summaries, *merged.touched)}
        files = [one for one in known_files(connection).values() if one.file_id in ids]
        key = options_key(self._options)
        archives = [(a.path, a.stored_byte_count, a.modified_ns, key, PARSER_VERSION) for a in merged.archives]
        self._book.confirm(batch, files, merged.replaced, archives)


def _contents(summaries: Iterable[FileSummary]) -> list[tuple[str, int]]:
    """The contents that are stored with a run: those of files that are no copies, and not empty."""
    found = {s.content_hash: s.file_id for s in summaries if s.state == "ingested" and s.byte_count}
    return sorted(found.items())


def _spans(connection: duckdb.DuckDBPyConnection, read: Collection[FileSummary]) -> list[Span]:
    """The times of new rows, those that lie close as one; of a file that has grown from where it ended."""
    grown = [s.file_id for s in read if s.is_tail_only]
    ends = dict(
        connection.execute(
            f"select file_id, last_ns from {LAKE}.ingested_file where list_contains(?, file_id)", [grown]
        ).fetchall()
    )
    times = []
    for summary in read:
        low, high = summary.first_ns or summary.ref.modified_ns, summary.last_ns or summary.ref.modified_ns
        low = (ends.get(summary.file_id) or low) if summary.is_tail_only else low
        doubt = 0 if summary.is_utc else ZONE_NS
        times.append((low - doubt, high + doubt))
    joined: list[list[int]] = []
    for low, high in sorted(times):
        if joined and low <= joined[-1][1] + 2 * MARGIN_NS:
            joined[-1][1] = max(joined[-1][1], high)
        else:
            joined.append([low, high])
    return [
        Span(low - MARGIN_NS, high + MARGIN_NS, low - COUNTER_MARGIN_NS, high + COUNTER_MARGIN_NS)
        for low, high in joined
    ]


def _noting(judge_all: Judging, judged: set[str]) -> Judging:
    """Judges, and notes whom."""

    def noted(cases: Iterable[tuple[str, dict[str, pa.Table]]], count: int) -> Iterator[tuple[str, dict[str, Result]]]:
        for job, found in judge_all(cases, count):
            judged.add(job)
            yield job, found

    return noted


def _latest(connection: duckdb.DuckDBPyConnection) -> str:
    """The failure that `report` shows without a name, as analysis.conclusions.newest_first has it."""
    sql = f"select failure_id from {LAKE}.stored_failure order by ended_at desc nulls last, failure_id desc limit 1"
    return str(connection.execute(sql).fetchall()[0][0])
