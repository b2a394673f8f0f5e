"""Loaders, caches, samples and settings that no storage has harmed, of the nineteenth part; storage is loud.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as former_unrest
from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, main_thread, py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON, fetch_frames
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import mountpath_before
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.draw import HEX, LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, comma_stamp, second_stamp, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "nineteenth")


def _sent(stage: Stage, at: int, size: int, spent: int, salt: int = 0) -> None:
    """Some target has sent an object as a whole."""
    node = stage.cluster.target(stage.draw.child("sent", salt).whole(0, 99))
    stage.cluster.count(node, at, get_n=1, get_ns_total=spent, get_size=size)


@kind(reads=True, hangs=False, lead_s=70.0, without=RESTARTS)
def cached_shard_has_the_name_of_another(stage: Stage) -> Scenario:
    """Two corpora have shards of one name, and a host's cache keeps one of both (webdataset#463: wids, index).

    To acquit: the shard was not asked for but found on the own disk, older than the job's wish for it; other ranks have
    read that shard from AIStore, with all its samples.
    """
    stage.open()
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (commotion.tenant_meets_bad_data, own_unrest.disk_lost_in_window, unrest.entries_missing))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("cached")
    site, number, many = job.job.build["site"], draw.whole(0, 511), draw.whole(1_900, 2_400)
    local, size = job.job.local_rank(rank), draw.whole(380, 440)
    first, second = draw.shuffled(("dialogue", "lectures", "podcasts", "parliament"))[:2]
    stage.mark(at, f"the cache of rank {rank} has another corpus's shard of that name")
    name = f"shard-{number:06d}.tar"
    since = second_stamp(job.begin + draw.span(4_000, 30_000), job.job.zone)
    said = f"{second}/{name}: in /local/wids/{local}/{name} since {since}, {many - draw.whole(300, 900)} samples"
    reader_note(stage, at - 140 * MS, rank, said)
    for turn, other in enumerate(readers(stage)[: draw.whole(1, 3)]):
        spent, then = draw.between(0.9, 3.1), at - draw.span(4_000, 19_000)
        reader_note(stage, then, other, f"{second}/{name}: fetched, {size} MiB in {spent:.1f} s, {many} samples")
        _sent(stage, then - 40 * MS, size << 20, seconds(spent), turn)
    said = f"wids: {first}, {second}; cache_dir=/local/wids/$LOCAL_RANK, index of {second}: {many} each"
    reader_note(stage, job.begin + 40 * MS, 0, said)
    frames = (
        sdk.Frame("/workspace/asr/corpora.py", 71, "__iter__", "sample = self.shards[index]", True),
        sdk.Frame(f"{site}/wids/wids.py", 576, "__getitem__", "sample = shard[inner_idx]", True),
        sdk.Frame(f"{site}/wids/wids.py", 203, "__getitem__", "indexes = self.samples[idx]", True),
    )
    in_worker(stage, at, rank, "IndexError", "list index out of range", frames)
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    return stage.close(
        "Names are told apart by their folders, and the cache has none.",
        (stage.innocent("software", rank, also=("data", "infrastructure")),),
    )


def _streamed(module: str) -> tuple[sdk.Frame, ...]:
    """From an iteration over Streaming's data set to the check of a shard that has come."""
    check = "raise ValueError(f'Checksum failure: {raw_filename}')"
    return (
        sdk.Frame(
            f"{module}/dataset.py", 1452, "__iter__", "yield from map(self.__getitem__, self._each_sample_id(it))"
        ),
        sdk.Frame(f"{module}/array.py", 90, "__getitem__", "return self.get_item(at)"),
        sdk.Frame(f"{module}/dataset.py", 1241, "get_item", "self.prepare_shard(shard_id)"),
        sdk.Frame(f"{module}/dataset.py", 1181, "prepare_shard", "delta = stream.prepare_shard(shard)"),
        sdk.Frame(f"{module}/stream.py", 421, "_prepare_shard_part", check),
    )


@kind(reads=True, hangs=False, lead_s=60.0)
def index_is_of_the_shards_before(stage: Stage) -> Scenario:
    """Shards were written anew, the index with their digests was not: streaming refuses (streaming#759, #399; docs).

    To acquit: all bytes come twice and have one digest, which the index does not know; a spot check has found another
    such shard before, and AIStore's own checksums of this bucket are right.
    """
    stage.open()
    beside(stage, commotion.tenant_meets_bad_data)
    unrest.unsettled(stage, (own_unrest.disk_lost_in_window, commotion.reads_recover, unrest.entries_missing))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("digest")
    site, number, digest = job.job.build["site"], draw.whole(300, 2_047), draw.token(16, HEX)
    stage.mark(at, f"rank {rank} comes to a shard that its index has another digest of")
    name, size = f"shard.{number:05d}.mds", 67_108_864 - draw.whole(9_000, 900_000)
    says = f"index.json of {second_stamp(job.begin - seconds(draw.between(9e5, 3e6)), job.job.zone)[:10]}"
    reader_note(stage, job.begin + 50 * MS, 0, f"{says}, 2048 shards, validate_hash=xxh64, predownload 8")
    odd = f"shard.{draw.whole(2, 299):05d}.mds is xxh64 {draw.token(16, HEX)}, index has {draw.token(16, HEX)}"
    reader_note(stage, job.begin + 900 * MS, 0, f"spot check: 7 of 8 shards as indexed, {odd}")
    for turn, then in enumerate((at - draw.span(1_400, 2_900), at - 30 * MS)):
        said = f"{name}: {size} of {size} bytes, xxh64 {digest}, index has {draw.child('this').token(16, HEX)}"
        reader_note(stage, then, rank, f"{said}, {'for good' if turn else 'fetched once more'}")
        _sent(stage, then - 40 * MS, size, draw.span(300, 900), turn)
    failed = f"Checksum failure: /local/streaming/train/{name}"
    in_worker(stage, at, rank, "ValueError", failed, _streamed(f"{site}/streaming/base"))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    return stage.close(
        "A repair of transcripts has replaced some hundred shards.",
        (stage.innocent("data", rank, also=("software",)),),
    )


@kind(reads=True, hangs=False, lead_s=100.0)
def loader_is_waited_for_too_shortly(stage: Stage) -> Scenario:
    """A DataLoader waits thirty seconds, and buffers of a new epoch take about as long (deeplake#1760; PyTorch docs).

    To acquit: processes start anew and fill a buffer first; their own lines count reads, none of which took long.
    """
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("timeout")
    began = at - seconds(30.0) - draw.span(4, 40)
    stage.open(until_step=max(2, stage.step - int(30.4 / stage.params.step_s) - 1))
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(stage, (commotion.tenant_backend_fails, own_unrest.tenant_full_in_window))
    stage.mark(began, f"loader processes of rank {rank} start anew for an epoch")
    site, workers, wanted = job.job.build["site"], draw.pick((4, 8)), draw.pick((10_000, 20_000))
    reader_note(
        stage, began, rank, f"epoch 1: {workers} loader processes, each begins with a buffer of {wanted} samples"
    )
    for turn, after in enumerate((9.0, 18.0, 27.0)):
        have = int(wanted * after / draw.between(31.5, 34.0))
        reads, most = have // 160 + 1, draw.between(0.2, 0.6)
        said = f"loader {turn % workers}: {have} of {wanted} samples in its buffer, {reads} reads, longest {most:.2f} s"
        reader_note(stage, began + seconds(after), rank, said)
    for other in readers(stage)[: draw.whole(2, 4)]:
        spent = draw.between(24.1, 29.4)
        reader_note(stage, began + seconds(spent), other, f"epoch 1: first batch after {spent:.1f} s, timeout is 30 s")
    frames = (
        *loss_frames(stage, "for step, batch in enumerate(loader):"),
        sdk.Frame(f"{site}/torch/utils/data/dataloader.py", 1454, "_next_data", "idx, data = self._get_data()"),
        sdk.Frame(f"{site}/torch/utils/data/dataloader.py", 1397, "_get_data", "raise RuntimeError("),
    )
    raised = sdk.Raised(frames, "RuntimeError: DataLoader timed out after 30 seconds")
    job.raise_on(at, rank, sdk.traceback(raised))
    exits(stage, at, rank)
    return stage.close(
        "The buffer was doubled, and decoding has to fill it.",
        (stage.innocent("software", rank, also=("data_loading_stall",)),),
    )


@kind(reads=True, lead_s=60.0)
def threads_wait_for_their_own_pool(stage: Stage) -> Scenario:
    """Tasks of a pool wait for tasks that the same pool is to do after them (Python docs, ThreadPoolExecutor).

    To acquit: all threads of the rank wait for a future, none stands in a socket; what was asked of AIStore had come.
    """
    stage.open()
    beside(stage, own_unrest.disk_lost_in_window)
    unrest.unsettled(stage, (commotion.reads_recover, commotion.throttled_in_window, commotion.tenant_backend_fails))
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("pool")
    stage.mark(at, f"threads of rank {rank} wait for each other")
    future, pool = f"{PYTHON}/concurrent/futures/_base.py", f"{PYTHON}/concurrent/futures/thread.py"
    waits = (("wait", f"{PYTHON}/threading.py", 327), ("result", future, 451))
    many = draw.pick((4, 6, 8))
    shard = f"shards/train-{draw.whole(0, 4095):06d}"
    for turn in range(many):
        then, parts = at - draw.span(20, 300), draw.whole(30, 64)
        said = f"{shard[:-1]}{turn}.idx: {parts} parts to read, {parts * 4} KiB of index here"
        reader_note(stage, then, rank, said)
        _sent(stage, then - 8 * MS, parts << 12, draw.span(2, 9), turn)
    threads = [main_thread(stage, *waits, ("next_batch", own.script, 94))]
    for turn in range(many):
        inner = (("read_parts", "/workspace/asr/parts.py", 61), ("run", pool, 58), ("_worker", pool, 83))
        threads.append(Thread(f"ThreadPoolExecutor-0_{turn}", (*waits, *inner)))
    py_spy(stage, min(draw.between(24, 46), own.timeout_s - 13), tuple(threads))
    stage.hang(at + 240 * MS, rank)
    former_unrest.killed_in_the_hang(stage)
    return stage.close(
        "Indexes have been read by the pool that reads parts since they are objects of their own.",
        (stage.innocent("software", rank, also=("rank_hang", "data_loading_stall")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0)
def recording_has_no_frames(stage: Stage) -> Scenario:
    """A recording is a header and nothing else, as it was recorded: not to be packed (stanza#1401; PyTorch, rnn).

    To acquit: its 44 bytes came, and are what its manifest says; the error is about lengths in a batch that is there.
    """
    stage.open()
    beside(stage, mountpath_before)
    unrest.unsettled(
        stage, (commotion.tenant_meets_bad_data, own_unrest.tenant_full_in_window, commotion.reads_recover)
    )
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("frames")
    site = job.job.build["site"]
    stage.mark(at, f"rank {rank} has a recording without frames")
    name = f"train/{draw.token(2, LOWER)}/utt-{draw.whole(0, 99_999):05d}.wav"
    said = f"batch of {draw.whole(24, 64)} cuts, shortest {name}: 44 of 44 bytes, 0 frames at 16000 Hz"
    reader_note(stage, at - 180 * MS, rank, said)
    _sent(stage, at - 300 * MS, 44, draw.span(0.4, 2))
    code = "packed = pack_padded_sequence(hidden, lengths, enforce_sorted=False)"
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(f"{site}/torch/nn/modules/module.py", 1762, "_call_impl", "return forward_call(*args, **kwargs)"),
        sdk.Frame(f"{job.job.script.rsplit('/', 1)[0]}/predictor.py", 64, "forward", code, True),
        sdk.Frame(
            f"{site}/torch/nn/utils/rnn.py",
            344,
            "pack_padded_sequence",
            "data, batch_sizes = _VF._pack_padded_sequence(",
        ),
    )
    text = (
        "RuntimeError: Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
    )
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    beside(stage, tenth_unrest.tenant_tokens_refused)
    return stage.close(
        "Some calls were hung up on before anybody spoke.",
        (stage.innocent("data", rank, also=("software",)),),
    )


@kind(reads=True, hangs=False, lead_s=100.0)
def loop_decodes_while_answers_wait(stage: Stage) -> Scenario:
    """A coroutine decodes in the loop that is to read, whose limit is over by then (Python docs, asyncio; aiohttp).

    To acquit: asyncio says for how long its loop stood still and in which line, as long as the read is said to have
    taken; the same target has answered in milliseconds, this request as well.
    """
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("loop")
    limit, stood = 30, draw.between(31.0, 38.0)
    began, site = at - seconds(stood), job.job.build["site"]
    stage.open(until_step=max(2, stage.step - int(stood / stage.params.step_s) - 1))
    beside(stage, own_unrest.disk_lost_in_window)
    unrest.unsettled(stage, (commotion.tenant_backend_fails, commotion.tenant_meets_bad_data))
    stage.mark(began, f"the loop of rank {rank} stands still")
    target, long = stage.cluster.target(draw.whole(0, 99)), draw.whole(3_900, 9_900)
    url = f"{target.url(0)}/v1/objects/{stage.bucket}/train/{draw.token(2, LOWER)}"
    reader_note(stage, began - 4 * MS, rank, f"{url}/talk-{draw.whole(0, 9_999):04d}.opus: here, {long} s to decode")
    for turn, other in enumerate([rank, *readers(stage)[: draw.whole(1, 3)]]):
        size, spent = draw.whole(9, 90) << 20, draw.span(30, 190)
        stage.cluster.count(target, began + draw.span(90, 900), get_n=1, get_ns_total=spent, get_size=size)
        if turn:
            said = f"{url}/talk-{draw.whole(0, 9_999):04d}.opus: here, {size >> 20} MiB in {spent / 1e9:.2f} s"
            reader_note(stage, began + draw.span(900, 9_000), other, said)
    place = "coro=<Shards.batch() running at /workspace/asr/shards.py:88>"
    task = f"<Task pending name='Task-{draw.whole(90, 4_000)}' {place} cb=[gather.<locals>._done_callback()]>"
    head = f"{comma_stamp(at - MS, job.job.zone)} [rank{rank}] WARNING asyncio"
    job.say(at - MS, rank, f"{head}: Executing {task} took {stood:.3f} seconds")
    frames = (
        sdk.Frame("/workspace/asr/shards.py", 61, "fetch", "return await response.read()"),
        sdk.Frame(f"{site}/aiohttp/client_reqrep.py", 1102, "read", "self._body = await self.content.read()"),
        sdk.Frame(f"{site}/aiohttp/streams.py", 348, "_wait", "with self._timer:"),
        sdk.Frame(f"{site}/aiohttp/helpers.py", 735, "__exit__", "raise asyncio.TimeoutError from exc_val"),
    )
    code = "batch = self.loop.run_until_complete(self.shards.batch(step))"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(fetch_frames(stage, code, *frames), "TimeoutError")))
    reader_note(stage, job.begin + 30 * MS, 0, f"aiohttp: ClientTimeout(total={limit}), PYTHONASYNCIODEBUG=1")
    exits(stage, at, rank)
    own_unrest.killed_when_all_is_over(stage)
    made = stage.innocent("software", rank, also=("data_loading_stall", "data"))
    return stage.close("Decoding was in a thread until it was rewritten.", (made,))
