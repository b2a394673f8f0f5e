"""Stacks of a process that a rank has forked: its command is the rank's own."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.clients import PYTHON
from benchmarks.accuracy.generate.faults.eighth_stacks import Thread
from fixtures.generator.moment import seconds
from fixtures.generator.stage import Stage


def py_spy_forked(stage: Stage, after: float, thread: Thread, pid: int) -> None:
    """The watcher of the culprit's host takes the stack of a process that the rank has forked."""
    job, rank = stage.job.job, stage.culprit
    site, folder = job.build["site"], job.script.rsplit("/", 1)[0]
    rows = [
        f"hang-watcher: child {pid} of rank {rank} (pid {job.rank_pids[rank]}), py-spy dump --pid {pid}",
        f"Process {pid}: {job.build['python']} -u {job.script}",
        f"Python v3.11.9 ({job.build['bin']}/python3.11)",
        "",
        f'Thread {pid} ({thread.state}): "{thread.name}"',
    ]
    for function, file, line in thread.frames:
        short = file.removeprefix(f"{site}/").removeprefix(f"{PYTHON}/").removeprefix(f"{folder}/")
        rows.append(f"    {function} ({short}:{line})")
    stage.job.agent(stage.at + seconds(after), job.node_of(rank), "\n".join(rows))
