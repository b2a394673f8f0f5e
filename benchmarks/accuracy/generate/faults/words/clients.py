"""What other clients of AIStore print when they give up: curl behind WebDataset, boto3, readers that resume, an ETL."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.requests import FETCH, object_path
from fixtures.generator import sdk
from fixtures.generator.draw import HEX, Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import SEC, comma_stamp, seconds
from fixtures.generator.stage import Stage

#: When a client asks that repeats a status five times with a back-off of 3 s.
TRIES_S = (0.0, 0.02, 6.05, 18.1, 42.14, 90.2)
PYTHON = "/opt/conda/lib/python3.11"


def fetch_frames(stage: Stage, code: str, *inner: sdk.Frame) -> tuple[sdk.Frame, ...]:
    """From the script's main to the line that reads one object."""
    return sdk.main_frames(stage.job.job, stage.step, sdk.Frame(stage.job.job.script, 77, "fetch", code, True), *inner)


def status_repeated(stage: Stage, rank: int, node: Node, name: str, status: int) -> int:
    """A status that urllib3 repeats without a word, for a minute and a half; the moment it gives up."""
    over = stage.at + seconds(TRIES_S[-1]) + stage.draw.child("status", rank).span(4, 40)
    status_gave_up(stage, over, rank, node, name, status)
    return over


def status_gave_up(stage: Stage, at: int, rank: int, node: Node, name: str, status: int) -> None:
    """urllib3 has had the same status six times for an object, and requests makes an error of that."""
    text = sdk.pool_error(node.address, node.ports[0], object_path(stage, rank, name), sdk.too_many(status))
    stage.job.raise_on(at, rank, sdk.exhausted(stage.job.job, fetch_frames(stage, FETCH), "RetryError", text))


def pipe_failed(stage: Stage, at: int, rank: int, url: str, status: tuple[int, str]) -> None:
    """WebDataset reads a shard through curl, which ends with an error; curl's own line comes first."""
    stage.job.say(at, rank, f"curl: ({status[0]}) {status[1]}")
    handle = stage.draw.child("pipe", rank).token(10, HEX)
    pipe_ended(stage, at + 3_100_000, rank, f"curl -sSL {url}", status[0], handle)


def pipe_ended(stage: Stage, at: int, rank: int, command: str, code: int, handle: str) -> None:
    """WebDataset finds that the command that it reads a shard through has ended with a code."""
    site = stage.job.job.build["site"]
    text = (
        f"OSError: (\"(('{command}',), {{'shell': True, 'bufsize': 8192}}): exit {code} (read) {{}}\", "
        f"<webdataset.gopen.Pipe object at 0x7f{handle}>, 'pipe:{command}')"
    )
    inner = (
        sdk.Frame(f"{site}/webdataset/tariterators.py", 218, "tar_file_expander", "for sample in tar_file_iterator("),
        sdk.Frame(f"{PYTHON}/tarfile.py", 469, "_read", "buf = self.fileobj.read(self.bufsize)", True),
        sdk.Frame(f"{site}/webdataset/gopen.py", 130, "read", "self.check_status()"),
        sdk.Frame(f"{site}/webdataset/gopen.py", 111, "wait_for_child", "raise IOError("),
    )
    raised = sdk.Raised(fetch_frames(stage, "sample = next(self.samples)", *inner), text)
    stage.job.raise_on(at, rank, sdk.traceback(raised))


def upload_failed(stage: Stage, at: int, rank: int, key: str, code: str, message: str) -> None:
    """boto3 gives up on a part of a multipart upload."""
    site = stage.job.job.build["site"]
    cause = f"An error occurred ({code}) when calling the UploadPart operation: {message}"
    first = sdk.Raised(
        (
            sdk.Frame(f"{site}/boto3/s3/transfer.py", 372, "upload_file", "future.result()"),
            sdk.Frame(f"{site}/s3transfer/futures.py", 264, "result", "raise self._exception"),
            sdk.Frame(
                f"{site}/botocore/client.py",
                1023,
                "_make_api_call",
                "raise error_class(parsed_response, operation_name)",
            ),
        ),
        f"botocore.errorfactory.{code}: {cause}",
        sdk.DURING,
    )
    frames = (
        sdk.Frame(stage.job.job.script, 212, "<module>", "main()"),
        sdk.Frame(stage.job.job.script, 203, "main", "save_checkpoint(model, optimizer, step)"),
        sdk.Frame(stage.job.job.script, 118, "save_checkpoint", "s3.upload_file(path, bucket, key)"),
        sdk.Frame(f"{site}/boto3/s3/inject.py", 145, "upload_file", "return transfer.upload_file(", True),
        sdk.Frame(f"{site}/boto3/s3/transfer.py", 378, "upload_file", "raise S3UploadFailedError("),
    )
    local, where = f"/dev/shm/{key.rsplit('/', 1)[-1]}", f"checkpoints/{key}"
    text = f"boto3.exceptions.S3UploadFailedError: Failed to upload {local} to {where}: {cause}"
    stage.job.raise_on(at, rank, sdk.traceback(first, sdk.Raised(frames, text)))


def resumed(stage: Stage, rank: int, node: Node, name: str, limit: int, times: int, draw: Draw) -> int:
    """A reader resumes a large object after read time-outs, `times` of 5 and not after `limit`; the moment after."""
    job, then = stage.job, stage.at + draw.span(20_010, 24_000)
    error = f"HTTPConnectionPool(host='{node.address}', port={node.ports[0]}): Read timed out."
    for attempt in range(1, times + 1):
        if then >= limit:
            return then
        text = f"Resuming 'objects/{stage.bucket}/{name}' after {error} ({attempt}/5)"
        head = f"{comma_stamp(then, job.job.zone)} [rank{rank}] WARNING aistore.sdk.obj.obj_file.utils"
        job.say(then, rank, f"{head}: {text}")
        then += draw.span(20_100, 33_000)
    return then


def resumed_too_often(stage: Stage, at: int, rank: int) -> None:
    """The reader has resumed as often as it may."""
    site = stage.job.job.build["site"]
    module = "aistore.sdk.obj.obj_file.errors"
    inner = sdk.Frame(f"{site}/aistore/sdk/obj/obj_file/object_file.py", 176, "read", "self._reset_iterator(err)")
    text = f"{module}.ObjectFileReaderMaxResumeError: ObjectFileReader exceeded max number of stream resumptions: 6"
    raised = sdk.Raised(fetch_frames(stage, "member = next(self.tar)", inner), text)
    stage.job.raise_on(at, rank, sdk.traceback(raised))


def transformed(stage: Stage, at: int, rank: int, node: Node, name: str, status: tuple[int, str], text: str) -> str:
    """The traceback of a GET through an ETL that a target answers with an error."""
    job, path = stage.job.job, f"/v1/objects/{stage.bucket}/{name}"
    url = f"{node.url(0)}{path}{sdk.query(stage.proxy_of(rank), at - SEC)}&etl_name=resample-16k"
    tcode = "ErrNotFound" if status[0] == 404 else "Error"
    body = sdk.answer(node, status[0], text, "GET", path, stage.client(rank), tcode)
    error = "ErrETLNotFound" if status[0] == 404 else "AISError"
    failure = f"aistore.sdk.errors.{error}: " + sdk.request_error(status[0], body, url)
    inner = sdk.Frame(f"{job.build['site']}/aistore/sdk/obj/object_reader.py", 121, "read_all", "response = self.get()")
    caller = fetch_frames(stage, "content = self.bucket.object(name).get_reader(etl=RESAMPLE).read_all()", inner)
    return sdk.http_failure(job, status[0], status[1], url, failure, caller)
