"""Storage faults of the twenty-fourth part of disks: rotten, dying, full, emptied too early, or out of their burst."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.consumers import rclone_says
from benchmarks.accuracy.generate.faults.words.doorways import assembly_failed
from benchmarks.accuracy.generate.faults.words.fetchers import falls_back, sequential_failed
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.regulars import curl_tells, shard_left_out, tar_of, waited
from benchmarks.accuracy.generate.faults.words.requests import object_path, refused_get, retries
from benchmarks.accuracy.generate.faults.words.servers import (
    burst_is_spent,
    entries_are_late,
    reads_on_time,
    spindle_fails_slowly,
)
from benchmarks.accuracy.generate.faults.words.turns import over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisobjects, aisstrain, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, go_duration, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_fourth")
FULL = (*DISKS, "low_space", "tenant_out_of_space")
WAITS = ("storage_io", "infrastructure", "network")


@kind(reads=True, hangs=False, lead_s=65.0, without=DISKS)
def object_has_rotted_on_its_disk(stage: Stage) -> Scenario:
    """A warm read finds another checksum, removes the object, and the next try is a 404 (aistore, validate_warm_get).

    To convict: what the rank is told is missing was there some milliseconds before: the target has found its content
    changed, and so some other objects in the last half minute; the SDK repeats a 500 without a word.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("rotten"), utterance(stage.draw.child("own object"))
    stage.open()
    stage.mark(at - draw.span(26_000, 34_000), f"a disk of {victim.name} gives other bytes than were written")

    def gone(then: int, what: str) -> str:
        aisobjects.bad_checksum(cluster, victim, then - draw.span(22, 27), what, draw)
        return aisobjects.not_there(cluster, victim, then - 3 * MS, what)

    for other in readers(stage)[: draw.whole(2, 5)]:
        then, what = at - draw.span(900, 25_000), utterance(draw)
        stage.job.note(then, other, f"skipping {what}: {gone(then, what)}", "W", 86)
    text = gone(at, name)
    stage.job.raise_on(at, rank, refused_get(stage, at, rank, victim, name, (404, "Not Found"), text))
    leaves(stage, at, rank)
    return stage.close(
        "The controller had a battery that was older than the host, and a cache that trusted it.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
        until=at + seconds(12),
    )


@kind(reads=True, lead_s=60.0, without=DISKS)
def one_spindle_holds_all_ranks_up(stage: Stage) -> Scenario:
    """A disk with bad sectors takes a minute for a read and reports nothing (ceph-users, slow OSD; SMART, pending).

    To convict: the rank that all others wait for says from which target it has had nothing for how long; one disk of
    that target has no time left while it gives some kilobytes a second, at each tick, and no other disk is busy.
    """
    cluster, victim, rank, at, over = stage.cluster, stage.victim, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("spindle")
    stage.open()
    bad, name = draw.pick(victim.disks), utterance(draw)
    began = stage.mark(at - draw.span(14_000, 31_000), f"{bad} of {victim.name} rereads bad sectors")
    spindle_fails_slowly(cluster, victim, bad, began, over + seconds(20), draw)
    reads_on_time(cluster, [one for one in cluster.up(at) if one is not victim], began, over, draw)
    for other in readers(stage)[: draw.whole(1, 4)]:
        then = at - draw.span(400, 9_000)
        spent = f"{draw.between(6, 13):.1f} s"
        stage.job.note(
            then, other, f"slow read: {spent} for {victim.url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}", "W", 80
        )
    then = at + draw.span(15_100, 20_400)
    while then < over - SEC:
        said = f"nothing for {waited(at, then)} from {victim.url(0)}/v1/objects/{stage.bucket}/{name}"
        stage.job.note(then, rank, said, "W", 80)
        then += draw.span(14_800, 31_000)
    stage.hang(at + 320 * MS, rank)
    return stage.close(
        "It has had eight pending sectors since spring, and a threshold of ten.",
        (stage.guilty("data_loading_stall", victim, also=WAITS),),
    )


@kind(culprit=0, lead_s=60.0, without=FULL)
def checkpoint_stays_in_the_cache_of_a_mount(stage: Stage) -> Scenario:
    """rclone takes a checkpoint into its cache and cannot upload it, the target is full (rclone docs, vfs-cache-mode).

    To convict: rank 0 waits for its checkpoint to be in the bucket; rclone says that its uploads are turned down for
    want of space, 507, in words that name how much is used of how much; one target is out of space with these numbers.
    """
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw = stage.draw.child("mount")
    total = draw.pick((7450.58, 14901.16))
    used = total * draw.between(0.962, 0.981)
    space = disk.Space(f"{used:.1f}GiB", f"{total - used:.1f}GiB", round(used / total * 100), f"{total}GiB")
    key = f"{stage.job.job.task}/step_{stage.step:06d}/adapter_model.safetensors"
    stage.open()
    stage.job.note(at - 80 * MS, 0, f"checkpoint written to /mnt/checkpoints/{key}", line=116)
    begun = stage.mark(at + draw.span(900, 2_600), f"{victim.name} is out of space")
    disk.out_of_space(cluster, victim, begun, over + seconds(20), space)
    then, wait, turn = at + seconds(5) + draw.span(30, 300), 10, 1
    while then < over:
        told = f"https response error StatusCode: 507, RequestID: , HostID: , api error ErrCapExceeded: {space.error}"
        failed = f"vfs cache: failed to upload try #{turn}, will retry in {go_duration(seconds(wait))}"
        cause = f"vfs cache: failed to transfer file from cache to remote: operation error S3: PutObject, {told}"
        rclone_says(stage, then, "ERROR", key, f"{failed}: {cause}")
        then, wait, turn = then + seconds(wait) + draw.span(900, 3_000), min(300, 2 * wait), turn + 1
    for after in range(30, stage.job.job.timeout_s - 4, 30):
        said = f"s3://checkpoints/{key} is not there after {after} s, waiting before the barrier"
        stage.job.note(at + seconds(after) + draw.span(1, 90), 0, said, "W", 124)
    stage.hang(at + 320 * MS, 0)
    return stage.close(
        "Retention is ninety days, and was thirty when the cluster was ordered.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "infrastructure")),),
    )


@kind(reads=True, hangs=False, lead_s=75.0, without=FULL)
def eviction_took_what_has_no_second_copy(stage: Stage) -> Scenario:
    """A bucket with nothing behind it has LRU enabled, and a target crosses its high watermark (aistore docs, lru).

    To convict: curl is told 404 for a shard by a target that evicts since a minute or so; all shards that ranks leave
    out since then are its own, each with its own line, while other targets find whatever they are asked for.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("evicted")
    stage.open()
    began = stage.mark(at - draw.span(28_000, 55_000), f"{victim.name} evicts what was not read for long")
    aisobjects.evict(cluster, victim, began, at + draw.span(12_000, 30_000), draw)
    words = "The requested URL returned error: 404"

    def asked_for(then: int, who: int) -> str:
        shard = tar_of(draw)
        aisobjects.not_there(cluster, victim, then - 9 * MS, shard)
        return f"{stage.proxy_of(who).url(0)}/v1/objects/{stage.bucket}/{shard}"

    for other in readers(stage)[: draw.whole(2, 5)]:
        then = began + int((at - began) * draw.between(0.15, 0.97))
        shard_left_out(stage, then, other, asked_for(then, other), 22, words)
    curl_tells(stage, at, rank, asked_for(at, rank), 22, words)
    leaves(stage, at + 4 * MS, rank)
    return stage.close(
        "It had been a cache of a bucket in the cloud until that was given up to save its rent.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
        until=at + seconds(35),
    )


@kind(reads=True, hangs=False, min_timeout_s=300, lead_s=65.0, without=DISKS)
def volumes_have_spent_their_burst(stage: Stage) -> Scenario:
    """Cloud volumes fall back to their base rate, batches miss the entries of one target (aws docs, gp2 burst credits).

    To convict: the batch failed for an entry that nobody sent in 20 s, then lhotse asked for an object alone, and one
    target does not answer it; all its disks read the same few megabytes at each tick and have no time left.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("burst"), utterance(stage.draw.child("own object"))
    stage.open()
    began = stage.mark(at - draw.span(3_000, 11_000), f"the volumes of {victim.name} have spent their burst credits")
    designated = stage.other_target(victim, draw.whole(0, 9))
    wid, failed = cluster.wid(stage.proxy_of(rank), draw), at + seconds(20.02)
    text = aisstrain.entry_missing(cluster, designated, failed - 3 * MS, wid, draw.whole(2, 40))
    one_line, _ = assembly_failed(stage, rank, designated, wid, text)
    falls_back(stage, failed, rank, one_line)
    cause = sdk.read_timeout(victim.address, victim.ports[0])
    why = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, rank, name), cause)
    over = retries(stage, failed, rank, draw, 20.02, why, failed + seconds(900))
    burst_is_spent(cluster, victim, began, over + seconds(15), draw)
    entries_are_late(cluster, victim, began, over, draw)
    for turn, other in enumerate(readers(stage)[: draw.whole(1, 4)]):
        asked, then = object_path(stage, other, utterance(draw)), at + seconds(24 + 31 * turn) + draw.span(1, 9_000)
        told = sdk.pool_error(victim.address, victim.ports[0], asked, cause)
        stage.job.sdk_warning(then, other, sdk.retrying(round(draw.between(1, 2.4), 2), "ConnectionError", told))
    stage.job.sdk_warning(over - 2 * MS, rank, "All retries exhausted; request failed", "ERROR")
    sequential_failed(stage, over, rank, name, why)
    leaves(stage, over + 2 * MS, rank)
    return stage.close(
        "They are of the size that was enough for the data, which is too small for its readers.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "infrastructure", "network")),),
        until=over + seconds(15),
    )
