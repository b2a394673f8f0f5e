"""Guilty storage of nodes that come, go or have no memory: a primary, a new target, maintenance, batches turned down.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.thirty_sixth.service_words import silent_tries
from benchmarks.accuracy.generate.faults.words.foremen import refused_with
from benchmarks.accuracy.generate.faults.words.natives import one_line, shard_of
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, exhausted, one_object, refused_get, retries
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.tries import client_told, other_targets
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aischurn, aisdisk, aislapses, aisstandstills, aistroubles, chains, sdk
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "thirty_sixth")
ALSO = ("data_loading_stall", "infrastructure")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)
#: Noise of objects that are missing, and of targets that turn down, for reasons of their own.
MISSING = ("mountpath_before", "tenant_errors", "soft_errors")


@kind(reads=True, ais_order=410, min_timeout_s=120, lead_s=68.0, without=(*RESTARTS, "tenant_rejected", "disk_busy"))
def memory_of_a_target_is_full_and_batches_are_refused(stage: Stage) -> Scenario:
    """A target without memory throttles, then answers batches with 429 (aistore docs/get_batch.md, xact/xs/moss.go).

    To convict: the rank gives up after a minute and a half in which it prints nothing, with `too many 429 error
    responses` of its gateway. That gateway has six lines since it began, whose request ids and whose words one target
    has too: rejected, mem=critical. Alerts of low memory of that target begin before, and it throttles batches first.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("memory")
    stage.open()
    since = stage.mark(at - draw.span(38_000, 52_000), f"{victim.name} comes under memory pressure")
    aisdisk.memory_pressure(cluster, victim, since, over_at(stage) + 40 * SEC, "extreme", draw)
    high = ev.advice("high", "10ms", "high", "low", "low")
    then = since + draw.span(4_000, 9_000)
    while then < at - SEC and cluster.xact is not None:
        slept = draw.pick(("10ms", "100ms"))
        cluster.say(victim, then, ev.throttled(cluster.xact, draw.whole(3, 21), high, slept, victim.release.order))
        cluster.count(victim, then, getbatch_throttle_ns=draw.whole(2, 40) * 10 * MS)
        then += draw.span(5_000, 11_000)
    critical = ev.advice("critical", "100ms", "critical", "low", draw.pick(("low", "moderate")))
    tries = list(silent_tries(stage, at, draw))
    for then in tries:
        chains.reject(stage, then, victim, rank, critical, draw.whole(9, 44))
    if len(tries) == 6:
        stage.job.raise_on(tries[-1] + 9 * MS, rank, chains.too_many_requests(stage, rank).traceback)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Another team's job cached its features in /dev/shm of the same host.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        (*ALIVE, "all tries get the same designated target (colocation hint)"),
    )


@kind(proxies=2, culprit=1, lead_s=60.0, without=(*RESTARTS, "kalive_hiccup", "second_job"))
def primary_is_killed_and_does_not_come_back(stage: Stage) -> Scenario:
    """The primary, which is the only endpoint of a host's ranks, is killed (aistore docs/ha.md; recorded kill -9).

    To convict: each try of the rank is refused at the address of the primary, whose log breaks off. All other nodes
    miss it at their keepalives, and another proxy is voted in half a minute later; no target is missed by anybody.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, primary = stage.draw.child("primary"), cluster.primary(at)
    heir = draw.pick([one for one in cluster.proxies if one is not primary])
    stage.open()
    died = stage.mark(at - draw.span(8, 900), f"kill -9 {primary.name}, the primary")
    faults.kill(cluster, primary, died)
    stage.mark(faults.elect(cluster, primary, heir, died), f"{heir.name} is primary")
    path = f"/v1/objects/{stage.bucket}/{shard_of(draw)}?provider=ais"
    text = sdk.pool_error(primary.address, primary.ports[0], path, sdk.refused(draw.whole(*HANDLES)))
    over = over_at(stage)
    then = retries(stage, at, rank, draw, 0.005, text, over - SEC)
    if then < over - SEC:
        exhausted(stage, then, rank, text, "ConnectionError", one_object(stage))
    stage.hang(at + 310 * MS, rank)
    return stage.close(
        "It had taken the most memory of its host; its pod stayed pending, for the host was given to others.",
        (stage.guilty("storage_io", primary, also=("network", *ALSO)),),
        (*ALIVE, "the client keeps the endpoint it was given"),
        until=died + 60 * SEC,
    )


@kind(reads=True, targets=4, ais_order=450, lead_s=66.0, without=(*RESTARTS, *MISSING, "second_job", "kalive_hiccup"))
def cluster_grows_and_ends_the_batch_of_a_rank(stage: Stage) -> Scenario:
    """A target is added, and the rebalance that follows aborts running batches (recorded; docs/rebalance).

    To convict: the rank's answer of 400 says why and names the run of get-batch, `starting x-rebalance`. All older
    targets abort that run in the same moment, two seconds after a new target has generated its id and joined; the one
    that put the batch together has the request id. Nothing failed before.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("grows")
    client_told(stage, "get-batch: 48 objects, streaming=False, no further tries")
    aislapses.not_yet_there(cluster, victim)
    stage.open()
    started = stage.mark(at - 3 * SEC, f"{victim.name} is added to the cluster")
    joined = aislapses.joins_empty(cluster, victim, started, draw)
    ended, designated = joined + 2 * SEC + 3 * MS, draw.pick(other_targets(stage, started))
    if cluster.xact is not None:
        generation = cluster.rebalances + 1
        error = f"{cluster.xact.name} aborted, err: reason: starting x-rebalance[g{generation}]"
        wid, then = cluster.wid(stage.proxy_of(rank), draw), ended + 6 * MS
        failed = refused_with(stage, rank, designated, then, wid, error)
        aistroubles.item_failed(cluster, designated, then, wid, error, draw.whole(6, 31), draw.span(24, 55))
        stage.job.raise_on(then + 4 * MS, rank, failed.traceback)
    aischurn.rebalance_begins(cluster, joined + 3 * MS, draw, "self-join-target", victim.node_id)
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "The order of the week was to make room, and nobody had asked who was reading.",
        (of_all(stage.guilty("storage_io", victim, also=ALSO)),),
        ALIVE,
    )


@kind(reads=True, targets=4, lead_s=62.0, without=(*RESTARTS, *MISSING, "second_job", "kalive_hiccup"))
def maintenance_without_a_rebalance_hides_objects(stage: Stage) -> Scenario:
    """A target goes into maintenance without a rebalance, and the bucket has no copies (docs/lifecycle_node.md).

    To convict: objects are missing since the primary has put a target into maintenance, with a new map and no rebalance
    after it, and none before. Whoever answers 404 is any other target; the one in question lives on, asked by nobody.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("maintenance")
    stage.open()
    left = stage.mark(at - draw.span(6_000, 17_000), f"{victim.name} is put into maintenance, without a rebalance")
    aisstandstills.left_without_moving(cluster, victim, left)
    for then, other in spread(stage, left + 300 * MS, at - 200 * MS, (2, 5), draw):
        name, heir = f"noise/rir-{draw.whole(0, 999):03d}.flac", draw.pick(other_targets(stage, then))
        text = aisstandstills.not_here(cluster, heir, then - 4 * MS, name)
        why = one_line(stage, then, other, heir, name, 404, text)
        told(stage, then, other, "augment", f"{name} left out: {why}", "WARNING")
    name, heir = shard_of(draw), draw.pick(other_targets(stage, at))
    text = aisstandstills.not_here(cluster, heir, at, name)
    stage.job.raise_on(at + 6 * MS, rank, refused_get(stage, at, rank, heir, name, (404, "Not Found"), text))
    stage.hang(at + 320 * MS, rank)
    return stage.close(
        "Its firmware was due, and it would be only for an hour.",
        (stage.guilty("storage_io", victim, also=("data", *ALSO)),),
        ALIVE,
    )
