"""Storage faults of the fifteenth part that disks have: errors below a mount, too little room, heat, lost bytes."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words.patrons import (
    checkpoint_gone,
    picture_is_none,
    put_failed,
    rclone_retries,
    weights_incomplete,
)
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, in_vain, others_wait, over_at
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand, crawls
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfailings as failings
from fixtures.generator import aislosses as losses
from fixtures.generator import aispassages as passages
from fixtures.generator import aistroubles as troubles
from fixtures.generator import aisyearly as yearly
from fixtures.generator.aisdisk import Space
from fixtures.generator.draw import LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "fifteenth")


@kind(reads=True, hangs=False, lead_s=60.0, without=DISKS)
def picture_behind_a_failing_disk(stage: Stage) -> Scenario:
    """A disk fails below a mount: OpenCV returns nothing, and a loader asserts (YOLOX#697, #345; aistore docs/fshc)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("picture")
    stage.open()
    began = stage.mark(at - draw.span(7_000, 21_000), f"a disk of {victim.name} has errors")
    for turn, other in enumerate(readers(stage)[: draw.whole(1, 4)]):
        then, name = began + (at - began) * turn // 6, f"train/{draw.token(2, LOWER)}/{draw.whole(0, 999_999):012d}.jpg"
        for attempt in range(1, draw.whole(2, 5)):
            text = troubles.not_readable(cluster, victim, then, name, True)
            rclone_retries(stage, then + 3 * MS, other, name, text, attempt)
            then += draw.span(20, 160)
    name, then, text = f"train/{draw.token(2, LOWER)}/{draw.whole(0, 999_999):012d}.jpg", at - 900 * MS, ""
    for attempt in range(1, 11):
        text = troubles.not_readable(cluster, victim, then, name, True)
        rclone_retries(stage, then + 3 * MS, rank, name, text, attempt)
        then += draw.span(20, 80)
    troubles.examined(cluster, victim, at - 850 * MS, text, False, draw)
    picture_is_none(stage, at, rank, name)
    exits(stage, at + 3 * MS, rank)
    return stage.close(
        "Some blocks of the disk can still be read at the second or third attempt, those of this picture cannot.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )


@kind(culprit=0, hangs=False, lead_s=60.0, without=("tenant_out_of_space", "low_space"))
def smaller_target_fills_first(stage: Stage) -> Scenario:
    """One target has less room than the others and is full while they are not: 507 (aistore issue 176)."""
    cluster, victim, at, job = stage.cluster, stage.victim, stage.at, stage.job
    draw, percent = stage.draw.child("smaller"), stage.draw.child("percent").whole(95, 98)
    used = 1862.64 * percent / 100
    space = Space(f"{used:.1f}GiB", f"{1862.64 - used:.1f}GiB", percent, "1862.64GiB")
    stage.open()
    key = f"{job.job.task}/step={stage.step}.pt"
    job.note(at - 60 * MS, 0, f"saving s3://checkpoints/{key} ({draw.between(2, 4.8):.1f} GiB)", line=116)
    then = stage.mark(at + draw.span(900, 3_400), f"{victim.name} runs out of space")
    disk.out_of_space(cluster, victim, then, then + seconds(90), space)
    for wait in (0.0, 0.7, 1.6, 3.1, 6.8):
        then += seconds(wait) + draw.span(600, 2_900)
        disk.put_rejected(cluster, victim, then, f"/s3/checkpoints/{key}", space)
    put_failed(stage, then + 5 * MS, 0, 507, "Insufficient Storage", key)
    exits(stage, then + 5 * MS, 0)
    return stage.close(
        "It was bought a year before the others, with disks of a quarter of their size, and gets as many objects.",
        (stage.guilty("storage_io", victim, also=("software",)),),
    )


@kind(reads=True, lead_s=60.0, without=DISKS)
def disks_slowed_by_heat(stage: Stage) -> Scenario:
    """A fan has failed, and all disks of a host slow themselves down (NVMe: thermal; aistore docs/performance)."""
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw = stage.draw.child("heat")
    stage.open()
    began = stage.mark(at - draw.span(19_000, 44_000), f"the disks of {victim.name} are too warm")
    yearly.slowed_by_heat(cluster, victim, began, over + seconds(30), draw)
    others_wait(stage, [victim], draw)
    in_vain(stage, victim, over)
    stage.hang(at + 340 * MS, stage.culprit)
    return stage.close(
        "A disk that is too warm does what it did with a delay, and tells it to who asks for its temperature.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network")),),
    )


@kind(reads=True, trains=False, hangs=False)
def weights_cut_off_by_a_disk(stage: Stage) -> Scenario:
    """Weights end in the middle for a disk, curl says so, nobody listens: safetensors (airllm#137, InvokeAI#7009)."""
    cluster, victim, job = stage.cluster, stage.victim, stage.job
    draw, own = stage.draw.child("weights"), stage.job.job
    job.start()
    at = job.begin + draw.span(6_000, 14_000)
    stage.mark(at - 2 * SEC, f"a part of the weights cannot be read on {victim.name}")
    name, number = f"models/base-{draw.whole(1, 9)}b/model.safetensors", draw.whole(0, len(victim.disks) - 1)
    ranks = list(range(0, own.world, own.ranks_per_node))
    size, error = draw.whole(3_000, 15_000) << 20, ""
    left = [size - draw.whole(1, 9) * (size // 10) // 131_072 * 131_072 for _ in ranks]
    left = [left[0]] * len(ranks)
    for turn in range(len(ranks)):
        error = passages.cut_off_by_disk(cluster, victim, at + turn * 170 * MS - 402 * MS, name, number)
    troubles.examined(cluster, victim, at - 300 * MS, error, True, draw)
    ended = weights_incomplete(stage, at, ranks, left, name)
    made = stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "software"))
    return stage.close(
        "All hosts read the same object, and it ends for all of them at the same sector.",
        (replace(made, culprit_ranks=tuple(ranks)),),
        until=ended,
    )


@kind(reads=True, trains=False, hangs=False, uptime=True, without=(*RESTARTS, "low_space", "tenant_out_of_space"))
def last_checkpoint_was_evicted(stage: Stage) -> Scenario:
    """Eviction is on for checkpoints as for all else; a job has nothing to go on from (aistore docs/storage_svcs)."""
    cluster, victim, job = stage.cluster, stage.victim, stage.job
    draw, own = stage.draw.child("evicted"), stage.job.job
    opened = max(cluster.last_process(node).opened_at for node in cluster.nodes)
    gone = max(opened + 12 * SEC, job.begin - draw.span(61_000, 190_000))
    yearly.evicted_overnight(cluster, victim, stage.mark(gone, f"{victim.name} evicts a checkpoint"), draw)
    job.start()
    at = max(job.begin, gone + 15 * SEC) + draw.span(900, 2_600)
    name = f"{own.task}/step={draw.whole(9, 90) * 500}.pt"
    job.note(at - 90 * MS, 0, f"going on from ais://checkpoints/{name}", line=104)
    text, path = f"{victim.name}: ais://checkpoints/{name} does not exist", f"/v1/objects/checkpoints/{name}"
    for turn in range(len(own.hosts)):
        cluster.count(victim, at + turn * 90 * MS, err_get_n=1)
        request = f"GET {path}"
        said = ev.http_error(victim, text, request, "htrun.go:1636", "ErrNotFound")
        cluster.say(victim, at + turn * 90 * MS - 2 * MS, said)
    ended = checkpoint_gone(stage, at, victim, path, text)
    made = stage.guilty("storage_io", victim, also=("data", "infrastructure"))
    firsts = tuple(range(0, own.world, own.ranks_per_node))
    return stage.close(
        "The bucket has the defaults of the cluster, and the job had waited three hours in the queue.",
        (replace(made, culprit_ranks=firsts),),
        until=ended,
    )


@kind(reads=True, hangs=False, slurm=True, lead_s=60.0, without=DISKS)
def one_disk_holds_up_every_step(stage: Stage) -> Scenario:
    """In each step some rank reads from the same slow disk: all crawl (aistore docs/metrics, docs/performance)."""
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("holds up")
    stage.open()
    began = stage.mark(at - draw.span(7_000, 18_000), f"a disk of {victim.name} becomes slow")
    over = crawls(stage, draw.whole(9, 14), 11.0, 29.0)
    losses.disk_slows(cluster, victim, began, over + seconds(30), draw)
    who, then = [stage.culprit, *readers(stage)], at + draw.span(9_000, 14_000)
    while then < over:
        url = f"{victim.url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}"
        stage.job.note(then, draw.pick(who), f"slow read: {draw.between(9, 28):.1f} s for {url}", "W", 80)
        then += draw.span(9_000, 31_000)
    cancelled_by_hand(stage, over + draw.span(2_000, 19_000))
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure"))
    return stage.close(
        "It is another rank each time, for each batch of all ranks together has some samples of that disk.",
        (replace(made, culprit_ranks=None),),
    )


@kind(culprit=0, lead_s=60.0, without=DISKS)
def resilver_delays_a_checkpoint(stage: Stage) -> Scenario:
    """A disk was added and a target moves what it has: an upload is not completed (aistore docs/resilver)."""
    cluster, victim, at, job = stage.cluster, stage.victim, stage.at, stage.job
    draw, over = stage.draw.child("resilver"), over_at(stage)
    stage.open()
    began = stage.mark(at - draw.span(15_000, 48_000), f"{victim.name} begins to move what it has onto a new disk")
    failings.resilver_at_length(cluster, victim, began, over + seconds(30), draw)
    key, upload = f"{job.job.task}/step={stage.step}.pt", draw.token(9)
    parts, first = draw.whole(90, 400), at + draw.span(9_000, 26_000)
    job.note(at - 60 * MS, 0, f"saving s3://checkpoints/{key} in {parts} parts", line=116)
    for turn in range(parts):
        spent = draw.span(300, 2_900)
        cluster.count(victim, at + (first - at) * turn // parts, put_n=1, put_ns_total=spent, put_size=64 << 20)
    then, attempt = first + seconds(60.02), 1
    while then < over - SEC:
        url = f"{stage.proxy_of(0).url(0)}/s3/checkpoints/{key}?uploadId={upload}"
        said = f'upload not completed, attempt {attempt}: Read timeout on endpoint URL: "{url}"'
        job.note(then, 0, said, "W", 119)
        then, attempt = then + seconds(60.02) + draw.span(400, 3_900), attempt + 1
    stage.hang(at + 340 * MS, 0)
    return stage.close(
        "To complete an upload the target reads all its parts once more, and its disks have other work.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "rank_hang")),),
    )
