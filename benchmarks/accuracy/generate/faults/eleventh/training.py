"""Faults of the training loop, of the eleventh part: who waits for whom, and for how long; storage is innocent."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, main_thread, py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import of_all, standing_in
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "eleventh")


def _own_collective(stage: Stage, at: int, rank: int, op: str, sizes: tuple[int, int], frames: tuple[str, ...]) -> None:
    """All ranks wait, and one of them in another collective than the others, with nothing behind it."""
    stuck, job = stage.everyone_else(), stage.job
    mine = stuck[rank]
    stuck[rank] = replace(mine, op=op, numel_in=sizes[0], numel_out=sizes[1], enqueued=mine.seq, frames=frames)
    stage.mark(job.hang(at, stuck), f"job {job.job.job_id} has ended")


@kind(hangs=False, torch_order=203, torch_before=215)
def epochs_of_unequal_length(stage: Stage) -> Scenario:
    """A rank has a batch less and goes to its validation, the others to a gradient (Lightning#9851, composer#3415)."""
    stage.open()
    unrest.unsettled(stage)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("epoch")
    site, script = job.job.build["site"], job.job.script
    stage.mark(at, f"rank {rank} has no batch left in this epoch, the others have one")
    if draw.chance(0.6):
        batches = stage.step
        job.note(at - 25 * MS, rank, f"epoch 0 done after {batches} batches, validating", "W", 188)
    frames = (
        f"#0 all_reduce from {site}/torch/distributed/distributed_c10d.py:3252",
        f"#1 reduce_metrics from {script}:168",
        f"#2 validate from {script}:152",
        f"#3 main from {script}:201",
        f"#4 <module> from {script}:212",
    )
    _own_collective(stage, at, rank, "ALLREDUCE", (1, 1), frames)
    also = ("data", "software", "rank_hang")
    return stage.close(
        "Shards have other numbers of samples, and nothing makes epochs equally long.",
        (stage.innocent("collective_mismatch", rank, also=also),),
    )


@kind(hangs=False, culprit=0, torch_order=203, torch_before=215, lead_s=60.0)
def state_gathered_on_one_rank(stage: Stage) -> Scenario:
    """The state of a sharded model is gathered where only rank 0 comes: it gathers alone (torchtune#1107)."""
    stage.open()
    unrest.unsettled(stage)
    job, at, draw = stage.job, stage.at, stage.draw.child("sharded")
    site, script = job.job.build["site"], job.job.script
    stage.mark(at, "rank 0 gathers the state of the model alone")
    if draw.chance(0.7):
        job.note(at - 30 * MS, 0, f"saving full state dict at step {stage.step} to /results/{job.job.task}", line=117)
    frames = (
        f"#0 all_gather_into_tensor from {site}/torch/distributed/distributed_c10d.py:4013",
        f"#1 _all_gather_flat_param from {site}/torch/distributed/fsdp/_flat_param.py:1456",
        f"#2 state_dict from {site}/torch/nn/modules/module.py:2236",
        f"#3 save_checkpoint from {script}:119",
        f"#4 main from {script}:203",
        f"#5 <module> from {script}:212",
    )
    shard = draw.pick((9_437_184, 25_167_872, 262_668_288))
    _own_collective(stage, at, 0, "_ALLGATHER_BASE", (shard, shard * job.job.world), frames)
    also = ("software", "rank_hang")
    return stage.close(
        "The condition for who writes stands one call too far out.",
        (stage.innocent("collective_mismatch", 0, also=also),),
    )


@kind(culprit=0, lead_s=60.0)
def full_state_saved_slowly(stage: Stage) -> Scenario:
    """Rank 0 writes the whole state to a filer while the others wait longer than they may (torchtune#2093)."""
    stage.open()
    unrest.unsettled(stage)
    job, at, draw, site = stage.job, stage.at, stage.draw.child("full state"), stage.job.job.build["site"]
    stage.mark(at, "rank 0 begins to write the whole state of the model and its optimizer")
    folder = draw.pick(("/mnt/nfs/exp", "/lustre/ckpt", "/gpfs/scratch/asr"))
    path = f"{folder}/{job.job.task}/full_{stage.step}.pt"
    size = draw.between(90, 400)
    job.note(at - 20 * MS, 0, f"writing {path} ({size:.1f} GiB). This may take some time.", "W", 121)
    main = standing_in(
        stage,
        203,
        ("_save", f"{site}/torch/serialization.py", 1217),
        ("save", f"{site}/torch/serialization.py", 967),
        ("save_checkpoint", job.job.script, 124),
        state="active",
    )
    py_spy(stage, min(draw.between(25, 48), job.job.timeout_s - 8), (main,))
    stage.hang(at + 40 * MS, 0)
    also = ("software", "infrastructure")
    return stage.close(
        "One rank alone writes what all of them have; the filer is shared by many.",
        (stage.innocent("rank_hang", 0, also=also),),
    )


def _stack_of_loader(stage: Stage, after: float, worker: Thread) -> None:
    """The watcher takes the stack of a loader process as well, which was forked from its rank."""
    job, at = stage.job.job, stage.at + seconds(after)
    site, folder, own = job.build["site"], job.script.rsplit("/", 1)[0], job.rank_pids[stage.culprit] + 64
    rows = [f"hang-watcher: loader process of rank {stage.culprit}, py-spy dump --pid {own}"]
    rows += [f"Process {own}: {job.build['python']} -u {job.script}", f"Python v3.11.9 ({job.build['bin']}/python3.11)"]
    rows += ["", f'Thread {own} ({worker.state}): "{worker.name}"']
    for function, file, line in worker.frames:
        short = file.removeprefix(f"{site}/").removeprefix(f"{PYTHON}/").removeprefix(f"{folder}/")
        rows.append(f"    {function} ({short}:{line})")
    stage.job.agent(at, job.node_of(stage.culprit), "\n".join(rows))


def _waits_for_lock(stage: Stage, draw: Draw) -> tuple[tuple[str, str, int], ...]:
    """Where a loader process stands that nobody will ever wake, down to where its rank has forked it."""
    site, script = stage.job.job.build["site"], stage.job.job.script
    inner: tuple[tuple[str, str, int], ...] = draw.pick(
        (
            (("acquire", f"{PYTHON}/logging/__init__.py", 927), ("handle", f"{PYTHON}/logging/__init__.py", 976)),
            (("resize", "/workspace/asr/spectra.py", 88), ("features", "/workspace/asr/spectra.py", 61)),
            (
                ("acquire", "<frozen importlib._bootstrap>", 135),
                ("_find_and_load", "<frozen importlib._bootstrap>", 1175),
                ("decode", "/workspace/asr/dataset.py", 139),
            ),
        )
    )
    return (
        *inner,
        ("__getitem__", "/workspace/asr/dataset.py", 117),
        ("fetch", f"{site}/torch/utils/data/_utils/fetch.py", 52),
        ("_worker_loop", f"{site}/torch/utils/data/_utils/worker.py", 351),
        ("run", f"{PYTHON}/multiprocessing/process.py", 108),
        ("_bootstrap", f"{PYTHON}/multiprocessing/process.py", 314),
        ("_launch", f"{PYTHON}/multiprocessing/popen_fork.py", 71),
        ("__init__", f"{PYTHON}/multiprocessing/popen_fork.py", 19),
        ("start", f"{PYTHON}/multiprocessing/process.py", 121),
        ("__init__", f"{site}/torch/utils/data/dataloader.py", 1172),
        ("__iter__", f"{site}/torch/utils/data/dataloader.py", 494),
        ("main", script, 183),
        ("<module>", script, 212),
    )


@kind(reads=True)
def lock_copied_by_fork(stage: Stage) -> Scenario:
    """A loader process was forked while a thread held a lock that it now waits for (pytorch#1355, cpython#50970)."""
    stage.open()
    unrest.unsettled(stage)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("forked lock")
    site = job.job.build["site"]
    stage.mark(at, f"a loader process of rank {rank} waits for a lock that no thread of it holds")
    waiting = main_thread(
        stage,
        ("select", f"{PYTHON}/selectors.py", 415),
        ("poll", f"{PYTHON}/multiprocessing/connection.py", 257),
        ("get", f"{PYTHON}/multiprocessing/queues.py", 113),
        ("_try_get_data", f"{site}/torch/utils/data/dataloader.py", 1251),
        ("_next_data", f"{site}/torch/utils/data/dataloader.py", 1445),
    )
    after = min(draw.between(21, 44), job.job.timeout_s - 9)
    py_spy(stage, after, (waiting,))
    _stack_of_loader(stage, after + 1.2, Thread("MainThread", _waits_for_lock(stage, draw)))
    stage.hang(at + 40 * MS, rank)
    also = ("rank_hang", "software")
    return stage.close(
        "Loader processes are forked anew for each epoch, while another thread writes to a log.",
        (stage.innocent("data_loading_stall", rank, also=also),),
    )


@kind(hangs=False)
def norm_not_finite(stage: Stage) -> Scenario:
    """The norm of all gradients is no number, and clipping is told to say so: every rank ends (clip_grad_norm_)."""
    stage.open()
    unrest.unsettled(stage)
    job, at, draw, site = stage.job, stage.at, stage.draw.child("norm"), stage.job.job.build["site"]
    stage.mark(at, "the norm of the gradients is not finite")
    if draw.chance(0.5):
        job.note(at - seconds(stage.params.step_s), 0, f"grad norm {draw.between(90, 9_000):.1f} at the last step", "W")
    text = (
        "RuntimeError: The total norm of order 2.0 for gradients from `parameters` is non-finite, so it cannot be "
        "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
        "`error_if_nonfinite=False`"
    )
    module = f"{site}/torch/nn/utils/clip_grad.py"
    frames = (
        *loss_frames(stage, "clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)"),
        sdk.Frame(module, 36, "_no_grad_wrapper", "return func(*args, **kwargs)"),
        sdk.Frame(module, 222, "clip_grad_norm_", "raise RuntimeError("),
    )
    for rank in range(job.job.world):
        job.raise_on(at + draw.span(90, 120), rank, sdk.traceback(sdk.Raised(frames, text)))
    firsts = range(0, job.job.world, job.job.ranks_per_node)
    job.agents_end([Exit(rank, at + 700 * MS + rank * MS, 1) for rank in firsts], at + SEC)
    unrest.hung_up_on(stage)
    made = of_all(stage.innocent("software", also=("data",)))
    return stage.close("The learning rate is too high for BF16.", (made,))
