"""What programs print that get objects and batches of AIStore's SDK while a target is not there, and who gets them.

Retries and answers are as in recorded runs; the time-out of dialing and lhotse's line follow urllib3 and lhotse.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.requests import (
    HANDLES,
    exhausted,
    object_path,
    one_object,
    refused_get,
)
from benchmarks.accuracy.generate.faults.words.turns import over_at
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisevents as ev
from fixtures.generator import aisstandstills, sdk
from fixtures.generator.chains import Failed
from fixtures.generator.draw import Draw
from fixtures.generator.model import Expect, Node
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

SDK_TRIES = 7
CONNECT_S = 3.0


def sample_of(draw: Draw) -> str:
    """The name of an object that is read alone."""
    return f"clips/{draw.whole(0, 999):03d}/{draw.whole(0, 99_999_999):08d}.wav"


def noise_of(draw: Draw) -> str:
    """The name of a recording of noise, which is mixed into utterances."""
    return f"noise/musan-{draw.pick(('free', 'music', 'speech'))}-{draw.whole(0, 1_999):04d}.wav"


def in_one_step(stage: Stage, most: int, draw: Draw) -> list[int]:
    """The culprit, and some of the ranks that read in its step; in a small job others that run ahead of it."""
    every = max(1, stage.params.read_every)
    others = readers(stage)
    same = [one for one in others if one % every == stage.culprit % every]
    found = (same or others)[: draw.whole(0 if same else 1, most - 1)]
    return sorted([stage.culprit, *found])


def read_before(stage: Stage, before_s: float) -> tuple[int, int]:
    """A step that begins about this long before the fault, and a rank that reads in it."""
    every = max(1, stage.params.read_every)
    others = readers(stage)
    latest = max(1, stage.step - max(1, round(before_s / stage.params.step_s)))
    for step in range(latest, max(0, latest - every), -1):
        for rank in others:
            if rank % every == step % every:
                return step, rank
    return latest, others[0]


def struck_by(stage: Stage, failure: str, ranks: list[int], node: Node, also: tuple[str, ...]) -> Expect:
    """Guilty storage that fails more ranks than one."""
    return stage.expect(
        failure, also_ok=also, culprit_ranks=tuple(sorted(ranks)), storage_verdict="guilty", ais_nodes=(node.node_id,)
    )


def asks_until_it_is_gone(
    stage: Stage, at: int, rank: int, gone: int, draw: Draw, *, dials: bool = False, longest_s: float = 30.0
) -> None:
    """A rank gets one object of the victim: refused or not connected in each try of the SDK, and a 404 after it left.

    The tries end when the SDK has made all of them, or when the proxy sends the rank to the heir of the object.
    """
    victim, name, over = stage.victim, noise_of(draw), over_at(stage)
    path, raised = object_path(stage, rank, name), "ConnectTimeout" if dials else "ConnectionError"
    spent = seconds(CONNECT_S) + 6 * MS if dials else 4 * MS

    def why() -> str:
        handle = draw.whole(*HANDLES)
        cause = sdk.connect_timeout(victim.address, handle) if dials else sdk.refused(handle)
        return sdk.pool_error(victim.address, victim.ports[0], path, cause)

    then = at + spent
    for turn in range(1, SDK_TRIES):
        room = (over - 5 * SEC - then) / SEC
        wait = round(draw.between(1.0, max(1.1, min(longest_s, 2.0**turn + 0.5, room))), 2)
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, raised, why()))
        asked = then + seconds(wait)
        if asked > gone + 20 * MS:
            _heir_has_none(stage, asked + 6 * MS, rank, name, draw)
            return
        then = asked + spent
    exhausted(stage, then, rank, why(), raised, one_object(stage))


def _heir_has_none(stage: Stage, at: int, rank: int, name: str, draw: Draw) -> None:
    """The target that an object belongs to since the map is new has never had it: 404 at once, and no more tries."""
    heir = draw.pick([one for one in stage.cluster.up(at) if one is not stage.victim])
    missing = aisstandstills.not_here(stage.cluster, heir, at - 3 * MS, name)
    stage.job.raise_on(at, rank, refused_get(stage, at, rank, heir, name, (404, "Not Found"), missing))


def answered_by_assembler(stage: Stage, at: int, node: Node, rank: int, wid: str, text: str, age: int) -> Failed:
    """A buffered batch is answered with 400 by the target that should put it together."""
    job, xact, proxy = stage.job.job, stage.cluster.xact, stage.proxy_of(rank)
    xid = xact.xid if xact is not None else "noxid"
    path = f"/v1/ml/moss/{stage.bucket}/{xid}/{wid}/{len(stage.cluster.membership(at).targets)}"
    url = node.url(0) + path + sdk.query(proxy, at - age)
    body = sdk.answer(node, 400, text, "GET", path, stage.client(rank))
    caller = sdk.main_frames(job, stage.step, *sdk.batch_get_frames(job))
    failure = "aistore.sdk.errors.AISError: " + sdk.request_error(400, body, url)
    one_line = "AISError: " + sdk.request_error(400, body, url, " ")
    return Failed(one_line, sdk.http_failure(job, 400, "Bad Request", url, failure, caller))


def buffered_timed_out(stage: Stage, at: int, node: Node, rank: int, wait_s: float) -> None:
    """The SDK gives a buffered batch up after 20 s; its target finds nobody there as it has put together what it has.

    It has waited as long for the entries of another one, which were then missing.
    """
    cluster, xact = stage.cluster, stage.cluster.xact
    draw = stage.draw.child("buffered", rank, at)
    wid = cluster.wid(stage.proxy_of(rank), draw)
    stage.mark(at - 20 * SEC, f"get-batch {wid} of rank {rank} waits at {node.name}")
    if xact is None:
        return
    path = f"/v1/ml/moss/{stage.bucket}/{xact.xid}/{wid}/{len(cluster.membership(at).targets)}"
    path += sdk.query(stage.proxy_of(rank), at - 20 * SEC)
    text = sdk.pool_error(node.address, node.ports[0], path, sdk.read_timeout(node.address, node.ports[0]))
    stage.job.sdk_warning(at, rank, sdk.retrying(wait_s, "ConnectionError", text))
    later, got, missed = at + draw.span(40, 900), draw.whole(20, 44), draw.whole(2, 5)
    cluster.say(node, later, ev.broken_pipe(xact, node, stage.client(rank)))
    if node.release.control_channel:
        work = ev.Work(wid, 20 * SEC + later - at, got, got * 16_020, 0, missed, missed, streaming=False)
        cluster.say(node, later + MS, ev.bcast_abort(node, xact, ev.BENIGN), ev.work_error(xact, ev.BENIGN, work))
    cluster.count(node, later, getbatch_n=1, err_getbatch_n=1, getbatch_obj_n=got, getbatch_obj_size=got * 16_020)
    cluster.count(node, later, getbatch_rxwait_ns=20 * SEC, getbatch_gfn_n=missed, err_gfn_getbatch_n=missed)
    cluster.count(node, later, err_soft_getbatch_n=missed)


def result_timed_out(stage: Stage, at: int, rank: int, node: Node, index: int) -> None:
    """lhotse waits 20 s for the next member of its stream, and gets that member by itself; it speaks on the root."""
    why = f"HTTPConnectionPool(host='{node.address}', port={node.ports[0]}): Read timed out."
    said = f"Timeout while fetching batch result at index {index}: {why}. Falling back to direct AIStore API call."
    stage.job.sdk_warning(at, rank, said)


def other_assembler(stage: Stage, at: int, draw: Draw) -> Node:
    """A target that is well and puts a batch together."""
    return draw.pick([one for one in stage.cluster.up(at) if one is not stage.victim])


def tried(stage: Stage, at: int, rank: int, failed: Failed, turn: int, most: int) -> None:
    """A try of a batch has failed: told as long as there are more, raised with the last."""
    if turn < most:
        text = f"get-batch failed ({failed.error}), retrying {turn}/{most}"
        stage.job.note(at + 6 * MS, rank, text, "W", 96)
    else:
        stage.job.raise_on(at + 8 * MS, rank, failed.traceback)
