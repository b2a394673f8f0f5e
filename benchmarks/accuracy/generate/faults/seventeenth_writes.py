"""Storage faults of the seventeenth part of checkpoints: they are not written, or not found again."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.patrons import checkpoint_gone
from benchmarks.accuracy.generate.faults.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS
from fixtures.generator import aislosses as losses
from fixtures.generator import aismishaps as mishaps
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
