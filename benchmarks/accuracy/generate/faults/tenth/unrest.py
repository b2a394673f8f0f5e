"""Storage that looks ill beside a fault of another kind, in ways that harm nobody of the job: noise of the tenth part.

Each is a noise (faults.beside) around the moment of the fault. Those of a job that trains say so.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.scene import Scene, readers
from fixtures.generator import aisevents as ev
from fixtures.generator import aistroubles, sdk
from fixtures.generator.aisobjects import TRACE
from fixtures.generator.draw import HEX
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import utterance

HUNG_UP = "('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))"


def answers_into_nothing(scene: Scene) -> None:
    """Ranks that train are served when they die: targets write the rest of their batches to nobody."""
    cluster, draw = scene.cluster, scene.draw.child("into nothing")
    if cluster.xact is None:
        return
    others = readers(scene)[: draw.whole(1, 4)]
    moments = [(scene.culprit, draw.span(4, 260)), *((one, draw.span(900, 2_400)) for one in others)]
    for who, after in moments:
        node, at = cluster.target(draw.whole(0, 99)), scene.at + after
        cluster.say(node, at, ev.broken_pipe(cluster.xact, node, scene.client(who)))
        cluster.count(node, at, getbatch_n=1, err_getbatch_n=1)


def repeated_until_now(scene: Scene) -> None:
    """Ranks that train repeat a batch up to a second before the fault, and get it: the culprit's is one of them."""
    cluster, draw = scene.cluster, scene.draw.child("until now")
    for who in (scene.culprit, *readers(scene)[: draw.whole(1, 3)]):
        served = scene.at - draw.span(500, 1_600)
        wait, node = round(draw.between(1.0, 2.2), 2), cluster.target(draw.whole(0, 99))
        began = served - seconds(wait) - draw.span(60, 700)
        if began < scene.job.begin + seconds(2):
            continue
        scene.job.sdk_warning(began, who, sdk.retrying(wait, "ConnectionError", HUNG_UP))
        said = f"get-batch of {node.name} served after 2 attempts, {(served - began) / SEC:.1f} s"
        scene.job.note(served, who, said, "W", 99)


def tenant_tokens_refused(scene: Scene) -> None:
    """Another tenant's clients have lost their token and are told so again and again; the job has its own."""
    _refuse(scene, scene.at - scene.draw.child("tokens").span(9_000, 25_000))


def tenant_tokens_refused_early(scene: Scene) -> None:
    """The same while the job begins."""
    _refuse(scene, scene.job.begin - scene.draw.child("tokens").span(500, 4_000))


def _refuse(scene: Scene, at: int) -> None:
    draw = scene.draw.child("tokens of a tenant")
    bucket = draw.pick(("tenant-d", "ocr-pages", "weblake"))
    for _ in range(draw.whole(4, 12)):
        name = f"part-{draw.whole(0, 9999):05d}.bin"
        request = draw.pick((f"GET /v1/objects/{bucket}/{name}", f"GET /v1/ml/moss/{bucket}"))
        proxy = scene.cluster.proxy(draw.whole(0, 9))
        if scene.cluster.process(proxy, at) is not None:
            aistroubles.token_required(scene.cluster, proxy, at, request)
        at += draw.span(300, 3_900)


def tenant_batches_fail(scene: Scene) -> None:
    """Another tenant asks for batches of which too much is missing: its work items end with an error."""
    cluster, draw, release = scene.cluster, scene.draw.child("tenant batches"), scene.params.ais_release
    xact = ev.Xact(cluster.new_xid(), draw.pick(("tenant-e", "ocr-pages")), release.short_names, release.quotes_wid)
    for _ in range(draw.whole(3, 8)):
        node, at = cluster.target(draw.whole(0, 99)), scene.at - draw.span(-6_000, 27_000)
        if cluster.process(node, at) is None:
            continue
        wid, got = cluster.wid(cluster.proxy(0), draw), draw.whole(2, 30)
        text = ev.soft_limit(xact, wid)
        if node.release.control_channel:
            work = ev.Work(wid, draw.span(900, 8_000), got, got * 16_100, streaming=False)
            cluster.say(node, at, ev.bcast_abort(node, xact, text), ev.work_error(xact, text, work))
        cluster.count(node, at, getbatch_n=1, getbatch_obj_n=got, err_getbatch_n=1, err_soft_getbatch_n=9)


def disk_found_well(scene: Scene) -> None:
    """A read of another tenant's object fails once on a disk, which is examined and found healthy."""
    _examine(scene, scene.at - scene.draw.child("found well").span(2_000, 14_000))


def disk_found_well_early(scene: Scene) -> None:
    """The same while the job begins."""
    _examine(scene, scene.job.begin - scene.draw.child("found well").span(200, 3_000))


def _examine(scene: Scene, at: int) -> None:
    cluster, draw, node = scene.cluster, scene.draw.child("examined"), scene.bystander()
    if not node.disks or cluster.process(node, at) is None or cluster.process(node, at + seconds(9)) is None:
        return
    name = f"pages/{draw.token(8, HEX)}.tif"
    text = f"read {node.mountpaths[0]}/@ais/ocr-pages/%ob/{name}: input/output error"
    then = cluster.say(node, at, ev.http_error(node, text, f"GET /v1/objects/ocr-pages/{name}", TRACE))
    cluster.count(node, at, err_get_n=1, err_io_get_n=1)
    aistroubles.examined(cluster, node, then + MS, text, True, draw)


def peer_reconnects(scene: Scene) -> None:
    """A stream between two targets breaks once and is opened anew; who waited for it is served a little later."""
    cluster, draw, node = scene.cluster, scene.draw.child("peer"), scene.bystander()
    at = scene.at - draw.span(3_000, 16_000)
    peers = [peer for peer in cluster.up(at) if peer is not node]
    if at < scene.job.begin + seconds(4) or not peers or cluster.xact is None:
        return
    for peer in draw.shuffled(peers)[: draw.whole(1, 3)]:
        own = f"{peer.address}:{draw.whole(32_800, 60_900)}->{node.endpoint(2)}"
        error = draw.pick(("EOF", f"write tcp {own}: write: connection reset by peer"))
        then = cluster.say(peer, at + draw.span(1, 90), ev.stream_put_failed(peer, node, error))
        version = cluster.mover_version.get(peer.node_id, 9)
        cluster.say(peer, then + draw.span(300, 1_900), *ev.reconnecting(peer, node, version))
    for who in readers(scene)[: draw.whole(1, 3)]:
        spent = draw.between(1.4, 3.2)
        said = f"batch of {draw.pick((32, 48, 64))} objects took {spent:.1f} s, all of it is here ({utterance(draw)})"
        scene.job.note(min(at + seconds(spent), scene.at - 90 * MS), who, said, "W", 117, "loader")
