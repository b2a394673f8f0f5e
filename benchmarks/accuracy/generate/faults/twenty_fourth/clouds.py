"""Storage faults of the twenty-fourth part of clouds behind a bucket: policies, limits, archives, clocks, gateways."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import TRIES_S
from benchmarks.accuracy.generate.faults.words.consumers import (
    entry_was_empty,
    gateway_timed_out,
    lhotse_direct_failed,
)
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.loaders import dataset_frames, in_worker
from benchmarks.accuracy.generate.faults.words.regulars import curl_tells, shard_left_out, tar_of
from benchmarks.accuracy.generate.faults.words.requests import object_path, refused_get
from benchmarks.accuracy.generate.faults.words.servers import cloud_refused, cloud_refuses_all
from benchmarks.accuracy.generate.faults.words.turns import of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisrounds as rounds
from fixtures.generator import aistickets as tickets
from fixtures.generator import sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_fourth")
DENIED = "aws-error[AccessDenied: Access Denied]"
BUSY = "azure-error[ServerBusy: Egress is over the account limit.]"
ARCHIVED = "aws-error[InvalidObjectState: The operation is not valid for the object's storage class]"
SKEWED = "aws-error[RequestTimeTooSkewed: The difference between the request time and the current time is too large.]"
NO_GRANT = (
    'gcp-error[Get "https://storage.googleapis.com/storage/v1/b/{bucket}/o/{name}'
    '?alt=json&prettyPrint=false&projection=full": '
    'oauth2: cannot fetch token: 400 Bad Request Response: {{"error":"invalid_grant","error_description":'
    '"Invalid JWT Signature."}}]'
)
COLD = ("data_loading_stall", "network", "infrastructure", "data")
WARM = (90, 420)


@kind(reads=True, hangs=False, lead_s=65.0)
def bucket_policy_forgets_the_cluster(stage: Stage) -> Scenario:
    """A new policy of the S3 bucket does not name the role of the targets, cold reads are denied (aws re:Post, 403).

    To convict: curl was told 403 for a shard that a target could not read from S3 at that moment; all
    targets are denied whatever they do not have since one moment, and had read from S3 until then.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("policy")
    stage.open()
    tickets.reworded(cluster, "backends: []", "backends: [aws]")
    since = stage.mark(at - draw.span(2_000, 17_000), "the policy of the bucket is another")
    rounds.reads_cold(cluster, stage.job.begin + seconds(2), since - seconds(2), 0.7, WARM, (30, 90), draw)
    cloud_refuses_all(cluster, since, at + seconds(2), lambda drawn: (tar_of(drawn), DENIED), 403, draw.child("others"))
    words = "The requested URL returned error: 403"
    for other in readers(stage)[: draw.whole(2, 5)]:
        then, shard = since + int((at - since) * draw.between(0.05, 0.96)), tar_of(draw)
        cloud_refused(cluster, draw.pick(cluster.targets), then - 9 * MS, shard, DENIED, 403)
        url = f"{stage.proxy_of(other).url(0)}/v1/objects/{stage.bucket}/{shard}"
        shard_left_out(stage, then, other, url, 22, words)
    shard = tar_of(draw)
    cloud_refused(cluster, stage.victim, at - 8 * MS, shard, DENIED, 403)
    url = f"{stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{shard}"
    curl_tells(stage, at, rank, url, 22, words)
    leaves(stage, at + 4 * MS, rank)
    return stage.close(
        "An audit had found a wildcard in it, and took it out together with what it stood for.",
        (of_all(stage.guilty("storage_io", stage.victim, also=COLD)),),
        until=at + seconds(9),
    )


@kind(reads=True, hangs=False, min_timeout_s=180, lead_s=65.0)
def account_sends_no_more_than_its_limit(stage: Stage) -> Scenario:
    """An Azure account throttles its egress, entries of batches stay empty (azure docs, ServerBusy; lhotse, get-batch).

    To convict: lhotse asks alone for an entry that was empty, and the SDK has had too many 503 for it; one target was
    told for that object, at each of those times, that the account is over its limit, as all are for what is cold.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("account"), utterance(stage.draw.child("own entry"))
    stage.open()
    tickets.reworded(cluster, "backends: []", "backends: [azure]")
    began = stage.mark(at - draw.span(600, 8_000), "the account of the bucket throttles its egress")
    asked, over = [at + seconds(after) for after in TRIES_S], at + seconds(TRIES_S[-1]) + draw.span(9, 60)
    for then in asked:
        cloud_refused(cluster, victim, then - 7 * MS, name, BUSY, 503)
    then = began
    while then < over + SEC:
        cloud_refused(cluster, draw.pick(cluster.targets), then, utterance(draw), BUSY, 503)
        cluster.count(draw.pick(cluster.targets), then, err_soft_getbatch_n=draw.whole(1, 3), getbatch_n=1)
        then += draw.span(700, 6_500)
    entry_was_empty(stage, at - 12 * MS, rank, name)
    for other in readers(stage)[: draw.whole(2, 5)]:
        empty, what, target = at + draw.span(2_000, 70_000), utterance(draw), draw.pick(cluster.targets)
        entry_was_empty(stage, empty, other, what)
        for then in (empty + 12 * MS + seconds(after) for after in TRIES_S):
            if then < over:
                cloud_refused(cluster, target, then - 7 * MS, what, BUSY, 503)
    text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, rank, name), sdk.too_many(503))
    lhotse_direct_failed(stage, over, rank, name, text)
    leaves(stage, over, rank)
    return stage.close(
        "The account is that of all teams, one of which had begun to copy an archive to another region.",
        (of_all(stage.guilty("storage_io", victim, also=COLD)),),
        until=over + seconds(9),
    )


@kind(reads=True, hangs=False, lead_s=60.0)
def old_shards_were_moved_to_the_archive(stage: Stage) -> Scenario:
    """A lifecycle rule has moved objects to a storage class that nobody reads at once (aws docs, S3 Glacier).

    To convict: the rank's error holds the words of S3, passed on by a target: what it asked for is in an archive. Other
    objects of the same folder fail in the same way, all else is read from S3 as before.
    """
    cluster, node, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("archive")
    year = draw.pick(("2019", "2020", "2021"))

    def old() -> str:
        return f"raw-{year}/{draw.whole(1, 12):02d}/{draw.token(8, '0123456789abcdef')}.parquet"

    stage.open()
    tickets.reworded(cluster, "backends: []", "backends: [aws]")
    stage.mark(at - draw.span(4_000, 26_000), f"the first object of {year} is asked for")
    rounds.reads_cold(cluster, stage.job.begin + seconds(2), at + seconds(3), 0.6, WARM, (20, 70), draw)
    for other in readers(stage)[: draw.whole(1, 4)]:
        then, name, target = at - draw.span(300, 3_900), old(), draw.pick(cluster.targets)
        cloud_refused(cluster, target, then - 5 * MS, name, ARCHIVED, 403)
        stage.job.note(then, other, f"cannot open {name} (403), row groups skipped", "W", 93)
    name = old()
    cloud_refused(cluster, node, at - 5 * MS, name, ARCHIVED, 403)
    path = f"/v1/objects/{stage.bucket}/{name}"
    body = sdk.answer(node, 403, ARCHIVED, "GET", path, stage.client(rank))
    text = sdk.request_error(403, body, node.url(0) + path + sdk.query(stage.proxy_of(rank), at), " ")
    in_worker(stage, at, rank, "aistore.sdk.errors.AISError", text, dataset_frames(stage))
    leaves(stage, at, rank)
    return stage.close(
        "The rule is two years old, and says 730 days.",
        (of_all(stage.guilty("storage_io", node, also=COLD)),),
        until=at + seconds(9),
    )


@kind(reads=True, hangs=False, lead_s=65.0)
def clock_of_a_target_has_run_away(stage: Stage) -> Scenario:
    """The clock of a target drifts until it is a quarter of an hour wrong (aws docs, RequestTimeTooSkewed).

    To convict: the SDK's error is of a target that S3 tells that its time is too far from its own; no other target is
    told so, and the lines of this one stand that far from those of all others for the same Smap or batch.
    """
    cluster, node, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("clock")
    stage.open()
    tickets.reworded(cluster, "backends: []", "backends: [aws]")
    cluster.skews[node.node_id] = draw.pick((-1, 1)) * draw.span(900_300, 902_900)
    since = stage.mark(at - draw.span(3_000, 15_000), f"the clock of {node.name} is too far from that of S3")
    others = [one for one in cluster.targets if one is not node]
    for other in readers(stage)[: draw.whole(1, 4)]:
        then, name = since + int((at - since) * draw.between(0.05, 0.95)), utterance(draw)
        cloud_refused(cluster, node, then - 5 * MS, name, SKEWED, 403)
        stage.job.note(then, other, f"{name}: 403 from {node.url(0)}, taking the next one", "W", 86)
    then = stage.job.begin + seconds(2)
    while then < at + seconds(3):
        size, spent = draw.whole(9, 24) << 10, draw.span(60, 300)
        reader = draw.pick(cluster.targets if then < since - SEC else others)
        cluster.count(reader, then, aws_get_n=1, aws_get_ns_total=spent, aws_get_size=size)
        cluster.count(reader, then, get_n=1, get_ns_total=spent + draw.span(2, 9), get_size=size)
        then += draw.span(200, 900)
    name = utterance(draw)
    cloud_refused(cluster, node, at - 5 * MS, name, SKEWED, 403)
    stage.job.raise_on(at, rank, refused_get(stage, at, rank, node, name, (403, "Forbidden"), SKEWED))
    leaves(stage, at, rank)
    return stage.close(
        "Its server of time had been a virtual machine, which was moved to colder storage.",
        (stage.guilty("storage_io", node, also=COLD),),
        until=at + seconds(9),
    )


@kind(reads=True, hangs=False, lead_s=65.0)
def key_of_the_service_account_was_deleted(stage: Stage) -> Scenario:
    """The key of Google's service account that the targets have is no longer valid (google-cloud-go, invalid_grant).

    To convict: the SDK's error holds the words of a target, which could not get a token from Google; every target says
    so of whatever it has to fetch since one moment, and none before.
    """
    cluster, node, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("key")
    stage.open()
    tickets.reworded(cluster, "backends: []", "backends: [gcp]")
    since = stage.mark(at - draw.span(2_000, 14_000), "the token of all targets is over, their key is deleted")

    def refused(name: str) -> str:
        return NO_GRANT.format(bucket=stage.bucket, name=name.replace("/", "%2F"))

    def of_others(drawn: Draw) -> tuple[str, str]:
        name = utterance(drawn, "extra")
        return name, refused(name)

    cloud_refuses_all(cluster, since, at + seconds(2), of_others, 400, draw.child("others"))
    for other in readers(stage)[: draw.whole(2, 5)]:
        then, name = since + int((at - since) * draw.between(0.04, 0.96)), utterance(draw)
        cloud_refused(cluster, draw.pick(cluster.targets), then, name, refused(name), 400)
        stage.job.note(then + 7 * MS, other, f"{name} not read (400), sample dropped", "W", 84)
    name = utterance(draw)
    error = refused(name)
    cloud_refused(cluster, node, at - 6 * MS, name, error, 400)
    stage.job.raise_on(at, rank, refused_get(stage, at, rank, node, name, (400, "Bad Request"), error))
    leaves(stage, at, rank)
    return stage.close(
        "A report of old keys was worked off from its top, and this one was the oldest.",
        (of_all(stage.guilty("storage_io", node, also=COLD)),),
        until=at + seconds(9),
    )


@kind(reads=True, hangs=False, min_timeout_s=300, lead_s=65.0)
def gateway_has_no_patience_for_cold_reads(stage: Stage) -> Scenario:
    """An nginx before AIStore waits a minute, targets fetch for longer (ingress-nginx, proxy-read-timeout).

    To convict: botocore was answered 504 by a gateway, three times, a minute each; since some seconds before, targets
    count reads from the cloud that last more than that, which took a second or two until then.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, name, tries = stage.draw.child("patience"), tar_of(stage.draw.child("own shard")), 3
    stage.open()
    tickets.reworded(cluster, "backends: []", "backends: [aws]")
    slow = stage.mark(at - draw.span(2_000, 9_000), "reads from the cloud take more than a minute")
    rounds.reads_cold(cluster, stage.job.begin + seconds(2), slow - seconds(3), 0.9, (800, 2_100), (300, 460), draw)
    starts = [at + seconds(60.02 * turn + (0, 0.6, 2.1)[turn]) for turn in range(tries)]
    over = starts[-1] + seconds(60.03)
    rounds.reads_cold(
        cluster, slow, over - seconds(40), min(3.0, 14 / len(cluster.targets)), (64_000, 150_000), (300, 460), draw
    )
    gateway = "http://s3.data.internal"
    for turn, then in enumerate(starts):
        said = f"{gateway}/{stage.bucket}/{name}: 504 Gateway Time-out after 60.0 s (attempt {turn + 1} of {tries})"
        stage.job.note(then + seconds(60.02), rank, said, "W", 58)
    for other in readers(stage)[: draw.whole(2, 5)]:
        then = max(slow, at - 3 * SEC) + seconds(60.02) + draw.span(1, 9_000)
        said = f"{gateway}/{stage.bucket}/{tar_of(draw)}: 504 Gateway Time-out after 60.0 s (attempt 1 of {tries})"
        stage.job.note(then, other, said, "W", 58)
    gateway_timed_out(stage, over + 9 * MS, rank, name, tries)
    leaves(stage, over + 9 * MS, rank)
    return stage.close(
        "The peering with the cloud had one of its two lines in repair.",
        (of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "network", "infrastructure"))),),
        until=over + seconds(9),
    )
