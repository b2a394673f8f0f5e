"""Guilty storage of the thirty-second part: targets that are killed while get-batch needs them.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.tries import (
    again,
    client_told,
    moments,
    other_targets,
    removed_and_back,
)
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisabsences, aisassemblies, chains, sdk
from fixtures.generator import aisfaults as faults
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "thirty_second")
ALSO = ("network", "data_loading_stall", "infrastructure")
ALIVE = ("ranks that raised stay alive in a non-daemon thread, as in the recorded runs",)
NOISE = (*RESTARTS, "kalive_hiccup", "soft_errors", "mountpath_before")


@kind(reads=True, ais_order=450, lead_s=62.0, without=NOISE)
def one_crash_strikes_several_ranks_of_a_step(stage: Stage) -> Scenario:
    """All ranks that ask for a batch in one step meet the same killed target (recorded 02; docs/get_batch).

    To convict: within half a second some ranks are refused at one address and others get a short batch, from targets
    that are well and name the dead one as they abort; peers lose their streams to it just before, and its log ends
    without a word. None of these ranks launches the collective that all others wait in.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("several")
    client_told(stage, "get-batch: 48 entries, streaming, one try")
    stage.open()
    died = stage.mark(at - draw.span(12, 40), f"kill -9 {victim.name}")
    faults.kill(cluster, victim, died)
    struck = sorted([rank, *readers(stage)[: draw.whole(1, 4)]])
    refused = draw.pick(struck)
    for turn, one in enumerate(draw.shuffled(struck)):
        then = at + turn * draw.span(4, 80)
        if one == refused:
            failed = chains.dead_designated(stage, then, victim, one)
        else:
            designated = draw.pick(other_targets(stage, then))
            failed = chains.cut_off_stream(stage, then, designated, victim, one, draw.whole(0, 7), 48)
        stage.job.raise_on(then + 6 * MS, one, failed.traceback)
    removed_and_back(stage, died)
    stage.hang(at + 400 * MS, *struck)
    made = stage.expect(
        "storage_io",
        also_ok=ALSO,
        culprit_ranks=tuple(struck),
        storage_verdict="guilty",
        ais_nodes=(victim.node_id,),
    )
    return stage.close(
        "It was killed for the memory that a neighbour in the same cgroup had taken.",
        (made,),
        ALIVE,
        until=died + seconds(100),
    )


@kind(reads=True, ais_order=450, targets=6, lead_s=64.0, without=NOISE)
def tries_help_all_but_the_rank_with_an_entry_there(stage: Stage) -> Scenario:
    """Batches are small, so only one of those that meet a killed target needs it (recorded 15; docs/get_batch).

    To convict: some ranks fail once or twice, refused as one target should put their batch together, and go on; some
    steps later one fails in each of its tries, refused at the same target or short by the entry that the targets which
    put it together wanted from that one. Peers have lost their streams to it, and it is removed after the last try.
    """
    cluster, victim, rank, job = stage.cluster, stage.victim, stage.culprit, stage.job
    draw = stage.draw.child("small")
    many = draw.pick((2, 3, 4))
    most = draw.whole(4, 5)
    client_told(stage, f"get-batch: {many} entries, streaming, tries {most}")
    step = stage.step - draw.whole(1, 3)
    stage.open(until_step=step)
    first = job.step_at(step) + 40 * MS
    died = stage.mark(first - draw.span(12, 60), f"kill -9 {victim.name}")
    faults.kill(cluster, victim, died)
    over = first
    for other in readers(stage)[: draw.whole(2, 4)]:
        then = first + draw.span(1, 90)
        for turn in range(2 if draw.chance(0.3) else 1):
            again(stage, then + 4 * MS, other, chains.dead_designated(stage, then, victim, other), turn + 1, most)
            then += seconds(2.0 + turn) + draw.span(6, 30)
        over = max(over, then)
    job.delay(step, over - first)
    stage.at += over - first
    job.train(step, stage.step)
    stage.load(job, over + 60 * MS, job.step_at(stage.step))
    at = stage.at
    index, refused = draw.whole(0, many - 1), draw.whole(1, most - 2)
    for turn, then in enumerate(moments(at, (2.0, 3.0, 4.0, 5.0)[: most - 1], draw)):
        if turn == refused:
            failed = chains.dead_designated(stage, then, victim, rank)
        else:
            designated = draw.pick(other_targets(stage, then))
            failed = chains.cut_off_stream(stage, then, designated, victim, rank, index, many)
        if turn + 1 < most:
            again(stage, then + 6 * MS, rank, failed, turn + 1, most)
        else:
            stage.job.raise_on(then + 8 * MS, rank, failed.traceback)
    removed_and_back(stage, died)
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "It had met a mistake in the reading of one kind of archive.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ALIVE,
        until=died + seconds(100),
    )


@kind(reads=True, hangs=False, ais_order=450, lead_s=60.0, without=NOISE)
def sdk_tries_once_more_and_meets_the_same_dead_target(stage: Stage) -> Scenario:
    """The SDK repeats a broken request by itself, not one that is answered with 400 (aistore/sdk, retry_config.py).

    To convict: the one warning of the rank names nobody; the error after it has the address of a target, as has the
    line of the proxy with the same wid. The log of that target ends in the moment of the warning, without a word, as
    peers lose their streams to it. The rank exits, and the launcher ends the others, which have done nothing.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("once more")
    client_told(stage, "get-batch: 48 members of one shard, buffered, colocation 2, retries of the SDK only")
    stage.open()
    died = stage.mark(at + draw.span(30, 190), f"kill -9 {victim.name}, which puts a batch together")
    faults.kill(cluster, victim, died)
    wait = round(draw.between(1.0, 1.6), 2)
    aborted = "('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))"
    stage.job.sdk_warning(died + 3 * MS, rank, sdk.retrying(wait, "ConnectionError", aborted))
    then = died + seconds(wait) + draw.span(6, 14)
    failed = chains.dead_designated(stage, then, victim, rank)
    stage.job.raise_on(then + 5 * MS, rank, failed.traceback)
    removed_and_back(stage, died)
    leaves(stage, then + 9 * MS, rank)
    return stage.close(
        "Shards were read member by member, and all members of a shard are on one target.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        until=died + seconds(100),
    )


@kind(reads=True, ais_order=450, targets=4, lead_s=66.0, without=NOISE)
def two_targets_are_deleted_by_one_command(stage: Stage) -> Scenario:
    """Two pods of storage are deleted by force while a job reads (kubernetes docs, force deletion of StatefulSet pods).

    To convict: tries of one rank end short or refused, now for want of one target and now of another; peers lose their
    streams to both in the same second, both logs end then without a word and begin anew seconds later, before the
    primary has missed either. Whoever else put these batches together is well. No rebalance: it is switched off.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("two")
    twin = draw.pick([one for one in cluster.targets if one is not victim])
    client_told(stage, "get-batch: 48 entries, streaming, tries 4")
    stage.open()
    died = stage.mark(at - draw.span(15, 60), f"kubectl delete pod --force: {victim.name} and {twin.name}")
    for turn, node in enumerate((victim, twin)):
        faults.kill(cluster, node, died + turn * draw.span(3, 9))
    well = [one for one in cluster.targets if one not in (victim, twin)]
    tries = list(moments(at, (1.0, 2.0, 3.0), draw))
    for turn, then in enumerate(tries):
        node = (victim, twin)[turn % 2]
        if turn == 1 or (turn == 2 and draw.chance(0.5)):
            failed = chains.dead_designated(stage, then, node, rank)
        else:
            failed = chains.cut_off_stream(stage, then, draw.pick(well), node, rank, draw.whole(0, 5), 48)
        if turn + 1 < len(tries):
            again(stage, then + 6 * MS, rank, failed, turn + 1, len(tries))
        else:
            stage.job.raise_on(then + 8 * MS, rank, failed.traceback)
    for turn, node in enumerate((victim, twin)):
        faults.reconnects(cluster, node, died, died + seconds(6.4), 1)
        back = stage.mark(died + draw.span(6_700, 7_300) + turn * 900 * MS, f"{node.name} is started again")
        joined = aisabsences.comes_back_unmoved(cluster, node, back, draw.child("back", turn))
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "They had been said to be stuck in a state that they had left long before.",
        (stage.guilty("storage_io", victim, twin, also=ALSO),),
        ALIVE,
        until=joined + seconds(60),
    )


@kind(reads=True, ais_order=450, lead_s=116.0, without=NOISE)
def target_stands_still_and_crashes_a_minute_later(stage: Stage) -> Scenario:
    """A rank gets over a target that did not answer, and meets it again as it crashes (recorded 02 and 03 in one).

    To convict: the read that timed out and the refusal a minute later name one target. It writes and counts nothing
    for half a minute, twice the primary cannot reach it, and it is back; then its log ends without a word, peers lose
    their streams to it, and it is removed. Each other target is well both times.
    """
    cluster, victim, rank, job = stage.cluster, stage.victim, stage.culprit, stage.job
    draw = stage.draw.child("minute later")
    client_told(stage, "get-batch: 48 entries, streaming, retries of the SDK only")
    every, spent = max(1, stage.params.read_every), seconds(22.6)
    turns = max(1, round(draw.between(60, 72) / stage.params.step_s / every))
    step = max(stage.step % every, stage.step - turns * every)
    first = job.step_at(step) + 40 * MS
    job.delay(step, spent)
    stage.at += spent
    job.start()
    job.train(0, stage.step)
    stage.mark(job.begin, f"job {job.job.job_id} starts training")
    cluster.start_batches(job.begin + 40 * MS, stage.other_target(victim))
    stage.load(job, job.begin + 60 * MS, first - 60 * MS)
    frozen = stage.mark(first + draw.span(5, 30), f"{victim.name} stands still")
    back = stage.mark(first + draw.span(20_900, 21_700), f"{victim.name} goes on")
    aisassemblies.frozen_for_seconds(cluster, victim, frozen, back)
    wid, xact = cluster.wid(stage.proxy_of(rank), draw), cluster.xact
    path = f"/v1/ml/moss/{stage.bucket}/{xact.xid if xact else 'noxid'}/{wid}/{len(cluster.targets)}"
    path += sdk.query(stage.proxy_of(rank), first)
    cause = sdk.read_timeout(victim.address, victim.ports[0])
    text = sdk.pool_error(victim.address, victim.ports[0], path, cause)
    job.sdk_warning(
        first + seconds(20.02), rank, sdk.retrying(round(draw.between(1.8, 2.2), 2), "ConnectionError", text)
    )
    if xact is not None:
        aisassemblies.gone_from_the_assembler(
            cluster, victim, back + draw.span(12, 60), stage.client(rank), wid, draw.whole(2, 30), back - first
        )
    stage.load(job, first + spent, job.step_at(stage.step))
    at = stage.at
    died = stage.mark(at - draw.span(12, 30), f"{victim.name} crashes")
    faults.kill(cluster, victim, died)
    job.raise_on(at + 7 * MS, rank, chains.dead_designated(stage, at, victim, rank).traceback)
    removed_and_back(stage, died)
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "Its virtual machine had been copied to another host, where it ran into a fault of that host's memory.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ALIVE,
        until=died + seconds(100),
    )
