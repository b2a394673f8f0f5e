"""Samples and settings of samples of the seventeenth part that no storage has harmed, while storage is loud."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import mountpath_before, tenant_out_of_space
from fixtures.generator import sdk
from fixtures.generator.draw import LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage

kind = kinds_of("training", "seventeenth")


def _whole(stage: Stage, at: int, size: int) -> None:
    """What is read comes as a whole: some target has sent it in a moment."""
    draw = stage.draw.child("whole")
    node = stage.cluster.target(draw.whole(0, 99))
    stage.cluster.count(node, at - 12 * MS, get_n=1, get_ns_total=draw.span(1, 9), get_size=size)


@kind(reads=True, hangs=False, lead_s=70.0)
def labels_are_not_padded(stage: Stage) -> Scenario:
    """A collator pads what goes in and not what is to come out (transformers#39266, ChatGLM2-6B#264)."""
    stage.open()
    beside(stage, commotion.rebalance_running)
    unrest.unsettled(stage, (commotion.reads_recover, unrest.entries_missing, commotion.tenant_backend_fails))
    rank, at, draw, site = stage.culprit, stage.at, stage.draw.child("padded"), stage.job.job.build["site"]
    stage.mark(at, f"rank {rank} comes to a batch whose labels have two lengths")
    _whole(stage, at, draw.whole(90, 900) << 10)
    module = f"{site}/transformers"
    frames = (
        sdk.Frame(f"{module}/data/data_collator.py", 46, "__call__", "return self.torch_call(features)"),
        sdk.Frame(
            f"{module}/data/data_collator.py", 67, "pad_without_fast_tokenizer_warning", "padded = tokenizer.pad("
        ),
        sdk.Frame(f"{module}/tokenization_utils_base.py", 775, "convert_to_tensors", "raise ValueError("),
    )
    text = "Unable to create tensor, you should probably activate truncation and/or padding with 'padding=True' "
    text += "'truncation=True' to have batched tensors with the same length. Perhaps your features (`labels` in this "
    text += "case) have excessive nesting (inputs type `list` where type `int` is expected)."
    in_worker(stage, at, rank, "ValueError", text, frames)
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    return stage.close(
        "All batches before had answers of one length.", (stage.innocent("software", rank, also=("data",)),)
    )


@kind(reads=True, hangs=False, lead_s=70.0)
def grey_picture_to_normalise(stage: Stage) -> Scenario:
    """A picture has one channel, where three have a mean; a disk was lost before (instagan#19, pytorch-beginner#31)."""
    stage.open()
    beside(stage, mountpath_before)
    unrest.unsettled(stage, (commotion.reads_recover, commotion.throttled_in_window, unrest.connects_repeated))
    rank, at, draw, site = stage.culprit, stage.at, stage.draw.child("grey"), stage.job.job.build["site"]
    stage.mark(at, f"rank {rank} comes to a picture without colours")
    size, side = draw.whole(30, 240) << 10, draw.pick((224, 256, 384, 512))
    name = f"train/{draw.token(2, LOWER)}/{draw.token(9, LOWER)}.png"
    _whole(stage, at, size)
    if draw.chance(0.5):
        said = f"{name}: {size} bytes as listed, mode L, {side}x{side}"
        stage.job.note(at - 4 * MS, rank, said, "W", 71, "pictures")
    module = f"{site}/torchvision/transforms"
    frames = (
        sdk.Frame(f"{module}/transforms.py", 277, "forward", "return F.normalize(tensor, self.mean, self.std,"),
        sdk.Frame(f"{module}/functional.py", 350, "normalize", "return F_t.normalize(tensor, mean=mean, std=std,"),
        sdk.Frame(f"{module}/_functional_tensor.py", 928, "normalize", "return tensor.sub_(mean).div_(std)"),
    )
    text = f"output with shape [1, {side}, {side}] doesn't match the broadcast shape [3, {side}, {side}]"
    in_worker(stage, at, rank, "RuntimeError", text, frames)
    exits(stage, at, rank)
    return stage.close(
        "Scans of books came in with the last delivery.", (stage.innocent("data", rank, also=("software",)),)
    )


@kind(reads=True, hangs=False, lead_s=70.0, without=("low_space",))
def targets_longer_than_the_loss_allows(stage: Stage) -> Scenario:
    """CTC is told that a sample is longer than its batch; others find a target full (crnn-pytorch#62, pytorch docs)."""
    beside(stage, tenant_out_of_space)
    stage.open()
    unrest.unsettled(stage, (commotion.tenant_meets_bad_data, unrest.entries_missing, commotion.reads_recover))
    job, rank, at = stage.job, stage.culprit, stage.at
    site, most = stage.job.job.build["site"], stage.draw.child("frames").whole(240, 1_900)
    stage.mark(at, f"rank {rank} tells the loss of a length that its batch has not")
    frames = (
        sdk.Frame(job.job.script, 212, "<module>", "main()"),
        sdk.Frame(job.job.script, 191, "main", "loss = criterion(log_probs, targets, lengths, target_lengths)", True),
        sdk.Frame(f"{site}/torch/nn/modules/loss.py", 2079, "forward", "return F.ctc_loss("),
        sdk.Frame(f"{site}/torch/nn/functional.py", 3069, "ctc_loss", "return torch.ctc_loss("),
    )
    text = f"RuntimeError: Expected input_lengths to have value at most {most}, but got value {most + 1} (while "
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"{text}checking arguments for ctc_loss_gpu)")))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    return stage.close(
        "Lengths are rounded up in one place and down in another.",
        (stage.innocent("software", rank, also=("data",)),),
    )
