"""Devices and the fabric that fail below a job, beside loud storage; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.thirty_sixth.ranks_words import (
    CRASHES,
    bus_of,
    crash_before,
    kernel,
    loud,
    nccl_version,
)
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.script import (
    cuda_error,
    loss_frames,
    reducing_frames,
    without_carets,
)
from benchmarks.accuracy.generate.faults.words.watchkeepers import REMOTE, nccl_warns
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import tenant_out_of_space
from fixtures.generator import sdk
from fixtures.generator import watchdog as wd
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "thirty_sixth")


@kind(reads=True, hangs=False, lead_s=72.0, without=CRASHES)
def gpu_falls_off_the_bus_after_a_target_was_back(stage: Stage) -> Scenario:
    """A device is gone (NVIDIA's Xid 79), while the cluster rebalances after a crash that all ranks got over.

    To acquit: the kernel of the rank's host has Xid 79 with the pid of that rank, milliseconds before it raises an
    error of CUDA in its backward pass; whoever asked the crashed target again was served half a minute before.
    """
    stage.open()
    loud(stage, crash_before)
    job, own, rank, at = stage.job, stage.job.job, stage.culprit, stage.at
    node, bus, order = own.node_of(rank), bus_of(stage, rank), own.torch.order
    stage.mark(at, f"the GPU of rank {rank} falls off the bus")
    who = f"pid={own.rank_pids[rank]}, name=python3"
    kernel(stage, at, node, f"NVRM: Xid (PCI:0000:{bus}:00): 79, {who}, GPU has fallen off the bus.")
    kernel(stage, at + 2 * MS, node, f"NVRM: GPU 0000:{bus}:00.0: GPU has fallen off the bus.")
    error = cuda_error(order, "unspecified launch failure", "cudaErrorLaunchFailure")
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 196, "main", "loss.backward()"),
        sdk.Frame(f"{own.build['site']}/torch/_tensor.py", 647, "backward", "torch.autograd.backward("),
        sdk.Frame(
            f"{own.build['site']}/torch/autograd/graph.py",
            829,
            "_engine_run_backward",
            "return Variable._execution_engine.run_backward(",
        ),
    )
    name = "torch.AcceleratorError" if order >= 208 else "RuntimeError"
    job.raise_on(at + 60 * MS, rank, sdk.traceback(sdk.Raised(frames, f"{name}: {error}")))
    down = at + 480 * MS
    for text in wd.taken_down(own, rank, down, error, timed_out=False):
        job.say(down, rank, text)
    job.agents_end([Exit(rank, down + 60 * MS, -6)], down)
    made = stage.innocent("gpu", rank, also=("infrastructure",))
    return stage.close("The power cable of one GPU tray had come loose.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def device_memory_is_full_beside_a_target_without_space(stage: Stage) -> Scenario:
    """A long batch needs more memory than its device has (PyTorch docs, notes on CUDA); a target is full as well.

    To acquit: the exception is PyTorch's, raised in the model after the batch was read, with the sizes of the device;
    the target that has no space turns writes of another tenant down, and reads of its objects go on.
    """
    loud(stage, tenant_out_of_space)
    stage.open()
    loud(stage, commotion.tenant_backend_fails, commotion.throttled_in_window)
    job, own, rank, at = stage.job, stage.job.job, stage.culprit, stage.at
    draw, order = stage.draw.child("device memory"), own.torch.order
    asked, free = draw.between(2.4, 6.8), draw.between(0.3, 1.9)
    used = 79.1 - free
    waste = draw.between(1.2, 4.4)
    text = f"CUDA out of memory. Tried to allocate {asked:.2f} GiB. GPU {own.local_rank(rank)} has a total capacity "
    text += f"of 79.10 GiB of which {free:.2f} GiB is free. Including non-PyTorch memory, this process has {used:.2f} "
    text += f"GiB memory in use. Of the allocated memory {used - waste - 0.9:.2f} GiB is allocated by PyTorch, and "
    text += f"{waste:.2f} GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try "
    setting = "PYTORCH_ALLOC_CONF" if order >= 210 else "PYTORCH_CUDA_ALLOC_CONF"
    text += f"setting {setting}=expandable_segments:True to avoid fragmentation.  See documentation for Memory "
    text += "Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    module = f"{own.build['site']}/torch/nn"
    frames = without_carets(
        (
            *loss_frames(stage, "loss = criterion(model(batch), batch)"),
            sdk.Frame(f"{module}/modules/module.py", 1751, "_wrapped_call_impl", "return self._call_impl(*args)", True),
            sdk.Frame("/workspace/asr/joint.py", 104, "forward", "inp = f.unsqueeze(2) + g.unsqueeze(1)", True),
        )
    )
    name = "torch.OutOfMemoryError" if order >= 205 else "torch.cuda.OutOfMemoryError"
    stage.mark(at, f"the device of rank {rank} has no memory left")
    job.raise_on(at + 20 * MS, rank, sdk.traceback(sdk.Raised(frames, f"{name}: {text}")))
    job.agents_end([Exit(rank, at + 900 * MS, 1)], at + 900 * MS)
    made = stage.innocent("gpu", rank, also=("software",))
    return stage.close("Batches were made by their number of cuts, not by their length.", (made,))


@kind(hosts=2, hangs=False, reads=True, lead_s=64.0, without=CRASHES)
def infiniband_port_goes_down_after_a_restart(stage: Stage) -> Scenario:
    """A port of one host goes down and NCCL's sends run into their retry limit (NCCL issues, status 12, vendor 129).

    To acquit: the kernel of a host has its port down, NCCL there has a port error the same moment, and both ends of
    that connection get completions with status 12 half a minute later, then ncclRemoteError. AIStore is on another
    network; a target was restarted before, and all who missed its objects were served.
    """
    stage.open()
    loud(stage, commotion.restart_survived, commotion.throttled_in_window)
    job, own, rank, at = stage.job, stage.job.job, stage.culprit, stage.at
    draw, node = stage.draw.child("port"), own.node_of(rank)
    per = own.ranks_per_node
    peer = (rank + per) % own.world if own.world % per == 0 else own.ranks_of(0 if node else 1)[0]
    local = own.local_rank(rank)
    device, card = f"mlx5_{local}", f"ibp{int(bus_of(stage, rank), 16)}s0"
    stage.mark(at, f"port 1 of {device} on {own.hosts[node]} goes down")
    kernel(stage, at, node, f"mlx5_core 0000:{bus_of(stage, rank)}:00.0 {card}: Link down")
    nccl_warns(stage, at + 4 * MS, rank, "transport/net_ib.cc:94", f"NET/IB : {device}:1 Got async event : port error")
    given_up = at + draw.span(28_000, 36_000)
    exits = []
    head = f"NCCL error in: {own.torch.source_tree}torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:3690"
    for turn, (one, other) in enumerate(((rank, peer), (peer, rank))):
        then = given_up + turn * draw.span(40, 900)
        where = f"10.31.{own.node_of(other) % 250}.{20 + own.local_rank(other)}<{draw.whole(32_800, 60_900)}>"
        gids = f"localGid fe80::{draw.token(4, HEX)}:{draw.token(4, HEX)} remoteGids fe80::{draw.token(4, HEX)}"
        said = f"NET/IB: Got completion from peer {where} with status=12 opcode=0 len=0 vendor err 129 "
        said += f"({'Recv' if turn else 'Send'}) {gids} hca mlx5_{own.local_rank(one)}"
        nccl_warns(stage, then, one, "transport/net_ib.cc:2049", said)
        text = f"torch.distributed.DistBackendError: {head}, {REMOTE}\nLast error:\n{said}"
        text = text.replace("(run with NCCL_DEBUG=INFO for details)", f", NCCL version {nccl_version(stage)}")
        text = text.replace(" , NCCL", ", NCCL")
        job.raise_on(then + 30 * MS, one, sdk.traceback(sdk.Raised(without_carets(reducing_frames(stage)), text)))
        exits.append(Exit(one, then + 800 * MS, 1))
    job.agents_end(exits, given_up + 1_800 * MS)
    made = replace(stage.innocent("network", also=("gpu_fabric", "infrastructure")), culprit_ranks=None)
    return stage.close("The transceiver of a leaf switch's port was worn out.", (made,))
