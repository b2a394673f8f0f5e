"""Storage faults of the sixteenth part that other work on a cluster brings: backups, fewer targets, slow starts."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words.clients import TRIES_S
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, in_vain, of_all, others_wait, over_at
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisdaily as daily
from fixtures.generator import aisevents as ev
from fixtures.generator import aislosses as losses
from fixtures.generator import aisoncall, chains
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "sixteenth")


@kind(reads=True, hangs=False, min_timeout_s=120, ais_order=410, lead_s=60.0, without=DISKS)
def disks_admit_no_batch(stage: Stage) -> Scenario:
    """A backup leaves disks no time, and batches are not admitted: 429 (aistore docs/get_batch, throttling)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, told = stage.draw.child("admit"), ev.advice("critical", "100ms", "low", "low", "critical")
    stage.open()
    began = stage.mark(at - draw.span(14_000, 39_000), "somebody copies all there is to elsewhere")
    daily.backed_up(cluster, began, at + seconds(130), draw)
    release, xact = stage.params.ais_release, cluster.xact
    for node in cluster.targets:
        then = began + draw.span(4_000, 9_000)
        while xact is not None and then < at + seconds(100):
            cluster.say(node, then, ev.throttled(xact, draw.whole(9, 60), told, "100ms", release.order))
            cluster.count(node, then, getbatch_throttle_ns=draw.whole(9, 60) * 100 * MS)
            then += draw.span(9_000, 31_000)
    for other in readers(stage)[:6]:
        asked, turns = at - draw.span(1_000, 6_000), draw.whole(1, 3)
        for turn in range(turns):
            node = draw.pick(cluster.targets)
            chains.reject(stage, asked + seconds(TRIES_S[turn]), node, other, told, draw.whole(20, 70))
        served = asked + seconds(TRIES_S[turns]) + draw.span(900, 4_900)
        said = f"get-batch of 48 entries took {(served - asked) / SEC:.1f} s ({stage.proxy_of(other).url(0)})"
        stage.job.note(served, other, said, "W", 80)
    for after in TRIES_S:
        node, then = draw.pick(cluster.targets), at + seconds(after) + draw.span(2, 20)
        chains.reject(stage, then, node, rank, told, draw.whole(20, 70))
    over = at + seconds(TRIES_S[-1]) + draw.span(24, 60)
    stage.job.raise_on(over, rank, chains.too_many_requests(stage, rank).traceback)
    exits(stage, over, rank)
    made = of_all(stage.guilty("storage_io", stage.victim, also=("data_loading_stall", "infrastructure")))
    return stage.close("It is to be done before the contract of the old cluster ends.", (made,))


@kind(reads=True, targets=4, min_timeout_s=90, lead_s=60.0, without=(*RESTARTS, *DISKS))
def cluster_is_scaled_down(stage: Stage) -> Scenario:
    """A target is decommissioned at noon: what it has moves away, reads wait (ais-k8s docs; docs/lifecycle_node)."""
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw = stage.draw.child("scaled down")
    stage.open()
    began = stage.mark(at - draw.span(15_000, 44_000), f"{victim.name} is decommissioned")
    aisoncall.scaled_down(cluster, victim, began, over + seconds(25), draw)
    cluster.start_batches(began + seconds(3.6), stage.other_target(victim))
    others_wait(stage, list(cluster.targets), draw)
    in_vain(stage, stage.other_target(victim, draw.whole(0, 99)), over)
    stage.hang(at + 340 * MS, stage.culprit)
    made = of_all(stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure", "network")))
    return stage.close("Its lease ends on Friday, and nobody told those who train.", (made,))


@kind(trains=False, hangs=False, reads=True, uptime=True, without=(*RESTARTS, *DISKS))
def weights_come_at_a_trickle(stage: Stage) -> Scenario:
    """All hosts load weights of one slow disk, and no first step is taken (transformers docs; docs/performance)."""
    cluster, victim, job = stage.cluster, stage.victim, stage.job
    draw, own = stage.draw.child("trickle"), stage.job.job
    job.start()
    at, size = job.begin + draw.span(700, 1_900), draw.whole(9, 30)
    over = at + seconds(draw.between(240, 420))
    began = stage.mark(at - draw.span(1_000, 5_000), f"a disk of {victim.name} is slow")
    losses.disk_slows(cluster, victim, began, over + seconds(30), draw)
    url = f"{victim.url(0)}/v1/objects/{stage.bucket}/models/base.safetensors"
    for node in range(len(own.hosts)):
        rank, then, done = node * own.ranks_per_node, at + draw.span(26_000, 33_000), 0.0
        job.note(at + draw.span(1, 90), rank, f"loading {url} ({size}.0 GiB)", line=58)
        while then < over:
            done = min(size - 1.0, done + draw.between(0.02, 0.2))
            said = f"{done:.2f} of {size}.0 GiB of {url} after {(then - at) / SEC:.0f} s"
            reader_note(stage, then, rank, said)
            then += draw.span(29_000, 31_000)
    cancelled_by_hand(stage, over)
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure", "network"))
    return stage.close(
        "Other objects of the target come at once, and no counter of an error moves.",
        (replace(made, culprit_ranks=None),),
    )
