"""Storage faults of the tenth part by a knob that was turned: deletions, questions to the store behind, limits."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.gateways import pipe_of_s5cmd_failed, s3_refused
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.requests import refused_get
from benchmarks.accuracy.generate.faults.words.turns import (
    in_vain,
    of_all,
    others_fail,
    others_wait,
    over_at,
    saved_in_vain,
)
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import tenant_out_of_space
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aismishaps as mishaps
from fixtures.generator import aisobjects
from fixtures.generator import aistroubles as troubles
from fixtures.generator import aisturns as turns
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "tenth")


@kind(reads=True, uptime=True)
def deletions_followed(stage: Stage) -> Scenario:
    """A bucket is told to follow the one behind it, where somebody tidies up: what the job reads goes with that."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, epoch = stage.draw.child("followed"), stage.draw.child("epoch").whole(2, 11)
    stage.open()
    many = draw.whole(200_000, 900_000)
    for other in readers(stage)[:3]:
        said = f"epoch {epoch}: the {many} names of epoch {epoch - 1}, all of which were read"
        reader_note(stage, stage.job.begin + draw.span(10, 400), other, said)
    began = stage.mark(at - draw.span(6_000, 31_000), "objects are deleted behind, and the bucket follows")
    turned = began - draw.span(1_000, 3_000) if draw.chance(0.6) else stage.job.begin - seconds(draw.between(30, 200))
    mishaps.change_buckets(cluster, turned, "set-bprops", draw)
    turns.asks_behind(cluster, max(turned, stage.job.begin), at, 0.9, (18, 80), draw)

    def fails(then: int, name: str) -> str:
        return turns.deleted_behind(cluster, cluster.target(draw.whole(0, 99)), then, name, draw)

    for _ in range(draw.whole(5, 12)):
        fails(began + int((at - began) * draw.between(0.1, 1)), utterance(draw))
    others_fail(stage, began, (-4.1, -1.8, -0.4, 1.6), draw, fails)
    name = utterance(draw)
    text = turns.deleted_behind(cluster, victim, at, name, draw)
    if draw.chance(0.5):
        s3_refused(stage, at + 6 * MS, rank, "NoSuchKey", "GetObject", text)
    else:
        stage.job.raise_on(at + 6 * MS, rank, refused_get(stage, at, rank, victim, name, (404, "Not Found"), text))
    stage.hang(at + 340 * MS, rank)
    also = ("data", "data_loading_stall")
    return stage.close(
        "A cache should not be wiser than its source, says the operator; the source is somebody else's to tidy.",
        (of_all(stage.guilty("storage_io", victim, also=also)),),
    )


@kind(reads=True, uptime=True)
def source_asked_each_time(stage: Stage) -> Scenario:
    """A bucket is told to ask its source before every read; the source takes its time, and no line tells of it."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("asked"), over_at(stage)
    stage.open()
    turned = stage.mark(at - draw.span(9_000, 34_000), "the bucket asks its source before every read")
    mishaps.change_buckets(cluster, turned, "set-bprops", draw)
    turns.asks_behind(cluster, turned + SEC, over + seconds(40), 0.35, (6_000, 29_000), draw)
    others_wait(stage, list(cluster.targets), draw)
    in_vain(stage, victim, over, 0.2)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Somebody has read an old version once. Now nobody does, and each read costs a way to the cloud.",
        (of_all(stage.guilty("data_loading_stall", victim, also=("storage_io",))),),
    )


@kind(reads=True, uptime=True, min_timeout_s=90, may_be_undetermined=True, without=("tenant_out_of_space",))
def limits_its_own_reads(stage: Stage) -> Scenario:
    """The cluster is told to ask its source for a few objects a minute only; cold reads wait, beside a full target."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("limit"), over_at(stage)
    if draw.chance(0.5):
        beside(stage, tenant_out_of_space)
    stage.open()
    turned = stage.mark(at - draw.span(8_000, 26_000), "the cluster limits how often it asks its source")
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, turned, 0.5, 40, 210, draw)
    if draw.chance(0.5):
        mishaps.change_buckets(cluster, turned, "set-bprops", draw)
    else:
        troubles.reconfigured(cluster, turned, draw)
    turns.limits_itself(cluster, turned, over + seconds(40), draw)
    others_wait(stage, list(cluster.targets), draw)
    in_vain(stage, victim, over)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "The bill of last month had a line for requests; the limit is by the minute and was meant by the second.",
        (of_all(stage.guilty("data_loading_stall", victim, also=("storage_io",))),),
    )


@kind(culprit=0, lead_s=60.0, min_timeout_s=90, without=("disk_busy",))
def writes_wait_for_disks(stage: Stage) -> Scenario:
    """An operator has every write wait until its disk has it: a checkpoint takes longer than its client waits."""
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, over = stage.draw.child("sync"), over_at(stage)
    stage.open()
    turned = stage.mark(at - draw.span(5_000, 28_000), "every write waits for its disk")
    troubles.reconfigured(cluster, turned, draw)
    turns.syncs_writes(cluster, turned, over + seconds(30), draw)
    saved_in_vain(stage, draw, 20.6)
    stage.hang(at + 340 * MS, 0)
    return stage.close(
        "After a loss of power somebody wants to be sure; the disks have no memory of their own that would help.",
        (of_all(stage.guilty("storage_io", victim, also=("data_loading_stall",))),),
    )


@kind(reads=True)
def retention_script(stage: Stage) -> Scenario:
    """A script deletes what is older than a quarter, and has the wrong prefix: the job's samples go one by one."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("retention")
    stage.open()
    began = stage.mark(at - draw.span(5_000, 22_000), "a script has objects of the bucket deleted")
    turns.deletes_listed(cluster, began, at + draw.span(9_000, 60_000), draw.whole(900, 40_000), draw)

    def fails(then: int, name: str) -> str:
        return aisobjects.not_there(cluster, cluster.target(draw.whole(0, 99)), then, name)

    others_fail(stage, began + SEC, (-3.3, -1.1, 0.7, 2.4), draw, fails)
    by_pipe = draw.chance(0.4)
    name = f"shards/train-{draw.whole(0, 4095):06d}.tar" if by_pipe else utterance(draw)
    text = aisobjects.not_there(cluster, victim, at, name)
    if by_pipe:
        pipe_of_s5cmd_failed(stage, at + 6 * MS, rank, name, text)
    else:
        stage.job.raise_on(at + 6 * MS, rank, refused_get(stage, at, rank, victim, name, (404, "Not Found"), text))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "The script was tried on a bucket whose names begin with a date.",
        (of_all(stage.guilty("storage_io", victim, also=("data", "data_loading_stall"))),),
    )
