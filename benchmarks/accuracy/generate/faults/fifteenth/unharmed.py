"""Faults of programs and labels of the fifteenth part, while storage is loud and does them no harm."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.patrons import each_raises
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames, raise_and_exit
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import mountpath_before, tenant_out_of_space
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage

kind = kinds_of("training", "fifteenth")


@kind(hangs=False, reads=True, lead_s=80.0)
def class_beyond_the_last(stage: Stage) -> Scenario:
    """A label is one class too high, while a disk is lost: an assertion of the loss (pytorch forum)."""
    stage.open()
    beside(stage, mountpath_before)
    unrest.unsettled(stage, (commotion.reads_recover, unrest.entries_missing))
    job, rank, at, torch = stage.job, stage.culprit, stage.at, stage.params.torch_release
    stage.mark(at, f"a label of rank {rank} is beyond the last class")
    kernel = "nll_loss_forward_reduce_cuda_kernel_2d"
    for thread in stage.draw.child("threads").shuffled(range(32))[: stage.draw.child("many").whole(1, 3)]:
        if torch.is_rocm:
            place = f"{torch.source_tree}aten/src/ATen/native/hip/Loss.hip:245: {kernel}: "
            what = "Device-side assertion `t >= 0 && t < n_classes' failed."
            job.say(at - 40 * MS, rank, f"{place}{what}")
            continue
        place = f"{torch.source_tree}aten/src/ATen/native/cuda/Loss.cu:245: {kernel}"
        what = "Assertion `t >= 0 && t < n_classes` failed."
        job.say(at - 40 * MS, rank, f"{place}: block: [0,0,0], thread: [{thread},0,0] {what}")
    name = "torch.AcceleratorError" if torch.order >= 208 else "RuntimeError"
    text = f"{name}: {cuda_error(torch.order, 'device-side assert triggered', 'cudaErrorAssert')}"
    raise_and_exit(stage, at, rank, text, "loss = criterion(model(batch), batch)")
    return stage.close(
        "Classes are counted from one in the new part of the annotations.",
        (stage.innocent("software", rank, also=("data", "gpu")),),
    )


@kind(hangs=False, reads=True, lead_s=80.0, without=RESTARTS)
def category_nobody_knows(stage: Stage) -> Scenario:
    """An annotation has a category not in the list, while a target restarts: KeyError in a loader (YOLOX)."""
    stage.open()
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (unrest.entries_missing, unrest.connects_repeated))
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("category")
    stage.mark(at, f"an annotation of rank {rank} has an unknown category")
    folder = stage.job.job.script.rsplit("/", 1)[0]
    frames = (
        sdk.Frame(f"{folder}/data/boxes.py", 204, "pull_item", "target = self.load_annotation(index)", True),
        sdk.Frame(f"{folder}/data/boxes.py", 151, "load_annotation", 'cls = self.class_ids[obj["category_id"]]', True),
    )
    in_worker(stage, at, rank, "KeyError", str(draw.whole(81, 400)), frames)
    exits(stage, at, rank)
    return stage.close(
        "The list of categories is that of the release before.",
        (stage.innocent("data", rank, also=("software",)),),
    )


@kind(hangs=False, lead_s=80.0, without=("low_space",))
def nothing_to_unscale(stage: Stage) -> Scenario:
    """All parameters are frozen after a stage, and a scaler has seen no gradient (pytorch forum, GradScaler)."""
    beside(stage, tenant_out_of_space)
    stage.open()
    unrest.unsettled(stage)
    own, at = stage.job.job, stage.at
    stage.mark(at, "no parameter of the optimizer has a gradient any more")
    stage.job.note(at - 900 * MS, 0, f"stage 2 begins at step {stage.step}: backbone and neck are frozen", line=166)
    frames = (
        *loss_frames(stage, "scaler.step(optimizer)"),
        sdk.Frame(f"{own.build['site']}/torch/amp/grad_scaler.py", 454, "step", "len(optimizer_state) > 0"),
    )
    each_raises(stage, at, "AssertionError: No inf checks were recorded for this optimizer.", frames)
    made = of_all(stage.innocent("software"))
    return stage.close("The optimizer still has the parameters of the first stage.", (made,))
