"""Storage faults of the fifteenth part that take several targets, or the way of one of them to the cloud."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words.callers import (
    fallback_failed,
    missing_text,
    msc_missing,
    stream_truncated,
)
from benchmarks.accuracy.generate.faults.words.outlets import shards_not_saved
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, object_path, retries
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, in_vain, of_all, others_wait, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisdaily as daily
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisobjects, sdk
from fixtures.generator.aisdisk import Space
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "fifteenth")
STILL = (*RESTARTS, "kalive_hiccup")


@kind(reads=True, targets=5, min_timeout_s=90, lead_s=60.0, without=STILL)
def rack_loses_its_power(stage: Stage) -> Scenario:
    """Targets of one rack are gone at once: connects time out, then objects are missing (aistore docs/ha)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, begin = stage.draw.child("power"), stage.cluster.targets.index(stage.victim)
    rack = [cluster.targets[(begin + turn) % len(cluster.targets)] for turn in range(draw.whole(2, 3))]
    rest = [node for node in cluster.targets if node not in rack]
    stage.open()
    died = stage.mark(at - draw.span(40, 700), "a rack of storage loses its power")
    left = died
    for turn, node in enumerate(rack):
        aisobjects.lose_host(cluster, node, died + turn * MS, died + seconds(46), rest[turn : turn + 2])
        left = faults.leave_smap(cluster, node, died + turn * 3 * SEC, hung=True)
    for turn, other in enumerate((rank, *readers(stage)[: draw.whole(1, 4)])):
        node = victim if not turn else draw.pick(rack)
        cause, name = sdk.connect_timeout(node.address, draw.whole(*HANDLES) // 16 * 16), utterance(draw)
        text = sdk.pool_error(node.address, node.ports[0], object_path(stage, other, name), cause)
        asked = at + turn * draw.span(300, 1_900)
        then = retries(stage, asked, other, draw, 3.01, text, left, "ConnectTimeout")
        if not turn:
            owner, over = rest[-1], max(then - 3 * SEC, left + draw.span(300, 2_900))
            missing = aisobjects.not_there(cluster, owner, over, name)
            msc_missing(stage, over + 4 * MS, rank, owner, name, missing)
    stage.hang(at + 340 * MS, rank)
    made = stage.guilty("storage_io", *rack, also=("data_loading_stall", "network", "infrastructure", "data"))
    return stage.close("Both feeds of the rack come from the same panel, and an electrician works on it.", (made,))


@kind(hangs=False, lead_s=60.0, without=("tenant_out_of_space", "low_space"))
def whole_cluster_is_full(stage: Stage) -> Scenario:
    """All targets are above their limit, no shard of a checkpoint can be written (aistore docs/storage_svcs, OOS)."""
    cluster, at, job = stage.cluster, stage.at, stage.job
    draw = stage.draw.child("full")
    stage.open()
    where = f"checkpoints/{job.job.task}/step-{stage.step}"
    job.note(at - 60 * MS, 0, f"saving s3://{where}: a shard of each of {job.job.world} ranks", line=116)
    full, spaces = stage.mark(at + draw.span(40, 900), "all targets are out of space"), {}
    for node in cluster.targets:
        percent = draw.whole(95, 96)
        used = 7450.58 * percent / 100
        space = Space(f"{used:.1f}GiB", f"{7450.58 - used:.1f}GiB", percent, "7450.58GiB")
        disk.out_of_space(cluster, node, full + draw.span(1, 900), at + seconds(60), space)
        spaces[node.node_id] = space
    failed, last = {}, full
    for rank in draw.shuffled(range(job.job.world))[:32]:
        node, then = draw.pick(cluster.targets), full + draw.span(905, 2_900)
        for again in (0.0, 0.4, 1.1, 2.4, 5.3):
            last = max(last, then + seconds(again))
            path = f"/s3/{where}/__{rank}_0.distcp"
            disk.put_rejected(cluster, node, then + seconds(again), path, spaces[node.node_id])
        failed[rank] = spaces[node.node_id].error
    ended = shards_not_saved(stage, last + 20 * MS, dict(sorted(failed.items())))
    made = of_all(stage.guilty("storage_io", stage.victim, also=("software",)))
    return stage.close(
        "Nobody had time to delete anything since spring, and alerts go to a channel that is muted.",
        (replace(made, culprit_ranks=None),),
        until=ended,
    )


@kind(reads=True, hangs=False, targets=5, lead_s=90.0, without=STILL)
def starved_primary_removes_the_living(stage: Stage) -> Scenario:
    """A primary gets too little of its host to hear answers, and removes targets that live (aistore issue 316)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, primary = stage.draw.child("starved"), stage.cluster.primary(stage.at)
    second = stage.other_target(victim, draw.whole(0, 99))
    stage.open()
    began = stage.mark(at - draw.span(52_500, 55_000), f"{primary.name}, the primary, gets too little processor time")
    daily.held_to_a_share(cluster, primary, began, at + seconds(30), draw)
    gone = faults.leave_smap(cluster, victim, began + 3 * SEC, hung=True)
    last = faults.leave_smap(cluster, second, began + 9 * SEC, hung=True)
    held = [node for node in cluster.targets if node not in (victim, second)]
    for turn, other in enumerate(readers(stage)[: draw.whole(1, 4)]):
        then, name, owner = gone + seconds(1.5 + 2.1 * turn), utterance(draw), draw.pick(held)
        aisobjects.not_there(cluster, owner, then, name)
        said = f"{name} left out: {missing_text(stage, then, other, owner, name, _missing(stage, owner.name, name))}"
        stage.job.note(then + 4 * MS, other, said, "W", 86)
    name, owner, then = utterance(draw), draw.pick(held), max(at, last + 200 * MS)
    stream_truncated(stage, then - 30 * MS, rank, draw.whole(2, 40), 48)
    text = aisobjects.not_there(cluster, owner, then, name)
    fallback_failed(stage, then + 4 * MS, rank, name, missing_text(stage, then, rank, owner, name, text))
    exits(stage, then + 5 * MS, rank)
    faults.resume(cluster, victim, max(then + SEC, gone + draw.span(15_000, 18_000)))
    faults.resume(cluster, second, max(then + 4 * SEC, last + draw.span(18_000, 21_000)))
    made = of_all(stage.guilty("storage_io", primary, also=("data_loading_stall", "data", "infrastructure")))
    return stage.close("An indexer of logs has come to the host of the primary, and has no limits of its own.", (made,))


def _missing(stage: Stage, node: str, name: str) -> str:
    return f"{node}: ais://{stage.bucket}/{name} does not exist"


@kind(reads=True, lead_s=60.0)
def one_target_far_from_the_cloud(stage: Stage) -> Scenario:
    """One host goes to the cloud by a slow way: its cold reads take half a minute, no word (aistore issue 349)."""
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw = stage.draw.child("far")
    stage.open()
    began = stage.mark(at - draw.span(33_000, 58_000), f"the way of {victim.name} to the cloud is slow")
    others = draw.child("others")
    aisobjects.cold_gets(cluster, began, over + seconds(20), 0.8, 90, 700, others, victim.node_id)
    then = began + draw.span(100, 2_000)
    while then < over:
        spent, size = draw.span(17_000, 44_000), draw.whole(9_000, 24_000)
        done = then + spent
        cluster.count(victim, done, aws_get_n=1, aws_get_ns_total=spent, aws_get_size=size)
        cluster.count(victim, done, get_n=1, get_ns_total=spent + draw.span(1, 9), get_size=size)
        then += draw.span(900, 5_000)
    others_wait(stage, [victim], draw)
    in_vain(stage, victim, over)
    stage.hang(at + 340 * MS, stage.culprit)
    return stage.close(
        "Its default route leads through the firewall of the offices since a change of last night.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network")),),
    )
