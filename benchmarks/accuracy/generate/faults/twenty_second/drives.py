"""Storage faults of the twenty-second part of drives: sectors that cannot be read, a stall, no room, rotten content."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.regulars import status_to_the_end
from benchmarks.accuracy.generate.faults.words.requests import object_path, refused_get
from benchmarks.accuracy.generate.faults.words.subscribers import (
    asks_until_the_end,
    audio_of,
    comes_to_an_end,
    keeps_asking,
    lightning_not_saved,
    spread,
    told,
)
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS
from fixtures.generator import aisdesk as desk
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisobjects, sdk
from fixtures.generator import aistroubles as troubles
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "twenty_second")
FULL = (*DISKS, "low_space", "tenant_out_of_space")


@kind(reads=True, hangs=False, lead_s=60.0, min_timeout_s=120, without=DISKS)
def bad_sectors_of_a_drive_found_healthy(stage: Stage) -> Scenario:
    """A drive has unreadable sectors, which the health check does not hit (aistore docs/fshc; linux, EIO on read).

    To convict: the SDK's error names target and object; that target says `input/output error` of this object's file at
    each of six moments. FSHC was woken some seconds before and found the same mountpath healthy: that acquits nobody,
    since other ranks are told 500 by the same target for other objects before and after.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("sectors"), audio_of(stage.draw.child("own sectors"))
    stage.open()
    first = stage.mark(at - draw.span(14_000, 23_000), f"sectors of a drive of {victim.name} cannot be read")
    text = troubles.not_readable(cluster, victim, first, audio_of(draw), False)
    troubles.examined(cluster, victim, first + MS, text, True, draw)
    asked, over = status_to_the_end(stage, rank, victim, name, 500)
    for then in asked:
        troubles.not_readable(cluster, victim, then - 5 * MS, name, False)
    for since, until in ((first, at), (at, over - SEC)):
        for then, other in spread(stage, since, until, (1, 3), draw):
            missed = audio_of(draw)
            troubles.not_readable(cluster, victim, then - 6 * MS, missed, False)
            told(stage, then, other, "WARNING", f"{missed}: prefetch got 500 from {victim.url(0)}, dropped")
    leaves(stage, over, rank)
    return stage.close(
        "Its counter of pending sectors had stood at eight for a month, and nobody looks at that.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "infrastructure")),),
    )


@kind(reads=True, lead_s=65.0, without=DISKS)
def drive_stands_still_without_an_error(stage: Stage) -> Scenario:
    """An NVMe drive takes requests and ends none of them (linux, nvme I/O timeout after half a minute; ceph-users).

    To convict: all read time-outs of the rank that all wait for, and those of others, name one target; one disk of
    that target is said to be 100 % busy with 0 B/s at every tick since they began, and that is all there is.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("still")
    stage.open()
    stage.mark(at - draw.span(100, 900), f"{victim.disks[-1]} of {victim.name} stands still")
    host, port = victim.address, victim.ports[0]
    text = sdk.pool_error(host, port, object_path(stage, rank, audio_of(draw)), sdk.read_timeout(host, port))
    end = asks_until_the_end(stage, text, draw)
    desk.drive_stands_still(cluster, victim, victim.disks[-1], at, end + seconds(30), draw)
    for then, other in spread(stage, at + seconds(19.8), end - SEC, (1, 4), draw):
        cause = sdk.read_timeout(host, port)
        text = sdk.pool_error(host, port, object_path(stage, other, audio_of(draw)), cause)
        keeps_asking(stage, then - seconds(20.02), end, other, draw, 20.02, text, "ConnectionError")
    comes_to_an_end(stage, end)
    return stage.close(
        "Its firmware has a known fault and is to be updated when the hall is next shut down.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure")),),
    )


@kind(culprit=0, hangs=False, lead_s=75.0, without=FULL)
def last_checkpoint_finds_no_room(stage: Stage) -> Scenario:
    """Checkpoints of weeks have filled a target, Lightning writes one more over S3 (aistore docs, OOS; s3fs issues).

    To convict: the I/O error of Lightning holds `out of space` with a capacity; one target turned down the PUT of this
    very key at that moment, cleans up in vain, and has said for a minute how little room it has.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, job = stage.draw.child("last"), stage.job
    total = draw.pick((1862.65, 3725.29, 7450.58))
    used = total * draw.between(0.9505, 0.9545)
    space = disk.Space(f"{used:.1f}GiB", f"{total - used:.1f}GiB", 95, f"{total}GiB")
    stage.open()
    full = at + draw.span(1_400, 5_200)
    share = (total - used) / len(victim.mountpaths)
    desk.room_left(cluster, victim, job.begin + seconds(3), full - SEC, share, draw)
    key = f"{job.job.task}/epoch=0-step={stage.step}.ckpt"
    told(stage, at, 0, "INFO", f"saving s3://ckpt/{key} ({draw.between(0.3, 2.4):.1f} GiB)")
    stage.mark(full, f"{victim.name} is out of space")
    desk.put_by_s3_rejected(cluster, victim, full, "ckpt", key, space)
    disk.out_of_space(cluster, victim, full + 2 * MS, full + seconds(55), space)
    raised = full + draw.span(30, 190)
    lightning_not_saved(stage, raised, key, "ErrCapExceeded", space.error)
    leaves(stage, raised, 0)
    return stage.close(
        "Every run keeps all of its checkpoints, and the rule that was to remove old ones has waited for a review.",
        (stage.guilty("storage_io", victim, also=("infrastructure", "data")),),
        until=full + seconds(50),
    )


@kind(reads=True, hangs=False, lead_s=60.0)
def rotten_object_is_gone_when_asked_again(stage: Stage) -> Scenario:
    """A checksum that differs costs an object: 500 and removed, at the next try 404 (aistore docs/checksum).

    To convict: the 404 of the SDK is of a target that has said some milliseconds before that this object's content is
    bad (`BAD DATA CHECKSUM`); others met the same at the same target, and it had all of these objects until then.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("rotten")
    stage.open()

    def asked_twice(then: int, name: str) -> str:
        bad = then - draw.span(16, 31)
        aisobjects.bad_checksum(cluster, victim, bad, name, draw)
        return aisobjects.not_there(cluster, victim, then - 3 * MS, name)

    began = stage.mark(at - draw.span(9_000, 26_000), f"the first rotten object of {victim.name} is read")
    asked_twice(began + 40 * MS, audio_of(draw))
    for then, other in spread(stage, began + SEC, at, (2, 5), draw):
        name = audio_of(draw)
        told(stage, then, other, "WARNING", f"dropping {name}: ErrObjNotFound: {asked_twice(then, name)}")
    name = audio_of(draw)
    text = asked_twice(at, name)
    stage.job.raise_on(at, rank, refused_get(stage, at, rank, victim, name, (404, "Not Found"), text))
    leaves(stage, at, rank)
    return stage.close(
        "A controller whose battery was dead had lost a second of writes, half a year ago.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "infrastructure")),),
    )
