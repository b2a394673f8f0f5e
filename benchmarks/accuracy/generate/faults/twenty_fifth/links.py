"""Storage faults of the twenty-fifth part of links: a port too slow, a table that is full, frames with errors."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.enquirers import archive_of, fsspec_timed_out, s3_url, waits_for
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, exhausted, object_path, one_object, retries
from benchmarks.accuracy.generate.faults.words.servers import reads_parts, sends_at
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisrifts, aisrounds, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_fifth")
WAITS = ("storage_io", "infrastructure", "network")


@kind(reads=True, min_timeout_s=90, lead_s=70.0, without=DISKS)
def port_came_up_at_a_gigabit(stage: Stage) -> Scenario:
    """A port has negotiated 1 Gbit/s instead of 100 (ceph-users, one slow node; switch logs, speed mismatch).

    To convict: the rank that all wait for reads a shard of one target at a few megabytes a second, others do so too;
    by its counters this target sends less than 120 MB in each second, tick for tick, while others send many times that.
    """
    cluster, victim, rank, at, over = stage.cluster, stage.victim, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("gigabit")
    stage.open()
    began = stage.mark(at - draw.span(12_000, 20_000), f"the port of {victim.name} comes up with 1 Gbit/s")
    others = [one for one in cluster.up(at) if one is not victim]
    reads_parts(cluster, [victim], stage.job.begin, began, draw.child("was"))
    reads_parts(cluster, others, stage.job.begin, over + seconds(15), draw.child("others"))
    sends_at(cluster, victim, began, over + seconds(20), draw.whole(112, 117), draw)
    for turn, other in enumerate([rank, *readers(stage)[: draw.whole(1, 4)]]):
        url, size, rate = (
            s3_url(victim, stage.bucket, archive_of(draw)),
            draw.whole(2_100, 3_900),
            draw.between(1.6, 3.2),
        )
        since = at - draw.span(200, 4_000) - turn * 700 * MS
        until = over if other == rank else min(over, at + seconds(70))

        def so_far(spent: float, url: str = url, size: int = size, rate: float = rate) -> str:
            return f"{url}: {min(size - 9, rate * spent):.0f} of {size} MB after {spent:.0f} s"

        waits_for(stage, other, since, until, (14_000, 19_000), so_far)
    stage.hang(at + 320 * MS, rank)
    return stage.close(
        "A cable with one bent contact, and a switch that is content with what it gets.",
        (stage.guilty("data_loading_stall", victim, also=WAITS),),
    )


@kind(reads=True, hangs=False, min_timeout_s=300, lead_s=65.0)
def connection_table_of_a_host_is_full(stage: Stage) -> Scenario:
    """nf_conntrack drops new connections of a storage host (kubernetes issues on conntrack; RHEL, table full).

    To convict: new connections of several ranks to one target time out, never to another; its peers and it cannot
    dial each other either, while it goes on serving whoever is connected.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("table")
    stage.open()
    began = stage.mark(at - draw.span(6_000, 15_000), f"the connection table of the host of {victim.name} is full")

    def why(who: int) -> str:
        cause = sdk.connect_timeout(victim.address, draw.whole(*HANDLES))
        return sdk.pool_error(victim.address, victim.ports[0], object_path(stage, who, utterance(draw)), cause)

    for other in readers(stage)[: draw.whole(2, 5)]:
        then = began + draw.span(900, 5_000)
        retries(stage, then, other, draw, 3.01, why(other), then + draw.span(5_000, 26_000), "ConnectTimeout")
    own = why(rank)
    over = retries(stage, at, rank, draw, 3.01, own, at + seconds(290), "ConnectTimeout")
    exhausted(stage, over, rank, own, "ConnectTimeout", one_object(stage))
    leaves(stage, over + 3 * MS, rank)
    aisrifts.loses_packets(cluster, victim, began, over + seconds(12), draw)
    return stage.close(
        "Every metric scraper of the site had been told to open a connection of its own for each query.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "infrastructure", "network")),),
        until=over + seconds(12),
    )


@kind(reads=True, hangs=False, min_timeout_s=120, lead_s=65.0, without=("kalive_hiccup", *DISKS))
def optic_of_a_host_has_errors(stage: Stage) -> Scenario:
    """A dirty optic: frames of one host arrive broken (ceph-users, CRC errors on a port; NIC docs).

    To convict: fsspec gives up after a minute, its reader had said of which target; streams of all peers to that target
    end in time-outs, it and the primary miss each other's keepalives now and then, and its reads take ten seconds.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("optic")
    stage.open()
    began, over = stage.mark(at - draw.span(15_000, 24_000), f"frames of {victim.name} are broken"), at + seconds(60.2)
    aisrounds.loses_frames(cluster, victim, began, over + seconds(15), draw)
    url = s3_url(victim, stage.bucket, archive_of(draw))
    blocks = draw.whole(2, 30)
    waits_for(
        stage, rank, at, over, (13_000, 17_000), lambda spent: f"block {blocks} of {url} not here after {spent:.0f} s"
    )
    for other in readers(stage)[: draw.whole(2, 5)]:
        spent, where = draw.between(7, 13), s3_url(victim, stage.bucket, archive_of(draw))
        then = at + draw.span(-1_500, 30_000)
        told(stage, then, other, "reader", f"block {draw.whole(0, 60)} of {where} took {spent:.1f} s", "WARNING")
    fsspec_timed_out(stage, over, rank)
    leaves(stage, over + 2 * MS, rank)
    return stage.close(
        "It had been cleaned with a sleeve.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "infrastructure", "network")),),
        until=over + seconds(15),
    )
