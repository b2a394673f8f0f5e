"""What a job prints that asks for its batches in a loop of its own, while operators of the storage are at work.

The line of a try is as in recorded runs, answers with 403 and 404 follow the sources of the SDK.
"""

from __future__ import annotations

from fixtures.generator import sdk
from fixtures.generator.chains import Failed
from fixtures.generator.model import Node
from fixtures.generator.stage import Stage

REASONS = {403: "Forbidden", 404: "Not Found"}


def tried(stage: Stage, at: int, rank: int, failed: Failed, turn: int, most: int) -> None:
    """A try of a batch has failed, and another one follows."""
    stage.job.note(at, rank, f"get-batch failed ({failed.error}), retrying {turn}/{most}", "W", 96)


def answered_by_proxy(stage: Stage, rank: int, proxy: Node, status: int, kind: str, text: str, tcode: str) -> Failed:
    """A proxy answers a get-batch itself and hands it to no target."""
    job, path = stage.job.job, f"/v1/ml/moss/{stage.bucket}"
    url = sdk.moss_url(proxy.url(0), stage.bucket)
    body = sdk.answer(proxy, status, text, "GET", path, stage.client(rank), tcode)
    caller = sdk.main_frames(job, stage.step, *sdk.batch_get_frames(job))
    failure = f"aistore.sdk.errors.{kind}: " + sdk.request_error(status, body, url)
    one_line = f"{kind}: " + sdk.request_error(status, body, url, " ")
    return Failed(one_line, sdk.http_failure(job, status, REASONS[status], url, failure, caller))
