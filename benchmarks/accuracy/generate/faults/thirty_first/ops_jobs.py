"""Storage faults of the thirty-first part of what operators start: a rechunk by day, a bucket that is made anew."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.handlings import answered_by_proxy, tried
from benchmarks.accuracy.generate.faults.words.requests import batch_unanswered
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS
from fixtures.generator import aisevents as ev
from fixtures.generator import aisoperations, aistroubles, chains, sdk
from fixtures.generator.chains import Failed
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "thirty_first")
ALSO = ("data_loading_stall", "infrastructure")


@kind(reads=True, ais_order=450, lead_s=72.0, without=(*RESTARTS, *DISKS, "second_job"))
def bucket_is_rechunked_under_its_readers(stage: Stage) -> Scenario:
    """All objects of a bucket are rewritten in chunks while a job reads it (aistore docs, rechunk; xact/xs/rechunk.go).

    To convict: batches time out after 20 s at one target after the other, with nobody down; all of them run rechunk
    since the properties of a bucket were changed, and their disks read and write all that they can, from then on.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, over = stage.draw.child("rechunk"), over_at(stage)
    stage.open()
    began = stage.mark(at - draw.span(24_000, 38_000), "an operator has the bucket rechunked")
    aisoperations.rechunked(cluster, began, over + 90 * SEC, draw.child("disks"))
    nodes = draw.shuffled(cluster.targets)
    for turn, node in enumerate(nodes):
        critical = ev.advice("critical", "100ms", "low", "low", "critical")
        if cluster.xact is not None and turn < 6:
            throttled = ev.throttled(cluster.xact, draw.whole(9, 70), critical, "100ms", node.release.order)
            cluster.say(node, began + draw.span(9_000, 20_000), throttled)
        for second in range(began + 9 * SEC, over, 2 * SEC):
            cluster.count(node, second, getbatch_throttle_ns=draw.whole(2, 9) * 100 * MS)
    for then, other in spread(stage, began + seconds(8), at - 200 * MS, (2, 5), draw):
        spent = min(draw.between(5, 15), (then - began) / SEC - 1)
        said = f"batch of {draw.pick(nodes).url(0)}: 48 of 48 entries in {spent:.1f} s, read ahead"
        told(stage, then, other, "data", said, "WARNING")
    then = at + seconds(20.02)
    stage.mark(at, f"batches of rank {rank} take longer than its client waits")
    for turn in range(6):
        if then >= over - SEC:
            break
        wait = round(draw.between(1.0, min(30.0, 2.0**turn + 0.5)), 2)
        chains.read_timed_out(stage, then, nodes[turn % len(nodes)], rank, wait)
        then += seconds(wait) + seconds(20.02)
    else:
        if then < over - SEC:
            batch_unanswered(stage, then, rank, nodes[6 % len(nodes)])
    stage.hang(at + 330 * MS, rank)
    made = of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "infrastructure")))
    return stage.close("Objects of a gigabyte were to be spread over all mountpaths of their target.", (made,))


@kind(reads=True, lead_s=60.0, without=(*RESTARTS, "soft_errors", "second_job"))
def bucket_is_made_anew_under_its_readers(stage: Stage) -> Scenario:
    """Somebody destroys a bucket and creates it again with other properties (aistore docs, ais bucket rm and create).

    To convict: a stream ends early as all targets abort get-batch because a bucket was removed; destroy-bck and, some
    seconds later, create-bck name the bucket that is read. After that all entries of a batch are absent, at whatever
    target. (The text of the abort follows ais/tgtcp.go.)
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy, job = stage.draw.child("anew"), stage.proxy_of(stage.culprit), stage.job
    stage.open()
    gone = stage.mark(at + draw.span(90, 700), "the bucket of the job is destroyed")
    designated, got = draw.pick(cluster.up(at)), draw.whole(1, 31)
    wid = cluster.wid(proxy, draw)
    aisoperations.stream_cut(cluster, designated, gone + 8 * MS, wid, got, gone + 7 * MS - at)
    back = aisoperations.made_anew(cluster, gone, draw)
    then = gone + 21 * MS
    tried(stage, then, rank, Failed(*sdk.short_batch(job.job, stage.step, got, 48)), 1, 4)
    then += seconds(1.0) + draw.span(4, 90)
    text = aistroubles.no_bucket(cluster, proxy, then, f"GET /v1/ml/moss/{stage.bucket}")
    failed = answered_by_proxy(stage, rank, proxy, 404, "ErrBckNotFound", text, "ErrBckNotFound")
    tried(stage, then + 4 * MS, rank, failed, 2, 4)
    then = max(back + 900 * MS, then + seconds(4.0)) + draw.span(9, 300)
    stage.mark(back, "the bucket is there again, and empty")
    cluster.start_batches(then - 30 * MS, draw.pick(cluster.up(then)))
    tried(stage, then + 9 * MS, rank, chains.soft_limit(stage, then, draw.pick(cluster.up(then)), rank), 3, 4)
    then += seconds(8.0) + draw.span(9, 90)
    last = chains.soft_limit(stage, then, draw.pick(cluster.up(then)), rank)
    job.raise_on(then + 9 * MS, rank, last.traceback)
    stage.hang(at + 320 * MS, rank)
    made = of_all(stage.guilty("storage_io", stage.victim, also=(*ALSO, "data")))
    return stage.close("Its checksum was to be another, and it was held to be a copy.", (made,), until=then + 20 * SEC)
