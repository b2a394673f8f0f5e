"""Storage faults of the seventeenth part of checkpoints: they are not written, or not found again."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.outlets import ALL_SPEAK
from benchmarks.accuracy.generate.faults.words.patrons import checkpoint_gone, each_raises
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS
from fixtures.generator import aislosses as losses
from fixtures.generator import aismishaps as mishaps
from fixtures.generator import aisquiet as quiet
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "seventeenth")


@kind(culprit=0, lead_s=60.0, min_timeout_s=60, without=DISKS)
def checkpoint_creeps_onto_a_disk(stage: Stage) -> Scenario:
    """Rank 0 sends a checkpoint to a disk that takes drops, others wait (pytorch docs, watchdog; docs/performance)."""
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw, size = stage.draw.child("creeps"), stage.draw.child("size").whole(6, 40)
    stage.open()
    began = stage.mark(at - draw.span(9_000, 34_000), f"a disk of {victim.name} hardly writes any more")
    mishaps.writes_crawl(cluster, victim, began, over + seconds(25), draw)
    where = f"{victim.url(0)}/v1/objects/checkpoints/{stage.job.job.task}/step={stage.step}.pt"
    stage.job.note(at - 60 * MS, 0, f"saving checkpoint to {where} ({size}.0 GiB)", line=116)
    then, sent = at + draw.span(7_000, 10_500), 0.0
    while then < over - SEC:
        sent += draw.between(0.01, 0.06)
        said = f"{sent:.2f} of {size}.0 GiB of {where} sent after {(then - at) / SEC:.0f} s"
        stage.job.note(then, 0, said, line=118)
        then += draw.span(9_900, 10_200)
    stage.hang(at + 300 * MS, 0)
    return stage.close(
        "It has written forty times what its maker allows for, and does not say so in an error.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network")),),
    )


@kind(reads=True, trains=False, hangs=False, uptime=True, without=(*RESTARTS, *DISKS))
def checkpoint_lost_to_a_power_cut(stage: Stage) -> Scenario:
    """After a loss of power a file has no attributes, and no job can go on from it (XFS FAQ; aistore docs)."""
    cluster, victim, job = stage.cluster, stage.victim, stage.job
    draw, own = stage.draw.child("power cut"), stage.job.job
    job.start()
    at = job.begin + draw.span(900, 2_600)
    name = f"{own.task}/step={draw.whole(9, 90) * 500}.pt"
    stage.mark(at, f"{victim.name} has a checkpoint without attributes")
    job.note(at - 90 * MS, 0, f"going on from ais://{stage.bucket}/{name}, saved {draw.whole(2, 9)} h ago", line=104)
    text, disk = "", draw.whole(0, len(victim.mountpaths) - 1)
    for turn in range(len(own.hosts)):
        text = losses.attributes_empty(cluster, victim, at + turn * 90 * MS - 2 * MS, name, disk)
    ended = checkpoint_gone(stage, at, victim, f"/v1/objects/{stage.bucket}/{name}", text)
    made = stage.guilty("storage_io", victim, also=("data", "infrastructure"))
    return stage.close(
        "A fuse blew in the evening, and what was not on the disks by then was gone: the job had been told otherwise.",
        (replace(made, culprit_ranks=tuple(range(0, own.world, own.ranks_per_node))),),
        until=ended,
    )


@kind(reads=True, trains=False, hangs=False, uptime=True, without=(*RESTARTS, *DISKS))
def weights_were_on_a_disk_of_last_night(stage: Stage) -> Scenario:
    """A disk was disabled in the night, and a run begins with weights of it (smart_open docs; aistore docs/fshc)."""
    cluster, victim, job = stage.cluster, stage.victim, stage.job
    draw, own, site = stage.draw.child("last night"), stage.job.job, stage.job.job.build["site"]
    job.start()
    at = job.begin + draw.span(1_900, 5_600)
    began = quiet.lost_a_disk_before(cluster, victim, at + seconds(30), draw)
    stage.mark(began, f"a mountpath of {victim.name} is gone since the night")
    name = f"models/{own.task}/base.safetensors"
    job.note(at - 400 * MS, 0, f"initial weights: s3://{stage.bucket}/{name}", line=58)
    text = f"{victim.name}: ais://{stage.bucket}/{name} does not exist"
    for turn in range(own.world if own.world <= ALL_SPEAK else len(own.hosts)):
        mishaps.s3_get_failed(cluster, victim, at + turn * 3 * MS - 4 * MS, name, text, "")
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 168, "main", "model = build_model(args)", True),
        sdk.Frame(own.script, 59, "build_model", 'weights = smart_open.open(uri, "rb").read()', True),
        sdk.Frame(f"{site}/smart_open/s3.py", 363, "_get", "raise wrapped_error from error"),
    )
    told = f"An error occurred (NoSuchKey) when calling the GetObject operation: {text}"
    where = f"unable to access bucket: {stage.bucket!r} key: {name!r} version: None error: {told}"
    ended = each_raises(stage, at, f"OSError: {where}", frames)
    made = stage.guilty("storage_io", victim, also=("data", "infrastructure"))
    return stage.close(
        "The alert was sent to somebody on holiday, and yesterday's runs had read their weights before.",
        (replace(made, culprit_ranks=None),),
        until=max(ended, at + seconds(75)),
    )
