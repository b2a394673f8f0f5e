"""What clients of AIStore's S3 side and clients of their own make print when they give up: botocore, s5cmd, streams."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import PYTHON, fetch_frames
from fixtures.generator import sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Node
from fixtures.generator.moment import comma_stamp
from fixtures.generator.stage import Stage


def s3_refused(stage: Stage, at: int, rank: int, code: str, operation: str, text: str, retries: int = 0) -> None:
    """botocore raises what the S3 API of AIStore answers, with its own count of repetitions."""
    site = stage.job.job.build["site"]
    spent = f" (reached max retries: {retries})" if retries else ""
    caller = fetch_frames(
        stage,
        "content = self.s3.get_object(Bucket=self.bucket, Key=name)['Body'].read()",
        sdk.Frame(f"{site}/botocore/client.py", 569, "_api_call", "return self._make_api_call(operation_name, kwargs)"),
        sdk.Frame(
            f"{site}/botocore/client.py", 1023, "_make_api_call", "raise error_class(parsed_response, operation_name)"
        ),
    )
    error = f"botocore.exceptions.ClientError: An error occurred ({code}) when calling the {operation} operation"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, f"{error}{spent}: {text}")))


def s3_upload_unanswered(stage: Stage, at: int, rank: int, url: str) -> None:
    """botocore gives up on a part of an upload that is never answered."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame(stage.job.job.script, 212, "<module>", "main()"),
        sdk.Frame(stage.job.job.script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(stage.job.job.script, 118, "save_checkpoint", "s3.upload_file(path, bucket, key)"),
        sdk.Frame(f"{site}/s3transfer/futures.py", 264, "result", "raise self._exception"),
        sdk.Frame(
            f"{site}/botocore/httpsession.py", 545, "send", "raise ReadTimeoutError(endpoint_url=request.url, error=e)"
        ),
    )
    text = f'botocore.exceptions.ReadTimeoutError: Read timeout on endpoint URL: "{url}"'
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))


def pipe_of_s5cmd_failed(stage: Stage, at: int, rank: int, name: str, text: str) -> None:
    """WebDataset reads a shard through s5cmd, which finds no such key."""
    job, site, url = stage.job, stage.job.job.build["site"], f"s3://{stage.bucket}/{name}"
    job.say(at, rank, f'ERROR "cat {url}": NoSuchKey: {text} status code: 404, request id: , host id: ')
    command, handle = f"s5cmd cat {url}", f"0x7f{stage.draw.child('pipe', rank).token(10, HEX)}"
    said = (
        f"OSError: (\"(('{command}',), {{'shell': True, 'bufsize': 8192}}): exit 1 (read) {{}}\", "
        f"<webdataset.gopen.Pipe object at {handle}>, 'pipe:{command}')"
    )
    inner = (
        sdk.Frame(f"{site}/webdataset/tariterators.py", 218, "tar_file_expander", "for sample in tar_file_iterator("),
        sdk.Frame(f"{PYTHON}/tarfile.py", 469, "_read", "buf = self.fileobj.read(self.bufsize)", True),
        sdk.Frame(f"{site}/webdataset/gopen.py", 111, "wait_for_child", "raise IOError("),
    )
    raised = sdk.Raised(fetch_frames(stage, "sample = next(self.samples)", *inner), said)
    job.raise_on(at + 4_200_000, rank, sdk.traceback(raised))


def put_denied(stage: Stage, at: int, node: Node, path: str, text: str) -> str:
    """The traceback of a PUT that a proxy turns down."""
    job = stage.job.job
    url = f"{node.url(0)}{path}?provider=ais"
    body = sdk.answer(node, 403, text, "PUT", path, stage.client(0), "ErrBucketAccessDenied")
    error = "aistore.sdk.errors.AISError: " + sdk.request_error(403, body, url)
    caller = (
        sdk.Frame(job.script, 212, "<module>", "main()"),
        sdk.Frame(job.script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(job.script, 121, "save_checkpoint", "bucket.object(name).get_writer().put_file(path)", True),
    )
    return sdk.http_failure(job, 403, "Forbidden", url, error, caller)


def batch_refused(stage: Stage, rank: int, status: tuple[int, str], text: str, tcode: str = "") -> str:
    """The traceback of a get-batch that a proxy answers with an error."""
    job, proxy, path = stage.job.job, stage.proxy_of(rank), f"/v1/ml/moss/{stage.bucket}"
    url = sdk.moss_url(proxy.url(0), stage.bucket)
    body = sdk.answer(proxy, status[0], text, "GET", path, stage.client(rank), tcode)
    failure = "aistore.sdk.errors.AISError: " + sdk.request_error(status[0], body, url)
    caller = sdk.main_frames(job, stage.step, *sdk.batch_get_frames(job))
    return sdk.http_failure(job, status[0], status[1], url, failure, caller)


def batch_error(stage: Stage, rank: int, status: tuple[int, str], text: str, tcode: str = "") -> str:
    """The same error in one line, as a loader notes it before it tries again."""
    proxy, path = stage.proxy_of(rank), f"/v1/ml/moss/{stage.bucket}"
    body = sdk.answer(proxy, status[0], text, "GET", path, stage.client(rank), tcode)
    return "AISError: " + sdk.request_error(status[0], body, sdk.moss_url(proxy.url(0), stage.bucket), " ")


def stream_warning(stage: Stage, at: int, rank: int, text: str) -> None:
    """A line of the script's own reader, in the format the script set for it."""
    job = stage.job
    job.say(at, rank, f"{comma_stamp(at, job.job.zone)} [rank{rank}] WARNING reader: {text}")


def stream_stopped(stage: Stage, at: int, rank: int, node: Node) -> None:
    """requests gives up in the middle of an answer: host and port, no address of an object."""
    site = stage.job.job.build["site"]
    inner = (
        sdk.Frame(
            f"{site}/requests/models.py", 822, "generate", "yield from self.raw.stream(chunk_size, decode_content=True)"
        ),
        sdk.Frame(f"{site}/requests/models.py", 829, "generate", "raise ConnectionError(e)"),
    )
    text = f"HTTPConnectionPool(host='{node.address}', port={node.ports[0]}): Read timed out."
    caller = fetch_frames(stage, "for chunk in response.iter_content(1 << 20):", *inner)
    raised = sdk.Raised(caller, f"requests.exceptions.ConnectionError: {text}")
    stage.job.raise_on(at, rank, sdk.traceback(raised))
