"""Faults of programs and samples of the thirteenth part; storage is innocent, in some of them loud."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.script import raise_and_exit
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.draw import LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "thirteenth")


@kind(reads=True, hangs=False)
def samples_do_not_stack(stage: Stage) -> Scenario:
    """Samples of a batch have two shapes, and are to be stacked (pytorch#116558, SimpleTuner#59)."""
    stage.open()
    unrest.unsettled(stage)
    rank, at, site = stage.culprit, stage.at, stage.job.job.build["site"]
    draw, module = stage.draw.child("shapes"), f"{stage.job.job.build['site']}/torch/utils/data/_utils/collate.py"
    usual, odd = draw.pick(
        (
            ("3, 512, 512", f"3, 512, {draw.whole(300, 511)}"),
            ("3, 256, 256", "4, 256, 256"),
            ("1, 96, 96, 96", f"1, 96, 96, {draw.whole(31, 95)}"),
            ("80, 1024", f"80, {draw.whole(200, 1023)}"),
        )
    )
    stage.mark(at, f"a batch of rank {rank} has samples of two shapes")
    frames = (
        sdk.Frame(f"{site}/torch/utils/data/_utils/fetch.py", 55, "fetch", "return self.collate_fn(data)"),
        sdk.Frame(module, 398, "default_collate", "return collate(batch, collate_fn_map=default_collate_fn_map)"),
        sdk.Frame(module, 171, "collate", "key: collate("),
        sdk.Frame(module, 272, "collate_tensor_fn", "return torch.stack(batch, 0, out=out)"),
    )
    text = f"stack expects each tensor to be equal size, but got [{usual}] at entry 0 and [{odd}] at entry "
    in_worker(stage, at, rank, "RuntimeError", f"{text}{draw.whole(1, 15)}", frames)
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    also = ("data",)
    return stage.close(
        "A source of other recordings was mixed in without the step that cuts them.",
        (stage.innocent("software", rank, also=also),),
    )


@kind(hangs=False)
def tensor_left_on_host(stage: Stage) -> Scenario:
    """A branch that few batches take makes a tensor where its model is not (yolov3#1586, ConceptExpress#5)."""
    stage.open()
    unrest.unsettled(stage)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("left")
    stage.mark(at, f"rank {rank} has a tensor on its host")
    device = f"cuda:{job.job.local_rank(rank)}"
    if job.job.torch.order >= 209:
        name, check = draw.pick((("mat2", "wrapper_CUDA_mm"), ("index", "wrapper_CUDA__index_select")))
        where = f"but got {name} is on cpu, different from other tensors on {device}"
        text = f"Expected all tensors to be on the same device, {where} (when checking argument in method {check})"
    else:
        text = f"Expected all tensors to be on the same device, but found at least two devices, {device} and cpu!"
    code = draw.pick(("loss = model(batch, prior=priors[batch.lang])", "loss = criterion(logits, fallback_targets)"))
    raise_and_exit(stage, at, rank, f"RuntimeError: {text}", code)
    unrest.hung_up_on(stage)
    return stage.close(
        "Few batches have a language of which there is no prior.", (stage.innocent("software", rank, also=("data",)),)
    )


@kind(reads=True)
def image_of_too_many_pixels(stage: Stage) -> Scenario:
    """Pillow takes a picture of a map for an attack (pytorch-CycleGAN-and-pix2pix#1592, Pillow#5218)."""
    stage.open()
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("pixels")
    site, node = job.job.build["site"], stage.cluster.target(draw.whole(0, 99))
    name = f"images/{draw.token(2, LOWER)}/{draw.whole(0, 999_999):06d}.{draw.pick(('png', 'tif', 'jpg'))}"
    width, height = draw.whole(19_100, 40_000), draw.whole(19_000, 38_000)
    stage.mark(at, f"rank {rank} reads {name} of {width} x {height} pixels")
    size = draw.whole(60 << 20, 900 << 20)
    stage.cluster.count(node, at - 30 * MS, get_n=1, get_ns_total=draw.span(300, 2_600), get_size=size)
    if draw.chance(0.4):
        job.note(at - 9 * MS, rank, f"ais://{stage.bucket}/{name}: {size} bytes, {width} x {height}", "W", 88)
    frames = (
        sdk.Frame("/workspace/asr/dataset.py", 91, "decode", 'image = Image.open(io.BytesIO(content)).convert("RGB")'),
        sdk.Frame(f"{site}/PIL/Image.py", 3480, "open", "im = _open_core(fp, filename, prefix, formats)"),
        sdk.Frame(f"{site}/PIL/Image.py", 3469, "_open_core", "_decompression_bomb_check(im.size)"),
        sdk.Frame(f"{site}/PIL/Image.py", 3374, "_decompression_bomb_check", "raise DecompressionBombError(msg)"),
    )
    text = f"Image size ({width * height} pixels) exceeds limit of 178956970 pixels, could be decompression bomb DOS"
    in_worker(stage, at, rank, "PIL.Image.DecompressionBombError", f"{text} attack.", frames)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A crawl has brought scans of maps; whoever trained on it before had them filtered out.",
        (stage.innocent("data", rank, also=("software",)),),
    )


@kind(hangs=False, trains=False)
def tokenizer_of_newer_library(stage: Stage) -> Scenario:
    """A tokenizer was written by a newer library than the image has (tokenizers#1297, open-instruct#738)."""
    job, draw, site = stage.job, stage.draw.child("tokenizer"), stage.job.job.build["site"]
    job.start()
    at = stage.mark(job.begin + draw.span(500, 2_200), "no rank can read the tokenizer that it has fetched")
    object_name, local = "tokenizers/v7/tokenizer.json", "/dev/shm/tokenizer.json"
    size, node = draw.whole(7 << 20, 17 << 20), stage.cluster.target(draw.whole(0, 99))
    stage.cluster.count(node, at - 300 * MS, get_n=job.job.world, get_ns_total=job.job.world * draw.span(9, 90))
    job.note(at - 200 * MS, 0, f"ais://models/{object_name}: {size} bytes to {local}", line=86)
    line = draw.pick((757_443, 1_251_012, 259_572, 250_295))
    frames = (
        sdk.Frame(job.job.script, 212, "<module>", "main()"),
        sdk.Frame(job.job.script, 166, "main", "tokenizer = load_tokenizer(args)", True),
        sdk.Frame(job.job.script, 88, "load_tokenizer", "return PreTrainedTokenizerFast(tokenizer_file=path)", True),
        sdk.Frame(
            f"{site}/transformers/tokenization_utils_fast.py",
            111,
            "__init__",
            "fast_tokenizer = TokenizerFast.from_file(fast_tokenizer_file)",
        ),
    )
    text = f"Exception: data did not match any variant of untagged enum ModelWrapper at line {line} column 3"
    said = sdk.traceback(sdk.Raised(frames, text))
    for rank in range(job.job.world):
        job.raise_on(at + draw.span(30, 400), rank, said)
    firsts = range(0, job.job.world, job.job.ranks_per_node)
    job.agents_end([Exit(rank, at + SEC + rank * MS, 1) for rank in firsts], at + seconds(1.2))
    made = of_all(stage.innocent("software", also=("data",)))
    return stage.close("Its format has changed with release 0.20.", (replace(made, culprit_ranks=None),))


@kind(hangs=False, reads=True)
def picture_was_not_read(stage: Stage) -> Scenario:
    """OpenCV gives nothing where it cannot decode, and says nothing (mmpretrain#42, pysot#187)."""
    stage.open()
    unrest.unsettled(stage)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("picture")
    name = f"frames/{draw.token(3, LOWER)}/{draw.whole(0, 99_999):05d}.{draw.pick(('avif', 'heic', 'jxl', 'gif'))}"
    stage.mark(at, f"OpenCV of rank {rank} cannot decode {name}")
    size, node = draw.whole(20 << 10, 900 << 10), stage.cluster.target(draw.whole(0, 99))
    stage.cluster.count(node, at - 20 * MS, get_n=1, get_ns_total=draw.span(3, 19), get_size=size)
    if draw.chance(0.5):
        job.note(at - 3 * MS, rank, f"ais://{stage.bucket}/{name}: {size} bytes, not decoded", "W", 90, "frames")
    failed = draw.pick(
        (
            ("AttributeError", "'NoneType' object has no attribute 'shape'", "height, width = image.shape[:2]"),
            (
                "cv2.error",
                "OpenCV(4.11.0) /io/opencv/modules/imgproc/src/color.cpp:199: error: (-215:Assertion failed) "
                "!_src.empty() in function 'cvtColor'\n",
                "image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)",
            ),
        )
    )
    frames = (sdk.Frame("/workspace/asr/frames.py", 57, "decode", failed[2]),)
    in_worker(stage, at, rank, failed[0], failed[1], frames)
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    return stage.close(
        "Phones write another format since their last update.", (stage.innocent("data", rank, also=("software",)),)
    )
