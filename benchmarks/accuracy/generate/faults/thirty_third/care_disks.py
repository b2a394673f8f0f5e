"""Guilty storage of disks: one that fails, one that is full, one that is slow, one that is not mounted after a reboot.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.caretakers import entry_tried_again, reader_of, shard_not_put
from benchmarks.accuracy.generate.faults.words.foremen import held_up, steps_before
from benchmarks.accuracy.generate.faults.words.requests import refused_get
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, in_vain, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS
from fixtures.generator import aisabsences, aiscaretakers, aisdisk, aislosses, aisobjects, aisupkeep, chains, sdk
from fixtures.generator import aisfaults as faults
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirty_third")
ALSO = ("data_loading_stall", "infrastructure")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)
#: Noise of objects that are missing, or of targets that are full, for reasons of their own.
MISSING = ("tenant_errors", "soft_errors")
FULL = ("tenant_out_of_space", "low_space", "second_job")


@kind(reads=True, lead_s=64.0, without=(*RESTARTS, *DISKS, *MISSING))
def disk_fails_between_two_tries_of_a_read(stage: Stage) -> Scenario:
    """A disk gives I/O errors until FSHC disables its mountpath (aistore docs/fshc; tgtfshc.go; issue 354).

    To convict: one target answers for one name with `input/output error`, twice, as urllib3 repeats a 500 in silence,
    and with 404 at the third try; in between its FSHC gives up the mountpath that the errors name, and a resilver
    begins. The rank raises the 404, which names the object, the target and its address.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("failing disk")
    stage.open()
    turn, name = draw.whole(0, len(victim.disks) - 1), utterance(draw)
    disabled = at + draw.span(2_900, 5_300)
    stage.mark(min(at, disabled - draw.span(8_600, 9_400)), f"{victim.disks[turn]} of {victim.name} gives I/O errors")
    for after in (4 * MS, 26 * MS):
        aisabsences.disk_errs(cluster, victim, at + after, name, turn)
    path, disk = victim.mountpaths[turn], victim.disks[turn]
    aisdisk.lose_mountpath(cluster, victim, disabled, path, disk, draw.between(120, 210))
    cluster.last_process(victim).silent_disks.append((disk, disabled, 1 << 62))
    then = at + seconds(6.05) + draw.span(2, 9)
    text = aisobjects.not_there(cluster, victim, then - 3 * MS, name)
    stage.job.raise_on(then, rank, refused_get(stage, then, rank, victim, name, (404, "Not Found"), text))
    stage.hang(at + 320 * MS, rank)
    return stage.close(
        "The disk had counted reallocated sectors for weeks, and nobody looked.",
        (stage.guilty("storage_io", victim, also=("data", *ALSO)),),
        ALIVE,
        until=then + seconds(70),
    )


@kind(lead_s=70.0, without=(*RESTARTS, *DISKS, *FULL))
def shard_of_a_checkpoint_meets_a_full_target(stage: Stage) -> Scenario:
    """A sharded checkpoint is written, and a target that owns one of its shards is full (recorded OOS; issue 354).

    To convict: the rank that raises has 507 in hand for its own shard, with the name and the address of the target;
    that target tells how little room is left at each tick before, and from the write on that it is out of space. The
    others raise nothing and wait for that rank.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, task = stage.draw.child("full"), stage.job.job.task
    stage.open(save_every=10_000)
    folder = f"{task}/step-{stage.step:06d}"
    told(stage, at - 900 * MS, 0, "ckpt", f"saving sharded checkpoint ais://checkpoints/{folder}")
    aiscaretakers.room_shrinks(cluster, victim, at - seconds(45), at - SEC, draw.between(1.3, 2.9), draw)
    path = f"/v1/objects/checkpoints/{folder}/__{rank}_0.distcp"
    stage.mark(at - 30 * MS, f"{victim.name} has no room for the shard of rank {rank}")
    space = aisabsences.found_full(cluster, victim, at - 30 * MS, path, draw)
    aisabsences.is_full(cluster, victim, at - 3 * MS, at + seconds(stage.params.timeout_s + 60), path, space)
    shard_not_put(stage, at, rank, victim, path, space.error)
    stage.hang(at + 280 * MS, rank)
    return stage.close(
        "Checkpoints of three months had been kept, for nobody had asked for less.",
        (stage.guilty("storage_io", victim, also=("infrastructure",)),),
        ALIVE,
    )


@kind(reads=True, lead_s=90.0, without=(*RESTARTS, *DISKS))
def slow_disk_of_a_target_holds_up_its_reads(stage: Stage) -> Scenario:
    """A disk works at a hundredth of its speed and has no error (gray failure; aistore docs, disk utilization).

    To convict: ranks wait ever longer for what one address serves and at last not at all, read time-outs of 20 s name
    that address alone; one disk of that target moves some megabytes and is 98 to 100 % busy at each tick since.
    """
    cluster, victim, rank = stage.cluster, stage.victim, stage.culprit
    draw = stage.draw.child("slow disk")
    late = {one: draw.between(4, 13) for one in steps_before(stage, 42, 12, draw.whole(2, 4), draw)}
    asked = held_up(stage, late)
    at, over = stage.at, over_at(stage)
    since = stage.mark(min(asked.values()) - draw.span(1_900, 6_000), f"a disk of {victim.name} is slow")
    aislosses.lone_disk_slows(cluster, victim, since, over + seconds(30), draw, "which disk")
    for step, then in asked.items():
        who, url = reader_of(stage, step), f"{victim.url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}"
        told(stage, then + seconds(late[step]), who, "reader", f"slow read: {late[step]:.1f} s for {url}", "WARNING")
    stage.mark(at, f"rank {rank} waits for an object of {victim.name}")
    in_vain(stage, victim, over, 0.3)
    stage.hang(at + 300 * MS, rank)
    return stage.close(
        "Its firmware was busy with its own flash; the disk was replaced the next day.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io",)),),
        ("what the rank reads at last lies on the slow disk and waits behind everything else there",),
    )


@kind(reads=True, lead_s=132.0, ais_order=410, without=(*RESTARTS, *DISKS, *MISSING, "kalive_hiccup"))
def rebooted_target_comes_back_without_a_disk(stage: Stage) -> Scenario:
    """A host is rebooted and one of its disks is not mounted (aistore docs/troubleshooting, sie#50; issue 110).

    To convict: the target's new log begins with `lost or missing mountpath`; since it is back, and after its rebalance
    is over, what does not exist is always told by that target: to ranks that go on without it, and to the one that
    asks three times and raises. What others did not have before, they did not have while it was away.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("not mounted")
    stage.open()
    down = stage.mark(stage.job.begin + draw.span(9_000, 14_000), f"SIGTERM {victim.name}, its host is rebooted")
    faults.terminate(cluster, victim, down)
    up = stage.mark(down + draw.span(19_000, 26_000), f"{victim.name} starts without {victim.disks[-1]}")
    joined = aisupkeep.starts_without_disk(cluster, victim, up, draw)
    cluster.last_process(victim).silent_disks.append((victim.disks[-1], up, 1 << 62))
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))
    heir = stage.other_target(victim, draw.whole(0, 50))
    away = [(then, other, heir) for then, other in spread(stage, down + SEC, up, (1, 2), draw)]
    since = [(then, other, victim) for then, other in spread(stage, joined + 6 * SEC, at - 2 * SEC, (3, 6), draw)]
    for then, other, node in (*away, *since):
        designated, name = stage.other_target(victim, draw.whole(0, 50)), utterance(draw)
        chains.missing_entry(stage, then, designated, node, name, draw.whole(1, 4))
        lacks = f"Batch entry {name} failed: {sdk.missing_object(node, stage.bucket, name)}"
        told(stage, then + 6 * MS, other, "loader", f"sample left out ({lacks})", "WARNING")
    name, then = utterance(draw), at
    for turn, wait in enumerate((1.5, 3.0), 1):
        designated = stage.other_target(victim, draw.whole(0, 50))
        failed = chains.missing_entry(stage, then, designated, victim, name, draw.whole(3, 6))
        entry_tried_again(stage, then, rank, failed.error, turn, 3)
        then += seconds(wait) + draw.span(5, 14)
    failed = chains.missing_entry(stage, then, stage.other_target(victim), victim, name, draw.whole(3, 6))
    stage.job.raise_on(then + 9 * MS, rank, failed.traceback)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "The disk stood in fstab with `nofail`, by a name that it no longer had.",
        (stage.guilty("storage_io", victim, also=("data", *ALSO)),),
        ALIVE,
    )
