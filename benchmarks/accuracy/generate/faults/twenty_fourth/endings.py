"""Storage faults of the twenty-fourth part of nodes that end: killed, rolled over, rebooted, and what is lost."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.consumers import (
    connection_closed_on_boto,
    datasets_disconnected,
    datasets_retries,
    s5cmd_failed,
)
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.regulars import tar_of
from benchmarks.accuracy.generate.faults.words.requests import object_path, refused_get
from benchmarks.accuracy.generate.faults.words.servers import lists_without_end, upload_elsewhere
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisobjects, aisshifts, sdk
from fixtures.generator.draw import LOWER, Draw
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_fourth")
LOST = ("network", "data_loading_stall", "infrastructure", "data")


@kind(reads=True, hangs=False, lead_s=80.0, without=RESTARTS)
def container_hits_its_memory_limit(stage: Stage) -> Scenario:
    """A target is OOM-killed in its cgroup while a job streams from it (kubernetes, exit 137; HF datasets, streaming).

    To convict: datasets could not connect to one address, after it was disconnected a few times; that target was short
    of memory, its log ends in the middle at that time and another begins later; its peers lose their streams to it.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("memory limit")
    stage.open()
    disk.memory_pressure(cluster, victim, at - draw.span(41_000, 55_000), at, "high", draw)
    died = stage.mark(at + draw.span(20, 900), f"{victim.name} is killed at its memory limit")
    faults.kill(cluster, victim, died)
    back = died + draw.span(23_000, 26_000)
    faults.reconnects(cluster, victim, died, back - SEC, 2)
    faults.start_again(cluster, victim, back)
    first = died + draw.span(4, 60)
    for other in readers(stage)[: draw.whole(1, 4)]:
        began = died + draw.span(4_600, 6_900)
        for attempt, then in enumerate(range(began, first + seconds(15.3), seconds(5.01))):
            datasets_retries(stage, then, other, attempt + 1, 3)
    for attempt in (1, 2, 3):
        datasets_retries(stage, first + (attempt - 1) * seconds(5.01), rank, attempt, 3)
    over = first + seconds(15.04)
    datasets_disconnected(stage, over, rank, victim)
    leaves(stage, over, rank)
    return stage.close(
        "The limit was copied from the development cluster, whose targets have a tenth of the disks.",
        (stage.guilty("storage_io", victim, also=LOST),),
        until=back + seconds(20),
    )


@kind(reads=True, hangs=False, lead_s=118.0, without=RESTARTS)
def pods_are_rolled_while_a_job_reads(stage: Stage) -> Scenario:
    """An operator replaces targets one by one, objects of one that is away are not found (ais-k8s, rolling update).

    To convict: neighbours say 404 of objects while one target after the other is stopped and out of the map, and of
    none in between; the last of these is the exception of the rank, some seconds after the second target has left.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("rolled")
    first = stage.other_target(victim, 1)
    stage.open()

    def skips(since: int, until: int, away: Node, many: int) -> None:
        for other in readers(stage)[:many]:
            then, name = since + draw.span(90, (until - since) / MS - 400), utterance(draw)
            node = draw.pick([one for one in cluster.up(then) if one is not away])
            text = aisobjects.not_there(cluster, node, then, name)
            stage.job.note(then + 4 * MS, other, f"left out {name}: {text}", "W", 88)

    began = stage.mark(stage.job.begin + seconds(14), f"SIGTERM {first.name}, the first of a rolling update")
    faults.terminate(cluster, first, began)
    joined = faults.start_again(cluster, first, began + draw.span(8_000, 10_500))
    skips(began + 20 * MS, joined, first, draw.whole(2, 4))
    cluster.start_batches(joined + seconds(3.6), victim)
    down = stage.mark(at - draw.span(700, 5_200), f"SIGTERM {victim.name}, the second of a rolling update")
    faults.terminate(cluster, victim, down)
    skips(down + 20 * MS, at, victim, draw.whole(1, 3))
    node, name = draw.pick(cluster.up(at)), utterance(draw)
    text = aisobjects.not_there(cluster, node, at - 3 * MS, name)
    stage.job.raise_on(at, rank, refused_get(stage, at, rank, node, name, (404, "Not Found"), text))
    back = faults.start_again(cluster, victim, max(at + SEC, down + draw.span(8_000, 10_500)))
    leaves(stage, at, rank)
    return stage.close(
        "The window for it is on Sundays, in the time zone of whoever had set it.",
        (stage.guilty("storage_io", victim, also=LOST),),
        until=back + seconds(50),
    )


@kind(proxies=2, hosts=2, off_primary=True, hangs=False, lead_s=75.0, without=RESTARTS)
def gateway_dies_under_listings(stage: Stage) -> Scenario:
    """A proxy gathers listings of a bucket of very many objects and is OOM-killed (aistore, list-objects; boto3).

    To convict: botocore finds nobody at the address of one proxy; that proxy is short of memory just before its log
    ends (and counts listings, if it prints its counters in time), some ranks of the host that uses it complain, and the
    primary removes it later.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    proxy, draw = stage.proxy_of(rank), stage.draw.child("listings")
    stage.open()
    died = stage.mark(at - draw.span(40, 900), f"{proxy.name} is killed, out of memory")
    lists_without_end(cluster, proxy, stage.job.begin + seconds(4), died, draw)
    faults.kill(cluster, proxy, died)
    gone = faults.leave_smap(cluster, proxy, died)
    own = stage.job.job.node_of(rank)
    for other in [one for one in stage.job.job.ranks_of(own) if one != rank][: draw.whole(2, 4)]:
        then = at + draw.span(300, 9_000)
        said = f"GetObject {tar_of(draw)}: connection refused by {proxy.endpoint(0)}, attempt {draw.whole(1, 3)} of 5"
        stage.job.note(then, other, said, "W", 52)
    over = at + draw.span(14_200, 19_800)
    connection_closed_on_boto(stage, over, rank, proxy, tar_of(draw))
    leaves(stage, over, rank)
    return stage.close(
        "Somebody counted the objects of all buckets, in as many threads as there were buckets.",
        (stage.guilty("storage_io", proxy, also=LOST),),
        until=gone + SEC,
    )


@kind(culprit=0, hangs=False, lead_s=60.0, without=RESTARTS)
def upload_begun_on_a_target_that_leaves(stage: Stage) -> Scenario:
    """A target is restarted while it has a multipart upload open, parts go elsewhere (s5cmd issue 450, NoSuchUpload).

    To convict: s5cmd was told that there is no such upload, in the words of AIStore; the target that had given it its
    id was stopped one to three seconds before, and the other targets have never said that they had begun it.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("upload")
    key = f"{stage.job.job.task}/global_step{stage.step}/mp_rank_00_model_states.pt"
    upload = draw.token(32, LOWER)
    stage.open()
    stage.job.note(at - 90 * MS, 0, f"uploading {key} ({draw.between(18, 70):.1f} GiB) with s5cmd", line=116)
    aisshifts.upload_starts(cluster, victim, at, upload)
    down = stage.mark(at + draw.span(9_000, 21_000), f"SIGTERM {victim.name}, for a new kernel parameter")
    for second in range(2, (down - at) // SEC, 3):
        cluster.count(victim, at + second * SEC, put_n=4, put_ns_total=4 * draw.span(300, 900), put_size=200 << 20)
    faults.terminate(cluster, victim, down)
    over = down + draw.span(930, 3_200)
    s5cmd_failed(stage, over, key, upload, upload_elsewhere(upload))
    leaves(stage, over + 31 * MS, 0)
    back = faults.start_again(cluster, victim, max(over, down + draw.span(31_000, 44_000)))
    return stage.close(
        "The host was booted as well, with the argument that nobody reads at this hour.",
        (stage.guilty("storage_io", victim, also=LOST),),
        until=back + seconds(50),
    )


def _asks_a_dead_host(stage: Stage, victim: Node, gone: int, name: str, draw: Draw) -> int:
    """The SDK has no answer to its SYN, time after time, until the map is another: the moment of its next try."""
    rank, path = stage.culprit, object_path(stage, stage.culprit, name)
    then, attempt = stage.at + seconds(3.01), 0
    while then < gone:
        cause = sdk.connect_timeout(victim.address, draw.whole(0x7F0000000000, 0x7FFFFFFFFFFF))
        if then > stage.at + seconds(20):
            cause = sdk.no_route(draw.whole(0x7F0000000000, 0x7FFFFFFFFFFF))
        text = sdk.pool_error(victim.address, victim.ports[0], path, cause)
        wait = round(draw.between(max(1.0, 0.6 * 1.9**attempt), 1.9**attempt + 0.5), 2)
        kind_of = "ConnectTimeout" if "ConnectTimeoutError" in cause else "ConnectionError"
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, kind_of, text))
        then, attempt = then + seconds(wait) + seconds(3.01), attempt + 1
    return then


@kind(reads=True, hangs=False, min_timeout_s=90, lead_s=60.0, without=RESTARTS)
def host_of_a_target_has_panicked(stage: Stage) -> Scenario:
    """The kernel of a storage host panics, nothing answers, later others are asked (kdump; aistore, keepalive).

    To convict: the SDK cannot connect to one target until the primary removes that one, which has not closed a stream
    and does not come back; the 404 at the end is a neighbour's, of the very object that the dead target was asked for.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("panic"), utterance(stage.draw.child("own object"))
    stage.open()
    died = stage.mark(at - draw.span(60, 1_400), f"the host of {victim.name} panics")
    peers = [one for one in cluster.up(died) if one is not victim]
    aisobjects.lose_host(cluster, victim, died, died + seconds(70), peers[:2])
    gone = faults.leave_smap(cluster, victim, died, hung=True)
    over = _asks_a_dead_host(stage, victim, gone, name, draw) + 40 * MS
    for other in readers(stage)[: draw.whole(1, 3)]:
        then = at + draw.span(9_000, 26_000)
        said = f"no connection to {victim.endpoint(0)} for {(then - at) / SEC:.0f} s, still trying"
        stage.job.note(then, other, said, "W", 80)
    node = draw.pick(peers)
    text = aisobjects.not_there(cluster, node, over - 3 * MS, name)
    stage.job.raise_on(over, rank, refused_get(stage, over, rank, node, name, (404, "Not Found"), text))
    leaves(stage, over, rank)
    return stage.close(
        "It has written its memory to a disk for an hour, as it was told to do.",
        (stage.guilty("storage_io", victim, also=LOST),),
        until=died + seconds(75),
    )
