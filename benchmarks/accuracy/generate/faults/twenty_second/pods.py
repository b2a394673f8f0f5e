"""Storage faults of the twenty-second part of pods: killed for memory, drained, restarted at once, evicted."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.requests import (
    HANDLES,
    exhausted,
    object_path,
    one_object,
    refused_get,
    retries,
)
from benchmarks.accuracy.generate.faults.words.subscribers import audio_of, keeps_asking, spread, told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS
from fixtures.generator import aischurn as churn
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisobjects, chains, sdk
from fixtures.generator import aisupkeep as upkeep
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "twenty_second")
BATCHES_END = (*RESTARTS, "second_job")


def handle_of(draw: Draw) -> int:
    """Where a connection lies in memory."""
    return draw.whole(*HANDLES) // 16 * 16


@kind(reads=True, hangs=False, lead_s=115.0, min_timeout_s=120, without=RESTARTS)
def target_killed_for_its_memory_takes_its_objects_along(stage: Stage) -> Scenario:
    """A target is OOM-killed; once it has left the map others are asked for its objects (kubernetes, OOMKilled).

    To convict: the 404 of another target is for an object that the same rank could not get for half a minute, as one
    target refused connections; that one was low on memory, its file ends without a stop, and the primary removes it.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("oom"), audio_of(stage.draw.child("own oom"))
    stage.open()
    died = at - draw.span(300, 2_500)
    disk.memory_pressure(cluster, victim, died - seconds(draw.between(92, 104)), died, "high", draw)
    stage.mark(died, f"{victim.name} is killed for its memory")
    faults.kill(cluster, victim, died)
    gone = faults.leave_smap(cluster, victim, died)
    faults.reconnects(cluster, victim, died, gone, 2)

    def refused(who: int, asked: str) -> str:
        why = sdk.refused(handle_of(draw))
        return sdk.pool_error(victim.address, victim.ports[0], object_path(stage, who, asked), why)

    for then, other in spread(stage, at, gone - seconds(2), (2, 5), draw):
        told(stage, then, other, "WARNING", f"left out: {refused(other, audio_of(draw))}")
    then = keeps_asking(stage, at, gone + 300 * MS, rank, draw, 0.02, refused(rank, name), "ConnectionError")
    other_target = stage.other_target(victim, draw.whole(0, 9))
    text = aisobjects.not_there(cluster, other_target, then - 3 * MS, name)
    stage.job.raise_on(then, rank, refused_get(stage, then, rank, other_target, name, (404, "Not Found"), text))
    leaves(stage, then, rank)
    back = then + draw.span(21_000, 38_000)
    faults.start_again(cluster, victim, back)
    return stage.close(
        "The limit of its container had been set for a host with half as many drives.",
        (stage.guilty("storage_io", victim, also=("infrastructure", "data_loading_stall", "network", "data")),),
        until=back + seconds(25),
    )


@kind(reads=True, hangs=False, lead_s=70.0, without=(*BATCHES_END, *DISKS))
def drained_host_leaves_batches_with_holes(stage: Stage) -> Scenario:
    """A host of storage is drained, rebalance is switched off: its objects are missing in batches (kubectl drain).

    To convict: batches fail at several targets for too many soft errors since one moment; at that moment a target was
    stopped in an orderly way and left the map, nothing was moved, and it does not come back.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("drained")
    stage.open()
    down = stage.mark(at - draw.span(7_000, 16_000), f"SIGTERM {victim.name}, its host is drained")
    faults.terminate(cluster, victim, down)
    for turn, (then, other) in enumerate(spread(stage, down + seconds(1), at - seconds(1), (2, 5), draw)):
        failed = chains.soft_limit(stage, then - 6 * MS, stage.other_target(victim, turn), other)
        told(stage, then, other, "WARNING", f"batch given up, next one: {failed.error}")
    failed = chains.soft_limit(stage, at - 6 * MS, stage.other_target(victim, draw.whole(0, 9)), rank)
    stage.job.raise_on(at, rank, failed.traceback)
    leaves(stage, at, rank)
    return stage.close(
        "Its memory was to be replaced, which takes ten minutes, and so nobody wanted its objects to be moved.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "infrastructure")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, min_timeout_s=120, without=BATCHES_END)
def all_pods_restarted_at_once(stage: Stage) -> Scenario:
    """A changed chart makes the operator delete all pods of the cluster together (kubernetes, helm upgrade; ais-k8s).

    To convict: ranks of all hosts are refused by all proxies since one moment; all targets and proxies have ended with
    `Terminated OK via Signal 15` in the seconds around it, and none has begun again.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("all pods")
    stage.open()
    upkeep.take_all_down(cluster, stage.mark(at - draw.span(2_200, 3_400), "all pods of the cluster are deleted"), draw)

    def refused(who: int) -> str:
        proxy = stage.proxy_of(who)
        path = f"/v1/objects/{stage.bucket}/{audio_of(draw)}?provider=ais"
        return sdk.pool_error(proxy.address, proxy.ports[0], path, sdk.refused(handle_of(draw)))

    own = refused(rank)
    over = retries(stage, at + seconds(5), rank, draw, 0.01, own, at + seconds(90))
    for then, other in spread(stage, at + seconds(5), over, (3, 7), draw):
        keeps_asking(stage, then, over, other, draw, 0.01, refused(other), "ConnectionError")
    exhausted(stage, over, rank, own, "ConnectionError", one_object(stage))
    leaves(stage, over, rank)
    return stage.close(
        "One value had moved to another place in the chart, and so every stateful set was made anew.",
        (of_all(stage.guilty("storage_io", stage.victim, also=("network", "infrastructure", "data_loading_stall"))),),
        until=over + 3 * SEC,
    )


@kind(reads=True, hangs=False, proxies=2, hosts=2, off_primary=True, lead_s=60.0, min_timeout_s=120, without=RESTARTS)
def proxy_evicted_from_a_full_host(stage: Stage) -> Scenario:
    """The kubelet evicts a proxy, and clients keep the address they were given (kubernetes, node-pressure eviction).

    To convict: all ranks that are refused have one endpoint, a proxy whose log ends with `Terminated OK via Signal 15`
    and whom the primary removed at that moment, before the first of them; no rank of another endpoint is refused.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy, job = stage.draw.child("evicted"), stage.proxy_of(stage.culprit), stage.job.job
    stage.open()
    churn.proxy_stops(cluster, proxy, stage.mark(at - draw.span(400, 4_000), f"{proxy.name} is evicted"))

    def refused() -> str:
        path = f"/v1/objects/{stage.bucket}/{audio_of(draw)}?provider=ais"
        return sdk.pool_error(proxy.address, proxy.ports[0], path, sdk.refused(handle_of(draw)))

    own = refused()
    over = retries(stage, at, rank, draw, 0.01, own, at + seconds(95))
    same = [one for one in job.ranks_of(job.node_of(rank)) if one != rank]
    for other in draw.shuffled(same)[: draw.whole(1, 3)]:
        keeps_asking(stage, at + draw.span(10, 900), over, other, draw, 0.01, refused(), "ConnectionError")
    exhausted(stage, over, rank, own, "ConnectionError", one_object(stage))
    leaves(stage, over, rank)
    return stage.close(
        "Its host had filled its own disk with images of containers.",
        (stage.guilty("storage_io", proxy, also=("network", "infrastructure", "data_loading_stall")),),
        until=over + 3 * SEC,
    )
