"""What nodes of AIStore show of the tickets that come most often: burst limits, dying spindles, clocks, long listings.

Each takes a cluster and the node, from when and until when; lines and counters are as in runs, where those are known.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from fixtures.generator import aisevents as ev
from fixtures.generator.aiscluster import ClusterRun
from fixtures.generator.aisdisk import each_disk, state_alert
from fixtures.generator.aislog import Process, Say
from fixtures.generator.aisobjects import TRACE
from fixtures.generator.aisstats import ticks_between
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import MS, SEC

BIT_LOW_MEMORY = 12


def spindle_fails_slowly(cluster: ClusterRun, node: Node, disk: str, at: int, until: int, draw: Draw) -> None:
    """One disk rereads what it can hardly read: few kilobytes a second, no time left; all others are well."""
    process = cluster.last_process(node)
    for tick in ticks_between(process, at, until):
        rates = f"{draw.whole(40, 610)}KiB/s, {draw.whole(16, 128)}KiB, {draw.pick(('0B/s, 0B', '8KiB/s, 4KiB'))}"
        cluster.say(node, tick + draw.span(0.1, 1.4), Say("I", "", f"{disk}: {rates}, {draw.whole(99, 100)}%"))
        if draw.chance(0.3):
            busy = Say("W", "lcache:418", "hk: high system load (cpu: 1 disk: 4 ) - not running")
            cluster.say(node, tick + draw.span(3, 9), busy)
        if draw.chance(0.6):
            spent = min(draw.span(18_000, 64_000), tick - SEC - at)
            cluster.count(node, tick - SEC, get_n=1, get_ns_total=spent, get_size=1 << 22)


def burst_is_spent(cluster: ClusterRun, node: Node, at: int, until: int, draw: Draw) -> None:
    """All volumes of a node give their base rate of small reads and no more, each tick the same."""
    iops = draw.pick((100, 150, 240, 300))

    def rates() -> str:
        kib = draw.whole(15, 17)
        return f"{iops * kib / 1024:.0f}MiB/s, {kib}KiB, 0B/s, 0B, 100%"

    process = cluster.last_process(node)
    process.busy_disks.append((at, until))
    for tick in ticks_between(process, at, until):
        each_disk(cluster, node, tick + draw.span(0.1, 1.4), rates)
        slow, spent = draw.whole(9, 31), min(draw.span(9_000, 19_000), max(SEC, tick - SEC - at))
        cluster.count(node, tick - SEC, get_n=slow, get_ns_total=slow * spent, get_size=slow << 14)


def entries_are_late(cluster: ClusterRun, sender: Node, at: int, until: int, draw: Draw) -> None:
    """Whoever assembles batches waits for the entries of one sender; a few are read elsewhere, after 20 s each."""
    for peer in cluster.up(at):
        if peer is not sender:
            for tick in ticks_between(cluster.last_process(peer), at + 8 * SEC, until):
                many, waited = draw.whole(1, 5), min(draw.span(9_000, 19_800), tick - SEC - at)
                cluster.count(peer, tick - SEC, getbatch_n=many, getbatch_obj_n=many * 34, getbatch_obj_size=many << 19)
                cluster.count(peer, tick - SEC, getbatch_rxwait_ns=many * waited)
                cluster.count(peer, tick - SEC, err_soft_getbatch_n=draw.whole(0, 2))


def reads_on_time(cluster: ClusterRun, nodes: list[Node], at: int, until: int, draw: Draw) -> None:
    """Nodes that are well serve objects of some megabytes within fractions of a second."""
    for node in nodes:
        for tick in ticks_between(cluster.last_process(node), at, until):
            many = draw.whole(6, 40)
            spent, size = many * draw.span(18, 95), many * draw.whole(3, 5) << 20
            cluster.count(node, tick - SEC, get_n=many, get_ns_total=spent, get_size=size)


def reads_parts(cluster: ClusterRun, nodes: list[Node], at: int, until: int, draw: Draw) -> None:
    """Nodes whose network is fast serve parts of 32 MiB, each within a fraction of a second."""
    for node in nodes:
        for tick in ticks_between(cluster.last_process(node), at, until):
            many = draw.whole(24, 58)
            cluster.count(node, tick - SEC, get_n=many, get_ns_total=many * draw.span(60, 240), get_size=many << 25)


def sends_at(cluster: ClusterRun, node: Node, at: int, until: int, mb_s: int, draw: Draw) -> None:
    """A node sends so many megabytes a second, tick for tick the same, to the many that wait for parts of 32 MiB."""
    for tick in ticks_between(cluster.last_process(node), at, until):
        size = int(mb_s * 1e7 * draw.between(0.985, 0.999))
        many, spent = size >> 25, min(draw.span(40_000, 92_000), max(SEC, tick - SEC - at))
        cluster.count(node, tick - SEC, get_n=many, get_ns_total=many * spent, get_size=size)


def _memory_of(process: Process, draw: Draw) -> tuple[int, int]:
    """How much memory a node has and when it is low, in GiB: as it has said at its start, if that is kept."""
    for entry in process.entries:
        found = re.search(r"gmm\[\(used (\d+)GiB, free (\d+)GiB, buffcache (\d+)GiB.*low-wm (\d+)GiB", entry.text)
        if found:
            used, free, held, mark = map(int, found.groups())
            return used + free + held, mark
    return draw.whole(44, 49), 16


def lists_without_end(cluster: ClusterRun, proxy: Node, at: int, until: int, draw: Draw) -> None:
    """A proxy gathers the pages of listings of whole buckets in its memory, and is short of it in the end."""
    process = cluster.last_process(proxy)
    for tick in ticks_between(process, at, until):
        cluster.count(proxy, tick - SEC, lst_n=draw.whole(3, 9))
    low = until - draw.span(21_000, 29_000)
    total, mark = _memory_of(process, draw)
    free, held = draw.whole(2, 3), draw.whole(1, 3)
    state = f"(used {total - free - held}GiB, free {free}GiB, buffcache {held}GiB, actfree {free + held}GiB)"
    text = f"{proxy.node_id}.gmm[{state}, pressure 'high', (min-free 2GiB, low-wm {mark}GiB] alert: low memory"
    cluster.say(proxy, low, Say("W", "common:612", f"{proxy.name} {text}"))
    process.flag(low, BIT_LOW_MEMORY, True)
    for tick in ticks_between(process, low, until):
        state_alert(cluster, proxy, tick, "low-memory", draw)
        cluster.say(proxy, tick + draw.span(9, 15), Say("W", "memsys:517", "high memory pressure swap-crit: 1"))


def cloud_refused(cluster: ClusterRun, node: Node, at: int, name: str, error: str, status: int, tcode: str = "") -> int:
    """A cold read fails with what the cloud has said; when the line of the answer is written."""
    warning = f"Warning: failed to cold-GET(read) ais://{cluster.bucket}/{name} {error} {status}"
    then = cluster.say(node, at, Say("I", "tgtobj:905", warning))
    cluster.count(node, at, err_get_n=1)
    request = f"GET /v1/objects/{cluster.bucket}/{name}"
    return cluster.say(node, then + MS // 9, ev.http_error(node, error, request, TRACE, tcode))


def cloud_refuses_all(
    cluster: ClusterRun, since: int, until: int, of: Callable[[Draw], tuple[str, str]], status: int, draw: Draw
) -> None:
    """Whatever targets do not have is refused from a moment on: `of` draws a name and the error for it."""
    then = since + draw.span(10, 600)
    while then < until:
        name, error = of(draw)
        cloud_refused(cluster, draw.pick(cluster.targets), then, name, error, status)
        then += draw.span(700, 2_300)


def control_port_waits(cluster: ClusterRun, node: Node, at: int, until: int, draw: Draw) -> None:
    """The port for other nodes cannot accept either while there is no descriptor; it waits by its own count."""
    then, wait = at, 5
    while then < until:
        error = f"accept tcp [::]:{node.ports[1]}: accept4: too many open files"
        shown = f"{wait}ms" if wait < 1000 else "1s"
        cluster.say(
            node, then, Say("E", "htcommon:361", f"net/http err: http: Accept error: {error}; retrying in {shown}")
        )
        then += wait * MS + draw.span(0.1, 2.0)
        wait = min(1000, 2 * wait)


def stays_frozen(cluster: ClusterRun, node: Node, at: int) -> None:
    """All threads of a node wait in its kernel from a moment on: it says and counts nothing any more."""
    cluster.last_process(node).pauses.append((at, 1 << 62))


def upload_elsewhere(upload: str) -> str:
    """What a target answers for a part of an upload that another one has begun; over S3, it logs no such answer."""
    return f'upload "{upload}" not found List uploads in s3://checkpoints to see available upload IDs'
