"""From what was asked to a thread that answers it, and from what came of it to an HTTP answer."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import anyio
from anyio import to_thread
from starlette.responses import Response

from aiscorr.errors import AiscorrError, DatabaseBusyError, DatabaseError
from aiscorr.query.formats import json_text
from aiscorr.sandbox.question import LimitError

if TYPE_CHECKING:
    from starlette.requests import Request

    from aiscorr.serve.reader import Reader
    from aiscorr.serve.web.metrics import RunCounts

T = TypeVar("T")
Endpoint = Callable[["Request"], Awaitable[Response]]
#: More readers of the database at a time would only wait for each other.
_READERS = 4
_LIMITS = {"time": 504, "memory": 422, "size": 413, "count": 429, "closed": 503}


class NotFoundError(AiscorrError):
    """What was asked for is not there."""


@dataclass(frozen=True)
class Site:
    """What the answers are made of: the database's reader, the service's ledger and the folder of its reports."""

    reader: Reader
    counts: RunCounts
    reports: str
    say: Callable[[str], None]
    slots: anyio.CapacityLimiter
    query_slots: anyio.CapacityLimiter
    #: Of forms. A form of another site cannot know it; services with one token take each other's.
    secret: bytes

    async def read(self, work: Callable[..., T], *arguments: object, **named: object) -> T:
        """What `work` gives, in a thread: no other request waits for it, but those beyond the readers."""
        return await to_thread.run_sync(partial(work, *arguments, **named), limiter=self.slots)

    async def ask(self, work: Callable[..., T], *arguments: object) -> T:
        """As `read`, for statements, of which the sandbox itself counts how many may run."""
        return await to_thread.run_sync(partial(work, *arguments), limiter=self.query_slots)


def site_of(
    reader: Reader, counts: RunCounts, reports: str, say: Callable[[str], None], at_a_time: int, token: str | None
) -> Site:
    """A site whose threads are bounded."""
    slots = anyio.CapacityLimiter(_READERS), anyio.CapacityLimiter(at_a_time + 4)
    secret = hashlib.sha256(b"form " + token.encode()).digest() if token else secrets.token_bytes(32)
    return Site(reader, counts, reports, say, *slots, secret)


def json_answer(values: object, status: int = 200) -> Response:
    """Values as JSON."""
    return Response(json_text(values) + "\n", status, media_type="application/json")


def error_answer(error: AiscorrError) -> Response:
    """What went wrong, where, and what to try."""
    status = 400
    if isinstance(error, LimitError):
        status = _LIMITS[error.limit]
    elif isinstance(error, NotFoundError):
        status = 404
    elif isinstance(error, DatabaseError | DatabaseBusyError):
        status = 503
    answer = json_answer({"error": error.what, "where": error.where, "try": error.try_this}, status)
    if status in (429, 503):
        answer.headers["Retry-After"] = "1"
    return answer


def answering(
    site: Site, endpoint: Callable[[Site, Request], Awaitable[Response]], refuse: Callable[[AiscorrError], Response]
) -> Endpoint:
    """An endpoint whose errors become answers; a fault of our own is said without what was asked for."""

    async def answered(request: Request) -> Response:
        try:
            return await endpoint(site, request)
        except AiscorrError as error:
            return refuse(error)
        except Exception as error:
            site.say(f"http: {request.method} {request.url.path}: {type(error).__name__}: {error}")
            fault = refuse(AiscorrError("the request failed; the log of the service says why"))
            fault.status_code = 500
            return fault

    return answered


async def body_of(request: Request, most: int) -> bytes:
    """The body of a request. Raises LimitError for one that is longer than it may be."""
    body = bytearray()
    async for block in request.stream():
        body += block
        if len(body) > most:
            raise LimitError("size", f"the request is longer than {most:,} bytes", "a shorter one")
    return bytes(body)


def loaded(body: bytes) -> dict[str, object]:
    """The JSON object of a request. Raises AiscorrError."""
    try:
        values = json.loads(body)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise AiscorrError("the request is no JSON object", where="the body", try_this='{"sql": "select 1"}')
    return values
