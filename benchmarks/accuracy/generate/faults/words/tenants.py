"""What clients print whose way to AIStore was changed under them: tokens, S3 at the root, buckets of another cluster.

The wordings follow botocore, boto3, s3fs, WebDataset and the SDK; none of them was seen in a run.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import fetch_frames, pipe_ended
from benchmarks.accuracy.generate.faults.words.tellers import all_raise
from fixtures.generator import sdk
from fixtures.generator.draw import HEX, Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage

BAD_REQUEST = "An error occurred (400) when calling the {} operation: Bad Request"


def token_of(draw: Draw) -> str:
    """A token as AuthN signs it with a secret."""
    return f"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ{draw.token(96)}.{draw.token(43)}"


def curl_turned_away(stage: Stage, at: int, rank: int, url: str) -> None:
    """WebDataset's pipe is a curl that sends a token, and is told 401; -f keeps the text of the answer back."""
    stage.job.say(at, rank, "curl: (22) The requested URL returned error: 401")
    handle = stage.draw.child("token pipe", rank).token(10, HEX)
    command = f"curl -fsSL --oauth2-bearer $AIS_AUTHN_TOKEN {url}"
    pipe_ended(stage, at + 4 * MS, rank, command, 22, handle)


def shard_turned_away(stage: Stage, at: int, rank: int, url: str) -> None:
    """The same where WebDataset was told to warn and go on."""
    handle = stage.draw.child("token left out", rank, at).token(10, HEX)
    command = f"curl -fsSL --oauth2-bearer $AIS_AUTHN_TOKEN {url}"
    told = f"(('{command}',), {{'shell': True, 'bufsize': 8192}}): exit 22 (read) {{}}"
    text = f"UserWarning: OSError(\"{told}\", <webdataset.gopen.Pipe object at 0x7f{handle}>, 'pipe:{command}')"
    site = stage.job.job.build["site"]
    stage.job.say(at - 3 * MS, rank, "curl: (22) The requested URL returned error: 401")
    stage.job.say(at, rank, f"{site}/webdataset/handlers.py:34: {text}\n  warnings.warn(repr(exn))")


def put_unauthorized(stage: Stage, at: int, rank: int, proxy: Node, path: str, text: str) -> None:
    """The SDK puts a checkpoint, and a gateway does not take its token."""
    job, url = stage.job.job, f"{proxy.url(0)}{path}?provider=ais"
    body = sdk.answer(proxy, 401, text, "PUT", path, stage.client(rank))
    error = "aistore.sdk.errors.AISError: " + sdk.request_error(401, body, url)
    caller = (
        sdk.Frame(job.script, 212, "<module>", "main()"),
        sdk.Frame(job.script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(job.script, 121, "save_checkpoint", "bucket.object(name).get_writer().put_file(path)", True),
    )
    stage.job.raise_on(at, rank, sdk.http_failure(job, 401, "Unauthorized", url, error, caller))


def upload_not_begun(stage: Stage, at: int, rank: int, key: str) -> None:
    """boto3 cannot read the answer, which is no XML, and says what a status of 400 is called."""
    site, script = stage.job.job.build["site"], stage.job.job.script
    place = f"{site}/boto3/s3"
    first = sdk.Raised(
        (
            sdk.Frame(f"{place}/transfer.py", 372, "upload_file", "future.result()"),
            sdk.Frame(f"{site}/s3transfer/futures.py", 103, "result", "return self._coordinator.result()"),
            sdk.Frame(f"{site}/s3transfer/futures.py", 264, "result", "raise self._exception"),
            sdk.Frame(f"{site}/s3transfer/tasks.py", 135, "__call__", "return self._execute_main(kwargs)"),
            sdk.Frame(
                f"{site}/botocore/client.py",
                1023,
                "_make_api_call",
                "raise error_class(parsed_response, operation_name)",
            ),
        ),
        f"botocore.exceptions.ClientError: {BAD_REQUEST.format('CreateMultipartUpload')}",
        sdk.DURING,
    )
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(script, 118, "save_checkpoint", "s3.upload_file(path, bucket, key)"),
        sdk.Frame(f"{place}/inject.py", 145, "upload_file", "return transfer.upload_file(", True),
        sdk.Frame(f"{place}/transfer.py", 378, "upload_file", "raise S3UploadFailedError("),
    )
    where = f"/dev/shm/{key.rsplit('/', 1)[-1]} to checkpoints/{key}"
    why = BAD_REQUEST.format("CreateMultipartUpload")
    text = f"boto3.exceptions.S3UploadFailedError: Failed to upload {where}: {why}"
    stage.job.raise_on(at, rank, sdk.traceback(first, sdk.Raised(frames, text)))


def sent_on_to(stage: Stage, at: int, rank: int, node: Node, name: str) -> str:
    """Where botocore, patched to follow AIStore's redirects, is sent on to for an object."""
    return f"{node.url(0)}/s3/{stage.bucket}/{name}{sdk.query(stage.proxy_of(rank), at - 9 * MS)}"


def bucket_not_listed(stage: Stage, at: int, text: str) -> int:
    """s3fs lists the bucket of the data on every rank before the first step; the moment of the last one."""
    site, script = stage.job.job.build["site"], stage.job.job.script
    first = sdk.Raised(
        (
            sdk.Frame(f"{site}/s3fs/core.py", 756, "_lsdir", "async for c in self._iterdir("),
            sdk.Frame(f"{site}/aiobotocore/paginate.py", 30, "__anext__", "response = await self._make_request("),
            sdk.Frame(
                f"{site}/aiobotocore/client.py",
                412,
                "_make_api_call",
                "raise error_class(parsed_response, operation_name)",
            ),
        ),
        f"botocore.errorfactory.NoSuchBucket: An error occurred (NoSuchBucket) when calling the ListObjectsV2 "
        f"operation: {text}",
        sdk.DIRECT,
    )
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 168, "main", "shards = sorted(fs.ls(args.data))", True),
        sdk.Frame(f"{site}/fsspec/asyn.py", 118, "wrapper", "return sync(self.loop, func, *args, **kwargs)"),
        sdk.Frame(f"{site}/s3fs/core.py", 1079, "_ls", "files = await self._lsdir(path, refresh, versions=versions)"),
        sdk.Frame(f"{site}/s3fs/core.py", 769, "_lsdir", "raise translate_boto_error(e)"),
    )
    return all_raise(stage, at, first, sdk.Raised(frames, f"FileNotFoundError: {text}"))


def not_of_this_cluster(stage: Stage, at: int, rank: int, proxy: Node, other: str, name: str) -> tuple[str, str]:
    """A gateway at a known address answers under another name, and knows no such bucket: in one line, and as raised."""
    job, path = stage.job.job, f"/v1/objects/{stage.bucket}/{name}"
    site, url = job.build["site"], f"{proxy.url(0)}{path}?provider=ais"
    text = f'bucket "ais://{stage.bucket}" does not exist'
    body = sdk.answer(proxy, 404, text, "GET", path, stage.client(rank), "ErrBckNotFound").replace(proxy.node_id, other)
    said = sdk.request_error(404, body, url)
    inner = (
        sdk.Frame(f"{site}/aistore/fsspec/filesystem.py", 119, "cat_file", "self._bucket(bucket_name)"),
        sdk.Frame(f"{site}/aistore/sdk/obj/object_reader.py", 121, "read_all", "response = self.get()"),
    )
    caller = fetch_frames(stage, 'content = self.fs.cat_file(f"ais://{self.root}/{name}")', *inner)
    raised = sdk.http_failure(job, 404, "Not Found", url, f"aistore.sdk.errors.ErrBckNotFound: {said}", caller)
    return "ErrBckNotFound: " + sdk.request_error(404, body, url, " "), raised
