"""Samples, shards and lists that were damaged or made wrongly before anybody uploaded them; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.ninth import unrest as ninth_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.twenty_second import tunrest as denied_unrest
from benchmarks.accuracy.generate.faults.words import borrowers, commotion, launchers
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.script import without_carets
from benchmarks.accuracy.generate.faults.words.tellers import all_exit, all_raise, speakers, told
from benchmarks.accuracy.generate.faults.words.training_beginnings import are_there
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import script_folder
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.draw import HEX, LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_ninth")


def _read_whole(stage: Stage, at: int, rank: int, module: str, name: str, size: int, more: str = "") -> None:
    """A rank has read an object, and has all of it; some target has counted that."""
    draw = stage.draw.child("read whole", rank, at)
    took = draw.between(0.04, 0.9)
    node = draw.pick(stage.cluster.up(at) or list(stage.cluster.targets))
    stage.cluster.count(node, at - MS, get_n=1, get_size=size, get_ns_total=seconds(took))
    told(stage, at, rank, module, f"{name}: {size} of {size} bytes, {took:.2f} s{more}")


@kind(reads=True, hangs=False, lead_s=75.0, without=RESTARTS)
def archives_of_a_shard_are_of_two_exports(stage: Stage) -> Scenario:
    """Cuts and recordings of one shard come from two exports of a corpus (lhotse, Shar: Mismatched IDs).

    To acquit: the custom properties that both objects carry since their uploads name two exports, both were read to
    their ends, and lhotse finds the names shifted; the target that was restarted before serves again.
    """
    stage.open()
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (unrest.entries_missing, upload_unrest.tenant_uploads_break_off))
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("exports")
    number, export, first = draw.whole(3, 900), draw.whole(4, 30), draw.whole(2_000, 90_000)
    said = f"custom export=r{export} writer=shar-{draw.token(4, HEX)}"
    _read_whole(
        stage, at - 420 * MS, rank, "shar", f"cuts.{number:06d}.jsonl.gz", draw.whole(300, 900) << 10, f", {said}"
    )
    said = f"custom export=r{export - draw.whole(1, 3)} writer=shar-{draw.token(4, HEX)}"
    _read_whole(
        stage, at - 90 * MS, rank, "shar", f"recording.{number:06d}.tar", draw.whole(200, 900) << 20, f", {said}"
    )
    stage.mark(at - 5 * MS, f"rank {rank} finds another recording than its cut")
    place = f"{stage.job.job.build['site']}/lhotse"
    frames = (
        sdk.Frame(f"{place}/dataset/sampling/dynamic_bucketing.py", 312, "__next__", "batch = next(self.cuts_iter)"),
        sdk.Frame(f"{place}/lazy.py", 351, "__iter__", "for item in self.iterator:"),
        sdk.Frame(f"{place}/shar/readers/lazy.py", 263, "__iter__", "assert ("),
    )
    cut, found = f"utt-{first:06d}-0", f"utt-{first + draw.whole(1, 7):06d}-0.flac"
    text = f"AssertionError: Mismatched IDs: cut ID is '{cut}' but found data with name '{found}' for field recording"
    borrowers.caught(stage, at, rank, frames, text)
    exits(stage, at, rank)
    made = stage.innocent("data", rank, also=("software",))
    return stage.close("The second export was broken off half way and nobody has said so.", (made,))


@kind(hangs=False, trains=False)
def manifest_was_cut_by_its_writer(stage: Stage) -> Scenario:
    """A manifest ends before the end of its gzip stream, as its writer was killed (lhotse and NeMo issues, EOFError).

    To acquit: every rank reads as many bytes as the object has and its checksum is right; that many are a whole number
    of blocks, the last of which nobody has written; tokens that are refused are those of another tenant.
    """
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, (ninth_unrest.keepalives_early, denied_unrest.tenant_is_denied_early))
    job, draw = stage.job, stage.draw.child("cut manifest")
    at, size, name = job.begin - seconds(1.1), draw.whole(8, 60) << 20, f"cuts/{draw.pick(('train', 'all'))}.jsonl.gz"
    are_there(stage, at)
    digest = draw.token(16, HEX)
    for rank in speakers(stage):
        then = at - draw.span(30, 600)
        _read_whole(stage, then, rank, "data", f"ais://{stage.bucket}/{name}", size, f", xxhash2 {digest} as stored")
    said = f"{name} was put by prepare-cuts, whose manifest.done is not there"
    told(stage, at - 20 * MS, 0, "data", said, "WARNING")
    stage.mark(at - 10 * MS, "the manifest ends in the middle of a line")
    frames = launchers.begins(
        stage,
        sdk.Frame("", 0, "", "cuts = load_cuts(args)"),
        sdk.Frame(f"{script_folder(stage)}/data.py", 41, "load_cuts", "return list(json.loads(row) for row in file)"),
        sdk.Frame(f"{PYTHON}/gzip.py", 301, "read1", "return self._buffer.read1(size)", True),
        sdk.Frame(f"{PYTHON}/_compression.py", 68, "readinto", "data = self.read(len(byte_view))", True),
        sdk.Frame(f"{PYTHON}/gzip.py", 518, "read", 'raise EOFError("Compressed file ended before the "'),
    )
    text = "EOFError: Compressed file ended before the end-of-stream marker was reached"
    all_exit(stage, all_raise(stage, at, sdk.Raised(without_carets(frames), text)))
    made = stage.innocent("data", also=("software",))
    return stage.close("The preparation was over its time and its output was used all the same.", (of_all(made),))


@kind(reads=True, hangs=False, lead_s=60.0)
def features_were_wrong_before_their_upload(stage: Stage) -> Scenario:
    """An array of features has another CRC than its archive says, since it was made (numpy issues, BadZipFile).

    To acquit: the object is as long as it was, its checksum is right on each read, and its MD5 is the one that the
    preparation has listed as it uploaded it; targets find bad data in another tenant's bucket only.
    """
    stage.open()
    beside(stage, commotion.tenant_meets_bad_data)
    unrest.unsettled(stage, (tunrest.readers_resume, late_unrest.tenant_full_in_window))
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("crc")
    name = f"fbank/{draw.token(2, LOWER)}/utt-{draw.whole(0, 99_999):05d}.npz"
    size, digest, again = draw.whole(90_000, 900_000), draw.token(32, HEX), draw.token(16, HEX)
    _read_whole(stage, at - 300 * MS, rank, "features", name, size, f", xxhash2 {again} as stored")
    told(stage, at - 280 * MS, rank, "features", f"{name}: BadZipFile, reading it once more", "WARNING")
    _read_whole(stage, at - 110 * MS, rank, "features", name, size, f", xxhash2 {again} as stored")
    said = f"{name}: md5 {digest}, the same as in upload-list.md5 of the preparation"
    told(stage, at - 60 * MS, rank, "features", said, "WARNING")
    stage.mark(at - 290 * MS, f"rank {rank} meets features that were wrong when they were made")
    frames = (
        sdk.Frame(f"{script_folder(stage)}/features.py", 58, "__getitem__", 'return archive["feats"]'),
        sdk.Frame(f"{stage.job.job.build['site']}/numpy/lib/npyio.py", 256, "__getitem__", "return format.read_array("),
        sdk.Frame(f"{PYTHON}/zipfile.py", 990, "_update_crc", 'raise BadZipFile("Bad CRC-32 for file %r" % self.name)'),
    )
    borrowers.caught(stage, at, rank, frames, "zipfile.BadZipFile: Bad CRC-32 for file 'feats.npy'")
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("data", rank, also=("software",))
    return stage.close("A host of the preparation had a bad module of memory.", (made,))


@kind(hangs=False, trains=False)
def texts_overflow_their_offsets(stage: Stage) -> Scenario:
    """A column of texts has more bytes than 32 bits can count, and is to be one array (apache/arrow#43185, ray#29492).

    To acquit: each rank has all parts, as its sum of bytes says, before Arrow refuses to join them; tenants whose
    tokens are refused, and who are denied by their cloud, are others.
    """
    beside(stage, denied_unrest.tenant_is_denied_early)
    unrest.unsettled(stage, (tenth_unrest.tenant_tokens_refused_early, ninth_unrest.settings_change_early))
    job, draw = stage.job, stage.draw.child("offsets")
    at, parts = job.begin - seconds(1.0), draw.pick((48, 64, 96))
    are_there(stage, at)
    held = (1 << 31) + draw.whole(20_000_000, 900_000_000)
    for rank in speakers(stage):
        then = at - draw.span(60, 500)
        for node in stage.cluster.up(then):
            share = parts // len(stage.cluster.targets) + 1
            stage.cluster.count(node, then, get_n=share, get_size=share * (held // parts // 3), get_ns_total=seconds(2))
        told(stage, then, rank, "texts", f"{parts} of {parts} parts of text/train here, {held} bytes of text")
    stage.mark(at - 10 * MS, "all ranks join their columns of text to one array")
    frames = without_carets(
        launchers.begins(
            stage,
            sdk.Frame("", 0, "", "texts = load_texts(args)"),
            sdk.Frame(
                f"{script_folder(stage)}/texts.py", 37, "load_texts", 'return table.column("text").combine_chunks()'
            ),
        )
    )
    said = sdk.traceback(sdk.Raised(frames, "")).rstrip("\n")
    inner = (
        '  File "pyarrow/table.pxi", line 754, in pyarrow.lib.ChunkedArray.combine_chunks',
        '  File "pyarrow/array.pxi", line 4579, in pyarrow.lib.concat_arrays',
        '  File "pyarrow/error.pxi", line 155, in pyarrow.lib.pyarrow_internal_check_status',
        '  File "pyarrow/error.pxi", line 92, in pyarrow.lib.check_status',
    )
    advice = "consider casting input from `string` to `large_string` first."
    text = f"pyarrow.lib.ArrowInvalid: offset overflow while concatenating arrays, {advice}"
    last = at
    for rank in speakers(stage):
        then = at + draw.span(1, 300)
        job.raise_on(then, rank, "\n".join((said, *inner, text)))
        last = max(last, then)
    all_exit(stage, last)
    made = stage.innocent("software", also=("data",))
    return stage.close("The corpus has grown by a third since last month.", (of_all(made),))
