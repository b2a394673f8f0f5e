"""Storage faults of the twenty-sixth part of what is lost or damaged: flipped bits, cut shards, a disk pulled."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.claimants import (
    archive_cut,
    lines_not_found,
    status_in_worker,
    token_file,
    webshard,
)
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.requests import refused_get
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisbehind, aisfailings, aisobjects, aispassages
from fixtures.generator.aispassages import FOREVER
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "twenty_sixth")
WAITS = ("data", "data_loading_stall", "infrastructure")


def address(node: Node, stage: Stage, name: str) -> str:
    """Where an object is read at a target by AIStore's own API."""
    return f"{node.url(0)}/v1/objects/{stage.bucket}/{name}"


@kind(reads=True, hangs=False, lead_s=65.0, without=DISKS)
def checksums_fail_on_one_host(stage: Stage) -> Scenario:
    """Bad memory of a host garbles what it reads from its disks (minio and ceph issues, checksum mismatches).

    To convict: what is answered with 500 is so by one target, which has found for each of these objects that its
    checksum differs from the one that is stored with it.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("garbled")
    stage.open()
    began = stage.mark(at - draw.span(12_000, 31_000), f"{victim.name} reads what it has not written")
    others = readers(stage)[: draw.whole(2, 5)]
    for turn, other in enumerate(others):
        name, then = token_file(draw), began + (at - began) * (turn + 1) // (len(others) + 1)
        aisobjects.bad_checksum(cluster, victim, then - 6 * MS, name, draw)
        told(stage, then, other, "objects", f"500 Internal Server Error for {address(victim, stage, name)}", "WARNING")
    name = token_file(draw)
    aisobjects.bad_checksum(cluster, victim, at - 6 * MS, name, draw)
    status_in_worker(stage, at, rank, address(victim, stage, name), 500, "Internal Server Error")
    leaves(stage, at + 2 * MS, rank)
    return stage.close(
        "A module of its memory had been corrected so often that nobody read it any more.",
        (stage.guilty("storage_io", victim, also=WAITS),),
        until=at + seconds(30),
    )


@kind(reads=True, hangs=False, lead_s=65.0, without=DISKS)
def shards_of_one_target_have_no_end(stage: Stage) -> Scenario:
    """Files of a target were cut when its file system was repaired (xfs_repair; webdataset issues, unexpected end).

    To convict: every shard that cannot be unpacked was read at the same target, with fewer bytes than were announced;
    it counts an I/O error of a read for each, and shards of other targets are whole.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("no end")
    stage.open()
    stage.mark(stage.job.begin + seconds(2), f"files of {victim.name} are shorter than they were")
    for other in readers(stage)[: draw.whole(3, 6)]:
        then, size = at - draw.span(500, 24_000), draw.whole(180, 900) << 20
        aispassages.shorter_than_known(cluster, victim, then - 4 * MS)
        got = size // 4096 * draw.whole(1, 9) // 10 * 4096
        url = address(victim, stage, webshard(draw))
        told(stage, then, other, "shards", f"{url}: Content-Length {size}, got {got}, left out", "WARNING")
    url, size = address(victim, stage, webshard(draw)), draw.whole(180, 900) << 20
    aispassages.shorter_than_known(cluster, victim, at - 6 * MS)
    got = size // 4096 * draw.whole(1, 9) // 10 * 4096
    told(
        stage, at - 3 * MS, rank, "shards", f"{url}: Content-Length {size}, got {got}, unpacked nevertheless", "WARNING"
    )
    archive_cut(stage, at, rank, url)
    leaves(stage, at + 2 * MS, rank)
    return stage.close(
        "What was found without a name had been given back, and the rest was taken for whole.",
        (stage.guilty("storage_io", victim, also=WAITS),),
        until=at + seconds(30),
    )


@kind(reads=True, hangs=False, lead_s=65.0, without=DISKS)
def disk_is_taken_from_the_wrong_target(stage: Stage) -> Scenario:
    """An operator detaches a disk of another target than the one that is broken (aistore docs, mountpath detach).

    To convict: what cannot be found is asked of one target that has detached a mountpath seconds before, by somebody's
    request and without an error; nothing was missing until then, and nothing is at other targets.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("wrong disk")
    stage.open()
    gone = stage.mark(at - draw.span(6_000, 15_000), f"a disk of {victim.name} is detached")
    aisfailings.detach_disk(cluster, victim, gone)
    cluster.last_process(victim).silent_disks.append((victim.disks[-1], gone, FOREVER))
    for other in readers(stage)[: draw.whole(2, 5)]:
        name, then = token_file(draw), gone + int((at - gone) * draw.between(0.15, 0.95))
        aisobjects.not_there(cluster, victim, then - 4 * MS, name)
        told(stage, then, other, "lines", f"404 for {address(victim, stage, name)}, next file", "WARNING")
    name = token_file(draw)
    aisobjects.not_there(cluster, victim, at - 5 * MS, name)
    lines_not_found(stage, at, rank, address(victim, stage, name))
    leaves(stage, at + 2 * MS, rank)
    return stage.close(
        "The ticket named a slot, and two hosts have one of that number.",
        (stage.guilty("storage_io", victim, also=WAITS),),
        until=at + seconds(30),
    )


def _cloud_says(draw: Draw) -> str:
    """What S3 answers to a request that is signed with keys of a session that is over."""
    request = f"StatusCode: 400, RequestID: {draw.token(16, '0123456789ABCDEFGHJKMNPQRSTVWXYZ')}"
    told_by = f"https response error {request}, api error ExpiredToken: The provided token has expired."
    return f"aws-error[operation error S3: GetObject, {told_by}]"


@kind(reads=True, hangs=False, lead_s=65.0)
def session_keys_of_the_cluster_expire(stage: Stage) -> Scenario:
    """Targets hold keys of a session for the bucket behind, which ends after hours (AWS forum, ExpiredToken).

    To convict: whatever is not in the cluster yet fails on all targets since one moment, and they name the answer of
    the cloud: their token has expired. The ranks hold no key of the cloud.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("session keys")
    stage.open()
    began = stage.mark(at - draw.span(5_000, 14_000), "the keys that targets have for the cloud expire")
    aisobjects.cold_gets(cluster, stage.job.begin, began - seconds(1), 2.5, 240, 980, draw.child("read through"))
    asked = readers(stage)[: draw.whole(3, 6)]
    for turn, other in enumerate(asked):
        node, name, error = draw.pick(cluster.targets), token_file(draw), _cloud_says(draw)
        then = began + (at - began) * (turn + 1) // (len(asked) + 1)
        aisbehind.cold_failed(cluster, node, then - 5 * MS, name, error, 400)
        told(stage, then, other, "lines", f"{name} not read: STATUS:400 {error} ({node.name})", "WARNING")
    node, name, error = stage.victim, token_file(draw), _cloud_says(draw)
    aisbehind.cold_failed(cluster, node, at - 5 * MS, name, error, 400)
    stage.job.raise_on(at, rank, refused_get(stage, at, rank, node, name, (400, "Bad Request"), error))
    leaves(stage, at + 3 * MS, rank)
    return stage.close(
        "They had been pasted into a secret by hand, for twelve hours.",
        (of_all(stage.guilty("storage_io", node, also=WAITS)),),
        until=at + seconds(30),
    )
