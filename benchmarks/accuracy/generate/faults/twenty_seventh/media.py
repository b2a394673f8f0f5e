"""Storage faults of the twenty-seventh part of disks: unreadable, lost, tired, read-only, cut off, full."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.applicants import (
    asks_with_pauses,
    body_cut,
    msc_read_again,
    one_line_answer,
    others_tell,
    s3torch_failed,
    too_many_skipped,
)
from benchmarks.accuracy.generate.faults.words.doorways import part_refused
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.loaders import put_refused
from benchmarks.accuracy.generate.faults.words.requests import refused_get
from benchmarks.accuracy.generate.faults.words.servers import reads_on_time
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisdisk, aislosses, aisobjects, aispassages, aisstrain, aistroubles, sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_seventh")
LOSSES = ("data_loading_stall", "infrastructure")
INTERNAL = "Unknown CRT error: CRT error 14341: aws-c-s3: AWS_ERROR_S3_INTERNAL_ERROR, Response code indicates internal"


@kind(reads=True, hangs=False, lead_s=62.0, without=DISKS)
def unreadable_sectors_below_an_item(stage: Stage) -> Scenario:
    """Some sectors of one disk cannot be read (s3-connector-for-pytorch issues, CRT 14341; smartd, pending sectors).

    To convict: the object that the loader could not have is the one of which a target says "input/output error", again
    and again, as of some others on the same mountpath; no other target says so.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("unreadable")
    stage.open()
    began = stage.mark(at - draw.span(14_000, 22_000), f"sectors of a disk of {victim.name} cannot be read any more")

    def says(then: int) -> str:
        name = utterance(draw)
        aistroubles.not_readable(cluster, victim, then, name, True)
        return f"s3://{stage.bucket}/{name}: 500 InternalError, left out"

    others_tell(stage, began, at - SEC, (2, 4), draw, says)
    name = utterance(draw)

    def asks(turn: int, then: int) -> None:
        aistroubles.not_readable(cluster, victim, then, name, True)

    last = asks_with_pauses(at, (0.5, 1.1, 2.3), draw, asks)
    over = last + draw.span(9, 40)
    s3torch_failed(stage, over, rank, name, f"{INTERNAL} server error")
    leaves(stage, over + 8 * MS, rank)
    return stage.close(
        "smartd had sent a mail to an address that nobody reads.",
        (stage.guilty("storage_io", victim, also=LOSSES),),
        until=over + seconds(30),
    )


@kind(reads=True, hangs=False, lead_s=68.0, without=DISKS)
def failed_drive_takes_samples_along(stage: Stage) -> Scenario:
    """A drive is given up, what lay on it is not there any more (aistore issues, FSHC; loaders that skip, then end).

    To convict: all names that are told to be missing are missing at one target, from the second on in which it has
    disabled a mountpath as FAULTED; the loader ends when too many are.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("failed drive")
    stage.open()
    began = stage.mark(at - draw.span(13_000, 19_000), f"a drive of {victim.name} fails")
    gone = aisstrain.drive_drops_out(cluster, victim, began, at + seconds(40), draw.whole(0, 1), draw)

    def missing(then: int) -> str:
        name = utterance(draw)
        aisobjects.not_there(cluster, victim, then, name)
        return f"{victim.url(0)}/v1/objects/{stage.bucket}/{name}: 404, skipped"

    others_tell(stage, gone + SEC, at, (2, 5), draw, missing)
    many = draw.whole(9, 14)
    for turn in range(many):
        then = at - (many - turn) * draw.span(180, 330)
        told(stage, max(then, gone + SEC + turn * MS), rank, "samples", missing(then - 3 * MS), "WARNING")
    too_many_skipped(stage, at + 6 * MS, rank, many, 8)
    leaves(stage, at + 14 * MS, rank)
    return stage.close(
        "The bucket was kept once, to have room for twice as much.",
        (stage.guilty("storage_io", victim, also=LOSSES),),
        until=at + seconds(40),
    )


@kind(reads=True, lead_s=68.0, without=DISKS)
def tired_ssd_starves_a_rank(stage: Stage) -> Scenario:
    """One SSD collects its garbage and answers in tens of seconds (Megatron-LM, reads of MSC; forum posts on QLC).

    To convict: the rank that all wait for repeats a read from one target that times out; one disk of that target moves
    little and has no time left, its reads take half a minute, other targets serve at once.
    """
    cluster, victim, rank, at, over = stage.cluster, stage.victim, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("tired")
    stage.open()
    began = stage.mark(at - draw.span(15_000, 27_000), f"an SSD of {victim.name} collects its garbage")
    aislosses.lone_disk_slows(cluster, victim, began, over + seconds(30), draw, "which")
    others = [one for one in cluster.up(at) if one is not victim]
    reads_on_time(cluster, others, stage.job.begin, over + seconds(15), draw.child("others"))
    why = f"Read timeout on {victim.address}:{victim.ports[0]}"
    for turn, other in enumerate([rank, *readers(stage)[: draw.whole(1, 3)]]):
        key, then = f"bin/text_{draw.whole(0, 511):04d}_document.bin", at - draw.span(20, 900) + turn * 4 * SEC
        for attempt in range(1, 5 if other == rank else draw.whole(2, 3)):
            then += draw.span(15_100, 17_500)
            if then < over - SEC:
                msc_read_again(stage, then, other, key, attempt, why)
    stage.hang(at + 250 * MS, rank)
    return stage.close(
        "It had been bought for archives, and was full to the brim.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure")),),
    )


@kind(reads=True, hangs=False, lead_s=62.0, without=DISKS)
def flipped_bits_cost_an_object(stage: Stage) -> Scenario:
    """A disk has given other bits than were written; the object is removed (aistore docs/checksum; bit rot).

    To convict: what is not there any more is what the same target had found to have a bad checksum seconds before, at
    the first try; 404 is only what is left to say after that.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("flipped")
    stage.open()
    stage.mark(at - 3 * MS, f"an object on {victim.name} has a bad checksum")
    name = utterance(draw)
    job = stage.job

    def asks(turn: int, then: int) -> None:
        if turn == 1:
            aisobjects.bad_checksum(cluster, victim, then - 3 * MS, name, draw)
            return
        text = aisobjects.not_there(cluster, victim, then - 3 * MS, name)
        if turn < 6:
            line = one_line_answer(stage, then, rank, victim, name, 404, text)
            job.sdk_warning(then, rank, sdk.retrying(pauses[turn - 1], "ErrObjNotFound", line))

    pauses = (0.02, *(round(draw.between(1.0, 2.0**turn + 0.4), 2) for turn in range(4)))
    over = asks_with_pauses(at, pauses, draw, asks)
    job.sdk_warning(over, rank, "All retries exhausted; request failed", "ERROR")
    missing = f"{victim.name}: ais://{stage.bucket}/{name} does not exist"
    job.raise_on(over + 2 * MS, rank, refused_get(stage, over, rank, victim, name, (404, "Not Found"), missing))
    leaves(stage, over + 7 * MS, rank)
    return stage.close(
        "The host has memory without ECC, as was found out weeks later.",
        (stage.guilty("storage_io", victim, also=("data", *LOSSES)),),
        until=over + seconds(30),
    )


@kind(culprit=0, hangs=False, lead_s=62.0, without=(*DISKS, "low_space"))
def remounted_disk_takes_no_parts(stage: Stage) -> Scenario:
    """A kernel remounts a file system read-only after errors, a checkpoint fails (boto3, InternalError; ext4 forums).

    To convict: parts of the checkpoint were refused with 500 by one target, "read-only file system", and it gives that
    mountpath up; the exception has the same words.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("remounted")
    stage.open()
    stage.mark(at - draw.span(900, 3_000), f"a file system of {victim.name} has become read-only")
    key = f"{stage.job.job.task}/epoch=0-step={stage.step}.ckpt"
    told(stage, at, 0, "ckpt", f"saving to s3://checkpoints/{key}")
    texts: list[str] = []

    def asks(turn: int, then: int) -> None:
        texts.append(aistroubles.not_writable(cluster, victim, then, "checkpoints", key, draw))

    begun = at + draw.span(400, 1_900)
    last = asks_with_pauses(begun, (0.4, 0.9, 1.1, 1.2), draw, asks)
    aistroubles.examined(cluster, victim, begun + draw.span(1_700, 1_900), texts[2], False, draw)
    part_refused(stage, last + 5 * MS, 0, key, texts[-1])
    leaves(stage, last + 9 * MS, 0)
    return stage.close(
        "The file system had counted its first error in spring.",
        (stage.guilty("storage_io", victim, also=("infrastructure",)),),
        until=last + seconds(30),
    )


@kind(reads=True, hangs=False, lead_s=62.0, without=DISKS)
def object_is_shorter_since_a_power_cut(stage: Stage) -> Scenario:
    """After a power cut a file is shorter than is known of it (XFS FAQ; requests issues, ChunkedEncodingError).

    To convict: the same object ends at the same byte each time it is asked for; at each of these moments one target,
    and no other, prints an empty warning of its reads and counts an error of input.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("shorter")
    stage.open()
    stage.mark(at - 6 * MS, f"an object on {victim.name} is shorter than is known of it")
    whole, got = draw.whole(900_000, 4_800_000), draw.whole(30, 190) * 4096
    path = f"/v1/objects/{stage.bucket}/{utterance(draw)}"
    short = f"IncompleteRead({got} bytes read, {whole - got} more expected)"

    def asks(turn: int, then: int) -> None:
        aispassages.shorter_than_known(cluster, victim, then - 5 * MS)
        if turn < 4:
            said = f"{victim.url(0)}{path} ends early: {short}, asking again"
            told(stage, then, rank, "samples", said, "WARNING")

    over = asks_with_pauses(at, (2.0, 4.0, 8.0), draw, asks)
    body_cut(stage, over, rank, got, whole - got)
    leaves(stage, over + 6 * MS, rank)
    return stage.close(
        "The write had been acknowledged before it was on the disk.",
        (stage.guilty("storage_io", victim, also=("data", *LOSSES)),),
        until=over + seconds(30),
    )


def _nearly_full(draw: Draw) -> aisdisk.Space:
    """A target of some terabytes whose fullest disk has reached the limit."""
    total, percent = draw.pick((6.82, 13.97, 27.94)), draw.whole(96, 98)
    used = total * percent / 100
    return aisdisk.Space(f"{used:.1f}TiB", f"{(total - used) * 1024:.1f}GiB", percent, f"{total:.2f}TiB")


@kind(culprit=0, hangs=False, lead_s=62.0, without=(*DISKS, "low_space", "tenant_out_of_space"))
def full_target_turns_a_checkpoint_away(stage: Stage) -> Scenario:
    """Old checkpoints have filled a target, the next one finds no room (aistore issues, OOS; nobody deletes).

    To convict: the PUT of the checkpoint is answered with 507 by one target, whose own line says the same, and which is
    out of space at every tick from then on.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("full")
    space = _nearly_full(draw)
    stage.open()
    path = f"/v1/objects/checkpoints/{stage.job.job.task}/global_step{stage.step}/mp_rank_00_model_states.pt"
    told(stage, at, 0, "ckpt", f"PUT ais:/{path[11:]}, {draw.whole(3, 60)} GiB")
    begun = stage.mark(at + draw.span(150, 900), f"{victim.name} is out of space")
    aisdisk.put_rejected(cluster, victim, begun, path, space)
    aisdisk.out_of_space(cluster, victim, begun, begun + seconds(40), space)
    stage.job.raise_on(begun + 5 * MS, 0, put_refused(stage, begun, victim, path, space.error))
    leaves(stage, begun + 9 * MS, 0)
    return stage.close(
        "Each checkpoint was to be kept until the paper was written.",
        (stage.guilty("storage_io", victim, also=("infrastructure",)),),
        until=begun + seconds(40),
    )
