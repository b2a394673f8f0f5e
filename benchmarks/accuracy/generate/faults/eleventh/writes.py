"""Storage faults of the eleventh part that writes meet: checkpoints of shards that find no room."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.outlets import shards_not_saved
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisdisk as disk
from fixtures.generator.aisdisk import Space
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "eleventh")


@kind(hangs=False, lead_s=60.0, without=("tenant_out_of_space", "low_space"))
def shards_find_no_room(stage: Stage) -> Scenario:
    """Nobody removes old checkpoints: a target runs full as one is written (NVIDIA/aistore docs/storage_svcs)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, percent = stage.draw.child("no room"), stage.draw.child("percent").whole(95, 98)
    used = 3725.29 * percent / 100
    space = Space(f"{used:.1f}GiB", f"{3725.29 - used:.1f}GiB", percent, "3725.29GiB")
    stage.open()
    folder, saving = f"{stage.job.job.task}/step-{stage.step}", at - draw.span(2_000, 9_000)
    stage.job.note(saving, 0, f"saving sharded checkpoint to s3://checkpoints/{folder}", line=121)
    full = stage.mark(saving + (at - saving) // 2, f"{victim.name} runs out of space")
    disk.out_of_space(cluster, victim, full, at + seconds(40), space)
    for node in cluster.targets:
        puts = draw.whole(2, 9)
        cluster.count(node, full - 90 * MS, put_n=puts, put_ns_total=puts * draw.span(300, 2_900), put_size=puts << 28)
    ranks = sorted({rank, *readers(stage)[: draw.pick((0, 1, 2, 3))]})
    failed, last = {}, at
    for one in ranks:
        then, path = at + draw.span(1, 300), f"/s3/checkpoints/{folder}/__{one}_0.distcp"
        for attempt in range(5):
            disk.put_rejected(cluster, victim, then, path, space)
            then += draw.span(80, 800 << attempt) if attempt < 4 else draw.span(3, 9)
        failed[one], last = space.error, max(last, then)
    ended = shards_not_saved(stage, last + draw.span(3, 30), failed)
    made = replace(stage.guilty("storage_io", victim), culprit_ranks=tuple(ranks))
    return stage.close(
        "The job that thins out checkpoints was turned off when somebody missed one.",
        (made,),
        until=ended,
    )
