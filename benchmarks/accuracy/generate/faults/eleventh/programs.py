"""Faults of the program and of what it takes from its host, of the eleventh part; storage is innocent, often loud."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, watched
from benchmarks.accuracy.generate.faults.words.clients import PYTHON, fetch_frames
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage

kind = kinds_of("training", "eleventh")


@kind(hangs=False, reads=True)
def no_items_of_ancdata(stage: Stage) -> Scenario:
    """Loader processes hand tensors over as descriptors, and the rank has as many as it may have (pytorch#973)."""
    stage.open()
    unrest.unsettled(stage)
    rank, at, site = stage.culprit, stage.at, stage.job.job.build["site"]
    stage.mark(at, f"rank {rank} has no descriptor left for a tensor of its loader")
    if stage.draw.child("descriptors").chance(0.3):
        said = "ulimit -n is 1024, sharing strategy file_descriptor, 8 loader processes"
        stage.job.note(stage.job.begin - 900 * MS, rank, said, "W", 64)
    inner = (
        sdk.Frame(f"{site}/torch/utils/data/dataloader.py", 1251, "_try_get_data", "data = self._data_queue.get("),
        sdk.Frame(f"{PYTHON}/multiprocessing/queues.py", 122, "get", "return _ForkingPickler.loads(res)", True),
        sdk.Frame(f"{site}/torch/multiprocessing/reductions.py", 541, "rebuild_storage_fd", "fd = df.detach()", True),
        sdk.Frame(f"{PYTHON}/multiprocessing/resource_sharer.py", 58, "detach", "return reduction.recv_handle(conn)"),
        sdk.Frame(f"{PYTHON}/multiprocessing/reduction.py", 189, "recv_handle", "return recvfds(s, 1)[0]"),
        sdk.Frame(
            f"{PYTHON}/multiprocessing/reduction.py", 164, "recvfds", "raise RuntimeError('received %d items of '"
        ),
    )
    caller = fetch_frames(stage, "batch = next(self.batches)", *inner)
    text = "RuntimeError: received 0 items of ancdata"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, text)))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    also = ("software", "data_loading_stall")
    return stage.close(
        "Metrics keep a tensor of every batch, and with it its descriptor.",
        (stage.innocent("infrastructure", rank, also=also),),
    )


def _feeding(site: str) -> tuple[sdk.Frame, ...]:
    """A loader process puts a batch into the shared memory that it hands over."""
    return (
        sdk.Frame(f"{PYTHON}/multiprocessing/queues.py", 244, "_feed", "obj = _ForkingPickler.dumps(obj)", True),
        sdk.Frame(f"{PYTHON}/multiprocessing/reduction.py", 51, "dumps", "cls(buf, protocol).dump(obj)"),
        sdk.Frame(
            f"{site}/torch/multiprocessing/reductions.py", 568, "reduce_storage", "fd, size = storage._share_fd_cpu_()"
        ),
        sdk.Frame(f"{site}/torch/storage.py", 374, "_share_fd_cpu_", "return super()._share_fd_cpu_(*args, **kwargs)"),
    )


@kind(hangs=False, reads=True)
def shared_memory_used_up(stage: Stage) -> Scenario:
    """A loader process finds no room in /dev/shm for a batch and says what a full disk would say (ultralytics#1238)."""
    stage.open()
    unrest.unsettled(stage)
    job, rank, at, site = stage.job, stage.culprit, stage.at, stage.job.job.build["site"]
    draw = stage.draw.child("shm")
    stage.mark(at, f"/dev/shm of the host of rank {rank} is full")
    if draw.chance(0.35):
        size = draw.pick(("64M", "8.0G", "16G"))
        watched(stage, at - draw.span(900, 9_000), job.job.node_of(rank), f"check[881]: shm {size} 100% /dev/shm")
    pid = job.job.rank_pids[rank] + draw.whole(61, 96)
    name = f"torch_{pid}_{draw.whole(10**8, 4 * 10**9)}_{draw.whole(0, 9)}"
    full = f"RuntimeError: unable to write to file </{name}>: No space left on device (28)"
    job.say(at - draw.span(60, 900), rank, sdk.traceback(sdk.Raised(_feeding(site), full)))
    if draw.chance(0.7):
        said = "Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm)."
        job.say(at - 30 * MS, rank, f"ERROR: {said}")
    place = f"{site}/torch/utils/data"
    handler = sdk.Frame(f"{place}/_utils/signal_handling.py", 73, "handler", "_error_if_any_worker_fails()")
    signal = "Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your "
    killed = f"RuntimeError: DataLoader worker (pid {pid}) is killed by signal: {signal}shared memory limit."
    caller = sdk.main_frames(
        job.job, stage.step, sdk.Frame(f"{place}/dataloader.py", 1297, "_try_get_data", "raise RuntimeError(")
    )
    last = f"RuntimeError: DataLoader worker (pid(s) {pid}) exited unexpectedly"
    raised = sdk.Raised((handler,), killed, sdk.DIRECT)
    job.raise_on(at, rank, sdk.traceback(raised, sdk.Raised(caller, last)))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    also = ("software", "data_loading_stall")
    return stage.close(
        "The container has the shared memory it gets by default.",
        (stage.innocent("infrastructure", rank, also=also),),
    )


@kind(hangs=False)
def kernel_out_of_resources(stage: Stage) -> Scenario:
    """A batch of a new length has a kernel compiled that wants more than a multiprocessor has (pytorch#133254)."""
    stage.open()
    unrest.unsettled(stage)
    job, rank, at, site = stage.job, stage.culprit, stage.at, stage.job.job.build["site"]
    draw, order = stage.draw.child("resources"), stage.params.torch_release.order
    stage.mark(at, f"rank {rank} compiles a kernel that cannot be launched")
    wanted, limit = draw.pick(((262_144, 232_448), (131_072, 101_376), (196_608, 166_912)))
    what = f"out of resource: shared memory, Required: {wanted}, Hardware limit: {limit}. Reducing block sizes or "
    what += "`num_stages` may help."
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(f"{site}/torch/_dynamo/eval_frame.py", 655, "_fn", "return fn(*args, **kwargs)", True),
    )
    if order >= 207 and draw.chance(0.6):
        frames = (
            *frames,
            sdk.Frame(f"{site}/torch/_inductor/compile_fx.py", 760, "_compile_fx_inner", "raise InductorError(e,"),
        )
        text = f"torch._inductor.exc.InductorError: OutOfResources: {what}\n\n"
        text += "Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace (please do this especially if you're "
        text += 'reporting a bug to PyTorch). For even more developer context, set TORCH_LOGS="+dynamo"\n'
    else:
        frames = (
            *frames,
            sdk.Frame(f"{site}/triton/runtime/jit.py", 617, "run", "kernel.run(grid_0, grid_1, grid_2, stream,"),
            sdk.Frame(f"{site}/triton/compiler/compiler.py", 483, "_init_handles", "raise OutOfResources("),
        )
        text = f"triton.runtime.errors.OutOfResources: {what}"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    return stage.close(
        "Nobody had trained on segments of that length before.", (stage.innocent("software", rank, also=("gpu",)),)
    )
