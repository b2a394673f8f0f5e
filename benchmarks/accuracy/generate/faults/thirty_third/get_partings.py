"""Guilty storage of the thirty-third part: targets lose their network or power, or are restarted, while ranks read.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.getters import (
    answered_by_assembler,
    asks_until_it_is_gone,
    buffered_timed_out,
    in_one_step,
    other_assembler,
    read_before,
    struck_by,
    tried,
)
from benchmarks.accuracy.generate.faults.words.tries import client_told, moments
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisassemblies, aisobjects, aisunplugged, chains
from fixtures.generator import aisfaults as faults
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirty_third")
ALSO = ("data_loading_stall", "infrastructure")
ALIVE = ("ranks that raised stay alive in a non-daemon thread, as in the recorded runs",)
#: Seconds between the tries of a batch.
WAITS = (1.5, 2.5, 3.5, 4.5)
NOISE = (*RESTARTS, "kalive_hiccup", "soft_errors", "mountpath_before")


@kind(reads=True, lead_s=57.0, without=(*NOISE, "tenant_errors"))
def unplugged_owner_is_dialed_in_vain(stage: Stage) -> Scenario:
    """The network of a target is down while ranks get its objects (urllib3, connect timeout; aistore docs, ha).

    To convict: dialing times out in each try of these ranks, always at the address of one target; its peers dial it in
    vain too, and the primary misses it and removes it. It lives on: in these minutes it counts nothing and tells only
    that it cannot reach the primary, and is added back later. Nobody has trouble with any other target.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("unplugged")
    client_told(stage, "get-batch for utterances, Object.get_reader().read_all() for noise, timeouts of 3 s and 20 s")
    stage.open()
    cut = stage.mark(at - draw.span(20, 700), f"the network of {victim.name} is down")
    back = stage.mark(cut + draw.span(86_000, 118_000), f"the network of {victim.name} is up")
    gone = aisunplugged.unplugged(cluster, victim, cut, back, draw, draw.whole(1, 3))
    struck = in_one_step(stage, 4, draw)
    for one in struck:
        longest = draw.pick((3.4, 30.0))
        asks_until_it_is_gone(stage, at + draw.span(1, 180), one, gone, draw, dials=True, longest_s=longest)
    stage.hang(at + 380 * MS, *struck)
    return stage.close(
        "Somebody had taken the cable of the port beside it out of the switch, as it seemed.",
        (struck_by(stage, "storage_io", struck, victim, ("network", *ALSO)),),
        ALIVE,
        until=back + seconds(70),
    )


@kind(reads=True, ais_order=450, lead_s=66.0, without=NOISE)
def entries_do_not_come_over_a_dead_data_network(stage: Stage) -> Scenario:
    """A target's network of streams is down; clients and keepalive have another (aistore docs, networks).

    To convict: the tries of a rank fail after 20 s each, at targets that waited for an entry and had none of a
    neighbour. Streams time out in these minutes between one target and each of its peers, in both directions, and
    between no two others. Nobody is removed: keepalive goes another way.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("data network")
    client_told(stage, "get-batch: 48 entries, buffered, SDK timeouts of 3 s and 90 s, tries 2")
    stage.open()
    cut = stage.mark(at - draw.span(900, 4_000), f"the data network of {victim.name} is down")
    until = over_at(stage) + draw.span(20_000, 40_000)
    aisunplugged.streams_time_out(cluster, victim, cut, until, draw)
    struck = in_one_step(stage, 4, draw)
    for one in struck:
        begun = at + draw.span(1, 120)
        for turn in (1, 2):
            node = draw.pick(cluster.up(begun)) if turn == 2 else other_assembler(stage, begun, draw)
            age, wid = 20 * SEC + draw.span(3, 40), cluster.wid(stage.proxy_of(one), draw)
            then = begun + age
            error = aisassemblies.entry_not_sent(cluster, node, then, wid, draw.whole(0, 9), age)
            failed = answered_by_assembler(stage, then, node, one, wid, error, age)
            tried(stage, then, one, failed, turn, 2)
            begun = then + seconds(2) + draw.span(4, 12)
    stage.hang(at + 380 * MS, *struck)
    return stage.close(
        "A transceiver had failed; the other port of the host carried all but the streams.",
        (struck_by(stage, "storage_io", struck, victim, ("network", *ALSO)),),
        ALIVE,
        until=until + seconds(10),
    )


@kind(reads=True, ais_order=450, lead_s=63.0, without=(*NOISE, "tenant_errors"))
def dark_sender_makes_soft_errors_hard(stage: Stage) -> Scenario:
    """A host loses its power; batches wait for it, and when it is given up too many entries are missing (get_batch).

    To convict: two tries time out after 20 s at targets that are well; then one is over the limit of soft errors. The
    log of another target ends in the second of the others' hang and begins no more; peers that dial it get no answer,
    then no route, and the primary removes it just before the last try, which is why its objects are missing.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("dark sender")
    client_told(stage, "get-batch: by duration, buffered, retries of the SDK only, timeouts of 3 s and 20 s")
    stage.open()
    died = stage.mark(at - draw.span(10, 60), f"the host of {victim.name} has no power")
    left = faults.leave_smap(cluster, victim, died, hung=True)
    peers = draw.shuffled([one for one in cluster.targets if one is not victim])
    aisobjects.lose_host(cluster, victim, died, left, peers[: draw.whole(1, 3)])
    then = at + seconds(20.02)
    for turn in (1, 2):
        late = (left - then) / SEC + 0.08 if turn == 2 else 1.0
        wait = round(max(late, draw.between(1.0, 2.0**turn + 0.5)), 2)
        buffered_timed_out(stage, then, other_assembler(stage, at, draw), rank, wait)
        then += seconds(wait) + (seconds(20.02) if turn == 1 else draw.span(12, 40))
    failed = chains.soft_limit(stage, then, other_assembler(stage, then, draw), rank)
    stage.job.raise_on(then + 6 * MS, rank, failed.traceback)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Both supplies of the host hung on one outlet, which had been switched off.",
        (stage.guilty("storage_io", victim, also=("network", *ALSO)),),
        ALIVE,
        until=max(left, then) + seconds(60),
    )


@kind(reads=True, targets=4, lead_s=122.0, without=(*NOISE, "tenant_errors"))
def restart_of_a_target_outlasts_the_tries(stage: Stage) -> Scenario:
    """Targets are restarted one after the other; one takes longer than the tries of a job (recorded 07; ais operator).

    To convict: at the first restart, of some seconds, a rank misses entries in four tries and has them at the fifth. At
    the second, of another target, ranks miss entries in all of their tries; that target has said that it stops, has
    left the map in the second of the first try, and starts again only after the last one.
    """
    cluster, victim, job = stage.cluster, stage.victim, stage.job
    draw = stage.draw.child("one by one")
    twin = draw.pick([one for one in cluster.targets if one is not victim])
    client_told(stage, "get-batch: 36 entries, streaming, tries 5")
    step, patient = read_before(stage, 74.0)
    spent = seconds(sum(WAITS)) + draw.span(100, 300)
    job.delay(step, spent)
    stage.at += spent
    stage.open(until_step=step)
    first = job.step_at(step) + 45 * MS
    faults.terminate(cluster, twin, first - 40 * MS)
    _misses(stage, first, patient, 4, draw)
    joined = faults.start_again(cluster, twin, first + draw.span(6_900, 7_500))
    cluster.start_batches(joined + seconds(2.6), stage.other_target(victim))
    job.train(step, stage.step)
    stage.load(job, first + spent, job.step_at(stage.step))
    at = stage.at
    stopped = stage.mark(at - draw.span(20, 300), f"SIGTERM {victim.name}, whose image is being fetched")
    faults.terminate(cluster, victim, stopped)
    struck = in_one_step(stage, 4, draw)
    for one in struck:
        _misses(stage, at + draw.span(1, 150), one, 5, draw)
    back = stage.mark(at + draw.span(34_000, 58_000), f"{victim.name} is started again")
    joined = faults.start_again(cluster, victim, back)
    stage.hang(at + 390 * MS, *struck)
    return stage.close(
        "Its host had no copy of the new image, and the registry was slow.",
        (struck_by(stage, "storage_io", struck, victim, ("data", *ALSO)),),
        ALIVE,
        until=joined + seconds(60),
    )


def _misses(stage: Stage, at: int, rank: int, fail: int, draw: Draw) -> None:
    """So many of five tries of a batch lack an entry of the target that is away; the last one raises."""
    name = utterance(draw)
    for turn, then in enumerate(list(moments(at, WAITS, draw))[:fail], 1):
        node = draw.pick(stage.cluster.up(then))
        tried(stage, then, rank, chains.missing_entry(stage, then, node, node, name, draw.whole(1, 7)), turn, 5)
