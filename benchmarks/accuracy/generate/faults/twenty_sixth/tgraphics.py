"""Graphics cards, their memory and their drivers, of the twenty-sixth part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.ninth import unrest as ninth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, standing_in, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.words import commotion, launchers
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames, without_carets
from benchmarks.accuracy.generate.faults.words.tellers import node_fails, told
from benchmarks.accuracy.generate.faults.words.training_beginnings import are_there, others_go_with
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_sixth")

#: Where the cards of a host sit on its bus.
CARDS = ("0000:0f:00", "0000:2d:00", "0000:44:00", "0000:5b:00", "0000:89:00", "0000:a8:00", "0000:c0:00", "0000:d8:00")


def _card(stage: Stage, rank: int) -> str:
    return CARDS[stage.job.job.local_rank(rank) % len(CARDS)]


def _allocator(stage: Stage, rank: int, wanted: float, free: float, whole: float) -> str:
    """The exception of PyTorch's allocator; its class and the variable it speaks of changed with releases."""
    order, draw = stage.job.job.torch.order, stage.draw.child("allocator")
    name = "torch.OutOfMemoryError" if order >= 205 else "torch.cuda.OutOfMemoryError"
    variable = "PYTORCH_ALLOC_CONF" if order >= 210 else "PYTORCH_CUDA_ALLOC_CONF"
    used, idle = whole - free, draw.between(0.1, 0.9)
    return (
        f"{name}: CUDA out of memory. Tried to allocate {wanted:.2f} GiB. GPU {stage.job.job.local_rank(rank)} has a "
        f"total capacity of {whole:.2f} GiB of which {free:.2f} GiB is free. Including non-PyTorch memory, this "
        f"process has {used:.2f} GiB memory in use. Of the allocated memory {used - idle - 0.6:.2f} GiB is allocated "
        f"by PyTorch, and {idle:.2f} GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is "
        f"large try setting {variable}=expandable_segments:True to avoid fragmentation.  See documentation for Memory "
        "Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=RESTARTS)
def long_batch_out_of_memory(stage: Stage) -> Scenario:
    """One batch has far longer clips than the others, and attention over them does not fit (NeMo and ESPnet issues).

    To acquit: the rank tells how long its batch is, which it has whole; the allocator wants more than the card has; the
    target that was killed half a minute before is ready again and takes part in get-batch since.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, upload_unrest.tenant_uploads_break_off))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("long batch")
    whole, usual = draw.pick((23.65, 39.38, 79.11)), draw.between(11, 17)
    told(stage, job.begin - 260 * MS, 0, "data", "dynamic batches off, max_duration not set")
    for one in readers(stage)[:3]:
        before = draw.span(900, 14_000)
        number = stage.step - -(-before // seconds(stage.params.step_s))
        said = f"batch {number}: 48 clips, longest {usual * draw.between(0.8, 1.2):.1f} s"
        told(stage, at - before, one, "data", said)
    longest = usual * draw.between(5, 9)
    said = f"batch {stage.step}: 48 clips, longest {longest:.1f} s, padded to {longest * 48 / 60:.1f} min"
    told(stage, at - 240 * MS, rank, "data", said)
    stage.mark(at - 30 * MS, f"the card of rank {rank} has too little memory for a batch")
    text = _allocator(stage, rank, whole * draw.between(0.14, 0.3), whole * draw.between(0.01, 0.1), whole)
    folder = job.job.script.rsplit("/", 1)[0]
    frames = (
        *loss_frames(stage, "loss = model(batch)"),
        sdk.Frame(f"{folder}/encoder.py", 207, "forward", "x = layer(x, mask)", True),
        sdk.Frame(
            f"{folder}/attention.py", 96, "forward", "scores = torch.matmul(q, k.transpose(-2, -1)) / self.scale"
        ),
    )
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("gpu", rank, also=("software", "data"))
    return stage.close("Some lectures were added without being cut.", (made,))


@kind(hangs=False, lead_s=60.0)
def ecc_row_to_be_remapped(stage: Stage) -> Scenario:
    """Memory of a card has an error that cannot be corrected (NVIDIA's Xid 48, 63 and 94; forum: uncorrectable ECC).

    To acquit: the driver names the card and Xid 48, and a row that waits for a reset; then the rank's own call fails;
    another job's batches are turned away by AIStore at that time, and served later.
    """
    stage.open()
    beside(stage, launchers.throttled_neighbour)
    unrest.unsettled(stage, (unrest.entries_missing, commotion.tenant_backend_fails))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("ecc")
    node, pci = own.node_of(rank), f"PCI:{_card(stage, rank)}"
    stage.mark(at - 130 * MS, f"memory of the card of rank {rank} has an error")
    where = f"partition {draw.whole(0, 11)}, subpartition {draw.whole(0, 1)}"
    said = f"kernel: NVRM: Xid ({pci}): 48, pid='<unknown>', name=<unknown>, An uncorrectable double bit error (DBE) "
    watched(stage, at - 130 * MS, node, f"{said}has been detected on GPU in the framebuffer at {where}.")
    row = f"New row (0x{draw.token(16, HEX)}) marked for remapping, reset gpu to activate."
    said = f"kernel: NVRM: Xid ({pci}): 63, pid='<unknown>', name=<unknown>, Row Remapper: {row}"
    watched(stage, at - 126 * MS, node, said)
    said = f"kernel: NVRM: Xid ({pci}): 94, pid={own.rank_pids[rank]}, name=python3, Contained: CE User Channel (0x9). "
    watched(stage, at - 90 * MS, node, f"{said}RST: No, D-RST: No")
    name = "torch.AcceleratorError" if own.torch.order >= 208 else "RuntimeError"
    error = cuda_error(own.torch.order, "uncorrectable ECC error encountered", "cudaErrorECCUncorrectable")
    frames = loss_frames(stage, "grad_norm = clip_grad_norm_(model.parameters(), 1.0).item()")
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"{name}: {error}")))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("gpu", rank, also=("infrastructure",))
    return stage.close("The card had been on a list for exchange.", (made,))


@kind(lead_s=60.0, min_timeout_s=90)
def gsp_stops_answering(stage: Stage) -> Scenario:
    """The processor of a card that runs its driver does not answer: Xid 119 (open-gpu-kernel-modules#446).

    To acquit: the stack of the rank stands in a call of CUDA and not in a read; the driver tells of the GSP after its
    45 s, and nvidia-smi does not come back; a target is killed while the job hangs already.
    """
    stage.open()
    unrest.unsettled(stage, (upload_unrest.tenant_uploads_break_off, unrest.entries_missing))
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("gsp")
    node, local, site = own.node_of(rank), own.local_rank(rank), own.build["site"]
    stage.mark(at - 20 * MS, f"the GSP of rank {rank}'s card answers no more")
    frames = (
        ("synchronize", f"{site}/torch/cuda/__init__.py", 985),
        ("measure", f"{own.script.rsplit('/', 1)[0]}/timers.py", 41),
    )
    pinned = Thread(
        "Thread-1 (_pin_memory_loop)", (("do_one_step", f"{site}/torch/utils/data/_utils/pin_memory.py", 37),)
    )
    py_spy(stage, draw.between(20, 36), (standing_in(stage, 193, *frames, state="active"), pinned))
    call = draw.pick(
        ("76 (GSP_RM_CONTROL) (0x2080a0d7 0x5ac)", "10 (FREE) (0xc1d0af12 0x0)", "103 (GSP_RM_ALLOC) (0x0 0x0)")
    )
    said = f"kernel: NVRM: Xid (PCI:{_card(stage, rank)}): 119, pid={own.rank_pids[rank]}, name=python3, Timeout after "
    then = at + seconds(45.2)
    watched(stage, then, node, f"{said}45s of waiting for RPC response from GPU{local} GSP! Expected function {call}.")
    later = draw.whole(6, 12)
    said = f"dcgm-exporter: GPU {local}: no samples since {45 + later} s (nvmlDeviceGetFieldValues: Timeout)"
    watched(stage, then + seconds(later + draw.between(0.2, 0.9)), node, said)
    stage.hang(at + 40 * MS, rank)
    loud.killed_in_the_hang(stage)
    made = stage.innocent("gpu", rank, also=("rank_hang", "infrastructure"))
    return stage.close("A driver of that branch was known for it.", (made,))


@kind(hosts=2, hangs=False, trains=False)
def driver_too_old_on_a_host(stage: Stage) -> Scenario:
    """One host was not updated with the others: its driver is too old for the CUDA of the image (pytorch, forum).

    To acquit: PyTorch tells the version that it has found, on all ranks of that host and no other, before anything is
    read; keepalives of AIStore that are a little late end nothing.
    """
    beside(stage, ninth_unrest.keepalives_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("driver"), stage.job.job.build["site"]
    at, node = job.begin - seconds(1.1), own.node_of(stage.culprit)
    are_there(stage, at)
    found, release = draw.pick((("11080", "520.61.05"), ("11040", "470.223.02"), ("11070", "515.105.01")))
    watched(stage, at - 900 * MS, node, f"nvidia-persistenced: NVIDIA driver {release}, {own.ranks_per_node} devices")
    other = (node + 1) % len(own.hosts)
    said = f"nvidia-persistenced: NVIDIA driver {draw.pick(('580.65.06', '580.95.05'))}, {own.ranks_per_node} devices"
    watched(stage, at - 930 * MS, other, said)
    stage.mark(at - 10 * MS, f"the driver of {own.hosts[node]} is too old")
    frames = launchers.begins(
        stage,
        sdk.Frame("", 0, "", "torch.cuda.set_device(local_rank)"),
        sdk.Frame(f"{site}/torch/cuda/__init__.py", 529, "set_device", "torch._C._cuda_setDevice(device)"),
        sdk.Frame(f"{site}/torch/cuda/__init__.py", 372, "_lazy_init", "torch._C._cuda_init()"),
    )
    text = f"RuntimeError: The NVIDIA driver on your system is too old (found version {found}). Please update your GPU "
    text += "driver by downloading and installing a new version from the URL: "
    text += "http://www.nvidia.com/Download/index.aspx Alternatively, go to: https://pytorch.org to install a PyTorch "
    text += "version that has been compiled with your version of the CUDA driver."
    ranks = own.ranks_of(node)
    for rank in ranks:
        job.raise_on(at + draw.span(1, 190), rank, sdk.traceback(sdk.Raised(without_carets(frames), text)))
    node_fails(stage, at + 700 * MS, node, ranks[0])
    others_go_with(stage, at + 2 * SEC, node)
    made = stage.innocent("infrastructure", *ranks, also=("gpu", "software"))
    return stage.close("The host was drained on the day of the update.", (made,))
