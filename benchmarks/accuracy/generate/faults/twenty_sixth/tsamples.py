"""Samples that are not what the program takes them for, of the twenty-sixth part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import pipe_ended
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.workbenches import caught_in_loader, data_folder, script_folder
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisevents as ev
from fixtures.generator import sdk
from fixtures.generator.draw import HEX, LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_sixth")


@kind(reads=True, hangs=False, lead_s=60.0)
def picture_cut_before_upload(stage: Stage) -> Scenario:
    """A picture was cut when its owner fetched it, and stored so (Pillow, "image file is truncated").

    To acquit: the loader has all bytes that the listing and the answer tell of, with the checksum of the upload, and
    gets the same ones again; what targets find changed lies in another tenant's bucket.
    """
    stage.open()
    beside(stage, commotion.tenant_meets_bad_data)
    unrest.unsettled(stage, (unrest.entries_missing, past_unrest.neighbour_reads_cold))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("picture")
    site, folder = job.job.build["site"], script_folder(stage)
    name, size = f"web/{draw.token(2, HEX)}/{draw.token(10, HEX)}.jpg", draw.whole(3, 60) * 8192 + draw.whole(1, 8000)
    checksum, before = draw.token(16, HEX), draw.whole(20, 190)
    said = f"ais://{stage.bucket}/{name}: {size} bytes read, content-length {size}, xxhash2 {checksum} as stored"
    told(stage, at - 640 * MS, rank, "dataset", f"{said} ({before} days ago)")
    told(stage, at - 630 * MS, rank, "dataset", f"{name} cannot be decoded, reading it again", "WARNING")
    stage.mark(at - 640 * MS, f"rank {rank} reads a picture that was stored incomplete")
    told(stage, at - 90 * MS, rank, "dataset", said)
    frames = (
        sdk.Frame(f"{data_folder(stage)}/_utils/fetch.py", 52, "fetch", "data = [self.dataset[i] for i in index]"),
        sdk.Frame(f"{folder}/dataset.py", 63, "__getitem__", 'image = Image.open(BytesIO(content)).convert("RGB")'),
        sdk.Frame(f"{site}/PIL/Image.py", 995, "convert", "self.load()"),
        sdk.Frame(f"{site}/PIL/ImageFile.py", 290, "load", "raise OSError(msg)"),
    )
    text = f"OSError: image file is truncated ({draw.whole(2, 90)} bytes not processed)"
    caught_in_loader(stage, at, rank, draw.whole(0, 5), frames, text)
    exits(stage, at, rank)
    made = stage.innocent("data", rank, also=("software",))
    return stage.close("A crawler had stored what it had when the other side hung up.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def shard_beyond_the_last(stage: Stage) -> Scenario:
    """A range of shards in braces names one more than there are (WebDataset issues, exit 22 of curl).

    To acquit: the listing ends with the shard before, as the log says at the start; the target says that the name does
    not exist, and nothing was removed; disks and nodes are well.
    """
    stage.open()
    unrest.unsettled(stage, (upload_unrest.tenant_uploads_break_off, commotion.throttled_in_window))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("range")
    many, set_name = draw.pick((512, 1024, 2048, 2400)), draw.pick(("train", "clips", "part"))
    endpoint = stage.proxy_of(rank).url(0)
    urls = f"{endpoint}/v1/objects/{stage.bucket}/{set_name}-{{000000..{many:06d}}}.tar"
    told(stage, job.begin - 820 * MS, 0, "data", f"WebDataset('pipe:curl -sfSL {urls}', resampled=True)")
    said = f"ais ls ais://{stage.bucket} --prefix {set_name}-: {many} objects, last {set_name}-{many - 1:06d}.tar"
    told(stage, job.begin - 510 * MS, 0, "data", said)
    for one in readers(stage)[:3]:
        said = f"opening {set_name}-{draw.whole(0, many - 1):06d}.tar"
        told(stage, at - draw.span(900, 9_000), one, "data", said)
    shard = f"{set_name}-{many:06d}.tar"
    told(stage, at - 70 * MS, rank, "data", f"opening {shard}")
    stage.mark(at - 20 * MS, f"rank {rank} asks for shard {many} of {many}")
    node, path = stage.victim, f"/v1/objects/{stage.bucket}/{shard}"
    text = f"{node.name}: ais://{stage.bucket}/{shard} does not exist"
    stage.cluster.say(node, at - 14 * MS, ev.http_error(node, text, f"GET {path}", "htrun.go:1636"))
    stage.cluster.count(node, at - 14 * MS, err_get_n=1)
    job.say(at - 3 * MS, rank, "curl: (22) The requested URL returned error: 404")
    pipe_ended(stage, at, rank, f"curl -sfSL {endpoint}{path}", 22, draw.token(10, HEX))
    exits(stage, at, rank)
    made = stage.innocent("data", rank, also=("software", "data_loading_stall"))
    return stage.close("The range was typed from the number of shards.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def target_index_out_of_range(stage: Stage) -> Scenario:
    """A label is as large as the number of classes: an assertion of a kernel (forum: device-side assert triggered).

    To acquit: the kernel of the loss says `t >= 0 && t < n_classes`, the log has the number of classes and a manifest
    with one more; a target's disk is given up at the time, and no read fails.
    """
    stage.open()
    beside(stage, disk_unrest.disk_lost_in_window)
    unrest.unsettled(stage, (unrest.connects_repeated, upload_unrest.neighbour_loses_its_bucket))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("label")
    classes = draw.pick((1000, 1211, 5994, 7205))
    told(stage, job.begin - 640 * MS, 0, "model", f"linear head {draw.pick((192, 256, 512))} -> {classes} classes")
    said = f"manifest v{draw.whole(2, 7)}: {draw.whole(90, 900)}{draw.whole(100, 999)} entries, label ids 0..{classes}"
    told(stage, job.begin - 560 * MS, 0, "data", said)
    stage.mark(at - 30 * MS, f"rank {rank} computes a loss of label {classes}")
    rows = []
    for thread in sorted({draw.whole(0, 31) for _ in range(draw.whole(1, 3))}):
        place = "/aten/src/ATen/native/cuda/Loss.cu:245: nll_loss_forward_reduce_cuda_kernel_2d"
        rows.append(
            f"{own.torch.source_tree}{place.removeprefix('/')}: block: [0,0,0], thread: [{thread},0,0] "
            "Assertion `t >= 0 && t < n_classes` failed."
        )
    job.say(at - 6 * MS, rank, "\n".join(rows))
    name = "torch.AcceleratorError" if own.torch.order >= 208 else "RuntimeError"
    text = f"{name}: {cuda_error(own.torch.order, 'device-side assert triggered', 'cudaErrorAssert')}"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(loss_frames(stage, "running_loss += loss.item()"), text)))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", rank, also=("data", "gpu"))
    return stage.close("A class for silence came with the new manifest.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def clips_of_unequal_length(stage: Stage) -> Scenario:
    """A clip is shorter than the others of its batch and nobody pads it (forum: stack expects each tensor).

    To acquit: default_collate has all tensors of the batch and names their two sizes; all objects came, as the log
    says; AIStore hardly speaks.
    """
    stage.open()
    unrest.unsettled(stage, (unrest.entries_missing, upload_unrest.tenant_uploads_break_off))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("unequal")
    rate, span = draw.pick((16_000, 22_050, 44_100)), draw.pick((4, 8, 10))
    batch = draw.pick((16, 24, 32))
    told(stage, job.begin - 420 * MS, 0, "data", f"crops of {span} s at {rate} Hz, batches of {batch}, no collate_fn")
    short = rate * span - draw.whole(3, 900) * 16
    entry = draw.whole(1, batch - 1)
    name = f"{draw.token(2, LOWER)}/utt-{draw.whole(0, 99_999):05d}.flac"
    told(stage, at - 120 * MS, rank, "dataset", f"{name}: {short / rate:.3f} s decoded, shorter than a crop", "WARNING")
    told(stage, at - 40 * MS, rank, "dataset", f"batch {stage.step}: {batch} of {batch} objects read and decoded")
    stage.mark(at - 30 * MS, f"rank {rank} has a clip that is too short for its batch")
    collate = f"{data_folder(stage)}/_utils/collate.py"
    frames = (
        sdk.Frame(f"{data_folder(stage)}/_utils/fetch.py", 55, "fetch", "return self.collate_fn(data)", True),
        sdk.Frame(
            collate, 398, "default_collate", "return collate(batch, collate_fn_map=default_collate_fn_map)", True
        ),
        sdk.Frame(collate, 272, "collate_tensor_fn", "return torch.stack(batch, 0, out=out)", True),
    )
    text = f"RuntimeError: stack expects each tensor to be equal size, but got [1, {rate * span}] at entry 0 and "
    caught_in_loader(stage, at, rank, draw.whole(0, 3), frames, f"{text}[1, {short}] at entry {entry}")
    exits(stage, at, rank)
    made = stage.innocent("software", rank, also=("data", "data_loading_stall"))
    return stage.close("A filter on duration was left out of the new recipe.", (made,))
