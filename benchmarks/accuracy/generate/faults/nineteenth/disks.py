"""Storage faults of the nineteenth part of disks: an enclosure, a file system, a controller, one that stands still."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.lodgers import asked_of
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.settlers import mapped_object_gone, s3fs_says, s3fs_timed_out
from benchmarks.accuracy.generate.faults.words.travellers import (
    NOT_SENT,
    chunk_not_read,
    gave_up,
    kvikio_failed,
    kvikio_tries,
    late,
    s3_of,
)
from benchmarks.accuracy.generate.faults.words.turns import over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisnights as nights
from fixtures.generator import aisobjects
from fixtures.generator import aispassages as passages
from fixtures.generator import aistroubles as troubles
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "nineteenth")


def _shard_of_array(draw: Draw) -> str:
    """The name of a shard of a zarr array."""
    return f"fields.zarr/{draw.pick(('t850', 'z500', 'tp', 'sst'))}/c/{draw.whole(0, 900)}/0/0"


@kind(reads=True, hangs=False, targets=4, lead_s=60.0, without=DISKS)
def enclosure_of_two_targets_is_lost(stage: Stage) -> Scenario:
    """Two targets have disks in one enclosure, and that fails: half of their objects are gone (docs/fshc; NVMe-oF).

    To convict: the target that the SDK's 404 names has disabled mountpaths a moment before, for their roots are not
    read, and so has another one within the same second; both have alerts of their disks since.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("enclosure")
    second = stage.other_target(victim, draw.whole(0, 50))
    stage.open()
    lost = stage.mark(at - draw.span(11_000, 28_000), f"an enclosure of {victim.name} and {second.name} is gone")
    off = nights.enclosure_lost(cluster, [victim, second], lost, at + seconds(45), draw)
    for other in readers(stage)[: draw.whole(1, 5)]:
        then, name, node = (
            off + int((at - off) * draw.between(0.02, 0.95)),
            utterance(draw),
            draw.pick((victim, second)),
        )
        text = aisobjects.not_there(cluster, node, then, name)
        stage.job.note(then + 5 * MS, other, f"index passed over, ErrObjNotFound: {text}", "W", 64, "samples")
    name, owner = utterance(draw), draw.pick((victim, second))
    text = aisobjects.not_there(cluster, owner, at - 4 * MS, name)
    mapped_object_gone(stage, at, rank, owner, name, text)
    leaves(stage, at, rank)
    return stage.close(
        "Both of its power supplies hang on one strip.",
        (stage.guilty("storage_io", victim, second, also=("data", "data_loading_stall", "infrastructure")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=DISKS)
def filesystem_shuts_itself_down(stage: Stage) -> Scenario:
    """XFS meets an error in its journal and shuts a disk down, KvikIO is told 500 (XFS docs; KvikIO, RemoteFile).

    To convict: the file that KvikIO has asked for three times is one that a target cannot read, each time, from a
    mountpath that it examines since then and gives up some seconds later.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("xfs"), f"columns/part.{stage.draw.child('column').whole(0, 4095)}.parquet"
    stage.open()
    first = at - seconds(1.53)
    began = stage.mark(first - draw.span(90, 900), f"a file system of {victim.name} shuts itself down")
    error = troubles.not_readable(cluster, victim, began, utterance(draw, "columns"), True)
    troubles.examined(cluster, victim, began + 3 * MS, error, False, draw)
    url = s3_of(stage, victim, name)
    reader_note(stage, first - 20 * MS, rank, f"pread of {draw.whole(40, 900)} MiB of {url} into device memory")
    for attempt, after in enumerate((0.0, 0.51, 1.52)):
        then = first + seconds(after)
        troubles.not_readable(cluster, victim, then, name, True)
        if attempt < 2:
            kvikio_tries(stage, then + 4 * MS, rank, 500, attempt + 1)
    for other in readers(stage)[: draw.whole(1, 4)]:
        then, own = began + int((at - began) * draw.between(0.1, 0.95)), f"columns/part.{draw.whole(0, 4095)}.parquet"
        troubles.not_readable(cluster, victim, then, own, True)
        kvikio_tries(stage, then + 4 * MS, other, 500, 1)
    kvikio_failed(stage, at, rank, 500)
    leaves(stage, at, rank)
    return stage.close(
        "The device below had answered a write with an error, once, and that was one of the journal.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "data")),),
    )


@kind(reads=True, min_timeout_s=90, lead_s=70.0, without=DISKS)
def chunk_is_asked_for_three_minutes(stage: Stage) -> Scenario:
    """A controller is reset again and again, zarr's client asks as long as it may (object_store, RetryConfig; nvme).

    To convict: the silent rank, or its error three minutes later, names the target whose disk does nothing at 100 %
    from the same time on and whose reads take half a minute each; other ranks read from the same address and wait.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("three minutes"), _shard_of_array(stage.draw.child("three minutes name"))
    limit = min(over_at(stage), at + seconds(181))
    stage.open()
    began = stage.mark(at - draw.span(26_000, 34_000), f"a controller of {victim.name} is reset again and again")
    passages.controller_resets(cluster, victim, began, limit + seconds(20), draw.whole(0, len(victim.disks) - 1), draw)
    reader_note(stage, at - 30 * MS, rank, f"zarr: {s3_of(stage, victim, name)}, at most 180 s")
    for turn, other in enumerate(readers(stage)[: draw.whole(1, 4)]):
        then = at - seconds(2) + seconds(6.6 * turn) + draw.span(1, 3_000)
        where = s3_of(stage, victim, _shard_of_array(draw))
        stage.job.note(then, other, f"chunk after {late(draw, (21, 31), began, then)}: {where}", "W", 58, "fields")
    if limit < over_at(stage):
        told = gave_up(s3_of(stage, victim, name), limit - at, (draw.whole(5, 7), 10, 180), NOT_SENT)
        chunk_not_read(stage, limit, rank, told)
        leaves(stage, limit, rank)
    else:
        stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Its firmware has a fault with a certain depth of queues, and an update for that, which needs a reboot.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure")),),
    )


@kind(reads=True, min_timeout_s=60, lead_s=60.0, without=DISKS)
def file_below_s3fs_is_never_read(stage: Stage) -> Scenario:
    """A disk stands still without an error, who reads below s3fs-fuse waits (s3fs-fuse, curl.cpp; kernel: hung tasks).

    To convict: the mount of the silent rank's host asks for a file again that is not sent; other ranks say which target
    they wait for, and a disk of that one does nothing at 100 % since then, while its routines grow in number.
    """
    cluster, victim, rank, at, over = stage.cluster, stage.victim, stage.culprit, stage.at, over_at(stage)
    draw, name = stage.draw.child("never"), utterance(stage.draw.child("never name"))
    stage.open()
    began = stage.mark(at - draw.span(200, 2_000), f"a disk of {victim.name} stands still")
    nights.stands_still(cluster, victim, began, over + seconds(20), draw)
    s3fs_says(
        stage,
        stage.job.begin - seconds(4),
        rank,
        "CRT",
        "s3fs.cpp:set_s3fs_log_level(247)",
        "change debug level from [CRT] to [WAN]",
    )
    then = at + seconds(30.0)
    while then < over - SEC:
        s3fs_timed_out(stage, then, rank, name)
        then += seconds(32.0) + draw.span(9, 90)
    for other in readers(stage)[: draw.whole(2, 4)]:
        late = at + draw.span(9_000, 24_000)
        stage.job.note(late, other, f"still reading {asked_of(stage, victim, utterance(draw))}", "W", 44, "waves")
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A drive that does not answer a reset either; its slot had to be switched off from a console.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure")),),
    )
