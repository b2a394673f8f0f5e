"""Storage faults of the ninth part behind AIStore: the store it reads from is gone, unpaid, down, or another one."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.clients import TRIES_S, status_repeated
from benchmarks.accuracy.generate.faults.words.doorways import mount_failed, s3fs_failed
from benchmarks.accuracy.generate.faults.words.gateways import s3_refused
from benchmarks.accuracy.generate.faults.words.loaders import dataset_frames, in_worker, msc_failed
from benchmarks.accuracy.generate.faults.words.requests import object_path, refused_get
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisbehind as behind
from fixtures.generator import aismishaps as mishaps
from fixtures.generator import aisobjects
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "ninth")

#: The moments at which clients of S3 ask once more.
QUICK_S = (0.0, 0.3, 0.9, 2.1, 4.6)


def _told(stage: Stage, at: int, node: Node, name: str, status: tuple[int, str], text: str, kind_of: str) -> str:
    """The traceback of a read that the SDK has an error of its own for."""
    error = kind_of or "AISError"
    told = refused_get(stage, at, stage.culprit, node, name, status, text, kind_of)
    return told.replace("aistore.sdk.errors.ErrObjNotFound:", f"aistore.sdk.errors.{error}:")


@kind(reads=True, uptime=True)
def bucket_behind_gone(stage: Stage) -> Scenario:
    """Somebody deletes the bucket of the cloud that is behind the one that is read: what is not here yet is nowhere."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("gone")
    stage.open()
    began = stage.mark(at - draw.span(3_000, 24_000), "the bucket behind is deleted")
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, began, 1.2, 50, 290, draw)
    source = f"{draw.pick(('s3', 'gs', 'az', 'oc'))}://{stage.bucket}-{draw.pick(('src', 'raw', 'v3'))}"
    text = f'{draw.pick(("cloud", "remote"))} bucket "{source}" does not exist'
    for other, after in zip(readers(stage), (-2.6, -0.9, 1.4, 3.8), strict=False):
        name, then = utterance(draw), at + seconds(after) + draw.span(1, 800)
        behind.cold_failed(cluster, cluster.target(draw.whole(0, 99)), then, name, text, 404, "ErrRemoteBckNotFound")
        stage.job.note(then + 5 * MS, other, f"{name}: {text}, using the next one", "W", 86)
    name = utterance(draw)
    behind.cold_failed(cluster, victim, at, name, text, 404, "ErrRemoteBckNotFound")
    told = _told(stage, at, victim, name, (404, "Not Found"), text, "ErrRemoteBckNotFound")
    stage.job.raise_on(at + 6 * MS, rank, told)
    stage.hang(at + 340 * MS, rank)
    also = ("data", "data_loading_stall", "infrastructure")
    made = replace(stage.guilty("storage_io", victim, also=also), ais_nodes=None)
    return stage.close("Somebody tidies up an account: a bucket that has a copy in AIStore is not needed.", (made,))


@kind(reads=True, uptime=True)
def bill_not_paid(stage: Stage) -> Scenario:
    """The account of the cloud behind is disabled, nobody has paid: every cold read is refused, warm ones not."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("bill")
    stage.open()
    began = stage.mark(at - draw.span(4_000, 20_000), "the account of the cloud behind is disabled")
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, began, 1.4, 50, 290, draw)
    error, by_s3 = behind.account_disabled(draw), draw.chance(0.4)
    for count, (other, after) in enumerate(zip(readers(stage), (-3.1, -1.2, 0.9, 2.7), strict=False), 1):
        name, then = utterance(draw), at + seconds(after) + draw.span(1, 700)
        behind.cold_failed(cluster, cluster.target(draw.whole(0, 99)), then, name, error, 403, "", by_s3)
        stage.job.note(then + 5 * MS, other, f"{name} left out ({count} of 16): {error}", "W", 86)
    name = utterance(draw)
    behind.cold_failed(cluster, victim, at, name, error, 403, "", by_s3)
    if by_s3:
        code = error.split("[")[1].split(":")[0] if error.startswith("aws") else "InternalError"
        s3fs_failed(stage, at + 6 * MS, rank, name, code, error)
    elif draw.chance(0.5):
        in_worker(
            stage,
            at + 6 * MS,
            rank,
            "aistore.sdk.errors.AISError",
            f"STATUS:403, MESSAGE:{error}",
            dataset_frames(stage),
        )
    else:
        stage.job.raise_on(at + 6 * MS, rank, refused_get(stage, at, rank, victim, name, (403, "Forbidden"), error))
    stage.hang(at + 340 * MS, rank)
    also = ("data", "data_loading_stall", "infrastructure")
    made = replace(stage.guilty("storage_io", victim, also=also), ais_nodes=None)
    return stage.close("A budget of a department ended with its year.", (made,))


@kind(reads=True, uptime=True, min_timeout_s=120)
def backend_down(stage: Stage) -> Scenario:
    """The object store of the site, which is behind the cluster, is down: warm reads go on, no cold one succeeds."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("down")
    stage.open()
    began = stage.mark(at - draw.span(2_000, 9_000), "the object store behind the cluster is down")
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, began, 1.3, 40, 210, draw)
    host, status, name = draw.pick(("minio.ml.corp.example", "rgw.storage.corp.example")), 500, utterance(draw)
    address = f"10.{draw.whole(64, 99)}.{draw.whole(0, 250)}.{draw.whole(2, 250)}:9000"
    why = draw.pick(("connection refused", "no route to host", ""))
    way = draw.pick(("sdk", "msc", "mount"))
    if not why:
        status, way = 503, "sdk"

    def failed(node: Node, then: int, one: str, by_s3: bool = False) -> str:
        error = "aws-error[XMinioServerNotInitialized: Server not initialized yet, please try again.]"
        if why:
            error = behind.not_connected(f"http://{host}:9000/{stage.bucket}/{one}", address, why)
        behind.cold_failed(cluster, node, then, one, error, status, "", by_s3)
        return error

    then = began + draw.span(90, 900)
    while then < at + seconds(96):
        failed(cluster.target(draw.whole(0, 99)), then, utterance(draw, "other"))
        then += draw.span(2_400, 9_000)
    error = ""
    for after in QUICK_S if way == "mount" else TRIES_S:
        error = failed(victim, at + seconds(after) + draw.span(5, 60), name, way == "mount")
    if way == "mount":
        mount_failed(stage, at + seconds(4.8), rank, name, error)
    elif way == "msc":
        over = at + seconds(TRIES_S[-1]) + draw.span(70, 190)
        msc_failed(stage, over, rank, name, victim, object_path(stage, rank, name))
    else:
        status_repeated(stage, rank, victim, name, status)
    stage.hang(at + 340 * MS, rank)
    also = ("data_loading_stall", "network", "infrastructure")
    made = replace(stage.guilty("storage_io", victim, also=also), ais_nodes=None)
    return stage.close("A power supply is changed; AIStore gives what it has.", (made,))


@kind(reads=True, uptime=True)
def backend_repointed(stage: Stage) -> Scenario:
    """An operator gives the bucket another store behind it, without most of its objects: cold reads find nothing."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("repointed")
    old, new = (f"s3://{stage.bucket}-{word}" for word in draw.pick((("v2", "v3"), ("prod", "staging"), ("eu", "us"))))
    stage.job.note(
        stage.job.begin - seconds(1.1), 0, f"reading ais://{stage.bucket}, which has {old} behind it", line=48
    )
    stage.open()
    began = stage.mark(at - draw.span(5_000, 23_000), f"an operator puts {new} behind the bucket")
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, began, 1.0, 60, 310, draw)
    mishaps.change_buckets(cluster, began, "set-bprops", draw)
    by_s3 = draw.chance(0.4)
    for other, after in zip(readers(stage), (-3.9, -1.7, 0.8, 2.2), strict=False):
        name, then = utterance(draw), at + seconds(after) + draw.span(1, 700)
        error = f"aws-error[NoSuchKey: {new}/{name}]"
        behind.cold_failed(cluster, cluster.target(draw.whole(0, 99)), then, name, error, 404, "", by_s3)
        stage.job.note(then + 5 * MS, other, f"{name}: STATUS:404 {error}, using the next one", "W", 86)
    name = utterance(draw)
    error = f"aws-error[NoSuchKey: {new}/{name}]"
    behind.cold_failed(cluster, victim, at, name, error, 404, "", by_s3)
    if by_s3:
        s3_refused(stage, at + 6 * MS, rank, "NoSuchKey", "GetObject", error)
    else:
        stage.job.raise_on(at + 6 * MS, rank, refused_get(stage, at, rank, victim, name, (404, "Not Found"), error))
    stage.hang(at + 340 * MS, rank)
    also = ("data", "data_loading_stall", "software")
    made = replace(stage.guilty("storage_io", victim, also=also), ais_nodes=None)
    return stage.close("A new version of the corpus is to be tried, in a bucket of the same name by mistake.", (made,))


@kind(reads=True, uptime=True)
def ports_used_up(stage: Stage) -> Scenario:
    """One target has used up its local ports: it opens no connection any more, to the cloud or to its peers."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("ports")
    stage.open()
    began = stage.mark(at - draw.span(3_000, 17_000), f"{victim.name} has no local port left")
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, at + seconds(30), 1.1, 50, 260, draw, victim.node_id)
    behind.dials_nobody(cluster, victim, began, at + seconds(min(150, stage.params.timeout_s)), draw)
    address = f"52.92.{draw.whole(16, 250)}.{draw.whole(2, 250)}:443"
    host, why = f"{stage.bucket}.s3.us-west-2.amazonaws.com", "cannot assign requested address"

    def failed(then: int, one: str, by_s3: bool) -> str:
        error = behind.not_connected(f"https://{host}/{one}", address, why)
        behind.cold_failed(cluster, victim, then, one, error, 500, "", by_s3)
        return error

    by_sdk = stage.params.timeout_s >= 120 and draw.chance(0.6)
    for other, after in zip(readers(stage), (-2.2, 1.1, 2.9), strict=False):
        name, then = utterance(draw), at + seconds(after) + draw.span(1, 600)
        failed(then, name, not by_sdk)
        stage.job.note(then + 5 * MS, other, f"{name}: STATUS:500 from {victim.url(0)}, once more", "W", 86)
    name, error = utterance(draw), ""
    for after in TRIES_S if by_sdk else QUICK_S:
        error = failed(at + seconds(after) + draw.span(5, 60), name, not by_sdk)
    if by_sdk:
        status_repeated(stage, rank, victim, name, 500)
    else:
        s3fs_failed(stage, at + seconds(4.8), rank, name, "InternalError", error)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A helper on the host of one target opens a connection for every line that it sends.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network", "infrastructure")),),
    )
