"""Storage faults of the seventeenth part of what lies behind a bucket, and of work that takes all disks."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.callers import loader_timed_out
from benchmarks.accuracy.generate.faults.words.guests import httpx_late, leaves, smart_open_failed
from benchmarks.accuracy.generate.faults.words.requests import refused_get
from benchmarks.accuracy.generate.faults.words.turns import in_vain, of_all, others_wait, over_at
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand, crawls
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisbehind as behind
from fixtures.generator import aisobjects, aisservices, aisturns, chains
from fixtures.generator import aispassages as passages
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "seventeenth")
ARCHIVED = "aws-error[InvalidObjectState: The operation is not valid for the object's storage class]"
NO_BUCKET = "aws-error[NoSuchBucket: The specified bucket does not exist]"


@kind(reads=True, hangs=False, lead_s=60.0)
def key_of_new_objects_not_allowed(stage: Stage) -> Scenario:
    """New objects are encrypted with a key that the cluster may not use: 403 (AWS docs, S3 and KMS, access denied)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, account = stage.draw.child("kms"), stage.draw.child("account").whole(10**11, 10**12 - 1)
    key = "-".join(draw.token(many, HEX) for many in (8, 4, 4, 4, 12))
    arn = f"arn:aws:sts::{account}:assumed-role/ais-nodes/i-0{draw.token(16, HEX)}"
    error = (
        f"aws-error[AccessDenied: User: {arn} is not authorized to perform: kms:Decrypt on resource: "
        f"arn:aws:kms:us-east-2:{account}:key/{key} because no resource-based policy allows the kms:Decrypt action]"
    )
    stage.open()
    began = stage.mark(at - draw.span(3_000, 19_000), "what is read now was encrypted with another key")
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, began, 1.7, 60, 400, draw.child("before"))
    for other in readers(stage)[: draw.whole(1, 4)]:
        then, name = began + int((at - began) * draw.between(0.1, 0.95)), utterance(draw, "v2")
        behind.cold_failed(cluster, draw.pick(cluster.targets), then, name, error, 403)
        stage.job.note(then + 5 * MS, other, f"{name} left out: 403 Forbidden", "W", 86)
    name, node = utterance(draw, "v2"), draw.pick(cluster.targets)
    behind.cold_failed(cluster, node, at - 5 * MS, name, error, 403)
    stage.job.raise_on(at, rank, refused_get(stage, at, rank, node, name, (403, "Forbidden"), error))
    leaves(stage, at, rank)
    made = of_all(stage.guilty("storage_io", stage.victim, also=("data", "data_loading_stall", "infrastructure")))
    return stage.close("The default of the bucket was changed last week, and older objects have no key.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def half_of_a_corpus_is_archived(stage: Stage) -> Scenario:
    """A rule has moved what nobody has read for long into an archive: 403 (AWS docs, lifecycle, InvalidObjectState)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("archive")
    stage.open()
    began = stage.mark(at - draw.span(9_000, 31_000), "what is read now lies in an archive")
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, at, 1.6, 60, 500, draw.child("others"))
    for other in readers(stage)[: draw.whole(1, 4)]:
        then, name = began + int((at - began) * draw.between(0.1, 0.95)), utterance(draw, "old")
        behind.cold_failed(cluster, draw.pick(cluster.targets), then, name, ARCHIVED, 403, by_s3=True)
        stage.job.note(then + 5 * MS, other, f"s3://{stage.bucket}/{name}: skipped (InvalidObjectState)", "W", 74)
    name, node = utterance(draw, "old"), draw.pick(cluster.targets)
    behind.cold_failed(cluster, node, at - 5 * MS, name, ARCHIVED, 403, by_s3=True)
    told = f"An error occurred (Forbidden) when calling the GetObject operation: {ARCHIVED}"
    smart_open_failed(stage, at, rank, name, told)
    leaves(stage, at, rank)
    made = of_all(stage.guilty("storage_io", stage.victim, also=("data", "data_loading_stall", "infrastructure")))
    return stage.close("Ninety days without a read, says the rule; it was made for logs.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def store_behind_has_no_address(stage: Stage) -> Scenario:
    """A resolver does not know the store behind for a while: 500 (kubernetes docs, debugging DNS; Go's net)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, host = stage.draw.child("resolver"), f"{stage.bucket}.s3.us-west-2.amazonaws.com"
    stage.open()
    began = stage.mark(at - draw.span(2_000, 14_000), "the resolver does not answer as it should")
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, began, 1.4, 60, 400, draw.child("before"))
    end = draw.pick(("no such host", "server misbehaving"))

    def error(name: str) -> str:
        lookup = f"dial tcp: lookup {host} on 10.96.0.10:53: {end}"
        asked = f'request send failed, Get "https://{host}/{name}?x-id=GetObject": {lookup}'
        return f"aws-error[operation error S3: GetObject, {behind.TRIED}, {asked}]"

    for other in readers(stage)[: draw.whole(1, 5)]:
        then, name = began + int((at + 2 * SEC - began) * draw.between(0.1, 0.9)), utterance(draw, "raw")
        behind.cold_failed(cluster, draw.pick(cluster.targets), then, name, error(name), 500)
        stage.job.note(then + 5 * MS, other, f"{name} not read, left out: 500 Server Error", "W", 86)
    name, node = utterance(draw, "raw"), draw.pick(cluster.targets)
    behind.cold_failed(cluster, node, at - 5 * MS, name, error(name), 500)
    told = (500, "Internal Server Error")
    stage.job.raise_on(at, rank, refused_get(stage, at, rank, node, name, told, error(name)))
    leaves(stage, at, rank)
    made = of_all(stage.guilty("storage_io", stage.victim, also=("network", "data_loading_stall", "infrastructure")))
    return stage.close("Both pods of the resolver were placed on a node that is being replaced.", (made,))


@kind(reads=True, hangs=False, ais_order=410, lead_s=60.0)
def batches_of_a_deleted_bucket(stage: Stage) -> Scenario:
    """A bucket behind was deleted, only what was read before is there (AWS docs, NoSuchBucket; docs/get_batch)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("deleted")
    stage.open()
    began = stage.mark(at - draw.span(6_000, 22_000), "the bucket behind is deleted")
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, began, 1.5, 60, 400, draw.child("before"))
    then = began + draw.span(200, 1_500)
    while then < at:
        warning = utterance(draw, "raw")
        behind.cold_failed(cluster, draw.pick(cluster.targets), then, warning, NO_BUCKET, 404)
        then += draw.span(300, 2_600)
    for other in readers(stage)[: draw.whole(1, 5)]:
        lost, late = draw.whole(2, 7), at - draw.span(200, 3_000)
        cluster.count(draw.pick(cluster.targets), late, getbatch_n=1, err_soft_getbatch_n=lost)
        said = f"get-batch: {lost} of 48 objects are missing, the batch goes on without them"
        stage.job.note(late + 6 * MS, other, said, "W", 102)
    node = draw.pick(cluster.targets)
    stage.job.raise_on(at, rank, chains.soft_limit(stage, at - 5 * MS, node, rank).traceback)
    leaves(stage, at, rank)
    made = of_all(stage.guilty("storage_io", stage.victim, also=("data", "data_loading_stall", "infrastructure")))
    return stage.close(
        "Whoever tidies up an account saw no reads of it for a month: the cluster had most of it.", (made,)
    )


@kind(reads=True, hangs=False, min_timeout_s=60, lead_s=60.0)
def first_epoch_outlasts_httpx(stage: Stage) -> Scenario:
    """A bucket is read for the first time from a slow source, a reader waits 20 s (aistore issue 171; httpx docs)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, over = stage.draw.child("first epoch"), stage.at + seconds(20.01)
    stage.open()
    began = stage.mark(at - draw.span(29_000, 44_000), "what is read for the first time comes slowly")
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, began, 1.5, 60, 500, draw.child("before"))
    aisobjects.cold_gets(cluster, began, over + seconds(20), 0.8, 4_000, 19_000, draw.child("cold"))
    for turn, other in enumerate(readers(stage)[: draw.whole(2, 6)]):
        then = at - seconds(24) + seconds(6.3 * turn) + draw.span(1, 4_000)
        url = f"{draw.pick(cluster.targets).url(0)}/v1/objects/{stage.bucket}/{utterance(draw, 'raw')}"
        stage.job.note(then, other, f"GET {url} took {draw.between(8, 19):.1f} s", "W", 71, "reader")
    httpx_late(stage, over, rank)
    leaves(stage, over, rank)
    made = of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "network")))
    return stage.close("Nobody has thought of a prefetch: the last corpus was put into the cluster by hand.", (made,))


@kind(reads=True, hangs=False, slurm=True, lead_s=60.0, without=DISKS)
def what_was_evicted_is_read_again(stage: Stage) -> Scenario:
    """A target fetches again what it has just evicted, and a job crawls (aistore docs/storage_svcs, LRU; issue 176)."""
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("again")
    stage.open()
    began = stage.mark(at - draw.span(4_000, 15_000), f"{victim.name} evicts what is needed in a moment")
    over = crawls(stage, draw.whole(9, 14), 8.0, 21.0)
    aisobjects.evict(cluster, victim, began, over, draw)
    passages.reads_anew(cluster, victim, began, over + seconds(10), draw)
    who, then = [stage.culprit, *readers(stage)], at + draw.span(6_000, 12_000)
    while then < over:
        url = f"{victim.url(0)}/v1/objects/{stage.bucket}/{utterance(draw, 'raw')}"
        stage.job.note(then, draw.pick(who), f"slow read: {draw.between(6, 20):.1f} s for {url}", "W", 80)
        then += draw.span(8_000, 21_000)
    cancelled_by_hand(stage, over + draw.span(900, 6_000))
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure", "network"))
    made = replace(made, culprit_ranks=None)
    return stage.close("Two of its mountpaths were taken for something else, and are to come back.", (made,))


@kind(reads=True, min_timeout_s=60, lead_s=60.0, without=DISKS)
def copies_are_made_at_noon(stage: Stage) -> Scenario:
    """Somebody wants copies of a bucket that is read, all disks write (aistore docs/storage_svcs, n-way mirror)."""
    cluster, at, over = stage.cluster, stage.at, over_at(stage)
    draw = stage.draw.child("copies")
    stage.open()
    began = stage.mark(at - draw.span(14_000, 39_000), "copies are made of a whole bucket")
    aisservices.make_copies(cluster, began, over + seconds(20), 3, draw)
    for node in cluster.targets:
        for _ in range(draw.whole(3, 6)):
            then, reads = began + int((over - began) * draw.between(0.1, 1)), draw.whole(3, 12)
            cluster.count(node, then, get_n=reads, get_ns_total=reads * draw.span(6_000, 18_000), get_size=reads << 18)
    others_wait(stage, list(cluster.targets), draw)
    in_vain(stage, draw.pick(cluster.targets), over, 0.3)
    stage.hang(at + 340 * MS, stage.culprit)
    made = of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "infrastructure")))
    return stage.close("After the disk that was lost last week, somebody wants to be safe.", (made,))


@kind(reads=True, hangs=False, min_timeout_s=90, lead_s=60.0, without=DISKS)
def neighbour_writes_its_corpus(stage: Stage) -> Scenario:
    """Another team uploads its corpus, a loader has waited long enough (pytorch docs, DataLoader; docs/performance)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, limit = stage.draw.child("neighbour"), 60
    over = at + seconds(limit) + draw.span(3, 40)
    stage.open()
    began = stage.mark(at - draw.span(11_000, 30_000), "another team writes to all targets at once")
    aisturns.written_by_another(cluster, began, over + seconds(25), draw)
    for turn, other in enumerate(readers(stage)[: draw.whole(2, 5)]):
        then = at - seconds(5) + seconds(11 * turn) + draw.span(1, 5_000)
        url = f"{draw.pick(cluster.targets).url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}"
        stage.job.note(then, other, f"slow read: {draw.between(9, 31):.1f} s for {url}", "W", 80)
    loader_timed_out(stage, over, rank, limit)
    leaves(stage, over, rank)
    made = of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "infrastructure", "network")))
    return stage.close("Their deadline is tomorrow, and nothing in the cluster holds them back.", (made,))
