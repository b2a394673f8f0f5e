"""Storage faults of the twenty-sixth part of nodes that are gone: a crash, no power, no gateway, a new chart."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.claimants import mds_endpoint_lost
from benchmarks.accuracy.generate.faults.words.fetchers import falls_back, sequential_failed, tar_stream_timed_out
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.regulars import mds_of
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, exhausted, object_path, one_object, retries
from benchmarks.accuracy.generate.faults.words.stragglers import falls_back_too, refused_until
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator import aismishaps, aisobjects, aisoncall, chains, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_sixth")
WAITS = ("data_loading_stall", "infrastructure", "network")


@kind(reads=True, hangs=False, lead_s=65.0, without=RESTARTS)
def target_crashes_and_stays_down(stage: Stage) -> Scenario:
    """A target's process dies in the middle of an epoch and nothing starts it (aistore issues, SIGSEGV of a target).

    To convict: the batch that fails was to be assembled by a target that no one can dial any more; its log breaks off,
    the streams of its peers broke in that second, and the primary removes it half a minute later.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("stays down")
    stage.open()
    died = stage.mark(at - draw.span(1_500, 4_000), f"{victim.name} crashes")
    faults.kill(cluster, victim, died)
    faults.reconnects(cluster, victim, died, at + seconds(60), 2)
    faults.leave_smap(cluster, victim, died)
    alive = [one for one in cluster.targets if one is not victim]
    for other in readers(stage)[: draw.whole(1, 3)]:
        then = died + draw.span(200, 1_400)
        failed = chains.cut_off_stream(stage, then, draw.pick(alive), victim, other, draw.whole(3, 29), 36)
        stage.job.note(then + 6 * MS, other, f"{failed.error}, read again object by object", "W", 88, "loader")
    gone = chains.dead_designated(stage, at, victim, rank)
    stage.job.raise_on(at + 5 * MS, rank, gone.traceback)
    leaves(stage, at + 7 * MS, rank)
    return stage.close(
        "Its pod had been made by hand, and nobody had given it a policy for restarts.",
        (stage.guilty("storage_io", victim, also=WAITS),),
        until=at + seconds(60),
    )


@kind(reads=True, hangs=False, min_timeout_s=120, lead_s=65.0, without=RESTARTS)
def storage_host_loses_power_in_an_epoch(stage: Stage) -> Scenario:
    """A host is dark at once, no connection is closed (streaming issues, connect timeouts; ceph-users, host down).

    To convict: connections to one address time out until Streaming gives up, for several ranks; peers find no route to
    that target's data port, the primary removes it, its log ends in the middle.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("dark")
    stage.open()
    died = stage.mark(at - draw.span(900, 2_500), f"the host of {victim.name} has lost its power")
    over = at + draw.span(35_000, 35_500)
    peers = [one for one in cluster.up(died) if one is not victim][:3]
    aisobjects.lose_host(cluster, victim, died, over + seconds(20), peers)
    faults.leave_smap(cluster, victim, died, hung=True)
    url = f"{victim.url(0)}/s3/{stage.bucket}/{mds_of(draw)}"
    for attempt in range(1, 3):
        said = f'Connect timeout on endpoint URL: "{url}", retry {attempt} of 2'
        told(stage, at + attempt * draw.span(11_200, 11_900), rank, "shards", said, "WARNING")
    for other in readers(stage)[: draw.whole(1, 4)]:
        own = f"{victim.url(0)}/s3/{stage.bucket}/{mds_of(draw)}"
        then = at + draw.span(2_500, 20_000)
        for attempt in range(1, 3):
            then += draw.span(11_200, 11_900)
            said = f'Connect timeout on endpoint URL: "{own}", retry {attempt} of 2'
            if then < over:
                told(stage, then, other, "shards", said, "WARNING")
    mds_endpoint_lost(stage, over, rank, url)
    leaves(stage, over + 400 * MS, rank)
    return stage.close(
        "An electrician had taken the second feed for the first.",
        (stage.guilty("storage_io", victim, also=WAITS),),
        until=over + seconds(20),
    )


@kind(reads=True, hangs=False, min_timeout_s=300, lead_s=60.0, without=(*RESTARTS, "kalive_hiccup"))
def all_gateways_fail_their_probe(stage: Stage) -> Scenario:
    """kubelet kills every gateway and starts none (ais-k8s, liveness of proxies; lhotse, falls back one by one).

    To convict: lhotse's batch and then its single reads are refused at the address of the gateway, as are others; the
    proxies' logs break off at that moment, targets live on and say that they cannot reach the primary.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("no gateway")
    stage.open()
    died = stage.mark(at - draw.span(1_000, 1_900), "all proxies are killed")
    proxy = stage.proxy_of(rank)

    def why(who: int, path: str) -> str:
        own = stage.proxy_of(who)
        return sdk.pool_error(own.address, own.ports[0], path, sdk.refused(draw.whole(*HANDLES)))

    moss = f"/v1/ml/moss/{stage.bucket}?provider=ais"
    first = retries(stage, at, rank, draw, 0.02, why(rank, moss), at + seconds(130))
    stage.job.sdk_warning(first, rank, "All retries exhausted; request failed", "ERROR")
    falls_back(stage, first + MS, rank, why(rank, moss))
    name = utterance(draw)
    single = f"/v1/objects/{stage.bucket}/"
    path = f"{single}{name}?provider=ais"
    over = retries(stage, first + 2 * MS, rank, draw, 0.02, why(rank, path), first + seconds(130))
    for other in readers(stage)[: draw.whole(2, 5)]:
        texts = why(other, moss), why(other, f"{single}{utterance(draw)}?provider=ais")
        falls_back_too(stage, at + draw.span(100, 4_000), other, draw, 0.02, texts, over)
    sequential_failed(stage, over, rank, name, why(rank, path))
    leaves(stage, over + 4 * MS, rank)
    aisoncall.proxies_lost(cluster, died, over + seconds(15), draw)
    expect = stage.guilty("storage_io", proxy, also=WAITS)
    return stage.close(
        "The probe had a second to be answered in, and there was no fourth try.",
        (expect if len(cluster.proxies) == 1 else of_all(expect),),
        until=over + seconds(15),
    )


@kind(reads=True, hangs=False, min_timeout_s=180, lead_s=60.0, without=RESTARTS)
def chart_upgrade_bounces_the_cluster(stage: Stage) -> Scenario:
    """An upgrade of the chart replaces all pods at once under a running job (ais-k8s issues, helm upgrade).

    To convict: every rank that reads is refused or told 503 by a gateway, and one has had enough: all daemons had taken
    the same signal seconds before, and say that they are ready only after that.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("bounced")
    stage.open()
    down = stage.mark(at - draw.span(7_500, 9_000), "all pods are replaced")
    up, ready = at + draw.span(12_000, 19_000), at + draw.span(131_000, 150_000)
    aismishaps.restart_all(cluster, down, up, ready, draw)
    own = stage.proxy_of(rank)

    def why(who: int, path: str) -> str:
        there, refused = stage.proxy_of(who), sdk.refused(draw.whole(*HANDLES))
        return sdk.pool_error(there.address, there.ports[0], path, refused)

    name = utterance(draw)
    path = f"/v1/objects/{stage.bucket}/{name}?provider=ais"
    asked = refused_until(stage, at, rank, draw, 0.02, why(rank, path), up, up + 6 * SEC, up + 13 * SEC)
    over = asked + seconds(90.1)

    def not_ready(who: int, since: int, request: str, place: str) -> None:
        there = stage.proxy_of(who)
        for after in (0.0, 0.01, 6.02, 18.03, 42.04, 90.05):
            if since + seconds(after) < over:
                refused = ev.http_error(there, "not ready yet", f"GET {request}", f"htrun.go:1636 <- {place}")
                cluster.say(there, since + seconds(after), refused)

    not_ready(rank, asked, f"/v1/objects/{stage.bucket}/{name}", "proxy.go:771")
    moss = f"/v1/ml/moss/{stage.bucket}"
    for other in readers(stage)[: draw.whole(2, 5)]:
        text = why(other, f"{moss}?provider=ais")
        again = refused_until(stage, at, other, draw, 0.02, text, up, asked + 700 * MS, asked + seconds(40))
        not_ready(other, again, moss, "ml.go:53")
    text = sdk.pool_error(own.address, own.ports[0], path, sdk.too_many(503))
    exhausted(stage, over, rank, text, "RetryError", one_object(stage))
    leaves(stage, over + 4 * MS, rank)
    return stage.close(
        "The strategy had been set to Recreate, for a test, in spring.",
        (of_all(stage.guilty("storage_io", own, also=WAITS)),),
        until=max(over, ready) + seconds(20),
    )


@kind(reads=True, hangs=False, lead_s=65.0, without=(*RESTARTS, "kalive_hiccup"))
def target_blocks_in_its_kernel(stage: Stage) -> Scenario:
    """All threads of a target wait in their kernel from one moment on (kernel, hung task; minio issues on drive hangs).

    To convict: streamed batches stop at one target for 20 s, for several ranks; it has not said or counted anything
    since, does not answer the primary, and is removed from the map.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("blocked")
    stage.open()
    stuck = stage.mark(at - draw.span(400, 2_500), f"{victim.name} blocks in its kernel")
    over = at + draw.span(20_010, 20_900)
    faults.stop(cluster, victim, stuck, over + seconds(600))
    faults.leave_smap(cluster, victim, stuck, hung=True)
    cause = sdk.read_timeout(victim.address, victim.ports[0])
    for other in readers(stage)[: draw.whole(1, 4)]:
        text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, other, utterance(draw)), cause)
        then = at + draw.span(-400, 3_000) + seconds(20.02)
        stage.job.sdk_warning(then, other, sdk.retrying(round(draw.between(1, 1.5), 2), "ConnectionError", text))
    tar_stream_timed_out(stage, over, rank, victim)
    leaves(stage, over + 4 * MS, rank)
    return stage.close(
        "A firmware of its disks forgets a queue now and then.",
        (stage.guilty("storage_io", victim, also=WAITS),),
        until=over + seconds(50),
    )
