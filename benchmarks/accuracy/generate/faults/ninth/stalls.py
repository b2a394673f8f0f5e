"""Storage faults of the ninth part that say little: half a bond, file systems that are frozen, disks that discard."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.requests import (
    HANDLES,
    exhausted,
    object_path,
    one_object,
    retries,
    unanswered,
)
from benchmarks.accuracy.generate.faults.words.turns import saved_in_vain
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aislapses as lapses
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "ninth")


@kind(reads=True, hosts=2, targets=4)
def bond_half_dead(stage: Stage) -> Scenario:
    """One of two cables of a target passes nothing, and nobody knows: half of all hosts reach it, the others do not."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, node = stage.draw.child("bond"), stage.job.job.node_of(stage.culprit)
    stage.open()
    began = stage.mark(at - draw.span(4_000, 16_000), f"half of the hosts do not reach {victim.name}")
    lapses.half_reachable(cluster, victim, began, at + seconds(min(stage.params.timeout_s, 170)), draw)
    cut = [one for one in readers(stage) if (stage.job.job.node_of(one) - node) % 2 == 0]
    well = [one for one in readers(stage) if one not in cut]
    for other in cut[:4]:
        cause = sdk.connect_timeout(victim.address, draw.whole(*HANDLES))
        text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, other, utterance(draw)), cause)
        late = began + draw.span(3_020, 11_000)
        stage.job.sdk_warning(late, other, sdk.retrying(round(draw.between(1, 1.5), 2), "ConnectTimeout", text))
    for other in well[:3]:
        took, then = draw.between(2.1, 4.4), began + draw.span(1_000, 9_000)
        url = f"{victim.url(0)}/v1/objects/{stage.bucket}/shards/train-{draw.whole(0, 4095):06d}.tar"
        stage.job.note(then, other, f"slow read: 1.2 GB in {took:.1f} s from {url}", "W", 80)
    cause = sdk.connect_timeout(victim.address, draw.whole(*HANDLES))
    text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, rank, utterance(draw)), cause)
    limit = at + seconds(min(stage.params.timeout_s - 8, draw.pick((27, 44))))
    then = retries(stage, at, rank, draw, 3.01, text, limit, "ConnectTimeout")
    exhausted(stage, then, rank, text, "ConnectTimeout", one_object(stage))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A switch of a pair has lost its tables and keeps its lights on; a bond asks for no more than those.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network")),),
    )


@kind(culprit=0, lead_s=60.0, min_timeout_s=90)
def snapshot_freezes(stage: Stage) -> Scenario:
    """A backup freezes the file systems of a target for a snapshot and is stuck: reads are served, writes wait."""
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("frozen")
    stage.open()
    over = at + seconds(stage.params.timeout_s)
    began = stage.mark(at - draw.span(3_000, 19_000), f"file systems of {victim.name} are frozen")
    thaw = draw.pick((over + seconds(20), over + seconds(9)))
    lapses.frozen(cluster, victim, began, thaw, draw)
    saved_in_vain(stage, draw, 20.4)
    for turn in range(6):
        late = at + turn * draw.span(4_000, 9_000)
        cluster.count(victim, late, get_n=1, get_ns_total=draw.span(1, 9), get_size=draw.whole(9_000, 90_000))
    stage.hang(at + 340 * MS, 0)
    return stage.close(
        "Hosts of storage are backed up like all others, by a script that thaws what it has frozen if nothing fails.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall",)),),
    )


@kind(reads=True, without=("disk_busy",))
def discards_run(stage: Stage) -> Scenario:
    """A timer has all hosts of storage tell their disks what is free, at once: for minutes reads wait behind that."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("discards")
    stage.open()
    over = at + seconds(stage.params.timeout_s)
    began = stage.mark(at - draw.span(11_000, 26_000), "all targets discard what is free on their disks")
    lapses.discards(cluster, began, over + seconds(30), draw)
    for turn, other in enumerate(readers(stage)[:4]):
        node, late = cluster.target(draw.whole(0, 99)), at - seconds(6) + seconds(8.5 * turn) + draw.span(1, 900)
        url = f"{node.url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}"
        if turn and late > at + seconds(2):
            cause = sdk.read_timeout(node.address, node.ports[0])
            path = object_path(stage, other, utterance(draw))
            text = sdk.pool_error(node.address, node.ports[0], path, cause)
            stage.job.sdk_warning(late, other, sdk.retrying(1.3, "ConnectionError", text))
        else:
            stage.job.note(late, other, f"slow read: {draw.between(7, 19):.1f} s for {url}", "W", 80)
    unanswered(stage, rank, draw, victim, object_path(stage, rank, utterance(draw)), over=over)
    stage.hang(at + 340 * MS, rank)
    made = replace(stage.guilty("data_loading_stall", victim, also=("storage_io",)), ais_nodes=None)
    return stage.close("The timer comes with the system, and is the same on every host.", (made,))
