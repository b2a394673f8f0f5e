"""Training faults of the twelfth part beside storage that is loud and has no part in them."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate import noise
from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, main_thread, py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest as eleventh_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.turns import of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "twelfth")
TWICE = (
    "Expected to mark a variable ready only once. This error is caused by one of the following reasons: 1) Use of a "
    "module parameter outside the `forward` function. Please make sure model parameters are not shared across multiple "
    "concurrent forward-backward passes. or try to use _set_static_graph() as a workaround if this module graph does "
    "not change during training loop.2) Reused parameters in multiple reentrant backward passes. For example, if you "
    "use multiple `checkpoint` functions to wrap the same part of your model, it would result in the same set of "
    "parameters been used by different reentrant backward passes multiple times, and hence marking a variable ready "
    "multiple times. DDP does not support such use cases in default. You can try to use _set_static_graph() as a "
    "workaround if your module graph does not change over iterations."
)


@kind(reads=True, lead_s=80.0, without=("restart_before", "kill_after", "rotation"))
def video_never_decoded(stage: Stage) -> Scenario:
    """A clip that came at once is decoded without end; a target was restarted before (dmlc/decord#269, #375)."""
    stage.open()
    beside(stage, commotion.restart_survived)
    job, rank, at, site = stage.job, stage.culprit, stage.at, stage.job.job.build["site"]
    draw, loader = stage.draw.child("video"), f"{stage.job.job.build['site']}/torch/utils/data/dataloader.py"
    stage.mark(at, f"a loader process of rank {rank} decodes a clip without end")
    if draw.chance(0.6):
        size, spent = draw.whole(2 << 20, 60 << 20), draw.between(0.03, 0.2)
        clip = f"clips/{draw.token(2)}/{draw.token(11)}.mp4"
        reader_note(stage, at - 30 * MS, rank, f"{clip}: {size} bytes in {spent:.2f} s, 16 frames to decode")
    waits = (
        ("poll", f"{PYTHON}/multiprocessing/connection.py", 257),
        ("get", f"{PYTHON}/multiprocessing/queues.py", 113),
        ("_try_get_data", loader, 1275),
        ("_next_data", loader, 1445),
        ("__next__", loader, 734),
    )
    decoding = (
        ("get_batch", f"{site}/decord/video_reader.py", 174),
        ("frames", f"{job.job.script.rsplit('/', 1)[0]}/clips.py", 63),
        ("_worker_loop", f"{site}/torch/utils/data/_utils/worker.py", 351),
        ("_bootstrap", f"{PYTHON}/multiprocessing/process.py", 314),
        ("spawn_main", f"{PYTHON}/multiprocessing/spawn.py", 122),
        ("<module>", "<string>", 1),
    )
    after, pid = min(draw.between(24, 41), stage.params.timeout_s / 2), job.job.rank_pids[rank] + draw.whole(90, 160)
    py_spy(stage, after, (main_thread(stage, *waits),))
    for late in (after + 0.5, after + 11.0):
        py_spy(stage, late, (Thread("MainThread", decoding, "active"),), pid)
    stage.hang(at + 60 * MS, rank)
    also = ("software", "data", "rank_hang")
    return stage.close(
        "Any other player shows the clip; who asks for several frames at once waits for good.",
        (stage.innocent("data_loading_stall", rank, also=also),),
    )


@kind(reads=True, hangs=False, lead_s=60.0)
def batch_of_one(stage: Stage) -> Scenario:
    """The last batch of an epoch has one sample, which has no variance; others are throttled (pytorch#4534)."""
    beside(stage, noise.tenant_rejected)
    stage.open()
    beside(stage, commotion.throttled_in_window)
    job, rank, at, site = stage.job, stage.culprit, stage.at, stage.job.job.build["site"]
    draw, module = stage.draw.child("one"), f"{stage.job.job.build['site']}/torch/nn/functional.py"
    stage.mark(at, f"rank {rank} has a batch of one sample")
    if draw.chance(0.6):
        job.note(at - 30 * MS, rank, "last batch of the epoch: 1 sample (drop_last=False)", "W", 181)
    channels = draw.pick((192, 256, 512, 1024))
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(f"{site}/torch/nn/modules/batchnorm.py", 193, "forward", "return F.batch_norm(", True),
        sdk.Frame(module, 2820, "batch_norm", "_verify_batch_size(input.size())"),
        sdk.Frame(module, 2786, "_verify_batch_size", "raise ValueError("),
    )
    size = f"got input size torch.Size([1, {channels}])"
    text = f"ValueError: Expected more than 1 value per channel when training, {size}"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)
    return stage.close("The corpus was extended by one recording.", (stage.innocent("software", rank, also=("data",)),))


@kind(reads=True, hangs=False, lead_s=60.0, torch_before=213)
def spectrum_not_computed(stage: Stage) -> Scenario:
    """A spectrum finds no memory on one device and does not say so; a cluster rebalances meanwhile (pytorch#119420)."""
    stage.open()
    beside(stage, commotion.rebalance_running)
    eleventh_unrest.unsettled(stage, (noise.mountpath_before, commotion.reads_recover, commotion.tenant_backend_fails))
    job, rank, at, site = stage.job, stage.culprit, stage.at, stage.job.job.build["site"]
    stage.mark(at, f"rank {rank} cannot compute a spectrum on its device")
    frames = (
        *loss_frames(stage, "features = self.frontend(batch.audio.to(device))"),
        sdk.Frame(f"{site}/torchaudio/functional/functional.py", 123, "spectrogram", "spec_f = torch.stft("),
        sdk.Frame(f"{site}/torch/functional.py", 666, "stft", "return _VF.stft(  # type: ignore[attr-defined]"),
    )
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, "RuntimeError: cuFFT error: CUFFT_INTERNAL_ERROR")))
    job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)
    return stage.close(
        "PyTorch keeps what it has, and a library that plans its transforms outside of that finds nothing left.",
        (stage.innocent("gpu", rank, also=("software",)),),
    )


@kind(hangs=False, lead_s=60.0)
def parameter_ready_twice(stage: Stage) -> Scenario:
    """An encoder is unfrozen, and is checkpointed: DDP sees a gradient twice. A tenant is full (transformers#23018)."""
    beside(stage, noise.tenant_out_of_space)
    stage.open()
    eleventh_unrest.unsettled(stage)
    job, at, draw = stage.job, stage.at, stage.draw.child("twice")
    stage.mark(at, "a parameter has its gradient twice in a step")
    job.note(at - seconds(stage.params.step_s), 0, f"unfreezing the encoder at step {stage.step}", line=158)
    named = f"Parameter at index {draw.whole(40, 390)} has been marked as ready twice."
    means = "This means that multiple autograd engine  hooks have fired for this particular parameter during this"
    debug = "You can set the environment variable TORCH_DISTRIBUTED_DEBUG to either INFO or DETAIL to print parameter"
    tail = f"{named} {means} iteration. {debug} names for further debugging."
    said = sdk.Raised(loss_frames(stage, "loss.backward()"), f"RuntimeError: {TWICE}\n{tail}")
    for rank in range(job.job.world):
        job.raise_on(at + draw.span(30, 80), rank, sdk.traceback(said))
    firsts = range(0, job.job.world, job.job.ranks_per_node)
    job.agents_end([Exit(rank, at + 700 * MS + rank * MS, 1) for rank in firsts], at + SEC)
    made = of_all(stage.innocent("software"))
    return stage.close("Memory was short, and someone switched recomputation on.", (replace(made, culprit_ranks=None),))
