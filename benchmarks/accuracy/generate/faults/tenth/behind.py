"""Storage faults of the tenth part on the way to what is behind: no identity, a web proxy, another cluster, no room."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import TRIES_S, status_repeated
from benchmarks.accuracy.generate.faults.words.doorways import part_refused, s3fs_failed
from benchmarks.accuracy.generate.faults.words.loaders import msc_failed, put_refused
from benchmarks.accuracy.generate.faults.words.requests import object_path, refused_get
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, comes_back, of_all, others_fail
from benchmarks.accuracy.generate.faults.words.workplaces import download_failed
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisbehind as behind
from fixtures.generator import aislosses as losses
from fixtures.generator import aisobjects
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("storage", "tenth")

#: The moments at which clients of S3 ask once more.
QUICK_S = (0.0, 0.4, 1.1, 2.6, 5.2)
IDENTITY = "get identity: get credentials: failed to refresh cached credentials, no EC2 IMDS role found"
METADATA = "http://169.254.169.254/latest/meta-data/iam/security-credentials/"


@kind(reads=True, uptime=True, lead_s=90.0, without=RESTARTS)
def identity_missing(stage: Stage) -> Scenario:
    """A target comes back on a machine that the cloud knows nothing of: it alone reads nothing from there."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("identity")
    stage.open()
    back = comes_back(stage, at - draw.span(24_000, 38_000), "which comes back on a machine without a role")
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, at, 1.2, 50, 280, draw, avoid=victim.node_id)
    asked = "operation error ec2imds: GetMetadata"
    why = draw.pick(
        (
            f"{asked}, http response error StatusCode: 404, request to EC2 IMDS failed",
            f"{asked}, http response error StatusCode: 401, request to EC2 IMDS failed",
            f"{asked}, exceeded maximum number of attempts, 3, request send failed, "
            f'Get "{METADATA}": dial tcp 169.254.169.254:80: connect: connection refused',
        )
    )
    error = f"aws-error[operation error S3: GetObject, {IDENTITY}, {why}]"
    by_s3 = draw.chance(0.4)

    def fails(then: int, name: str) -> str:
        behind.cold_failed(cluster, victim, then, name, error, 500, "", by_s3)
        return f"STATUS:500 from {victim.url(0)}"

    others_fail(stage, back + 4 * SEC, (-3.7, -1.5, 1.2), draw, fails)
    name = utterance(draw)
    patient = stage.params.timeout_s >= 120 and not by_s3
    for after in TRIES_S if patient else QUICK_S:
        fails(at + seconds(after) + draw.span(2, 40), name)
    if by_s3:
        s3fs_failed(stage, at + seconds(5.4), rank, name, "InternalError", error)
    elif patient:
        status_repeated(stage, rank, victim, name, 500)
    else:
        text = refused_get(stage, at, rank, victim, name, (500, "Internal Server Error"), error)
        stage.job.raise_on(at + seconds(5.3), rank, text)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "The machines of a pool have a role from a template; the new one was made by hand.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "infrastructure")),),
    )


@kind(reads=True, uptime=True, min_timeout_s=120)
def web_proxy_refuses(stage: Stage) -> Scenario:
    """All targets go to the cloud through the site's web proxy, which wants a password or is down: no cold reads."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("web proxy")
    stage.open()
    began = stage.mark(at - draw.span(2_000, 12_000), "the web proxy lets no target through")
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, began, 1.1, 60, 300, draw)
    region = draw.pick(("us-west-2", "eu-central-1"))
    dialled = f"proxyconnect tcp: dial tcp 10.{draw.whole(1, 9)}.0.{draw.whole(2, 30)}:3128: connect:"
    gone = draw.pick((f"{dialled} connection refused", f"{dialled} no route to host"))
    why = draw.pick(("Proxy Authentication Required", "Forbidden", gone))

    def fails_on(node: Node, then: int, name: str) -> str:
        url = f"https://{stage.bucket}.s3.{region}.amazonaws.com/{name}?x-id=GetObject"
        error = f'aws-error[operation error S3: GetObject, {behind.TRIED}, request send failed, Get "{url}": {why}]'
        behind.cold_failed(cluster, node, then, name, error, 500)
        return "STATUS:500, not in the cache"

    def fails(then: int, name: str) -> str:
        return fails_on(cluster.target(draw.whole(0, 99)), then, name)

    then = began + draw.span(90, 2_000)
    while then < at + seconds(95):
        fails(then, utterance(draw, "other"))
        then += draw.span(3_000, 11_000)
    others_fail(stage, began, (-2.8, -0.7, 1.9), draw, fails)
    name = utterance(draw)
    for after in TRIES_S:
        fails_on(victim, at + seconds(after) + draw.span(2, 40), name)
    if draw.chance(0.4):
        over = at + seconds(TRIES_S[-1]) + draw.span(70, 190)
        msc_failed(stage, over, rank, name, victim, object_path(stage, rank, name))
    else:
        status_repeated(stage, rank, victim, name, 500)
    stage.hang(at + 340 * MS, rank)
    also = ("data_loading_stall", "network", "infrastructure")
    made = of_all(stage.guilty("storage_io", victim, also=also))
    return stage.close("Passwords of the proxy end after ninety days, those of daemons too.", (made,))


@kind(reads=True, uptime=True, min_timeout_s=120)
def other_cluster_lame(stage: Stage) -> Scenario:
    """The bucket lies in another AIStore cluster, which has lost a target: a part of the cold reads ends there."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("lame")
    net = f"10.{draw.whole(130, 180)}.{draw.whole(1, 9)}"
    uuid, asker, port = draw.token(9), draw.token(8), draw.pick((51081, 8081))
    source = f"ais://@{uuid}/{stage.bucket}"
    stage.job.note(stage.job.begin - seconds(1.1), 0, f"reading {source} through the local cluster", line=48)
    stage.open()
    began = stage.mark(at - draw.span(3_000, 15_000), "the cluster behind loses a target")
    then = stage.job.begin + SEC
    while then < at + seconds(96):
        node, spent = draw.pick(cluster.up(then)), draw.span(9, 70)
        cluster.count(node, then, remais_get_n=1, remais_get_ns_total=spent, remais_get_size=draw.whole(9_000, 24_000))
        then += draw.span(900, 2_900)
    where = f"{net}.{draw.whole(40, 90)}:{port}"
    why = draw.pick(("connect: connection refused", "connect: no route to host"))

    def fails_on(node: Node, then: int, name: str) -> str:
        url = f"http://{where}/v1/objects/{stage.bucket}/{name}?pid={asker}"
        error = f'Get "{url}": dial tcp {where}: {why}'
        behind.cold_failed(cluster, node, then, name, error, 500)
        return f"STATUS:500 {error}"

    def fails(then: int, name: str) -> str:
        return fails_on(cluster.target(draw.whole(0, 99)), then, name)

    others_fail(stage, began, (-2.9, -1.2, 0.8, 3.3), draw, fails)
    name = utterance(draw)
    for after in TRIES_S:
        fails_on(victim, at + seconds(after) + draw.span(2, 40), name)
    status_repeated(stage, rank, victim, name, 500)
    stage.hang(at + 340 * MS, rank)
    also = ("data_loading_stall", "network", "infrastructure")
    made = of_all(stage.guilty("storage_io", victim, also=also))
    return stage.close(
        "The older cluster of the site feeds the newer one, and its hosts go one after the other.", (made,)
    )


@kind(culprit=0, hangs=False, lead_s=60.0)
def store_behind_full(stage: Stage) -> Scenario:
    """What is written to the bucket of checkpoints goes on to a store that has no room: rank 0 is refused."""
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("behind full")
    stage.open()
    began = stage.mark(at - draw.span(1_000, 90_000), "the store behind the checkpoints has no room")
    full = "Storage backend has reached its minimum free drive threshold. Please delete a few objects to proceed."
    error, by_s3 = f"aws-error[XMinioStorageFull: {full}]", draw.chance(0.4)
    for _ in range(draw.whole(0, 4)):
        then = began + int((at - began) * draw.between(0, 1))
        other = f"/v1/objects/checkpoints/tenant-{draw.token(3)}/state-{draw.whole(1, 90)}.pt"
        losses.behind_is_full(cluster, cluster.target(draw.whole(0, 99)), then, other, error)
    name = f"{stage.job.job.task}/step={stage.step}.pt"
    stage.job.note(at - draw.span(2_000, 9_000), 0, f"saving checkpoint to ais://checkpoints/{name}", line=116)
    over = at
    if by_s3:
        for after in QUICK_S:
            over = at + seconds(after) + draw.span(2, 40)
            losses.behind_is_full(cluster, victim, over, f"/s3/checkpoints/{name}", error)
        part_refused(stage, over + 7 * MS, 0, name, error)
    else:
        losses.behind_is_full(cluster, victim, at, f"/v1/objects/checkpoints/{name}", error)
        stage.job.raise_on(at + 9 * MS, 0, put_refused(stage, at, victim, f"/v1/objects/checkpoints/{name}", error))
    ended = stage.job.agents_end([Exit(0, over + 900 * MS, 1)], over + 900 * MS)
    made = of_all(stage.guilty("storage_io", victim, also=("infrastructure",)))
    return stage.close(
        "Checkpoints of a year lie in the store behind; the cluster in front has room for another two.",
        (made,),
        until=ended,
    )


@kind(culprit=0, hangs=False, lead_s=60.0)
def download_without_share(stage: Stage) -> Scenario:
    """Rank 0 has the cluster download the next part of a corpus; one target reaches no host outside."""
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, job = stage.draw.child("download"), stage.job
    stage.open()
    over, many = at + seconds(draw.between(34, 75)), draw.whole(200, 900)
    host = draw.pick(("dl.fbaipublicfiles.com", "www.openslr.org", "storage.corpora.example"))
    stage.mark(at, f"rank 0 has {many} links downloaded, {victim.name} reaches no host outside")
    dload = losses.downloads(cluster, at, over, draw)
    reader = f"part {draw.whole(2, 40)} of {stage.bucket}"
    job.note(at - 20 * MS, 0, f"downloading {reader}: job {dload}, {many} links from {host}", line=63)
    why, gap_ms = draw.pick((("connect: connection refused", 60), ("connect: no route to host", 3_060)))
    why = f"dial tcp 18.{draw.whole(20, 90)}.{draw.whole(1, 250)}.{draw.whole(2, 250)}:443: {why}"
    links = [f"https://{host}/{stage.bucket}/part-{draw.whole(0, 9999):05d}.tar" for _ in range(draw.whole(2, 5))]
    for link in links:
        then = at + draw.span(300, 2_000)
        for attempt in range(10):
            losses.link_not_reached(cluster, victim, then, dload, link, why, attempt)
            then += draw.span(gap_ms, gap_ms + 40)
        cluster.count(victim, then, err_dl_n=1)
    for turn in range(int((over - at) / seconds(15))):
        done = int(many * (turn + 1) * seconds(15) / (over - at))
        job.note(at + seconds(15.02 * (turn + 1)), 0, f"job {dload}: {done} of {many} links", line=66)
    text = f'Get "{links[0]}": {why}'
    download_failed(stage, over, dload, many, links, text)
    ended = job.agents_end([Exit(0, over + 900 * MS, 1)], over + 900 * MS)
    also = ("network", "infrastructure", "data", "data_loading_stall")
    return stage.close(
        "Hosts of storage have no way out of the site but for a list of exceptions; one is not on it.",
        (stage.guilty("storage_io", victim, also=also),),
        until=ended,
    )
