"""Storage faults of the seventh part that are loud: names, settings, old objects, votes, halves of a cluster."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.doorways import assembly_failed, bucket_not_created, s3fs_failed
from benchmarks.accuracy.generate.faults.words.gateways import batch_refused
from benchmarks.accuracy.generate.faults.words.requests import refused_get
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisevents as ev
from fixtures.generator import aismishaps as mishaps
from fixtures.generator import aisobjects
from fixtures.generator import aisrifts as rifts
from fixtures.generator import aistroubles as troubles
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "seventh")


@kind(reads=True, may_be_undetermined=True)
def bucket_renamed(stage: Stage) -> Scenario:
    """An operator gives the bucket that is read another name, or destroys it: whoever asks for the old one gets 404."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("renamed")
    stage.open()
    is_moved, began = draw.chance(0.6), at - draw.span(700, 2_900)
    stage.mark(began, f"an operator {'renames' if is_moved else 'destroys'} the bucket {stage.bucket}")
    mishaps.change_buckets(cluster, began, "move-bck" if is_moved else "destroy-bck", draw)
    cluster.end_batches(
        began + 9 * MS, f'bucket "ais://{stage.bucket}" is being {"renamed" if is_moved else "destroyed"}'
    )
    if is_moved:
        troubles.renames_bucket(cluster, began + 20 * MS, f"{stage.bucket}-2025", draw)
    for after in (0.4, 1.9, 4.3, 7.7):
        proxy, then = cluster.proxy(draw.whole(0, 9)), began + seconds(after) + draw.span(1, 900)
        troubles.no_bucket(cluster, proxy, then, f"GET /v1/objects/{stage.bucket}/{utterance(draw, 'other')}")
    text = troubles.no_bucket(cluster, stage.proxy_of(rank), at, f"GET /v1/ml/moss/{stage.bucket}")
    told = batch_refused(stage, rank, (404, "Not Found"), text, "ErrBckNotFound")
    stage.job.raise_on(at + 5 * MS, rank, told.replace("errors.AISError", "errors.ErrBckNotFound"))
    stage.hang(at + 340 * MS, rank)
    also = ("data_loading_stall", "data", "software", "infrastructure")
    made = replace(stage.guilty("storage_io", cluster.primary(at), also=also), ais_nodes=None)
    return stage.close("Buckets are put in order at last; who reads them is not written down anywhere.", (made,))


@kind(reads=True)
def authentication_switched_on(stage: Stage) -> Scenario:
    """An operator makes the proxies ask for tokens in the middle of the day: nobody has one."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, request = stage.draw.child("tokens"), f"GET /v1/ml/moss/{stage.bucket}"
    stage.open()
    began = stage.mark(at - draw.span(400, 2_600), "an operator switches authentication on")
    troubles.reconfigured(cluster, began, draw)
    then = began + draw.span(60, 300)
    while then < at + seconds(9):
        proxy, tenant = cluster.proxy(draw.whole(0, 9)), draw.pick(("scratch", "tenant-b", "eval-sets"))
        troubles.token_required(cluster, proxy, then, f"GET /v1/objects/{tenant}/{draw.token(7)}")
        then += draw.span(300, 2_400)
    text = troubles.token_required(cluster, stage.proxy_of(rank), at, request)
    stage.job.raise_on(at + 4 * MS, rank, batch_refused(stage, rank, (401, "Unauthorized"), text))
    stage.hang(at + 340 * MS, rank)
    also = ("infrastructure", "data_loading_stall", "software")
    made = replace(stage.guilty("storage_io", stage.proxy_of(rank), also=also), ais_nodes=None)
    return stage.close(
        "A setting was meant for the cluster of tests. All that run were started without tokens.", (made,)
    )


@kind(reads=True, uptime=True)
def patience_shortened(stage: Stage) -> Scenario:
    """An operator lets batches wait one second for an entry and not twenty: what was slow before is an error now."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, busy = stage.draw.child("patience"), stage.other_target(stage.victim)
    stage.open()
    began = stage.mark(at - draw.span(9_000, 17_000), "an operator sets get_batch.max_wait to a second")
    troubles.reconfigured(cluster, began, draw)
    if draw.chance(0.6):
        disk.disk_pressure(cluster, busy, began - seconds(30), at + seconds(30), draw)

    def too_late(then: int, who: int) -> tuple[str, str]:
        node, xact, wid = cluster.target(draw.whole(0, 99)), cluster.xact, cluster.wid(stage.proxy_of(who), draw)
        if xact is None:
            return "", ""
        text = ev.timed_out(node, xact, wid, draw.whole(1, 44)).replace("total-wait=20s", "total-wait=1s")
        troubles.item_failed(cluster, node, then, wid, text, draw.whole(2, 30), draw.span(1_010, 1_400))
        return assembly_failed(stage, who, node, wid, text)

    for other, after in zip(readers(stage), (-7.1, -3.9, -0.6, 2.2), strict=False):
        then = at + seconds(after) + draw.span(1, 900)
        stage.job.note(then + 4 * MS, other, f"get-batch failed ({too_late(then, other)[0]}), retrying 1/2", "W", 96)
    then = at
    for attempt in range(2):
        error = too_late(then + SEC, rank)[0]
        stage.job.note(then + seconds(1.01), rank, f"get-batch failed ({error}), retrying {attempt + 1}/2", "W", 96)
        then += seconds(2.5) + draw.span(1, 30)
    stage.job.raise_on(then + seconds(1.01), rank, too_late(then + SEC, rank)[1])
    stage.hang(at + 340 * MS, rank)
    made = replace(stage.guilty("storage_io", busy, also=("data_loading_stall",)), ais_nodes=None)
    return stage.close("Batches of another job took too long, and somebody had read of a setting.", (made,))


@kind(reads=True, uptime=True)
def archived_by_lifecycle(stage: Stage) -> Scenario:
    """What nobody read for long was moved to an archive, or its key disabled: cold reads are refused for good."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("archived")
    stage.open()
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, at - seconds(2), 2.1, 60, 310, draw)
    stage.mark(at - seconds(17), "the first objects that S3 has moved to its archive are asked for")
    code, told = "InvalidObjectState", "The operation is not valid for the object's storage class"
    if draw.chance(0.35):
        key = f"arn:aws:kms:us-west-2:{draw.whole(10**11, 10**12 - 1)}:key/{draw.token(8)}"
        code, told = "KMS.DisabledException", f"{key} is disabled."
    error, by_s3 = f"aws-error[{code}: {told}]", draw.chance(0.5)
    refuse = troubles.refused_by_s3 if by_s3 else aisobjects.backend_refused
    for count, (other, after) in enumerate(zip(readers(stage), (-16.8, -9.4, -2.2, 3.1), strict=False), 1):
        name, then = utterance(draw, "2024"), at + seconds(after) + draw.span(1, 700)
        refuse(cluster, cluster.target(draw.whole(0, 99)), then, name, error, 403)
        stage.job.note(then + 6 * MS, other, f"cut {name} skipped: {error} ({count} of 64 allowed)", "W", 84)
    name = utterance(draw, "2024")
    refuse(cluster, victim, at, name, error, 403)
    if by_s3:
        s3fs_failed(stage, at + 6 * MS, rank, name, code, error)
    else:
        stage.job.raise_on(at + 6 * MS, rank, refused_get(stage, at, rank, victim, name, (403, "Forbidden"), error))
    stage.hang(at + 340 * MS, rank)
    made = replace(stage.guilty("storage_io", victim, also=("data_loading_stall", "data")), ais_nodes=None)
    return stage.close(
        "A rule of the bucket behind saves money. Objects that the cluster still holds are read.", (made,)
    )


@kind(reads=True, uptime=True)
def remote_cluster_detached(stage: Stage) -> Scenario:
    """The bucket's objects lie in another cluster, which somebody has detached: only what is here already is read."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, alias = stage.draw.child("detached"), stage.draw.child("alias").pick(("prod-eu", "archive", "site2"))
    stage.open()
    began = stage.mark(at - draw.span(1_200, 6_000), f"an operator detaches the remote cluster {alias}")
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, began - SEC, 1.7, 30, 190, draw)
    troubles.reconfigured(cluster, began, draw)
    error = f'unknown uuid (or alias) of remote cluster "{alias}"'
    then = began + draw.span(200, 900)
    while then < at + seconds(12):
        node = cluster.target(draw.whole(0, 99))
        aisobjects.backend_refused(cluster, node, then, utterance(draw, "other"), error, 404)
        then += draw.span(900, 5_000)
    name = utterance(draw)
    for attempt in range(2):
        asked = at + seconds(1.5 * attempt)
        aisobjects.backend_refused(cluster, victim, asked, name, error, 404)
        said = f"read of {name} failed (STATUS:404), retrying {attempt + 1}/2"
        stage.job.note(asked + 6 * MS, rank, said, "W", 79)
    last = at + seconds(3.1)
    aisobjects.backend_refused(cluster, victim, last, name, error, 404)
    stage.job.raise_on(last + 6 * MS, rank, refused_get(stage, last, rank, victim, name, (404, "Not Found"), error))
    stage.hang(at + 340 * MS, rank)
    also = ("data_loading_stall", "data", "network")
    made = replace(stage.guilty("storage_io", victim, also=also), ais_nodes=None)
    return stage.close(
        "Two clusters are to be told apart again; the bucket of the job is a window to the other.", (made,)
    )


@kind(reads=True, uptime=True, without=("restart_before",))
def cleanup_takes_misplaced(stage: Stage) -> Scenario:
    """A rebalance is stopped half way, then a cleanup is forced: what had not been moved yet is gone."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("misplaced")
    stage.open()
    began = stage.mark(at - draw.span(26_000, 34_000), "an operator stops a rebalance")
    troubles.rebalance_given_up(cluster, began, draw)
    cleaned = stage.mark(began + draw.span(7_000, 9_900), "an operator forces a cleanup of all targets")
    for node in cluster.up(cleaned):
        troubles.cleans_up(cluster, node, cleaned + draw.span(1, 90), at - draw.span(900, 4_000), draw)

    def missing(then: int) -> tuple[str, str]:
        name, owner = utterance(draw), cluster.target(draw.whole(0, 99))
        return name, aisobjects.not_there(cluster, owner, then, name)

    for other, after in zip(readers(stage), (-8.8, -5.1, -1.4), strict=False):
        then = at + seconds(after) + draw.span(1, 900)
        name, text = missing(then)
        stage.job.note(then + 5 * MS, other, f"cut {name} skipped: {text}", "W", 84)
    name, owner = utterance(draw), stage.victim
    text = aisobjects.not_there(cluster, owner, at, name)
    stage.job.raise_on(at + 6 * MS, rank, refused_get(stage, at, rank, owner, name, (404, "Not Found"), text))
    stage.hang(at + 340 * MS, rank)
    made = replace(stage.guilty("storage_io", *cluster.targets, also=("data", "data_loading_stall")), ais_nodes=None)
    return stage.close("The rebalance was in somebody's way, and then the disks were too full for another.", (made,))


@kind(reads=True, targets=4, proxies=2, uptime=True, lead_s=90.0, without=("restart_before", "kill_after", "rotation"))
def split_in_halves(stage: Stage) -> Scenario:
    """Two rooms of the cluster lose sight of each other: each goes on alone, with a primary and half of the objects."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, primary, many = stage.draw.child("halves"), cluster.primary(at), len(cluster.targets)
    stage.open()
    near = [primary, *cluster.targets[: many // 2 - 1]]
    far = [node for node in cluster.nodes if node not in near]
    began = at - draw.span(43_000, 46_000)
    stage.mark(began, "the control network between the two rooms of the cluster is cut")
    rifts.falls_apart(cluster, near, far, began, draw)
    own = [node for node in (near if stage.proxy_of(rank) in near else far) if node.role == "target"]
    for other, after in zip(readers(stage), (-1.1, 0.8, 2.9), strict=False):
        then = at + seconds(after) + draw.span(1, 600)
        half = [node for node in (near if stage.proxy_of(other) in near else far) if node.role == "target"]
        name = utterance(draw)
        text = aisobjects.not_there(cluster, draw.pick(half), then, name)
        stage.job.note(then + 5 * MS, other, f"cut {name} skipped: {text}", "W", 84)
    name, owner = utterance(draw), draw.pick(own)
    text = aisobjects.not_there(cluster, owner, at, name)
    stage.job.raise_on(at + 6 * MS, rank, refused_get(stage, at, rank, owner, name, (404, "Not Found"), text))
    stage.hang(at + 340 * MS, rank)
    also = ("data", "data_loading_stall", "network")
    made = replace(stage.guilty("storage_io", *far, also=also), ais_nodes=None)
    return stage.close(
        "The line for control between two rooms fails; that for data is another, and workers reach all.", (made,)
    )


@kind(proxies=2, hosts=2, off_primary=True, lead_s=75.0, without=("kill_after", "restart_before", "rotation"))
def nobody_elected(stage: Stage) -> Scenario:
    """The primary is cut off from the others and nobody is elected in its place: a new bucket cannot be made."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy = stage.draw.child("votes"), stage.proxy_of(stage.culprit)
    stage.open()
    began = stage.mark(at - draw.span(24_000, 27_000), f"{cluster.primary(at).name} is cut off from all other nodes")
    path = f"/v1/buckets/eval-{stage.job.job.task.replace('_', '-')}-{stage.step}"
    rifts.nobody_elected(cluster, proxy, began, at + seconds(7), draw)
    stage.job.note(at - seconds(3.1), rank, f"creating ais://{path.rsplit('/', 1)[-1]} for predictions", "W", 115)
    rifts.not_forwarded(cluster, proxy, at, path)
    stage.job.raise_on(at + 3 * MS, rank, bucket_not_created(stage, proxy, path))
    stage.hang(at + 340 * MS, rank)
    also = ("data_loading_stall", "infrastructure", "network")
    made = replace(stage.guilty("storage_io", cluster.primary(at), also=also), ais_nodes=None)
    return stage.close(
        "Two ports of a switch are in the wrong network for half a minute. The next in line has missed the last change "
        "of the cluster, and whoever knows better votes against it.",
        (made,),
    )
