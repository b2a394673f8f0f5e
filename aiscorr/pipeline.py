"""Ingest from start to end: what to read, reading it, loading, analysing, publishing. Knows all stages."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from aiscorr import __version__
from aiscorr.blank import blank_database
from aiscorr.findings import changed_failures, keep_conclusions, name_failures
from aiscorr.known_patterns import pattern_rows, patterns_key
from aiscorr.model import FileSummary, IngestOptions, IngestSummary, KnownFile, SourceRef, Unreadable
from aiscorr.parse.file_reader import PARSER_VERSION, options_key
from aiscorr.refresh import are_views_current, refresh_alone, stale_views
from aiscorr.scanning import ScanResult, provisional_ids, scan
from aiscorr.sources.discover import discover
from aiscorr.store import load
from aiscorr.store.database import own_files, reading, writing
from aiscorr.store.work_folder import work_folder

if TYPE_CHECKING:
    import duckdb

Progress = Callable[[str, int, int, int], None]


def no_progress(phase: str, file_count: int, byte_count: int, row_count: int) -> None:
    """Shows nothing."""


@dataclass
class _Plan:
    """What a run has to do: files to read, what is unchanged, what cannot be read."""

    to_read: list[tuple[SourceRef, KnownFile | None]] = field(default_factory=list)
    seen_count: int = 0
    unchanged_count: int = 0
    unreadable: list[Unreadable] = field(default_factory=list)


def ingest(
    paths: Iterable[str],
    db_path: str,
    options: IngestOptions,
    *,
    now: datetime,
    memory_limit: str = "1GB",
    threads: int | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    progress: Progress = no_progress,
) -> IngestSummary:
    """Reads what is new below the paths and publishes a database that holds it, analysed.

    Nothing is published where nothing is new and the views are those of this program. Raises DatabaseBusyError and
    DatabaseError; a source that cannot be read is listed in the summary and the others go in.
    """
    started = time.monotonic()
    known, archives, is_current = _known(db_path, memory_limit, threads)
    plan = _plan(paths, known, archives, options, os.path.realpath(db_path))
    progress("read", len(plan.to_read), sum(ref.stored_byte_count for ref, _ in plan.to_read), 0)
    with work_folder(db_path) as folder:
        results = _scan_all(plan, folder, options, now, should_stop, progress)
        if is_current and not any(result.summaries or result.archives for result in results):
            return _summary(0, plan, _merge(results, known, known), time.monotonic() - started)
        read = [summary for result in results for summary in result.summaries]
        progress("load", len(read), 0, sum(summary.event_count for summary in read))
        with writing(db_path, memory_limit=memory_limit, threads=threads, blank=blank_database) as connection:
            # another ingest may have published since the plan was made
            merged = _merge(results, load.known_files(connection), known)
            run_id = _store(connection, merged, plan, now, options)
            failures = changed_failures(connection, run_id)
        summary = _summary(run_id, plan, merged, time.monotonic() - started)
        return replace(summary, failures=failures)


def _known(
    db_path: str, memory_limit: str, threads: int | None
) -> tuple[dict[str, KnownFile], dict[str, tuple[int, int, str, int]], bool]:
    """The files and the archives that the database holds, and whether its views are those of this program."""
    if not os.path.exists(db_path):
        return {}, {}, False
    with reading(db_path, memory_limit=memory_limit, threads=threads) as connection:
        rows = connection.execute(
            "select path, stored_byte_count, modified_ns, options_key, parser_version from archive_seen"
        ).fetchall()
        return load.known_files(connection), {row[0]: row[1:] for row in rows}, are_views_current(connection)


def _plan(
    paths: Iterable[str],
    known: dict[str, KnownFile],
    archives: dict[str, tuple[int, int, str, int]],
    options: IngestOptions,
    db_path: str,
) -> _Plan:
    plan = _Plan()
    key = options_key(options)
    own = own_files(db_path)
    unchanged: list[SourceRef] = []
    changed: set[int] = set()
    for found in discover(paths):
        if isinstance(found, Unreadable):
            plan.unreadable.append(found)
            continue
        if found.file_path in own:
            continue
        plan.seen_count += 1
        if archives.get(found.path) == (found.stored_byte_count, found.modified_ns, key, PARSER_VERSION):
            unchanged.append(found)
            continue
        old = known.get(found.path)
        if old is not None and _is_unchanged(old, found, key):
            unchanged.append(found)
            continue
        grown = old if old is not None and _may_have_grown(old, found, key) else None
        plan.to_read.append((found, grown))
        if old is not None and grown is None:
            changed.add(old.file_id)
    copies = {old.path.partition("!")[0] for old in known.values() if old.duplicate_of in changed}
    plan.to_read += [(found, None) for found in unchanged if found.path in copies]
    plan.unchanged_count = sum(found.path not in copies for found in unchanged)
    return plan


def _is_unchanged(old: KnownFile, found: SourceRef, key: str) -> bool:
    same_bytes = old.stored_byte_count == found.stored_byte_count and old.modified_ns == found.modified_ns
    return same_bytes and old.parser_version == PARSER_VERSION and old.options_key == key


def _may_have_grown(old: KnownFile, found: SourceRef, key: str) -> bool:
    is_same_reader = old.parser_version == PARSER_VERSION and old.options_key == key
    return (
        is_same_reader
        and old.state == "ingested"
        and found.stored_byte_count > old.byte_count
        and old.resume_offset > 0
    )


def _scan_all(
    plan: _Plan, folder: str, options: IngestOptions, now: datetime, should_stop: Callable[[], bool], progress: Progress
) -> list[ScanResult]:
    done = [0, 0, 0]

    def report(*more: int) -> None:
        done[:] = [old + new for old, new in zip(done, more, strict=True)]
        progress("scan", *done)

    now_ns = int(now.timestamp() * 1_000_000_000)
    items = provisional_ids(plan.to_read)
    return list(scan(items, folder, options, now_ns=now_ns, should_stop=should_stop, report=report))


@dataclass
class _Merged:
    """All results of a run with final file ids; duplicates are marked and give no rows."""

    summaries: list[FileSummary] = field(default_factory=list)
    parts: list[tuple[str, str]] = field(default_factory=list)
    final_ids: dict[int, int] = field(default_factory=dict)
    replaced: list[int] = field(default_factory=list)
    archives: list[SourceRef] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    touched: list[FileSummary] = field(default_factory=list)
    is_stopped: bool = False


def _merge(results: list[ScanResult], known: dict[str, KnownFile], known_before: dict[str, KnownFile]) -> _Merged:
    """Final ids in the order of paths, so that the same files give the same numbers whatever process read them.

    `known`: what the database holds now; `known_before`: what it held when reading began.
    """
    merged = _Merged()
    next_id = max((old.file_id for old in known.values()), default=0) + 1
    summaries = [summary for result in results for summary in result.summaries]
    gone = {old.file_id for s in summaries if (old := known.get(s.ref.path)) and not _keeps_rows(old, s)}
    by_hash = {old.content_hash: old for old in known.values() if _is_original(old) and old.file_id not in gone}
    for summary in sorted(summaries, key=lambda s: (bool(s.ref.members), s.ref.path)):
        old = known.get(summary.ref.path)
        if summary.is_tail_only and old != known_before.get(summary.ref.path):
            continue  # its beginning was published anew by another ingest, whose end is not where this tail begins
        provisional = summary.file_id
        summary.file_id = old.file_id if old is not None else next_id
        next_id += old is None
        if old is not None and _is_same_content(old, summary):
            merged.touched.append(summary)
            continue
        if old is not None and not summary.is_tail_only:
            merged.replaced.append(old.file_id)
        twin = by_hash.get(summary.content_hash)
        if summary.state == "ingested" and summary.byte_count and twin is not None and twin.path != summary.ref.path:
            summary.state, summary.duplicate_of = "duplicate", twin.file_id
            if summary.is_tail_only:
                merged.replaced.append(summary.file_id)
        elif summary.state == "ingested":
            by_hash.setdefault(summary.content_hash, _as_known(summary))
            merged.final_ids[provisional] = summary.file_id
        merged.summaries.append(summary)
    for result in results:
        merged.parts += result.parts
        merged.archives += result.archives
        merged.unreadable += result.unreadable
        merged.is_stopped = merged.is_stopped or result.is_stopped
    return merged


def _is_original(old: KnownFile) -> bool:
    """Other files may be copies of this one: its rows are in the database."""
    return old.state == "ingested" and old.byte_count > 0


def _keeps_rows(old: KnownFile, summary: FileSummary) -> bool:
    """What was read of the file last time is still what it holds, or holds at its beginning."""
    return summary.is_tail_only or _is_same_content(old, summary)


def _is_same_content(old: KnownFile, summary: FileSummary) -> bool:
    """The bytes are those of last time and would be read the same way: only the file's time changed."""
    is_same_reader = old.parser_version == summary.parser_version and old.options_key == summary.options_key
    return is_same_reader and old.content_hash == summary.content_hash and old.state == summary.state


def _as_known(summary: FileSummary) -> KnownFile:
    return KnownFile(
        summary.file_id,
        summary.ref.path,
        summary.content_hash,
        summary.head_hash,
        summary.byte_count,
        summary.ref.stored_byte_count,
        summary.ref.modified_ns,
        summary.kind,
        summary.state,
        summary.resume_offset,
        summary.resume_state,
        summary.parser_version,
        summary.options_key,
    )


def _store(
    connection: duckdb.DuckDBPyConnection, merged: _Merged, plan: _Plan, now: datetime, options: IngestOptions
) -> int:
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
    stale = stale_views(connection, [*merged.replaced, *(summary.file_id for summary in merged.summaries)])
    load.commit_for_now(connection)

    def conclude(connection: duckdb.DuckDBPyConnection) -> None:
        name_failures(connection)
        keep_conclusions(connection, run_id, now)

    refresh_alone(connection, conclude, stale)
    return run_id


def _outcome(plan: _Plan, merged: _Merged) -> str:
    if merged.is_stopped:
        return "stopped"
    is_partial = any(problem.is_error for problem in (*plan.unreadable, *merged.unreadable)) or any(
        summary.is_cut_short for summary in (*merged.summaries, *merged.touched)
    )
    return "partial" if is_partial else "ok"


def _summary(run_id: int, plan: _Plan, merged: _Merged, seconds: float) -> IngestSummary:
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
