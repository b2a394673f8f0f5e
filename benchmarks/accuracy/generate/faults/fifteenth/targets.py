"""Storage faults of the fifteenth part of targets and proxies that are killed, stand still or have just started."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words.patrons import (
    aws_pipe_failed,
    shards_not_found,
    silenced_pipe_ends,
    table_not_read,
)
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, object_path, refused_get, retries
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aischurn as churn
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisgates as gates
from fixtures.generator import aisobjects, sdk
from fixtures.generator import aispassages as passages
from fixtures.generator import aisyearly as yearly
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "fifteenth")
STILL = (*RESTARTS, "kalive_hiccup")


@kind(reads=True, hangs=False, lead_s=60.0, without=STILL)
def row_groups_meet_a_killed_target(stage: Stage) -> Scenario:
    """A target is killed for its memory, proxies find nobody to pass reads to: pyarrow (arrow#37260, ray#43803)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("row groups")
    stage.open()
    died = stage.mark(at - draw.span(1_900, 4_200), f"{victim.name} is killed for its memory")
    disk.memory_pressure(cluster, victim, died - draw.span(21_000, 33_000), died, "extreme", draw)
    faults.kill(cluster, victim, died)
    faults.reconnects(cluster, victim, died, died + seconds(11))
    told = "AWS Error UNKNOWN (HTTP status 502) during GetObject operation: No response body."
    for turn, other in enumerate(readers(stage)[: draw.whole(1, 3)]):
        then, name = died + draw.span(100, 900) + turn * 300 * MS, f"/s3/{stage.bucket}/part-{draw.whole(0, 4095):05d}"
        passages.not_passed_on(cluster, stage.proxy_of(other), victim, then, f"{name}.parquet")
        stage.job.note(
            then + 4 * MS, other, f"row group {draw.whole(0, 40)} not read, next try in 30 s: {told}", "W", 84
        )
    name = f"/s3/{stage.bucket}/part-{draw.whole(0, 4095):05d}.parquet"
    for before in (0.6, 0.35, 0.004):
        passages.not_passed_on(cluster, stage.proxy_of(rank), victim, at - seconds(before), name)
    table_not_read(stage, at, rank, told)
    exits(stage, at, rank)
    joined = faults.start_again(cluster, victim, died + draw.span(9_000, 13_000))
    return stage.close(
        "The SDK of C++ repeats twice within a second, and a container needs ten to be there again.",
        (stage.guilty("storage_io", victim, also=("network", "data_loading_stall")),),
        until=joined + seconds(4),
    )


@kind(reads=True, hangs=False, proxies=2, hosts=2, off_primary=True, lead_s=60.0, without=STILL)
def shard_asked_of_a_starting_proxy(stage: Stage) -> Scenario:
    """A proxy has just been restarted and is not ready: 503 to the AWS CLI, three times (webdataset#35, #345)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    proxy, draw = stage.proxy_of(rank), stage.draw.child("starting")
    stage.open()
    up = at - draw.span(640, 780)
    stopped = stage.mark(up - draw.span(4_000, 9_000), f"{proxy.name} is restarted")
    churn.proxy_stops(cluster, proxy, stopped)
    gates.proxy_starts(cluster, proxy, up, draw)
    shard = f"shards/train-{draw.whole(0, 4095):06d}.tar"
    for after in (60, 190, 520):
        yearly.turned_away_by_s3(cluster, proxy, up + after * MS, shard)
    own = [one for one in readers(stage) if stage.proxy_of(one) is proxy]
    for other, turn in zip(own, range(draw.whole(0, 3)), strict=False):
        then, cause = stopped + draw.span(300, 1_900) + turn * 400 * MS, sdk.refused(draw.whole(*HANDLES) // 16 * 16)
        text = sdk.pool_error(proxy.address, proxy.ports[0], object_path(stage, other, utterance(draw)), cause)
        retries(stage, then, other, draw, 0.004, text, up + seconds(1))
    told = "An error occurred (503) when calling the HeadObject operation (reached max retries: 2): Service Unavailable"
    aws_pipe_failed(stage, at, rank, shard, told)
    exits(stage, at + 90 * MS, rank)
    return stage.close(
        "A new image of the proxies is rolled out in working hours, for it takes seconds only.",
        (stage.guilty("storage_io", proxy, also=("network", "infrastructure", "data_loading_stall")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=STILL)
def pipe_hides_the_end_of_a_target(stage: Stage) -> Scenario:
    """A target dies as it sends shards, a pipe with `|| true` says nothing: no end of data (open_clip#845)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("hides")
    stage.open()
    died = stage.mark(at - draw.span(3, 30), f"kill -9 {victim.name}")
    faults.kill(cluster, victim, died)
    faults.reconnects(cluster, victim, died, died + seconds(20))
    faults.leave_smap(cluster, victim, died)
    for other in readers(stage)[: draw.whole(0, 3)]:
        then = died + draw.span(2, 40)
        stage.job.say(
            then, other, f"curl: (18) transfer closed with {draw.whole(1, 900) << 18} bytes remaining to read"
        )
        said = f"shard ends early, {draw.whole(90, 900)} of its samples are used"
        stage.job.note(then + 30 * MS, other, said, "W", 88)
    silenced_pipe_ends(stage, at, rank, f"shards/train-{draw.whole(0, 4095):06d}.tar", draw.whole(9, 900) << 18)
    exits(stage, at + 4 * MS, rank)
    return stage.close(
        "Some shards end between two samples, and nobody would know; that of the rank ends in one.",
        (stage.guilty("storage_io", victim, also=("data", "network", "data_loading_stall")),),
    )


@kind(trains=False, hangs=False, uptime=True, without=STILL)
def shards_of_a_hung_target(stage: Stage) -> Scenario:
    """A job is to go on from shards, and one target stands still: some ranks never start (marin#9209)."""
    cluster, victim, job = stage.cluster, stage.victim, stage.job
    draw, own = stage.draw.child("hung shards"), stage.job.job
    job.start()
    at, path = job.begin + draw.span(900, 2_600), f"checkpoints/{own.task}/step-{draw.whole(9, 60) * 500}"
    since = stage.mark(at - draw.span(2_900, 9_000), f"{victim.name} stands still, its connections stay open")
    faults.stop(cluster, victim, since, since + seconds(4_000))
    left = faults.leave_smap(cluster, victim, since, hung=True)
    job.note(at - 90 * MS, 0, f"going on from ais://{path} ({own.world} shards)", line=104)
    share = max(1, own.world // len(cluster.targets))
    lost = sorted(draw.shuffled(range(own.world))[: min(share, 5)])
    told, owner = {}, stage.other_target(victim, draw.whole(0, 99))
    for rank in range(own.world):
        if rank not in lost:
            size = draw.whole(90, 700) << 20
            node = stage.other_target(victim, rank + draw.whole(0, 9))
            cluster.count(node, at + draw.span(400, 1_900), get_n=1, get_ns_total=draw.span(300, 1_400), get_size=size)
            continue
        where = f"/v1/objects/{path}/rank{rank:04d}.pt"
        cause = sdk.read_timeout(victim.address, victim.ports[0])
        asked = f"{where}?provider=ais&pid={stage.proxy_of(rank).node_id}"
        text = sdk.pool_error(victim.address, victim.ports[0], asked, cause)
        told[rank] = retries(stage, at, rank, draw, 20.02, text, left + seconds(20)) - seconds(20) + draw.span(9, 90)
        request, missing = f"GET {where}", f"{owner.name}: ais://{path}/rank{rank:04d}.pt does not exist"
        cluster.count(owner, told[rank] - 2 * MS, err_get_n=1)
        said = ev.http_error(owner, missing, request, "htrun.go:1636", "ErrNotFound")
        cluster.say(owner, told[rank] - 2 * MS, said)
    ended = shards_not_found(stage, told, owner, path)
    made = stage.guilty("storage_io", victim, also=("data_loading_stall", "network"))
    return stage.close(
        "The driver of its controller waits for an answer that does not come; the other ranks wait in a barrier.",
        (replace(made, culprit_ranks=tuple(lost)),),
        until=ended,
    )


@kind(reads=True, lead_s=60.0, without=STILL)
def crashed_target_not_started_again(stage: Stage) -> Scenario:
    """A target crashes and its pod backs off: refused, then 404 (ais-k8s docs; kubernetes, back-off)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("backs off")
    stage.open()
    died = stage.mark(at - draw.span(60, 900), f"{victim.name} ends with a fatal signal")
    faults.kill(cluster, victim, died)
    faults.reconnects(cluster, victim, died, died + seconds(26))
    left = faults.leave_smap(cluster, victim, died)
    for turn, other in enumerate(readers(stage)[: draw.whole(1, 4)]):
        then = at + draw.span(200, 4_000) + turn * 900 * MS
        cause = sdk.refused(draw.whole(*HANDLES) // 16 * 16)
        text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, other, utterance(draw)), cause)
        retries(stage, then, other, draw, 0.004, text, min(left, then + seconds(12)))
    cause, name = sdk.refused(draw.whole(*HANDLES) // 16 * 16), utterance(draw)
    text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, rank, name), cause)
    then = max(retries(stage, at, rank, draw, 0.004, text, left), left + draw.span(100, 900))
    owner = stage.other_target(victim, draw.whole(0, 99))
    missing = aisobjects.not_there(cluster, owner, then, name)
    stage.job.raise_on(then + 6 * MS, rank, refused_get(stage, then, rank, owner, name, (404, "Not Found"), missing))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Its image is not on the node any more, and the registry turns the node away: the pod backs off.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network")),),
    )
