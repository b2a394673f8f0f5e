"""Storage that looks ill beside a fault of another kind and harms nobody of the job: noise of the twenty-second part.

Each is a noise (faults.beside) around the moment of the fault.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.scene import Scene
from fixtures.generator import aisevents as ev
from fixtures.generator import sdk
from fixtures.generator.aislog import Say
from fixtures.generator.aisobjects import TRACE
from fixtures.generator.moment import MS, comma_stamp, seconds
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


def tenant_is_denied_early(scene: Scene) -> None:
    """The cloud denies another tenant's cold reads, before and while the job begins; the job's bucket is another."""
    cluster, draw = scene.cluster, scene.draw.child("denied")
    bucket = draw.pick(("partner-drop", "satellite-l2", "calls-2023"))
    error = "aws-error[AccessDenied: Access Denied]"
    for _ in range(draw.whole(5, 12)):
        node, at = cluster.target(draw.whole(0, 99)), scene.job.begin - draw.span(-3_000, 6_000)
        if cluster.process(node, at) is None:
            continue
        name = f"in/{draw.token(7)}.parquet"
        warning = f"Warning: failed to cold-GET(read) s3://{bucket}/{name} {error} 403"
        then = cluster.say(node, at, Say("I", "tgtobj:905", warning))
        cluster.say(node, then, ev.http_error(node, error, f"GET /v1/objects/{bucket}/{name}", TRACE))
        cluster.count(node, at, err_get_n=1)
