"""Storage that looks ill beside a fault of another kind and harms nobody of the job: noise of the eighteenth part.

Each is a noise (faults.beside) around the moment of the fault, or asks for one that is made when the fault is known.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.noise import kill_after
from benchmarks.accuracy.generate.scene import Scene
from fixtures.generator import aisdaily, aisdisk
from fixtures.generator.draw import Draw
from fixtures.generator.moment import MS, SEC, comma_stamp, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.trainend import JobRun

GIB = 1 << 30


def killed_in_the_hang(stage: Stage) -> None:
    """A target is killed while the job hangs already, whatever else is drawn."""
    if isinstance(stage, Scene) and kill_after not in stage.around.last:
        stage.around.last.append(kill_after)


def neighbour(scene: Scene, draw: Draw, name: str, late_ms: tuple[int, int], buckets: tuple[str, ...]) -> JobRun:
    """Another job of four ranks that begins so much later, reads one of these buckets, and ends well."""
    params = replace(scene.params, ranks=4, ranks_per_node=4, layout="slurm", culprit=0)
    other = scene.new_job(name, params, scene.job.begin + draw.span(*late_ms))
    other.job = replace(other.job, bucket=draw.pick(buckets))
    last = int((scene.params.lead_s + min(scene.params.timeout_s, 120)) / params.step_s) + 25
    other.start()
    other.train(0, last, save_every=10_000)
    other.finish(last)
    return other


def neighbour_reads_slowly(scene: Scene) -> None:
    """Another job finds that large objects of its own bucket come slowly from a busy target, and ends well."""
    draw, node, cluster = scene.draw.child("neighbour reads"), scene.bystander(), scene.cluster
    other = neighbour(scene, draw, "slow neighbour", (3_000, 9_000), ("ocr-pages", "video-clips", "weblake"))
    began, until = max(scene.at - seconds(34), other.begin + seconds(4)), scene.at + draw.span(4_000, 30_000)
    aisdisk.disk_pressure(cluster, node, began, until, draw)
    then = began + draw.span(6_000, 11_000)
    while then < until:
        if cluster.process(node, then) is None:
            return
        size, rank = draw.whole(2, 5) * GIB + draw.whole(0, GIB), draw.whole(0, 3)
        spent = size / GIB * draw.between(2.1, 4.9)
        said = f"slow read: {spent:.1f} s for {size >> 20} MiB of {node.url(0)}/v1/objects/{other.job.bucket}/"
        head = f"{comma_stamp(then, other.job.zone)} [rank{rank}] INFO reader"
        other.say(then, rank, f"{head}: {said}clips-{draw.whole(0, 4095):06d}.tar")
        cluster.count(node, then - MS, get_n=1, get_ns_total=int(spent * SEC), get_size=size)
        then += draw.span(5_000, 14_000)


def backup_until_now(scene: Scene) -> None:
    """A backup reads all there is until some seconds before the fault; batches came late for that while, and come."""
    draw = scene.draw.child("backup")
    began = max(scene.at - draw.span(36_000, 48_000), scene.job.begin + seconds(3))
    aisdaily.backed_up(scene.cluster, began, scene.at - draw.span(6_000, 11_000), draw)
