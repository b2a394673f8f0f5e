"""Storage faults of the thirtieth part of roll-outs: a backend left out, a flag reset, a cluster made anew."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.gateways import s3_refused
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.operators import nobody_at, troubled
from benchmarks.accuracy.generate.faults.words.regulars import tar_of
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import all_exit, firsts, told
from benchmarks.accuracy.generate.faults.words.tenants import (
    BAD_REQUEST,
    bucket_not_listed,
    sent_on_to,
    upload_not_begun,
)
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aistenants, aistickets, aistroubles
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirtieth")
ALSO = ("data_loading_stall", "infrastructure", "network")


@kind(reads=True, hangs=False, lead_s=84.0, min_timeout_s=60, without=(*RESTARTS, "kalive_hiccup"))
def upgraded_image_was_built_without_a_backend(stage: Stage) -> Scenario:
    """An image of the next release lacks the backend of the cloud; a target joins and ends (ais-k8s; docs, build tags).

    To convict: botocore is sent on to one target, where nobody listens; that one was stopped in an orderly way, and
    each log of its next release ends within two seconds over a backend that is configured and not in the build.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("build")
    aistickets.reworded(cluster, "backends: []", "backends: [aws]")
    stage.open()
    troubled(stage, draw.child("troubled"))
    gone = stage.mark(at - draw.span(17_000, 24_000), f"SIGTERM {victim.name}, it is the first to be upgraded")
    aistroubles.reconfigured(cluster, gone - draw.span(2_000, 5_000), draw.child("conf"))
    faults.terminate(cluster, victim, gone)
    newer, up = aistroubles.upgraded(victim, draw), gone + draw.span(6_000, 8_800)
    ends = aistenants.joins_and_ends(cluster, newer, up, at + seconds(25), draw.child("again"))
    for then, other in spread(stage, ends[0] + 900 * MS, at - 60 * MS, (2, 5), draw):
        name = utterance(draw)
        url = sent_on_to(stage, then, other, victim, name)
        said = f'{name} left out: Could not connect to the endpoint URL: "{url}"'
        told(stage, then, other, "s3", said, "WARNING")
    nobody_at(stage, at, rank, sent_on_to(stage, at - seconds(4), rank, victim, utterance(draw)))
    leaves(stage, at + 6 * MS, rank)
    return stage.close(
        "The pipeline that builds images had lost a tag, and the test cluster has no cloud behind it.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        until=at + seconds(45),
    )


def _turned_away(stage: Stage, at: int, rank: int, request: str) -> None:
    """The gateway of a rank does not know what it is asked at its root."""
    aistenants.not_served_at_root(stage.cluster, stage.proxy_of(rank), at, request, stage.client(rank))


def _others_turned_away(stage: Stage, then: int, until: int, draw: Draw) -> None:
    """Clients of another team ask all gateways in the same way."""
    cluster = stage.cluster
    then += draw.span(40, 600)
    while then < until:
        client = f"10.77.{draw.whole(1, 9)}.{draw.whole(2, 250)}:{draw.whole(32_800, 60_900)}"
        request = f"{draw.pick(('GET', 'HEAD', 'GET'))} /ocr-pages/part-{draw.whole(0, 9_999):05d}.bin"
        aistenants.not_served_at_root(cluster, draw.pick(cluster.proxies), then, request, client)
        then += draw.span(400, 2_600)


@kind(culprit=0, hangs=False, lead_s=66.0, min_timeout_s=60, without=RESTARTS)
def restored_settings_take_s3_off_the_root(stage: Stage) -> Scenario:
    """Settings of the cluster are restored from a file, without the flag for S3 at the root (docs, feature_flags).

    To convict: boto3 is told 400 for whatever it asks, on all hosts; every gateway calls the same addresses invalid
    that it served before, from the moment on in which the primary gave out a new configuration.
    """
    at, draw = stage.at, stage.draw.child("root")
    for rank in firsts(stage):
        said = f"endpoint {stage.proxy_of(rank).url(0)}, path style, botocore 1.35.99"
        told(stage, stage.job.begin - draw.span(300, 600), rank, "s3", said)
    stage.open()
    troubled(stage, draw.child("troubled"))
    began = stage.mark(at - draw.span(1_800, 7_000), "the settings of the cluster are restored from a file")
    aistroubles.reconfigured(stage.cluster, began, draw.child("conf"))
    _others_turned_away(stage, began, at + seconds(5), draw.child("others"))
    for other in readers(stage)[: draw.whole(2, 5)]:
        late, name = began + int((at - began) * draw.between(0.1, 0.95)), tar_of(draw)
        _turned_away(stage, late - 4 * MS, other, f"GET /{stage.bucket}/{name}")
        told(stage, late, other, "s3", f"{name} left out: {BAD_REQUEST.format('GetObject')}", "WARNING")
    key = f"{stage.job.job.task}/step-{stage.step:06d}.pt"
    told(stage, at - 700 * MS, 0, "ckpt", f"upload_file to s3://checkpoints/{key}, {draw.whole(3, 40)} GB")
    _turned_away(stage, at - 5 * MS, 0, f"POST /checkpoints/{key}?uploads")
    upload_not_begun(stage, at, 0, key)
    hit = readers(stage)[-1]
    _turned_away(stage, at + 85 * MS, hit, f"GET /{stage.bucket}/{tar_of(draw)}")
    s3_refused(stage, at + 90 * MS, hit, "400", "GetObject", "Bad Request")
    leaves(stage, at + 96 * MS, 0)
    made = of_all(stage.guilty("storage_io", stage.victim, also=ALSO))
    return stage.close(
        "The file was of the spring, and the flag of the summer.",
        (replace(made, culprit_ranks=None),),
        until=at + seconds(40),
    )


@kind(hangs=False, trains=False, min_timeout_s=60, uptime=True, without=(*RESTARTS, "tenant_errors"))
def cluster_is_installed_anew_over_its_data(stage: Stage) -> Scenario:
    """A cluster was deleted with its volumes and installed again, and a job goes on (ais-k8s, cleanup of data; PVCs).

    To convict: every rank ends over a bucket of which the job has read for days; the nodes have stopped a minute
    before, start with volumes that they initialize, and the primary makes a new cluster of another UUID of them.
    """
    cluster, job = stage.cluster, stage.job
    draw = stage.draw.child("anew")
    down = stage.mark(job.begin - draw.span(66_000, 80_000), "the cluster is deleted, and its volumes with it")
    ready = job.begin - draw.span(6_000, 13_000)
    aistenants.installed_anew(cluster, down, down + draw.span(24_000, 31_000), ready, draw)
    job.start()
    at, step = job.begin + seconds(0.5), draw.whole(4, 90) * 500
    left = draw.whole(2, 9)
    told(stage, at - 40 * MS, 0, "resume", f"step {step}, epoch {left} of 12, data s3://{stage.bucket}/ as before")
    text = ""
    for rank in firsts(stage):
        text = aistenants.bucket_unknown(cluster, stage.proxy_of(rank), at + draw.span(4, 30), stage.bucket)
    last = bucket_not_listed(stage, at + 40 * MS, text)
    ended = all_exit(stage, last + 40 * MS)
    made = of_all(stage.guilty("storage_io", stage.victim, also=("data", *ALSO)))
    return stage.close(
        "The manifest was applied to the wrong context, with a flag that had been meant for tests.",
        (replace(made, culprit_ranks=None),),
        until=ended + seconds(30),
    )
