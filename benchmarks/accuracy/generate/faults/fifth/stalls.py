"""Storage faults of the fifth part that say little: a link, a rebalance, jobs, addresses, a crawler."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.loaders import dataset_frames, in_worker
from benchmarks.accuracy.generate.faults.words.requests import FETCH, HANDLES, exhausted, object_path, unanswered
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisupkeep as upkeep
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "fifth")


@kind(reads=True)
def link_comes_and_goes(stage: Stage) -> Scenario:
    """The link of a target is lost for some seconds and comes back, for minutes: never long enough to be removed."""
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("flaps")
    stage.open()
    began = stage.mark(at - seconds(1.2), f"the link of {victim.name} begins to flap")
    over = at + seconds(stage.params.timeout_s)
    lost = upkeep.link_flaps(stage.cluster, victim, began, min(over + seconds(15), at + seconds(170)), draw)
    path, then = object_path(stage, rank, f"shards/train-{draw.whole(0, 4095):06d}.tar"), at
    for attempt in range(7):
        is_lost = any(begin <= then < back for begin, back in lost)
        name = "ConnectTimeout" if is_lost else "ConnectionError"
        cause = sdk.read_timeout(victim.address, victim.ports[0])
        if is_lost:
            cause = sdk.connect_timeout(victim.address, draw.whole(*HANDLES))
        then += seconds(3.01) if is_lost else seconds(20.02) + draw.span(40, 2_100)
        text = sdk.pool_error(victim.address, victim.ports[0], path, cause)
        if then >= over - SEC:
            break
        if attempt == 6:
            exhausted(stage, then, rank, text, name, (sdk.Frame(stage.job.job.script, 77, "fetch", FETCH, True),))
            break
        wait = round(draw.between(1.0, min(30.0, 2.0**attempt + 0.5)), 2)
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, name, text))
        then += seconds(wait)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A transceiver gets too hot. Keepalive asks again in time, a large object never comes to its end.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network")),),
    )


@kind(reads=True)
def rebalance_at_noon(stage: Stage) -> Scenario:
    """An operator starts a rebalance that has hours of work; reads of single objects take longer than clients wait."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("noon")
    stage.open()
    began = stage.mark(at - draw.span(22_000, 34_000), "an operator starts a rebalance with hours of work")
    over = at + seconds(stage.params.timeout_s)
    upkeep.rebalance_at_length(cluster, began, min(over + seconds(40), at + seconds(300)), draw)
    cluster.start_batches(began + seconds(3.1), cluster.target(draw.whole(0, 99)))
    for other in readers(stage)[:2]:
        node, late = cluster.target(draw.whole(0, 99)), at + draw.span(20_050, 29_000)
        cause = sdk.read_timeout(node.address, node.ports[0])
        text = sdk.pool_error(node.address, node.ports[0], object_path(stage, other, utterance(draw)), cause)
        if late < over - SEC:
            stage.job.sdk_warning(late, other, sdk.retrying(1.1, "ConnectionError", text))
    then, node = at + seconds(20.02), cluster.target(draw.whole(0, 99))
    cause = sdk.read_timeout(node.address, node.ports[0])
    text = sdk.pool_error(node.address, node.ports[0], object_path(stage, rank, utterance(draw)), cause)
    for attempt in range(7):
        if then >= over - SEC:
            break
        if attempt == 6:
            error = "requests.exceptions.ConnectionError"
            in_worker(stage, then + 3 * MS, rank, error, text, dataset_frames(stage))
            break
        wait = round(draw.between(1.0, min(30.0, 2.0**attempt + 0.5)), 2)
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", text))
        then += seconds(wait) + seconds(20.02)
    stage.hang(at + 350 * MS, rank)
    made = replace(stage.guilty("data_loading_stall", stage.victim, also=("storage_io",)), ais_nodes=None)
    return stage.close("Two targets were added weeks ago; at noon somebody remembers to rebalance.", (made,))


@kind(reads=True)
def jobs_stopped(stage: Stage) -> Scenario:
    """An operator's script stops all jobs of the cluster every few seconds: batches end early, again and again."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("stopped")
    stage.open()
    began = stage.mark(at - seconds(2.4), "a script begins to stop all jobs of the cluster")
    upkeep.stop_batches(cluster, began)
    cluster.start_batches(began + draw.span(300, 700), cluster.target(draw.whole(0, 99)))
    for other in readers(stage)[:2]:
        error, _ = sdk.short_batch(stage.job.job, stage.step, draw.whole(3, 40), 48)
        told = began + draw.span(4, 30)
        stage.job.note(told, other, f"get-batch failed ({error}), retrying 1/2", "W", 96)
    then = at
    for attempt in range(3):
        designated, got = cluster.target(draw.whole(0, 99)), draw.whole(2, 30)
        xact, wid = cluster.xact, cluster.wid(stage.proxy_of(rank), draw)
        upkeep.stop_batches(cluster, then)
        if xact is not None and designated.release.control_channel:
            work = ev.Work(wid, draw.span(40, 900), got, got * 17_160)
            said = ev.bcast_abort(designated, xact, ev.BENIGN), ev.work_error(xact, ev.BENIGN, work)
            cluster.say(designated, then + draw.span(5.1, 6.8), *said)
        size = got * 17_160
        cluster.count(designated, then, getbatch_n=1, getbatch_obj_n=got, getbatch_obj_size=size, err_getbatch_n=1)
        error, raised = sdk.short_batch(stage.job.job, stage.step, got, 48)
        if attempt == 2:
            stage.job.raise_on(then + 9 * MS, rank, raised)
            break
        stage.job.note(then + 8 * MS, rank, f"get-batch failed ({error}), retrying {attempt + 1}/2", "W", 96)
        cluster.start_batches(then + draw.span(300, 700), cluster.target(draw.whole(0, 99)))
        then += draw.span(2_100, 4_800)
    stage.hang(at + 340 * MS, rank)
    made = replace(stage.guilty("storage_io", stage.victim, also=("data_loading_stall",)), ais_nodes=None)
    return stage.close("Before maintenance, a script is to stop a copy job; it stops whatever runs.", (made,))


@kind(reads=True, lead_s=140.0, without=("restart_before", "rotation"))
def address_of_the_pod(stage: Stage) -> Scenario:
    """A target comes back and announces the address of its pod, which no client can reach; its peers can."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("address")
    stage.open()
    down = stage.mark(at - seconds(draw.between(82, 97)), f"SIGTERM {victim.name}")
    faults.terminate(cluster, victim, down)
    up = stage.mark(down + draw.span(7_000, 12_000), f"{victim.name} is started again with another public address")
    joined = faults.start_again(cluster, victim, up)
    address = f"10.244.{draw.whole(3, 60)}.{draw.whole(2, 250)}"
    upkeep.announce(cluster, victim, address)
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))
    moss = f"/v1/ml/moss/{stage.bucket}?provider=ais"
    for turn, other in enumerate(readers(stage)[:4]):
        late = at - seconds(41) + seconds(9.7 * turn) + draw.span(10, 5_000)
        text = sdk.pool_error(address, victim.ports[0], moss, sdk.connect_timeout(address, draw.whole(*HANDLES)))
        stage.job.sdk_warning(late, other, sdk.retrying(1.2, "ConnectTimeout", text))
    path, then = object_path(stage, rank, utterance(draw)), at + seconds(3.01)
    limit = min(at + seconds(stage.params.timeout_s - 8), at + seconds(48))
    for attempt in range(6):
        text = sdk.pool_error(address, victim.ports[0], path, sdk.connect_timeout(address, draw.whole(*HANDLES)))
        if then >= limit:
            break
        wait = round(draw.between(1.0, min(30.0, 2.0**attempt + 0.5)), 2)
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectTimeout", text))
        then += seconds(wait) + seconds(3.01)
    inner = (sdk.Frame(stage.job.job.script, 77, "fetch", FETCH, True),)
    exhausted(stage, then, rank, text, "ConnectTimeout", inner)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A chart was changed: the service of one target has no address outside the storage cluster any more.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network")),),
    )


@kind(reads=True, proxies=2)
def endpoint_swamped(stage: Stage) -> Scenario:
    """Another tenant asks the proxy of a host for millions of objects' properties: whoever uses it waits too long."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy = stage.draw.child("swamped"), stage.proxy_of(stage.culprit)
    stage.open()
    began = stage.mark(at - draw.span(16_000, 29_000), f"{proxy.name} is swamped with requests of another tenant")
    over = at + seconds(stage.params.timeout_s)
    upkeep.swamped(cluster, proxy, began, min(over + seconds(25), at + seconds(240)), draw)
    path = f"/v1/ml/moss/{stage.bucket}?provider=ais"
    for other in [one for one in readers(stage) if stage.proxy_of(one) is proxy][:2]:
        late = at + draw.span(20_050, 26_000)
        text = sdk.pool_error(proxy.address, proxy.ports[0], path, sdk.read_timeout(proxy.address, proxy.ports[0]))
        if late < over - SEC:
            stage.job.sdk_warning(late, other, sdk.retrying(1.3, "ConnectionError", text))
    unanswered(stage, rank, draw, proxy, path, over=over)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A crawler checks every object of a bucket, without a pause, through one proxy.",
        (stage.guilty("data_loading_stall", proxy, also=("storage_io",)),),
    )
