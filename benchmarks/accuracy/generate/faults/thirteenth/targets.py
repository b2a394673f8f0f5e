"""Storage faults of the thirteenth part that one target has: a slow disk or link, short freezes, a disk lost before."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words.requests import object_path
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand, crawls
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisquiet as quiet
from fixtures.generator import chains, sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirteenth")
#: What a shard read as a whole is large, in MiB.
SHARD_MIB = (2_400, 2_900)


@kind(reads=True, hangs=False, slurm=True, ais_order=410, lead_s=60.0, without=("disk_busy", "mountpath_before"))
def slow_sender_of_all_batches(stage: Stage) -> Scenario:
    """One disk is slow and all others wait for its entries: rxwait grows (aistore docs/monitoring-get-batch)."""
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("sender")
    stage.open()
    began = stage.mark(at - draw.span(7_000, 16_000), f"a disk of {victim.name} becomes slow")
    over = crawls(stage, draw.whole(9, 14), 11.0, 20.5)
    quiet.sends_late(cluster, victim, began, over + seconds(20), draw)
    then = at + seconds(11)
    ranks = [stage.culprit, *readers(stage)[:5]]
    while then < over:
        rank, node = draw.pick(ranks), stage.other_target(victim, draw.whole(0, 99))
        wid = cluster.wid(stage.proxy_of(rank), draw)
        took = f"get-batch {wid} of 36 entries took {draw.between(10.5, 20.4):.1f} s"
        stage.job.note(then, rank, f"{took} ({node.url(0)})", "W", 80)
        then += draw.span(8_000, 27_000)
    cancelled_by_hand(stage, over + draw.span(2_000, 19_000))
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure"))
    return stage.close(
        "The disk answers every read in the end. Nobody is told, and whoever assembles looks slow.",
        (replace(made, culprit_ranks=None),),
    )


def _reads_shards(stage: Stage, nodes: list[Node], at: int, until: int, draw: Draw) -> None:
    """Targets send large shards at the rate they always had."""
    for node in nodes:
        quiet.serves_shards(stage.cluster, node, at, until, (8_000, 13_500), (1, 4), SHARD_MIB, draw)


@kind(reads=True, lead_s=70.0, without=("kalive_hiccup",))
def link_came_up_slow(stage: Stage) -> Scenario:
    """A link comes up with 1 Gb/s where others have 100: no error (aistore docs/performance; ethtool, Speed)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("link"), over_at(stage)
    stage.open()
    began = stage.mark(at - draw.span(9_000, 31_000), f"the link of {victim.name} comes up with 1 Gb/s")
    others = [node for node in cluster.targets if node is not victim]
    _reads_shards(stage, others, stage.job.begin, over + seconds(30), draw.child("others"))
    _reads_shards(stage, [victim], stage.job.begin, began, draw.child("before"))
    then = began + draw.span(19_000, 31_000)
    while then < over + seconds(30):
        size, spent = draw.whole(*SHARD_MIB) << 20, then - began + draw.span(3_000, 9_000)
        cluster.count(victim, then, get_n=1, get_ns_total=spent, get_size=size)
        then += draw.span(19_000, 28_000)
    shard, whole = f"shards/train-{draw.whole(0, 4095):06d}.tar", draw.whole(*SHARD_MIB)
    url = f"{victim.url(0)}/v1/objects/{stage.bucket}/{shard}"
    had, then = draw.whole(30, 90), at + seconds(30)
    while then < over - SEC:
        late = (then - at) / SEC
        stage.job.note(then, rank, f"{url}: {had} of {whole} MiB after {late:.0f} s", "W", 83)
        had, then = had + draw.whole(60, 110), then + seconds(30)
    for turn, other in enumerate(readers(stage)[: draw.whole(2, 4)]):
        noted, size = at + seconds(12 + 9 * turn) + draw.span(1, 4_000), draw.whole(*SHARD_MIB)
        place = f"{victim.url(0)}/v1/objects/{stage.bucket}/shards/train-{draw.whole(0, 4095):06d}.tar"
        if noted < over - SEC:
            stage.job.note(noted, other, f"{place}: {draw.whole(40, 300)} of {size} MiB after 30 s", "W", 83)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A transceiver was changed; the two ends agreed on what both could do at least. Keepalives need little.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network")),),
    )


@kind(reads=True, lead_s=60.0, without=(*RESTARTS, "kalive_hiccup"))
def target_freezes_in_spurts(stage: Stage) -> Scenario:
    """A host stands still for half a minute at a time and is never removed (kernel: soft lockup; aistore issue 316)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("spurts"), over_at(stage)
    stage.open()
    began = stage.mark(at - draw.span(30, 900), f"the host of {victim.name} stands still, again and again")
    for since, back in quiet.freezes(cluster, victim, began, over + seconds(20), draw):
        for who in (rank, *readers(stage)[: draw.whole(0, 2)]):
            asked = max(since, at) + (draw.span(100, 2_000) if who != rank else 0)
            late = asked + seconds(20.02)
            if late < min(back, over - SEC):
                path = object_path(stage, who, utterance(draw))
                cause = sdk.read_timeout(victim.address, victim.ports[0])
                text = sdk.pool_error(victim.address, victim.ports[0], path, cause)
                wait = round(draw.between(1.0, 1.5), 2)
                stage.job.sdk_warning(late, who, sdk.retrying(wait, "ConnectionError", text))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Firmware of the board collects errors of a memory module; meanwhile no processor does anything else.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network")),),
    )


def _tolerates(stage: Stage, at: int, rank: int, count: str, draw: Draw) -> None:
    """A rank goes on without an entry that the victim does not have, as it may some times."""
    designated, name = stage.other_target(stage.victim, draw.whole(0, 99)), utterance(draw)
    failed = chains.missing_entry(stage, at, designated, stage.victim, name)
    said = f"{failed.error.removeprefix('AISBatchLoaderError: ')}, {count} tolerated"
    stage.job.note(at + 6 * MS, rank, said, "W", 92)


@kind(reads=True, hangs=False, uptime=True, lead_s=60.0, without=("mountpath_before", *RESTARTS))
def disk_given_up_last_night(stage: Stage) -> Scenario:
    """A disk was given up in the night and had no copies: alerts are left of it (aistore docs/fshc, disk-fault)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, tolerated = stage.draw.child("last night"), stage.draw.child("tolerated").pick((8, 10, 16))
    until = at + seconds(70)
    stage.mark(quiet.lost_a_disk_before(cluster, victim, until, draw), f"{victim.name} has given a disk up before")
    stage.open()
    first = stage.job.begin + seconds(9)
    lost = sorted(first + int((at - SEC - first) * draw.between(0, 1)) for _ in range(3 * tolerated))
    ranks, seen = [rank, *readers(stage)[:6]], dict.fromkeys(range(stage.params.ranks), 0)
    for then in lost:
        who = draw.pick(ranks)
        if seen[who] < tolerated - 1:
            seen[who] += 1
            _tolerates(stage, then, who, f"{seen[who]} of {tolerated}", draw)
    for late in range(seen[rank] + 1, tolerated + 1):
        _tolerates(stage, at - (tolerated - late + 1) * 31 * MS, rank, f"{late} of {tolerated}", draw)
    designated = stage.other_target(victim, draw.whole(0, 99))
    failed = chains.missing_entry(stage, at, designated, victim, utterance(draw))
    stage.job.raise_on(at + 8 * MS, rank, failed.traceback)
    exits(stage, at + 8 * MS, rank)
    return stage.close(
        "The bucket has no mirror; what was on the disk is to be uploaded again, and a ticket says so.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )
