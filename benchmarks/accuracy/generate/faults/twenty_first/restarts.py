"""Storage faults of the twenty-first part of targets that end, are restarted, or stand still."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.callers import missing_text
from benchmarks.accuracy.generate.faults.words.fetchers import falls_back, sequential_failed
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.regulars import (
    asks_in_vain,
    curl_tells,
    s3fs_finds_nothing,
    shard_left_out,
    sockets_of,
    tar_of,
    waited,
)
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, object_path
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfailings as failings
from fixtures.generator import aisfaults as faults
from fixtures.generator import aismishaps as mishaps
from fixtures.generator import aisobjects, sdk
from fixtures.generator import aisquiet as quiet
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_first")
STILL = (*RESTARTS, "kalive_hiccup")
#: How the pauses of a client grow that is to come through a minute with seven tries.
BACK_OFF_S = (1.28, 2.04, 3.71, 6.4, 9.1, 11.6)
NOT_FOUND = "The requested URL returned error: 404"


@kind(reads=True, hangs=False, min_timeout_s=60, lead_s=75.0, without=STILL)
def target_killed_at_its_memory_limit(stage: Stage) -> Scenario:
    """A target is killed for memory, lhotse falls back and finds nobody (kubernetes, OOMKilled; lhotse#1565).

    To convict: lhotse's fallback is refused by the address of one target; that has told of too little memory, its log
    ends in the middle, its peers have lost their streams from it at that moment, and the primary removes it.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("limit")
    stage.open()
    died = stage.mark(at - draw.span(60, 700), f"{victim.name} is killed at the limit of its container")
    quiet.too_much_memory(cluster, victim, died - draw.span(24_000, 38_000), draw)
    faults.kill(cluster, victim, died)
    removed = faults.leave_smap(cluster, victim, died)
    faults.reconnects(cluster, victim, died, removed, 2)

    def refused(who: int, name: str) -> str:
        cause = sdk.refused(draw.whole(*HANDLES))
        return sdk.pool_error(victim.address, victim.ports[0], object_path(stage, who, name), cause)

    for other in readers(stage)[: draw.whole(1, 4)]:
        then, text = at + draw.span(200, 9_000), refused(other, utterance(draw))
        asks_in_vain(stage, then, removed - 200 * MS, other, "ConnectionError", 5, text, draw)
    falls_back(stage, at, rank, "('Connection broken: IncompleteRead(0 bytes read)', IncompleteRead(0 bytes read))")
    name, then = utterance(draw), at + 80 * MS
    stretch = (removed + draw.span(40, 2_000) - then) / SEC / sum(BACK_OFF_S)
    for share in BACK_OFF_S:
        wait = round(share * stretch, 2)
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", refused(rank, name)))
        then += seconds(wait) + 9 * MS
    owner = stage.other_target(victim, draw.whole(0, 9))
    told = missing_text(stage, then, rank, owner, name, aisobjects.not_there(cluster, owner, then - 3 * MS, name))
    sequential_failed(stage, then, rank, name, told)
    leaves(stage, then, rank)
    back = faults.start_again(cluster, victim, then + draw.span(6_000, 15_000))
    return stage.close(
        "Its cache of metadata had grown since the number of small objects doubled, and its limit had not.",
        (stage.guilty("storage_io", victim, also=("network", "data", "data_loading_stall", "infrastructure")),),
        until=back + seconds(4),
    )


def _restarted(stage: Stage, node: Node, at: int, away_ms: tuple[int, int], first: Node) -> int:
    """A rollout replaces the pod of a target; when it has joined."""
    cluster, draw = stage.cluster, stage.draw.child("rollout", node.node_id)
    stage.mark(at, f"SIGTERM {node.name}, a rollout replaces its pod")
    faults.terminate(cluster, node, at)
    joined = faults.start_again(cluster, node, at + draw.span(*away_ms))
    cluster.start_batches(joined + seconds(3.6), first)
    return joined


@kind(reads=True, hangs=False, targets=3, lead_s=105.0, without=STILL)
def rollout_goes_on_while_shards_are_read(stage: Stage) -> Scenario:
    """Targets are replaced one by one without maintenance, WebDataset is told 404 (ais-k8s, upgrades; webdataset).

    To convict: the shard in WebDataset's error is one of which another target says that it does not exist, seconds
    after the one that holds it was stopped; another was stopped like that a minute before, and came back.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, first = stage.draw.child("rollout"), stage.other_target(stage.victim)
    stage.open()
    begun = at - draw.span(78_000, 84_000)
    _restarted(stage, first, begun, (8_000, 11_000), victim)
    down = at - draw.span(1_800, 4_900)

    def asked(who: int, name: str, then: int) -> str:
        owner = draw.pick([node for node in cluster.up(then) if node is not victim])
        aisobjects.not_there(cluster, owner, then - 4 * MS, name)
        return f"{stage.proxy_of(who).url(0)}/v1/objects/{stage.bucket}/{name}"

    joined = _restarted(stage, victim, down, (9_000, 14_000), first)
    for turn, other in enumerate(readers(stage)[: draw.whole(1, 3)]):
        then = down + int((at - down) * (0.3 + 0.2 * turn))
        shard_left_out(stage, then, other, asked(other, tar_of(draw), then), 22, NOT_FOUND)
    url = asked(rank, tar_of(draw), at)
    curl_tells(stage, at, rank, url, 22, NOT_FOUND)
    leaves(stage, at, rank)
    return stage.close(
        "The rollout of a new image waits for each pod to be ready, and for nothing else.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "network")),),
        until=joined + seconds(52),
    )


@kind(reads=True, hangs=False, lead_s=90.0, without=STILL)
def rebooted_host_brings_its_target_back_in_vain(stage: Stage) -> Scenario:
    """A host is patched and rebooted, its target ends itself at each start (aistore#93, #110; s3fs, errors.py).

    To convict: the object in s3fs's error is one of which another target says that it does not exist; a target was
    stopped shortly before, and each of its later logs ends with a fatal error.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("patched")
    stage.open()
    down = stage.mark(at - draw.span(44_000, 58_000), f"SIGTERM {victim.name}, its host is rebooted")
    faults.terminate(cluster, victim, down)
    up = down + draw.span(31_000, 40_000)
    failings.fails_to_start(cluster, victim, up, at + seconds(70), draw)
    owners = [node for node in cluster.targets if node is not victim]

    def nothing(then: int, name: str) -> str:
        owner = draw.pick(owners)
        text = f"{owner.name}: ais://{stage.bucket}/{name} does not exist"
        mishaps.s3_get_failed(cluster, owner, then, name, text, "ErrNotFound")
        return text

    for other in readers(stage)[: draw.whole(1, 4)]:
        then, name = (
            down + int((at - down) * draw.between(0.2, 0.95)),
            f"parquet/part-{draw.whole(0, 4_095):05d}.parquet",
        )
        stage.job.note(then, other, f"{name} left out: {nothing(then - 5 * MS, name)}", "W", 49, "parquet")
    name = f"parquet/part-{draw.whole(0, 4_095):05d}.parquet"
    stage.job.note(at - 3 * MS, rank, f"{name}: too many files of this epoch are left out", "E", 51, "parquet")
    s3fs_finds_nothing(stage, at, rank, nothing(at - 8 * MS, name))
    leaves(stage, at, rank)
    return stage.close(
        "A new kernel, and a fresh set of files that the installer had laid over the old one.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "infrastructure")),),
    )


@kind(reads=True, min_timeout_s=60, lead_s=60.0, without=STILL)
def target_stuck_below_its_file_system(stage: Stage) -> Scenario:
    """A target's threads wait in the kernel for good, curl has no limit of time (kernel, hung_task; curl docs, -m).

    To convict: the watcher shows a curl of the silent rank with a connection to one target, and others wait there too;
    that target writes no line any more, the primary cannot reach it and removes it.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over, own = stage.draw.child("stuck"), over_at(stage), stage.job.job
    stage.open()
    stuck = stage.mark(at - draw.span(50, 900), f"{victim.name} stands still in the kernel")
    faults.stop(cluster, victim, stuck, over + 900 * SEC)
    faults.leave_smap(cluster, victim, stuck, hung=True)
    name = tar_of(draw)
    url = f"{stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{name}"
    reader_note(stage, at - 30 * MS, rank, f"next shard {name}")
    for turn, other in enumerate(readers(stage)[: draw.whole(1, 3)]):
        begun, then = at + draw.span(10, 4_000), at + seconds(17 + 6 * turn) + draw.span(1, 4_000)
        where = f"{victim.url(0)}/v1/objects/{stage.bucket}/{tar_of(draw)}"
        stage.job.note(then, other, f"no byte for {waited(begun, then)} of {where}", "W", 88, "shards")
    sockets_of(stage, min(draw.between(28, 44), own.timeout_s - 12), victim, url, draw)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A file system of it waits for a lock of its journal that nobody gives back.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure")),),
    )
