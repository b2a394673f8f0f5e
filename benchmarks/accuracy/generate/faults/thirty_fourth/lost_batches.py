"""Guilty storage of the thirty-fourth part: targets that are lost while ranks ask for batches.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.getters import buffered_timed_out, other_assembler
from benchmarks.accuracy.generate.faults.words.lostones import (
    BEFORE_IT_LEAVES,
    REFUSED_S,
    cut_in_a_member,
    tried_in_vain,
)
from benchmarks.accuracy.generate.faults.words.natives import one_by_one_failed, refused_at, truncated
from benchmarks.accuracy.generate.faults.words.tries import (
    again,
    client_told,
    moments,
    other_targets,
    removed_and_back,
    turned_down,
)
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisassemblies, aisdisk, aisquiet, chains
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator.chains import Failed
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirty_fourth")
ALSO = ("data_loading_stall", "network", "infrastructure")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)
NOISE = (*RESTARTS, "kalive_hiccup", "soft_errors", "mountpath_before")


@kind(reads=True, ais_order=450, lead_s=60.0, without=NOISE)
def assembler_is_killed_in_the_middle_of_a_stream(stage: Stage) -> Scenario:
    """kill -9 of the target that streams a batch to a rank, which then tries in vain (recorded 02, 10 and 15).

    To convict: the first try breaks off and names nobody, in the moment in which peers lose their streams to one target
    and the log of that one ends without a word; the later tries are refused at its address, or short since the targets
    that put them together cannot tell it to stop. The primary removes it, and none of the others has an error besides.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("stream")
    most = draw.pick((3, 4, 5))
    client_told(stage, f"get-batch: 48 entries, streaming, tries {most}")
    stage.open()
    died = stage.mark(at + draw.span(60, 240), f"kill -9 {victim.name}, which streams a batch to rank {rank}")
    faults.kill(cluster, victim, died)
    first = Failed(*cut_in_a_member(stage, stage.step, draw.whole(3_000, 61_000)))
    again(stage, died + 3 * MS, rank, first, 1, most)
    waits = (1.0, 2.0, 3.0, 4.0)[: most - 1]
    for turn, then in enumerate(moments(died + 4 * MS, waits, draw), 1):
        if turn == 1:
            continue
        if turn == most or draw.chance(0.35):
            failed = chains.dead_designated(stage, then, victim, rank)
        else:
            whole = draw.pick(other_targets(stage, then))
            failed = chains.cut_off_stream(stage, then, whole, victim, rank, draw.whole(0, 9), 48)
        if turn < most:
            again(stage, then + 6 * MS, rank, failed, turn, most)
        else:
            stage.job.raise_on(then + 8 * MS, rank, failed.traceback)
    removed_and_back(stage, died)
    stage.hang(at + 360 * MS, rank)
    return stage.close(
        "Somebody had killed the process to see what would happen.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ALIVE,
        until=died + seconds(100),
    )


@kind(reads=True, ais_order=450, lead_s=84.0, without=NOISE)
def target_out_of_memory_ends_batches_of_lhotse(stage: Stage) -> Scenario:
    """A target is killed for its memory; lhotse asks for what its batch lacks, alone (lhotse 1.33; kubernetes docs).

    To convict: the batch of one rank is cut short by a target that is well and names the one it wanted entries of; the
    object is then refused seven times at that one's address. Its log has alerts of memory at each tick and breaks off
    after them; peers lose their streams, the primary removes it.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("memory")
    client_told(stage, "lhotse AISBatchLoader: streaming get-batch, 48 cuts at most")
    stage.open()
    died = stage.mark(at - draw.span(8, 70), f"the kernel kills {victim.name} for its memory")
    aisdisk.memory_pressure(cluster, victim, died - seconds(draw.between(58, 71)), died, "extreme", draw.child("low"))
    aisquiet.too_much_memory(cluster, victim, died - seconds(34), draw.child("none"))
    faults.kill(cluster, victim, died)
    got, wanted = draw.whole(0, 11), 48
    chains.cut_off_stream(stage, at, draw.pick(other_targets(stage, at)), victim, rank, got, wanted)
    truncated(stage, at + 7 * MS, rank, got, wanted)
    name = utterance(draw)
    then = tried_in_vain(
        stage,
        at + 9 * MS,
        rank,
        lambda: refused_at(stage, rank, victim, draw, name),
        draw,
        BEFORE_IT_LEAVES,
        REFUSED_S,
    )
    stage.job.sdk_warning(then, rank, "All retries exhausted; request failed", "ERROR")
    one_by_one_failed(stage, then + MS, rank, name, refused_at(stage, rank, victim, draw, name), sequential=False)
    removed_and_back(stage, died)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Another bucket had been read with very large batches, and the limit of the container was too low.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ALIVE,
        until=died + seconds(100),
    )


@kind(reads=True, ais_order=450, lead_s=62.0, without=NOISE)
def target_started_again_takes_no_batches_yet(stage: Stage) -> Scenario:
    """A target is back in the service after seconds and not ready (recorded runs, `not ready yet`; docs/get_batch).

    To convict: all tries of one rank have to do with one target: refused at its address, short for want of its entries,
    and at last told 503 by that one itself, whose line and the proxy's have the wid. Its log has broken off before and
    begins anew in between; the primary has not missed it, and it is ready two seconds after the rank had enough.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, proxy = stage.draw.child("not ready"), stage.proxy_of(stage.culprit)
    client_told(stage, "get-batch: 48 entries, streaming, tries 4, no retries of a status")
    stage.open()
    died = stage.mark(at - draw.span(10, 50), f"{victim.name} crashes")
    faults.kill(cluster, victim, died)
    tries = list(moments(at, (1.0, 2.0, 3.0), draw))
    refused = draw.pick((0, 1, 2))
    for turn, then in enumerate(tries[:-1]):
        if turn == refused:
            failed = chains.dead_designated(stage, then, victim, rank)
        else:
            whole = draw.pick(other_targets(stage, then))
            failed = chains.cut_off_stream(stage, then, whole, victim, rank, draw.whole(0, 8), 48)
        again(stage, then + 6 * MS, rank, failed, turn + 1, len(tries))
    last = tries[-1]
    back = stage.mark(last - draw.span(350, 900), f"{victim.name} is started again by its kubelet")
    faults.reconnects(cluster, victim, died, back - 200 * MS, 1)
    joined = faults.start_again(cluster, victim, back)
    wid = cluster.wid(proxy, draw)
    aisassemblies.turned_down(cluster, proxy, victim, last, wid, "not ready yet")
    failed = turned_down(stage, last, rank, wid, 503, "not ready yet")
    stage.job.raise_on(last + 5 * MS, rank, failed.traceback)
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "The pod was told to be ready as soon as its port was open.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ALIVE,
        until=joined + seconds(75),
    )


@kind(reads=True, ais_order=450, lead_s=60.0, without=NOISE)
def stopped_target_spoils_one_try_after_another(stage: Stage) -> Scenario:
    """SIGSTOP: batches that it should put together fail after 2 s, those it owes entries to after 20 (recorded 03).

    To convict: proxies give one target up after two seconds each time, with its address and the wid; the try that timed
    out at another target did so for want of entries, and that one writes to nobody a moment later. The first has
    written no line and counted nothing since then, the primary misses it, removes it, and adds it when it goes on.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("spoilt")
    most = draw.pick((2, 3))
    client_told(stage, f"get-batch: 48 entries, buffered, tries {most}")
    stage.open()
    stood = stage.mark(at - draw.span(6, 40), f"SIGSTOP {victim.name}")
    until = over_at(stage) + seconds(draw.between(24, 40))
    faults.stop(cluster, victim, stood, until)
    faults.leave_smap(cluster, victim, stood, hung=True)
    failed = chains.dead_designated(stage, at + 2 * SEC, victim, rank, ev.DEADLINE)
    again(stage, at + 2 * SEC + 6 * MS, rank, failed, 1, most)
    then = at + seconds(3.0) + draw.span(10, 30) + seconds(20.02)
    wait = round(draw.between(1.0, 1.5), 2)
    buffered_timed_out(stage, then, other_assembler(stage, then, draw), rank, wait)
    then += seconds(wait) + 2 * SEC
    for turn in range(2, most + 1):
        failed = chains.dead_designated(stage, then, victim, rank, ev.DEADLINE)
        if turn < most:
            again(stage, then + 6 * MS, rank, failed, turn, most)
            then += seconds(turn) + 2 * SEC + draw.span(9, 30)
    stage.job.raise_on(then + 8 * MS, rank, failed.traceback)
    stage.hang(at + 350 * MS, rank)
    stage.mark(until, f"SIGCONT {victim.name}")
    back = faults.resume(cluster, victim, until + 2 * MS)
    return stage.close(
        "A debugger had been attached to the process, and forgotten.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ALIVE,
        until=back + seconds(60),
    )
