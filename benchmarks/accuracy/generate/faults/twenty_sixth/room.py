"""Storage faults of the twenty-sixth part of room: for a checkpoint, for reads of the cloud, within a quota."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.claimants import token_file
from benchmarks.accuracy.generate.faults.words.doorways import part_refused
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.outlets import shards_not_saved
from benchmarks.accuracy.generate.faults.words.requests import refused_get
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers, writers_to
from fixtures.generator import aisdisk as disk
from fixtures.generator import aislosses, aisobjects, aisrefusals, aisrounds, sdk
from fixtures.generator.aislog import Say
from fixtures.generator.aisstats import ticks_between
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("storage", "twenty_sixth")
FULL = (*DISKS, "low_space", "tenant_out_of_space")


def _size(gib: float, digits: int) -> str:
    """A size as AIStore prints it."""
    return f"{gib / 1024:.{digits}f}TiB" if gib >= 1024 else f"{gib:.{digits}f}GiB"


def space_of(draw: Draw) -> disk.Space:
    """A target whose fullest disk is above what it may be used to."""
    total = draw.pick((3725.29, 7450.58, 14901.16))
    used = total * draw.between(0.956, 0.981)
    return disk.Space(_size(used, 1), _size(total - used, 1), round(used / total * 100), _size(total, 2))


@kind(hangs=False, lead_s=62.0, without=FULL)
def sharded_save_meets_a_full_target(stage: Stage) -> Scenario:
    """Shards of a checkpoint whose target is full are not taken, and all ranks end (torch DCP issues; aistore, OOS).

    To convict: the exception names the ranks whose shards failed, each for want of room; one target has turned these
    very parts down with 507 and says at every tick that it is out of space, no other target does.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("sharded save")
    space = space_of(draw)
    stage.open()
    folder = f"{stage.job.job.task}/step-{stage.step}"
    stage.job.note(at - 50 * MS, 0, f"dcp.save to s3://checkpoints/{folder}", line=118)
    begun = stage.mark(at + draw.span(700, 1_900), f"{victim.name} is out of space")
    failed: dict[int, str] = {}
    last = begun
    for rank in writers_to(stage, draw):
        then = begun + draw.span(1, 900)
        last = max(last, then)
        aisrounds.part_rejected(cluster, victim, then, f"{folder}/__{rank}_0.distcp", space)
        failed[rank] = f"An error occurred (ErrCapExceeded) when calling the UploadPart operation: {space.error}"
    disk.out_of_space(cluster, victim, begun, last + seconds(40), space)
    over = shards_not_saved(stage, last + draw.span(1_200, 3_000), failed)
    made = stage.guilty("storage_io", victim, also=("infrastructure",))
    return stage.close(
        "It was the only target that had never been given its second shelf.",
        (replace(made, culprit_ranks=tuple(failed)),),
        until=over + seconds(20),
    )


@kind(reads=True, hangs=False, lead_s=65.0, without=FULL)
def no_room_for_what_the_cloud_sends(stage: Stage) -> Scenario:
    """A target that is full cannot read through any more, what it has it serves (aistore issues, cold GET and OOS).

    To convict: a read is answered with 507 by one target, which has told others the same for seconds and is out of
    space at every tick; reads of other targets go on.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("read through")
    space = space_of(draw)
    stage.open()
    began = stage.mark(at - draw.span(9_000, 17_000), f"{victim.name} is out of space")
    disk.out_of_space(cluster, victim, began, at + seconds(35), space)
    cold = draw.child("cold")
    aisobjects.cold_gets(cluster, stage.job.begin, began - seconds(1), 2.5, 240, 980, cold)
    aisobjects.cold_gets(cluster, began, at + seconds(30), 2.5, 240, 980, cold.child("elsewhere"), victim.node_id)
    for other in readers(stage)[: draw.whole(2, 5)]:
        name, then = token_file(draw), began + int((at - began) * draw.between(0.1, 0.95))
        text = aisrefusals.no_room_to_read(cluster, victim, then - 4 * MS, name, space)
        said = f"{name} left out: STATUS:507 {text} ({victim.url(0)})"
        told(stage, then, other, "lines", said, "WARNING")
    name = token_file(draw)
    text = aisrefusals.no_room_to_read(cluster, victim, at, name, space)
    status = (507, "Insufficient Storage")
    stage.job.raise_on(at + 5 * MS, rank, refused_get(stage, at, rank, victim, name, status, text, "ErrCapExceeded"))
    leaves(stage, at + 6 * MS, rank)
    return stage.close(
        "All that it had was read every hour, and so there was nothing to evict.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "infrastructure")),),
        until=at + seconds(35),
    )


def _has_room(stage: Stage, at: int, draw: Draw) -> None:
    """The victim's report of every four hours: no mountpath is half full."""
    cluster, victim = stage.cluster, stage.victim
    each = draw.pick((3.49, 6.98, 13.97))
    for tick in list(ticks_between(cluster.last_process(victim), stage.job.begin, at))[:1]:
        for path in victim.mountpaths:
            used = draw.whole(27, 46)
            told_at = tick + draw.span(0.2, 1.2)
            cluster.say(
                victim, told_at, Say("I", "", f"{path}: used {used}%, avail {each * (100 - used) / 100:.2f}TiB")
            )


@kind(culprit=0, hangs=False, lead_s=60.0, without=FULL)
def upload_runs_into_a_project_quota(stage: Stage) -> Scenario:
    """XFS has a quota for the project of a mountpath, and a part is one too many (xfs_quota; s3fs, EDQUOT on upload).

    To convict: boto3 was told five times that a part of the checkpoint cannot be stored; one target says each time that
    its file system's quota is exceeded, and has reported that no mountpath is half full.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("project quota")
    stage.open()
    key = f"{stage.job.job.task}/last-{stage.step:06d}.ckpt"
    parts = draw.whole(90, 400)
    told(stage, at - 30 * MS, 0, "ckpt", f"upload of s3://checkpoints/{key}, {parts} parts of 32 MiB")
    begun = stage.mark(at + draw.span(2_100, 6_000), f"a mountpath of {victim.name} has used up its quota")
    _has_room(stage, begun, draw)
    then, text = begun, ""
    for wait_ms in (0, 420, 1_300, 2_800, 6_900):
        then += draw.span(wait_ms + 30, wait_ms + 600)
        text = aislosses.over_quota(cluster, victim, then, "checkpoints", key, draw)
    part_refused(stage, then + 6 * MS, 0, key, text)
    over = stage.job.agents_end([Exit(0, then + 500 * MS, 1)], then + 600 * MS)
    return stage.close(
        "A quota of a test of last year was still in /etc/projid.",
        (stage.guilty("storage_io", victim, also=("infrastructure",)),),
        until=over + seconds(25),
    )


def _fills(stage: Stage, at: int, draw: Draw) -> disk.Space:
    """The victim tells at every tick how little is left of each mountpath; how full it is when it takes no more."""
    cluster, victim = stage.cluster, stage.victim
    each = draw.pick((1862.64, 3725.29, 7450.58))
    total, full = round(each * len(victim.disks), 2), draw.between(0.9502, 0.9535)
    for tick in ticks_between(cluster.last_process(victim), stage.job.begin, at):
        left = each * (1 - min(full, 0.9498) + (at - tick) / SEC * 4e-5)
        for path in victim.mountpaths:
            then = tick + draw.span(0.2, 1.2)
            cluster.say(victim, then, Say("I", "", f"{path}: used 94%, avail {left * draw.between(1.0, 1.003):.2f}GiB"))
            cluster.say(victim, then + 40_000, Say("I", "", f"{path}: (low-free-space)"))
    return disk.Space(_size(total * full, 1), _size(total * (1 - full), 1), 95, _size(total, 2))


@kind(culprit=0, hangs=False, lead_s=64.0, without=FULL)
def last_gigabytes_go_with_the_optimizer(stage: Stage) -> Scenario:
    """A disk runs full while a checkpoint is written, the part after the last does not fit (nnU-Net, HF forum, ENOSPC).

    To convict: shards of the checkpoint were written until one was refused with 507; the target had told at every tick
    before how little a mountpath has left, less each time, and is out of space since.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("optimizer")
    stage.open()
    begun = stage.mark(at + draw.span(4_000, 9_000), f"{victim.name} is out of space")
    space = _fills(stage, begun, draw)
    folder = f"/v1/objects/checkpoints/{stage.job.job.task}/checkpoint-{stage.step}"
    stage.job.note(at - 60 * MS, 0, f"saving model and optimizer below ais:/{folder[11:]}", line=116)
    written = draw.whole(3, 7)
    for turn in range(written):
        then = at + (begun - at) * (turn + 1) // (written + 1)
        told(stage, then, 0, "ckpt", f"model-{turn + 1:05d}-of-{written:05d}.safetensors written")
    path = f"{folder}/optimizer.pt"
    disk.put_rejected(cluster, victim, begun, path, space)
    disk.out_of_space(cluster, victim, begun, begun + seconds(40), space)
    body = sdk.answer(victim, 507, space.error, "PUT", path, stage.client(0), "ErrCapExceeded")
    url = victim.url(0) + path + sdk.query(stage.proxy_of(0), begun - 9 * MS)
    frames = (
        sdk.Frame(stage.job.job.script, 212, "<module>", "main()"),
        sdk.Frame(stage.job.job.script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(stage.job.job.script, 131, "save_checkpoint", "store.put_file(folder / 'optimizer.pt', path)", True),
    )
    error = "aistore.sdk.errors.AISError: " + sdk.request_error(507, body, url)
    stage.job.raise_on(
        begun + 5 * MS, 0, sdk.http_failure(stage.job.job, 507, "Insufficient Storage", url, error, frames)
    )
    leaves(stage, begun + 8 * MS, 0)
    return stage.close(
        "Two checkpoints were to be kept, and each run had a name of its own.",
        (stage.guilty("storage_io", victim, also=("infrastructure",)),),
        until=begun + seconds(40),
    )
