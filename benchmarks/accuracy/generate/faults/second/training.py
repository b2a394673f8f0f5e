"""Faults of training of the second part; storage is innocent."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import loss_frames, raise_and_exit
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import restart_before
from fixtures.generator import sdk, torchrun, watchdog
from fixtures.generator.model import Expect, Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import RECIPES, Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "second")


@kind(hangs=False, torch_before=215)
def illegal_memory_access(stage: Stage) -> Scenario:
    """A kernel of one rank reads where it must not; its watchdog thread ends the process."""
    stage.open()
    job, rank, at = stage.job, stage.culprit, stage.at
    stage.mark(at, f"a kernel of rank {rank} reads out of bounds")
    cause = (
        "CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be asynchronously reported at "
        "some other API call, so the stacktrace below might be incorrect.\nFor debugging consider passing "
        "CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
    )
    for text in watchdog.taken_down(job.job, rank, at, cause, timed_out=False):
        job.say(at, rank, text)
    job.agents_end([Exit(rank, at + 400 * MS, -6)], at + 400 * MS)
    return stage.close("A custom kernel has a bug.", (stage.innocent("gpu", rank, also=("software",)),))


@kind(culprit=0, words_only=True)
def validation_on_one_rank(stage: Stage) -> Scenario:
    """Rank 0 validates for longer than the time-out while the others go on."""
    stage.open()
    rank, at = stage.culprit, stage.at
    stage.job.note(at - 30 * MS, rank, f"running validation at step={stage.step} (5210 batches)", line=149)
    stage.mark(at, f"rank {rank} validates alone")
    stage.hang(at + 20 * MS, rank)
    also = ("software", "undetermined", "data_loading_stall")
    return stage.close("Only rank 0 validates, and for long.", (stage.innocent("rank_hang", rank, also=also),))


@kind(hangs=False)
def shared_memory_short(stage: Stage) -> Scenario:
    """A DataLoader worker dies of a bus error because /dev/shm is full."""
    stage.open()
    rank, at = stage.culprit, stage.at
    stage.mark(at, f"/dev/shm is full, a worker of rank {rank} dies")
    text = (
        f"RuntimeError: DataLoader worker (pid {stage.job.job.rank_pids[rank] + 9}) is killed by signal: Bus error. It "
        "is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit."
    )
    raise_and_exit(stage, at, rank, text, "metrics.update(loss=loss.item())")
    also = ("software", "data_loading_stall")
    return stage.close(
        "The container has 64 MB of shared memory.", (stage.innocent("infrastructure", rank, also=also),)
    )


@kind(hangs=False, slurm=True)
def preempted(stage: Stage) -> Scenario:
    """SLURM takes the nodes away for a job of higher priority."""
    stage.open()
    job, at = stage.job, stage.at
    stage.mark(at, "the job is preempted")
    job.slurm(at, 0, torchrun.step_cancelled(job.job, at, "PREEMPTION"))
    for node in range(len(job.job.hosts)):
        job.agent_signalled(at + 50 * MS, node)
    job.ended_at = at + seconds(2)
    return stage.close("The scheduler preempts the job.", (stage.innocent("infrastructure"),))


@kind(hangs=False)
def manifest_without_field(stage: Stage) -> Scenario:
    """A line of a manifest lacks a field."""
    stage.open()
    rank, at = stage.culprit, stage.at
    stage.mark(at, f"rank {rank} reads a manifest line without duration")
    frames = sdk.main_frames(
        stage.job.job, stage.step, sdk.Frame(stage.job.job.script, 72, "fetch", 'length = entry["duration"]', True)
    )
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, "KeyError: 'duration'")))
    stage.job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)
    return stage.close("A manifest is incomplete.", (stage.innocent("data", rank, also=("software",)),))


@kind(hangs=False)
def scratch_full(stage: Stage) -> Scenario:
    """The file system of checkpoints is full; it is not AIStore's."""
    stage.open()
    rank, at = stage.culprit, stage.at
    stage.mark(at, "the scratch file system is full")
    frames = loss_frames(stage, "torch.save(state, path)")
    path = f"/scratch/results/{stage.job.job.task}/step={stage.step}.ckpt"
    text = f"OSError: [Errno 28] No space left on device: '{path}'"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    stage.job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)
    also = ("software",)
    return stage.close("A local disk is full.", (stage.innocent("infrastructure", rank, also=also),))


@kind(hangs=False)
def killed_from_outside(stage: Stage) -> Scenario:
    """Somebody kills the process of a rank; nothing says why."""
    stage.open()
    job, rank, at = stage.job, stage.culprit, stage.at
    stage.mark(at, f"SIGKILL to rank {rank}")
    job.agents_end([Exit(rank, at, -9)], at)
    return stage.close("A process is killed.", (stage.innocent("infrastructure", rank, also=("software",)),))


@kind(words_only=True)
def loader_deadlocks(stage: Stage) -> Scenario:
    """The loader workers of a rank block each other after a fork; the DataLoader gives up after its own time-out."""
    stage.open()
    rank, at, job = stage.culprit, stage.at, stage.job
    text = "huggingface/tokenizers: The current process just got forked, after parallelism has already been used."
    job.say(at - seconds(3), rank, f"{text} Disabling parallelism to avoid deadlocks...")
    stage.mark(at, f"the loader workers of rank {rank} block each other")
    frames = sdk.main_frames(job.job, stage.step, sdk.Frame(job.job.script, 88, "fetch", "batch = next(self.loader)"))
    raised = sdk.traceback(sdk.Raised(frames, "RuntimeError: DataLoader timed out after 30 seconds"))
    job.raise_on(at + seconds(30.01), rank, raised)
    stage.hang(at + 300 * MS, rank)
    also = ("software", "rank_hang")
    return stage.close(
        "The workers of one rank's DataLoader are deadlocked; no request leaves the host.",
        (stage.innocent("data_loading_stall", rank, also=also),),
    )


@kind(hangs=False)
def loss_not_finite(stage: Stage) -> Scenario:
    """Every rank finds a loss that is no number and raises."""
    stage.open()
    job, at = stage.job, stage.at
    stage.mark(at, "the loss is not a number")
    for rank in range(job.job.world):
        text = f"FloatingPointError: loss is nan at step {stage.step}"
        raised = sdk.traceback(sdk.Raised(loss_frames(stage, "check_finite(loss, step)"), text))
        job.raise_on(at + rank * 290_000, rank, raised)
    exits = [Exit(rank, at + 800 * MS + rank * MS, 1) for rank in range(0, job.job.world, job.job.ranks_per_node)]
    job.agents_end(exits, at + 900 * MS)
    made: Expect = replace(stage.innocent("software", also=("data",)), culprit_ranks=None)
    return stage.close("The training diverges.", (made,))


@kind(reads=True, lead_s=150.0, may_be_undetermined=True)
def wrong_name_after_restart(stage: Stage) -> Scenario:
    """A manifest names an object that never was, a minute after a target was restarted for good."""
    beside(stage, restart_before)
    return RECIPES["object_of_wrong_name"].build(stage)
