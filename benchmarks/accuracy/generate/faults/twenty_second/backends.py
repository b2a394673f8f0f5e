"""Storage faults of the twenty-second part of clouds behind AIStore: keys, gateways, broken answers, a wrong clock."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import resumed_too_often
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.loaders import broken_off
from benchmarks.accuracy.generate.faults.words.regulars import tar_of
from benchmarks.accuracy.generate.faults.words.requests import object_path, refused_get
from benchmarks.accuracy.generate.faults.words.subscribers import (
    asks_until_the_end,
    audio_of,
    comes_to_an_end,
    keeps_asking,
    spread,
    told,
)
from benchmarks.accuracy.generate.faults.words.turns import of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisdesk as desk
from fixtures.generator import aisrounds as rounds
from fixtures.generator import aistickets as tickets
from fixtures.generator import aisupkeep as upkeep
from fixtures.generator import sdk
from fixtures.generator.aisbehind import cold_failed
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "twenty_second")
NO_KEY = (
    "aws-error[AccessDenied: The ciphertext refers to a customer master key that does not exist, does not exist in "
    "this region, or you are not allowed to access.]"
)
SKEWED = "aws-error[RequestTimeTooSkewed: The difference between the request time and the current time is too large.]"
BEHIND = ("network", "infrastructure", "data", "data_loading_stall")


@kind(reads=True, hangs=False, lead_s=65.0)
def key_of_the_bucket_is_disabled(stage: Stage) -> Scenario:
    """The KMS key of a bucket on S3 is disabled: all cold reads are forbidden (aws docs, AccessDenied by KMS; re:Post).

    To convict: the 403 in the SDK's error was written by a target that had this answer from the cloud for this object;
    targets have it of every object that they do not hold, since one moment, and nothing else of them is amiss.
    """
    cluster, rank, at, node = stage.cluster, stage.culprit, stage.at, stage.victim
    draw = stage.draw.child("key")
    stage.open()
    tickets.reworded(cluster, "backends: []", "backends: [aws]")
    began = stage.mark(at - draw.span(5_000, 21_000), "the key of the bucket behind is disabled")
    rounds.reads_cold(cluster, stage.job.begin + seconds(2), began - seconds(1), 1.2, (60, 300), (1, 4), draw)
    for then, other in spread(stage, began, at, (2, 6), draw):
        name, asked = audio_of(draw), draw.pick(cluster.targets)
        cold_failed(cluster, asked, then - 5 * MS, name, NO_KEY, 403)
        told(stage, then, other, "WARNING", f"{name}: 403 by {asked.name}, going on without it")
    name = audio_of(draw)
    cold_failed(cluster, node, at - 5 * MS, name, NO_KEY, 403)
    stage.job.raise_on(at, rank, refused_get(stage, at, rank, node, name, (403, "Forbidden"), NO_KEY))
    leaves(stage, at, rank)
    return stage.close(
        "An audit had found a key that nobody seemed to own.",
        (of_all(stage.guilty("storage_io", node, also=BEHIND)),),
        until=at + 4 * SEC,
    )


@kind(reads=True, lead_s=65.0, min_timeout_s=180)
def gateway_to_the_cloud_drops_new_connections(stage: Stage) -> Scenario:
    """A NAT gateway has no ports left, cold reads wait for connections (aws docs, ErrorPortAllocation; Go, dial).

    To convict: ranks run into read time-outs at all targets, for objects of which these targets say one and a half
    minutes after they were asked that they could not connect to S3 (`dial tcp …:443: i/o timeout`, three attempts).
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, victim = stage.draw.child("gateway"), stage.victim
    stage.open()
    tickets.reworded(cluster, "backends: []", "backends: [aws]")
    began = stage.mark(at - draw.span(300, 3_000), "the gateway to the cloud drops new connections")
    rounds.reads_cold(cluster, stage.job.begin + seconds(2), began - SEC, 0.9, (60, 300), (1, 4), draw)
    far = f"52.92.{draw.whole(16, 250)}.{draw.whole(2, 250)}"

    def late(then: int, who: int, node_at: int, name: str) -> str:
        node = cluster.target(node_at)
        desk.cloud_not_reached(cluster, node, then + seconds(70) + draw.span(900, 5_200), name, far)
        cause = sdk.read_timeout(node.address, node.ports[0])
        return sdk.pool_error(node.address, node.ports[0], object_path(stage, who, name), cause)

    end = asks_until_the_end(stage, late(at + seconds(20), rank, stage.params.victim, audio_of(draw)), draw)
    for then, other in spread(stage, at + seconds(21), end - seconds(77), (3, 7), draw):
        text = late(then, other, draw.whole(0, 99), audio_of(draw))
        keeps_asking(stage, then - seconds(20.02), end, other, draw, 20.02, text, "ConnectionError")
    comes_to_an_end(stage, end)
    return stage.close(
        "A job of another team had begun to crawl the web through it.",
        (of_all(stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure"))),),
    )


@kind(reads=True, hangs=False, lead_s=65.0, min_timeout_s=180)
def cloud_breaks_off_large_shards(stage: Stage) -> Scenario:
    """The store behind closes connections in the middle of large shards (go, connection reset; aistore, cold GET).

    To convict: a reader resumes one shard five times after broken answers, and has enough; at each of these moments a
    target says that its cold read of this shard was reset by the store behind. Others meet that with other shards.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, shard = stage.draw.child("breaks"), tar_of(stage.draw.child("own shard breaks"))
    stage.open()
    tickets.reworded(cluster, "backends: []", "backends: [aws]")
    began = stage.mark(at - draw.span(1_000, 9_000), "the store behind breaks off large answers")
    rounds.reads_cold(cluster, stage.job.begin + seconds(2), began - SEC, 1.4, (900, 2_800), (180, 420), draw)
    size, got, then = draw.whole(190, 410) << 20, 0, at
    for attempt in range(1, 6):
        then += draw.span(2_100, 5_900)
        got = draw.whole(8, 120) << 20
        upkeep.cold_read_breaks(cluster, victim, then - 4 * MS, shard, draw)
        broken_off(stage, then, rank, shard, attempt, got, size - got)
    for between, other in spread(stage, at, then, (2, 4), draw):
        name, half = tar_of(draw), draw.whole(8, 120) << 20
        upkeep.cold_read_breaks(cluster, draw.pick(cluster.targets), between - 4 * MS, name, draw)
        broken_off(stage, between, other, name, 1, half, draw.whole(40, 200) << 20)
    over = then + draw.span(2_400, 6_000)
    upkeep.cold_read_breaks(cluster, victim, over - 4 * MS, shard, draw)
    resumed_too_often(stage, over, rank)
    leaves(stage, over, rank)
    return stage.close(
        "A firewall between the two halls counts what a connection has moved, since its last update.",
        (of_all(stage.guilty("storage_io", victim, also=BEHIND)),),
        until=over + 5 * SEC,
    )


@kind(reads=True, hangs=False, lead_s=65.0)
def clock_of_a_target_is_too_far_off_for_the_cloud(stage: Stage) -> Scenario:
    """A host has lost its time server, and S3 wants signatures of the last quarter hour (aws, RequestTimeTooSkewed).

    To convict: the 403 in the SDK's error is one target's, whom S3 told that its time differs too much; no other target
    is told so; its clock, as its lines show, is some tens of minutes from that of all others.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("off")
    stage.open()
    tickets.reworded(cluster, "backends: []", "backends: [aws]")
    cluster.skews[victim.node_id] = seconds(draw.between(1_150, 2_600))
    began = stage.job.begin + seconds(2)
    stage.mark(at - draw.span(3_000, 9_000), f"{victim.name} is asked for what it does not hold")
    then = began
    while then < at + 6 * SEC:
        node = stage.other_target(victim, draw.whole(0, 99))
        desk.read_from_cloud(cluster, node, then, draw.span(60, 310), draw.whole(90, 900) << 10)
        then += draw.span(500, 1_900)
    for turn, other in enumerate(readers(stage)[: draw.whole(1, 3)]):
        then, name = at - seconds(2.9 - 0.8 * turn) - draw.span(1, 600), audio_of(draw)
        cold_failed(cluster, victim, then - 5 * MS, name, SKEWED, 403)
        told(stage, then, other, "WARNING", f"{name}: 403 by {victim.name}, going on without it")
    name = audio_of(draw)
    cold_failed(cluster, victim, at - 5 * MS, name, SKEWED, 403)
    stage.job.raise_on(at, rank, refused_get(stage, at, rank, victim, name, (403, "Forbidden"), SKEWED))
    leaves(stage, at, rank)
    return stage.close(
        "It was installed from an old image, and that knows a time server that is long gone.",
        (stage.guilty("storage_io", victim, also=("infrastructure", "data_loading_stall", "data")),),
        until=at + 4 * SEC,
    )
