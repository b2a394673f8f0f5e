"""Storage faults of the fifteenth part of the store behind a bucket: certificates, tokens, rights, a busy account."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words.clients import TRIES_S, pipe_failed
from benchmarks.accuracy.generate.faults.words.loaders import dataset_frames, in_worker
from benchmarks.accuracy.generate.faults.words.patrons import http_file_refused
from benchmarks.accuracy.generate.faults.words.requests import object_path, refused_get
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisbehind as behind
from fixtures.generator import aischores as chores
from fixtures.generator import aisobjects, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, rfc3339, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "fifteenth")
TOKEN = "http://169.254.169.254/computeMetadata/v1/instance/service-accounts/default/token"
SCOPES = "scopes=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform"


@kind(reads=True, hangs=False, min_timeout_s=120, lead_s=60.0)
def certificate_behind_has_expired(stage: Stage) -> Scenario:
    """The certificate of the object store behind ends at noon: no cold read any more (minio docs; Go, crypto/x509)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, host = stage.draw.child("expired"), stage.draw.child("host").pick(("minio.store.corp:9000", "s3.lab.corp"))
    stage.open()
    began = stage.mark(at - draw.span(4_000, 26_000), "the certificate of the store behind has expired")
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, began, 2.2, 90, 900, draw.child("before"))

    def failed(then: int, name: str) -> None:
        tried = "exceeded maximum number of attempts, 3, https response error StatusCode: 0, RequestID: , HostID: "
        now = f"current time {rfc3339(then)[:19]}Z is after {rfc3339(began)[:19]}Z"
        why = f"tls: failed to verify certificate: x509: certificate has expired or is not yet valid: {now}"
        asked = f'request send failed, Get "https://{host}/{stage.bucket}/{name}?x-id=GetObject": {why}'
        error = f"aws-error[operation error S3: GetObject, {tried}, {asked}]"
        behind.cold_failed(cluster, draw.pick(cluster.targets), then, name, error, 500)

    for other in readers(stage)[: draw.whole(1, 5)]:
        then, name = began + draw.span(200, 3_900), utterance(draw, "raw")
        failed(then, name)
        stage.job.note(then + 5 * MS, other, f"{name} not read, left out: 500 Server Error", "W", 86)
    name = utterance(draw, "raw")
    for after in TRIES_S:
        failed(at + seconds(after) + draw.span(2, 9), name)
    over, node = at + seconds(TRIES_S[-1]) + draw.span(14, 40), draw.pick(cluster.targets)
    text = sdk.pool_error(node.address, node.ports[0], object_path(stage, rank, name), sdk.too_many(500))
    in_worker(stage, over, rank, "requests.exceptions.RetryError", text, dataset_frames(stage))
    exits(stage, over, rank)
    made = of_all(stage.guilty("storage_io", stage.victim, also=("network", "data_loading_stall", "infrastructure")))
    return stage.close("Who was told of it by mail has left; what is in the cluster is read as ever.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def second_part_not_permitted(stage: Stage) -> Scenario:
    """A role may read the first part of a corpus, and an epoch comes to the second: 403 (AWS docs, S3 policies)."""
    cluster, at = stage.cluster, stage.at
    draw = stage.draw.child("second part")
    stage.open()
    stage.mark(at - 40 * MS, "the role of the cluster may not read the second part of the corpus")
    ranks = sorted([stage.culprit, *readers(stage)[: draw.whole(0, 3)]])
    turns = [at, *sorted(at + draw.span(20, 600) for _ in ranks[1:])]
    for then, rank in zip(turns, ranks, strict=True):
        name, node = f"part2/train-{draw.whole(0, 4095):06d}.flac", draw.pick(cluster.targets)
        error = chores.no_policy_allows(stage.bucket, name, draw)
        behind.cold_failed(cluster, node, then - 4 * MS, name, error, 403)
        http_file_refused(stage, then, rank, node, name, (403, "Forbidden"))
    exits(stage, turns[-1], ranks[-1])
    made = of_all(stage.guilty("storage_io", stage.victim, also=("infrastructure", "data", "software")))
    return stage.close(
        "Whoever wrote the policy knew one prefix; the second was bought in spring.",
        (replace(made, culprit_ranks=tuple(ranks)),),
    )


@kind(reads=True, hangs=False, min_timeout_s=90, lead_s=60.0)
def account_is_busy(stage: Stage) -> Scenario:
    """An account of Azure is at its limit of egress and answers 503 (Azure docs, Blob error codes; docs/rate_limit)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("busy")
    error = f"azure-error[ServerBusy: {draw.pick(('Egress is', 'Operations per second is'))} over the account limit.]"
    stage.open()
    began = stage.mark(at - draw.span(12_000, 30_000), "the account behind is at its limit")
    then = began
    while then < at + seconds(29):
        behind.cold_failed(cluster, draw.pick(cluster.targets), then, utterance(draw, "raw"), error, 503)
        then += draw.span(700, 5_900)
    for turn, other in enumerate(readers(stage)[:4]):
        late, spent = at - seconds(6) + seconds(5 * turn) + draw.span(1, 900), draw.whole(7, 15)
        stage.job.note(late, other, f"shard opened at attempt {draw.whole(3, 5)} after {spent} s", "W", 88)
    shard, node = f"shards/train-{draw.whole(0, 4095):06d}.tar", draw.pick(cluster.targets)
    for after in (0.0, 1.1, 3.2, 7.3, 15.4, 31.5):
        behind.cold_failed(cluster, node, at + seconds(after), shard, error, 503)
    over = at + seconds(31.52)
    url = f"--fail --retry 5 {stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{shard}"
    pipe_failed(stage, over, rank, url, (22, "The requested URL returned error: 503"))
    exits(stage, over + 4 * MS, rank)
    made = of_all(stage.guilty("storage_io", stage.victim, also=("data_loading_stall", "network", "infrastructure")))
    return stage.close("Three clusters of the company read from the same account, and one began a copy.", (made,))


@kind(reads=True, hangs=False, min_timeout_s=120, lead_s=60.0)
def no_token_from_the_node(stage: Stage) -> Scenario:
    """What hands tokens to pods is down on one node: its target reads nothing from the cloud (GKE docs, metadata)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("token")
    stage.open()
    began = stage.mark(at - draw.span(5_000, 33_000), f"the node of {victim.name} gives its pods no token")

    def failed(then: int, name: str) -> None:
        source = f"https://storage.googleapis.com/{stage.bucket}/{name}"
        refused = "dial tcp 169.254.169.254:80: connect: connection refused"
        error = f'gcp-error[Get "{source}": Get "{TOKEN}?{SCOPES}": {refused}]'
        behind.cold_failed(cluster, victim, then, name, error, 500)

    aisobjects.cold_gets(cluster, began, at + seconds(60), 1.7, 90, 700, draw.child("others"), victim.node_id)
    for other in readers(stage)[: draw.whole(1, 4)]:
        then, name = began + int((at - began) * draw.between(0.1, 0.9)), utterance(draw, "raw")
        failed(then, name)
        stage.job.note(then + 5 * MS, other, f"{name} not read, left out: 500 Server Error", "W", 86)
    name = utterance(draw, "raw")
    for after in TRIES_S:
        failed(at + seconds(after) + draw.span(2, 9), name)
    over = at + seconds(TRIES_S[-1]) + draw.span(14, 40)
    text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, rank, name), sdk.too_many(500))
    in_worker(stage, over, rank, "requests.exceptions.RetryError", text, dataset_frames(stage))
    exits(stage, over, rank)
    return stage.close(
        "The daemon of the node was killed in an update of its pool; the token the target had ran out an hour later.",
        (stage.guilty("storage_io", victim, also=("network", "data_loading_stall", "infrastructure")),),
    )


@kind(reads=True, trains=False, hangs=False, uptime=True, without=RESTARTS)
def secret_rotated_by_half(stage: Stage) -> Scenario:
    """A new key id came with the old secret: nothing cold is read, no first batch (AWS docs, SignatureDoesNotMatch)."""
    cluster, job = stage.cluster, stage.job
    draw = stage.draw.child("secret")
    signed = "The request signature we calculated does not match the signature you provided. Check your key and signing"
    error = f"aws-error[SignatureDoesNotMatch: {signed} method.]"
    job.start()
    at, last = job.begin + draw.span(1_900, 3_600), 0
    stage.mark(job.begin - seconds(3), "the cluster signs with a secret that is not that of its key")
    ranks = sorted([stage.culprit, *readers(stage)[: draw.whole(1, 5)]])
    for turn, rank in enumerate(ranks):
        last, node = at + turn * draw.span(20, 140), draw.pick(cluster.targets)
        name = f"train/{draw.whole(0, 999):04d}/part-{draw.whole(0, 99_999):05d}.parquet"
        behind.cold_failed(cluster, node, last, name, error, 403)
        job.raise_on(last + 4 * MS, rank, refused_get(stage, last, rank, node, name, (403, "Forbidden"), error))
    exits(stage, last + 4 * MS, ranks[0])
    made = of_all(stage.guilty("storage_io", stage.victim, also=("infrastructure", "software", "data")))
    return stage.close(
        "Keys are rotated every ninety days, by hand; all jobs of the morning end so.",
        (replace(made, culprit_ranks=tuple(ranks)),),
    )
