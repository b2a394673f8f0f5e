"""Storage that looks ill beside a fault of another kind and harms nobody of the job: noise of the twenty-fifth part.

Each is a noise (faults.beside) around the moment of the fault.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth.tunrest import neighbour
from benchmarks.accuracy.generate.scene import Scene
from fixtures.generator import aisevents as ev
from fixtures.generator.draw import HEX
from fixtures.generator.moment import SEC, comma_stamp, seconds

#: From the server's loop to the place where a target receives an object, and to where it gives one out.
PUT_TRACE = "htrun.go:1636 <- target.go:1139 <- target.go:794"
GET_TRACE = "htrun.go:1636 <- target.go:921 <- target.go:774"


def tenant_uploads_break_off(scene: Scene) -> None:
    """Clients of another tenant hang up while they upload: targets have received a part of it and say so."""
    draw, cluster = scene.draw.child("uploads break off"), scene.cluster
    bucket = draw.pick(("camera-dumps", "nightly-backup", "sim-traces"))
    for _ in range(draw.whole(4, 11)):
        node, then = cluster.target(draw.whole(0, 99)), scene.at - draw.span(-8_000, 27_000)
        process = cluster.process(node, then)
        if process is None or cluster.process(node, then - 12 * SEC) is not process:
            continue
        name = f"{draw.token(2, HEX)}/{draw.token(8, HEX)}.bag"
        text = (
            f"{node.name}: failed to receive ais://{bucket}/{name} (written {draw.whole(12, 940)}MiB): unexpected EOF"
        )
        cluster.say(node, then, ev.http_error(node, text, f"PUT /v1/objects/{bucket}/{name}", PUT_TRACE))
        cluster.count(node, then, err_put_n=1)


def neighbour_loses_its_bucket(scene: Scene) -> None:
    """Objects of another job's bucket are removed while it reads them: 404, which it counts and leaves out."""
    draw, cluster = scene.draw.child("loses its bucket"), scene.cluster
    other = neighbour(scene, draw, "emptied neighbour", (1_200, 6_000), ("forum-dump-v2", "screens-2021", "pdf-pages"))
    moments = sorted(scene.at - draw.span(-5_000, 25_000) for _ in range(draw.whole(4, 9)))
    missed: dict[int, int] = {}
    for then in moments:
        node, rank = cluster.target(draw.whole(0, 99)), draw.whole(0, other.job.world - 1)
        if not other.begin + seconds(2) < then < other.ended_at - 5 * SEC or cluster.process(node, then) is None:
            continue
        missed[rank] = missed.get(rank, 0) + 1
        name = f"pages/{draw.token(2, HEX)}/{draw.token(9, HEX)}.webp"
        text = f"{node.name}: ais://{other.job.bucket}/{name} does not exist"
        cluster.say(node, then, ev.http_error(node, text, f"GET /v1/objects/{other.job.bucket}/{name}", GET_TRACE))
        cluster.count(node, then, err_get_n=1)
        said = f"{name}: 404, {missed[rank]} names without an object so far, going on"
        other.say(then + SEC // 200, rank, f"{comma_stamp(then, other.job.zone)} [rank{rank}] WARNING index: {said}")
