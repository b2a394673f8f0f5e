"""Storage faults of the nineteenth part of ways to the data: certificates, a card, a scanner, a gateway, signatures."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.loaders import over_tls
from benchmarks.accuracy.generate.faults.words.lodgers import asked_of, shard
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.settlers import signed, signed_read_failed
from benchmarks.accuracy.generate.faults.words.travellers import (
    NOT_TRUSTED,
    crawls_in_turns,
    frame_not_read,
    gave_up,
    late,
    s3_of,
    table,
)
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisnights as nights
from fixtures.generator import aisobjects
from fixtures.generator import aisupkeep as upkeep
from fixtures.generator.aislog import Say
from fixtures.generator.model import Expect, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "nineteenth")
STILL = (*RESTARTS, "kalive_hiccup")


def _slow(stage: Stage) -> Expect:
    """A job that crawls for one target, and of which no rank is the one."""
    made = stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "network", "infrastructure"))
    return replace(made, culprit_ranks=None)


@kind(reads=True, hangs=False, uptime=True, lead_s=60.0)
def certificates_of_gateways_expire(stage: Stage) -> Scenario:
    """A renewed certificate was not loaded by any proxy, Rust's client believes none (cert-manager docs; docs/https).

    To convict: Polars says that the certificate of the proxy which it has asked has expired, and all proxies say so of
    their own, minute by minute before and in alerts; targets have another one and are well.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy = stage.draw.child("gateways"), stage.proxy_of(stage.culprit)
    stage.open()
    expired = stage.mark(at - draw.span(900, 4_000), "the certificate of all proxies expires")
    for one in cluster.proxies:
        upkeep.certificate_expires(cluster, one, expired + draw.span(0, 3), at + seconds(45), draw.child(one.node_id))
    for other in readers(stage)[: draw.whole(1, 4)]:
        then, spent = expired + int((at + SEC - expired) * draw.between(0.2, 1)), draw.span(900, 2_400)
        told = gave_up(s3_of(stage, stage.proxy_of(other), table(draw)), spent, (2, 2, 10), NOT_TRUSTED)
        stage.job.note(then, other, f"row groups left out: {told}", "W", 66, "tables")
    told = gave_up(s3_of(stage, proxy, table(draw)), draw.span(900, 2_400), (2, 2, 10), NOT_TRUSTED)
    frame_not_read(stage, at, rank, told)
    leaves(stage, at, rank)
    made = stage.guilty("storage_io", *cluster.proxies, also=("network", "data_loading_stall", "infrastructure"))
    story = "The secret is new since a month; their pods have it mounted as a file of its own, which is never replaced."
    return over_tls(stage, stage.close(story, (made,)))


@kind(reads=True, hangs=False, slurm=True, lead_s=70.0, without=STILL)
def card_of_a_target_has_one_lane(stage: Stage) -> Scenario:
    """A card came up with one lane of PCIe after a reset, and 100 Gb/s are 6 (docs/performance; mlx5, PCIe).

    To convict: steps got slow as reads of one target began to take many seconds each while its disks have time; who
    else assembles batches waits as long for entries, and ranks that say what is slow name that target's address.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("lane")
    stage.open()
    began = stage.mark(at - draw.span(900, 6_000), f"the card of {victim.name} has one lane")
    over, whose = crawls_in_turns(stage, draw.whole(10, 16), (5.0, 13.0))
    nights.serves_late(cluster, victim, began, over + seconds(15), (6_000, 17_000), (60_000, 190_000), draw)
    then = at + draw.span(5_000, 14_000)
    while then < over:
        rate = f"{draw.between(3, 14):.1f} MiB/s"
        stage.job.note(then, whose(then), f"{rate} for {asked_of(stage, victim, shard(draw))}", "W", 77, "shards")
        then += draw.span(15_000, 36_000)
    cancelled_by_hand(stage, over + draw.span(900, 7_000))
    return stage.close(
        "It had been reset for a new firmware, and nobody has looked at what it negotiates.", (_slow(stage),)
    )


@kind(reads=True, hangs=False, slurm=True, lead_s=70.0, without=STILL)
def scanner_looks_at_every_file(stage: Stage) -> Scenario:
    """An agent of security is switched on at a host of storage and reads each file first (kernel docs: fanotify).

    To convict: steps got slow as one target's reads began to take seconds each, of objects of some kilobytes, with its
    processors busy and its disks not; ranks say how long a first byte takes, and name that target's address.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("scanner")
    stage.open()
    began = stage.mark(at - draw.span(900, 7_000), f"a scanner looks at each file that {victim.name} opens")
    over, whose = crawls_in_turns(stage, draw.whole(9, 15), (3.5, 9.0))
    nights.serves_late(cluster, victim, began, over + seconds(15), (3_000, 9_000), (11, 40), draw)
    busy = f"{victim.name} CPU utilization: high [ {draw.whole(victim.cpus * 3 // 4, victim.cpus)} {victim.cpus} ]"
    cluster.say(victim, began + draw.span(3_000, 9_000), Say("W", "common:592", busy))
    then = at + draw.span(4_000, 12_000)
    while then < over:
        said = f"first byte after {late(draw, (3.2, 8.9), began, then)}: {asked_of(stage, victim, utterance(draw))}"
        stage.job.note(then, whose(then), said, "W", 80, "reader")
        then += draw.span(12_000, 29_000)
    cancelled_by_hand(stage, over + draw.span(900, 7_000))
    return stage.close("It is rolled out by percent, and a thirtieth of all hosts is one of storage.", (_slow(stage),))


@kind(reads=True, proxies=2, hosts=2, off_primary=True, min_timeout_s=60, lead_s=60.0, without=STILL)
def gateway_has_no_descriptor_left(stage: Stage) -> Scenario:
    """A proxy has as many files open as it may: who is new waits (Go, net/http; docs/performance).

    To convict: the silent rank said last that it reads a shard by the proxy of its host; that proxy fails to accept
    for want of descriptors from just before on, once a second, and other ranks of its hosts say that it is silent.
    """
    cluster, rank, at, over = stage.cluster, stage.culprit, stage.at, over_at(stage)
    draw, proxy = stage.draw.child("descriptors"), stage.proxy_of(stage.culprit)
    stage.open()
    began = stage.mark(at - draw.span(200, 3_000), f"{proxy.name} has no descriptor left")
    nights.gateway_accepts_nobody(cluster, proxy, began, over + seconds(20), draw)
    reader_note(
        stage,
        at - draw.span(9, 90),
        rank,
        f"pipe:ais get ais://{stage.bucket}/{shard(draw)} - (AIS_ENDPOINT={proxy.url(0)})",
    )
    same = [one for one in readers(stage) if stage.proxy_of(one) is proxy]
    for other in same[: draw.whole(1, 3)]:
        then = at + draw.span(15_000, 40_000)
        stage.job.note(
            then, other, f"stat of {shard(draw)} unanswered by {proxy.url(0)}, size taken from the index", "W", 58
        )
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A collector of metrics opens a connection a second and closes none.",
        (stage.guilty("data_loading_stall", proxy, also=("storage_io", "network", "infrastructure")),),
    )


@kind(reads=True, hangs=False, lead_s=75.0)
def signed_reads_are_passed_on_in_vain(stage: Stage) -> Scenario:
    """Signed reads are passed on to S3 as they are, and targets have no way there any more (docs/s3compat, presigned).

    To convict: the address in the error of requests has the name of an object that a target could not get from S3 for a
    time-out in the same second; so have those of other ranks, on any target, and what is read otherwise is well.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("signed")
    stage.open()
    began = stage.mark(at - seconds(30) - draw.span(4_000, 16_000), "targets have no way to S3")
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, began, 2.0, 90, 700, draw.child("before"))
    far = f"52.92.{draw.whole(16, 250)}.{draw.whole(2, 250)}"

    def fails(then: int) -> str:
        node, name = draw.pick(cluster.targets), utterance(draw, "restricted")
        nights.signed_read_fails(cluster, node, then, name, far)
        return signed(s3_of(stage, node, name), stage.job.begin, draw)

    for other in readers(stage)[: draw.whole(1, 5)]:
        then = began + seconds(30) + int((at - began - seconds(30)) * draw.between(0, 0.97))
        url = fails(then)
        stage.job.note(then + 5 * MS, other, f"500 after 30 s, sample left out: {url.split('?')[0]}", "W", 61, "signed")
    signed_read_failed(stage, at, rank, fails(at - 5 * MS))
    leaves(stage, at, rank)
    made = of_all(stage.guilty("storage_io", stage.victim, also=("network", "data_loading_stall", "infrastructure")))
    return stage.close(
        "A gateway endpoint was removed from the routes of one subnet, which is that of storage.", (made,)
    )
