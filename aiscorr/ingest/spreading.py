"""Spreads the files of an ingest over tasks, and tasks over this process, several, or the workers of an engine.

A task is a list of files that one process reads one after the other into its own parts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from aiscorr.ingest.meter import Report
from aiscorr.ingest.scanning import ScanItem, ScanResult, quiet, scan_task
from aiscorr.model import IngestOptions, Unreadable
from aiscorr.parse.path_hints import is_dump_name

if TYPE_CHECKING:
    from aiscorr.ingest.engine import Workers

TASK_BYTES = 64 * 1024 * 1024
TASK_FILES = 256
#: Below this many bytes a process pool costs more than it gains.
POOL_BYTES = 48 * 1024 * 1024
#: A record of a Flight Recorder dump is few bytes and many values: 10 MB/s, logs 80 MB/s.
_DUMP_WORK = 8
#: Ids of members that are read once more because the process that read them died.
_LOST_IDS = 1_000_000_000
_LOST_STEP = 10_000
#: What a task is given: files, folder and label of its parts, options, the moment, ids for members of archives.
Given = tuple[list[ScanItem], str, str, IngestOptions, int, tuple[int, int]]


def tasks_of(items: list[ScanItem]) -> list[list[ScanItem]]:
    """Files grouped into tasks of about 64 MiB, largest files first, so that processes end together."""
    tasks: list[list[ScanItem]] = []
    size = TASK_BYTES
    for item in sorted(items, key=lambda item: -_work(item)):
        if size >= TASK_BYTES or len(tasks[-1]) >= TASK_FILES:
            tasks.append([])
            size = 0
        tasks[-1].append(item)
        size += _work(item)
    return tasks


def _work(item: ScanItem) -> int:
    """Bytes of a log that take as long to read as the file."""
    return item.ref.stored_byte_count * (_DUMP_WORK if is_dump_name(item.ref.path) else 1)


def scan(
    items: list[ScanItem],
    folder: str,
    options: IngestOptions,
    *,
    now_ns: int,
    should_stop: Callable[[], bool] = lambda: False,
    report: Report = quiet,
    workers: Workers | None = None,
) -> Iterator[ScanResult]:
    """Results of all tasks as they end: on the workers of an engine, or with enough bytes in several processes."""
    tasks = tasks_of(items)
    if workers is not None:
        yield from _scan_on_engine(workers, _arguments(tasks, folder, options, now_ns), should_stop, report)
        return
    if options.job_count > 1 and len(tasks) > 1 and sum(map(_work, items)) >= POOL_BYTES:
        yield from _scan_in_pool(tasks, folder, options, now_ns, should_stop, report)
        return
    for number, task in enumerate(tasks):
        label, ids = f"{os.getpid()}-{number}", _more_ids(tasks, number)
        yield scan_task(task, folder, label, options, now_ns, should_stop, report, ids)
        if should_stop() and number + 1 < len(tasks):
            yield ScanResult(is_stopped=True)
            return


def _more_ids(tasks: list[list[ScanItem]], number: int) -> tuple[int, int]:
    """First and step of the ids that a task gives to members of archives: no other task gives them."""
    return sum(len(task) for task in tasks) + 1 + number, len(tasks)


def _arguments(tasks: list[list[ScanItem]], folder: str, options: IngestOptions, now_ns: int) -> list[Given]:
    """What each task is given, in another process or on another machine."""
    return [
        (task, folder, f"{os.getpid()}-{number}", options, now_ns, _more_ids(tasks, number))
        for number, task in enumerate(tasks)
    ]


def _scan_in_pool(
    tasks: list[list[ScanItem]],
    folder: str,
    options: IngestOptions,
    now_ns: int,
    should_stop: Callable[[], bool],
    report: Report,
) -> Iterator[ScanResult]:
    # which takes a while to load, and reading in one process needs none of it
    from aiscorr.ingest import pool

    done: set[int] = set()
    arguments = _arguments(tasks, folder, options, now_ns)
    lost: list[list[ScanItem]] = []
    try:
        for number, result in pool.run(_pool_task, arguments, options.job_count, should_stop, report):
            done.add(number)
            if result is not None:
                yield result
            else:
                lost.append(tasks[number])
    except pool.PoolError:
        yield from scan(
            [item for task in tasks for item in task], folder, replace(options, job_count=1),
            now_ns=now_ns, should_stop=should_stop, report=report,
        )  # fmt: skip
        return
    if len(done) < len(tasks):
        yield ScanResult(is_stopped=True)
    yield from _scan_lost(lost, folder, options, now_ns, should_stop, report)


def _scan_on_engine(
    workers: Workers, arguments: list[Given], should_stop: Callable[[], bool], report: Report
) -> Iterator[ScanResult]:
    """Results of tasks that another engine runs; files whose worker was lost again and again are named."""
    from aiscorr.ingest import engine

    done = 0
    for number, result in engine.run(workers(), _engine_task, arguments, should_stop) if arguments else ():
        done += 1
        refs = [item.ref for item in arguments[number][0]]
        if result is None:
            reason = "cannot be read: the worker that read it was lost (no memory left? see the worker's log)"
            yield ScanResult(unreadable=[Unreadable(ref.path, reason) for ref in refs])
            continue
        rows = sum(summary.event_count for summary in result.summaries)
        report(len(refs), sum(ref.stored_byte_count for ref in refs), rows)
        yield result
    if done < len(arguments):
        yield ScanResult(is_stopped=True)


def _engine_task(
    items: list[ScanItem], folder: str, label: str, options: IngestOptions, now_ns: int, more_ids: tuple[int, int]
) -> ScanResult:
    from aiscorr.ingest import engine

    engine.check_folder(folder)
    return scan_task(items, folder, label, options, now_ns, lambda: False, quiet, more_ids)


def _scan_lost(
    lost: list[list[ScanItem]],
    folder: str,
    options: IngestOptions,
    now_ns: int,
    should_stop: Callable[[], bool],
    report: Report,
) -> Iterator[ScanResult]:
    """Reads again, in a process of their own each, files whose process died; halves them until the culprit is alone."""
    from aiscorr.ingest import pool

    number = 0
    while lost:
        task = lost.pop()
        if should_stop():
            yield ScanResult(is_stopped=True)
            return
        number += 1
        given = (task, folder, f"{os.getpid()}-again-{number}", options, now_ns, (_LOST_IDS + number, _LOST_STEP))
        for _, result in pool.run(_pool_task, [given], 1, should_stop, report):
            if result is not None:
                yield result
            elif len(task) > 1:
                lost += [task[: len(task) // 2], task[len(task) // 2 :]]
            else:
                reason = "the process that read it was killed (no memory left? see `dmesg`; fewer --jobs need less)"
                yield ScanResult(unreadable=[Unreadable(task[0].ref.path, f"cannot be read: {reason}")])


def _pool_task(
    items: list[ScanItem], folder: str, label: str, options: IngestOptions, now_ns: int, more_ids: tuple[int, int]
) -> ScanResult:
    from aiscorr.ingest import pool

    return scan_task(items, folder, label, options, now_ns, pool.is_stop_asked, pool.report, more_ids)
