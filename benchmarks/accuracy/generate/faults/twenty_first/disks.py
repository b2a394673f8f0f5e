"""Storage faults of the twenty-first part of disks: gone with what they held, read-only, full, or too slow to write."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.outlets import shards_not_saved
from benchmarks.accuracy.generate.faults.words.regulars import (
    energon_gives_up,
    energon_skips,
    put_not_taken,
    status_moments,
    tar_of,
    waited,
)
from benchmarks.accuracy.generate.faults.words.turns import over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers, writers_to
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisobjects, sdk
from fixtures.generator import aisrounds as rounds
from fixtures.generator import aistickets as tickets
from fixtures.generator import aistroubles as troubles
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "twenty_first")
SAVING = (*DISKS, "low_space", "tenant_out_of_space")


@kind(reads=True, hangs=False, lead_s=65.0, without=DISKS)
def failed_drive_held_the_only_copies(stage: Stage) -> Scenario:
    """A drive fails in a bucket without copies, Energon finds nothing of a shard (aistore docs/fshc; Energon).

    To convict: what Energon handled last is a 404 of a target that has given up one of its mountpaths some seconds
    before; all shards whose samples ranks skip since then are of that target, and it says so of each.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("only copies")
    stage.open()
    disabled = stage.mark(at - draw.span(13_000, 24_000), f"{victim.name} disables {victim.mountpaths[-1]}")
    disk.lose_mountpath(cluster, victim, disabled, victim.mountpaths[-1], victim.disks[-1], draw.between(90, 160))

    def missing(then: int, who: int, shard: str, sample: int) -> tuple[str, str]:
        text = aisobjects.not_there(cluster, victim, then - 6 * MS, shard)
        path, inside = f"/v1/objects/{stage.bucket}/{shard}", f"?provider=ais&archpath={sample:06d}.wav"
        body = sdk.answer(victim, 404, text, "GET", path, stage.client(who))
        url = victim.url(0) + path + sdk.query(stage.proxy_of(who), then).replace("?provider=ais", inside)
        return f"{shard}/{sample:06d}", sdk.request_error(404, body, url, " ")

    for other in readers(stage)[: draw.whole(2, 5)]:
        then, shard, last = disabled + int((at - disabled) * draw.between(0.08, 0.95)), tar_of(draw), draw.whole(3, 900)
        for sample in range(last - draw.whole(0, 2), last + 1):
            energon_skips(stage, then, other, *missing(then, other, shard, sample))
            then += draw.span(14, 60)
    many, first, shard = draw.whole(5, 8), draw.whole(0, 400), tar_of(draw)
    moments = [at - turn * 40 * MS - draw.span(1, 19) for turn in range(many - 1, 0, -1)]
    for turn, then in enumerate(moments):
        energon_skips(stage, then, rank, *missing(then, rank, shard, first + turn))
    key, why = missing(at, rank, shard, first + many - 1)
    energon_skips(stage, at - MS, rank, key, why)
    energon_gives_up(stage, at, rank, many, key, why)
    leaves(stage, at, rank)
    return stage.close(
        "The bucket has no copies and no slices: that was to be a cache, when it was made.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
        until=disabled + seconds(40),
    )


@kind(culprit=0, hangs=False, lead_s=60.0, min_timeout_s=120, without=DISKS)
def file_system_turned_read_only_before_a_save(stage: Stage) -> Scenario:
    """An ext4 of a target is remounted read-only, a PUT fails six times (kernel, errors=remount-ro; aistore SDK).

    To convict: the SDK's error names the target and the checkpoint; that target says of this very checkpoint, at each
    of six moments, that it cannot open a file to write as the file system is read-only, and gives up the mountpath.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("read only")
    stage.open()
    stage.mark(at - draw.span(200, 3_000), f"a file system of {victim.name} is read-only")
    name = f"{stage.job.job.task}/iter_{stage.step:07d}/model_optim_rng.pt"
    path = f"/v1/objects/checkpoints/{name}"
    stage.job.note(at - 70 * MS, 0, f"saving checkpoint to ais://checkpoints/{name}", line=116)
    asked, over = status_moments(stage)
    for then in asked:
        text = tickets.put_failed(cluster, victim, then - 4 * MS, path, "read-only file system", 0, draw)
    troubles.examined(cluster, victim, asked[-1] + MS, text, False, draw)
    put_not_taken(stage, over, 0, victim, path, 500)
    leaves(stage, over, 0)
    return stage.close(
        "Its journal could not be written for a moment, and it is mounted to take no risk after that.",
        (stage.guilty("storage_io", victim, also=("infrastructure", "data")),),
    )


@kind(culprit=0, hangs=False, lead_s=60.0, min_timeout_s=60, without=SAVING)
def shards_of_a_checkpoint_find_no_room(stage: Stage) -> Scenario:
    """One target is full as a checkpoint of shards is written over S3 (torch DCP; aistore docs/storage_svcs, OOS).

    To convict: torch's error names the ranks whose shards were not taken, with the capacity of a target as the reason
    (botocore does not ask again after a 507); that target turned these very shards down at that moment and says that
    it is out of space, cleaning up in vain.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("no room")
    total = draw.pick((3725.29, 7450.58, 14901.16))
    used = total * draw.between(0.961, 0.984)
    space = disk.Space(f"{used:.1f}GiB", f"{total - used:.1f}GiB", round(used / total * 100), f"{total}GiB")
    stage.open()
    folder = f"{stage.job.job.task}/step_{stage.step}"
    stage.job.note(at - 80 * MS, 0, f"dcp.save to s3://checkpoints/{folder}", line=116)
    begun = stage.mark(at + draw.span(2_000, 6_000), f"{victim.name} is out of space")
    disk.out_of_space(cluster, victim, begun, begun + seconds(55), space)
    failed: dict[int, str] = {}
    last = begun
    for who in writers_to(stage, draw):
        key = f"{folder}/__{who}_0.distcp"
        refused = begun + draw.span(2, 2_600)
        rounds.part_rejected(cluster, victim, refused, key, space)
        last = max(last, refused)
        failed[who] = f"An error occurred (ErrCapExceeded) when calling the UploadPart operation: {space.error}"
    over = last + draw.span(700, 2_400)
    shards_not_saved(stage, over, failed)
    return stage.close(
        "Its neighbours have half as much again to give, since the hosts were not bought in one year.",
        (replace(stage.guilty("storage_io", victim, also=("infrastructure",)), culprit_ranks=tuple(failed)),),
        until=begun + seconds(45),
    )


@kind(culprit=0, min_timeout_s=60, lead_s=60.0, without=SAVING)
def drives_crawl_once_their_cache_is_full(stage: Stage) -> Scenario:
    """Consumer drives fall to a few megabytes a second in a long save (SNIA on SLC caches; ceph-users, slow SSDs).

    To convict: rank 0 says how slowly its upload to one target goes while all others wait for it; the disks of that
    target are busy to their limit with few megabytes of writes, at every tick since the save began to crawl.
    """
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw, job = stage.draw.child("cache"), stage.job.job
    stage.open()
    began = stage.mark(at + draw.span(1_500, 4_000), f"the drives of {victim.name} have no write cache left")
    tickets.write_cache_full(cluster, victim, began, over + seconds(20), draw)
    size, parts = draw.between(31, 88), draw.whole(3, 5)
    name = f"{job.task}/step={stage.step}.ckpt"
    where = f"{victim.url(0)}/v1/objects/checkpoints/{name}"
    stage.job.note(at - 90 * MS, 0, f"saving checkpoint ais://checkpoints/{name}, {size:.1f} GiB (blocking)", line=116)
    done, rate = draw.between(2.5, 4.5), draw.between(14, 31)
    for turn in range(1, parts + 1):
        then = at + int(job.timeout_s * SEC * turn / (parts + 1))
        sent = done + (then - began) / SEC * rate / 1024
        said = f"checkpoint upload: {sent:.2f} of {size:.1f} GiB after {waited(at, then)}, {rate:.0f} MiB/s to {where}"
        stage.job.note(then, 0, said, "W", 121)
        rate *= draw.between(0.86, 1.08)
    stage.hang(at + 320 * MS, 0)
    return stage.close(
        "They were meant for the logs of a cluster half as large, and were what could be had.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure", "network")),),
    )
