"""Storage faults of the ninth part on targets: files they may not open, stale volumes, certificates they ask for."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import TRIES_S, status_repeated
from benchmarks.accuracy.generate.faults.words.doorways import assembly_failed, part_refused, s3fs_failed
from benchmarks.accuracy.generate.faults.words.gateways import s3_refused
from benchmarks.accuracy.generate.faults.words.loaders import over_tls
from benchmarks.accuracy.generate.faults.words.requests import exhausted, object_path, one_object, refused_get, retries
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator import aislapses as lapses
from fixtures.generator import aisobjects, sdk
from fixtures.generator import aistroubles as troubles
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("storage", "ninth")

#: Noise that a kind with a restart of its own cannot have beside it.
RESTARTS = ("restart_before", "kill_after", "rotation")


def _restarted(stage: Stage, down: int, why: str) -> int:
    """The victim is stopped in an orderly way and starts again some seconds later; when it has joined."""
    cluster, victim, draw = stage.cluster, stage.victim, stage.draw.child("restarted")
    stage.mark(down, f"SIGTERM {victim.name}, {why}")
    faults.terminate(cluster, victim, down)
    joined = faults.start_again(cluster, victim, down + draw.span(7_000, 11_000))
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))
    return joined


@kind(reads=True, lead_s=90.0, without=RESTARTS)
def files_not_permitted(stage: Stage) -> Scenario:
    """A target comes back as another user, or is relabelled as it runs: it may not open what is on one of its disks."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("permitted")
    stage.open()
    disk, is_restarted = draw.whole(0, len(victim.disks) - 1), draw.chance(0.6)
    if is_restarted:
        began = _restarted(stage, at - draw.span(29_000, 41_000), "it comes back as another user") + seconds(3)
    else:
        began = stage.mark(
            at - draw.span(4_000, 15_000), f"files of {victim.disks[disk]} of {victim.name} are relabelled"
        )
    why = draw.pick(("permission denied", "operation not permitted"))
    by_sdk = stage.params.timeout_s >= 120 and draw.chance(0.6)
    for other, after in zip(readers(stage), (-3.4, -1.3, 1.2), strict=False):
        name, then = utterance(draw), max(began + SEC, at + seconds(after)) + draw.span(1, 700)
        text = lapses.not_opened(cluster, victim, then, name, why, disk, not by_sdk)
        stage.job.note(then + 5 * MS, other, f"{name}: STATUS:500 {text}", "W", 86)
    name, text = utterance(draw), ""
    for after in TRIES_S if by_sdk else (0.0, 0.2, 0.8, 1.9, 3.7):
        text = lapses.not_opened(cluster, victim, at + seconds(after) + draw.span(2, 30), name, why, disk, not by_sdk)
    if by_sdk:
        status_repeated(stage, rank, victim, name, 500)
    elif draw.chance(0.5):
        s3fs_failed(stage, at + seconds(3.8), rank, name, "ErrFailedTo", text)
    else:
        s3_refused(stage, at + seconds(3.8), rank, "ErrFailedTo", "GetObject", text, 4)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A rule of safety for pods came into force; files of another disk were made by the user of last year.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "infrastructure")),),
    )


@kind(reads=True, ais_order=450)
def volume_stale(stage: Stage) -> Scenario:
    """One disk of a target is a volume of a filer that has forgotten it: batches lack what it would send."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, proxy = stage.draw.child("stale"), stage.proxy_of(stage.culprit)
    stage.open()
    began = stage.mark(at - draw.span(3_000, 14_000), f"a volume of {victim.name} is stale")
    why = draw.pick(("stale file handle", "transport endpoint is not connected", "no such device or address"))
    for _ in range(draw.whole(7, 15)):
        then = began + int((at + 20 * SEC - began) * draw.between(0, 1))
        lapses.not_opened(cluster, victim, then, utterance(draw, "other"), why, -1)

    def failed(then: int, who: int) -> tuple[str, str]:
        node, xact, wid = stage.other_target(victim, draw.whole(0, 99)), cluster.xact, cluster.wid(proxy, draw)
        if xact is None:
            return "", ""
        cluster.count(node, then, err_soft_getbatch_n=9)
        text = ev.soft_limit(xact, wid)
        troubles.item_failed(cluster, node, then, wid, text, draw.whole(2, 30), draw.span(60, 390))
        return assembly_failed(stage, who, node, wid, text)

    for other, after in zip(readers(stage), (-1.9, 1.6), strict=False):
        then = at + seconds(after) + draw.span(1, 600)
        stage.job.note(
            then + 6 * MS, other, f"batch failed, a smaller one is asked for: {failed(then, other)[0]}", "W", 86
        )
    stage.job.raise_on(at + 9 * MS, rank, failed(at, rank)[1])
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A site without disks to spare has given a target one of its filer, which was moved.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "data")),),
    )


@kind(reads=True, uptime=True, lead_s=90.0, without=RESTARTS)
def client_certificates_wanted(stage: Stage) -> Scenario:
    """A setting of last week takes effect when a target restarts: it alone wants certificates of its clients."""
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("wanted")
    stage.open()
    back = _restarted(stage, at - draw.span(24_000, 33_000), "which comes back with a setting that waited for that")
    code, words, line = draw.pick(
        (
            ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "tlsv13 alert certificate required", 2580),
            ("SSLV3_ALERT_BAD_CERTIFICATE", "sslv3 alert bad certificate", 1006),
        )
    )
    cause = f"SSLError(SSLError(1, '[SSL: {code}] {words} (_ssl.c:{line})'))"
    for other in readers(stage)[:5]:
        path = object_path(stage, other, utterance(draw))
        text = sdk.pool_error(victim.address, victim.ports[0], path, cause)
        late = back + seconds(3) + int((at - back) * draw.between(0, 0.9))
        stage.job.sdk_warning(late, other, sdk.retrying(round(draw.between(1, 1.5), 2), "SSLError", text))
    text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, rank, utterance(draw)), cause)
    limit = at + seconds(min(stage.params.timeout_s - 8, draw.pick((22, 41))))
    then = retries(stage, at, rank, draw, 0.02, text, limit, "SSLError")
    exhausted(stage, then, rank, text, "SSLError", one_object(stage))
    stage.hang(at + 340 * MS, rank)
    made = stage.close(
        "Keys for both sides are to come; the file of settings was first, and waits for each node's next start.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network", "software")),),
    )
    return over_tls(stage, made)


@kind(reads=True, min_timeout_s=120, lead_s=90.0, without=RESTARTS)
def sidecar_injected(stage: Stage) -> Scenario:
    """A target comes back behind a proxy of a service mesh that lets no client through: 503, not by AIStore."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("sidecar")
    stage.open()
    back = _restarted(stage, at - draw.span(21_000, 35_000), "it comes back behind a proxy of the mesh")
    lapses.resets_streams(cluster, victim, back + seconds(4), at + seconds(110), draw)
    reason = draw.pick(
        (
            "connection termination",
            "remote connection failure, transport failure reason: TLS_error:|268435581:SSL routines:OPENSSL_internal:"
            "CERTIFICATE_VERIFY_FAILED:TLS_error_end",
            "protocol error",
        )
    )
    said = f"upstream connect error or disconnect/reset before headers. reset reason: {reason}"
    for other, after in zip(readers(stage), (-4.4, -1.6, 2.3), strict=False):
        url = victim.url(0) + object_path(stage, other, utterance(draw)).split("?")[0]
        then = at + seconds(after) + draw.span(1, 900)
        stage.job.note(then, other, f"HTTP 503 for {url}: {said}", "W", 81)
    status_repeated(stage, rank, victim, utterance(draw), 503)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A label of the namespace was set for another service; it takes effect pod by pod.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network", "infrastructure")),),
    )


@kind(reads=True, uptime=True, lead_s=70.0, without=(*RESTARTS, "kalive_hiccup", "second_job"))
def new_target_empty(stage: Stage) -> Scenario:
    """The cluster gets one target more while rebalancing is switched off: what is its share now, it does not have."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("new target")
    lapses.not_yet_there(cluster, victim)
    up = at - draw.span(9_000, 29_000)
    if draw.chance(0.5):
        troubles.reconfigured(cluster, up - draw.span(12_000, 24_000), draw)
    stage.mark(up, f"{victim.name} is added, nothing is moved to it")
    joined = lapses.joins_empty(cluster, victim, up, draw)
    stage.open()
    lapses.takes_part(cluster, victim, joined + draw.span(2_300, 2_900))
    for count, (other, after) in enumerate(zip(readers(stage), (-6.1, -3.2, -1.4, 1.7, 3.5), strict=False), 1):
        name, then = utterance(draw), max(joined + 3 * SEC, at + seconds(after)) + draw.span(1, 700)
        text = aisobjects.not_there(cluster, victim, then, name)
        cluster.count(stage.other_target(victim, count), then, err_soft_getbatch_n=draw.whole(1, 5))
        stage.job.note(then + 5 * MS, other, f"{name} left out ({count} of 32): {text}", "W", 86)
    name = utterance(draw)
    text = aisobjects.not_there(cluster, victim, at, name)
    stage.job.raise_on(at + 6 * MS, rank, refused_get(stage, at, rank, victim, name, (404, "Not Found"), text))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Rebalancing is to wait for the night, and a new host was ready at noon.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )


def _gone(stage: Stage, at: int) -> None:
    """The victim leaves and does not come back in the time that matters: in an orderly way, or killed."""
    cluster, victim, draw = stage.cluster, stage.victim, stage.draw.child("gone")
    if draw.chance(0.5):
        faults.terminate(cluster, victim, stage.mark(at - draw.span(9_000, 30_000), f"SIGTERM {victim.name}"))
        return
    killed = stage.mark(at - draw.span(41_000, 52_000), f"kill -9 {victim.name}")
    faults.kill(cluster, victim, killed)
    faults.leave_smap(cluster, victim, killed)


@kind(culprit=0, hangs=False, lead_s=75.0, without=RESTARTS)
def too_few_for_parity(stage: Stage) -> Scenario:
    """Checkpoints are erasure-coded over all targets, and one is away: what is there is read, a new one is refused."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, many = stage.draw.child("parity"), len(stage.cluster.targets)
    stage.open()
    _gone(stage, at)
    key = f"{stage.job.job.task}/step={stage.step}.pt"
    stage.job.note(at - draw.span(5_000, 9_000), rank, f"uploading checkpoint to s3://checkpoints/{key}", line=116)
    then, text = at, ""
    for attempt in range(5):
        owner = stage.other_target(victim, 3)
        text = lapses.too_few_targets(cluster, owner, then, key, many, many - 1)
        then += draw.span(80, 900 << attempt) if attempt < 4 else 0
    part_refused(stage, then + 7 * MS, rank, key, text, "CompleteMultipartUpload")
    ended = stage.job.agents_end([Exit(rank, then + 900 * MS, 1)], then + 900 * MS)
    return stage.close(
        "A pod of storage has no place to run since its host was drained; nobody has counted slices.",
        (stage.guilty("storage_io", victim, also=("infrastructure",)),),
        until=ended,
    )
