"""Programs that use AIStore's clients wrongly, or meet an error in them, amid their training; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth import unrest as eighth_unrest
from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as hang_unrest
from benchmarks.accuracy.generate.faults.words import borrowers, commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import transformed
from benchmarks.accuracy.generate.faults.words.forked import py_spy_forked
from benchmarks.accuracy.generate.faults.words.script import without_carets
from benchmarks.accuracy.generate.faults.words.tellers import all_exit, all_raise, told
from benchmarks.accuracy.generate.faults.words.workbenches import (
    data_folder,
    forked_loader,
    script_folder,
    waits_for_loaders,
)
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisservices, sdk
from fixtures.generator.draw import LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "twenty_eighth")


@kind(reads=True, hangs=False, lead_s=60.0)
def etl_is_asked_for_by_a_former_name(stage: Stage) -> Scenario:
    """A script reads through an ETL that is called otherwise since its last version (SDK, ErrETLNotFound).

    To acquit: rank 0 has listed the ETLs of the cluster at its start and the name that it asks for was not among them;
    the transformer whose container is killed at that time is another tenant's.
    """
    stage.open()
    beside(stage, eighth_unrest.tenant_transformer_ends)
    unrest.unsettled(stage, (tunrest.withdrawn_left_out, upload_unrest.neighbour_loses_its_bucket))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("etl")
    there = draw.pick(("resample-16k-mono", "resample-16k-v2", "resample-to-16k"))
    kept = draw.pick(("md5-check", "vad-trim", "loudness-r128"))
    told(stage, job.begin - 560 * MS, 0, "data", f"ETLs of the cluster: {there} (Running), {kept} (Running)")
    told(stage, job.begin - 540 * MS, 0, "data", "train set: no ETL; dev set: ETLConfig('resample-16k')")
    told(stage, at - 60 * MS, 0, "train", f"step {stage.step}: first validation begins")
    stage.mark(at - 20 * MS, "the validation asks for an ETL of another name")
    for turn, one in enumerate((rank, *readers(stage)[:2])):
        then, node = at + turn * draw.span(2, 30), stage.cluster.target(draw.whole(0, 99))
        name = utterance(draw, "dev")
        text = aisservices.no_transformer(stage.cluster, node, then - 6 * MS, name, "resample-16k")
        job.raise_on(then, one, transformed(stage, then, one, node, name, (404, "Not Found"), text))
    exits(stage, at + 100 * MS, rank)
    made = stage.innocent("software", rank, also=("data", "storage_io", "data_loading_stall"))
    return stage.close("The ETL was given its sampling rate and its channels as a name.", (of_all(made),))


@kind(hangs=False, lead_s=60.0)
def open_reader_is_sent_to_spawned_loaders(stage: Stage) -> Scenario:
    """A data set keeps a reader of an object open, and its loaders are spawned (PyTorch issues, cannot pickle).

    To acquit: the exception is of pickle, raised on all ranks as the loaders of the dev set are to be started, and no
    request has failed; readers that had to resume have read their shards whole before.
    """
    stage.open()
    beside(stage, tunrest.readers_resume)
    unrest.unsettled(stage, (unrest.entries_missing, commotion.throttled_in_window))
    own, at, draw = stage.job.job, stage.at, stage.draw.child("spawn")
    many, size = draw.pick((2, 4, 6)), draw.whole(40, 900) * 1024
    said = f"dev set: ais://{stage.bucket}/dev/index.bin open as_file(), {size} bytes of header read"
    told(stage, at - 190 * MS, 0, "data", f"{said}; {many} loaders, multiprocessing_context=spawn")
    told(stage, at - 130 * MS, 0, "train", f"step {stage.step}: validation begins")
    stage.mark(at - 10 * MS, "an open reader is to be sent to another process")
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 198, "main", "scores = evaluate(model, dev_loader)", True),
        sdk.Frame(own.script, 141, "evaluate", "for batch in dev_loader:"),
        *borrowers.spawn_frames(stage),
    )
    last = all_raise(stage, at, sdk.Raised(without_carets(frames), "TypeError: cannot pickle 'generator' object"))
    all_exit(stage, last)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", also=("data_loading_stall",))
    return stage.close("Loaders were forked until CUDA was used in one of them.", (of_all(made),))


@kind(reads=True, hangs=False, lead_s=60.0)
def warning_about_an_empty_entry_raises(stage: Stage) -> Scenario:
    """lhotse warns of an entry without content and reads a field that the SDK's answer does not have (lhotse 1.33).

    To acquit: the object has no bytes since its upload, as the list of the job says; the SDK has all entries of the
    batch, and the exception is of the statement that would have warned; batches that fell back before came whole.
    """
    stage.open()
    beside(stage, tunrest.batches_fall_back)
    unrest.unsettled(stage, (commotion.throttled_in_window, upload_unrest.tenant_uploads_break_off))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("empty")
    many, entry, site = draw.whole(3, 40), draw.whole(2, 30), own.build["site"]
    names = [f"{draw.token(2, LOWER)}/utt-{draw.whole(0, 99_999):05d}.flac" for _ in range(3)]
    said = f"{many} of {draw.whole(200, 900)}{draw.whole(100, 999)} recordings have a size of 0 in their bucket since "
    shown = ", ".join(f"train/{name}" for name in draw.shuffled(names))
    told(stage, job.begin - 610 * MS, 0, "data", f"{said}their upload: {shown} and others")
    told(stage, job.begin - 590 * MS, 0, "data", "aistore 2.0.0, lhotse 1.33.0, USE_AIS_GET_BATCH=true")
    said = f"get-batch: 48 of 48 entries, entry {entry} train/{names[0]} has 0 bytes (size 0, no error)"
    told(stage, at - 25 * MS, rank, "dataset", said)
    node = stage.cluster.target(draw.whole(0, 99))
    stage.cluster.count(node, at - 30 * MS, getbatch_n=1, getbatch_obj_n=48, getbatch_obj_size=47 * 16_100)
    stage.mark(at - 20 * MS, f"rank {rank} meets a recording that was stored without content")
    frames = (
        sdk.Frame(f"{data_folder(stage)}/_utils/fetch.py", 54, "fetch", "data = self.dataset[possibly_batched_index]"),
        *borrowers.lhotse_frames(stage, 230, "__call__", 'f"from bucket {info.provider}://{info.bck} "'),
        sdk.Frame(
            f"{site}/pydantic/main.py",
            1110,
            "__getattr__",
            "raise AttributeError(f'{type(self).__name__!r} object has no attribute {item!r}')",
        ),
    )
    text = "AttributeError: 'MossOut' object has no attribute 'bck'"
    borrowers.caught(stage, at, rank, without_carets(frames), text)
    exits(stage, at, rank)
    made = stage.innocent("software", rank, also=("data", "data_loading_stall"))
    return stage.close("A converter had written nothing for recordings of a broken archive.", (made,))


@kind(reads=True, lead_s=60.0)
def lock_of_a_cache_was_held_at_the_fork(stage: Stage) -> Scenario:
    """Loaders were forked while a thread held the lock of a cache of shards (CPython docs, fork and threads).

    To acquit: the loader's stack stands at the cache's own lock, it has no connection open, and what the readers before
    it had to resume was read; the target that an operator restarts goes down long after all ranks wait.
    """
    stage.open()
    beside(stage, tunrest.readers_resume)
    unrest.unsettled(stage, (unrest.entries_missing, eighth_unrest.tenant_panics))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("cache")
    pid, many = own.rank_pids[rank] + draw.whole(900, 4_000), draw.pick((2, 4, 8))
    folder, began = script_folder(stage), at - draw.span(1_500, 4_000)
    shard = f"shards/train-{draw.whole(0, 4095):06d}.tar"
    told(
        stage, began, rank, "shardcache", f"{shard} of {draw.whole(300, 900)} MiB goes into the cache of {many} shards"
    )
    told(stage, began + 40 * MS, rank, "data", f"list of shards begins anew, {many} loaders are forked")
    told(stage, began + 260 * MS, rank, "shardcache", f"{shard} is in the cache")
    stage.mark(at, f"a loader of rank {rank} waits for a lock that nobody holds any more")
    inner = (
        ("get", f"{folder}/shardcache.py", 58),
        ("__getitem__", f"{folder}/dataset.py", 88),
    )
    after = min(draw.between(21, 38), own.timeout_s - 12)
    py_spy(stage, after, (waits_for_loaders(stage),))
    py_spy_forked(stage, after + 0.7, forked_loader(stage, *inner), pid)
    wait = f"hang-watcher: shardcache.py:58 is `with self.lock:`, /proc/{pid}/wchan futex_wait_queue"
    job.agent(at + seconds(after + 1.4), own.node_of(rank), f"{wait}, lsof -p {pid}: 0 sockets established")
    stage.hang(at + 20 * MS, rank)
    hang_unrest.restarted_in_the_hang(stage)
    made = stage.innocent("data_loading_stall", rank, also=("software", "rank_hang"))
    return stage.close("The cache fills itself in a thread of the parent.", (made,))
