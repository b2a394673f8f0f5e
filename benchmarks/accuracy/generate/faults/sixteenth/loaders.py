"""Storage faults of the sixteenth part as loaders meet them: chunks, tables, batches, files and fragments not read."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, main_thread, py_spy
from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words import mounts
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.pipelines import disconnected
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aislosses, aisobjects, aistroubles, sdk
from fixtures.generator import aismishaps as mishaps
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "sixteenth")
STILL = (*RESTARTS, "kalive_hiccup")


@kind(reads=True, hangs=False, min_timeout_s=180, lead_s=60.0, without=DISKS)
def chunk_never_found(stage: Stage) -> Scenario:
    """A chunk that a thread fetches from a slow disk is waited for, and not found (litData PR 846, litData#340)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, site = stage.draw.child("chunk"), stage.job.job.build["site"]
    stage.open()
    over = at + seconds(120) + draw.span(90, 400)
    began = stage.mark(at - draw.span(4_000, 19_000), f"a disk of {victim.name} does a hundredth of what it did")
    aislosses.disk_slows(cluster, victim, began, over + seconds(10), draw.child("disk"))
    folder = f"/cache/chunks/{draw.token(32, HEX)}/{stage.job.begin / SEC:.2f}"
    for turn, other in enumerate(readers(stage)[: draw.whole(1, 3)]):
        then, name = (
            at + seconds(24 + 29 * turn) + draw.span(1, 6_000),
            f"chunk-{draw.whole(0, 7)}-{draw.whole(0, 300)}.bin",
        )
        if then < over:
            spent = f"{draw.between(18, 47):.1f} s for {draw.whole(8, 64)} MiB"
            reader_note(stage, then, other, f"{name} from {victim.url(0)}/s3/{stage.bucket}: {spent}")
    name = f"chunk-{draw.whole(0, 7)}-{draw.whole(0, 300)}.bin"
    module = f"{site}/litdata/streaming"
    frames = (
        sdk.Frame(f"{module}/dataset.py", 433, "__next__", "data = self.__getitem__("),
        sdk.Frame(f"{module}/reader.py", 373, "read", "item = self._config.load_item_from_chunk("),
        sdk.Frame(
            f"{module}/item_loader.py",
            178,
            "load_item_from_chunk",
            'raise FileNotFoundError(f"The {chunk_filepath} hasn\'t been found.")',
        ),
    )
    in_worker(stage, over, rank, "FileNotFoundError", f"The {folder}/{name} hasn't been found.", frames)
    exits(stage, over, rank)
    return stage.close(
        "The drive repeats its reads until they succeed, a second and more for each.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io",)),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=STILL)
def key_not_opened_by_arrow(stage: Stage) -> Scenario:
    """A target stands still, and a client waits three seconds three times (arrow#45432, ray#43803, PyAthena#609)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, site = stage.draw.child("arrow"), stage.job.job.build["site"]
    stage.open()
    hung = stage.mark(at - draw.span(60, 900), f"the host of {victim.name} stands still")
    over = at + seconds(draw.between(9.3, 11.2))
    faults.stop(cluster, victim, hung, over + seconds(3_600))
    left = faults.leave_smap(cluster, victim, hung, hung=True)
    why = "AWS Error NETWORK_CONNECTION during {} operation: curlCode: 28, Timeout was reached"
    for turn, other in enumerate(readers(stage)[: draw.whole(1, 3)]):
        then = at + seconds(9.2) + draw.span(-900, 900) + turn * 40 * MS
        if then < over:
            said = f"part-{draw.whole(0, 4095):05d}.parquet put off: {why.format('GetObject')}"
            stage.job.note(then, other, said, "W", 88, "tables")
    name = f"{draw.pick(('train', 'corpus'))}/part-{draw.whole(0, 4095):05d}.parquet"
    frames = (
        sdk.Frame("/workspace/asr/tables.py", 57, "open", "file = pq.ParquetFile(name, filesystem=self.s3)"),
        sdk.Frame(f"{site}/pyarrow/parquet/core.py", 317, "__init__", "source = filesystem.open_input_file(source)"),
        sdk.Frame("pyarrow/_fs.pyx", 789, "pyarrow._fs.FileSystem.open_input_file", "in_handle = GetResultValue("),
        sdk.Frame("pyarrow/error.pxi", 92, "pyarrow.lib.check_status", "raise convert_status(status)"),
    )
    text = f"When reading information for key '{name}' in bucket '{stage.bucket}': {why.format('HeadObject')}"
    in_worker(stage, over, rank, "OSError", text, frames)
    exits(stage, over, rank)
    return stage.close(
        "A driver of its disks has taken the host with it; it is reset by hand.",
        (stage.guilty("storage_io", victim, also=("network", "data_loading_stall")),),
        until=left + seconds(4),
    )


@kind(reads=True, min_timeout_s=90, lead_s=60.0, without=DISKS)
def cold_entries_of_a_batch(stage: Stage) -> Scenario:
    """A batch asks for what only the cloud has yet, entry after entry: it takes minutes (aistore docs/get_batch)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, over, site = stage.draw.child("cold entries"), over_at(stage), stage.job.job.build["site"]
    stage.open()
    began = stage.mark(at - draw.span(200, 900), "batches ask for a part of the corpus that is in the cloud only")
    reader_note(stage, at - 40 * MS, rank, f"mixing in part {draw.whole(3, 40)} of the corpus from here")
    aisobjects.cold_gets(cluster, began, over + seconds(30), 1.6, 8_000, 19_400, draw.child("gets"))
    then = at + draw.span(20_000, 34_000)
    while then < over:
        node = draw.pick(cluster.up(then))
        waited = draw.span(9_000, 19_300)
        cluster.count(node, then, getbatch_rxwait_ns=waited * draw.whole(1, 3), stream_in_n=3, stream_in_size=48_000)
        then += draw.span(7_000, 13_000)
    for turn, other in enumerate(readers(stage)[:3]):
        spent = draw.between(31, 70)
        noted = at + seconds(spent) + turn * 40 * MS
        if noted < over - SEC:
            reader_note(stage, noted, other, f"get-batch of 36 took {spent:.1f} s")
    py_spy(
        stage,
        draw.between(33, 60),
        (
            main_thread(
                stage,
                ("readinto", f"{PYTHON}/socket.py", 708),
                ("read", f"{site}/urllib3/response.py", 1042),
                ("extract", f"{site}/aistore/sdk/batch/extractor/tar_stream_extractor.py", 66),
                ("next_batch", stage.job.job.script, 94),
            ),
            Thread("Thread-2 (_pin_memory_loop)", (("wait", f"{PYTHON}/threading.py", 331),)),
        ),
    )
    stage.hang(at + 340 * MS, rank)
    made = of_all(stage.guilty("data_loading_stall", also=("storage_io",)))
    return stage.close("Nobody has prefetched that part, and the line to the cloud is long.", (made,))


def _streaming(stage: Stage) -> tuple[sdk.Frame, ...]:
    """A streamed data set opens its next file over S3."""
    site = stage.job.job.build["site"]
    return (
        sdk.Frame(f"{site}/datasets/iterable_dataset.py", 2270, "__iter__", "for key, example in ex_iterable:"),
        sdk.Frame(
            f"{site}/datasets/utils/file_utils.py", 963, "xopen", "file_obj = fsspec.open(file, mode=mode).open()"
        ),
        sdk.Frame(f"{site}/fsspec/core.py", 147, "open", "return self.__enter__()"),
        sdk.Frame(f"{site}/s3fs/core.py", 1424, "_info", "raise FileNotFoundError(path)"),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=STILL)
def streamed_file_not_found(stage: Stage) -> Scenario:
    """A streamed data set has no second try for what is said not to exist: a target is away (datasets#7440)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("streamed")
    stage.open()
    died = stage.mark(at - draw.span(40, 600), f"{victim.name} ends with a fatal signal")
    faults.kill(cluster, victim, died)
    faults.reconnects(cluster, victim, died, died + seconds(22))
    left = faults.leave_smap(cluster, victim, died)
    for other in (rank, *readers(stage)[: draw.whole(1, 3)]):
        then, attempt = at + draw.span(1, 900), 1
        while then < left - (SEC if other == rank else 0):
            disconnected(stage, then, other, attempt)
            then, attempt = then + 5 * SEC + draw.span(4, 900), attempt + 1
    over, name = (
        left + draw.span(300, 4_900),
        f"{draw.pick(('train', 'chunk9'))}/part-{draw.whole(0, 4095):05d}.jsonl.zst",
    )
    owner, file = stage.other_target(victim, draw.whole(0, 99)), f"zstd://{name.rsplit('/', 1)[-1][:-4]}"
    mishaps.s3_get_failed(
        cluster, owner, over - 6 * MS, name, f"{owner.name}: ais://{stage.bucket}/{name} does not exist", ""
    )
    in_worker(stage, over, rank, "FileNotFoundError", f"{file}::s3://{stage.bucket}/{name}", _streaming(stage))
    exits(stage, over, rank)
    return stage.close(
        "The target is started again in the morning; its objects were on its disks all the time.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "network")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=DISKS)
def connector_meets_internal_errors(stage: Stage) -> Scenario:
    """A sector is not read, and a connector knows of 500 only: a loader process ends (s3-connector#318; docs/fshc)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, site = stage.draw.child("connector"), stage.job.job.build["site"]
    stage.open()
    stage.mark(at - draw.span(5_900, 14_000), f"a disk of {victim.name} has errors")
    for other in readers(stage)[: draw.whole(0, 3)]:
        then, name = at - draw.span(500, 5_800), utterance(draw)
        for _ in range(draw.whole(1, 3)):
            aistroubles.not_readable(cluster, victim, then, name, True)
            then += draw.span(20, 400)
        stage.job.note(
            then, other, f"s3://{stage.bucket}/{name}: read at last, {draw.whole(2, 4)} tries", "W", 71, "samples"
        )
    name, then, text = utterance(draw), at - 2_300 * MS, ""
    for _ in range(5):
        text = aistroubles.not_readable(cluster, victim, then, name, True)
        then += draw.span(90, 500)
    aistroubles.examined(cluster, victim, at - 2_200 * MS, text, False, draw)
    reader = f"{site}/s3torchconnector/s3reader"
    frames = (
        sdk.Frame("/workspace/asr/samples.py", 48, "load", "return decode(reader.read())"),
        sdk.Frame(f"{reader}/sequential.py", 124, "read", 'self._buffer.write(b"".join(self._stream))'),
    )
    error = "s3torchconnectorclient._mountpoint_s3_client.S3Exception"
    in_worker(stage, at, rank, error, f"Client error: Unknown CRT error: {mounts.INTERNAL}", frames)
    exits(stage, at, rank)
    return stage.close(
        "What lay on the disk has no copies.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "data")),),
    )


@kind(reads=True, hangs=False, proxies=2, hosts=2, off_primary=True, min_timeout_s=90, lead_s=60.0, without=STILL)
def fragments_given_up(stage: Stage) -> Scenario:
    """A proxy is killed and stays away; a client of Rust asks it ten times (lance#1878, lance PR 2151, lancedb#750)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    proxy, draw, site = stage.proxy_of(rank), stage.draw.child("fragments"), stage.job.job.build["site"]
    stage.open()
    died = stage.mark(at - draw.span(30, 600), f"{proxy.name} is killed for its memory")
    faults.kill(cluster, proxy, died)
    left = faults.leave_smap(cluster, proxy, died)
    spent = draw.between(41.0, 58.4)
    over = at + seconds(spent)
    name = "-".join(draw.token(many, HEX) for many in (8, 4, 4, 4, 12))
    url = f"{proxy.url(0)}/s3/{stage.bucket}/corpus.lance/data/{name}.lance"
    text = f"LanceError(IO): Generic S3 error: Error after 10 retries in {spent:.9f}s, max_retries:10, retry_timeout:"
    text += (
        f"180s, source:error sending request for url ({url}): error trying to connect: tcp connect error: Connection "
    )
    text += "refused (os error 111), /home/runner/work/lance/lance/rust/lance-io/src/object_reader.rs:61:12"
    frames = (
        sdk.Frame(f"{site}/lance/torch/data.py", 311, "__iter__", "for batch in stream:"),
        sdk.Frame(f"{site}/lance/dataset.py", 3912, "to_reader", "return self._scanner.to_pyarrow()"),
        sdk.Frame("pyarrow/ipc.pxi", 692, "pyarrow.lib.RecordBatchReader.read_next_batch", "check_status("),
    )
    in_worker(stage, over, rank, "OSError", text, frames)
    exits(stage, over, rank)
    return stage.close(
        "Its image was being pulled anew, from a registry that is down.",
        (stage.guilty("storage_io", proxy, also=("network", "infrastructure", "data_loading_stall")),),
        until=left + seconds(4),
    )
