"""What NCCL, a scheduler's controller, a far host's console and a watcher of stacks tell of a job from outside."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, dumped
from benchmarks.accuracy.generate.scene import Scene
from fixtures.generator.moment import local
from fixtures.generator.stage import Stage

#: What NCCL's exception says of an error of the network or of another rank.
REMOTE = (
    "remote process exited or there was a network error (run with NCCL_DEBUG=INFO for details)\n"
    "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely."
)
CONTROLLER = "slurm-ctl1"


def elsewhere(stage: Stage, at: int, host: str, text: str) -> None:
    """A line of the syslog of a host, as the monitor on the job's first host copies it into its log."""
    stamp = f"{local(at, stage.job.job.zone):%b %e %H:%M:%S}"
    stage.job.agent(at, 0, f"node-monitor: {stamp} {host} {text}")


def controller(stage: Stage, at: int, text: str) -> None:
    """A line of slurmctld."""
    elsewhere(stage, at, CONTROLLER, f"slurmctld[2217]: {text}")


def nccl_head(stage: Stage, rank: int, thread: int) -> str:
    """Host, process, thread and device, with which each line of NCCL begins."""
    own = stage.job.job
    pid = own.rank_pids[rank]
    return f"{own.hosts[own.node_of(rank)]}:{pid}:{pid + thread} [{own.local_rank(rank)}]"


def nccl_info(stage: Stage, at: int, rank: int, text: str) -> None:
    """An INFO line of NCCL, which it prints if NCCL_DEBUG says so."""
    stage.job.say(at, rank, f"{nccl_head(stage, rank, 88)} NCCL INFO {text}")


def nccl_warns(stage: Stage, at: int, rank: int, place: str, text: str) -> None:
    """A warning of NCCL behind its empty line."""
    stage.job.say(at, rank, f"\n{nccl_head(stage, rank, 173)} {place} NCCL WARN {text}")


def stacks_of(stage: Stage, at: int, rank: int, threads: tuple[Thread, ...]) -> None:
    """A watcher on the host of a rank takes its stacks as nothing moves."""
    own = stage.job.job
    spent, pid = (at - stage.at) // 1_000_000_000, own.rank_pids[rank]
    rows = [f"hang-watcher: rank {rank} has made no step for {spent} s, py-spy dump --pid {pid}"]
    stage.job.agent(at, own.node_of(rank), "\n".join([*rows, *dumped(own, pid, f"-u {own.script}", threads)]))


def silent_from(stage: Stage, node: int, at: int) -> None:
    """Nothing of a host is written from a moment on, neither lines nor dumps."""
    job = stage.job
    job.lines = [line for line in job.lines if line.node != node or line.at < at]
    if isinstance(stage, Scene):
        lost = tuple(dict.fromkeys((*stage.setting.lost_dumps, *job.job.ranks_of(node))))
        stage.setting = replace(stage.setting, lost_dumps=lost)
