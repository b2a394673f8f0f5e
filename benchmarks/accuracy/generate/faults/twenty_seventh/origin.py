"""Storage faults of the twenty-seventh part of the store behind a bucket: keys that are over, slow reads, a brake."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.applicants import asks_with_pauses, boto_get_failed, wds_shard
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.requests import refused_get
from benchmarks.accuracy.generate.faults.words.servers import cloud_refuses_all
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisobjects, aisrounds, aistroubles
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_seventh")
EXPIRED = "aws-error[ExpiredToken: The provided token has expired.]"
SLOW_DOWN = "aws-error[SlowDown: Please reduce your request rate.]"


@kind(reads=True, hangs=False, lead_s=64.0)
def keys_of_the_cluster_are_over(stage: Stage) -> Scenario:
    """Targets hold temporary keys for the bucket behind, which nobody renews (aws docs, ExpiredToken).

    To convict: a target answers a read of an object that it does not hold with "ExpiredToken" of the store behind; all
    targets are told the same of all such reads from one moment on. The job itself has no keys and asks only AIStore.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("keys are over")
    stage.open()
    began = stage.mark(at - draw.span(2_500, 6_500), "the keys for the store behind have expired")
    cloud_refuses_all(cluster, began, at + seconds(3), lambda own: (utterance(own), EXPIRED), 400, draw.child("all"))
    for other in readers(stage)[: draw.whole(1, 4)]:
        node, name, then = (
            draw.pick(cluster.targets),
            utterance(draw),
            began + int((at - began) * draw.between(0.1, 0.9)),
        )
        aisobjects.backend_refused(cluster, node, then - 4 * MS, name, EXPIRED, 400)
        said = f"{node.url(0)}/v1/objects/{stage.bucket}/{name}: 400 {EXPIRED}, skipped"
        told(stage, then, other, "samples", said, "WARNING")
    node, name = draw.pick(cluster.targets), utterance(draw)
    aisobjects.backend_refused(cluster, node, at - 4 * MS, name, EXPIRED, 400)
    stage.job.raise_on(at, rank, refused_get(stage, at, rank, node, name, (400, "Bad Request"), EXPIRED))
    leaves(stage, at + 6 * MS, rank)
    return stage.close(
        "The role allowed for sessions of twelve hours, and the cluster had been up for twelve.",
        (of_all(stage.guilty("storage_io", stage.victim, also=("infrastructure", "network"))),),
        until=at + seconds(30),
    )


@kind(reads=True, min_timeout_s=120, lead_s=68.0)
def uncached_shards_come_at_walking_pace(stage: Stage) -> Scenario:
    """Shards that no target holds yet come from a store far away, each takes minutes (aistore docs, cold GET; forums).

    To convict: the rank that all wait for has had some megabytes of a shard in a minute, and so have others, of several
    targets; reads that targets pass on from the store behind take half a minute and more; their disks are idle.
    """
    cluster, rank, at, over = stage.cluster, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("walking pace")
    stage.open()
    stage.mark(at - draw.span(200, 900), "shards are read that no target holds")
    aisrounds.reads_cold(cluster, at - SEC, over - seconds(20), 2.6, (31_000, 94_000), (70, 190), draw.child("cold"))

    def so_far(who: int, since: int, until: int) -> None:
        size, then = draw.whole(900, 2_600), since + draw.span(12_000, 19_000)
        rate = min(draw.between(1.1, 2.9), 0.85 * size * SEC / (until - since))
        node, shard = draw.pick(cluster.targets), wds_shard(draw)
        while then < until:
            got = rate * (then - since) / SEC
            said = f"{shard} from {node.address}: {got:.0f} of {size} MB, {rate:.1f} MB/s"
            told(stage, then, who, "prefetch", said, "WARNING" if then - since > 30 * SEC else "INFO")
            then += draw.span(14_000, 27_000)

    so_far(rank, at - draw.span(100, 700), over - SEC)
    for other in readers(stage)[: draw.whole(2, 4)]:
        so_far(other, at + draw.span(100, 4_000), min(over - SEC, at + seconds(72)))
    stage.hang(at + 240 * MS, rank)
    return stage.close(
        "It was the first epoch, and the bucket lies on another continent.",
        (of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "infrastructure", "network"))),),
    )


def _slow_down(draw: Draw) -> tuple[str, str]:
    return wds_shard(draw), SLOW_DOWN


@kind(reads=True, hangs=False, lead_s=64.0)
def bucket_behind_brakes_the_first_epoch(stage: Stage) -> Scenario:
    """The bucket behind answers with 503 and SlowDown, which is passed on (aws docs, request rates; boto3 issues).

    To convict: GetObject at AIStore was answered "SlowDown" five times; targets, all of them, have that from the store
    behind, for this object and for others, many times a minute.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("brakes")
    stage.open()
    began = stage.mark(at - draw.span(7_000, 14_000), "the store behind asks to slow down")
    cloud_refuses_all(cluster, began, at + seconds(15), _slow_down, 503, draw.child("all"))
    for other in readers(stage)[: draw.whole(2, 4)]:
        node, name, then = draw.pick(cluster.targets), wds_shard(draw), began + int((at - began) * draw.between(0.1, 1))
        aistroubles.refused_by_s3(cluster, node, then - 5 * MS, name, SLOW_DOWN, 503)
        said = f"s3://{stage.bucket}/{name}: SlowDown (503), waiting {draw.between(1, 8):.1f} s"
        told(stage, then, other, "s3reader", said, "WARNING")
    node, name = draw.pick(cluster.targets), wds_shard(draw)

    def asks(turn: int, then: int) -> None:
        aistroubles.refused_by_s3(cluster, node, then, name, SLOW_DOWN, 503)

    over = asks_with_pauses(at, (0.4, 1.3, 2.1, 5.6), draw, asks) + 6 * MS
    boto_get_failed(stage, over, rank, "SlowDown", SLOW_DOWN)
    leaves(stage, over + 6 * MS, rank)
    return stage.close(
        "All shards had one prefix.",
        (of_all(stage.guilty("storage_io", stage.victim, also=("data_loading_stall", "infrastructure", "network"))),),
        until=over + seconds(25),
    )
