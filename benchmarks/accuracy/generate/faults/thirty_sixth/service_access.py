"""Guilty storage that lets nobody in or has nothing behind it: a destroyed bucket, an old certificate, S3 that slows.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.thirty_sixth.service_words import silent_tries
from benchmarks.accuracy.generate.faults.words.clients import status_gave_up
from benchmarks.accuracy.generate.faults.words.handlings import answered_by_proxy, tried
from benchmarks.accuracy.generate.faults.words.loaders import certificate_expired, over_tls
from benchmarks.accuracy.generate.faults.words.natives import shard_of
from benchmarks.accuracy.generate.faults.words.requests import exhausted, object_path, one_object, retries
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.tries import moments
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aiscaretakers, aisobjects, aistroubles, aisupkeep, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "thirty_sixth")
ALSO = ("data_loading_stall", "infrastructure")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)


@kind(reads=True, lead_s=58.0, without=(*RESTARTS, "second_job"))
def bucket_is_destroyed_while_a_job_reads_it(stage: Stage) -> Scenario:
    """Somebody destroys the bucket that a job trains from (aistore docs/bucket, destroy; ErrBckNotFound of the SDK).

    To convict: every try of the rank is answered 404 by its gateway, the bucket does not exist; the gateway has a line
    for each. Seconds before, the primary has given out a list of buckets for `destroy-bck`, and all targets ended the
    batches that ran on this one with `remove bucket`. The job had read from it until then.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy = stage.draw.child("destroyed"), stage.proxy_of(stage.culprit)
    stage.open()
    gone = stage.mark(at - draw.span(40, 400), f"somebody destroys ais://{stage.bucket}")
    aiscaretakers.bucket_destroyed(cluster, gone, draw)
    most = draw.whole(2, 4)
    for turn, then in enumerate(moments(at, (1.0, 2.0, 4.0)[: most - 1], draw), 1):
        text = aistroubles.no_bucket(cluster, proxy, then, f"GET /v1/ml/moss/{stage.bucket}")
        failed = answered_by_proxy(stage, rank, proxy, 404, "ErrBckNotFound", text, "ErrBckNotFound")
        if turn < most:
            tried(stage, then + 3 * MS, rank, failed, turn, most)
        else:
            stage.job.raise_on(then + 4 * MS, rank, failed.traceback)
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "A script removes buckets that have no owner's tag, and this one had lost it.",
        (of_all(stage.guilty("storage_io", stage.victim, also=("data", "software", *ALSO))),),
        ALIVE,
    )


@kind(uptime=True, lead_s=60.0, without=(*RESTARTS, "second_job", "kalive_hiccup", "idle_resets"))
def certificate_of_one_target_runs_out(stage: Stage) -> Scenario:
    """One target was left out when certificates were renewed (aistore docs/https.md; cmn/certloader, state flags).

    To convict: each try of the rank at one target's address ends with `certificate has expired`; that target has
    counted the last minutes of its certificate and says tls-cert-expired at every tick since shortly before. No other
    node counts, and reads of other targets go on.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("expired"), over_at(stage)
    stage.open()
    ended = stage.mark(at - draw.span(2_000, 14_000), f"the certificate of {victim.name} has expired")
    aisupkeep.certificate_expires(cluster, victim, ended, over + 50 * SEC, draw)

    path = object_path(stage, rank, shard_of(draw))
    text = sdk.pool_error(victim.address, victim.ports[0], path, certificate_expired())
    then = retries(stage, at, rank, draw, 0.012, text, over - SEC, "SSLError")
    if then < over - SEC:
        exhausted(stage, then, rank, text, "SSLError", one_object(stage))
    stage.hang(at + 300 * MS, rank)
    made = stage.close(
        "Its host had been off on the day of the renewal.",
        (stage.guilty("storage_io", victim, also=("network", "software", *ALSO)),),
        (
            *ALIVE,
            "nodes do not verify each other's certificates",
            "the others have connections open, or read elsewhere",
        ),
    )
    return over_tls(stage, made)


@kind(reads=True, min_timeout_s=120, lead_s=74.0, without=(*RESTARTS, "second_job"))
def s3_behind_the_bucket_slows_down(stage: Stage) -> Scenario:
    """The first epoch reads cold, and S3 answers 503 SlowDown (AWS's guide; aistore ais/backend/aws.go).

    To convict: the rank gives up after a minute and a half without a word, with `too many 503 error responses` of one
    target for its shard. That target has turned the same shard down six times since, with S3's words, and so have
    others for other shards, in ever greater numbers; cold reads had come before. What is in the cluster is served.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("slows down"), over_at(stage)
    stage.open()
    since = stage.mark(at - draw.span(12_000, 25_000), "S3 begins to answer SlowDown")
    aisobjects.cold_gets(cluster, stage.job.begin, since, 0.4, 70, 420, draw)
    aisobjects.cold_gets(cluster, since, over, 2.5, 300, 2_600, draw, victim.node_id)
    then, gap = since, 3_900.0
    while then < over:
        aiscaretakers.store_slows_down(cluster, draw.pick(cluster.up(then)), then, shard_of(draw), draw)
        then, gap = then + draw.span(gap * 0.4, gap * 1.6), max(900.0, gap * 0.93)
    for then, other in spread(stage, since + 2 * SEC, at - SEC, (1, 3), draw):
        said = f"{shard_of(draw)} came after {draw.between(6.1, 9.9):.1f} s"
        told(stage, then + 8 * SEC, other, "shards", said, "WARNING")
    name, last, tries = shard_of(draw), at, 0
    for then in silent_tries(stage, at, draw, (270, 330)):
        last, tries = aiscaretakers.store_slows_down(cluster, victim, then, name, draw), tries + 1
    if tries == 6:
        status_gave_up(stage, last + 4 * MS, rank, victim, name, 503)
    stage.hang(at + 350 * MS, rank)
    return stage.close(
        "Three teams had begun their first epochs on one prefix.",
        (of_all(stage.guilty("storage_io", victim, also=("network", *ALSO))),),
        ALIVE,
    )
