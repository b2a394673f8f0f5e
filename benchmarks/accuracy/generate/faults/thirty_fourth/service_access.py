"""Guilty storage of what a cluster is configured with: a bucket, its access to the cloud, the certificate of a node.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.thirty_fourth.service_nodes import mates
from benchmarks.accuracy.generate.faults.words.caretakers import bucket_not_found
from benchmarks.accuracy.generate.faults.words.loaders import certificate_expired, over_tls
from benchmarks.accuracy.generate.faults.words.natives import one_line
from benchmarks.accuracy.generate.faults.words.requests import exhausted, object_path, one_object, refused_get, retries
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aiscaretakers, aisobjects, aistickets, aistroubles, aisupkeep, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirty_fourth")
ALSO = ("data_loading_stall", "infrastructure")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)
#: What S3 says of a session whose token nobody has renewed.
EXPIRED = "aws-error[ExpiredToken: The provided token has expired.]"


@kind(reads=True, lead_s=54.0, without=(*RESTARTS, "tenant_rejected"))
def bucket_is_destroyed_under_a_job(stage: Stage) -> Scenario:
    """Somebody destroys the bucket that a job is reading (aistore docs/bucket.md, destroy).

    To convict: the ranks that ask next are told by their proxies that the bucket does not exist, whose lines say so as
    well; it was there until moments before, when the primary gave out a list of buckets without it (destroy-bck) and
    every target ended the batches of that bucket. No node has failed.
    """
    cluster, at = stage.cluster, stage.at
    draw = stage.draw.child("destroyed")
    stage.open()
    gone = stage.mark(at - draw.span(90, 900), f"somebody destroys ais://{stage.bucket}")
    aiscaretakers.bucket_destroyed(cluster, gone, draw)
    who = mates(stage)
    for rank in who:
        then, proxy = at + draw.span(0, 60), stage.proxy_of(rank)
        text = aistroubles.no_bucket(cluster, proxy, then - 4 * MS, f"GET /v1/ml/moss/{stage.bucket}")
        bucket_not_found(stage, then, rank, proxy, text)
    stage.hang(at + 340 * MS, *who)
    made = stage.expect(
        "storage_io", also_ok=("data", "software", *ALSO), culprit_ranks=tuple(who), storage_verdict="guilty"
    )
    return stage.close("A script that cleans up after tests had been given the wrong prefix.", (of_all(made),), ALIVE)


@kind(reads=True, lead_s=70.0, without=RESTARTS)
def session_of_the_cluster_at_s3_expires(stage: Stage) -> Scenario:
    """The session with which targets read from S3 has expired: what is not cached cannot be had (AWS, ExpiredToken).

    To convict: the rank is told by a target why, in the words of S3, and that target says the same of its cold read.
    Since one moment all targets fail their cold reads so, and aws.get.n grows no more; warm reads go on.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("session")
    name = utterance(draw)
    aistickets.reworded(cluster, "backends: []", "backends: [aws]")
    stage.open()
    began = stage.mark(at - draw.span(9_000, 27_000), "the session of the cluster at S3 has expired")
    aisobjects.cold_gets(cluster, stage.job.begin, began, 0.6, 40, 320, draw.child("before"))
    for then, other in spread(stage, began + seconds(1), at - seconds(1), (3, 7), draw):
        missed, owner = utterance(draw), draw.pick(cluster.targets)
        aisobjects.backend_refused(cluster, owner, then - 5 * MS, missed, EXPIRED, 400)
        why = one_line(stage, then, other, owner, missed, 400, EXPIRED)
        told(stage, then, other, "prefetch", f"{missed} is skipped: {why}", "WARNING")
    aisobjects.backend_refused(cluster, victim, at - 6 * MS, name, EXPIRED, 400)
    failure = refused_get(stage, at - 90 * MS, rank, victim, name, (400, "Bad Request"), EXPIRED)
    stage.job.raise_on(at, rank, failure)
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "Its keys came from a sidecar that had lost its own role the day before.",
        (of_all(stage.guilty("storage_io", victim, also=("data", *ALSO))),),
        ALIVE,
    )


@kind(reads=True, uptime=True, lead_s=62.0, without=(*RESTARTS, "second_job"))
def certificate_of_a_target_expires(stage: Stage) -> Scenario:
    """The certificate of one target was not renewed: whoever opens a new connection to it does not trust it.

    To convict: the rank cannot connect to one target, whose certificate has expired; that target has counted the last
    minutes down, and shows the alert at each tick since. Who has a connection from before goes on with it.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("certificate")
    stage.open()
    ended = stage.mark(at - draw.span(700, 16_000), f"the certificate of {victim.name} expires")
    aisupkeep.certificate_expires(cluster, victim, ended, over_at(stage) + seconds(40), draw)
    path = object_path(stage, rank, utterance(draw))
    text = sdk.pool_error(victim.address, victim.ports[0], path, certificate_expired())
    limit = min(over_at(stage) - seconds(9), at + seconds(26))
    then = retries(stage, at, rank, draw, 0.02, text, limit, "SSLError")
    exhausted(stage, then, rank, text, "SSLError", one_object(stage))
    stage.hang(at + 340 * MS, rank)
    made = stage.close(
        "Its volume still had the secret of before, since its pod was the only one that had not been restarted.",
        (stage.guilty("storage_io", victim, also=("network", "software", *ALSO)),),
        ALIVE,
    )
    return over_tls(stage, made)
