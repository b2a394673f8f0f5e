"""What clients print of storage whose operators changed something: batches that may lack less, saves without room.

The answers with 400 and 507 are as in recorded runs.
"""

from __future__ import annotations

from collections.abc import Mapping

from fixtures.generator import sdk
from fixtures.generator.chains import Failed
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage


def steps_before(stage: Stage, most_s: float, least_s: float, many: int, draw: Draw) -> list[int]:
    """Steps that lie some seconds before that of the fault, in order."""
    first, last = (stage.step - int(span / stage.params.step_s) for span in (most_s, least_s))
    return sorted(draw.shuffled(range(max(2, first), max(3, last)))[:many])


def held_up(stage: Stage, waits: Mapping[int, float]) -> dict[int, int]:
    """The job trains up to its fault, and some steps wait for a batch of one rank: when each was asked for.

    Whoever asks for a batch again stands in no collective, so all others wait for it; the fault comes later by that.
    """
    job, first, asked = stage.job, min(waits), {}
    stage.open(until_step=first)
    for step, wait in sorted(waits.items()):
        asked[step] = job.step_at(step) + 40 * MS
        job.delay(step, seconds(wait))
        stage.at += seconds(wait)
    job.train(first, stage.step, slow=waits)
    stage.load(job, job.step_at(first), job.step_at(stage.step))
    return asked


def refused_with(stage: Stage, rank: int, designated: Node, at: int, wid: str, text: str) -> Failed:
    """The designated target has answered a buffered batch with 400 and why."""
    job, xact = stage.job.job, stage.cluster.xact
    xid = xact.xid if xact is not None else "noxid"
    path = f"/v1/ml/moss/{stage.bucket}/{xid}/{wid}/{len(stage.cluster.targets)}"
    url = designated.url(0) + path + sdk.query(stage.proxy_of(rank), at)
    body = sdk.answer(designated, 400, text, "GET", path, stage.client(rank))
    failure = "aistore.sdk.errors.AISError: " + sdk.request_error(400, body, url)
    caller = sdk.main_frames(job, stage.step, *sdk.batch_get_frames(job))
    one_line = "AISError: " + sdk.request_error(400, body, url, " ")
    return Failed(one_line, sdk.http_failure(job, 400, "Bad Request", url, failure, caller))


def put_without_room(stage: Stage, at: int, node: Node, path: str, text: str) -> None:
    """Rank 0 puts a checkpoint by the SDK, and a target has no room for it."""
    job = stage.job.job
    script, site = job.script, job.build["site"]
    url = node.url(0) + path + sdk.query(stage.proxy_of(0), at)
    body = sdk.answer(node, 507, text, "PUT", path, stage.client(0), "ErrCapExceeded")
    caller = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(script, 129, "save_checkpoint", "client.bucket(CKPT).object(name).get_writer().put_content(blob)"),
        sdk.Frame(f"{site}/aistore/sdk/obj/object_writer.py", 47, "put_content", "return self._put_data(data=content)"),
    )
    error = "aistore.sdk.errors.AISError: " + sdk.request_error(507, body, url)
    stage.job.raise_on(at, 0, sdk.http_failure(job, 507, "Insufficient Storage", url, error, caller))
