"""A rank raises and its process stays, so that the others wait for the watchdog; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth.stacks import BOOTSTRAP, Thread, py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import script_folder
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "thirty_first")


def _stays(stage: Stage) -> None:
    """The stacks of a rank whose main thread is through, and waits at the end for a thread that waits for work."""
    uploader = (
        ("wait", f"{PYTHON}/threading.py", 327),
        ("get", f"{PYTHON}/queue.py", 171),
        ("_drain", f"{script_folder(stage)}/uploader.py", 41),
        *BOOTSTRAP,
    )
    threads = (Thread("MainThread", (("_shutdown", f"{PYTHON}/threading.py", 1590),)), Thread("log-upload", uploader))
    after = min(stage.draw.child("stays").between(17, 34), stage.job.job.timeout_s - 12)
    py_spy(stage, after, threads)


@kind(reads=True, lead_s=75.0, without=RESTARTS)
def crop_of_a_short_cut_raises_on_a_rank(stage: Stage) -> Scenario:
    """A cut is shorter than the window to be cropped out of it: nothing for randint to choose (Python docs, random).

    To acquit: a target was restarted a minute before, the rank repeated its batch and has had 48 of 48 recordings of
    each since; its traceback ends in its own augmentation, with the length of the cut, and no request is in it.
    """
    stage.open()
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (unrest.entries_missing, past_unrest.turned_away_in_window))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("crop")
    window = draw.pick((24_000, 32_000, 48_000))
    samples = window - 160 * draw.whole(1, 60)
    name = utterance(draw)
    told(stage, job.begin - 410 * MS, 0, "augment", f"random crops of {window} samples from step {stage.step - 5} on")
    for one in (rank, *readers(stage)[:3]):
        said = (
            f"step {stage.step}: 48 of 48 recordings, {draw.between(1.1, 2.9):.1f} MB, {draw.between(0.1, 0.3):.2f} s"
        )
        told(stage, at - draw.span(20, 90), one, "data", said)
    stage.mark(at, f"rank {rank} raises in its own augmentation")
    place, wide = f"{script_folder(stage)}/augment.py", samples - window + 1
    randrange = 'raise ValueError("empty range for randrange() (%d, %d, %d)" % (istart, istop, width))'
    first = sdk.Raised(
        (
            sdk.Frame(place, 61, "random_crop", "begin = random.randint(0, len(samples) - self.window)", True),
            sdk.Frame(f"{PYTHON}/random.py", 362, "randint", "return self.randrange(a, b+1)", True),
            sdk.Frame(f"{PYTHON}/random.py", 345, "randrange", randrange),
        ),
        f"ValueError: empty range for randrange() (0, {wide}, {wide})",
        sdk.DIRECT,
    )
    text = f"ValueError: cannot crop {window} samples out of ais://{stage.bucket}/{name}: it has {samples}"
    frames = sdk.main_frames(
        own,
        stage.step,
        sdk.Frame(own.script, 68, "fetch", "return self.augment(batch)", True),
        sdk.Frame(place, 88, "__call__", "cuts = [self.random_crop(cut) for cut in batch]", True),
        sdk.Frame(place, 63, "random_crop", "raise ValueError("),
    )
    job.raise_on(at, rank, sdk.traceback(first, sdk.Raised(frames, text)))
    _stays(stage)
    stage.hang(at + 15 * MS, rank)
    made = stage.innocent("data", rank, also=("software", "rank_hang"))
    return stage.close("Crops begin late in the schedule, and short cuts were never filtered for them.", (made,))


@kind(hangs=False, lead_s=60.0)
def anomaly_mode_stops_a_rank_at_a_nan(stage: Stage) -> Scenario:
    """detect_anomaly is on, and the backward pass of one rank has a NaN (PyTorch docs, Autograd; wording from memory).

    To acquit: the rank names the recording of digital silence whose deviation is zero, its exception is autograd's,
    and its process stays; batches that were turned away or lacked entries before were served to all alike.
    """
    stage.open()
    beside(stage, past_unrest.turned_away_in_window)
    unrest.unsettled(stage, (loud.neighbour_reads_slowly, commotion.tenant_meets_bad_data, unrest.entries_missing))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("anomaly")
    told(stage, job.begin - 380 * MS, 0, "train", "torch.autograd.set_detect_anomaly(True), features per utterance")
    said = f"{utterance(draw)}: {draw.between(1.2, 9.8):.2f} s of digital silence, deviation of its features 0.000"
    told(stage, at - 44 * MS, rank, "features", said, "WARNING")
    stage.mark(at, f"autograd finds a NaN on rank {rank}")
    graph = f"{own.build['site']}/torch/autograd/graph.py"
    rows = [
        f"{graph}:825: UserWarning: Error detected in LogSoftmaxBackward0. Traceback of forward call that caused the "
        "error:"
    ]
    called = (*loss_frames(stage, "loss = criterion(model(batch), batch)"),)
    inner = sdk.Frame(f"{script_folder(stage)}/model.py", 144, "forward", "return logits.log_softmax(dim=-1)")
    for frame in (*called, inner):
        rows += [f'  File "{frame.file}", line {frame.line}, in {frame.function}', f"    {frame.code}"]
    source = f"{own.torch.source_tree}torch/csrc/autograd/python_anomaly_mode.cpp:122.)"
    rows += [
        f" (Triggered internally at {source}",
        "  return Variable._execution_engine.run_backward(  # Calls into the C++ engine to run the backward pass",
    ]
    job.say(at, rank, "\n".join(rows))
    script, site = own.script, own.build["site"]
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 193, "main", "loss.backward()"),
        sdk.Frame(f"{site}/torch/_tensor.py", 581, "backward", "torch.autograd.backward("),
        sdk.Frame(f"{site}/torch/autograd/__init__.py", 347, "backward", "_engine_run_backward("),
        sdk.Frame(graph, 825, "_engine_run_backward", "return Variable._execution_engine.run_backward("),
    )
    text = "RuntimeError: Function 'LogSoftmaxBackward0' returned nan values in its 0th output."
    job.raise_on(at + 4 * MS, rank, sdk.traceback(sdk.Raised(frames, text)))
    _stays(stage)
    stage.hang(at + 12 * MS, rank)
    loud.killed_in_the_hang(stage)
    made = stage.innocent("software", rank, also=("data", "rank_hang"))
    return stage.close("Features of each recording are divided by their deviation, whatever it is.", (made,))
