"""Storage that is busy, repaired or restarted while a fault of another kind happens: what a hasty reader would blame.

Each is a noise (faults.beside); those that need running batches are made after the job has opened.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.scene import Scene, readers
from fixtures.generator import aisdisk, aisupkeep, chains, sdk
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator.aislog import Say
from fixtures.generator.aisobjects import TRACE
from fixtures.generator.draw import HEX
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import utterance

ABANDONED = "('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))"
ABORTED = "('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))"


def restart_survived(scene: Scene) -> None:
    """A target that served the job is restarted within the last minute: its objects are missing until it is back."""
    cluster, draw = scene.cluster, scene.draw.child("survived")
    node = scene.other_target(scene.victim, draw.whole(0, 50))
    down = scene.at - draw.span(46_000, 58_000)
    if down < scene.job.begin + seconds(6) or cluster.process(node, down) is None:
        return
    scene.mark(down, f"SIGTERM {node.name}")
    faults.terminate(cluster, node, down)
    up = down + draw.span(7_500, 11_000)
    for who in (*readers(scene)[: draw.whole(1, 3)], scene.culprit):
        then, tries = down + draw.span(3, 900), draw.whole(1, 3)
        if draw.chance(0.6):
            scene.job.sdk_warning(then, who, sdk.retrying(1.1, "ConnectionError", ABANDONED))
            then += draw.span(1_110, 1_190)
        for attempt in range(tries):
            designated = scene.other_target(node, draw.whole(0, 50))
            failed = chains.missing_entry(scene, then, designated, designated, utterance(draw), draw.whole(3, 9))
            scene.job.note(then + 8 * MS, who, f"get-batch failed ({failed.error}), retrying {attempt + 1}/5", "W", 96)
            then += seconds(1.5 + attempt) + draw.span(5, 60)
        then = max(then, up + draw.span(1_100, 1_900))
        served = f"get-batch served after {tries + 1} attempts, {(then - down) / SEC:.1f} s"
        scene.job.note(then, who, served, "W", 99)
    joined = faults.start_again(cluster, node, up)
    cluster.start_batches(joined + seconds(3.6), scene.other_target(node))


def reads_recover(scene: Scene) -> None:
    """Connections of some ranks, the culprit's among them, are reset seconds before: all reads succeed again."""
    cluster, draw = scene.cluster, scene.draw.child("recover")
    for who in (scene.culprit, *readers(scene)[: draw.whole(1, 3)]):
        node, then = cluster.target(draw.whole(0, 99)), scene.at - draw.span(9_000, 24_000)
        began, tries = then, draw.whole(1, 3)
        for attempt in range(tries):
            wait = round(draw.between(1.0, min(2.0**attempt + 0.5, 3.0)), 2)
            scene.job.sdk_warning(then, who, sdk.retrying(wait, "ConnectionError", ABORTED))
            if cluster.xact is not None:
                cluster.say(node, then + MS, ev.broken_pipe(cluster.xact, node, scene.client(who)))
                cluster.count(node, then + MS, getbatch_n=1, err_getbatch_n=1)
            then += seconds(wait) + draw.span(3, 60)
        served = f"get-batch served after {tries + 1} attempts, {(then - began) / SEC:.1f} s"
        scene.job.note(then + draw.span(30, 200), who, served, "W", 99)


def tenant_meets_bad_data(scene: Scene) -> None:
    """Targets find content of another tenant's bucket changed, and its clients get 500; the job's bucket is sound."""
    cluster, draw = scene.cluster, scene.draw.child("bad data")
    bucket = draw.pick(("tenant-c", "eval-sets", "imgnet-raw"))
    for _ in range(draw.whole(2, 6)):
        node, at = cluster.target(draw.whole(0, 99)), scene.at - draw.span(-9_000, 26_000)
        name = f"part-{draw.whole(0, 999):05d}/{draw.token(6)}.bin"
        where, request = f"ais://{bucket}/{name}", f"GET /v1/objects/{bucket}/{name}"
        text = f"BAD DATA CHECKSUM: xxhash2({draw.token(16, HEX)} != {draw.token(16, HEX)}) (context: {where})"
        then = cluster.say(node, at, Say("W", "tgtobj:1014", text), Say("E", "tgtobj:873", text))
        cluster.say(node, then, ev.http_error(node, text, request, TRACE))
        cluster.count(node, at, err_get_n=1, err_cksum_n=1)


def tenant_backend_fails(scene: Scene) -> None:
    """The bucket behind another tenant's bucket turns its cold reads down; what the job reads is in the cluster."""
    cluster, draw = scene.cluster, scene.draw.child("backend")
    error = draw.pick(
        (
            "aws-error[AccessDenied: Access Denied]",
            "aws-error[SlowDown: Please reduce your request rate.]",
            "aws-error[NoSuchKey: The specified key does not exist.]",
        )
    )
    status = 503 if "SlowDown" in error else 404 if "NoSuchKey" in error else 403
    for _ in range(draw.whole(4, 11)):
        node, at = cluster.target(draw.whole(0, 99)), scene.at - draw.span(-12_000, 30_000)
        name = f"crawl/{draw.token(8)}.warc.gz"
        warning = f"Warning: failed to cold-GET(read) s3://weblake/{name} {error} {status}"
        then = cluster.say(node, at, Say("I", "tgtobj:905", warning))
        cluster.say(node, then, ev.http_error(node, error, f"GET /v1/objects/weblake/{name}", TRACE))
        cluster.count(node, at, err_get_n=1)


def throttled_in_window(scene: Scene) -> None:
    """A target has busy disks and lets batches wait for some milliseconds, before the fault and after it."""
    cluster, draw, node = scene.cluster, scene.draw.child("throttled"), scene.bystander()
    begin, until = scene.at - draw.span(24_000, 38_000), scene.at + draw.span(9_000, 25_000)
    aisdisk.disk_pressure(cluster, node, max(begin, scene.job.begin + seconds(3)), until, draw)
    release, xact = scene.params.ais_release, cluster.xact
    if release.order < 410 or xact is None:
        return
    for _ in range(draw.whole(3, 8)):
        at = begin + int((until - begin) * draw.between(0, 1))
        slept = draw.pick(("1ms", "10ms", "10ms", "100ms"))
        level = "critical" if slept == "100ms" else "high"
        said = ev.advice(level, slept, "low", "low", level)
        if at > scene.job.begin + seconds(3):
            cluster.say(node, at, ev.throttled(xact, draw.whole(9, 33), said, slept, release.order))


def rebalance_running(scene: Scene) -> None:
    """An operator's rebalance runs from half a minute before the fault: disks are busy everywhere, batches go on."""
    cluster, draw = scene.cluster, scene.draw.child("operator")
    began = scene.at - draw.span(26_000, 36_000)
    scene.mark(began, "an operator starts a rebalance")
    aisupkeep.rebalance_at_length(cluster, began, scene.at + seconds(scene.params.timeout_s + 20), draw)
    cluster.start_batches(began + seconds(3.4), scene.other_target(scene.victim))
