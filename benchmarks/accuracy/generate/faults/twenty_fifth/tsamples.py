"""Samples, labels and copies of shards that are wrong where they were made; storage is innocent.

Of the twenty-fifth part.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.twenty_first import tunrest as reset_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON, fetch_frames
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import caught_in_loader, data_folder
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "twenty_fifth")


@kind(hangs=False, lead_s=60.0)
def class_number_out_of_range(stage: Stage) -> Scenario:
    """A label has a number that the head of the model does not have: the device asserts (forum: t < n_classes).

    To acquit: the kernel of the loss prints its assertion, and the log has both numbers of classes; the bad checksums
    are those of another tenant's bucket.
    """
    stage.open()
    beside(stage, commotion.tenant_meets_bad_data)
    unrest.unsettled(stage, (own_unrest.neighbour_loses_its_bucket, unrest.entries_missing))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("class")
    torch, site = job.job.torch, job.job.build["site"]
    head = draw.pick((1000, 527, 365, 1024))
    more = head + draw.whole(1, 9)
    told(
        stage, job.begin - 60 * MS, 0, "model", f"classifier: Linear(768, {head}) from the config (num_classes {head})"
    )
    told(stage, job.begin - 40 * MS, 0, "dataset", f"labels.json: {more} names, the newest are at its end")
    stage.mark(at, f"rank {rank} has a label beyond the last class")
    place = f"{torch.source_tree}aten/src/ATen/native/cuda/Loss.cu:250: nll_loss_forward_reduce_cuda_kernel_2d"
    for thread in sorted(draw.shuffled(range(32))[: draw.whole(1, 3)]):
        where = f"block: [0,0,0], thread: [{thread},0,0]"
        job.say(at - 3 * MS, rank, f"{place}: {where} Assertion `t >= 0 && t < n_classes` failed.")
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(
            f"{site}/torch/nn/modules/module.py", 1751, "_wrapped_call_impl", "return self._call_impl(*args, **kwargs)"
        ),
        sdk.Frame(f"{job.job.script.rsplit('/', 1)[0]}/losses.py", 38, "forward", "if not torch.isfinite(loss):", True),
    )
    name = "torch.AcceleratorError" if torch.order >= 208 else "RuntimeError"
    text = cuda_error(torch.order, "device-side assert triggered", "cudaErrorAssert")
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"{name}: {text}")))
    exits(stage, at, rank)
    made = stage.innocent("software", rank, also=("data", "gpu"))
    return stage.close("Classes were added to the list and not to the config.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def column_of_one_file_added(stage: Stage) -> Scenario:
    """One file of Parquet has a column more than the others: datasets cannot cast it (huggingface/datasets, CastError).

    To acquit: datasets prints both schemas; the rows of that file were read in full; the neighbour that is reset reads
    another bucket and ends well.
    """
    stage.open()
    beside(stage, reset_unrest.neighbour_is_reset)
    unrest.unsettled(stage, (own_unrest.tenant_uploads_break_off, commotion.tenant_backend_fails))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("column")
    site, part = f"{job.job.build['site']}/datasets", draw.whole(120, 1_900)
    many, size = draw.whole(4_000, 24_000), draw.whole(90, 480) * 1_048_576 + draw.whole(0, 1 << 20)
    for one, back in ((rank, 1), *((one, draw.whole(2, 60)) for one in readers(stage)[:2])):
        said = f"part-{part - back:05d}.parquet: {many - draw.whole(0, 900)} rows, columns id text lang"
        told(stage, at - draw.span(2_400, 9_000), one, "reader", said)
    said = f"part-{part:05d}.parquet: {size} bytes, footer read, {many} rows in {draw.whole(3, 20)} row groups"
    told(stage, at - 60 * MS, rank, "reader", said)
    stage.mark(at, f"rank {rank} reads a file of another schema")
    extra = draw.pick(("score: double", "source_url: string", "__index_level_0__: int64"))
    had = f"id: string\ntext: string\nlang: string\n{extra}"
    wanted = "{'id': Value(dtype='string', id=None), 'text': Value(dtype='string', id=None), "
    wanted += "'lang': Value(dtype='string', id=None)}"
    inner = (
        sdk.Frame(f"{site}/iterable_dataset.py", 2093, "__iter__", "for key, example in ex_iterable:"),
        sdk.Frame(
            f"{site}/packaged_modules/parquet/parquet.py", 93, "_generate_tables", "yield f, self._cast_table(t)"
        ),
        sdk.Frame(f"{site}/table.py", 2292, "table_cast", "return cast_table_to_schema(table, schema)", True),
        sdk.Frame(f"{site}/table.py", 2240, "cast_table_to_schema", "raise CastError("),
    )
    text = f"Couldn't cast\n{had}\nto\n{wanted}\nbecause column names don't match"
    in_worker(stage, at, rank, "datasets.table.CastError", text, inner, "RuntimeError")
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("data", rank, also=("software", "data_loading_stall"))
    return stage.close("A part of the corpus was exported anew with another script.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def two_channels_in_a_batch(stage: Stage) -> Scenario:
    """A recording has two channels and the others have one: they cannot be stacked (forum: default_collate).

    To acquit: collate says which entry has another shape; the loader has counted the bytes of that recording; reads
    that failed before were repeated and served.
    """
    stage.open()
    beside(stage, commotion.reads_recover)
    unrest.unsettled(stage, (loud.neighbour_reads_slowly, own_unrest.neighbour_loses_its_bucket))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("channels")
    rate, spent = 16_000, draw.pick((10, 20, 30))
    frames_n, entry = rate * spent, draw.whole(1, 15)
    name, size = utterance(draw), frames_n * 4 + 44
    told(
        stage, job.begin - 80 * MS, rank, "dataset", f"clips are cut or padded to {spent} s, {rate} Hz, channels as is"
    )
    said = f"{name.replace('.flac', '.wav')}: {size} of {size} bytes, PCM_16, 2 channels, {frames_n} frames"
    told(stage, at - 25 * MS, rank, "dataset", said)
    stage.mark(at, f"a batch of rank {rank} has clips of one and of two channels")
    collate = f"{data_folder(stage)}/_utils/collate.py"
    again = "return collate_fn_map[elem_type](batch, collate_fn_map=collate_fn_map)"
    inner = (
        sdk.Frame(f"{data_folder(stage)}/_utils/fetch.py", 55, "fetch", "return self.collate_fn(data)", True),
        sdk.Frame(
            collate, 398, "default_collate", "return collate(batch, collate_fn_map=default_collate_fn_map)", True
        ),
        sdk.Frame(collate, 155, "collate", again, True),
        sdk.Frame(collate, 272, "collate_tensor_fn", "return torch.stack(batch, 0, out=out)", True),
    )
    text = f"RuntimeError: stack expects each tensor to be equal size, but got [1, {frames_n}] at entry 0 and "
    text += f"[2, {frames_n}] at entry {entry}"
    caught_in_loader(stage, at, rank, draw.whole(0, 3), inner, text)
    exits(stage, at, rank)
    made = stage.innocent("data", rank, also=("software", "data_loading_stall"))
    return stage.close("Recordings of a call center were added as they came.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0, without=RESTARTS)
def cached_shard_cut(stage: Stage) -> Scenario:
    """The copy of a shard on a host's own disk ends early: a former run was killed (WebDataset, cache_dir).

    To acquit: the shard is taken of the cache and not of AIStore, the file is older than the job, and shorter than the
    object; the target that was killed before was back, and batches had been served since.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (own_unrest.tenant_uploads_break_off, loud.neighbour_reads_slowly))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("cached")
    site, folder = job.job.build["site"], draw.pick(("/raid/wds-cache", "/local/nvme/shards", "/scratch/wds"))
    whole = draw.whole(180, 980) * 1_048_576 + draw.whole(0, 2_000) * 512
    got, shard = int(whole * draw.between(0.2, 0.8)) // 4096 * 4096, f"train-{draw.whole(0, 2047):06d}.tar"
    said = f"cache {folder}: {draw.whole(300, 900)} shards of earlier runs, sizes are not compared"
    told(stage, job.begin - 90 * MS, rank, "cache", said)
    for back in (2, 1):
        said = f"{folder}/train-{draw.whole(0, 2047):06d}.tar: found, read to its end"
        told(stage, at - seconds(2.8 * back) - draw.span(1, 700), rank, "cache", said)
    days = f"{draw.whole(2, 19)} days {draw.whole(1, 22)} h"
    told(stage, at - 40 * MS, rank, "cache", f"{folder}/{shard}: found, {got} bytes, {days} old, not fetched")
    stage.mark(at, f"rank {rank} reads a copy of a shard that is not whole")
    inner = (
        sdk.Frame(f"{site}/webdataset/tariterators.py", 222, "tar_file_expander", "for sample in tar_file_iterator("),
        sdk.Frame(
            f"{site}/webdataset/tariterators.py", 177, "tar_file_iterator", "data = stream.extractfile(tarinfo).read()"
        ),
        sdk.Frame(f"{PYTHON}/tarfile.py", 691, "read", 'raise ReadError("unexpected end of data")'),
    )
    said = f"{shard}: {got} bytes in the cache, {whole} bytes in ais://{stage.bucket}"
    told(stage, at - 4 * MS, rank, "cache", said, "ERROR")
    handle = f"<_io.BufferedReader name='{folder}/{shard}'>"
    text = f"tarfile.ReadError: (\"unexpected end of data @ {handle}\", '{folder}/{shard}')"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(fetch_frames(stage, "sample = next(self.samples)", *inner), text)))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("data", rank, also=("infrastructure", "software", "data_loading_stall"))
    return stage.close("A run was killed while it filled the cache.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def scratch_full_of_shards(stage: Stage) -> Scenario:
    """Copies of shards fill the disk of a host until nothing more fits (MosaicML streaming, issues on cache_limit).

    To acquit: the shard came in full, and the error rises as its copy is written to the host's own disk, which the log
    shows filling until it is full; the target that has no room has none for another tenant's uploads.
    """
    stage.open()
    beside(stage, disk_unrest.tenant_full_in_window)
    unrest.unsettled(stage, (own_unrest.neighbour_loses_its_bucket, commotion.tenant_backend_fails))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("scratch")
    node, site = job.job.node_of(rank), job.job.build["site"]
    mount, whole = draw.pick(("/local", "/scratch", "/mnt/nvme0")), draw.pick((894, 1788, 3576))
    told(stage, job.begin - 90 * MS, rank, "streaming", f"local {mount}/mds, cache_limit None, predownload 512")
    then, began = job.begin + draw.span(2_000, 5_000), job.begin
    while then < at - SEC:
        left = whole * 0.02 * (1 - (then - began) / (at - began))
        said = f"df: /dev/nvme0n1p1 {whole}G {whole - left:.1f}G {left:.1f}G {int(100 - 100 * left / whole)}% {mount}"
        watched(stage, then, node, said)
        then += draw.span(9_000, 15_000)
    stage.mark(at, f"the disk of {job.job.hosts[node]} is full")
    number, size = draw.whole(100, 9_000), draw.whole(60, 130) * 1_048_576 + draw.whole(0, 1 << 20)
    shard = f"shard.{number:05d}.mds"
    watched(stage, at - 120 * MS, node, f"df: /dev/nvme0n1p1 {whole}G {whole}G 0.0G 100% {mount}")
    said = f"{shard}.zstd: {size} of {size} bytes fetched, decompressing to {mount}/mds/{shard}"
    told(stage, at - 700 * MS, rank, "streaming", said)
    inner = (
        sdk.Frame("/workspace/asr/dataset.py", 63, "__iter__", "for sample in super().__iter__():"),
        sdk.Frame(f"{site}/streaming/base/dataset.py", 1511, "__getitem__", "self.prepare_shard(shard_id)"),
        sdk.Frame(f"{site}/streaming/base/stream.py", 443, "_decompress_shard_part", "out.write(data)", True),
    )
    in_worker(stage, at, rank, "OSError", "[Errno 28] No space left on device", inner)
    exits(stage, at, rank)
    made = stage.innocent("infrastructure", rank, also=("software", "data_loading_stall"))
    return stage.close("Other users' copies were never removed.", (made,))
