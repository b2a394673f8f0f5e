"""Storage faults of the twenty-fifth part of the cloud behind AIStore: it slows down, knows no key, has no name."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.enquirers import (
    archive_of,
    chunk_of,
    gets_boto_timeout,
    litdata_head_refused,
    s3_url,
    waits_for,
)
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.regulars import curl_tells, shard_left_out, status_to_the_end, tar_of
from benchmarks.accuracy.generate.faults.words.servers import cloud_refused, cloud_refuses_all
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisevents as ev
from fixtures.generator import aisobjects, aisrounds, aistickets
from fixtures.generator.aisbehind import TRIED
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_fifth")
SLOW_DOWN = "aws-error[SlowDown: Please reduce your request rate.]"
EXPIRED = "aws-error[ExpiredToken: The provided token has expired.]"
#: What nodes say at their start of the clouds that they know.
NO_CLOUD, AWS = "backends: []", "backends: [aws]"


@kind(reads=True, hangs=False, min_timeout_s=120, lead_s=65.0)
def cloud_asks_to_slow_down(stage: Stage) -> Scenario:
    """S3 answers cold reads with 503 SlowDown, and targets pass that on (aws re:Post, 503 SlowDown; streaming issues).

    To convict: the SDK was told 503 six times by a target, which had each of them from the cloud as SlowDown; so had
    all other targets for whatever they do not hold, and other ranks leave samples out for it.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("slow down"), utterance(stage.draw.child("own object"))
    stage.open()
    began = stage.mark(at - draw.span(14_000, 33_000), "the cloud asks for fewer requests")
    asked, over = status_to_the_end(stage, rank, victim, name, 503)
    for then in asked:
        cloud_refused(cluster, victim, then, name, SLOW_DOWN, 503)
    cloud_refuses_all(cluster, began, over + seconds(9), lambda own: (utterance(own), SLOW_DOWN), 503, draw)
    for turn, other in enumerate(readers(stage)[: draw.whole(2, 4)]):
        then, what = at - draw.span(600, 9_000) + turn * 90 * MS, utterance(draw)
        node = draw.pick(cluster.targets)
        cloud_refused(cluster, node, then - 6 * MS, what, SLOW_DOWN, 503)
        url = f"{node.url(0)}/v1/objects/{stage.bucket}/{what}"
        told(stage, then, other, "dataset", f"503 Service Unavailable for {url} ({SLOW_DOWN}), left out", "WARNING")
    leaves(stage, over + 2 * MS, rank)
    aistickets.reworded(cluster, NO_CLOUD, AWS)
    made = of_all(stage.guilty("storage_io", victim, also=("infrastructure", "data_loading_stall")))
    return stage.close("All keys of the new corpus begin with the same date.", (made,), until=over + seconds(15))


@kind(reads=True, hangs=False, lead_s=65.0)
def session_of_targets_has_expired(stage: Stage) -> Scenario:
    """Targets have keys of a session that is over: litdata is told 400, without a text (litdata#458; ExpiredToken).

    To convict: litdata does not know why its HEAD is a bad request, AIStore does: the token of its targets, not of the
    client, has expired; every target says so since one moment, for cold reads of others as well.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("session")
    stage.open()
    began = stage.mark(at - draw.span(9_000, 26_000), "the session of all targets has expired")
    cloud_refuses_all(cluster, began, at + seconds(25), lambda own: (chunk_of(own), EXPIRED), 400, draw)

    def asked(then: int) -> str:
        chunk, node = chunk_of(draw), draw.pick(cluster.targets)
        cluster.count(node, then, err_head_n=1)
        trace = "htrun.go:1636 <- tgts3.go:322 <- tgts3.go:82"
        cluster.say(node, then, ev.http_error(node, EXPIRED, f"HEAD /s3/{stage.bucket}/{chunk}", trace))
        return chunk

    for other in readers(stage)[: draw.whole(2, 5)]:
        then = began + int((at - began) * draw.between(0.2, 0.96))
        said = f"{asked(then - 3 * MS)}: HeadObject answered 400, {draw.whole(1, 2)} chunks left in the cache"
        told(stage, then, other, "chunks", said, "WARNING")
    asked(at - 4 * MS)
    litdata_head_refused(stage, at, rank)
    leaves(stage, at, rank)
    aistickets.reworded(cluster, NO_CLOUD, AWS)
    made = of_all(stage.guilty("storage_io", victim, also=("infrastructure", "data", "data_loading_stall")))
    return stage.close(
        "Somebody had tried out a role for an hour, and left it in the secret.", (made,), until=at + seconds(20)
    )


@kind(reads=True, hangs=False, lead_s=65.0)
def one_host_cannot_resolve_the_cloud(stage: Stage) -> Scenario:
    """A host has lost its local cache of names: its target cannot reach the cloud (kubernetes, nodelocaldns issues).

    To convict: curl is told 500, and the target that was asked says why: it cannot look up the cloud's name; no other
    target has that, and other targets read from the cloud all the time.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, host = stage.draw.child("resolver"), "s3.us-west-2.amazonaws.com"
    stage.open()
    began = stage.mark(at - draw.span(11_000, 40_000), f"the resolver of the host of {victim.name} is gone")
    aisobjects.cold_gets(cluster, stage.job.begin, began, 0.9, 60, 240, draw.child("before"))
    aisobjects.cold_gets(cluster, began, at + seconds(25), 0.9, 60, 240, draw.child("after"), avoid=victim.node_id)

    def failed(then: int, who: int) -> str:
        shard = tar_of(draw)
        via = f"read udp {victim.address}:{draw.whole(32_800, 60_900)}->169.254.20.10:53: read: connection refused"
        looked = f'Get "https://{host}/{stage.bucket}/{shard}?x-id=GetObject": dial tcp: lookup {host}'
        asked = f"request send failed, {looked} on 169.254.20.10:53: {via}"
        why = f"aws-error[operation error S3: GetObject, {TRIED}, {asked}]"
        cloud_refused(cluster, victim, then - 5 * MS, shard, why, 500)
        return f"{stage.proxy_of(who).url(0)}/v1/objects/{stage.bucket}/{shard}"

    words = "The requested URL returned error: 500"
    for other in readers(stage)[: draw.whole(2, 5)]:
        then = began + int((at - began) * draw.between(0.4, 0.95))
        shard_left_out(stage, then, other, failed(then, other), 22, words)
    curl_tells(stage, at, rank, failed(at, rank), 22, words)
    leaves(stage, at + 4 * MS, rank)
    aistickets.reworded(cluster, NO_CLOUD, AWS)
    return stage.close(
        "Its daemon set tolerates every taint but the one that storage hosts have.",
        (stage.guilty("storage_io", victim, also=("infrastructure", "network", "data_loading_stall")),),
        until=at + seconds(20),
    )


@kind(reads=True, min_timeout_s=240, lead_s=75.0, without=DISKS)
def cold_shards_outlast_their_reader(stage: Stage) -> Scenario:
    """The way to the cloud is slow, and a shard is passed on when all of it is there (boto3, read timeout 60 s; Ceph).

    To convict: boto3 waits 60 s for the first byte, twice for each shard, on several ranks, at several targets;
    counters of all targets tell that a read from the cloud takes minutes where it took seconds before; disks are idle.
    """
    cluster, victim, rank, at, over = stage.cluster, stage.victim, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("cold")
    stage.open()
    began = stage.mark(at - draw.span(2_000, 7_000), "the way to the cloud is slow")
    aisrounds.reads_cold(
        cluster, stage.job.begin, began - seconds(9), 2.0, (3_000, 8_000), (500, 1_600), draw.child("was")
    )
    aisrounds.reads_cold(cluster, began, over + seconds(15), 2.0, (128_000, 205_000), (500, 1_600), draw.child("is"))
    for turn, other in enumerate([rank, *readers(stage)[: draw.whole(2, 4)]]):
        then, node = at + turn * draw.span(700, 6_000), victim if other == rank else draw.pick(cluster.targets)
        while then + 123 * SEC < over - SEC:
            url = s3_url(node, stage.bucket, archive_of(draw))
            for attempt in (1, 2):
                then += 60 * SEC + draw.span(30, 900)
                gets_boto_timeout(stage, then, other, url, attempt, 2)
            told(stage, then + 3 * MS, other, "s3reader", f"{url} given up, next shard", "WARNING")
            if other != rank:
                break
            node, then = draw.pick(cluster.targets), then + draw.span(20, 90)
    waits_for(stage, rank, at, over, (28_000, 36_000), lambda spent: f"no batch for {spent:.0f} s, 0 of 2 shards open")
    stage.hang(at + 300 * MS, rank)
    aistickets.reworded(cluster, NO_CLOUD, AWS)
    made = of_all(stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure", "network")))
    return stage.close("Backups of another building go the same way since that afternoon.", (made,))
