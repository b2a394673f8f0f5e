"""Storage faults of the known part, which was held back first."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.requests import unanswered
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator import chains, sdk
from fixtures.generator.aislog import Say
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "known")


@kind(reads=True)
def target_crashes(stage: Stage) -> Scenario:
    """A target ends itself with a fatal error; the batches it was to assemble fail."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    stage.open()
    died = at - 40 * MS
    where = victim.mountpaths[0]
    fatal = f"FATAL ERROR: {victim.name}: mp[{where}, {victim.disks[0]}, nvme] lost or unmounted"
    cluster.say(victim, died - MS, Say("E", "vinit:141", fatal + "\n"))
    process = cluster.last_process(victim)
    stage.mark(died, f"{victim.name} ends with a fatal error")
    faults.kill(cluster, victim, died)
    process.graceful = True
    failed = chains.dead_designated(stage, at, victim, rank)
    stage.job.raise_on(at + 9 * MS, rank, failed.traceback)
    faults.leave_smap(cluster, victim, at)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A target finds a mountpath gone and ends itself; it flushes its log at exit.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall",)),),
    )


@kind(reads=True)
def target_taken_down(stage: Stage) -> Scenario:
    """An operator stops a target in an orderly way while a rank needs it; its retries do not outlast the restart."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("down")
    stage.open()
    stage.mark(at - 30 * MS, f"SIGTERM {victim.name}")
    faults.terminate(cluster, victim, at - 30 * MS)
    then = at + 400 * MS
    for attempt in range(3):
        designated = stage.other_target(victim, attempt)
        failed = chains.missing_entry(stage, then, designated, designated, utterance(draw), draw.whole(5, 8))
        stage.job.note(then + 9 * MS, rank, f"get-batch failed ({failed.error}), retrying {attempt + 1}/3", "W", 96)
        then += seconds(1.5 * 2**attempt)
    last = chains.missing_entry(stage, then, designated, designated, utterance(draw), draw.whole(5, 8))
    stage.job.raise_on(then + 9 * MS, rank, last.traceback)
    stage.hang(at + 350 * MS, rank)
    back = stage.mark(at + seconds(38), f"{victim.name} is started again")
    faults.start_again(cluster, victim, back)
    return stage.close(
        "A target is stopped without maintenance; what it owns is missing until it is back, for longer than the "
        "loader's retries.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "data")),),
    )


@kind(reads=True, proxies=2)
def endpoint_hung(stage: Stage) -> Scenario:
    """The proxy that a host uses is stopped; it accepts connections and never answers."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    proxy = stage.proxy_of(rank)
    draw = stage.draw.child("endpoint")
    stage.open()
    stage.mark(at - 20 * MS, f"SIGSTOP {proxy.name}")
    over = at + seconds(stage.params.timeout_s)
    faults.stop(cluster, proxy, at - 20 * MS, over + seconds(90))
    if cluster.primary(at) is not proxy:
        faults.leave_smap(cluster, proxy, at, hung=True)
    unanswered(stage, rank, draw, proxy, f"/v1/ml/moss/{stage.bucket}?provider=ais", over=over)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A stopped proxy is the endpoint of the culprit's host; every request runs into the read time-out.",
        (stage.guilty("data_loading_stall", proxy, also=("storage_io", "network")),),
    )


def partition(stage: Stage, node: Node, at: int, until: int) -> None:
    """Streams to and from a target time out while it lives and answers others."""
    draw = stage.draw.child("partition")
    for peer in stage.cluster.targets:
        if peer is node:
            continue
        error = f"dial tcp {node.endpoint(2)}: i/o timeout"
        then = at + draw.span(900, 2600)
        while then < until:
            version = stage.cluster.mover_version.get(peer.node_id, 9)
            end = stage.cluster.say(peer, then, *ev.reconnecting(peer, node, version))
            stage.cluster.say(peer, end + MS, ev.stream_put_failed(peer, node, error))
            then += draw.span(4_000, 6_200)


@kind(reads=True, ais_order=450)
def data_network_cut(stage: Stage) -> Scenario:
    """The data network of one target is cut: it cannot be reached by its peers, while it answers keepalives."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    stage.open()
    stage.mark(at - 60 * MS, f"the data network of {victim.name} is cut")
    partition(stage, victim, at - 60 * MS, at + seconds(75))
    designated, draw = stage.other_target(victim), stage.draw.child("cut")
    wid, late = cluster.wid(stage.proxy_of(rank), draw), at + seconds(20.2)
    if cluster.xact is not None:
        work = ev.Work(wid, late - at, 3, 3 * 17_160, neighbours=5, neighbour_errors=5)
        said = ev.bcast_abort(designated, cluster.xact, ev.BENIGN), ev.work_error(cluster.xact, ev.BENIGN, work)
        cluster.say(designated, late, *said)
    cluster.count(designated, late, getbatch_n=1, getbatch_obj_n=3, err_getbatch_n=1, getbatch_gfn_n=5)
    _, raised = sdk.short_batch(stage.job.job, stage.step, 3, 48)
    stage.job.raise_on(late + 9 * MS, rank, raised)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Peers cannot send to one target over the data network; a batch ends early.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network")),),
    )
