"""Storage faults of the thirteenth part that reads meet: fallbacks, broken streams, denied or slow sources."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words.callers import loader_timed_out, missing_text
from benchmarks.accuracy.generate.faults.words.fetchers import (
    falls_back,
    sequential_failed,
    tar_stream_broken,
    tar_stream_timed_out,
)
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, object_path, retries
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisobjects, chains, sdk
from fixtures.generator import aispassages as passages
from fixtures.generator import aisquiet as quiet
from fixtures.generator.aislog import Say
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirteenth")


@kind(reads=True, hangs=False, lead_s=60.0, without=(*RESTARTS, "kalive_hiccup"))
def fallback_meets_the_same_target(stage: Stage) -> Scenario:
    """A target is gone, lhotse asks for objects one by one, and one of them is there (lhotse PR 1566, batch_loader)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("fallback")
    stage.open()
    died = stage.mark(at - draw.span(100, 1_500), f"the container of {victim.name} is killed by its kernel")
    faults.kill(cluster, victim, died)
    faults.reconnects(cluster, victim, died, died + seconds(24))
    left = faults.leave_smap(cluster, victim, died)
    for other, after in zip(readers(stage)[: draw.whole(1, 4)], (0.6, 1.8, 3.1, 4.4), strict=False):
        then = at + seconds(after) + draw.span(1, 400)
        falls_back(stage, then, other, chains.dead_designated(stage, then - 4 * MS, victim, other).error)
    falls_back(stage, at, rank, chains.dead_designated(stage, at - 4 * MS, victim, rank).error)
    name, began = utterance(draw), at + draw.span(40, 400)
    cause = sdk.refused(draw.whole(*HANDLES))
    text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, rank, name), cause)
    then = retries(stage, began, rank, draw, 0.004, text, left)
    if then < left:
        stage.job.sdk_warning(then, rank, "All retries exhausted; request failed", "ERROR")
        why = text
    else:
        owner = stage.other_target(victim, draw.whole(0, 99))
        missing = aisobjects.not_there(cluster, owner, then, name)
        why = missing_text(stage, then, rank, owner, name, missing)
    sequential_failed(stage, then + 5 * MS, rank, name, why)
    exits(stage, then + 7 * MS, rank)
    return stage.close(
        "The way out of a failed batch leads to the same targets; Kubernetes waits for the volumes of the lost one.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network")),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, without=(*RESTARTS, "kalive_hiccup"))
def batch_breaks_in_mid_chunk(stage: Stage) -> Scenario:
    """Who assembles a batch is killed for its memory as it streams (aistore docs/get_batch, streaming)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("mid chunk")
    stage.open()
    died = at - draw.span(20, 90)
    quiet.too_much_memory(cluster, victim, died - draw.span(31_000, 44_000), draw)
    stage.mark(died, f"the kernel kills {victim.name} for its memory")
    faults.kill(cluster, victim, died)
    faults.reconnects(cluster, victim, died, died + seconds(9))
    tar_stream_broken(stage, at, rank, draw.whole(0, 16_300))
    for other, after in zip(readers(stage), (0.04, 0.2, 0.41), strict=False):
        then, designated = at + seconds(after) + draw.span(1, 90), stage.other_target(victim, draw.whole(0, 99))
        got = draw.whole(2, 30)
        chains.cut_off_stream(stage, then, designated, victim, other, got, 48)
        stage.job.note(then + 6 * MS, other, f"get-batch ended after {got} of 48 entries, asking for the rest", "W", 99)
    faults.start_again(cluster, victim, died + draw.span(9_000, 14_000))
    exits(stage, at, rank)
    return stage.close(
        "Batches of long recordings are held in memory until they can be sent in order.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network")),),
    )


def _denied(stage: Stage, at: int, error: str, many: int, draw: Draw) -> None:
    """Entries of one batch that targets cannot get from the store behind: a line each, no counter of GETs."""
    for _ in range(many):
        node, then = draw.pick(stage.cluster.up(at)), at - draw.span(40, 700)
        name = utterance(draw, "raw")
        text = f"Warning: failed to cold-GET(read) ais://{stage.bucket}/{name} {error} 403"
        stage.cluster.say(node, then, Say("I", "tgtobj:905", text))


@kind(reads=True, hangs=False, lead_s=60.0)
def batches_denied_behind(stage: Stage) -> Scenario:
    """The key to the cloud was rotated and batches have too many soft errors (aistore docs/get_batch)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("denied")
    stage.open()
    told = "The AWS Access Key Id you provided does not exist in our records."
    error = f"aws-error[InvalidAccessKeyId: {told}]"
    began = stage.mark(at - draw.span(5_000, 16_000), "the key of the cluster for the cloud is not valid any more")
    for who in (*readers(stage)[: draw.whole(2, 4)], rank):
        then, lost = began + int((at - began) * draw.between(0.1, 0.9)), draw.whole(1, 6)
        _denied(stage, then, error, lost, draw)
        cluster.count(draw.pick(cluster.targets), then, getbatch_n=1, getbatch_obj_n=36 - lost)
        cluster.count(draw.pick(cluster.targets), then, err_soft_getbatch_n=lost)
        stage.job.note(then + 9 * MS, who, f"get-batch: {lost} of 36 entries are missing, left out", "W", 102)
    for other, after in zip(readers(stage), (-2.1, -0.9, 0.2), strict=False):
        then = at + seconds(after) + draw.span(1, 200)
        _denied(stage, then, error, 9, draw)
        failed = chains.soft_limit(stage, then, stage.other_target(victim, draw.whole(0, 99)), other)
        stage.job.note(then + 6 * MS, other, f"get-batch failed ({failed.error}), retrying 1/5", "W", 96)
    _denied(stage, at, error, 9, draw)
    failed = chains.soft_limit(stage, at, victim, rank)
    stage.job.raise_on(at + 6 * MS, rank, failed.traceback)
    exits(stage, at + 6 * MS, rank)
    made = of_all(stage.guilty("storage_io", victim, also=("data_loading_stall", "data")))
    return stage.close("Keys are rotated every ninety days; the secret of the pods is copied by hand.", (made,))


@kind(reads=True, hangs=False, min_timeout_s=90, lead_s=60.0)
def source_asks_to_slow_down(stage: Stage) -> Scenario:
    """The cloud says 503 and targets wait and ask again, without a line (aistore docs/rate_limit, reactive)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, limit = stage.draw.child("slow down"), min(stage.params.timeout_s - 20, 120) // 10 * 10
    stage.open()
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, at - 30 * SEC, 1.4, 90, 700, draw.child("before"))
    began = stage.mark(at - draw.span(9_000, 26_000), "the store behind asks to be asked less")
    quiet.held_back(cluster, began, at + seconds(limit + 40), draw)
    for turn, other in enumerate(readers(stage)[:4]):
        late, name = at + seconds(9 * turn) + draw.span(1, 7_000), f"shards/raw-{draw.whole(0, 4095):06d}.tar"
        node = draw.pick(cluster.targets)
        place = f"{node.url(0)}/v1/objects/{stage.bucket}/{name}"
        stage.job.note(late, other, f"slow read: {draw.between(14, 44):.1f} s to the first byte of {place}", "W", 80)
    over = at + seconds(limit) + draw.span(3, 40)
    loader_timed_out(stage, over, rank, limit)
    exits(stage, over, rank)
    made = of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "network")))
    return stage.close("A new prefix has one partition in the cloud, and all hosts begin with it.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0, without=("disk_busy", "mountpath_before"))
def stream_times_out_between_entries(stage: Stage) -> Scenario:
    """A disk resets itself; streamed batches lack an entry for as long as a client waits (lhotse PR 1549)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, number = stage.draw.child("between"), stage.draw.child("disk").whole(0, len(stage.victim.disks) - 1)
    stage.open()
    began = stage.mark(at - draw.span(24_000, 39_000), f"the controller of a disk of {victim.name} resets itself")
    passages.controller_resets(cluster, victim, began, at + seconds(40), number, draw)
    for other, after in zip(readers(stage), (-6.2, -3.1, -1.4, 0.2), strict=False):
        then, designated = at + seconds(after) + draw.span(1, 300), stage.other_target(victim, draw.whole(0, 99))
        got, wid = draw.whole(3, 33), cluster.wid(stage.proxy_of(other), draw)
        quiet.client_gave_up(cluster, designated, then + draw.span(20, 900), wid, stage.client(other), got)
        said = f"get-batch: read timed out after {got} of 36 entries ({designated.url(0)}), asking for the rest"
        stage.job.note(then, other, said, "W", 99)
    designated, wid = stage.other_target(victim, draw.whole(0, 99)), cluster.wid(stage.proxy_of(rank), draw)
    quiet.client_gave_up(cluster, designated, at + draw.span(20, 600), wid, stage.client(rank), draw.whole(3, 33))
    tar_stream_timed_out(stage, at, rank, designated)
    exits(stage, at, rank)
    return stage.close(
        "A client waits as long as a target does before it gives an entry up, and so both give up at once.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network")),),
    )


@kind(reads=True, hangs=False, slurm=True, lead_s=60.0, without=("low_space",))
def cold_epoch_crawls(stage: Stage) -> Scenario:
    """The bucket was evicted after the last run: each read of the first epoch is cold (aistore docs/bucket, evict)."""
    cluster, victim, begin = stage.cluster, stage.victim, stage.job.begin
    draw, steps = stage.draw.child("cold epoch"), stage.draw.child("steps").whole(12, 17)
    stage.mark(stage.job.begin, "nothing of the bucket is in the cluster")
    stage.open(until_step=1)
    slow = {step: draw.between(9, 26) for step in range(1, steps)}
    for step, wait in slow.items():
        stage.job.delay(step, seconds(wait))
    stage.job.train(1, steps, every=2, slow=slow)
    over = stage.job.step_at(steps)
    for node in cluster.up(stage.job.begin):
        then = stage.job.begin + draw.span(2_400, 5_000)
        while then < over:
            took, size = draw.span(2_100, 20_700), draw.whole(2, 60) << 20
            cluster.count(node, then, aws_get_n=1, aws_get_ns_total=took, aws_get_size=size)
            cluster.count(node, then, get_n=1, get_ns_total=took + draw.span(20, 190), get_size=size)
            then += draw.span(300, 1_900)
    cancel = over + draw.span(2_000, 19_000)
    for _ in range(draw.whole(5, 11)):
        late, node = begin + int((over - begin) * draw.between(0.08, 1)), draw.pick(cluster.targets)
        place = f"{node.url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}"
        who = draw.pick([stage.culprit, *readers(stage)[:5]])
        stage.job.note(late, who, f"slow read: {draw.between(7, 20):.1f} s for {place}", "W", 80)
    cancelled_by_hand(stage, cancel)
    made = of_all(stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure")))
    return stage.close(
        "Room was needed, and eviction is harmless: all of it is in the cloud.", (replace(made, culprit_ranks=None),)
    )
