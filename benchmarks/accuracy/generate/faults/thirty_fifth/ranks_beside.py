"""What kinds of the job's own faults share: a host's syslog, and storage that is loud around them and not to blame.

Each noise is one of `beside`; readers fetch ahead of the step, so that nobody waits for what is asked for again.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.scene import Scene, readers
from fixtures.generator import aisabsences, aisdisk, chains
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator.model import Node
from fixtures.generator.moment import MS, SEC, local, seconds
from fixtures.generator.stage import Stage

#: Where the devices of a host sit on its bus.
SLOTS = ("18", "2a", "3a", "5d", "9a", "ab", "ba", "db")
#: Noise of a target that `killed_and_back` takes away.
KILLED = ("kalive_hiccup", "mountpath_before", "tenant_out_of_space", "disk_busy")
#: The first release that turns batches away.
TURNS_AWAY = 410


def host_says(stage: Stage, at: int, node: int, text: str) -> None:
    """A line of a host's kernel or services, as a monitor beside the job copies it."""
    own = stage.job.job
    stage.job.agent(at, node, f"node-monitor: {local(at, own.zone):%b %e %H:%M:%S} {own.hosts[node]} {text}")


def slot_of(stage: Stage, rank: int) -> str:
    """Where the device of a rank sits."""
    return SLOTS[stage.job.job.local_rank(rank) % len(SLOTS)]


def step_ahead(stage: Stage, at: int) -> int:
    """A step for which a rank fetches at this moment, due when all repeats of it are long over."""
    params = stage.params
    return int((at - stage.job.begin) / seconds(params.step_s)) + max(3 * params.read_every, int(24 / params.step_s))


def complete(stage: Stage, at: int, rank: int, asked_at: int, tries: int = 1) -> None:
    """A rank has the whole batch that it has fetched ahead."""
    again = f" at try {tries}" if tries > 1 else ""
    said = f"batch for step {step_ahead(stage, asked_at)}: 48 of 48 after {(at - asked_at) / SEC:.2f} s{again}"
    told(stage, at, rank, "prefetch", said)


def turned_away(scene: Scene) -> None:
    """Targets under pressure answer 429 to batches of several ranks, the culprit's among them: all come later."""
    if scene.params.ais_release.order < TURNS_AWAY:
        return
    draw, cluster = scene.draw.child("turned away"), scene.cluster
    for who in (scene.culprit, *readers(scene)[: draw.whole(2, 4)]):
        node, asked = cluster.target(draw.whole(0, 99)), scene.at - draw.span(13_000, 27_000)
        then, tries = asked, draw.whole(1, 2)
        for turn in range(tries):
            advice = ev.advice("critical", "100ms", draw.pick(("critical", "high")), "low", "critical")
            chains.reject(scene, then, node, who, advice, draw.whole(12, 48))
            then += seconds(3.0 * 2**turn) + draw.span(4, 40)
        complete(scene, then + draw.span(90, 400), who, asked, tries + 1)


def killed_and_back(scene: Scene) -> None:
    """A target is killed within the last minute and started again at once: batches are short, and asked for again."""
    draw, cluster = scene.draw.child("killed and back"), scene.cluster
    node, down = scene.bystander(), scene.at - draw.span(43_000, 55_000)
    if down < scene.job.begin + seconds(4) or cluster.process(node, down) is None:
        return
    scene.mark(down, f"kill -9 {node.name}")
    faults.kill(cluster, node, down)
    up = down + draw.span(6_400, 8_200)
    well = [one for one in cluster.targets if one is not node]
    for turn, who in enumerate((scene.culprit, *readers(scene)[: draw.whole(1, 3)])):
        asked = then = down + draw.span(4, 60) + turn * draw.span(60, 900)
        tries = 1
        while then < up + draw.span(1_300, 1_900):
            failed = _failed(scene, then, who, node, draw.pick(well), draw.chance(0.5))
            said = f"batch for step {step_ahead(scene, asked)} failed ({failed}), try {tries + 1} of 8 follows"
            told(scene, then + 8 * MS, who, "prefetch", said, "WARNING")
            then += seconds(1.0 + tries) + draw.span(4, 60)
            tries += 1
        complete(scene, then + draw.span(60, 400), who, asked, tries)
    faults.reconnects(cluster, node, down, up, 1)
    aisabsences.comes_back_unmoved(cluster, node, up, draw.child("back"))


def _failed(scene: Scene, at: int, rank: int, dead: Node, designated: Node, is_sender: bool) -> str:
    """How a batch fails for want of a target that was just killed."""
    if is_sender:
        return chains.cut_off_stream(
            scene, at, designated, dead, rank, scene.draw.child("got", at).whole(0, 9), 48
        ).error
    return chains.dead_designated(scene, at, dead, rank).error


def disk_given_up(scene: Scene) -> None:
    """A target gives up a disk that has too many errors, seconds before the fault: what it held has copies."""
    draw, node = scene.draw.child("given up"), scene.bystander()
    if len(node.mountpaths) < 2:
        return
    at = scene.at - draw.span(9_000, 17_000)
    where = draw.whole(0, min(len(node.mountpaths), len(node.disks)) - 1)
    scene.mark(at, f"{node.name} disables {node.mountpaths[where]}")
    aisdisk.lose_mountpath(scene.cluster, node, at, node.mountpaths[where], node.disks[where], draw.between(24, 61))


def killed_in_the_hang(scene: Scene) -> None:
    """A target is killed while the job waits already, and leaves the cluster: too late to be the cause."""
    draw, cluster = scene.draw.child("killed late"), scene.cluster
    node = scene.bystander()
    at = scene.at + int(scene.params.timeout_s * SEC * draw.between(0.25, 0.5))
    if cluster.process(node, at) is None:
        return
    scene.mark(at, f"kill -9 {node.name}, while the job waits")
    faults.kill(cluster, node, at)
    faults.leave_smap(cluster, node, at)
