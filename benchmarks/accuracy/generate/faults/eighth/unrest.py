"""Storage that looks ill beside a fault of another kind, in ways that harm nobody of the job: noise of the eighth part.

Each is a noise (faults.beside) around the moment of the fault; none of them needs a job that trains.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.scene import Scene, readers
from fixtures.generator import aisdisk, aismishaps, aisobjects, aisservices
from fixtures.generator import aisevents as ev
from fixtures.generator.draw import HEX
from fixtures.generator.model import Node
from fixtures.generator.moment import MS, SEC, seconds


def _running(scene: Scene, node: Node, *moments: int) -> bool:
    """True if a node can speak at all of these moments, and is not before its own start."""
    return all(scene.cluster.process(node, at) is not None for at in moments)


def tenant_panics(scene: Scene) -> None:
    """A handler panics for another tenant's clients, before the fault and after it; the daemons go on."""
    draw = scene.draw.child("panics")
    for _ in range(draw.whole(1, 3)):
        node, at = scene.cluster.target(draw.whole(0, 99)), scene.at - draw.span(-7_000, 31_000)
        client = f"10.77.{draw.whole(1, 9)}.{draw.whole(2, 250)}:{draw.whole(32_800, 60_900)}"
        aisservices.handler_panics(scene.cluster, node, at, client, draw)


def tenant_transformer_ends(scene: Scene) -> None:
    """The transformer of another tenant is killed for its memory: its clients are told that it does not exist."""
    cluster, draw = scene.cluster, scene.draw.child("transformer")
    etl, bucket = draw.pick((("jpeg-thumbs", "imgnet-raw"), ("pdf-text", "papers"), ("tokenize-v2", "weblake")))
    ended = scene.at - draw.span(12_000, 24_000)
    aisservices.transformer_ends(cluster, cluster.target(draw.whole(0, 99)), ended, etl, draw)
    for _ in range(draw.whole(3, 9)):
        node, at = cluster.target(draw.whole(0, 99)), ended + draw.span(300, 30_000)
        request = f"GET /v1/objects/{bucket}/part-{draw.whole(0, 9999):05d}/{draw.token(8, HEX)}"
        text = f"{node.name}: etl job {etl} does not exist"
        trace = "htrun.go:1636 <- tgtetl.go:378 <- target.go:857"
        cluster.say(node, at, ev.http_error(node, text, request, trace, "ErrNotFound"))
        cluster.count(node, at, err_get_n=1)


def tenant_lists_long(scene: Scene) -> None:
    """Another tenant lists a bucket of millions: the disks of one target are busy with it for a minute."""
    draw, node = scene.draw.child("lists"), scene.bystander()
    began, until = scene.at - draw.span(16_000, 30_000), scene.at + draw.span(15_000, 45_000)
    if _running(scene, node, began, until):
        aisservices.lists_long(scene.cluster, node, began, until, draw)


def eviction_runs(scene: Scene) -> None:
    """A target above its watermark evicts what was not read for two hours: nothing that the job reads."""
    draw, node = scene.draw.child("evicts"), scene.bystander()
    began, until = scene.at - draw.span(21_000, 36_000), scene.at + draw.span(8_000, 26_000)
    if _running(scene, node, began, until):
        aisobjects.evict(scene.cluster, node, began, until, draw)


def buckets_change(scene: Scene) -> None:
    """Another tenant makes a bucket, changes or destroys it, some seconds before the fault."""
    _change_buckets(scene, scene.at - scene.draw.child("buckets change").span(3_000, 17_000))


def buckets_change_early(scene: Scene) -> None:
    """The same some seconds before the job begins."""
    _change_buckets(scene, scene.job.begin - scene.draw.child("buckets change").span(400, 5_000))


def _change_buckets(scene: Scene, at: int) -> None:
    draw = scene.draw.child("buckets")
    action = draw.pick(("destroy-bck", "destroy-bck", "create-bck", "set-bprops"))
    aismishaps.change_buckets(scene.cluster, at, action, draw)


def memory_is_low(scene: Scene) -> None:
    """The memory of a target is short for a while and it says so at every tick; it serves all the same."""
    draw, node = scene.draw.child("low memory"), scene.bystander()
    began, until = scene.at - draw.span(20_000, 34_000), scene.at + draw.span(5_000, 30_000)
    if _running(scene, node, began, until):
        level = draw.pick(("high", "high", "extreme"))
        aisdisk.memory_pressure(scene.cluster, node, began, until, level, draw)


def slow_then_fine(scene: Scene) -> None:
    """Some ranks wait seconds for a batch while a target's disks are busy; then batches come at once again."""
    draw, node = scene.draw.child("slow then fine"), scene.bystander()
    began = max(scene.at - draw.span(24_000, 33_000), scene.job.begin + seconds(3))
    until = scene.at - draw.span(11_000, 14_000)
    if until - began < 6 * SEC or not _running(scene, node, began, until):
        return
    aisdisk.disk_pressure(scene.cluster, node, began, until, draw)
    for who in (*readers(scene)[: draw.whole(1, 3)], scene.culprit):
        spent = draw.between(3.1, 8.8)
        then = began + seconds(spent) + draw.span(10, 1_900)
        text = f"batch of {draw.pick((32, 48, 64))} objects took {spent:.1f} s (median {draw.between(0.1, 0.4):.2f} s)"
        scene.job.note(min(then, until), who, text, "W", 117, "loader")
        fine = f"batches take {draw.between(0.1, 0.4):.2f} s again"
        scene.job.note(until + draw.span(900, 3_900) + 3 * MS, who, fine, "W", 119, "loader")
