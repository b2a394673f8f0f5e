"""Storage faults of the twentieth part on the way to a target: paused ports, flapping links, a hung process, a cut."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.carters import (
    aria2_aborted,
    aria2_ended,
    block,
    block_is_late,
    file_not_read,
    ray_warns,
    slice_not_read,
)
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.lodgers import asked_of, shard
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.passers import list_not_connected
from benchmarks.accuracy.generate.faults.words.travellers import crawls_in_turns, s3_of
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisnights as nights
from fixtures.generator import aisoncall as oncall
from fixtures.generator import aisupkeep as upkeep
from fixtures.generator.aismishaps import s3_get_failed
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twentieth")
STILL = (*RESTARTS, "kalive_hiccup")


@kind(reads=True, hangs=False, slurm=True, lead_s=70.0, without=STILL)
def tasks_of_ray_outlast_their_average(stage: Stage) -> Scenario:
    """A switch pauses the port of one target again and again, tasks of Ray Data take long (ray, issue detection; PFC).

    To convict: steps got slow as Ray tells of tasks that run too long; ranks name the target whose pictures those wait
    for, its reads take many seconds each since then with idle disks, and whoever assembles batches waits for it.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("ray")
    stage.open()
    began = stage.mark(at - draw.span(900, 5_000), f"the port of {victim.name} is paused most of the time")
    over, whose = crawls_in_turns(stage, draw.whole(8, 13), (6.0, 15.0))
    nights.serves_late(cluster, victim, began, over + seconds(15), (7_000, 19_000), (300, 900), draw)
    mean, then, turn = draw.between(0.8, 1.9), at + draw.span(7_000, 12_000), 0
    while then < over:
        ran = min(draw.between(9, 24), (then - began) / SEC - 0.2)
        if turn % 2:
            task = (draw.whole(9_000, 90_000), draw.token(56, HEX))
            ray_warns(stage, then, whose(then), task, ran, mean)
        else:
            said = f"decode: {ran:.1f} s for {asked_of(stage, victim, utterance(draw, 'pictures'))}"
            stage.job.note(then, whose(then), said, "W", 68, "ingest")
        then, turn = then + draw.span(9_000, 23_000), turn + 1
    cancelled_by_hand(stage, over + draw.span(900, 7_000))
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure"))
    return stage.close(
        "Its card is the only one of the rack on which another class of traffic may be paused.",
        (replace(made, culprit_ranks=None),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=STILL)
def next_part_is_fetched_over_a_flapping_link(stage: Stage) -> Scenario:
    """The link of a target comes and goes, aria2 has one try of four seconds (aria2 manual, exit status).

    To convict: aria2 has time-outs for addresses of one target alone, from moments at which peers cannot connect to it
    either; its keepalive and that of the primary fail at first and are well a moment later, again and again.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, part = stage.draw.child("aria2"), f"part-{stage.draw.child('part').whole(0, 511):04d}"
    stage.open()
    began = stage.mark(at - draw.span(4_400, 4_900), f"the link of {victim.name} comes and goes")
    upkeep.link_flaps(cluster, victim, began, at + seconds(40), draw)
    note = f"stage_next: aria2c -x4 -i /scratch/lists/{part}.txt -d /scratch/{part} (aria2.conf: max-tries=1,"
    reader_note(stage, began - 2 * SEC, rank, f"{note} connect-timeout=4)")
    for other in readers(stage)[: draw.whole(1, 3)]:
        then = began + seconds(4.05) + draw.span(1, 300)
        url, place = asked_of(stage, victim, shard(draw)), "AbstractCommand.cc:340"
        aria2_aborted(stage, then, other, draw.whole(7, 60), url, place, "errorCode=2 Timeout.")
        stage.job.note(then + 90 * MS, other, "staging: part is fetched again, one epoch later", "W", 96, "staging")
    for connection in draw.shuffled(range(7, 40))[: draw.whole(2, 4)]:
        then, url = at - 90 * MS + connection * MS, asked_of(stage, victim, shard(draw))
        aria2_aborted(stage, then, rank, connection, url, "AbstractCommand.cc:340", "errorCode=2 Timeout.")
    aria2_ended(stage, at, rank, part, 2)
    leaves(stage, at + 20 * MS, rank)
    return stage.close(
        "Its cable is bent behind a door that was closed the evening before.",
        (stage.guilty("storage_io", victim, also=("network", "data_loading_stall", "infrastructure")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=STILL)
def list_of_samples_is_on_a_stalled_machine(stage: Stage) -> Scenario:
    """A virtual machine stands still as it is moved, pandas gets no connection by s3fs (s3fs; KVM, migration).

    To convict: the address in the error is one of a target that wrote no line since before, which peers cannot connect
    to and the primary removes right after; other ranks wait for connections to it as well.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("pandas"), stage.at + seconds(33.4)
    stage.open()
    reader_note(stage, stage.job.begin + 70 * MS, 0, "lists: s3fs, connect_timeout=10, retries={'max_attempts': 3}")
    began = stage.mark(at - draw.span(200, 2_000), f"the machine of {victim.name} stands still")
    oncall.cut_off(cluster, [victim], began, over + seconds(30), draw)

    def listed() -> str:
        return s3_of(stage, victim, f"lists/fold-{draw.whole(0, 9)}/{draw.whole(0, 511):03d}.csv")

    for turn, other in enumerate(readers(stage)[: draw.whole(1, 4)]):
        then = at + seconds(11.0 + 4.6 * turn) + draw.span(1, 3_000)
        stage.job.note(then, other, f"no connection yet: {listed()}", "W", 52, "lists")
    list_not_connected(stage, over, rank, listed())
    leaves(stage, over, rank)
    return stage.close(
        "It was moved to another host, whose link was busy, and its memory changes too fast to be copied.",
        (stage.guilty("storage_io", victim, also=("network", "data_loading_stall", "infrastructure")),),
        until=over + seconds(45),
    )


@kind(reads=True, hangs=False, min_timeout_s=120, lead_s=60.0, without=STILL)
def core_of_a_target_is_taken(stage: Stage) -> Scenario:
    """Somebody takes a core of a running target, which stands still, JuiceFS waits (gdb docs, gcore; juicefs#3260).

    To convict: JuiceFS on the failed rank's host has slow requests to a target's address, and then finds that block
    nowhere; the target wrote no line since before, and the primary could not reach it, and removed it in between.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("core")
    stage.open()
    stopped = stage.mark(at - draw.span(90, 700), f"a core of {victim.name} is taken")
    faults.stop(cluster, victim, stopped, stopped + seconds(3_600))
    faults.leave_smap(cluster, victim, stopped, hung=True)
    (number, key), inode = block(draw), draw.whole(900, 90_000)
    span = f"off:{draw.whole(0, 15) * 4_194_304}, size:4194304, clen: 67108864, inode: {inode}"
    path = f"/jfs/{stage.bucket}/{utterance(draw)}"
    stage.job.note(at - 20 * MS, rank, f"reading {path}", "I", 44, "waves")
    for other in readers(stage)[: draw.whole(1, 3)]:
        block_is_late(stage, at + seconds(30.2) + draw.span(1, 9_000), other, victim, block(draw)[1])
    for after in (30.04, 60.09):
        block_is_late(stage, at + seconds(after), rank, victim, key)
    slice_not_read(stage, at + seconds(60.03), rank, number, span, "timeout after 1m0s")
    owner, then = stage.other_target(victim), at + seconds(60.35)
    for attempt in range(2, 11):
        text = f"{owner.name}: ais://{stage.bucket}/{key} does not exist"
        s3_get_failed(cluster, owner, then - 3 * MS, key, text, "")
        why = f"get {key}: NoSuchKey: {text}\n\tstatus code: 404, request id: , host id: "
        slice_not_read(stage, then, rank, number, span, why)
        then += seconds(0.3 * attempt) + draw.span(2, 30)
    file_not_read(stage, then, rank, path, inode)
    leaves(stage, then, rank)
    return stage.close(
        "A support case had asked for it, and a core of that size takes as long as its disk.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network", "infrastructure")),),
    )
