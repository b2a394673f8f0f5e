"""Calls a function in several processes: stopped together, counted together, none outliving the process that began.

A process that dies (the kernel takes the largest when memory ends) takes its calls with it, not the run: they are
handed back without a result.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
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


def _new_pool(job_count: int) -> tuple[ProcessPoolExecutor, Event, Any]:
    """Processes that start with the first call; what stops them; what they count. Raises PoolError."""
    context = get_context("spawn")
    try:
        stop, counts = context.Event(), context.Array("q", 3)
        pool = ProcessPoolExecutor(job_count, context, _start_worker, (stop, counts))
    except (OSError, ImportError) as error:
        raise PoolError(str(error)) from None
    return pool, stop, counts


@contextlib.contextmanager
def executor(job_count: int) -> Iterator[Executor]:
    """Processes for calls of any kind; calls that have not begun when the block ends are dropped. Raises PoolError."""
    pool, stop, _ = _new_pool(job_count)
    try:
        with _interrupts_held():
            yield pool
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


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
    pool, stop, counts = _new_pool(min(job_count, len(arguments)))
    try:
        try:
            with _interrupts_held():
                pending = {pool.submit(call, *given): number for number, given in enumerate(arguments)}
        except OSError as error:
            raise PoolError(str(error)) from None
        yield from _results(pending, stop, counts, should_stop, tell)
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def _results(
    pending: dict[Future[Result], int], stop: Event, counts: Any, should_stop: Callable[[], bool], tell: Report
) -> Iterator[tuple[int, Result | None]]:
    told = [0, 0, 0]
    while pending:
        done, _ = wait(pending, timeout=_POLL_S, return_when=FIRST_COMPLETED)
        found = list(counts)
        tell(*(new - old for new, old in zip(found, told, strict=True)))
        told = found
        for future in done:
            number = pending.pop(future)
            try:
                result: Result | None = future.result()
            except BrokenProcessPool:
                result = None
            yield number, result
        if should_stop() and not stop.is_set():
            stop.set()
            for future in [future for future in pending if future.cancel()]:
                del pending[future]
