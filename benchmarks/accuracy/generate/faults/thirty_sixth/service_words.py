"""What ranks print, and do not print, while storage turns their requests down: silent tries, saves, slow reads.

urllib3 repeats an answer of 429 or 5xx five times and prints nothing of it, as in recorded runs; its pauses follow the
client's settings (total=5, back-off 3.0).
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.accuracy.generate.faults.words.requests import object_path
from benchmarks.accuracy.generate.faults.words.turns import over_at
from fixtures.generator import sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import SEC, seconds
from fixtures.generator.stage import Stage

#: When urllib3 asks again after an answer that it repeats on, counted from the first time.
PAUSES_S = (0.0, 0.0, 6.0, 18.0, 42.0, 90.0)


def silent_tries(stage: Stage, at: int, draw: Draw, took_ms: tuple[float, float] = (6, 21)) -> Iterator[int]:
    """When a request is made whose answer is one to repeat on, until urllib3 has enough or the job is over."""
    spent = 0
    for pause in PAUSES_S:
        then = at + seconds(pause) + spent
        if then > over_at(stage) - SEC:
            return
        yield then
        spent += draw.span(*took_ms)


def shard_without_room(stage: Stage, at: int, rank: int, node: Node, path: str, text: str) -> None:
    """A rank puts its shard of a checkpoint, and a target has no room for it; 507 is not repeated on."""
    job = stage.job.job
    url = node.url(0) + path + sdk.query(stage.proxy_of(rank), at)
    body = sdk.answer(node, 507, text, "PUT", path, stage.client(rank), "ErrCapExceeded")
    writer = f"{job.build['site']}/aistore/sdk/obj/object_writer.py"
    caller = (
        sdk.Frame(job.script, 212, "<module>", "main()"),
        sdk.Frame(job.script, 201, "main", "save_sharded(model, optimizer, step)", True),
        sdk.Frame(job.script, 141, "save_sharded", "bucket.object(key).get_writer().put_content(buffer.getvalue())"),
        sdk.Frame(writer, 47, "put_content", "return self._put_data(data=content)", True),
    )
    error = "aistore.sdk.errors.AISError: " + sdk.request_error(507, body, url)
    stage.job.raise_on(at, rank, sdk.http_failure(job, 507, "Insufficient Storage", url, error, caller))


def slow_read(stage: Stage, rank: int, node: Node, name: str, spent_s: float) -> str:
    """What a reader tells of a read that took long: from where, and how long."""
    return f"{node.url(0)}{object_path(stage, rank, name).split('?', 1)[0]} took {spent_s:.1f} s"
