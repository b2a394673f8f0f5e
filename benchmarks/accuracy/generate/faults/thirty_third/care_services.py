"""Guilty storage of what stands around objects: memory, buckets, a store behind, a transformer.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.caretakers import ETL, bucket_not_found, silent_tries
from benchmarks.accuracy.generate.faults.words.clients import status_repeated, transformed
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.natives import one_line
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aiscaretakers, aisdisk, aisobjects, aisservices, aistickets, aistroubles, chains
from fixtures.generator import aisevents as ev
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirty_third")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)


@kind(reads=True, ais_order=410, min_timeout_s=120, lead_s=60.0, without=(*RESTARTS, "tenant_rejected"))
def target_without_memory_turns_batches_down(stage: Stage) -> Scenario:
    """A target is short of memory and rejects work items (aistore docs/get_batch, 429; xact/xs/moss.go, load advice).

    To convict: one target has alerts of memory at each tick, throttles, then answers 429 to batches by their ids; six
    of them, in the rhythm of urllib3, by the proxy of the rank that raises `too many 429` a minute and a half later.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, order = stage.draw.child("memory"), stage.victim.release.order
    stage.open()
    short = stage.mark(at - draw.span(31_000, 44_000), f"{victim.name} is short of memory")
    aisdisk.memory_pressure(cluster, victim, short, over_at(stage) + seconds(20), "extreme", draw)
    high = ev.advice("high", "10ms", "high", "low", "low")
    if cluster.xact is not None:
        cluster.say(victim, short + seconds(9), ev.throttled(cluster.xact, draw.whole(4, 21), high, "10ms", order))
    for second in range(9, 30, 3):
        cluster.count(victim, short + second * SEC, getbatch_throttle_ns=draw.whole(1, 6) * 10 * MS)
    critical = ev.advice("critical", "100ms", "critical", "low", "low")
    for then, other in spread(stage, at - 9 * SEC, at - SEC, (1, 3), draw):
        chains.reject(stage, then, victim, other, critical, draw.whole(9, 33))
    tries = silent_tries(at, draw)
    for then in tries:
        chains.reject(stage, then, victim, rank, critical, draw.whole(11, 40))
    stage.job.raise_on(tries[-1] + 12 * MS, rank, chains.too_many_requests(stage, rank).traceback)
    stage.hang(at + 350 * MS, rank)
    return stage.close(
        "Another pod of that host was given a page cache of its own.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall",)),),
        ("all six tries are for the same designated target (colocation hint); others were taken at their second",),
    )


@kind(reads=True, hangs=False, lead_s=55.0, without=(*RESTARTS, "second_job"))
def bucket_is_destroyed_under_its_readers(stage: Stage) -> Scenario:
    """An administrator destroys the bucket that a job reads (`ais bucket rm`; ais/tgtcp.go, post-bmd).

    To convict: a new list of buckets by `destroy-bck` reaches all nodes, and targets abort the batches of that bucket
    for it; at once the rank's proxy answers 404, bucket does not exist, and the rank raises that and exits. All was
    read until then, and no node is ill.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, proxy = stage.draw.child("destroyed"), stage.proxy_of(stage.culprit)
    stage.open()
    gone = stage.mark(at - draw.span(11, 18), f"an administrator destroys ais://{stage.bucket}")
    aiscaretakers.bucket_destroyed(cluster, gone, draw)
    text = aistroubles.no_bucket(cluster, proxy, at - 2 * MS, f"GET /v1/ml/moss/{stage.bucket}")
    bucket_not_found(stage, at, rank, proxy, text)
    leaves(stage, at + 20 * MS, rank)
    made = of_all(stage.guilty("storage_io", victim, also=("infrastructure", "data")))
    return stage.close("It was on a list of buckets that nobody had read for a year.", (made,))


@kind(reads=True, min_timeout_s=120, lead_s=62.0, without=RESTARTS)
def s3_behind_the_bucket_asks_to_slow_down(stage: Stage) -> Scenario:
    """Cold reads are turned down by the store behind (S3 503 SlowDown; aistore docs/rate_limit; ais/backend/aws.go).

    To convict: several targets have `failed to cold-GET` with SlowDown for many names; one name is asked six times of
    one target in a minute and a half, and the rank that raises `too many 503` has that name and that address.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("slow down"), f"cold/{utterance(stage.draw.child('cold name'))}"
    stage.open()
    stage.mark(at - 12 * SEC, "the store behind begins to turn reads down")
    aistickets.reworded(cluster, "backends: []", "backends: [aws]")
    aisobjects.cold_gets(cluster, stage.job.begin, at - 12 * SEC, 0.9, 70, 320, draw.child("before"))
    aisobjects.cold_gets(cluster, at - 12 * SEC, over_at(stage), 4.5, 400, 1_900, draw.child("since"))
    for own in draw.shuffled(range(24))[: draw.whole(7, 14)]:
        then = at - 12 * SEC + own * 5 * SEC + draw.span(0, 4_000)
        node = draw.pick(cluster.up(then))
        aiscaretakers.store_slows_down(cluster, node, then, f"cold/{utterance(draw)}", draw)
    for then in silent_tries(at, draw):
        aisobjects.backend_refused(cluster, victim, then, name, aiscaretakers.SLOW_DOWN, 503)
    status_repeated(stage, rank, victim, name, 503)
    stage.hang(at + 330 * MS, rank)
    made = of_all(stage.guilty("storage_io", victim, also=("data_loading_stall", "infrastructure", "network")))
    return stage.close("Another team had begun to read the same prefix from the cloud.", (made,), ALIVE)


@kind(reads=True, lead_s=60.0, without=(*RESTARTS, "tenant_errors"))
def pod_of_an_etl_is_killed_amid_a_read(stage: Stage) -> Scenario:
    """The pod of a transformer is killed for its memory (aistore docs/etl, pod watcher; OOMKilled).

    To convict: the target whose pod it was says so, with its own name in the error that all others end the ETL with;
    that moment the rank's read through the ETL ends with EOF by that target, and later ones find no ETL anywhere.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("pod")
    stage.open()
    killed = stage.mark(at - draw.span(9, 16), f"the pod of {ETL} beside {victim.name} is killed")
    job = aiscaretakers.transforms(cluster, ETL, stage.job.begin - seconds(2), killed, draw)
    address = aiscaretakers.pod_killed(cluster, victim, killed + 4 * MS, job, draw)
    name = utterance(draw)
    text = aisservices.transform_failed(cluster, victim, at - 3 * MS, name, address)
    stage.job.raise_on(at, rank, transformed(stage, at, rank, victim, name, (400, "Bad Request"), text))
    for then, other in spread(stage, at + 200 * MS, at + 4 * SEC, (1, 3), draw):
        node, lost = draw.pick(cluster.up(then)), utterance(draw)
        missing = aisservices.no_transformer(cluster, node, then - 4 * MS, lost, ETL)
        why = one_line(stage, then, other, node, lost, 404, missing, f"&etl_name={ETL}")
        told(stage, then, other, "reader", f"{lost} left out: {why}", "WARNING")
    stage.hang(at + 300 * MS, rank)
    return stage.close(
        "One recording was nine hours long, and the transformer read it as a whole.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "software", "infrastructure")),),
        ALIVE,
    )
