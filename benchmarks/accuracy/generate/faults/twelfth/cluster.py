"""Storage faults of the twelfth part: targets that join again and again or give a wrong address, a list that fails."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.clients import TRIES_S
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, one_object
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.faults.words.visitors import batch_conflict, listing_given_up
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aischurn as churn
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisfaults as faults
from fixtures.generator import aispassages as passages
from fixtures.generator import aisupkeep as upkeep
from fixtures.generator import sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("storage", "twelfth")


def _killed_and_back(stage: Stage, joined: int, running: tuple[int, int], draw: Draw) -> tuple[int, int]:
    """The victim is out of memory, is killed, joins at about that moment, and a rebalance begins: when, its number."""
    cluster, victim = stage.cluster, stage.victim
    died = joined - draw.span(3_600, 4_900)
    disk.memory_pressure(cluster, victim, died - draw.span(11_000, 19_000), died, "high", draw.child("memory"))
    faults.kill(cluster, victim, stage.mark(died, f"{victim.name} is killed at its memory limit"))
    if running[1]:
        why = f"stream-broken: reb[{stage.other_target(victim).node_id}=>{victim.node_id}] terminated"
        churn.rebalance_aborted(cluster, running[0], died + draw.span(20, 90), running[1], why, draw.child("aborted"))
    came = churn.returns(cluster, victim, joined - 1_020 * MS, draw.child("returns"))
    number = churn.rebalance_begins(cluster, came, draw.child("begins"), "self-join-target", victim.node_id)
    return came, number


@kind(reads=True, lead_s=120.0, without=(*RESTARTS, "kalive_hiccup"))
def joins_abort_batches(stage: Stage) -> Scenario:
    """A target killed for its memory joins anew, and each rebalance ends all batches (aistore docs/rebalance)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("joins")
    stage.open()
    running = (0, 0)
    for turn, before in enumerate((86, 43)):
        joined = at - seconds(before) - draw.span(1, 4_000)
        running = _killed_and_back(stage, joined, running, draw.child("turn", turn))
        cluster.start_batches(running[0] + seconds(6.1), stage.other_target(victim))
    xid = cluster.xact.xid if cluster.xact is not None else ""
    came, _ = _killed_and_back(stage, at - 2 * SEC - draw.span(90, 160), running, draw.child("last"))
    then = max(at, came + seconds(2.05))
    for other, after in zip((*readers(stage)[:2], rank), (-9, 21, 0), strict=False):
        node, wid = stage.other_target(victim, draw.whole(0, 99)), cluster.wid(stage.proxy_of(other), draw)
        asked = then + after * MS
        text = passages.not_active(cluster, node, asked, xid, wid, stage.proxy_of(other))
        line, told = batch_conflict(stage, asked, other, node, wid, text)
        if other == rank:
            stage.job.raise_on(asked + 4 * MS, rank, told)
        else:
            stage.job.note(asked + 4 * MS, other, f"get-batch failed ({line}), retrying 1/5", "W", 96)
    cluster.start_batches(then + seconds(4.2), stage.other_target(victim))
    stage.hang(then + 340 * MS, rank)
    return stage.close(
        "A limit of memory is too low for what a target holds while it rebalances; each rebalance begins anew.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall",)),),
    )


@kind(trains=False, hangs=False, uptime=True, without=RESTARTS)
def announces_loopback(stage: Stage) -> Scenario:
    """A target gives clients the address of themselves: refused (NVIDIA/aistore issue 218)."""
    cluster, victim, job = stage.cluster, stage.victim, stage.job
    draw, own = stage.draw.child("loopback"), stage.job.job
    opened = max(cluster.last_process(node).opened_at for node in cluster.nodes)
    down = max(opened + 20 * SEC, job.begin - draw.span(130_000, 260_000))
    faults.terminate(cluster, victim, down)
    up = stage.mark(down + draw.span(9_000, 21_000), f"{victim.name} is set up anew and announces 127.0.0.1")
    faults.start_again(cluster, victim, up)
    upkeep.announce(cluster, victim, "127.0.0.1")
    job.start()
    at, over, firsts = job.begin + draw.span(300, 1_200), job.begin, []
    for node in range(len(own.hosts)):
        for turn, rank in enumerate(draw.shuffled(own.ranks_of(node))[:2]):
            path = f"/v1/objects/{stage.bucket}/{utterance(draw)}?provider=ais&pid={stage.proxy_of(rank).node_id}"
            then = at + draw.span(1, 700)
            for wait in (1.0, 1.7, 3.1, 5.9, 11.3, 19.0):
                text = sdk.pool_error("127.0.0.1", victim.ports[0], path, sdk.refused(draw.whole(*HANDLES)))
                pause = round(wait * draw.between(0.8, 1.0) + 0.2, 2)
                job.sdk_warning(then, rank, sdk.retrying(pause, "ConnectionError", text))
                then += seconds(pause) + 4 * MS
            if not turn:
                job.sdk_warning(then, rank, "All retries exhausted; request failed", "ERROR")
                caller = sdk.main_frames(own, 0, *one_object(stage))
                job.raise_on(then + 2 * MS, rank, sdk.exhausted(own, caller, "ConnectionError", text))
                firsts.append(Exit(rank, then + 700 * MS, 1))
                over = max(over, then + 800 * MS)
    ended = job.agents_end(firsts, over)
    made = stage.guilty("storage_io", victim, also=("network", "data_loading_stall", "infrastructure"))
    return stage.close(
        "The file of hosts names the machine itself by its loopback; that of the other targets was mended long ago.",
        (replace(made, culprit_ranks=None),),
        until=ended,
    )


@kind(trains=False, hangs=False, culprit=0)
def source_listing_slowed(stage: Stage) -> Scenario:
    """A job begins with a list of a bucket of the cloud, which asks to be asked less (aistore docs/rate_limit)."""
    cluster, job = stage.cluster, stage.job
    draw, proxy = stage.draw.child("slowed"), stage.proxy_of(0)
    job.start()
    at = job.begin + draw.span(900, 2_600)
    stage.mark(at - draw.span(20, 90), "the store behind turns listings down")
    job.note(at - 30 * MS, 0, f"listing ais://{stage.bucket} and the bucket behind it for a manifest", line=61)
    error = "aws-error[SlowDown: Please reduce your request rate.]"
    for node in cluster.up(at):
        listing = f"list[{draw.child('list').token(9)}]"
        cluster.last_process(node).jobs.append((at, at + seconds(92), listing))
    for after in TRIES_S:
        passages.page_refused(
            cluster, draw.pick(cluster.up(at)), proxy, at + seconds(after) + draw.span(40, 900), error
        )
    ended = listing_given_up(stage, at + seconds(TRIES_S[-1]) + draw.span(950, 1_400), proxy)
    made = of_all(stage.guilty("storage_io", stage.victim, also=("data_loading_stall", "network", "infrastructure")))
    return stage.close(
        "Forty jobs of a sweep begin at the same minute, and each lists the whole bucket.", (made,), until=ended
    )
