"""What clients at other doors of AIStore print when they give up: s3fs, a mount of rclone, an ingress, a job's wait."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import fetch_frames
from benchmarks.accuracy.generate.faults.words.rclone import rclone_reads_again
from fixtures.generator import sdk
from fixtures.generator.model import Node
from fixtures.generator.moment import comma_stamp
from fixtures.generator.stage import Stage


def saving_frames(stage: Stage) -> tuple[sdk.Frame, ...]:
    """From the script's main to the line that writes a checkpoint."""
    script = stage.job.job.script
    return (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(script, 121, "save_checkpoint", "bucket.object(name).get_writer().put_file(path)", True),
    )


def assembly_failed(stage: Stage, rank: int, designated: Node, wid: str, text: str) -> tuple[str, str]:
    """A get-batch that its designated target answers with an error: in one line, and as a traceback."""
    xact, proxy, job = stage.cluster.xact, stage.proxy_of(rank), stage.job.job
    path = f"/v1/ml/moss/{stage.bucket}/{xact.xid if xact else 'noxid'}/{wid}/{len(stage.cluster.targets)}"
    url = designated.url(0) + path + sdk.query(proxy, stage.at)
    body = sdk.answer(designated, 400, text, "GET", path, stage.client(rank))
    failure = "aistore.sdk.errors.AISError: " + sdk.request_error(400, body, url)
    caller = sdk.main_frames(job, stage.step, *sdk.batch_get_frames(job))
    one_line = "AISError: " + sdk.request_error(400, body, url, " ")
    return one_line, sdk.http_failure(job, 400, "Bad Request", url, failure, caller)


def bucket_not_created(stage: Stage, node: Node, path: str) -> str:
    """The traceback of a new bucket that a proxy cannot ask the primary for; the answer is empty."""
    script, url = stage.job.job.script, f"{node.url(0)}{path}?provider=ais"
    error = "aistore.sdk.errors.AISError: " + sdk.request_error(502, "", url, "")
    caller = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(script, 115, "save_checkpoint", "bucket = client.bucket(name).create(exist_ok=True)", True),
    )
    return sdk.http_failure(stage.job.job, 502, "Bad Gateway", url, error, caller)


def checkpoint_not_read(stage: Stage, at: int, rank: int, text: str) -> None:
    """A checkpoint that s3fs cannot read when a job goes on."""
    site, script = stage.job.job.build["site"], stage.job.job.script
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 171, "main", "start_step = load_checkpoint(model, optimizer)", True),
        sdk.Frame(script, 108, "load_checkpoint", "state = torch.load(fs.open(path, 'rb'), map_location='cpu')", True),
        sdk.Frame(f"{site}/fsspec/spec.py", 1970, "read", "out = self.cache._fetch(self.loc, self.loc + length)", True),
        sdk.Frame(f"{site}/s3fs/core.py", 146, "_error_wrapper", "raise err"),
    )
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"OSError: [Errno 5] {text}")))


def s3fs_failed(stage: Stage, at: int, rank: int, name: str, code: str, text: str) -> None:
    """s3fs has an error for each code of S3 that it knows; any other is one of input and output."""
    site = stage.job.job.build["site"]
    first = sdk.Raised(
        (
            sdk.Frame(f"{site}/s3fs/core.py", 114, "_error_wrapper", "return await func(*args, **kwargs)"),
            sdk.Frame(
                f"{site}/aiobotocore/client.py",
                412,
                "_make_api_call",
                "raise error_class(parsed_response, operation_name)",
            ),
        ),
        f"botocore.exceptions.ClientError: An error occurred ({code}) when calling the GetObject operation: {text}",
        sdk.DIRECT,
    )
    caller = fetch_frames(
        stage,
        f'content = self.fs.cat_file(f"{stage.bucket}/{{name}}")',
        sdk.Frame(f"{site}/fsspec/asyn.py", 118, "wrapper", "return sync(self.loop, func, *args, **kwargs)"),
        sdk.Frame(f"{site}/s3fs/core.py", 146, "_error_wrapper", "raise err"),
    )
    stage.job.raise_on(at, rank, sdk.traceback(first, sdk.Raised(caller, f"OSError: [Errno 5] {text}")))


def mount_failed(stage: Stage, at: int, rank: int, name: str, text: str) -> None:
    """rclone, which has the bucket mounted, says why; the program is told of an error of input and output."""
    tail = f"InternalError: {text}\n\tstatus code: 500, request id: , host id: "
    rclone_reads_again(stage, at, rank, name, 10, tail)
    caller = fetch_frames(stage, "content = Path(self.root, name).read_bytes()")
    raised = sdk.Raised(caller, f"OSError: [Errno 5] Input/output error: '/mnt/{stage.bucket}/{name}'")
    stage.job.raise_on(at + 2_300_000, rank, sdk.traceback(raised))


def part_refused(stage: Stage, at: int, rank: int, key: str, text: str, operation: str = "UploadPart") -> None:
    """boto3 has repeated a part of an upload, or its end, as often as it may."""
    site, script = stage.job.job.build["site"], stage.job.job.script
    cause = f"An error occurred (InternalError) when calling the {operation} operation (reached max retries: 4)"
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(script, 118, "save_checkpoint", "s3.upload_file(path, bucket, key)"),
        sdk.Frame(f"{site}/boto3/s3/inject.py", 145, "upload_file", "return transfer.upload_file(", True),
        sdk.Frame(f"{site}/boto3/s3/transfer.py", 378, "upload_file", "raise S3UploadFailedError("),
    )
    where = f"/dev/shm/{key.rsplit('/', 1)[-1]} to checkpoints/{key}"
    failed = f"boto3.exceptions.S3UploadFailedError: Failed to upload {where}: {cause}: {text}"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, failed)))


def ingress_refused(stage: Stage, at: int, host: str, path: str, size: int) -> str:
    """The traceback of a PUT that never comes through an ingress; it answers in HTML."""
    job, url = stage.job.job, f"http://{host}{path}?provider=ais"
    reason = "Request Entity Too Large"
    page = f"<html>\r\n<head><title>413 {reason}</title></head>\r\n<body>\r\n<center><h1>413 {reason}</h1></center>"
    body = f"{page}\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>".replace("\r", "")
    stage.job.note(at - 900_000_000, 0, f"PUT {url} ({size} bytes)", "W", 119)
    error = "aistore.sdk.errors.AISError: " + sdk.request_error(413, body, url)
    return sdk.http_failure(job, 413, reason, url, error, saving_frames(stage))


def waits_on_job(stage: Stage, at: int, rank: int, job: str) -> None:
    """The SDK asks whether a job of the cluster is done and says that it waits."""
    head = f"{comma_stamp(at, stage.job.job.zone)} [rank{rank}] INFO aistore.sdk.job"
    stage.job.say(at, rank, f"{head}: Waiting on job '{job}'...")


def job_timed_out(stage: Stage, at: int, rank: int) -> None:
    """The SDK has waited for five minutes."""
    site, script = stage.job.job.build["site"], stage.job.job.script
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 179, "main", "warm_up(client, bucket, epoch)", True),
        sdk.Frame(script, 72, "warm_up", "client.job(job_id).wait()", True),
        sdk.Frame(f"{site}/aistore/sdk/job.py", 119, "wait", 'raise Timeout("job to finish")'),
    )
    text = "aistore.sdk.errors.Timeout: Timed out while waiting for job to finish. "
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
