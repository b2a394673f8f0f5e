"""Scans sources in this process or in several: files in, Arrow parts and summaries out.

Knows sources and parse, nothing of the store. A task is a list of files that one process reads one
after the other into its own parts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, count

from aiscorr.checksum import END_BYTES
from aiscorr.errors import AiscorrError
from aiscorr.ingest.meter import Meter, Report, TaskSink
from aiscorr.model import PROCESSES, FileSummary, IngestOptions, KnownFile, SourceRef, Unreadable
from aiscorr.parse.file_reader import FileReader, ReadStopped
from aiscorr.parse.path_hints import is_dump_name
from aiscorr.parse.resume_place import is_as_read
from aiscorr.schema.arrow import use_plain_memory
from aiscorr.sources.bounded import UpTo
from aiscorr.sources.names import words
from aiscorr.sources.read import Found, GuardedStream, TruncatedError, expand, open_plain

TASK_BYTES = 64 * 1024 * 1024
TASK_FILES = 256
#: Below this many bytes a process pool costs more than it gains.
POOL_BYTES = 48 * 1024 * 1024
#: A record of a Flight Recorder dump is few bytes and many values: 10 MB/s, logs 80 MB/s.
_DUMP_WORK = 8
_PRELOAD_BYTES = 128 * 1024
#: Ids of members that are read once more because the process that read them died.
_LOST_IDS = 1_000_000_000
_LOST_STEP = 10_000


@dataclass(frozen=True)
class ScanItem:
    """A file to read: its provisional id, and what is known of it where it may only have grown."""

    ref: SourceRef
    provisional_id: int
    grown: KnownFile | None = None


@dataclass
class ScanResult:
    """What a task gave: summaries, Arrow parts by table, what could not be read."""

    summaries: list[FileSummary] = field(default_factory=list)
    parts: list[tuple[str, str]] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    archives: list[SourceRef] = field(default_factory=list)
    is_stopped: bool = False


def provisional_ids(items: list[tuple[SourceRef, KnownFile | None]]) -> list[ScanItem]:
    """Numbers files from 1; members of archives get numbers behind all of them."""
    return [ScanItem(ref, number, grown) for number, (ref, grown) in enumerate(items, 1)]


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


def quiet(_file_count: int, _byte_count: int, _row_count: int) -> None:
    """Tells nobody."""


def scan_task(
    items: list[ScanItem],
    folder: str,
    label: str,
    options: IngestOptions,
    now_ns: int,
    should_stop: Callable[[], bool],
    report: Report = quiet,
    more_ids: tuple[int, int] | None = None,
) -> ScanResult:
    """Reads the files of a task one after the other; `more_ids`: first and step of ids for members of archives."""
    use_plain_memory()
    sink = TaskSink(folder, label)
    reader = FileReader(sink, options, now_ns=now_ns)
    reader.should_stop = should_stop
    meter = Meter(sink, report)
    ids = count(*more_ids) if more_ids else count(max((item.provisional_id for item in items), default=0) + 1)
    result = ScanResult()

    def tick(byte_count: int) -> None:
        meter.advance(byte_count)
        if should_stop():
            raise ReadStopped

    for item in items:
        meter.open_file(item.ref.stored_byte_count)
        try:
            tick(0)
            _scan_item(item, reader, result, ids, tick)
        except ReadStopped:
            result.is_stopped = True
            break
        meter.close_file()
    reader.flush()
    meter.tell(is_last=True)
    result.parts = sink.paths
    return result


def _scan_item(
    item: ScanItem, reader: FileReader, result: ScanResult, more_ids: Iterator[int], tick: Callable[[int], None]
) -> None:
    ids = chain([item.provisional_id], more_ids)
    if item.grown is not None:
        summary = _read_on(item, next(ids), reader, result, tick)
        if summary is not None:
            result.summaries.append(summary)
            return
    is_archive = is_damaged = False
    for found in _streams(item.ref, tick):
        if isinstance(found, Unreadable):
            result.unreadable.append(found)
            is_damaged = is_damaged or found.is_error
            continue
        ref, stream = found
        is_archive = is_archive or bool(ref.members)
        try:
            summary = reader.read(ref, stream, next(ids))
        except (ReadStopped, AiscorrError):
            raise
        except Exception as error:
            result.unreadable.append(_fault(ref, error))
            is_damaged = True
            continue
        result.summaries.append(summary)
        is_damaged = is_damaged or summary.is_cut_short
    if is_archive and not is_damaged:
        result.archives.append(item.ref)


def _streams(ref: SourceRef, tick: Callable[[int], None]) -> Iterator[Found]:
    """The streams of a file; a fault nobody thought of ends that file, not the run."""
    try:
        yield from expand(ref, tick)
    except (ReadStopped, AiscorrError):
        raise
    except Exception as error:
        yield _fault(ref, error)


def _fault(ref: SourceRef, error: Exception) -> Unreadable:
    if isinstance(error, OSError | TruncatedError):
        return Unreadable(ref.path, f"cannot be read: {words(error)}")
    if isinstance(error, MemoryError):
        return Unreadable(ref.path, "cannot be read: no memory left (fewer --jobs need less)")
    return Unreadable(
        ref.path, f"cannot be read: {type(error).__name__}: {error} (a fault of aiscorr's; please report it)"
    )


def _read_on(
    item: ScanItem, file_id: int, reader: FileReader, result: ScanResult, tick: Callable[[int], None]
) -> FileSummary | None:
    """Reads the tail of a grown file, or None where its beginning is no longer what it was."""
    known = item.grown
    if known is None:
        return None
    try:
        with open_plain(item.ref, tick=tick) as handle:
            head = handle.read(min(END_BYTES, known.resume_offset))
            start = max(0, known.resume_offset - _PRELOAD_BYTES)
            handle.seek(start)
            before = handle.read(known.resume_offset - start)
            if not is_as_read(known, head, before):
                return None
            again = replace(known, file_id=file_id)
            return reader.read_on(item.ref, GuardedStream(UpTo(handle)), again, before)  # type: ignore[arg-type]
    except (ReadStopped, AiscorrError):
        raise
    except Exception:
        return None  # whatever it was, reading the file from its start will show it


def scan(
    items: list[ScanItem],
    folder: str,
    options: IngestOptions,
    *,
    now_ns: int,
    should_stop: Callable[[], bool] = lambda: False,
    report: Report = quiet,
) -> Iterator[ScanResult]:
    """Results of all tasks as they end; with several jobs and enough bytes, in several processes."""
    tasks = tasks_of(items)
    if options.engine != PROCESSES:
        yield from _scan_on_engine(tasks, folder, options, now_ns, should_stop, report)
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


def _arguments(
    tasks: list[list[ScanItem]], folder: str, options: IngestOptions, now_ns: int
) -> list[tuple[object, ...]]:
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
    tasks: list[list[ScanItem]],
    folder: str,
    options: IngestOptions,
    now_ns: int,
    should_stop: Callable[[], bool],
    report: Report,
) -> Iterator[ScanResult]:
    """Results of tasks that another engine runs; files whose worker was lost again and again are named."""
    from aiscorr.ingest import engine

    arguments = _arguments(tasks, folder, options, now_ns)
    done = 0
    with engine.executor(options.engine, options.job_count) as pool:
        for number, result in engine.run(pool, _engine_task, arguments, should_stop):
            done += 1
            read = tasks[number]
            if result is None:
                reason = "cannot be read: the worker that read it was lost (no memory left? see the worker's log)"
                yield ScanResult(unreadable=[Unreadable(item.ref.path, reason) for item in read])
                continue
            report(
                len(read),
                sum(item.ref.stored_byte_count for item in read),
                sum(s.event_count for s in result.summaries),
            )
            yield result
    if done < len(tasks):
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
