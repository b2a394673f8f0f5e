"""Storage faults of the fourteenth part that disks of a target have: slow, with errors, full, with changed content."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words.aftermaths import left_out, no_tar, nothing_to_put_together
from benchmarks.accuracy.generate.faults.words.callers import loader_timed_out
from benchmarks.accuracy.generate.faults.words.clients import TRIES_S
from benchmarks.accuracy.generate.faults.words.loaders import dataset_frames, in_worker
from benchmarks.accuracy.generate.faults.words.requests import object_path
from benchmarks.accuracy.generate.faults.words.turns import over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers, writers_to
from fixtures.generator import aisdisk as disk
from fixtures.generator import aislosses as losses
from fixtures.generator import aismishaps as mishaps
from fixtures.generator import aisobjects, sdk
from fixtures.generator import aistroubles as troubles
from fixtures.generator.aisdisk import Space
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "fourteenth")


@kind(reads=True, hangs=False, min_timeout_s=90, lead_s=60.0, without=DISKS)
def slow_disk_outlasts_loader(stage: Stage) -> Scenario:
    """A disk is slow and has no error; a loader's wait ends (webdataset#267, #339; aistore docs/performance)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, limit = stage.draw.child("outlasts"), min(stage.params.timeout_s - 20, 120) // 10 * 10
    stage.open()
    began = stage.mark(at - draw.span(11_000, 39_000), f"a disk of {victim.name} becomes slow")
    losses.disk_slows(cluster, victim, began, at + seconds(limit + 50), draw)
    for turn, other in enumerate(readers(stage)[: draw.whole(2, 4)]):
        late, name = at - seconds(6) + seconds(11 * turn) + draw.span(1, 6_000), utterance(draw)
        url = f"{victim.url(0)}/v1/objects/{stage.bucket}/{name}"
        stage.job.note(late, other, f"slow read: {draw.between(15, 40):.1f} s for {url}", "W", 80)
    over = at + seconds(limit) + draw.span(3, 40)
    loader_timed_out(stage, over, rank, limit)
    exits(stage, over, rank)
    return stage.close(
        "A batch of the rank has several samples of that disk, and they are read one after the other.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network")),),
    )


@kind(reads=True, hangs=False, min_timeout_s=120, lead_s=60.0, without=DISKS)
def sector_read_in_worker(stage: Stage) -> Scenario:
    """A sector is lost, the disk is said to be well; a loader process dies after its retries (aistore docs/fshc)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("sector"), utterance(stage.draw.child("name"))
    stage.open()
    stage.mark(at, f"sectors of a disk of {victim.name} cannot be read")
    for after in TRIES_S:
        then = at + seconds(after) + draw.span(2, 9)
        error = troubles.not_readable(cluster, victim, then, name, False)
        if after in (0.0, 42.14):
            troubles.examined(cluster, victim, then + MS, error, True, draw)
    over = at + seconds(TRIES_S[-1]) + draw.span(14, 40)
    text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, rank, name), sdk.too_many(500))
    in_worker(stage, over, rank, "requests.exceptions.RetryError", text, dataset_frames(stage))
    exits(stage, over, rank)
    return stage.close(
        "One file in a million; what examines the disk writes a file and reads it, which goes well.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )


@kind(lead_s=60.0, without=DISKS)
def shards_of_one_target_late(stage: Stage) -> Scenario:
    """Some ranks of a sharded checkpoint do not come to an end, others wait (marin#9209; pytorch, watchdog in save)."""
    cluster, victim, at, job = stage.cluster, stage.victim, stage.at, stage.job
    draw, over = stage.draw.child("late shards"), over_at(stage)
    absent = writers_to(stage, draw)
    stage.open()
    where = f"checkpoints/{job.job.task}/step-{stage.step}"
    job.note(at - 60 * MS, 0, f"saving s3://{where}: a shard of each of {job.job.world} ranks", line=116)
    began = stage.mark(at - draw.span(2_000, 19_000), f"a disk of {victim.name} writes next to nothing")
    mishaps.writes_crawl(cluster, victim, began, over + seconds(40), draw)
    others = [node for node in cluster.targets if node is not victim]
    for rank in range(job.job.world):
        if rank not in absent:
            spent, size = draw.span(900, 4_100), draw.whole(210, 640) << 20
            node = draw.pick(others)
            cluster.count(node, at + spent, put_n=1, put_ns_total=spent, put_size=size)
    for rank in absent[:3]:
        then = at + seconds(30) + draw.span(1, 90)
        while then < over - SEC:
            told = f"part 1 of __{rank}_0.distcp is written for {(then - at) / SEC:.0f} s"
            job.note(then, rank, f"{told} ({victim.url(0)})", "W", 118)
            then += seconds(60)
    stage.hang(at + seconds(4.4), *absent)
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "rank_hang"))
    return stage.close(
        "The disk has worn out: each write of it waits for a block that it has to erase first.",
        (replace(made, culprit_ranks=tuple(absent)),),
    )


@kind(reads=True, hangs=False, lead_s=60.0)
def error_taken_for_a_shard(stage: Stage) -> Scenario:
    """A shard has changed on disk, curl hands the error on as if it were tar (streaming#759; webdataset, pipe)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, shard = stage.draw.child("taken"), f"shards/train-{stage.draw.child('shard').whole(0, 4095):06d}.tar"
    stage.open()
    stage.mark(at, f"content of a shard on {victim.name} is not what was stored")
    aisobjects.bad_checksum(cluster, victim, at, shard, draw)
    url = f"{stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{shard}"
    no_tar(stage, at + draw.span(6, 40), rank, url)
    exits(stage, at + 30 * MS, rank)
    return stage.close(
        "A power failure of last week left some blocks as they were before; a read is checked, nothing else is.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )


@kind(reads=True, hangs=False, lead_s=90.0, without=DISKS)
def drops_leave_an_empty_batch(stage: Stage) -> Scenario:
    """A loader leaves out what it cannot read until nothing is left to stack (NeMo Speech PR 15612; lhotse)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("drops")
    stage.open()
    began = stage.mark(at - draw.span(14_000, 31_000), f"a disk of {victim.name} has errors")
    others = readers(stage)[:6]
    turns = sorted(began + int((at - SEC - began) * draw.between(0.02, 1)) for _ in range(draw.whole(7, 14)))
    lost = [(then, draw.pick([rank, *others])) for then in turns]
    for turn, (then, who) in enumerate([*lost, *((at - left * 40 * MS, rank) for left in (4, 3, 2, 1))]):
        name = utterance(draw)
        text = troubles.not_readable(cluster, victim, then, name, False)
        if not turn:
            troubles.examined(cluster, victim, then + MS, text, True, draw)
        left_out(stage, then + 5 * MS, who, victim, name)
    nothing_to_put_together(stage, at, rank)
    exits(stage, at, rank)
    return stage.close(
        "Long recordings make batches of four; all four of one were on the disk that fails.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "software")),),
    )


def _refused(stage: Stage, rank: int, path: str, text: str) -> str:
    """The SDK's words for a PUT that the victim has no room for, in one line."""
    body = sdk.answer(stage.victim, 507, text, "PUT", path, stage.client(rank))
    return sdk.request_error(507, body, f"{stage.victim.url(0)}{path}?provider=ais", " ")


@kind(lead_s=60.0, without=("tenant_out_of_space", "low_space"))
def failed_shards_strand_the_others(stage: Stage) -> Scenario:
    """Ranks whose upload is refused try again, the others wait for them (marin#9213; aistore docs/storage_svcs)."""
    cluster, victim, at, job = stage.cluster, stage.victim, stage.at, stage.job
    draw, percent = stage.draw.child("strand"), stage.draw.child("percent").whole(95, 97)
    used, absent = 7450.58 * percent / 100, writers_to(stage, draw)
    space = Space(f"{used:.1f}GiB", f"{7450.58 - used:.1f}GiB", percent, "7450.58GiB")
    stage.open()
    where = f"checkpoints/{job.job.task}/step-{stage.step}"
    job.note(at - 60 * MS, 0, f"saving ais://{where}: a shard of each of {job.job.world} ranks", line=116)
    full = stage.mark(at + draw.span(300, 1_900), f"{victim.name} runs out of space")
    disk.out_of_space(cluster, victim, full, over_at(stage) + seconds(20), space)
    for rank in absent:
        then, path, pause = full + draw.span(4, 900), f"/v1/objects/{where}/__{rank}_0.distcp", 15
        while then < over_at(stage) - SEC:
            disk.put_rejected(cluster, victim, then, path, space)
            said = f"shard of step {stage.step} not written, next try in {pause} s: AISError: "
            job.note(then + 5 * MS, rank, said + _refused(stage, rank, path, space.error), "W", 127)
            then += seconds(pause) + draw.span(900, 2_400)
            pause = min(2 * pause, 120)
    for rank in range(job.job.world):
        if rank not in absent:
            spent, size = draw.span(900, 3_100), draw.whole(210, 640) << 20
            cluster.count(stage.other_target(victim, rank), at + spent, put_n=1, put_ns_total=spent, put_size=size)
    stage.hang(at + seconds(3.4), *absent)
    made = stage.guilty("storage_io", victim, also=("data_loading_stall", "rank_hang", "software"))
    return stage.close(
        "Whoever wrote the loop did not want to lose a run for one bad minute of storage.",
        (replace(made, culprit_ranks=tuple(absent)),),
    )
