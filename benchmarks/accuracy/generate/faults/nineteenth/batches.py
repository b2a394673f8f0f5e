"""Storage faults of the nineteenth part of batches and transformers: evicted, empty, or behind a closed port."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.clients import transformed
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.travellers import crawls_in_turns, late, sound_not_known
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisnights as nights
from fixtures.generator import aisservices as services
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "nineteenth")
ETL = "resample-16k"


@kind(reads=True, hangs=False, lead_s=60.0)
def transformers_are_evicted(stage: Stage) -> Scenario:
    """A kubelet evicts the transformer of a host for its disk, reads through it fail (kubernetes, eviction; docs/etl).

    To convict: the target that the SDK's error names could not reach the transformer beside it, and says that its pod
    was evicted; the same of every target a moment later, for the ETL is gone.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("evicted"), utterance(stage.draw.child("evicted name"))
    stage.open()
    began = stage.mark(at - draw.span(1_300, 3_900), f"the transformer of {victim.name} is evicted")
    address = nights.transformer_evicted(cluster, victim, at + draw.span(400, 900), ETL, draw)
    for other in readers(stage)[: draw.whole(1, 4)]:
        then, own = began + int((at - began) * draw.between(0.05, 0.95)), utterance(draw)
        text = nights.transformer_refuses(cluster, victim, then, own, address)
        stage.job.note(then + 5 * MS, other, f"{own} passed over, STATUS:400: {text}", "W", 83, "waves")
    for after in (1.2, 2.1, 3.9):
        node = draw.pick(cluster.targets)
        services.no_transformer(cluster, node, at + seconds(after) + draw.span(1, 300), utterance(draw), ETL)
    text = nights.transformer_refuses(cluster, victim, at - 5 * MS, name, address)
    stage.job.raise_on(at, rank, transformed(stage, at, rank, victim, name, (400, "Bad Request"), text))
    leaves(stage, at, rank)
    return stage.close(
        "It writes what it cannot resample to its own disk, and nobody had looked there.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "software", "infrastructure", "network")),),
    )


@kind(reads=True, hangs=False, ais_order=410, lead_s=60.0, without=(*RESTARTS, "kalive_hiccup", "soft_errors"))
def empty_entries_are_no_sounds(stage: Stage) -> Scenario:
    """A target is killed, streamed batches have empty entries for what it holds, soundfile knows none (docs/get_batch).

    To convict: from the moment that peers lose their streams from a target, whoever assembles counts soft errors of
    batches; entries of several ranks are empty then and never before, the one that is decoded among them.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("empty")
    stage.open()
    died = stage.mark(at - draw.span(1_900, 9_000), f"{victim.name} is killed")
    faults.kill(cluster, victim, died)
    faults.leave_smap(cluster, victim, died)
    faults.reconnects(cluster, victim, died, at + seconds(25), 2)

    def lacking(then: int, entries: int) -> Node:
        node = stage.other_target(victim, draw.whole(0, 50))
        cluster.count(node, then, getbatch_n=1, getbatch_obj_n=48 - entries, err_soft_getbatch_n=entries)
        cluster.count(node, then, getbatch_gfn_n=entries, err_gfn_getbatch_n=entries)
        return node

    for other in readers(stage)[: draw.whole(2, 5)]:
        then, entries = died + 200 * MS + int((at - died) * draw.between(0, 0.9)), draw.whole(1, 6)
        lacking(then, entries)
        said = f"{entries} of 48 entries are empty (Batch entry failed on the server), left out of the batch"
        stage.job.note(then + 4 * MS, other, said, "W", 61, "entries")
    lacking(at - 9 * MS, draw.whole(1, 5))
    sound_not_known(stage, at, rank, utterance(draw))
    leaves(stage, at, rank)
    return stage.close(
        "An old branch of the loader decodes what it gets, and does not look at how much that is.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "software")),),
    )


@kind(reads=True, hangs=False, ais_order=430, slurm=True, lead_s=75.0, without=(*RESTARTS, "kalive_hiccup"))
def data_port_of_a_target_is_closed(stage: Stage) -> Scenario:
    """A new policy closes a target's port for data, neighbours rescue its batches (aistore docs/get_batch, GFN).

    To convict: steps got slow as the streams of all peers to one target began to time out; that target alone gets
    entries from neighbours since, batches of twenty seconds and more, while nobody is removed.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("port")
    stage.open()
    began = stage.mark(at - draw.span(500, 4_000), f"the port for data of {victim.name} is closed")
    over, whose = crawls_in_turns(stage, draw.whole(6, 9), (18.0, 24.0))
    nights.data_port_closed(cluster, victim, began, over + seconds(15), draw)
    then = at + draw.span(20_500, 27_000)
    while then < over:
        said = f"batch of 36 from {victim.url(0)} took {late(draw, (20.1, 23), began, then)}"
        stage.job.note(then, whose(then), said, "W", 99, "entries")
        then += draw.span(19_000, 41_000)
    cancelled_by_hand(stage, over + draw.span(900, 7_000) + SEC)
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure"))
    made = replace(made, culprit_ranks=None)
    return stage.close("The policy lists ports, and this host has one more than the others.", (made,))
