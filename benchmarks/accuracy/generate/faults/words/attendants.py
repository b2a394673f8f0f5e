"""What clients print that ask again by themselves: a job's own loop over batches and saves, urllib3 in its silence.

The line of a try and the pauses between tries are as in recorded runs; what urllib3 repeats follows its sources.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.accuracy.generate.faults.words.requests import retries
from benchmarks.accuracy.generate.faults.words.tries import again
from benchmarks.accuracy.generate.faults.words.turns import over_at
from fixtures.generator import sdk
from fixtures.generator.chains import Failed
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

#: The n-th pause of the recorded job's loop is n times as long.
PAUSE_S = 1.5


def asked_in_vain(stage: Stage, rank: int, most: int, draw: Draw, fails: Callable[[int], Failed]) -> int:
    """A rank asks for its batch as often as its loop does and raises what it was told last; the moment of that.

    `fails` writes what the storage says of a try, and gives what the client has of it.
    """
    then = stage.at
    for turn in range(1, most):
        again(stage, then + 8 * MS, rank, fails(then), turn, most)
        then += seconds(PAUSE_S * turn) + draw.span(60, 140)
    stage.job.raise_on(then + 9 * MS, rank, fails(then).traceback)
    return then + 9 * MS


def put_answer(stage: Stage, at: int, node: Node, path: str, text: str) -> str:
    """What the SDK makes, in one line, of an answer of 507 to a checkpoint of rank 0."""
    body = sdk.answer(node, 507, text, "PUT", path, stage.client(0), "ErrCapExceeded")
    return "AISError: " + sdk.request_error(507, body, node.url(0) + path + sdk.query(stage.proxy_of(0), at), " ")


def asked_ahead(stage: Stage, at: int, rank: int, draw: Draw, text: str, kind: str) -> int:
    """A rank that waits in a collective has a thread that asks for its next batch, until the SDK has enough; when.

    Nobody wants that batch before the job is over, so its error is raised nowhere.
    """
    limit = over_at(stage) - 2 * SEC
    then = retries(stage, at, rank, draw, 0.008, text, limit, kind)
    if then < limit:
        stage.job.sdk_warning(then, rank, "All retries exhausted; request failed", "ERROR")
    return then
