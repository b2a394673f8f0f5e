"""Storage faults of the thirtieth part of jobs that take time away from readers: summaries of buckets, downloads."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.natives import (
    first_repeat,
    one_by_one_failed,
    shard_of,
    unanswered_at,
)
from benchmarks.accuracy.generate.faults.words.operators import troubled
from benchmarks.accuracy.generate.faults.words.requests import exhausted, one_object, retries
from benchmarks.accuracy.generate.faults.words.stewards import stream_is_late
from benchmarks.accuracy.generate.faults.words.subscribers import comes_to_an_end
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisstewards
from fixtures.generator.model import Scenario
from fixtures.generator.moment import SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirtieth")
ALSO = ("storage_io", "infrastructure", "rank_hang")


@kind(reads=True, min_timeout_s=60, lead_s=70.0, without=(*DISKS, *RESTARTS))
def summaries_of_a_dashboard_walk_all_disks(stage: Stage) -> Scenario:
    """A dashboard asks for sizes of buckets each half minute, and a walk takes minutes (aistore docs, bucket summary).

    To convict: reads have no answer in 20 s, from any target; ever more jobs for summaries run beside each other on all
    of them, whose disks read names and attributes and have no time left.
    """
    cluster, rank, at, over = stage.cluster, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("summaries")
    stage.open()
    troubled(stage, draw.child("troubled"))
    began = stage.mark(at - draw.span(26_000, 41_000), "a dashboard begins to ask for summaries of all buckets")
    aisstewards.summaries_walk(cluster, began, over + seconds(15), draw.pick((15, 20, 30)), draw.whole(260, 700), draw)
    for other in readers(stage)[: draw.whole(2, 5)]:
        text = unanswered_at(stage, other, draw.pick(cluster.targets), shard_of(draw))
        first_repeat(stage, at + draw.span(100, 12_000) + seconds(20.02), other, draw, text)
    text = unanswered_at(stage, rank, draw.pick(cluster.targets), shard_of(draw))
    end = retries(stage, at, rank, draw, 20.02, text, over - SEC)
    if end < over - SEC:
        exhausted(stage, end, rank, text, "ConnectionError", one_object(stage))
    comes_to_an_end(stage, end if end < over - SEC else over)
    return stage.close(
        "It had been made for a bucket of some hundred shards, and shown to everybody since.",
        (of_all(stage.guilty("data_loading_stall", stage.victim, also=ALSO)),),
        until=over + seconds(15),
    )


@kind(reads=True, min_timeout_s=60, ais_order=410, lead_s=66.0, without=(*DISKS, *RESTARTS, "loader_fallbacks"))
def models_of_a_hub_are_downloaded_into_the_cluster(stage: Stage) -> Scenario:
    """A team fills a bucket with models of a hub by the cluster's downloader, at noon (aistore docs, downloader, hf).

    To convict: streams give nothing for 20 s and single objects neither, whoever is asked; since some seconds many
    download jobs run on all targets, their disks write all they can, and reads that end have taken long.
    """
    cluster, rank, at, over = stage.cluster, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("hub")
    stage.open()
    began = stage.mark(at - draw.span(9_000, 18_000), "another team has models downloaded into the cluster")
    aisstewards.hub_downloaded(cluster, began, over + seconds(20), draw)
    for other in readers(stage)[: draw.whole(3, 6)]:
        then = min(at + draw.span(300, 14_000) + seconds(20.02), over - SEC)
        stream_is_late(stage, then, other, draw.pick(cluster.targets), draw)
    name, first = utterance(draw), at + seconds(20.02)
    stream_is_late(stage, first, rank, draw.pick(cluster.targets), draw)
    text = unanswered_at(stage, rank, draw.pick(cluster.targets), name)
    end = retries(stage, first, rank, draw, 20.02, text, over - SEC)
    if end < over - SEC:
        stage.job.sdk_warning(end, rank, "All retries exhausted; request failed", "ERROR")
        one_by_one_failed(stage, end + 1_000_000, rank, name, text, sequential=False)
    comes_to_an_end(stage, end if end < over - SEC else over)
    return stage.close(
        "The models came from a mirror in the next room, and nobody had thought of where they went.",
        (of_all(stage.guilty("data_loading_stall", stage.victim, also=ALSO)),),
        until=over + seconds(15),
    )
