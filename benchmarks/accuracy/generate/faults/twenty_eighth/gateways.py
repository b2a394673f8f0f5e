"""Storage faults of the twenty-eighth part of proxies: a crash loop, an old map, a frozen one."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.natives import first_repeat
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, exhausted, object_path, one_object, retries
from benchmarks.accuracy.generate.faults.words.servers import stays_frozen
from benchmarks.accuracy.generate.faults.words.subscribers import asks_until_the_end, comes_to_an_end
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisgates, aismishaps, sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_eighth")
WAITS = ("data_loading_stall", "infrastructure", "network")


def _beside(stage: Stage, proxy: Node) -> list[int]:
    """Ranks of the same proxy that are not the culprit."""
    return [one for one in readers(stage) if stage.proxy_of(one) is proxy]


def _no_connection(stage: Stage, node: Node, draw: Draw) -> str:
    path = f"/v1/objects/{stage.bucket}/{utterance(draw)}?provider=ais"
    return sdk.pool_error(node.address, node.ports[0], path, sdk.refused(draw.whole(*HANDLES)))


@kind(
    reads=True,
    hangs=False,
    min_timeout_s=120,
    proxies=2,
    hosts=2,
    off_primary=True,
    lead_s=64.0,
    without=(*RESTARTS, "kalive_hiccup"),
)
def proxy_pod_crash_loops_under_its_hosts(stage: Stage) -> Scenario:
    """A proxy ends without a word, is started, and ends again, each time later (Kubernetes, CrashLoopBackOff).

    To convict: ranks of the hosts that ask one proxy are refused by it, those of other hosts by nobody; its logs are
    many and short, each begins anew and ends in the middle, and the primary notes that it joins again and again.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy = stage.draw.child("crash loop"), stage.proxy_of(rank)
    stage.open()
    died = stage.mark(at - draw.span(100, 900), f"{proxy.name} crashes")
    up: list[tuple[int, int]] = []
    for pause in (10, 20, 40):
        faults.kill(cluster, proxy, died)
        begun = died + seconds(pause) + draw.span(900, 2_400)
        aisgates.proxy_starts(cluster, proxy, begun, draw.child(pause))
        died = begun + draw.span(3_900, 5_200)
        up.append((begun, died))
    faults.kill(cluster, proxy, died)

    def asks(who: int, since: int, tries: int, text: str) -> int:
        then = since + 20 * MS
        for attempt in range(tries):
            most = min(30.0, 2.0**attempt + 0.5)
            waits = [round(draw.between(1.0, most), 2) for _ in range(60)]
            free = [one for one in waits if not any(a - SEC < then + seconds(one) < b + SEC for a, b in up)] or waits
            stage.job.sdk_warning(then, who, sdk.retrying(free[0], "ConnectionError", text))
            then += seconds(free[0]) + 20 * MS
        return then

    own = _no_connection(stage, proxy, draw)
    over = asks(rank, at, 6, own)
    for other in _beside(stage, proxy)[: draw.whole(1, 4)]:
        asks(other, at + draw.span(40, 700), 3, _no_connection(stage, proxy, draw))
    exhausted(stage, over, rank, own, "ConnectionError", one_object(stage))
    leaves(stage, over + 6 * MS, rank)
    return stage.close(
        "A flag of its new image was misspelt, which it noticed some seconds after its start.",
        (stage.guilty("storage_io", proxy, also=WAITS),),
        until=max(over + seconds(30), died + SEC),
    )


@kind(
    reads=True,
    hangs=False,
    min_timeout_s=120,
    proxies=2,
    hosts=2,
    off_primary=True,
    lead_s=72.0,
    without=(*RESTARTS, "kalive_hiccup"),
)
def proxy_with_an_old_map_sends_readers_to_a_target_that_left(stage: Stage) -> Scenario:
    """A proxy no longer hears of new maps, and a target was scaled in since (aistore, metasync; Kubernetes policies).

    To convict: only ranks of the hosts of one proxy are sent to a target that has left in an orderly way; that proxy
    has not noted the map without it, which all others have, and the primary says that it cannot sync it.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, proxy = stage.draw.child("old map"), stage.proxy_of(rank)
    stage.open()
    gone = at - draw.span(21_000, 38_000)
    stage.mark(gone - seconds(2), f"{proxy.name} does not hear the primary any more")
    faults.terminate(cluster, victim, gone)

    def text(who: int) -> str:
        cause = sdk.connect_timeout(victim.address, draw.whole(*HANDLES))
        return sdk.pool_error(victim.address, victim.ports[0], object_path(stage, who, utterance(draw)), cause)

    own = text(rank)
    over = retries(stage, at, rank, draw, 3.02, own, at + seconds(110))
    for other in _beside(stage, proxy)[: draw.whole(1, 4)]:
        first_repeat(stage, at - draw.span(-4_000, 9_000), other, draw, text(other))
    exhausted(stage, over, rank, own, "ConnectionError", one_object(stage))
    leaves(stage, over + 6 * MS, rank)
    aismishaps.keep_behind(cluster, proxy, gone - seconds(1), over + seconds(25), draw.child("behind"))
    return stage.close(
        "A policy let proxies speak and not be spoken to, on the network for control.",
        (stage.guilty("storage_io", proxy, also=WAITS),),
        until=over + seconds(25),
    )


@kind(
    reads=True,
    min_timeout_s=60,
    proxies=2,
    hosts=2,
    off_primary=True,
    lead_s=64.0,
    without=(*RESTARTS, "kalive_hiccup"),
)
def frozen_gateway_holds_up_the_readers_of_its_hosts(stage: Stage) -> Scenario:
    """A proxy hangs in its kernel, accepts and does not answer (Kubernetes node problems; aistore, keepalive).

    To convict: the rank that all wait for has no answer from its proxy, nor have others of the same; that one's log
    stops in the moment before, without an end, and the primary removes it as it does not answer it either.
    """
    cluster, rank, at, over = stage.cluster, stage.culprit, stage.at, over_at(stage)
    draw, proxy = stage.draw.child("frozen gateway"), stage.proxy_of(rank)
    stage.open()
    hung = stage.mark(at - draw.span(200, 1_600), f"{proxy.name} hangs in its kernel")
    stays_frozen(cluster, proxy, hung)
    faults.leave_smap(cluster, proxy, hung, hung=True)

    def text() -> str:
        path = f"/v1/objects/{stage.bucket}/{utterance(draw)}?provider=ais"
        return sdk.pool_error(proxy.address, proxy.ports[0], path, sdk.read_timeout(proxy.address, proxy.ports[0]))

    end = asks_until_the_end(stage, text(), draw)
    for other in _beside(stage, proxy)[: draw.whole(1, 4)]:
        retries(stage, at + draw.span(200, 7_000), other, draw, 20.02, text(), min(end, over) - 2 * SEC)
    comes_to_an_end(stage, end)
    return stage.close(
        "Its host had run into a bug of a driver, and answered pings.",
        (stage.guilty("data_loading_stall", proxy, also=("storage_io", "infrastructure", "network")),),
        until=over + seconds(15),
    )
