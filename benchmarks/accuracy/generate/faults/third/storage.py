"""Storage faults of the third part that are loud: descriptors, checksums, a backend, a host, a node sent away."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.requests import exhausted, object_path, refused_get, retries, unanswered
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisnode, aisobjects, chains, sdk
from fixtures.generator.aiscluster import ClusterRun
from fixtures.generator.aislog import Say
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "third")


@kind(reads=True)
def descriptors_exhausted(stage: Stage) -> Scenario:
    """A target has no file descriptors left: it accepts no connection, a read of the culprit never begins."""
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("descriptors")
    stage.open()
    began = stage.mark(at - seconds(3.1), f"{victim.name} has no file descriptors left")
    over = at + seconds(stage.params.timeout_s)
    aisobjects.no_descriptors(stage.cluster, victim, began, min(over, at + seconds(150)) + seconds(20), draw)
    unanswered(stage, rank, draw, victim, object_path(stage, rank, utterance(draw)), over=over)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A target has leaked descriptors up to its limit. The kernel completes connections, nobody accepts them.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io",)),),
    )


@kind(reads=True)
def object_corrupted(stage: Stage) -> Scenario:
    """An object's content has changed on disk: 500, the object is removed, and the SDK's silent retry meets 404."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("corrupted")
    name = utterance(draw)
    stage.open()
    stage.mark(at, f"{victim.name} finds {name} corrupted")
    then = aisobjects.bad_checksum(cluster, victim, at, name, draw) + draw.span(2.1, 5.4)
    text = aisobjects.not_there(cluster, victim, then, name)
    stage.job.raise_on(then + 4 * MS, rank, refused_get(stage, then, rank, victim, name, (404, "Not Found"), text))
    stage.hang(at + 350 * MS, rank)
    return stage.close(
        "A target validates at every read. It finds one object corrupted, has no copy of it and removes it; all the "
        "client ever sees is that the object does not exist.",
        (stage.guilty("storage_io", victim, also=("data",)),),
    )


@kind(reads=True, uptime=True)
def backend_refuses(stage: Stage) -> Scenario:
    """The cluster's credentials for the bucket behind have expired: every cold read fails, warm ones do not."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("backend")
    stage.open()
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, at - seconds(2), 2.5, 40, 210, draw)
    stage.mark(at - seconds(1.5), "the credentials of the backend have expired")
    error = "aws-error[ExpiredToken: The provided token has expired]"
    for moment in (at - seconds(1.2), at - seconds(0.4), at + seconds(3.3)):
        aisobjects.backend_refused(
            cluster, cluster.target(draw.whole(0, 99)), moment, utterance(draw, "other"), error, 400
        )
    name, then = utterance(draw), at
    for attempt in range(2):
        aisobjects.backend_refused(cluster, victim, then, name, error, 400)
        text = f"read of {name} failed (STATUS:400), retrying {attempt + 1}/2"
        stage.job.note(then + 6 * MS, rank, text, "W", 79)
        then += seconds(1.5)
    aisobjects.backend_refused(cluster, victim, then, name, error, 400)
    stage.job.raise_on(then + 6 * MS, rank, refused_get(stage, then, rank, victim, name, (400, "Bad Request"), error))
    stage.hang(at + 340 * MS, rank)
    made = replace(stage.guilty("storage_io", victim, also=("data_loading_stall",)), ais_nodes=None)
    return stage.close(
        "Objects that are not in the cluster yet come from a bucket of S3; the targets may not read it any more.",
        (made,),
    )


@kind(reads=True)
def host_reboots(stage: Stage) -> Scenario:
    """The host of a target goes down without a word and is back after some minutes; connections to it time out."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("reboot")
    stage.open()
    died = stage.mark(at - 80 * MS, f"the host of {victim.name} reboots")
    back = died + draw.span(141_000, 188_000)
    peers = [node for node in cluster.targets if node is not victim][:2]
    aisobjects.lose_host(cluster, victim, died, died + seconds(44), peers)
    faults.leave_smap(cluster, victim, died, hung=True)
    handle = draw.whole(0x7F0000000000, 0x7FFFFFFFFFFF)
    cause = sdk.connect_timeout(victim.address, handle)
    text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, rank, utterance(draw)), cause)
    limit = min(at + seconds(stage.params.timeout_s - 8), at + seconds(40))
    then = retries(stage, at, rank, draw, 3.01, text, limit, "ConnectTimeout")
    exhausted(stage, then, rank, text, "ConnectTimeout")
    ended = stage.hang(at + 340 * MS, rank)
    joined = faults.start_again(cluster, victim, stage.mark(back, f"the host of {victim.name} is up again"))
    return stage.close(
        "A host of the cluster is rebooted by its firmware; what its target had not flushed is lost.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network")),),
        until=max(ended, joined) + seconds(20),
    )


def _send_away(cluster: ClusterRun, node: Node, at: int) -> None:
    """The primary takes a target out of the Smap for good, the target ends itself; no rebalance begins."""
    primary, left, action = cluster.primary(at), cluster.membership(at), "decommission-node"
    cluster.say(
        primary,
        at,
        Say("I", "prxcycle:652", f"{primary.name} mcast-unreg: actm[{action}], [{node.name}]"),
        Say("I", "prxcycle:706", f"remove {node.name} (num targets {len(left.targets) - 1})"),
    )
    cluster.change_members(at + 3 * MS, action, left.targets - {node.node_id}, left.proxies)
    process = cluster.last_process(node)
    process.jobs = [(since, min(until, at), name) for since, until, name in process.jobs]
    said = [replace(one, text=one.text.replace("Signal 15", action)) for one in aisnode.stopping(node, "")[1:5]]
    process.ended_at = cluster.say(node, at + 40 * MS, *said) + MS
    process.graceful = True


@kind(reads=True)
def decommissioned_too_early(stage: Stage) -> Scenario:
    """An operator removes a target for good and skips the rebalance: what it held is missing everywhere."""
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("gone")
    stage.open()
    began = stage.mark(at - seconds(4.4), f"{victim.name} is decommissioned without a rebalance")
    _send_away(stage.cluster, victim, began)
    then = at
    for attempt in range(2):
        designated = stage.other_target(victim, attempt)
        failed = chains.missing_entry(stage, then, designated, designated, utterance(draw), draw.whole(5, 8))
        stage.job.note(then + 8 * MS, rank, f"get-batch failed ({failed.error}), retrying {attempt + 1}/2", "W", 96)
        then += seconds(1.5 * 2**attempt)
    last = chains.soft_limit(stage, then, stage.other_target(victim, 2), rank)
    stage.job.raise_on(then + 9 * MS, rank, last.traceback)
    stage.hang(at + 350 * MS, rank)
    return stage.close(
        "A target leaves for good before its objects were moved to the others; from then on they do not exist.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )
