"""Faults of training beside those of the scenarios; storage is innocent, however loud it is."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.kinds import kind
from fixtures.generator import sdk, torchrun
from fixtures.generator.model import Expect, Scenario
from fixtures.generator.moment import MS, SEC, seconds, slurm_stamp
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit


def _loss_frames(stage: Stage, code: str) -> tuple[sdk.Frame, ...]:
    script = stage.job.job.script
    return (sdk.Frame(script, 212, "<module>", "main()"), sdk.Frame(script, 191, "main", code, True))


def _raise_and_exit(stage: Stage, at: int, rank: int, text: str, code: str) -> None:
    """An exception in the training code that ends the process, and with it the job."""
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(_loss_frames(stage, code), text)))
    stage.job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)


@kind("training", may_be_undetermined=True)
def silent_rank(stage: Stage) -> Scenario:
    """A rank stops in its own code without a word; storage works for everybody."""
    stage.open()
    stage.mark(stage.at, f"rank {stage.culprit} hangs in compute")
    stage.hang(stage.at, stage.culprit)
    expect = stage.innocent("rank_hang", stage.culprit, also=("software", "undetermined", "data_loading_stall"))
    return stage.close("A rank loops in a user kernel; it prints nothing.", (expect,))


@kind("training", words_only=True)
def deadlock_in_checkpoint(stage: Stage) -> Scenario:
    """A rank waits in its checkpoint code for a lock it holds itself."""
    stage.open()
    rank, at = stage.culprit, stage.at
    stage.job.note(at - 20 * MS, rank, f"saving distributed checkpoint, step={stage.step}", "W", 118)
    stage.mark(at, f"rank {rank} waits for a lock it holds itself")
    stage.hang(at + 20 * MS, rank)
    return stage.close("A deadlock in checkpoint code.", (stage.innocent("rank_hang", rank, also=("software",)),))


@kind("training", hangs=False)
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
    _raise_and_exit(stage, at, rank, text, "loss = criterion(model(batch), batch)")
    return stage.close("A long batch needs more device memory than there is.", (stage.innocent("gpu", rank),))


@kind("training", hangs=False, slurm=True)
def time_limit(stage: Stage) -> Scenario:
    """SLURM ends the job at its time limit."""
    stage.open()
    job, at = stage.job, stage.at
    stage.mark(at, "the time limit is reached")
    stamp = slurm_stamp(at, job.job.zone)
    step = f"STEP {job.job.job_id}.0 ON {job.job.hosts[0]}"
    job.slurm(at, 0, f"slurmstepd: error: *** {step} CANCELLED AT {stamp} DUE TO TIME LIMIT ***")
    for node in range(len(job.job.hosts)):
        for said in torchrun.death_signal(job.job, node, at + 40 * MS):
            job.agent(at + 40 * MS, node, said)
    job.ended_at = at + seconds(2)
    return stage.close("The job runs into its time limit.", (stage.innocent("infrastructure"),))


# Held back once: the first untouched part had these, by now they are known.


@kind("training", hangs=False, held="known")
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


@kind("training", hangs=False, held="known")
def loader_worker_killed(stage: Stage) -> Scenario:
    """A DataLoader worker is killed for want of memory."""
    stage.open()
    rank, at = stage.culprit, stage.at
    stage.mark(at, f"a DataLoader worker of rank {rank} is killed")
    text = f"RuntimeError: DataLoader worker (pid {stage.job.job.rank_pids[rank] + 7}) is killed by signal: Killed. "
    _raise_and_exit(stage, at, rank, text, "batch = next(iterator)")
    also = ("software", "data_loading_stall")
    return stage.close("The kernel kills a loader process.", (stage.innocent("infrastructure", rank, also=also),))


@kind("training", held="known", hosts=2)
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


@kind("training", held="known", reads=True, words_only=True)
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


@kind("training", hangs=False, held="known", slurm=True, hosts=2)
def node_failure(stage: Stage) -> Scenario:
    """A whole worker node is lost."""
    stage.open()
    job, at = stage.job, stage.at
    node = job.job.node_of(stage.culprit)
    stage.mark(at, f"host {job.job.hosts[node]} is lost")
    stamp = slurm_stamp(at + SEC, job.job.zone)
    host = job.job.hosts[0]
    text = f"slurmstepd: error: *** STEP {job.job.job_id}.0 ON {host} CANCELLED AT {stamp} DUE TO NODE FAILURE, "
    job.slurm(at + SEC, 0, text + "SEE SLURMCTLD LOG FOR DETAILS ***")
    job.slurm(at + 2 * SEC, 0, f"srun: error: Node failure on {job.job.hosts[node]}")
    for other in range(len(job.job.hosts)):
        if other != node:
            for said in torchrun.death_signal(job.job, other, at + SEC + 40 * MS):
                job.agent(at + SEC + 40 * MS, other, said)
    job.ended_at = at + seconds(4)
    made: Expect = replace(stage.innocent("infrastructure"), culprit_ranks=None)
    return stage.close("A host loses power.", (made,))


@kind("training", hangs=False, held="known")
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
        frames = _loss_frames(stage, "loss = criterion(model(batch), batch)")
        job.raise_on(at + rank * 300_000, rank, sdk.traceback(sdk.Raised(frames, text)))
    exits = [Exit(rank, at + 800 * MS + rank * MS, 1) for rank in range(0, job.job.world, job.job.ranks_per_node)]
    job.agents_end(exits, at + 900 * MS)
    made: Expect = replace(stage.innocent("software"), culprit_ranks=None)
    return stage.close("A model with unused parameters.", (made,))
