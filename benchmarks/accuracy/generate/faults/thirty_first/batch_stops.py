"""Storage faults of the thirty-first part: a target stands still or is stopped while get-batch needs it."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth.stacks import main_thread, py_spy
from benchmarks.accuracy.generate.faults.words.doorways import assembly_failed
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.tries import (
    again,
    client_told,
    other_targets,
    stands_in_a_stream,
    turned_down,
)
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisassemblies, chains, sdk
from fixtures.generator import aisfaults as faults
from fixtures.generator.chains import Failed
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirty_first")
ALSO = ("storage_io", "infrastructure")


@kind(reads=True, ais_order=450, lead_s=64.0, without=(*RESTARTS, "kalive_hiccup"))
def stream_without_read_timeout_stops_with_its_target(stage: Stage) -> Scenario:
    """A target stops in the middle of a stream whose reader waits for ever (SIGSTOP; SDK, timeout=None).

    To convict: the rank that all wait for prints nothing and stands in the read of a streamed batch; the log and the
    counters of one target stop in that second, the primary asks it in vain and removes it after 40 s; let go after the
    job, it finds the client of a batch gone whose age is that of the wait.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("stops")
    client_told(stage, "get-batch: 48 entries, streaming, Client(timeout=None)")
    stage.open()
    stopped = stage.mark(at + draw.span(60, 900), f"SIGSTOP {victim.name}")
    over = over_at(stage) + seconds(30) + draw.span(1, 20_000)
    faults.stop(cluster, victim, stopped, over)
    faults.leave_smap(cluster, victim, stopped, hung=True)
    py_spy(
        stage, min(draw.between(24, 44), stage.params.timeout_s - 12), (main_thread(stage, *stands_in_a_stream(stage)),)
    )
    stage.hang(at + 330 * MS, rank)
    stage.mark(over, f"SIGCONT {victim.name}")
    wid = cluster.wid(stage.proxy_of(rank), draw)
    aisassemblies.gone_from_the_assembler(
        cluster, victim, over + draw.span(3, 40), stage.client(rank), wid, draw.whole(4, 40), over - at
    )
    back = faults.resume(cluster, victim, over + 2 * MS)
    return stage.close(
        "A debugger was attached to the wrong process of a host that runs two of them.",
        (stage.guilty("data_loading_stall", victim, also=ALSO),),
        until=back + seconds(55),
    )


@kind(reads=True, ais_order=450, lead_s=64.0, without=(*RESTARTS, "kalive_hiccup"))
def frozen_sender_is_back_before_it_is_missed(stage: Stage) -> Scenario:
    """A sender stands still for half a minute, and a batch at another target gives up after 20 s (docs/get_batch).

    To convict: the error names an entry that did not come and the target that waited for it, which is well; in these
    seconds one other target neither writes nor counts, and the primary cannot reach it, twice. It is never removed: no
    map changes, and its own log tells nothing but one keepalive that came late.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("frozen")
    client_told(stage, "get-batch: 48 entries, buffered, read timeout 300 s, tries 1")
    stage.open()
    frozen = stage.mark(at - draw.span(20, 700), f"{victim.name} stands still")
    back = stage.mark(frozen + draw.span(24_500, 31_000), f"{victim.name} goes on")
    aisassemblies.frozen_for_seconds(cluster, victim, frozen, back)
    designated, wid = draw.pick(other_targets(stage, frozen)), cluster.wid(stage.proxy_of(rank), draw)
    ended = at + seconds(20.01) + draw.span(2, 30)
    text = aisassemblies.entry_not_sent(
        cluster, designated, ended, wid, draw.whole(1, 30), ended - at - draw.span(1, 3)
    )
    _, raised = assembly_failed(stage, rank, designated, wid, text)
    stage.job.raise_on(ended + 5 * MS, rank, raised)
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "Its virtual machine was copied to another host, as all of them were that week.",
        (stage.guilty("data_loading_stall", victim, also=("network", *ALSO)),),
        until=back + seconds(45),
    )


@kind(reads=True, hangs=False, ais_order=450, lead_s=62.0, without=(*RESTARTS, "soft_errors", "mountpath_before"))
def rolling_restart_meets_each_try_of_a_rank(stage: Stage) -> Scenario:
    """A target is restarted for an update, and tries of a batch fall before, into and after that (ais-k8s, rollout).

    To convict: three tries fail in three ways, of which the second names an innocent target that lacks an object; one
    target has taken itself out of the map on a signal just before, and turns down the last try, not ready yet. Other
    ranks meet one or two of these and go on.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("rolling")
    client_told(stage, "get-batch: buffered, tries 3, retries of the SDK off")
    stage.open()
    down = stage.mark(at - draw.span(30, 180), f"SIGTERM {victim.name}, an update")
    faults.terminate(cluster, victim, down)
    aborted = "('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))"
    broken = Failed(f"ConnectionError: {aborted}", "")
    again(stage, at, rank, broken, 1, 3)
    struck = readers(stage)[: draw.whole(2, 5)]

    def lacking(then: int, one: int) -> Failed:
        node = draw.pick(other_targets(stage, then))
        return chains.missing_entry(stage, then, node, node, utterance(draw), draw.whole(1, 7))

    for one in struck:
        then = at + draw.span(300, 3_900)
        again(stage, then + 5 * MS, one, lacking(then, one), 1, 3)
    second = at + draw.span(2_003, 2_009)
    again(stage, second + 5 * MS, rank, lacking(second, rank), 2, 3)
    third = second + draw.span(4_004, 4_010)
    back = stage.mark(third - draw.span(1_400, 1_750), f"{victim.name} is started again")
    joined = faults.start_again(cluster, victim, back)
    for one in [rank, *struck[: draw.whole(0, 2)]]:
        then = third if one == rank else third - draw.span(20, 280)
        wid = cluster.wid(stage.proxy_of(one), draw)
        aisassemblies.turned_down(cluster, stage.proxy_of(one), victim, then, wid, "not ready yet")
        failed = turned_down(stage, then, one, wid, 503, "not ready yet")
        if one == rank:
            stage.job.raise_on(then + 5 * MS, rank, failed.traceback)
        else:
            again(stage, then + 5 * MS, one, failed, 2, 3)
    cluster.start_batches(joined + seconds(3.6), draw.pick(other_targets(stage, joined)))
    leaves(stage, third + 8 * MS, rank)
    return stage.close(
        "The other targets had been updated at night, and this one was the last.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "infrastructure", "data")),),
        until=joined + seconds(60),
    )


@kind(reads=True, ais_order=430, lead_s=62.0, without=(*RESTARTS, "soft_errors", "mountpath_before"))
def maintenance_without_rebalance_leaves_neighbours_nothing(stage: Stage) -> Scenario:
    """A target is put into maintenance and its objects stay on it (docs/lifecycle_node, no-rebalance; GFN).

    To convict: tries of several ranks end early at whatever target, and each of these counts neighbours that it asked
    in vain, and soft errors, from the second in which an operator put one target into maintenance. No rebalance
    follows, and nothing else has changed. The client has no HTTP error, and is told of no target. The action of the
    map: wording from memory.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("maintenance")
    many = len(cluster.targets)
    whole = 256 if many <= 14 else 1_024
    client_told(stage, f"get-batch: {whole} entries, streaming, tries 4")
    stage.open()
    began = stage.mark(at - draw.span(400, 2_400), f"maintenance of {victim.name} begins, without a rebalance")
    aisassemblies.put_into_maintenance(cluster, victim, began)

    def ends(then: int, one: int) -> Failed:
        node, wid = draw.pick(other_targets(stage, then)), cluster.wid(stage.proxy_of(one), draw)
        got = min(whole - 3, int(9 * many * draw.between(0.6, 1.2)))
        aisassemblies.ends_early(cluster, node, then, wid, got, draw.span(9, 90), soft=9, asked=5)
        return Failed(*sdk.short_batch(stage.job.job, stage.step, got, whole))

    for one in readers(stage)[: draw.whole(1, 3)]:
        then = at + draw.span(100, 1_900)
        for turn in range(draw.whole(1, 3)):
            again(stage, then + 5 * MS, one, ends(then, one), turn + 1, 4)
            then += draw.span(1_900, 6_000)
    then = at
    for turn, wait in enumerate((2.0, 4.0, 8.0)):
        again(stage, then + 5 * MS, rank, ends(then, rank), turn + 1, 4)
        then += seconds(wait) + draw.span(12, 99)
    stage.job.raise_on(then + 6 * MS, rank, ends(then, rank).traceback)
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "A disk was to be changed, which takes ten minutes.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "infrastructure", "data")),),
        until=then + 30 * SEC,
    )
