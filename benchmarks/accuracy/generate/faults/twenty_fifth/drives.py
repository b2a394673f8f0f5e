"""Storage faults of the twenty-fifth part of drives: gone, read-only, full, or emptied by a power cut."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.enquirers import (
    archive_of,
    parquet_not_found,
    plain_put_failed,
    resume_failed,
    s3_url,
)
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.loaders import put_refused
from benchmarks.accuracy.generate.faults.words.regulars import curl_tells
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.travellers import table
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers, writers_to
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisfaults as faults
from fixtures.generator import (
    aisobjects,
    aispassages,
    aisrounds,
    aisshifts,
    aisstrain,
    aistickets,
    aistroubles,
    aisupkeep,
    sdk,
)
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "twenty_fifth")
FULL = (*DISKS, "low_space", "tenant_out_of_space")


@kind(lead_s=62.0, without=FULL)
def failed_uploads_strand_the_barrier(stage: Stage) -> Scenario:
    """Ranks whose shards find no room skip the barrier after a save, all others wait there (marin#9213; aistore, OOS).

    To convict: those that are not in the collective have said why their shard was not taken: a target without room,
    which turned these very keys down at that moment and says at every tick that it is out of space.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, own = stage.draw.child("stranded"), stage.job.job
    total = draw.pick((7450.58, 14901.16, 29802.32))
    used = total * draw.between(0.958, 0.979)
    space = disk.Space(f"{used:.1f}GiB", f"{total - used:.1f}GiB", round(used / total * 100), f"{total}GiB")
    stage.open()
    folder = f"{own.task}/global_step_{stage.step}"
    stage.job.note(at - 70 * MS, 0, f"saving {own.world} shards to s3://checkpoints/{folder}", line=116)
    begun = stage.mark(at + draw.span(1_400, 2_900), f"{victim.name} is out of space")
    failed = sorted({stage.culprit, *writers_to(stage, draw)[:3]})
    for who in failed:
        key, then = f"{folder}/rank_{who:05d}.pt", begun + draw.span(2, 2_400)
        aisrounds.part_rejected(cluster, victim, then, key, space)
        cause = f"An error occurred (ErrCapExceeded) when calling the UploadPart operation: {space.error}"
        said = f"upload failed: S3UploadFailedError: Failed to upload /dev/shm/rank_{who:05d}.pt to checkpoints/{key}"
        told(stage, then + draw.span(40, 300), who, "ckpt", f"{said}: {cause}", "ERROR")
    others = [one for one in range(own.world) if one not in failed]
    for who in draw.shuffled(others)[:6]:
        then = begun + draw.span(900, 5_400)
        told(stage, then, who, "ckpt", f"rank_{who:05d}.pt uploaded, waiting for all ranks to finish")
    waits = begun + seconds(5.5)
    disk.out_of_space(cluster, victim, begun, waits + own.timeout_s * SEC + seconds(15), space)
    stage.hang(waits, *failed)
    made = stage.guilty("storage_io", victim, also=("rank_hang", "infrastructure"))
    return stage.close(
        "Nobody had deleted the checkpoints of last quarter.", (replace(made, culprit_ranks=tuple(failed)),)
    )


@kind(reads=True, hangs=False, lead_s=65.0, without=DISKS)
def lost_disk_had_the_only_copies(stage: Stage) -> Scenario:
    """A drive falls off its bus, and its bucket has no mirror: 404 for what lay there (aistore docs, fshc and mirror).

    To convict: the file that datasets cannot find is asked of a target that has disabled a mountpath some seconds ago;
    whatever else is missing since is missing at this target alone, by the address that aiohttp names.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("only copies")
    stage.open()
    gone, began = draw.whole(0, len(victim.disks) - 1), at - draw.span(17_000, 31_000)
    stage.mark(began, f"{victim.disks[gone]} of {victim.name} drops out")
    lost = aisstrain.drive_drops_out(cluster, victim, began, at + seconds(40), gone, draw)
    for other in readers(stage)[: draw.whole(2, 5)]:
        name, then = table(draw), lost + int((at - lost) * draw.between(0.2, 0.95))
        aisobjects.not_there(cluster, victim, then - 5 * MS, name)
        url = f"{victim.url(0)}/v1/objects/{stage.bucket}/{name}"
        told(stage, then, other, "stream", f"file skipped: 404, message='Not Found', url='{url}'", "WARNING")
    name = table(draw)
    aisobjects.not_there(cluster, victim, at - 5 * MS, name)
    parquet_not_found(stage, at, rank, f"{stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{name}")
    leaves(stage, at, rank)
    return stage.close(
        "Two copies of everything were thought to be too dear.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "infrastructure")),),
        until=at + seconds(35),
    )


@kind(reads=True, hangs=False, lead_s=190.0, without=(*DISKS, *RESTARTS))
def shards_cut_by_a_power_loss(stage: Stage) -> Scenario:
    """A host without power comes back with files shorter than they were (xfs FAQ, files after a crash; aistore size).

    To convict: all shards that end too early since then come from the target whose log broke off and which was started
    anew; it counts I/O errors of reads, while shards of other targets are whole.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("power")
    died = stage.mark(stage.job.begin + seconds(11), f"the host of {victim.name} has no power")
    stage.open()
    back = died + draw.span(96_000, 112_000)
    peers = [one for one in cluster.up(died) if one is not victim][:2]
    aisobjects.lose_host(cluster, victim, died, back - seconds(3), peers)
    faults.leave_smap(cluster, victim, died, hung=True)
    joined = faults.start_again(cluster, victim, back)
    cluster.start_batches(joined + seconds(50), stage.other_target(victim))
    for other in readers(stage)[: draw.whole(1, 3)]:
        cause = sdk.connect_timeout(victim.address, draw.whole(0x7F0000000000, 0x7FFFFFFFFFFF))
        path = f"/v1/objects/{stage.bucket}/{archive_of(draw)}?provider=ais&pid={stage.proxy_of(other).node_id}"
        text = sdk.pool_error(victim.address, victim.ports[0], path, cause)
        then = died + draw.span(4_000, 21_000)
        stage.job.sdk_warning(then, other, sdk.retrying(round(draw.between(1, 3), 2), "ConnectTimeout", text))
    for other in readers(stage)[: draw.whole(3, 6)]:
        then, size = at - draw.span(700, 9_000), draw.whole(180, 900) << 20
        aispassages.shorter_than_known(cluster, victim, then - 4 * MS)
        got = size // 4096 * draw.whole(0, 9) // 11 * 4096
        url = f"{victim.url(0)}/v1/objects/{stage.bucket}/{archive_of(draw)}"
        told(stage, then, other, "shards", f"{url} ended after {got} of {size} bytes, shard skipped", "WARNING")
    aispassages.shorter_than_known(cluster, victim, at - 6 * MS)
    url = f"{victim.url(0)}/v1/objects/{stage.bucket}/{archive_of(draw)}"
    curl_tells(stage, at, rank, url, 18, f"transfer closed with {draw.whole(9, 700) * 4096} bytes remaining to read")
    leaves(stage, at + 4 * MS, rank)
    return stage.close(
        "The shards had been written an hour before, and the disks had said that they have them.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "infrastructure")),),
        until=at + seconds(20),
    )


@kind(culprit=0, hangs=False, lead_s=60.0, without=DISKS)
def file_system_turns_read_only(stage: Stage) -> Scenario:
    """ext4 finds its journal broken and takes no more writes (ext4 docs, errors=remount-ro; forum posts on EROFS).

    To convict: a PUT of rank 0 is answered with 500 by a target that could not open its work file on a read-only file
    system; its health checker then gives that mountpath up for failed writes.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, why = stage.draw.child("read only"), "read-only file system"
    stage.open()
    path = f"/v1/objects/checkpoints/{stage.job.job.task}/iter_{stage.step:07d}/mp_rank_00.pt"
    stage.mark(at - draw.span(300, 900), f"a file system of {victim.name} is mounted read-only")
    stage.job.note(at - 60 * MS, 0, f"saving checkpoint to {stage.proxy_of(0).url(0)}{path}", line=116)
    failed = at + draw.span(90, 800)
    text = aistickets.put_failed(cluster, victim, failed, path, why, 0, draw)
    aistroubles.examined(cluster, victim, failed + MS, text, False, draw)
    url = victim.url(0) + path + sdk.query(stage.proxy_of(0), at)
    body = sdk.answer(victim, 500, text, "PUT", path, stage.client(0))
    told(stage, failed + 4 * MS, 0, "ckpt", f"PUT answered 500: {body}", "ERROR")
    plain_put_failed(stage, failed + 5 * MS, url)
    leaves(stage, failed + 6 * MS, 0)
    return stage.close(
        "The controller had dropped a write a minute before, and told the kernel only.",
        (stage.guilty("storage_io", victim, also=("infrastructure",)),),
        until=at + seconds(30),
    )


@kind(culprit=0, hangs=False, lead_s=60.0, uptime=True, without=FULL)
def inodes_are_used_up(stage: Stage) -> Scenario:
    """No space left on a file system that is less than half full: it has no inodes (serverfault; minio issues, df -i).

    To convict: rank 0 is told 507 by one target for want of space; the capacity that this target states in the same
    second, and stated when it last reported, is less than half used.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, own = stage.draw.child("inodes"), stage.job.job
    percent = aisupkeep.used_of_inodes(cluster, victim)
    stage.mark(stage.job.begin + seconds(3), f"{victim.name} has no inodes left")
    aisshifts.capacity_told(
        cluster, victim, stage.job.begin + draw.span(6_000, 19_000), percent, f"{(100 - percent) * 0.036:.2f}TiB"
    )
    stage.open()
    folder = f"/v1/objects/checkpoints/{own.task}/step_{stage.step}"
    stage.job.note(at - 90 * MS, 0, f"writing {draw.whole(1_900, 5_200)} tensors below ais:/{folder[11:]}", line=116)
    written, then = draw.whole(3, 40), at + draw.span(200, 1_600)
    told(stage, then - 30 * MS, 0, "ckpt", f"{written * 16} tensors written")
    path = f"{folder}/layers.{draw.whole(0, 47)}.mlp.{draw.pick(('up', 'down', 'gate'))}_proj.weight"
    text = aisupkeep.no_inodes(cluster, victim, then, path, draw)
    stage.job.raise_on(then + 4 * MS, 0, put_refused(stage, then, victim, path, text))
    leaves(stage, then + 5 * MS, 0)
    return stage.close(
        "One file a tensor, eight years of that.",
        (stage.guilty("storage_io", victim, also=("infrastructure",)),),
        until=at + seconds(20),
    )


@kind(hangs=False, trains=False, without=DISKS)
def checkpoint_cannot_be_read_at_start(stage: Stage) -> Scenario:
    """A shard of the checkpoint lies on sectors that cannot be read any more (torch forum, resume from s3; smartctl).

    To convict: all other ranks have their shard; one target says for that of the rank that fails, five times, that a
    read of its disk ends in an input/output error, and has its mountpath examined.
    """
    cluster, victim, rank, job = stage.cluster, stage.victim, stage.culprit, stage.job
    draw, step = stage.draw.child("resume"), stage.draw.child("resumed step").whole(12, 900) * 500
    at = job.begin + draw.span(2_000, 6_000)
    job.start()
    stage.mark(at - SEC, f"sectors of {victim.name} cannot be read")
    folder = f"s3://{stage.bucket}/resume/step_{step}"
    told(stage, at - seconds(1.6), 0, "resume", f"loading {job.job.world} shards of {folder}")
    key, then = f"resume/step_{step}/shard_{rank:05d}.pt", at
    for wait_ms in (0, 540, 1_700, 2_900, 6_100):
        then += draw.span(wait_ms + 20, wait_ms + 400)
        error = aistroubles.not_readable(cluster, victim, then, key, True)
        if not wait_ms:
            aistroubles.examined(cluster, victim, then + MS, error, True, draw)
    for other in draw.shuffled([one for one in range(job.job.world) if one != rank])[:6]:
        told(stage, at + draw.span(400, 5_000), other, "resume", f"{folder}/shard_{other:05d}.pt loaded")
    over = then + draw.span(4, 30)
    said = f"giving up on {s3_url(victim, stage.bucket, key)} after 5 attempts"
    told(stage, over - MS, rank, "resume", said, "ERROR")
    resume_failed(stage, over, rank)
    leaves(stage, over + MS, rank)
    return stage.close(
        "It was written once, in the night before, and nobody has looked at it since.",
        (stage.guilty("storage_io", victim, also=("data", "infrastructure")),),
        until=over + seconds(25),
    )
