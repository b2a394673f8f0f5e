"""Storage faults of the thirteenth part that the cluster has as a whole: it has grown, or does not know a member."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words.requests import one_object
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand, crawls
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aischurn as churn
from fixtures.generator import aislapses as lapses
from fixtures.generator import aismishaps as mishaps
from fixtures.generator import aisquiet as quiet
from fixtures.generator import aistraffic, sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirteenth")
#: When a client asks that repeats a status five times with a back-off of 3 s.
TRIES_S = (0.0, 0.02, 6.05, 18.1, 42.14, 90.2)


@kind(reads=True, hangs=False, slurm=True, targets=4, lead_s=60.0, without=(*RESTARTS, "disk_busy", "kalive_hiccup"))
def grown_cluster_moves_objects(stage: Stage) -> Scenario:
    """A target is added at noon, and everything moves while a job reads (aistore docs/rebalance, lifecycle_node)."""
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("grown")
    lapses.not_yet_there(cluster, victim)
    stage.open()
    joins = stage.mark(at - draw.span(5_000, 11_000), f"{victim.name} is added to the cluster")
    joined = lapses.joins_empty(cluster, victim, joins, draw)
    churn.rebalance_begins(cluster, joined, draw.child("begins"), "self-join-target", victim.node_id)
    cluster.start_batches(joined + seconds(3.4), stage.other_target(victim))
    over = crawls(stage, draw.whole(10, 15), 9.0, 24.0)
    quiet.moves_to_the_new(cluster, victim, joined + seconds(2.2), over + seconds(30), draw.child("moves"))
    then = at + seconds(9)
    while then < over:
        who, node = draw.pick([stage.culprit, *readers(stage)[:5]]), draw.pick(cluster.targets)
        place = f"{node.url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}"
        stage.job.note(then, who, f"slow read: {draw.between(6.5, 19):.1f} s for {place}", "W", 80)
        then += draw.span(9_000, 31_000)
    cancelled_by_hand(stage, over + draw.span(2_000, 19_000))
    made = of_all(stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure", "network")))
    return stage.close(
        "Half of the racks were delivered a week early, and the rebalance takes all that the disks give.",
        (replace(made, culprit_ranks=None),),
    )


def _slow_from_the_start(stage: Stage, steps: int, draw: Draw) -> int:
    """Most steps wait for a batch that the victim assembles: each entry its peers should send takes 20 s."""
    job, victim, cluster = stage.job, stage.victim, stage.cluster
    slow: dict[int, float] = {}
    for step in range(1, steps):
        if draw.chance(0.7):
            entries = draw.pick((1, 1, 2))
            slow[step] = 20.0 * entries + draw.between(0.05, 0.6)
            asked = job.step_at(step)
            job.delay(step, seconds(slow[step]))
            quiet.rescued(cluster, victim, asked + seconds(slow[step]), entries)
            who = draw.pick([stage.culprit, *readers(stage)[:6]])
            said = f"get-batch {cluster.wid(stage.proxy_of(who), draw)} of 4 entries took {slow[step]:.1f} s"
            job.note(asked + seconds(slow[step]) + draw.span(2, 40), who, f"{said} ({victim.url(0)})", "W", 80)
    job.start()
    job.note(job.begin + 40 * MS, 0, "AIS_READ_TIMEOUT=300, get-batch of 4 entries for each rank in turn", line=141)
    job.train(0, steps, every=2, slow=slow)
    return job.step_at(steps)


@kind(reads=True, hangs=False, slurm=True, ais_order=450, uptime=True, without=(*RESTARTS, "kalive_hiccup"))
def unknown_since_its_update(stage: Stage) -> Scenario:
    """Peers do not send to a target since its restart; neighbours rescue each batch (aistore docs/get_batch, GFN)."""
    cluster, victim, job = stage.cluster, stage.victim, stage.job
    draw, other = stage.draw.child("unknown"), stage.other_target(stage.victim)
    stage.mark(job.begin - seconds(185), f"SIGTERM {victim.name}, for an update")
    quiet.comes_back_unknown(cluster, victim, job.begin - seconds(225), other)
    stage.mark(job.begin, f"job {job.job.job_id} starts training")
    cluster.start_batches(job.begin + 40 * MS, other)
    over = _slow_from_the_start(stage, draw.whole(13, 20), draw)
    aistraffic.batches(cluster, job.begin, over, 0.3, draw.child("load"), avoid=(victim.node_id,))
    cancelled_by_hand(stage, over + draw.span(2_000, 19_000))
    idle = over + seconds(draw.between(61, 75))
    wids = [cluster.wid(cluster.proxy(turn), draw) for turn in range(draw.whole(2, 4))]
    quiet.never_sent(cluster, victim, idle, wids, draw)
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure"))
    return stage.close(
        "The update went well, it was said; batches that the updated target assembles wait for entries one by one.",
        (replace(made, culprit_ranks=None),),
        until=idle + seconds(15),
    )


def _turned_away(stage: Stage, rank: int, draw: Draw) -> int:
    """A rank is told 429 by its proxy, six times in a minute and a half, and gives up; when that is."""
    proxy, name = stage.proxy_of(rank), utterance(draw)
    over = stage.at + seconds(TRIES_S[-1]) + draw.span(4, 40)
    path = f"/v1/objects/{stage.bucket}/{name}?provider=ais"
    text = sdk.pool_error(proxy.address, proxy.ports[0], path, sdk.too_many(429))
    caller = sdk.main_frames(stage.job.job, stage.step, *one_object(stage))
    stage.job.raise_on(over, rank, sdk.exhausted(stage.job.job, caller, "RetryError", text))
    return over


@kind(reads=True, hangs=False, min_timeout_s=120, lead_s=60.0)
def front_limit_too_low(stage: Stage) -> Scenario:
    """A bucket is given a limit of its own: proxies answer 429 and say nothing (aistore docs/rate_limit)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("front limit")
    stage.open()
    began = stage.mark(at - draw.span(9_000, 21_000), f"a limit of requests is set for the bucket {stage.bucket}")
    mishaps.change_buckets(cluster, began, "set-bprops", draw)
    for turn, other in enumerate(readers(stage)[: draw.whole(2, 5)]):
        proxy, late = stage.proxy_of(other), at - seconds(4) + seconds(9 * turn) + draw.span(1, 4_000)
        url = f"{proxy.url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}"
        spent = draw.pick((6.1, 6.1, 18.2, 18.3))
        if late - seconds(spent) > began:
            stage.job.note(late, other, f"slow read: {spent:.1f} s for {url}", "W", 80)
    exits(stage, _turned_away(stage, rank, draw.child("culprit")), rank)
    made = of_all(stage.guilty("storage_io", stage.victim, also=("data_loading_stall", "infrastructure")))
    return stage.close("Another team was to be slowed down, and somebody took the wrong bucket.", (made,))
