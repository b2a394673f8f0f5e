"""Storage faults of the twenty-second part of batches: a sender that pauses, an eviction, a queue that is full."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.callers import fallback_failed, missing_text, msc_missing
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.requests import object_path
from benchmarks.accuracy.generate.faults.words.subscribers import audio_of, spread, told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisdesk as desk
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisobjects, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "twenty_second")
SLOW = "Falling back to direct AIStore API call."


@kind(reads=True, hangs=False, lead_s=60.0, min_timeout_s=120, without=RESTARTS)
def host_of_a_sender_is_paused(stage: Stage) -> Scenario:
    """A virtual machine is moved and stands still for two minutes, batches wait for its part (KVM; lhotse's loader).

    To convict: lhotse waits for an entry of a batch, asks one target for the object and is not answered, then finds
    nothing elsewhere; that target writes no line meanwhile, the primary's keepalive fails at it and removes it.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("paused"), audio_of(stage.draw.child("own paused"))
    stage.open()
    stood = stage.mark(at - draw.span(200, 1_500), f"the host of {victim.name} is paused")
    until = stood + seconds(draw.between(104, 131))
    faults.stop(cluster, victim, stood, until)
    gone = faults.leave_smap(cluster, victim, stood, hung=True)
    designated = stage.other_target(victim, draw.whole(0, 9))

    asked = max(at + seconds(40.2), gone - draw.span(400, 950))

    def waits(then: int, who: int, node_at: int) -> None:
        port = stage.other_target(victim, node_at)
        late = f"HTTPConnectionPool(host='{port.address}', port={port.ports[0]}): Read timed out."
        told_of = f"Timeout while fetching batch result at index {draw.whole(0, 44)}: {late} {SLOW}"
        stage.job.note(then, who, told_of, "W", 226, "batch_loader")

    waits(asked - seconds(20.1), rank, draw.whole(0, 9))
    for turn, other in enumerate(readers(stage)[: draw.whole(2, 5)]):
        waits(asked - seconds(16.9) + draw.span(40, 9_000), other, turn)
    cause = sdk.read_timeout(victim.address, victim.ports[0])
    text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, rank, name), cause)
    wait = round(draw.between(1.0, 1.5), 2)
    stage.job.sdk_warning(asked, rank, sdk.retrying(wait, "ConnectionError", text))
    failed = asked + seconds(wait) + draw.span(8, 30)
    missing = aisobjects.not_there(cluster, designated, failed - 3 * MS, name)
    fallback_failed(stage, failed, rank, name, missing_text(stage, failed, rank, designated, name, missing))
    leaves(stage, failed, rank)
    faults.resume(cluster, victim, until)
    return stage.close(
        "The operator of the machines had put storage among what may be moved at any time.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "infrastructure", "network", "data")),),
        until=until + seconds(15),
    )


@kind(reads=True, hangs=False, lead_s=75.0, without=(*DISKS, "low_space", "tenant_out_of_space"))
def eviction_takes_what_the_epoch_has_yet_to_read(stage: Stage) -> Scenario:
    """LRU is on in a bucket that nothing stands behind, so what is evicted is lost (aistore docs/bucket, lru.enabled).

    To convict: the object was there at the start, as the job has counted them all; since a target evicts (`x-lru`,
    above its watermark) reads of that target, and of it alone, are answered with 404.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("evicted")
    many = draw.whole(200_000, 4_000_000)
    stage.open()
    said = f"ais://{stage.bucket}: {many} of {many} entries of the manifest present, bucket has no backend"
    told(stage, stage.job.begin + 300 * MS, 0, "INFO", said)
    began = stage.mark(at - draw.span(17_000, 34_000), f"{victim.name} evicts")
    aisobjects.evict(cluster, victim, began, at + seconds(draw.between(22, 41)), draw)
    for then, other in spread(stage, began + seconds(5), at, (2, 6), draw):
        name = audio_of(draw)
        text = aisobjects.not_there(cluster, victim, then - 4 * MS, name)
        told(stage, then, other, "WARNING", f"in the manifest, but not in the bucket: {text}")
    name = audio_of(draw)
    text = aisobjects.not_there(cluster, victim, at - 4 * MS, name)
    msc_missing(stage, at, rank, victim, name, text)
    leaves(stage, at, rank)
    return stage.close(
        "The setting came with the cluster's defaults, which were chosen when all of its buckets were caches.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "infrastructure")),),
        until=at + seconds(45),
    )


@kind(reads=True, hangs=False, lead_s=70.0, min_timeout_s=180, ais_order=450, without=DISKS)
def queues_of_all_targets_are_full(stage: Stage) -> Scenario:
    """Jobs of a whole team start together, work items pile up and more are turned away (aistore, get-batch, 429).

    To convict: the SDK was told 429 as often as it asks; at each of these moments a target turned a work item of this
    bucket away as it has more than 256 pending, and all targets throttle, with ever more of them, since a while before.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy = stage.draw.child("queues"), stage.proxy_of(stage.culprit)
    stage.open()
    began = stage.mark(at - draw.span(33_000, 44_000), "work items pile up at all targets")
    over = at + seconds(90.2) + draw.span(4, 40)
    for node in cluster.targets:
        desk.queue_fills(cluster, node, began + draw.span(0, 2_500), over, draw)
    for after in (0.0, 0.02, 6.05, 18.1, 42.14, 90.2):
        desk.queue_full(cluster, proxy, draw.pick(cluster.targets), at + seconds(after) - 4 * MS, draw)
    for then, other in spread(stage, at, over - SEC, (3, 7), draw):
        own = stage.proxy_of(other)
        desk.queue_full(cluster, own, draw.pick(cluster.targets), then - 4 * MS, draw)
        told(stage, then, other, "WARNING", f"no batch yet: 429 by {own.url(0)}, asking again")
    path = f"/v1/ml/moss/{stage.bucket}?provider=ais"
    text = sdk.pool_error(proxy.address, proxy.ports[0], path, sdk.too_many(429))
    caller = sdk.main_frames(stage.job.job, stage.step, *sdk.batch_get_frames(stage.job.job))
    stage.job.raise_on(over, rank, sdk.exhausted(stage.job.job, caller, "RetryError", text))
    leaves(stage, over, rank)
    return stage.close(
        "Forty evaluations had waited in the queue for the same reservation to end.",
        (of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "infrastructure", "network"))),),
        until=over + 5 * SEC,
    )
