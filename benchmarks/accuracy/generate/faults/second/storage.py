"""Storage faults of the second part: no memory, crashing again and again, maintenance, stuck I/O."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.requests import exhausted, object_path, retries, unanswered
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisnode, chains, sdk
from fixtures.generator.aislog import Say
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "second")


@kind(reads=True, ais_order=410)
def target_out_of_memory(stage: Stage) -> Scenario:
    """The kernel kills a target that runs out of memory; its container starts again after some seconds."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    stage.open()
    died = at - 90 * MS
    pressed = stage.mark(died - seconds(31), f"{victim.name} comes under memory pressure")
    disk.memory_pressure(cluster, victim, pressed, died, "extreme", stage.draw.child("pressure"))
    stage.mark(died, f"the kernel kills {victim.name}")
    faults.kill(cluster, victim, died)
    failed = chains.cut_off_stream(stage, at, stage.other_target(victim), victim, rank, 7, 48)
    stage.job.raise_on(at + 9 * MS, rank, failed.traceback)
    back = stage.mark(died + seconds(13.7), f"{victim.name} is started again")
    faults.start_again(cluster, victim, back)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A target is killed by the kernel while it sends to others; it is back within a quarter of a minute.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall",)),),
    )


@kind(reads=True)
def crash_loop(stage: Stage) -> Scenario:
    """A target dies some seconds after every start; single GETs of it are refused until no retries are left."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("loop")
    stage.open()
    then = at - 30 * MS
    for _ in range(3):
        stage.mark(then, f"{victim.name} dies")
        faults.kill(cluster, victim, then)
        up = then + draw.span(6_000, 9_000)
        faults.start_again(cluster, victim, stage.mark(up, f"{victim.name} is started again"))
        then = up + draw.span(4_100, 5_200)
    faults.kill(cluster, victim, stage.mark(then, f"{victim.name} dies"))
    faults.leave_smap(cluster, victim, then)
    path = object_path(stage, rank, utterance(draw))
    text = sdk.pool_error(
        victim.address, victim.ports[0], path, sdk.refused(draw.whole(0x7F0000000000, 0x7FFFFFFFFFFF))
    )
    limit = min(at + seconds(stage.params.timeout_s - 8), at + seconds(34))
    exhausted(stage, retries(stage, at, rank, draw, 0.004, text, limit), rank, text)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A target crashes, is started again by its supervisor and crashes again.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall",)),),
    )


@kind(reads=True)
def maintenance_begins(stage: Stage) -> Scenario:
    """An operator puts a target into maintenance: a rebalance begins and aborts every running batch."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    stage.open()
    began = stage.mark(at - seconds(2.1), f"maintenance of {victim.name} begins")
    primary, xact, left = cluster.primary(began), cluster.xact, cluster.membership(began)
    text = f"{primary.name} mcast-maint: actm[start-maintenance], [{victim.name}]"
    cluster.say(primary, began, Say("I", "prxcycle:652", text))
    cluster.rebalances += 1
    action = f"start-maintenance[g{cluster.rebalances}], name={victim.node_id}"
    cluster.change_members(began + 3 * MS, action, left.targets, left.proxies)
    cluster.say(primary, began + 4 * MS, aisnode.metasync(primary, f"RMD v{cluster.rebalances}, aism[{action}]"))
    faults.rebalance(cluster, cluster.rebalances, left.version + 1, at - 20 * MS)
    designated = stage.other_target(victim)
    wid = cluster.wid(stage.proxy_of(rank), stage.draw.child("wid"))
    if xact is not None and designated.release.control_channel:
        work = ev.Work(wid, 2 * SEC, 11, 11 * 17_160)
        said = ev.bcast_abort(designated, xact, ev.BENIGN), ev.work_error(xact, ev.BENIGN, work)
        cluster.say(designated, at, *said)
    cluster.count(designated, at, getbatch_n=1, getbatch_obj_n=11, err_getbatch_n=1)
    _, raised = sdk.short_batch(stage.job.job, stage.step, 11, 48)
    stage.job.raise_on(at + 9 * MS, rank, raised)
    stage.hang(at + 340 * MS, rank)
    made = replace(stage.guilty("storage_io", victim, also=("data_loading_stall",)), ais_nodes=None)
    return stage.close("Maintenance begins while the job reads; the batch of one rank ends early.", (made,))


def stuck_disk(stage: Stage, node: Node, at: int, until: int) -> None:
    """A disk that is busy and moves nothing: utilisation at its limit, goroutines that pile up."""
    cluster, draw = stage.cluster, stage.draw.child("stuck")
    cluster.last_process(node).busy_disks.append((at, until))
    then, routines = at + draw.span(2_000, 9_000), draw.whole(4_000, 6_000)
    while then < until:
        cluster.say(node, then, Say("I", "", f"{node.disks[0]}: 0B/s, 0B, 0B/s, 0B, 100%"))
        routines += draw.whole(900, 2_600)
        alert = "red" if routines > 10_000 else "yellow"
        cluster.say(node, then + 3 * MS, Say("W", "common:571", f"number of goroutines {routines} ({alert} alert)"))
        then += 10 * SEC


@kind(reads=True)
def disk_stuck(stage: Stage) -> Scenario:
    """One disk of a target answers no more, without an error: GETs of its objects never end."""
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("reads")
    stage.open()
    stage.mark(at - 200 * MS, f"{victim.disks[0]} of {victim.name} hangs")
    over = at + seconds(stage.params.timeout_s)
    stuck_disk(stage, victim, at - 200 * MS, over + seconds(20))
    unanswered(stage, rank, draw, victim, object_path(stage, rank, utterance(draw)), over=over)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A disk hangs; the target lives and answers for its other disks, the rank's reads time out.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io",)),),
    )
