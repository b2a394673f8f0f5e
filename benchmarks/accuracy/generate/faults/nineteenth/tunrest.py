"""Storage that looks ill beside a fault of another kind and harms nobody of the job: noise of the nineteenth part.

Each is a noise (faults.beside) around the moment of the fault, or asks for one that is made when the job is over.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.scene import Scene
from fixtures.generator import aisdisk, aisfaults
from fixtures.generator.aisdisk import Space
from fixtures.generator.model import Node
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

#: A target that takes no more; what it holds is served.
FULL = Space("3590.0GiB", "135.2GiB", 96, "3725.29GiB")


def _runs(scene: Scene, node: Node, at: int) -> bool:
    """A node runs at a moment, and is not started anew after it."""
    process = scene.cluster.process(node, at)
    return process is not None and process is scene.cluster.last_process(node)


def tenant_full_in_window(scene: Scene) -> None:
    """Some seconds before the fault a target has no room for another tenant, and has none after it."""
    cluster, draw, node = scene.cluster, scene.draw.child("full in window"), scene.other_target(scene.bystander())
    at = scene.at - draw.span(4_000, 15_000)
    if not _runs(scene, node, at) or node.node_id in cluster.full_since or not node.disks:
        return
    scene.mark(at, f"{node.name} runs out of space for tenant-f")
    for turn in range(draw.whole(2, 5)):
        path = f"/v1/objects/tenant-f/dump/{draw.whole(0, 9999):04d}.bin"
        aisdisk.put_rejected(cluster, node, at + turn * draw.span(400, 2_900), path, FULL)
    aisdisk.out_of_space(cluster, node, at, scene.at + seconds(45), FULL)


def disk_lost_in_window(scene: Scene) -> None:
    """A target gives up a disk as the fault happens; what was on it has copies, and no read of the job fails."""
    cluster, draw, node = scene.cluster, scene.draw.child("lost in window"), scene.bystander()
    at = scene.at - draw.span(2_000, 12_000)
    if len(node.disks) < 3 or not _runs(scene, node, at) or at < scene.job.begin + seconds(9):
        return
    scene.mark(at, f"{node.name} disables {node.mountpaths[-1]}")
    aisdisk.lose_mountpath(cluster, node, at, node.mountpaths[-1], node.disks[-1], 38.0)


def killed_when_all_is_over(stage: Stage) -> None:
    """A target is killed some seconds after the job has ended, whatever else is drawn."""
    if isinstance(stage, Scene) and _kill_late not in stage.around.last:
        stage.around.last.append(_kill_late)


def _kill_late(scene: Scene) -> None:
    node, draw = scene.bystander(), scene.draw.child("killed late")
    at = scene.job.ended_at + draw.span(1_500, 9_000)
    if scene.cluster.process(node, at) is None or any(one.at >= at - 60 * SEC for one in scene.cluster.members):
        return
    scene.mark(at, f"kill -9 {node.name}, when the job has ended")
    aisfaults.kill(scene.cluster, node, at)
    aisfaults.leave_smap(scene.cluster, node, at + MS)
