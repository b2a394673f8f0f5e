"""Guilty storage of the thirty-third part: targets that crash or are killed while batches and objects are read of them.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.getters import (
    asks_until_it_is_gone,
    in_one_step,
    other_assembler,
    read_before,
    struck_by,
    tried,
)
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.tries import client_told, moments, removed_and_back
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisabsences, aisdisk, aislapses, aisunplugged, chains
from fixtures.generator import aisfaults as faults
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "thirty_third")
ALSO = ("data_loading_stall", "infrastructure")
ALIVE = ("ranks that raised stay alive in a non-daemon thread, as in the recorded runs",)
NOISE = (*RESTARTS, "kalive_hiccup", "soft_errors", "mountpath_before")


@kind(reads=True, lead_s=58.0, without=(*NOISE, "tenant_errors"))
def crashed_owner_refuses_the_reads_of_ranks(stage: Stage) -> Scenario:
    """Ranks get single objects as their owner is killed (recorded 02 with plain GET; aistore/sdk, retry_config.py).

    To convict: the retries of these ranks all name the address of one target; they end when the SDK has tried seven
    times, or with a 404 of another target once the primary has removed the first. The log of that one ends without a
    word just before the first retry, and begins anew later.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("owner")
    client_told(stage, "get-batch for utterances, Object.get_reader().read_all() for noise, retries of the SDK only")
    stage.open()
    died = stage.mark(at - draw.span(10, 70), f"kill -9 {victim.name}")
    faults.kill(cluster, victim, died)
    gone = removed_and_back(stage, died)
    struck = in_one_step(stage, 4, draw)
    for one in struck:
        asks_until_it_is_gone(stage, at + draw.span(1, 180), one, gone, draw)
    stage.hang(at + 380 * MS, *struck)
    return stage.close(
        "The machine of the target had more memory promised than it has.",
        (struck_by(stage, "storage_io", struck, victim, ("network", *ALSO)),),
        ALIVE,
        until=died + seconds(100),
    )


@kind(reads=True, hangs=False, lead_s=54.0, without=NOISE)
def batch_goes_to_a_target_that_has_just_crashed(stage: Stage) -> Scenario:
    """The proxy gives a buffered batch to a target that crashed a second ago; 400 is not repeated (recorded 10).

    To convict: the rank's error has the address of a target and a wid, and so has the line of its proxy: connection
    refused. The log of that target ends a moment before without a word (Go's panic goes to stderr) and a new one begins
    some seconds later, so quickly that the primary does not miss it. The rank exits and takes the job with it.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("crashed")
    client_told(stage, "get-batch: 48 entries, buffered, no tries of its own")
    stage.open()
    died = stage.mark(at - draw.span(60, 1_400), f"{victim.name} crashes")
    faults.kill(cluster, victim, died)
    failed = chains.dead_designated(stage, at, victim, rank)
    stage.job.raise_on(at + 7 * MS, rank, failed.traceback)
    back = stage.mark(died + draw.span(3_200, 5_900), f"{victim.name} is started again")
    joined = faults.start_again(cluster, victim, back)
    leaves(stage, at + 10 * MS, rank)
    return stage.close(
        "It had met a nil pointer in a housekeeping callback; systemd started it again.",
        (stage.guilty("storage_io", victim, also=("network", *ALSO)),),
        until=joined + seconds(60),
    )


@kind(reads=True, ais_order=450, lead_s=100.0, without=NOISE)
def sender_out_of_memory_cuts_the_batches_of_a_step(stage: Stage) -> Scenario:
    """A target grows until the kernel kills it, and streams to all that read then end short (recorded 02; oom killer).

    To convict: the target has told of low memory at every tick for more than a minute, and then its log ends without a
    word. Peers lose their streams to it in the same moment, batches of several ranks end short at targets that are
    well and name it as they abort; some are refused there. It is removed half a minute later.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("memory")
    client_told(stage, "get-batch: 48 entries, streaming, no tries of its own")
    stage.open()
    died = at - draw.span(8, 30)
    aisdisk.memory_pressure(cluster, victim, died - draw.span(74_000, 88_000), died, "extreme", draw)
    stage.mark(died, f"{victim.name} is killed for its memory")
    faults.kill(cluster, victim, died)
    struck = in_one_step(stage, 7, draw)
    for turn, one in enumerate(draw.shuffled(struck)):
        then = at + draw.span(1, 90) + turn * 7 * MS
        if turn and draw.chance(1 / len(cluster.targets)):
            failed = chains.dead_designated(stage, then, victim, one)
        else:
            node = other_assembler(stage, then, draw)
            failed = chains.cut_off_stream(stage, then, node, victim, one, draw.whole(0, 4), 48)
        stage.job.raise_on(then + 6 * MS, one, failed.traceback)
    removed_and_back(stage, died)
    stage.hang(at + 410 * MS, *struck)
    return stage.close(
        "A cache of metadata had grown beyond the limit of the pod.",
        (struck_by(stage, "storage_io", struck, victim, ALSO),),
        ALIVE,
        until=died + seconds(100),
    )


@kind(reads=True, ais_order=450, lead_s=104.0, without=NOISE)
def target_crashes_in_a_loop_until_tries_run_out(stage: Stage) -> Scenario:
    """A pod crashes again and again, and waits longer each time (kubernetes docs, CrashLoopBackOff; recorded 15).

    To convict: the log of one target ends three times without a word and begins anew after a second, then ten, then
    twenty. At each end of it a rank fails tries, refused at its address or short for want of it, at 0, 5 and 15
    seconds; the first rank goes on with the second try, another one with the third, the last one has no more.
    """
    cluster, victim, job = stage.cluster, stage.victim, stage.job
    draw = stage.draw.child("loop")
    client_told(stage, "get-batch: 48 entries, streaming, tries 3, after 5 s and 10 s")
    before = [read_before(stage, 42.0), read_before(stage, 15.0)]
    spent = [seconds(5) + draw.span(40, 90), seconds(15) + draw.span(50, 120)]
    for (step, _), late in zip(before, spent, strict=True):
        job.delay(step, late)
        stage.at += late
    stage.open(until_step=before[0][0])
    downs = (draw.span(1_100, 1_500), draw.span(10_050, 10_400))
    for turn, (step, other) in enumerate(before):
        then = job.step_at(step) + 45 * MS
        _crash(stage, then - 20 * MS, downs[turn], draw.child("crash", turn))
        _tries(stage, then, other, turn + 1)
        end = before[1][0] if turn == 0 else stage.step
        job.train(step, end)
        stage.load(job, then + spent[turn], job.step_at(end))
    died = stage.at - draw.span(12, 40)
    joined = _crash(stage, died, draw.span(20_100, 20_900), draw.child("crash", 2))
    aisunplugged.missed_twice(cluster, victim, died, joined)
    _tries(stage, stage.at, stage.culprit, 3)
    stage.hang(stage.at + 360 * MS, stage.culprit)
    return stage.close(
        "A new build of the target ran into the same fault whenever a certain shard was read; rebalance is off.",
        (stage.guilty("storage_io", victim, also=("network", "software", *ALSO)),),
        ALIVE,
        until=joined + 60 * SEC,
    )


def _crash(stage: Stage, died: int, down: int, draw: Draw) -> int:
    """The victim crashes, and is in the map all the time; when it has joined again."""
    cluster, victim = stage.cluster, stage.victim
    stage.mark(died, f"{victim.name} crashes")
    faults.kill(cluster, victim, died)
    faults.reconnects(cluster, victim, died, died + down - SEC, 1)
    back = stage.mark(died + down, f"{victim.name} is started again")
    joined = aisabsences.comes_back_unmoved(cluster, victim, back, draw)
    aislapses.takes_part(cluster, victim, joined + draw.span(1_500, 2_300))
    return joined


def _tries(stage: Stage, at: int, rank: int, fail: int) -> None:
    """So many of three tries of a batch fail while the victim is down; the last one raises."""
    victim, draw = stage.victim, stage.draw.child("tries", rank, at)
    refused = draw.whole(1, 3)
    for turn, then in enumerate(list(moments(at, (5.0, 10.0), draw))[:fail], 1):
        if turn == refused:
            failed = chains.dead_designated(stage, then, victim, rank)
        else:
            node = other_assembler(stage, then, draw)
            failed = chains.cut_off_stream(stage, then, node, victim, rank, draw.whole(0, 6), 48)
        tried(stage, then, rank, failed, turn, 3)
