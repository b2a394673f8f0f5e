"""Guilty storage of nodes that end or have too much to do: no memory, busy disks, a gateway, maintenance.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.caretakers import silent_tries
from benchmarks.accuracy.generate.faults.words.getters import struck_by, tried
from benchmarks.accuracy.generate.faults.words.natives import shard_of
from benchmarks.accuracy.generate.faults.words.requests import exhausted, refused_get, retries
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.tries import client_told, other_targets
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisdisk, aisgates, aisstandstills, chains, sdk
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "thirty_fourth")
ALSO = ("data_loading_stall", "infrastructure")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)
TRIES = 4


def mates(stage: Stage) -> list[int]:
    """The culprit, and who reads its batch in the same step: several ranks of a large world."""
    every = max(1, stage.params.read_every)
    return sorted(one for one in (stage.culprit, *readers(stage)) if (one - stage.culprit) % every == 0)


def _comes_short(stage: Stage, rank: int, refused: int, draw: Draw) -> None:
    """A rank asks for its batch as often as it may, each time it is cut; one is given to the dead target at last."""
    victim, then = stage.victim, stage.at + draw.span(0, 90)
    for turn in range(1, TRIES + 1):
        if turn == TRIES and rank == refused:
            failed = chains.dead_designated(stage, then, victim, rank)
        else:
            designated = draw.pick(other_targets(stage, stage.at))
            failed = chains.cut_off_stream(stage, then, designated, victim, rank, draw.whole(0, 9), 48)
        tried(stage, then, rank, failed, turn, TRIES)
        then += seconds(1.2 * turn) + draw.span(10, 900)


@kind(reads=True, targets=4, lead_s=118.0, without=(*RESTARTS, "kalive_hiccup"))
def target_is_killed_for_its_memory(stage: Stage) -> Scenario:
    """The container of a target has no memory left and is killed by the kernel (Kubernetes, OOMKilled; no last line).

    To convict: batches of a step come short at each try, and one is at last refused, as the proxy says, by a target;
    who assembled the others did not reach that one either. It has told of low memory at each tick until its log breaks
    off without a word, in that moment peers lose their streams to it, and a new process has its id later.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("killed")
    stage.open()
    tight = stage.mark(at - draw.span(82_000, 104_000), f"{victim.name} has little memory left")
    died = at - draw.span(12, 40)
    aisdisk.memory_pressure(cluster, victim, tight, died, "extreme", draw)
    stage.mark(died, f"the kernel kills {victim.name}")
    faults.kill(cluster, victim, died)
    left = faults.leave_smap(cluster, victim, died)
    struck = mates(stage)
    for one in struck:
        _comes_short(stage, one, rank, draw.child(one))
    back = max(died + draw.span(43_000, 46_000), left + SEC)
    faults.reconnects(cluster, victim, died, back - SEC, 2)
    stage.hang(at + 350 * MS, *struck)
    faults.start_again(cluster, victim, stage.mark(back, f"{victim.name} is started again"))
    return stage.close(
        "The limit of its container had been set for another kind of host.",
        (struck_by(stage, "storage_io", struck, victim, ALSO),),
        ALIVE,
        until=back + seconds(54),
    )


@kind(reads=True, ais_order=410, min_timeout_s=120, lead_s=64.0, without=(*RESTARTS, *DISKS, "tenant_rejected"))
def busy_disks_turn_batches_away(stage: Stage) -> Scenario:
    """The disks of a target are at their limit, and it takes no batch more (aistore, admission of get-batch: 429).

    To convict: the rank gives up after six answers of 429 in a minute and a half, of its proxy; in just these moments
    that proxy was turned down by one target, for its disks (dsk=critical), which are at their limit at every tick.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("busy"), over_at(stage)
    client_told(stage, "aistore 2.0.0, get-batch with colocation=TARGET_AWARE")
    stage.open()
    began = stage.mark(at - draw.span(26_000, 44_000), f"the disks of {victim.name} are at their limit")
    aisdisk.disk_pressure(cluster, victim, began, over + seconds(30), draw)
    high = ev.advice("high", "10ms", "low", "low", "high")
    if cluster.xact is not None:
        throttled = ev.throttled(cluster.xact, draw.whole(6, 31), high, "10ms", victim.release.order)
        cluster.say(victim, began + draw.span(9_000, 14_000), throttled)
    cluster.count(victim, began + seconds(14), getbatch_throttle_ns=draw.whole(9, 90) * 10 * MS)
    critical = ev.advice("critical", "100ms", "low", draw.pick(("low", "moderate")), "critical")
    asked = silent_tries(at, draw)
    for then in asked:
        chains.reject(stage, then, victim, rank, critical, draw.whole(33, 88))
    stage.job.raise_on(asked[-1] + 9 * MS, rank, chains.too_many_requests(stage, rank).traceback)
    stage.hang(at + 350 * MS, rank)
    return stage.close(
        "A copy of the whole host to another room was under way, from outside of AIStore.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        (*ALIVE, "all six attempts get the same designated target (colocation hint)"),
    )


def _refused_at_gateway(stage: Stage, rank: int, draw: Draw) -> None:
    """A rank asks its gateway for a batch, and nobody listens there any more."""
    proxy, at = stage.proxy_of(rank), stage.at + draw.span(0, 40)
    cause = sdk.refused(draw.whole(0x7F0000000000, 0x7FFFFFFFFFFF))
    text = sdk.pool_error(proxy.address, proxy.ports[0], f"/v1/ml/moss/{stage.bucket}?provider=ais", cause)
    limit = min(over_at(stage) - seconds(9), stage.at + seconds(23))
    exhausted(stage, retries(stage, at, rank, draw, 0.004, text, limit), rank, text)


@kind(reads=True, proxies=2, hosts=2, off_primary=True, lead_s=58.0, without=("kalive_hiccup",))
def gateway_of_a_host_is_killed(stage: Stage) -> Scenario:
    """The proxy that a host uses is killed; it was not the primary, so nobody is elected (aistore docs/ha.md).

    To convict: the rank's requests are refused at the address of a proxy, which is that of its host. That proxy's log
    ends without a word, the primary finds nobody there and removes it, and it comes back as a new process. All targets
    and the other proxies stay. Ranks of other hosts that read in that step have their batches.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    proxy, draw = stage.proxy_of(rank), stage.draw.child("gateway")
    stage.open()
    died = stage.mark(at - draw.span(20, 400), f"kill -9 {proxy.name}")
    faults.kill(cluster, proxy, died)
    left = faults.leave_smap(cluster, proxy, died)
    refused = [one for one in mates(stage) if stage.proxy_of(one) is proxy]
    for one in refused:
        _refused_at_gateway(stage, one, draw.child(one))
    stage.hang(at + 360 * MS, *refused)
    back = stage.mark(max(left + SEC, died + draw.span(42_000, 46_000)), f"{proxy.name} is started again")
    joined = aisgates.proxy_starts(cluster, proxy, back, draw)
    return stage.close(
        "Its pod was evicted, since the host had more pods than it had been told to have.",
        (struck_by(stage, "storage_io", refused, proxy, ("network", *ALSO)),),
        ALIVE,
        until=joined + seconds(12),
    )


@kind(reads=True, targets=4, lead_s=80.0, without=(*RESTARTS, "mountpath_before", "tenant_errors", "soft_errors"))
def maintenance_leaves_a_shard_behind(stage: Stage) -> Scenario:
    """A target is put into maintenance without a rebalance: what it has is nobody's (docs/lifecycle_node.md).

    To convict: the rank is told by a target that a shard does not exist. It had read that shard before, from another
    target by its own line, and that one was put into maintenance some milliseconds before; no rebalance has begun.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("maintenance"), shard_of(stage.draw.child("maintenance", "shard"))
    heir = stage.other_target(victim, draw.whole(0, 50))
    stage.open()
    first = stage.job.begin + seconds(7) + draw.span(0, 9_000)
    known = [(first, rank, name, victim)]
    for then, other in spread(stage, stage.job.begin + seconds(5), at - SEC, (3, 6), draw):
        known.append((then, other, shard_of(draw), draw.pick(cluster.targets)))
    for then, who, shard, node in sorted(known, key=lambda one: one[0]):
        size, spent = draw.whole(70, 190) << 20, draw.between(0.2, 1.1)
        cluster.count(node, then, get_n=1, get_ns_total=seconds(spent), get_size=size)
        told(stage, then, who, "shards", f"{shard}: {size} bytes of {node.url(0)} in {spent:.2f} s")
    begun = stage.mark(at - draw.span(60, 420), f"an operator puts {victim.name} into maintenance, without rebalance")
    aisstandstills.left_without_moving(cluster, victim, begun)
    told(stage, at - 9 * MS, rank, "shards", f"{name}: second pass")
    text = aisstandstills.not_here(cluster, heir, at - 4 * MS, name)
    failure = refused_get(stage, at - 6 * MS, rank, heir, name, (404, "Not Found"), text)
    stage.job.raise_on(at, rank, failure)
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "It was to have a new fan, which takes ten minutes, and nothing was to be moved for that.",
        (stage.guilty("storage_io", victim, also=("data", *ALSO)),),
        ALIVE,
    )
