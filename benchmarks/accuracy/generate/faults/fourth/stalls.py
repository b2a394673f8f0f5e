"""Storage faults of the fourth part that say little: a rate limit, a lock, a listing, copies, a slow link."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.clients import resumed, resumed_too_often, status_repeated
from benchmarks.accuracy.generate.faults.words.requests import batch_unanswered, exhausted, refused_get, retries
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisservices as services
from fixtures.generator import chains, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "fourth")


@kind(reads=True, min_timeout_s=120)
def rate_limited(stage: Stage) -> Scenario:
    """The bucket has a limit of requests a minute, and others use it up: proxies answer 429, no line on either side."""
    rank, at, proxy = stage.culprit, stage.at, stage.proxy_of(stage.culprit)
    draw = stage.draw.child("limited")
    stage.open()
    stage.mark(at - seconds(2), f"the rate limit of ais://{stage.bucket} is used up")
    name = utterance(draw)
    status_repeated(stage, rank, proxy, name, 429)
    stage.hang(at + 340 * MS, rank)
    made = replace(stage.guilty("storage_io", proxy, also=("data_loading_stall",)), ais_nodes=None)
    return stage.close(
        "An operator limits requests of a bucket for the sake of others; a read of one rank is turned down six times.",
        (made,),
    )


@kind(reads=True, uptime=True)
def object_locked(stage: Stage) -> Scenario:
    """A large object is being read from the backend for another job: whoever else wants it is sent away after 19 s."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("locked")
    stage.open()
    name = f"shards/train-{draw.whole(0, 4095):06d}.tar"
    stage.mark(at - seconds(2.7), f"{victim.name} begins to read {name} from its backend")
    then = at
    for attempt in range(2):
        over, text = services.waits_for_lock(cluster, victim, then, name)
        if attempt == 0:
            said = f"read of {name} failed (STATUS:409), retrying 1/1"
            stage.job.note(over + 5 * MS, rank, said, "W", 79)
            then = over + seconds(2)
    raised = refused_get(stage, over, rank, victim, name, (409, "Conflict"), text, "ErrBusy")
    stage.job.raise_on(over + 5 * MS, rank, raised)
    done, spent = at + draw.span(141_000, 190_000), draw.span(144_000, 192_000)
    size = draw.whole(44, 71) << 30
    cluster.count(victim, done, aws_get_n=1, aws_get_ns_total=spent, aws_get_size=size)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "The backend is slow and the object large; its lock is held until all of it is there.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall",)),),
        until=done + seconds(20),
    )


@kind(culprit=0, reads=True, lead_s=60.0)
def listing_waits(stage: Stage) -> Scenario:
    """Rank 0 lists the bucket for the next epoch; one target walks for minutes and the client's patience ends first."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, proxy = stage.draw.child("listing"), stage.proxy_of(0)
    stage.open()
    stage.job.note(at - 25 * MS, rank, f"listing ais://{stage.bucket} for the shards of the next epoch", line=64)
    stage.mark(at, f"{victim.name} lists ais://{stage.bucket} for minutes")
    over = at + seconds(stage.params.timeout_s)
    services.lists_long(cluster, victim, at, min(over + seconds(30), at + seconds(240)), draw)
    path = f"/v1/buckets/{stage.bucket}?provider=ais"
    text = sdk.pool_error(proxy.address, proxy.ports[0], path, sdk.read_timeout(proxy.address, proxy.ports[0]))
    then = retries(stage, at, rank, draw, 20.02, text, over - SEC)
    if then < over - SEC:
        code = "entries = self.bucket.list_all_objects(prefix='shards/')"
        site = stage.job.job.build["site"]
        inner = (
            sdk.Frame(stage.job.job.script, 65, "list_shards", code, True),
            sdk.Frame(f"{site}/aistore/sdk/bucket.py", 561, "list_all_objects", "resp = self.list_objects("),
        )
        exhausted(stage, then, rank, text, inner=inner)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A slow disk holds millions of small objects; a page of the listing is there when all targets have walked.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io",)),),
    )


@kind(reads=True)
def copies_take_disks(stage: Stage) -> Scenario:
    """An operator makes copies of a whole bucket while the job reads it: all disks are busy, nothing is an error."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("copies")
    stage.open()
    began = stage.mark(at - seconds(23), f"an operator asks for two copies of ais://{stage.bucket}")
    over = at + seconds(stage.params.timeout_s)
    services.make_copies(cluster, began, min(over + seconds(20), at + seconds(160)), 2, draw)
    then = at + seconds(20.02)
    for attempt in range(3):
        if then >= over - SEC:
            break
        wait = round(draw.between(1.0, 2.0**attempt + 0.5), 2)
        designated = cluster.target(draw.whole(0, 99))
        chains.read_timed_out(stage, then, designated, rank, wait)
        then += seconds(wait) + seconds(20.02)
    if then < over - SEC:
        batch_unanswered(stage, then, rank, designated)
    stage.hang(at + 350 * MS, rank)
    made = replace(stage.guilty("data_loading_stall", stage.victim, also=("storage_io",)), ais_nodes=None)
    return stage.close("A bucket gets a second copy of everything in the middle of the day.", (made,))


@kind(reads=True, may_be_undetermined=True)
def link_degraded(stage: Stage) -> Scenario:
    """The network link of a target runs at a hundredth of its speed: large reads stop and go, AIStore says nothing."""
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("link")
    stage.open()
    stage.mark(at - seconds(0.4), f"the link of {victim.name} falls back to 100 Mb/s")
    over = at + seconds(stage.params.timeout_s)
    for other in readers(stage)[:2]:
        resumed(stage, other, victim, f"shards/train-{draw.whole(0, 4095):06d}.tar", over - SEC, 1, draw)
    name = f"shards/train-{draw.whole(0, 4095):06d}.tar"
    then = resumed(stage, rank, victim, name, over - SEC, 5, draw)
    if then < over - SEC:
        resumed_too_often(stage, then, rank)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A cable is bad, the card has chosen the lowest speed. Small answers pass, keepalive notices nothing.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network")),),
    )
