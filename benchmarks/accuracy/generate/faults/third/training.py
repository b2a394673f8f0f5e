"""Faults of one rank's program, of the third part; storage is innocent, in some of them loud."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames, raise_and_exit
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import mountpath_before, tenant_rejected
from benchmarks.accuracy.generate.scene import Scene
from fixtures.generator import aisfaults as faults
from fixtures.generator import sdk, watchdog
from fixtures.generator.model import Expect, Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "third")


@kind(hangs=False)
def nvlink_error(stage: Stage) -> Scenario:
    """A link between two GPUs has an error that cannot be corrected; the watchdog thread of a rank meets it."""
    stage.open()
    job, rank, at = stage.job, stage.culprit, stage.at
    stage.mark(at, f"an NVLink of the GPU of rank {rank} fails")
    what = "uncorrectable NVLink error detected during the execution"
    cause = cuda_error(job.job.torch.order, what, "cudaErrorNvlinkUncorrectable")
    for text in watchdog.taken_down(job.job, rank, at, cause, timed_out=False):
        job.say(at, rank, text)
    job.agents_end([Exit(rank, at + 400 * MS, -6)], at + 400 * MS)
    return stage.close("A link of the NVSwitch is bad.", (stage.innocent("gpu", rank, also=("gpu_fabric",)),))


@kind(hangs=False)
def decoder_crashes(stage: Stage) -> Scenario:
    """A DataLoader worker ends with a segmentation fault in a native audio decoder."""
    stage.open()
    job, rank, at = stage.job, stage.culprit, stage.at
    stage.mark(at, f"a DataLoader worker of rank {rank} crashes")
    job.say(at - 30 * MS, rank, "ERROR: Unexpected segmentation fault encountered in worker.")
    pid = job.job.rank_pids[rank] + 11
    text = f"RuntimeError: DataLoader worker (pid {pid}) is killed by signal: Segmentation fault. "
    raise_and_exit(stage, at, rank, text, "batch = next(iterator)")
    also = ("infrastructure", "data", "data_loading_stall")
    return stage.close("A codec has a bug.", (stage.innocent("software", rank, also=also),))


@kind(hangs=False)
def index_out_of_range(stage: Stage) -> Scenario:
    """A tokenizer knows more tokens than the model: an assertion on the device; a full target turns others down."""
    beside(stage, tenant_rejected)
    stage.open()
    job, rank, at, torch = stage.job, stage.culprit, stage.at, stage.params.torch_release
    stage.mark(at, f"rank {rank} has a token that its model does not know")
    what = "Assertion `srcIndex < srcSelectDimSize` failed."
    for thread in range(96, 104):
        place = f"{torch.source_tree}aten/src/ATen/native/cuda/Indexing.cu:1292: indexSelectLargeIndex"
        job.say(at - 40 * MS, rank, f"{place}: block: [{thread % 7 * 31},0,0], thread: [{thread},0,0] {what}")
    name = "torch.AcceleratorError" if torch.order >= 208 else "RuntimeError"
    text = f"{name}: {cuda_error(torch.order, 'device-side assert triggered', 'cudaErrorAssert')}"
    raise_and_exit(stage, at, rank, text, "loss = criterion(model(batch), batch)")
    return stage.close(
        "The vocabulary grew, the embedding did not.", (stage.innocent("software", rank, also=("data", "gpu")),)
    )


@kind(hangs=False)
def cannot_pickle(stage: Stage) -> Scenario:
    """A second loader is to be started in new processes, with a function that cannot be sent to them."""
    stage.open()
    job, at, site = stage.job, stage.at, stage.job.job.build["site"]
    stage.mark(at, "every rank starts the loader of its validation")
    frames = (
        sdk.Frame(job.job.script, 212, "<module>", "main()"),
        sdk.Frame(job.job.script, 201, "main", "for batch in validation_loader:", True),
        sdk.Frame(f"{site}/torch/utils/data/dataloader.py", 1042, "__init__", "w.start()"),
        sdk.Frame("/opt/conda/lib/python3.11/multiprocessing/popen_spawn_posix.py", 47, "_launch", "reduction.dump("),
        sdk.Frame(
            "/opt/conda/lib/python3.11/multiprocessing/reduction.py",
            60,
            "dump",
            "ForkingPickler(file, protocol).dump(obj)",
        ),
    )
    raised = sdk.traceback(sdk.Raised(frames, "AttributeError: Can't pickle local object 'main.<locals>.collate'"))
    for rank in range(job.job.world):
        job.raise_on(at + rank * 310_000, rank, raised)
    exits = [Exit(rank, at + 800 * MS + rank * MS, 1) for rank in range(0, job.job.world, job.job.ranks_per_node)]
    job.agents_end(exits, at + 900 * MS)
    made: Expect = replace(stage.innocent("software", also=("data",)), culprit_ranks=None)
    return stage.close("A function inside a function is no use to another process.", (made,))


@kind(hangs=False, lead_s=75.0)
def stale_handle(stage: Stage) -> Scenario:
    """The NFS server of the checkpoints was exported anew: a rank's write fails; a disk of AIStore failed before."""
    beside(stage, mountpath_before)
    stage.open()
    job, rank, at = stage.job, stage.culprit, stage.at
    stage.mark(at, f"the NFS handle of rank {rank} is stale")
    path = f"/nfs/exp/{job.job.task}/step={stage.step}/shard-{rank:05d}.pt"
    job.note(at - 900 * MS, rank, f"writing {path}", line=118)
    raise_and_exit(stage, at, rank, f"OSError: [Errno 116] Stale file handle: '{path}'", "torch.save(state, path)")
    return stage.close(
        "The checkpoints lie on NFS, not in AIStore.", (stage.innocent("infrastructure", rank, also=("software",)),)
    )


@kind(may_be_undetermined=True)
def extension_lock(stage: Stage) -> Scenario:
    """A rank is to load a compiled extension and waits for a lock file that a dead process left."""
    stage.open()
    job, rank, at = stage.job, stage.culprit, stage.at
    stage.mark(at, f"rank {rank} waits for the lock of an extension")
    job.say(at - 20 * MS, rank, "Using /root/.cache/torch_extensions/py311_cu121 as PyTorch extensions root...")
    stage.hang(at + 20 * MS, rank)
    also = ("software", "undetermined", "data_loading_stall")
    return stage.close("A lock file outlived its owner.", (stage.innocent("rank_hang", rank, also=also),))


@kind(hangs=False, words_only=True)
def barrier_missed(stage: Stage) -> Scenario:
    """A rank still aligns when the others come to a monitored barrier; rank 0 names it, the others know of nothing."""
    stage.open()
    job, rank, at, torch = stage.job, stage.culprit, stage.at, stage.params.torch_release
    job.note(at - 25 * MS, rank, "aligning 41233 cuts before the evaluation", "W", 152)
    stage.mark(at, f"rank {rank} is busy while the others wait at a barrier")
    limit = job.job.timeout_s * 1000
    over = at + seconds(job.job.timeout_s + 0.02)
    what = f"Rank {rank} failed to pass monitoredBarrier in {limit} ms"
    tree = f"{torch.source_tree}third_party/gloo/gloo/transport/tcp"
    gloo = f"[{tree}/unbound_buffer.cc:78] Timed out waiting {limit}ms for recv operation to complete"
    job.say(over, 0, watchdog.cpp(job.job, 0, over, 138, f"[Rank 0]: {what}", file="ProcessGroupGloo.cpp"))
    frames = loss_frames(stage, "dist.monitored_barrier(group=cpu_group)")
    raised = sdk.Raised(frames, f"RuntimeError: {what}\n Original exception: \n{gloo}")
    job.raise_on(over + 2 * MS, 0, sdk.traceback(raised))
    lost = f"[{tree}/pair.cc:553] Connection closed by peer [10.9.0.2]:17319"
    for other in range(1, job.job.world):
        if other != rank:
            text = f"RuntimeError: Rank {other} successfully reached monitoredBarrier, but received errors while "
            text += "waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank."
            raised = sdk.Raised(frames, f"{text}\n Original exception: \n{lost}")
            job.raise_on(over + 700 * MS + other * MS, other, sdk.traceback(raised))
    firsts = [next(one for one in job.job.ranks_of(node) if one != rank) for node in range(len(job.job.hosts))]
    job.agents_end([Exit(one, over + 900 * MS + one * MS, 1) for one in firsts], over + 900 * MS)
    also = ("software", "undetermined", "data_loading_stall")
    return stage.close("Only one rank has work left before a barrier.", (stage.innocent("rank_hang", rank, also=also),))


def _restart_just_now(scene: Scene) -> None:
    """A target is restarted half a minute before the fault; the rebalance that follows takes longer than that."""
    cluster, node, at = scene.cluster, scene.bystander(), scene.at
    scene.mark(at - seconds(31), f"SIGTERM {node.name}")
    faults.terminate(cluster, node, at - seconds(31))
    joined = faults.start_again(cluster, node, at - seconds(22))
    cluster.start_batches(joined + seconds(3.6), scene.other_target(node))


@kind(hangs=False, reads=True, lead_s=75.0)
def exception_in_rebalance(stage: Stage) -> Scenario:
    """Tensors of two lengths meet in the loss while the cluster is still moving objects after a restart."""
    stage.open()
    rank, at = stage.culprit, stage.at
    beside(stage, _restart_just_now)
    stage.mark(at, f"rank {rank} compares tensors of two lengths")
    sizes = "The size of tensor a (1024) must match the size of tensor b (1023) at non-singleton dimension 1"
    raise_and_exit(stage, at, rank, f"RuntimeError: {sizes}", "loss = (weights * losses).sum()")
    return stage.close(
        "A target was restarted and the rebalance still runs; the exception has nothing to do with it.",
        (stage.innocent("software", rank, also=("data",)),),
    )
