"""Storage faults of the twelfth part that begin between clients and AIStore, or beneath it: doors, nodes, networks."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.clients import fetch_frames
from benchmarks.accuracy.generate.faults.words.gateways import s3_refused
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.requests import (
    HANDLES,
    batch_unanswered,
    exhausted,
    refused_get,
    retries,
)
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, others_fail, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import Scene, readers
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisgates as gates
from fixtures.generator import aismishaps as mishaps
from fixtures.generator import aisobjects, chains, sdk
from fixtures.generator.aisbehind import cold_failed
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twelfth")

#: How a client meets an end of a proxy that has taken its request.
HUNG_UP = "('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))"
#: When a client asks through a balancer that needs 5 s to say that it reaches nobody.
TRIES_S = (0.0, 5.0, 11.1, 28.1, 57.2, 110.2, 211.3)


@kind(reads=True, proxies=2, hosts=2, off_primary=True, min_timeout_s=300, without=("kalive_hiccup",))
def balancer_keeps_dead_proxy(stage: Stage) -> Scenario:
    """A balancer before the proxies still sends hosts to one that is gone: 504 (ingress-nginx docs, hash by client)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy, job = stage.draw.child("balancer"), stage.proxy_of(stage.culprit), stage.job
    host = draw.pick(("ais.storage.corp.example", "aistore-lb.ml.svc.cluster.local", "ais-gw.dc2.example"))
    job.job = replace(job.job, endpoints=(f"http://{host}:80",))
    stage.open()
    died = stage.mark(at - draw.span(300, 2_400), f"the host of {proxy.name} is gone, the balancer sends clients there")
    faults.kill(cluster, proxy, died)
    faults.leave_smap(cluster, proxy, died, hung=True)
    beside = [one for one in readers(stage) if job.job.node_of(one) == job.job.node_of(rank)]
    path, status = f"/v1/ml/moss/{stage.bucket}?provider=ais", draw.pick((504, 504, 503))
    text = sdk.pool_error(host, 80, path, sdk.too_many(status))
    caller = sdk.main_frames(job.job, stage.step, *sdk.batch_get_frames(job.job))
    over = at + seconds(TRIES_S[-1]) + draw.span(4, 900)
    for other in beside[: draw.whole(1, 3)]:
        said = f"no batch for {draw.between(60, 110):.0f} s from http://{host}:80, still trying"
        job.note(at + seconds(draw.between(70, 120)), other, said, "W", 97)
    job.raise_on(over, rank, sdk.exhausted(job.job, caller, "RetryError", text))
    stage.hang(at + 340 * MS, rank)
    also = ("data_loading_stall", "network", "infrastructure")
    return stage.close(
        "The balancer picks a proxy by the address of who asks, and its health check asks the node, not the port.",
        (stage.guilty("storage_io", proxy, also=also),),
    )


def _proxy_text(stage: Stage, draw: Draw, proxy: Node) -> str:
    """Why a client has no connection to a proxy that is not there."""
    cause = sdk.refused(draw.whole(*HANDLES))
    return sdk.pool_error(proxy.address, proxy.ports[0], f"/v1/ml/moss/{stage.bucket}?provider=ais", cause)


@kind(reads=True, proxies=2, hosts=2, off_primary=True, lead_s=80.0, without=(*RESTARTS, "kalive_hiccup"))
def proxy_killed_at_limit(stage: Stage) -> Scenario:
    """Lists of a huge bucket fill a proxy's memory, and its container is killed (NVIDIA/aistore docs, list-objects)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy, job = stage.draw.child("limit"), stage.proxy_of(stage.culprit), stage.job
    stage.open()
    first = at - draw.span(21_000, 29_000)
    for turn in range(6):
        cluster.count(proxy, first - seconds(1 + 4 * turn), lst_n=draw.whole(9, 60))
    stage.mark(first, f"the container of {proxy.name} is killed at its memory limit")
    faults.kill(cluster, proxy, first)
    fellows = [one for one in readers(stage) if stage.proxy_of(one) is proxy][:3]
    for who in (rank, *fellows):
        then, wait = first + draw.span(1, 300), round(draw.between(3.0, 4.9), 2)
        job.sdk_warning(then, who, sdk.retrying(wait, "ConnectionError", HUNG_UP))
        served = then + seconds(wait) + draw.span(200, 1_400)
        job.note(served, who, f"get-batch served after 2 attempts, {wait + 0.9:.1f} s", "W", 99)
    up = gates.proxy_starts(cluster, proxy, first + draw.span(1_200, 1_900), draw.child("first"))
    for turn in range(3):
        cluster.count(proxy, up + seconds(3 + 4 * turn), lst_n=draw.whole(9, 60))
    died = stage.mark(at - draw.span(30, 140), f"the container of {proxy.name} is killed again")
    faults.kill(cluster, proxy, died)
    job.sdk_warning(at, rank, sdk.retrying(1.0, "ConnectionError", HUNG_UP))
    for other in fellows:
        retries(stage, at + draw.span(200, 2_000), other, draw, 0.004, _proxy_text(stage, draw, proxy), at + 9 * SEC)
    limit = at + seconds(min(stage.params.timeout_s - 8, draw.pick((21, 33))))
    text = _proxy_text(stage, draw, proxy)
    exhausted(stage, retries(stage, at + SEC, rank, draw, 0.004, text, limit), rank, text)
    back = died + draw.span(41_000, 47_000)
    faults.leave_smap(cluster, proxy, died)
    gates.proxy_starts(cluster, proxy, back, draw.child("second"))
    stage.hang(at + 340 * MS, rank)
    also = ("data_loading_stall", "network")
    return stage.close(
        "Another team lists hundreds of millions of objects through one proxy; Kubernetes waits before it starts anew.",
        (stage.guilty("storage_io", proxy, also=also),),
    )


@kind(reads=True)
def service_account_key_deleted(stage: Stage) -> Scenario:
    """Somebody deletes the key that targets sign with: no cold read (google-cloud-python#10004, setup-gcloud#76)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("key")
    stage.open()
    began = stage.mark(at - draw.span(2_000, 16_000), "the key of the cluster's service account is deleted")
    behind = draw.pick(("corp-asr-corpora", "speech-archive-eu", "vlm-shards"))
    why = 'oauth2: "invalid_grant" "Invalid JWT Signature."'

    def error_of(name: str) -> str:
        quoted = name.replace("/", "%2F")
        return f'gcp-error[Get "https://storage.googleapis.com/storage/v1/b/{behind}/o/{quoted}?alt=json": {why}]'

    def fails(then: int, name: str) -> str:
        node, error = cluster.target(draw.whole(0, 99)), error_of(name)
        cold_failed(cluster, node, then, name, error, 400)
        return f"{node.name}: {error}"

    for _ in range(draw.whole(4, 11)):
        fails(began + int((at - began) * draw.between(0.05, 1)), utterance(draw))
    others_fail(stage, began, (-5.1, -2.2, -0.7, 0.9, 2.4), draw, fails)
    name = utterance(draw)
    error = error_of(name)
    cold_failed(cluster, victim, at, name, error, 400)
    stage.job.raise_on(at + 6 * MS, rank, refused_get(stage, at, rank, victim, name, (400, "Bad Request"), error))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Keys that are older than ninety days are deleted by a script of those who care for security.",
        (of_all(stage.guilty("storage_io", victim, also=("data_loading_stall", "data"))),),
    )


@kind(reads=True, lead_s=70.0, without=(*RESTARTS, "kalive_hiccup"))
def target_pod_stays_pending(stage: Stage) -> Scenario:
    """The node of a target is drained, and its volumes are nowhere else (ais-k8s docs; kubectl drain)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, by_s3 = stage.draw.child("pending"), stage.draw.child("api").chance(0.5)
    stage.open()
    down = stage.mark(at - draw.span(5_000, 26_000), f"the node of {victim.name} is drained, its pod stays pending")
    faults.terminate(cluster, victim, down)

    def missing(then: int, name: str) -> tuple[Node, str]:
        node = stage.other_target(victim, draw.whole(0, 99))
        if not by_s3:
            return node, aisobjects.not_there(cluster, node, then, name)
        text = f"{node.name}: ais://{stage.bucket}/{name} does not exist"
        mishaps.s3_get_failed(cluster, node, then, name, text, "")
        return node, text

    others_fail(stage, down + 6 * SEC, (-3.9, -1.6, 0.8, 2.1), draw, lambda then, name: missing(then, name)[1])
    name = utterance(draw)
    node, text = missing(at, name)
    if by_s3:
        s3_refused(stage, at + 6 * MS, rank, "NoSuchKey", "GetObject", text)
    else:
        path = f"/v1/objects/{stage.bucket}/{name}"
        body = sdk.answer(node, 404, text, "GET", path, stage.client(rank))
        url = node.url(0) + path + sdk.query(stage.proxy_of(rank), at)
        inner = fetch_frames(stage, "content = self.bucket.object(name).get_reader().read_all()")[-1:]
        said = sdk.request_error(404, body, url, " ")
        in_worker(stage, at + 6 * MS, rank, "aistore.sdk.errors.ErrObjNotFound", said, inner)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Disks of a target belong to its host; whoever drains that host for a new kernel has taken them away.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "infrastructure")),),
    )


def _given_up(stage: Stage, designated: Node, wid: str, at: int, draw: Draw) -> None:
    """Who assembles a batch gives up on an entry, and says so where its release says such things."""
    xact = stage.cluster.xact
    if xact is None or not designated.release.control_channel:
        return
    error = ev.timed_out(designated, xact, wid, draw.whole(3, 40))
    stage.cluster.say(designated, at, ev.bcast_abort(designated, xact, error))


@kind(reads=True)
def jumbo_frames_do_not_pass(stage: Stage) -> Scenario:
    """A target sends frames of 9000 bytes into a switch that passes 1500 (NVIDIA/aistore docs, performance: MTU)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    designated, draw, over = stage.other_target(victim), stage.draw.child("frames"), over_at(stage)
    stage.open()
    began = stage.mark(at - draw.span(4_000, 12_000), f"what {victim.name} and its peers send each other does not pass")
    gates.frames_dropped(cluster, victim, began, over + seconds(20), draw)
    for turn, other in enumerate(readers(stage)[: draw.whole(1, 4)]):
        late = at + seconds(20.02 + 1.7 * turn) + draw.span(1, 900)
        if late < over - SEC:
            chains.read_timed_out(stage, late, stage.other_target(victim, turn), other, round(draw.between(1, 1.6), 2))
    then = at + seconds(20.02)
    for attempt in range(draw.whole(2, 4)):
        if then >= over - SEC:
            break
        wait = round(draw.between(1.0, 2.0**attempt + 0.5), 2)
        wid = chains.read_timed_out(stage, then, designated, rank, wait)
        _given_up(stage, designated, wid, then + draw.span(40, 800), draw)
        then += seconds(wait) + seconds(20.02)
    if then < over - SEC:
        batch_unanswered(stage, then, rank, designated)
    stage.hang(at + 350 * MS, rank)
    return stage.close(
        "A port of the storage switch was configured anew. Small requests, and what clients read, pass as before.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network")),),
    )


def _inside(node: Node) -> str:
    """The name under which a node is known to the others."""
    return f"{node.host}.{node.host.rsplit('-', 1)[0]}.ais.svc.cluster.local"


def _named_inside(stage: Stage, made: Scenario) -> Scenario:
    """The same incident of a cluster whose nodes ask each other by name; clients have addresses."""

    def named(text: str) -> str:
        for node in stage.cluster.nodes:
            for port in node.ports[1:]:
                text = text.replace(f"//{node.address}:{port}", f"//{_inside(node)}:{port}")
                announced = f"{{{node.address} {port} http://{_inside(node)}:{port} {node.address}:{port}}}"
                text = text.replace(
                    f"{announced} (config: {node.address})",
                    f"{{{_inside(node)} {port} http://{_inside(node)}:{port} {_inside(node)}:{port}}} "
                    f"(config: {_inside(node)})",
                )
        return text

    if isinstance(stage, Scene):
        stage.raised = [named(text) for text in stage.raised]
    files = (
        one if "trace_rank_" in one.path else replace(one, data=named(one.data.decode()).encode()) for one in made.files
    )
    return replace(made, files=tuple(files))


@kind(reads=True)
def names_inside_cluster_lost(stage: Stage) -> Scenario:
    """The resolver of AIStore's own Kubernetes is down: its nodes do not find each other (kubernetes docs, DNS)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, job = stage.draw.child("names"), stage.job
    stage.open()
    server = draw.pick(("10.96.0.10:53", "169.254.20.10:53"))
    began = stage.mark(at - draw.span(600, 3_000), "the resolver of the storage cluster answers nobody")
    lost = draw.pick(("server misbehaving", "no such host", "i/o timeout"))

    def why(node: Node) -> str:
        asked = f"read udp 10.244.{draw.whole(0, 90)}.{draw.whole(2, 250)}:{draw.whole(32_800, 60_900)}->{server}: "
        return f"dial tcp: lookup {_inside(node)} on {server}: {asked if lost == 'i/o timeout' else ''}{lost}"

    ends = at + seconds(draw.between(13, 21))
    gates.names_lost(cluster, began, ends, why, draw)

    def refused(then: int, who: int) -> chains.Failed:
        node = stage.other_target(stage.victim, draw.whole(0, 99))
        return chains.dead_designated(stage, then, node, who, why(node))

    for other in readers(stage)[: draw.whole(2, 5)]:
        then = at + draw.span(300, 7_000)
        failed = refused(then, other)
        job.note(then + 7 * MS, other, f"get-batch failed ({failed.error}), retrying 1/3", "W", 96)
    then = at
    for attempt in range(3):
        failed = refused(then, rank)
        job.note(then + 7 * MS, rank, f"get-batch failed ({failed.error}), retrying {attempt + 1}/3", "W", 96)
        then += seconds(1.0 + attempt) + draw.span(1, 60)
    job.raise_on(then + 7 * MS, rank, refused(then, rank).traceback)
    stage.hang(at + 340 * MS, rank)
    also = ("network", "data_loading_stall", "infrastructure")
    made = of_all(stage.guilty("storage_io", stage.victim, also=also))
    return _named_inside(stage, stage.close("Both pods of the resolver ran on one node, which is booted.", (made,)))
