"""Guilty storage that stands still or finds nobody: a stopped target below boto3 and below curl, a proxy that is alone.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighth.stacks import main_thread, py_spy
from benchmarks.accuracy.generate.faults.words.absentees import REFUSED, connection_listed, pipe_tried, stands_in_boto
from benchmarks.accuracy.generate.faults.words.clients import pipe_ended
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.natives import shard_of
from benchmarks.accuracy.generate.faults.words.regulars import tar_of
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisabsences
from fixtures.generator import aisfaults as faults
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "thirty_second")
ALSO = ("storage_io", "infrastructure")


@kind(reads=True, lead_s=60.0, without=(*RESTARTS, "kalive_hiccup"))
def boto_reader_stands_before_a_stopped_target(stage: Stage) -> Scenario:
    """A target is stopped and boto3 has been given a long time-out for large objects (recorded 03; botocore Config).

    To convict: the rank says nothing; its stack is in botocore before the first byte, its one connection leads to the
    target that the primary misses since that second, removes, and that has written no line in between.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, until = stage.draw.child("boto"), over_at(stage) + seconds(37)
    stage.open()
    told(
        stage,
        stage.job.begin - draw.span(300, 700),
        0,
        "s3reader",
        f"boto3 at {stage.proxy_of(0).url(0)}/s3, connect_timeout=5, read_timeout=1800, max_attempts=2",
    )
    stood = stage.mark(at - draw.span(3, 30), f"SIGSTOP {victim.name}")
    faults.stop(cluster, victim, stood, until)
    faults.leave_smap(cluster, victim, stood, hung=True)
    after = min(draw.between(27, 45), stage.params.timeout_s - 14)
    py_spy(stage, after, (main_thread(stage, *stands_in_boto(stage)),))
    listed = at + seconds(after) + draw.span(300, 900)
    connection_listed(stage, listed, rank, victim, ("python3", stage.job.job.rank_pids[rank]), draw)
    stage.hang(at + 220 * MS, rank)
    stage.mark(until, f"SIGCONT {victim.name}")
    back = faults.resume(cluster, victim, until + 2 * MS)
    return stage.close(
        "The storage host had been frozen for a dump of its memory.",
        (stage.guilty("data_loading_stall", victim, also=ALSO),),
        until=back + seconds(5),
    )


@kind(reads=True, lead_s=66.0, without=(*RESTARTS, "kalive_hiccup"))
def shards_are_opened_on_a_frozen_host_by_several_ranks(stage: Stage) -> Scenario:
    """A storage host freezes, and curl below WebDataset has no limit of time (webdataset issues 35, 308; recorded 03).

    To convict: the ranks that wait have each opened a shard and never told that it came, one of their hosts lists the
    connection; the primary misses a target since then and removes it, and that one's log has a gap and no error.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, until = stage.draw.child("frozen"), over_at(stage) + seconds(41)
    failed = tuple(sorted((rank, *readers(stage)[: draw.whole(1, 2)])))
    stage.open()

    def opens(then: int, who: int) -> None:
        url = f"{stage.proxy_of(who).url(0)}/v1/objects/{stage.bucket}/{tar_of(draw)}"
        told(stage, then, who, "wds", f"opening pipe:curl -sSL {url}")

    for then, other in spread(stage, stage.job.begin + seconds(3), at - seconds(6), (3, 6), draw):
        opens(then, other)
        came = f"{draw.whole(2_100, 9_900)} samples in {draw.between(0.4, 2.2):.1f} s"
        told(stage, then + draw.span(2_300, 3_400), other, "wds", came)
    stood = stage.mark(at - draw.span(900, 1_500), f"the host of {victim.name} freezes")
    faults.stop(cluster, victim, stood, until)
    faults.leave_smap(cluster, victim, stood, hung=True)
    for turn, one in enumerate(failed):
        opens(at - draw.span(20, 800) + turn * MS, one)
    listed = at + seconds(min(draw.between(30, 44), stage.params.timeout_s - 13))
    curl = ("curl", stage.job.job.rank_pids[rank] + draw.whole(300, 2_400))
    connection_listed(stage, listed, rank, victim, curl, draw)
    stage.hang(at + 190 * MS, *failed)
    stage.mark(until, f"the host of {victim.name} goes on")
    back = faults.resume(cluster, victim, until + 2 * MS)
    made = replace(stage.guilty("data_loading_stall", victim, also=ALSO), culprit_ranks=failed)
    return stage.close(
        "The hypervisor had moved the virtual machine of the storage host, which took it two minutes.",
        (made,),
        until=back + seconds(5),
    )


@kind(hangs=False, proxies=2, hosts=2, off_primary=True, lead_s=64.0, without=(*RESTARTS, "kalive_hiccup"))
def restarted_gateway_finds_no_primary(stage: Stage) -> Scenario:
    """A proxy is replaced and given an old address of the primary (aistore docs, join_cluster; helm values).

    To convict: only ranks that have this one proxy as endpoint are refused or told 503; it was stopped in order, starts
    again and again, and ends each time since it finds no primary. Nothing is said of it by targets.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy, tries = stage.draw.child("alone"), stage.proxy_of(stage.culprit), 5
    stage.open()
    down = stage.mark(at - draw.span(500, 2_400), f"{proxy.name} is replaced by one with older settings")
    over = at + seconds(31)
    aisabsences.starts_without_a_primary(cluster, proxy, down, over + seconds(50), draw)

    def fails(then: int, who: int, turn: int, shard: str) -> tuple[str, int]:
        url = f"{proxy.url(0)}/v1/objects/{stage.bucket}/{shard}"
        code, text = 7, REFUSED.format(proxy.address, proxy.ports[0])
        if cluster.process(proxy, then - 2 * MS) is not None:
            aisabsences.not_ready(cluster, proxy, then - 2 * MS, shard)
            code, text = 22, "The requested URL returned error: 503"
        pipe_tried(stage, then, who, code, text, url, (turn, tries))
        return url, code

    for other in [one for one in readers(stage) if stage.proxy_of(one) is proxy][: draw.whole(2, 4)]:
        shard, then, pause = shard_of(draw), at + draw.span(900, 12_000), 2.0
        for turn in range(1, draw.whole(2, 4)):
            fails(then, other, turn, shard)
            then, pause = then + seconds(pause) + draw.span(9, 60), 2 * pause
    shard, then, last = shard_of(draw), at, ("", 7)
    for turn in range(1, tries + 1):
        last = fails(then, rank, turn, shard)
        then += (seconds(2.0**turn) + draw.span(9, 60)) if turn < tries else 0
    pipe_ended(stage, then + 3 * MS, rank, f"curl -fsSL {last[0]}", last[1], draw.token(10, HEX))
    leaves(stage, then + 9 * MS, rank)
    return stage.close(
        "Its values named the primary of the cluster before that one, whose address nobody has any more.",
        (stage.guilty("storage_io", proxy, also=("network", "data_loading_stall", "infrastructure")),),
        until=then + 40 * SEC,
    )
