"""Storage faults of the fifteenth part of work over whole buckets that others began while a job reads."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words.callers import loader_timed_out
from benchmarks.accuracy.generate.faults.words.requests import batch_unanswered
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, in_vain, of_all, others_wait, over_at
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand, crawls
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisyearly as yearly
from fixtures.generator import chains
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "fifteenth")
BUSY = (*RESTARTS, "disk_busy")


def _slow_reads(stage: Stage, begin: int, until: int, low_s: float, high_s: float) -> None:
    """Ranks note reads that took long, one after the other."""
    draw = stage.draw.child("slow reads of all")
    who, then = [stage.culprit, *readers(stage)[:5]], begin
    while then < until:
        url = f"{draw.pick(stage.cluster.targets).url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}"
        stage.job.note(then, draw.pick(who), f"slow read: {draw.between(low_s, high_s):.1f} s for {url}", "W", 80)
        then += draw.span(8_000, 26_000)


@kind(reads=True, hangs=False, slurm=True, lead_s=60.0, without=BUSY)
def bucket_is_erasure_coded_at_noon(stage: Stage) -> Scenario:
    """Erasure coding is switched on for the bucket that is read: a job crawls (aistore docs/storage_svcs; issue 84)."""
    cluster, at = stage.cluster, stage.at
    draw = stage.draw.child("encoded")
    stage.open()
    began = stage.mark(at - draw.span(9_000, 20_000), "somebody switches erasure coding on for the bucket")
    over = crawls(stage, draw.whole(10, 15), 6.0, 16.0)
    yearly.encodes_bucket(cluster, began, over + seconds(30), draw)
    _slow_reads(stage, at + seconds(7), over, 5.2, 15.9)
    cancelled_by_hand(stage, over + draw.span(2_000, 19_000))
    made = of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "network", "infrastructure")))
    return stage.close(
        "A disk was lost last week, and with it what was on it; it should not happen again.",
        (replace(made, culprit_ranks=None),),
    )


@kind(reads=True, hangs=False, min_timeout_s=90, lead_s=60.0, without=BUSY)
def transforms_of_another_team(stage: Stage) -> Scenario:
    """Another team transforms a whole bucket: no processor is left to serve reads (aistore docs/etl, offline)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, limit = stage.draw.child("offline"), min(stage.params.timeout_s - 20, 120) // 10 * 10
    stage.open()
    began = stage.mark(at - draw.span(14_000, 29_000), "another team has a whole bucket transformed")
    yearly.transforms_bucket(cluster, began, at + seconds(limit + 50), "weblake-384", draw)
    _slow_reads(stage, at - seconds(5), at + seconds(limit - 4), 5.0, 17.5)
    over = at + seconds(limit) + draw.span(3, 40)
    loader_timed_out(stage, over, rank, limit)
    exits(stage, over, rank)
    made = of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "infrastructure")))
    return stage.close("Pods that transform have no limits, and there is one on each host of storage.", (made,))


@kind(reads=True, lead_s=60.0, without=BUSY)
def old_corpus_is_deleted(stage: Stage) -> Scenario:
    """Tens of millions of objects are deleted at once: journals take the disks (aistore docs/batch, performance)."""
    cluster, at, over = stage.cluster, stage.at, over_at(stage)
    draw = stage.draw.child("old corpus")
    stage.open()
    began = stage.mark(at - draw.span(11_000, 27_000), "somebody deletes a corpus of last year")
    yearly.deletes_corpus(cluster, began, over + seconds(30), draw)
    others_wait(stage, list(cluster.targets), draw)
    in_vain(stage, draw.pick(cluster.targets), over)
    stage.hang(at + 340 * MS, stage.culprit)
    made = of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "infrastructure")))
    return stage.close("The quarter ends on Friday, and so does the budget for disks.", (made,))


@kind(reads=True, lead_s=60.0, without=BUSY)
def bucket_is_copied_while_read(stage: Stage) -> Scenario:
    """Another team copies the bucket for itself: batches take longer than clients wait (aistore docs/bucket, copy)."""
    cluster, rank, at, over = stage.cluster, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("copied")
    stage.open()
    began = stage.mark(at - draw.span(12_000, 24_000), "another team begins to copy the bucket")
    yearly.copies_bucket(cluster, began, over + seconds(30), f"{stage.bucket}-exp", draw)
    for turn, other in enumerate(readers(stage)[: draw.whole(2, 4)]):
        late, spent = at - seconds(7) + seconds(6 * turn) + draw.span(1, 900), draw.between(8, 19)
        stage.job.note(late, other, f"get-batch of 48 entries took {spent:.1f} s", "W", 80)
    then = at + seconds(20.02)
    for _ in range(6):
        if then >= over - SEC:
            break
        chains.read_timed_out(stage, then, draw.pick(cluster.targets), rank, wait := round(draw.between(1, 9), 2))
        then += seconds(wait) + seconds(20.02)
    else:
        batch_unanswered(stage, then, rank, draw.pick(cluster.targets))
    stage.hang(at + 340 * MS, rank)
    made = of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "network", "infrastructure")))
    return stage.close("They want to change some labels, and one copy more seemed safer than a branch.", (made,))
