"""Faults of the program, its kernels and its devices, of the tenth part; storage is innocent, in most of them loud."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, py_spy
from benchmarks.accuracy.generate.faults.tenth import unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk, torchrun
from fixtures.generator.model import Expect, Scenario
from fixtures.generator.moment import MS, local, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit, since

kind = kinds_of("training", "tenth")

#: NCCL that a PyTorch release brings, by the first one, and the line of its transport over multicast.
NCCL = {113: "2.14.3", 201: "2.18.1", 202: "2.19.3", 203: "2.20.5", 205: "2.21.5", 207: "2.26.2", 209: "2.27.5"}
NCCL |= {212: "2.28.9", 214: "2.29.3"}
MULTICAST = {201: 165, 203: 169, 205: 244, 207: 254}


def of_all(made: Expect) -> Expect:
    """What is found where no rank is to blame more than others, or none says which it is."""
    return replace(made, culprit_ranks=None)


def exits(stage: Stage, at: int, rank: int) -> None:
    """A rank exits, and with it the job."""
    stage.job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)


def watched(stage: Stage, at: int, node: int, text: str) -> None:
    """A line of a host's own services, as a monitor copies it into the log of the job."""
    stamp = f"{local(at, stage.job.job.zone):%b %e %H:%M:%S}"
    stage.job.agent(at, node, f"node-monitor: {stamp} {stage.job.job.hosts[node]} {text}")


def standing_in(stage: Stage, line: int, *inner: tuple[str, str, int], state: str = "idle") -> Thread:
    """The main thread of a rank that stands in a line of its script which reads no data."""
    script = stage.job.job.script
    return Thread("MainThread", (*inner, ("main", script, line), ("<module>", script, 212)), state)


def nccl_error(stage: Stage, what: str, last: str, version: str = "") -> str:
    """The exception of a communicator that cannot be made."""
    torch = stage.params.torch_release
    place = f"{torch.source_tree}torch/csrc/distributed/c10d/"
    place += "NCCLUtils.cpp:77" if torch.order > 206 else "ProcessGroupNCCL.cpp:2006"
    name = "torch.distributed.DistBackendError" if torch.order >= 200 else "RuntimeError"
    said, code = what.split("\n")
    tail = f"NCCL version {version or since(NCCL, torch.order)}\n{code}\nLast error:\n{last}"
    return f"{name}: NCCL error in: {place}, {said}, {tail}"


def _switches_not_ready(stage: Stage, at: int, node: int) -> None:
    """Ranks of a host find no device that can be used, before they know of each other."""
    job, site = stage.job, stage.job.job.build["site"]
    for host in range(len(job.job.hosts)):
        for text in torchrun.omp_banner(job.job, host, at - seconds(5.4)):
            job.agent(at - seconds(5.4), host, text)
    for rank in range(job.job.world):
        if job.job.node_of(rank) != node:
            job.greet(at - 90 * MS + rank * 170_000, rank)
    asked = "Did you run some cuda functions before calling NumCudaDevices() that might have already set an error?"
    text = f"Unexpected error from cudaGetDeviceCount(). {asked} Error 802: system not yet initialized"
    text = "No HIP GPUs are available" if job.job.torch.is_rocm else text
    frames = (
        *loss_frames(stage, "torch.cuda.set_device(local_rank)"),
        sdk.Frame(f"{site}/torch/cuda/__init__.py", 529, "set_device", "torch._C._cuda_setDevice(device)"),
        sdk.Frame(f"{site}/torch/cuda/__init__.py", 372, "_lazy_init", "torch._C._cuda_init()"),
    )
    for rank in job.job.ranks_of(node):
        job.raise_on(at + rank * 1_300_000, rank, sdk.traceback(sdk.Raised(frames, f"RuntimeError: {text}")))


def _multicast_not_bound(stage: Stage, at: int, node: int) -> None:
    """NCCL would let the switches of a host add up, and they do not take its memory."""
    job, order = stage.job, stage.params.torch_release.order
    job.start()
    for rank in job.job.ranks_of(node):
        pid, then = job.job.rank_pids[rank], at + seconds(2.3) + rank * 210_000
        head = f"{job.job.hosts[node]}:{pid}:{pid + 88} [{job.job.local_rank(rank)}] transport/nvls.cc:"
        last = "Cuda failure 1 'invalid argument'" if order >= 203 else "Cuda failure 'invalid argument'"
        job.say(then, rank, f"\n{head}{since(MULTICAST, order)} NCCL WARN {last}")
        advice = "ncclUnhandledCudaError: Call to CUDA function failed."
        text = nccl_error(stage, f"unhandled cuda error (run with NCCL_DEBUG=INFO for details)\n{advice}", last)
        job.raise_on(then + 5 * MS, rank, sdk.traceback(sdk.Raised(loss_frames(stage, "dist.barrier()"), text)))


@kind(hangs=False, trains=False, hosts=2)
def fabric_manager_stopped(stage: Stage) -> Scenario:
    """The daemon that sets up the switches between a host's devices does not run, or was started anew beneath them."""
    beside(stage, unrest.disk_found_well_early)
    job, draw = stage.job, stage.draw.child("switches")
    node, at = job.job.node_of(stage.culprit), job.begin - seconds(1.3)
    stage.mark(at, f"the switches of {job.job.hosts[node]} are not set up")
    is_rocm = job.job.torch.is_rocm
    is_old = job.job.torch.order < 201
    by_nccl = draw.chance(0.5) and not is_rocm and not is_old
    said = "nvidia-fabricmanager.service: Main process exited, code=exited, status=1/FAILURE"
    said = "nvidia-fabricmanager.service: Scheduled restart job, restart counter is at 1." if by_nccl else said
    said = "amdgpu: /dev/kfd cannot be opened by the group of this job" if is_rocm else said
    if is_rocm or draw.chance(0.7):
        watched(stage, at - seconds(draw.between(3, 30)), node, said if is_rocm else f"systemd[1]: {said}")
    (_multicast_not_bound if by_nccl else _switches_not_ready)(stage, at, node)
    over = at + seconds(3.4 if by_nccl else 0.9)
    first = job.job.ranks_of(node)[0]
    job.agents_end([Exit(first, over, 1)], over)
    also = ("gpu_fabric", "infrastructure", "software")
    return stage.close(
        "Packages of drivers were upgraded by half on one host.", (of_all(stage.innocent("gpu", also=also)),)
    )


@kind(hangs=False)
def devices_withdrawn(stage: Stage) -> Scenario:
    """Systemd reloads its units and takes the devices from a container: what is asked anew of them fails."""
    beside(stage, unrest.tenant_batches_fail)
    stage.open()
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("withdrawn")
    node, site, is_rocm = job.job.node_of(rank), job.job.build["site"], job.job.torch.is_rocm
    began = stage.mark(at - seconds(draw.between(4, 26)), f"the container of rank {rank} loses its devices")
    if draw.chance(0.6):
        watched(stage, began, node, "systemd[1]: Reloading.")
    if draw.chance(0.7) and not is_rocm:
        watched(stage, began + draw.span(1_200, 3_500), node, "dcgm-exporter: Failed to initialize NVML: Unknown Error")
    place = f"{job.job.torch.source_tree}c10/cuda/CUDACachingAllocator.cpp"
    text = (
        f'NVML_SUCCESS == r INTERNAL ASSERT FAILED at "{place}":{draw.pick((838, 995, 1016, 1131))}, please report a '
    )
    text += "bug to PyTorch. "
    frames = loss_frames(stage, "loss = criterion(model(batch), batch)")
    if is_rocm or draw.chance(0.4):
        text = f"No {'HIP' if is_rocm else 'CUDA'} GPUs are available"
        place = f"{site}/torch/cuda/__init__.py"
        frames = (
            *loss_frames(stage, "scores = scorer.in_a_process_of_its_own(hypotheses)"),
            sdk.Frame("/workspace/asr/scorer.py", 57, "in_a_process_of_its_own", "raise self._error"),
            sdk.Frame("/workspace/asr/scorer.py", 33, "_serve", "model = load(path).cuda()"),
            sdk.Frame(place, 372, "_lazy_init", "torch._C._cuda_init()"),
        )
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"RuntimeError: {text}")))
    exits(stage, at, rank)
    beside(stage, unrest.answers_into_nothing)
    also = ("gpu", "software")
    return stage.close(
        "A package was configured on a host in the middle of the day.",
        (stage.innocent("infrastructure", rank, also=also),),
    )


@kind(hangs=False)
def splits_do_not_add_up(stage: Stage) -> Scenario:
    """A router of experts counts other tokens than are there: one rank's exchange is refused before it begins."""
    stage.open()
    beside(stage, unrest.repeated_until_now)
    rank, at, site = stage.culprit, stage.at, stage.job.job.build["site"]
    draw = stage.draw.child("splits")
    stage.mark(at, f"the router of rank {rank} counts other tokens than are there")
    rows = draw.whole(3_000, 60_000)
    if draw.chance(0.5):
        said = f"router: {rows} tokens, {rows - draw.whole(1, 40)} of them routed, the others are dropped"
        stage.job.note(at - draw.span(20, 200), rank, said, "W", 64, "router")
    text = draw.pick(("Split sizes doesn't match total dim 0 size", "Number of tensor splits not equal to group size"))
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame("/workspace/asr/experts.py", 118, "dispatch", "dist.all_to_all_single(out, tokens, gets, gives)"),
        sdk.Frame(
            f"{site}/torch/distributed/distributed_c10d.py",
            4478,
            "all_to_all_single",
            "work = group.alltoall_base(output, input, output_split_sizes, input_split_sizes, opts)",
        ),
    )
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"RuntimeError: {text}")))
    exits(stage, at, rank)
    also = ("collective_mismatch", "data")
    return stage.close(
        "Tokens above the capacity of an expert are dropped in one place and counted in another.",
        (stage.innocent("software", rank, also=also),),
    )


@kind(hangs=False, torch_order=201)
def recomputed_otherwise(stage: Stage) -> Scenario:
    """What a layer computes again for its gradient has another shape than before: one rank is told so."""
    stage.open()
    beside(stage, commotion.throttled_in_window)
    rank, at, site = stage.culprit, stage.at, stage.job.job.build["site"]
    draw, is_shape = stage.draw.child("again"), stage.draw.child("again shape").chance(0.7)
    stage.mark(at, f"rank {rank} computes a layer again, with another result")
    rows, width, place = draw.whole(400, 4_000), draw.pick((512, 1024)), draw.whole(3, 40)
    device = f"device(type='cuda', index={stage.job.job.local_rank(rank)})"
    saved = f"{{'shape': torch.Size([{rows}, {width}]), 'dtype': torch.bfloat16, 'device': {device}}}"
    again = (
        saved.replace(f"[{rows},", f"[{rows - draw.whole(1, 90)},")
        if is_shape
        else saved.replace("bfloat16", "float32")
    )
    whole = (
        "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
    )
    whole += f"forward pass.\ntensor at position {place}:\nsaved metadata: {saved}\nrecomputed metadata: {again}\n"
    module = f"{site}/torch/utils/checkpoint.py"
    frames = (
        *loss_frames(stage, "scaler.scale(loss).backward()"),
        sdk.Frame(module, 1129, "unpack_hook", "frame.check_recomputed_tensors_match(gid)"),
        sdk.Frame(module, 903, "check_recomputed_tensors_match", "raise CheckpointError("),
    )
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"torch.utils.checkpoint.CheckpointError: {whole}")))
    exits(stage, at, rank)
    beside(stage, unrest.answers_into_nothing)
    return stage.close(
        "A layer draws what it leaves out from a generator that is not put back.",
        (stage.innocent("software", rank, also=("data", "gpu")),),
    )


@kind()
def kernel_never_ends(stage: Stage) -> Scenario:
    """A kernel of the site's own waits for blocks that do not fit on the device: its rank waits for it for good."""
    stage.open()
    beside(stage, unrest.peer_reconnects)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("kernel")
    node, site = job.job.node_of(rank), job.job.build["site"]
    stage.mark(at, f"a kernel of rank {rank} never ends")
    blocks = draw.pick((108, 132, 144))
    if draw.chance(0.5):
        said = f"scan: {blocks + draw.whole(4, 60)} blocks for {blocks} multiprocessors, one kernel for all of them"
        job.note(at - 20 * MS, rank, said, "W", 88, "scan")
    name = "amd-smi" if job.job.torch.is_rocm else "dcgm"
    for after in (15.0, 30.0, 90.0):
        if after < job.job.timeout_s - 4:
            busy = f"GPU {job.job.local_rank(rank)} busy 100 %, memory 0 %, {draw.whole(120, 190)} W, links idle"
            watched(stage, at + seconds(after) + draw.span(1, 900), node, f"{name}: {busy}")
    main = standing_in(
        stage,
        191,
        ("synchronize", f"{site}/torch/cuda/__init__.py", 1040),
        ("scan_forward", "/workspace/asr/scan.py", 71),
        ("forward", "/workspace/asr/model.py", 140),
        state="active",
    )
    pinning = Thread("Thread-3 (_pin_memory_loop)", (("wait", f"{PYTHON}/threading.py", 331),))
    py_spy(stage, min(draw.between(22, 44), job.job.timeout_s - 9), (main, pinning))
    stage.hang(at + 40 * MS, rank)
    return stage.close(
        "The kernel was written for a device with more multiprocessors.",
        (stage.innocent("software", rank, also=("gpu", "rank_hang")),),
    )
