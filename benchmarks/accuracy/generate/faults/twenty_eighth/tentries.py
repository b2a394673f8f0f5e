"""Entries, members and indices that are not what a manifest takes them for, of the twenty-eighth part.

Storage is innocent. The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as bad_unrest
from benchmarks.accuracy.generate.faults.words import borrowers, commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON, fetch_frames
from benchmarks.accuracy.generate.faults.words.requests import FETCH, HANDLES
from benchmarks.accuracy.generate.faults.words.script import without_carets
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import data_folder, script_folder
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisobjects, sdk
from fixtures.generator.draw import HEX, LOWER, Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_eighth")

UNKNOWN_FORMAT = "Error opening <_io.BytesIO object at {handle:#x}>: Format not recognised."


def _handle(draw: Draw) -> int:
    return draw.whole(*HANDLES) // 16 * 16


def _sent(stage: Stage, at: int, rank: int, size: int, took_s: float) -> None:
    """Some target has sent so much to a rank, which its proxy had redirected."""
    node = stage.draw.child("sent", rank, at).pick(stage.cluster.up(at))
    stage.cluster.count(stage.proxy_of(rank), at - seconds(took_s), get_n=1)
    stage.cluster.count(node, at, get_n=1, get_ns_total=seconds(took_s), get_size=size)


@kind(reads=True, hangs=False, lead_s=60.0, without=RESTARTS)
def manifest_names_what_was_never_uploaded(stage: Stage) -> Scenario:
    """An upload ended early, and the manifest was made of what there was to upload (lhotse and NeMo, tarred sets).

    To acquit: the report of the upload has its last shard, and only shards beyond it are not found, by ranks and on
    targets of any kind; the target that was killed half a minute before is back.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, upload_unrest.tenant_uploads_break_off))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("upload")
    whole, days = draw.pick((1_024, 1_536, 2_000, 2_400)), draw.whole(2, 9)
    there = whole - draw.whole(40, 160)
    said = f"upload of {days} days ago: {there} of {whole} shards put, last train-{there - 1:06d}.tar, then exit 137"
    told(stage, job.begin - 820 * MS, 0, "data", said)
    told(
        stage,
        job.begin - 790 * MS,
        0,
        "data",
        f"manifest: {whole} shards, train-000000.tar to train-{whole - 1:06d}.tar",
    )
    for turn, one in enumerate(readers(stage)[: draw.whole(1, 3)]):
        name, then = f"train-{draw.whole(there, whole - 1):06d}.tar", at - draw.span(700, 8_000)
        node = draw.pick(stage.cluster.up(then))
        text = aisobjects.not_there(stage.cluster, node, then, name)
        told(stage, then + 5 * MS, one, "shards", f"{name} left out ({turn + 1} so far): {text}", "WARNING")
    name, node = f"train-{draw.whole(there, whole - 1):06d}.tar", draw.pick(stage.cluster.up(at))
    stage.mark(at - 12 * MS, f"rank {rank} asks for a shard that was never put")
    text = aisobjects.not_there(stage.cluster, node, at - 8 * MS, name)
    path = f"/v1/objects/{stage.bucket}/{name}" + sdk.query(stage.proxy_of(rank), at - 11 * MS)
    caller = fetch_frames(stage, FETCH, *borrowers.read_frames(stage))
    said = borrowers.answered(stage, node, (404, "Not Found"), "ErrObjNotFound", text, path, caller)
    told(stage, at - 3 * MS, rank, "shards", "first shard of an epoch, not to be left out", "WARNING")
    job.raise_on(at, rank, said)
    exits(stage, at, rank)
    made = stage.innocent("data", rank, also=("software", "storage_io", "data_loading_stall"))
    return stage.close("Whoever uploaded the set ran out of memory and did not look.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def member_has_another_name_in_its_shard(stage: Stage) -> Scenario:
    """A manifest spells a member of a shard otherwise than its archive (SDK get_batch, archpath; AIStore docs).

    To acquit: the target has the shard and says only that it has no such member; the list of its members has the same
    name with other letters; the disk that a target gives up at that time has cost no read.
    """
    stage.open()
    beside(stage, disk_unrest.disk_lost_in_window)
    unrest.unsettled(stage, (tunrest.withdrawn_left_out, commotion.throttled_in_window))
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("member")
    cluster, shard = stage.cluster, f"train-{draw.whole(0, 2047):06d}.tar"
    stem, entry, many = (
        f"{draw.token(2, LOWER)}_utt_{draw.whole(0, 99_999):05d}",
        draw.whole(0, 47),
        draw.whole(600, 1900),
    )
    asked, there = draw.pick(((".flac", ".FLAC"), (".wav", ".flac"), (".opus", ".ogg")))
    owner, designated = draw.pick(cluster.up(at)), draw.pick(cluster.up(at))
    told(stage, at - 190 * MS, rank, "dataset", f"get-batch of 48 members, streaming_get=False ({shard} and others)")
    stage.mark(at - 60 * MS, f"rank {rank} asks for a member of another name")
    files = {"getbatch_file_n": 47, "getbatch_file_size": 47 * 16_100}
    cluster.count(designated, at - 40 * MS, getbatch_n=1, err_soft_getbatch_n=1, **files)
    said = f"list_archive of {shard}: {many} members, {stem}{there} is there, {stem}{asked} is not"
    told(stage, at - 9 * MS, rank, "dataset", said, "WARNING")
    text = f"{owner.name}: {stem}{asked} in ais://{stage.bucket}/{shard} does not exist"
    frames = (
        sdk.Frame(f"{data_folder(stage)}/_utils/fetch.py", 54, "fetch", "data = self.dataset[possibly_batched_index]"),
        sdk.Frame(f"{script_folder(stage)}/dataset.py", 96, "__getitem__", "raise RuntimeError("),
    )
    error = f"RuntimeError: entry {entry} of 48, {shard}/{stem}{asked}: {text}"
    borrowers.caught(stage, at, rank, frames, error)
    exits(stage, at, rank)
    made = stage.innocent("data", rank, also=("software", "storage_io", "data_loading_stall"))
    return stage.close("The manifest was made of the sources before they were converted.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def index_is_of_the_shards_before_repacking(stage: Stage) -> Scenario:
    """Members are read by their offsets in a shard, which was packed anew since (NeMo, WebDataset issues: tar index).

    To acquit: the index is of a version of the shard with another size, as the log says, and the answer has as many
    bytes as were asked for; what targets find changed lies in another tenant's bucket.
    """
    stage.open()
    beside(stage, commotion.tenant_meets_bad_data)
    unrest.unsettled(stage, (tunrest.readers_resume, unrest.entries_missing))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("index")
    old = draw.whole(90_000, 900_000) * 512
    new, shard = old + draw.whole(40, 9_000) * 512, f"train-{draw.whole(0, 2047):06d}.tar"
    offset, length = draw.whole(1_000, old // 512 - 3_000) * 512, draw.whole(30_000, 900_000)
    told(stage, job.begin - 640 * MS, 0, "data", "members are read by offset, index.v1.json of 2048 shards")
    said = f"{shard}: size {new}, version 2, the index has size {old}, version 1"
    told(stage, at - 220 * MS, rank, "shards", said, "WARNING")
    member, site = f"{draw.token(9, LOWER)}.flac", own.build["site"]
    told(stage, at - 60 * MS, rank, "shards", f"{shard}: {length} of {length} bytes from offset {offset}, {member}")
    _sent(stage, at - 61 * MS, rank, length, 0.08)
    stage.mark(at - 220 * MS, f"rank {rank} cuts a member out at the wrong place")
    failed = UNKNOWN_FORMAT.format(handle=_handle(draw))
    first = sdk.Raised(
        (
            sdk.Frame(f"{script_folder(stage)}/dataset.py", 71, "decode", "return sf.read(BytesIO(content))", True),
            sdk.Frame(f"{site}/soundfile.py", 305, "read", "with SoundFile(file, 'r', samplerate, channels,"),
            sdk.Frame(
                f"{site}/soundfile.py", 1265, "_open", 'raise LibsndfileError(err, prefix="Error opening {0!r}: ".'
            ),
        ),
        f"soundfile.LibsndfileError: {failed}",
        sdk.DIRECT,
    )
    frames = (
        sdk.Frame(f"{data_folder(stage)}/_utils/fetch.py", 52, "fetch", "data = [self.dataset[i] for i in index]"),
        sdk.Frame(f"{script_folder(stage)}/dataset.py", 58, "__getitem__", "audio, rate = self.decode(content)", True),
        sdk.Frame(
            f"{script_folder(stage)}/dataset.py", 73, "decode", 'raise ValueError(f"{member}: {error}") from error'
        ),
    )
    error = f"ValueError: {member} of {shard} (index.v1.json): {failed}"
    borrowers.caught(stage, at, rank, frames, error, "", first)
    exits(stage, at, rank)
    made = stage.innocent("data", rank, also=("software", "data_loading_stall"))
    return stage.close("Shards were packed anew without what their speakers had withdrawn.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def recording_was_damaged_before_its_upload(stage: Stage) -> Scenario:
    """A recording begins with zeros since before it was uploaded (lhotse issues, AudioLoadingError).

    To acquit: its checksum in AIStore is that of the file that was put, read twice with the same bytes; the disk that
    cannot read some objects holds those of another job's bucket, and is examined and found well.
    """
    stage.open()
    beside(stage, bad_unrest.neighbour_skips_bad_reads)
    unrest.unsettled(stage, (tunrest.readers_resume, tunrest.batches_fall_back, unrest.entries_missing))
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("recording")
    name, size = f"train/{draw.token(2, LOWER)}/utt-{draw.whole(0, 99_999):05d}.flac", draw.whole(90_000, 2_000_000)
    digest, site = draw.token(16, HEX), own.build["site"]
    said = f"{name}: {size} of {size} bytes, xxhash2 {digest}, uploads.csv has {size} and {digest}"
    told(stage, at - 640 * MS, rank, "dataset", f"{said}; begins with {draw.whole(2, 60) * 4096} zero bytes", "WARNING")
    told(stage, at - 120 * MS, rank, "dataset", f"{name} read once more: the same {size} bytes, xxhash2 {digest}")
    _sent(stage, at - 645 * MS, rank, size, 0.05)
    _sent(stage, at - 125 * MS, rank, size, 0.04)
    stage.mark(at - 650 * MS, f"rank {rank} reads a recording that was damaged before its upload")
    handle = _handle(draw)
    failed = f"<class 'soundfile.LibsndfileError'>: {UNKNOWN_FORMAT.format(handle=handle)}"
    text = (
        f"lhotse.audio.utils.AudioLoadingError: Reading audio from '<_io.BytesIO object at {handle:#x}>' failed. "
        f"Details:\nException #0 (<class 'lhotse.audio.backend.LibsndfileBackend'>): {failed}\n"
        "Set LHOTSE_AUDIO_LOADING_EXCEPTION_VERBOSE=1 environment variable for full stack traces."
    )
    backend = f"{site}/lhotse/audio/backend.py"
    frames = (
        sdk.Frame(f"{data_folder(stage)}/_utils/fetch.py", 54, "fetch", "data = self.dataset[possibly_batched_index]"),
        *borrowers.lhotse_frames(stage, 0, "", "")[:1],
        sdk.Frame(
            f"{site}/lhotse/audio/recording.py", 495, "load_audio", "samples, sampling_rate = source.load_audio("
        ),
        sdk.Frame(backend, 424, "read_audio", "raise AudioLoadingError("),
    )
    borrowers.caught(stage, at, rank, without_carets(frames), text)
    exits(stage, at, rank)
    made = stage.innocent("data", rank, also=("software", "data_loading_stall"))
    return stage.close("The recorder's card was full.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def label_that_was_not_packed_comes_as_no_bytes(stage: Stage) -> Scenario:
    """AISShardReader gives no bytes for a kind of member that a sample lacks, and JSON is made of it (SDK, ZeroDict).

    To acquit: the shard has come whole with the members of its listing, the sample has none with that ending, and the
    reader fills it in so; batches of other ranks that fell back were complete.
    """
    stage.open()
    beside(stage, tunrest.batches_fall_back)
    unrest.unsettled(stage, (tenth_unrest.tenant_batches_fail, unrest.entries_missing))
    rank, at, draw, folder = stage.culprit, stage.at, stage.draw.child("label"), script_folder(stage)
    shard, size = f"shards/train-{draw.whole(0, 2047):06d}.tar", draw.whole(90_000, 990_000) * 512
    samples, stem = draw.whole(500, 1_400), f"{draw.token(2, LOWER)}_{draw.whole(1_000, 99_999)}"
    lost = draw.whole(1, 9)
    said = f"{shard}: {size} of {size} bytes, {3 * samples - lost} members as listed, {samples} samples"
    told(stage, at - 230 * MS, rank, "data", f"{said}, kinds flac json txt")
    _sent(stage, at - 231 * MS, rank, size, draw.between(0.4, 1.6))
    told(stage, at - 40 * MS, rank, "data", f"sample {stem}: flac {draw.whole(90_000, 900_000)}, txt 71, json 0 bytes")
    stage.mark(at - 220 * MS, f"rank {rank} meets a sample without its label")
    frames = (
        sdk.Frame(f"{data_folder(stage)}/_utils/fetch.py", 33, "fetch", "data.append(next(self.dataset_iter))"),
        sdk.Frame(f"{folder}/samples.py", 47, "__iter__", 'label = json.loads(sample["json"])', True),
        sdk.Frame(f"{PYTHON}/json/__init__.py", 346, "loads", "return _default_decoder.decode(s)", True),
        sdk.Frame(
            f"{PYTHON}/json/decoder.py", 337, "decode", "obj, end = self.raw_decode(s, idx=_w(s, 0).end())", True
        ),
        sdk.Frame(
            f"{PYTHON}/json/decoder.py",
            355,
            "raw_decode",
            'raise JSONDecodeError("Expecting value", s, err.value) from None',
        ),
    )
    error = "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"
    borrowers.caught(stage, at, rank, frames, error, "RuntimeError")
    exits(stage, at, rank)
    made = stage.innocent("data", rank, also=("software", "data_loading_stall"))
    return stage.close("Samples without a speaker have no file of labels.", (made,))
