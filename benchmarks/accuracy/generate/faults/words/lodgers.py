"""What readers print when a read fails: FFmpeg below PyAV and torchcodec, aiohttp, TensorStore, requests, AWS's CRT.

The wordings follow their sources and reports of users; none of them was seen in a run of ours.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import fetch_frames, pipe_ended
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from fixtures.generator import sdk
from fixtures.generator.draw import HEX, Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage

NO_SERVER = "Couldn't connect to server"
TOO_SLOW = "CRT error 2073: aws-c-http: AWS_ERROR_HTTP_CHANNEL_THROUGHPUT_FAILURE"
#: Names and numbers of PyAV for what FFmpeg returns: a server's answer, or content that makes no sense.
REFUSED = ("ConnectionRefusedError", 111, "Connection refused")
BAD_REQUEST = ("HTTPBadRequestError", 808_465_656, "Server returned 400 Bad Request")
SERVER_ERROR = ("HTTPServerError", 1_482_175_992, "Server returned 5XX Server Error reply")
INVALID = ("InvalidDataError", 1_094_995_529, "Invalid data found when processing input")


def clip(draw: Draw) -> str:
    """The name of a video."""
    return f"clips/{draw.whole(0, 999):03d}/{draw.token(11)}.mp4"


def shard(draw: Draw) -> str:
    """The name of a tar of samples."""
    return f"shards/train-{draw.whole(0, 4095):06d}.tar"


def asked_of_proxy(stage: Stage, rank: int, name: str) -> str:
    """What a program asks for, before a proxy sends it on to a target."""
    return f"{stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{name}"


def asked_of(stage: Stage, node: Node, name: str) -> str:
    """What a program asks a target for, once it was sent on to it."""
    return f"{node.url(0)}/v1/objects/{stage.bucket}/{name}"


def ffmpeg(stage: Stage, at: int, rank: int, part: str, text: str) -> None:
    """A line of FFmpeg's own log: the part that speaks, with its address."""
    handle = stage.draw.child("ffmpeg", part, rank).token(8, HEX)
    stage.job.say(at, rank, f"[{part} @ 0x7f{handle}00] {text}")


def video_not_opened(
    stage: Stage, at: int, rank: int, name: str, error: tuple[str, int, str], log: str = "", reads: bool = False
) -> None:
    """PyAV opens or decodes an address in a loader process, and FFmpeg returns an error; `log` is its last line."""
    kind, number, words = error
    url = asked_of_proxy(stage, rank, name)
    last = f"; last error log: {log}" if log else ""
    line, code = (97, "frames = [*container.decode(video=0)]") if reads else (88, "container = av.open(url)")
    inner = "av.container.input.InputContainer.decode" if reads else "av.container.core.open"
    frames = (
        sdk.Frame("/workspace/video/clips.py", line, "__getitem__", code, True),
        sdk.Frame(f"av/container/{'input' if reads else 'core'}.pyx", 441, inner, "self.err_check(res)"),
        sdk.Frame("av/error.pyx", 424, "av.error.err_check", "raise cls(code, message, filename, log)"),
    )
    in_worker(stage, at, rank, f"av.error.{kind}", f"[Errno {number}] {words}: '{url}'{last}", frames, "RuntimeError")


def video_not_decoded(stage: Stage, at: int, rank: int, name: str, words: str) -> None:
    """torchcodec keeps FFmpeg quiet and tells the address and what FFmpeg returned."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame("/workspace/video/clips.py", 61, "__getitem__", "decoder = VideoDecoder(url)", True),
        sdk.Frame(f"{site}/torchcodec/decoders/_video_decoder.py", 116, "__init__", "self._decoder = create_decoder("),
        sdk.Frame(f"{site}/torch/_ops.py", 829, "__call__", "return self._op(*args, **kwargs)"),
    )
    text = f"Could not open input file: {asked_of_proxy(stage, rank, name)} {words}"
    in_worker(stage, at, rank, "RuntimeError", text, frames)


def _gathered(*inner: sdk.Frame) -> tuple[sdk.Frame, ...]:
    """A loader reads the samples of a batch at once, with aiohttp."""
    gather = "return await asyncio.gather(*(self.fetch(n) for n in names))"
    return (
        sdk.Frame("/workspace/train/fetch.py", 66, "fetch_all", gather, True),
        sdk.Frame("/workspace/train/fetch.py", 58, "fetch", "async with self.session.get(url) as answer:", True),
        *inner,
    )


def host_not_connected(stage: Stage, at: int, rank: int, node: Node) -> None:
    """aiohttp follows a redirect and finds nobody who listens."""
    site = stage.job.job.build["site"]
    frames = _gathered(
        sdk.Frame(f"{site}/aiohttp/client.py", 770, "_request", "resp = await handler(req)"),
        sdk.Frame(f"{site}/aiohttp/connector.py", 1268, "_wrap_create_connection", "raise client_error("),
    )
    where = f"{node.address}:{node.ports[0]}"
    text = f"Cannot connect to host {where} ssl:default [Connect call failed ('{node.address}', {node.ports[0]})]"
    in_worker(stage, at, rank, "aiohttp.client_exceptions.ClientConnectorError", text, frames, "RuntimeError")


def socket_timed_out(stage: Stage, at: int, rank: int) -> None:
    """aiohttp has an answer that goes on too slowly; it names nobody."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame("/workspace/train/fetch.py", 59, "fetch", "return await answer.read()", True),
        sdk.Frame(f"{site}/aiohttp/client_reqrep.py", 1253, "read", "self._body = await self.content.read()"),
        sdk.Frame(f"{site}/aiohttp/streams.py", 344, "_wait", "await waiter"),
    )
    error = "aiohttp.client_exceptions.SocketTimeoutError"
    in_worker(stage, at, rank, error, "Timeout on reading data from socket", frames)


def host_not_reached(stage: Stage, at: int, rank: int, url: str) -> None:
    """aiohttp has waited for a connection as long as it was told to."""
    site = stage.job.job.build["site"]
    frames = _gathered(
        sdk.Frame(f"{site}/aiohttp/client.py", 766, "_connect_and_send_request", "raise ConnectionTimeoutError("),
    )
    error = "aiohttp.client_exceptions.ConnectionTimeoutError"
    in_worker(stage, at, rank, error, f"Connection timeout to host {url}", frames)


def arrays_not_opened(stage: Stage, at: int, rank: int, node: Node, name: str) -> None:
    """TensorStore opens an array over HTTP, and curl below it gets no connection to where it was sent on to."""
    frames = fetch_frames(
        stage,
        "years = [ts.open(spec).result() for spec in specs]",
    )
    why = f"CURL error[7] {NO_SERVER}: Failed to connect to {node.address} port {node.ports[0]} after 0 ms: {NO_SERVER}"
    meta = f"{asked_of_proxy(stage, rank, name)}/zarr.json"
    text = f'ValueError: UNAVAILABLE: Error opening "zarr3" driver: Error reading "{meta}": {why}'
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))


def read_timed_out(stage: Stage, at: int, rank: int, node: Node, limit: int) -> None:
    """requests, told to wait a while for each read, has waited in a loader process."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame("/workspace/train/reader.py", 44, "read", f"answer = self.http.get(url, timeout={limit})", True),
        sdk.Frame(f"{site}/requests/sessions.py", 602, "get", 'return self.request("GET", url, **kwargs)'),
        sdk.Frame(f"{site}/requests/adapters.py", 713, "send", "raise ReadTimeout(e, request=request)"),
    )
    pool = f"HTTPConnectionPool(host='{node.address}', port={node.ports[0]})"
    text = f"{pool}: Read timed out. (read timeout={limit})"
    in_worker(stage, at, rank, "requests.exceptions.ReadTimeout", text, frames)


def connector_stalled(stage: Stage, at: int, rank: int) -> None:
    """AWS's runtime below s3torchconnector has seen no byte for half a minute, and closes the connection."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame("/workspace/train/samples.py", 52, "__iter__", "for item in self.items:", True),
        sdk.Frame(f"{site}/s3torchconnector/s3reader/sequential.py", 86, "read", "self._buffer.write(next(stream))"),
    )
    told = "Http connection channel shut down due to failure to meet throughput minimum"
    error = "s3torchconnectorclient._mountpoint_s3_client.S3Exception"
    in_worker(stage, at, rank, error, f"Client error: Unknown CRT error: {TOO_SLOW}, {told}", frames)


def head_refused(stage: Stage, at: int, rank: int, status: int, reason: str) -> None:
    """Streaming downloads a shard with boto3, which asks for its size first; an answer to HEAD has no text."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame(f"{site}/streaming/base/dataset.py", 1366, "prepare_shard", "delta = stream.prepare_shard(shard)"),
        sdk.Frame(
            f"{site}/streaming/base/stream.py", 303, "_download_file", "retry(num_attempts=self.download_retry)("
        ),
        sdk.Frame(f"{site}/streaming/base/storage/download.py", 125, "_download_file", "s3.download_file(obj.netloc,"),
        sdk.Frame(f"{site}/botocore/client.py", 1023, "_make_api_call", "raise error_class(parsed_response,"),
    )
    text = f"An error occurred ({status}) when calling the HeadObject operation (reached max retries: 4): {reason}"
    in_worker(stage, at, rank, "botocore.exceptions.ClientError", text, frames, "RuntimeError")


def curl_failed(stage: Stage, at: int, rank: int, name: str, code: int, text: str, options: str = "-fsSL") -> None:
    """WebDataset reads a shard through curl, which says why it ends, and its code."""
    stage.job.say(at, rank, f"curl: ({code}) {text}")
    handle = stage.draw.child("curl", rank).token(10, HEX)
    pipe_ended(stage, at + 4 * MS, rank, f"curl {options} {asked_of_proxy(stage, rank, name)}", code, handle)


def refused_by(node: Node) -> str:
    """What FFmpeg's TCP has logged last of a target that does not listen."""
    return f"[tcp] Connection to tcp://{node.address}:{node.ports[0]} failed: Connection refused"
