"""Stacks of a process that a rank has forked: its command is the rank's own."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, dumped
from fixtures.generator.moment import seconds
from fixtures.generator.stage import Stage


def py_spy_forked(stage: Stage, after: float, thread: Thread, pid: int) -> None:
    """The watcher of the culprit's host takes the stack of a process that the rank has forked."""
    job, rank = stage.job.job, stage.culprit
    head = f"hang-watcher: child {pid} of rank {rank} (pid {job.rank_pids[rank]}), py-spy dump --pid {pid}"
    rows = dumped(job, pid, f"-u {job.script}", (thread,))
    stage.job.agent(stage.at + seconds(after), job.node_of(rank), "\n".join([head, *rows]))
