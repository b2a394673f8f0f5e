"""Storage faults of the eighteenth part of targets that are upgraded, killed, drained, crash or lose their host."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.guests import killed_for_a_while, leaves
from benchmarks.accuracy.generate.faults.words.lodgers import (
    INVALID,
    REFUSED,
    arrays_not_opened,
    asked_of,
    clip,
    curl_failed,
    ffmpeg,
    host_not_connected,
    refused_by,
    shard,
    video_not_opened,
)
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisobjects
from fixtures.generator import aisquiet as quiet
from fixtures.generator import aisrounds as rounds
from fixtures.generator import aistroubles as troubles
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "eighteenth")
STILL = (*RESTARTS, "kalive_hiccup")


def _replaced(stage: Stage, skip: int, at: int, back_ms: tuple[int, int]) -> int:
    """A target is stopped and comes back with the next release; when it has joined."""
    cluster, draw = stage.cluster, stage.draw.child("replaced", skip)
    node = stage.victim if skip < 0 else stage.other_target(stage.victim, skip)
    stage.mark(at, f"SIGTERM {node.name}, it is upgraded")
    faults.terminate(cluster, node, at)
    newer = troubles.upgraded(node, stage.draw.child("release"))
    joined = faults.start_again(cluster, newer, at + draw.span(*back_ms))
    cluster.start_batches(joined + seconds(3.6), stage.other_target(node, max(skip, 0) + 1))
    return joined


@kind(reads=True, hangs=False, lead_s=120.0, without=STILL)
def upgrade_comes_to_the_target_of_a_video(stage: Stage) -> Scenario:
    """Targets are upgraded one by one, a video is asked of the one that is down (ais-k8s docs, upgrades; PyAV, errors).

    To convict: the address that FFmpeg could not connect to is the public one of a target whose log ends with Signal 15
    a moment before, and begins anew with the next release.
    """
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("upgrade")
    stage.open()
    _replaced(stage, draw.whole(0, 50), at - draw.span(71_000, 84_000), (9_000, 14_000))
    down = at - draw.span(150, 2_400)
    joined = _replaced(stage, -1, down, (11_000, 16_000))
    for other in readers(stage)[: draw.whole(1, 4)]:
        name = clip(draw)
        said = f"{name}: [Errno 111] Connection refused, from {asked_of(stage, stage.victim, name)}: next clip"
        stage.job.note(down + int((at + 500 * MS - down) * draw.between(0.1, 1)), other, said, "W", 93, "clips")
    ffmpeg(stage, at - 2 * MS, rank, "tcp", refused_by(stage.victim).removeprefix("[tcp] "))
    video_not_opened(stage, at, rank, clip(draw), REFUSED, refused_by(stage.victim))
    leaves(stage, at, rank)
    return stage.close(
        "The change was approved for a night without jobs, and this job had been waiting in the queue.",
        (stage.guilty("storage_io", stage.victim, also=("network", "data_loading_stall", "data")),),
        until=joined + seconds(5),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=STILL)
def killed_target_ends_a_video_early(stage: Stage) -> Scenario:
    """The kernel kills a target for its memory as it sends a video: decoded, what came makes no sense (javacv#2110).

    To convict: the stream ended too early at the very moment at which peers lost their streams from a target, which had
    an alert of its memory before; others of the job are then refused at its address.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, size = stage.draw.child("early"), stage.draw.child("size").whole(9, 190) << 20
    stage.open()
    died = stage.mark(at - draw.span(9, 60), f"the kernel kills {victim.name}")
    quiet.too_much_memory(cluster, victim, died - draw.span(23_000, 36_000), draw)
    joined = killed_for_a_while(stage, died, (9_000, 15_000))
    got, name = draw.whole(1 << 20, size - 9), clip(draw)
    ffmpeg(stage, died + draw.span(1, 5), rank, "http", f"Stream ends prematurely at {got}, should be {size}")
    partial = f"stream 0, offset 0x{got - draw.whole(900, 90_000):x}: partial file"
    ffmpeg(stage, at - 2 * MS, rank, "mov,mp4,m4a,3gp,3g2,mj2", partial)
    for other in readers(stage)[: draw.whole(1, 4)]:
        then = at + draw.span(20, 600)
        ffmpeg(stage, then, other, "tcp", refused_by(victim).removeprefix("[tcp] "))
        stage.job.note(then + MS, other, f"{clip(draw)}: Connection refused, another clip", "W", 93, "clips")
    video_not_opened(stage, at, rank, name, INVALID, f"[mov,mp4,m4a,3gp,3g2,mj2] {partial}", reads=True)
    leaves(stage, at, rank)
    return stage.close(
        "Its limit was set for audio; a video keeps a buffer of its own for as long as it is sent.",
        (stage.guilty("storage_io", victim, also=("network", "data_loading_stall", "data")),),
        until=joined + seconds(4),
    )


@kind(reads=True, hangs=False, lead_s=70.0, without=STILL)
def drained_node_takes_its_shards_along(stage: Stage) -> Scenario:
    """A node is drained, its target's pod stays pending: 404 for what it holds (kubernetes docs, drain; ais-k8s docs).

    To convict: another target says of the very shard in curl's command that it does not exist, and the map has lost a
    target, by its own removal, some seconds before.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("drained")
    stage.open()
    down = stage.mark(at - draw.span(1_500, 19_000), f"the node of {victim.name} is drained")
    faults.terminate(cluster, victim, down)
    for other in readers(stage)[: draw.whole(1, 4)]:
        then, lost = down + 300 * MS + int((at - down) * draw.between(0, 0.8)), shard(draw)
        aisobjects.not_there(cluster, stage.other_target(victim, draw.whole(0, 50)), then, lost)
        stage.job.say(then + 6 * MS, other, "curl: (22) The requested URL returned error: 404")
        stage.job.note(then + 9 * MS, other, f"{lost}: exit 22, shard left out", "W", 88)
    name = shard(draw)
    aisobjects.not_there(cluster, stage.other_target(victim, draw.whole(0, 50)), at - 6 * MS, name)
    curl_failed(stage, at, rank, name, 22, "The requested URL returned error: 404")
    leaves(stage, at + 5 * MS, rank)
    return stage.close(
        "Its volumes are local ones: the pod cannot be anywhere else, and waits until the node is uncordoned.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "infrastructure")),),
    )


@kind(reads=True, hangs=False, lead_s=75.0, without=STILL)
def target_crashes_again_as_it_returns(stage: Stage) -> Scenario:
    """A target crashes, joins and crashes in the rebalance that follows; aiohttp is refused (NVIDIA/aistore issue 317).

    To convict: aiohttp names the address of a target that has begun three logs within a minute, of which two end
    without a word of shutting down.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("again")
    stage.open()
    first = stage.mark(at - draw.span(27_000, 30_000), f"{victim.name} crashes")
    second, joined = rounds.crashes_twice(cluster, victim, first, draw)
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))
    then = second + draw.span(200, 3_000)
    for died, until in ((first, first + seconds(3.5)), (second, then + 500 * MS)):
        for other in readers(stage)[: draw.whole(1, 3)]:
            where = f"{victim.address}:{victim.ports[0]}"
            said = f"{utterance(draw)}: Cannot connect to host {where} ssl:default, tried again in 15 s"
            stage.job.note(died + int((until - died) * draw.between(0.1, 1)), other, said, "W", 63, "fetch")
    host_not_connected(stage, then, rank, victim)
    leaves(stage, then, rank)
    return stage.close(
        "Its second end is that of the first: a nil pointer in what moves objects to where they belong.",
        (stage.guilty("storage_io", victim, also=("network", "data_loading_stall")),),
        until=joined + seconds(5),
    )


@kind(reads=True, lead_s=60.0, min_timeout_s=60, without=STILL)
def curl_waits_for_a_host_that_rebooted(stage: Stage) -> Scenario:
    """A host of storage goes down hard, curl without a limit waits for its answer (webdataset#308; aistore docs/ha).

    To convict: the silent rank said last which address of which target it reads a shard from; that target's log ends in
    the middle, its peers do not reach it, and the primary removes it.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("hard"), over_at(stage)
    stage.open()
    died = stage.mark(at - draw.span(40, 900), f"the host of {victim.name} goes down")
    peers = [node for node in cluster.up(died) if node is not victim]
    aisobjects.lose_host(cluster, victim, died, over + seconds(20), peers[:4])
    faults.leave_smap(cluster, victim, died, hung=True)
    reader_note(stage, died - draw.span(30, 300), rank, f"pipe:curl -sSL {asked_of(stage, victim, shard(draw))}")
    for other in readers(stage)[: draw.whole(1, 4)]:
        then = at + draw.span(3_050, 12_000)
        url = asked_of(stage, victim, shard(draw))
        stage.job.note(then, other, f"curl: (28) Connection timed out after 3000 milliseconds: {url}", "W", 71)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A power supply; the other one had been reported in spring.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network", "infrastructure")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=STILL)
def arrays_opened_on_a_target_that_is_killed(stage: Stage) -> Scenario:
    """A container of storage is killed at its limit as a job opens more arrays (tensorstore, curl_wrappers; docs/ha).

    To convict: TensorStore names the address of a target whose log ends without a shutdown at that time, and whose
    peers cannot connect to it either.
    """
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw, year = stage.draw.child("arrays"), stage.draw.child("year").whole(1979, 2021)
    stage.open()
    died = stage.mark(at - draw.span(300, 2_500), f"the container of {victim.name} is killed at its limit")
    quiet.too_much_memory(stage.cluster, victim, died - draw.span(12_000, 28_000), draw)
    joined = killed_for_a_while(stage, died, (10_000, 17_000))
    for other in readers(stage)[: draw.whole(0, 3)]:
        said = f"{year + draw.whole(-3, 3)}.zarr not opened at {victim.url(0)}, tried again in a minute"
        stage.job.note(at + draw.span(1, 600), other, said, "W", 54, "arrays")
    arrays_not_opened(stage, at, rank, victim, f"era5/{year}.zarr")
    leaves(stage, at, rank)
    return stage.close(
        "All ranks open forty years at once; each is a list of a hundred thousand chunks.",
        (stage.guilty("storage_io", victim, also=("network", "data_loading_stall")),),
        until=joined + seconds(4),
    )
