"""A device is lost, is full, or is given an index that its table does not have; storage beside it is loud and innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames
from benchmarks.accuracy.generate.faults.words.tellers import speakers, told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import script_folder
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator import watchdog as wd
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "thirty_fourth")
#: Where the devices of a host sit on its bus, in the order of its local ranks.
SLOTS = ("18", "2a", "3a", "5d", "9a", "ab", "ba", "db")
GIB_OF_DEVICE = 79.1


def _device_error(stage: Stage, what: str, name: str) -> str:
    """An error of the device as the interpreter prints it: a type of its own since 2.8."""
    order = stage.params.torch_release.order
    return f"{'torch.AcceleratorError' if order >= 208 else 'RuntimeError'}: {cuda_error(order, what, name)}"


def _lost(stage: Stage, at: int, rank: int) -> None:
    """The kernel of a host says that the device of a rank does not answer any more."""
    own = stage.job.job
    node, slot = own.node_of(rank), f"0000:{SLOTS[own.local_rank(rank) % len(SLOTS)]}:00"
    said = f"79, pid={own.rank_pids[rank]}, name=python3, GPU has fallen off the bus."
    watched(stage, at, node, f"kernel: NVRM: Xid (PCI:{slot}): {said}")
    watched(stage, at + 2 * MS, node, f"kernel: NVRM: GPU {slot}.0: GPU has fallen off the bus.")


@kind(reads=True, hangs=False, lead_s=72.0, without=RESTARTS)
def device_is_off_the_bus_after_a_restart_of_a_target(stage: Stage) -> Scenario:
    """The commonest loss of a device, Xid 79, a minute after a target was restarted (NVIDIA Xid catalog; recorded 07).

    To acquit: who lacked objects of the restarted target says that it was served, and trained on. The kernel of one
    host names the process of a rank with Xid 79 just before that rank's error of CUDA; it is the first to exit.
    """
    beside(stage, commotion.restart_survived)
    stage.open()
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("bus")
    lost = stage.mark(at - draw.span(30, 160), f"the device of rank {rank} is off the bus")
    _lost(stage, lost, rank)
    graph = f"{own.build['site']}/torch/autograd/graph.py"
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 193, "main", "loss.backward()"),
        sdk.Frame(f"{own.build['site']}/torch/_tensor.py", 647, "backward", "torch.autograd.backward("),
        sdk.Frame(graph, 829, "_engine_run_backward", "return Variable._execution_engine.run_backward(", True),
    )
    text = _device_error(stage, "unspecified launch failure", "cudaErrorLaunchFailure")
    job.raise_on(at + 40 * MS, rank, sdk.traceback(sdk.Raised(frames, text)))
    down = at + draw.span(310, 720)
    for line in wd.taken_down(own, rank, down, text.split(": ", 1)[1], timed_out=False):
        job.say(down, rank, line)
    job.agents_end([Exit(rank, down + 70 * MS, -6)], down)
    made = stage.innocent("gpu", rank, also=("infrastructure",))
    return stage.close("Its power connector had been loose since the host came out of its repair.", (made,))


def _out_of_memory(stage: Stage, rank: int, draw: Draw) -> str:
    """What the allocator of a device says when it has nothing left, by release."""
    order, local = stage.params.torch_release.order, stage.job.job.local_rank(rank)
    wanted, free, idle = draw.between(1.9, 6.8), draw.between(0.2, 1.6), draw.between(0.6, 3.9)
    used = GIB_OF_DEVICE - free
    held = used - idle - draw.between(0.5, 0.7)
    page = "https://pytorch.org/docs/stable/notes/cuda.html#environment-variables"
    name = "torch.OutOfMemoryError" if order >= 205 else "torch.cuda.OutOfMemoryError"
    return (
        f"{name}: CUDA out of memory. Tried to allocate {wanted:.2f} GiB. GPU {local} has a total capacity of "
        f"{GIB_OF_DEVICE:.2f} GiB of which {free:.2f} GiB is free. Including non-PyTorch memory, this process has "
        f"{used:.2f} GiB memory in use. Of the allocated memory {held:.2f} GiB is allocated by PyTorch, and "
        f"{idle:.2f} GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try "
        "setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for "
        f"Memory Management  ({page})"
    )


def _attending(stage: Stage) -> tuple[sdk.Frame, ...]:
    """From the script's main to the scores of attention in a layer of the encoder."""
    module = f"{stage.job.job.build['site']}/torch/nn/modules/module.py"
    called = (
        sdk.Frame(module, 1751, "_wrapped_call_impl", "return self._call_impl(*args, **kwargs)", True),
        sdk.Frame(module, 1762, "_call_impl", "return forward_call(*args, **kwargs)", True),
    )
    return (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        *called,
        sdk.Frame(f"{script_folder(stage)}/conformer.py", 233, "forward", "x = layer(x, mask)", True),
        *called,
        sdk.Frame(
            f"{script_folder(stage)}/conformer.py",
            141,
            "forward",
            "scores = torch.matmul(q, k.transpose(-2, -1)) * self.scale",
            True,
        ),
    )


@kind(reads=True, hangs=False, lead_s=62.0, without=RESTARTS)
def longest_bucket_needs_more_than_a_device_has(stage: Stage) -> Scenario:
    """A batch of the longest recordings comes, and attention needs more memory than there is (pytorch FAQ; lhotse).

    To acquit: the rank tells that its batch is whole and how long it is, then the allocator of its device says what
    it was asked for. That some batches had to be asked for again seconds before, and came late, harmed nobody.
    """
    stage.open()
    beside(stage, past_unrest.turned_away_in_window)
    unrest.unsettled(stage, (commotion.throttled_in_window, commotion.reads_recover))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("longest")
    longest, many = draw.between(34.0, 39.9), draw.pick((24, 32, 40))
    said = "buckets up to 10, 20, 30 and 40 s; batch sizes were tried on those up to 20 s"
    told(stage, job.begin - 420 * MS, 0, "sampler", said)
    for one in speakers(stage)[:8]:
        if one != rank:
            short = f"step {stage.step}: {many} recordings, the longest of {draw.between(8, 19):.1f} s"
            told(stage, at - draw.span(20, 110), one, "sampler", short)
    said = f"step {stage.step}: {many} recordings, the longest of {longest:.1f} s, all of them read and decoded"
    told(stage, at - 30 * MS, rank, "sampler", said)
    stage.mark(at, f"rank {rank} has no device memory left for a batch of {longest:.1f} s")
    job.raise_on(at + 60 * MS, rank, sdk.traceback(sdk.Raised(_attending(stage), _out_of_memory(stage, rank, draw))))
    job.agents_end([Exit(rank, at + 800 * MS, 1)], at + 800 * MS)
    made = stage.innocent("gpu", rank, also=("software",))
    return stage.close("The bucket up to 40 s had been added the day before, with the old batch size.", (made,))


@kind(reads=True, hangs=False, lead_s=64.0, without=RESTARTS)
def token_beyond_the_rows_of_an_embedding(stage: Stage) -> Scenario:
    """A tokenizer has more tokens than the model has rows, and a device asserts (pytorch forum; Indexing.cu).

    To acquit: at its start the job tells both numbers; the kernel of the device asserts that an index is too large on
    one rank, whose batch is complete, and only then CUDA's error is raised there. A target had been killed half a
    minute before, and whoever needed it was served at a second try.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("rows")
    rows = draw.pick((1024, 2048, 5000, 32_000))
    more = rows + draw.whole(1, 7)
    said = f"tokenizer has {more} tokens; decoder.embed has {rows} rows, from the checkpoint that training began with"
    told(stage, job.begin - 380 * MS, 0, "model", said)
    told(stage, at - 25 * MS, rank, "dataset", f"step {stage.step}: 48 of 48 recordings, largest token {more - 1}")
    stage.mark(at, f"rank {rank} looks up token {more - 1} of {rows}")
    place = f"{own.torch.source_tree}aten/src/ATen/native/cuda/Indexing.cu:1553: indexSelectLargeIndex"
    block, first = draw.whole(0, 190), draw.pick((0, 32, 64, 96))
    asserted = "Assertion `srcIndex < srcSelectDimSize` failed."
    lines = [f"{place}: block: [{block},0,0], thread: [{first + turn},0,0] {asserted}" for turn in range(32)]
    job.say(at + 12 * MS, rank, "\n".join(lines))
    text = _device_error(stage, "device-side assert triggered", "cudaErrorAssert")
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(f"{script_folder(stage)}/losses.py", 58, "criterion", "if not torch.isfinite(loss).all():"),
    )
    job.raise_on(at + 21 * MS, rank, sdk.traceback(sdk.Raised(frames, text)))
    job.agents_end([Exit(rank, at + 900 * MS, 1)], at + 900 * MS)
    made = stage.innocent("software", rank, also=("gpu", "data"))
    return stage.close("The tokenizer had been trained anew with some tokens for a second language.", (made,))
