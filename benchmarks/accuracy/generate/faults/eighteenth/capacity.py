"""Storage faults of the eighteenth part of clusters that are full, too small, short of memory or busy for others."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.boarders import mover_refused
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.lodgers import asked_of, curl_failed, shard
from benchmarks.accuracy.generate.faults.words.turns import of_all, over_at
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand, crawls
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisdisk as disks
from fixtures.generator import aisevents as ev
from fixtures.generator import aisrounds as rounds
from fixtures.generator import aisyearly as yearly
from fixtures.generator import chains
from fixtures.generator.aisdisk import Space
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("storage", "eighteenth")
#: When urllib3 asks again that is told 429, with a back-off of 3 s.
AGAIN_S = (0.0, 0.02, 6.05, 18.1, 42.14, 90.2)


@kind(culprit=0, hangs=False, lead_s=70.0, without=(*DISKS, "tenant_out_of_space"))
def mover_of_a_checkpoint_finds_no_room(stage: Stage) -> Scenario:
    """Nobody deletes old checkpoints, a target is above its limit: 507 to rclone (docs/storage_svcs; rclone, s3).

    To convict: the target says ErrCapExceeded of the key that rclone cannot copy, each time that it tries, and has an
    alert that it is out of space.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, percent = stage.draw.child("full"), stage.draw.child("percent").whole(95, 97)
    stage.open()
    used, total = 3725 * percent // 100, 3725
    space = Space(f"{used}.0GiB", f"{total - used}.2GiB", percent, f"{total}.29GiB")
    stage.mark(at, f"{victim.name} is out of space")
    key, size = f"{stage.job.job.task}/step-{stage.step:07d}.pt", draw.whole(9, 60)
    stage.job.note(at - draw.span(2_000, 5_000), 0, f"moving checkpoint of {size}.0 GiB to checkpoints/{key}", line=118)
    tries = (0.0, 0.2 + draw.between(0.4, 1.9), 2.1 + draw.between(0.6, 3.0))
    for after in tries:
        for part in range(draw.whole(2, 4)):
            rounds.part_rejected(cluster, victim, at + seconds(after) - 30 * MS + part * 7 * MS, key, space)
    disks.out_of_space(cluster, victim, at - 40 * MS, at + seconds(40), space)
    told = f"api error ErrCapExceeded: {space.error}"
    ended = mover_refused(stage, at, key, tries, 507, told)
    leaves(stage, ended, 0)
    return stage.close(
        "Each run keeps its last forty checkpoints, and there are more runs than there were.",
        (stage.guilty("storage_io", victim, also=("infrastructure",)),),
    )


@kind(reads=True, hangs=False, min_timeout_s=90, lead_s=70.0, without=DISKS)
def cache_smaller_than_the_epoch(stage: Stage) -> Scenario:
    """A cache of a cloud evicts what the epoch comes back to, curl has a limit of a minute (docs/storage_svcs, LRU).

    To convict: all targets evict and fetch at once, their cold reads take seconds each from the moment that shards of
    the job come late, which several ranks say; curl had got a part of its shard in the time it has.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, over = stage.draw.child("cache"), stage.at + seconds(60.0)
    stage.open()
    began = stage.mark(at - draw.span(16_000, 39_000), "all targets are above their watermark and evict")
    rounds.thrashes(cluster, began, over + seconds(20), draw)
    for turn, other in enumerate(readers(stage)[: draw.whole(3, 6)]):
        then = at - seconds(10) + seconds(9.5 * turn) + draw.span(1, 5_000)
        where = asked_of(stage, draw.pick(cluster.targets), shard(draw))
        stage.job.note(then, other, f"shard took {draw.between(21, 56):.0f} s: {where}", "W", 74, "shards")
    size = draw.whole(500, 2_000) << 20
    got = int(size * draw.between(0.1, 0.8))
    words = f"Operation timed out after 60{draw.whole(0, 9):03d} milliseconds with {got} out of {size} bytes received"
    curl_failed(stage, over, rank, shard(draw), 28, words, "-fsSL --max-time 60")
    leaves(stage, over + 5 * MS, rank)
    made = of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "network", "infrastructure")))
    return stage.close("The corpus has doubled since spring, the cluster is to be doubled in winter.", (made,))


@kind(reads=True, ais_order=410, min_timeout_s=120, lead_s=60.0)
def batches_turned_away_for_memory(stage: Stage) -> Scenario:
    """Targets short of memory admit no batch, urllib3 asks again without a word (docs/get_batch, admission; urllib3).

    To convict: from the moment that a rank is silent batches are turned away with 429 at the pace of urllib3's repeats,
    on whichever target they come to, and all of them have alerts of their memory; other ranks say that they were told
    429.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, over = stage.draw.child("memory"), over_at(stage)
    stage.open()
    began = stage.mark(at - draw.span(9_000, 26_000), "all targets are short of memory")
    for node in cluster.targets:
        then = began + draw.span(1, 7_000)
        disks.memory_pressure(cluster, node, then, over + seconds(10), "extreme", draw.child(node.node_id))
    advice = ev.advice("critical", "100ms", "critical", "low", "low")
    for turn, other in enumerate(readers(stage)[: draw.whole(2, 5)]):
        then = at - seconds(4) + seconds(4.4 * turn) + draw.span(1, 2_000)
        node = draw.pick(cluster.targets)
        wid = chains.reject(stage, then, node, other, advice, draw.whole(9, 60))
        said = f"get-batch {wid} turned away (429 Too Many Requests, {node.name}), its samples are taken later"
        stage.job.note(then + 4 * MS, other, said, "W", 97)
    done = at + seconds(AGAIN_S[5]) + draw.span(4, 40)
    for after in AGAIN_S if done < over else AGAIN_S[:5]:
        node, then = draw.pick(cluster.targets), at + seconds(after) + draw.span(1, 3)
        chains.reject(stage, then, node, rank, advice, draw.whole(9, 60))
    if done < over:
        stage.job.raise_on(done, rank, chains.too_many_requests(stage, rank).traceback)
        leaves(stage, done, rank)
    else:
        stage.hang(at + 340 * MS, rank)
    made = of_all(stage.guilty("storage_io", stage.victim, also=("data_loading_stall", "infrastructure")))
    return stage.close("A list of another team is kept in memory as a whole while somebody pages through it.", (made,))


@kind(reads=True, hangs=False, ais_order=410, slurm=True, lead_s=70.0, without=DISKS)
def copy_of_a_bucket_throttles_batches(stage: Stage) -> Scenario:
    """A team copies a bucket by day, all disks are busy, batches are held back (docs/get_batch, throttle; docs/bucket).

    To convict: steps got slow as a copy of a bucket began, all disks are at their limit since, and targets say of the
    job's own batches that they throttle them; nothing else of the job has changed.
    """
    cluster, at = stage.cluster, stage.at
    draw = stage.draw.child("copy")
    stage.open()
    began = stage.mark(at - draw.span(2_000, 9_000), "another team copies a bucket")
    over = crawls(stage, draw.whole(9, 14), 6.0, 15.0)
    yearly.copies_bucket(
        cluster, began, over + seconds(20), draw.pick(("ablation-7", "eval-freeze", "ckpt-mirror")), draw
    )
    rounds.throttles(cluster, list(cluster.targets)[:8], began, over + seconds(10), draw)
    who, then = [stage.culprit, *readers(stage)], at + draw.span(3_000, 9_000)
    while then < over:
        said = f"batch of 48 took {draw.between(6, 19):.1f} s, as long as {draw.whole(9, 40)} before"
        stage.job.note(then, draw.pick(who), said, "W", 99)
        then += draw.span(9_000, 24_000)
    cancelled_by_hand(stage, over + draw.span(900, 6_000))
    made = stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "infrastructure", "network"))
    made = replace(of_all(made), culprit_ranks=None)
    return stage.close("The copy is for a run that is to begin next week, and could have waited.", (made,))
