"""Faults of the job and of its data whose words speak of reads or writes, of the ninth part; storage is innocent."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.ninth import unrest
from benchmarks.accuracy.generate.faults.ninth.training import of_all
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import fetch_frames
from benchmarks.accuracy.generate.faults.words.loaders import in_worker, over_tls
from benchmarks.accuracy.generate.faults.words.requests import exhausted, one_object, retries
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aistroubles, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "ninth")


def _exits(stage: Stage, at: int, rank: int) -> None:
    """A rank exits, and with it the job."""
    stage.job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)


def _silence(stage: Stage, firsts: list[tuple[int, int]]) -> None:
    """Who is on a host whose first rank has exited says nothing any more."""
    job = stage.job
    until = {job.job.node_of(rank): then + 690 * MS for then, rank in firsts}
    job.lines = [line for line in job.lines if line.rank is None or line.at <= until[line.node]]


@kind(hangs=False, reads=True)
def client_certificate_old(stage: Stage) -> Scenario:
    """The cluster asks clients for certificates, and that of the job has run out or was revoked: nobody may read."""
    beside(stage, unrest.keepalives_late)
    stage.open()
    job, at, draw = stage.job, stage.at, stage.draw.child("own certificate")
    stage.mark(at - draw.span(60, 900), "the job's own certificate is not valid any more")
    why = draw.pick(
        (
            "[SSL: SSLV3_ALERT_CERTIFICATE_EXPIRED] ssl/tls alert certificate expired (_ssl.c:2580)",
            "[SSL: SSLV3_ALERT_CERTIFICATE_EXPIRED] sslv3 alert certificate expired (_ssl.c:2580)",
            "[SSL: SSLV3_ALERT_CERTIFICATE_REVOKED] ssl/tls alert certificate revoked (_ssl.c:2580)",
        )
    )
    if draw.chance(0.5):
        text = "client certificate /var/run/ais-client/tls.crt (CN=asr-train) was made by hand and is not renewed"
        job.note(job.begin + seconds(1.9), 0, text, "W", 40, "credentials")
    cause, last = f"SSLError(SSLError(1, '{why}'))", []
    speakers = range(0, job.job.world, 1 if job.job.world <= 64 else job.job.ranks_per_node)
    for rank in speakers:
        own, node = draw.child("rank", rank), stage.proxy_of(rank)
        path = f"/v1/objects/{stage.bucket}/{utterance(own)}?provider=ais"
        text = sdk.pool_error(node.address, node.ports[0], path, cause)
        then = retries(stage, at + own.span(0, 2_500), rank, own, 0.02, text, at + seconds(20), "SSLError")
        exhausted(stage, then, rank, text, "SSLError", one_object(stage))
        last.append((then, rank))
    firsts = [min(one for one in last if job.job.node_of(one[1]) == node) for node in range(len(job.job.hosts))]
    _silence(stage, firsts)
    job.agents_end([Exit(rank, then + 700 * MS, 1) for then, rank in firsts], max(firsts)[0] + 800 * MS)
    also = ("network", "software", "data_loading_stall")
    made = stage.close(
        "Certificates of services are renewed by a controller, that of this job was made by hand.",
        (of_all(stage.innocent("infrastructure", also=also)),),
    )
    return over_tls(stage, made)


@kind(culprit=0, hangs=False, lead_s=60.0, min_timeout_s=90)
def uploaded_while_written(stage: Stage) -> Scenario:
    """A checkpoint is uploaded while another thread writes it anew: less is sent than was announced, all wait."""
    beside(stage, commotion.tenant_backend_fails)
    stage.open()
    job, at, draw, site = stage.job, stage.at, stage.draw.child("written"), stage.job.job.build["site"]
    stage.mark(at, "rank 0 uploads a file that is written anew")
    name, victim = f"ckpt/{job.job.task}/step-{stage.step}.pt", stage.victim
    size, now = draw.between(2.1, 9.8), draw.between(0.3, 1.9)
    job.note(at, 0, f"upload of /dev/shm/{name}: {size:.2f} GB", "W", 117, "uploader")
    job.note(at + draw.span(40, 700), 0, f"averaging weights into /dev/shm/{name}", "W", 88, "averaging")
    job.note(at + draw.span(1_900, 6_000), 0, f"/dev/shm/{name} written, {now:.2f} GB", "W", 93, "averaging")
    then = at + seconds(20.02 + draw.between(0.8, 4.0))
    aistroubles.upload_abandoned(stage.cluster, victim, then + draw.span(1, 9), name, draw)
    path = f"/v1/objects/{stage.bucket}/{name}?provider=ais&pid={stage.proxy_of(0).node_id}"
    cause = sdk.read_timeout(victim.address, victim.ports[0])
    text, error = sdk.pool_error(victim.address, victim.ports[0], path, cause), "ConnectionError"
    if draw.chance(0.5):
        where = f"HTTPConnectionPool(host='{victim.address}', port={victim.ports[0]})"
        error, text = "ReadTimeout", f"{where}: Read timed out. (read timeout=20)"
    if draw.chance(0.5):
        said = f"/dev/shm/{name} is not what it was when its upload began ({now:.2f} GB, not {size:.2f} GB)"
        job.note(then + 2 * MS, 0, said, "W", 123, "uploader")
    frames = (
        sdk.Frame(job.job.script, 212, "<module>", "main()"),
        sdk.Frame(job.job.script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(
            "/workspace/asr/uploader.py", 119, "save_checkpoint", "bucket.object(name).get_writer().put_file(path)"
        ),
        sdk.Frame(f"{site}/aistore/sdk/obj/object_writer.py", 74, "put_file", "return self._put_data(data)"),
    )
    job.raise_on(then + 8 * MS, 0, sdk.exhausted(job.job, frames, error, text))
    _exits(stage, then, 0)
    return stage.close(
        "A thread that averages weights was given the name of the checkpoint.",
        (stage.innocent("software", 0, also=("infrastructure", "data")),),
    )


@kind(hangs=False, reads=True, lead_s=135.0)
def slow_reader_timed_out(stage: Stage) -> Scenario:
    """A client counts the whole life of an answer, and its reader takes bytes as slowly as it trains: time is over."""
    stage.open()
    beside(stage, commotion.throttled_in_window)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("whole life")
    total, site = draw.pick((60, 90, 120)), job.job.build["site"]
    shard, node = f"shards/train-{draw.whole(0, 4095):06d}.tar", stage.cluster.target(draw.whole(0, 99))
    began = at - seconds(total) - draw.span(2, 40)
    stage.mark(began, f"rank {rank} opens a shard that it reads for {total} s")
    room = draw.pick((128, 256, 512))
    opened = f"{shard} opened, {draw.between(2.2, 6.9):.1f} GB, at most {total} s for an answer"
    job.note(began, rank, opened, "W", 47, "shards")
    for who in (rank, *readers(stage)[: draw.whole(1, 3)]):
        for share in (0.2, 0.45, 0.7, 0.9):
            if draw.chance(0.7) or (who == rank and share in (0.45, 0.9)):
                waited = draw.between(4, total * 0.15 + 3)
                said = f"buffer is full ({room}/{room} samples), nothing was read for {waited:.1f} s"
                job.note(began + seconds(total * share) + draw.span(1, 900), who, said, "W", 61, "shards")
    sent = draw.whole(700, 1900) << 20
    stage.cluster.count(node, at + 4 * MS, get_n=1, get_ns_total=seconds(total), get_size=sent)
    module = f"{site}/aiohttp"
    first = sdk.Raised(
        (
            sdk.Frame(f"{module}/streams.py", 433, "readany", 'await self._wait("readany")'),
            sdk.Frame(f"{module}/streams.py", 344, "_wait", "await waiter"),
        ),
        "asyncio.exceptions.CancelledError",
        sdk.DIRECT,
    )
    inner = (
        sdk.Frame("/workspace/asr/shards.py", 72, "chunks", "async for chunk in answer.content.iter_any():"),
        sdk.Frame(f"{module}/streams.py", 52, "__anext__", "rv = await self.read_func()"),
        sdk.Frame(f"{module}/helpers.py", 685, "__exit__", "raise asyncio.TimeoutError from exc_val"),
    )
    caller = fetch_frames(stage, "sample = next(self.samples)", *inner)
    job.raise_on(at, rank, sdk.traceback(first, sdk.Raised(caller, "TimeoutError")))
    _exits(stage, at, rank)
    also = ("data_loading_stall",)
    return stage.close(
        "Shards were made four times as large; the default of the client stayed.",
        (stage.innocent("software", rank, also=also),),
    )


@kind(hangs=False, reads=True)
def pickled_by_newer_numpy(stage: Stage) -> Scenario:
    """A corpus was prepared with a newer NumPy than the job has: its arrays come whole and cannot be made again."""
    stage.open()
    beside(stage, unrest.reads_are_hedged)
    rank, at, site = stage.culprit, stage.at, stage.job.job.build["site"]
    draw = stage.draw.child("newer")
    stage.mark(at, f"rank {rank} reads the first sample of a new corpus")
    if draw.chance(0.5):
        said = f"mixing in feats-2026 from step {stage.step}, weight {draw.between(0.05, 0.3):.2f}"
        stage.job.note(at - draw.span(300, 2_000), rank, said, "W", 109, "mixture")
    load = sdk.Frame("/workspace/asr/samples.py", 38, "decode", "return pickle.loads(content)", True)
    maker = sdk.Frame(f"{site}/numpy/random/_pickle.py", 34, "__bit_generator_ctor", "raise ValueError(str(name)")
    error, text, frames = draw.pick(
        (
            ("ModuleNotFoundError", "No module named 'numpy._core'", (load,)),
            ("ModuleNotFoundError", "No module named 'numpy._core.numeric'", (load,)),
            (
                "ValueError",
                "<class 'numpy.random._pcg64.PCG64'> is not a known BitGenerator module.",
                (load, maker),
            ),
        )
    )
    in_worker(stage, at, rank, error, text, frames)
    _exits(stage, at, rank)
    return stage.close(
        "Features were computed in an image of this year, the job runs in one of last year.",
        (stage.innocent("data", rank, also=("software",)),),
    )


@kind(hangs=False, reads=True)
def schema_of_one_file(stage: Stage) -> Scenario:
    """One file of a table has a column of another type: it cannot be joined with the others. Embeddings are missing."""
    stage.open()
    beside(stage, unrest.optional_is_missing)
    job, rank, at, site = stage.job, stage.culprit, stage.at, stage.job.job.build["site"]
    draw = stage.draw.child("schema")
    part = f"{stage.bucket}/tables/part-{draw.whole(0, 900):05d}.parquet"
    stage.mark(at, f"rank {rank} reads a table of another schema")
    column = draw.pick(("duration", "speaker_id", "lang", "snr"))
    text, frame = draw.pick(
        (
            (
                f"pyarrow.lib.ArrowTypeError: Unable to merge: Field {column} has incompatible types: double vs string",
                sdk.Frame(f"{site}/pyarrow/parquet/core.py", 1793, "read_table", "dataset = ParquetDataset("),
            ),
            (
                f"datasets.table.CastError: Couldn't cast\nid: string\n{column}: string\ntext: string\nto\n{{'id': "
                f"Value(dtype='string', id=None), '{column}': Value(dtype='float64', id=None)}}\nbecause column names "
                "don't match",
                sdk.Frame(f"{site}/datasets/table.py", 2293, "cast_table_to_schema", "raise CastError("),
            ),
            (
                "pyarrow.lib.ArrowInvalid: Failed to parse string: 'n/a' as a scalar of type double",
                sdk.Frame(f"{site}/pyarrow/compute.py", 412, "cast", 'return call_function("cast", [arr], options)'),
            ),
        )
    )
    caller = fetch_frames(stage, f'table = read_tables(fs, "s3://{part}", columns)', frame)
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, text)))
    _exits(stage, at, rank)
    return stage.close(
        "A table was repaired with a tool that writes numbers as text.",
        (stage.innocent("data", rank, also=("software",)),),
    )


@kind(hangs=False, reads=True)
def recording_of_days(stage: Stage) -> Scenario:
    """A recording of a day or more is read, slowly for it is large, and fits into no memory once it is decoded."""
    beside(stage, unrest.keepalives_late)
    stage.open()
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("days")
    hours, rate, channels = draw.between(26, 70), draw.pick((44_100, 48_000)), draw.pick((2, 2, 4))
    samples = int(hours * 3600 * rate)
    size, node = int(samples * channels * draw.between(0.7, 1.2)), stage.cluster.target(draw.whole(0, 99))
    spent = size / draw.between(0.6e9, 1.4e9)
    begun = at - seconds(min(spent, 40.0) + 2.2)
    stage.mark(begun, f"rank {rank} reads a recording of {hours:.0f} hours")
    name = f"meetings/{draw.token(4)}.flac"
    stage.cluster.count(node, at - seconds(2.1), get_n=1, get_ns_total=at - begun, get_size=size)
    if draw.chance(0.7):
        slow = f"slow read: {(at - begun) / 1e9 - 2.1:.1f} s for {node.url(0)}/v1/objects/{stage.bucket}/{name}"
        tail = f", {size / 1e9:.1f} GB" if draw.chance(0.5) else ""
        job.note(at - seconds(2), rank, slow + tail, "W", 80)
    wanted = (
        f"Unable to allocate {samples * channels * 4 / 2**30:.1f} GiB for an array with shape ({samples}, {channels})"
    )
    site = job.job.build["site"]
    frames = (
        sdk.Frame(
            "/workspace/asr/samples.py",
            29,
            "decode",
            "audio, rate = soundfile.read(io.BytesIO(content), dtype='float32')",
        ),
        sdk.Frame(f"{site}/soundfile.py", 305, "read", "data = f.read(frames, dtype, always_2d, fill_value, out)"),
        sdk.Frame(f"{site}/soundfile.py", 941, "_create_empty_array", "return np.empty(shape, dtype, order='C')"),
    )
    in_worker(stage, at, rank, "numpy._core._exceptions._ArrayMemoryError", f"{wanted} and data type float32", frames)
    _exits(stage, at, rank)
    also = ("software", "infrastructure")
    return stage.close(
        "A recorder was left running over a weekend; its file is one sample.",
        (stage.innocent("data", rank, also=also),),
    )
