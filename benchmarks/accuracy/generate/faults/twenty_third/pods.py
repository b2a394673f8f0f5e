"""Storage faults of the twenty-third part of pods: killed for their memory, restarted in turn, short of processor."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.callers import endpoint_gone
from benchmarks.accuracy.generate.faults.words.guests import killed_for_a_while, leaves
from benchmarks.accuracy.generate.faults.words.regulars import curl_tells, shard_left_out, tar_of, waited
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisshifts as shifts
from fixtures.generator.aisnights import serves_late
from fixtures.generator.aisobjects import not_there
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_third")


@kind(reads=True, hangs=False, lead_s=160.0, without=RESTARTS)
def memory_limit_of_a_target_is_met(stage: Stage) -> Scenario:
    """The kernel kills a target in its cgroup, boto3 finds nobody there (Kubernetes, OOMKilled; botocore).

    To convict: the address that botocore could not connect to is a target's; its log ends in the middle of alerts of
    memory and another begins some seconds later, peers lost their streams to it and were refused in between.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("memory limit")
    stage.open()
    died = stage.mark(at - draw.span(300, 1_600), f"the kernel kills {victim.name}, its cgroup has no memory left")
    disk.memory_pressure(cluster, victim, died - draw.span(105_000, 125_000), died, "high", draw)
    killed_for_a_while(stage, died, (14_500, 19_500))
    over = at + draw.span(4_000, 11_000)
    endpoint_gone(stage, over, rank, victim, utterance(draw))
    for other in readers(stage)[: draw.whole(1, 4)]:
        then = died + draw.span(1_200, 9_500)
        where = f"{victim.url(0)}/s3/{stage.bucket}/{utterance(draw)}"
        said = f'Could not connect to the endpoint URL: "{where}", attempt {draw.whole(1, 3)} of 5'
        stage.job.note(then, other, said, "W", 73, "s3reader")
    leaves(stage, over, rank)
    return stage.close(
        "Its limit was set when the bucket had a tenth of the objects, and its cache of metadata grows with them.",
        (stage.guilty("storage_io", victim, also=("network", "infrastructure", "data_loading_stall")),),
        until=died + seconds(80),
    )


def _restarted(stage: Stage, node: Node, at: int, draw: Draw) -> int:
    """A target is stopped, its pod is made anew with another image, and it joins; when it has."""
    cluster = stage.cluster
    faults.terminate(cluster, node, at)
    joined = faults.start_again(cluster, node, at + draw.span(16_000, 22_000))
    cluster.start_batches(joined + seconds(3.6), stage.other_target(node))
    return joined


@kind(reads=True, hangs=False, lead_s=200.0, without=RESTARTS)
def rolling_restart_leaves_shards_behind(stage: Stage) -> Scenario:
    """Pods of targets are replaced one by one under a job, without maintenance (Kubernetes, StatefulSet; WebDataset).

    To convict: curl is told 404 for shards, each by a target that is asked for it only because another has been
    stopped some seconds before; all such shards fall into the pauses of targets that come back, none beside them.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("rolling")
    stage.open()
    others = [node for node in draw.shuffled(cluster.targets) if node is not victim]
    order, last = [*others[:2], victim], at - draw.span(3_500, 9_000)
    for turn, node in enumerate(order):
        stopped = last - (len(order) - 1 - turn) * seconds(71)
        stage.mark(stopped, f"the pod of {node.name} is replaced")
        for other in draw.shuffled(readers(stage))[: draw.whole(1, 2)]:
            then, shard = stopped + draw.span(1_500, 12_000 if turn < 2 else 3_000), tar_of(draw)
            neighbour = draw.pick([one for one in cluster.targets if one is not node])
            not_there(cluster, neighbour, then - 6 * MS, shard)
            url = f"{stage.proxy_of(other).url(0)}/v1/objects/{stage.bucket}/{shard}"
            shard_left_out(stage, then, other, url, 22, "The requested URL returned error: 404")
        if node is victim:
            shard = tar_of(draw)
            not_there(cluster, draw.pick(others), at - 6 * MS, shard)
            url = f"{stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{shard}"
            curl_tells(stage, at, rank, url, 22, "The requested URL returned error: 404")
        _restarted(stage, node, stopped, draw)
    leaves(stage, at, rank)
    return stage.close(
        "The new image was to be rolled out by night, and night is when the jobs run.",
        (of_all(stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "infrastructure"))),),
        until=last + seconds(80),
    )


@kind(reads=True, min_timeout_s=60, lead_s=70.0)
def processor_limit_holds_a_target_back(stage: Stage) -> Scenario:
    """A target may use one processor of its host and waits for it most of the time (Kubernetes, CFS quota).

    To convict: ranks that wait name one target; by its own counters its reads of some hundred kilobytes take many
    seconds each since then, others that assemble batches count how long they wait, and the primary hears from it late
    now and then; its disks have nothing to do, reads of the other targets take milliseconds.
    """
    cluster, victim, rank, at, over = stage.cluster, stage.victim, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("processor limit")
    stage.open()
    began = stage.mark(at - draw.span(6_000, 14_000), f"the container of {victim.name} has a limit of one processor")
    before = draw.child("before")
    shifts.serves_as_ever(cluster, list(cluster.targets), stage.job.begin, began - seconds(10), (90, 700), before)
    serves_late(cluster, victim, began, over + seconds(20), (8_000, 26_000), (90, 700), draw)
    well = [node for node in cluster.targets if node is not victim]
    shifts.serves_as_ever(cluster, well, began, over, (90, 700), draw)
    shifts.answers_keepalive_late(cluster, victim, began, over, draw)
    _wait_for(stage, victim, over, draw)
    stage.hang(at + 260 * MS, rank)
    return stage.close(
        "Somebody has resized the pods in place, by the requests of another cluster.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure")),),
        until=over + seconds(200),
    )


def _wait_for(stage: Stage, node: Node, over: int, draw: Draw) -> None:
    """The culprit and some others say how long they have waited for what they read of a target."""
    at = stage.at
    for turn, other in enumerate([stage.culprit, *readers(stage)[: draw.whole(2, 4)]]):
        then = at + int((over - at) * (0.3 + 0.13 * turn)) + draw.span(1, 2_000)
        asked = at if other == stage.culprit else then - draw.span(9_000, 19_000)
        url = f"{node.url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}"
        lag = waited(max(at, asked), then)
        have = int((then - at) / SEC / draw.between(15, 21))
        said = f"{have} of 192 samples after {lag}: GET {url}" if other == stage.culprit else f"{lag} for GET {url}"
        stage.job.note(then, other, f"still waiting, {said}", "W", 84)
