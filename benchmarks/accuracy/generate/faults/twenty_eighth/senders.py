"""Storage faults of the twenty-eighth part of targets that send: descriptors, a dark network, cold entries, a disk."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.doorways import assembly_failed
from benchmarks.accuracy.generate.faults.words.fetchers import tar_stream_timed_out
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.natives import (
    FALLING,
    entry_failed,
    falls_back,
    one_by_one_failed,
    one_line,
    unanswered_at,
)
from benchmarks.accuracy.generate.faults.words.requests import batch_unanswered, retries
from benchmarks.accuracy.generate.faults.words.servers import entries_are_late, stays_frozen
from benchmarks.accuracy.generate.faults.words.subscribers import comes_to_an_end, spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aislosses, aisnatives, aisobjects, aisquiet, chains
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_eighth")
WAITS = ("storage_io", "infrastructure", "network")


def _peers(stage: Stage) -> list[Node]:
    return [one for one in stage.cluster.up(stage.at) if one is not stage.victim]


def _asks_of_all(stage: Stage, draw: Draw, nodes: list[Node], over: int) -> int:
    """The culprit asks for its batch again and again, each time another target assembles it; others do so once.

    When it has had enough, or when the job is over.
    """
    for other in readers(stage)[: draw.whole(1, 4)]:
        then = stage.at + draw.span(100, 9_000) + seconds(20.02)
        if then < over - SEC:
            chains.read_timed_out(stage, then, draw.pick(nodes), other, round(draw.between(1.0, 1.5), 2))
    then = stage.at + seconds(20.02)
    for attempt in range(6):
        if then >= over - SEC:
            return over
        wait = round(draw.between(1.0, min(30.0, 2.0**attempt + 0.5)), 2)
        chains.read_timed_out(stage, then, draw.pick(nodes), stage.culprit, wait)
        then += seconds(wait) + seconds(20.02)
    if then >= over - SEC:
        return over
    batch_unanswered(stage, then, stage.culprit, draw.pick(nodes))
    return then


@kind(reads=True, hangs=False, lead_s=64.0, without=("soft_errors",))
def sender_without_descriptors_spoils_batches(stage: Stage) -> Scenario:
    """A target has as many files open as it may and cannot open what it is to send (aistore docs, ulimit; EMFILE).

    To convict: what cannot be opened lies on one target each time, whoever assembles the batch, as the messages of
    entries say; that target prints once a second that it cannot accept either.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, peers = stage.draw.child("no descriptors"), _peers(stage)
    stage.open()
    began = stage.mark(at - draw.span(7_000, 14_000), f"{victim.name} has no descriptors left")
    aisobjects.no_descriptors(cluster, victim, began, at + seconds(20), draw)

    def fails(then: int) -> tuple[str, str, Node]:
        designated, name = draw.pick(peers), utterance(draw)
        where = f"{draw.pick(victim.mountpaths)}/@ais/{stage.bucket}/%ob/{name}"
        why = f"open {where}: too many open files"
        aisnatives.not_received(cluster, designated, victim, then, name, why)
        return name, f"{victim.name}: {why}", designated

    for then, other in spread(stage, began, at - 300 * MS, (2, 5), draw):
        name, why, designated = fails(then)
        told(stage, then + 9 * MS, other, "samples", f"Skipping {name} of {designated.url(0)}: {why}", "WARNING")
    name, why, _ = fails(at - 9 * MS)
    entry_failed(stage, at, rank, name, why)
    leaves(stage, at + 6 * MS, rank)
    return stage.close(
        "Its container was started by hand after a repair, without the limits of the others.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "infrastructure")),),
        until=at + seconds(20),
    )


@kind(reads=True, min_timeout_s=60, ais_order=410, lead_s=66.0, without=RESTARTS)
def sender_with_a_dark_data_network_is_waited_for(stage: Stage) -> Scenario:
    """What a target sends to its peers does not leave its host; clients reach it as ever (calico, egress policies).

    To convict: batches time out at many targets, which count how long they wait for others; one target counts no such
    wait and prints that it cannot dial any of its peers, from just before to the end.
    """
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw = stage.draw.child("dark")
    stage.open()
    began = stage.mark(at - draw.span(2_000, 6_500), f"the data network of {victim.name} is dark")
    aisnatives.sends_nothing(cluster, victim, began, over + seconds(25), draw.child("nothing"))
    comes_to_an_end(stage, _asks_of_all(stage, draw, _peers(stage), over))
    return stage.close(
        "A policy that was to close one port closed every one above it.",
        (stage.guilty("data_loading_stall", victim, also=WAITS),),
        until=over + seconds(15),
    )


@kind(reads=True, min_timeout_s=90, lead_s=66.0, without=("loader_fallbacks",))
def throttled_bucket_behind_holds_up_every_batch(stage: Stage) -> Scenario:
    """Entries that no target holds yet come from a bucket that asks to slow down (aws docs; aistore docs, rate limits).

    To convict: a stream gave nothing for 20 s, and then the object alone neither, from another target; all targets
    count that they were told to slow down and asked again, and reads from behind that take half a minute.
    """
    cluster, rank, at, over = stage.cluster, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("throttled behind")
    stage.open()
    began = stage.mark(at - draw.span(8_000, 15_000), "the store behind asks to slow down")
    aisquiet.held_back(cluster, began, over + seconds(10), draw.child("held back"))
    aisobjects.cold_gets(cluster, began, over - seconds(10), 2.2, 23_000, 58_000, draw.child("cold"))
    designated, name, index = draw.pick(cluster.targets), utterance(draw), draw.whole(1, 30)
    late = f"HTTPConnectionPool(host='{designated.address}', port={designated.ports[0]}): Read timed out."
    first = at + seconds(20.02)
    stage.job.sdk_warning(first, rank, f"Timeout while fetching batch result at index {index}: {late} {FALLING}.")
    owner = draw.pick(cluster.targets)
    then = retries(stage, first, rank, draw, 20.02, unanswered_at(stage, rank, owner, name), over - SEC)
    for other in readers(stage)[: draw.whole(2, 4)]:
        node, when = draw.pick(cluster.targets), at + draw.span(300, 14_000) + seconds(20.02)
        slow = f"HTTPConnectionPool(host='{node.address}', port={node.ports[0]}): Read timed out."
        said = f"Timeout while fetching batch result at index {draw.whole(1, 30)}: {slow} {FALLING}."
        stage.job.sdk_warning(min(when, over - SEC), other, said)
    if then < over - SEC:
        stage.job.sdk_warning(then, rank, "All retries exhausted; request failed", "ERROR")
        one_by_one_failed(stage, then + MS, rank, name, unanswered_at(stage, rank, owner, name), sequential=False)
    comes_to_an_end(stage, then if then < over - SEC else over)
    return stage.close(
        "A hundred jobs of the company read one bucket, and this one came last.",
        (of_all(stage.guilty("data_loading_stall", stage.victim, also=WAITS)),),
    )


@kind(reads=True, hangs=False, min_timeout_s=60, ais_order=410, lead_s=70.0, without=DISKS)
def worn_disk_of_a_sender_outlasts_the_streams(stage: Stage) -> Scenario:
    """One disk rereads what it can hardly read, and every batch has an entry on it (aistore docs, rxwait; smartctl).

    To convict: the target whose stream timed out is well, as are the others whose streams do: all wait for entries of
    one that does not wait for anybody, and has a disk with no time left that moves next to nothing.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, peers = stage.draw.child("worn"), _peers(stage)
    stage.open()
    over = at + seconds(20.02) + draw.span(3, 400)
    began = stage.mark(at - draw.span(16_000, 27_000), f"a disk of {victim.name} is worn")
    aislosses.lone_disk_slows(cluster, victim, began, over + seconds(30), draw, "which")
    entries_are_late(cluster, victim, began, over + seconds(25), draw.child("late"))
    designated = draw.pick(peers)
    for other in readers(stage)[: draw.whole(1, 4)]:
        chains.read_timed_out(
            stage, over - draw.span(200, 11_000), draw.pick(peers), other, round(draw.between(1, 1.5), 2)
        )
    wid = cluster.wid(stage.proxy_of(rank), draw)
    aisquiet.client_gave_up(cluster, designated, over + draw.span(90, 700), wid, stage.client(rank), draw.whole(3, 25))
    tar_stream_timed_out(stage, over, rank, designated)
    leaves(stage, over + 6 * MS, rank)
    return stage.close(
        "It had been on the list of drives to be replaced since the spring.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure")),),
        until=over + seconds(30),
    )


@kind(reads=True, hangs=False, min_timeout_s=90, ais_order=460, lead_s=66.0, without=(*RESTARTS, "kalive_hiccup"))
def batch_ends_as_a_hung_sender_is_removed(stage: Stage) -> Scenario:
    """A target hangs in its kernel; batches wait for it until it is removed, and end with that (aistore, get-batch).

    To convict: the batch is given up by a target that has seen the map change, and what was on another one is then not
    there: the map changed because that one no longer answered the primary; its log stops just before the rank waits.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("hung sender")
    stage.open()
    hung = stage.mark(at - draw.span(150, 900), f"{victim.name} hangs in its kernel")
    stays_frozen(cluster, victim, hung)
    designated = draw.pick(_peers(stage))
    told(stage, at - draw.span(900, 1_900), rank, "batches", "read timeout of the client is 300 s")
    waited = draw.span(31_000, 34_000)
    aisnatives.acks_missing(cluster, designated, at + 4 * MS + waited, waited)
    left = faults.leave_smap(cluster, victim, hung, hung=True)
    over, wid = left + draw.span(300, 1_500), cluster.wid(stage.proxy_of(rank), draw)
    text = aisnatives.members_changed(cluster, left)
    aisnatives.batch_given_up(cluster, designated, over - 5 * MS, wid, text, over - at)
    one_error, raised = assembly_failed(stage, rank, designated, wid, text)
    if draw.chance(0.5):
        falls_back(stage, over, rank, one_error)
        over, name, node = over + draw.span(300, 2_600), utterance(draw), draw.pick(_peers(stage))
        why = one_line(stage, over, rank, node, name, 404, aisobjects.not_there(cluster, node, over - 4 * MS, name))
        one_by_one_failed(stage, over, rank, name, why, sequential=True)
    else:
        stage.job.raise_on(over, rank, raised)
    leaves(stage, over + 6 * MS, rank)
    return stage.close(
        "Its file system waited for a controller that had stopped to answer.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "infrastructure", "network")),),
        until=over + seconds(30),
    )
