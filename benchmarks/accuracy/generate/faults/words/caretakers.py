"""What clients print whose storage is upkept badly: shards of a save, buckets that are gone, an ETL that has ended."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import TRIES_S
from benchmarks.accuracy.generate.faults.words.requests import HANDLES
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

ETL = "resample-16k"


def silent_tries(at: int, draw: Draw) -> list[int]:
    """When urllib3 asks that is answered with a status it repeats: six times in a minute and a half, in silence."""
    return [at + seconds(after) + draw.span(1, 9) for after in TRIES_S]


def reader_of(stage: Stage, step: int) -> int:
    """The rank that reads its batch at a step, one of several in a large world."""
    every = max(1, stage.params.read_every)
    who = [one for one in sorted([stage.culprit, *readers(stage)]) if (one - step) % every == 0]
    return who[0] if who else stage.culprit


def shard_not_put(stage: Stage, at: int, rank: int, node: Node, path: str, text: str) -> None:
    """A rank puts its shard of a checkpoint by the SDK, and a target has no room for it."""
    job = stage.job.job
    script, site = job.script, job.build["site"]
    url = node.url(0) + path + sdk.query(stage.proxy_of(rank), at)
    body = sdk.answer(node, 507, text, "PUT", path, stage.client(rank), "ErrCapExceeded")
    caller = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 204, "main", "save_sharded(model, optimizer, step)", True),
        sdk.Frame(script, 141, "save_sharded", "ckpt.object(shard).get_writer().put_file(local)", True),
        sdk.Frame(f"{site}/aistore/sdk/obj/object_writer.py", 66, "put_file", "return self._put_data(data=data)"),
    )
    error = "aistore.sdk.errors.AISError: " + sdk.request_error(507, body, url)
    stage.job.raise_on(at, rank, sdk.http_failure(job, 507, "Insufficient Storage", url, error, caller))


def bucket_not_found(stage: Stage, at: int, rank: int, proxy: Node, text: str) -> None:
    """A get-batch of a bucket that a proxy does not know any more."""
    job, path = stage.job.job, f"/v1/ml/moss/{stage.bucket}"
    url = sdk.moss_url(proxy.url(0), stage.bucket)
    body = sdk.answer(proxy, 404, text, "GET", path, stage.client(rank), "ErrBckNotFound")
    error = "aistore.sdk.errors.ErrBckNotFound: " + sdk.request_error(404, body, url)
    caller = sdk.main_frames(job, stage.step, *sdk.batch_get_frames(job))
    stage.job.raise_on(at, rank, sdk.http_failure(job, 404, "Not Found", url, error, caller))


def gateway_refuses(stage: Stage, proxy: Node, draw: Draw) -> str:
    """Why a rank cannot ask its proxy for a batch: nobody listens there."""
    path = f"/v1/ml/moss/{stage.bucket}?provider=ais"
    return sdk.pool_error(proxy.address, proxy.ports[0], path, sdk.refused(draw.whole(*HANDLES)))


def entry_tried_again(stage: Stage, at: int, rank: int, error: str, turn: int, most: int) -> None:
    """The job's own loop has not got a batch and asks again, as in recorded runs."""
    stage.job.note(at + 8 * MS, rank, f"get-batch failed ({error}), retrying {turn}/{most}", "W", 96)
