"""Devices, their memory and the fabric between them that fail a job; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, nccl_error, watched
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.twenty_first import tunrest as reset_unrest
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

kind = kinds_of("training", "twenty_ninth")

#: Where the devices of a host sit on its bus.
SLOTS = ("0000:18:00", "0000:2a:00", "0000:3a:00", "0000:5d:00", "0000:9a:00", "0000:ab:00", "0000:ba:00", "0000:db:00")


@kind(hangs=False, lead_s=75.0, without=RESTARTS)
def ecc_error_that_the_driver_cannot_recover(stage: Stage) -> Scenario:
    """A device has an ECC error that its driver does not recover from: Xid 140, then 154 (NVIDIA's Xid catalogue).

    To acquit: the driver names the device of the rank before its exception, and wants it to be reset; the target that
    was restarted within the minute has its objects again, and batches came since.
    """
    stage.open()
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (unrest.entries_missing, upload_unrest.neighbour_loses_its_bucket))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("ecc")
    node, slot = own.node_of(rank), SLOTS[own.local_rank(rank) % len(SLOTS)]
    stage.mark(at - 70 * MS, f"the memory of the device of rank {rank} has an error")
    head = f"kernel: NVRM: Xid (PCI:{slot})"
    said = "An uncorrectable ECC error detected (possible firmware handling failure) DRAM:0, LTC:1, MMU:0, PCIE:0"
    watched(stage, at - 70 * MS, node, f"{head}: 140, pid='<unknown>', name=<unknown>, {said}")
    said = "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
    watched(stage, at - 52 * MS, node, f"{head}: 154, {said}")
    job_of = f"name=python3, channel 0x{draw.token(8, HEX)}"
    watched(stage, at - 31 * MS, node, f"{head}: 45, pid={own.rank_pids[rank]}, {job_of}")
    name = "torch.AcceleratorError" if own.torch.order >= 208 else "RuntimeError"
    text = cuda_error(own.torch.order, "uncorrectable ECC error encountered", "cudaErrorECCUncorrectable")
    frames = loss_frames(stage, "grad_norm = clip_grad_norm_(model.parameters(), 1.0).item()")
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"{name}: {text}")))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("gpu", rank, also=("infrastructure",))
    return stage.close("The device was on the list for the next window of repairs.", (made,))


@kind(hangs=False, hosts=2, lead_s=60.0)
def subnet_manager_gives_new_addresses(stage: Stage) -> Scenario:
    """Another subnet manager takes over and gives ports new LIDs, so queue pairs lead nowhere (OpenSM docs; nccl#1819).

    To acquit: the monitors of hosts tell of a new manager and of new LIDs, then NCCL gives a peer up with status 12 on
    a port of InfiniBand; AIStore is read by Ethernet, and connections to it that were reset are another job's.
    """
    stage.open()
    beside(stage, reset_unrest.neighbour_is_reset)
    unrest.unsettled(stage, (commotion.reads_recover, unrest.entries_missing, tunrest.readers_resume))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("lid")
    node, local = own.node_of(rank), own.local_rank(rank)
    far, card = (node + 1) % len(own.hosts), f"mlx5_{local}"
    cards = ",".join(f"mlx5_{one}:1" for one in range(min(own.ranks_per_node, own.world)))
    told(stage, job.begin - 900 * MS, 0, "launch", f"NCCL_IB_HCA={cards}, AIStore by bond0")
    began = stage.mark(at - 40 * MS, "another subnet manager gives ports new addresses")
    lids = draw.shuffled(list(range(0x21, 0x160)))
    manager = f"sm_lid 0x{draw.whole(2, 9):x} -> 0x{draw.whole(10, 31):x}"
    for turn, host in enumerate((node, far)):
        said = f"ib-monitor: {card} port 1: {manager}, lid 0x{lids[turn]:x} -> 0x{lids[turn + 9]:x}, state ACTIVE"
        watched(stage, began + draw.span(1, 60), host, said)
    pid, port = own.rank_pids[rank], draw.whole(33_000, 60_000)
    head = f"{own.hosts[node]}:{pid}:{pid + draw.whole(300, 900)} [{local}] transport/net_ib.cc"
    if own.torch.order < 207:
        job.say(began + 70 * MS, rank, f"\n{head}:94 NCCL WARN NET/IB : {card}:1 Got async event : LID change")
    over = began + seconds(draw.between(8.1, 16.9))
    last = f"NET/IB : Got completion from peer 10.22.{far % 250}.{draw.whole(2, 250)}<{port}> with status=12 opcode=0 "
    last += f"len=0 vendor err 129 (Send) localGid fe80::{draw.token(4, HEX)}:c203:0:{draw.token(4, HEX)} "
    last += f"remoteGidsfe80::{draw.token(4, HEX)}:c203:0:{draw.token(4, HEX)} hca {card}"
    job.say(over - 12 * MS, rank, f"\n{head}:{draw.pick((1295, 1615, 2019))} NCCL WARN {last}")
    said = "remote process exited or there was a network error"
    advice = "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely."
    text = nccl_error(stage, f"{said}\n{advice}", last)
    job.raise_on(over, rank, sdk.traceback(sdk.Raised(reducing_frames(stage), text)))
    exits(stage, over, rank)
    made = stage.innocent("gpu_fabric", rank, also=("network", "infrastructure"))
    return stage.close("The manager that had been master was updated.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def tensorflow_takes_the_memory_of_a_device(stage: Stage) -> Scenario:
    """TensorFlow is imported for TFRecords, and takes what is free on a device (TensorFlow docs, memory growth).

    To acquit: TensorFlow itself says how much it takes, in a loader of that rank, and PyTorch finds another process on
    its device as it runs out; the records of the batch are here; a target is full for another tenant.
    """
    stage.open()
    beside(stage, late_unrest.tenant_full_in_window)
    unrest.unsettled(stage, (tunrest.readers_resume, commotion.tenant_backend_fails, unrest.connects_repeated))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("tensorflow")
    whole, model = draw.pick(((39.38, "A100-SXM4-40GB"), (44.39, "L40S"), (79.11, "H100 80GB HBM3")))
    local = own.local_rank(rank)
    took = round(whole * draw.between(0.32, 0.44), 2)
    pid, began = own.rank_pids[rank] + draw.whole(90, 900), at - draw.span(700, 2_600)
    told(
        stage,
        began - 400 * MS,
        rank,
        "data",
        f"dev set: records of {draw.whole(12, 90)} files here, {draw.whole(2, 9)} loaders",
    )
    slot = SLOTS[local % len(SLOTS)]
    said = f"Created device /job:localhost/replica:0/task:0/device:GPU:{local} with {int(took * 1024)} MB memory:  -> "
    said += f"device: {local}, name: NVIDIA {model}, pci bus id: {slot}.0"
    stage.mark(began, f"TensorFlow takes the memory of the device of rank {rank}")
    told(stage, began, rank, "tensorflow", f"gpu_device.cc:2022] {said}")
    told(stage, at - 60 * MS, rank, "dataset", f"batch {stage.step}: 32 of 32 records here")
    free, wanted, held = draw.between(0.1, 0.8), draw.between(1.2, 3.9), whole - took
    mine = held - free
    name = "torch.OutOfMemoryError" if own.torch.order >= 205 else "torch.cuda.OutOfMemoryError"
    text = (
        f"{name}: CUDA out of memory. Tried to allocate {wanted:.2f} GiB. GPU {local} has a total capacity of "
        f"{whole:.2f} GiB of which {free * 1024:.2f} MiB is free. Process {pid} has {took:.2f} GiB memory in use. "
        f"Including non-PyTorch memory, this process has {mine:.2f} GiB memory in use. Of the allocated memory "
        f"{mine - 1.3:.2f} GiB is allocated by PyTorch, and {draw.whole(90, 700)}.{draw.whole(10, 99)} MiB is reserved "
        "by PyTorch but unallocated. If reserved but unallocated memory is large try setting "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory "
        "Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    )
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(loss_frames(stage, "loss = criterion(model(batch), batch)"), text)))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("gpu", rank, also=("software",))
    return stage.close("The dev set comes from another team, as TFRecords.", (made,))
