"""Storage faults of the eleventh part: targets and proxies that go away, as users and makers tell of it."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, faulthandler, main_thread, py_spy
from benchmarks.accuracy.generate.faults.words.callers import endpoint_gone
from benchmarks.accuracy.generate.faults.words.clients import PYTHON, pipe_failed
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, exhausted, refused_get, retries
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, others_fail
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aischurn as churn
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisobjects, chains, sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "eleventh")


def _shard(draw: Draw) -> str:
    return f"shards/train-{draw.whole(0, 4095):06d}.tar"


@kind(reads=True, lead_s=60.0, without=RESTARTS)
def memory_limit_reached(stage: Stage) -> Scenario:
    """A container of storage is killed at its limit while a shard is read through curl (webdataset issues 112, 308)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("limit")
    stage.open()
    died = stage.mark(at - draw.span(20, 60), f"the container of {victim.name} is killed at its memory limit")
    faults.kill(cluster, victim, died)
    left = draw.whole(90 << 20, 3 << 30)
    ended = draw.pick(
        (
            (18, f"transfer closed with {left} bytes remaining to read"),
            (18, f"end of response with {left} bytes missing"),
            (56, "Recv failure: Connection reset by peer"),
        )
    )
    url = f"{stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{_shard(draw)}"
    pipe_failed(stage, at, rank, url, ended)
    faults.reconnects(cluster, victim, at, at + seconds(3), 2)
    back = stage.mark(died + draw.span(2_100, 5_900), f"the container of {victim.name} is started again")
    faults.start_again(cluster, victim, back)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "The limit of the pod was set for the disks it had last year; the kernel kills, the kubelet starts again.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network")),),
    )


@kind(reads=True, lead_s=100.0, without=RESTARTS)
def device_names_swapped(stage: Stage) -> Scenario:
    """After a boot two disks have each other's names: a target refuses to start (NVIDIA/aistore issue 110)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("swapped")
    stage.open()
    down = stage.mark(at - draw.span(47_000, 66_000), f"the host of {victim.name} is booted")
    faults.terminate(cluster, victim, down)
    up = stage.mark(down + draw.span(31_000, 41_000), f"{victim.name} refuses to start")
    churn.volumes_swapped(cluster, victim, up, at + seconds(min(stage.params.timeout_s, 120)), draw)

    def fails(then: int, name: str) -> str:
        return aisobjects.not_there(cluster, stage.other_target(victim, draw.whole(0, 99)), then, name)

    others_fail(stage, down + 4 * SEC, (-9.1, -5.2, -2.4, 1.3), draw, fails)
    name, owner = utterance(draw), stage.other_target(victim, draw.whole(0, 99))
    text = aisobjects.not_there(cluster, owner, at, name)
    stage.job.raise_on(at + 6 * MS, rank, refused_get(stage, at, rank, owner, name, (404, "Not Found"), text))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "The volume of a target knows its disks by the names the kernel gave them before its update.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )


def _rolled(stage: Stage, node: Node, down: int, draw: Draw) -> None:
    """One target's turn in a rolling update: stopped in an orderly way, started again from a new image."""
    cluster = stage.cluster
    faults.terminate(cluster, node, down)
    joined = faults.start_again(cluster, node, down + draw.span(9_000, 15_000))
    cluster.start_batches(joined + seconds(3.6), stage.other_target(node))


@kind(reads=True, lead_s=160.0, uptime=True, without=(*RESTARTS, "kalive_hiccup"))
def rolled_one_by_one(stage: Stage) -> Scenario:
    """Targets are updated one after the other, and each is away for a while (NVIDIA/aistore docs/lifecycle_node)."""
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw, earlier = stage.draw.child("rolled"), stage.other_target(stage.victim, 1)
    stage.open()
    _rolled(stage, earlier, at - draw.span(73_000, 84_000), draw.child("first"))
    down = stage.mark(at - draw.span(30, 900), f"SIGTERM {victim.name}, whose turn it is")
    _rolled(stage, victim, down, draw.child("second"))
    for other, after in zip(readers(stage), (1.1, 2.6), strict=False):
        name, then = utterance(draw), at + seconds(after) + draw.span(1, 600)
        owner = stage.other_target(victim, draw.whole(0, 99))
        failed = chains.missing_entry(stage, then, owner, owner, name, draw.whole(1, 4))
        stage.job.note(then + 8 * MS, other, f"get-batch failed ({failed.error}), retrying 1/3", "W", 96)
    then, owner = at, stage.other_target(victim)
    for attempt in range(3):
        owner = stage.other_target(victim, attempt)
        failed = chains.missing_entry(stage, then, owner, owner, utterance(draw), draw.whole(3, 9))
        stage.job.note(then + 9 * MS, rank, f"get-batch failed ({failed.error}), retrying {attempt + 1}/3", "W", 96)
        then += seconds(1.0 + attempt) + draw.span(1, 60)
    last = chains.missing_entry(stage, then, owner, owner, utterance(draw), draw.whole(3, 9))
    stage.job.raise_on(then + 9 * MS, rank, last.traceback)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A new image is rolled out while jobs read; what a target holds is nowhere as long as it is away.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )


@kind(reads=True, min_timeout_s=90)
def pipe_without_timeout(stage: Stage) -> Scenario:
    """A host of storage is gone, and curl behind a pipe waits for ever without a word (webdataset issue 308)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, site = stage.draw.child("pipe"), stage.job.job.build["site"]
    stage.open()
    died = stage.mark(at - draw.span(40, 2_900), f"the host of {victim.name} is gone")
    peers = [node for node in cluster.up(died) if node is not victim][:3]
    aisobjects.lose_host(cluster, victim, died, at + seconds(42), peers)
    faults.leave_smap(cluster, victim, died, hung=True)
    reading = main_thread(
        stage,
        ("read", f"{site}/webdataset/gopen.py", 92),
        ("__read", f"{PYTHON}/tarfile.py", 556),
        ("read", f"{PYTHON}/tarfile.py", 527),
        ("copyfileobj", f"{PYTHON}/tarfile.py", 252),
        ("tar_file_iterator", f"{site}/webdataset/tariterators.py", 149),
        ("tar_file_expander", f"{site}/webdataset/tariterators.py", 218),
        ("fetch", stage.job.job.script, 77),
    )
    url = f"{stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{_shard(draw)}"
    stage.job.note(at - 8 * MS, rank, f"opening pipe:curl -s -L {url}", "W", 44, "shards")
    watcher = Thread("pt_nccl_watchdg", (("_wait_for_tstate_lock", f"{PYTHON}/threading.py", 1116),))
    after = draw.between(41, 66)
    if draw.chance(0.6):
        py_spy(stage, after, (reading, watcher))
    else:
        faulthandler(stage, round(after), (reading,))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A power supply fails. Kernels wait a quarter of an hour before they give a silent connection up.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure")),),
    )


@kind(reads=True, proxies=2, hosts=2, off_primary=True, without=RESTARTS)
def endpoint_drained(stage: Stage) -> Scenario:
    """The node of a proxy is drained, and clients have its address (NVIDIA/aistore docs/lifecycle_node)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy = stage.draw.child("drained"), stage.proxy_of(stage.culprit)
    stage.open()
    down = stage.mark(at - draw.span(300, 4_000), f"the node of {proxy.name} is drained")
    churn.proxy_stops(cluster, proxy, down)
    limit = at + seconds(min(stage.params.timeout_s - 8, draw.pick((19, 33))))
    for other in [one for one in readers(stage) if stage.proxy_of(one) is proxy][:3]:
        cause = sdk.refused(draw.whole(*HANDLES))
        text = sdk.pool_error(proxy.address, proxy.ports[0], f"/v1/ml/moss/{stage.bucket}?provider=ais", cause)
        retries(stage, at + draw.span(200, 3_000), other, draw, 0.004, text, at + seconds(9))
    if draw.chance(0.5):
        endpoint_gone(stage, at + draw.span(3_900, 9_000), rank, proxy, utterance(draw))
    else:
        cause = sdk.refused(draw.whole(*HANDLES))
        text = sdk.pool_error(proxy.address, proxy.ports[0], f"/v1/ml/moss/{stage.bucket}?provider=ais", cause)
        exhausted(stage, retries(stage, at, rank, draw, 0.004, text, limit), rank, text)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "The pod of a proxy is set up elsewhere with another address; jobs were started with that of the host.",
        (stage.guilty("storage_io", proxy, also=("data_loading_stall", "network")),),
    )
