"""What programs print whose owners open a ticket: litdata, s3fs, HF datasets, boto3, plain requests, waiting readers.

The wordings follow their sources and reports of users; none of them was seen in a run of ours.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.accuracy.generate.faults.words.doorways import saving_frames
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import MS, SEC
from fixtures.generator.stage import Stage


def chunk_of(draw: Draw) -> str:
    """The name of a chunk of litdata."""
    return f"optimized/chunk-{draw.whole(0, 15)}-{draw.whole(0, 2_400)}.bin"


def archive_of(draw: Draw) -> str:
    """The name of a large tar of recordings."""
    return f"tarred/{draw.pick(('audio', 'bucket1', 'bucket4', 'ydc'))}_{draw.whole(0, 8_191)}.tar"


def s3_url(node: Node, bucket: str, key: str) -> str:
    """The address of an object at a node, by the S3 API."""
    return f"{node.url(0)}/s3/{bucket}/{key}"


def litdata_head_refused(stage: Stage, at: int, rank: int) -> None:
    """litdata asks for the size of its next chunk through boto3; an answer to HEAD has no text."""
    site = stage.job.job.build["site"]
    place = f"{site}/litdata/streaming"
    frames = (
        sdk.Frame(f"{place}/dataset.py", 406, "__next__", "data = self.__getitem__("),
        sdk.Frame(f"{place}/reader.py", 362, "read", "self.config.download_chunk_from_index(index.chunk_index)"),
        sdk.Frame(f"{place}/downloader.py", 141, "download_file", "self._client.client.download_file("),
        sdk.Frame(
            f"{site}/s3transfer/tasks.py", 269, "_main", "self._submit(transfer_future=transfer_future, **kwargs)"
        ),
        sdk.Frame(
            f"{site}/botocore/client.py", 1023, "_make_api_call", "raise error_class(parsed_response, operation_name)"
        ),
    )
    text = "An error occurred (400) when calling the HeadObject operation: Bad Request"
    in_worker(stage, at, rank, "botocore.exceptions.ClientError", text, frames, "RuntimeError")


def payload_not_completed(stage: Stage, at: int, rank: int) -> None:
    """s3fs reads a range, and the connection ends before all of it has come."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame("/workspace/train/frames.py", 47, "__iter__", "block = handle.read(self.block_bytes)", True),
        sdk.Frame(f"{site}/fsspec/caching.py", 252, "_fetch", "self.cache = self.fetcher(start, end)"),
        sdk.Frame(f"{site}/s3fs/core.py", 2373, "_inner_fetch", 'data = await resp["Body"].read()'),
        sdk.Frame(f"{site}/aiobotocore/response.py", 56, "read", "chunk = await self.__wrapped__.content.read("),
        sdk.Frame(f"{site}/aiohttp/streams.py", 382, "read", "raise self._exception"),
    )
    cause = "<ContentLengthError: 400, message='Not enough data to satisfy content length header.'>"
    text = f"Response payload is not completed: {cause}"
    in_worker(stage, at, rank, "aiohttp.client_exceptions.ClientPayloadError", text, frames)


def fsspec_timed_out(stage: Stage, at: int, rank: int) -> None:
    """fsspec has waited for its event loop as long as it was told to; the error has no text."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame("/workspace/train/frames.py", 47, "__iter__", "block = handle.read(self.block_bytes)", True),
        sdk.Frame(f"{site}/s3fs/core.py", 2378, "_fetch_range", "return sync(fs.loop, _inner_fetch, fs, bucket, key,"),
        sdk.Frame(f"{site}/fsspec/asyn.py", 101, "sync", "raise FSTimeoutError from return_result"),
    )
    in_worker(stage, at, rank, "fsspec.exceptions.FSTimeoutError", "", frames)


def parquet_not_found(stage: Stage, at: int, rank: int, url: str) -> None:
    """Hugging Face datasets streams a file of Parquet over HTTP that is not there."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame(f"{site}/datasets/iterable_dataset.py", 2267, "__iter__", "for key, example in ex_iterable:"),
        sdk.Frame(f"{site}/datasets/packaged_modules/parquet/parquet.py", 84, "_generate_tables", "with open(file, "),
        sdk.Frame(f"{site}/fsspec/implementations/http.py", 451, "_info", "raise FileNotFoundError(url) from exc"),
    )
    in_worker(stage, at, rank, "FileNotFoundError", url, frames)


def resume_failed(stage: Stage, at: int, rank: int) -> None:
    """boto3 was told 500 as often as it asks for the shard of a checkpoint; a GET that fails has no text here."""
    script, site = stage.job.job.script, stage.job.job.build["site"]
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 149, "main", "step = resume(model, optimizer, args.resume_from)", True),
        sdk.Frame(script, 133, "resume", "blob = s3.get_object(Bucket=bucket, Key=key)['Body'].read()", True),
        sdk.Frame(f"{site}/botocore/client.py", 569, "_api_call", "return self._make_api_call(operation_name, kwargs)"),
        sdk.Frame(
            f"{site}/botocore/client.py", 1023, "_make_api_call", "raise error_class(parsed_response, operation_name)"
        ),
    )
    asked = "when calling the GetObject operation (reached max retries: 4)"
    text = f"botocore.exceptions.ClientError: An error occurred (500) {asked}: Internal Server Error"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))


def plain_put_failed(stage: Stage, at: int, url: str) -> None:
    """The script writes its checkpoint with requests, which only knows the status and the address."""
    site = stage.job.job.build["site"]
    frames = (
        *saving_frames(stage)[:2],
        sdk.Frame(stage.job.job.script, 119, "save_checkpoint", "answer.raise_for_status()", True),
        sdk.Frame(
            f"{site}/requests/models.py", 1024, "raise_for_status", "raise HTTPError(http_error_msg, response=self)"
        ),
    )
    text = f"requests.exceptions.HTTPError: 500 Server Error: Internal Server Error for url: {url}"
    stage.job.raise_on(at, 0, sdk.traceback(sdk.Raised(frames, text)))


def unauthorized(stage: Stage, at: int, rank: int, proxy: Node, text: str) -> str:
    """The traceback of a get-batch that a proxy turns down with 401."""
    job = stage.job.job
    url = sdk.moss_url(proxy.url(0), stage.bucket)
    body = sdk.answer(proxy, 401, text, "GET", f"/v1/ml/moss/{stage.bucket}", stage.client(rank))
    failure = "aistore.sdk.errors.AISError: " + sdk.request_error(401, body, url)
    caller = sdk.main_frames(job, stage.step, *sdk.batch_get_frames(job))
    return sdk.http_failure(job, 401, "Unauthorized", url, failure, caller)


def waits_for(
    stage: Stage, rank: int, since: int, over: int, every_ms: tuple[int, int], says: Callable[[float], str]
) -> None:
    """A reader tells on its rank, again and again until the job is over, what it has waited for so long."""
    draw = stage.draw.child("waits for", rank)
    then = since + draw.span(*every_ms)
    while then < over - SEC:
        told(stage, then, rank, "reader", says((then - since) / SEC), "WARNING")
        then += draw.span(*every_ms)


def late_elsewhere(stage: Stage, since: int, many: int, draw: Draw, says: Callable[[float], str]) -> None:
    """Readers of other ranks had what they asked for late, which `says` tells for how many seconds it took."""
    for other in readers(stage)[:many]:
        spent = draw.between(6.0, 17.0)
        told(stage, since + int(spent * SEC) + draw.span(90, 2_900), other, "reader", says(spent), "WARNING")


def gets_boto_timeout(stage: Stage, at: int, rank: int, url: str, attempt: int, of: int) -> None:
    """The reader's own loop around boto3 prints what botocore has raised, and begins anew."""
    said = f'attempt {attempt}/{of}: ReadTimeoutError: Read timeout on endpoint URL: "{url}"'
    told(stage, at + MS, rank, "s3reader", said, "WARNING")
