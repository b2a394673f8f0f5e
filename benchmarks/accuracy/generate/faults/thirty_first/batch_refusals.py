"""Storage faults of the thirty-first part: a target turns batches down, or cannot read what it is to send."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.natives import entry_failed
from benchmarks.accuracy.generate.faults.words.tries import again, client_told, moments, other_targets, turned_down
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisassemblies, aisdisk, aisnatives, aistroubles
from fixtures.generator import aisevents as ev
from fixtures.generator.chains import Failed
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirty_first")


@kind(reads=True, hangs=False, ais_order=410, lead_s=66.0, without=(*DISKS, "tenant_rejected"))
def colocated_batches_are_turned_away_by_one_busy_target(stage: Stage) -> Scenario:
    """Batches go to whoever holds most of them, and one target has no disk time left (docs/get_batch, 429; coloc).

    To convict: the client is told 429 by its proxy each time; the lines of the proxy have the same wids as those of one
    target, whose disks are at their limit since before and which nobody else resembles. Other ranks come through at
    their second or third try, one does not in five.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, order = stage.draw.child("busy"), victim.release.order
    client_told(stage, "get-batch: 48 entries, streaming, colocation 1, tries 5, retries of the SDK off")
    stage.open()
    since, over = (
        stage.mark(at - draw.span(19_000, 28_000), f"disks of {victim.name} are at their limit"),
        at + 60 * SEC,
    )
    aisdisk.disk_pressure(cluster, victim, since, over, draw.child("disks"))
    high = ev.advice("high", "10ms", "low", "low", "high")
    if cluster.xact is not None:
        said = ev.throttled(cluster.xact, draw.whole(30, 90), high, "10ms", order)
        cluster.say(victim, since + draw.span(6_000, 12_000), said)
    for second in range(since, at + 30 * SEC, SEC):
        cluster.count(victim, second, getbatch_throttle_ns=draw.whole(2, 11) * 10 * MS)

    def turned(then: int, one: int) -> Failed:
        proxy, wid = stage.proxy_of(one), cluster.wid(stage.proxy_of(one), draw)
        advice = ev.advice("critical", "100ms", "low", "low", "critical")
        text = ev.rejected(cluster.xact, wid, advice, draw.whole(31, 95), order) if cluster.xact is not None else ""
        aisassemblies.turned_down(cluster, proxy, victim, then, wid, text)
        cluster.count(victim, then, err_getbatch_n=1)
        return turned_down(stage, then, one, wid, 429, text)

    for one in readers(stage)[: draw.whole(2, 6)]:
        then = at + draw.span(100, 9_000)
        for turn in range(draw.whole(1, 2)):
            again(stage, then + 4 * MS, one, turned(then, one), turn + 1, 5)
            then += draw.span(2_005, 4_010)
    tries = list(moments(at, (2.0, 4.0, 6.0, 8.0), draw))
    for turn, then in enumerate(tries):
        failed = turned(then, rank)
        if turn + 1 < len(tries):
            again(stage, then + 4 * MS, rank, failed, turn + 1, len(tries))
        else:
            stage.job.raise_on(then + 6 * MS, rank, failed.traceback)
    leaves(stage, tries[-1] + 9 * MS, rank)
    return stage.close(
        "The backup of that host had been moved from night to noon.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "infrastructure")),),
        until=over,
    )


@kind(reads=True, ais_order=430, lead_s=62.0, without=(*DISKS, "soft_errors", "restart_before"))
def unreadable_sector_of_a_sender_ends_a_data_set(stage: Stage) -> Scenario:
    """A sender cannot read one object, the batch has no error, its entry has (aistore.pytorch; docs/fshc, EIO).

    To convict: the data set raises for an entry that failed `on the server`, and names the object only; the target that
    put the batch together has a line that it did not get that object from another one, which in that moment had an
    input/output error with it. That disk is found healthy seconds later, as a bad sector leaves it. What the first rank
    tells of the data set's settings: wording from memory.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("sector")
    client_told(stage, "AISBatchIterDataset(max_batch_size=48, streaming=True, skip_on_error=False)")
    stage.open()
    stage.mark(at - 12 * MS, f"{victim.name} cannot read a sector")
    name, designated = utterance(draw), draw.pick(other_targets(stage, at))
    why = f"read {victim.mountpaths[0]}/@ais/{stage.bucket}/%ob/{name}: input/output error"
    cluster.count(victim, at - 11 * MS, err_io_get_n=1)
    aistroubles.examined(cluster, victim, at - 11 * MS, why, True, draw)
    aisnatives.not_received(cluster, designated, victim, at - 9 * MS, name, why)
    cluster.count(designated, at - 2 * MS, getbatch_n=1, getbatch_obj_n=47, getbatch_obj_size=47 * 16_100)
    entry_failed(stage, at, rank, name, "Batch entry failed on the server")
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "The drive had relocated thirty sectors since its last report, and nobody reads these reports.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "infrastructure")),),
        until=at + seconds(60),
    )
