"""Storage faults of the nineteenth part of limits and settings: writes held back, no room, little memory, checksums."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.loaders import put_refused
from benchmarks.accuracy.generate.faults.words.lodgers import asked_of, shard
from benchmarks.accuracy.generate.faults.words.settlers import part_not_sent
from benchmarks.accuracy.generate.faults.words.travellers import crawls_in_turns, late
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand, crawls
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisdisk as disks
from fixtures.generator import aismishaps as mishaps
from fixtures.generator import aisnights as nights
from fixtures.generator import aisservices as services
from fixtures.generator import sdk
from fixtures.generator.aisdisk import Space
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "nineteenth")
#: When the SDK of AWS for C++ asks again that is told 429, at most three times.
AGAIN_S = (0.0, 0.05, 0.16, 0.37)


@kind(culprit=0, hangs=False, lead_s=60.0)
def writes_of_a_bucket_are_limited(stage: Stage) -> Scenario:
    """A limit of writes is set for a bucket of checkpoints, pyarrow begins no upload (docs/rate_limit; arrow S3).

    To convict: pyarrow was told 429 of a key of the bucket of checkpoints, while the primary had given out new
    properties of buckets just before and proxies count errors of PUT, which they did not until then.
    """
    cluster, at = stage.cluster, stage.at
    draw, proxy = stage.draw.child("limited"), stage.proxy_of(0)
    stage.open()
    began = stage.mark(at - draw.span(12_000, 38_000), "a limit of writes is set for the bucket of checkpoints")
    mishaps.change_buckets(cluster, began, "set-bprops", draw)
    key = f"{stage.job.job.task}/step-{stage.step:07d}/model.pt"
    stage.job.note(
        at - draw.span(300, 900), 0, f"copying checkpoint to s3://checkpoints/{key} by {proxy.url(0)}", line=117
    )
    then = began + draw.span(300, 900)
    while then < at:
        cluster.count(draw.pick(cluster.proxies), then, err_put_n=draw.whole(3, 19))
        then += draw.span(1_900, 6_000)
    for after in AGAIN_S:
        cluster.count(proxy, at + seconds(after), err_put_n=1)
    message = f"{proxy.name}: too many requests (PUT /s3/checkpoints)"
    told = "UNKNOWN (HTTP status 429) during {op} operation (reached max retries): Unable to parse ExceptionName: "
    over = at + seconds(AGAIN_S[-1]) + draw.span(3, 19)
    part_not_sent(stage, over, 0, key, f"{told}ErrTooManyRequests Message: {message}", "CreateMultipartUpload")
    leaves(stage, over, 0)
    made = of_all(stage.guilty("storage_io", proxy, also=("infrastructure",)))
    return stage.close("Somebody's backups were to be slowed down, and these are kept in the same bucket.", (made,))


def _panics_unanswered(stage: Stage, node: Node, at: int, draw: Draw) -> None:
    """The handler of the first PUT that finds no room panics; the SDK asks again, and is told 507 then."""
    services.handler_panics(stage.cluster, node, at, stage.client(0), draw)
    cause = "('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))"
    stage.job.sdk_warning(at + 6 * MS, 0, sdk.retrying(1.57, "ConnectionError", cause))


@kind(culprit=0, hangs=False, ais_order=480, lead_s=60.0, without=(*DISKS, "tenant_out_of_space"))
def first_write_without_room_panics(stage: Stage) -> Scenario:
    """A target is above its limit, and the first write that finds that out panics (a run of 5.0; docs/storage_svcs).

    To convict: the target that the SDK's error names logs a panic as it serves a client at the moment of the SDK's
    first warning, then 507 of the key in that error, and has an alert that it is out of space.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, percent = stage.draw.child("panics"), stage.draw.child("percent").whole(95, 98)
    stage.open()
    used, total = 7450 * percent // 100, 7450
    space = Space(f"{used}.0GiB", f"{total - used}.4GiB", percent, f"{total}.58GiB")
    stage.mark(at - 40 * MS, f"{victim.name} is out of space")
    path = f"/v1/objects/checkpoints/{stage.job.job.task}/step={stage.step}.pt"
    stage.job.note(
        at - draw.span(900, 2_000), 0, f"saving checkpoint to ais://checkpoints/{path.split('/', 4)[4]}", line=116
    )
    _panics_unanswered(stage, victim, at, draw)
    again = at + seconds(1.6) + draw.span(3, 40)
    disks.put_rejected(cluster, victim, again - 4 * MS, path, space)
    disks.out_of_space(cluster, victim, at + 2 * MS, again + seconds(40), space)
    stage.job.raise_on(again, 0, put_refused(stage, again, victim, path, space.error))
    leaves(stage, again, 0)
    made = stage.guilty("storage_io", victim, also=("infrastructure", "network", "software"))
    return stage.close("A dashboard shows how full they are on average, and this one has smaller disks.", (made,))


@kind(reads=True, hangs=False, slurm=True, lead_s=70.0, without=(*RESTARTS, "tenant_rejected"))
def memory_is_freed_all_the_time(stage: Stage) -> Scenario:
    """A neighbour takes the memory of a host of storage, its target collects without end (docs/performance, memsys).

    To convict: steps got slow as one target began to free memory at every tick, for seconds each time, with an alert
    of its memory and reads that take long since; ranks say that they wait for batches, and one names its address.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("collects")
    stage.open()
    began = stage.mark(at - draw.span(2_000, 9_000), f"a neighbour takes the memory of {victim.name}")
    over, whose = crawls_in_turns(stage, draw.whole(9, 15), (5.0, 14.0))
    nights.frees_memory(cluster, victim, began, over + seconds(15), draw)
    then, turn = at + draw.span(4_000, 12_000), 0
    while then < over:
        waited = late(draw, (5, 13), began, then)
        said = f"no batch for {waited}" if turn else f"{waited} for {asked_of(stage, victim, utterance(draw))}"
        stage.job.note(then, whose(then), said, "W", 91, "loader")
        then, turn = then + draw.span(9_000, 26_000), turn + 1
    cancelled_by_hand(stage, over + draw.span(900, 7_000))
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure", "network"))
    made = replace(made, culprit_ranks=None)
    return stage.close(
        "Somebody has put a search index on the same hosts, and one of them has the largest part of it.", (made,)
    )


@kind(reads=True, hangs=False, slurm=True, lead_s=70.0)
def every_read_is_validated(stage: Stage) -> Scenario:
    """Validation of warm reads is switched on for shards of gigabytes: a job crawls (aistore docs/checksum, validate).

    To convict: steps got slow as the primary gave out new properties of buckets; since then all targets say that their
    processors are busy, and reads of shards take seconds each, while nothing else of the job has changed.
    """
    cluster, at = stage.cluster, stage.at
    draw = stage.draw.child("validated")
    stage.open()
    began = stage.mark(at - draw.span(900, 6_000), "warm reads of the bucket are validated")
    mishaps.change_buckets(cluster, began, "set-bprops", draw)
    over = crawls(stage, draw.whole(9, 14), 4.0, 11.0)
    nights.validates_reads(cluster, began, over + seconds(15), draw)
    who, then = [stage.culprit, *readers(stage)], at + draw.span(3_000, 9_000)
    while then < over:
        node, name = draw.pick(cluster.targets), shard(draw)
        said = f"first byte of {asked_of(stage, node, name)} after {late(draw, (4, 11), began, then)}"
        stage.job.note(then, draw.pick(who), said, "W", 74, "shards")
        then += draw.span(14_000, 33_000)
    cancelled_by_hand(stage, over + draw.span(900, 6_000))
    made = stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "infrastructure", "network"))
    made = replace(of_all(made), culprit_ranks=None)
    return stage.close(
        "A rotten shard had been found the week before, and nothing was to be sent unseen any more.", (made,)
    )
