"""Storage faults of every part, beside those of the scenarios: guilty storage, loud or silent."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.requests import exhausted, retries
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator import chains, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage")


@kind(reads=True)
def designated_hung(stage: Stage) -> Scenario:
    """The target that is to assemble the batch is stopped: the proxy gives up after 2 s and the client gets 400."""
    victim, rank, at = stage.victim, stage.culprit, stage.at
    stage.open()
    stage.mark(at - 25 * MS, f"SIGSTOP {victim.name}")
    until = at + seconds(stage.params.timeout_s + 30)
    faults.stop(stage.cluster, victim, at - 25 * MS, until)
    faults.leave_smap(stage.cluster, victim, at, hung=True)
    failed = chains.dead_designated(stage, at + 2 * SEC, victim, rank, ev.DEADLINE)
    stage.job.raise_on(at + 2 * SEC + 9 * MS, rank, failed.traceback)
    stage.hang(at + 350 * MS, rank)
    back = faults.resume(stage.cluster, victim, until + 2 * MS)
    return stage.close(
        "The designated target of the culprit's batch is stopped; phase one runs into its two seconds.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall",)),),
        until=back + seconds(5),
    )


@kind(reads=True, ais_order=450)
def hung_sender(stage: Stage) -> Scenario:
    """A stopped target owes entries to an innocent one that assembles; the client times out at the innocent one."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    designated = stage.other_target(victim)
    stage.open()
    stage.mark(at - 25 * MS, f"SIGSTOP {victim.name}")
    over = at + seconds(stage.params.timeout_s)
    faults.stop(cluster, victim, at - 25 * MS, over + seconds(30))
    faults.leave_smap(cluster, victim, at, hung=True)
    draw = stage.draw.child("sender")
    then = at + seconds(20.02)
    for attempt in range(2):
        wait = round(draw.between(1.0, 2.0**attempt + 0.5), 2)
        chains.read_timed_out(stage, then, designated, rank, wait)
        then += seconds(wait) + seconds(20.02)
    if then < over - SEC:
        failed = chains.missing_entry(stage, then, designated, designated, utterance(draw), draw.whole(4, 7))
        stage.job.raise_on(then + 9 * MS, rank, failed.traceback)
    if cluster.xact is not None:
        others = len(cluster.targets) - 1
        late = ev.senders_late(cluster.xact, 1, others, draw.span(30_100, 34_000))
        cluster.say(designated, at + seconds(33.1), late)
    stage.hang(at + 350 * MS, rank)
    back = faults.resume(cluster, victim, over + seconds(30) + 2 * MS)
    return stage.close(
        "A stopped target sends nothing; the designated target waits for it, the client for the designated one. Once "
        "the cluster has given the target up, its objects are missing.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io",)),),
        until=back + seconds(5),
    )


@kind(reads=True)
def killed_plain_get(stage: Stage) -> Scenario:
    """Single GETs of a killed target: connections refused until no retries are left."""
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("plain")
    stage.open()
    stage.mark(at - 20 * MS, f"kill -9 {victim.name}")
    faults.kill(stage.cluster, victim, at - 20 * MS)
    faults.leave_smap(stage.cluster, victim, at)
    path = f"/v1/objects/{stage.bucket}/{utterance(draw)}?provider=ais&pid={stage.proxy_of(rank).node_id}"
    cause = sdk.refused(draw.whole(0x7F0000000000, 0x7FFFFFFFFFFF))
    text = sdk.pool_error(victim.address, victim.ports[0], path, cause)
    limit = at + seconds(stage.params.timeout_s - 8)
    then = retries(stage, at, rank, draw, 0.004, text, min(limit, at + seconds(24)))
    exhausted(stage, then, rank, text)
    stage.hang(at + 340 * MS, rank)
    back = stage.mark(at + seconds(44), f"{victim.name} is started again")
    faults.start_again(stage.cluster, victim, back)
    return stage.close(
        "A target is killed; the culprit's single GETs are redirected to it and refused.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall",)),),
    )
