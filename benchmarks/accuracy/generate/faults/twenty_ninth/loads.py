"""Storage faults of the twenty-ninth part that the storage team or its neighbours bring about: tests, sorts, nets."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.natives import first_repeat, shard_of, unanswered_at
from benchmarks.accuracy.generate.faults.words.operators import body_reset
from benchmarks.accuracy.generate.faults.words.requests import (
    HANDLES,
    batch_unanswered,
    exhausted,
    object_path,
    one_object,
    retries,
)
from benchmarks.accuracy.generate.faults.words.subscribers import comes_to_an_end
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisdeeds, aisupkeep, chains, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "twenty_ninth")
WAITS = ("storage_io", "infrastructure", "network")


@kind(reads=True, min_timeout_s=60, lead_s=66.0, without=DISKS)
def load_test_of_the_storage_team_runs_by_day(stage: Stage) -> Scenario:
    """Somebody measures what the cluster can do, with jobs on it (aistore docs, aisloader; performance).

    To convict: the rank that all wait for has no answer in 20 s, from this or that target, as others; all disks of all
    targets have no time left since some seconds before, and PUTs by the thousand go to a bucket made in that moment.
    """
    cluster, rank, at, over = stage.cluster, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("load test")
    stage.open()
    began = stage.mark(at - draw.span(9_000, 16_000), "the storage team begins a load test")
    aisdeeds.load_tested(cluster, began, over + seconds(25), draw.child("load"))
    for other in readers(stage)[: draw.whole(3, 6)]:
        text = unanswered_at(stage, other, draw.pick(cluster.targets), shard_of(draw))
        first_repeat(stage, at + draw.span(100, 9_000) + seconds(20.02), other, draw, text)
    text = unanswered_at(stage, rank, draw.pick(cluster.targets), shard_of(draw))
    end = retries(stage, at, rank, draw, 20.02, text, over - SEC)
    if end < over - SEC:
        exhausted(stage, end, rank, text, "ConnectionError", one_object(stage))
    comes_to_an_end(stage, end if end < over - SEC else over)
    return stage.close(
        "It was to be over before the first job of the day, and had been begun late.",
        (of_all(stage.guilty("data_loading_stall", stage.victim, also=WAITS)),),
        until=over + seconds(15),
    )


@kind(reads=True, min_timeout_s=60, ais_order=410, lead_s=66.0, without=(*DISKS, "soft_errors"))
def shards_are_sorted_beside_the_batches(stage: Stage) -> Scenario:
    """Another team sorts a corpus into new shards by day, and get-batch gets its turn late (aistore docs, dsort).

    To convict: batches have no next entry in 20 s, whoever assembles them; all targets began to extract shards some
    seconds before, which they count, have disks without time since, and count how long they wait for each other.
    """
    cluster, rank, at, over = stage.cluster, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("sorted")
    stage.open()
    began = stage.mark(at - draw.span(8_000, 15_000), "another team begins to sort its shards anew")
    aisdeeds.sorts_shards(cluster, began, over + seconds(25), draw.child("sort"))
    nodes = cluster.up(at)
    for other in readers(stage)[: draw.whole(2, 5)]:
        then = at + draw.span(100, 9_000) + seconds(20.02)
        if then < over - SEC:
            chains.read_timed_out(stage, then, draw.pick(nodes), other, round(draw.between(1.0, 1.5), 2))
    then, tries = at + seconds(20.02), 0
    while then < over - SEC and tries < 6:
        wait = round(draw.between(1.0, min(30.0, 2.0**tries + 0.5)), 2)
        chains.read_timed_out(stage, then, draw.pick(nodes), rank, wait)
        then, tries = then + seconds(wait) + seconds(20.02), tries + 1
    if then < over - SEC:
        batch_unanswered(stage, then, rank, draw.pick(nodes))
    comes_to_an_end(stage, then if then < over - SEC else over)
    return stage.close(
        "The sort had always been run at night, and a new colleague did not know that.",
        (of_all(stage.guilty("data_loading_stall", stage.victim, also=WAITS)),),
        until=over + seconds(15),
    )


@kind(reads=True, hangs=False, min_timeout_s=90, targets=4, lead_s=110.0, without=(*RESTARTS, "kalive_hiccup"))
def network_plugin_is_rolled_from_host_to_host(stage: Stage) -> Scenario:
    """An update of the network plugin takes each storage host off for seconds, one after the other (calico; cilium).

    To convict: reads break off or find no connection at one target after the other, as the streams of its peers do for
    these seconds; each has its turn, none is restarted, and a rank's read is reset as the last one is back.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("rolled network")
    stage.open()
    order = draw.shuffled(list(cluster.up(at)))[:4]
    order.remove(stage.victim) if stage.victim in order else order.pop()
    first = stage.mark(at - draw.span(48_000, 56_000), "an update of the network plugin goes from host to host")
    back = at
    for turn, node in enumerate((*order, stage.victim)):
        then = at - 40 * MS if node is stage.victim else first + seconds(15.0 * turn) + draw.span(0, 900)
        (lost, *_) = aisupkeep.link_flaps(cluster, node, then, then + SEC, draw.child(node.node_id))
        back = lost[1]
        for other in readers(stage)[turn * 2 : turn * 2 + draw.whole(1, 2)]:
            cause = sdk.connect_timeout(node.address, draw.whole(*HANDLES))
            text = sdk.pool_error(node.address, node.ports[0], object_path(stage, other, shard_of(draw)), cause)
            wait = round(draw.between(1.0, 1.5), 2)
            said = sdk.retrying(wait, "ConnectTimeout", text)
            stage.job.sdk_warning(lost[0] + draw.span(3_050, 4_600), other, said)
    over = back + draw.span(5, 40)
    body_reset(stage, over, rank)
    leaves(stage, over + 6 * MS, rank)
    also = ("network", "infrastructure", "data_loading_stall")
    return stage.close(
        "The update was allowed one host at a time, and nobody had thought of what runs there.",
        (of_all(stage.guilty("storage_io", stage.victim, also=also)),),
        until=over + seconds(30),
    )
