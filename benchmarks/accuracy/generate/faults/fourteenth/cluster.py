"""Storage faults of the fourteenth part that a cluster has as a whole: full uplinks, other work, its start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words.callers import loader_timed_out
from benchmarks.accuracy.generate.faults.words.clients import TRIES_S
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand, crawls, listing_given_up
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisdaily as daily
from fixtures.generator import aisfaults as faults
from fixtures.generator import aismishaps as mishaps
from fixtures.generator import aisupkeep as upkeep
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "fourteenth")


def _slow_reads(stage: Stage, nodes: Sequence[Node], begin: int, until: int, low_s: float, high_s: float) -> None:
    """Ranks note reads of these targets that took long, one after the other."""
    draw = stage.draw.child("slow reads")
    who, then = [stage.culprit, *readers(stage)[:5]], begin
    while then < until:
        url = f"{draw.pick(nodes).url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}"
        stage.job.note(then, draw.pick(who), f"slow read: {draw.between(low_s, high_s):.1f} s for {url}", "W", 80)
        then += draw.span(8_000, 26_000)


@kind(reads=True, hangs=False, slurm=True, targets=4, lead_s=60.0, without=("kalive_hiccup",))
def uplink_of_a_rack_full(stage: Stage) -> Scenario:
    """Targets of one rack share an uplink that is full; a job crawls (aistore docs/performance, network)."""
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, many = stage.draw.child("rack"), max(2, len(stage.cluster.targets) // 3)
    begin = cluster.targets.index(victim)
    rack = [cluster.targets[(begin + turn) % len(cluster.targets)] for turn in range(many)]
    stage.open()
    began = stage.mark(at - draw.span(8_000, 21_000), "the uplink of a rack of storage is full")
    over = crawls(stage, draw.whole(10, 15), 7.0, 17.0)
    daily.uplink_full(cluster, rack, began, over + seconds(30), draw)
    _slow_reads(stage, rack, at + seconds(8), over, 6.2, 16.8)
    cancelled_by_hand(stage, over + draw.span(2_000, 19_000))
    made = stage.guilty("data_loading_stall", *rack, also=("storage_io", "network", "infrastructure"))
    return stage.close(
        "One of four cables of the rack's switch is out; the three that are left carry what they can.",
        (replace(made, culprit_ranks=None),),
    )


@kind(reads=True, hangs=False, min_timeout_s=90, lead_s=60.0, without=(*RESTARTS, "disk_busy"))
def rebalance_outlasts_loader(stage: Stage) -> Scenario:
    """A rebalance takes all disks, and a loader has waited long enough (aistore docs/rebalance, performance)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, limit = stage.draw.child("outlasts"), min(stage.params.timeout_s - 20, 120) // 10 * 10
    stage.open()
    began = stage.mark(at - draw.span(12_000, 27_000), "somebody starts a rebalance of hours")
    upkeep.rebalance_at_length(cluster, began, at + seconds(limit + 50), draw)
    cluster.start_batches(began + seconds(3.6), stage.victim)
    over = at + seconds(limit) + draw.span(3, 40)
    for node in cluster.targets:
        then = began + draw.span(6_000, 15_000)
        while then < over:
            reads = draw.whole(2, 8)
            spent = reads * draw.span(4_000, 14_000)
            cluster.count(node, then, get_n=reads, get_ns_total=spent, get_size=reads * draw.whole(8, 30) << 10)
            then += draw.span(9_000, 11_000)
    _slow_reads(stage, cluster.targets, at - seconds(4), over - SEC, 6.0, 19.5)
    loader_timed_out(stage, over, rank, limit)
    exits(stage, over, rank)
    made = of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "infrastructure")))
    return stage.close("Two targets were away in the night, and what was written then is to be put right.", (made,))


@kind(reads=True, hangs=False, slurm=True, lead_s=60.0)
def transforms_fall_behind(stage: Stage) -> Scenario:
    """Each read waits for a transformer that has too much to do; a job crawls (aistore docs/etl, metrics)."""
    cluster, at = stage.cluster, stage.at
    draw, etl = stage.draw.child("behind"), stage.draw.child("etl").pick(("etl-resample", "etl-augment", "etl-opus"))
    stage.open()
    stage.job.note(stage.job.begin + 60 * MS, 0, f"samples are read through {etl}", line=142)
    daily.transforms_slowly(cluster, stage.job.begin + seconds(3), at - seconds(9), (90, 420), draw.child("before"))
    began = stage.mark(at - draw.span(2_000, 8_000), f"the pods of {etl} have too much to do")
    over = crawls(stage, draw.whole(10, 16), 8.0, 22.0)
    daily.transforms_slowly(cluster, began, over + seconds(20), (7_000, 21_000), draw.child("after"))
    then, who = at + seconds(9), [stage.culprit, *readers(stage)[:5]]
    while then < over:
        url = f"{draw.pick(cluster.targets).url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}?etl_name={etl}"
        stage.job.note(then, draw.pick(who), f"slow read: {draw.between(7, 21):.1f} s for {url}", "W", 80)
        then += draw.span(8_000, 24_000)
    cancelled_by_hand(stage, over + draw.span(2_000, 19_000))
    made = of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "infrastructure", "software")))
    return stage.close(
        "A second job began to read through the same pods, and nobody has asked for more of them.",
        (replace(made, culprit_ranks=None),),
    )


@kind(reads=True, lead_s=60.0, without=("disk_busy",))
def backup_reads_everything(stage: Stage) -> Scenario:
    """A nightly copy to elsewhere reads all there is; a rank's samples come late (rclone docs; docs/performance)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, over = stage.draw.child("backup"), over_at(stage)
    stage.open()
    began = stage.mark(at - draw.span(14_000, 45_000), "a copy of everything to another site begins")
    daily.backed_up(cluster, began, min(over + seconds(40), at + seconds(400)), draw)
    _slow_reads(stage, cluster.targets, at - seconds(9), min(over - SEC, at + seconds(120)), 6.0, 18.0)
    then, late = at + seconds(30), 30
    while then < over - SEC:
        done = min(47, draw.whole(2, 5) + late // 9)
        stage.job.note(then, rank, f"batch of 48 samples: {done} read after {late} s", "W", 81)
        then, late = then + seconds(30), late + 30
    stage.hang(at + 340 * MS, rank)
    made = of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "network", "infrastructure")))
    return stage.close("The copy has no limit of its own, and was to be done before anybody comes to work.", (made,))


@kind(reads=True, trains=False, hangs=False, culprit=0, uptime=True, without=(*RESTARTS, "kalive_hiccup"))
def first_job_after_maintenance(stage: Stage) -> Scenario:
    """All pods were replaced, a job begins before the cluster is up: 503 to its list (ais-k8s docs, upgrades)."""
    cluster, job = stage.cluster, stage.job
    draw, proxy = stage.draw.child("first"), stage.proxy_of(0)
    opened = max(cluster.last_process(node).opened_at for node in cluster.nodes)
    began = stage.mark(max(opened + 20 * SEC, job.begin - draw.span(31_000, 44_000)), "all pods are replaced")
    up = max(began + seconds(14), job.begin - draw.span(9_000, 14_000))
    ready = job.begin + draw.span(131_000, 160_000)
    mishaps.restart_all(cluster, began, up, stage.mark(ready, "the cluster has started"), draw)
    job.start()
    then = job.begin + draw.span(900, 1_900)
    job.note(then - 30 * MS, 0, f"listing ais://{stage.bucket}", line=141)
    for after in TRIES_S:
        mishaps.not_ready(cluster, proxy, then + seconds(after) + draw.span(2, 20), f"GET /v1/buckets/{stage.bucket}")
    ended = listing_given_up(stage, then + seconds(TRIES_S[-1]) + draw.span(30, 70), proxy)
    made = of_all(stage.guilty("storage_io", stage.victim, also=("infrastructure", "network", "data_loading_stall")))
    return stage.close(
        "The window of the maintenance ended at noon, and the queue was let go at noon.", (made,), until=ended
    )


def _saves_twice(stage: Stage, draw: Draw) -> tuple[int, int]:
    """Rank 0 has sent a checkpoint in the background and is to send the next: when it began, and its step."""
    sent = stage.at - draw.span(31_000, 58_000)
    before = stage.step - int((stage.at - sent) / seconds(stage.params.step_s))
    name = f"{stage.job.job.task}/step={before}.pt"
    said = f"checkpoint of step {before} is written in the background: ais://checkpoints/{name}"
    stage.job.note(sent, 0, said, line=123)
    return sent, before


@kind(culprit=0, lead_s=90.0, without=(*RESTARTS, "kalive_hiccup"))
def background_upload_never_ends(stage: Stage) -> Scenario:
    """The next checkpoint waits for the one before, whose target hangs (orbax#392; marin#9209)."""
    cluster, victim, at, job = stage.cluster, stage.victim, stage.at, stage.job
    draw = stage.draw.child("never ends")
    stage.open()
    sent, before = _saves_twice(stage, draw)
    since = stage.mark(sent + draw.span(300, 2_900), f"{victim.name} stands still, its connections stay open")
    faults.stop(cluster, victim, since, since + seconds(4_000))
    faults.leave_smap(cluster, victim, since, hung=True)
    gone, whole = draw.between(0.1, 0.9), draw.between(31, 74)
    said = f"step={before}.pt: {gone:.1f} of {whole:.1f} GiB sent to {victim.url(0)} after 30 s"
    job.note(sent + 30 * SEC, 0, said, "W", 126)
    job.note(at - 5 * MS, 0, f"waiting for the checkpoint of step {before} before that of {stage.step}", line=115)
    stage.hang(at + 340 * MS, 0)
    return stage.close(
        "Once a target takes the bytes of a write, its client waits for the answer without an end.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "rank_hang")),),
    )
