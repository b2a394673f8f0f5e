"""Storage faults of the twenty-ninth part of checkpoints: a thin pool, a cache without battery, a lost chunk."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.clients import TRIES_S
from benchmarks.accuracy.generate.faults.words.doorways import saving_frames
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.natives import part_frames
from benchmarks.accuracy.generate.faults.words.operators import checkpoint_repeated, part_unanswered, troubled
from benchmarks.accuracy.generate.faults.words.requests import retries
from benchmarks.accuracy.generate.faults.words.subscribers import comes_to_an_end
from benchmarks.accuracy.generate.faults.words.tellers import all_exit, speakers, told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, writers_to
from fixtures.generator import aisdeeds, aisnatives, aisshifts, aistroubles, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "twenty_ninth")


@kind(hangs=False, min_timeout_s=120, lead_s=64.0, without=(*DISKS, "low_space", "tenant_out_of_space"))
def thin_pool_below_a_mountpath_is_full(stage: Stage) -> Scenario:
    """A thin pool has promised more than it has, so writes fail while the file system has room (lvmthin, full pool).

    To convict: shards of a checkpoint are answered 500 for a minute and a half; one target has errors of output for
    each of them, on any mountpath, whose capacity it gave as half free, and takes the first one out of service.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("thin pool")
    stage.open()
    troubled(stage, draw.child("troubled"))
    aisshifts.capacity_told(cluster, victim, stage.job.begin + seconds(2), draw.whole(41, 58), "1.62TiB")
    stage.mark(at - 20 * MS, f"the pool below the mountpaths of {victim.name} is full")
    over, first = at + seconds(TRIES_S[-1]), ""
    for one in writers_to(stage, draw):
        own = draw.child("writer", one)
        name = f"{stage.job.job.task}/step-{stage.step:06d}/__{one}_0.distcp"
        late = 0 if one == rank else own.span(40, 900)
        path = f"/v1/objects/checkpoints/{name}"
        told(stage, at - 60 * MS + late // 9, one, "ckpt", f"putting {own.whole(300, 2_400)} MB to ais:/{path[11:]}")
        for after in TRIES_S:
            disk = 0 if after < 1 else own.whole(1, len(victim.mountpaths) - 1)
            said = aisdeeds.thin_pool_full(cluster, victim, at + late + seconds(after) - 4 * MS, path, disk, own)
            first = first or said
        if one == rank:
            where = f"{path}?provider=ais&pid={stage.proxy_of(one).node_id}"
            failed = sdk.pool_error(victim.address, victim.ports[0], where, sdk.too_many(500))
            over += own.span(3, 30)
            stage.job.raise_on(over, one, sdk.exhausted(stage.job.job, saving_frames(stage), "RetryError", failed))
    aistroubles.examined(cluster, victim, at + 30 * MS, first, False, draw)
    leaves(stage, over + 6 * MS, rank)
    return stage.close(
        "Snapshots of the volumes had been kept for a month, in the same pool.",
        (stage.guilty("storage_io", victim, also=("infrastructure", "data_loading_stall")),),
        until=over + seconds(30),
    )


@kind(culprit=0, min_timeout_s=60, lead_s=64.0, without=(*DISKS, *RESTARTS))
def parts_wait_for_a_controller_without_its_battery(stage: Stage) -> Scenario:
    """The battery of a cache has failed, its controller writes through, and parts of an upload crawl (MegaRAID, BBU).

    To convict: rank 0 has no answer to a part from one target while all others wait; the disks of that one write some
    megabytes a second with no time left since some seconds before, and what it counts of PUTs takes half a minute each.
    """
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw = stage.draw.child("battery")
    stage.open()
    troubled(stage, draw.child("troubled"))
    began = stage.mark(at - draw.span(9_000, 15_000), f"the cache of the controller of {victim.name} writes through")
    aisdeeds.cache_without_battery(cluster, victim, began, over + seconds(25), draw.child("through"))
    path, upload = f"/v1/objects/checkpoints/{stage.job.job.task}/step-{stage.step:06d}.pt", draw.token(9)
    many, part = draw.whole(60, 240), draw.whole(2, 9)
    aisnatives.upload_begins(cluster, victim, at - 900 * MS, upload)
    told(stage, at - 890 * MS, 0, "ckpt", f"upload {upload} of {many} parts to ais:/{path[11:]} begins")
    text = part_unanswered(stage, 0, victim, path, upload, part)
    end = retries(stage, at, 0, draw, 20.02, text, over - SEC)
    if end < over - SEC:
        stage.job.sdk_warning(end, 0, "All retries exhausted; request failed", "ERROR")
        raised = sdk.exhausted(stage.job.job, part_frames(stage), "ConnectionError", text)
        stage.job.raise_on(end + 2 * MS, 0, raised)
    comes_to_an_end(stage, end if end < over - SEC else over)
    return stage.close(
        "Batteries of that age had all been replaced, but for one host that was away then.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure", "rank_hang")),),
        until=over + seconds(15),
    )


@kind(hangs=False, trains=False, min_timeout_s=120, uptime=True, without=(*RESTARTS, *DISKS, "tenant_errors"))
def chunk_of_the_last_checkpoint_is_not_readable(stage: Stage) -> Scenario:
    """A job goes on from a checkpoint that was uploaded in parts, one of which lies on a bad disk (docs, chunks; EIO).

    To convict: all ranks end after a minute and a half, in which the SDK was answered 500 without a word; one target
    has an error of input for each of their requests, on the same chunk, and other objects are read as ever.
    """
    cluster, victim, job = stage.cluster, stage.victim, stage.job
    draw = stage.draw.child("chunk")
    job.start()
    at, step, upload = job.begin + seconds(0.5), draw.whole(4, 90) * 500, draw.token(9)
    stage.mark(at + 10 * MS, f"all ranks ask for a chunk that a disk of {victim.name} cannot read")
    key = f"{job.job.task}/step-{step:06d}.pt"
    size = draw.whole(6, 40)
    told(
        stage,
        at,
        0,
        "resume",
        f"latest is ais://checkpoints/{key}, {size} GB in {size * 8} parts, loading on all ranks",
    )
    last = at
    for rank in speakers(stage):
        since = at + draw.span(20, 260)
        for after in TRIES_S:
            aisdeeds.chunk_not_read(cluster, victim, since + seconds(after) + 3 * MS, key, upload)
        over = since + seconds(TRIES_S[-1]) + draw.span(6, 40)
        checkpoint_repeated(stage, over, rank, victim, key)
        last = max(last, over)
    ended = all_exit(stage, last + 40 * MS)
    made = replace(
        stage.guilty("storage_io", victim, also=("infrastructure", "data", "data_loading_stall")), culprit_ranks=None
    )
    return stage.close(
        "The drive had reported the sectors for weeks, to a dashboard that was switched off.",
        (made,),
        until=ended + seconds(30),
    )


@kind(culprit=0, min_timeout_s=60, lead_s=66.0, without=(*DISKS, *RESTARTS))
def saves_of_many_jobs_meet_at_the_hour(stage: Stage) -> Scenario:
    """All jobs of a team save by the clock, and the cluster has to write it all at once (forum posts, save and NCCL).

    To convict: rank 0 has no answer to its checkpoint in 20 s while all others wait; all disks of all targets do
    nothing but write since some seconds before, with no time left, and PUTs that end have taken half a minute.
    """
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw = stage.draw.child("at the hour")
    stage.open()
    began = stage.mark(at - draw.span(5_000, 12_000), "many jobs begin to save")
    aisdeeds.saves_meet(cluster, began, over + seconds(20), draw.child("saves"))
    path = f"/v1/objects/checkpoints/{stage.job.job.task}/step-{stage.step:06d}.pt"
    told(stage, at - 60 * MS, 0, "ckpt", f"putting {draw.whole(4, 40)} GB to ais:/{path[11:]}")
    where = f"{path}?provider=ais&pid={stage.proxy_of(0).node_id}"
    text = sdk.pool_error(victim.address, victim.ports[0], where, sdk.read_timeout(victim.address, victim.ports[0]))
    end = retries(stage, at, 0, draw, 20.02, text, over - SEC)
    if end < over - SEC:
        stage.job.sdk_warning(end, 0, "All retries exhausted; request failed", "ERROR")
        raised = sdk.exhausted(stage.job.job, saving_frames(stage), "ConnectionError", text)
        stage.job.raise_on(end + 2 * MS, 0, raised)
    comes_to_an_end(stage, end if end < over - SEC else over)
    also = ("storage_io", "infrastructure", "rank_hang")
    return stage.close(
        "Their time to save had been given to all of them by one template.",
        (of_all(stage.guilty("data_loading_stall", victim, also=also)),),
        until=over + seconds(15),
    )
