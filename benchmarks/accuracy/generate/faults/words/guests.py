"""What programs print when a read or write fails: httpx, smart_open, MinIO's client, NumPy, gzip, DALI, wget, aiohttp.

The wordings follow their sources and reports of users; none of them was seen in a run of ours.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import PYTHON, fetch_frames, pipe_ended
from benchmarks.accuracy.generate.faults.words.doorways import saving_frames
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from fixtures.generator import aisfaults as faults
from fixtures.generator import sdk
from fixtures.generator.draw import HEX
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

CLOSED = "peer closed connection without sending complete message body"


def leaves(stage: Stage, at: int, rank: int) -> None:
    """A rank exits, and with it the job."""
    stage.job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)


def killed_for_a_while(stage: Stage, died: int, back_ms: tuple[int, int], peers: int = 2) -> int:
    """The victim is killed and its container starts it again; when it has joined."""
    cluster, victim, draw = stage.cluster, stage.victim, stage.draw.child("killed for a while")
    faults.kill(cluster, victim, died)
    back = died + draw.span(*back_ms)
    faults.reconnects(cluster, victim, died, back - SEC, peers)
    joined = faults.start_again(cluster, victim, back)
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))
    return joined


def _httpx(stage: Stage, *inner: sdk.Frame) -> tuple[sdk.Frame, ...]:
    """The script's own reader uses httpx, which translates what its core has met."""
    site = stage.job.job.build["site"]
    return fetch_frames(
        stage,
        "content = self.client.get(url, follow_redirects=True).content",
        sdk.Frame(f"{site}/httpx/_client.py", 1054, "get", "return self.request("),
        sdk.Frame(f"{site}/httpx/_client.py", 914, "send", "response = self._send_handling_auth("),
        *inner,
        sdk.Frame(f"{site}/httpx/_transports/default.py", 118, "map_httpcore_exceptions", "raise mapped_exc(message)"),
    )


def httpx_cut(stage: Stage, at: int, rank: int, got: int, wanted: int) -> None:
    """httpx has fewer bytes than were announced."""
    site = stage.job.job.build["site"]
    frames = _httpx(
        stage, sdk.Frame(f"{site}/httpx/_models.py", 895, "read", 'self._content = b"".join(self.iter_bytes())')
    )
    text = f"httpx.RemoteProtocolError: {CLOSED} (received {got} bytes, expected {wanted})"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))


def httpx_late(stage: Stage, at: int, rank: int) -> None:
    """httpx has waited for an answer as long as it was told to; it does not say for whom."""
    site = stage.job.job.build["site"]
    frames = _httpx(
        stage,
        sdk.Frame(
            f"{site}/httpx/_transports/default.py", 250, "handle_request", "resp = self._pool.handle_request(req)"
        ),
    )
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, "httpx.ReadTimeout: The read operation timed out")))


def smart_open_failed(stage: Stage, at: int, rank: int, name: str, error: str) -> None:
    """smart_open makes an error of files of whatever botocore raises."""
    site = stage.job.job.build["site"]
    frames = fetch_frames(
        stage,
        'content = smart_open.open(uri, "rb").read()',
        sdk.Frame(f"{site}/smart_open/s3.py", 528, "read", "return self._raw_reader.read()"),
        sdk.Frame(f"{site}/smart_open/s3.py", 363, "_get", "raise wrapped_error from error"),
    )
    text = f"unable to access bucket: {stage.bucket!r} key: {name!r} version: None error: {error}"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"OSError: {text}")))


def minio_failed(stage: Stage, at: int, rank: int, name: str, code: str, message: str) -> None:
    """MinIO's client for Python prints all fields of an answer of S3, in a loader process."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame(
            "/workspace/train/reader.py", 58, "__getitem__", "answer = self.client.get_object(self.bucket, name)", True
        ),
        sdk.Frame(f"{site}/minio/api.py", 1256, "get_object", "return self._execute("),
        sdk.Frame(f"{site}/minio/api.py", 351, "_url_open", "raise response_error"),
    )
    where = (
        f"resource: /{stage.bucket}/{name}, request_id: , host_id: , bucket_name: {stage.bucket}, object_name: {name}"
    )
    text = f"S3 operation failed; code: {code}, message: {message}, {where}"
    in_worker(stage, at, rank, "minio.error.S3Error", text, frames)


def array_cut(stage: Stage, at: int, rank: int, wanted: int, got: int) -> None:
    """An older urllib3 does not count what it gets; NumPy does."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame(
            "/workspace/train/features.py", 37, "load", "return numpy.load(io.BytesIO(session.get(url).content))", True
        ),
        sdk.Frame(
            f"{site}/numpy/lib/npyio.py", 432, "load", "return format.read_array(fid, allow_pickle=allow_pickle,"
        ),
        sdk.Frame(f"{site}/numpy/lib/format.py", 831, "read_array", 'data = _read_bytes(fp, read_size, "array data")'),
        sdk.Frame(
            f"{site}/numpy/lib/format.py",
            966,
            "_read_bytes",
            "raise ValueError(msg % (error_template, size, len(data)))",
        ),
    )
    in_worker(stage, at, rank, "ValueError", f"EOF: reading array data, expected {wanted} bytes got {got}", frames)


def lines_cut(stage: Stage, at: int, rank: int) -> None:
    """Lines of a compressed list are read as they come, and there is no end of the stream."""
    frames = (
        sdk.Frame("/workspace/train/lines.py", 29, "__iter__", "for line in gzip.open(urlopen(url)):", True),
        sdk.Frame(f"{PYTHON}/gzip.py", 314, "read1", "return self._buffer.read1(size)"),
        sdk.Frame(f"{PYTHON}/_compression.py", 68, "readinto", "data = self.read(len(byte_view))"),
        sdk.Frame(f"{PYTHON}/gzip.py", 507, "read", 'raise EOFError("Compressed file ended before the "'),
    )
    text = "Compressed file ended before the end-of-stream marker was reached"
    in_worker(stage, at, rank, "EOFError", text, frames)


def dali_failed(stage: Stage, at: int, rank: int, name: str) -> None:
    """DALI asks for the size of an object and is told 404, which has no text in an answer to HEAD."""
    site = stage.job.job.build["site"]
    frames = sdk.main_frames(
        stage.job.job,
        stage.step,
        sdk.Frame(f"{site}/nvidia/dali/plugin/pytorch/__init__.py", 250, "__next__", "outputs = self._get_outputs()"),
        sdk.Frame(
            f"{site}/nvidia/dali/plugin/base_iterator.py", 386, "_get_outputs", "outputs.append(p.share_outputs())"
        ),
        sdk.Frame(f"{site}/nvidia/dali/pipeline.py", 1150, "share_outputs", "return self._pipe.ShareOutputs()"),
    )
    operator = 'Error when executing CPU operator readers__File, instance name: "Reader", encountered:'
    missing = f"S3 Object not found. bucket={stage.bucket} object={name}:\n: No response body."
    text = (
        f"RuntimeError: Critical error in pipeline:\n{operator}\n{missing}\nCurrent pipeline object is no longer valid."
    )
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))


def wget_ended(stage: Stage, at: int, rank: int, shard: str) -> None:
    """wget, told to be quiet, says nothing of a lost connection; its code 4 is a failure of the network."""
    url = f"{stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{shard}"
    handle = stage.draw.child("wget", rank).token(10, HEX)
    pipe_ended(stage, at, rank, f"wget -q --tries=1 -O - {url}", 4, handle)


def server_gone(stage: Stage, at: int, rank: int) -> None:
    """aiohttp has sent a request, and the connection was closed; its error has two words."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame(
            "/workspace/train/fetch.py",
            66,
            "fetch_all",
            "return await asyncio.gather(*(self.fetch(n) for n in names))",
            True,
        ),
        sdk.Frame("/workspace/train/fetch.py", 58, "fetch", "async with self.session.get(url) as answer:", True),
        sdk.Frame(f"{site}/aiohttp/client.py", 1425, "__aenter__", "self._resp: _RetType = await self._coro"),
        sdk.Frame(f"{site}/aiohttp/streams.py", 671, "read", "await self._waiter"),
    )
    in_worker(stage, at, rank, "aiohttp.client_exceptions.ServerDisconnectedError", "Server disconnected", frames)


def reset_as_it_writes(stage: Stage, at: int, rank: int) -> None:
    """A checkpoint is being sent as the connection is reset; requests names neither host nor object."""
    site = stage.job.job.build["site"]
    frames = (
        *saving_frames(stage),
        sdk.Frame(f"{site}/requests/adapters.py", 682, "send", "raise ConnectionError(err, request=request)"),
    )
    cause = "('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"requests.exceptions.ConnectionError: {cause}")))
