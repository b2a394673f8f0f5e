"""What a job prints whose own loop asks for a batch again, as the jobs of the recorded incidents do.

The line of a try and the texts of the SDK's errors are as recorded; those of 429 and 503 follow the sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fixtures.generator import aisfaults as faults
from fixtures.generator import chains, sdk
from fixtures.generator.aisassemblies import movers_give_up
from fixtures.generator.chains import Failed
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

REASONS = {429: "Too Many Requests", 503: "Service Unavailable"}


def again(stage: Stage, at: int, rank: int, failed: Failed, turn: int, most: int) -> None:
    """A try has failed and there are more."""
    stage.job.note(at, rank, f"get-batch failed ({failed.error}), retrying {turn}/{most}", "W", 96)


def moments(at: int, waits: Iterable[float], draw: Draw) -> Iterator[int]:
    """When the tries of a batch begin: the first at once, each other one after its wait and what the try took."""
    yield at
    for wait in waits:
        at += seconds(wait) + draw.span(4, 14)
        yield at


def client_told(stage: Stage, text: str) -> None:
    """The first rank tells at its start how the job reads."""
    stage.job.note(stage.job.begin - 420 * MS, 0, text, line=49)


def other_targets(stage: Stage, at: int) -> list[Node]:
    """Targets that are up and not the victim."""
    return [one for one in stage.cluster.up(at) if one is not stage.victim]


def short(stage: Stage, at: int, rank: int, draw: Draw, most: int = 6) -> Failed:
    """A try at a target that is well, for want of what the killed victim would send."""
    return chains.cut_off_stream(
        stage, at, draw.pick(other_targets(stage, at)), stage.victim, rank, draw.whole(0, most), 48
    )


def turned_down(stage: Stage, at: int, rank: int, wid: str, status: int, text: str) -> Failed:
    """The proxy hands on with which status a target has turned a batch down."""
    proxy, job = stage.proxy_of(rank), stage.job.job
    path = f"/v1/ml/moss/{stage.bucket}/noxid/{wid}/{len(stage.cluster.membership(at).targets)}"
    asked_from = f"{proxy.address}:{stage.draw.child('asks', wid).whole(32_800, 60_900)}"
    body = sdk.answer(proxy, status, text, "POST", path, asked_from)
    body = body.replace('"caller":""', f'"caller":"{proxy.name}"')
    url = sdk.moss_url(proxy.url(0), stage.bucket)
    failure = "aistore.sdk.errors.AISError: " + sdk.request_error(status, body, url)
    caller = sdk.main_frames(job, stage.step, *sdk.batch_get_frames(job))
    one_line = "AISError: " + sdk.request_error(status, body, url, " ")
    return Failed(one_line, sdk.http_failure(job, status, REASONS[status], url, failure, caller))


def removed_and_back(stage: Stage, died: int) -> int:
    """The killed victim leaves the map half a minute later and is started again as in recorded runs; when it left."""
    cluster, victim = stage.cluster, stage.victim
    draw, before = stage.draw.child("removed and back"), cluster.smap(died)
    peers = draw.whole(1, 2)
    left = faults.leave_smap(cluster, victim, died)
    faults.reconnects(cluster, victim, died, left - seconds(0.4), peers)
    movers_give_up(cluster, victim, left, before, peers)
    back = stage.mark(died + draw.span(43_000, 46_000), f"{victim.name} is started again")
    faults.start_again(cluster, victim, back)
    return left


def stands_in_a_stream(stage: Stage) -> tuple[tuple[str, str, int], ...]:
    """Frames of a rank that reads the next member of a streamed batch, the innermost first."""
    site, python = stage.job.job.build["site"], "/opt/conda/lib/python3.11"
    return (
        ("readinto", f"{python}/socket.py", 718),
        ("_read_next_chunk_size", f"{python}/http/client.py", 512),
        ("read", f"{site}/urllib3/response.py", 961),
        ("read", f"{python}/tarfile.py", 522),
        ("next", f"{python}/tarfile.py", 2636),
        ("extract", f"{site}/aistore/sdk/batch/extractor/tar_stream_extractor.py", 66),
        ("fetch", stage.job.job.script, 61),
        ("next_batch", stage.job.job.script, 94),
    )
