"""Storage that looks ill beside a fault of another kind and harms nobody of the job: noise of the twentieth part.

Each is a noise (faults.beside) around the moment of the fault.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth.tunrest import neighbour
from benchmarks.accuracy.generate.scene import Scene, readers
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisstrain, chains
from fixtures.generator.moment import MS, SEC, comma_stamp, seconds


def killed_in_window(scene: Scene) -> None:
    """A target is killed half a minute before the fault and is back soon: batches are repeated, and go on."""
    cluster, draw = scene.cluster, scene.draw.child("killed in window")
    node = scene.other_target(scene.bystander())
    down = scene.at - draw.span(19_000, 27_000)
    is_still = [one for one in cluster.members if one.at > down - 20 * SEC]
    if down < scene.job.begin + seconds(6) or cluster.process(node, down) is None or is_still:
        return
    if cluster.process(node, down) is not cluster.last_process(node):
        return
    scene.mark(down, f"kill -9 {node.name}, which is started again")
    faults.kill(cluster, node, down)
    up = down + draw.span(4_500, 6_400)
    for who in (scene.culprit, *readers(scene)[: draw.whole(1, 3)]):
        then = down + draw.span(30, 2_600)
        failed = chains.dead_designated(scene, then, node, who)
        scene.job.note(then + 6 * MS, who, f"get-batch failed ({failed.error}), retrying 1/5", "W", 96)
        spent = draw.between(1.6, 2.9)
        lost = draw.whole(2, 14)
        later = then + seconds(spent)
        said = f"get-batch: {lost} of 48 objects are missing, the batch goes on without them"
        scene.job.note(later - 2 * MS, who, said, "W", 102)
        scene.job.note(later, who, f"get-batch served after 2 attempts, {spent:.1f} s", "W", 99)
    joined = faults.start_again(cluster, node, up)
    cluster.start_batches(joined + seconds(3.6), scene.other_target(node))


def turned_away_in_window(scene: Scene) -> None:
    """Batches of some ranks, the culprit's among them, are turned away with 429 seconds before, and then served."""
    cluster, draw, node = scene.cluster, scene.draw.child("turned away"), scene.bystander()
    if cluster.xact is None or scene.params.ais_release.order < 410:
        return
    advice = ev.advice("critical", "100ms", "low", "low", "critical")
    for who in (scene.culprit, *readers(scene)[: draw.whole(1, 4)]):
        began = then = scene.at - draw.span(4_000, 19_000)
        tries = draw.whole(1, 3)
        if began < scene.job.begin + seconds(3) or cluster.process(node, began) is None:
            continue
        for attempt in range(tries):
            chains.reject(scene, then, node, who, advice, draw.whole(12, 44))
            then += seconds(0.5 * 2**attempt) + draw.span(5, 40)
        said = f"get-batch served after {tries + 1} attempts (429), {(then - began) / SEC:.1f} s"
        scene.job.note(then, who, said, "W", 99)


def neighbour_reads_cold(scene: Scene) -> None:
    """Another job reads for the first time what lies in a cloud: its reads take long, and it ends well."""
    draw, cluster = scene.draw.child("neighbour reads cold"), scene.cluster
    buckets = ("web-archive", "broadcast-raw", "patents-pdf")
    other = neighbour(scene, draw, "cold neighbour", (2_000, 8_000), buckets)
    began, until = max(scene.at - seconds(36), other.begin + seconds(4)), scene.at + draw.span(9_000, 30_000)
    aisstrain.whole_first(cluster, began, until, draw.between(2.0, 4.0), draw.child("cold"))
    then = began + draw.span(8_000, 13_000)
    while then < until:
        size, rank = draw.whole(3_000, 9_000), draw.whole(0, 3)
        spent = min(draw.between(48, 140), (then - other.begin) / SEC - draw.between(0.4, 2.5))
        said = f"cold read: {spent:.1f} s for {size} MiB of s3://{other.job.bucket}/part-{draw.whole(0, 4095):05d}.tar"
        other.say(then, rank, f"{comma_stamp(then, other.job.zone)} [rank{rank}] INFO reader: {said}")
        then += draw.span(4_000, 12_000)
