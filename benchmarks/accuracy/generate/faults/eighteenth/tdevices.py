"""Faults of devices and of the network between them, of the eighteenth part; storage is innocent, in most of them loud.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.eleventh.hosts import nccl_warned
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all, watched
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import mountpath_before
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "eighteenth")
#: Where NCCL's transport over InfiniBand speaks of an event, by PyTorch's release.
EVENT = {201: 93, 206: 110, 209: 153, 212: 137}


def backward_frames(stage: Stage) -> tuple[sdk.Frame, ...]:
    """From the script's main to the engine of autograd, which was called from another file before 2.3."""
    site, order = stage.job.job.build["site"], stage.job.job.torch.order
    frames = (
        *loss_frames(stage, "scaler.scale(loss).backward()"),
        sdk.Frame(f"{site}/torch/_tensor.py", 522, "backward", "torch.autograd.backward("),
    )
    code = "return Variable._execution_engine.run_backward("
    if order < 203:
        return (*frames, sdk.Frame(f"{site}/torch/autograd/__init__.py", 251, "backward", code.removeprefix("return ")))
    return (
        *frames,
        sdk.Frame(f"{site}/torch/autograd/__init__.py", 347, "backward", "_engine_run_backward("),
        sdk.Frame(f"{site}/torch/autograd/graph.py", 825, "_engine_run_backward", code),
    )


@kind(lead_s=70.0)
def device_gone_without_xid(stage: Stage) -> Scenario:
    """A device is off its bus, which a newer driver tells on three lines without an Xid (leptonai/gpud PR 1209).

    The kernel's lines on the host of the silent rank are as old as the hang; no read of the job fails after them.
    """
    stage.open()
    beside(stage, own_unrest.neighbour_reads_slowly)
    unrest.unsettled(stage, (commotion.reads_recover, commotion.tenant_backend_fails, commotion.throttled_in_window))
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("gone")
    node, local = own.node_of(rank), own.local_rank(rank)
    bus = f"{0x0F + 0x1A * local:02x}:00"
    stage.mark(at, f"the device of rank {rank} is off its bus")
    if own.torch.is_rocm:
        watched(stage, at + 3 * MS, node, f"kernel: amdgpu 0000:{bus}.0: amdgpu: device lost from bus!")
        watched(
            stage,
            at + 900 * MS,
            node,
            f"kernel: amdgpu 0000:{bus}.0: amdgpu: SMU: response:0xFFFFFFFF for index:18 param:0x5",
        )
    else:
        watched(stage, at + 3 * MS, node, f"kernel: NVRM: The NVIDIA GPU 0000:{bus}.0")
        watched(stage, at + 3 * MS, node, "kernel: NVRM: (PCI ID: 10de:2330) installed in this system has")
        watched(stage, at + 3 * MS, node, "kernel: NVRM: fallen off the bus and is not responding to commands.")
        lost = f"Unable to determine the device handle for GPU{local}: 0000:{bus.upper()}.0: GPU is lost.  Reboot the "
        watched(stage, at + draw.span(8_000, 21_000), node, f"nvidia-smi: {lost}system to recover this GPU")
    stage.hang(at + 40 * MS, rank)
    own_unrest.killed_in_the_hang(stage)
    also = ("infrastructure", "rank_hang", "gpu_fabric")
    return stage.close("A riser card is loose.", (stage.innocent("gpu", rank, also=also),))


@kind(hangs=False, trains=False)
def device_was_to_be_reset(stage: Stage) -> Scenario:
    """A device was to be reset after the job before, and was not: ECC at its first use (gpud docs, remapped rows).

    The check of health in front of the start and the error name the same device; no rank has read anything yet.
    """
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, rank, draw = stage.job, stage.job.job, stage.culprit, stage.draw.child("reset")
    job.start()
    node, local, torch = own.node_of(rank), own.local_rank(rank), own.torch
    at = stage.mark(job.begin + draw.span(600, 2_900), f"the device of rank {rank} has memory that is not to be used")
    bus = f"0000:{0x0F + 0x1A * local:02x}:00.0"
    if torch.is_rocm:
        said = f"kernel: amdgpu {bus}: amdgpu: RAS records:{draw.whole(129, 160)} exceed threshold:128"
    else:
        said = f"gpu-health: GPU {local} ({bus}): remapped rows pending: yes, volatile uncorrectable: "
        said += f"{draw.whole(1, 6)}, reset required"
    watched(stage, job.begin - draw.span(21_000, 48_000), node, said)
    error = "torch.AcceleratorError" if torch.order >= 208 else "RuntimeError"
    text = f"{error}: {cuda_error(torch.order, 'uncorrectable ECC error encountered', 'cudaErrorECCUncorrectable')}"
    frames = (
        *loss_frames(stage, "model = build_model(options).to(device)"),
        sdk.Frame(f"{own.build['site']}/torch/nn/modules/module.py", 1355, "convert", "return t.to("),
    )
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, at, rank)
    made = stage.innocent("gpu", rank, also=("infrastructure",))
    return stage.close("The check only warns, and the host stays in its partition.", (made,), until=job.ended_at)


@kind(hangs=False, slurm=True, lead_s=60.0)
def heat_slows_every_step(stage: Stage) -> Scenario:
    """One hot device runs at a sixth of its clock and the others wait for it, up to the time limit (gpud, DCGM docs).

    The monitor names the device, the program's own times its rank; data takes hundredths of a second of each long step.
    """
    job, own, rank, draw = stage.job, stage.job.job, stage.culprit, stage.draw.child("heat")
    usual, node, local = stage.params.step_s, own.node_of(stage.culprit), own.local_rank(stage.culprit)
    slow = round(usual * draw.between(3.6, 5.9), 2)
    job.params = replace(job.params, step_s=slow)
    steps = int(stage.params.lead_s / slow) + draw.whole(14, 40)
    began = stage.mark(job.begin - draw.span(900, 4_000), f"the device of rank {rank} is too hot to run as it should")
    stage.open(until_step=steps)
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(stage, (own_unrest.neighbour_reads_slowly, commotion.tenant_backend_fails))
    reader_note(stage, job.begin + 30 * MS, 0, f"the run before this one took {usual:.2f} s a step on other hosts")
    over, turn = job.step_at(steps), 0
    for step in range(10, steps, 10):
        held = f"slowest rank {rank}: data 0.0{draw.whole(1, 6)} s, forward and backward {slow - 0.1:.2f} s"
        rest = f"others: data 0.0{draw.whole(1, 6)} s, forward and backward {usual - 0.05:.2f} s, then waiting"
        reader_note(stage, job.step_at(step + 1) + 90 * MS, 0, f"step {step}, {held}; {rest}")
    then = began + draw.span(900, 2_900)
    while then < over:
        name, clock = ("dcgm", "HW Thermal Slowdown, SM clock")
        if own.torch.is_rocm:
            name, clock = ("amd-smi", "thermal violation ACTIVE, gfx clock")
        warm = f"{draw.whole(91, 97)} C, {clock} {draw.whole(210, 345)} MHz"
        watched(stage, then, node, f"{name}: GPU {local}: {warm}")
        then, turn = then + draw.span(29_000, 60_000), turn + 1
    stage.mark(over, "the time limit is reached")
    job.slurm(over, 0, torchrun.step_cancelled(own, over, "TIME LIMIT"))
    for host in range(len(own.hosts)):
        job.agent_signalled(over + 40 * MS, host)
    job.ended_at = over + seconds(2)
    made = stage.innocent("gpu", rank, also=("infrastructure", "rank_hang"))
    return stage.close("A fan of the chassis stands still.", (made,))


@kind(hangs=False, lead_s=60.0, without=RESTARTS)
def memory_full_on_the_longest_batch(stage: Stage) -> Scenario:
    """The longest batch of a rank does not fit on its device; its reads were repeated before (PyTorch docs, FAQ, OOM).

    The rank's own line gives the length of the batch that it has, so it came, and its error is that of the allocator.
    """
    stage.open()
    beside(stage, commotion.reads_recover)
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (unrest.entries_missing, commotion.throttled_in_window))
    job, own, rank, at = stage.job, stage.job.job, stage.culprit, stage.at
    draw, order = stage.draw.child("longest"), stage.job.job.torch.order
    stage.mark(at, f"the device of rank {rank} has no room for a batch")
    reader_note(stage, at - 260 * MS, rank, f"batch of {draw.whole(24, 48)} cuts, longest {draw.between(31, 44):.1f} s")
    name = "torch.OutOfMemoryError" if order >= 205 else "torch.cuda.OutOfMemoryError"
    total, free, wanted = 63.98 if own.torch.is_rocm else 79.10, draw.between(0.2, 0.9), draw.between(1.1, 3.9)
    held, spare = total - free - 0.6, draw.between(1.1, 5.2)
    text = f"{name}: CUDA out of memory. Tried to allocate {wanted:.2f} GiB. GPU {own.local_rank(rank)} has a total "
    text += f"{'capacity' if order >= 202 else 'capacty'} of {total:.2f} GiB of which {free * 1024:.2f} MiB is free. "
    text += f"Of the allocated memory {held - spare:.2f} GiB is allocated by PyTorch, and {spare:.2f} GiB is reserved "
    text += "by PyTorch but unallocated. If reserved but unallocated memory is large try setting max_split_size_mb to "
    library = "HIP" if own.torch.is_rocm else "CUDA"
    text += f"avoid fragmentation.  See documentation for Memory Management and PYTORCH_{library}_ALLOC_CONF"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(backward_frames(stage), text)))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    return stage.close(
        "Durations are bucketed by a quantile, and the last bucket is open.",
        (stage.innocent("gpu", rank, also=("software", "data")),),
    )


@kind(hosts=2, min_timeout_s=90, lead_s=70.0)
def addresses_of_cards_change(stage: Stage) -> Scenario:
    """A host renews its addresses, by which RoCE has connected: all wait for good (NVIDIA/nccl#1333, #394, #1819).

    NCCL's word on that host's ranks is as old as the hang, in which every rank has come to the same collective.
    """
    stage.open()
    beside(stage, mountpath_before)
    unrest.unsettled(stage, (commotion.reads_recover, commotion.throttled_in_window, tenth_unrest.tenant_batches_fail))
    own, at, draw = stage.job.job, stage.at, stage.draw.child("addresses")
    node = own.node_of(stage.culprit)
    stage.mark(at, f"cards of {own.hosts[node]} get their addresses anew")
    if draw.chance(0.7):
        said = f"NetworkManager[{draw.whole(900, 2_400)}]: <info>  dhcp4 (ens{draw.whole(3, 9)}np0): state changed "
        watched(stage, at - 12 * MS, node, f"{said}bound -> expire")
    for rank in own.ranks_of(node):
        place = f"transport/net_ib.cc:{torchrun.since(EVENT, own.torch.order)}"
        card = f" mlx5_{own.local_rank(rank)}:1" if own.torch.order >= 206 else ""
        what = (
            "unknown event type (GID table change)" if own.torch.order >= 207 else "Got async event : GID table change"
        )
        nccl_warned(stage, at + draw.span(5, 400), rank, place, f"NET/IB :{card} {what}")
    if draw.chance(0.5):
        said = f"show_gids: mlx5_0 port 1: index 3 is empty, fe80::{draw.token(4, HEX)} at 4"
        watched(stage, at + seconds(2.1), node, said)
    stage.hang(at + 60 * MS)
    own_unrest.killed_in_the_hang(stage)
    made = of_all(stage.innocent("network", also=("gpu_fabric", "infrastructure", "rank_hang")))
    return stage.close("The lease is shorter than the server of addresses was away.", (made,))
