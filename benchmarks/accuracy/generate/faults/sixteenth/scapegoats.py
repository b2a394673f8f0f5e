"""Faults of data of the sixteenth part that no storage has made, while storage is loud: it is what one would blame."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.comers import url_refused, videos_not_fetched
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import mountpath_before, tenant_out_of_space
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisobjects, sdk
from fixtures.generator.draw import HEX, LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "sixteenth")


@kind(reads=True, hangs=False, lead_s=80.0, without=RESTARTS)
def videos_never_whole(stage: Stage) -> Scenario:
    """A part of a crawl has no moov atom, ten tries are in vain; a target restarts, unhurt (SlowFast#158, #206)."""
    stage.open()
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (unrest.entries_missing, unrest.connects_repeated))
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("moov")
    turns = [at - int((9 - trial) * draw.between(60, 190)) * MS for trial in range(10)]
    turns.sort()
    stage.mark(turns[0] - 20 * MS, f"rank {rank} comes to videos that were never whole")
    folder = f"crawl-{draw.whole(11, 60)}"
    same = f"{folder}/{draw.token(11)}.mp4"
    names = [same if trial < 6 else f"{folder}/{draw.token(11)}.mp4" for trial in range(10)]
    for then in turns:
        stage.job.say(then - 2 * MS, rank, f"[mov,mp4,m4a,3gp,3g2,mj2 @ 0x55{draw.token(10, HEX)}] moov atom not found")
        size = draw.whole(2_000, 90_000)
        node = stage.cluster.target(draw.whole(0, 99))
        stage.cluster.count(node, then - 9 * MS, get_n=1, get_ns_total=draw.span(1, 9), get_size=size)
    videos_not_fetched(stage, turns, rank, names, "Failed to meta load video idx {index} from {path}; trial {trial}")
    exits(stage, turns[-1] + 4 * MS, rank)
    return stage.close(
        "Whoever crawls was stopped at a size, and keeps what it has.",
        (stage.innocent("data", rank, also=("software",)),),
    )


@kind(reads=True, hangs=False, lead_s=80.0)
def recording_is_no_sound(stage: Stage) -> Scenario:
    """An object named as a recording is none, libsndfile says so; a disk was lost before (python-soundfile#306)."""
    stage.open()
    beside(stage, mountpath_before)
    unrest.unsettled(stage, (commotion.reads_recover, commotion.throttled_in_window))
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("no sound")
    stage.mark(at, f"rank {rank} comes to an object that is no sound")
    name, size = utterance(draw), draw.whole(900, 4_000)
    node = stage.cluster.target(draw.whole(0, 99))
    stage.cluster.count(node, at - 9 * MS, get_n=1, get_ns_total=draw.span(1, 6), get_size=size)
    head = draw.pick(("b'<!DOCTYPE html>'", 'b\'{"error": "quota\'', "b'version https://'"))
    frames = (
        sdk.Frame("/workspace/asr/audio.py", 44, "decode", "samples, rate = soundfile.read(io.BytesIO(content))", True),
        sdk.Frame("/workspace/asr/audio.py", 47, "decode", "raise RuntimeError(f'{name}: {error}') from error"),
    )
    said = f"Error opening <_io.BytesIO object at 0x7f{draw.token(10, HEX)}>: Format not recognised."
    text = f"{name}: {said} ({size} bytes, as listed; they begin with {head})"
    in_worker(stage, at, rank, "RuntimeError", text, frames)
    exits(stage, at, rank)
    return stage.close(
        "A site gave a page instead of a recording to who downloaded too much, with a status of 200.",
        (stage.innocent("data", rank, also=("software",)),),
    )


@kind(reads=True, hangs=False, trains=False)
def list_of_another_site(stage: Stage) -> Scenario:
    """A list has paths of a file server, no object is named so: 404 for all (SlowFast#119, #158; mmcv docs)."""
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, draw = stage.job, stage.draw.child("another site")
    job.start()
    at = job.begin + draw.span(1_900, 4_900)
    root = draw.pick(("data/k400/train", "mnt/lustre/kinetics/train", "home/lab/coco/train2017"))
    stage.mark(at, "names are asked for that no object ever had")
    many = draw.whole(90_000, 240_000)
    job.note(
        at - 900 * MS, 0, f"train.csv: {many} paths, the first is {root}/{draw.token(6, LOWER)}/0001.jpg", line=148
    )
    job.note(at - 880 * MS, 0, f"ais://{stage.bucket}: 64 of the paths looked up, 0 found", "W", 151)
    ranks = sorted([stage.culprit, *readers(stage)[: draw.whole(2, 6)]])
    for rank in ranks:
        then = at + draw.span(1, 90)
        name = f"{root}/{draw.token(6, LOWER)}/{draw.whole(0, 9999):04d}.jpg"
        aisobjects.not_there(stage.cluster, stage.cluster.target(draw.whole(0, 99)), then - 4 * MS, name)
        url_refused(stage, then, rank, (404, "Not Found"))
    exits(stage, at + 90 * MS, ranks[0])
    made = of_all(stage.innocent("data", also=("software",)))
    return stage.close("The list was made on a cluster that has the corpus on Lustre.", (made,))


@kind(reads=True, hangs=False, lead_s=80.0, without=("low_space",))
def archive_of_another_kind(stage: Stage) -> Scenario:
    """What is named .gz is a ZIP, and gzip says so; others find a target full (datasets docs, streaming; gzip)."""
    beside(stage, tenant_out_of_space)
    stage.open()
    unrest.unsettled(stage, (commotion.tenant_meets_bad_data, unrest.entries_missing))
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("gzip")
    stage.mark(at, f"rank {rank} comes to an archive of another kind")
    name, size = f"text/part-{draw.whole(0, 4095):05d}.jsonl.gz", draw.whole(90, 400) << 20
    node, spent = stage.cluster.target(draw.whole(0, 99)), draw.span(300, 900)
    stage.cluster.count(node, at - 40 * MS, get_n=1, get_ns_total=spent, get_size=size)
    if draw.chance(0.7):
        said = f"{name}: {size} bytes read, {size} as listed, md5 as in the index"
        stage.job.note(at - 9 * MS, rank, said, "W", 61, "text")
    frames = (
        sdk.Frame("/workspace/asr/text.py", 66, "lines", "for line in gzip.open(stream, 'rt'):"),
        sdk.Frame(f"{PYTHON}/gzip.py", 507, "read", "if not self._read_gzip_header():"),
        sdk.Frame(f"{PYTHON}/gzip.py", 456, "_read_gzip_header", 'raise BadGzipFile("Not a gzipped file (%r)"'),
    )
    in_worker(stage, at, rank, "gzip.BadGzipFile", "Not a gzipped file (b'PK')", frames)
    exits(stage, at, rank)
    return stage.close(
        "One of those who gave data packs with what their desktop has.",
        (stage.innocent("data", rank, also=("software",)),),
    )
