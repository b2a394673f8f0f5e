"""Faults of the program or its device, of the seventh part; storage is innocent."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames, raise_and_exit
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.model import Expect, Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit, since

kind = kinds_of("training", "seventh")

#: NCCL that comes with a PyTorch release.
NCCL = {113: "2.14.3", 201: "2.18.1", 202: "2.19.3", 203: "2.20.5", 205: "2.21.5", 207: "2.26.2", 208: "2.27.3"}
NCCL |= {210: "2.27.5", 212: "2.28.9", 214: "2.29.3"}


def _exits(stage: Stage, at: int, rank: int) -> None:
    """A rank exits, and with it the job."""
    stage.job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)


@kind(hangs=False, reads=True, lead_s=95.0, without=("restart_before",))
def pin_thread_fails(stage: Stage) -> Scenario:
    """The thread that copies batches into page-locked memory gets no more of it. A target was restarted just before."""
    stage.open()
    beside(stage, commotion.restart_survived)
    job, rank, at, site = stage.job, stage.culprit, stage.at, stage.job.job.build["site"]
    order = job.job.torch.order
    stage.mark(at, f"the host of rank {rank} gives no more page-locked memory")
    words = ("out of memory",) if job.job.torch.is_rocm else ("out of memory", "resource already mapped")
    what = stage.draw.child("pinned").pick(words)
    name = "cudaErrorMemoryAllocation" if what == "out of memory" else "cudaErrorAlreadyMapped"
    name = "hipErrorOutOfMemory" if job.job.torch.is_rocm else name
    error = "AcceleratorError" if order >= 208 else "RuntimeError"
    prefix = "torch." if order >= 208 else ""
    module = f"{site}/torch/utils/data/_utils/pin_memory.py"
    inner = (
        sdk.Frame(module, 43, "do_one_step", "data = pin_memory(data, device)"),
        sdk.Frame(module, 81, "pin_memory", "{k: pin_memory(sample, device) for k, sample in data.items()}"),
        sdk.Frame(module, 70, "pin_memory", "return data.pin_memory()"),
    )
    original = sdk.traceback(sdk.Raised(inner, f"{prefix}{error}: {cuda_error(order, what, name)}"))
    where = f"{prefix}{error}: Caught {error} in pin memory thread for device {job.job.local_rank(rank)}."
    caller = sdk.main_frames(
        job.job, stage.step, sdk.Frame(f"{site}/torch/_utils.py", 733, "reraise", "raise exception")
    )
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, f"{where}\nOriginal {original}")))
    _exits(stage, at, rank)
    also = ("infrastructure", "software", "data_loading_stall")
    return stage.close(
        "Batches grew with a new bucket of lengths; the limit of locked memory of the pod did not.",
        (stage.innocent("gpu", rank, also=also),),
    )


@kind(hangs=False)
def no_engine_found(stage: Stage) -> Scenario:
    """cuDNN has no engine for a batch of an odd shape: its words begin with GET. Another tenant's data are bad."""
    beside(stage, commotion.tenant_meets_bad_data)
    stage.open()
    rank, at, site = stage.culprit, stage.at, stage.job.job.build["site"]
    stage.mark(at, f"cuDNN cannot compute a batch of rank {rank}")
    texts = (
        "GET was unable to find an engine to execute this computation",
        "GET was unable to find an engine to execute this computation",
        "cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
        "FIND was unable to find an engine to execute this computation",
    )
    text = stage.draw.child("engine").pick(texts)
    if stage.params.torch_release.is_rocm:
        text = "miopenStatusUnknownError"
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(f"{site}/torch/nn/modules/conv.py", 549, "forward", "return self._conv_forward(input, self.weight)"),
        sdk.Frame(f"{site}/torch/nn/modules/conv.py", 544, "_conv_forward", "return F.conv2d("),
    )
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"RuntimeError: {text}")))
    _exits(stage, at, rank)
    also = ("gpu",)
    return stage.close(
        "A batch of one very long utterance meets a convolution in a channels-last layout.",
        (stage.innocent("software", rank, also=also),),
    )


@kind(hangs=False, torch_before=215, words_only=True)
def gather_on_one_rank(stage: Stage) -> Scenario:
    """One rank gathers what it wants to log while the others reduce gradients; its reads were repeated just before."""
    stage.open()
    beside(stage, commotion.reads_recover)
    job, rank, at = stage.job, stage.culprit, stage.at
    draw = stage.draw.child("gather")
    job.note(at - 40 * MS, rank, f"new best wer={draw.between(4, 19):.2f} on this rank, gathering hypotheses", "W", 158)
    stage.mark(at, f"rank {rank} gathers, the others reduce")
    stuck = stage.everyone_else()
    site, script = job.job.build["site"], job.job.script
    frames = (
        f"#0 all_gather from {site}/torch/distributed/distributed_c10d.py:3742",
        f"#1 all_gather_object from {site}/torch/distributed/distributed_c10d.py:3001",
        f"#2 log_best from {script}:160",
        f"#3 main from {script}:199",
        f"#4 <module> from {script}:212",
    )
    mine = stuck[rank]
    stuck[rank] = replace(mine, op="ALLGATHER", numel_in=1, numel_out=job.job.world, frames=frames)
    end = job.hang(at, stuck)
    stage.mark(end, f"job {job.job.job_id} has ended")
    also = ("software", "rank_hang")
    return stage.close(
        "A collective stands in a branch that only the rank with the best result takes.",
        (stage.innocent("collective_mismatch", rank, also=also),),
    )


@kind(hangs=False)
def communicator_no_memory(stage: Stage) -> Scenario:
    """PyTorch's cache holds the whole device when NCCL is to open a communicator: no allocator speaks, NCCL does."""
    stage.open()
    beside(stage, commotion.throttled_in_window)
    job, rank, at, torch = stage.job, stage.culprit, stage.at, stage.params.torch_release
    stage.mark(at, f"NCCL finds no memory on the device of rank {rank}")
    host, pid, chip = job.job.hosts[job.job.node_of(rank)], job.job.rank_pids[rank], "HIP" if torch.is_rocm else "Cuda"
    head = f"{host}:{pid}:{pid + 91} [{job.job.local_rank(rank)}] include/alloc.h"
    size = stage.draw.child("bytes").pick((2_097_152, 6_291_456, 10_485_760))
    job.say(at - 3 * MS, rank, f"\n{head}:228 NCCL WARN {chip} failure 'out of memory'\n")
    job.say(at - 2 * MS, rank, f"\n{head}:233 NCCL WARN Failed to CUDA calloc {size} bytes\n")
    place = f"{torch.source_tree}torch/csrc/distributed/c10d/"
    place += "NCCLUtils.cpp:81" if torch.order > 206 else "ProcessGroupNCCL.cpp:1970"
    error = f"NCCL error in: {place}, unhandled cuda error (run with NCCL_DEBUG=INFO for details)"
    name = "torch.distributed.DistBackendError" if torch.order >= 200 else "RuntimeError"
    said = f"ncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nFailed to CUDA calloc {size} bytes"
    text = f"{name}: {error}, NCCL version {since(NCCL, torch.order)}\n{said}"
    raise_and_exit(stage, at, rank, text, "dist.all_gather(hypotheses, mine, group=validation_group)")
    also = ("software",)
    return stage.close(
        "The group of the validation is used for the first time when the cache is at its largest.",
        (stage.innocent("gpu", rank, also=also),),
    )


@kind(hangs=False, trains=False, hosts=2)
def params_differ(stage: Stage) -> Scenario:
    """The image on one host has another vocabulary: DDP compares all parameters with those of rank 0 and says so."""
    job, site, draw = stage.job, stage.job.job.build["site"], stage.draw.child("differ")
    job.start()
    node = job.job.node_of(stage.culprit) or len(job.job.hosts) - 1
    ranks = tuple(job.job.ranks_of(node))
    at = stage.mark(job.begin + seconds(0.2), f"the models of host {job.job.hosts[node]} are other ones")
    count, is_counted = draw.whole(390, 720), draw.chance(0.4)
    frames = (
        *loss_frames(stage, "model = DistributedDataParallel(model, device_ids=[local_rank])"),
        sdk.Frame(f"{site}/torch/nn/parallel/distributed.py", 835, "__init__", "_verify_param_shape_across_processes("),
        sdk.Frame(
            f"{site}/torch/distributed/utils.py",
            282,
            "_verify_param_shape_across_processes",
            "return dist._verify_params_across_processes(process_group, tensors, logger)",
        ),
    )
    tail = "in this process with sizes [1025, 640] appears not to match sizes of the same param in process 0."
    for rank in range(job.job.world) if is_counted else ranks:
        mine, other = (count + 2, 0) if rank in ranks else (count, ranks[0])
        text = f"[{rank}]: params[{count - 2}] {tail}"
        if is_counted:
            text = f"DDP expects same model across all ranks, but Rank {rank} has {mine} params, while rank {other} has"
            text += f" inconsistent {count if rank in ranks else count + 2} params."
        job.raise_on(at + rank * 210_000, rank, sdk.traceback(sdk.Raised(frames, f"RuntimeError: {text}")))
    first = ranks[0] if not is_counted else 0
    _exits(stage, at + 40 * MS, first)
    made: Expect = stage.innocent("collective_mismatch", *ranks, also=("software", "infrastructure", "data"))
    return stage.close("A host has kept an image of the same tag.", (made,))


@kind(hangs=False, reads=True)
def cuda_in_loader(stage: Stage) -> Scenario:
    """The validation's transform uses the device in loader processes that were forked. Another tenant's reads fail."""
    beside(stage, commotion.tenant_backend_fails)
    stage.open()
    job, at, site = stage.job.job, stage.at, stage.job.job.build["site"]
    stage.mark(at, "every rank starts the loader of its validation")
    again = "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn'"
    frames = (
        sdk.Frame(job.script, 86, "featurize", 'return self.mel(audio.to("cuda"))', True),
        sdk.Frame(f"{site}/torch/cuda/__init__.py", 358, "_lazy_init", "raise RuntimeError("),
    )
    for rank in range(job.world):
        in_worker(stage, at + rank * 330_000, rank, "RuntimeError", f"{again} start method", frames)
    exits = [Exit(rank, at + 800 * MS + rank * MS, 1) for rank in range(0, job.world, job.ranks_per_node)]
    stage.job.agents_end(exits, at + 900 * MS)
    made: Expect = replace(stage.innocent("software", also=("gpu",)), culprit_ranks=None)
    return stage.close("Features of the validation were moved to the GPU to save time.", (made,))
