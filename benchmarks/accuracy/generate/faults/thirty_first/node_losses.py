"""Guilty storage of objects that are out of reach since a target is gone: killed, in maintenance, one too many.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.applicants import curl_gives_up, too_many_skipped, wds_shard
from benchmarks.accuracy.generate.faults.words.clients import fetch_frames
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.natives import one_line, refused_at, shard_of
from benchmarks.accuracy.generate.faults.words.requests import refused_get
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisfaults as faults
from fixtures.generator import aislosses, aisnatives, aisservices, aisstandstills, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirty_first")
#: Noise of objects that are missing for reasons of their own.
MISSING = ("mountpath_before", "tenant_errors")
ALSO = ("data", "data_loading_stall", "infrastructure")
NOT_FOUND = "The requested URL returned error: 404"


@kind(reads=True, lead_s=58.0, without=(*RESTARTS, *MISSING))
def size_is_asked_of_a_killed_target_and_its_heir(stage: Stage) -> Scenario:
    """A target is killed, a rank's HEAD is refused six times and then told 404 without a word (aistore/sdk, retries).

    To convict: the SDK repeats for half a minute what one target refuses, and the 404 that ends it is another's; the
    primary removes the first one in between, and its log breaks off without an orderly end and begins anew.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, job = stage.draw.child("size"), stage.job.job
    heir, name = stage.other_target(victim, draw.whole(0, 50)), shard_of(draw)
    stage.open()
    died = stage.mark(at - draw.span(20, 400), f"kill -9 {victim.name}")
    faults.kill(cluster, victim, died)
    gone = faults.leave_smap(cluster, victim, died)
    faults.reconnects(cluster, victim, died, died + seconds(15))
    for then, other in spread(stage, at + seconds(1), at + seconds(19), (1, 3), draw):
        text = refused_at(stage, other, victim, draw)
        stage.job.sdk_warning(then, other, sdk.retrying(round(draw.between(1.0, 4.4), 2), "ConnectionError", text))
    refused, then = refused_at(stage, rank, victim, draw, name), at + 4 * MS
    waits = [round(draw.between(1.0, 2.0**turn + 0.4), 2) for turn in range(4)]
    waits.append(round(draw.between(7.0, 8.6), 2))
    waits.append(round((gone - then) / SEC - sum(waits) + draw.between(0.6, 4.2), 2))
    for wait in waits:
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", refused))
        then += seconds(wait) + 4 * MS
    aisnatives.head_not_there(cluster, heir, then - 2 * MS, name)
    stage.job.sdk_warning(then, rank, "All retries exhausted; request failed", "ERROR")
    url = f"{heir.url(0)}/v1/objects/{stage.bucket}/{name}" + sdk.query(stage.proxy_of(rank), then - 3 * MS)
    place = f"{job.build['site']}/aistore/sdk/obj/object.py"
    caller = fetch_frames(
        stage,
        "size = int(self.bucket.object(name).head()['Content-Length'])",
        sdk.Frame(place, 131, "head", "return self._client.request(HTTP_METHOD_HEAD, path=self._object_path,"),
    )
    failure = "aistore.sdk.errors.ErrObjNotFound: " + sdk.request_error(404, "", url, "")
    stage.job.raise_on(then + 2 * MS, rank, sdk.http_failure(job, 404, "Not Found", url, failure, caller))
    stage.hang(at + 340 * MS, rank)
    back = stage.mark(died + draw.span(44_000, 51_000), f"{victim.name} is started again")
    faults.start_again(cluster, victim, back)
    return stage.close(
        "The kernel of the storage host had chosen the largest process there was.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",),
    )


@kind(reads=True, hangs=False, targets=4, lead_s=84.0, without=(*RESTARTS, *MISSING))
def maintenance_leaves_shards_where_nobody_asks(stage: Stage) -> Scenario:
    """A target goes into maintenance without a rebalance (docs/lifecycle_node; wording from memory).

    To convict: shards are left out with 404 by several ranks since the primary has put a target into maintenance;
    no rebalance follows, those who answer 404 are all other targets, and nothing was missing before.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, limit = stage.draw.child("left behind"), stage.draw.child("budget").whole(3, 5)
    stage.open()
    began = stage.mark(at - draw.span(22_000, 37_000), f"{victim.name} goes into maintenance, nothing is moved")
    aisstandstills.left_without_moving(cluster, victim, began)

    def left_out(then: int, who: int) -> None:
        shard = wds_shard(draw)
        aisstandstills.not_here(cluster, stage.other_target(victim, draw.whole(0, 50)), then - 4 * MS, shard)
        curl_gives_up(stage, then, who, 22, NOT_FOUND, shard)

    for then, other in spread(stage, began + seconds(1.5), at - SEC, (3, 7), draw):
        left_out(then, other)
        node, lost = stage.other_target(victim, draw.whole(0, 50)), draw.whole(2, 9)
        cluster.count(node, then, getbatch_n=1, getbatch_obj_n=48 - lost, err_soft_getbatch_n=lost)
    for turn in range(limit):
        left_out(began + int((at - began) * (turn + draw.between(0.3, 0.8)) / limit), rank)
    last = at - 60 * MS
    left_out(last, rank)
    too_many_skipped(stage, at, rank, limit + 1, limit)
    leaves(stage, at + 6 * MS, rank)
    return stage.close(
        "One night with a new fan was not worth moving sixty terabytes for.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        until=at + seconds(30),
    )


@kind(reads=True, hangs=False, targets=5, lead_s=128.0, without=(*RESTARTS, *MISSING, "kalive_hiccup"))
def second_lost_target_is_one_too_many_for_slices(stage: Stage) -> Scenario:
    """Two data slices and a parity outlive one target and not two (docs/storage_svcs, erasure coding).

    To convict: a target was lost a minute before and all reads went on, restored from slices; a second one is lost, and
    from then on targets that are well say that they find one slice and need two. Both logs break off.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("slices")
    first = stage.other_target(victim, draw.whole(0, 50))
    stage.open()
    lost = stage.mark(at - draw.span(101_000, 108_000), f"{first.name} is killed, and is not started again")
    faults.kill(cluster, first, lost)
    left = faults.leave_smap(cluster, first, lost)
    died = stage.mark(at - draw.span(38_000, 43_000), f"{victim.name} is killed as well")
    aislosses.restores(cluster, left + seconds(2), died, 300, 1_900, draw)
    said = f"{draw.whole(2, 19)} shards came late, the slowest after {draw.between(1.1, 1.9):.1f} s"
    told(stage, died - draw.span(2_000, 9_000), rank, "shards", said)
    faults.kill(cluster, victim, died)
    gone = faults.leave_smap(cluster, victim, died)
    well = [node for node in cluster.targets if node not in (first, victim)]
    for then, other in spread(stage, died + seconds(1), gone - SEC, (2, 4), draw):
        wait = round(draw.between(1.0, 4.4), 2)
        stage.job.sdk_warning(
            then, other, sdk.retrying(wait, "ConnectionError", refused_at(stage, other, victim, draw))
        )
    for then, other in spread(stage, gone + 300 * MS, at - 40 * MS, (1, 4), draw):
        missed, node = utterance(draw), draw.pick(well)
        why = aisservices.slices_missing(cluster, node, then - 4 * MS, missed, 1, 2)
        told(
            stage,
            then,
            other,
            "batches",
            f"{missed} left out: {one_line(stage, then, other, node, missed, 400, why)}",
            "WARNING",
        )
    name, node = utterance(draw), draw.pick(well)
    text = aisservices.slices_missing(cluster, node, at - 4 * MS, name, 1, 2)
    raised = refused_get(stage, at, rank, node, name, (400, "Bad Request"), text, "ErrFailedTo")
    stage.job.raise_on(at, rank, raised)
    leaves(stage, at + 6 * MS, rank)
    return stage.close(
        "Both hosts hung on one power strip, whose fuse had been replaced in the morning.",
        (stage.guilty("storage_io", first, victim, also=ALSO),),
        until=at + seconds(30),
    )
