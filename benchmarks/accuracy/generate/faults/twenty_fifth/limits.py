"""Storage faults of the twenty-fifth part of limits: queues, memory, listings, keys, room for a cache, new targets."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import TRIES_S
from benchmarks.accuracy.generate.faults.words.enquirers import archive_of, late_elsewhere, unauthorized, waits_for
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.requests import object_path, retries
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisdisk, aisrounds, aisshifts, aisstrain, aistickets, aisupkeep, chains, sdk
from fixtures.generator.aisstats import ticks_between
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_fifth")
SLOW = ("storage_io", "infrastructure")


@kind(reads=True, hangs=False, ais_order=450, min_timeout_s=120, lead_s=70.0)
def batches_are_turned_away_at_rush_hour(stage: Stage) -> Scenario:
    """More work items than targets take: 429, again and again (aistore docs, get_batch, admission control).

    To convict: the SDK was told 429 six times by its proxy; at these moments a target had turned a batch of this bucket
    away for the number that is pending; all targets say that they throttle, for longer than a minute.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy = stage.draw.child("rush"), stage.proxy_of(stage.culprit)
    stage.open()
    began = stage.mark(at - draw.span(25_000, 48_000), "more batches are asked for than targets assemble")
    over = at + seconds(TRIES_S[-1]) + draw.span(6, 40)
    aisstrain.batches_pile_up(cluster, began, over + seconds(15), draw)
    for after in TRIES_S:
        designated = draw.pick(cluster.up(at))
        wid = cluster.wid(proxy, draw)
        aisstrain.too_many_pending(cluster, designated, proxy, at + seconds(after), wid, draw.whole(257, 330))
    for other in readers(stage)[: draw.whole(2, 5)]:
        then, its = at + draw.span(-8_000, 40_000), stage.proxy_of(other)
        node, wid = draw.pick(cluster.up(at)), cluster.wid(its, draw)
        text = aisstrain.too_many_pending(cluster, node, its, then, wid, draw.whole(257, 330))
        told(stage, then + 5 * MS, other, "loader", f"429 Too Many Requests: {text}; next try in 2 s", "WARNING")
    stage.job.raise_on(over, rank, chains.too_many_requests(stage, rank).traceback)
    leaves(stage, over + 2 * MS, rank)
    made = of_all(stage.guilty("storage_io", also=("infrastructure", "data_loading_stall")))
    return stage.close("Three evaluations start at nine, as every day.", (made,), until=over + seconds(15))


@kind(reads=True, lead_s=65.0, without=DISKS)
def target_has_begun_to_swap(stage: Stage) -> Scenario:
    """A target is short of memory and swaps: whatever is asked of it comes late or not at all (ceph, minio issues).

    To convict: requests of the rank that all wait for run into the SDK's time-out at one target; this one alone is low
    on memory since some time before, at every tick, and its few reads that end take many seconds.
    """
    cluster, victim, rank, at, over = stage.cluster, stage.victim, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("swap")
    stage.open()
    began = stage.mark(at - draw.span(21_000, 39_000), f"{victim.name} swaps")
    aisdisk.memory_pressure(cluster, victim, began, over + seconds(25), "extreme", draw)
    for tick in ticks_between(cluster.last_process(victim), began, over + seconds(25)):
        many, most = draw.whole(1, 6), min(24_000.0, (tick - began) / MS)
        cluster.count(victim, tick - SEC, get_n=many, get_size=many << 20)
        cluster.count(victim, tick - SEC, get_ns_total=many * draw.span(most * 0.4, most * 0.9))
    cause = sdk.read_timeout(victim.address, victim.ports[0])

    def why(who: int) -> str:
        return sdk.pool_error(victim.address, victim.ports[0], object_path(stage, who, utterance(draw)), cause)

    then = retries(stage, at, rank, draw, 20.02, why(rank), over - 2 * SEC)
    while then < over - 25 * SEC:
        told(stage, then, rank, "dataset", "sample given up, the next one of the batch is asked for", "WARNING")
        then = retries(stage, then + 20 * MS, rank, draw, 20.02, why(rank), over - 2 * SEC)
    base = f"{victim.url(0)}/v1/objects/{stage.bucket}"
    late_elsewhere(stage, at - seconds(9), 3, draw, lambda spent: f"{base}/{utterance(draw)} took {spent:.1f} s")
    stage.hang(at + 310 * MS, rank)
    return stage.close(
        "Its memory has been shared with a search index for a week.",
        (stage.guilty("data_loading_stall", victim, also=(*SLOW, "network")),),
    )


@kind(culprit=0, min_timeout_s=120, lead_s=60.0, without=DISKS)
def listing_outlasts_the_barrier(stage: Stage) -> Scenario:
    """Rank 0 lists a bucket for its next epoch, and each page takes half a minute (milvus#19095; storages#2621).

    To convict: rank 0 says how long each page takes, and in the run before all had taken a minute;
    since then the disks of all targets read nothing but names, with no time left, in a job that lists.
    """
    cluster, at, over = stage.cluster, stage.at, over_at(stage)
    draw = stage.draw.child("listing")
    pages, early = draw.whole(300, 900), stage.job.begin - draw.span(300, 700)
    told(
        stage,
        early,
        0,
        "manifest",
        f"manifest of the last run: {pages} pages of 1000 names, listed in {pages * draw.between(0.06, 0.14):.1f} s",
    )
    stage.open()
    stage.mark(at, "targets walk through a bucket whose names are on cold disks")
    aisshifts.lists_at_length(cluster, at - 40 * MS, over + seconds(20), draw)
    told(stage, at - 60 * MS, 0, "manifest", f"epoch 0 done, listing s3://{stage.bucket} anew")
    then, page = at, 0
    while then < over - 3 * SEC:
        spent = draw.between(16, 39)
        then, page = then + seconds(spent), page + 1
        if then < over - SEC:
            told(stage, then, 0, "manifest", f"page {page} of about {pages} took {spent:.1f} s", "WARNING")
            cluster.count(stage.proxy_of(0), then, lst_n=1)
    stage.hang(at + 250 * MS, 0)
    made = of_all(stage.guilty("data_loading_stall", also=(*SLOW, "rank_hang")))
    return stage.close("A crash of the night had left no metadata in any cache.", (made,))


@kind(reads=True, hangs=False, lead_s=65.0)
def signing_key_is_rotated_under_the_job(stage: Stage) -> Scenario:
    """AuthN has a new key, and tokens of before are nobody's (aistore docs, authn; minio and keycloak issues).

    To convict: a token that is good for days was taken by the proxies all the time; since one moment they refuse every
    token for its signature, of whatever rank, without a word of expiry.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("signing")
    days = draw.whole(3, 20)
    told(
        stage,
        stage.job.begin - 200 * MS,
        0,
        "auth",
        f"token of svc-train read from /run/secrets/ais, good for {days} days",
    )
    stage.open()
    began = stage.mark(at - draw.span(3_000, 9_000), "the key that signs tokens is another")
    for proxy in cluster.proxies:
        aistickets.tokens_taken(cluster, proxy, began, draw)
    request = f"GET /v1/ml/moss/{stage.bucket}"
    for other in readers(stage)[: draw.whole(2, 5)]:
        then, its = began + int((at - began) * draw.between(0.1, 0.95)), stage.proxy_of(other)
        text = aistickets.signature_refused(cluster, its, then - 3 * MS, request)
        told(stage, then, other, "loader", f"401 Unauthorized: {text}; token read again, next try in 10 s", "WARNING")
    proxy = stage.proxy_of(rank)
    text = aistickets.signature_refused(cluster, proxy, at - 3 * MS, request)
    stage.job.raise_on(at, rank, unauthorized(stage, at, rank, proxy, text))
    leaves(stage, at + MS, rank)
    aistickets.reworded(cluster, "authentication: false", "authentication: true")
    made = of_all(stage.guilty("storage_io", also=("infrastructure", "data_loading_stall")))
    return stage.close(
        "It is rotated twice a year, and the old one was to be kept for a week.", (made,), until=at + seconds(20)
    )


@kind(reads=True, lead_s=70.0, without=(*DISKS, *RESTARTS))
def rebalanced_in_training_hours(stage: Stage) -> Scenario:
    """An operator starts a rebalance of a cluster that is in use (aistore docs, rebalance; ceph-users, backfill).

    To convict: since the primary gave a rebalance out, disks of all targets have no time left; the rank that all wait
    for and some others have their reads late, from whichever target, and had not before.
    """
    cluster, rank, at, over = stage.cluster, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("rebalanced")
    stage.open()
    began = stage.mark(at - draw.span(9_000, 16_000), "an operator starts a rebalance")
    aisupkeep.rebalance_at_length(cluster, began, over + seconds(20), draw)
    for node in cluster.up(at):
        for tick in ticks_between(cluster.last_process(node), began + 4 * SEC, over + seconds(20)):
            many, most = draw.whole(3, 20), min(31_000.0, (tick - began) / MS)
            cluster.count(node, tick - SEC, get_n=many, get_ns_total=many * draw.span(most * 0.3, most * 0.8))
            cluster.count(node, tick - SEC, get_size=many << 20)
    nodes = draw.shuffled(cluster.up(at))[:3]

    def shard() -> str:
        return f"{draw.pick(nodes).url(0)}/v1/objects/{stage.bucket}/{archive_of(draw)}"

    late_elsewhere(stage, began + seconds(4), 4, draw, lambda spent: f"{shard()}: 64 MiB in {spent:.1f} s")
    own, each, total = shard(), draw.between(11, 15), draw.whole(70, 140) * 64

    def so_far(spent: float) -> str:
        return f"{own}: {int(spent / each) * 64} of {total} MiB after {spent:.0f} s"

    waits_for(stage, rank, at, over, (13_000, 18_000), so_far)
    stage.hang(at + 300 * MS, rank)
    made = of_all(stage.guilty("data_loading_stall", also=(*SLOW, "network")))
    return stage.close("The command was in the notes of the upgrade, one line too early.", (made,))


@kind(reads=True, min_timeout_s=90, lead_s=80.0, without=(*DISKS, "low_space", "tenant_out_of_space"))
def cache_is_smaller_than_the_corpus(stage: Stage) -> Scenario:
    """Targets evict what the next epoch needs and fetch it anew (aistore docs, lru; alluxio and juicefs, thrashing).

    To convict: all targets are above their watermark, evict thousands of objects at each tick, and fetch about as many
    from the store behind; the rank that all wait for has its shard late, and so have others.
    """
    cluster, rank, at, over = stage.cluster, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("smaller")
    stage.open()
    began = stage.mark(at - draw.span(19_000, 33_000), "all targets evict what the next epoch needs")
    aisrounds.thrashes(cluster, began, over + seconds(20), draw)
    aisrounds.reads_cold(cluster, began, over + seconds(20), 1.1, (21_000, 58_000), (200, 700), draw.child("cold"))
    base = f"{stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}"
    told(stage, began - seconds(3), 0, "reader", "epoch 1, shards in another order")
    late_elsewhere(
        stage, began + seconds(2), 4, draw, lambda spent: f"{base}/{archive_of(draw)}: first byte after {spent:.1f} s"
    )
    each, early = draw.between(24, 33), draw.between(9, 24)

    def so_far(spent: float) -> str:
        return f"shuffle buffer: {int(spent / each)} of 40 shards after {spent:.0f} s (epoch 0: 40 in {early:.1f} s)"

    waits_for(stage, rank, at, over, (15_000, 21_000), so_far)
    stage.hang(at + 300 * MS, rank)
    aistickets.reworded(cluster, "backends: []", "backends: [aws]")
    made = of_all(stage.guilty("data_loading_stall", also=(*SLOW, "network")))
    return stage.close("The corpus has grown by a third, the disks are those of before.", (made,))
