"""Storage faults of the tenth part that say little: reads put together from slices, a slow disk, a tenant's burst."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.turns import in_vain, of_all, others_wait, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import kalive_hiccup, tenant_errors
from fixtures.generator import aisfaults as faults
from fixtures.generator import aislosses as losses
from fixtures.generator import aisturns as turns
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "tenth")


@kind(reads=True, targets=5, lead_s=120.0, without=("restart_before", "kill_after", "rotation", "kalive_hiccup"))
def read_from_slices(stage: Stage) -> Scenario:
    """A target is lost, and what it held is erasure-coded: each read puts it together anew, which takes too long."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("slices"), over_at(stage)
    stage.open()
    killed = stage.mark(at - draw.span(48_000, 62_000), f"kill -9 {victim.name}")
    faults.kill(cluster, victim, killed)
    faults.reconnects(cluster, victim, killed, killed + seconds(24))
    left = faults.leave_smap(cluster, victim, killed)
    losses.restores(cluster, left + SEC, over + seconds(30), 6_000, 31_000, draw)
    others = [node for node in cluster.targets if node is not victim]
    others_wait(stage, others, draw)
    in_vain(stage, stage.other_target(victim, draw.whole(0, 99)), over)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Nothing is lost, and so nobody is called; slices come from all hosts for every object.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io",)),),
    )


@kind(reads=True, without=("disk_busy", "mountpath_before"))
def disk_fails_slowly(stage: Stage) -> Scenario:
    """One disk of a target repeats its reads inside and reports no error: what lies on it takes half a minute."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("slowly"), over_at(stage)
    for noise in (kalive_hiccup, tenant_errors):
        if draw.chance(0.5):
            beside(stage, noise)
    stage.open()
    began = stage.mark(at - draw.span(12_000, 44_000), f"a disk of {victim.name} becomes slow")
    losses.disk_slows(cluster, victim, began, over + seconds(30), draw)
    others_wait(stage, [victim], draw)
    in_vain(stage, victim, over)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "The disk is in its last month and has not told anybody.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io",)),),
    )


@kind(reads=True, without=("disk_busy",))
def burst_of_another(stage: Stage) -> Scenario:
    """Another team writes its checkpoint of terabytes to the same cluster: whoever reads waits behind that."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("burst"), over_at(stage)
    stage.open()
    began = stage.mark(at - draw.span(6_000, 21_000), "another tenant writes terabytes to all targets")
    turns.written_by_another(cluster, began, over + draw.span(4_000, 30_000), draw)
    others_wait(stage, list(cluster.targets), draw)
    in_vain(stage, victim, over)
    stage.hang(at + 340 * MS, rank)
    made = of_all(stage.guilty("data_loading_stall", victim, also=("storage_io",)))
    return stage.close("Two teams share a cluster and a calendar that says nothing of checkpoints.", (made,))
