"""Ingest from start to end: what to read, reading it, loading, analysing, publishing. Knows all stages."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from aiscorr import __version__
from aiscorr.analysis.cases import Judging, Part
from aiscorr.analysis.conclusions import changed_failures, keep_conclusions, name_failures, newest_first
from aiscorr.analysis.facts import pattern_rows, patterns_key
from aiscorr.analysis.refresh import are_views_current, refresh_alone
from aiscorr.ingest import engine
from aiscorr.ingest.judging import judging
from aiscorr.ingest.merge import Merged, merge
from aiscorr.ingest.plan import KnownArchives, Plan, what_to_read
from aiscorr.ingest.scanning import ScanResult, provisional_ids
from aiscorr.ingest.spreading import scan
from aiscorr.model import IngestOptions, IngestSummary, KnownFile, Unreadable
from aiscorr.parse.file_reader import PARSER_VERSION, options_key
from aiscorr.sources.discover import discover
from aiscorr.store import load
from aiscorr.store.database import DEFAULT_MEMORY_LIMIT, own_files, reading, writing
from aiscorr.store.memory import limit_memory
from aiscorr.store.work_folder import work_folder
from aiscorr.store.working_copy import WorkingCopy

if TYPE_CHECKING:
    import duckdb


#: The phase, files, bytes and rows; in the phases `views` and `cases` how many are done, and of how many.
Progress = Callable[[str, int, int, int], None]


def no_progress(phase: str, file_count: int, byte_count: int, row_count: int) -> None:
    """Shows nothing."""


def ingest(
    paths: Sequence[str],
    db_path: str,
    options: IngestOptions,
    *,
    now: datetime,
    memory_limit: str = DEFAULT_MEMORY_LIMIT,
    threads: int | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    progress: Progress = no_progress,
) -> IngestSummary:
    """Reads what is new below the paths and publishes a database that holds it, analysed.

    `threads`: of DuckDB; without a number as many as processes that read.
    Nothing is published where nothing is new and the views are those of this program. Raises DatabaseBusyError and
    DatabaseError; a source that cannot be read is listed in the summary and the others go in.
    """
    started = time.monotonic()
    threads = threads or options.job_count
    known, archives, is_current = _known(db_path, memory_limit, threads)
    plan = what_to_read(discover(paths), known, archives, options, own_files(os.path.realpath(db_path)))
    if not plan.seen_count and not os.path.exists(db_path):
        plan.unreadable = plan.unreadable or [Unreadable(path, "no file is in it") for path in paths]
        return summary_of(0, plan, merge([], known, known), time.monotonic() - started)  # no database of nothing
    progress("read", len(plan.to_read), sum(ref.stored_byte_count for ref, _ in plan.to_read), 0)
    with work_folder(db_path) as folder, engine.workers(options.engine, options.job_count) as workers:
        results = scan_all(plan, folder, options, now, should_stop, progress, workers)
        if is_current and not any(result.summaries or result.archives for result in results):
            return summary_of(0, plan, merge(results, known, known), time.monotonic() - started)
        read = [summary for result in results for summary in result.summaries]
        progress("load", len(read), 0, sum(summary.event_count for summary in read))
        with writing(db_path, memory_limit=memory_limit, threads=threads) as copy:
            # another ingest may have published since the plan was made
            merged = merge(results, load.known_files(copy.connection), known)
            run_id = _store(copy, merged, plan, now, options, memory_limit, progress, workers)
            failures = changed_failures(copy.connection, run_id)
            latest = newest_first(copy.connection)[0][0] if failures else None
            progress("publish", 0, 0, 0)
        summary = summary_of(run_id, plan, merged, time.monotonic() - started)
        return replace(summary, failures=failures, latest_failure_id=latest)


def _known(db_path: str, memory_limit: str, threads: int | None) -> tuple[dict[str, KnownFile], KnownArchives, bool]:
    """The files and the archives that the database holds, and whether its views are those of this program."""
    if not os.path.exists(db_path):
        return {}, {}, False
    with reading(db_path, memory_limit=memory_limit, threads=threads) as connection:
        rows = connection.execute(
            "select path, stored_byte_count, modified_ns, options_key, parser_version from archive_seen"
        ).fetchall()
        return load.known_files(connection), {row[0]: row[1:] for row in rows}, are_views_current(connection)


def scan_all(
    plan: Plan, folder: str, options: IngestOptions, now: datetime, should_stop: Callable[[], bool], progress: Progress,
    workers: engine.Workers | None,
) -> list[ScanResult]:  # fmt: skip
    """Reads what is to be read; the results of all tasks."""
    done = [0, 0, 0]

    def report(*more: int) -> None:
        done[:] = [old + new for old, new in zip(done, more, strict=True)]
        progress("scan", *done)

    now_ns = int(now.timestamp() * 1_000_000_000)
    items = provisional_ids(plan.to_read)
    return list(scan(items, folder, options, now_ns=now_ns, should_stop=should_stop, report=report, workers=workers))


def store_rows(
    connection: duckdb.DuckDBPyConnection, merged: Merged, plan: Plan, now: datetime, options: IngestOptions,
    run_id: int | None = None,
) -> int:  # fmt: skip
    """Puts what was read into the tables, in a transaction of its own; gives the number of the run."""
    if run_id is None:
        run_id = int(connection.execute("select coalesce(max(run_id), 0) + 1 from ingest_log").fetchall()[0][0])
    connection.execute("begin")
    load.delete_rows(connection, merged.replaced)
    load.forget_copies(connection, merged.replaced)
    for summary in merged.summaries:
        if summary.is_tail_only:
            load.delete_rows_read_again(connection, summary)
    load.load_parts(connection, merged.parts, merged.final_ids)
    load.upsert_files(connection, merged.summaries, run_id)
    load.touch_files(connection, merged.touched)
    load.note_archives(connection, merged.archives, options_key(options), PARSER_VERSION)
    key = patterns_key(options.pattern_folders)
    if load.patterns_key(connection) != key:
        load.replace_patterns(connection, pattern_rows(options.pattern_folders), key)
    problems = [*plan.unreadable, *merged.unreadable]
    load.log_run(
        connection, run_id, now, _outcome(plan, merged), plan.seen_count, merged.summaries, problems, __version__
    )
    connection.execute("commit")
    return run_id


def analyse(
    copy: WorkingCopy, run_id: int, now: datetime, threads: int, judge_all: Judging, progress: Progress,
    part: Part | None = None,
) -> None:  # fmt: skip
    """Computes the views, judges, and keeps what is concluded; `part`: see analysis.cases."""

    def conclude(connection: duckdb.DuckDBPyConnection) -> None:
        name_failures(connection)
        keep_conclusions(connection, run_id, now)

    refresh_alone(copy, conclude, judge_all, threads, lambda step, done, of: progress(step, done, of, 0), part)


def _store(
    copy: WorkingCopy, merged: Merged, plan: Plan, now: datetime, options: IngestOptions, memory_limit: str,
    progress: Progress, workers: engine.Workers | None,
) -> int:  # fmt: skip
    limit_memory(copy.connection, memory_limit)
    run_id = store_rows(copy.connection, merged, plan, now, options)
    limit_memory(copy.connection, memory_limit)
    analyse(copy, run_id, now, options.job_count, judging(options.job_count, memory_limit, workers), progress)
    return run_id


def _outcome(plan: Plan, merged: Merged) -> str:
    if merged.is_stopped:
        return "stopped"
    is_partial = any(problem.is_error for problem in (*plan.unreadable, *merged.unreadable)) or any(
        summary.is_cut_short or summary.is_unusable for summary in (*merged.summaries, *merged.touched)
    )
    return "partial" if is_partial else "ok"


def summary_of(run_id: int, plan: Plan, merged: Merged, seconds: float) -> IngestSummary:
    """What came of a run, failures left out."""
    read = merged.summaries
    kinds: dict[str, int] = {}
    for summary in read:
        kinds[summary.kind] = kinds.get(summary.kind, 0) + 1
    return IngestSummary(
        run_id=run_id,
        outcome=_outcome(plan, merged),
        file_count=plan.seen_count,
        new_file_count=sum(1 for s in read if s.state == "ingested"),
        unchanged_count=plan.unchanged_count + len(merged.touched),
        duplicate_count=sum(1 for s in read if s.state == "duplicate"),
        byte_count=sum(s.byte_count for s in read),
        line_count=sum(s.line_count for s in read),
        event_count=sum(s.event_count for s in read),
        counter_count=sum(s.counter_count for s in read),
        reject_count=sum(s.reject_count for s in read),
        seconds=seconds,
        kinds=kinds,
        unknown=tuple((s.ref.path, s.kind_reason) for s in read if s.state == "unknown"),
        unreadable=(*plan.unreadable, *merged.unreadable),
        problems=tuple((s.ref.path, s.problem) for s in (*read, *merged.touched) if s.problem),
    )
