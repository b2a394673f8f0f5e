"""Devices and the fabric between them, beside storage that was loud a moment before; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.thirty_fifth.ranks_beside import (
    KILLED,
    complete,
    host_says,
    killed_and_back,
    slot_of,
    turned_away,
)
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames, raise_and_exit
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.watchkeepers import REMOTE, nccl_info, nccl_warns
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator import watchdog as wd
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit, since

kind = kinds_of("training", "thirty_fifth")
#: NCCL that a PyTorch release brings, by the first one.
NCCL = {201: "2.18.1", 202: "2.19.3", 203: "2.20.5", 205: "2.21.5", 207: "2.26.2", 209: "2.27.5", 212: "2.28.9"}


@kind(reads=True, hangs=False, lead_s=64.0, without=(*RESTARTS, *KILLED))
def device_falls_off_the_bus_after_a_killed_target_is_back(stage: Stage) -> Scenario:
    """A GPU is lost (Xid 79) within a minute of a target's crash that all readers got over (NVIDIA, Xid catalog).

    To acquit: the kernel of the rank's host has Xid 79 with the pid of that rank before it raises CUDA's error, in the
    backward pass; each batch that failed for want of the killed target was complete at a later try, the rank's too, and
    that target serves again for half a minute.
    """
    stage.open()
    beside(stage, killed_and_back)
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("off the bus")
    node, slot, order = own.node_of(rank), slot_of(stage, rank), own.torch.order
    stage.mark(at, f"the GPU of rank {rank} falls off the bus")
    who = f"pid={own.rank_pids[rank]}, name=python3"
    lost = "GPU has fallen off the bus."
    host_says(stage, at + 4 * MS, node, f"kernel: NVRM: Xid (PCI:0000:{slot}:00): 79, {who}, {lost}")
    host_says(stage, at + 5 * MS, node, f"kernel: NVRM: GPU 0000:{slot}:00.0: {lost}")
    error = cuda_error(order, "unspecified launch failure", "cudaErrorLaunchFailure")
    name = "torch.AcceleratorError" if order >= 208 else "RuntimeError"
    frames = (
        *loss_frames(stage, "loss.backward()")[:1],
        sdk.Frame(own.script, 196, "main", "loss.backward()"),
        sdk.Frame(f"{own.build['site']}/torch/_tensor.py", 625, "backward", "torch.autograd.backward("),
        sdk.Frame(
            f"{own.build['site']}/torch/autograd/graph.py",
            829,
            "_engine_run_backward",
            "return Variable._execution_engine.run_backward(",
        ),
    )
    told_at = at + draw.span(60, 400)
    job.raise_on(told_at, rank, sdk.traceback(sdk.Raised(frames, f"{name}: {error}")))
    down = told_at + draw.span(300, 700)
    for text in wd.taken_down(own, rank, down, error, timed_out=False):
        job.say(down, rank, text)
    job.agents_end([Exit(rank, down + 60 * MS, -6)], down)
    made = stage.innocent("gpu", rank, also=("infrastructure",))
    return stage.close("Its riser card had been reseated the week before.", (made,))


@kind(reads=True, hangs=False, lead_s=58.0, without=("restart_before",))
def long_recording_needs_more_memory_than_a_device_has(stage: Stage) -> Scenario:
    """One recording of half an hour pads a whole batch: CUDA out of memory (pytorch and NeMo issues, max_duration).

    To acquit: the rank tells of its batch that it came whole, and how long its longest recording is; the error is that
    of the device's allocator, raised in the forward pass. Batches that were turned away with 429 before came seconds
    later, and other tenants' cold reads fail at a bucket that is not the job's.
    """
    stage.open()
    beside(stage, turned_away)
    beside(stage, commotion.tenant_backend_fails)
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("long")
    longest = draw.between(1_640, 2_480)
    said = f"step {stage.step}: 48 of 48 recordings, longest {utterance(draw)} of {longest:.1f} s, padded to that"
    told(stage, at - 30 * MS, rank, "batch", said)
    stage.mark(at, f"rank {rank} has no device memory left")
    wants, has = draw.between(9, 28), draw.between(0.4, 3.1)
    text = (
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {wants:.2f} GiB. GPU {own.local_rank(rank)} "
        f"has a total capacity of 79.10 GiB of which {has:.2f} GiB is free. Including non-PyTorch memory, this process "
        f"has {79.1 - has:.2f} GiB memory in use. Of the allocated memory {76.2 - has:.2f} GiB is allocated by "
        f"PyTorch, and {draw.whole(210, 940)}.{draw.whole(10, 99)} MiB is reserved by PyTorch but unallocated. If "
        "reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to "
        "avoid fragmentation.  See documentation for Memory Management  "
        "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    )
    raise_and_exit(stage, at + 410 * MS, rank, text, "loss = criterion(model(batch), batch)")
    made = stage.innocent("gpu", rank, also=("data", "software"))
    return stage.close("The limit of a recording's length had been left out of the new configuration.", (made,))


def _gives_up(stage: Stage, at: int, rank: int, last: str) -> Exit:
    """The watchdog of a rank finds the error of its communicator and ends the process."""
    job, own = stage.job, stage.job.job
    place = f"{own.torch.source_tree}torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:{own.torch.raised_at + 1611}"
    what, code = REMOTE.split("\n")
    version = since(NCCL, own.torch.order)
    cause = f"NCCL error in: {place}, {what}, NCCL version {version}\n{code}\nLast error:\n{last}"
    whole = f"{own.torch.group_tag(rank)}Process group watchdog thread terminated with exception: {cause}"
    job.say(at, rank, wd.cpp(own, rank, at, own.torch.terminated, whole))
    thrown = "terminate called after throwing an instance of 'c10::DistBackendError'"
    job.say(at + MS, rank, f"{thrown}\n  what():  {whole}")
    return Exit(rank, at + 50 * MS, -6)


@kind(reads=True, hangs=False, hosts=2, lead_s=60.0, without=("restart_before", "rotation"))
def port_of_the_fabric_goes_down_under_one_rank(stage: Stage) -> Scenario:
    """A cable fails, and the queue pairs over one port are given up (NCCL issues, status=12 vendor err 129).

    To acquit: the kernel of one host and NCCL of the rank there tell that a port is down; seconds later both ends of
    its ring get completion errors from each other, and end. That rank and others still fetch batches meanwhile, over
    another network; the rebalance that keeps all disks busy had begun half a minute before.
    """
    stage.open()
    beside(stage, commotion.rebalance_running)
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("port")
    node, local = own.node_of(rank), own.local_rank(rank)
    peer = (rank + own.ranks_per_node) % own.world
    port, address = f"mlx5_{local}", f"10.12.{local}.{20 + node % 200}"
    far = f"10.12.{local}.{20 + own.node_of(peer) % 200}"
    for one, place in ((rank, address), (peer, far)):
        said = f"NET/IB : Using [0]{port}:1/IB [RO]; OOB ib{local}:{place}<0>"
        nccl_info(stage, job.begin - draw.span(300, 900), one, said)
    stage.mark(at, f"port {port} of {own.hosts[node]} goes down")
    module = f"mlx5_core 0000:{slot_of(stage, rank)}:00.1"
    host_says(
        stage, at + 2 * MS, node, f"kernel: {module}: Port module event[error]: module 0, Cable error, High Temperature"
    )
    host_says(stage, at + 9 * MS, node, f"kernel: {module} ib{local}: Link down")
    nccl_warns(stage, at + 14 * MS, rank, "transport/net_ib.cc:101", f"NET/IB : {port}:1 Got async event : port error")
    for late, one in ((2_200, rank), (3_100, peer), (4_300, (rank + 1) % own.world)):
        then = at + draw.span(late, late + 800)
        complete(stage, then, one, then - draw.span(90, 900))
    over = at + draw.span(7_400, 9_200)
    exits = []
    for one, other, then in ((rank, far, over), (peer, address, over + draw.span(20, 600))):
        said = f"NET/IB: Got completion from peer {other}<{draw.whole(32_800, 60_900)}> with status=12 opcode=0 len=0 "
        gid = ":".join(draw.token(4, HEX) for _ in range(4))
        said += f"vendor err 129 (Send) localGid fe80::{gid} hca {port}"
        nccl_warns(stage, then, one, "transport/net_ib.cc:2049", said)
        exits.append(_gives_up(stage, then + draw.span(90, 400), one, said))
    job.agents_end(exits, over + seconds(1.2))
    made = stage.innocent("network", rank, also=("gpu_fabric", "infrastructure"))
    return stage.close("The cable ran over the exhaust of the chassis below.", (made,))
