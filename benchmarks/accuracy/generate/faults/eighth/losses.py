"""Storage faults of the eighth part that lose something: half a copy, a shard's end, a disk, a folder, a name."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.outlets import listing_refused, shard_ends_early
from benchmarks.accuracy.generate.faults.words.requests import object_path, refused_get
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfailings as failings
from fixtures.generator import aisobjects, sdk
from fixtures.generator import aisrefusals as refusals
from fixtures.generator.draw import LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("storage", "eighth")


@kind(reads=True, uptime=True, lead_s=70.0)
def copy_cut_short(stage: Stage) -> Scenario:
    """The bucket that is read is a copy, and one target has given up its share of it: some objects are nowhere."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("copy")
    source = f"s3://{stage.bucket}-archive"
    began = stage.mark(cluster.begin - draw.span(45_000, 170_000), f"{source} is copied, {victim.name} gives up")
    failings.copy_broken(cluster, began, victim, source, draw)
    stage.open()
    skipped = [after for after in (-31.0, -22.4, -11.7, -4.2, 1.8) if after > -stage.params.lead_s + 12]
    for count, (other, after) in enumerate(zip(readers(stage), skipped, strict=False), 1):
        name, then = utterance(draw), at + seconds(after) + draw.span(1, 900)
        text = aisobjects.not_there(cluster, cluster.target(draw.whole(0, 99)), then, name)
        stage.job.note(then + 5 * MS, other, f"cut {name} skipped: {text} ({count} of 8 allowed)", "W", 84)
    name, owner = utterance(draw), cluster.target(draw.whole(0, 99))
    text = aisobjects.not_there(cluster, owner, at, name)
    stage.job.raise_on(at + 6 * MS, rank, refused_get(stage, at, rank, owner, name, (404, "Not Found"), text))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A copy was asked for in a hurry before the job; that it ended with an error on one target nobody has read.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )


@kind(reads=True, uptime=True)
def shard_without_end(stage: Stage) -> Scenario:
    """Members were appended to a shard in its place when the disk had no room: whoever reads it finds no end."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, shard = stage.draw.child("append"), f"shards/train-{stage.draw.child('shard').whole(0, 4095):06d}.tar"
    stage.open()
    began = stage.mark(at - draw.span(15_000, 38_000), f"members appended to {shard} are cut off at {victim.name}")
    others = [f"shards/train-{draw.whole(0, 4095):06d}.tar" for _ in range(draw.whole(2, 6))]
    for turn, one in enumerate((shard, *others)):
        refusals.append_broken(cluster, victim, began + turn * SEC + draw.span(1, 800), one)
    for other, one, after in zip(readers(stage), others, (-7.7, 2.1), strict=False):
        said = f"{one}: ReadError('unexpected end of data'), reading on with the next shard (1 of 2 allowed)"
        stage.job.note(at + seconds(after) + draw.span(1, 900), other, said, "W", 88)
    cluster.count(victim, at - 300 * MS, get_n=1, get_ns_total=210_000_000, get_size=draw.whole(9, 80) << 20)
    shard_ends_early(stage, at, rank, shard)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Corrections are appended to shards at night; this night ended at noon.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "software")),),
    )


@kind(reads=True, lead_s=60.0, without=("restart_before",))
def twice_the_same(stage: Stage) -> Scenario:
    """A second pod has the identity of a target and empty disks: clients are sent now to the one, now to the other."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("twice")
    stage.open()
    began = stage.mark(at - draw.span(9_000, 28_000), f"a second process calls itself {victim.name}")
    failings.twice_there(cluster, victim, began, at + seconds(min(stage.params.timeout_s, 150)), draw)
    twin = replace(victim, address=f"{victim.address.rsplit('.', 1)[0]}.{draw.whole(230, 250)}")
    for other, after in zip(readers(stage), (-6.2, -3.7, -1.4, 2.2), strict=False):
        name, then = utterance(draw), at + seconds(after) + draw.span(1, 900)
        url = twin.url(0) + object_path(stage, other, name)
        said = f"cut {name} skipped: STATUS:404, MESSAGE:{sdk.missing_object(twin, stage.bucket, name)}, REQ_URL:{url}"
        stage.job.note(then, other, said, "W", 84)
    name = utterance(draw)
    text = sdk.missing_object(twin, stage.bucket, name)
    stage.job.raise_on(at + 6 * MS, rank, refused_get(stage, at, rank, twin, name, (404, "Not Found"), text))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A volume was bound anew and the old pod was never stopped; the log of the second one nobody has collected.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "infrastructure")),),
    )


@kind(reads=True, without=("mountpath_before",))
def wrong_disk_detached(stage: Stage) -> Scenario:
    """An operator takes the wrong disk out of a target: nothing is broken, and what was on it is not found."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("wrong disk")
    stage.open()
    began = stage.mark(at - draw.span(5_000, 27_000), f"an operator detaches a disk of {victim.name}")
    failings.detach_disk(cluster, victim, began)
    for other, after in zip(readers(stage), (-4.4, -1.9, 1.2, 3.3), strict=False):
        name, then = utterance(draw), at + seconds(after) + draw.span(1, 800)
        text = aisobjects.not_there(cluster, victim, then, name)
        stage.job.note(then + 5 * MS, other, f"cut {name} skipped: {text}", "W", 84)
    name = utterance(draw)
    text = aisobjects.not_there(cluster, victim, at, name)
    stage.job.raise_on(at + 6 * MS, rank, refused_get(stage, at, rank, victim, name, (404, "Not Found"), text))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A disk of another host was to be changed; the names of disks are the same on all hosts.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )


@kind(culprit=0, hangs=False, lead_s=60.0)
def folder_damaged(stage: Stage) -> Scenario:
    """A folder on a disk of a target is damaged: objects are read as ever, but the bucket cannot be listed."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, proxy = stage.draw.child("folder"), stage.proxy_of(0)
    stage.open()
    stage.mark(at - 20 * MS, f"{victim.name} cannot read a folder of the bucket")
    folder, again = f"train/{draw.token(2, LOWER)}", draw.whole(1, 4)
    stage.job.note(at - seconds(9.2), rank, f"listing ais://{stage.bucket} for the next epoch", line=51)
    then = at
    for attempt in range(1, again):
        text = refusals.walk_broken(cluster, victim, proxy, then, folder, draw)
        said = f"listing of ais://{stage.bucket} failed ({text}), attempt {attempt} of {again}"
        stage.job.note(then + 9 * MS, rank, said, "W", 54)
        then += draw.span(4_000, 9_000)
    text = refusals.walk_broken(cluster, victim, proxy, then, folder, draw)
    stage.job.raise_on(then + 9 * MS, rank, listing_refused(stage, proxy, text))
    ended = stage.job.agents_end([Exit(rank, then + 900 * MS, 1)], then + 900 * MS)
    made = stage.guilty("storage_io", victim, also=("data_loading_stall",))
    return stage.close(
        "A host lost its power in spring, and XFS has kept the damage for itself until now.", (made,), until=ended
    )
