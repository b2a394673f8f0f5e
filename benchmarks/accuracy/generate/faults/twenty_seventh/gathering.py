"""Storage faults of the twenty-seventh part of get-batch: turned away, held up, not sent, evicted."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import TRIES_S
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.servers import entries_are_late
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisdisk, aislosses, aisobjects, aisquiet, chains
from fixtures.generator import aisevents as ev
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_seventh")


@kind(reads=True, hangs=False, min_timeout_s=120, ais_order=410, lead_s=66.0, without=("tenant_rejected",))
def batches_are_turned_away_for_memory(stage: Stage) -> Scenario:
    """A target without free memory takes no batches for a while (aistore docs/get_batch, 429 under pressure).

    To convict: the client has been told 429 six times; each time it was one target that had rejected the batch for
    memory, as it did for others; it says "low-memory" at every tick, other targets do not.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("turned away")
    stage.open()
    over = at + seconds(TRIES_S[-1]) + draw.span(4, 30)
    began = stage.mark(at - draw.span(9_000, 17_000), f"{victim.name} is short of memory")
    aisdisk.memory_pressure(cluster, victim, began, over + seconds(20), "extreme", draw)
    advice = ev.advice("critical", "100ms", "critical", "low", "moderate")
    for other in readers(stage)[: draw.whole(2, 4)]:
        then = at - draw.span(500, 5_000)
        chains.reject(stage, then, victim, other, advice, draw.whole(9, 60))
        said = (
            f"get-batch answered 429 by {stage.proxy_of(other).url(0)}, went through {draw.between(3, 7):.1f} s later"
        )
        told(stage, then + draw.span(7_100, 8_000), other, "batches", said, "WARNING")
    for after in TRIES_S:
        chains.reject(stage, at + seconds(after), victim, rank, advice, draw.whole(9, 60))
    stage.job.raise_on(over, rank, chains.too_many_requests(stage, rank).traceback)
    leaves(stage, over + 6 * MS, rank)
    return stage.close(
        "A page cache that nobody had asked for was counted as memory of the target.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "infrastructure")),),
        until=over + seconds(20),
    )


@kind(reads=True, min_timeout_s=60, ais_order=410, lead_s=68.0, without=DISKS)
def one_sender_holds_up_all_batches(stage: Stage) -> Scenario:
    """One disk is so slow that every batch with an entry on it is late (aistore docs/get_batch, rxwait; one slow OSD).

    To convict: batches of many ranks time out at several targets that only assemble: these count how long they have
    waited for others to send; one target counts no such wait, and has a disk with no time left that moves little.
    """
    cluster, victim, rank, at, over = stage.cluster, stage.victim, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("one sender")
    stage.open()
    began = stage.mark(at - draw.span(12_000, 20_000), f"a disk of {victim.name} is very slow")
    aislosses.lone_disk_slows(cluster, victim, began, over + seconds(30), draw, "which")
    entries_are_late(cluster, victim, began, over + seconds(25), draw.child("late"))
    others = [one for one in cluster.up(at) if one is not victim]
    for other in readers(stage)[: draw.whole(1, 4)]:
        then = at + draw.span(100, 6_000) + seconds(20.02)
        chains.read_timed_out(stage, then, draw.pick(others), other, round(draw.between(1.0, 1.5), 2))
    then, attempt = at + seconds(20.02), 0
    while then < over - SEC and attempt < 6:
        wait = round(draw.between(1.0, min(30.0, 2.0**attempt + 0.5)), 2)
        chains.read_timed_out(stage, then, draw.pick(others), rank, wait)
        then, attempt = then + seconds(wait) + seconds(20.02), attempt + 1
    stage.hang(at + 260 * MS, rank)
    return stage.close(
        "Each batch has hundreds of entries, and so one on that disk.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure")),),
    )


@kind(reads=True, min_timeout_s=60, ais_order=450, uptime=True, lead_s=60.0, without=(*RESTARTS, "kalive_hiccup"))
def returned_target_gets_no_entries(stage: Stage) -> Scenario:
    """After an update of one target its peers keep streams from before and send it nothing (aistore, shared-dm, v1.4+).

    To convict: the target that a batch timed out at was restarted minutes ago; peers say in the end that they had no
    stream to it, "destination missing", for the requests that the client names; it only counts reads from neighbours.
    """
    cluster, victim, rank, job = stage.cluster, stage.victim, stage.culprit, stage.job
    draw, first, at, over = stage.draw.child("no entries"), stage.other_target(stage.victim), stage.at, over_at(stage)
    stage.mark(job.begin - seconds(185), f"SIGTERM {victim.name}, for an update")
    aisquiet.comes_back_unknown(cluster, victim, job.begin - seconds(225), first)
    stage.mark(job.begin, f"job {job.job.job_id} starts training")
    job.start()
    job.train(0, stage.step)
    cluster.start_batches(job.begin + 40 * MS, first)
    stage.load(job, job.begin + 60 * MS, at - 80 * MS, avoid=(victim.node_id,))
    wids, then = [], at + seconds(20.02)
    for attempt in range(6):
        if then < over - SEC:
            wait = round(draw.between(1.0, min(30.0, 2.0**attempt + 0.5)), 2)
            wids.append(chains.read_timed_out(stage, then, victim, rank, wait))
            aisquiet.rescued(cluster, victim, then + draw.span(21_000, 59_000), draw.whole(2, 4))
            then += seconds(wait) + seconds(20.02)
    stage.hang(at + 300 * MS, rank)
    idle = over + seconds(draw.between(62, 75))
    aisquiet.never_sent(cluster, victim, idle, wids, draw)
    return stage.close(
        "The update was one of a single target, to see whether it goes well.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure")),),
        until=idle + seconds(15),
    )


@kind(reads=True, hangs=False, ais_order=410, lead_s=66.0, without=("tenant_errors", "soft_errors"))
def batch_counts_what_was_evicted(stage: Stage) -> Scenario:
    """A target above its watermark evicts what the manifest still names; buffered batches end with 400 (aistore, LRU).

    To convict: the batch had more missing entries than it may have; the target that owns them evicts since just
    before, and counts what it has; single reads of such names are 404 at that target only.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("evicted")
    stage.open()
    began = stage.mark(at - draw.span(14_000, 21_000), f"{victim.name} evicts what was not read for long")
    aisobjects.evict(cluster, victim, began, at + seconds(20), draw.child("lru"))
    for other in readers(stage)[: draw.whole(2, 4)]:
        name, then = utterance(draw), began + int((at - began) * draw.between(0.4, 0.95))
        aisobjects.not_there(cluster, victim, then - 4 * MS, name)
        said = f"{victim.url(0)}/v1/objects/{stage.bucket}/{name}: 404, no cut from it"
        told(stage, then, other, "batches", said, "WARNING")
    designated = stage.other_target(victim)
    failed = chains.soft_limit(stage, at, designated, rank)
    stage.job.raise_on(at + 5 * MS, rank, failed.traceback)
    leaves(stage, at + 9 * MS, rank)
    return stage.close(
        "The bucket has no store behind it, and eviction was on for all buckets.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "infrastructure")),),
        until=at + seconds(30),
    )
