"""Guilty storage of disks: one that gives errors, one that is taken out, one that crawls, one that lost an object.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.foremen import held_up, steps_before
from benchmarks.accuracy.generate.faults.words.natives import one_line, shard_of, unanswered_at
from benchmarks.accuracy.generate.faults.words.requests import refused_get
from benchmarks.accuracy.generate.faults.words.subscribers import asks_until_the_end, spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.tries import client_told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisabsences, aisdisk, aislosses, aisobjects, aisoperations, chains
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirty_fifth")
ALSO = ("data", "data_loading_stall", "infrastructure")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)
NOT_FOUND = (404, "Not Found")
#: Noise of objects that are missing for reasons of their own, or that are not missing to a neighbour.
MISSING = ("tenant_errors", "soft_errors", "loader_fallbacks", "second_job")


@kind(reads=True, lead_s=64.0, without=(*RESTARTS, *DISKS, *MISSING))
def shard_lies_on_a_disk_that_gives_errors(stage: Stage) -> Scenario:
    """A disk gives I/O errors until FSHC gives its mountpath up (aistore sources, fs/health; urllib3 repeats 500).

    To convict: the rank is told 404 by a target for a shard that the same target could not read seconds before, twice,
    `input/output error`; in between FSHC has disabled that mountpath as FAULTED, and a resilver runs to the end. Other
    ranks miss objects of that target since, and of no other.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("disk errors")
    stage.open()
    one = draw.whole(0, len(victim.disks) - 1)
    path, disk = victim.mountpaths[one], victim.disks[one]
    stage.mark(at - 9 * SEC, f"{disk} of {victim.name} begins to give errors")
    given_up = stage.mark(at + draw.span(4_300, 5_500), f"{victim.name} disables {path}")
    aisdisk.lose_mountpath(cluster, victim, given_up, path, disk, 140.0)
    shard = shard_of(draw)
    told(stage, at - 12 * MS, rank, "reader", f"next shard of ais://{stage.bucket}: {shard}")
    for late in (4 * MS, draw.span(24, 31)):
        aisabsences.disk_errs(cluster, victim, at + late, shard, one)
    then = at + draw.span(6_060, 6_110)
    text = aisobjects.not_there(cluster, victim, then - 4 * MS, shard)
    stage.job.raise_on(then, rank, refused_get(stage, then - 9 * MS, rank, victim, shard, NOT_FOUND, text))
    for moment, other in spread(stage, then + SEC, at + seconds(31), (1, 3), draw):
        name = utterance(draw)
        missing = aisobjects.not_there(cluster, victim, moment - 4 * MS, name)
        why = one_line(stage, moment, other, victim, name, 404, missing)
        told(stage, moment, other, "reader", f"{name} left out of the next batches: {why}", "WARNING")
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "The kernel of the storage host had counted media errors of that disk for a week.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ALIVE,
        until=given_up + seconds(70),
    )


@kind(reads=True, lead_s=60.0, without=(*RESTARTS, *DISKS, *MISSING))
def mountpath_is_disabled_under_a_running_job(stage: Stage) -> Scenario:
    """An operator disables a mountpath by the API, without a resilver (aistore docs/mountpath; recorded lines of it).

    To convict: each try names an object that does not exist by one and the same target, whichever assembled the batch,
    and so does the single read after the tries; that target has told of `"disable-mp"` and of one disk less
    in the second before the first try. Nothing is said of any other, and no disk has an error.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, most = stage.draw.child("disabled"), stage.draw.child("tries").pick((3, 4, 5))
    client_told(stage, f"get-batch: 48 entries, buffered, {most} tries, then each entry alone")
    stage.open()
    turn, names = draw.whole(0, len(victim.disks) - 1), [utterance(draw), utterance(draw)]
    where = f"{victim.mountpaths[turn]} of {victim.name}"
    taken = stage.mark(at - draw.span(30, 190), f"an operator disables {where}")
    aisoperations.mountpath_disabled(cluster, victim, taken, turn)
    many, then = draw.whole(2, 6), at
    for count in range(1, most + 1):
        designated = draw.pick(cluster.up(then))
        failed = chains.missing_entry(stage, then, designated, victim, names[count % 2], many)
        end = "reading its entries one by one" if count == most else f"retrying {count}/{most}"
        stage.job.note(then + 8 * MS, rank, f"get-batch failed ({failed.error}), {end}", "W", 96)
        then += seconds(1.5 * count) + draw.span(60, 140) if count < most else draw.span(90, 700)
    text = aisobjects.not_there(cluster, victim, then - 4 * MS, names[0])
    stage.job.raise_on(then, rank, refused_get(stage, then - 9 * MS, rank, victim, names[0], NOT_FOUND, text))
    stage.hang(at + 350 * MS, rank)
    return stage.close(
        "It was the disk of the ticket by its number, and of another host by its name.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ALIVE,
    )


@kind(reads=True, lead_s=86.0, without=(*RESTARTS, *DISKS))
def one_slow_disk_holds_a_shard_back(stage: Stage) -> Scenario:
    """One disk of a target is at its end with a few MiB a second and has no error (aistore docs; reports of slow NVMe).

    To convict: all reads of the rank time out at one target's address, and reads of others that took seconds were of
    the same; one disk of that target is busy with all its time for next to nothing since before the first of them,
    tick by tick. No read of another target is late, and the slow one answers the primary and stays in the map.
    """
    cluster, victim, rank = stage.cluster, stage.victim, stage.culprit
    draw = stage.draw.child("slow disk")
    late = {step: draw.between(4, 11) for step in steps_before(stage, 34, 9, draw.whole(2, 4), draw)}
    asked = held_up(stage, late)
    since = stage.mark(min(asked.values()) - draw.span(9_000, 14_000), f"a disk of {victim.name} slows down")
    over = over_at(stage)
    aislosses.lone_disk_slows(cluster, victim, since, over + seconds(30), draw, "which")
    for step, then in asked.items():
        name, waited = shard_of(draw), late[step]
        said = f"slow read: {victim.url(0)}/v1/objects/{stage.bucket}/{name} took {waited:.1f} s"
        told(stage, then + seconds(waited), draw.pick(readers(stage)), "reader", said, "WARNING")
    shard = shard_of(draw)
    told(stage, stage.at - 14 * MS, rank, "reader", f"next shard of ais://{stage.bucket}: {shard}")
    stage.mark(stage.at, f"rank {rank} waits for {shard}")
    asks_until_the_end(stage, unanswered_at(stage, rank, victim, shard), draw)
    stage.hang(stage.at + 240 * MS, rank)
    return stage.close(
        "The drive had no spare blocks left and moved what it had around.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure")),),
        until=over + seconds(20),
    )


@kind(reads=True, lead_s=57.0, without=(*RESTARTS, *DISKS, *MISSING))
def object_is_not_what_it_was_when_it_was_stored(stage: Stage) -> Scenario:
    """A read is validated and the content has changed on its disk (aistore sources, tgtobj; facts: corrupt object).

    To convict: a target says `BAD DATA CHECKSUM` of the object that the rank reads, and answers 500, which urllib3
    repeats in silence; milliseconds later the same target has removed it and answers 404, which the rank raises with
    that target's name. It had read as many objects without an error before, and nobody deletes.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("corrupt")
    client_told(stage, "single reads, 16 in flight; checksums of warm objects are validated by the bucket")
    stage.open()
    name = utterance(draw)
    found = stage.mark(at - 4 * MS, f"{victim.name} finds the content of {name} changed")
    aisobjects.bad_checksum(cluster, victim, found, name, draw)
    then = at + draw.span(19, 34)
    text = aisobjects.not_there(cluster, victim, then - 3 * MS, name)
    stage.job.raise_on(then, rank, refused_get(stage, then - 6 * MS, rank, victim, name, NOT_FOUND, text))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "The bucket had one copy of each object, and a cable had been replaced the week before.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ALIVE,
        until=then + seconds(60),
    )
