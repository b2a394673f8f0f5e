"""Storage faults of the thirtieth part in what the SDK is sent of objects: the tar of a batch, transformed objects."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.guests import killed_for_a_while, leaves
from benchmarks.accuracy.generate.faults.words.inmates import tar_cut
from benchmarks.accuracy.generate.faults.words.natives import dataset_refused, first_repeat, one_line, unanswered_at
from benchmarks.accuracy.generate.faults.words.requests import exhausted, one_object, retries
from benchmarks.accuracy.generate.faults.words.subscribers import comes_to_an_end, spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisinmates, aisnatives, aisobjects, chains
from fixtures.generator.draw import LOWER, Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirtieth")
ALSO = ("data_loading_stall", "infrastructure")


@kind(reads=True, hangs=False, lead_s=64.0, without=RESTARTS)
def tar_of_a_batch_ends_with_its_crashed_target(stage: Stage) -> Scenario:
    """The target that assembles a batch crashes by a mistake of its own, in mid-tar (aistore issues; SDK, streaming).

    To convict: the SDK cannot read its tar to the end and names nobody; in that moment the log of one target ends
    without a word and its peers lose their streams, and batches that gateways give it next are refused.
    """
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("cut tar")
    stage.open()
    died = stage.mark(at + draw.span(90, 1_600), f"{victim.name} crashes")
    killed_for_a_while(stage, died, (9_000, 15_000), 3)
    over = died + draw.span(5, 60)
    for then, other in spread(stage, died + 40 * MS, over + 600 * MS, (2, 6), draw):
        failed = chains.dead_designated(stage, then, victim, other)
        told(stage, then + 4 * MS, other, "batches", f"batch put off: {failed.error}", "WARNING")
    tar_cut(stage, over, rank)
    leaves(stage, over + 8 * MS, rank)
    return stage.close(
        "Two of its routines had written to the same map, which Go does not forgive.",
        (stage.guilty("storage_io", victim, also=("network", *ALSO)),),
        until=over + seconds(60),
    )


def _etl(draw: Draw) -> str:
    """The name of a transformer."""
    return f"{draw.pick(('decode-webp', 'clip-frames', 'mel-128', 'tokenize-sp'))}-{draw.token(3, LOWER)}"


@kind(reads=True, hangs=False, lead_s=66.0, without=RESTARTS)
def transformer_of_one_host_has_no_route(stage: Stage) -> Scenario:
    """Pods of one storage host cannot be reached since its network agent has lost their routes (calico, cilium; etl).

    To convict: a target has no route to its transformer, the rank is told; so is whoever reads through it there, from
    one moment on and at no other target, and plain batches of that target are served as ever.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("no route")
    etl = _etl(draw)
    tail, pod = f"&etl_name={etl}", f"10.233.{draw.whole(64, 120)}.{draw.whole(2, 250)}:8000"
    told(stage, stage.job.begin - SEC, 0, "dataset", f"AISMapDataset of ais://{stage.bucket} through ETL {etl}")
    stage.open()
    began = stage.mark(at - draw.span(4_000, 11_000), f"the host of {victim.name} loses the routes of its pods")
    for node in cluster.targets:
        until = began if node is victim else at + seconds(8)
        own = draw.child(node.node_id)
        aisnatives.transforms_at(cluster, node, stage.job.begin + SEC, until, (60, 380), (400, 1_700), own)
    for then, other in spread(stage, began + 100 * MS, at - 60 * MS, (3, 6), draw):
        name = utterance(draw)
        text = aisinmates.pod_not_reached(cluster, victim, then - 4 * MS, name, pod)
        why = one_line(stage, then, other, victim, name, 400, text, tail)
        told(stage, then, other, "dataset", f"{name} left out: {why}", "WARNING")
    name = utterance(draw)
    text = aisinmates.pod_not_reached(cluster, victim, at - 4 * MS, name, pod)
    dataset_refused(stage, at, rank, victim, name, 400, text, tail=tail)
    leaves(stage, at + 6 * MS, rank)
    return stage.close(
        "The agent had been restarted for its own memory, and had begun by clearing what it found.",
        (stage.guilty("storage_io", victim, also=("network", *ALSO)),),
        until=at + seconds(30),
    )


@kind(reads=True, min_timeout_s=90, lead_s=90.0, without=(*DISKS, *RESTARTS))
def transforms_wait_for_what_was_evicted(stage: Stage) -> Scenario:
    """Full targets evict what is read through an ETL next, and all of it comes from far away (docs/etl; lru; cold GET).

    To convict: reads through the ETL have no answer in 20 s, from this or that target; all targets have evicted at
    their high watermark, and since then transforms take as long as reads from behind, which were not needed before.
    """
    cluster, rank, at, over = stage.cluster, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("cold transforms")
    etl = _etl(draw)
    tail = f"&etl_name={etl}"
    told(stage, stage.job.begin - SEC, 0, "dataset", f"AISIterDataset of ais://{stage.bucket} through ETL {etl}")
    stage.open()
    full = stage.mark(at - draw.span(52_000, 61_000), "all targets evict what was not read for two hours")
    cold = at - draw.span(3_000, 9_000)
    for node in cluster.targets:
        own = draw.child(node.node_id)
        aisobjects.evict(cluster, node, full + own.span(0, 4_000), cold - own.span(500, 4_000), own.child("lru"))
        aisnatives.transforms_at(cluster, node, stage.job.begin + SEC, cold, (90, 420), (500, 2_100), own)
    aisinmates.transforms_cold(cluster, cold, over, 0.9, (24_000, 66_000), draw.child("cold"))
    for other in readers(stage)[: draw.whole(2, 5)]:
        text = unanswered_at(stage, other, draw.pick(cluster.targets), utterance(draw), tail)
        first_repeat(stage, at + draw.span(100, 9_000) + seconds(20.02), other, draw, text)
    text = unanswered_at(stage, rank, draw.pick(cluster.targets), utterance(draw), tail)
    end = retries(stage, at, rank, draw, 20.02, text, over - SEC)
    if end < over - SEC:
        exhausted(stage, end, rank, text, "ConnectionError", one_object(stage))
    comes_to_an_end(stage, end if end < over - SEC else over)
    return stage.close(
        "Another team had copied its videos into the cluster over the weekend, and the way to the cloud is a thin one.",
        (of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "infrastructure", "network"))),),
    )
