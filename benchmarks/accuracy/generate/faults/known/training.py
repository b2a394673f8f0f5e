"""Faults of training of the known part, which was held back first; storage is innocent."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.script import loss_frames, raise_and_exit
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk, torchrun
from fixtures.generator.model import Expect, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "known")


@kind(hangs=False)
def segmentation_fault(stage: Stage) -> Scenario:
    """A rank ends with SIGSEGV."""
    stage.open()
    job, rank, at = stage.job, stage.culprit, stage.at
    stage.mark(at, f"rank {rank} ends with SIGSEGV")
    file = job.job.script
    words = "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007fd35b20db80 (most recent call first):\n"
    job.say(at, rank, f'{words}  File "{file}", line 141 in criterion\n  File "{file}", line 191 in main')
    job.agents_end([Exit(rank, at + 300 * MS, -11)], at + 300 * MS)
    also = ("infrastructure", "gpu")
    return stage.close("A native extension crashes.", (stage.innocent("software", rank, also=also),))


@kind(hangs=False)
def loader_worker_killed(stage: Stage) -> Scenario:
    """A DataLoader worker is killed for want of memory."""
    stage.open()
    rank, at = stage.culprit, stage.at
    stage.mark(at, f"a DataLoader worker of rank {rank} is killed")
    text = f"RuntimeError: DataLoader worker (pid {stage.job.job.rank_pids[rank] + 7}) is killed by signal: Killed. "
    raise_and_exit(stage, at, rank, text, "batch = next(iterator)")
    also = ("software", "data_loading_stall")
    return stage.close("The kernel kills a loader process.", (stage.innocent("infrastructure", rank, also=also),))


@kind(hosts=2)
def fabric_error(stage: Stage) -> Scenario:
    """A link of the InfiniBand fabric is lost: completions with errors, then nobody finishes."""
    stage.open()
    job, at = stage.job, stage.at
    stage.mark(at, "a link of the fabric is lost")
    for rank in (stage.culprit, (stage.culprit + job.job.ranks_per_node) % job.job.world):
        host, pid = job.job.hosts[job.job.node_of(rank)], job.job.rank_pids[rank]
        head = f"\n{host}:{pid}:{pid + 61} [{job.job.local_rank(rank)}] transport/net_ib.cc:1295 NCCL WARN"
        text = (
            "NET/IB : Got completion from peer 10.0.35.1<49189> with error 12, opcode 0, len 0, vendor err 129 (Recv)"
        )
        job.say(at + seconds(7.4), rank, f"{head} {text}")
    stage.hang(at)
    expect = replace(stage.innocent("network", also=("gpu_fabric",)), culprit_ranks=None)
    return stage.close("A cable is bad; the collectives of the job stand still.", (expect,))


@kind(reads=True, words_only=True)
def iterator_ends_early(stage: Stage) -> Scenario:
    """One rank runs out of data before the others and leaves the loop."""
    stage.open()
    job, rank, at = stage.job, stage.culprit, stage.at
    stage.mark(at, f"rank {rank} has no more data")
    text = "epoch 0 ends on this rank: iterator exhausted, waiting for the other ranks"
    job.note(at - 30 * MS, rank, text, "W", 188)
    stage.hang(at + 20 * MS, rank)
    also = ("collective_mismatch", "software", "rank_hang")
    return stage.close("Shards are uneven.", (stage.innocent("data", rank, also=also),))


@kind(hangs=False, slurm=True, hosts=2)
def node_failure(stage: Stage) -> Scenario:
    """A whole worker node is lost."""
    stage.open()
    job, at = stage.job, stage.at
    node = job.job.node_of(stage.culprit)
    stage.mark(at, f"host {job.job.hosts[node]} is lost")
    reason = "NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"
    job.slurm(at + SEC, 0, torchrun.step_cancelled(job.job, at + SEC, reason))
    job.slurm(at + 2 * SEC, 0, f"srun: error: Node failure on {job.job.hosts[node]}")
    for other in range(len(job.job.hosts)):
        if other != node:
            job.agent_signalled(at + SEC + 40 * MS, other)
    job.ended_at = at + seconds(4)
    made: Expect = replace(stage.innocent("infrastructure"), culprit_ranks=None)
    return stage.close("A host loses power.", (made,))


@kind(hangs=False)
def unused_parameters(stage: Stage) -> Scenario:
    """DDP finds parameters without gradients on every rank."""
    stage.open()
    job, at = stage.job, stage.at
    stage.mark(at, "a branch of the model was not used")
    for rank in range(job.job.world):
        text = (
            "RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one. This "
            "error indicates that your module has parameters that were not used in producing loss."
            f"\nParameter indices which did not receive grad for rank {rank}: 4 5"
        )
        frames = loss_frames(stage, "loss = criterion(model(batch), batch)")
        job.raise_on(at + rank * 300_000, rank, sdk.traceback(sdk.Raised(frames, text)))
    exits = [Exit(rank, at + 800 * MS + rank * MS, 1) for rank in range(0, job.job.world, job.job.ranks_per_node)]
    job.agents_end(exits, at + 900 * MS)
    made: Expect = replace(stage.innocent("software"), culprit_ranks=None)
    return stage.close("A model with unused parameters.", (made,))
