"""Devices and cards of worker hosts that fail beside a busy storage; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.tenth.training import of_all, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as hang_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import cuda_error
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.watchkeepers import nccl_warns
from benchmarks.accuracy.generate.faults.words.workbenches import script_folder
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import tenant_rejected
from fixtures.generator import sdk
from fixtures.generator import watchdog as wd
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "thirty_third")

#: Where eight devices sit on the bus of their host.
SLOTS = ("0f", "2d", "44", "5b", "89", "a8", "c0", "d8")


@kind(reads=True, hangs=False, lead_s=74.0, without=RESTARTS)
def host_loses_one_device_from_its_bus(stage: Stage) -> Scenario:
    """Xid 79: a device does not answer on its bus, and the next call of its rank fails (NVIDIA docs, Xid errors).

    To acquit: the kernel of that rank's host has Xid 79 before the rank raises CUDA's error amid its backward pass; its
    batch was whole. A target was restarted most of a minute before, and all that missed its objects was served.
    """
    stage.open()
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (past_unrest.turned_away_in_window, unrest.entries_missing, commotion.tenant_backend_fails))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("bus")
    node, order = own.node_of(rank), own.torch.order
    slot = f"0000:{SLOTS[own.local_rank(rank) % len(SLOTS)]}:00"
    said = f"step {stage.step}: 48 of 48 objects in {draw.between(0.05, 0.3):.2f} s"
    told(stage, at - 190 * MS, rank, "dataset", said)
    lost = stage.mark(at - 30 * MS, f"the device of rank {rank} has fallen off the bus")
    who = "pid='<unknown>', name=<unknown>"
    watched(stage, lost, node, f"kernel: NVRM: Xid (PCI:{slot}): 79, {who}, GPU has fallen off the bus.")
    watched(stage, lost + MS, node, f"kernel: NVRM: GPU {slot}.0: GPU has fallen off the bus.")
    what = draw.pick((("unspecified launch failure", "cudaErrorLaunchFailure"), ("unknown error", "cudaErrorUnknown")))
    error = cuda_error(order, *what)
    graph = f"{own.build['site']}/torch/autograd/graph.py"
    run = "return Variable._execution_engine.run_backward("
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 196, "main", "loss.backward()"),
        sdk.Frame(graph, 829, "_engine_run_backward", run, True),
    )
    name = "torch.AcceleratorError" if order >= 208 else "RuntimeError"
    job.raise_on(at + draw.span(40, 140), rank, sdk.traceback(sdk.Raised(frames, f"{name}: {error}")))
    down = at + draw.span(380, 720)
    for text in wd.taken_down(own, rank, down, error, timed_out=False):
        job.say(down, rank, text)
    job.agents_end([Exit(rank, down + 60 * MS, -6)], down)
    made = stage.innocent("gpu", rank, also=("infrastructure",))
    return stage.close("The riser of that slot had been reseated the week before.", (made,))


def _out_of_memory(stage: Stage, draw: Draw) -> str:
    """What the allocator of the culprit's device says, with its numbers."""
    own = stage.job.job
    order, local = own.torch.order, own.local_rank(stage.culprit)
    wanted, free = draw.between(2.1, 5.9), draw.between(0.2, 1.9)
    used, reserved = 79.1 - free, draw.between(0.6, 2.4)
    setting = "PYTORCH_ALLOC_CONF" if order >= 210 else "PYTORCH_CUDA_ALLOC_CONF"
    page = "https://pytorch.org/docs/stable/notes/cuda.html#environment-variables"
    return (
        f"{'torch' if order >= 205 else 'torch.cuda'}.OutOfMemoryError: CUDA out of memory. Tried to allocate "
        f"{wanted:.2f} GiB. GPU {local} has a total capacity of 79.10 GiB of which {free:.2f} GiB is "
        f"free. Including non-PyTorch memory, this process has {used:.2f} GiB memory in use. Of the allocated memory "
        f"{used - reserved - 0.9:.2f} GiB is allocated by PyTorch, and {reserved:.2f} GiB is reserved by PyTorch but "
        f"unallocated. If reserved but unallocated memory is large try setting {setting}=expandable_segments:True to "
        f"avoid fragmentation.  See documentation for Memory Management  ({page})"
    )


@kind(reads=True, hangs=False, lead_s=64.0)
def host_device_has_no_room_for_a_long_batch(stage: Stage) -> Scenario:
    """CUDA out of memory on one rank, which has drawn a batch of long recordings (PyTorch docs, memory management).

    To acquit: the rank has its batch whole and says how long it is; the exception is that of the device's allocator
    with its numbers, in the forward pass, and the process exits with 1. Batches turned away before were another
    tenant's, or were served.
    """
    stage.open()
    beside(stage, tenant_rejected)
    unrest.unsettled(
        stage, (late_unrest.disk_lost_in_window, late_unrest.tenant_full_in_window, past_unrest.turned_away_in_window)
    )
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("room")
    said = f"step {stage.step}: 48 of 48 objects, {draw.whole(1_210, 1_590)} s of audio, longest {draw.whole(36, 40)} s"
    told(stage, at - 120 * MS, rank, "dataset", said)
    stage.mark(at, f"the device of rank {rank} has no room for its batch")
    text = _out_of_memory(stage, draw)
    nn = f"{own.build['site']}/torch/nn"
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 191, "main", "loss = criterion(model(batch), batch)", True),
        sdk.Frame(
            f"{nn}/modules/module.py", 1736, "_wrapped_call_impl", "return self._call_impl(*args, **kwargs)", True
        ),
        sdk.Frame(f"{nn}/modules/module.py", 1747, "_call_impl", "return forward_call(*args, **kwargs)", True),
        sdk.Frame(f"{script_folder(stage)}/encoder.py", 118, "forward", "x = F.silu(self.expand(x))", True),
        sdk.Frame(f"{nn}/functional.py", 2379, "silu", "return torch._C._nn.silu(input)", True),
    )
    job.raise_on(at + draw.span(40, 190), rank, sdk.traceback(sdk.Raised(frames, text)))
    job.agents_end([Exit(rank, at + 900 * MS, 1)], at + 900 * MS)
    return stage.close(
        "Durations above 35 s are kept since the last change of the manifest.", (stage.innocent("gpu", rank),)
    )


@kind(hosts=2, lead_s=72.0, without=RESTARTS)
def host_cards_of_one_rail_lose_their_leaf(stage: Stage) -> Scenario:
    """The leaf switch of one rail is down: no collective between hosts ends (NCCL docs, NET/IB; incident 09).

    To acquit: on each host the same card reports a port error within one second, to the kernel and to NCCL; then no
    rank is behind: all have launched the same collective and none completes it. A target was killed before that, and
    its reads were repeated with success; another is restarted or killed when all wait, or all is over.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (commotion.tenant_meets_bad_data, unrest.entries_missing, commotion.tenant_backend_fails))
    own, at, draw = stage.job.job, stage.at, stage.draw.child("leaf")
    rail = draw.whole(0, own.ranks_per_node - 1)
    stage.mark(at - SEC, f"the leaf switch of rail {rail} is down")
    for node in range(len(own.hosts)):
        then = at - SEC + draw.span(3, 700)
        ranks = own.ranks_of(node)
        card = f"mlx5_core 0000:{SLOTS[rail % len(SLOTS)]}:00.1 ibs{rail}"
        watched(stage, then, node, f"kernel: {card}: Link down")
        if rail < len(ranks):
            event = f"NET/IB : mlx5_{rail}:1 Got async event : port error"
            nccl_warns(stage, then + draw.span(0.4, 9), ranks[rail], "transport/net_ib.cc:96", event)
    stage.hang(at)
    if stage.params.timeout_s >= 120:
        hang_unrest.restarted_in_the_hang(stage)
    else:
        late_unrest.killed_when_all_is_over(stage)
    made = of_all(stage.innocent("gpu_fabric", also=("network", "infrastructure")))
    return stage.close("The switch was given new firmware, and somebody had the wrong list of switches.", (made,))
