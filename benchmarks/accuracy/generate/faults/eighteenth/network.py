"""Storage faults of the eighteenth part of links, frozen hosts and proxies, as clients and batches tell of them."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.doorways import assembly_failed
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.lodgers import (
    NO_SERVER,
    asked_of,
    asked_of_proxy,
    connector_stalled,
    curl_failed,
    head_refused,
    host_not_reached,
    shard,
    socket_timed_out,
)
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.pipelines import disconnected
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisgates as gates
from fixtures.generator import aisrounds as rounds
from fixtures.generator import aisstrain as strain
from fixtures.generator import aisupkeep as upkeep
from fixtures.generator import aisyearly as yearly
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "eighteenth")
STILL = (*RESTARTS, "kalive_hiccup")


@kind(reads=True, hangs=False, min_timeout_s=60, lead_s=70.0, without=STILL)
def cable_of_one_target_loses_frames(stage: Stage) -> Scenario:
    """A cable is bad, one target's reads crawl, aiohttp's patience ends (aiohttp docs, timeouts; docs/performance).

    To convict: ranks of several hosts tell of reads from one address that go on by drops, all peers of that target have
    time-outs of their streams to it, and the primary reaches it at the second try only.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("cable"), stage.at + seconds(30.0)
    stage.open()
    began = stage.mark(at - draw.span(19_000, 40_000), f"the link of {victim.name} loses frames")
    rounds.loses_frames(cluster, victim, began, over + seconds(25), draw)
    for turn, other in enumerate(readers(stage)[: draw.whole(2, 6)]):
        then = at - seconds(9) + seconds(5.9 * turn) + draw.span(1, 5_000)
        said = f"{draw.between(0.1, 3):.1f} of {draw.whole(9, 60)} MiB in {draw.between(12, 28):.0f} s"
        stage.job.note(then, other, f"{said}: {asked_of(stage, victim, utterance(draw))}", "W", 64, "fetch")
    url = asked_of(stage, victim, utterance(draw))
    stage.job.note(at + seconds(15), rank, f"still waiting for {url}", "W", 61, "fetch")
    socket_timed_out(stage, over, rank)
    leaves(stage, over, rank)
    return stage.close(
        "Its counter of symbol errors had been on a dashboard, under one that nobody opens.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure")),),
    )


@kind(reads=True, ais_order=450, hangs=False, lead_s=70.0, without=STILL)
def entries_of_one_sender_do_not_come(stage: Stage) -> Scenario:
    """A target's data link loses frames, entries of batches do not come in 20 s: 400 (docs/get_batch, max_wait, GFN).

    To convict: the designated target says, in the words of the client's error and with its work item, which entry has
    not come; all targets have time-outs of streams to and from one of them, which therefore is the one.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("entries")
    stage.open()
    began = stage.mark(at - draw.span(26_000, 41_000), f"the data link of {victim.name} loses frames")
    rounds.loses_frames(cluster, victim, began, at + seconds(30), draw)

    def fails(then: int, who: int, skip: int) -> tuple[str, str]:
        node, wid = stage.other_target(victim, skip), cluster.wid(stage.proxy_of(who), draw)
        text = strain.entry_missing(cluster, node, then, wid, draw.whole(3, 44))
        return assembly_failed(stage, who, node, wid, text)

    for turn, other in enumerate(readers(stage)[: draw.whole(1, 4)]):
        then = at - seconds(9) + seconds(2.1 * turn) + draw.span(1, 900)
        said = fails(then, other, draw.whole(0, 50))[0]
        stage.job.note(then + 4 * MS, other, f"get-batch failed ({said}), its samples are taken later", "W", 96)
    stage.job.raise_on(at + 4 * MS, rank, fails(at, rank, draw.whole(0, 50))[1])
    leaves(stage, at + 4 * MS, rank)
    return stage.close(
        "Its data network has a switch of its own, and nobody had measured that.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network", "infrastructure")),),
    )


@kind(reads=True, hangs=False, lead_s=70.0, min_timeout_s=60, without=STILL)
def connector_sees_no_byte(stage: Stage) -> Scenario:
    """A host of storage stands still, a connector gives up after 30 s (aws-c-http; run-ai/runai-model-streamer#154).

    To convict: the connector had no byte for half a minute while a target wrote no line, the primary did not reach that
    target and removed it, and requests of other ranks to its address timed out.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("stands"), stage.at + seconds(31.0)
    stage.open()
    stopped = stage.mark(at - draw.span(900, 6_000), f"the host of {victim.name} stands still")
    back = stopped + draw.span(52_000, 68_000)
    faults.stop(cluster, victim, stopped, back)
    faults.leave_smap(cluster, victim, stopped, hung=True)
    joined = faults.resume(cluster, victim, back)
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))
    for turn, other in enumerate(readers(stage)[: draw.whole(1, 5)]):
        cause = sdk.read_timeout(victim.address, victim.ports[0])
        path = f"/s3/{stage.bucket}/{utterance(draw)}"
        late = at + seconds(20.02) + seconds(1.7 * turn) + draw.span(1, 900)
        said = sdk.pool_error(victim.address, victim.ports[0], path, cause)
        stage.job.note(late, other, f"listing of sizes: {said}, once more", "W", 57, "samples")
    connector_stalled(stage, over, rank)
    leaves(stage, over, rank)
    return stage.close(
        "Its kernel compacts memory for huge pages, and holds every processor for as long as that takes.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network", "infrastructure")),),
        until=joined + seconds(5),
    )


@kind(reads=True, hangs=False, proxies=2, hosts=2, lead_s=60.0, without=STILL)
def gateway_of_a_host_is_gone(stage: Stage) -> Scenario:
    """The proxy that a host has as its endpoint is killed, others are well (webdataset, pipe; docs/ha, proxies).

    To convict: curl cannot connect to the endpoint of its host, a proxy whose log ends without a shutdown at that time
    and which the others miss; ranks of hosts with another endpoint read on.
    """
    cluster, rank, at, proxy = stage.cluster, stage.culprit, stage.at, stage.proxy_of(stage.culprit)
    draw = stage.draw.child("gateway")
    stage.open()
    died = stage.mark(at - draw.span(200, 3_000), f"{proxy.name} is killed")
    primary = cluster.primary(died)
    faults.kill(cluster, proxy, died)
    if primary is proxy:
        heir = next(one for one in cluster.proxies if one is not proxy)
        faults.elect(cluster, proxy, heir, died)
    else:
        faults.leave_smap(cluster, proxy, died)
    words = f"Failed to connect to {proxy.address} port {proxy.ports[0]} after 0 ms: {NO_SERVER}"
    same = [one for one in readers(stage) if stage.proxy_of(one) is proxy]
    for other in same[: draw.whole(1, 3)]:
        then = at + draw.span(1, 600)
        stage.job.say(then, other, f"curl: (7) {words}")
        stage.job.note(then + 5 * MS, other, f"{shard(draw)}: exit 7, asked for again in a minute", "W", 88)
    curl_failed(stage, at, rank, shard(draw), 7, words)
    leaves(stage, at + 5 * MS, rank)
    return stage.close(
        "Its pod was of a class that others may preempt.",
        (stage.guilty("storage_io", proxy, also=("network", "data_loading_stall", "infrastructure")),),
        until=died + seconds(45),
    )


@kind(reads=True, hangs=False, proxies=2, hosts=2, off_primary=True, lead_s=70.0, without=STILL)
def gateway_is_back_and_not_ready(stage: Stage) -> Scenario:
    """A proxy starts anew and answers 503 until it knows its cluster (mosaicml/streaming#759; docs/s3compat).

    To convict: the proxy of that host says `not ready yet` to its requests of S3 as often as boto3 repeats them, right
    behind the head of a new log.
    """
    cluster, rank, at, proxy = stage.cluster, stage.culprit, stage.at, stage.proxy_of(stage.culprit)
    draw = stage.draw.child("not ready")
    stage.open()
    died = stage.mark(at - draw.span(9_000, 13_000), f"{proxy.name} is killed and started again")
    faults.kill(cluster, proxy, died)
    name, over = f"mds/shard.{draw.whole(0, 4095):05d}.mds", at + seconds(1.53)
    joined = gates.proxy_starts(cluster, proxy, at - draw.span(350, 480), draw)
    for after in (0.0, 0.09, 0.34, 0.8, 1.5):
        yearly.turned_away_by_s3(cluster, proxy, at + seconds(after) + draw.span(1, 20), name)
    for other in [one for one in readers(stage) if stage.proxy_of(one) is proxy][: draw.whole(1, 3)]:
        own = f"mds/shard.{draw.whole(0, 4095):05d}.mds"
        then = at + draw.span(90, 1_400)
        yearly.turned_away_by_s3(cluster, proxy, then, own)
        stage.job.note(then + 3 * MS, other, f"{own}: HeadObject 503, one of 5", "W", 118, "download")
    head_refused(stage, over, rank, 503, "Service Unavailable")
    leaves(stage, over, rank)
    return stage.close(
        "It listens before it has heard of its cluster, and a probe that asks for no more lets clients in.",
        (stage.guilty("storage_io", proxy, also=("network", "data_loading_stall", "infrastructure")),),
        until=max(joined, over) + seconds(5),
    )


@kind(reads=True, hangs=False, min_timeout_s=60, lead_s=60.0)
def gateway_swamped_by_heads(stage: Stage) -> Scenario:
    """A crawler asks a proxy for properties of all objects, who connects waits too long (datasets#6172; aiohttp docs).

    To convict: aiohttp names the proxy that it got no connection to, which has alerts of its processors and of more and
    more routines, with hundreds of thousands of HEADs counted.
    """
    cluster, rank, at, proxy = stage.cluster, stage.culprit, stage.at, stage.proxy_of(stage.culprit)
    draw, over = stage.draw.child("heads"), stage.at + seconds(30.0)
    stage.open()
    began = stage.mark(at - draw.span(14_000, 34_000), f"{proxy.name} has far more requests than it can serve")
    upkeep.swamped(cluster, proxy, began, over + seconds(25), draw)
    reader_note(stage, stage.job.begin + 60 * MS, 0, "aiohttp: ClientTimeout(total=None, sock_connect=30)")
    same = [one for one in readers(stage) if stage.proxy_of(one) is proxy]
    for turn, other in enumerate(same[: draw.whole(2, 5)]):
        then = at - seconds(6) + seconds(7.5 * turn) + draw.span(1, 5_000)
        stage.job.note(then, other, f"{draw.between(9, 27):.0f} s to be redirected by {proxy.url(0)}", "W", 66, "fetch")
        disconnected(stage, then + 30 * MS, other, draw.whole(1, 3))
    host_not_reached(stage, over, rank, asked_of_proxy(stage, rank, utterance(draw)))
    leaves(stage, over, rank)
    return stage.close(
        "An inventory of the whole site, written in an afternoon, with a thousand threads.",
        (stage.guilty("data_loading_stall", proxy, also=("storage_io", "network", "infrastructure")),),
    )
