"""What a client of AIStore prints while it repeats a request, and when it gives up."""

from __future__ import annotations

from fixtures.generator import sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

#: Addresses of objects as Python prints them, from the least to the greatest.
HANDLES = (0x7F0000000000, 0x7FFFFFFFFFFF)
FETCH = "content = self.bucket.object(name).get_reader().read_all()"


def one_object(stage: Stage) -> tuple[sdk.Frame, ...]:
    """The frame of the program that reads an object as a whole."""
    return (sdk.Frame(stage.job.job.script, 77, "fetch", FETCH, True),)


def exhausted(
    stage: Stage, at: int, rank: int, text: str, kind: str = "ConnectionError", inner: tuple[sdk.Frame, ...] = ()
) -> None:
    """The SDK has no retries left: its error line and the exception; `inner` are the frames if it was no get-batch."""
    job = stage.job.job
    stage.job.sdk_warning(at, rank, "All retries exhausted; request failed", "ERROR")
    caller = sdk.main_frames(job, stage.step, *(inner or sdk.batch_get_frames(job)))
    stage.job.raise_on(at + 2 * MS, rank, sdk.exhausted(job, caller, kind, text))


def retries(
    stage: Stage, at: int, rank: int, draw: Draw, spent_s: float, text: str, limit: int, kind: str = "ConnectionError"
) -> int:
    """Warnings of repeated connection errors, each after `spent_s`, until the limit; the moment of the next one."""
    then = at + seconds(spent_s)
    for attempt in range(6):
        if then >= limit:
            break
        wait = round(draw.between(1.0, min(30.0, 2.0**attempt + 0.5)), 2)
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, kind, text))
        then += seconds(wait) + seconds(spent_s)
    return then


def unanswered(stage: Stage, rank: int, draw: Draw, node: Node, path: str, *, over: int) -> None:
    """Requests of a rank to a node run into the SDK's read time-out of 20 s until it gives up or the job is over."""
    text = sdk.pool_error(node.address, node.ports[0], path, sdk.read_timeout(node.address, node.ports[0]))
    then = retries(stage, stage.at, rank, draw, 20.02, text, over - SEC)
    if then < over - SEC:
        exhausted(stage, then, rank, text)


def batch_unanswered(stage: Stage, then: int, rank: int, designated: Node) -> None:
    """A rank gives up on batches that its designated target does not answer."""
    cause = sdk.read_timeout(designated.address, designated.ports[0])
    path = f"/v1/ml/moss/{stage.bucket}?provider=ais&pid={stage.proxy_of(rank).node_id}"
    exhausted(stage, then, rank, sdk.pool_error(designated.address, designated.ports[0], path, cause))


def object_path(stage: Stage, rank: int, name: str) -> str:
    """What a client asks for when it wants one object and was redirected by its proxy."""
    return f"/v1/objects/{stage.bucket}/{name}?provider=ais&pid={stage.proxy_of(rank).node_id}"


def refused_get(
    stage: Stage, at: int, rank: int, node: Node, name: str, status: tuple[int, str], text: str, tcode: str = ""
) -> str:
    """The traceback of a single GET that a node answers with an error; 404 and 409 have exceptions of their own."""
    job, path = stage.job.job, f"/v1/objects/{stage.bucket}/{name}"
    url = node.url(0) + path + sdk.query(stage.proxy_of(rank), at)
    body = sdk.answer(node, status[0], text, "GET", path, stage.client(rank), tcode)
    error = {404: "ErrObjNotFound", 409: "ErrGETConflict"}.get(status[0], "AISError")
    failure = f"aistore.sdk.errors.{error}: " + sdk.request_error(status[0], body, url)
    read = "content = self.bucket.object(name).get_reader().read_all()"
    inner = sdk.Frame(f"{job.build['site']}/aistore/sdk/obj/object_reader.py", 121, "read_all", "response = self.get()")
    caller = sdk.main_frames(job, stage.step, sdk.Frame(job.script, 77, "fetch", read, True), inner)
    return sdk.http_failure(job, status[0], status[1], url, failure, caller)
