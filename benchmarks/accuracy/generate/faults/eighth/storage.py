"""Storage faults of the eighth part that are loud: no room to read, garbled uploads, starts that fail, refusals."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.clients import TRIES_S, status_repeated
from benchmarks.accuracy.generate.faults.words.doorways import s3fs_failed
from benchmarks.accuracy.generate.faults.words.gateways import s3_refused
from benchmarks.accuracy.generate.faults.words.loaders import dataset_frames, in_worker, over_tls
from benchmarks.accuracy.generate.faults.words.outlets import bucket_job_refused, shards_not_saved
from benchmarks.accuracy.generate.faults.words.requests import (
    FETCH,
    HANDLES,
    exhausted,
    object_path,
    refused_get,
    retries,
)
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisfailings as failings
from fixtures.generator import aisfaults as faults
from fixtures.generator import aismishaps as mishaps
from fixtures.generator import aisobjects, sdk
from fixtures.generator import aisrefusals as refusals
from fixtures.generator.aisdisk import Space
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("storage", "eighth")


@kind(hangs=False, lead_s=60.0)
def upload_mismatched(stage: Stage) -> Scenario:
    """What one target receives is not what was sent: a checkpoint of shards fails on the ranks that write there."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("mismatched")
    stage.open()
    began = stage.mark(at - draw.span(4_000, 19_000), f"{victim.name} receives other bytes than were sent")
    for _ in range(draw.whole(2, 5)):
        then = began + int((at - began) * draw.between(0, 1))
        refusals.upload_garbled(cluster, victim, then, "tenant-b", f"feats/{draw.token(6)}.npz", draw)
    ranks = sorted({rank, *readers(stage)[: draw.pick((0, 0, 1, 2))]})
    folder, failed, last = f"{stage.job.job.task}/step-{stage.step}", {}, at
    stage.job.note(at - 700 * MS, 0, f"saving sharded checkpoint to s3://checkpoints/{folder}", line=121)
    for one in ranks:
        then, text = at + draw.span(1, 300), ""
        for attempt in range(5):
            text = refusals.upload_garbled(cluster, victim, then, "checkpoints", f"{folder}/__{one}_0.distcp", draw)
            then += draw.span(80, 800 << attempt) if attempt < 4 else draw.span(3, 9)
        failed[one], last = text, max(last, then)
    ended = shards_not_saved(stage, last + draw.span(3, 30), failed)
    made = replace(stage.guilty("storage_io", victim, also=("network",)), culprit_ranks=tuple(ranks))
    return stage.close(
        "A card in one storage host flips bits of what it receives; whoever sends a sum with it is told.",
        (made,),
        until=ended,
    )


@kind(reads=True, uptime=True, without=("disk_busy",))
def no_room_for_cold(stage: Stage) -> Scenario:
    """A target is full: what it holds can be read, what it would have to fetch and keep cannot."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, space = stage.draw.child("no room"), Space("3596.0GiB", "129.2GiB", 97, "3725.29GiB")
    stage.open()
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, at + seconds(20), 1.3, 60, 340, draw, victim.node_id)
    began = stage.mark(at - draw.span(6_000, 29_000), f"{victim.name} is out of space")
    disk.out_of_space(cluster, victim, began, at + seconds(stage.params.timeout_s + 40), space)
    for count, (other, after) in enumerate(zip(readers(stage), (-5.4, -2.1, 1.9), strict=False), 1):
        name, then = utterance(draw, "2023"), at + seconds(after) + draw.span(1, 900)
        text = refusals.no_room_to_read(cluster, victim, then, name, space)
        stage.job.note(then + 5 * MS, other, f"cut {name} skipped: STATUS:507 {text} ({count} of 8 allowed)", "W", 84)
    name, text = utterance(draw, "2023"), space.error
    if draw.chance(0.6):
        refusals.no_room_to_read(cluster, victim, at, name, space)
        told = refused_get(stage, at, rank, victim, name, (507, "Insufficient Storage"), text, "ErrCapExceeded")
        stage.job.raise_on(at + 6 * MS, rank, told)
    else:
        for after in (0.1, 0.4, 1.1, 2.6, 5.2):
            mishaps.s3_get_failed(cluster, victim, at + seconds(after), name, text, "ErrCapExceeded")
        s3_refused(stage, at + seconds(5.3), rank, "InternalError", "GetObject", text, 4)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "The working set has grown beyond one target's share; its eviction finds nothing old enough.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall",)),),
    )


@kind(reads=True, lead_s=90.0, without=("restart_before", "kill_after", "rotation", "disk_busy", "mountpath_before"))
def comes_not_back(stage: Stage) -> Scenario:
    """A target is restarted for a new kernel and ends itself at every start: what it holds is not there."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("not back")
    stage.open()
    down = stage.mark(at - draw.span(24_000, 58_000), f"SIGTERM {victim.name}, its host gets a new kernel")
    faults.terminate(cluster, victim, down)
    up = stage.mark(down + draw.span(9_000, 15_000), f"{victim.name} ends itself whenever it is started")
    failings.fails_to_start(cluster, victim, up, at + seconds(stage.params.timeout_s + 30), draw)

    for other, after in zip(readers(stage), (-9.3, -4.6, -1.2, 2.4), strict=False):
        name, then = utterance(draw), at + seconds(after) + draw.span(1, 900)
        text = aisobjects.not_there(cluster, stage.other_target(victim, draw.whole(0, 99)), then, name)
        stage.job.note(then + 5 * MS, other, f"cut {name} skipped: {text}", "W", 84)
    name, owner = utterance(draw), stage.other_target(victim, draw.whole(0, 99))
    text = aisobjects.not_there(cluster, owner, at, name)
    stage.job.raise_on(at + 6 * MS, rank, refused_get(stage, at, rank, owner, name, (404, "Not Found"), text))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Nobody has looked whether it came back; the bucket has one copy of all.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )


@kind(reads=True, uptime=True, min_timeout_s=120)
def backend_not_trusted(stage: Stage) -> Scenario:
    """The object store behind has a certificate of a new authority: no target believes it, cold reads fail."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("untrusted")
    stage.open()
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, at - seconds(6), 1.4, 40, 240, draw)
    stage.mark(at - seconds(5.6), "the object store behind the cluster has another certificate")
    host = draw.pick(("s3.ceph.corp.example", "minio-ml.corp.example:9000", "objects.dc2.example"))
    why = draw.pick(
        (
            "certificate signed by unknown authority",
            f"certificate is valid for rgw-new.corp.example, not {host.split(':')[0]}",
            "certificate has expired or is not yet valid: current time is before the certificate's validity period",
        )
    )
    then = at - seconds(5.4)
    while then < at + seconds(97):
        node, other = cluster.target(draw.whole(0, 99)), utterance(draw, "other")
        refusals.backend_untrusted(cluster, node, then, host, other, why)
        then += draw.span(2_900, 12_000)
    name, text = f"shards/train-{draw.whole(0, 4095):06d}.tar", ""
    by_s3 = draw.chance(0.4)
    for after in (0.0, 0.2, 0.7, 1.9, 4.4) if by_s3 else TRIES_S:
        text = refusals.backend_untrusted(cluster, victim, at + seconds(after) + draw.span(5, 31), host, name, why)
    if by_s3:
        s3fs_failed(stage, at + seconds(4.5), rank, name, "InternalError", text)
    else:
        status_repeated(stage, rank, victim, name, 500)
    stage.hang(at + 340 * MS, rank)
    made = replace(stage.guilty("storage_io", victim, also=("data_loading_stall", "network")), ais_nodes=None)
    return stage.close("Those who run the store behind have renewed its certificates over lunch.", (made,))


@kind(culprit=0, hangs=False, lead_s=110.0, without=("restart_before", "kill_after", "rotation"))
def not_while_rebalancing(stage: Stage) -> Scenario:
    """A target was restarted and the cluster rebalances: the copy that rank 0 asks for an epoch is not begun."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, proxy = stage.draw.child("beside"), stage.proxy_of(0)
    stage.open()
    down = stage.mark(at - draw.span(24_000, 36_000), f"SIGTERM {victim.name}")
    faults.terminate(cluster, victim, down)
    joined = faults.start_again(cluster, victim, stage.mark(down + draw.span(5_000, 9_000), f"{victim.name} starts"))
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))
    action, other = draw.pick(("copy-bck", "etl-bck")), cluster.target(draw.whole(0, 99))
    running = f"x-rebalance[g{cluster.rebalances}]"
    stage.job.note(at - 90 * MS, rank, f"epoch {draw.whole(1, 9)}: asking for {action} of {stage.bucket}", line=66)
    text = refusals.not_beside(cluster, other, proxy, at, running, action)
    stage.job.raise_on(at + 9 * MS, rank, bucket_job_refused(stage, at, proxy, action, text))
    ended = stage.job.agents_end([Exit(rank, at + 900 * MS, 1)], at + 900 * MS)
    also = ("software", "infrastructure", "data_loading_stall")
    made = replace(stage.guilty("storage_io", victim, also=also), ais_nodes=None)
    return stage.close(
        "Each epoch begins with a snapshot; this time a pod of the cluster was moved in that minute.",
        (made,),
        until=ended,
    )


@kind(reads=True, uptime=True)
def cold_reads_forbidden(stage: Stage) -> Scenario:
    """To save egress somebody forbids cold reads of the bucket: what is not in the cluster is said not to exist."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("forbidden")
    stage.open()
    began = stage.mark(at - draw.span(8_000, 26_000), "an operator disables cold reads of the bucket")
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, began, 1.1, 60, 310, draw)
    mishaps.change_buckets(cluster, began, "set-bprops", draw)
    for other, after in zip(readers(stage), (-6.6, -3.3, -0.8, 2.9), strict=False):
        name, then = utterance(draw), at + seconds(after) + draw.span(1, 700)
        text = refusals.cold_read_disabled(cluster, cluster.target(draw.whole(0, 99)), then, name)
        stage.job.note(then + 5 * MS, other, f"cut {name} skipped: {text}", "W", 84)
    name = utterance(draw)
    text = refusals.cold_read_disabled(cluster, victim, at, name)
    told = refused_get(stage, at, rank, victim, name, (404, "Not Found"), text)
    if draw.chance(0.5):
        stage.job.raise_on(at + 6 * MS, rank, told)
    else:
        error = told.rsplit("\n", 2)[-2].split(": ", 1)[1] + " " + told.rsplit("\n", 1)[-1]
        in_worker(stage, at + 6 * MS, rank, "aistore.sdk.errors.ErrObjNotFound", error, dataset_frames(stage))
    stage.hang(at + 340 * MS, rank)
    made = replace(stage.guilty("storage_io", victim, also=("data", "data_loading_stall")), ais_nodes=None)
    return stage.close("The bill of the cloud was too high, and a feature of buckets has a good name.", (made,))


@kind(reads=True, uptime=True)
def certificate_of_another(stage: Stage) -> Scenario:
    """All nodes renew their certificates; that of one target is for another address, or of nobody known."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("another")
    stage.open()
    began = stage.mark(at - draw.span(2_000, 21_000), f"{victim.name} has a certificate that is not its own")
    failings.certificates_renewed(cluster, began - seconds(4), victim, draw)
    why = draw.pick(
        (
            f"IP address mismatch, certificate is not valid for '{victim.address}'.",
            "self-signed certificate",
            "unable to get local issuer certificate",
        )
    )
    failed = f"[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: {why} (_ssl.c:1006)"
    cause = f'SSLError(SSLCertVerificationError(1, "{failed}"))'
    for other in readers(stage)[:4]:
        path = object_path(stage, other, utterance(draw))
        text = sdk.pool_error(victim.address, victim.ports[0], path, cause)
        stage.job.sdk_warning(began + draw.span(400, 9_000), other, sdk.retrying(1.4, "SSLError", text))
    text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, rank, utterance(draw)), cause)
    limit = min(at + seconds(stage.params.timeout_s - 8), at + seconds(draw.pick((26, 44))))
    then = retries(stage, at, rank, draw, 0.02, text, limit, "SSLError")
    exhausted(stage, then, rank, text, "SSLError", (sdk.Frame(stage.job.job.script, 77, "fetch", FETCH, True),))
    stage.hang(at + 340 * MS, rank)
    made = stage.close(
        "A secret was made by hand for one pod while the others have theirs from the issuer.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network")),),
    )
    return over_tls(stage, made)


@kind(reads=True, proxies=2, hosts=2, ais_order=510, off_primary=True, without=("restart_before", "kill_after"))
def redirects_not_believed(stage: Stage) -> Scenario:
    """A proxy comes back with an older image and has no key: targets refuse whoever it sends, other hosts read on."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy = stage.draw.child("keys"), stage.proxy_of(stage.culprit)
    stage.open()
    down = stage.mark(at - draw.span(19_000, 34_000), f"{proxy.name} is replaced by a pod of an older image")
    back = failings.proxy_again(cluster, proxy, down, draw)
    fellows = [one for one in readers(stage) if stage.proxy_of(one) is proxy]
    path = f"/v1/ml/moss/{stage.bucket}?provider=ais"
    for other in fellows[:2]:
        text = sdk.pool_error(proxy.address, proxy.ports[0], path, sdk.refused(draw.whole(*HANDLES)))
        late = down + draw.span(1_200, 4_900)
        stage.job.sdk_warning(late, other, sdk.retrying(round(draw.between(6, 9), 2), "ConnectionError", text))
    for other in fellows[:20]:
        if draw.chance(0.5):
            name, then = utterance(draw), max(back + SEC, at - draw.span(100, 5_000))
            text = refusals.sender_unknown(cluster, cluster.target(draw.whole(0, 99)), then, name, proxy)
            stage.job.note(then + 5 * MS, other, f"read of {name} failed: STATUS:401 {text}, retrying", "W", 79)
    name, owner = utterance(draw), stage.victim
    text = refusals.sender_unknown(cluster, owner, at, name, proxy)
    stage.job.raise_on(at + 6 * MS, rank, refused_get(stage, at, rank, owner, name, (401, "Unauthorized"), text))
    stage.hang(at + 340 * MS, rank)
    also = ("data_loading_stall", "infrastructure", "software")
    return stage.close(
        "A node of Kubernetes was drained, and the one that took the pod had last year's image in its cache.",
        (stage.guilty("storage_io", proxy, also=also),),
    )
