"""Faults of programs and of kernels of a job that trains already, of the twentieth part; storage is innocent and loud.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as former_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all, standing_in
from benchmarks.accuracy.generate.faults.twentieth import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twentieth")


@kind(hangs=False, lead_s=75.0, without=RESTARTS)
def axis_does_not_divide(stage: Stage) -> Scenario:
    """A batch has a length that einops cannot cut into patches (einops; prov-gigapath#94, ComfyUI#5550).

    To acquit: the rank prints the shape of the batch it has, all of its objects are there; einops names the axis.
    """
    stage.open()
    beside(stage, own_unrest.killed_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, former_unrest.tenant_full_in_window, loud.neighbour_reads_slowly))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("axis")
    site, patch = job.job.build["site"], draw.pick((2, 4, 8))
    many, high = draw.pick((8, 16, 24)), patch * draw.whole(20, 60)
    length = patch * draw.whole(100, 300) + draw.whole(1, patch - 1)
    stage.mark(at, f"rank {rank} has a batch that cannot be cut")
    reader_note(stage, at - 90 * MS, rank, f"batch: {many} of {many} objects here, [{many}, 16, {high}, {length}]")
    einops = f"{site}/einops/einops.py"
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(f"{site}/torch/nn/modules/module.py", 1747, "_call_impl", "return forward_call(*args, **kwargs)"),
        sdk.Frame(
            f"{job.job.script.rsplit('/', 1)[0]}/patches.py",
            31,
            "forward",
            "tokens = rearrange(x, PATTERN, ph=self.size, pw=self.size)",
            True,
        ),
        sdk.Frame(einops, 600, "rearrange", 'return reduce(tensor, pattern, reduction="rearrange", **axes_lengths)'),
        sdk.Frame(einops, 542, "reduce", 'raise EinopsError(message + "\\n {}".format(e))'),
    )
    text = "einops.EinopsError:  Error while processing rearrange-reduction pattern "
    text += '"b c (h ph) (w pw) -> b (h w) (c ph pw)".'
    text += f"\n Input tensor shape: torch.Size([{many}, 16, {high}, {length}]). "
    text += f"Additional info: {{'ph': {patch}, 'pw': {patch}}}."
    text += f"\n Shape mismatch, can't divide axis of length {length} in chunks of {patch}"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    return stage.close(
        "Lengths are no more rounded since batches have a mask.", (stage.innocent("software", rank, also=("data",)),)
    )


@kind(hangs=False, lead_s=60.0)
def copy_inside_a_captured_graph(stage: Stage) -> Scenario:
    """A thread asks something of a device whose stream is captured (pytorch#87794, lmdeploy#2544; CUDA docs, graphs).

    To acquit: the rank says that it captures a graph for a new length, and CUDA could not end it after what came in
    between; the batch had come.
    """
    stage.open()
    beside(stage, former_unrest.disk_lost_in_window)
    unrest.unsettled(
        stage, (own_unrest.turned_away_in_window, commotion.reads_recover, own_unrest.neighbour_reads_cold)
    )
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("capture")
    site, order = job.job.build["site"], job.job.torch.order
    stage.mark(at, f"a copy comes into a graph that rank {rank} captures")
    length = draw.whole(20, 400) * 8
    reader_note(
        stage, at - 60 * MS, rank, f"step {stage.step}: batch here, no graph for length {length} yet, capturing"
    )
    graphs = f"{site}/torch/cuda/graphs.py"
    frames = (
        *loss_frames(stage, "loss = self.graphs[length](batch)"),
        sdk.Frame(
            f"{job.job.script.rsplit('/', 1)[0]}/graphs.py",
            57,
            "capture",
            "with torch.cuda.graph(graph, pool=self.pool):",
        ),
        sdk.Frame(graphs, 186, "__exit__", "self.cuda_graph.capture_end()"),
        sdk.Frame(graphs, 84, "capture_end", "super().capture_end()"),
    )
    what = "operation failed due to a previous error during capture"
    said = cuda_error(order, what, "cudaErrorStreamCaptureInvalidated")
    name = "torch.AcceleratorError" if order >= 208 else "RuntimeError"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"{name}: {said}")))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    return stage.close(
        "Batches are pinned by a thread of the loader.", (stage.innocent("software", rank, also=("gpu",)),)
    )


@kind(hangs=False, lead_s=60.0, torch_before=215, sizes_only=True)
def clock_decides_who_reduces(stage: Stage) -> Scenario:
    """Each rank looks at its own clock whether a loss is to be reduced, and not all agree (PyTorch docs, distributed).

    To acquit: collectives of one number have one element on some ranks and a bucket on the others; who has one element
    says that it reports after a time; batches of all were there.
    """
    stage.open()
    beside(stage, own_unrest.turned_away_in_window)
    unrest.unsettled(stage, (former_unrest.disk_lost_in_window, commotion.reads_recover, loud.neighbour_reads_slowly))
    job, own, rank, at = stage.job, stage.job.job, stage.culprit, stage.at
    draw = stage.draw.child("clock")
    early = sorted(
        {rank, *draw.shuffled([one for one in range(own.world) if one != rank])[: draw.whole(0, own.world // 3)]}
    )
    stage.mark(at, f"{len(early)} ranks reduce a loss, the others gradients")
    after = (at - job.begin) // SEC
    reader_note(stage, job.begin + 20 * MS, 0, f"loss is averaged over all ranks every {after} s, by the clock of each")
    for one in early[:8]:
        said = f"step {stage.step}: {after}.0{draw.whole(0, 4)} s since the start, averaging the loss"
        reader_note(stage, at - draw.span(1, 9), one, said)
    site = own.build["site"]
    frames = (
        f"#0 all_reduce from {site}/torch/distributed/distributed_c10d.py:3252",
        f"#1 report from {own.script}:149",
        f"#2 main from {own.script}:198",
        f"#3 <module> from {own.script}:212",
    )
    stuck = stage.everyone_else()
    for one in early:
        stuck[one] = replace(stuck[one], numel_in=1, numel_out=1, enqueued=stuck[one].seq, frames=frames)
    stage.mark(job.hang(at, stuck), f"job {own.job_id} has ended")
    made = stage.innocent("collective_mismatch", also=("software",))
    return stage.close("Until last week it was reported every fifty steps.", (of_all(made),))


@kind(lead_s=60.0)
def rank_collects_its_garbage(stage: Stage) -> Scenario:
    """A rank has hundreds of millions of objects, and Python looks at them all (sglang PR 28067, torchtitan PR 148).

    To acquit: the rank says that its collector begins, as it was set up to; the stack is active in its script, at no
    read; the batch was there.
    """
    stage.open()
    beside(stage, own_unrest.neighbour_reads_cold)
    unrest.unsettled(
        stage, (own_unrest.turned_away_in_window, former_unrest.disk_lost_in_window, commotion.reads_recover)
    )
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("garbage")
    stage.mark(at, f"rank {rank} collects its garbage")
    for turn, one in enumerate(readers(stage)[: draw.whole(2, 4)]):
        then = at - draw.span(9_000, 40_000)
        many = draw.whole(2_000_000, 6_000_000)
        reader_note(
            stage, then, one, f"gc: generation 2, {many} objects, {many / 1.8e6:.2f} s{'' if turn else ', all well'}"
        )
    many = int(own.timeout_s * 1.8 * draw.between(1.4, 2.3))
    reader_note(
        stage, at - 12 * MS, rank, f"step {stage.step}: batch here; gc: generation 2 begins, {many}000000 objects"
    )
    folder = own.script.rsplit("/", 1)[0]
    main = standing_in(stage, draw.pick((199, 201)), ("collect_garbage", f"{folder}/memory.py", 22), state="active")
    py_spy(stage, min(draw.between(24, 44), own.timeout_s - 14), (main,))
    stage.hang(at + 40 * MS, rank)
    loud.killed_in_the_hang(stage)
    made = stage.innocent("rank_hang", rank, also=("software",))
    return stage.close("Texts of a whole corpus are kept as single objects on that rank.", (made,))
