"""Scans sources in this process or in several: files in, Parquet parts and summaries out.

Knows sources and parse, nothing of the store. A task is a list of files that one process reads one
after the other into its own parts.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from multiprocessing.synchronize import Event

from aiscorr.checksum import short_hash
from aiscorr.model import FileSummary, IngestOptions, KnownFile, SourceRef, Unreadable
from aiscorr.parse.batches import PartSink
from aiscorr.parse.file_reader import FileReader, ReadStopped
from aiscorr.sources.read import TruncatedError, expand, open_plain

TASK_BYTES = 64 * 1024 * 1024
TASK_FILES = 256
#: Below this many bytes a process pool costs more than it gains.
POOL_BYTES = 48 * 1024 * 1024
_ID_STRIDE = 100_000
_PRELOAD_BYTES = 128 * 1024


@dataclass(frozen=True)
class ScanItem:
    """A file to read: its provisional id, and what is known of it where it may only have grown."""

    ref: SourceRef
    provisional_id: int
    grown: KnownFile | None = None


@dataclass
class ScanResult:
    """What a task gave: summaries, Parquet parts by table, what could not be read."""

    summaries: list[FileSummary] = field(default_factory=list)
    parts: list[tuple[str, str]] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    archives: list[SourceRef] = field(default_factory=list)
    is_stopped: bool = False


def provisional_ids(items: list[tuple[SourceRef, KnownFile | None]]) -> list[ScanItem]:
    """Numbers files far enough apart that members of an archive find room between them."""
    return [ScanItem(ref, (number + 1) * _ID_STRIDE, grown) for number, (ref, grown) in enumerate(items)]


def tasks_of(items: list[ScanItem]) -> list[list[ScanItem]]:
    """Files grouped into tasks of about 64 MiB, largest files first, so that processes end together."""
    tasks: list[list[ScanItem]] = []
    size = TASK_BYTES
    for item in sorted(items, key=lambda item: -item.ref.stored_byte_count):
        if size >= TASK_BYTES or len(tasks[-1]) >= TASK_FILES:
            tasks.append([])
            size = 0
        tasks[-1].append(item)
        size += item.ref.stored_byte_count
    return tasks


def scan_task(
    items: list[ScanItem], folder: str, label: str, options: IngestOptions, now_ns: int, should_stop: Callable[[], bool]
) -> ScanResult:
    """Reads the files of a task one after the other."""
    sink = PartSink(folder, label)
    reader = FileReader(sink, options, now_ns=now_ns)
    reader.should_stop = should_stop
    result = ScanResult()
    for item in items:
        if should_stop():
            result.is_stopped = True
            break
        try:
            _scan_item(item, reader, result)
        except ReadStopped:
            result.is_stopped = True
            break
    reader.flush()
    result.parts = sink.paths
    return result


def _scan_item(item: ScanItem, reader: FileReader, result: ScanResult) -> None:
    if item.grown is not None:
        summary = _read_on(item, reader)
        if summary is not None:
            result.summaries.append(summary)
            return
    number = item.provisional_id
    is_archive = False
    for found in expand(item.ref):
        if isinstance(found, Unreadable):
            result.unreadable.append(found)
            continue
        ref, stream = found
        is_archive = is_archive or bool(ref.members)
        try:
            result.summaries.append(reader.read(ref, stream, number))
        except (OSError, TruncatedError) as error:
            result.unreadable.append(Unreadable(ref.path, f"cannot be read: {error}"))
        number += 1
    if is_archive and not any(
        problem.path.startswith(item.ref.path) and problem.is_error for problem in result.unreadable
    ):
        result.archives.append(item.ref)


def _read_on(item: ScanItem, reader: FileReader) -> FileSummary | None:
    """Reads the tail of a grown file, or None where its beginning is no longer what it was."""
    known = item.grown
    if known is None:
        return None
    try:
        with open_plain(item.ref) as handle:
            head = handle.read(min(4096, known.resume_offset))
            start = max(0, known.resume_offset - _PRELOAD_BYTES)
            handle.seek(start)
            before = handle.read(known.resume_offset - start)
            if not _is_same_beginning(known, head, before):
                return None
            again = replace(known, file_id=item.provisional_id)
            return reader.read_on(item.ref, handle, again, before)  # type: ignore[arg-type]
    except OSError:
        return None


def _is_same_beginning(known: KnownFile, head: bytes, before: bytes) -> bool:
    if known.resume_offset < 4096 or known.resume_state is None:
        return False
    kept = json.loads(known.resume_state)
    return bool(short_hash(head) == known.head_hash and short_hash(before[-4096:]) == kept["sum"]["tail_hash"])


_stop_event: Event | None = None


def _start_worker(stop: Event) -> None:
    global _stop_event
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _stop_event = stop


def _pool_task(items: list[ScanItem], folder: str, label: str, options: IngestOptions, now_ns: int) -> ScanResult:
    stop = _stop_event
    return scan_task(items, folder, label, options, now_ns, stop.is_set if stop is not None else lambda: False)


def scan(
    items: list[ScanItem],
    folder: str,
    options: IngestOptions,
    *,
    now_ns: int,
    should_stop: Callable[[], bool] = lambda: False,
) -> Iterator[ScanResult]:
    """Results of all tasks as they end; with several jobs and enough bytes, in several processes."""
    tasks = tasks_of(items)
    byte_count = sum(item.ref.stored_byte_count for item in items)
    if options.job_count <= 1 or len(tasks) <= 1 or byte_count < POOL_BYTES:
        for number, task in enumerate(tasks):
            yield scan_task(task, folder, f"{os.getpid()}-{number}", options, now_ns, should_stop)
            if should_stop() and number + 1 < len(tasks):
                yield ScanResult(is_stopped=True)
                return
        return
    yield from _scan_in_pool(tasks, folder, options, now_ns, should_stop)


def _scan_in_pool(
    tasks: list[list[ScanItem]], folder: str, options: IngestOptions, now_ns: int, should_stop: Callable[[], bool]
) -> Iterator[ScanResult]:
    context = get_context("spawn")
    stop = context.Event()
    with ProcessPoolExecutor(
        max_workers=min(options.job_count, len(tasks)), mp_context=context, initializer=_start_worker, initargs=(stop,)
    ) as pool:
        pending: set[Future[ScanResult]] = {
            pool.submit(_pool_task, task, folder, f"{os.getpid()}-{number}", options, now_ns)
            for number, task in enumerate(tasks)
        }
        while pending:
            done, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
            if should_stop() and not stop.is_set():
                stop.set()
                cancelled = {future for future in pending if future.cancel()}
                pending -= cancelled
                if cancelled:
                    yield ScanResult(is_stopped=True)
