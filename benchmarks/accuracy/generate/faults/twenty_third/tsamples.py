"""Samples that are as they were made, and that a program cannot use; of the twenty-third part, storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.forked import py_spy_forked
from benchmarks.accuracy.generate.faults.words.launchers import throttled_neighbour
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import forked_loader, script_folder, waits_for_loaders
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "twenty_third")

#: How a page begins that a site gives for a picture, as Python prints bytes.
PAGES = (
    '<!DOCTYPE html><html lang="en"><he',
    "<html>\\r\\n<head><title>403 Forbidd",
    "<!doctype html>\\n<html><head><met",
)


@kind(reads=True, hangs=False, lead_s=75.0, without=RESTARTS)
def picture_is_a_web_page(stage: Stage) -> Scenario:
    """A crawler kept a page of its source's for a picture (img2dataset; Pillow docs, UnidentifiedImageError).

    To acquit: the loader got all bytes that the list announces, with its digest, and they begin like a page; the target
    that was killed was back, and the batches that it had delayed were served.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, commotion.tenant_meets_bad_data, loud.neighbour_reads_slowly))
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("page")
    site, folder = stage.job.job.build["site"], script_folder(stage)
    stage.mark(at, f"rank {rank} is given a page for a picture")
    name, size = f"img/{draw.token(2, HEX)}/{draw.token(14, HEX)}.jpg", draw.whole(1_900, 38_000)
    page = draw.pick(PAGES)
    whole = f"{size} bytes of {size}, xxhash {draw.token(16, HEX)} as in list crawl-{draw.whole(11, 48)}.parquet"
    said = f"{name}: {whole}; cannot be decoded, begins with b'{page}'"
    reader_note(stage, at - 15 * MS, rank, said)
    inner = (
        sdk.Frame(f"{folder}/pictures.py", 58, "__iter__", "picture = Image.open(io.BytesIO(content))"),
        sdk.Frame(f"{site}/PIL/Image.py", 3580, "open", "raise UnidentifiedImageError(msg)"),
    )
    text = f"cannot identify image file <_io.BytesIO object at 0x7f{draw.token(9, HEX)}0>"
    in_worker(stage, at, rank, "PIL.UnidentifiedImageError", text, inner)
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("data", rank, also=("software", "data_loading_stall"))
    return stage.close("The site that was crawled had closed its pictures to robots.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def recording_ends_before_its_cut(stage: Stage) -> Scenario:
    """A manifest has longer recordings than there are (lhotse#871, #1225; WenetSpeech#33).

    To acquit: the header of the recording, read in full, has the length that Lhotse found; the manifest has another.
    """
    stage.open()
    beside(stage, disk_unrest.disk_lost_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, past_unrest.neighbour_reads_cold, commotion.reads_recover))
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("shorter")
    site = stage.job.job.build["site"]
    stage.mark(at, f"a recording of rank {rank} is shorter than its cut")
    name = utterance(draw)
    has, wanted = draw.whole(60_000, 190_000), draw.whole(200_000, 410_000)
    seconds_has, seconds_wanted = round(has / 16_000, 4), round(wanted / 16_000, 4)
    size = int(has * draw.between(1.0, 1.3))
    said = f"{name}: {size} of {size} bytes, STREAMINFO total_samples={has}; cuts_train.jsonl.gz has {wanted}"
    reader_note(stage, at - 12 * MS, rank, said)
    identity = name.rsplit("/", 1)[-1].removesuffix(".flac")
    source = f"AudioSource(type='url', channels=[0], source='ais://{stage.bucket}/{name}')"
    recording = f"Recording(id='{identity}', sources=[{source}], sampling_rate=16000, num_samples={wanted}, "
    recording += f"duration={seconds_wanted}, channel_ids=[0], transforms=None)"
    asked = f"kwargs={{'channels': 0, 'offset': 0.0, 'duration': {seconds_wanted}}}"
    text = f"Requested more audio ({seconds_wanted}s) than available ({seconds_has}s)\n"
    text += f"[extra info] When calling: Recording.load_audio(args=({recording},) {asked})"
    inner = (
        sdk.Frame(f"{site}/lhotse/dataset/collation.py", 520, "read_audio_from_cuts", "audio = cut.load_audio()"),
        sdk.Frame(f"{site}/lhotse/utils.py", 900, "wrapper", "raise type(e)("),
    )
    in_worker(stage, at, rank, "lhotse.audio.utils.DurationMismatchError", text, inner)
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("data", rank, also=("software", "data_loading_stall"))
    return stage.close("Silence was cut off, and the manifest was made before.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def frames_of_a_batch_differ(stage: Stage) -> Scenario:
    """Two items of a batch differ by a frame, and nobody pads them (pytorch forum; PyTorch docs, default_collate).

    To acquit: all of the batch is here, and collate names the shapes of two of its items.
    """
    stage.open()
    beside(stage, throttled_neighbour)
    unrest.unsettled(stage, (tenth_unrest.peer_reconnects, commotion.tenant_backend_fails))
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("frames")
    collate = f"{stage.job.job.build['site']}/torch/utils/data/_utils/collate.py"
    stage.mark(at, f"items of a batch of rank {rank} differ by a frame")
    many, bins, frames = draw.pick((16, 24, 32)), draw.pick((80, 128)), draw.whole(400, 1_900)
    reader_note(stage, at - 40 * MS, rank, f"batch {stage.step}: {many} of {many} objects here, {frames} frames")
    inner = (
        sdk.Frame(f"{script_folder(stage)}/features.py", 77, "__iter__", "batch = default_collate(items)"),
        sdk.Frame(collate, 398, "default_collate", "return collate(batch, collate_fn_map=default_collate_fn_map)"),
        sdk.Frame(collate, 272, "collate_tensor_fn", "return torch.stack(batch, 0, out=out)"),
    )
    shapes = f"[{bins}, {frames}] at entry 0 and [{bins}, {frames - 1}] at entry {draw.whole(1, many - 1)}"
    in_worker(stage, at, rank, "RuntimeError", f"stack expects each tensor to be equal size, but got {shapes}", inner)
    exits(stage, at, rank)
    made = stage.innocent("software", rank, also=("data", "data_loading_stall"))
    return stage.close("Resampled recordings are rounded to another number of frames.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def columns_of_a_file_differ(stage: Stage) -> Scenario:
    """Some files of Parquet have a column more than the first one (datasets PR 6509; mini_qwen#2, LlamaFactory#1784).

    To acquit: the file was read to its footer, and datasets names its columns and those it has expected.
    """
    stage.open()
    unrest.unsettled(stage, (past_unrest.neighbour_reads_cold, unrest.entries_missing, tenth_unrest.disk_found_well))
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("columns")
    site = stage.job.job.build["site"]
    stage.mark(at, f"a file of rank {rank} has other columns")
    extra = draw.pick((("quality_score", "double"), ("lang_prob", "float"), ("_id", "int64"), ("dedup_hash", "string")))
    file, many = f"text/part-{draw.whole(300, 990):05d}.parquet", draw.whole(4, 60)
    said = f"{file}: footer read, {many} row groups, {draw.whole(90, 900)}000 rows, written by"
    reader_note(stage, at - 30 * MS, rank, f"{said} parquet-cpp-arrow version {draw.pick(('14.0.2', '17.0.0'))}")
    columns = (("id", "string"), ("text", "string"), ("source", "string"))
    found = "\n".join(f"{name}: {of}" for name, of in (*columns, extra))
    wanted = ", ".join(f"'{name}': Value(dtype='{of}', id=None)" for name, of in columns)
    place = f"{site}/datasets"
    inner = (
        sdk.Frame(f"{place}/iterable_dataset.py", 2270, "__iter__", "for key, example in ex_iterable:"),
        sdk.Frame(f"{place}/iterable_dataset.py", 2101, "_iter_arrow", "pa_table = table_cast(pa_table, schema)"),
        sdk.Frame(f"{place}/table.py", 2249, "cast_table_to_schema", "raise CastError("),
    )
    text = f"Couldn't cast\n{found}\nto\n{{{wanted}}}\nbecause column names don't match"
    in_worker(stage, at, rank, "datasets.table.CastError", text, inner, "RuntimeError")
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("data", rank, also=("software", "data_loading_stall"))
    return stage.close("Files that came later were written by another tool.", (made,))


def _shards_are_served(stage: Stage, began: int, first: int, many: int) -> None:
    """The targets count the shards that one rank reads in some seconds."""
    for turn in range(many):
        then, size = began + turn * 600 * MS, 390 * 310_000
        node = stage.cluster.target(first + turn)
        stage.cluster.count(node, then, get_n=1, get_ns_total=410 * MS, get_size=size)


@kind(reads=True, lead_s=60.0)
def filter_keeps_nothing(stage: Stage) -> Scenario:
    """A rank's shards have no sample that its filter keeps: it reads on and on (WebDataset and Lhotse, issues).

    To acquit: the loader says how much it has read, and that nothing of it was kept; its stack stands in the filter,
    and shards come at their usual speed; the target was killed when the job had ended.
    """
    stage.open()
    beside(stage, past_unrest.turned_away_in_window)
    unrest.unsettled(stage, (throttled_neighbour, unrest.entries_missing, disk_unrest.tenant_full_in_window))
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("filter")
    pid, limit = own.rank_pids[rank] + draw.whole(30, 90), draw.pick((12.0, 16.7, 20.0))
    stage.mark(at, f"the filter of rank {rank} keeps nothing")
    read, then, shards = 0, at - 40 * MS, 0
    for one in readers(stage)[:3]:
        kept = draw.between(0.91, 0.98)
        reader_note(stage, at - draw.span(3_000, 9_000), one, f"filter: {kept:.1%} of samples kept, {limit} s at most")
    while then < at + min(own.timeout_s - 8, 100) * 1_000 * MS:
        told = f"filter: 0 of {read} samples kept, all longer than {limit} s" if read else "filter: next shards"
        reader_note(stage, then, rank, f"{told}; {shards} shards read, {draw.between(0.5, 0.9):.1f} s each")
        more = draw.whole(9, 14)
        _shards_are_served(stage, then, shards, more)
        read, shards, then = read + more * draw.whole(380, 410), shards + more, then + draw.span(7_500, 9_500)
    after = min(draw.between(24, 44), own.timeout_s - 14)
    folder, site = script_folder(stage), own.build["site"]
    stack = (
        ("keeps", f"{folder}/select.py", 29),
        ("_select", f"{site}/webdataset/filters.py", 341),
        ("iterator", f"{site}/webdataset/pipeline.py", 70),
        ("__iter__", f"{site}/webdataset/pipeline.py", 82),
    )
    py_spy(stage, after, (waits_for_loaders(stage),))
    py_spy_forked(stage, after + 1.2, replace(forked_loader(stage, *stack), state="active"), pid)
    stage.hang(at + 50 * MS, rank)
    disk_unrest.killed_when_all_is_over(stage)
    made = stage.innocent("software", rank, also=("data", "data_loading_stall", "rank_hang"))
    return stage.close("Shards are in the order of their lengths, and one rank has the longest.", (made,))
