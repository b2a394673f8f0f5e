"""Storage faults of the sixth part that are loud: metadata, a controller, properties, keys, a restart, a proxy."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.clients import TRIES_S
from benchmarks.accuracy.generate.faults.words.gateways import (
    batch_error,
    batch_refused,
    pipe_of_s5cmd_failed,
    put_denied,
    s3_refused,
)
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, retries
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator import aismishaps as mishaps
from fixtures.generator import sdk
from fixtures.generator.model import Expect, Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("storage", "sixth")


@kind(reads=True, uptime=True)
def metadata_damaged(stage: Stage) -> Scenario:
    """After a power failure some objects of a target are empty while their metadata knows their size: 500, for good."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, code = stage.draw.child("damaged"), "ErrLmetaCorrupted"
    stage.open()
    stage.mark(at - seconds(12), f"{victim.name} is asked for objects that a power failure has emptied")
    for other, after in zip(readers(stage), (-11.4, -4.2, 3.3), strict=False):
        name, then = utterance(draw), at + seconds(after) + draw.span(1, 900)
        text = f"errsize ({draw.whole(9_000, 31_000)} != 0)"
        mishaps.s3_get_failed(cluster, victim, then, name, text, code)
        told = f"sample {name} skipped: An error occurred ({code}) when calling the GetObject operation: {text}"
        stage.job.note(then + 7 * MS, other, told, "W", 84)
    name, text, then = utterance(draw), f"errsize ({draw.whole(9_000, 31_000)} != 0)", at
    for attempt in range(5):
        mishaps.s3_get_failed(cluster, victim, then, name, text, code)
        then += draw.span(60, 900 << attempt) if attempt < 4 else 0
    s3_refused(stage, then + 6 * MS, rank, code, "GetObject", text, retries=4)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A host of the cluster lost power last night; what its file system had not written is empty now.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )


@kind(reads=True, without=("mountpath_before", "restart_before"))
def controller_lost(stage: Stage) -> Scenario:
    """The controller of a target's disks fails: it gives up all its mountpaths within seconds and leaves."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("controller")
    stage.open()
    began = stage.mark(at - draw.span(9_000, 14_000), f"the disk controller of {victim.name} fails")
    mishaps.lose_all_disks(cluster, victim, began, draw)

    def missing(then: int) -> tuple[str, str]:
        name, owner = f"shards/train-{draw.whole(0, 4095):06d}.tar", stage.other_target(victim, draw.whole(0, 9))
        text = f"{owner.name}: ais://{stage.bucket}/{name} does not exist"
        mishaps.s3_get_failed(cluster, owner, then, name, text, "")
        return name, text

    for other, after in zip(readers(stage), (0.9, 2.8), strict=False):
        then = at + seconds(after) + draw.span(1, 700)
        name, text = missing(then)
        said = f'ERROR "cat s3://{stage.bucket}/{name}": NoSuchKey: {text} status code: 404, request id: , host id: '
        stage.job.say(then + 9 * MS, other, said)
    name, text = missing(at)
    pipe_of_s5cmd_failed(stage, at + 8 * MS, rank, name, text)
    stage.hang(at + 350 * MS, rank)
    return stage.close(
        "All disks of a host hang on one card. The other targets are asked for what only the lost one had.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "data")),),
    )


@kind(culprit=0, hangs=False, lead_s=75.0, may_be_undetermined=True)
def made_read_only(stage: Stage) -> Scenario:
    """An operator forbids writes to the bucket of checkpoints before a migration: rank 0 is refused, reads go on."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy = stage.draw.child("read only"), stage.proxy_of(stage.culprit)
    stage.open()
    began = stage.mark(at - draw.span(19_000, 41_000), "an operator makes the bucket of the checkpoints read-only")
    mishaps.change_buckets(cluster, began, "set-bprops", draw)
    name = f"{stage.job.job.task}/step-{stage.step}.pt"
    path = f"/v1/objects/checkpoints/{name}"
    stage.job.note(at - 910 * MS, rank, f"writing checkpoint to ais://checkpoints/{name}", line=116)
    for after in (-16.2, 4.1):
        other = cluster.proxy(draw.whole(0, 9))
        late = at + seconds(after) + draw.span(1, 900)
        if late > began:
            mishaps.put_denied(cluster, other, late, f"/v1/objects/checkpoints/tts-7b/epoch-{draw.whole(1, 40)}.pt")
    text = mishaps.put_denied(cluster, proxy, at, path)
    stage.job.raise_on(at + 5 * MS, rank, put_denied(stage, at, proxy, path, text))
    ended = stage.job.agents_end([Exit(rank, at + 900 * MS, 1)], at + 900 * MS)
    also = ("software", "infrastructure")
    made = replace(stage.guilty("storage_io", proxy, also=also), ais_nodes=None)
    return stage.close(
        "A bucket is to move to another cluster; nobody has told those who write to it.", (made,), until=ended
    )


@kind(hangs=False, trains=False, ais_order=420, uptime=True)
def keys_not_fetched(stage: Stage) -> Scenario:
    """The proxies cannot reach the service that signs tokens: they turn good tokens down, and no rank gets a batch."""
    cluster, job = stage.cluster, stage.job
    draw = stage.draw.child("keys")
    job.start()
    at = stage.mark(job.begin + seconds(0.3), "every rank asks for its first batch, no proxy can check its token")
    issuer = f"https://{draw.pick(('sso', 'keycloak', 'login'))}.corp.example/realms/{draw.pick(('ml', 'research'))}"
    request = f"GET /v1/ml/moss/{stage.bucket}"
    raised = []
    for rank in range(job.job.world):
        proxy = stage.proxy_of(rank)
        own = draw.child("rank", rank)
        then, text = mishaps.keys_not_fetched(cluster, proxy, at + rank * 310_000, issuer, request, own)
        raised.append((then, rank))
        job.raise_on(then + 4 * MS, rank, batch_refused(stage, rank, (401, "Unauthorized"), text))
    exits = []
    for node in range(len(job.job.hosts)):
        then, first = min(one for one in raised if job.job.node_of(one[1]) == node)
        exits.append(Exit(first, then + 700 * MS, 1))
    job.agents_end(exits, max(then for then, _ in raised) + 900 * MS)
    made: Expect = replace(
        stage.guilty("storage_io", also=("infrastructure", "network", "software")), culprit_ranks=None, ais_nodes=None
    )
    return stage.close(
        "The name of the single sign-on was moved; the resolver of the storage hosts has the old one.", (made,)
    )


@kind(reads=True, min_timeout_s=120, without=("second_job", "kill_after", "restart_before", "rotation", "disk_busy"))
def cluster_starts_again(stage: Stage) -> Scenario:
    """All pods of the cluster are replaced at once: proxies are back soon, and turn requests down for two minutes."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy = stage.draw.child("again"), stage.proxy_of(stage.culprit)
    stage.open()
    began = stage.mark(at - draw.span(7_000, 9_500), "all pods of the cluster are replaced")
    up = at + draw.span(4_000, 6_500)
    mishaps.restart_all(
        cluster, began, up, stage.mark(up + draw.span(118_000, 131_000), "the cluster has started"), draw
    )
    path, request = f"/v1/ml/moss/{stage.bucket}?provider=ais", f"GET /v1/ml/moss/{stage.bucket}"
    for other in readers(stage)[:2]:
        own = stage.proxy_of(other)
        text = sdk.pool_error(own.address, own.ports[0], path, sdk.refused(draw.whole(*HANDLES)))
        retries(stage, at + draw.span(200, 1_900), other, draw, 0.003, text, up)
        for after in TRIES_S[:4]:
            mishaps.not_ready(cluster, own, up + seconds(8.4) + seconds(after) + draw.span(30, 990), request)
    text = sdk.pool_error(proxy.address, proxy.ports[0], path, sdk.refused(draw.whole(*HANDLES)))
    then = max(retries(stage, at, rank, draw, 0.003, text, up), up + seconds(7))
    for after in TRIES_S:
        mishaps.not_ready(cluster, proxy, then + seconds(after) + draw.span(4, 20), request)
    over = then + seconds(TRIES_S[-1]) + draw.span(30, 60)
    gone = sdk.pool_error(proxy.address, proxy.ports[0], path, sdk.too_many(503))
    caller = sdk.main_frames(stage.job.job, stage.step, *sdk.batch_get_frames(stage.job.job))
    if over < at + seconds(stage.params.timeout_s - 1):
        stage.job.raise_on(over, rank, sdk.exhausted(stage.job.job, caller, "RetryError", gone))
    stage.hang(at + 340 * MS, rank)
    made = replace(stage.guilty("storage_io", *cluster.targets, also=("data_loading_stall",)), ais_nodes=None)
    return stage.close("An operator changes a setting that no daemon can take up while it runs.", (made,))


@kind(reads=True, proxies=2, hosts=2, ais_order=410, lead_s=150.0, off_primary=True, without=("restart_before",))
def proxy_behind(stage: Stage) -> Scenario:
    """A proxy hears nothing of a target that left for good: it sends its clients there, those of others read on."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, proxy = stage.draw.child("behind"), stage.proxy_of(stage.culprit)
    stage.open()
    began = stage.mark(
        at - draw.span(11_000, 16_000), f"{victim.name} stops for good, {proxy.name} does not hear of it"
    )
    targets = len(cluster.membership(began).targets)
    faults.terminate(cluster, victim, began)
    until = at + seconds(min(stage.params.timeout_s, 120) + 10)
    mishaps.keep_behind(cluster, proxy, began, until, draw)

    def sent_away(then: int, who: int) -> str:
        wid, why = cluster.wid(proxy, draw), ev.dial_refused(victim, 1)
        said, text = ev.proxy_post_failed(proxy, victim, stage.bucket, wid, targets, why)
        cluster.say(proxy, then, said)
        return batch_error(stage, who, (400, "Bad Request"), text, "Error")

    for other in [one for one in readers(stage) if stage.proxy_of(one) is proxy][:2]:
        late = at + draw.span(300, 4_000)
        error = sent_away(late, other)
        stage.job.note(late + 9 * MS, other, f"get-batch failed ({error}), retrying 1/3", "W", 96)
    then = at
    for attempt in range(2):
        error = sent_away(then, rank)
        stage.job.note(then + 9 * MS, rank, f"get-batch failed ({error}), retrying {attempt + 1}/2", "W", 96)
        then += seconds(1.5) + draw.span(1, 30)
    wid, designated = cluster.wid(proxy, draw), stage.other_target(victim)
    text = f"x-moss: expecting {targets} targets, have {targets - 1}"
    own, forwarded = ev.phase_one_failed(proxy, designated, stage.bucket, wid, targets, text)
    cluster.say(designated, then, own)
    cluster.say(proxy, then + MS, forwarded)
    cluster.count(designated, then, err_getbatch_n=1)
    stage.job.raise_on(then + 6 * MS, rank, batch_refused(stage, rank, (400, "Bad Request"), text))
    stage.hang(at + 340 * MS, rank)
    made = replace(stage.guilty("storage_io", proxy, also=("data_loading_stall",)), ais_nodes=None)
    return stage.close(
        "A target is retired, its objects have copies. A firewall keeps what the primary says of it from one proxy.",
        (made,),
    )
