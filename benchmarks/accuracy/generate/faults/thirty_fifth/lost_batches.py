"""Guilty storage of targets that are lost while batches need them: stopped, killed, drained, asked too early.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.getters import (
    answered_by_assembler,
    in_one_step,
    other_assembler,
    sample_of,
    struck_by,
    tried,
)
from benchmarks.accuracy.generate.faults.words.lostones import BEFORE_IT_LEAVES, REFUSED_S, tried_in_vain
from benchmarks.accuracy.generate.faults.words.natives import one_by_one_failed, refused_at, truncated
from benchmarks.accuracy.generate.faults.words.tries import client_told, moments, removed_and_back, turned_down
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisassemblies, chains
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator.chains import Failed
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "thirty_fifth")
NOISE = (*RESTARTS, "kalive_hiccup", "soft_errors", "mountpath_before")
ALSO = ("infrastructure",)
ALIVE = ("ranks that raised stay alive in a non-daemon thread, as in the recorded runs",)


@kind(reads=True, ais_order=450, lead_s=58.0, without=NOISE)
def stopped_target_times_out_its_neighbours_batches(stage: Stage) -> Scenario:
    """A target hangs, and who puts a batch together waits for its entries (ais-sample, SIGSTOP of t[wfot8083]).

    To convict: the time-out of 20 s names the assembler, which has written lines before and after and is never missed;
    the tries after it are answered with 400 since one other target does not answer its proxy in two seconds. That one
    writes no line and counts nothing from before the first try on, the primary misses it and removes it.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, until = stage.draw.child("stopped"), over_at(stage) + seconds(33)
    client_told(stage, "get-batch: 48 entries, streaming, tries 3")
    stage.open()
    stood = stage.mark(at - draw.span(8, 70), f"SIGSTOP {victim.name}")
    faults.stop(cluster, victim, stood, until)
    faults.leave_smap(cluster, victim, stood, hung=True)
    wait = round(draw.between(1.0, 1.5), 2)
    then = at + seconds(20.02)
    chains.read_timed_out(stage, then, other_assembler(stage, at, draw), rank, wait)
    then += seconds(wait) + draw.span(3, 9)
    for turn in (1, 2, 3):
        then += draw.span(2_002, 2_009)
        failed = chains.dead_designated(stage, then, victim, rank, ev.DEADLINE)
        tried(stage, then, rank, failed, turn, 3)
        then += seconds(turn) + draw.span(8, 20)
    stage.hang(at + 210 * MS, rank)
    stage.mark(until, f"SIGCONT {victim.name}")
    back = faults.resume(cluster, victim, until + 2 * MS)
    return stage.close(
        "Somebody had attached a debugger to the process and gone to a meeting.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ALIVE,
        until=back + seconds(55),
    )


@kind(reads=True, ais_order=450, lead_s=60.0, without=(*NOISE, "loader_fallbacks"))
def lhotse_asks_one_by_one_at_a_killed_target(stage: Stage) -> Scenario:
    """A target is killed in the middle of a step, and lhotse gets what is missing by itself (recorded 02; lhotse 1.33).

    To convict: each rank's stream is truncated, and the object that it then asks for alone is refused seven times at
    one address. The targets that put the batches together name the same one as they abort, peers lose their streams to
    it in that moment, its log ends without a word, and the primary removes it after the last try.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("one by one")
    client_told(stage, "lhotse AISBatchLoader, USE_AIS_GET_BATCH=true")
    stage.open()
    died = stage.mark(at - draw.span(10, 50), f"kill -9 {victim.name}")
    faults.kill(cluster, victim, died)
    struck = in_one_step(stage, 3, draw)
    for turn, rank in enumerate(struck):
        then, index, name = at + turn * draw.span(5, 70), draw.whole(0, 9), sample_of(draw)
        chains.cut_off_stream(stage, then, other_assembler(stage, at, draw), victim, rank, index, 48)
        truncated(stage, then + 4 * MS, rank, index, 48)

        def why(rank: int = rank, name: str = name) -> str:
            return refused_at(stage, rank, victim, draw, name)

        then = tried_in_vain(stage, then + 7 * MS, rank, why, draw, BEFORE_IT_LEAVES, REFUSED_S)
        stage.job.sdk_warning(then, rank, "All retries exhausted; request failed", "ERROR")
        one_by_one_failed(stage, then + 3 * MS, rank, name, why(), sequential=False)
    removed_and_back(stage, died)
    stage.hang(at + 330 * MS, *struck)
    return stage.close(
        "Its pod had been evicted by a node that was short of ephemeral storage.",
        (struck_by(stage, "storage_io", struck, victim, ALSO),),
        ALIVE,
        until=died + seconds(100),
    )


def _lacks_too_much(stage: Stage, at: int, designated: Node, rank: int) -> Failed:
    """A buffered batch is put together by a target that is well, and more entries are nowhere than may be.

    The more targets there are, the less of a batch two of them have: the limit of a large cluster is lower.
    """
    cluster, xact = stage.cluster, stage.cluster.xact
    draw = stage.draw.child("lacks", rank, at)
    wid, age, got = cluster.wid(stage.proxy_of(rank), draw), draw.span(3.6, 8.8), draw.whole(6, 19)
    stage.mark(at, f"get-batch {wid} of rank {rank} at {designated.name} has too many soft errors")
    if xact is None:
        return Failed("", "")
    limit = 8 if len(cluster.targets) <= 8 else 3 if len(cluster.targets) <= 20 else 1
    text = ev.soft_limit(xact, wid, limit)
    work = ev.Work(wid, age, got, got * 17_160, streaming=False)
    cluster.say(designated, at, ev.bcast_abort(designated, xact, text), ev.work_error(xact, text, work))
    cluster.count(designated, at, getbatch_n=1, getbatch_obj_n=got, getbatch_obj_size=got * 17_160)
    cluster.count(designated, at, err_getbatch_n=1, err_soft_getbatch_n=limit + 1)
    return answered_by_assembler(stage, at, designated, rank, wid, text, age)


@kind(reads=True, ais_order=450, targets=5, lead_s=62.0, without=(*NOISE, "tenant_errors", "tenant_disconnects"))
def two_targets_drained_at_once_leave_batches_short(stage: Stage) -> Scenario:
    """Two storage hosts are drained in one go, with no disruption budget (kubernetes docs, safely drain a node).

    To convict: all tries are answered with 400 by targets that are well, for more soft errors than a batch may have;
    there was none until two targets were told to stop by Signal 15, took themselves out of the map seconds before, and
    did not come back. No rebalance, so what they have is nowhere else.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("drained")
    twin = stage.other_target(victim, draw.whole(0, 50))
    most = draw.whole(3, 5)
    client_told(stage, f"get-batch: 48 entries, buffered, tries {most}")
    stage.open()
    first = stage.mark(at - draw.span(3_400, 4_600), f"kubectl drain: SIGTERM {victim.name}")
    faults.terminate(cluster, victim, first)
    second = stage.mark(first + draw.span(700, 2_300), f"kubectl drain: SIGTERM {twin.name}")
    faults.terminate(cluster, twin, second)
    for turn, then in enumerate(moments(at, (1.0, 2.0, 3.0, 4.0)[: most - 1], draw), 1):
        designated = draw.pick(cluster.up(then))
        tried(stage, then, rank, _lacks_too_much(stage, then, designated, rank), turn, most)
    stage.hang(at + 240 * MS, rank)
    return stage.close(
        "Their kernels were to be updated, and somebody had selected the hosts by the wrong label.",
        (stage.guilty("storage_io", victim, twin, also=ALSO),),
        ALIVE,
    )


@kind(reads=True, ais_order=450, lead_s=56.0, without=NOISE)
def restarted_target_is_asked_before_it_is_ready(stage: Stage) -> Scenario:
    """A target crashes, its container is back in two seconds and takes no batches yet (ais-sample, not ready yet).

    To convict: two tries are refused at one address, the third is answered with 503 by the same target, which says so
    itself in a new log that is younger than the first try; its old one ends without a word as peers lose their streams
    to it. The primary had no time to miss it. The client makes no tries of its own.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("not ready")
    client_told(stage, "get-batch: 48 entries, streaming, tries 3, SDK retries off")
    stage.open()
    died = stage.mark(at - draw.span(9, 60), f"{victim.name} crashes")
    faults.kill(cluster, victim, died)
    back = stage.mark(died + draw.span(1_900, 2_300), f"the container of {victim.name} starts again")
    joined = faults.start_again(cluster, victim, back)
    for turn, then in enumerate(moments(at, (1.0, 2.0), draw), 1):
        if turn < 3:
            failed = chains.dead_designated(stage, then, victim, rank)
        else:
            wid, proxy = cluster.wid(stage.proxy_of(rank), draw), stage.proxy_of(rank)
            stage.mark(then, f"get-batch {wid} of rank {rank} is turned down by {victim.name}")
            aisassemblies.turned_down(cluster, proxy, victim, then - 2 * MS, wid, "not ready yet")
            failed = turned_down(stage, then, rank, wid, 503, "not ready yet")
        tried(stage, then, rank, failed, turn, 3)
    stage.hang(at + 260 * MS, rank)
    return stage.close(
        "A nil pointer, fixed in the next release; kubelet starts a container that has run long again at once.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ALIVE,
        until=joined + seconds(60),
    )
