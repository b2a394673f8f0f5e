"""Devices, their memory and the cards between them that fail, of the twenty-fifth part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, nccl_error, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as near_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames, reducing_frames
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_fifth")

#: Where the devices of a host sit on its bus.
SLOTS = ("0000:1b:00", "0000:43:00", "0000:52:00", "0000:61:00", "0000:9d:00", "0000:c3:00", "0000:d1:00", "0000:df:00")


@kind(hangs=False, lead_s=60.0, without=RESTARTS)
def device_off_the_bus(stage: Stage) -> Scenario:
    """A device has fallen off the bus: Xid 79, and each call of its rank fails (NVIDIA, Xid errors).

    To acquit: the driver names the device and Xid 79 before the exception of its rank; the target that was killed half
    a minute before was back, and batches had been served since.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (own_unrest.tenant_uploads_break_off, unrest.entries_missing))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("off the bus")
    node, slot = own.node_of(rank), SLOTS[own.local_rank(rank) % len(SLOTS)]
    if draw.chance(0.6):
        port = f"0000:{int(slot[5:7], 16) - 1:02x}:01.0"
        said = f"kernel: pcieport {port}: AER: Correctable error message received from {slot}.0"
        watched(stage, at - draw.span(3_000, 15_000), node, said)
    stage.mark(at - 80 * MS, f"the device of rank {rank} has fallen off the bus")
    said = f"kernel: NVRM: Xid (PCI:{slot}): 79, pid={own.rank_pids[rank]}, name=python3, GPU has fallen off the bus."
    watched(stage, at - 80 * MS, node, said)
    watched(stage, at - 78 * MS, node, f"kernel: NVRM: GPU {slot}.0: GPU has fallen off the bus.")
    where = f"Unable to determine the device handle for GPU{own.local_rank(rank)}: {slot}.0: Unknown Error"
    watched(stage, at + seconds(draw.between(2, 6)), node, f"nvidia-smi: {where}")
    name = "torch.AcceleratorError" if own.torch.order >= 208 else "RuntimeError"
    text = cuda_error(own.torch.order, "unspecified launch failure", "cudaErrorLaunchFailure")
    frames = (*loss_frames(stage, "scaler.scale(loss).backward()"),)
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"{name}: {text}")))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("gpu", rank, also=("infrastructure",))
    return stage.close("A riser of the host was loose.", (made,))


@kind(hangs=False, hosts=2, lead_s=60.0, torch_order=203)
def send_not_acknowledged(stage: Stage) -> Scenario:
    """A cable of InfiniBand loses its link: a send of NCCL is never acknowledged (nccl#1405, nccl#1814).

    To acquit: NCCL names its peer, a card of InfiniBand and status 12, as its time-out of seconds is over; the host's
    driver says that the port of that card is down; connections to AIStore that were late had been made before.
    """
    stage.open()
    beside(stage, unrest.connects_repeated)
    unrest.unsettled(stage, (own_unrest.neighbour_loses_its_bucket, commotion.tenant_meets_bad_data))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("completion")
    node, local = own.node_of(rank), own.local_rank(rank)
    far, card, port = (node + 1) % len(own.hosts), f"mlx5_{local}", draw.whole(33_000, 60_000)
    began = stage.mark(at - 30 * MS, f"the link of {card} on {own.hosts[node]} is lost")
    events = (
        f"Port module event[error]: module {local}, Cable error, Bus stuck(I2C or data shorted)",
        f"Port module event: module {local}, Cable unplugged",
    )
    said = f"kernel: mlx5_core 0000:{draw.pick(('1a', '4d', '9e', 'c6'))}:00.0: {draw.pick(events)}"
    watched(stage, began, node, said)
    said = f"ib-monitor: {card} port 1: state ACTIVE -> DOWN, phys_state LinkUp -> Polling, was 4X NDR"
    watched(stage, began + 90 * MS, node, said)
    over = began + seconds(draw.between(8.1, 16.9))
    ends = f"localGid fe80::a088:c203:0:{draw.token(4, HEX)} remoteGidsfe80::a088:c203:0:{draw.token(4, HEX)}"
    last = (
        f"NET/IB : Got completion from peer 10.22.{far % 250}.{draw.whole(2, 250)}<{port}> with status=12 opcode=129 "
    )
    last += f"len=0 vendor err 129 (Recv) {ends} hca {card}"
    pid = own.rank_pids[rank]
    line = draw.pick((1295, 1615, 2019))
    head = f"{own.hosts[node]}:{pid}:{pid + draw.whole(300, 900)} [{local}] transport/net_ib.cc:{line} NCCL WARN"
    job.say(over - 12 * MS, rank, f"\n{head} {last}")
    said = "remote process exited or there was a network error"
    advice = "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely."
    text = nccl_error(stage, f"{said}\n{advice}", last)
    job.raise_on(over, rank, sdk.traceback(sdk.Raised(reducing_frames(stage), text)))
    exits(stage, over, rank)
    made = stage.innocent("network", rank, also=("gpu_fabric", "infrastructure"))
    return stage.close("Somebody worked behind the rack.", (made,))


@kind(hangs=False, lead_s=60.0)
def validation_does_not_fit(stage: Stage) -> Scenario:
    """The first validation has larger batches than training, and gradients are kept (forum: OOM at validation).

    To acquit: the rank says that it validates with another size of batch, which it has; PyTorch's allocator has too
    little memory on the device; a target gives up a disk at that time.
    """
    stage.open()
    beside(stage, disk_unrest.disk_lost_in_window)
    unrest.unsettled(stage, (near_unrest.tenant_asks_for_removed_names, loud.neighbour_reads_slowly))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("validation")
    whole, batch = draw.pick((39.38, 44.39, 79.11)), draw.pick((64, 128, 256))
    said = f"batch_size {batch // 8}, eval_batch_size {batch}, eval_steps {stage.step}"
    told(stage, job.begin - 400 * MS, 0, "config", said)
    peak = whole * draw.between(0.7, 0.82)
    told(stage, at - 700 * MS, rank, "train", f"step {stage.step}: validating, allocated {peak:.2f} GiB of {whole:.2f}")
    told(stage, at - 60 * MS, rank, "train", f"validation batch 0: {batch} of {batch} samples here")
    stage.mark(at, f"the device of rank {rank} has too little memory to validate")
    wanted, left = draw.between(4.0, 11.0), draw.between(0.3, 2.4)
    name = "torch.OutOfMemoryError" if own.torch.order >= 205 else "torch.cuda.OutOfMemoryError"
    variable = "PYTORCH_ALLOC_CONF" if own.torch.order >= 210 else "PYTORCH_CUDA_ALLOC_CONF"
    reserved = draw.between(0.2, 1.4)
    text = f"{name}: CUDA out of memory. Tried to allocate {wanted:.2f} GiB. GPU {own.local_rank(rank)} has a total "
    text += f"capacity of {whole:.2f} GiB of which {left:.2f} GiB is free. Including non-PyTorch memory, this process "
    text += (
        f"has {whole - left:.2f} GiB memory in use. Of the allocated memory {whole - left - reserved - 0.7:.2f} GiB "
    )
    text += f"is allocated by PyTorch, and {reserved:.2f} GiB is reserved by PyTorch but unallocated. If reserved but "
    text += f"unallocated memory is large try setting {variable}=expandable_segments:True to avoid fragmentation.  See "
    text += "documentation for Memory Management  "
    text += "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    frames = (
        *loss_frames(stage, "score = validate(model, dev_loader)"),
        sdk.Frame(f"{own.script.rsplit('/', 1)[0]}/validate.py", 34, "validate", "logits = model(batch.cuda())", True),
        sdk.Frame(f"{own.script.rsplit('/', 1)[0]}/model.py", 142, "forward", "x = self.joint(x, y)", True),
    )
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("gpu", rank, also=("software",))
    return stage.close("torch.no_grad() was lost in a refactoring.", (made,))
