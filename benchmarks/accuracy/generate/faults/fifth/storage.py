"""Storage faults of the fifth part that are loud: a certificate, inodes, a disk, a cluster gone, a backend."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.clients import TRIES_S, resumed_too_often
from benchmarks.accuracy.generate.faults.words.loaders import (
    broken_off,
    certificate_expired,
    msc_failed,
    over_tls,
    put_refused,
)
from benchmarks.accuracy.generate.faults.words.requests import FETCH, exhausted, object_path, refused_get, retries
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisobjects, chains, sdk
from fixtures.generator import aisupkeep as upkeep
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("storage", "fifth")


@kind(reads=True, uptime=True)
def certificate_runs_out(stage: Stage) -> Scenario:
    """The certificate of one target was not renewed: no client that verifies can read what this target holds."""
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw, why = stage.draw.child("certificate"), certificate_expired()
    stage.open()
    expired = stage.mark(at - draw.span(900, 2_100), f"the certificate of {victim.name} expires")
    upkeep.certificate_expires(stage.cluster, victim, expired, at + seconds(stage.params.timeout_s + 30), draw)
    moss = f"/v1/ml/moss/{stage.bucket}?provider=ais"
    for other in readers(stage)[:2]:
        text = sdk.pool_error(victim.address, victim.ports[0], moss, why)
        stage.job.sdk_warning(expired + draw.span(90, 700), other, sdk.retrying(1.3, "SSLError", text))
    text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, rank, utterance(draw)), why)
    limit = min(at + seconds(stage.params.timeout_s - 8), at + seconds(44))
    then = retries(stage, at, rank, draw, 0.02, text, limit, "SSLError")
    exhausted(stage, then, rank, text, "SSLError", (sdk.Frame(stage.job.job.script, 77, "fetch", FETCH, True),))
    stage.hang(at + 340 * MS, rank)
    made = stage.close(
        "Certificates are renewed every three months; the pod of one target still has the old one mounted.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall",)),),
    )
    return over_tls(stage, made)


@kind(culprit=0, hangs=False, lead_s=60.0)
def inodes_used_up(stage: Stage) -> Scenario:
    """A file system of a target has room and no inodes left: rank 0 cannot write its checkpoint, reads go on."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("inodes")
    stage.open()
    began = stage.mark(at - draw.span(18_000, 33_000), f"{victim.disks[0]} of {victim.name} has no inodes left")
    then = began
    while then < at + seconds(9):
        upkeep.no_inodes(cluster, victim, then, f"/v1/objects/tenant-b/{draw.token(2)}/o{draw.whole(1, 9999)}", draw)
        then += draw.span(2_800, 8_100)
    name = f"{stage.job.job.task}/step-{stage.step}.pt"
    path = f"/v1/objects/checkpoints/{name}"
    stage.job.note(at - 820 * MS, rank, f"writing checkpoint to ais://checkpoints/{name}", line=116)
    text = upkeep.no_inodes(cluster, victim, at, path, draw)
    stage.job.raise_on(at + 6 * MS, rank, put_refused(stage, at, victim, path, text))
    ended = stage.job.agents_end([Exit(rank, at + 900 * MS, 1)], at + 900 * MS)
    return stage.close(
        "Another tenant has written a hundred million tiny objects; two thirds of the disk are free.",
        (stage.guilty("storage_io", victim),),
        until=ended,
    )


@kind(reads=True, lead_s=150.0, without=("restart_before", "rotation"))
def disk_not_mounted(stage: Stage) -> Scenario:
    """A target comes back from maintenance of its host without one of its disks: what was on it is not found."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("unmounted")
    stage.open()
    down = stage.mark(at - seconds(draw.between(94, 108)), f"SIGTERM {victim.name}, its host is serviced")
    faults.terminate(cluster, victim, down)
    other = readers(stage)[0]
    for attempt in range(2):
        peer = stage.other_target(victim, attempt)
        failed = chains.missing_entry(stage, down, peer, peer, utterance(draw), draw.whole(5, 8))
        told = down + seconds(0.4 + 2 * attempt)
        stage.job.note(told, other, f"get-batch failed ({failed.error}), retrying {attempt + 1}/5", "W", 96)
    up = stage.mark(down + draw.span(9_100, 14_000), f"{victim.name} is started again without {victim.disks[-1]}")
    joined = upkeep.starts_without_disk(cluster, victim, up, draw)
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))
    for _ in range(draw.whole(3, 6)):
        asked = at - draw.span(800, 30_000)
        cluster.count(cluster.target(draw.whole(0, 99)), asked, getbatch_n=1, getbatch_obj_n=35, err_soft_getbatch_n=1)
    name, then = utterance(draw), at
    for attempt in range(2):
        aisobjects.not_there(cluster, victim, then, name)
        stage.job.note(then + 6 * MS, rank, f"read of {name} failed (STATUS:404), retrying {attempt + 1}/2", "W", 79)
        then += seconds(1.5) + draw.span(1, 30)
    text = aisobjects.not_there(cluster, victim, then, name)
    stage.job.raise_on(then + 6 * MS, rank, refused_get(stage, then, rank, victim, name, (404, "Not Found"), text))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "After a reboot a mount failed, the folder is that of the root disk; the target starts with what it has.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )


@kind(reads=True, without=("second_job", "kill_after"))
def cluster_deleted(stage: Stage) -> Scenario:
    """Somebody deletes all pods of the cluster: every node stops in an orderly way, nobody answers any more."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy = stage.draw.child("deleted"), stage.proxy_of(stage.culprit)
    stage.open()
    began = stage.mark(at - draw.span(6_500, 9_000), "all pods of the cluster are deleted")
    upkeep.take_all_down(cluster, began, draw)
    path = f"/v1/ml/moss/{stage.bucket}?provider=ais"
    limit = min(at + seconds(stage.params.timeout_s - 8), at + seconds(52))
    for other in readers(stage)[:3]:
        own = stage.proxy_of(other)
        cause = sdk.refused(draw.whole(0x7F0000000000, 0x7FFFFFFFFFFF))
        text = sdk.pool_error(own.address, own.ports[0], path, cause)
        retries(stage, at + draw.span(200, 2_900), other, draw, 0.003, text, min(limit, at + seconds(17)))
    cause = sdk.refused(draw.whole(0x7F0000000000, 0x7FFFFFFFFFFF))
    text = sdk.pool_error(proxy.address, proxy.ports[0], path, cause)
    exhausted(stage, retries(stage, at, rank, draw, 0.003, text, limit), rank, text)
    stage.hang(at + 340 * MS, rank)
    also = ("data_loading_stall", "infrastructure")
    made = replace(stage.guilty("storage_io", *cluster.targets, also=also), ais_nodes=None)
    return stage.close("An operator upgrades the cluster of another site, and has the wrong context.", (made,))


@kind(reads=True, uptime=True, min_timeout_s=120)
def backend_not_resolved(stage: Stage) -> Scenario:
    """The resolver of the cluster does not know the backend any more: cold reads fail everywhere, warm ones do not."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("resolver")
    stage.open()
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, at - seconds(3), 1.4, 40, 240, draw)
    stage.mark(at - seconds(2.6), "the resolver of the cluster fails")
    host = f"{stage.bucket}.s3.us-west-2.amazonaws.com"

    def error(name: str) -> str:
        asked = f'request send failed, Get "https://{host}/{name}?x-id=GetObject"'
        told = f"https response error StatusCode: 0, RequestID: , HostID: , {asked}"
        return f"aws-error[operation error S3: GetObject, {told}: dial tcp: lookup {host}: i/o timeout]"

    then = at - seconds(2.4)
    while then < at + seconds(97):
        other = utterance(draw, "other")
        aisobjects.backend_refused(cluster, cluster.target(draw.whole(0, 99)), then, other, error(other), 500)
        then += draw.span(3_100, 11_000)
    name = f"shards/train-{draw.whole(0, 4095):06d}.tar"
    for after in TRIES_S:
        aisobjects.backend_refused(cluster, victim, at + seconds(after) + draw.span(5, 31), name, error(name), 500)
    over = at + seconds(TRIES_S[-1]) + draw.span(60, 190)
    msc_failed(stage, over, rank, name, victim, object_path(stage, rank, name))
    stage.hang(at + 340 * MS, rank)
    also = ("data_loading_stall", "network")
    made = replace(stage.guilty("storage_io", victim, also=also), ais_nodes=None)
    return stage.close("The name service of the storage hosts is down; clients ask AIStore by address.", (made,))


@kind(reads=True, uptime=True)
def backend_breaks_off(stage: Stage) -> Scenario:
    """Connections to the backend break in the middle of large objects, which are passed on while they are read."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("broken off")
    stage.open()
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, at - seconds(2), 1.9, 900, 4_100, draw)
    stage.mark(at - seconds(1.9), "connections to the backend begin to break")
    for after in (-1.7, 3.6, 11.9):
        node = cluster.target(draw.whole(0, 99))
        upkeep.cold_read_breaks(cluster, node, at + seconds(after) + draw.span(1, 900), utterance(draw, "other"), draw)
    name, then = f"shards/train-{draw.whole(0, 4095):06d}.tar", at
    limit, left = at + seconds(stage.params.timeout_s) - SEC, (draw.whole(700, 1900) << 20) + draw.whole(0, 8191)
    for attempt in range(1, 7):
        then += draw.span(2_200, 8_900)
        if then >= limit:
            break
        upkeep.cold_read_breaks(cluster, victim, then, name, draw)
        if attempt < 6:
            got = draw.whole(1, 90) << 20
            left -= got
            broken_off(stage, then + 4 * MS, rank, name, attempt, got, left)
        else:
            resumed_too_often(stage, then + 5 * MS, rank)
    stage.hang(at + 340 * MS, rank)
    also = ("data_loading_stall", "network")
    made = replace(stage.guilty("storage_io", victim, also=also), ais_nodes=None)
    return stage.close("A firewall between the cluster and S3 forgets connections that last for long.", (made,))
