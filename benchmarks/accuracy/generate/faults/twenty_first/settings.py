"""Storage faults of the twenty-first part of settings and orders: a bucket removed, keys, watermarks, limits."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.gateways import batch_error, batch_refused
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.regulars import status_to_the_end, tar_of, waited
from benchmarks.accuracy.generate.faults.words.travellers import crawls_in_turns
from benchmarks.accuracy.generate.faults.words.turns import of_all
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aismishaps as mishaps
from fixtures.generator import aisobjects
from fixtures.generator import aisrounds as rounds
from fixtures.generator import aistickets as tickets
from fixtures.generator import aistroubles as troubles
from fixtures.generator.model import Scenario
from fixtures.generator.moment import HOUR, MS, comma_stamp, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_first")
#: How full targets are that evict: by the watermark of old they need not.
ROOM = (
    (
        "used 3.3TiB, avail 334.4GiB [min=91%, avg=91%, max=91%]",
        "used 2.8TiB, avail 846.4GiB [min=77%, avg=77%, max=77%]",
    ),
    (
        "used 3.0TiB, avail 641.9GiB [min=83%, avg=83%, max=83%]",
        "used 2.5TiB, avail 1.1TiB [min=69%, avg=69%, max=69%]",
    ),
)
#: What a limit of requests is not drawn with: pressure of another kind, and a job that the limit would meet as well.
UNHURRIED = ("tenant_rejected", "tenant_out_of_space", "second_job")


@kind(reads=True, hangs=False, lead_s=60.0, without=("second_job",))
def retention_removes_the_bucket_in_use(stage: Stage) -> Scenario:
    """A nightly job of the storage team destroys old buckets (aistore docs/cli/bucket, ais bucket rm).

    To convict: the proxy that the failed rank asked does not know the bucket, which was read until then; the primary
    gave out a list of buckets moments before, for one was destroyed, and all ranks are told the same since.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, request = stage.draw.child("retention"), f"GET /v1/ml/moss/{stage.bucket}"
    stage.open()
    gone = stage.mark(at - draw.span(700, 3_000), f"ais://{stage.bucket} is destroyed")
    mishaps.change_buckets(cluster, gone, "destroy-bck", draw)
    cluster.end_batches(gone + 9 * MS, f"bucket ais://{stage.bucket} is being destroyed")
    status, tcode = (404, "Not Found"), "ErrBckNotFound"
    for other in readers(stage)[: draw.whole(2, 5)]:
        then = gone + int((at - gone) * draw.between(0.1, 0.95))
        text = troubles.no_bucket(cluster, stage.proxy_of(other), then, request)
        stage.job.note(
            then + 4 * MS, other, f"batch put off: {batch_error(stage, other, status, text, tcode)}", "W", 96
        )
    text = troubles.no_bucket(cluster, stage.proxy_of(rank), at - 5 * MS, request)
    said = batch_refused(stage, rank, status, text, tcode)
    stage.job.raise_on(at, rank, said.replace("errors.AISError", "errors.ErrBckNotFound"))
    leaves(stage, at, rank)
    return stage.close(
        "It was to keep what was written this year, and asked for when the bucket was made.",
        (of_all(stage.guilty("storage_io", stage.proxy_of(rank), also=("data", "data_loading_stall"))),),
    )


@kind(reads=True, hangs=False, lead_s=60.0, ais_order=420, without=("second_job", "restart_before", "kill_after"))
def signing_key_changed_under_a_running_job(stage: Stage) -> Scenario:
    """The key of tokens is changed in the cluster's configuration, tokens are not (aistore docs/authn).

    To convict: proxies refuse the signature of a token that the job says is valid for hours, and took until then; a new
    configuration was given out moments before, and ranks of all hosts are refused since.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, job = stage.draw.child("signing"), stage.job.job
    request, status = f"GET /v1/ml/moss/{stage.bucket}", (401, "Unauthorized")
    stage.open()
    until = comma_stamp(at + draw.whole(5, 40) * HOUR, job.zone).split(",")[0]
    reader_note(
        stage, stage.job.begin + 30 * MS, 0, f"AIS_AUTHN_TOKEN of svc-{job.task.split('_')[0]}, expires {until}"
    )
    tickets.reworded(cluster, "authentication: false", "authentication: true")
    changed = stage.mark(at - draw.span(1_500, 6_000), "the key that tokens are signed with is changed")
    troubles.reconfigured(cluster, changed, draw)
    for proxy in cluster.proxies:
        tickets.tokens_taken(cluster, proxy, changed, draw)
    for other in readers(stage)[: draw.whole(2, 5)]:
        then = changed + int((at - changed) * draw.between(0.1, 0.95))
        text = tickets.signature_refused(cluster, stage.proxy_of(other), then, request)
        stage.job.note(then + 4 * MS, other, f"batch put off: {batch_error(stage, other, status, text)}", "W", 96)
    text = tickets.signature_refused(cluster, stage.proxy_of(rank), at - 5 * MS, request)
    stage.job.raise_on(at, rank, batch_refused(stage, rank, status, text))
    leaves(stage, at, rank)
    return stage.close(
        "A yearly duty, done by the book, of which a page is missing.",
        (of_all(stage.guilty("storage_io", stage.proxy_of(rank), also=("software", "infrastructure"))),),
    )


@kind(reads=True, hangs=False, slurm=True, lead_s=75.0, without=("low_space", "tenant_out_of_space"))
def watermark_was_set_below_what_is_in_use(stage: Stage) -> Scenario:
    """Somebody lowers the high watermark, targets evict what a job reads (aistore docs/storage_svcs, LRU).

    To convict: steps got slow right after a new configuration, upon which all targets began to evict, with a fifth of
    their space to spare; ranks say that shards that were in the cluster when they began are cold now, and targets count
    reads of the cloud since then.
    """
    cluster, at = stage.cluster, stage.at
    draw = stage.draw.child("watermark")
    stage.open()
    changed = stage.mark(at - draw.span(11_000, 21_000), "the high watermark is set below what is in use")
    tickets.reworded(cluster, "backends: []", "backends: [aws]")
    troubles.reconfigured(cluster, changed, draw)
    over, whose = crawls_in_turns(stage, draw.whole(9, 14), (5.0, 12.0))
    for node in cluster.up(changed):
        aisobjects.evict(cluster, node, changed + draw.span(900, 5_000), over + seconds(18) + draw.span(1, 9_000), draw)
    for old, new in ROOM:
        tickets.reworded(cluster, old, new)
    rounds.reads_cold(cluster, changed + seconds(7), over + seconds(10), 0.7, (3_000, 9_500), (60, 240), draw)
    then = at + draw.span(6_000, 10_000)
    while then < over:
        said = f"{tar_of(draw)} took {draw.between(4.2, min(11.0, (then - changed) / 1e9)):.1f} s, present=False"
        stage.job.note(then, whose(then), f"{said} (True when the job began)", "W", 91, "shards")
        then += draw.span(7_000, 19_000)
    cancelled_by_hand(stage, over + draw.span(900, 7_000))
    made = of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "infrastructure", "network")))
    return stage.close(
        "Another bucket was to get some room over lunch.",
        (replace(made, culprit_ranks=None),),
    )


@kind(reads=True, hangs=False, min_timeout_s=120, lead_s=60.0, without=UNHURRIED)
def requests_of_the_bucket_are_limited(stage: Stage) -> Scenario:
    """A limit is set on reads of a bucket, proxies answer 429 without a line (aistore docs/rate_limit, frontend).

    To convict: the SDK's error tells of too many 429 by a proxy, ranks of all hosts meet the same; no node has any
    pressure, and properties of a bucket were changed moments before.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("limited")
    stage.open()
    limited = stage.mark(at - draw.span(900, 5_000), f"a limit of requests is set on ais://{stage.bucket}")
    mishaps.change_buckets(cluster, limited, "set-bprops", draw)
    _, over = status_to_the_end(stage, rank, stage.proxy_of(rank), utterance(draw), 429)
    for turn, other in enumerate(readers(stage)[: draw.whole(3, 6)]):
        then = at + seconds(14 + 11 * turn) + draw.span(1, 7_000)
        url = f"{stage.proxy_of(other).url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}"
        said = (
            f"{waited(at - draw.span(20, 600), then)} without a sample, last: ErrRateLimitFrontend: Too Many Requests"
        )
        stage.job.note(then, other, f"{said} ({url})", "W", 91, "loader")
    leaves(stage, over, rank)
    return stage.close(
        "It was meant for a bucket of downloads whose name is one letter longer.",
        (of_all(stage.guilty("data_loading_stall", stage.proxy_of(rank), also=("storage_io", "network"))),),
    )
