"""Guilty storage of the thirty-third part: targets that are stopped while batches and objects are read of them.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth.stacks import main_thread, py_spy
from benchmarks.accuracy.generate.faults.words.absentees import connection_listed
from benchmarks.accuracy.generate.faults.words.getters import other_assembler, result_timed_out, sample_of, tried
from benchmarks.accuracy.generate.faults.words.natives import one_by_one_failed, one_line, unanswered_at
from benchmarks.accuracy.generate.faults.words.tries import client_told, moments, stands_in_a_stream
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisassemblies, aisstandstills, chains, sdk
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "thirty_third")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)
NOISE = (*RESTARTS, "kalive_hiccup", "soft_errors", "mountpath_before")


@kind(reads=True, lead_s=56.0, without=NOISE)
def stopped_assembler_is_asked_until_no_try_is_left(stage: Stage) -> Scenario:
    """All members of a batch are in one shard, so each try goes to the same stopped target (recorded 03; get_batch).

    To convict: each try ends two seconds after it began with 400 and the address of one target, which the proxy could
    not ask before its deadline; the proxy tells the same with the same wid. From the first try on that target writes
    and counts nothing, the primary cannot reach it either, and removes it when all tries are over.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("no try left")
    most = draw.whole(3, 5)
    client_told(stage, f"get-batch: 32 members of one shard, buffered, colocation 2, tries {most}")
    stage.open()
    stopped = stage.mark(at - draw.span(15, 400), f"SIGSTOP {victim.name}")
    resumed = max(over_at(stage), stopped + seconds(46)) + draw.span(9_000, 30_000)
    faults.stop(cluster, victim, stopped, resumed)
    faults.leave_smap(cluster, victim, stopped, hung=True)
    waits = (3.0, 4.0, 5.0, 6.0)[: most - 1]
    for turn, then in enumerate(moments(at, waits, draw), 1):
        failed = chains.dead_designated(stage, then + 2 * SEC + MS, victim, rank, ev.DEADLINE)
        tried(stage, then + 2 * SEC, rank, failed, turn, most)
    stage.hang(at + 340 * MS, rank)
    stage.mark(resumed, f"SIGCONT {victim.name}")
    back = faults.resume(cluster, victim, resumed + 2 * MS)
    return stage.close(
        "A debugger had been attached to the wrong process.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "infrastructure")),),
        ALIVE,
        until=back + seconds(55),
    )


@kind(reads=True, ais_order=450, lead_s=60.0, without=(*NOISE, "loader_fallbacks", "tenant_errors"))
def direct_read_of_a_fallback_meets_the_stopped_sender(stage: Stage) -> Scenario:
    """lhotse waits for a member that a stopped target should send, and then gets it there (lhotse, batch_loader.py).

    To convict: the stream of the rank times out at a target that is well; the object that was next in it times out at
    another one, which the SDK's retry names. That one writes and counts nothing from the rank's last step on, and the
    primary removes it; only then is there an answer, the 404 of the heir, and the loader gives up.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("fallback")
    client_told(stage, "AISBatchLoader: 48 cuts, streaming, colocation hint, SDK timeouts of 3 s and 20 s")
    stage.open()
    stopped = stage.mark(at - draw.span(20, 90), f"SIGSTOP {victim.name}")
    resumed = max(over_at(stage), stopped + seconds(50)) + draw.span(9_000, 30_000)
    faults.stop(cluster, victim, stopped, resumed)
    left = faults.leave_smap(cluster, victim, stopped, hung=True)
    node, index, name = other_assembler(stage, at, draw), draw.whole(1, 9), sample_of(draw)
    then = at + seconds(20.03)
    result_timed_out(stage, then, rank, node, index)
    later = then + draw.span(60, 1_900)
    wid = cluster.wid(stage.proxy_of(rank), draw)
    aisassemblies.gone_from_the_assembler(cluster, node, later, stage.client(rank), wid, index, later - at)
    then += seconds(20.03)
    wait = round(max(draw.between(1.0, 2.4), (left - then) / SEC + 0.06), 2)
    stage.job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", unanswered_at(stage, rank, victim, name)))
    then += seconds(wait) + 9 * MS
    heir = other_assembler(stage, then, draw)
    missing = aisstandstills.not_here(cluster, heir, then - 3 * MS, name)
    why = one_line(stage, then, rank, heir, name, 404, missing)
    one_by_one_failed(stage, then, rank, name, why, sequential=False)
    stage.hang(at + 330 * MS, rank)
    stage.mark(resumed, f"SIGCONT {victim.name}")
    back = faults.resume(cluster, victim, resumed + 2 * MS)
    return stage.close(
        "Its cgroup had been frozen for a snapshot that was never finished.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "data", "infrastructure")),),
        ALIVE,
        until=back + seconds(55),
    )


@kind(reads=True, ais_order=450, lead_s=64.0, without=NOISE)
def stream_stands_still_with_its_stopped_assembler(stage: Stage) -> Scenario:
    """A batch is half read as the target that streams it is stopped, and the client has no timeout (recorded 03).

    To convict: the rank prints nothing; its stack reads the next member of a streamed batch, and its one open
    connection is to the address of a target. That target writes and counts nothing since the others' hang began, the
    primary cannot reach it and removes it; all other targets go on.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("stands still")
    client_told(stage, "get-batch: 48 entries, streaming, Client(timeout=None)")
    stage.open()
    stopped = stage.mark(at + draw.span(9, 50), f"SIGSTOP {victim.name}")
    resumed = max(over_at(stage), stopped + seconds(46)) + draw.span(9_000, 30_000)
    faults.stop(cluster, victim, stopped, resumed)
    faults.leave_smap(cluster, victim, stopped, hung=True)
    after = min(draw.between(24, 44), stage.params.timeout_s - 12)
    py_spy(stage, after, (main_thread(stage, *stands_in_a_stream(stage)),))
    own = ("python3", stage.job.job.rank_pids[rank])
    connection_listed(stage, at + seconds(after) + 380 * MS, rank, victim, own, draw)
    stage.hang(at + 330 * MS, rank)
    stage.mark(resumed, f"SIGCONT {victim.name}")
    wid = cluster.wid(stage.proxy_of(rank), draw)
    age = resumed + 20 * MS - at
    aisassemblies.gone_from_the_assembler(
        cluster, victim, resumed + 20 * MS, stage.client(rank), wid, draw.whole(2, 30), age
    )
    back = faults.resume(cluster, victim, resumed + 2 * MS)
    return stage.close(
        "Its host had been suspended by a power policy.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure")),),
        until=back + seconds(55),
    )
