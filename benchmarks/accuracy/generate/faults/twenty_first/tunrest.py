"""Storage that looks ill beside a fault of another kind and harms nobody of the job: noise of the twenty-first part.

Each is a noise (faults.beside) around the moment of the fault.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth.tunrest import neighbour
from benchmarks.accuracy.generate.scene import Scene
from fixtures.generator import aisevents as ev
from fixtures.generator import sdk
from fixtures.generator.moment import MS, comma_stamp, seconds

RESET = "('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))"


def neighbour_is_reset(scene: Scene) -> None:
    """Another job's connections to a target are reset around the fault; it repeats its batches and ends well."""
    draw, cluster, node = scene.draw.child("neighbour is reset"), scene.cluster, scene.bystander()
    other = neighbour(scene, draw, "reset neighbour", (2_000, 7_000), ("radio-archive", "ocr-v3", "sat-tiles"))
    release = scene.params.ais_release
    xid = f"{'gbt-' if release.gbt_prefix else ''}{draw.token(9)}"
    xact = ev.Xact(xid, other.job.bucket, release.short_names, release.quotes_wid)
    for turn in range(draw.whole(3, 7)):
        then, rank = scene.at - draw.span(-5_000, 24_000), turn % other.job.world
        if then < other.begin + seconds(2) or then > other.ended_at - seconds(5):
            continue
        if cluster.process(node, then) is not None:
            client = f"10.12.{draw.whole(1, 40)}.{draw.whole(2, 250)}:{draw.whole(32_800, 60_900)}"
            cluster.say(node, then - MS, ev.broken_pipe(xact, node, client))
            cluster.count(node, then - MS, getbatch_n=1, err_getbatch_n=1)
        wait = round(draw.between(1.0, 2.4), 2)
        other.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", RESET))
        later = then + seconds(wait) + draw.span(40, 400)
        said = f"ais://{other.job.bucket}: batch of {draw.pick((16, 32, 64))} objects complete at the second attempt"
        other.say(later, rank, f"{comma_stamp(later, other.job.zone)} [rank{rank}] INFO reader: {said}")


def listings_of_a_tenant_fail(scene: Scene) -> None:
    """Another tenant lists a bucket that it has removed, again and again: 404 at a proxy."""
    draw, cluster = scene.draw.child("listings fail"), scene.cluster
    bucket = draw.pick(("tmp-embeddings", "mining-2024", "eval-old"))
    proxy, then = cluster.proxy(draw.whole(0, 9)), scene.at - draw.span(11_000, 26_000)
    for _ in range(draw.whole(4, 9)):
        if cluster.process(proxy, then) is not None:
            text = f'bucket "ais://{bucket}" does not exist'
            cluster.say(
                proxy, then, ev.http_error(proxy, text, f"GET /v1/buckets/{bucket}", "htrun.go:1636 <- bckinit.go:112")
            )
        then += draw.span(900, 4_500)
