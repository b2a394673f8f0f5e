"""Guilty storage of what operators do to members of a cluster: maintenance, a removal by hand, a target that is added.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.natives import dataset_refused, entry_failed, one_line
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.tries import again, client_told, other_targets
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aischurn, aisforemen, aislapses, aisobjects, aisoperations, chains, sdk
from fixtures.generator.chains import Failed
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirty_second")
ALSO = ("data_loading_stall", "infrastructure")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)
#: Noise of objects that are missing for reasons of their own.
MISSING = ("mountpath_before", "tenant_errors", "soft_errors")
BUSY = (*RESTARTS, "kalive_hiccup", "second_job")


@kind(reads=True, ais_order=450, targets=4, lead_s=64.0, without=BUSY)
def wrong_target_goes_into_maintenance_and_is_taken_back(stage: Stage) -> Scenario:
    """An operator takes one target for another and cancels it at once (aistore docs/lifecycle_node, cancel; rebalance).

    To convict: both tries of some ranks' batches end early, without an HTTP error, in the milliseconds in which all
    targets abort get-batch as a rebalance starts; the maps before these have `start-maintenance` and, some seconds
    later, once the first rebalance was stopped by a user, `stop-maintenance` of the same target. Nobody has died.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, proxy = stage.draw.child("maintenance"), stage.proxy_of(stage.culprit)
    client_told(stage, "get-batch: 48 entries, streaming, tries 2, the second one after 8 s")
    stage.open()

    def cut(who: int, asked: int, ended: int) -> Failed:
        designated, got = draw.pick(other_targets(stage, at)), draw.whole(3, 37)
        wid = cluster.wid(stage.proxy_of(who) if who != rank else proxy, draw)
        aisoperations.stream_cut(cluster, designated, ended, wid, got, ended - asked)
        return Failed(*sdk.short_batch(stage.job.job, stage.step, got, 48))

    begins = stage.mark(at - draw.span(1_100, 1_800), f"{victim.name} is put into maintenance")
    ends = begins + 2 * SEC + draw.span(11, 19)
    struck = sorted([rank, *readers(stage)[: draw.whole(0, 2)]])
    for turn, one in enumerate(struck):
        then = ends + turn * draw.span(1, 7)
        again(stage, then + 6 * MS, one, cut(one, at + draw.span(4, 90), then), 1, 2)
    number = aisforemen.maintenance(cluster, victim, begins, True, draw)
    cluster.start_batches(ends + draw.span(600, 900), draw.pick(other_targets(stage, at)))
    stopped = ends + draw.span(4_100, 5_600)
    aischurn.rebalance_aborted(cluster, begins, stopped, number, "user abort", draw)
    second = ends + draw.span(8_006, 8_014)
    back = stage.mark(second - draw.span(1_100, 1_600), f"{victim.name} is taken out of maintenance")
    over = back + 2 * SEC + draw.span(11, 19)
    for turn, one in enumerate(struck):
        then = over + turn * draw.span(1, 7)
        stage.job.raise_on(then + 7 * MS, one, cut(one, second + turn * MS, then).traceback)
    aisforemen.maintenance(cluster, victim, back, False, draw)
    cluster.start_batches(over + draw.span(700, 1_500), draw.pick(other_targets(stage, at)))
    stage.hang(at + 330 * MS, *struck)
    made = stage.expect("storage_io", also_ok=ALSO, culprit_ranks=tuple(struck), storage_verdict="guilty")
    return stage.close(
        "Two targets have names that differ in one letter.",
        (of_all(made),),
        ALIVE,
        until=over + seconds(60),
    )


@kind(reads=True, hangs=False, lead_s=66.0, without=(*BUSY, *MISSING))
def living_target_is_removed_from_the_map_by_hand(stage: Stage) -> Scenario:
    """An operator removes a target at once (aistore docs/cli/cluster, remove-from-smap: potential data loss).

    To convict: objects do not exist, as several targets say, which are all well, from the second on in which the
    primary gives out a map by `rm-unsafe`; the target that it lacks has ended nothing but its batches, by `rm-unsafe`
    too, and goes on writing its log. Once it was made to join again nobody misses anything.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("unsafe")
    told(stage, stage.job.begin - 420 * MS, 0, "dataset", f"AISIterDataset of ais://{stage.bucket}, 8 loaders a rank")
    stage.open()
    removed = stage.mark(at - draw.span(2_600, 5_900), f"{victim.name} is removed from the map by hand")
    aisforemen.removed_unsafely(cluster, victim, removed)
    for then, other in spread(stage, removed + 120 * MS, at - 60 * MS, (2, 5), draw):
        node, name = draw.pick(other_targets(stage, then)), f"noise/{utterance(draw).split('/', 1)[1]}"
        text = aisobjects.not_there(cluster, node, then - 4 * MS, name)
        why = one_line(stage, then, other, node, name, 404, text)
        told(stage, then, other, "noise", f"{name} left out: {why}", "WARNING")
    node, name = draw.pick(other_targets(stage, at)), utterance(draw)
    text = aisobjects.not_there(cluster, node, at - 4 * MS, name)
    dataset_refused(stage, at, rank, node, name, 404, text)
    leaves(stage, at + 6 * MS, rank)
    back = stage.mark(at + draw.span(21_000, 40_000), f"{victim.name} is made to join again")
    aisforemen.joined_by_hand(cluster, victim, back, draw)
    return stage.close(
        "It had been written down as dead in a ticket of the week before, and lived.",
        (stage.guilty("storage_io", victim, also=("data", *ALSO)),),
        until=back + seconds(40),
    )


@kind(reads=True, targets=4, ais_order=430, lead_s=72.0, without=(*BUSY, *MISSING))
def new_target_is_asked_for_what_was_never_moved_to_it(stage: Stage) -> Scenario:
    """A target is added while rebalance is switched off (aistore docs/rebalance, rebalance.enabled; docs/lifecycle).

    To convict: every entry that is said not to exist is so by one target, whoever puts the batch together. That one has
    `generated` its id as it joined, some seconds before the first of these errors, and no rebalance has followed its
    map; none of the older ones misses anything.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("added")
    client_told(stage, "AISBatchIterDataset(max_batch_size=36, streaming=False), skip_on_error for noise only")
    aislapses.not_yet_there(cluster, victim)
    stage.open()
    started = stage.mark(at - draw.span(9_000, 17_000), f"{victim.name} is added to the cluster")
    joined = aislapses.joins_empty(cluster, victim, started, draw)
    ready = joined + draw.span(2_600, 3_300)
    aislapses.takes_part(cluster, victim, ready)

    def missed(then: int, name: str, many: int) -> str:
        chains.missing_entry(stage, then, draw.pick(other_targets(stage, then)), victim, name, many)
        return sdk.missing_object(victim, stage.bucket, name)

    for then, other in spread(stage, ready + 200 * MS, at - 120 * MS, (3, 6), draw):
        name = f"noise/{utterance(draw).split('/', 1)[1]}"
        text = missed(then - 5 * MS, name, draw.whole(1, 3))
        told(stage, then, other, "batch_iter_dataset", f"Skipping {name}: {text}", "WARNING")
    name = utterance(draw)
    entry_failed(stage, at, rank, name, missed(at - 5 * MS, name, draw.whole(2, 7)))
    stage.hang(at + 320 * MS, rank)
    return stage.close(
        "Rebalance had been off since an incident in spring, and the new host was to have it on.",
        (of_all(stage.guilty("storage_io", victim, also=("data", *ALSO))),),
        ALIVE,
        until=at + seconds(70),
    )
