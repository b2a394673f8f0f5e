"""Storage faults of the twenty-eighth part between an object and what a client is sent of it: members, transformers."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import TRIES_S
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.natives import (
    archived,
    dataset_refused,
    first_repeat,
    member_given_up,
    one_line,
    refused_at,
    shard_of,
    unanswered_at,
)
from benchmarks.accuracy.generate.faults.words.requests import exhausted, object_path, one_object, retries
from benchmarks.accuracy.generate.faults.words.subscribers import comes_to_an_end, spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisnatives, aisservices, aistroubles, sdk
from fixtures.generator.draw import LOWER, Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_eighth")
ALSO = ("data_loading_stall", "infrastructure")


def _etl(draw: Draw) -> str:
    return f"{draw.pick(('resample-16k', 'logmel-80', 'trim-silence', 'opus-to-wav'))}-{draw.token(3, LOWER)}"


@kind(reads=True, hangs=False, min_timeout_s=120, lead_s=100.0, without=DISKS)
def member_of_a_shard_lies_on_a_bad_sector(stage: Stage) -> Scenario:
    """A member of a shard cannot be read from its disk, and the SDK repeats that without a word (smartctl; SDK, 500).

    To convict: the client was answered 500 for a minute and a half; each time the same target had an error of input
    below the shard, on the disk on which shards lie whose members other ranks had to leave out.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("bad sector")
    stage.open()
    stage.mark(at - seconds(88), f"a disk of {victim.name} has sectors that cannot be read")

    def asks(since: int, name: str) -> int:
        for after in TRIES_S:
            aistroubles.not_readable(cluster, victim, since + seconds(after) - 3 * MS, name, False)
        return since + seconds(TRIES_S[-1]) + draw.span(3, 30)

    for other in readers(stage)[: draw.whole(1, 3)]:
        name, tail = shard_of(draw), archived("", draw)
        told_at = asks(at - draw.span(30_000, 85_000), name)
        path = object_path(stage, other, name) + tail
        why = sdk.pool_error(victim.address, victim.ports[0], path, sdk.too_many(500))
        told(stage, told_at, other, "members", f"left out: {why}", "WARNING")
    name, tail = shard_of(draw), archived("", draw)
    over = asks(at, name)
    member_given_up(stage, over, rank, victim, name, tail, 500)
    leaves(stage, over + 6 * MS, rank)
    return stage.close(
        "The disk remaps sectors when they are written, and shards are never written again.",
        (stage.guilty("storage_io", victim, also=("data", *ALSO)),),
        until=over + seconds(20),
    )


@kind(reads=True, hangs=False, lead_s=64.0, without=RESTARTS)
def etl_of_a_data_set_ends_with_one_pod(stage: Stage) -> Scenario:
    """One transformer of many is killed for its memory, and the ETL is no more anywhere (aistore docs, etl; OOMKilled).

    To convict: a target knows no such ETL, the rank is told, and so are others by all targets; in the second before the
    first of them, one target had aborted it because its pod was OOMKilled, and had lost an object in its midst.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("one pod")
    etl = _etl(draw)
    tail, pod = f"&etl_name={etl}", f"10.233.{draw.whole(64, 120)}.{draw.whole(2, 250)}:8000"
    told(stage, stage.job.begin - SEC, 0, "dataset", f"AISIterDataset of ais://{stage.bucket} through ETL {etl}")
    stage.open()
    died = stage.mark(at - draw.span(1_500, 4_500), f"the pod of {etl} beside {victim.name} is killed for its memory")
    aisservices.transformer_ends(cluster, victim, died, etl, draw)
    (first, *others) = [*spread(stage, died + 300 * MS, at - 50 * MS, (3, 6), draw)] or [(died, rank)]
    lost = utterance(draw)
    text = aisservices.transform_failed(cluster, victim, died + 2 * MS, lost, pod)
    why = one_line(stage, died + 8 * MS, first[1], victim, lost, 400, text, tail)
    told(stage, died + 8 * MS, first[1], "dataset", f"{lost} left out: {why}", "WARNING")
    for then, other in others:
        node, name = draw.pick(cluster.targets), utterance(draw)
        text = aisservices.no_transformer(cluster, node, then - 4 * MS, name, etl)
        why = one_line(stage, then, other, node, name, 404, text, tail)
        told(stage, then, other, "dataset", f"{name} left out: {why}", "WARNING")
    node, name = stage.other_target(victim, draw.whole(0, 40)), utterance(draw)
    text = aisservices.no_transformer(cluster, node, at - 4 * MS, name, etl)
    dataset_refused(stage, at, rank, node, name, 404, text, tail=tail)
    leaves(stage, at + 6 * MS, rank)
    return stage.close(
        "One recording was nine hours long, and the transformer held all of it.",
        (stage.guilty("storage_io", victim, also=("software", *ALSO)),),
        until=at + seconds(30),
    )


@kind(reads=True, min_timeout_s=60, lead_s=66.0, without=RESTARTS)
def etl_pod_of_one_target_is_held_to_a_share(stage: Stage) -> Scenario:
    """The transformer beside one target has used up its share of processor time (Kubernetes, CPU limits; aistore, etl).

    To convict: what the rank that all wait for asks through an ETL has no answer from one target, nor have others from
    it; it counts half a minute and more for each transform, all other targets some hundred milliseconds.
    """
    cluster, victim, rank, at, over = stage.cluster, stage.victim, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("held")
    etl = _etl(draw)
    tail, since = f"&etl_name={etl}", stage.job.begin + SEC
    told(stage, stage.job.begin - SEC, 0, "dataset", f"AISIterDataset of ais://{stage.bucket} through ETL {etl}")
    stage.open()
    began = stage.mark(at - draw.span(3_000, 9_000), f"the pod of {etl} beside {victim.name} is throttled")
    for node in cluster.targets:
        own, until = draw.child(node.node_id), began if node is victim else over + seconds(20)
        aisnatives.transforms_at(cluster, node, since, until, (90, 420), (500, 2_100), own)
    aisnatives.transforms_at(
        cluster, victim, began, over + seconds(20), (29_000, 64_000), (4_000, 13_000), draw.child("slow")
    )
    for other in readers(stage)[: draw.whole(1, 4)]:
        text = unanswered_at(stage, other, victim, utterance(draw), tail)
        first_repeat(stage, at + draw.span(100, 9_000) + seconds(20.02), other, draw, text)
    text = unanswered_at(stage, rank, victim, utterance(draw), tail)
    end = retries(stage, at, rank, draw, 20.02, text, over - SEC)
    if end < over - SEC:
        exhausted(stage, end, rank, text, "ConnectionError", one_object(stage))
    comes_to_an_end(stage, end if end < over - SEC else over)
    return stage.close(
        "Its host has older processors, and the limit was the same for all.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure")),),
    )


@kind(reads=True, hangs=False, min_timeout_s=120, lead_s=66.0, without=(*RESTARTS, "kalive_hiccup"))
def etl_is_aborted_since_targets_have_changed(stage: Stage) -> Scenario:
    """A target is lost, and with the new map every other one stops its transformer (aistore, etl aborter).

    To convict: a target knows no such ETL, the rank is told; all targets had aborted it when the map changed, because
    one was removed that no one could reach: the one that refused the rank's first tries, whose log had just ended.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("changed")
    etl = _etl(draw)
    tail = f"&etl_name={etl}"
    told(stage, stage.job.begin - SEC, 0, "dataset", f"AISIterDataset of ais://{stage.bucket} through ETL {etl}")
    stage.open()
    died = stage.mark(at - draw.span(200, 1_900), f"{victim.name} crashes and is not started again")
    faults.kill(cluster, victim, died)
    left = faults.leave_smap(cluster, victim, died)
    faults.reconnects(cluster, victim, died, left, 2)
    aisnatives.targets_changed(cluster, left + 5 * MS, etl, draw)
    for other in readers(stage)[: draw.whole(1, 4)]:
        text = refused_at(stage, other, victim, draw, tail=tail)
        first_repeat(stage, at + draw.span(40, 5_000), other, draw, text)
    name = utterance(draw)
    over = retries(stage, at, rank, draw, 0.02, refused_at(stage, rank, victim, draw, name, tail), left)
    over = max(over, left + 60 * MS)
    for then, other in spread(stage, left + 50 * MS, over, (2, 4), draw):
        node, missed = stage.other_target(victim, draw.whole(0, 40)), utterance(draw)
        text = aisservices.no_transformer(cluster, node, then - 4 * MS, missed, etl)
        why = one_line(stage, then, other, node, missed, 404, text, tail)
        told(stage, then, other, "dataset", f"{missed} left out: {why}", "WARNING")
    node = stage.other_target(victim, draw.whole(0, 40))
    text = aisservices.no_transformer(cluster, node, over - 4 * MS, name, etl)
    dataset_refused(stage, over, rank, node, name, 404, text, tail=tail)
    leaves(stage, over + 6 * MS, rank)
    return stage.close(
        "Its process had met a bug of its own, and its container was set never to restart.",
        (stage.guilty("storage_io", victim, also=("software", "network", *ALSO)),),
        until=over + seconds(30),
    )
