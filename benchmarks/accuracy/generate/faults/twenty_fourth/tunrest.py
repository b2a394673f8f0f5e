"""Storage that looks ill beside a fault of another kind and harms nobody of the job: noise of the twenty-fourth part.

Each is a noise (faults.beside) around the moment of the fault, or asks for one that is made when the hang is known.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth.tunrest import neighbour
from benchmarks.accuracy.generate.scene import Scene
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults, aistroubles
from fixtures.generator.aisobjects import TRACE
from fixtures.generator.draw import HEX
from fixtures.generator.moment import MS, comma_stamp, seconds
from fixtures.generator.stage import Stage


def neighbour_skips_bad_reads(scene: Scene) -> None:
    """A disk cannot read some old objects of another job's bucket, and is found well; that job leaves them out."""
    draw, cluster, node = scene.draw.child("bad reads"), scene.cluster, scene.bystander()
    other = neighbour(scene, draw, "skipping neighbour", (1_500, 5_500), ("herbarium-scans", "tv-news-2019", "dialogs"))
    bucket = other.job.bucket
    moments = sorted(scene.at - draw.span(-6_000, 23_000) for _ in range(draw.whole(3, 8)))
    many = 0
    for then in moments:
        rank = draw.whole(0, other.job.world - 1)
        if not other.begin + seconds(2) < then < other.ended_at - seconds(5) or cluster.process(node, then) is None:
            continue
        many += 1
        name = f"{draw.token(2, HEX)}/{draw.token(10, HEX)}.bin"
        text = f"read {node.mountpaths[0]}/@ais/{bucket}/%ob/{name}: input/output error"
        cluster.say(node, then, ev.http_error(node, text, f"GET /v1/objects/{bucket}/{name}", TRACE))
        cluster.count(node, then, err_get_n=1, err_io_get_n=1)
        if many == 1 and node.disks and cluster.process(node, then + seconds(9)) is cluster.last_process(node):
            aistroubles.examined(cluster, node, then + MS, text, True, draw)
        said = f"ais://{bucket}/{name}: 500 from {node.name}, left out ({many} so far)"
        other.say(then + 4 * MS, rank, f"{comma_stamp(then, other.job.zone)} [rank{rank}] WARNING dataset: {said}")


def tenant_asks_for_removed_names(scene: Scene) -> None:
    """Another tenant's index names objects that were removed: its clients of the S3 API are told 404, many times."""
    draw, cluster = scene.draw.child("removed names"), scene.cluster
    bucket = draw.pick(("crawl-2022", "call-center", "lidar-drives"))
    for _ in range(draw.whole(6, 18)):
        node, then = cluster.target(draw.whole(0, 99)), scene.at - draw.span(-9_000, 30_000)
        if cluster.process(node, then) is None:
            continue
        name = f"part={draw.whole(0, 63)}/{draw.token(8, HEX)}.parquet"
        text = f"{node.name}: ais://{bucket}/{name} does not exist"
        cluster.say(node, then, ev.http_error(node, text, f"GET /s3/{bucket}/{name}", TRACE))
        cluster.count(node, then, err_get_n=1)


def restarted_in_the_hang(stage: Stage) -> None:
    """An operator restarts a target while the job hangs already, whatever else is drawn."""
    if isinstance(stage, Scene) and _restart not in stage.around.last:
        stage.around.last.append(_restart)


def _restart(scene: Scene) -> None:
    cluster, draw = scene.cluster, scene.draw.child("restarted in the hang")
    if scene.hung_at is None or scene.params.timeout_s < 45:
        return
    node, at = scene.bystander(), scene.hung_at + seconds(0.4 * scene.params.timeout_s)
    if cluster.process(node, at) is None or any(one.at >= at - seconds(15) for one in cluster.members):
        return
    scene.mark(at, f"SIGTERM {node.name}, while the job hangs")
    aisfaults.terminate(cluster, node, at)
    aisfaults.start_again(cluster, node, at + draw.span(7_500, 12_000))
