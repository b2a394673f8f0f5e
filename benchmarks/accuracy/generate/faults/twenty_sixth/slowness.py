"""Storage faults of the twenty-sixth part of slow reads: a worn disk, a check, a rebalance, a cloud that brakes."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.claimants import token_file, webshard
from benchmarks.accuracy.generate.faults.words.consumers import connection_of_mount, dataloader_rank_waits
from benchmarks.accuracy.generate.faults.words.enquirers import archive_of, late_elsewhere, s3_url, waits_for
from benchmarks.accuracy.generate.faults.words.requests import object_path
from benchmarks.accuracy.generate.faults.words.servers import reads_on_time
from benchmarks.accuracy.generate.faults.words.subscribers import asks_until_the_end, comes_to_an_end
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aischores, aisdesk, aislapses, aislosses, aisquiet, aisupkeep, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_sixth")
#: The release from which housekeeping says that it stands aside for a high load.
LOAD_TOLD_FROM = 400
WAITS = ("storage_io", "infrastructure")


@kind(reads=True, lead_s=70.0, without=DISKS)
def worn_drive_answers_in_half_minutes(stage: Stage) -> Scenario:
    """A drive at the end of its life retries inside (ceph-users, one slow OSD; smartctl, media wearout).

    To convict: the rank that all wait for runs into time-outs at one target again and again, others have what they
    wanted of that target late; one disk there gives kilobytes a second and has no time left, no other disk does.
    """
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw = stage.draw.child("worn")
    stage.open()
    began = stage.mark(at - draw.span(13_000, 24_000), f"a disk of {victim.name} retries for half a minute")
    aislosses.lone_disk_slows(cluster, victim, began, over + seconds(30), draw, "worn disk")
    others = [one for one in cluster.up(at) if one is not victim]
    reads_on_time(cluster, others, stage.job.begin, over + seconds(15), draw.child("others"))
    cause = sdk.read_timeout(victim.address, victim.ports[0])
    path = object_path(stage, stage.culprit, utterance(draw))
    end = asks_until_the_end(stage, sdk.pool_error(victim.address, victim.ports[0], path, cause), draw)

    def says(spent: float) -> str:
        return f"{spent:.1f} s for {victim.url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}"

    late_elsewhere(stage, at - SEC, draw.whole(1, 4), draw, says)
    comes_to_an_end(stage, end)
    return stage.close(
        "It had been due in the spring batch of replacements.",
        (stage.guilty("data_loading_stall", victim, also=WAITS),),
    )


@kind(reads=True, lead_s=70.0, without=DISKS)
def monthly_check_reads_all_arrays(stage: Stage) -> Scenario:
    """mdadm's check of the first Sunday takes a host's disks (Debian bugs on checkarray; forum posts on slow md).

    To convict: a shard comes at some hundred kilobytes a second from one target; all disks of that host read at full
    speed and have no time left, though clients get little, and its reads take many seconds; no other host does so.
    """
    cluster, victim, rank, at, over = stage.cluster, stage.victim, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("check")
    stage.open()
    began = stage.mark(at - draw.span(16_000, 28_000), f"the host of {victim.name} checks its arrays")
    aischores.arrays_checked(cluster, victim, began, over + seconds(30), draw)
    if victim.release.order < LOAD_TOLD_FROM:
        process = cluster.last_process(victim)
        process.entries = [one for one in process.entries if "hk: high system load" not in one.text]
    others = [one for one in cluster.up(at) if one is not victim]
    reads_on_time(cluster, others, stage.job.begin, over + seconds(15), draw.child("others"))
    for turn, other in enumerate([rank, *readers(stage)[: draw.whole(1, 4)]]):
        url, size, rate = s3_url(victim, stage.bucket, webshard(draw)), draw.whole(700, 1_400), draw.between(0.3, 0.7)
        since = at - draw.span(100, 3_000) - turn * 600 * MS
        until = over if other == rank else min(over, at + seconds(65))

        def so_far(spent: float, url: str = url, size: int = size, rate: float = rate) -> str:
            return f"{rate * spent:.1f} of {size} MB of {url} in {spent:.0f} s"

        waits_for(stage, other, since, until, (11_000, 17_000), so_far)
    stage.hang(at + 280 * MS, rank)
    return stage.close(
        "The timer is on by default, and the job had not run on a Sunday before.",
        (stage.guilty("data_loading_stall", victim, also=WAITS),),
    )


@kind(reads=True, lead_s=70.0, without=(*DISKS, *RESTARTS))
def rebalance_is_begun_at_noon(stage: Stage) -> Scenario:
    """An operator begins a rebalance of hours while jobs read (aistore docs, rebalance; issues on slow reads then).

    To convict: the rank that all wait for has had nothing for long, from now this, now that target, and so have others;
    a rebalance had begun before, all disks of all targets read and write without pause, running batches were aborted.
    """
    cluster, rank, at, over = stage.cluster, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("noon")
    stage.open()
    began = stage.mark(at - draw.span(9_000, 16_000), "an operator starts a rebalance")
    aisupkeep.rebalance_at_length(cluster, began, over + seconds(30), draw)
    for node in cluster.up(at):
        then = began + draw.span(6_000, 12_000)
        while then < over + seconds(20):
            slow = draw.whole(2, 9)
            cluster.count(node, then, get_n=slow, get_ns_total=slow * draw.span(4_000, 9_000), get_size=slow << 20)
            then += draw.span(9_000, 12_000)

    def asked(spent: float) -> str:
        node = draw.pick(cluster.targets)
        return f"{min(spent, draw.between(9.0, 19.0)):.1f} s for {node.url(0)}/v1/objects/{stage.bucket}/"

    for turn, other in enumerate([rank, *readers(stage)[: draw.whole(2, 5)]]):
        until = over if other == rank else min(over, at + seconds(70))
        since = at - draw.span(200, 2_500) - turn * 300 * MS
        waits_for(stage, other, since, until, (9_000, 15_000), lambda spent: asked(spent) + utterance(draw))
    stage.hang(at + 260 * MS, rank)
    return stage.close(
        "It had been put off for two weeks, and nobody had asked until when.",
        (of_all(stage.guilty("data_loading_stall", stage.victim, also=WAITS)),),
    )


@kind(reads=True, lead_s=70.0, without=DISKS)
def cloud_bucket_asks_to_slow_down(stage: Stage) -> Scenario:
    """The bucket behind answers 503 Slow Down, targets back off and ask again (s3fs, SlowDown; AWS, request rates).

    To convict: what is late is late at all targets and on many ranks; targets count tries that a rate limit made them
    repeat, and what they got of the cloud took them all that time; disks are idle, nothing fails.
    """
    cluster, rank, at, over = stage.cluster, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("slow down")
    stage.open()
    began = stage.mark(at - draw.span(10_000, 19_000), "the store behind asks to slow down")
    aisquiet.held_back(cluster, began, over + seconds(25), draw)
    for turn, other in enumerate([rank, *readers(stage)[: draw.whole(2, 5)]]):
        node, name = draw.pick(cluster.targets), token_file(draw)
        until = over if other == rank else min(over, at + seconds(60))
        since = at - draw.span(100, 2_500) - turn * 400 * MS

        def nothing_yet(spent: float, url: str = f"{node.url(0)}/v1/objects/{stage.bucket}/{name}") -> str:
            return f"no byte of {url} after {spent:.0f} s"

        waits_for(stage, other, since, until, (12_000, 18_000), nothing_yet)
    stage.hang(at + 240 * MS, rank)
    return stage.close(
        "Three clusters read ahead from one prefix, and a prefix has its limits.",
        (of_all(stage.guilty("data_loading_stall", stage.victim, also=("network", *WAITS))),),
    )


@kind(reads=True, min_timeout_s=180, lead_s=65.0, without=DISKS)
def mounted_read_waits_for_a_dead_disk(stage: Stage) -> Scenario:
    """A read below a mount waits for a disk that moves nothing (Mountpoint and goofys issues; kernel, hung task).

    To convict: the kernel tells of a loader process blocked in a read below the mount, whose daemon has one connection
    open that sends nothing, to one target; there a disk does nothing and has no time left, tick for tick.
    """
    cluster, victim, rank, at, over = stage.cluster, stage.victim, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("mounted")
    stage.open()
    began = stage.mark(at - draw.span(4_000, 9_000), f"a disk of {victim.name} stands still")
    aisdesk.drive_stands_still(cluster, victim, draw.pick(victim.disks), began, over + seconds(30), draw)
    pid = stage.job.job.rank_pids[rank] + draw.whole(60, 160)
    told(stage, at + seconds(31), rank, "loader", f"worker {pid} has given no batch for 30 s", "WARNING")
    connection_of_mount(stage, at + seconds(62), rank, victim, draw)
    dataloader_rank_waits(stage, at + draw.span(123_000, 139_000), rank, pid, 122)
    url = s3_url(victim, stage.bucket, archive_of(draw))
    for other in readers(stage)[: draw.whole(1, 3)]:
        then = at + draw.span(30_000, 70_000)
        told(stage, then, other, "loader", f"{url} not read in 30 s, another one instead", "WARNING")
    stage.hang(at + 250 * MS, rank)
    return stage.close(
        "The controller had not been told that it may give a disk up.",
        (stage.guilty("data_loading_stall", victim, also=WAITS),),
    )


@kind(culprit=0, min_timeout_s=90, lead_s=62.0, without=DISKS)
def save_waits_for_a_frozen_file_system(stage: Stage) -> Scenario:
    """A snapshot freezes the file systems of a target, and a save waits (xfs_freeze; forum posts on save and NCCL).

    To convict: one target takes the first megabytes of rank 0's checkpoint and no more; routines pile up there from
    that moment on, and PUTs end only when the freeze does.
    """
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw = stage.draw.child("frozen")
    stage.open()
    began = stage.mark(at - draw.span(1_000, 4_000), f"the file systems of {victim.name} are frozen")
    thawed = over + draw.span(4_000, 12_000)
    cluster.last_process(victim).silent_disks.extend((disk, began, thawed) for disk in victim.disks)
    aislapses.frozen(cluster, victim, began, thawed, draw)
    path = f"/v1/objects/checkpoints/{stage.job.job.task}/iter_{stage.step:07d}.pt"
    size, sent, then = draw.whole(2_100, 9_900), draw.whole(3, 7), at + draw.span(15_000, 22_000)
    told(stage, at - 40 * MS, 0, "ckpt", f"PUT {stage.proxy_of(0).url(0)}{path}, {size} MB")
    while then < over - SEC:
        said = f"{sent} of {size} MB taken by {victim.url(0)}{path}, no more for {(then - at) / SEC:.0f} s"
        told(stage, then, 0, "ckpt", said, "WARNING")
        then += draw.span(21_000, 48_000)
    stage.hang(at + 230 * MS, 0)
    return stage.close(
        "The snapshot was to take a second, and waited for another one.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "rank_hang", "infrastructure")),),
        until=thawed + seconds(75),
    )
