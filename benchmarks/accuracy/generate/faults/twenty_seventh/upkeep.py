"""Storage faults of the twenty-seventh part of upkeep: gateways, certificates, emptied targets, links, slow writes."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.applicants import (
    msc_gives_up,
    msc_read_again,
    since_text,
    wds_shard,
)
from benchmarks.accuracy.generate.faults.words.enquirers import waits_for
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.loaders import certificate_expired, over_tls
from benchmarks.accuracy.generate.faults.words.requests import exhausted, one_object, retries
from benchmarks.accuracy.generate.faults.words.subscribers import asks_until_the_end, comes_to_an_end
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aismishaps, aisnights, aisoncall, aisrounds, aisupkeep, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_seventh")
WAITS = ("storage_io", "infrastructure")


@kind(reads=True, min_timeout_s=60, lead_s=64.0)
def gateway_has_no_descriptors_left(stage: Stage) -> Scenario:
    """A gateway has as many files open as it may have and accepts nobody (aistore docs, ulimit; minio issues, EMFILE).

    To convict: requests of the rank that all wait for get no answer from its gateway; that gateway prints once a second
    that it cannot accept, "too many open files", from just before to the end.
    """
    cluster, rank, at, over = stage.cluster, stage.culprit, stage.at, over_at(stage)
    draw, proxy = stage.draw.child("no descriptors"), stage.proxy_of(rank)
    stage.open()
    began = stage.mark(at - draw.span(700, 2_400), f"{proxy.name} has no descriptors left")
    aisnights.gateway_accepts_nobody(cluster, proxy, began, over + seconds(15), draw)
    cause = sdk.read_timeout(proxy.address, proxy.ports[0])

    def text() -> str:
        path = f"/v1/objects/{stage.bucket}/{utterance(draw)}?provider=ais"
        return sdk.pool_error(proxy.address, proxy.ports[0], path, cause)

    end = asks_until_the_end(stage, text(), draw)
    for other in [one for one in readers(stage) if stage.proxy_of(one) is proxy][: draw.whole(1, 4)]:
        retries(stage, at + draw.span(300, 6_000), other, draw, 20.02, text(), min(end, over) - 2 * SEC)
    comes_to_an_end(stage, end)
    return stage.close(
        "The unit of a new host had lost its line about limits.",
        (stage.guilty("data_loading_stall", proxy, also=(*WAITS, "network")),),
        until=over + seconds(15),
    )


@kind(reads=True, hangs=False, min_timeout_s=120, lead_s=64.0)
def certificate_of_the_cluster_lapses(stage: Stage) -> Scenario:
    """The certificate of all nodes was not renewed in time (aistore docs/https; cert-manager issues).

    To convict: clients are told that the certificate has expired from the minute on in which every node had counted its
    last minutes down, and says at every tick that it is over.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy = stage.draw.child("lapses"), stage.proxy_of(rank)
    stage.open()
    lapsed = stage.mark(at - draw.span(300, 1_900), "the certificate of the cluster has expired")

    def why() -> str:
        path = f"/v1/objects/{stage.bucket}/{utterance(draw)}?provider=ais"
        return sdk.pool_error(proxy.address, proxy.ports[0], path, certificate_expired())

    text = why()
    over = retries(stage, at, rank, draw, 0.02, text, at + seconds(110), "SSLError")
    for node in cluster.nodes:
        aisupkeep.certificate_expires(cluster, node, lapsed, over + seconds(20), draw.child(node.node_id))
    for other in [one for one in readers(stage) if stage.proxy_of(one) is proxy][: draw.whole(1, 4)]:
        retries(stage, at + draw.span(200, 3_000), other, draw, 0.02, why(), over - SEC, "SSLError")
    exhausted(stage, over, rank, text, "SSLError", one_object(stage))
    leaves(stage, over + 6 * MS, rank)
    made = of_all(stage.guilty("storage_io", stage.victim, also=("infrastructure", "network", "data_loading_stall")))
    closed = stage.close("The renewal had failed for a month, each night.", (made,), until=over + seconds(20))
    return over_tls(stage, closed)


@kind(reads=True, lead_s=66.0, without=(*DISKS, *RESTARTS))
def target_is_emptied_under_a_job(stage: Stage) -> Scenario:
    """An operator decommissions a target while jobs read; all disks are busy for hours (aistore docs/lifecycle_node).

    To convict: the rank that all wait for has waited long for now this, now that target, and so have others, since the
    primary was told to decommission a node; a rebalance runs on all, whose disks have no time left.
    """
    cluster, victim, rank, at, over = stage.cluster, stage.victim, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("emptied")
    stage.open()
    began = stage.mark(at - draw.span(14_000, 24_000), f"{victim.name} is decommissioned")
    aisoncall.scaled_down(cluster, victim, began, over + seconds(25), draw.child("down"))

    def says(spent: float) -> str:
        node = draw.pick(cluster.targets)
        return f"queue empty for {spent:.0f} s, waiting for {node.url(0)}/v1/objects/{stage.bucket}/{wds_shard(draw)}"

    for turn, other in enumerate([rank, *readers(stage)[: draw.whole(2, 4)]]):
        until = over if other == rank else min(over, at + seconds(58))
        waits_for(stage, other, at - draw.span(100, 1_800) - turn * 350 * MS, until, (10_000, 17_000), says)
    stage.hang(at + 250 * MS, rank)
    return stage.close(
        "The host was promised to another team for the afternoon.",
        (of_all(stage.guilty("data_loading_stall", victim, also=WAITS)),),
    )


@kind(reads=True, hangs=False, min_timeout_s=180, lead_s=66.0, without=(*RESTARTS, "kalive_hiccup"))
def link_of_a_target_loses_frames(stage: Stage) -> Scenario:
    """A bad transceiver drops some of all frames; nothing is down and all is slow (ceph-users, one bad port).

    To convict: reads that end in time-outs are all of one target; streams of all its peers to it time out, the primary
    needs a second try to reach it, again and again, and it the primary; its disks are idle.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("frames")
    stage.open()
    began = stage.mark(at - draw.span(16_000, 26_000), f"the link of {victim.name} drops frames")
    why = f"Read timed out, host={victim.address} port={victim.ports[0]}"
    key, then = f"bin/audio_{draw.whole(0, 255):04d}.bin", at
    for attempt in range(1, 6):
        then += seconds(20.02) + seconds(2.0 ** (attempt - 1)) * (attempt > 1) + draw.span(5, 90)
        if attempt < 5:
            msc_read_again(stage, then, rank, key, attempt, why)
    over = then
    aisrounds.loses_frames(cluster, victim, began, over + seconds(25), draw.child("drops"))
    for other in readers(stage)[: draw.whole(1, 3)]:
        own = f"bin/audio_{draw.whole(0, 255):04d}.bin"
        msc_read_again(stage, at + draw.span(20_100, 70_000), other, own, 1, why)
    msc_gives_up(stage, over, rank, key, why)
    leaves(stage, over + 6 * MS, rank)
    return stage.close(
        "Its counter of bad frames had stood at millions since the move.",
        (stage.guilty("data_loading_stall", victim, also=(*WAITS, "network")),),
        until=over + seconds(25),
    )


@kind(culprit=0, min_timeout_s=90, lead_s=62.0, without=DISKS)
def checkpoint_trickles_onto_a_full_cache(stage: Stage) -> Scenario:
    """The write cache of a disk is spent and a checkpoint trickles (forum posts on QLC; NCCL time-out at save).

    To convict: rank 0 sends its checkpoint to one target at some hundred kilobytes a second while all others wait; one
    disk there has no time left with a few small writes, no other does.
    """
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw = stage.draw.child("trickles")
    stage.open()
    began = stage.mark(at - draw.span(2_000, 6_000), f"the write cache of a disk of {victim.name} is spent")
    cluster.last_process(victim).silent_disks.append((victim.disks[0], began, over + seconds(30)))
    aismishaps.writes_crawl(cluster, victim, began, over + seconds(30), draw.child("crawl"))
    path = f"/v1/objects/checkpoints/{stage.job.job.task}/step_{stage.step:06d}/model.safetensors"
    size, rate, then = draw.whole(1_900, 8_800), draw.between(0.3, 0.9), at + draw.span(14_000, 22_000)
    told(stage, at - 50 * MS, 0, "ckpt", f"writing {victim.url(0)}{path}, {size} MB")
    while then < over - SEC:
        sent = rate * (then - at) / SEC + 4
        said = f"{sent:.0f} of {size} MB written after {since_text(at, then)}"
        told(stage, then, 0, "ckpt", said, "WARNING")
        then += draw.span(19_000, 41_000)
    stage.hang(at + 230 * MS, 0)
    return stage.close(
        "It was a drive for desktops that a supplier had sent in place of the one ordered.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "infrastructure", "rank_hang")),),
    )
