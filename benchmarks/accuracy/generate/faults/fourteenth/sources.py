"""Storage faults of the fourteenth part that the store behind a bucket brings: regions, errors, slow first reads."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words.clients import pipe_failed
from benchmarks.accuracy.generate.faults.words.doorways import s3fs_failed
from benchmarks.accuracy.generate.faults.words.requests import refused_get
from benchmarks.accuracy.generate.faults.words.turns import of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisbehind as behind
from fixtures.generator import aisobjects, chains
from fixtures.generator.aislog import Say
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "fourteenth")
INTERNAL = "aws-error[InternalError: We encountered an internal error. Please try again.]"
TRIED = "exceeded maximum number of attempts, 3, https response error StatusCode: 0, RequestID: , HostID: "


@kind(reads=True, trains=False, hangs=False)
def bucket_in_another_region(stage: Stage) -> Scenario:
    """A bucket lies in a region its cluster is not set up for, no first batch (AWS docs, error codes; ocs-ci#4010)."""
    cluster, job = stage.cluster, stage.job
    draw, region = stage.draw.child("region"), stage.draw.child("expected").pick(("eu-central-1", "us-west-2"))
    said = f"The authorization header is malformed; the region 'us-east-1' is wrong; expecting '{region}'"
    error = f"aws-error[AuthorizationHeaderMalformed: {said}]"
    job.start()
    at, last = job.begin + draw.span(900, 2_600), 0
    stage.mark(job.begin, "the bucket behind is in another region than the cluster asks")
    ranks = sorted([stage.culprit, *readers(stage)[: draw.whole(1, 5)]])
    for turn, rank in enumerate(ranks):
        node, name = draw.pick(cluster.targets), f"shards/train-{draw.whole(0, 99):06d}.tar"
        last = at + turn * draw.span(40, 210)
        behind.cold_failed(cluster, node, last, name, error, 400)
        job.raise_on(last + 4 * MS, rank, refused_get(stage, last, rank, node, name, (400, "Bad Request"), error))
    exits(stage, last + 4 * MS, ranks[0])
    made = of_all(stage.guilty("storage_io", stage.victim, also=("infrastructure", "software", "data")))
    return stage.close(
        "The corpus was moved nearer to another site, under its old name.", (replace(made, culprit_ranks=tuple(ranks)),)
    )


@kind(reads=True, hangs=False, min_timeout_s=120, lead_s=60.0)
def cold_shard_outlasts_curl(stage: Stage) -> Scenario:
    """A shard comes from the cloud as a whole first, and curl waits a minute (webdataset PR 485; aistore issue 316)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("curl")
    stage.open()
    began = stage.mark(at - draw.span(21_000, 40_000), "shards that were never read before come from the cloud slowly")
    for node in cluster.targets:
        then = began + draw.span(19_000, 33_000)
        while then < at + seconds(75):
            spent, size = min(draw.span(19_000, 58_000), then - began), draw.whole(900, 1_400) << 20
            cluster.count(node, then, aws_get_n=1, aws_get_ns_total=spent, aws_get_size=size)
            cluster.count(node, then, get_n=1, get_ns_total=spent + draw.span(400, 900), get_size=size)
            then += draw.span(12_000, 31_000)
    for turn, other in enumerate(readers(stage)[:4]):
        shard, late = f"shards/part2-{draw.whole(0, 4095):06d}.tar", at + seconds(9 * turn) + draw.span(1, 5_000)
        url = f"{draw.pick(cluster.targets).url(0)}/v1/objects/{stage.bucket}/{shard}"
        stage.job.note(late, other, f"first byte of {url} after {draw.between(17, 51):.1f} s", "W", 80)
    over = at + seconds(60) + draw.span(1, 9)
    url = f"--max-time 60 {victim.url(0)}/v1/objects/{stage.bucket}/shards/part2-{draw.whole(0, 4095):06d}.tar"
    pipe_failed(stage, over, rank, url, (28, "Operation timed out after 60001 milliseconds with 0 bytes received"))
    exits(stage, over + 5 * MS, rank)
    made = of_all(stage.guilty("storage_io", victim, also=("data_loading_stall", "network")))
    return stage.close("The second part of the corpus is read for the first time, by all ranks at once.", (made,))


def _not_come(stage: Stage, at: int, error: str, status: int, draw: Draw) -> tuple[Node, str]:
    """A cold read that fails while a batch is put together: a line of its target, and no counter of GETs."""
    node, name = draw.pick(stage.cluster.up(at)), utterance(draw, "raw")
    text = f"Warning: failed to cold-GET(read) ais://{stage.bucket}/{name} {error} {status}"
    stage.cluster.say(node, at, Say("I", "tgtobj:905", text))
    return node, name


@kind(reads=True, hangs=False, lead_s=60.0)
def source_has_internal_errors(stage: Stage) -> Scenario:
    """The cloud answers 500 now and then until a batch lacks too much (AWS docs, error responses; docs/get_batch)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("internal")
    stage.open()
    began = stage.mark(at - draw.span(9_000, 30_000), "the store behind answers one read in ten with 500")
    for who in (*readers(stage)[: draw.whole(2, 5)], rank):
        then, lost = began + int((at - SEC - began) * draw.between(0.05, 1)), draw.whole(1, 5)
        for _ in range(lost):
            _not_come(stage, then - draw.span(30, 800), INTERNAL, 500, draw)
        node = draw.pick(cluster.targets)
        cluster.count(node, then, getbatch_n=1, getbatch_obj_n=36 - lost, err_soft_getbatch_n=lost)
        stage.job.note(then + 9 * MS, who, f"get-batch: {lost} of 36 entries are missing, left out", "W", 102)
    for _ in range(9):
        _not_come(stage, at - draw.span(30, 900), INTERNAL, 500, draw)
    stage.job.raise_on(at + 6 * MS, rank, chains.soft_limit(stage, at, victim, rank).traceback)
    exits(stage, at + 6 * MS, rank)
    made = of_all(stage.guilty("storage_io", victim, also=("data_loading_stall", "data", "network")))
    return stage.close("A region of the cloud has a bad hour; its page of states says so in the evening.", (made,))


@kind(reads=True, hangs=False, min_timeout_s=120, lead_s=60.0)
def handshakes_time_out(stage: Stage) -> Scenario:
    """Connections to the cloud pass one gateway that is full: handshakes time out (AWS docs, NAT gateway)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, region = stage.draw.child("handshake"), stage.draw.child("where").pick(("eu-west-1", "us-east-2"))
    stage.open()
    began = stage.mark(at - draw.span(15_000, 41_000), "the gateway between the cluster and the cloud is full")

    def failed(then: int, name: str) -> tuple[Node, str]:
        url = f"https://{stage.bucket}.s3.{region}.amazonaws.com/{name}?x-id=GetObject"
        why = draw.pick(("net/http: TLS handshake timeout", "net/http: TLS handshake timeout", "dial tcp: i/o timeout"))
        error = f'aws-error[operation error S3: GetObject, {TRIED}, request send failed, Get "{url}": {why}]'
        node = draw.pick(cluster.targets)
        behind.cold_failed(cluster, node, then, name, error, 500, by_s3=True)
        return node, error

    aisobjects.cold_gets(cluster, began, at + seconds(20), 1.9, 9_000, 31_000, draw.child("others"))
    for turn, other in enumerate(readers(stage)[:4]):
        then, name = max(began + SEC, at - seconds(9) + seconds(4 * turn)) + draw.span(1, 2_000), utterance(draw, "raw")
        failed(then, name)
        stage.job.note(then + 5 * MS, other, f"{name} not read, trying again: OSError: [Errno 5]", "W", 86)
    name, error = utterance(draw, "raw"), ""
    for after in (0.0, 31.2, 63.0, 95.1):
        error = failed(at + seconds(after) + draw.span(1, 90), name)[1]
    s3fs_failed(stage, at + seconds(95.3), rank, name, "InternalError", error)
    exits(stage, at + seconds(95.3), rank)
    made = of_all(stage.guilty("storage_io", stage.victim, also=("network", "data_loading_stall", "infrastructure")))
    return stage.close("A gateway has a limit of connections to one address, and all cold reads have that.", (made,))


@kind(reads=True, hangs=False, lead_s=90.0, without=("low_space", "tenant_out_of_space"))
def evicted_without_a_source(stage: Stage) -> Scenario:
    """Eviction is on for a bucket that has nothing behind it: what goes is gone (aistore docs/storage_svcs, LRU)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("no source")
    stage.open()
    began = stage.mark(at - draw.span(31_000, 52_000), f"{victim.name} evicts what has no other place")
    aisobjects.evict(cluster, victim, began, at + seconds(20), draw)
    for who in (*readers(stage)[: draw.whole(2, 5)], rank):
        then, lost = began + int((at - SEC - began) * draw.between(0.2, 1)), draw.whole(1, 5)
        chains.missing_entry(stage, then, stage.other_target(victim, draw.whole(0, 99)), victim, utterance(draw), lost)
        said = f"get-batch: {lost} of 36 entries do not exist ({victim.name}), left out"
        stage.job.note(then + 6 * MS, who, said, "W", 102)
    designated = stage.other_target(victim, draw.whole(0, 99))
    stage.job.raise_on(at + 6 * MS, rank, chains.soft_limit(stage, at, designated, rank).traceback)
    exits(stage, at + 6 * MS, rank)
    return stage.close(
        "Somebody has copied the settings of a bucket of the cloud; the corpus was uploaded once and is nowhere else.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )
