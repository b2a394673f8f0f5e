"""Set-ups beside the usual one: a task a rank below srun without torchrun, stacks in a folder, a job beside the job."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta

from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, dumped, main_thread
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.scene import Scene
from fixtures.generator.aiscluster import ClusterRun
from fixtures.generator.model import LogFile, Node, Scenario
from fixtures.generator.moment import MS
from fixtures.generator.plainsrun import tasks
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import step_cancelled
from fixtures.generator.trainend import JobRun
from fixtures.generator.workerlog import Line

#: A larger world keeps torchrun: nobody looks through thousands of files of one task each.
TASKS = 64
#: What the process of a rank prints last that its own watchdog ends.
ENDED = ("terminate called", "Aborting process on rank")
#: When a job began, in its name, and when it ended, in what is said of it then.
OF_A_JOB = re.compile(r"(x-rebalance\[g\d+\])-(\d\d:\d\d:\d\d\.\d{6})")
ENDED_AT = re.compile(r"(x-rebalance\[g\d+\]-[\d:.]{15})-(\d\d:\d\d:\d\d\.\d{6})$")
#: Where a collective is called in torch.distributed.
CALLS = {
    "ALLREDUCE": ("all_reduce", 3252),
    "BROADCAST": ("broadcast", 2824),
    "ALLTOALL": ("all_to_all_single", 4691),
    "SEND": ("send", 2600),
    "RECV": ("recv", 2644),
}


def _physical(lines: list[Line]) -> bytes:
    return "".join(line.text + ("\n" if line.newline else "") for line in lines).encode()


def _by_task(job: JobRun, folder: str) -> list[LogFile]:
    """`srun --output=train-%j-%t.out`: a file a task, and what srun itself says in the batch script's file."""
    own = job.job
    ordered = [line for _, line in sorted(enumerate(job.lines), key=lambda pair: (pair[1].at, pair[0]))]
    found = [LogFile(f"{folder}/slurm-{own.job_id}.out", _physical([one for one in ordered if one.rank is None]))]
    width = len(str(own.world - 1))
    for rank in range(own.world):
        mine = _physical([one for one in ordered if one.rank == rank])
        found.append(LogFile(f"{folder}/train-{own.job_id}-{rank:0{width}d}.out", mine))
    return found


def _in_one(job: JobRun, folder: str) -> list[LogFile]:
    """`srun --output=train-%j.out`: all tasks and srun write into one file, without a label."""
    ordered = sorted(enumerate(job.lines), key=lambda pair: (pair[1].at, pair[0]))
    return [LogFile(f"{folder}/train-{job.job.job_id}.out", _physical([line for _, line in ordered]))]


def without_torchrun(stage: Stage, *, in_one: bool = False) -> bool:
    """The job is `srun python train.py` with a task a rank: no agent, no table; False if its world is too large."""
    job = stage.job
    if job.job.world > TASKS:
        return False
    layout: Callable[[JobRun, str], list[LogFile]] = _in_one if in_one else _by_task
    job.files = lambda folder: layout(job, folder)  # type: ignore[method-assign]
    job.lines = [line for line in job.lines if line.launcher != "agent"]
    return True


def tasks_end(stage: Stage, first: int, at: int, word: str) -> None:
    """Below srun a task has ended so (`--kill-on-bad-exit`): the step is cancelled, the other tasks are terminated."""
    job, own, draw = stage.job, stage.job.job, stage.draw.child("tasks end")
    too = {line.rank for line in job.lines if any(text in line.text for text in ENDED)} - {first}
    job.lines = [line for line in job.lines if line.launcher == "" and (line.rank is not None)]
    then = at + draw.span(60, 240)
    job.slurm(then, 0, f"srun: error: {own.hosts[own.node_of(first)]}: task {first}: {word}")
    job.slurm(then + MS, 0, f"srun: Terminating StepId={own.job_id}.0")
    job.slurm(then + draw.span(20, 80), 0, step_cancelled(own, then + 40 * MS))
    for node, host in enumerate(own.hosts):
        then += draw.span(90, 700)
        for how in (word, "Terminated"):
            left = [rank for rank in own.ranks_of(node) if rank != first and (rank in too) == (how == word)]
            if left:
                job.slurm(then, node, f"srun: error: {host}: {tasks(left)}: {how}")
    job.ended_at = max(job.ended_at, then)


def aborted_first(stage: Stage) -> tuple[int, int]:
    """The rank whose watchdog has ended its process first, and when."""
    ended = [one for one in stage.job.lines if one.rank is not None and any(text in one.text for text in ENDED)]
    first = min(ended or stage.job.lines, key=lambda one: one.at)
    return first.rank or 0, first.at


def waits_in_collective(stage: Stage, rank: int) -> Thread:
    """The main thread of a rank that has come to the step's collective, or to the one that its watchdog will name."""
    own, site = stage.job.job, stage.job.job.build["site"]
    still = stage.standstill if isinstance(stage, Scene) else None
    op = still.stuck[rank].op if still is not None and rank in still.stuck else "ALLREDUCE"
    call, line = CALLS.get(op, CALLS["ALLREDUCE"])
    return main_thread(
        stage,
        (call, f"{site}/torch/distributed/distributed_c10d.py", line),
        ("wrapper", f"{site}/torch/distributed/c10d_logger.py", 83),
        ("sync_gradients" if op == "ALLREDUCE" else "train_step", own.script, 163),
    )


def reads_status(stage: Stage) -> tuple[tuple[str, str, int], ...]:
    """Frames of a rank that waits for the first byte of an object by the SDK, the innermost first."""
    site, script = stage.job.job.build["site"], stage.job.job.script
    return (
        ("readinto", f"{PYTHON}/socket.py", 718),
        ("_read_status", f"{PYTHON}/http/client.py", 286),
        ("begin", f"{PYTHON}/http/client.py", 325),
        ("getresponse", f"{PYTHON}/http/client.py", 1395),
        ("getresponse", f"{site}/urllib3/connection.py", 565),
        ("_make_request", f"{site}/urllib3/connectionpool.py", 534),
        ("urlopen", f"{site}/urllib3/connectionpool.py", 787),
        ("send", f"{site}/requests/adapters.py", 667),
        ("send", f"{site}/requests/sessions.py", 703),
        ("request", f"{site}/requests/sessions.py", 589),
        ("request_op", f"{site}/aistore/sdk/request_client.py", 229),
        ("request", f"{site}/aistore/sdk/request_client.py", 245),
        ("get", f"{site}/aistore/sdk/obj/object_client.py", 184),
        ("read_all", f"{site}/aistore/sdk/obj/object_reader.py", 96),
        ("read_shard", script, 77),
        ("next_batch", script, 94),
    )


def stacks_in_folder(stage: Stage, made: Scenario, threads: tuple[Thread, ...], tail: str = "") -> Scenario:
    """Somebody has run py-spy on all ranks as they hang, a file a rank; `tail` is what else the culprit was asked."""
    own, found = stage.job.job, []
    for rank in sorted({*range(min(own.world, TASKS)), stage.culprit}):
        these = threads if rank == stage.culprit else (waits_in_collective(stage, rank),)
        rows = dumped(own, own.rank_pids[rank], f"-u {own.script}", these)
        text = "\n".join(rows) + "\n" + (tail if rank == stage.culprit else "")
        found.append(LogFile(f"workers/stacks/rank{rank}.txt", text.encode()))
    return replace(made, files=(*made.files, *found))


def by_its_own_clock(cluster: ClusterRun, node: Node) -> None:
    """Moments that a daemon writes into the names of its jobs are read from the same clock as those of its lines."""
    ahead = timedelta(microseconds=cluster.skews.get(node.node_id, 0) // 1_000)

    def read(found: re.Match[str]) -> str:
        told = datetime.strptime(found[2], "%H:%M:%S.%f") + ahead
        return f"{found[1]}-{told:%H:%M:%S.%f}"

    for process in cluster.processes[node.node_id]:
        for place, entry in enumerate(process.entries):
            text = OF_A_JOB.sub(read, entry.text)
            text = ENDED_AT.sub(read, text) if " done x-" in text else text
            process.entries[place] = replace(entry, text=text)


@contextmanager
def as_of(stage: Stage, job: JobRun, step: int) -> Iterator[None]:
    """What is said of a rank is said of one of another job, in a step of that job."""
    own, was = stage.job, stage.step
    stage.job, stage.step = job, step
    try:
        yield
    finally:
        stage.job, stage.step = own, was
