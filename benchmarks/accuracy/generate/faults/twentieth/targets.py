"""Storage faults of the twentieth part of targets that end or are away, as readers of archives and tables meet them."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.carters import archive_cut
from benchmarks.accuracy.generate.faults.words.comers import mount_refused
from benchmarks.accuracy.generate.faults.words.guests import killed_for_a_while, leaves
from benchmarks.accuracy.generate.faults.words.lodgers import asked_of
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.passers import (
    cells,
    cells_not_read,
    fragment,
    image_not_found,
    records_not_read,
    rows_not_taken,
)
from benchmarks.accuracy.generate.faults.words.travellers import s3_of
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisobjects
from fixtures.generator import aisquiet as quiet
from fixtures.generator.draw import LOWER, Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "twentieth")
STILL = (*RESTARTS, "kalive_hiccup")


@kind(reads=True, hangs=False, lead_s=60.0, without=STILL)
def staged_archive_ends_with_its_target(stage: Stage) -> Scenario:
    """A target crashes as hosts unpack archives from it with curl and tar (curl docs, exit codes; GNU tar).

    To convict: curl says of the address of a target that bytes are missing, at the very moment at which peers lose
    their streams from it; others are refused there right after, and its log ends in the middle.
    """
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("staged"), f"epochs/part-{stage.draw.child('part').whole(0, 511):04d}.tar"
    stage.open()
    begun = at - draw.span(9_000, 21_000)
    reader_note(stage, begun, rank, f"stage_next: {asked_of(stage, victim, name)} to /scratch/next")
    died = stage.mark(at - draw.span(14, 60), f"{victim.name} crashes")
    joined = killed_for_a_while(stage, died, (9_000, 16_000))
    for other in readers(stage)[: draw.whole(1, 4)]:
        then, own = at + draw.span(30, 900), f"epochs/part-{draw.whole(0, 511):04d}.tar"
        why = f"Failed to connect to {victim.address} port {victim.ports[0]} after 0 ms: Couldn't connect to server"
        stage.job.note(then, other, f"part of {own} put off: curl: (7) {why}", "W", 88, "staging")
    archive_cut(stage, at, rank, asked_of(stage, victim, name), draw.whole(90_000_000, 4_000_000_000))
    leaves(stage, at, rank)
    return stage.close(
        "Its container has no limit of cores that it may dump, and what it wrote of its end is gone.",
        (stage.guilty("storage_io", victim, also=("network", "data", "data_loading_stall")),),
        until=joined + seconds(4),
    )


@kind(reads=True, hangs=False, lead_s=70.0, min_timeout_s=60, without=STILL)
def rows_of_lance_have_nobody_to_ask(stage: Stage) -> Scenario:
    """The kernel kills a target for memory, Lance asks ten times and gives up (lance#5579; object_store, RetryError).

    To convict: ranks tell where a proxy sends them on to as their reads are late, a target which refuses connections;
    its log ends in the middle, mostly after an alert of its memory, and the primary cannot reach it.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("lance"), fragment(stage.draw.child("fragment"))
    spent = draw.span(19_000, 24_000)
    stage.open()
    died = stage.mark(at - draw.span(80, 900), f"the kernel kills {victim.name} for memory")
    quiet.too_much_memory(cluster, victim, died - draw.span(14_000, 24_000), draw)
    faults.kill(cluster, victim, died)
    faults.leave_smap(cluster, victim, died)
    faults.reconnects(cluster, victim, died, at + seconds(30), 2)

    def told(then: int, who: int, own: str) -> None:
        asked, sent = s3_of(stage, stage.proxy_of(who), own), s3_of(stage, victim, own)
        said = f"take is late by {(then - at) / SEC + 0.4:.0f} s; HEAD {asked} -> 307 {sent}: Connection refused"
        stage.job.note(then, who, said, "W", 63, "rows")

    for turn, other in enumerate(readers(stage)[: draw.whole(1, 4)]):
        told(at + seconds(6.0 + 3.1 * turn) + draw.span(1, 900), other, fragment(draw))
    told(at + seconds(10.1), rank, name)
    rows_not_taken(stage, at + spent, rank, s3_of(stage, stage.proxy_of(rank), name), spent)
    leaves(stage, at + spent, rank)
    return stage.close(
        "An index of the search next door was loaded on the same host, all of it.",
        (stage.guilty("storage_io", victim, also=("network", "data_loading_stall", "infrastructure")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, min_timeout_s=60, without=STILL)
def cells_wait_for_a_host_without_power(stage: Stage) -> Scenario:
    """A host of storage loses its power, TileDB's client has a time-out of curl (TileDB, s3 config; aistore docs/ha).

    To convict: the rank says which target it reads from and that it is late, others do of the same; that target wrote
    nothing since before, peers find no route to it, and the primary removes it.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("tiledb"), cells(stage.draw.child("cells"))
    over = at + seconds(30.2) + draw.span(1, 900)
    stage.open()
    reader_note(
        stage, stage.job.begin + 60 * MS, 0, "tiledb: vfs.s3.request_timeout_ms=30000 vfs.s3.connect_max_tries=1"
    )
    died = stage.mark(at - draw.span(60, 900), f"the host of {victim.name} has no power")
    peers = [node for node in cluster.up(died) if node is not victim]
    aisobjects.lose_host(cluster, victim, died, over + seconds(20), peers[:3])
    faults.leave_smap(cluster, victim, died, hung=True)
    for turn, other in enumerate(readers(stage)[: draw.whole(1, 4)]):
        then = at + seconds(8.0 + 4.3 * turn) + draw.span(1, 2_000)
        stage.job.note(then, other, f"no cells yet from {s3_of(stage, victim, cells(draw))}", "W", 58, "census")
    stage.job.note(at + seconds(15), rank, f"no cells yet from {s3_of(stage, victim, name)}", "W", 58, "census")
    cells_not_read(stage, over, rank, name, 28, "Timeout was reached")
    leaves(stage, over, rank)
    return stage.close(
        "A fuse of its power strip, after a second machine was connected to it.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network", "infrastructure")),),
    )


def _records(draw: Draw) -> str:
    """The name of a file of episodes."""
    return f"rlds/bridge/1.0.0/bridge-train.tfrecord-{draw.whole(0, 1023):05d}-of-01024"


@kind(reads=True, hangs=False, lead_s=60.0, without=STILL)
def records_lie_on_a_target_deleted_by_force(stage: Stage) -> Scenario:
    """A pod of a target is deleted by force, TensorFlow reads below rclone (tensorflow#50824; rclone docs, mount).

    To convict: rclone on the host of the failed rank gets no connection to a target whose log ends in the middle, which
    peers lose their streams from at that moment; the same of other hosts and the same target until it is back.
    """
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("records"), _records(stage.draw.child("records name"))
    stage.open()
    died = stage.mark(at - draw.span(2_400, 5_500), f"the pod of {victim.name} is deleted by force")
    joined = killed_for_a_while(stage, died, (11_000, 19_000))
    for other in readers(stage)[: draw.whole(1, 4)]:
        then = died + int((at - died) * draw.between(0.3, 0.98))
        mount_refused(stage, then, other, victim, _records(draw), 1)
    for attempt in (8, 9, 10):
        mount_refused(stage, at - (10 - attempt) * 110 * MS - 9 * MS, rank, victim, name, attempt)
    records_not_read(stage, at, rank, name)
    leaves(stage, at, rank)
    return stage.close(
        "It did not go away at once, and whoever waited for it has lost patience.",
        (stage.guilty("storage_io", victim, also=("network", "data_loading_stall", "infrastructure")),),
        until=joined + seconds(5),
    )


@kind(reads=True, hangs=False, lead_s=75.0, without=STILL)
def picture_is_not_found_while_a_target_is_away(stage: Stage) -> Scenario:
    """A target is rebooted without maintenance, what it holds does not exist (ultralytics, data/base; docs/lifecycle).

    To convict: another target says of the very picture that Ultralytics does not find that it does not exist, and a
    target has left the map by its own removal shortly before; names that others miss were read by them until then.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("picture")
    stage.open()
    down = stage.mark(at - draw.span(9_000, 19_000), f"SIGTERM {victim.name}, its host is rebooted")
    faults.terminate(cluster, victim, down)
    joined = faults.start_again(cluster, victim, at + draw.span(28_000, 44_000))
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))

    def picture() -> str:
        return f"images/train/{draw.token(2, LOWER)}/{draw.whole(0, 999_999_999_999):012d}.jpg"

    def missing(then: int, name: str) -> str:
        return aisobjects.not_there(cluster, stage.other_target(victim, draw.whole(0, 50)), then, name)

    for other in readers(stage)[: draw.whole(1, 5)]:
        then, name = down + seconds(5.2) + int((at - down - seconds(5.3)) * draw.between(0, 1)), picture()
        missing(then, name)
        stage.job.note(then + 6 * MS, other, f"{name} is not there, though it was in epoch 1", "W", 71, "pictures")
    name = picture()
    missing(at - 6 * MS, name)
    image_not_found(stage, at, rank, name)
    leaves(stage, at, rank)
    return stage.close(
        "A new kernel was to be loaded, and nobody expected a job on a Sunday.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "infrastructure")),),
        until=joined + seconds(5),
    )
