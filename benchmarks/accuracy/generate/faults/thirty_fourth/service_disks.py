"""Guilty storage of disks: one that fails and is given up, one that crawls, a target without room, content gone bad.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.caretakers import shard_not_put
from benchmarks.accuracy.generate.faults.words.getters import struck_by
from benchmarks.accuracy.generate.faults.words.natives import one_line, shard_of
from benchmarks.accuracy.generate.faults.words.requests import object_path, refused_get, unanswered
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, writers_to
from fixtures.generator import aisabsences, aisdisk, aisforemen, aislosses, aisobjects
from fixtures.generator.aisdisk import Space
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirty_fourth")
ALSO = ("data_loading_stall", "infrastructure")
MISSING = ("tenant_errors", "soft_errors")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)
NOT_FOUND = (404, "Not Found")
#: When urllib3 has asked three times that is told 500: at once, a moment later, and after six seconds.
THIRD_TRY_S = 6.05


@kind(reads=True, lead_s=66.0, without=(*RESTARTS, *DISKS, *MISSING))
def drive_fails_and_its_mountpath_is_given_up(stage: Stage) -> Scenario:
    """A drive returns errors, FSHC disables its mountpath, and what only that had is gone (aistore docs/fshc.md).

    To convict: the rank is told by a target that its object does not exist; seconds before that, the same target
    had answered for the same object with an error of a disk, and has disabled that disk's mountpath between the two.
    Others on that disk are missing too, all at that target.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("drive fails")
    disk, name = draw.whole(0, len(victim.disks) - 1), utterance(draw)
    stage.open()
    began = stage.mark(at - draw.span(2_600, 3_900), f"drive {victim.disks[disk]} of {victim.name} begins to fail")
    for then, _ in spread(stage, began, at - 200 * MS, (4, 8), draw):
        aisabsences.disk_errs(cluster, victim, then, utterance(draw), disk)
    for tried in (at - 4 * MS, at + 17 * MS):
        aisabsences.disk_errs(cluster, victim, tried, name, disk)
    disabled = at + draw.span(5_100, 5_900)
    path, device = victim.mountpaths[disk], victim.disks[disk]
    aisdisk.lose_mountpath(cluster, victim, disabled, path, device, draw.between(48, 90))
    asked = at + seconds(THIRD_TRY_S)
    text = aisobjects.not_there(cluster, victim, asked, name)
    stage.job.raise_on(asked + 6 * MS, rank, refused_get(stage, asked, rank, victim, name, NOT_FOUND, text))
    for then, other in spread(stage, asked + 200 * MS, asked + seconds(9), (1, 3), draw):
        lost = utterance(draw)
        why = one_line(
            stage, then, other, victim, lost, 404, aisobjects.not_there(cluster, victim, then - 5 * MS, lost)
        )
        told(stage, then, other, "prefetch", f"{lost} is skipped: {why}", "WARNING")
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "The bucket had no copies and no slices, so what the drive had was there and nowhere else.",
        (stage.guilty("storage_io", victim, also=("data", *ALSO)),),
        ALIVE,
    )


@kind(reads=True, lead_s=84.0, without=(*RESTARTS, *DISKS))
def disk_that_crawls_holds_up_a_shard(stage: Stage) -> Scenario:
    """A disk does a hundredth of what it did and reports no error: reads of what lies on it do not end in 20 s.

    To convict: every try of the rank for its shard times out at one target, by its address. Since before that,
    one disk of that target alone is at its limit at each tick, with a few megabytes a second; shards that came from
    that target had taken long, those of the others had not. Its keepalive is well.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("crawls"), over_at(stage)
    name = shard_of(draw)
    stage.open()
    began = stage.mark(at - draw.span(34_000, 58_000), f"a disk of {victim.name} becomes slow")
    aislosses.lone_disk_slows(cluster, victim, began, over + seconds(40), draw, "disk")
    peers = [one for one in cluster.targets if one is not victim]
    for then, other in spread(stage, stage.job.begin + seconds(6), at - SEC, (3, 7), draw):
        size, spent = draw.whole(9, 34) << 20, draw.between(0.2, 0.9)
        node = draw.pick(peers)
        cluster.count(node, then, get_n=1, get_ns_total=seconds(spent), get_size=size)
        told(stage, then, other, "prefetch", f"{shard_of(draw)}: {size} bytes of {node.url(0)} in {spent:.1f} s")
    for then, other in spread(stage, began + seconds(19), at - SEC, (1, 3), draw):
        size, spent = draw.whole(9, 34) << 20, draw.between(11.0, 18.6)
        cluster.count(victim, then, get_n=1, get_ns_total=seconds(spent), get_size=size)
        text = f"{shard_of(draw)}: {size} bytes of {victim.url(0)} in {spent:.1f} s"
        told(stage, then, other, "prefetch", text, "WARNING")
    unanswered(stage, rank, draw, victim, object_path(stage, rank, name), over=over)
    stage.hang(at + 350 * MS, rank)
    return stage.close(
        "The drive was remapping sectors and was replaced a week later, when its own log was looked at.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure")),),
        ALIVE,
    )


@kind(lead_s=78.0, without=(*RESTARTS, *DISKS, "tenant_out_of_space", "low_space", "second_job"))
def shard_of_a_save_meets_a_full_target(stage: Stage) -> Scenario:
    """Every rank writes its shard of a checkpoint, and one target has reached its limit (docs/storage_svcs.md, OOS).

    To convict: the ranks that raise were told 507 by one target, which names itself in the answer; its room had
    shrunk from tick to tick, it is out of space at every tick since, and its cleanup frees nothing. No other
    target turns a shard down, and the others wait in the first collective after the save.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, folder = stage.draw.child("full"), f"checkpoints/{stage.job.job.task}/step-{stage.step:06d}"
    stage.open(save_every=10_000)
    left, total = draw.between(176.0, 185.0), 3725.29
    space = Space(f"{total - left:.1f}GiB", f"{left:.1f}GiB", 95, f"{total:.2f}GiB")
    began = stage.mark(at - draw.span(46_000, 63_000), f"{victim.name} fills up")
    aisforemen.fills_up(cluster, victim, began, at, (left, 95), draw.child("room"))
    told(stage, at - draw.span(600, 1_900), 0, "ckpt", f"step {stage.step}: saving shards to ais://{folder}")
    writers, last = writers_to(stage, draw), at
    for writer in writers:
        then = at if writer == stage.culprit else at + draw.span(4, 240)
        path = f"/v1/objects/{folder}/__{writer}_0.distcp"
        aisdisk.put_rejected(cluster, victim, then - 5 * MS, path, space)
        shard_not_put(stage, then, writer, victim, path, space.error)
        last = max(last, then)
    aisdisk.out_of_space(cluster, victim, at + MS, over_at(stage) + seconds(30), space)
    stage.hang(last + 350 * MS, *writers)
    return stage.close(
        "Old checkpoints were to be deleted by a job of cron that had not run since the account was renamed.",
        (struck_by(stage, "storage_io", writers, victim, ALSO),),
        ALIVE,
    )


@kind(reads=True, ais_order=400, lead_s=72.0, without=(*RESTARTS, *DISKS, *MISSING))
def rotten_object_is_taken_away(stage: Stage) -> Scenario:
    """What lies on a disk has changed: a read that validates finds that, and the object is removed (docs/checksum.md).

    To convict: the rank is told by a target that its object does not exist. Some milliseconds before, that target
    has found the checksum of the same object to be another, and answered 500; so for other objects, with others.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("rotten")
    name = utterance(draw)
    stage.open()
    began = stage.mark(at - draw.span(21_000, 44_000), f"objects on a disk of {victim.name} are found changed")
    for then, other in spread(stage, began, at - seconds(2), (1, 4), draw):
        lost = utterance(draw)
        aisobjects.bad_checksum(cluster, victim, then - 31 * MS, lost, draw)
        why = one_line(
            stage, then, other, victim, lost, 404, aisobjects.not_there(cluster, victim, then - 6 * MS, lost)
        )
        told(stage, then, other, "prefetch", f"{lost} is skipped: {why}", "WARNING")
    aisobjects.bad_checksum(cluster, victim, at - 30 * MS, name, draw)
    text = aisobjects.not_there(cluster, victim, at - 6 * MS, name)
    stage.job.raise_on(at, rank, refused_get(stage, at - 10 * MS, rank, victim, name, NOT_FOUND, text))
    stage.hang(at + 320 * MS, rank)
    return stage.close(
        "The host had lost its power in the week before, and its controller had a cache that was not protected.",
        (stage.guilty("storage_io", victim, also=("data", *ALSO)),),
        ALIVE,
    )
