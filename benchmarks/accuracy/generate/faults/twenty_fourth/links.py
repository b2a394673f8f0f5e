"""Storage faults of the twenty-fourth part of links: slow, announced wrongly, or to a target that stands still."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.consumers import (
    connection_of_mount,
    dataloader_rank_waits,
    shard_comes_slowly,
)
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.regulars import tar_of
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, exhausted, object_path, one_object, retries
from benchmarks.accuracy.generate.faults.words.servers import reads_parts, sends_at, stays_frozen
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aislapses as lapses
from fixtures.generator import aisupkeep as upkeep
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_fourth")
WAITS = ("storage_io", "infrastructure", "network")


@kind(reads=True, lead_s=60.0)
def link_of_a_target_came_up_at_a_gigabit(stage: Stage) -> Scenario:
    """A network card has negotiated a gigabit after a cable was touched, nothing else is said (ethtool, Speed).

    To convict: shards of one target come with less than a megabyte a second, and all others wait for a rank that reads
    one; that target counts the same bytes at every tick, and its reads last hundreds of times those of its neighbours.
    """
    cluster, victim, rank, at, over = stage.cluster, stage.victim, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("gigabit")
    stage.open()
    began = stage.mark(at - draw.span(16_000, 33_000), f"the link of {victim.name} comes up at 1 Gbit/s")
    sends_at(cluster, victim, began, over + seconds(20), draw.whole(114, 118), draw)
    reads_parts(cluster, [one for one in cluster.up(at) if one is not victim], began, over + seconds(20), draw)
    for other in readers(stage)[: draw.whole(1, 4)]:
        url = f"{victim.url(0)}/v1/objects/{stage.bucket}/{tar_of(draw)}"
        rate, size, part = draw.between(0.9, 2.4), draw.whole(300, 900), draw.whole(71, 97)
        shard_comes_slowly(stage, at - draw.span(300, 9_000), other, url, part, size, rate)
    url = f"{victim.url(0)}/v1/objects/{stage.bucket}/{tar_of(draw)}"
    size, got, then = draw.whole(900, 1_400), 0.0, at
    for _ in range(max(3, stage.job.job.timeout_s // 25)):
        rate, last = draw.between(0.31, 0.84), then
        then += draw.span(14_000, 21_000)
        if then > over - SEC:
            break
        got += rate * (then - last) / SEC
        shard_comes_slowly(stage, then, rank, url, int(got * 100 / size), size, rate)
    stage.hang(at + 320 * MS, rank)
    return stage.close(
        "The cable was in the way of another one, and was put back with a little less force.",
        (stage.guilty("data_loading_stall", victim, also=WAITS),),
    )


@kind(reads=True, hangs=False, min_timeout_s=120, uptime=True, lead_s=70.0, without=RESTARTS)
def new_target_announces_an_address_of_pods(stage: Stage) -> Scenario:
    """A target that was added announces an address that only pods reach (ais-k8s docs, external access; host network).

    To convict: whatever clients cannot connect to has one address, that of a target which has joined some seconds
    before and has announced it at its start; it is of another network than those of all other targets.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("new")
    lapses.not_yet_there(cluster, victim)
    stage.open()
    address = f"10.244.{draw.whole(3, 90)}.{draw.whole(4, 250)}"
    joined = stage.mark(at - draw.span(5_000, 13_000), f"{victim.name} is added with an address that only pods reach")
    lapses.joins_empty(cluster, victim, joined - seconds(1), draw)
    upkeep.announce(cluster, victim, address)
    port = victim.ports[0]

    def told(who: int) -> str:
        path = object_path(stage, who, utterance(draw))
        return sdk.pool_error(address, port, path, sdk.connect_timeout(address, draw.whole(*HANDLES)))

    for other in readers(stage)[: draw.whole(2, 5)]:
        then = at + draw.span(600, 24_000)
        said = sdk.retrying(round(draw.between(1.0, 1.5), 2), "ConnectTimeout", told(other))
        stage.job.sdk_warning(then, other, said)
    text = told(rank)
    over = retries(stage, at, rank, draw, 3.02, text, at + seconds(600), "ConnectTimeout")
    exhausted(stage, over, rank, text, "ConnectTimeout", one_object(stage))
    leaves(stage, over + 2 * MS, rank)
    return stage.close(
        "The others have the network of their hosts, by a patch that was never brought into the chart.",
        (stage.guilty("storage_io", victim, also=(*WAITS, "data_loading_stall")),),
        until=over + seconds(9),
    )


@kind(reads=True, min_timeout_s=180, lead_s=60.0, without=RESTARTS)
def mount_waits_for_a_target_that_froze(stage: Stage) -> Scenario:
    """All threads of a target wait in its kernel, a read below a mount never ends (linux, hung_task; mountpoint-s3).

    To convict: the kernel names a loader process of the silent rank's host that is blocked in a read below a mount; its
    connection is to one target; that target says nothing since the hang began and is removed for not answering.
    """
    cluster, victim, rank, at, over = stage.cluster, stage.victim, stage.culprit, stage.at, over_at(stage)
    draw, job = stage.draw.child("frozen"), stage.job.job
    stage.open()
    froze = stage.mark(at - draw.span(100, 1_900), f"{victim.name} stands still in its kernel")
    stays_frozen(cluster, victim, froze)
    faults.leave_smap(cluster, victim, froze, hung=True)
    pid = job.rank_pids[rank] + draw.whole(90, 160)
    for after in (122, 245):
        if at + seconds(after) < over:
            dataloader_rank_waits(stage, at + seconds(after) + draw.span(1, 900), rank, pid, after)
    then = at + draw.span(61_000, 75_000)
    while then < over - SEC:
        connection_of_mount(stage, then, rank, victim, draw.child("pid"))
        then += seconds(120)
    stage.hang(at + 320 * MS, rank)
    return stage.close(
        "A driver of its controller waited for an answer that the controller had lost.",
        (stage.guilty("data_loading_stall", victim, also=WAITS),),
    )
