"""Faults of training of the seventeenth part that no storage has made, while storage is loud and would be blamed."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import fetch_frames
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.patrons import each_raises
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import mountpath_before, tenant_out_of_space
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage

kind = kinds_of("training", "seventeenth")


@kind(reads=True, hangs=False, lead_s=80.0)
def shard_lacks_a_kind_of_member(stage: Stage) -> Scenario:
    """A shard was packed with other names than are asked for, amid a rebalance (webdataset docs, to_tuple)."""
    rank, at, site = stage.culprit, stage.at, stage.job.job.build["site"]
    draw = stage.draw.child("member")
    stage.open()
    beside(stage, commotion.rebalance_running)
    stage.mark(at, f"rank {rank} comes to a shard without .jpg")
    node, size = stage.cluster.target(draw.whole(0, 99)), draw.whole(900, 9_000) << 10
    stage.cluster.count(node, at - 40 * MS, get_n=1, get_ns_total=draw.span(9, 60), get_size=size)
    keys = "['__key__', '__url__', 'jpeg', 'json']"
    frames = fetch_frames(
        stage,
        "image, caption = next(self.samples)",
        sdk.Frame(
            f"{site}/webdataset/filters.py", 386, "_to_tuple", "result = tuple([getfirst(sample, f) for f in args])"
        ),
        sdk.Frame(
            f"{site}/webdataset/filters.py",
            70,
            "getfirst",
            'raise ValueError(f"didn\'t find {keys} in {list(a.keys())}")',
        ),
    )
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"ValueError: didn't find ['jpg'] in {keys}")))
    leaves(stage, at, rank)
    return stage.close(
        "One part of the corpus comes from somebody who writes .jpeg.",
        (stage.innocent("data", rank, also=("software",)),),
    )


@kind(reads=True, hangs=False, lead_s=80.0, without=RESTARTS)
def numpy_knows_no_bfloat16(stage: Stage) -> Scenario:
    """Predictions are written by NumPy, which has no such type; a target restarts, unhurt (pytorch#110285)."""
    at, script = stage.at, stage.job.job.script
    stage.open()
    beside(stage, commotion.restart_survived)
    beside(stage, commotion.tenant_backend_fails)
    stage.mark(at, "predictions are to be written for the first time")
    stage.job.note(at - 90 * MS, 0, f"writing predictions of step {stage.step}", line=191)
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 206, "main", "write_predictions(outputs, step)", True),
        sdk.Frame(script, 192, "write_predictions", "rows = [one.cpu().numpy() for one in outputs]", True),
    )
    each_raises(stage, at, "TypeError: Got unsupported ScalarType BFloat16", frames)
    return stage.close(
        "The precision was changed for the new devices, and what is written had been tried in the old one.",
        (stage.innocent("software", also=("data",)),),
    )


@kind(hangs=False, lead_s=80.0)
def schedule_is_at_its_end(stage: Stage) -> Scenario:
    """A schedule of learning rates has fewer steps than the run; a disk was lost before (pytorch docs, OneCycleLR)."""
    at, script, site = stage.at, stage.job.job.script, stage.job.job.build["site"]
    stage.open()
    beside(stage, mountpath_before)
    beside(stage, commotion.throttled_in_window)
    stage.mark(at, "the schedule has no further step")
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 198, "main", "train_step(model, batch, optimizer, scheduler)", True),
        sdk.Frame(script, 151, "train_step", "scheduler.step()", True),
        sdk.Frame(f"{site}/torch/optim/lr_scheduler.py", 1779, "get_lr", "raise ValueError("),
    )
    text = f"Tried to step {stage.step + 1} times. The specified number of total steps is {stage.step}"
    each_raises(stage, at, f"ValueError: {text}", frames)
    return stage.close(
        "Its length was counted with twice the devices of today.",
        (stage.innocent("software"),),
    )


@kind(reads=True, hangs=False, lead_s=80.0)
def array_was_pickled_by_another_tool(stage: Stage) -> Scenario:
    """What is named .npy was pickled by another tool, NumPy refuses; a tenant's target is full (numpy docs, load)."""
    rank, at, site = stage.culprit, stage.at, stage.job.job.build["site"]
    draw = stage.draw.child("pickled")
    stage.open()
    beside(stage, tenant_out_of_space)
    beside(stage, commotion.reads_recover)
    stage.mark(at, f"rank {rank} comes to an array that is none")
    node, size = stage.cluster.target(draw.whole(0, 99)), draw.whole(2_000, 90_000)
    stage.cluster.count(node, at - 9 * MS, get_n=1, get_ns_total=draw.span(1, 9), get_size=size)
    name = f"features/{draw.token(6)}.npy"
    stage.job.note(at - 2 * MS, rank, f"{name}: {size} bytes, xxhash2 as listed", "W", 40, "features")
    frames = fetch_frames(
        stage,
        "features = numpy.load(io.BytesIO(content))",
        sdk.Frame(
            f"{site}/numpy/lib/npyio.py", 450, "load", 'raise ValueError("Cannot load file containing pickled data "'
        ),
    )
    text = "ValueError: Cannot load file containing pickled data when allow_pickle=False"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    leaves(stage, at, rank)
    return stage.close(
        "An older script of the team has written what it had by pickle, and the name was kept.",
        (stage.innocent("data", rank, also=("software",)),),
    )
