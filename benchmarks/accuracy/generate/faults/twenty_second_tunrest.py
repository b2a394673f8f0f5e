"""Storage that looks ill beside a fault of another kind and harms nobody of the job: noise of the twenty-second part.

Each is a noise (faults.beside) around the moment of the fault.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.scene import Scene
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator import sdk
from fixtures.generator.moment import MS, SEC, comma_stamp, seconds
from fixtures.generator.torchrun import Exit


def neighbour_fails(scene: Scene) -> None:
    """Another job asks for a shard that its owner has removed, repeats it, and ends, seconds before the fault."""
    draw, node = scene.draw.child("neighbour fails"), scene.bystander()
    params = replace(scene.params, ranks=4, ranks_per_node=4, layout="slurm", culprit=0)
    other = scene.new_job("failing neighbour", params, scene.job.begin + draw.span(2_000, 6_000))
    other.job = replace(other.job, bucket=draw.pick(("podcasts-raw", "ocr-lines", "lidar-2025")))
    at = scene.at - draw.span(6_000, 21_000)
    last = int((at - other.begin) / seconds(scene.params.step_s))
    if last < 12 or scene.cluster.process(node, at) is None:
        scene.jobs.remove(other)
        return
    other.start()
    other.train(0, last, save_every=10_000)
    rank, name = draw.whole(0, 3), f"v2/part-{draw.whole(0, 4095):05d}.tar"
    for turn in range(3):
        then = at - seconds(2.1) + turn * seconds(0.7)
        head = f"{comma_stamp(then, other.job.zone)} [rank{rank}] WARNING reader"
        other.say(then, rank, f"{head}: ais://{other.job.bucket}/{name} is not there, asking again ({turn + 1}/3)")
        text = sdk.missing_object(node, other.job.bucket, name)
        request = f"GET /v1/objects/{other.job.bucket}/{name}"
        scene.cluster.say(node, then - MS, ev.http_error(node, text, request, "htrun.go:1636"))
        scene.cluster.count(node, then - MS, err_get_n=1)
    path = f"/v1/objects/{other.job.bucket}/{name}"
    url = node.url(0) + path + sdk.query(scene.cluster.proxy(0), at - 3 * MS)
    client = f"10.12.{draw.whole(1, 40)}.{draw.whole(2, 250)}:{draw.whole(32_800, 60_900)}"
    text = sdk.missing_object(node, other.job.bucket, name)
    body = sdk.answer(node, 404, text, "GET", path, client, "ErrNotFound")
    failure = "aistore.sdk.errors.ErrObjNotFound: " + sdk.request_error(404, body, url)
    inner = sdk.Frame(f"{other.job.build['site']}/aistore/sdk/obj/object_reader.py", 88, "get_content", "resp = get()")
    caller = sdk.main_frames(other.job, last, inner)
    other.raise_on(at, rank, sdk.http_failure(other.job, 404, "Not Found", url, failure, caller))
    other.agents_end([Exit(rank, at + 600 * MS, 1)], at + 600 * MS)


def node_serviced_early(scene: Scene) -> None:
    """A target is stopped for a new kernel while the job begins and is back in the cluster before it needs it."""
    cluster, draw, node = scene.cluster, scene.draw.child("serviced"), scene.other_target(scene.victim)
    down = scene.job.begin - draw.span(16_000, 19_000)
    if cluster.process(node, down) is None or cluster.process(node, down) is not cluster.last_process(node):
        return
    if any(one.at > down - 20 * SEC for one in cluster.members):
        return
    scene.mark(down, f"SIGTERM {node.name}, for a new kernel")
    faults.terminate(cluster, node, down)
    faults.start_again(cluster, node, down + draw.span(6_000, 8_000))
