"""Guilty storage whose disks are the trouble: one that fails, one that crawls, one that is full, a file gone bad.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.thirty_sixth.service_words import shard_without_room, silent_tries, slow_read
from benchmarks.accuracy.generate.faults.words.natives import one_line, shard_of
from benchmarks.accuracy.generate.faults.words.requests import exhausted, object_path, one_object, refused_get, retries
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import speakers, told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS
from fixtures.generator import aisabsences, aisdesk, aisdisk, aisobjects, aisshifts, sdk
from fixtures.generator.aisdisk import Space
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirty_sixth")
ALSO = ("data_loading_stall", "infrastructure")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)
#: Noise of reads that fail or are late for reasons of their own.
READS = (*RESTARTS, *DISKS, "tenant_errors", "soft_errors", "tenant_rejected")
FULL = ("tenant_out_of_space", "low_space", "second_job")


@kind(reads=True, lead_s=62.0, without=(*READS, "tenant_out_of_space"))
def disk_fails_under_the_shard_of_a_rank(stage: Stage) -> Scenario:
    """A disk of a target gives I/O errors until FSHC disables its mountpath (aistore docs/fshc.md; recorded faults).

    To convict: the rank is told by one target that its shard does not exist. That target has answered for the same
    shard with input/output errors before, in the rhythm of urllib3, and so for others of the same mountpath, and no
    other; it calls the mountpath FAULTED and disables it between the last of these and the 404.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("fails")
    stage.open()
    turn = draw.whole(0, len(victim.disks) - 1)
    began = stage.mark(at - draw.span(300, 2_900), f"{victim.disks[turn]} of {victim.name} begins to fail")
    name, disabled = shard_of(draw), at + draw.span(22_000, 33_000)
    for then in sorted(began + int((disabled - 9 * SEC - began) * draw.between(0, 1)) for _ in range(5)):
        aisabsences.disk_errs(cluster, victim, then, shard_of(draw), turn)
    for then in sorted(disabled - draw.span(9_000, 12_000) for _ in range(draw.whole(3, 6))):
        aisabsences.disk_errs(cluster, victim, then, shard_of(draw), turn)
    aisdisk.lose_mountpath(cluster, victim, disabled, victim.mountpaths[turn], victim.disks[turn], 190.0)
    for then in silent_tries(stage, at, draw):
        if then < disabled:
            aisabsences.disk_errs(cluster, victim, then, name, turn)
            continue
        text = aisobjects.not_there(cluster, victim, then, name)
        error = refused_get(stage, then + 2 * MS, rank, victim, name, (404, "Not Found"), text)
        stage.job.raise_on(then + 5 * MS, rank, error)
        break
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "The drive had reported pending sectors for a week.",
        (stage.guilty("storage_io", victim, also=("data", *ALSO)),),
        (*ALIVE, "other clients of the same mountpath have the other I/O errors"),
    )


@kind(reads=True, lead_s=70.0, without=(*READS, "kalive_hiccup"))
def disk_at_its_end_reads_kilobytes(stage: Stage) -> Scenario:
    """A drive reads its sectors again and again, without an error (recorded slow disks; aistore docs/performance).

    To convict: each try of the rank times out at one target's address. Since before that a disk of this target is at
    100% with some kilobytes a second at every tick, its mean time of a GET is in seconds, and slow reads that other
    ranks tell of are all from there; the other targets serve as ever.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("crawls"), over_at(stage)
    stage.open()
    began = stage.mark(at - draw.span(24_000, 41_000), f"a disk of {victim.name} begins to crawl")
    aisshifts.cells_reread(cluster, victim, draw.pick(victim.disks), began, over + 40 * SEC, draw)
    well = [one for one in cluster.up(at) if one is not victim]
    aisshifts.serves_as_ever(cluster, well, stage.job.begin, over + 40 * SEC, (400, 700), draw)
    for then, other in spread(stage, began + 9 * SEC, at - SEC, (2, 4), draw):
        spent = draw.between(4, min(19, (then - began) / SEC))
        told(stage, then, other, "shards", slow_read(stage, other, victim, shard_of(draw), spent), "WARNING")
    cause = sdk.read_timeout(victim.address, victim.ports[0])
    text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, rank, shard_of(draw)), cause)
    then = retries(stage, at, rank, draw, 20.02, text, over - SEC)
    if then < over - SEC:
        exhausted(stage, then, rank, text, "ConnectionError", one_object(stage))
    stage.hang(at + 310 * MS, rank)
    return stage.close(
        "The disk was the oldest of its host; nobody looks at the times of single drives.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure")),),
        (*ALIVE, "what the others had read ahead lay on other disks"),
    )


@kind(lead_s=66.0, without=(*READS, *FULL))
def shard_of_a_checkpoint_finds_no_room(stage: Stage) -> Scenario:
    """Every rank saves its own shard, and one target is out of space (recorded, 507; aistore docs/storage_svcs).

    To convict: one rank has 507 for its shard, from a target that the answer names, and the shards of the others are
    written. That target's log has the same path with the same words, the room it had left shrinks from tick to tick
    before, and it says OOS and cleans up in vain after; the rest of the cluster says nothing of room.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, task = stage.draw.child("room"), stage.job.job.task
    stage.open(save_every=10_000)
    left = draw.between(183.0, 186.1)
    space = Space(f"{3725.29 - left:.1f}GiB", f"{left:.1f}GiB", 95, "3725.29GiB")
    aisdesk.room_left(cluster, victim, stage.job.begin, at, left + 0.3, draw)
    stage.mark(at, f"{victim.name} is out of space")
    folder = f"{task}/step-{stage.step:06d}"
    told(stage, at - draw.span(900, 2_400), 0, "ckpt", f"step {stage.step}: saving to ais://checkpoints/{folder}")
    path = f"/v1/objects/checkpoints/{folder}/__{rank}_0.distcp"
    aisdisk.put_rejected(cluster, victim, at, path, space)
    aisdisk.out_of_space(cluster, victim, at + 2 * MS, over_at(stage) + 30 * SEC, space)
    for other in speakers(stage):
        if other != rank:
            spent = draw.between(0.4, 2.8)
            said = f"step {stage.step}: __{other}_0.distcp written in {spent:.1f} s"
            told(stage, at - 300 * MS + draw.span(10, 2_100), other, "ckpt", said)
            node = draw.pick([one for one in cluster.up(at) if one is not victim])
            cluster.count(node, at, put_n=1, put_ns_total=seconds(spent), put_size=draw.whole(900, 1_300) << 20)
    shard_without_room(stage, at + 7 * MS, rank, victim, path, space.error)
    stage.hang(at + 2_400 * MS, rank)
    return stage.close(
        "Disks of that host were smaller than the others', and weights did not know it.",
        (stage.guilty("storage_io", victim, also=("infrastructure",)),),
        ALIVE,
    )


@kind(reads=True, lead_s=58.0, without=(*READS, "tenant_out_of_space"))
def sample_has_rotted_on_its_disk(stage: Stage) -> Scenario:
    """A target finds that an object's content is not what was written, and drops it (aistore docs/checksum).

    To convict: the rank is told by a target that its sample does not exist, some milliseconds after this target has
    found a bad checksum of that very sample, answered 500 and dropped it; samples that other ranks left out before have
    the same pair of lines there. It is no sample that was never there.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("rotted")
    stage.open()

    def lost(then: int, name: str) -> tuple[int, str]:
        aisobjects.bad_checksum(cluster, victim, then, name, draw)
        again = then + draw.span(5, 14)
        return again, aisobjects.not_there(cluster, victim, again, name)

    stage.mark(at - draw.span(21_000, 33_000), f"a disk of {victim.name} has given back other bytes than were written")
    for then, other in spread(stage, at - seconds(20), at - seconds(2), (1, 3), draw):
        name = f"noise/{utterance(draw).split('/', 1)[1]}"
        again, text = lost(then, name)
        why = one_line(stage, again, other, victim, name, 404, text)
        told(stage, again + 4 * MS, other, "augment", f"{name} left out: {why}", "WARNING")
    name = utterance(draw)
    again, text = lost(at, name)
    error = refused_get(stage, again + 2 * MS, rank, victim, name, (404, "Not Found"), text)
    stage.job.raise_on(again + 6 * MS, rank, error)
    stage.hang(at + 300 * MS, rank)
    return stage.close(
        "A controller had lost its power for a moment, and the bucket has one copy of everything.",
        (stage.guilty("storage_io", victim, also=("data", *ALSO)),),
        ALIVE,
    )
