"""Storage faults of the eighteenth part of single disks: unreadable, given up, slow, being filled, or rotten."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.boarders import (
    lmdb_not_opened,
    mapped_page_lost,
    read_below_mount_failed,
)
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.lodgers import asked_of, clip, read_timed_out, video_not_decoded
from benchmarks.accuracy.generate.faults.words.mounts import opened, read_failed, request_failed
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand, crawls
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisdisk as disks
from fixtures.generator import aisfailings as failings
from fixtures.generator import aislosses as losses
from fixtures.generator import aismishaps as mishaps
from fixtures.generator import aisobjects
from fixtures.generator import aistroubles as troubles
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "eighteenth")


@kind(reads=True, hangs=False, lead_s=60.0, without=DISKS)
def mapped_tokens_meet_a_bad_sector(stage: Stage) -> Scenario:
    """Tokens are mapped below a mount, a sector of a disk is not read: SIGBUS (numpy#21964; mountpoint-s3#974).

    To convict: just before a rank ends by SIGBUS its host's mount says that a read of the file has failed with 500, and
    a target says of that very object that the disk gives an input/output error.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("tokens"), f"tokens/train-{stage.draw.child('part').whole(0, 190):05d}.bin"
    stage.open()
    file, offset = opened(stage, rank, name, draw), draw.whole(900, 90_000) << 17
    first = stage.mark(at - draw.span(900, 1_250), f"{victim.name} cannot read {name}")
    for after in (0.0, 0.06, 0.17, 0.36, 0.74):
        then = first + seconds(after) + draw.span(1, 30)
        text = troubles.not_readable(cluster, victim, then, name, True)
        request_failed(stage, then + draw.span(2, 9), file, offset, draw.between(11, 190))
    troubles.examined(cluster, victim, first + 40 * MS, text, True, draw)
    read_failed(stage, at - draw.span(3, 19), file, offset)
    mapped_page_lost(stage, at, rank)
    return stage.close(
        "A page that nobody has in memory is read when it is touched, and there is no way to tell who touches it.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "software")),),
    )


@kind(reads=True, hangs=False, lead_s=75.0, without=DISKS)
def databases_of_a_lost_mountpath(stage: Stage) -> Scenario:
    """A mountpath without copies is disabled, LMDB below rclone has an I/O error (vq-vae-2-pytorch#46; docs/fshc).

    To convict: rclone is told of the file that LMDB cannot open that its key does not exist, by a target that has just
    disabled a mountpath for its errors, and has an alert of it since.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, number = stage.draw.child("lmdb"), stage.draw.child("disk").whole(0, len(stage.victim.disks) - 1)
    stage.open()
    disabled = stage.mark(at - draw.span(7_000, 22_000), f"a mountpath of {victim.name} is disabled")
    path, device = victim.mountpaths[number], victim.disks[number]
    disks.lose_mountpath(cluster, victim, disabled, path, device, draw.between(24, 55))

    def missing(then: int, who: int, name: str, attempt: int) -> None:
        text = f"{victim.name}: ais://{stage.bucket}/{name} does not exist"
        mishaps.s3_get_failed(cluster, victim, then, name, text, "")
        read_below_mount_failed(stage, then + 3 * MS, who, name, attempt, text)

    for other in readers(stage)[: draw.whole(0, 3)]:
        then, name = disabled + int((at - disabled) * draw.between(0.1, 0.9)), f"oc22/data.{draw.whole(0, 79):04d}.lmdb"
        missing(then, other, name, 1)
        stage.job.note(then + 9 * MS, other, f"{name}: Input/output error, opened again later", "W", 183)
    name = f"oc22/data.{draw.whole(0, 79):04d}.lmdb"
    for attempt in range(1, 11):
        missing(at - (11 - attempt) * 12 * MS, rank, name, attempt)
    lmdb_not_opened(stage, at, rank, name)
    leaves(stage, at, rank)
    return stage.close(
        "Each file is read by all ranks all the time, and was put there once, without a mirror.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )


@kind(reads=True, hangs=False, slurm=True, lead_s=70.0, without=DISKS)
def one_hot_disk_and_a_job_that_is_taken_away(stage: Stage) -> Scenario:
    """A worn SSD is at 100 % with a few MB/s, steps take ten times as long (aistore docs/performance; nvme-cli, wear).

    To convict: steps got slow as a disk of one target came to 100 % while it moves next to nothing, that target's reads
    take tens of seconds each while those of its peers do not, and ranks that tell what is slow name its address.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("hot")
    stage.open()
    began = stage.mark(at - draw.span(1_000, 9_000), f"a disk of {victim.name} is worn out")
    over = crawls(stage, draw.whole(9, 15), 7.0, 18.0)
    losses.disk_slows(cluster, victim, began, over + seconds(15), draw)
    who, then = [stage.culprit, *readers(stage)], at + draw.span(4_000, 12_000)
    while then < over:
        said = f"{draw.between(9, 33):.1f} s for {asked_of(stage, victim, utterance(draw))}"
        stage.job.note(then, draw.pick(who), f"slow sample: {said}", "W", 80, "reader")
        then += draw.span(11_000, 27_000)
    cancelled_by_hand(stage, over + draw.span(900, 7_000))
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure"))
    made = replace(made, culprit_ranks=None)
    return stage.close("Somebody sees how long an epoch is to take, and would rather ask storage first.", (made,))


@kind(reads=True, hangs=False, min_timeout_s=60, lead_s=60.0, without=DISKS)
def reads_time_out_behind_a_resilver(stage: Stage) -> Scenario:
    """A disk was replaced by day, its target moves objects to it, a read outlasts 30 s (aistore docs/resilver).

    To convict: the host that did not answer in time is a target that runs a resilver, with all of its disks at their
    limit and reads that take tens of seconds, which other ranks say too.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("replaced"), stage.at + seconds(30.01)
    stage.open()
    began = stage.mark(at - draw.span(14_000, 39_000), f"a new disk is attached to {victim.name}")
    failings.resilver_at_length(cluster, victim, began, over + seconds(25), draw)
    then = began + draw.span(3_000, 9_000)
    while then < over:
        reads = draw.whole(2, 8)
        cluster.count(victim, then, get_n=reads, get_ns_total=reads * draw.span(9_000, 26_000), get_size=reads << 18)
        then += draw.span(6_000, 11_000)
    for turn, other in enumerate(readers(stage)[: draw.whole(1, 5)]):
        then = at - seconds(8) + seconds(7.1 * turn) + draw.span(1, 4_000)
        said = f"{draw.between(11, 28):.1f} s for {asked_of(stage, victim, utterance(draw))}"
        stage.job.note(then, other, f"slow sample: {said}", "W", 80, "reader")
    read_timed_out(stage, over, rank, victim, 30)
    leaves(stage, over, rank)
    return stage.close(
        "The old disk had died at the weekend; its slot was the only one that somebody could get at.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=DISKS)
def rotten_video_is_refused(stage: Stage) -> Scenario:
    """A video has changed on its disk, a validated read is refused: 5XX to torchcodec (aistore docs/checksum).

    To convict: the name of the video that FFmpeg could not open is that of an object whose checksum a target found
    wrong in the same second.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("rotten"), clip(stage.draw.child("rotten name"))
    stage.open()
    began = stage.mark(at - draw.span(5_000, 26_000), f"videos have changed on a disk of {victim.name}")
    for other in readers(stage)[: draw.whole(1, 4)]:
        then, own = began + int((at - began) * draw.between(0, 0.95)), clip(draw)
        aisobjects.bad_checksum(cluster, victim, then, own, draw)
        said = f"{own}: Server returned 5XX Server Error reply, another clip"
        stage.job.note(then + 7 * MS, other, said, "W", 93, "clips")
    aisobjects.bad_checksum(cluster, victim, at - 6 * MS, name, draw)
    video_not_decoded(stage, at, rank, name, "Server returned 5XX Server Error reply")
    leaves(stage, at, rank)
    return stage.close(
        "Memory of a controller without ECC, say its makers by now.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )
