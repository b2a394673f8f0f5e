"""Storage faults of the twenty-eighth part that end a get-batch: memory, a lost disk, stopped jobs, a probe."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.guests import killed_for_a_while, leaves
from benchmarks.accuracy.generate.faults.words.natives import (
    first_repeat,
    one_by_one_failed,
    one_line,
    refused_at,
    stream_reset,
    truncated,
)
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS
from fixtures.generator import aisdisk, aisobjects, aisquiet, aisshifts, aisupkeep, chains, sdk
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_eighth")
ALSO = ("data_loading_stall", "infrastructure", "network")
#: How many entries a batch of the data set of batches has.
WHOLE = 32


@kind(reads=True, hangs=False, lead_s=66.0, without=RESTARTS)
def stream_is_reset_as_its_target_is_oom_killed(stage: Stage) -> Scenario:
    """A target that assembles batches is killed at its limit of memory (ais-k8s, OOMKilled; lhotse, streaming).

    To convict: the rank's stream is reset and names nobody; in that second the streams of peers to one target break,
    whose log ends after words of too little memory, and which other ranks find refusing until it has started again.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("oom in a stream")
    stage.open()
    died = at + draw.span(300, 1_900)
    stage.mark(died - draw.span(41_000, 46_000), f"{victim.name} runs out of memory")
    aisdisk.memory_pressure(cluster, victim, died - draw.span(36_000, 40_000), died, "high", draw)
    aisquiet.too_much_memory(cluster, victim, died - draw.span(22_000, 24_000), draw)
    stage.mark(died, f"{victim.name} is killed for its memory")
    over = died + draw.span(6, 40)
    killed_for_a_while(stage, died, (8_000, 13_000))
    for then, other in spread(stage, died + 60 * MS, over + 650 * MS, (2, 5), draw):
        first_repeat(stage, then, other, draw, refused_at(stage, other, victim, draw))
    stream_reset(stage, over, rank)
    leaves(stage, over + 8 * MS, rank)
    return stage.close(
        "Batches of long recordings are held in memory until they are sent, and there were more of them than ever.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        until=over + seconds(60),
    )


@kind(reads=True, hangs=False, lead_s=66.0, without=(*DISKS, "soft_errors"))
def soft_errors_run_out_once_a_mountpath_is_gone(stage: Stage) -> Scenario:
    """FSHC gives up a mountpath whose objects have no copy; batches miss entries (aistore docs, fshc and get_batch).

    To convict: the target that gives the batch up lacks nothing itself: entries that other batches were short of are
    all missing at another one, as their messages say, and that one has disabled a mountpath seconds before the first.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("soft errors")
    stage.open()
    turn = draw.whole(0, len(victim.disks) - 1)
    lost = stage.mark(at - draw.span(11_000, 19_000), f"{victim.name} gives up a mountpath")
    aisdisk.lose_mountpath(cluster, victim, lost, victim.mountpaths[turn], victim.disks[turn], draw.between(48, 95))
    peers = [one for one in cluster.up(at) if one is not victim]
    for then, other in spread(stage, lost + 400 * MS, at - 200 * MS, (2, 5), draw):
        designated, missing, name = draw.pick(peers), draw.whole(1, 5), utterance(draw)
        chains.missing_entry(stage, then, designated, victim, name, missing)
        why = sdk.missing_object(victim, stage.bucket, name)
        more = f", and {missing - 1} more" if missing > 1 else ""
        told(
            stage,
            then + 12 * MS,
            other,
            "batches",
            f"left out of a batch of {designated.url(0)}: {why}{more}",
            "WARNING",
        )
    stage.job.raise_on(at, rank, chains.soft_limit(stage, at - 6 * MS, draw.pick(peers), rank).traceback)
    leaves(stage, at + 6 * MS, rank)
    return stage.close(
        "The bucket had neither mirror nor slices: it could be made again from the archive, in a week.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "infrastructure", "data")),),
        until=at + seconds(40),
    )


@kind(reads=True, lead_s=72.0, without=("soft_errors", "loader_fallbacks"))
def stopped_jobs_leave_a_rank_one_batch_short(stage: Stage) -> Scenario:
    """An operator stops all jobs of the cluster, streams end early (aistore docs, ais stop --all; no exception then).

    To convict: the rank that all wait for is through with its epoch one batch early: the stream of that batch ended
    after a few entries in the very moment in which all targets aborted get-batch because a user had said so.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("stopped jobs")
    stage.open()
    stopped = stage.mark(at - draw.span(15_000, 26_000), "somebody stops all jobs of the cluster")
    xact, designated, got = cluster.xact, draw.pick(cluster.up(stopped)), draw.whole(3, 13)
    if xact is not None and designated.release.control_channel:
        work = ev.Work(cluster.wid(stage.proxy_of(rank), draw), draw.span(200, 900), got, got * 61_000)
        said = ev.bcast_abort(designated, xact, ev.BENIGN), ev.work_error(xact, ev.BENIGN, work)
        cluster.say(designated, stopped + 7 * MS, *said)
    cluster.count(designated, stopped + 7 * MS, getbatch_n=1, err_getbatch_n=1, getbatch_obj_n=got)
    aisupkeep.stop_batches(cluster, stopped)
    cluster.start_batches(stopped + draw.span(300, 900), designated)
    many = stage.step + 1

    def number(then: int) -> int:
        return many - round((at - then) / SEC / stage.params.step_s) + draw.whole(1, 6)

    cut = f"batch {number(stopped)}: stream of {designated.url(0)} ended after {got} of {WHOLE} entries"
    told(stage, stopped + 15 * MS, rank, "epoch", f"{cut}, fewer than 16, dropped", "WARNING")
    for then, other in spread(stage, stopped + 4 * MS, stopped + 90 * MS, (1, 3), draw):
        node, had = draw.pick(cluster.up(stopped)), draw.whole(16, WHOLE - 1)
        said_of = f"stream of {node.url(0)} ended after {had} of {WHOLE} entries, used as it is"
        told(stage, then, other, "epoch", f"batch {number(then)}: {said_of}", "WARNING")
    told(
        stage, at + 30 * MS, rank, "epoch", f"epoch 0 is through after {many - 1} batches, waiting for all to validate"
    )
    stage.hang(at + 250 * MS, rank)
    also = ("storage_io", "rank_hang", "data", "software")
    return stage.close(
        "A download of another team would not end, and whoever stopped it did not know its id.",
        (of_all(stage.guilty("data_loading_stall", stage.victim, also=also)),),
    )


@kind(reads=True, hangs=False, lead_s=150.0, without=(*RESTARTS, *DISKS, "kalive_hiccup", "tenant_errors"))
def probe_ends_a_target_twice_below_lhotse(stage: Stage) -> Scenario:
    """A busy target fails its liveness probe and is restarted, again and again (ais-k8s, probes; kubelet, Killing).

    To convict: cuts are missing twice for some seconds each, at all other targets, and are there in between; each time
    one target had taken itself out of the map on a signal and was back right after; its disks are busy.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("probe")
    stage.open()
    first, second = at - draw.span(97_000, 104_000), at - draw.span(2_500, 5_500)
    stage.mark(first - seconds(24), f"{victim.name} is too busy for its probe")
    aisdisk.disk_pressure(cluster, victim, first - seconds(24), at + seconds(50), draw)
    aisshifts.answers_keepalive_late(cluster, victim, first - seconds(22), first, draw.child("once"))
    peers = [one for one in cluster.up(first) if one is not victim]

    def left_out(since: int, until: int) -> None:
        for then, other in spread(stage, since, until, (1, 4), draw):
            node, name = draw.pick(peers), utterance(draw)
            why = one_line(
                stage, then, other, node, name, 404, aisobjects.not_there(cluster, node, then - 4 * MS, name)
            )
            told(stage, then, other, "cuts", f"cut of {name} left out: {why}", "WARNING")

    for down in (first, second):
        stage.mark(down, f"the kubelet ends {victim.name}")
        faults.terminate(cluster, victim, down)
        left_out(down + 300 * MS, down + seconds(6) if down == first else at - 100 * MS)
        joined = faults.start_again(cluster, victim, down + draw.span(8_000, 10_000))
        cluster.start_batches(joined + seconds(3.6), draw.pick(peers))
    node, name, got = draw.pick(peers), utterance(draw), draw.whole(5, 40)
    chains.cut_off_stream(stage, at - 60 * MS, draw.pick(peers), victim, rank, got, 48)
    truncated(stage, at - 52 * MS, rank, got, 48)
    text = aisobjects.not_there(cluster, node, at - 5 * MS, name)
    one_by_one_failed(stage, at, rank, name, one_line(stage, at, rank, node, name, 404, text), sequential=False)
    leaves(stage, at + 8 * MS, rank)
    return stage.close(
        "The probe waits a second, and a scan of another team had taken all disks.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        until=at + seconds(50),
    )
