"""Guilty storage of a cluster's upkeep: targets that leave, rebalances that starve reads, gateways that die.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.caretakers import entry_tried_again, gateway_refuses, reader_of
from benchmarks.accuracy.generate.faults.words.foremen import held_up, steps_before
from benchmarks.accuracy.generate.faults.words.requests import batch_unanswered, exhausted, retries
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisforemen, aisgates, aisupkeep, chains
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirty_third")
ALSO = ("data_loading_stall", "infrastructure")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)
MISSING = ("mountpath_before", "tenant_errors", "soft_errors")


@kind(reads=True, lead_s=58.0, without=(*RESTARTS, *MISSING))
def target_is_decommissioned_without_a_rebalance(stage: Stage) -> Scenario:
    """An operator decommissions a target with --no-rebalance (aistore docs/lifecycle_node, `ais cluster` CLI).

    To convict: the primary takes one target out by `decommission-node`, whose log ends with that word; no rebalance
    follows. From that moment on, and never before, a batch lacks an entry that does not exist by its next owner.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("decommissioned")
    stage.open()
    gone = stage.mark(at - draw.span(9, 18), f"an operator decommissions {victim.name} without a rebalance")
    aisforemen.leaves_for_good(cluster, victim, gone, draw)
    heir, name, then = stage.other_target(victim, draw.whole(0, 50)), utterance(draw), at
    for turn, wait in enumerate((1.5, 2.5, 4.0, 6.0), 1):
        designated = stage.other_target(victim, draw.whole(0, 50))
        failed = chains.missing_entry(stage, then, designated, heir, name, draw.whole(4, 8))
        entry_tried_again(stage, then, rank, failed.error, turn, 5)
        then += seconds(wait) + draw.span(5, 14)
    failed = chains.missing_entry(stage, then, stage.other_target(victim), heir, name, draw.whole(4, 8))
    stage.job.raise_on(then + 9 * MS, rank, failed.traceback)
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "The runbook was that of a cluster with mirrored buckets.",
        (stage.guilty("storage_io", victim, also=("data", *ALSO)),),
        ALIVE,
        until=then + seconds(50),
    )


def _times_out(stage: Stage, at: int, over: int, nodes: list[Node], draw: Draw) -> None:
    """The culprit's batch is not there in 20 s, from whichever of these it is asked; then it has enough, or the job."""
    rank, then, node, order = stage.culprit, at + seconds(20.02), nodes[0], draw.shuffled(nodes)
    for turn in range(6):
        if then >= over - SEC:
            return
        node, wait = order[turn % len(order)], round(draw.between(1.0, min(30.0, 2.0**turn + 0.5)), 2)
        chains.read_timed_out(stage, then, node, rank, wait)
        then += seconds(wait) + seconds(20.02)
    if then < over - SEC:
        batch_unanswered(stage, then, rank, node)


@kind(reads=True, lead_s=86.0, ais_order=410, without=(*RESTARTS, *DISKS))
def rebalance_by_day_starves_the_batches(stage: Stage) -> Scenario:
    """Somebody starts a rebalance with hours of work under a job (aistore docs/rebalance, impact on user load).

    To convict: all targets begin one rebalance by a new RMD, no map changes, batches of before are aborted; from then
    on all disks have no time left, steps take seconds, and one rank's batch is not there in 20 s by any target.
    """
    cluster, victim, rank = stage.cluster, stage.victim, stage.culprit
    draw = stage.draw.child("by day")
    late = {one: draw.between(3, 11) for one in steps_before(stage, 40, 10, draw.whole(2, 4), draw)}
    asked = held_up(stage, late)
    at, over = stage.at, over_at(stage)
    began = stage.mark(min(asked.values()) - draw.span(5_900, 7_800), "somebody starts a rebalance by hand")
    aisupkeep.rebalance_at_length(cluster, began, over + seconds(40), draw)
    cluster.start_batches(began + seconds(3.4), draw.pick(cluster.up(began)))
    for step, then in asked.items():
        said = f"batch of step {step}: 48 of 48 objects after {late[step]:.1f} s"
        told(stage, then + seconds(late[step]), reader_of(stage, step), "loader", said, "WARNING")
    stage.mark(at, f"rank {rank}'s batch does not come")
    _times_out(stage, at, over, cluster.up(at), draw)
    stage.hang(at + 310 * MS, rank)
    made = of_all(stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure")))
    return stage.close("It was to be started at night, and the night was that of another zone.", (made,))


@kind(proxies=2, hosts=2, off_primary=True, reads=True, lead_s=56.0, without=(*RESTARTS, "kalive_hiccup"))
def gateway_of_a_host_is_killed_under_its_ranks(stage: Stage) -> Scenario:
    """A proxy that is not the primary is killed, and whoever has its address as endpoint is refused (recorded kill -9).

    To convict: all tries of the ranks that raise name the address of one proxy, whose log breaks off; the primary
    cannot reach it at its keepalives and removes it half a minute later. Ranks of other proxies read as ever.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy, over = stage.draw.child("gateway"), stage.proxy_of(stage.culprit), over_at(stage)
    stage.open()
    died = stage.mark(at - draw.span(8, 17), f"kill -9 {proxy.name}, which is not the primary")
    faults.kill(cluster, proxy, died)
    faults.leave_smap(cluster, proxy, died)
    every = max(1, stage.params.read_every)
    beside = [one for one in readers(stage) if stage.proxy_of(one) is proxy and (one - rank) % every == 0]
    refused = sorted([rank, *beside])
    for one in refused:
        own, text = draw.child(one), gateway_refuses(stage, proxy, draw.child(one))
        then = retries(stage, at + own.span(0, 40), one, own, 0.004, text, over - SEC)
        if then < over - SEC:
            exhausted(stage, then, one, text)
    end = stage.hang(at + 320 * MS, *refused)
    back = stage.mark(end + draw.span(4_000, 11_000), f"{proxy.name} is started again")
    joined = aisgates.proxy_starts(cluster, proxy, back, draw)
    made = stage.guilty("storage_io", proxy, also=("network", *ALSO))
    return stage.close(
        "The pod had the limit of memory of a smaller cluster.",
        (replace(made, culprit_ranks=tuple(refused)),),
        ALIVE,
        until=joined + seconds(10),
    )
