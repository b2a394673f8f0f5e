"""Faults of devices, their links and the memory of hosts, of the sixteenth part; storage is innocent, often loud."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.eleventh.hosts import xid
from benchmarks.accuracy.generate.faults.tenth.training import of_all, standing_in, watched
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import tenant_out_of_space
from fixtures.generator import sdk
from fixtures.generator.draw import HEX, Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "sixteenth")


def _links_down(stage: Stage, at: int, rank: int, draw: Draw) -> None:
    """What the driver says of one device of a host whose links fail; the first of them is that of the culprit."""
    own = stage.job.job
    node, local = own.node_of(rank), own.local_rank(rank)
    address = f"{0x0A + 0x1D * local:02x}:00"
    if own.torch.is_rocm:
        said = f"amdgpu 0000:{address}.0: amdgpu: 1 uncorrectable hardware errors detected in xgmi_wafl block"
        watched(stage, at, node, f"kernel: {said}")
        return
    head, link = f"kernel: NVRM: Xid (PCI:0000:{address}):", f"i0 Link {draw.whole(0, 17):02d}"
    is_first = rank == stage.culprit
    zeros = " ".join(["0x00000000"] * 4)
    if is_first:
        watched(stage, at, node, f"{head} 149, NETIR_LINK_EVT Fatal XC0 {link} (0x026001c6 0x00000000 {zeros})")
    else:
        words = f"0x00000004 0x{draw.token(8, HEX)} {zeros}"
        watched(stage, at, node, f"{head} 145, RLW_REMAP Nonfatal XC0 {link} ({words})")
    for channel in range(1, draw.whole(2, 4)):
        text = f"45, pid={own.rank_pids[rank]}, name=python3, Ch {channel:08x} caused by previous Xid "
        watched(stage, at + draw.span(9, 30), node, f"{head} {text}{149 if is_first else 145}")


@kind(hangs=False, lead_s=80.0, without=RESTARTS)
def fabric_of_devices_fails(stage: Stage) -> Scenario:
    """The links between a host's devices fail at once: Xid 145 and 149 (open-gpu-kernel-modules#1355, #1150)."""
    stage.open()
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (commotion.tenant_backend_fails, commotion.throttled_in_window))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("fabric of devices")
    node, torch = own.node_of(stage.culprit), stage.job.job.torch
    ranks = own.ranks_of(node)
    stage.mark(at, f"the links between the devices of {own.hosts[node]} fail")
    for rank in ranks:
        _links_down(stage, at + draw.span(1, 30), rank, draw.child("links", rank))
    what, name = (
        ("unspecified launch failure", "cudaErrorLaunchFailure")
        if torch.is_rocm
        else ("uncorrectable NVLink error detected during the execution", "cudaErrorNvlinkUncorrectable")
    )
    error = "torch.AcceleratorError" if torch.order >= 208 else "RuntimeError"
    code = draw.pick(("scaler.scale(loss).backward()", "total += loss.item()"))
    raised = sdk.Raised(loss_frames(stage, code), f"{error}: {cuda_error(torch.order, what, name)}")
    for rank in ranks:
        job.raise_on(at + draw.span(50, 400), rank, sdk.traceback(raised))
    job.agents_end([Exit(ranks[0], at + 900 * MS, 1)], at + 900 * MS)
    made = of_all(stage.innocent("gpu", also=("gpu_fabric", "infrastructure")))
    return stage.close("The board that joins the devices is to be replaced.", (made,))


@kind()
def unit_of_a_device_halts(stage: Stage) -> Scenario:
    """A controller inside a device halts, and what was asked of it never ends: Xid 62 (NVIDIA's Xid catalogue)."""
    stage.open()
    unrest.unsettled(stage)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("unit")
    node, site = job.job.node_of(rank), job.job.build["site"]
    stage.mark(at, f"a controller of the device of rank {rank} halts")
    if job.job.torch.is_rocm:
        card = f"kernel: amdgpu 0000:{draw.whole(1, 13):x}c:00.0: amdgpu:"
        watched(
            stage, at + 900 * MS, node, f"{card} SMU: I'm not done with your previous command: SMN_C2PMSG_66:0x00000012"
        )
        watched(stage, at + 920 * MS, node, f"{card} Failed to export SMU metrics table!")
    else:
        code = f"{draw.token(4, HEX)}({draw.token(4, HEX)}) 00000000 00000000"
        xid(stage, at + draw.span(2, 60), rank, 62, code)
        if draw.chance(0.6):
            watched(stage, at + seconds(9.2), node, "nvidia-persistenced: failed to query the power state of a device")
    if draw.chance(0.6):
        main = standing_in(stage, 196, ("item", f"{site}/torch/_tensor.py", 1123), state="active")
        pinning = Thread("Thread-3 (_pin_memory_loop)", (("wait", f"{PYTHON}/threading.py", 331),))
        py_spy(stage, min(draw.between(22, 44), job.job.timeout_s - 9), (main, pinning))
    stage.hang(at + 40 * MS, rank)
    return stage.close(
        "The host is drained, and its device reset with it.",
        (stage.innocent("gpu", rank, also=("infrastructure", "rank_hang")),),
    )


@kind(hangs=False, lead_s=80.0, without=("low_space",))
def guard_of_memory_ends_a_rank(stage: Stage) -> Scenario:
    """A guard of a host's memory sends SIGTERM to the process that has most of it (earlyoom docs, #131, #309)."""
    beside(stage, tenant_out_of_space)
    stage.open()
    unrest.unsettled(stage, (commotion.reads_recover, commotion.throttled_in_window, unrest.entries_missing))
    job, own, rank, at = stage.job, stage.job.job, stage.culprit, stage.at
    draw, node = stage.draw.child("guard"), stage.job.job.node_of(stage.culprit)
    whole = draw.pick((515_601, 773_635, 1_031_722))
    guard = f"earlyoom[{draw.whole(900, 1_900)}]:"
    stage.mark(at, f"the memory of {own.hosts[node]} is nearly used up")
    for before, share in ((3.0, 13.7), (2.0, 11.9), (1.0, 10.6), (0.0, draw.between(9.1, 9.9))):
        free = f"{int(whole * share / 100):6d} of {whole} MiB ({share:5.2f}%), swap free:    0 of    0 MiB ( 0.00%)"
        watched(stage, at - seconds(before), node, f"{guard} mem avail: {free}")
    watched(stage, at + MS, node, f"{guard} low memory! at or below SIGTERM limits: mem 10.00%, swap 10.00%")
    used = int(whole * draw.between(0.13, 0.31))
    ends = f'sending SIGTERM to process {own.rank_pids[rank]} uid {draw.whole(1_001, 9_800)} "python3": badness '
    watched(stage, at + 2 * MS, node, f"{guard} {ends}{draw.whole(780, 990)}, VmRSS {used} MiB")
    over = at + draw.span(90, 700)
    watched(stage, over + 90 * MS, node, f"{guard} process exited after {(over - at) / seconds(1):.1f} seconds")
    job.agents_end([Exit(rank, over, -15)], over)
    unrest.hung_up_on(stage)
    return stage.close(
        "The guard was brought by the new image of hosts.",
        (stage.innocent("infrastructure", rank, also=("software",)),),
    )


def _not_compatible(order: int) -> str:
    """PyTorch's warning of a device that its build has no kernels for: too new for old builds, too old for new ones."""
    device, capability, supported = ("NVIDIA B200", "sm_100", "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90")
    if order >= 207:
        device, capability, supported = ("Tesla V100-SXM2-32GB", "sm_70", "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120")
    return (
        f"UserWarning: \n{device} with CUDA capability {capability} is not compatible with the current PyTorch "
        f"installation.\nThe current PyTorch install supports CUDA capabilities {supported}.\nIf you want to use the "
        f"{device} GPU with PyTorch, please check the instructions at https://pytorch.org/get-started/locally/\n"
    )


@kind(hangs=False, trains=False, hosts=2)
def built_for_other_devices(stage: Stage) -> Scenario:
    """A host with other devices than the rest gets a build without kernels for them (pytorch#31285, #81176)."""
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("other devices"), stage.job.job.build["site"]
    job.start()
    node, torch = own.node_of(stage.culprit), own.torch
    at, ranks = job.begin + draw.span(300, 1_400), own.ranks_of(node)
    stage.mark(at, f"the build has no kernels for the devices of {own.hosts[node]}")
    error = "torch.AcceleratorError" if torch.order >= 208 else "RuntimeError"
    what = "invalid device function" if torch.is_rocm else "no kernel image is available for execution on the device"
    text = f"{error}: {cuda_error(torch.order, what, 'cudaErrorNoKernelImageForDevice')}"
    frames = (*loss_frames(stage, "model = build_model(args).to(device)"),)
    for rank in ranks:
        then = at + draw.span(1, 300)
        if not torch.is_rocm:
            said = f"{site}/torch/cuda/__init__.py:230: {_not_compatible(torch.order)}\n  warnings.warn("
            job.say(then - 290 * MS, rank, said)
        job.raise_on(then, rank, sdk.traceback(sdk.Raised(frames, text)))
    over = job.agents_end([Exit(ranks[0], at + 900 * MS, 1)], at + 900 * MS)
    made = replace(stage.innocent("software", also=("gpu", "infrastructure")), culprit_ranks=None)
    return stage.close("Two generations of hosts are in one partition.", (made,), until=over)
