"""Judges the cases of an ingest: one with threads, several in processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING

from aiscorr.analysis.cases import Judging
from aiscorr.analysis.judge import Result, judge
from aiscorr.ingest import pool

if TYPE_CHECKING:
    import pyarrow as pa

#: Fewer cases are judged before processes have started.
_WORTH_PROCESSES = 4

_Inputs = dict[str, "pa.Table"]
_Judged = tuple[str, dict[str, Result]]


def judging(job_count: int) -> Judging:
    """A way to judge cases with so many processes or threads."""

    def judge_all(cases: Iterable[tuple[str, _Inputs]], count: int) -> Iterator[_Judged]:
        if job_count > 1 and count >= _WORTH_PROCESSES:
            with pool.executor(min(job_count, count)) as executor:
                yield from judge_on(executor, cases, 2 * job_count)
        else:
            for job, inputs in cases:
                yield job, judge(inputs, threads=job_count)

    return judge_all


def judge_on(executor: Executor, cases: Iterable[tuple[str, _Inputs]], most: int) -> Iterator[_Judged]:
    """Each case on an executor, at most so many at a time: their rows are in memory."""
    running: dict[Future[dict[str, Result]], tuple[str, _Inputs]] = {}
    for job, inputs in cases:
        running[executor.submit(judge, inputs)] = job, inputs
        if len(running) == most:
            yield from _ended(running)
    while running:
        yield from _ended(running)


def _ended(running: dict[Future[dict[str, Result]], tuple[str, _Inputs]]) -> Iterator[_Judged]:
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    for future in done:
        job, inputs = running.pop(future)
        try:
            yield job, future.result()
        except BrokenProcessPool:  # the kernel took a process for its memory
            yield job, judge(inputs)
