"""Storage faults of the twenty-ninth part below readers of the SDK: ranges, fsspec, new drives, a host that is slow."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.guests import killed_for_a_while, leaves
from benchmarks.accuracy.generate.faults.words.natives import (
    first_repeat,
    one_line,
    refused_at,
    shard_of,
    unanswered_at,
)
from benchmarks.accuracy.generate.faults.words.operators import fsspec_refused, ranges_cut, troubled
from benchmarks.accuracy.generate.faults.words.requests import exhausted, one_object, retries
from benchmarks.accuracy.generate.faults.words.subscribers import comes_to_an_end, spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisdeeds, aisdisk, aisobjects, aisquiet, aisshifts
from fixtures.generator import aisfaults as faults
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_ninth")
ALSO = ("data_loading_stall", "infrastructure", "network")


@kind(reads=True, hangs=False, lead_s=66.0, without=RESTARTS)
def parallel_ranges_break_off_with_a_killed_target(stage: Stage) -> Scenario:
    """A reader fetches a large object by sixteen ranges, whose target is killed for its memory (SDK, num_workers; k8s).

    To convict: one range ends before its end, nobody is named; in that moment the peers of one target lose their
    streams, its log ends after words of too little memory, and other ranks are refused by it until it is back.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("ranges")
    stage.open()
    died = at + draw.span(400, 1_900)
    stage.mark(died - draw.span(42_000, 47_000), f"{victim.name} runs out of memory")
    aisdisk.memory_pressure(cluster, victim, died - draw.span(36_000, 40_000), died, "high", draw)
    aisquiet.too_much_memory(cluster, victim, died - draw.span(21_000, 24_000), draw)
    stage.mark(died, f"{victim.name} is killed for its memory")
    killed_for_a_while(stage, died, (8_000, 12_000))
    size = draw.whole(9, 60) * 134_217_728
    told(stage, at, rank, "videos", f"reading ais://{stage.bucket}/{shard_of(draw)}, {size} bytes in 16 ranges")
    over = died + draw.span(6, 40)
    for then, other in spread(stage, died + 50 * MS, over + 600 * MS, (2, 5), draw):
        first_repeat(stage, then, other, draw, refused_at(stage, other, victim, draw, shard_of(draw)))
    got = draw.whole(10, 900) * 131_072
    ranges_cut(stage, over, rank, got, max(131_072, size // 16 - got))
    leaves(stage, over + 8 * MS, rank)
    return stage.close(
        "Sixteen ranges of many ranks asked for more buffers than its container was given.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        until=over + seconds(60),
    )


@kind(reads=True, hangs=False, lead_s=64.0, without=(*RESTARTS, "tenant_errors"))
def pod_evicted_for_its_logs_is_missed_by_fsspec(stage: Stage) -> Scenario:
    """The kubelet evicts a target whose host has no room for logs, and its objects are nowhere (kubernetes; fsspec).

    To convict: files are not found, at targets of any kind, that were read before; one target has left the map on a
    signal some seconds earlier and does not come back, and the first file that was missed came after that.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("evicted")
    stage.open()
    gone = stage.mark(at - draw.span(2_500, 7_000), f"the kubelet evicts {victim.name} for the room its logs take")
    faults.terminate(cluster, victim, gone)
    peers = [one for one in cluster.targets if one is not victim]
    for then, other in spread(stage, gone + 300 * MS, at - 60 * MS, (2, 6), draw):
        node, missed = draw.pick(peers), utterance(draw)
        why = one_line(
            stage, then, other, node, missed, 404, aisobjects.not_there(cluster, node, then - 4 * MS, missed)
        )
        told(stage, then, other, "fs", f"ais://{stage.bucket}/{missed} left out: {why}", "WARNING")
    node, name = draw.pick(peers), utterance(draw)
    text = aisobjects.not_there(cluster, node, at - 4 * MS, name)
    fsspec_refused(stage, at, rank, node, name, text)
    leaves(stage, at + 6 * MS, rank)
    return stage.close(
        "A neighbour on that host had filled its system disk with traces.",
        (stage.guilty("storage_io", victim, also=("data", *ALSO)),),
        until=at + seconds(40),
    )


def _waits_for_one(stage: Stage, victim: Node, draw: Draw, many: tuple[int, int]) -> None:
    """The culprit, and others for once, have no answer from one target in 20 s; until client or job have enough."""
    rank, at, over = stage.culprit, stage.at, over_at(stage)
    for other in readers(stage)[: draw.whole(*many)]:
        text = unanswered_at(stage, other, victim, shard_of(draw))
        first_repeat(stage, at + draw.span(100, 12_000) + seconds(20.02), other, draw, text)
    text = unanswered_at(stage, rank, victim, shard_of(draw))
    end = retries(stage, at, rank, draw, 20.02, text, over - SEC)
    if end < over - SEC:
        exhausted(stage, end, rank, text, "ConnectionError", one_object(stage))
    comes_to_an_end(stage, end if end < over - SEC else over)


@kind(reads=True, min_timeout_s=60, uptime=True, lead_s=72.0, without=(*DISKS, *RESTARTS))
def new_drives_of_a_target_fill_from_the_cloud(stage: Stage) -> Scenario:
    """A target has got new drives, all it is asked for comes from far away, and nothing is an error (docs, cold GET).

    To convict: reads have no answer in 20 s from one target only; it counts reads from the store behind that take half
    a minute each, which no other counts, and theirs take some milliseconds.
    """
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw = stage.draw.child("new drives")
    stage.open()
    troubled(stage, draw.child("troubled"))
    began = stage.mark(at - draw.span(11_000, 19_000), f"the job comes to what {victim.name} has lost with its drives")
    aisdeeds.reads_all_cold(cluster, victim, began, over + seconds(10), (24_000, 66_000), draw.child("cold"))
    well = [node for node in cluster.up(at) if node is not victim]
    aisshifts.serves_as_ever(cluster, well, began, over + seconds(20), (190_000, 380_000), draw.child("well"))
    _waits_for_one(stage, victim, draw, (2, 4))
    return stage.close(
        "The repair was logged as done: its bucket can be fetched again, after all.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure", "network")),),
        until=over + seconds(15),
    )


@kind(reads=True, min_timeout_s=60, lead_s=66.0, without=(*DISKS, *RESTARTS))
def host_of_a_target_is_clocked_down_on_one_power_supply(stage: Stage) -> Scenario:
    """A host has lost a power supply and holds its processors to a fraction of their speed (Dell, Supermicro: capping).

    To convict: reads have no answer in 20 s from one target only; its load is many times its processors since some
    seconds before, its reads take half a minute, its disks have nothing to do, and all others are as ever.
    """
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw = stage.draw.child("clocked down")
    stage.open()
    troubled(stage, draw.child("troubled"))
    began = stage.mark(at - draw.span(10_000, 16_000), f"the host of {victim.name} loses a power supply")
    aisdeeds.clocked_down(cluster, victim, began, over + seconds(20), draw.child("slow"))
    aisshifts.answers_keepalive_late(cluster, victim, began, over + seconds(10), draw.child("late"))
    well = [node for node in cluster.up(at) if node is not victim]
    aisshifts.serves_as_ever(cluster, well, began, over + seconds(20), (180, 900), draw.child("well"))
    _waits_for_one(stage, victim, draw, (1, 4))
    return stage.close(
        "A fuse of its rack had blown, and the message of its controller went to an address of nobody.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure", "network")),),
        until=over + seconds(15),
    )
