"""Storage faults of the twentieth part that show in what was read: answers for pictures, zeros, a lost record."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.mounts import opened, read_failed, request_failed
from benchmarks.accuracy.generate.faults.words.passers import array_all_zeros, picture_not_identified, record_not_read
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisfailings as failings
from fixtures.generator import aislapses as lapses
from fixtures.generator import aisobjects
from fixtures.generator import aistroubles as troubles
from fixtures.generator.draw import LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "twentieth")


@kind(reads=True, hangs=False, lead_s=60.0, without=DISKS)
def answer_is_no_picture(stage: Stage) -> Scenario:
    """A target cannot open files of a disk, a loader does not look at the status (Pillow docs; python-pillow, errors).

    To convict: the loader prints how the bytes begin that Pillow does not know, and they are a target's answer of an
    error; that target says the same of that picture at that moment, and of others on the same mountpath.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, disk = stage.draw.child("pillow"), stage.draw.child("pillow disk").whole(0, 1)

    def failed(then: int) -> tuple[str, str]:
        name = f"images/{draw.token(2, LOWER)}/{draw.whole(0, 9_999_999):07d}.webp"
        text = lapses.not_opened(cluster, victim, then, name, "input/output error", disk)
        return name, f'b\'{{"tcode":"ErrFailedTo","message":"{text}","method":"GET\''

    stage.open()
    began = stage.mark(at - draw.span(2_000, 8_000), f"files of a mountpath of {victim.name} cannot be opened")
    for other in readers(stage)[: draw.whole(2, 5)]:
        then = began + int((at - began) * draw.between(0, 0.95))
        name, head = failed(then)
        stage.job.note(then + 5 * MS, other, f"{name} begins with {head}, not decoded", "W", 66, "pictures")
    name, head = failed(at - 6 * MS)
    stage.job.note(at - 2 * MS, rank, f"{name} begins with {head}", "W", 64, "pictures")
    picture_not_identified(stage, at, rank)
    leaves(stage, at, rank)
    return stage.close(
        "A new collator has lost the line that let such a sample out.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "software")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=DISKS)
def missing_chunks_become_zeros(stage: Stage) -> Scenario:
    """A disk is detached by mistake, zarr takes a chunk that is not there for one of zeros (zarr-python#486, #1720).

    To convict: the ranks that find fields of zeros name their chunks, and one target says of those, the failed rank's
    among them, that they do not exist; it has detached a mountpath shortly before, and nothing was moved from it.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("zeros")
    stage.open()
    gone = stage.mark(at - draw.span(6_000, 21_000), f"a disk of {victim.name} is detached by mistake")
    failings.detach_disk(cluster, victim, gone)

    def missing(then: int) -> str:
        field = draw.pick(("t850", "z500", "q700", "u10m"))
        name = f"era5.zarr/{field}/c/{draw.whole(0, 9_999)}/{draw.whole(0, 3)}/{draw.whole(0, 7)}"
        aisobjects.not_there(cluster, victim, then, name)
        return name

    for other in readers(stage)[: draw.whole(2, 5)]:
        then = gone + 300 * MS + int((at - gone - 400 * MS) * draw.between(0, 0.97))
        said = f"{missing(then)} is all zeros, the day is left out"
        stage.job.note(then + 40 * MS, other, said, "W", 83, "fields")
    name = missing(at - 44 * MS)
    array_all_zeros(stage, at, rank, name)
    leaves(stage, at, rank)
    return stage.close(
        "The slot of another drive was meant, in the host below.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "software")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=DISKS)
def average_of_weights_is_not_read_again(stage: Stage) -> Scenario:
    """A rank reads averaged weights below Mountpoint, sectors of a target's disk fail (yolov7#1254; torch.load).

    To convict: the mount of the failed rank's host was told 500 of the file that torch could not read a record of, at
    moments at which a target says that it cannot read that file from a mountpath, which it gives up since.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("average"), f"weights/ema-{stage.draw.child('ema').whole(10, 400):04d}000.pt"
    stage.open()
    first = stage.mark(at - seconds(1.31), f"sectors of a disk of {victim.name} are not read any more")
    mine, offset = opened(stage, rank, name, draw), draw.whole(40, 900) << 20
    said = f"teacher: torch.load /mnt/{stage.bucket}/{name}, {draw.between(2, 9):.1f} GiB"
    stage.job.note(first - draw.span(900, 2_900), rank, said, "W", 141, "teacher")
    for after in (0.0, 0.42, 1.22):
        then = first + seconds(after)
        error = troubles.not_readable(cluster, victim, then, name, True)
        request_failed(stage, then + 4 * MS, mine, offset, draw.between(2, 30))
        if not after:
            troubles.examined(cluster, victim, then + 3 * MS, error, False, draw)
    read_failed(stage, at - 60 * MS, mine, offset)
    for other in readers(stage)[: draw.whole(1, 3)]:
        then = first + int((at - first) * draw.between(0.1, 0.9))
        file = opened(stage, other, f"weights/ema-{draw.whole(10, 400):04d}000.pt", draw)
        troubles.not_readable(cluster, victim, then, file.name, True)
        request_failed(stage, then + 4 * MS, file, draw.whole(40, 900) << 20, draw.between(2, 30))
    record_not_read(stage, at, rank, draw.whole(12, 600))
    leaves(stage, at, rank)
    return stage.close(
        "Its reallocated sectors are counted by a monitor whose mails go to somebody who has left.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )
