"""Judges the cases of an ingest: one with threads, several in processes, or all on another engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from functools import partial
from typing import TYPE_CHECKING

from aiscorr.analysis.cases import Judging, judge_in_turn
from aiscorr.analysis.judge import Result, judge
from aiscorr.ingest import engine, pool

if TYPE_CHECKING:
    import pyarrow as pa

#: Fewer cases are judged before processes have started.
_WORTH_PROCESSES = 4
#: Cases that wait on another engine: their rows are in memory here until they are judged.
_MOST_ON_ENGINE = 16

_Inputs = dict[str, "pa.Table"]
_Judged = tuple[str, dict[str, Result]]
_Call = Callable[[_Inputs], dict[str, Result]]


def judging(job_count: int, memory_limit: str, workers: engine.Workers | None = None) -> Judging:
    """A way to judge cases with so many processes or threads, or on an engine, each within this limit of DuckDB."""
    call = partial(judge, memory_limit=memory_limit)

    def judge_all(cases: Iterable[tuple[str, _Inputs]], count: int) -> Iterator[_Judged]:
        if workers is not None and count:
            yield from judge_on(workers(), cases, _MOST_ON_ENGINE, partial(engine.checked, engine.own_key(), call))
            return
        if job_count > 1 and count >= _WORTH_PROCESSES:
            try:
                executor = pool.processes(min(job_count, count))
            except pool.PoolError:
                pass  # no processes can be started here
            else:
                with executor:
                    yield from judge_on(executor, cases, 2 * job_count, call)
                return
        yield from judge_in_turn(cases, count, threads=job_count, memory_limit=memory_limit)

    return judge_all


def judge_on(executor: Executor, cases: Iterable[tuple[str, _Inputs]], most: int, call: _Call) -> Iterator[_Judged]:
    """Each case on an executor, at most so many at a time: their rows are in memory. A lost one is judged here."""
    running: dict[Future[dict[str, Result]], tuple[str, _Inputs]] = {}

    def ended() -> Iterator[_Judged]:
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            job, inputs = running.pop(future)
            try:
                yield job, future.result()
            except Exception as error:  # the kernel may have taken a process for its memory
                if not engine.is_lost(error):
                    raise
                yield job, call(inputs)

    for job, inputs in cases:
        try:
            running[executor.submit(call, inputs)] = job, inputs
        except (RuntimeError, OSError):  # one was taken before, or no other can be started
            yield job, call(inputs)
        if len(running) == most:
            yield from ended()
    while running:
        yield from ended()
