"""Storage faults of the twenty-first part of stores behind AIStore that refuse, hold back, or are gone."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.callers import loader_timed_out
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.regulars import connector_told, status_to_the_end, tar_of, waited
from benchmarks.accuracy.generate.faults.words.requests import refused_get
from benchmarks.accuracy.generate.faults.words.turns import of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisrounds as rounds
from fixtures.generator import aistickets as tickets
from fixtures.generator.aisbehind import cold_failed
from fixtures.generator.draw import LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_first")
EXPIRED = "aws-error[ExpiredToken: The provided token has expired.]"
SLOW_DOWN = "aws-error[SlowDown: Please reduce your request rate.]"
COLD = ("data_loading_stall", "network", "infrastructure", "data")


@kind(reads=True, hangs=False, lead_s=65.0)
def session_of_the_cluster_has_run_out(stage: Stage) -> Scenario:
    """Targets read S3 with a session token that nobody renews (aws docs, ExpiredToken; aistore docs/cli/bucket).

    To convict: the object in the SDK's error is one for which a target was told by the cloud that its own token has
    expired; all targets are told so of whatever they do not have, since one moment, and what they have is read.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("session")
    stage.open()
    tickets.reworded(cluster, "backends: []", "backends: [aws]")
    ended = stage.mark(at - draw.span(4_000, 19_000), "the session token of all targets has run out")
    rounds.reads_cold(cluster, stage.job.begin + seconds(2), ended - seconds(2), 0.8, (90, 420), (1, 9), draw)
    for other in readers(stage)[: draw.whole(2, 5)]:
        then, node, name = (
            ended + int((at - ended) * draw.between(0.05, 0.97)),
            draw.pick(cluster.targets),
            utterance(draw),
        )
        cold_failed(cluster, node, then - 4 * MS, name, EXPIRED, 400)
        stage.job.note(then, other, f"{name} replaced by another: AISError 400 by {node.name}", "W", 86)
    node, name = stage.victim, utterance(draw)
    cold_failed(cluster, node, at - 4 * MS, name, EXPIRED, 400)
    stage.job.raise_on(at, rank, refused_get(stage, at, rank, node, name, (400, "Bad Request"), EXPIRED))
    leaves(stage, at, rank)
    return stage.close(
        "It was put into the secret of the pods by hand during an incident, and is valid for twelve hours.",
        (of_all(stage.guilty("storage_io", node, also=COLD)),),
    )


@kind(reads=True, hangs=False, min_timeout_s=120, lead_s=65.0)
def cloud_asks_all_targets_to_slow_down(stage: Stage) -> Scenario:
    """A prefix of S3 serves so many requests a second and no more, the SDK asks six times (aws docs, SlowDown).

    To convict: the SDK's error tells of too many 503 by one target for one shard; at the moment of each of its tries
    that target was asked by the cloud to reduce its rate for this shard, and the others were so for other shards.
    """
    cluster, node, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("slow down"), tar_of(stage.draw.child("own shard"))
    stage.open()
    tickets.reworded(cluster, "backends: []", "backends: [aws]")
    began = stage.mark(at - draw.span(500, 9_000), "the cloud asks all targets to reduce their rate")
    reader_note(
        stage, stage.job.begin + 90 * MS, 0, f"bucket ais://{stage.bucket} is backed by s3://, prefix wds/ is new"
    )
    rounds.reads_cold(cluster, stage.job.begin + seconds(2), began - seconds(1), 0.5, (200, 900), (40, 90), draw)
    asked, over = status_to_the_end(stage, rank, node, name, 503)
    for then in asked:
        cold_failed(cluster, node, then - 8 * MS, name, SLOW_DOWN, 503)
    then = began
    while then < over:
        cold_failed(cluster, draw.pick(cluster.targets), then, tar_of(draw), SLOW_DOWN, 503)
        then += draw.span(900, 7_000)
    rounds.reads_cold(cluster, began, over, 6.0, (4_000, 19_000), (40, 90), draw)
    for turn, other in enumerate(readers(stage)[: draw.whole(2, 5)]):
        then = at + seconds(19 + 13 * turn) + draw.span(1, 5_000)
        stage.job.note(then, other, f"no shard for {waited(at - draw.span(10, 400), then)}, status 503 so far", "W", 88)
    leaves(stage, over, rank)
    return stage.close(
        "Four jobs had begun at the hour, all with shards that nobody had read before.",
        (of_all(stage.guilty("data_loading_stall", node, also=("storage_io", "network", "infrastructure"))),),
    )


@kind(reads=True, hangs=False, min_timeout_s=180, lead_s=65.0)
def first_epoch_comes_straight_from_the_cloud(stage: Stage) -> Scenario:
    """Large shards are fetched as they are read, the loader waits two minutes (torch DataLoader; aistore, cold GET).

    To convict: ranks say since when they wait for shards that are not in the cluster; until then targets count cold
    reads of a second, since then ones of minutes each, and nothing else of them is slow.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, limit = stage.draw.child("first epoch"), 120
    over = at + seconds(limit + 0.03)
    stage.open()
    begun = stage.job.begin + seconds(2)
    reader_note(
        stage, begun, 0, f"epoch 0 of s3://{stage.bucket}: {draw.whole(900, 6_000)} shards, {draw.whole(2, 9)} % cached"
    )
    tickets.reworded(cluster, "backends: []", "backends: [aws]")
    slow = stage.mark(at - draw.span(3_000, 12_000), "the link to the cloud is full")
    rounds.reads_cold(cluster, begun, slow - seconds(2), 1.1, (700, 1_900), (250, 420), draw)
    every_s = min(4.0, 16 / len(cluster.targets))
    rounds.reads_cold(cluster, slow, over - seconds(50), every_s, (48_000, 170_000), (250, 420), draw)
    for turn, other in enumerate(readers(stage)[: draw.whole(2, 5)]):
        then = at + seconds(31 + 17 * turn) + draw.span(1, 6_000)
        spent = waited(max(slow, at - draw.span(50, 2_000)), then)
        said = f"{spent} for {tar_of(draw)} (cold, {draw.whole(4, 60)} % received)"
        stage.job.note(then, other, said, "W", 91, "shards")
    then = at + seconds(88)
    stage.job.note(
        then, rank, f"{waited(at, then)} for {tar_of(draw)} (cold, {draw.whole(4, 40)} % received)", "W", 91, "shards"
    )
    loader_timed_out(stage, over, rank, limit)
    leaves(stage, over, rank)
    return stage.close(
        "The link is shared with a replication of archives that had just caught up with its largest files.",
        (of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "network", "infrastructure"))),),
    )


@kind(reads=True, hangs=False, lead_s=60.0)
def cluster_behind_the_cluster_is_shut_down(stage: Stage) -> Scenario:
    """A bucket is one of another AIStore, which listens no more (aistore docs/providers, remote AIS; s3torchconnector).

    To convict: the connector's error holds the words of a target, which could not connect to an address that is none of
    this cluster; all targets say the same of it since one moment, of whatever they do not have.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("behind")
    far = f"10.{draw.whole(96, 120)}.{draw.whole(2, 30)}.{draw.whole(10, 200)}:51080"

    def features() -> str:
        return f"features/{draw.token(3, LOWER)}/{draw.whole(0, 99_999):05d}.npy"

    stage.open()
    shut = stage.mark(at - draw.span(3_000, 14_000), f"the cluster at {far} is shut down")
    for other in readers(stage)[: draw.whole(2, 5)]:
        then, node, key = shut + int((at - shut) * draw.between(0.05, 0.95)), draw.pick(cluster.targets), features()
        tickets.far_cluster_refuses(cluster, node, then - 5 * MS, key, far, True)
        stage.job.note(then, other, f"s3://{stage.bucket}/{key}: 500, will be asked for again", "W", 64, "s3set")
    node, key = stage.victim, features()
    text = ""
    for after in (5.2, 4.9, 4.1, 2.6, 0.02):
        if at - seconds(after) > shut:
            text = tickets.far_cluster_refuses(cluster, node, at - seconds(after), key, far, True)
    connector_told(stage, at, rank, 500, "Error", text)
    leaves(stage, at, rank)
    return stage.close(
        "It was to be moved to another hall, and its list of users had one name in it.",
        (of_all(stage.guilty("storage_io", node, also=("network", "data_loading_stall", "infrastructure"))),),
        until=at + 9 * SEC,
    )
