"""Storage faults of the seventh part that are damage: file systems, sectors, headers, manifests, two faults at once."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.clients import TRIES_S, status_repeated
from benchmarks.accuracy.generate.faults.words.doorways import (
    assembly_failed,
    checkpoint_not_read,
    mount_failed,
    part_refused,
)
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, exhausted, object_path, retries, unanswered
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisobjects, chains, sdk
from fixtures.generator import aisrifts as rifts
from fixtures.generator import aistroubles as troubles
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("storage", "seventh")


@kind(culprit=0, hangs=False, lead_s=60.0)
def filesystem_read_only(stage: Stage) -> Scenario:
    """The kernel makes a file system of a target read-only after an error: rank 0 cannot upload, reads go on."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("read only")
    stage.open()
    key = f"{stage.job.job.task}/step={stage.step}.pt"
    began = stage.mark(at - draw.span(3_000, 21_000), f"{victim.disks[0]} of {victim.name} can be read only")
    then = began
    while then < at - seconds(1):
        troubles.not_writable(cluster, victim, then, "tenant-b", f"o{draw.whole(1, 9999)}", draw)
        then += draw.span(1_800, 6_100)
    stage.job.note(at - 820 * MS, rank, f"uploading checkpoint to s3://checkpoints/{key}", line=116)
    then, text = at, ""
    for attempt in range(5):
        text = troubles.not_writable(cluster, victim, then, "checkpoints", key, draw)
        then += draw.span(60, 800 << attempt) if attempt < 4 else 0
    if draw.chance(0.7):
        troubles.examined(cluster, victim, then + draw.span(40, 900), text, False, draw)
    part_refused(stage, then + 7 * MS, rank, key, text)
    ended = stage.job.agents_end([Exit(rank, then + 900 * MS, 1)], then + 900 * MS)
    return stage.close(
        "The journal of an ext4 was aborted; the kernel says so, AIStore learns it from its next write.",
        (stage.guilty("storage_io", victim),),
        until=ended,
    )


@kind(reads=True, ais_order=450, lead_s=80.0, without=("restart_before", "rotation", "kill_after"))
def upgrade_half_way(stage: Stage) -> Scenario:
    """One target comes back with the next release: what it sends for batches the others cannot unpack."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("upgrade")
    stage.open()
    down = stage.mark(at - draw.span(23_000, 27_000), f"SIGTERM {victim.name}, it is upgraded")
    faults.terminate(cluster, victim, down)
    newer = troubles.upgraded(victim, draw)
    up = stage.mark(down + draw.span(9_100, 12_000), f"{victim.name} starts with {newer.release.version}")
    joined = faults.start_again(cluster, newer, up)
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))

    def unpacked(then: int, who: int) -> tuple[str, str]:
        node, xact = stage.other_target(victim, draw.whole(0, 99)), cluster.xact
        wid, why = cluster.wid(stage.proxy_of(who), draw), "failed to unpack opaque data: buffer underrun"
        if xact is None:
            return "", ""
        text = f"{xact.name} {node.name} failed to receive {utterance(draw)} from {victim.name}: {why}"
        troubles.item_failed(cluster, node, then, wid, text, draw.whole(2, 30), draw.span(4, 190))
        return assembly_failed(stage, who, node, wid, text)

    for other, after in zip(readers(stage), (-2.1, -0.6, 1.7), strict=False):
        then = at + seconds(after) + draw.span(1, 500)
        stage.job.note(then + 4 * MS, other, f"get-batch failed ({unpacked(then, other)[0]}), retrying 1/3", "W", 96)
    then = at
    for attempt in range(2):
        error = unpacked(then, rank)[0]
        stage.job.note(then + 4 * MS, rank, f"get-batch failed ({error}), retrying {attempt + 1}/3", "W", 96)
        then += seconds(1.5) + draw.span(1, 30)
    stage.job.raise_on(then + 4 * MS, rank, unpacked(then, rank)[1])
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Pods are replaced one after another, and the two releases do not understand each other.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall",)),),
    )


@kind(reads=True)
def streams_garbled(stage: Stage) -> Scenario:
    """A network card of a target garbles what it sends to its peers: they break its streams again and again."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("garbled")
    stage.open()
    began = stage.mark(at - draw.span(9_000, 26_000), f"the data network of {victim.name} garbles what it sends")
    then = began
    while then < at + seconds(min(stage.params.timeout_s, 90)):
        rifts.headers_garbled(cluster, victim, stage.other_target(victim, draw.whole(0, 99)), then, draw)
        then += draw.span(2_000, 9_000)

    def broken(then: int, who: int) -> tuple[str, str]:
        node, xact = stage.other_target(victim, draw.whole(0, 99)), cluster.xact
        wid = cluster.wid(stage.proxy_of(who), draw)
        if xact is None:
            return "", ""
        error = rifts.headers_garbled(cluster, victim, node, then - 2 * MS, draw)
        index = f"index {draw.whole(0, 44)} [ {node.name}, {xact.wid(wid)}, err={error} ]"
        text = f"{xact.name}: network error while retrieving entry at {index}"
        troubles.item_failed(cluster, node, then, wid, text, draw.whole(2, 30), draw.span(40, 900))
        return assembly_failed(stage, who, node, wid, text)

    for other, after in zip(readers(stage), (-6.4, -2.3, 3.9), strict=False):
        late = at + seconds(after) + draw.span(1, 900)
        stage.job.note(late + 4 * MS, other, f"get-batch failed ({broken(late, other)[0]}), retrying 1/3", "W", 96)
    late = at
    for attempt in range(3):
        error = broken(late, rank)[0]
        stage.job.note(late + 4 * MS, rank, f"get-batch failed ({error}), retrying {attempt + 1}/3", "W", 96)
        late += seconds(1.5 * (attempt + 1)) + draw.span(1, 30)
    stage.job.raise_on(late + 4 * MS, rank, broken(late, rank)[1])
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "The card computes checksums itself, and wrongly; the kernel believes it.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network")),),
    )


@kind(hangs=False, trains=False, ais_order=420, uptime=True)
def manifest_lost(stage: Stage) -> Scenario:
    """The checkpoint to go on from is one of chunks, and the list of them is lost: no rank can read it."""
    cluster, victim, job = stage.cluster, stage.victim, stage.job
    draw = stage.draw.child("manifest")
    job.start()
    at = stage.mark(job.begin + seconds(0.4), f"every rank reads its checkpoint; {victim.name} has lost its manifest")
    name, upload = f"{job.job.task}/step={draw.whole(9, 90) * 1000}.pt", draw.token(12)
    raised = []
    for rank in range(job.job.world):
        own, then = draw.child("rank", rank), at + rank * 410_000
        text = ""
        for attempt in range(5):
            text = troubles.manifest_lost(cluster, victim, then, "checkpoints", name, upload)
            then += own.span(50, 700 << attempt) if attempt < 4 else own.span(4, 20)
        raised.append((then, rank))
        checkpoint_not_read(stage, then, rank, text)
    exits = []
    for node in range(len(job.job.hosts)):
        then, first = min(one for one in raised if job.job.node_of(one[1]) == node)
        exits.append(Exit(first, then + 700 * MS, 1))
    job.agents_end(exits, max(then for then, _ in raised) + 900 * MS)
    made = replace(stage.guilty("storage_io", victim, also=("data",)), culprit_ranks=None)
    return stage.close("A disk was changed for a new one, and the manifest of a large object has no copy.", (made,))


@kind(reads=True)
def sector_unreadable(stage: Stage) -> Scenario:
    """A few sectors of a disk cannot be read: one object is lost for good, and the disk is said to be healthy."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("sector"), f"shards/train-{stage.draw.child('shard').whole(0, 4095):06d}.tar"
    stage.open()
    stage.mark(at - 30 * MS, f"{victim.name} is asked for an object with sectors that cannot be read")
    by_sdk = stage.params.timeout_s >= 120 and draw.chance(0.5)
    tries = TRIES_S if by_sdk else (0.0, 0.11, 0.38, 0.91, 1.7, 2.9)
    text = ""
    for after in tries:
        text = troubles.not_readable(cluster, victim, at + seconds(after) + draw.span(3, 40), name, not by_sdk)
    troubles.examined(cluster, victim, at + draw.span(60, 300), text, True, draw)
    if by_sdk:
        status_repeated(stage, rank, victim, name, 500)
    else:
        mount_failed(stage, at + seconds(3.1), rank, name, text)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A disk has a handful of bad sectors; whoever looks at other files of it finds nothing.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )


def _freeze(stage: Stage, node: Node, at: int) -> None:
    """A target stops for longer than the job lives, and is given up by the primary."""
    over = at + seconds(stage.params.timeout_s + 90)
    faults.stop(stage.cluster, node, at, over)
    faults.leave_smap(stage.cluster, node, at, hung=True)


@kind(reads=True, targets=4, lead_s=70.0, without=("restart_before", "mountpath_before", "kill_after", "rotation"))
def two_ill_one_guilty(stage: Stage) -> Scenario:
    """A target loses a disk, loudly, and has copies of all; another one stops without a word: it is that one."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, loud = stage.draw.child("two"), stage.other_target(stage.victim, stage.draw.child("loud").whole(0, 9))
    stage.open()
    if len(loud.disks) > 1:
        disk.lose_mountpath(cluster, loud, at - draw.span(9_000, 19_000), loud.mountpaths[0], loud.disks[0], 61.0)
    for other in readers(stage)[:2]:
        then, name = at - draw.span(3_000, 14_000), utterance(draw)
        node = loud.url(0)
        stage.job.note(then, other, f"read of {name} failed (STATUS:500, {node}), retrying 1/3: ok", "W", 79)
    _freeze(stage, victim, stage.mark(at - 90 * MS, f"{victim.name} stops"))
    over = at + seconds(stage.params.timeout_s)
    unanswered(stage, rank, draw, victim, object_path(stage, rank, utterance(draw)), over=over)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Two faults of one minute. What the bad disk held is there twice, and nobody waits for it.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io",)),),
    )


@kind(reads=True, lead_s=70.0, without=("restart_before", "kill_after"))
def memory_error_beside(stage: Stage) -> Scenario:
    """A rank runs out of GPU memory and helps itself, loudly; another one waits for a target whose host is gone."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, torch_before = stage.draw.child("beside"), stage.at - stage.draw.child("when").span(1_500, 9_000)
    stage.open()
    other = readers(stage)[0] if readers(stage) else (rank + 1) % stage.job.job.world
    device = stage.job.job.local_rank(other)
    sizes = f"GPU {device} has a total capacity of 79.15 GiB of which {draw.whole(100, 990)}.50 MiB"
    full = f"CUDA out of memory. Tried to allocate {draw.whole(2, 9)}.{draw.whole(10, 99)} GiB. {sizes} is free."
    for then, said in ((0, f"{full} batch is split in two"), (700, f"{full} batch is split in four"), (1_320, "done")):
        stage.job.note(torch_before + then * MS, other, f"step {stage.step - 2}: {said}", "W", 148)
    died = stage.mark(at - 60 * MS, f"the host of {victim.name} loses its power")
    peers = [node for node in cluster.targets if node is not victim][:2]
    aisobjects.lose_host(cluster, victim, died, died + seconds(44), peers)
    faults.leave_smap(cluster, victim, died, hung=True)
    cause = sdk.connect_timeout(victim.address, draw.whole(*HANDLES))
    text = sdk.pool_error(victim.address, victim.ports[0], f"/v1/ml/moss/{stage.bucket}?provider=ais", cause)
    limit = min(at + seconds(stage.params.timeout_s - 8), at + seconds(39))
    exhausted(stage, retries(stage, at, rank, draw, 3.01, text, limit, "ConnectTimeout"), rank, text, "ConnectTimeout")
    failed = chains.dead_designated(
        stage, at + seconds(4), victim, other, f"dial tcp {victim.endpoint(1)}: i/o timeout"
    )
    stage.job.note(at + seconds(4.01), other, f"get-batch failed ({failed.error}), retrying 1/3", "W", 96)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A rank has a batch too many and splits it; that is over when a power supply fails elsewhere.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network")),),
    )
