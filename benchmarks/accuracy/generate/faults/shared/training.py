"""Faults of training of every part, beside those of the scenarios; storage is innocent, however loud it is."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.script import raise_and_exit
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import torchrun
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training")


@kind(may_be_undetermined=True)
def silent_rank(stage: Stage) -> Scenario:
    """A rank stops in its own code without a word; storage works for everybody."""
    stage.open()
    stage.mark(stage.at, f"rank {stage.culprit} hangs in compute")
    stage.hang(stage.at, stage.culprit)
    expect = stage.innocent("rank_hang", stage.culprit, also=("software", "undetermined", "data_loading_stall"))
    return stage.close("A rank loops in a user kernel; it prints nothing.", (expect,))


@kind(words_only=True)
def deadlock_in_checkpoint(stage: Stage) -> Scenario:
    """A rank waits in its checkpoint code for a lock it holds itself."""
    stage.open()
    rank, at = stage.culprit, stage.at
    stage.job.note(at - 20 * MS, rank, f"saving distributed checkpoint, step={stage.step}", "W", 118)
    stage.mark(at, f"rank {rank} waits for a lock it holds itself")
    stage.hang(at + 20 * MS, rank)
    return stage.close("A deadlock in checkpoint code.", (stage.innocent("rank_hang", rank, also=("software",)),))


@kind(hangs=False)
def device_out_of_memory(stage: Stage) -> Scenario:
    """The memory of one GPU is full."""
    stage.open()
    rank, at, torch = stage.culprit, stage.at, stage.params.torch_release
    stage.mark(at, f"rank {rank} has no device memory left")
    name = "torch.OutOfMemoryError" if torch.order >= 205 else "torch.cuda.OutOfMemoryError"
    text = (
        f"{name}: CUDA out of memory. Tried to allocate 2.38 GiB. GPU {stage.job.job.local_rank(rank)} has a total "
        "capacity of 79.10 GiB of which 1.02 GiB is free. Including non-PyTorch memory, this process has 78.07 GiB "
        "memory in use."
    )
    raise_and_exit(stage, at, rank, text, "loss = criterion(model(batch), batch)")
    return stage.close("A long batch needs more device memory than there is.", (stage.innocent("gpu", rank),))


@kind(hangs=False, slurm=True)
def time_limit(stage: Stage) -> Scenario:
    """SLURM ends the job at its time limit."""
    stage.open()
    job, at = stage.job, stage.at
    stage.mark(at, "the time limit is reached")
    job.slurm(at, 0, torchrun.step_cancelled(job.job, at, "TIME LIMIT"))
    for node in range(len(job.job.hosts)):
        job.agent_signalled(at + 40 * MS, node)
    job.ended_at = at + seconds(2)
    return stage.close("The job runs into its time limit.", (stage.innocent("infrastructure"),))
