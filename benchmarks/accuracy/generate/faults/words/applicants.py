"""What programs print in tickets to a storage team: curl of WebDataset, aiohttp, S3 connectors, MSC, rclone, the SDK.

The wordings follow their sources and reports of users; none of them was seen in a run of ours.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.accuracy.generate.faults.words.clients import PYTHON, fetch_frames
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage


def wds_shard(draw: Draw) -> str:
    """The name of a shard of pairs of pictures and texts."""
    return f"pairs/{draw.whole(0, 63):02d}/{draw.whole(0, 9_999):05d}.tar"


def aiohttp_status(stage: Stage, at: int, rank: int, url: str, status: tuple[int, str]) -> None:
    """A loader process reads with aiohttp, which raises for a status and names the address that it was sent on to."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame("/workspace/data/streams.py", 88, "__iter__", "yield from self.loop.run_until_complete(self.pull())"),
        sdk.Frame(f"{PYTHON}/asyncio/base_events.py", 654, "run_until_complete", "return future.result()"),
        sdk.Frame("/workspace/data/streams.py", 71, "pull", "answer.raise_for_status()"),
        sdk.Frame(f"{site}/aiohttp/client_reqrep.py", 636, "raise_for_status", "raise ClientResponseError("),
    )
    text = f"{status[0]}, message='{status[1]}', url='{url}'"
    in_worker(stage, at, rank, "aiohttp.client_exceptions.ClientResponseError", text, frames)


def s3torch_failed(stage: Stage, at: int, rank: int, name: str, why: str) -> None:
    """The S3 connector for PyTorch reads an object; whatever its client has met becomes one kind of exception."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame("/workspace/data/items.py", 34, "to_sample", "return name, decode(item.read())", True),
        sdk.Frame(f"{site}/s3torchconnector/s3reader/sequential.py", 118, "read", "self.prefetch()"),
        sdk.Frame(
            f"{site}/s3torchconnector/s3reader/sequential.py", 84, "prefetch", "for chunk in self._get_stream():"
        ),
    )
    error = "s3torchconnectorclient._mountpoint_s3_client.S3Exception"
    told(stage, at - 3 * MS, rank, "items", f"s3://{stage.bucket}/{name}: read failed", "ERROR")
    in_worker(stage, at, rank, error, f"Client error: {why}", frames)


def boto_get_failed(stage: Stage, at: int, rank: int, code: str, text: str) -> None:
    """boto3 reads an object and has asked as often as it may."""
    site = stage.job.job.build["site"]
    frames = fetch_frames(
        stage,
        'body = self.s3.get_object(Bucket=self.bucket, Key=key)["Body"].read()',
        sdk.Frame(f"{site}/botocore/client.py", 602, "_api_call", "return self._make_api_call(operation_name, kwargs)"),
        sdk.Frame(f"{site}/botocore/client.py", 1078, "_make_api_call", "raise error_class(parsed_response, operation"),
    )
    head = f"An error occurred ({code}) when calling the GetObject operation (reached max retries: 4)"
    raised = sdk.Raised(frames, f"botocore.exceptions.ClientError: {head}: {text}")
    stage.job.raise_on(at, rank, sdk.traceback(raised))


def msc_read_again(stage: Stage, at: int, rank: int, key: str, attempt: int, why: str) -> None:
    """An indexed data set reads a range through MSC, which fails, and reads it again some seconds later."""
    said = f"[msc] read of {stage.bucket}/{key} failed, try {attempt} of 5: {why}"
    told(stage, at, rank, "indexed_dataset", said, "WARNING")


def msc_gives_up(stage: Stage, at: int, rank: int, key: str, why: str) -> None:
    """The indexed data set has read as often as it may."""
    said = f'5 total tries to read data item failed; going to abort and re-raise exception "{why}"...'
    told(stage, at - 2 * MS, rank, "indexed_dataset", said, "WARNING")
    site = stage.job.job.build["site"]
    frames = fetch_frames(
        stage,
        "sequence = self.bin_reader.read(self.dtype, length, offset)",
        sdk.Frame("/workspace/data/indexed_dataset.py", 412, "read", "with msc.open(self.path, 'rb') as stream:"),
        sdk.Frame(f"{site}/multistorageclient/file.py", 233, "read", "self._download_complete.wait()"),
    )
    text = f"RuntimeError: Failed to GET object(s) at {stage.bucket}/{key}, error: {why}"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))


def connection_of_rclone(stage: Stage, at: int, rank: int, node: Node, died: int, draw: Draw) -> None:
    """A watcher lists the connection that rclone has open for its read below a mount, silent since the node died."""
    pid = stage.job.job.agent_pids[stage.job.job.node_of(rank)] - draw.whole(300, 900)
    row = f'ESTAB 0 0 {stage.client(rank)} {node.endpoint(0)} users:(("rclone",pid={pid},fd={draw.whole(9, 40)}))'
    said = f"read below /mnt/{stage.bucket} has not returned: {row} lastrcv:{(at - died) // MS + draw.whole(4, 120)}"
    told(stage, at, rank, "hang-watcher", said, "WARNING")


def body_cut(stage: Stage, at: int, rank: int, got: int, left: int) -> None:
    """The SDK reads an object as a whole, and its answer ends before all has come."""
    site = stage.job.job.build["site"]
    short = f"IncompleteRead({got} bytes read, {left} more expected)"
    inner = (
        sdk.Frame(
            f"{site}/aistore/sdk/obj/object_reader.py", 124, "read_all", "return b''.join(response.iter_content())"
        ),
        sdk.Frame(f"{site}/requests/models.py", 822, "generate", "raise ChunkedEncodingError(e)"),
    )
    text = f"requests.exceptions.ChunkedEncodingError: ('Connection broken: {short}', {short})"
    caller = fetch_frames(stage, "content = self.bucket.object(name).get_reader().read_all()", *inner)
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, text)))


def one_line_answer(stage: Stage, at: int, rank: int, node: Node, name: str, status: int, text: str) -> str:
    """What the SDK makes of an error that a node has answered a GET with, in one line."""
    path = f"/v1/objects/{stage.bucket}/{name}"
    body = sdk.answer(node, status, text, "GET", path, stage.client(rank))
    return sdk.request_error(status, body, node.url(0) + path + sdk.query(stage.proxy_of(rank), at), " ")


def too_many_skipped(stage: Stage, at: int, rank: int, failed: int, limit: int) -> None:
    """A loader that skips what it cannot read ends when that was too much."""
    frames = (
        sdk.Frame("/workspace/data/samples.py", 140, "__iter__", "self.budget.spend(name, error)", True),
        sdk.Frame("/workspace/data/samples.py", 57, "spend", "raise TooManyReadErrors("),
    )
    text = f"{failed} of the last 64 samples could not be read (limit {limit})"
    in_worker(stage, at, rank, "samples.TooManyReadErrors", text, frames)


def asks_with_pauses(since: int, pauses_s: tuple[float, ...], draw: Draw, asks: Callable[[int, int], None]) -> int:
    """A request is made and made again after so many seconds each; the moment of the last one."""
    then = since
    for turn, pause in enumerate((0.0, *pauses_s), 1):
        then += seconds(pause) + draw.span(1, 19)
        asks(turn, then)
    return then


def others_tell(
    stage: Stage, since: int, until: int, many: tuple[int, int], draw: Draw, says: Callable[[int], str]
) -> None:
    """Ranks beside the culprit meet the same between two moments and go on; `says` writes the storage's side too."""
    for rank in readers(stage)[: draw.whole(*many)]:
        then = since + int((until - since) * draw.between(0.05, 0.95))
        told(stage, then, rank, "samples", says(then - 4 * MS), "WARNING")


def curl_gives_up(stage: Stage, at: int, rank: int, code: int, text: str, shard: str) -> None:
    """curl below a WebDataset of another rank fails; the handler of the data set warns and takes the next shard."""
    stage.job.say(at, rank, f"curl: ({code}) {text}")
    said = f"pipe:curl exited with {code}, {shard} is left out"
    told(stage, at + 40 * MS, rank, "wds", said, "WARNING")


def since_text(begun: int, then: int) -> str:
    """How long ago something began, in whole seconds."""
    return f"{(then - begun) / SEC:.0f} s"
