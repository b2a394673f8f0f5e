"""Storage faults of the thirtieth part of disks: one that a script enables again, one that fails before its copies."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.natives import entry_failed, one_line, shard_of
from benchmarks.accuracy.generate.faults.words.stewards import curl_refused
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS
from fixtures.generator import aisobjects, aisstewards
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirtieth")
ALSO = ("data_loading_stall", "data", "infrastructure")


@kind(reads=True, hangs=False, lead_s=104.0, without=(*DISKS, *RESTARTS, "tenant_errors"))
def failing_disk_is_enabled_again_and_again(stage: Stage) -> Scenario:
    """A script enables whatever mountpath it finds disabled, so a bad disk comes back each minute (aistore docs, fshc).

    To convict: curl is answered 500 and names nobody; one target had errors of input on the same disk in that moment as
    minutes before, gives it up each time, and each time somebody enables it; others were told 404 in between.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("enabled again")
    stage.open()
    disk, began = draw.whole(0, len(victim.disks) - 1), at - draw.span(88_000, 94_000)
    stage.mark(began - seconds(4), f"{victim.disks[disk]} of {victim.name} begins to fail")

    def left_out(since: int, until: int, many: tuple[int, int], status: int) -> None:
        for then, other in spread(stage, since, until, many, draw):
            missed = shard_of(draw)
            if status == 404:
                aisobjects.not_there(cluster, victim, then - 4 * MS, missed)
            else:
                aisstewards.not_read_from(cluster, victim, then - 4 * MS, missed, disk)
            told(stage, then, other, "shards", f"{missed} left out: curl: (22), HTTP {status}", "WARNING")

    rounds = [(began, began + draw.span(24_000, 29_000)), (began + draw.span(37_000, 41_000), began + seconds(58))]
    for lost, back in rounds:
        left_out(lost - seconds(3.9), lost, (1, 2), 500)
        aisstewards.given_up(cluster, victim, lost, back, disk, draw)
        left_out(lost + 200 * MS, back, (1, 3), 404)
        aisstewards.enabled_again(cluster, victim, back, disk, draw)
    left_out(at - seconds(9), at, (2, 5), 500)
    shard = shard_of(draw)
    aisstewards.not_read_from(cluster, victim, at - 4 * MS, shard, disk)
    curl_refused(stage, at, rank, shard, 500)
    leaves(stage, at + 12 * MS, rank)
    aisstewards.given_up(cluster, victim, at + draw.span(4_100, 6_000), at + seconds(50), disk, draw)
    return stage.close(
        "It had been written after a night of false alarms.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        until=at + seconds(25),
    )


@kind(reads=True, hangs=False, lead_s=66.0, without=(*DISKS, *RESTARTS, "tenant_errors"))
def disk_fails_before_its_copies_are_made(stage: Stage) -> Scenario:
    """A job makes second copies of a bucket, and is not far yet as a disk fails (aistore docs, n-way mirror and fshc).

    To convict: an entry of a batch does not exist on one target, as the data set says; that one has just given a disk
    up, others miss what it had as well, and a job for copies still runs on all targets.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("before its copies")
    aisstewards.copies_begin(cluster, stage.job.begin - seconds(2), at + seconds(40), draw)
    stage.open()
    disk, lost = draw.whole(0, len(victim.disks) - 1), at - draw.span(2_500, 9_000)
    stage.mark(lost - seconds(4), f"{victim.disks[disk]} of {victim.name} fails")
    aisstewards.given_up(cluster, victim, lost, at + seconds(50), disk, draw)
    for then, other in spread(stage, lost + 150 * MS, at - 40 * MS, (2, 6), draw):
        missed = utterance(draw)
        text = aisobjects.not_there(cluster, victim, then - 4 * MS, missed)
        why = one_line(stage, then, other, victim, missed, 404, text)
        told(stage, then, other, "batches", f"{missed} left out: {why}", "WARNING")
    name = utterance(draw)
    cluster.count(stage.other_target(victim, draw.whole(0, 40)), at, getbatch_n=1, err_soft_getbatch_n=1)
    entry_failed(stage, at, rank, name, f"{victim.name}: ais://{stage.bucket}/{name} does not exist")
    leaves(stage, at + 8 * MS, rank)
    return stage.close(
        "The old drives had come of one lot, which was why somebody wanted copies.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        until=at + seconds(30),
    )
