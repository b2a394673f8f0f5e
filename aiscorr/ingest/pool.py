"""Calls a function in several processes: stopped together, counted together, none outliving the process that began.

A process that dies (the kernel takes the largest when memory ends) takes its calls with it, not the run: they are
handed back without a result.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection, get_context, parent_process
from multiprocessing.synchronize import Event
from threading import Thread
from typing import Any, TypeVar

from aiscorr.ingest.meter import Report

Result = TypeVar("Result")
_POLL_S = 0.2
_worker: tuple[Event, Any] | None = None


class PoolError(Exception):
    """No processes can be started here."""


def is_stop_asked() -> bool:
    """In a worker: whether it is to stop."""
    return _worker is not None and _worker[0].is_set()


def report(file_count: int, byte_count: int, row_count: int) -> None:
    """In a worker: adds to the counts of all workers."""
    if _worker is not None:
        counts = _worker[1]
        with counts.get_lock():
            for place, more in enumerate((file_count, byte_count, row_count)):
                counts[place] += more


def _start_worker(stop: Event, counts: Any) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker = (stop, counts)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Waits for the death of the process that started this one, which nothing else would tell it of, and follows."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        signal.raise_signal(signal.SIGKILL)


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Processes that start in here never see Ctrl-C: a terminal sends it to them too, but it is ours to stop them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Pool(ProcessPoolExecutor):
    """Processes that start with the first calls; calls that have not begun when the block ends are dropped.

    `stop` tells those that run to end; `counts` are of files, bytes and rows.
    """

    def __init__(self, job_count: int) -> None:
        context = get_context("spawn")
        self.stop: Event = context.Event()
        self.counts: Any = context.Array("q", 3)
        super().__init__(job_count, context, _start_worker, (self.stop, self.counts))

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """As every executor; it may start a process."""
        with _interrupts_held():
            return super().submit(fn, *args, **kwargs)

    def __exit__(self, *raised: object) -> None:
        self.stop.set()
        self.shutdown(cancel_futures=True)


def processes(job_count: int) -> Pool:
    """So many processes at most. Raises PoolError."""
    try:
        return Pool(job_count)
    except (OSError, ImportError) as error:
        raise PoolError(str(error)) from None


def run(
    call: Callable[..., Result],
    arguments: Sequence[tuple[object, ...]],
    job_count: int,
    should_stop: Callable[[], bool],
    tell: Report,
) -> Iterator[tuple[int, Result | None]]:
    """Number and result of each call as it ends; None where its process died, nothing where a stop came before it.

    Raises PoolError before the first call where processes cannot be started, and what a call raises.
    """
    with processes(min(job_count, len(arguments))) as pool:
        try:
            pending = {pool.submit(call, *given): number for number, given in enumerate(arguments)}
        except OSError as error:
            raise PoolError(str(error)) from None
        yield from _results(pending, pool, should_stop, tell)


def _results(
    pending: dict[Future[Result], int], pool: Pool, should_stop: Callable[[], bool], tell: Report
) -> Iterator[tuple[int, Result | None]]:
    told = [0, 0, 0]
    while pending:
        done, _ = wait(pending, timeout=_POLL_S, return_when=FIRST_COMPLETED)
        found = list(pool.counts)
        tell(*(new - old for new, old in zip(found, told, strict=True)))
        told = found
        for future in done:
            number = pending.pop(future)
            try:
                result: Result | None = future.result()
            except BrokenProcessPool:
                result = None
            yield number, result
        if should_stop() and not pool.stop.is_set():
            pool.stop.set()
            for future in [future for future in pending if future.cancel()]:
                del pending[future]
