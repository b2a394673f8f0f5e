"""Storage faults of the twenty-eighth part below data sets and file readers of the SDK: drained, keys, bits, cold."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.natives import (
    dataset_refused,
    first_repeat,
    one_line,
    resumed_in_vain,
    resumes_after_cut,
    shard_of,
    unanswered_at,
)
from benchmarks.accuracy.generate.faults.words.requests import exhausted, one_object, retries
from benchmarks.accuracy.generate.faults.words.subscribers import comes_to_an_end, spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisnatives, aisobjects, aisrounds
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_eighth")
ALSO = ("data_loading_stall", "infrastructure", "network")
NO_SUCH_KEY = "aws-error[InvalidAccessKeyId: The AWS Access Key Id you provided does not exist in our records.]"


@kind(reads=True, hangs=False, lead_s=64.0, without=(*RESTARTS, "tenant_errors"))
def file_reader_loses_its_object_to_a_drain(stage: Stage) -> Scenario:
    """A host is drained while a reader is in the middle of a large shard (ais-k8s, drain; SDK, ObjectFileReader).

    To convict: the shard was being read, ends early, and is not there when asked for again, at another target; between
    the two the target it came from has ended on a signal and left the map, and does not come back.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("drained")
    stage.open()
    name, wanted = shard_of(draw), draw.whole(900_000_000, 3_900_000_000)
    told(stage, at, rank, "tars", f"reading ais://{stage.bucket}/{name}, {wanted} bytes, from {victim.url(0)}")
    gone = stage.mark(at + draw.span(1_800, 7_500), f"the host of {victim.name} is drained")
    faults.terminate(cluster, victim, gone)
    cut = (cluster.last_process(victim).ended_at or gone) + draw.span(1, 9)
    peers = [one for one in cluster.targets if one is not victim]
    for then, other in spread(stage, gone + 60 * MS, cut + 300 * MS, (2, 5), draw):
        node, missed = draw.pick(peers), utterance(draw)
        text = aisobjects.not_there(cluster, node, then - 4 * MS, missed)
        why = one_line(stage, then, other, node, missed, 404, text)
        told(stage, then, other, "tars", f"{missed} left out: {why}", "WARNING")
    resumes_after_cut(stage, cut, rank, name, int(wanted * draw.between(0.1, 0.8)) // 32_768 * 32_768, wanted)
    node = draw.pick(peers)
    aisnatives.head_not_there(cluster, node, cut + 5 * MS, name)
    resumed_in_vain(stage, cut + 8 * MS, rank, node, name)
    leaves(stage, cut + 14 * MS, rank)
    return stage.close(
        "The drain waited for nobody: the budget of disruptions had been taken off for an upgrade.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        until=cut + seconds(45),
    )


@kind(reads=True, hangs=False, lead_s=64.0)
def one_target_still_has_the_old_keys(stage: Stage) -> Scenario:
    """Keys of the bucket behind were rotated, one pod was not restarted with the new ones (aws docs; secrets).

    To convict: cold reads are refused with "InvalidAccessKeyId" by one target only, for whoever asks it, from one
    moment on; cold reads of all others are counted as ever.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("old keys")
    stage.open()
    began = stage.mark(at - draw.span(6_000, 12_000), f"the keys that {victim.name} has are deleted")
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, began, 0.6, 240, 900, draw.child("before"))
    aisobjects.cold_gets(cluster, began, at + seconds(3), 0.6, 240, 900, draw.child("since"), avoid=victim.node_id)
    for then, other in spread(stage, began, at - 100 * MS, (2, 5), draw):
        name = utterance(draw)
        aisobjects.backend_refused(cluster, victim, then - 5 * MS, name, NO_SUCH_KEY, 403)
        why = one_line(stage, then, other, victim, name, 403, NO_SUCH_KEY)
        told(stage, then, other, "dataset", f"{name} left out: {why}", "WARNING")
    name = utterance(draw)
    aisobjects.backend_refused(cluster, victim, at - 5 * MS, name, NO_SUCH_KEY, 403)
    dataset_refused(stage, at, rank, victim, name, 403, NO_SUCH_KEY)
    leaves(stage, at + 6 * MS, rank)
    return stage.close(
        "Its pod was being moved when all others were restarted, and was forgotten.",
        (stage.guilty("storage_io", victim, also=("infrastructure", "data", "network")),),
        until=at + seconds(30),
    )


@kind(reads=True, hangs=False, lead_s=66.0, without=("tenant_errors",))
def shards_of_one_target_rot_under_the_shard_reader(stage: Stage) -> Scenario:
    """Bits flip on the way from the disks of one target; a second try finds nothing (aistore docs, checksum).

    To convict: the shard is not there, the rank is told; some milliseconds before, the same target had found its
    checksum to be another one and removed it, as it did with shards of other ranks, and no other target with any.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("bits")
    stage.open()
    began = stage.mark(at - draw.span(9_000, 17_000), f"what {victim.name} reads has flipped bits")

    def asks(then: int) -> tuple[str, str]:
        name = shard_of(draw)
        aisobjects.bad_checksum(cluster, victim, then - draw.span(24, 70), name, draw)
        return name, aisobjects.not_there(cluster, victim, then - 4 * MS, name)

    for then, other in spread(stage, began, at - 200 * MS, (2, 5), draw):
        name, text = asks(then)
        told(
            stage,
            then,
            other,
            "shards",
            f"{name} left out: {one_line(stage, then, other, victim, name, 404, text)}",
            "WARNING",
        )
    name, text = asks(at)
    dataset_refused(stage, at, rank, victim, name, 404, text, shards=True)
    leaves(stage, at + 6 * MS, rank)
    return stage.close(
        "A riser card of its host had come loose.",
        (stage.guilty("storage_io", victim, also=("data", "infrastructure")),),
        until=at + seconds(30),
    )


@kind(reads=True, min_timeout_s=90, uptime=True, lead_s=80.0)
def stopped_prefetch_leaves_an_epoch_cold(stage: Stage) -> Scenario:
    """Somebody stops the prefetch that a job counts on; what is left comes from far away (aistore docs, prefetch).

    To convict: the rank that all wait for has no answer in 20 s, from this or that target, as others; the job had
    started a prefetch, which all targets were told to abort some seconds before; since then reads come from behind.
    """
    cluster, rank, at, over = stage.cluster, stage.culprit, stage.at, over_at(stage)
    draw, began = stage.draw.child("cold epoch"), stage.job.begin + seconds(1)
    stage.open()
    stopped = stage.mark(at - draw.span(13_000, 24_000), "somebody stops a prefetch")
    job = aisnatives.prefetch_runs(cluster, began, stopped, draw.child("prefetch"))
    told(stage, began, 0, "warmup", f"prefetch {job} of ais://{stage.bucket} runs, {draw.whole(2_000, 9_000)} shards")
    aisnatives.prefetch_stopped(cluster, began, stopped, job, draw)
    aisrounds.reads_cold(cluster, stopped + seconds(2), over, 1.1, (22_000, 71_000), (180, 420), draw.child("cold"))
    for other in readers(stage)[: draw.whole(2, 5)]:
        text = unanswered_at(stage, other, draw.pick(cluster.targets), shard_of(draw))
        first_repeat(stage, at + draw.span(100, 9_000) + seconds(20.02), other, draw, text)
    text = unanswered_at(stage, rank, draw.pick(cluster.targets), shard_of(draw))
    end = retries(stage, at, rank, draw, 20.02, text, over - SEC)
    if end < over - SEC:
        exhausted(stage, end, rank, text, "ConnectionError", one_object(stage))
    comes_to_an_end(stage, end if end < over - SEC else over)
    return stage.close(
        "The one who stopped it took it for the leftover of a job of the night before.",
        (of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "infrastructure", "network"))),),
    )
