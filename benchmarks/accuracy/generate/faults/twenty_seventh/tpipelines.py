"""Loaders and samples that fail a job by themselves, of the twenty-seventh part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.ninth import unrest as ninth_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.words import commotion, launchers
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.forked import py_spy_forked
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.workbenches import (
    caught_in_loader,
    data_folder,
    forked_loader,
    script_folder,
    waits_for_loaders,
)
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.draw import LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_seventh")


def _sent(stage: Stage, at: int, rank: int, size: int, took: float) -> None:
    """Some target has sent an object to a rank as a whole, which its proxy had redirected."""
    there = stage.cluster.up(at)
    stage.cluster.count(stage.proxy_of(rank), at - seconds(took), get_n=1)
    node = stage.draw.child("sent", rank, at).pick(there)
    stage.cluster.count(node, at, get_n=1, get_ns_total=seconds(took), get_size=size)


@kind(reads=True, lead_s=60.0)
def filter_keeps_no_sample(stage: Stage) -> Scenario:
    """A rank's shards have no sample that its filter keeps: it reads on and on and yields nothing (WebDataset, select).

    To acquit: shard after shard is read in a second or two, and the loader counts that it has kept none of it; a target
    that throttles others' batches is not waited for.
    """
    stage.open()
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, upload_unrest.neighbour_loses_its_bucket))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("filter")
    rule = draw.pick(("1.0 <= duration <= 20.0", "lang in ('de', 'fr')", "snr_db > 15", "len(text) <= 400"))
    told(stage, job.begin - 370 * MS, 0, "data", f"select: {rule}, split by node and worker, resampled")
    for one in readers(stage)[:3]:
        many, took, then = draw.whole(900, 1_400), draw.between(0.7, 1.9), at - draw.span(900, 9_000)
        said = f"train-{draw.whole(0, 900):06d}.tar: {many} samples read in {took:.2f} s, "
        told(stage, then, one, "data", f"{said}{many * draw.whole(71, 96) // 100} kept")
        _sent(stage, then, one, many * 215_040, took)
    stage.mark(at, f"the filter of rank {rank} keeps nothing of its shards")
    over, then, whole = at + own.timeout_s * SEC, at + draw.span(1_000, 1_900), 0
    shard, pause = draw.whole(1_000, 1_900), max(1.9, own.timeout_s / 30)
    while then < over - SEC:
        many, took = draw.whole(900, 1_400), draw.between(0.7, 1.9)
        shard, whole = shard + draw.whole(1, 4), whole + many
        said = f"train-{shard:06d}.tar: {many} samples read in {took:.2f} s, 0 kept"
        _sent(stage, then, rank, many * 215_040, took)
        told(stage, then, rank, "data", f"{said}, none of the last {whole}")
        then += seconds(pause) + draw.span(1, 700)
    stage.hang(at + 20 * MS, rank)
    made = stage.innocent("data_loading_stall", rank, also=("software", "data", "rank_hang"))
    return stage.close("A manifest of another corpus was appended to the list of shards.", (made,))


@kind(reads=True, lead_s=60.0)
def tokenizer_locked_after_fork(stage: Stage) -> Scenario:
    """A loader was forked while a tokenizer's threads held a lock (tokenizers, "just got forked, after parallelism").

    To acquit: the loader's stack is in the encoding of a text that it has, on a futex; the library had warned of it;
    batches of this rank that were repeated before came.
    """
    stage.open()
    beside(stage, tenth_unrest.repeated_until_now)
    unrest.unsettled(stage, (unrest.entries_missing, commotion.tenant_backend_fails))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("fork")
    said = "huggingface/tokenizers: The current process just got forked, after parallelism has already been used. "
    said += "Disabling parallelism to avoid deadlocks...\nTo disable this warning, you can either:\n"
    said += "\t- Avoid using `tokenizers` before the fork if possible\n"
    said += "\t- Explicitly set the environment variable TOKENIZERS_PARALLELISM=(true | false)"
    began = at - draw.span(2_500, 6_000)
    told(stage, began, rank, "data", f"list of shards begins anew, {draw.pick((4, 6, 8))} loaders are forked")
    job.say(began + 180 * MS, rank, said)
    pid = own.rank_pids[rank] + draw.whole(900, 4_000)
    stage.mark(at, f"a loader of rank {rank} waits for a lock that nobody holds any more")
    told(
        stage, at - 90 * MS, rank, "dataset", f"loader 0: 48 texts and clips read in {draw.whole(14, 95)} ms, encoding"
    )
    site = own.build["site"]
    inner = (
        ("_encode_plus", f"{site}/transformers/tokenization_utils_fast.py", 553),
        ("__call__", f"{site}/transformers/tokenization_utils_base.py", 2887),
        ("encode", f"{script_folder(stage)}/texts.py", 44),
        ("__getitem__", f"{script_folder(stage)}/dataset.py", 81),
    )
    after = min(draw.between(21, 38), own.timeout_s - 12)
    py_spy(stage, after, (waits_for_loaders(stage),))
    py_spy_forked(stage, after + 0.7, forked_loader(stage, *inner), pid)
    line = f"hang-watcher: /proc/{pid}/wchan futex_wait_queue, state S, utime unchanged for {after:.0f} s"
    job.agent(at + seconds(after + 1.5), own.node_of(rank), line)
    stage.hang(at + 20 * MS, rank)
    made = stage.innocent("data_loading_stall", rank, also=("software", "rank_hang"))
    return stage.close("The text of the progress bar was tokenized in the parent.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def filesystem_used_across_fork(stage: Stage) -> Scenario:
    """An s3fs made in the parent is used in a forked loader (fsspec, "This class is not fork-safe").

    To acquit: fsspec itself refuses in the loader, before anything is sent; what was turned away with 429 before was
    read some seconds later.
    """
    stage.open()
    beside(stage, past_unrest.turned_away_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, ninth_unrest.keepalives_late))
    rank, at, draw, site = stage.culprit, stage.at, stage.draw.child("fsspec"), stage.job.job.build["site"]
    endpoint, node = stage.proxy_of(rank).url(0), draw.whole(0, 3)
    told(stage, at - 900 * MS, rank, "data", f"dev set: s3://{stage.bucket}/dev at {endpoint}/s3, 4 loaders by fork")
    stage.mark(at - 15 * MS, f"a loader of rank {rank} uses what its parent has opened")
    frames = (
        sdk.Frame(f"{data_folder(stage)}/_utils/fetch.py", 52, "fetch", "data = [self.dataset[i] for i in index]"),
        sdk.Frame(f"{script_folder(stage)}/devset.py", 49, "__getitem__", "content = self.fs.cat_file(path)", True),
        sdk.Frame(f"{site}/fsspec/asyn.py", 118, "wrapper", "return sync(self.loop, func, *args, **kwargs)", True),
        sdk.Frame(f"{site}/fsspec/asyn.py", 318, "loop", 'raise RuntimeError("This class is not fork-safe")'),
    )
    caught_in_loader(stage, at, rank, node, frames, "RuntimeError: This class is not fork-safe")
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", rank, also=("data_loading_stall",))
    return stage.close("The dev set opened its file system in __init__.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def columns_of_a_part_differ(stage: Stage) -> Scenario:
    """One file of a data set has another column than the others (HF datasets, CastError: column names don't match).

    To acquit: the table was read and has all its rows; names of columns that were wanted and found stand side by side;
    another job's batches are turned away, and only its.
    """
    stage.open()
    beside(stage, launchers.throttled_neighbour)
    unrest.unsettled(stage, (unrest.entries_missing, commotion.tenant_meets_bad_data))
    rank, at, draw, site = stage.culprit, stage.at, stage.draw.child("columns"), stage.job.job.build["site"]
    part, rows = f"data/train-{draw.whole(40, 300):05d}-of-00312.parquet", draw.whole(9_000, 40_000)
    old, new = draw.pick((("text", "transcript"), ("speaker", "speaker_id"), ("lang", "language")))
    told(stage, at - 130 * MS, rank, "dataset", f"{part}: {rows} rows in {draw.whole(3, 12)} row groups read")
    _sent(stage, at - 131 * MS, rank, rows * draw.whole(9_000, 14_000), draw.between(0.4, 1.6))
    stage.mark(at - 120 * MS, f"rank {rank} meets a part with other columns")
    folder = f"{site}/datasets"
    frames = (
        sdk.Frame(f"{data_folder(stage)}/_utils/fetch.py", 33, "fetch", "data.append(next(self.dataset_iter))"),
        sdk.Frame(f"{folder}/iterable_dataset.py", 2093, "__iter__", "for key, example in ex_iterable:"),
        sdk.Frame(
            f"{folder}/packaged_modules/parquet/parquet.py", 93, "_generate_tables", "self._cast_table(pa_table)"
        ),
        sdk.Frame(f"{folder}/table.py", 2292, "table_cast", "return cast_table_to_schema(table, schema)", True),
        sdk.Frame(f"{folder}/table.py", 2240, "cast_table_to_schema", "raise CastError("),
    )
    wanted = f"{{'id': Value(dtype='string', id=None), 'audio': Audio(sampling_rate=16000), '{old}': "
    text = "datasets.table.CastError: Couldn't cast\nid: string\naudio: struct<bytes: binary, path: string>\n"
    text += f"  child 0, bytes: binary\n  child 1, path: string\n{new}: string\nto\n"
    text += f"{wanted}Value(dtype='string', id=None)}}\nbecause column names don't match"
    caught_in_loader(stage, at, rank, draw.whole(0, 3), frames, text)
    exits(stage, at, rank)
    made = stage.innocent("data", rank, also=("software",))
    return stage.close("A part was exported anew with a later script.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def sample_without_its_text(stage: Stage) -> Scenario:
    """A shard has clips whose text was not packed (WebDataset, "didn't find ... in" of to_tuple).

    To acquit: the shard has come whole, with the size of its listing, and WebDataset names the sample and the keys that
    it has; AIStore is quiet.
    """
    stage.open()
    rank, at, draw, site = stage.culprit, stage.at, stage.draw.child("member"), stage.job.job.build["site"]
    shard, size = f"train-{draw.whole(0, 2047):06d}.tar", draw.whole(90_000, 990_000) * 512
    member = f"{draw.token(2, LOWER)}/{draw.token(9, LOWER)}"
    said = f"{shard}: {size} of {size} bytes, end of archive found, {draw.whole(800, 1_900)} samples"
    told(stage, at - 210 * MS, rank, "data", said)
    _sent(stage, at - 211 * MS, rank, size, draw.between(0.4, 1.6))
    stage.mark(at - 200 * MS, f"rank {rank} meets a sample without its text")
    folder = f"{site}/webdataset"
    frames = (
        sdk.Frame(f"{data_folder(stage)}/_utils/fetch.py", 33, "fetch", "data.append(next(self.dataset_iter))"),
        sdk.Frame(f"{folder}/pipeline.py", 105, "iterator1", "yield from self.iterator1()"),
        sdk.Frame(f"{folder}/filters.py", 421, "_to_tuple", "if handler(exn):"),
        sdk.Frame(f"{folder}/handlers.py", 24, "reraise_exception", "raise exn"),
        sdk.Frame(f"{folder}/utils.py", 176, "getfirst", "raise ValueError("),
    )
    keys = f"['__key__', '__url__', 'flac'] of {member} in {shard}"
    caught_in_loader(stage, at, rank, draw.whole(0, 3), frames, f"ValueError: didn't find ['txt', 'json'] in {keys}")
    exits(stage, at, rank)
    made = stage.innocent("data", rank, also=("software",))
    return stage.close("Whoever packed the shards had lost some texts.", (made,))
