"""Storage faults of the seventeenth part of single disks: cut off, unreadable, gone or slow, as readers tell."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.guests import (
    array_cut,
    dali_failed,
    httpx_late,
    leaves,
    minio_failed,
    smart_open_failed,
)
from benchmarks.accuracy.generate.faults.words.turns import in_vain, others_wait, over_at
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand, crawls
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisdisk as disks
from fixtures.generator import aislosses as losses
from fixtures.generator import aismishaps as mishaps
from fixtures.generator import aisobjects, aisstrain
from fixtures.generator import aispassages as passages
from fixtures.generator import aisquiet as quiet
from fixtures.generator import aistroubles as troubles
from fixtures.generator import aisyearly as yearly
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "seventeenth")
NO_KEY = "The specified key does not exist."


@kind(reads=True, hangs=False, lead_s=60.0, without=DISKS)
def array_ends_before_its_shape(stage: Stage) -> Scenario:
    """A disk fails as it sends an array, and older clients count no bytes (urllib3 2.0, release notes; docs/fshc)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("array")
    stage.open()
    first = stage.mark(at - draw.span(4_000, 21_000), f"a disk of {victim.name} gives errors")
    for other in readers(stage)[: draw.whole(1, 4)]:
        then, name = first + int((at - first) * draw.between(0.05, 0.95)), f"features/{draw.token(6)}.npy"
        passages.cut_off_by_disk(cluster, victim, then, name, 0)
        said = f"{name}: EOF: reading array data, the next one is taken"
        stage.job.note(then + draw.span(4, 30), other, said, "W", 41, "features")
    error = passages.cut_off_by_disk(cluster, victim, at - 11 * MS, f"features/{draw.token(6)}.npy", 0)
    troubles.examined(cluster, victim, at - 6 * MS, error, True, draw)
    wanted = draw.whole(90, 900) * 4_096
    array_cut(stage, at, rank, wanted, draw.whole(9, wanted // 4_096 - 9) * 4_096)
    leaves(stage, at, rank)
    return stage.close(
        "The health check reads a few files, and these are well: the disk stays in use.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=DISKS)
def uri_meets_a_lost_sector(stage: Stage) -> Scenario:
    """A sector of a disk cannot be read, smart_open tells what botocore was told (smart_open PR 325; docs/s3compat)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("uri"), utterance(stage.draw.child("uri name"))
    stage.open()
    spent = [after + draw.span(2, 30) for after in (0, 700 * MS, 2_100 * MS, 4_800 * MS, 11_900 * MS)]
    stage.mark(at, f"{victim.name} cannot read {name}")
    for after in spent:
        text = troubles.not_readable(cluster, victim, at + after, name, True)
    for other in readers(stage)[: draw.whole(0, 2)]:
        then, own = at + draw.span(900, 9_000), utterance(draw)
        troubles.not_readable(cluster, victim, then, own, True)
        stage.job.note(then + 5 * MS, other, f"s3://{stage.bucket}/{own}: InternalError, tried again", "W", 74)
    over = at + spent[-1] + 7 * MS
    troubles.examined(cluster, victim, at + draw.span(20, 60), text, True, draw)
    operation = "An error occurred (InternalError) when calling the GetObject operation (reached max retries: 4)"
    smart_open_failed(stage, over, rank, name, f"{operation}: {text}")
    leaves(stage, over, rank)
    return stage.close(
        "Nobody has read that object since it was written, eleven months ago.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )


@kind(reads=True, hangs=False, lead_s=70.0, without=DISKS)
def pipeline_of_dali_has_no_object(stage: Stage) -> Scenario:
    """A mountpath without copies is disabled, DALI finds an object no more (NVIDIA/DALI PR 5415; aistore docs/fshc)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("dali")
    stage.open()
    disabled = stage.mark(at - draw.span(2_000, 17_000), f"a mountpath of {victim.name} is disabled")
    disks.lose_mountpath(cluster, victim, disabled, victim.mountpaths[-1], victim.disks[-1], draw.between(19, 44))
    for other in readers(stage)[: draw.whole(1, 3)]:
        then, name = disabled + int((at - disabled) * draw.between(0.1, 0.9)), utterance(draw)
        aisobjects.not_there(cluster, victim, then, name)
        said = f"ais://{stage.bucket}/{name}: 404 Not Found ({victim.url(0)}), left out of the epoch"
        stage.job.note(then + 4 * MS, other, said, "W", 61)
    name = f"images/{draw.token(8)}.jpg"
    cluster.count(victim, at - 4 * MS, err_head_n=1)
    dali_failed(stage, at, rank, name)
    leaves(stage, at, rank)
    return stage.close(
        "The bucket has neither copies nor slices: what lay on the disk is not there until it is attached again.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )


@kind(reads=True, hangs=False, lead_s=70.0, without=DISKS)
def client_of_minio_has_no_key(stage: Stage) -> Scenario:
    """A drive is gone from its bus, its objects do not exist for MinIO's client (minio-py docs; docs/fshc)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("no key")
    stage.open()
    gone = stage.mark(at - draw.span(3_000, 26_000), f"a drive of {victim.name} is gone")
    aisstrain.drive_drops_out(cluster, victim, gone, at + seconds(40), 1 % len(victim.disks), draw)
    for other in readers(stage)[: draw.whole(0, 3)]:
        then, name = gone + int((at - gone) * draw.between(0.4, 0.95)), utterance(draw)
        mishaps.s3_get_failed(
            cluster, victim, then, name, f"{victim.name}: ais://{stage.bucket}/{name} does not exist", ""
        )
        said = f"NoSuchKey {stage.bucket}/{name}, taken for a hole in the list"
        stage.job.note(then + 4 * MS, other, said, "W", 63)
    name = utterance(draw)
    text = f"{victim.name}: ais://{stage.bucket}/{name} does not exist"
    mishaps.s3_get_failed(cluster, victim, at - 5 * MS, name, text, "")
    minio_failed(stage, at, rank, name, "NoSuchKey", text)
    leaves(stage, at, rank)
    return stage.close(
        "Firmware of that series stops after so many hours of power; the next one is due on Thursday.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )


@kind(reads=True, hangs=False, ais_order=410, slurm=True, lead_s=60.0, without=DISKS)
def steps_lengthen_without_a_word(stage: Stage) -> Scenario:
    """One disk answers late, batches wait for its entries, nobody prints that (aistore docs/monitoring-get-batch)."""
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("lengthen")
    stage.open()
    began = stage.mark(at - draw.span(1_000, 6_000), f"a disk of {victim.name} gets slow")
    over = crawls(stage, draw.whole(10, 16), 7.0, 19.0)
    quiet.sends_late(cluster, victim, began, over + seconds(15), draw)
    cancelled_by_hand(stage, over + draw.span(900, 7_000))
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure"))
    made = replace(made, culprit_ranks=None)
    return stage.close("Somebody sees the curve of steps an hour, and takes the job away.", (made,))


@kind(reads=True, hangs=False, min_timeout_s=60, lead_s=60.0, without=DISKS)
def httpx_gives_a_slow_disk_up(stage: Stage) -> Scenario:
    """A disk does a hundredth of what it did, a reader waits 30 s (httpx docs, timeouts; aistore docs/performance)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("httpx"), stage.at + seconds(30.01)
    stage.open()
    began = stage.mark(at - draw.span(12_000, 37_000), f"a disk of {victim.name} is slow")
    losses.disk_slows(cluster, victim, began, over + seconds(30), draw)
    for turn, other in enumerate(readers(stage)[: draw.whole(2, 5)]):
        then = at - seconds(9) + seconds(7.4 * turn) + draw.span(1, 4_000)
        url = f"{victim.url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}"
        stage.job.note(then, other, f"GET {url} took {draw.between(11, 28):.1f} s", "W", 71, "reader")
    httpx_late(stage, over, rank)
    leaves(stage, over, rank)
    return stage.close(
        "Remapped sectors of that disk have doubled each week; no error has come to AIStore yet.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network")),),
    )


@kind(reads=True, min_timeout_s=60, lead_s=60.0, without=DISKS)
def short_clips_make_disks_seek(stage: Stage) -> Scenario:
    """Millions of clips of some kilobytes lie on disks that turn, a rank waits too long (aistore docs/performance)."""
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw = stage.draw.child("clips")
    stage.open()
    began = stage.mark(at - draw.span(15_000, 40_000), f"disks of {victim.name} seek")
    aisstrain.seeks(cluster, victim, began, over + seconds(20), draw)
    others_wait(stage, [victim], draw)
    in_vain(stage, victim, over, 0.0)
    stage.hang(at + 340 * MS, stage.culprit)
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "network"))
    return stage.close("Its cache of names and places was dropped when its host was started anew.", (made,))


@kind(reads=True, min_timeout_s=60, lead_s=60.0, without=DISKS)
def shards_resume_on_a_hot_host(stage: Stage) -> Scenario:
    """A host is too hot, its disks slow down, a reader resumes in vain (NVMe: thermal; aistore docs/performance)."""
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw = stage.draw.child("hot")
    stage.open()
    began = stage.mark(at - draw.span(18_000, 44_000), f"disks of {victim.name} slow themselves down")
    yearly.slowed_by_heat(cluster, victim, began, over + seconds(20), draw)
    others_wait(stage, [victim], draw)
    in_vain(stage, victim, over, 1.0)
    stage.hang(at + 340 * MS, stage.culprit)
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure"))
    return stage.close("A door of its rack was left open, and the cold air goes elsewhere.", (made,))
