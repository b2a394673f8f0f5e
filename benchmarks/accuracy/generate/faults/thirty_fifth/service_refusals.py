"""Guilty storage that says no: no room for a checkpoint, no memory or processor for a batch, a cloud that is too busy.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.attendants import asked_in_vain, put_answer
from benchmarks.accuracy.generate.faults.words.caretakers import silent_tries
from benchmarks.accuracy.generate.faults.words.clients import status_gave_up
from benchmarks.accuracy.generate.faults.words.foremen import held_up, put_without_room, steps_before
from benchmarks.accuracy.generate.faults.words.natives import shard_of
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.tries import again, client_told, turned_down
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisabsences, aiscaretakers, aisdisk, aisobjects, aistickets, chains
from fixtures.generator import aisevents as ev
from fixtures.generator.chains import Failed
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "thirty_fifth")
ALSO = ("data_loading_stall", "infrastructure")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)
#: What would say that targets are full, or write checkpoints to them.
FULL = ("tenant_out_of_space", "low_space", "second_job")


@kind(culprit=0, lead_s=84.0, without=(*RESTARTS, *DISKS, *FULL))
def disk_is_full_when_a_checkpoint_comes(stage: Stage) -> Scenario:
    """A file system of a target is really full when rank 0 saves (facts: 507; aistore issue 354; recorded runs).

    To convict: an earlier save was taken; of this one a target says `no space left on device`, then that it is out of
    space, and turns each further try down with 507 and its name. Its room had shrunk from tick to tick, and its alerts
    go on. The other ranks wait in a collective for rank 0, and batches were read without an error.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, task, most = stage.draw.child("full"), stage.job.job.task, 3
    stage.open(save_every=10_000)
    earlier = max(1, stage.step // 3)
    done = f"step {earlier}: ais://checkpoints/{task}/step-{earlier:06d}.pt is written"
    told(stage, stage.job.step_at(earlier) + draw.span(300, 900), 0, "ckpt", done)
    path = f"/v1/objects/checkpoints/{task}/step-{stage.step:06d}.pt"
    told(stage, at - draw.span(700, 1_900), 0, "ckpt", f"step {stage.step}: writing ais:/{path[11:]}")
    aiscaretakers.room_shrinks(cluster, victim, at - seconds(62), at - SEC, draw.between(4, 9), draw)
    stage.mark(at, f"{victim.name} has no space left for {path}")
    space = aisabsences.found_full(cluster, victim, at - 30 * MS, path, draw)
    aisabsences.is_full(cluster, victim, at - 6 * MS, at + seconds(130), path, space)
    then = at
    for turn in range(1, most):
        why = put_answer(stage, then, victim, path, space.error)
        told(stage, then, 0, "ckpt", f"step {stage.step} is not written ({why}), try {turn} of {most}", "WARNING")
        then += seconds(10.0 * turn) + draw.span(300, 900)
        aisdisk.put_rejected(cluster, victim, then - 6 * MS, path, space)
    put_without_room(stage, then, victim, path, space.error)
    stage.hang(at + 280 * MS, 0)
    return stage.close(
        "Checkpoints of finished runs had never been removed.",
        (stage.guilty("storage_io", victim, also=("infrastructure",)),),
        ALIVE,
        until=then + seconds(60),
    )


@kind(reads=True, ais_order=410, lead_s=82.0, without=(*RESTARTS, "disk_busy", "tenant_rejected", "second_job"))
def batches_are_turned_down_under_pressure(stage: Stage) -> Scenario:
    """A target has no memory, or no processor, left for batches (aistore sources, xact/xs/moss: 429; facts 3.1).

    To convict: all tries of the rank are answered 429 with the `load=critical` of one target, which has its line of
    each, with the same wid as the proxy's; that target tells of what it lacks at every tick since before. Ranks
    that were turned down there earlier had their batch at a second try, and no other target turns anything down.
    """
    cluster, victim, rank = stage.cluster, stage.victim, stage.culprit
    draw, most, without_memory = stage.draw.child("pressure"), 5, stage.draw.child("of what").chance(0.6)
    client_told(stage, f"get-batch: 48 entries, streaming, colocation, {most} tries, retries of the SDK off")
    asked = held_up(stage, dict.fromkeys(steps_before(stage, 16, 3, draw.whole(1, 3), draw), 1.62))
    at = stage.at
    since = stage.mark(min(asked.values()) - draw.span(14_000, 22_000), f"{victim.name} comes under pressure")
    until = at + seconds(90)
    if without_memory:
        aisdisk.memory_pressure(cluster, victim, since, until, "extreme", draw)
    else:
        aisobjects.no_processor(cluster, victim, since, until, draw)
    lacks = ("critical", "low", "low") if without_memory else ("moderate", "critical", "low")
    critical = ev.advice("critical", "100ms", *lacks)
    if cluster.xact is not None:
        high = ev.advice("high", "10ms", *(("high", "low", "low") if without_memory else ("low", "high", "low")))
        said = ev.throttled(cluster.xact, draw.whole(4, 19), high, "10ms", victim.release.order)
        cluster.say(victim, min(asked.values()) - draw.span(1_200, 4_000), said)

    def refused(then: int, one: int) -> Failed:
        pending = draw.whole(11, 40)
        wid = chains.reject(stage, then, victim, one, critical, pending)
        if cluster.xact is None:
            return Failed("", "")
        text = ev.rejected(cluster.xact, wid, critical, pending, victim.release.order)
        return turned_down(stage, then, one, wid, 429, text)

    for then in asked.values():
        other = draw.pick(readers(stage))
        again(stage, then + 5 * MS, other, refused(then, other), 1, most)
    stage.mark(at, f"{victim.name} turns the batch of rank {rank} down")
    last = asked_in_vain(stage, rank, most, draw, lambda then: refused(then, rank))
    stage.hang(at + 350 * MS, rank)
    return stage.close(
        "Another container had moved to its host that afternoon.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ALIVE,
        until=last + seconds(50),
    )


@kind(reads=True, min_timeout_s=120, lead_s=66.0, without=(*RESTARTS, "tenant_errors", "second_job"))
def cloud_behind_asks_to_slow_down(stage: Stage) -> Scenario:
    """Shards that are not in the cluster yet are read from S3, which answers SlowDown (AWS docs, 503; aistore docs).

    To convict: the rank has too many answers of 503 of one target for a shard, of which that target says six times
    within a minute and a half that its cold read was turned down, `SlowDown`. Other targets are told so as well,
    of other shards, once or twice each; what is in the cluster is read without an error.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("cold")
    stage.open()
    aistickets.reworded(cluster, "backends: []", "backends: [aws]")
    begin = stage.job.begin + 2 * SEC
    aisobjects.cold_gets(cluster, begin, at - seconds(9), 0.8, 90, 310, draw.child("before"))
    aisobjects.cold_gets(cluster, at - seconds(9), at + seconds(96), 5.0, 2_100, 9_000, draw.child("since"))
    first = stage.mark(at - draw.span(5_000, 8_000), "S3 asks the cluster to slow down")
    others = [node for node in cluster.targets if node is not victim]
    for turn in range(draw.whole(3, 7)):
        then, shard, node = first + turn * draw.span(700, 4_000), shard_of(draw), draw.pick(others)
        for late in (0, draw.span(24, 60))[: draw.whole(1, 2)]:
            aiscaretakers.store_slows_down(cluster, node, then + 5 * late, shard, draw)
    for then, other in spread(stage, first, at, (1, 3), draw):
        said = f"slow read: {shard_of(draw)} took {draw.between(4.2, 9.4):.1f} s"
        told(stage, then, other, "reader", said, "WARNING")
    shard, last = shard_of(draw), at
    told(stage, at - 11 * MS, rank, "reader", f"next shard of ais://{stage.bucket}: {shard}")
    stage.mark(at, f"{victim.name} cannot read {shard} of rank {rank}")
    for then in silent_tries(at, draw):
        last = aiscaretakers.store_slows_down(cluster, victim, then, shard, draw)
    status_gave_up(stage, last + 2 * MS, rank, victim, shard, 503)
    stage.hang(at + 310 * MS, rank)
    return stage.close(
        "All shards of the new corpus had the same prefix, and a second cluster was being filled from it.",
        (of_all(stage.guilty("storage_io", victim, also=("network", *ALSO))),),
        ALIVE,
        until=last + seconds(50),
    )
