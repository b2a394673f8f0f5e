"""Storage that looks ill beside a fault of another kind, in ways that harm nobody of the job: noise of the ninth part.

Each is a noise (faults.beside) around the moment of the fault. Those of a job that trains say so.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.scene import Scene, readers
from fixtures.generator import aisevents as ev
from fixtures.generator import aisnode, aisobjects, aisservices, aistroubles
from fixtures.generator.moment import MS, seconds


def settings_change(scene: Scene) -> None:
    """Somebody changes a setting of the cluster some seconds before the fault; it is not one that matters."""
    draw = scene.draw.child("settings change")
    aistroubles.reconfigured(scene.cluster, scene.at - draw.span(2_000, 19_000), draw)


def settings_change_early(scene: Scene) -> None:
    """The same some seconds before the job begins."""
    draw = scene.draw.child("settings change")
    aistroubles.reconfigured(scene.cluster, scene.job.begin - draw.span(300, 4_000), draw)


def keepalives_late(scene: Scene) -> None:
    """The primary finds one target slow to answer again and again, and never removes it; reads of it are fine."""
    draw = scene.draw.child("keepalives")
    _keepalives(scene, [scene.at - seconds(8.0 * turn - 6) - draw.span(0, 6_000) for turn in range(draw.whole(2, 5))])


def keepalives_early(scene: Scene) -> None:
    """The same while the job begins."""
    draw = scene.draw.child("keepalives")
    _keepalives(scene, [scene.job.begin - seconds(1.7 * turn) + draw.span(0, 600) for turn in range(draw.whole(1, 3))])


def _keepalives(scene: Scene, moments: list[int]) -> None:
    cluster, node = scene.cluster, scene.bystander()
    for at in moments:
        if cluster.process(node, at) is not None:
            primary = cluster.primary(at)
            cluster.say(primary, at, aisnode.fast_kalive(primary, node, ev.DEADLINE))
            cluster.count(primary, at, err_kalive_n=1)


def copies_are_made(scene: Scene) -> None:
    """An operator has copies made of the bucket: all disks are busy with it, and batches come in time."""
    draw = scene.draw.child("copies")
    began, until = scene.at - draw.span(17_000, 33_000), scene.at + draw.span(20_000, 60_000)
    began = max(began, scene.job.begin + seconds(3))
    aisservices.make_copies(scene.cluster, began, until, 2, draw)


def reads_are_hedged(scene: Scene) -> None:
    """Ranks that train ask for a late batch twice and hang up on the slower answer: targets write into nothing."""
    cluster, draw = scene.cluster, scene.draw.child("hedged")
    for who in (scene.culprit, *readers(scene)[: draw.whole(2, 5)]):
        for _ in range(draw.whole(1, 3)):
            node, at = cluster.target(draw.whole(0, 99)), scene.at - draw.span(2_500, 32_000)
            if at < scene.job.begin + seconds(4) or cluster.process(node, at) is None:
                continue
            late = draw.between(1.1, 2.9)
            text = f"no batch after {late - 0.4:.1f} s, asked again; the second answer came first, {late:.1f} s in all"
            scene.job.note(at, who, text, "W", 131, "hedge")
            if cluster.xact is not None:
                then = at + draw.span(3, 60)
                cluster.say(node, then, ev.broken_pipe(cluster.xact, node, scene.client(who)))
                cluster.count(node, then, getbatch_n=1, err_getbatch_n=1)


def optional_is_missing(scene: Scene) -> None:
    """Ranks that train ask for embeddings that not all speakers have: 404, and a mean is taken in their place."""
    cluster, draw = scene.cluster, scene.draw.child("optional")
    for who in (*readers(scene)[: draw.whole(2, 6)], scene.culprit):
        node, at = cluster.target(draw.whole(0, 99)), scene.at - draw.span(1_200, 29_000)
        if at < scene.job.begin + seconds(3) or cluster.process(node, at) is None:
            continue
        name = f"spk-emb/{draw.token(2)}/{draw.whole(100, 9999)}.npy"
        text = aisobjects.not_there(cluster, node, at, name)
        said = f"no embedding: {text}; the mean of all speakers is used"
        scene.job.note(at + 4 * MS, who, said, "W", 58, "speakers")
