"""Storage faults of the twenty-first part of ways to AIStore: a slow port, a filter, a balancer without members."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.regulars import (
    asks_in_vain,
    head_unavailable,
    mds_of,
    sockets_of,
    tar_of,
)
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, exhausted, object_path
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aistickets as tickets
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_first")
STILL = (*RESTARTS, "kalive_hiccup")
NO_SERVER = "503 Service Unavailable: No server is available to handle this request."


@kind(reads=True, min_timeout_s=60, lead_s=95.0, without=STILL)
def port_of_a_target_runs_at_a_gigabit(stage: Stage) -> Scenario:
    """A port comes up a hundred times slower than it should (ethtool, autonegotiation; ceph-users, one slow OSD host).

    To convict: ranks tell how fast each of their shards comes and from whom: one target gives a share of what a link of
    a gigabit can, all others a hundred times that; its reads take half a minute and more, its disks have little to do.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over, own = stage.draw.child("gigabit"), over_at(stage), stage.job.job
    stage.open()
    slow = stage.mark(at - draw.span(39_000, 56_000), f"the port of {victim.name} is up again, with a gigabit")
    tickets.slow_link(cluster, victim, slow, over, (5.4, 9.8), draw)
    well = [node for node in cluster.targets if node is not victim]
    tickets.shards_served(cluster, well, stage.job.begin, over, draw)
    tickets.shards_served(cluster, [victim], stage.job.begin, slow, draw)
    for other in [rank, *readers(stage)[:3]]:
        then = stage.job.begin + draw.span(6_000, 14_000)
        while then < at + seconds(min(50, own.timeout_s * 0.6)):
            late = then > slow + seconds(34) and draw.chance(0.4)
            if other == rank and then > at:
                break
            node = victim if late else draw.pick(well if then > slow else cluster.targets)
            rate = draw.between(5.4, 9.8) if late else draw.between(610, 1_140)
            said = f"{tar_of(draw)}: {rate:.1f} MB/s from {node.endpoint(0)}"
            reader_note(stage, then, other, said)
            then += draw.span(9_000, 21_000)
    url = f"{stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{tar_of(draw)}"
    sockets_of(stage, min(draw.between(28, 44), own.timeout_s - 12), victim, url, draw)
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "A cable was moved to tidy the rack, and does not quite sit.",
        (stage.guilty("data_loading_stall", victim, also=("network", "storage_io", "infrastructure")),),
    )


@kind(reads=True, hangs=False, hosts=2, targets=3, min_timeout_s=60, lead_s=65.0, without=(*STILL, "second_job"))
def filter_of_a_target_drops_all_clients(stage: Stage) -> Scenario:
    """A host of storage gets rules that drop what comes to the public port (firewalld; calico, host endpoints).

    To convict: ranks of all hosts get no connection to one target, for which they try long, and none has trouble with
    another; nobody in the cluster misses it, for its other ports are open.
    """
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw, own = stage.draw.child("filter"), stage.job.job
    stage.open()
    stage.mark(at - draw.span(100, 900), f"rules on the host of {victim.name} drop connections to its public port")

    def no_answer(who: int) -> str:
        cause = sdk.connect_timeout(victim.address, draw.whole(*HANDLES))
        return sdk.pool_error(victim.address, victim.ports[0], object_path(stage, who, utterance(draw)), cause)

    first = [
        ranks[0] for host in range(len(own.hosts)) if (ranks := [one for one in own.ranks_of(host) if one != rank])
    ]
    others = sorted({*first, *readers(stage)[: draw.whole(1, 4)]})
    waits = (1.21, 1.83, 2.9, 3.4, 4.2, 5.1)
    then, text, over = at + seconds(3.05), no_answer(rank), at + seconds(3.05 + sum(waits) + 6 * 3.02)
    for other in others:
        asks_in_vain(stage, then + draw.span(900, 7_000), over, other, "ConnectTimeout", 3_005, no_answer(other), draw)
    for wait in waits:
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectTimeout", text))
        then += seconds(wait + 3.02)
    exhausted(stage, then, rank, text, "ConnectTimeout", (_read(stage),))
    leaves(stage, then, rank)
    return stage.close(
        "A template of rules for new hosts was applied to an old one, whose ports are others.",
        (stage.guilty("storage_io", victim, also=("network", "data_loading_stall", "infrastructure")),),
    )


def _read(stage: Stage) -> sdk.Frame:
    """The line of the script that reads a sample."""
    return sdk.Frame(stage.job.job.script, 71, "fetch", "audio = self.bucket.object(key).get_reader().read_all()", True)


@kind(reads=True, hangs=False, lead_s=60.0, may_be_undetermined=True)
def balancer_has_lost_all_its_members(stage: Stage) -> Scenario:
    """The balancer before the proxies finds none of them well, Streaming is told 503 (haproxy docs, NOSRV; Streaming).

    To convict: all ranks read by one name of the storage; it answers itself that no server is available, to all hosts,
    while a rank that asks a proxy without it is answered, and AIStore has nothing to say.
    """
    rank, at = stage.culprit, stage.at
    draw, proxy = stage.draw.child("balancer"), stage.proxy_of(stage.culprit)
    host = f"s3.ais-{stage.draw.child('site').pick(('east', 'west', 'lab', 'prod'))}.corp.example.net"
    stage.open()
    reader_note(
        stage, stage.job.begin + 80 * MS, 0, f"streaming: remote=s3://{stage.bucket}/mds endpoint=http://{host}"
    )
    lost = stage.mark(at - draw.span(6_000, 15_000), f"{host} takes all proxies out of service")
    for turn, other in enumerate(readers(stage)[: draw.whole(3, 6)]):
        then = lost + int((at - lost) * (0.2 + 0.12 * turn))
        said = f"{mds_of(draw)} later: GET http://{host}/{stage.bucket} -> {NO_SERVER} (server: haproxy)"
        stage.job.note(then, other, said, "W", 77, "stream")
    head_unavailable(stage, at, rank)
    probed = f"endpoint check: http://{host}/s3 -> 503 (haproxy), {proxy.url(0)}/v1/health -> 200"
    stage.job.note(at + 350 * MS, rank, probed, "E", 80, "stream")
    leaves(stage, at + SEC, rank)
    return stage.close(
        "Its check asks for a page that proxies do not have since the last change of its configuration.",
        (of_all(stage.guilty("storage_io", proxy, also=("network", "infrastructure", "data_loading_stall"))),),
    )
