"""What clients print when AIStore cannot do what they want of it: a sort, a promotion, an ETL."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import fetch_frames
from fixtures.generator import sdk
from fixtures.generator.model import Node
from fixtures.generator.moment import comma_stamp
from fixtures.generator.stage import Stage


def promotion_refused(stage: Stage, at: int, node: Node, folder: str, text: str) -> str:
    """The traceback of a folder that the cluster does not take over."""
    job, path = stage.job.job, f"/v1/objects/{stage.bucket}"
    url = f"{node.url(0)}{path}?provider=ais"
    body = sdk.answer(node, 404, text, "POST", path, stage.client(0))
    error = "aistore.sdk.errors.ErrObjNotFound: " + sdk.request_error(404, body, url)
    caller = (
        sdk.Frame(job.script, 212, "<module>", "main()"),
        sdk.Frame(job.script, 168, "main", "take_over(bucket, args.corpus)", True),
        sdk.Frame(job.script, 61, "take_over", f'bucket.object("").promote("{folder}", recursive=True)', True),
        sdk.Frame(
            f"{job.build['site']}/aistore/sdk/obj/object.py", 402, "promote", "return self.bucket_client.request("
        ),
    )
    return sdk.http_failure(job, 404, "Not Found", url, error, caller)


def transformer_refused(stage: Stage, at: int, node: Node, etl: str, text: str) -> str:
    """The traceback of a transformer that does not come to life."""
    job, path = stage.job.job, "/v1/etl"
    url = f"{node.url(0)}{path}"
    body = sdk.answer(node, 500, text, "PUT", path, stage.client(0), "ErrETL")
    error = "aistore.sdk.errors.AISError: " + sdk.request_error(500, body, url)
    caller = (
        sdk.Frame(job.script, 212, "<module>", "main()"),
        sdk.Frame(job.script, 166, "main", "prepare_etl(client)", True),
        sdk.Frame(job.script, 58, "prepare_etl", f'client.etl("{etl}").init_spec(template=SPEC, timeout="45s")', True),
        sdk.Frame(f"{job.build['site']}/aistore/sdk/etl/etl.py", 118, "init_spec", "resp = self._client.request("),
    )
    return sdk.http_failure(job, 500, "Internal Server Error", url, error, caller)


def sort_note(stage: Stage, at: int, text: str) -> None:
    """A line of the SDK while rank 0 waits for a sort."""
    head = f"{comma_stamp(at, stage.job.job.zone)} [rank0] INFO aistore.sdk.dsort.core.wait"
    stage.job.say(at, 0, f"{head}: {text}")


def redirected(stage: Stage, at: int, rank: int, name: str, by_arrow: bool) -> None:
    """A client of S3 that follows no redirect is sent on by a proxy."""
    site = stage.job.job.build["site"]
    if by_arrow:
        frames = fetch_frames(
            stage,
            'table = pq.read_table(f"{self.bucket}/{name}", filesystem=self.fs)',
            sdk.Frame(f"{site}/pyarrow/parquet/core.py", 1793, "read_table", "dataset = ParquetDataset("),
            sdk.Frame("pyarrow/error.pxi", 92, "pyarrow.lib.check_status", "raise convert_status(status)"),
        )
        asked = f"When getting information for key '{name}' in bucket '{stage.bucket}'"
        told = "AWS Error UNKNOWN (HTTP status 307) during HeadObject operation: No response body."
        text = f"OSError: {asked}: {told}"
    else:
        frames = fetch_frames(
            stage,
            "content = self.s3.get_object(Bucket=self.bucket, Key=name)['Body'].read()",
            sdk.Frame(
                f"{site}/botocore/client.py", 569, "_api_call", "return self._make_api_call(operation_name, kwargs)"
            ),
            sdk.Frame(
                f"{site}/botocore/client.py",
                1023,
                "_make_api_call",
                "raise error_class(parsed_response, operation_name)",
            ),
        )
        told = "An error occurred (307) when calling the GetObject operation: Temporary Redirect"
        text = f"botocore.exceptions.ClientError: {told}"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
