"""Storage faults of the twenty-third part of writes: no inodes, no room anywhere, an upload that nobody knows."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import upload_failed
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.loaders import put_refused
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, comes_back, of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisshifts as shifts
from fixtures.generator import aisupkeep as upkeep
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "twenty_third")
SAVING = (*DISKS, "low_space", "tenant_out_of_space")


@kind(culprit=0, hangs=False, lead_s=70.0, min_timeout_s=120, without=SAVING)
def inodes_of_a_file_system_are_used_up(stage: Stage) -> Scenario:
    """A file system of small objects has blocks and no inodes left, PUTs get ENOSPC (man mkfs.ext4; df -i).

    To convict: the SDK is told 507 for the checkpoint, as a target could not open a file for it: no space left on
    device; that target says so at this moment, and of what others write there since some seconds, though it is by
    its own report and words not half full.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, percent = stage.draw.child("inodes"), upkeep.used_of_inodes(cluster, victim)
    stage.open()
    report = stage.job.begin + int((at - stage.job.begin) * draw.between(0.1, 0.5))
    avail = (100 - percent) * 0.036 * 1024 / len(victim.mountpaths)
    shifts.capacity_told(cluster, victim, report, percent, f"{avail:.2f}GiB")
    then = stage.mark(at - draw.span(8_000, 15_000), f"a file system of {victim.name} has no inode left")
    while then < at - SEC:
        other = f"/v1/objects/features/{draw.whole(0, 4095):03x}/{draw.whole(0, 9_999_999):07d}.npy"
        upkeep.no_inodes(cluster, victim, then, other, draw)
        then += draw.span(1_900, 5_200)
    name = f"{stage.job.job.task}/global_step{stage.step}/mp_rank_00_model_states.pt"
    path = f"/v1/objects/checkpoints/{name}"
    stage.job.note(at - 90 * MS, 0, f"saving checkpoint to ais://checkpoints/{name}", line=116)
    text = upkeep.no_inodes(cluster, victim, at - 4 * MS, path, draw)
    stage.job.raise_on(at, 0, put_refused(stage, at, victim, path, text))
    leaves(stage, at, 0)
    return stage.close(
        "It was made for shards of a gigabyte, and was given features of two kilobytes each.",
        (stage.guilty("storage_io", victim, also=("infrastructure", "data")),),
    )


def _full(draw: Draw) -> disk.Space:
    """How full a target is that takes no more."""
    total = draw.pick((7450.58, 14901.16, 29802.32))
    used = total * draw.between(0.952, 0.979)
    return disk.Space(f"{used:.1f}GiB", f"{total - used:.1f}GiB", round(used / total * 100), f"{total}GiB")


@kind(culprit=0, hangs=False, lead_s=75.0, without=SAVING)
def old_checkpoints_have_filled_all_targets(stage: Stage) -> Scenario:
    """Nobody removes checkpoints, and the cluster is full (aistore docs/overview, out-of-space; support threads, 507).

    To convict: the SDK's error is a 507 of a target for the checkpoint, with its capacity as the reason; this target
    turned it down at that moment, and one target after another has said before that it is out of space.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("all full")
    stage.open()
    until, spaces, began = at + seconds(35), dict[str, disk.Space](), at
    for node in cluster.targets:
        full = at - draw.span(9_000, 47_000)
        spaces[node.node_id] = _full(draw)
        name = f"/v1/objects/checkpoints/exp-{draw.whole(10, 99)}/epoch={draw.whole(1, 40)}.ckpt"
        disk.put_rejected(cluster, node, full - 9 * MS, name, spaces[node.node_id])
        disk.out_of_space(cluster, node, full, until, spaces[node.node_id])
        began = min(began, full)
    stage.mark(began, "one target after another is out of space")
    name = f"{stage.job.job.task}/epoch={draw.whole(2, 60)}-step={stage.step}.ckpt"
    path = f"/v1/objects/checkpoints/{name}"
    stage.job.note(at - 80 * MS, 0, f"saving checkpoint to ais://checkpoints/{name}", line=116)
    disk.put_rejected(cluster, victim, at - 4 * MS, path, spaces[victim.node_id])
    stage.job.raise_on(at, 0, put_refused(stage, at, victim, path, spaces[victim.node_id].error))
    leaves(stage, at, 0)
    return stage.close(
        "Every run keeps whatever it has saved, and a quarter has gone by since somebody looked.",
        (of_all(stage.guilty("storage_io", victim, also=("infrastructure",))),),
        until=until,
    )


@kind(culprit=0, hangs=False, lead_s=75.0, without=(*RESTARTS, *SAVING))
def upload_forgotten_with_a_restart(stage: Stage) -> Scenario:
    """A target keeps what it knows of an upload in memory and is restarted (aistore ais/s3, NoSuchUpload; boto3).

    To convict: boto3 is told that its upload is not found; the target that had given this very id has been stopped and
    started since, and says so at that moment of the part it is sent.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("forgotten")
    stopped = at - draw.span(15_500, 17_000)
    begun, upload = stopped - draw.span(4_000, 11_000), draw.token(9)
    step = (begun - stage.job.begin) // seconds(stage.params.step_s)
    stage.open(until_step=step)
    key = f"{stage.job.job.task}/step-{step:08d}/consolidated.00.pth"
    size = draw.whole(18, 70)
    reader_note(stage, begun - 12 * MS, 0, f"s3.upload_file({key!r}, 'checkpoints'): {size} GiB, parts of 256 MiB")
    shifts.upload_starts(cluster, victim, begun, upload)
    joined = comes_back(stage, stopped, "its host gets another kernel module")
    then = stopped + draw.span(700, 3_000)
    while then < joined - SEC:
        part, where = draw.whole(9, 4 * size), f"/s3/checkpoints/{key}?uploadId={upload}"
        text = f"Connection error: part {part} of {where} will be sent again: {_refused(victim)}"
        stage.job.note(then, 0, text, "W", 129, "upload")
        then += draw.span(1_900, 4_400)
    text = shifts.upload_unknown(cluster, victim, at - 5 * MS, key, upload)
    upload_failed(stage, at, 0, key, "NoSuchUpload", text)
    leaves(stage, at, 0)
    return stage.close(
        "It was back within a quarter of a minute, and no read was lost.",
        (stage.guilty("storage_io", victim, also=("infrastructure", "data", "network")),),
        until=joined + seconds(60),
    )


def _refused(node: Node) -> str:
    """What botocore says of a target that does not listen."""
    return f'Could not connect to the endpoint URL: "{node.url(0)}/s3/checkpoints"'
