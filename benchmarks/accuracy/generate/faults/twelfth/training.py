"""Faults of the training loop and of its samples, of the twelfth part; storage is innocent, in most of them loud."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.draw import HEX, LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twelfth")


@kind(hangs=False, torch_order=203, torch_before=215)
def batch_without_images(stage: Stage) -> Scenario:
    """A batch is text only: its rank skips the vision tower that others gather (Qwen3-VL#126, ms-swift#9104)."""
    stage.open()
    unrest.unsettled(stage)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("text only")
    site, script = job.job.build["site"], job.job.script
    stage.mark(at, f"a batch of rank {rank} has no image")
    if draw.chance(0.35):
        job.note(at - 20 * MS, rank, f"batch of {draw.pick((4, 8, 16))} samples, 0 images", "W", 182)
    tower, layer = draw.pick(((1_327_104, 23_068_672), (663_552, 8_404_992), (2_457_600, 58_720_256)))
    world = job.job.world

    def frames(module: str, line: int) -> tuple[str, ...]:
        return (
            f"#0 all_gather_into_tensor from {site}/torch/distributed/distributed_c10d.py:4013",
            f"#1 all_gather_params from {site}/deepspeed/runtime/zero/partition_parameters.py:1287",
            f"#2 pre_sub_module_forward_function from {site}/deepspeed/runtime/zero/parameter_offload.py:492",
            f"#3 forward from /workspace/asr/{module}.py:{line}",
            f"#4 main from {script}:191",
            f"#5 <module> from {script}:212",
        )

    stuck = {}
    for one, work in stage.everyone_else().items():
        size = layer if one == rank else tower
        traced = frames("decoder", 402) if one == rank else frames("vision", 118)
        size += -size % world
        stuck[one] = replace(work, op="_ALLGATHER_BASE", numel_in=size // world, numel_out=size, frames=traced)
    stage.mark(job.hang(at, stuck), f"job {job.job.job_id} has ended")
    also = ("data", "software", "rank_hang")
    return stage.close(
        "Text was mixed in to keep the model's language.", (stage.innocent("collective_mismatch", rank, also=also),)
    )


@kind(reads=True)
def page_instead_of_image(stage: Stage) -> Scenario:
    """What a crawler has stored as an image is a page that says no: whole, and not to be decoded (Pillow#4678)."""
    stage.open()
    unrest.unsettled(stage)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("crawled")
    site, node = job.job.build["site"], stage.cluster.target(draw.whole(0, 99))
    name = f"images/{draw.token(2, LOWER)}/{draw.whole(0, 999_999):06d}.{draw.pick(('jpg', 'png', 'webp'))}"
    size = draw.whole(900, 24_000)
    stage.mark(at, f"rank {rank} reads {name}, which is a page of HTML")
    stage.cluster.count(node, at - 9 * MS, get_n=1, get_ns_total=draw.span(2, 14), get_size=size)
    if draw.chance(0.45):
        said = f"ais://{stage.bucket}/{name}: {size} bytes, begins with b'<!DOCTYPE html>'"
        job.note(at - 2 * MS, rank, said, "W", 88, "dataset")
    frames = (
        sdk.Frame("/workspace/asr/dataset.py", 91, "decode", 'image = Image.open(io.BytesIO(content)).convert("RGB")'),
        sdk.Frame(f"{site}/PIL/Image.py", 3498, "open", "raise UnidentifiedImageError(msg)"),
    )
    handle = f"<_io.BytesIO object at 0x7f{draw.token(10, HEX)}>"
    in_worker(stage, at, rank, "PIL.UnidentifiedImageError", f"cannot identify image file {handle}", frames)
    stage.hang(at + 340 * MS, rank)
    also = ("software",)
    return stage.close(
        "The site that was crawled has sent a page where the image was gone.",
        (stage.innocent("data", rank, also=also),),
    )
