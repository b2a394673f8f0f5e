"""Samples that storage has given as they were put there, and a program cannot use, of the twenty-first part.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_first import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.draw import HEX, LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_first")


def _came_whole(stage: Stage, at: int, size: int, spent: int, salt: int = 0) -> None:
    """Some target has sent an object as a whole."""
    node = stage.cluster.target(stage.draw.child("came whole", salt).whole(0, 99))
    stage.cluster.count(node, at, get_n=1, get_ns_total=spent, get_size=size)


@kind(reads=True, hangs=False, lead_s=60.0)
def recordings_shorter_than_their_manifest(stage: Stage) -> Scenario:
    """A manifest was made before silence was cut off: Lhotse finds fewer samples (lhotse#1250, #1437, #913).

    To acquit: the object came with the size and the checksum that it was put with; the exception is of two numbers of
    samples. The checksums that targets complain of are of another bucket.
    """
    stage.open()
    beside(stage, commotion.tenant_meets_bad_data)
    beside(stage, own_unrest.neighbour_is_reset)
    unrest.unsettled(stage, (past_unrest.turned_away_in_window, disk_unrest.disk_lost_in_window))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("shorter")
    site, identity = job.job.build["site"], f"{draw.token(2, LOWER)}-{draw.whole(1000, 9999)}-{draw.whole(0, 999):04d}"
    stage.mark(at, f"a recording of rank {rank} is shorter than its manifest says")
    seconds_said = draw.whole(40, 190) / 10
    said, lost = round(seconds_said * 16_000), draw.whole(3_000, 24_000)
    size = (said - lost) * 2 + 44
    name = f"wav/{identity[:2]}/{identity}.wav"
    _came_whole(stage, at - 80 * MS, size, draw.span(2, 25))
    whole = f"{name}: {size} bytes, content-length {size}, xxhash2 {draw.token(16, HEX)} as in its header"
    reader_note(stage, at - 50 * MS, rank, whole)
    source = f"AudioSource(type='url', channels=[0], source='ais://{stage.bucket}/{name}')"
    recording = f"Recording(id='{identity}', sources=[{source}], sampling_rate=16000, num_samples={said}, "
    recording += f"duration={seconds_said}, channel_ids=[0], transforms=None)"
    text = "The number of declared samples in the recording diverged from the one obtained when loading audio "
    text += f"(offset=0.0, duration={seconds_said}). This could be internal Lhotse's error or a faulty transform "
    text += f"implementation. Please report this issue in Lhotse and show the following: diff={lost}, "
    text += f"audio.shape=(1, {said - lost}), recording={recording}"
    module = f"{site}/lhotse/audio/recording.py"
    frames = (
        sdk.Frame(f"{site}/lhotse/dataset/speech_recognition.py", 114, "__getitem__", "cuts = self.load(cuts)"),
        sdk.Frame(module, 485, "load_audio", "audio = assert_and_maybe_fix_num_samples("),
        sdk.Frame(module, 969, "assert_and_maybe_fix_num_samples", "raise AudioLoadingError("),
    )
    in_worker(stage, at, rank, "lhotse.audio.utils.AudioLoadingError", text, frames)
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("data", rank, also=("software", "data_loading_stall"))
    return stage.close("Silence was cut off in place; manifests were not made anew.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def shard_has_no_such_field(stage: Stage) -> Scenario:
    """One release of a corpus has mp3 where a program wants flac (webdataset filters; open_clip PR 179).

    To acquit: the shard was read as a tar to its member; the exception lists which fields a sample has.
    """
    stage.open()
    unrest.unsettled(stage, (commotion.tenant_meets_bad_data, own_unrest.listings_of_a_tenant_fail))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("field")
    site, shard = job.job.build["site"], f"shards/part-{draw.whole(0, 4095):06d}.tar"
    stage.mark(at, f"rank {rank} reads a shard of another release")
    size, members = draw.whole(120, 1_900) << 20, draw.whole(500, 2_000)
    _came_whole(stage, at - 100 * MS, size, draw.span(500, 2_900))
    said = (
        f"{shard}: opened, {size} bytes, index says {members} samples of release {draw.pick(('2.1', 'v3', '2025-11'))}"
    )
    reader_note(stage, at - draw.span(150, 600), rank, said)
    has = draw.pick((["__key__", "__url__", "json", "mp3"], ["__key__", "__url__", "mp3", "txt"]))
    wanted = draw.pick((["flac"], ["flac", "wav"]))
    frames = (
        sdk.Frame(f"{site}/webdataset/pipeline.py", 105, "iterator", "yield from self.iterator1()"),
        sdk.Frame(f"{site}/webdataset/filters.py", 455, "_to_tuple", "result = tuple(["),
        sdk.Frame(f"{site}/webdataset/filters.py", 129, "getfirst", "raise ValueError("),
    )
    in_worker(stage, at, rank, "ValueError", f"didn't find {wanted} in {has}", frames)
    exits(stage, at, rank)
    made = stage.innocent("data", rank, also=("software", "data_loading_stall"))
    return stage.close("A partner sent its share in another format.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def token_beyond_the_embedding(stage: Stage) -> Scenario:
    """A tokenizer got more words than the model has rows for: device-side assert (transformers#1805; pytorch forums).

    To acquit: kernels print an assertion about an index of an embedding before CUDA's error comes up in the loss.
    """
    stage.open()
    unrest.unsettled(stage, (unrest.entries_missing, tenth_unrest.disk_found_well))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("token")
    rows = draw.pick((32_000, 50_257, 51_865))
    stage.mark(at, f"rank {rank} has a token that its model does not know")
    added = draw.whole(1, 12)
    reader_note(stage, job.begin - 150 * MS, 0, f"tokenizer: {rows + added} pieces, {added} of them added")
    place = f"{job.job.torch.source_tree}aten/src/ATen/native/cuda/Indexing.cu:{draw.pick((1289, 1369, 1553))}"
    for turn in range(draw.whole(3, 6)):
        where = f"block: [{draw.whole(0, 400)},0,0], thread: [{draw.whole(0, 3) * 32 + turn},0,0]"
        said = f"{place}: indexSelectLargeIndex: {where} Assertion `srcIndex < srcSelectDimSize` failed."
        job.say(at + turn * 40_000, rank, said)
    text = cuda_error(job.job.torch.order, "device-side assert triggered", "cudaErrorAssert")
    frames = loss_frames(stage, "loss = criterion(model(batch), batch)")
    error = "torch.AcceleratorError" if job.job.torch.order >= 208 else "RuntimeError"
    job.raise_on(at + 6 * MS, rank, sdk.traceback(sdk.Raised(frames, f"{error}: {text}")))
    exits(stage, at + 6 * MS, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", rank, also=("data", "gpu"))
    return stage.close("A language tag was added to the tokenizer alone.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def one_long_cut_fills_a_card(stage: Stage) -> Scenario:
    """A cut of some minutes passes the filter, and its attention does not fit (icefall#1046; PyTorch docs, notes/cuda).

    To acquit: the batch is here, and how long its longest cut is; CUDA is out of memory in the loss.
    """
    stage.open()
    unrest.unsettled(stage, (disk_unrest.disk_lost_in_window, commotion.throttled_in_window))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("long cut")
    stage.mark(at, f"a batch of rank {rank} does not fit")
    cuts, longest = draw.whole(3, 9), draw.between(190, 620)
    reader_note(stage, at - 300 * MS, rank, f"batch: {cuts} of {cuts} cuts here, longest {longest:.1f} s")
    total, free = draw.pick((79.10, 79.25, 139.81)), draw.whole(300, 4_900) / 100
    held = total - free - draw.whole(60, 160) / 100
    own = round(held - draw.between(1.2, 9.0), 2)
    local = job.job.local_rank(rank)
    text = f"CUDA out of memory. Tried to allocate {free + draw.between(0.4, 20):.2f} GiB. GPU {local} has a total "
    text += f"capacity of {total:.2f} GiB of which {free:.2f} GiB is free. Including non-PyTorch memory, this process "
    text += f"has {total - free:.2f} GiB memory in use. Of the allocated memory {own:.2f} GiB is allocated by PyTorch, "
    text += f"and {held - own:.2f} GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is "
    text += "large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See "
    text += (
        "documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    )
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(
            "/workspace/asr/attention.py", 118, "forward", "scores = torch.matmul(query, key.transpose(-2, -1))", True
        ),
    )
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"torch.OutOfMemoryError: {text}")))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", rank, also=("gpu", "data"))
    return stage.close("The filter of durations looks at supervisions, not at cuts.", (made,))
