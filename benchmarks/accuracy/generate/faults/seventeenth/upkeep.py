"""Storage faults of the seventeenth part of what is repaired, replaced or overrun: slices, disks, proxies."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.guests import httpx_late, leaves
from benchmarks.accuracy.generate.faults.words.requests import refused_get
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, in_vain, others_wait, over_at
from benchmarks.accuracy.generate.faults.words.visitors import crawls
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisfailings as failings
from fixtures.generator import aisfaults as faults
from fixtures.generator import aislosses as losses
from fixtures.generator import aisobjects, aisupkeep, torchrun
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "seventeenth")


@kind(reads=True, hangs=False, slurm=True, targets=5, lead_s=60.0, without=(*RESTARTS, *DISKS, "kalive_hiccup"))
def each_read_is_put_together(stage: Stage) -> Scenario:
    """A target is lost, objects are restored from slices as they are read: a job crawls (aistore issue 84)."""
    cluster, victim, at, job = stage.cluster, stage.victim, stage.at, stage.job
    draw = stage.draw.child("slices")
    stage.open()
    died = stage.mark(at - draw.span(16_000, 34_000), f"{victim.name} crashes and stays away")
    faults.kill(cluster, victim, died)
    left = faults.leave_smap(cluster, victim, died)
    over = crawls(stage, draw.whole(9, 14), 8.0, 20.0)
    losses.restores(cluster, left + seconds(2), over + seconds(10), 3_000, 14_000, draw)
    who, then = [stage.culprit, *readers(stage)], at + draw.span(6_000, 12_000)
    while then < over:
        node = stage.other_target(victim, draw.whole(0, 99))
        url = f"{node.url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}"
        job.note(then, draw.pick(who), f"slow read: {draw.between(6, 18):.1f} s for {url}", "W", 80)
        then += draw.span(8_000, 21_000)
    ended = over + draw.span(900, 8_000)
    stage.mark(ended, "the time limit is reached")
    job.slurm(ended, 0, torchrun.step_cancelled(job.job, ended, "TIME LIMIT"))
    for number in range(len(job.job.hosts)):
        job.agent_signalled(ended + 40 * MS, number)
    job.ended_at = ended + seconds(2)
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure", "network"))
    return stage.close(
        "Erasure coding loses nothing, and nobody had tried how fast it gives it back.",
        (replace(made, culprit_ranks=None),),
    )


@kind(reads=True, min_timeout_s=60, lead_s=60.0, without=DISKS)
def new_disk_takes_all_time(stage: Stage) -> Scenario:
    """A disk was replaced by day, its target moves what belongs there, and reads wait (aistore docs/resilver)."""
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw = stage.draw.child("new disk")
    stage.open()
    began = stage.mark(at - draw.span(16_000, 42_000), f"a new disk is attached to {victim.name}")
    failings.resilver_at_length(cluster, victim, began, over + seconds(20), draw)
    then = began + draw.span(4_000, 9_000)
    while then < over:
        reads = draw.whole(2, 9)
        cluster.count(victim, then, get_n=reads, get_ns_total=reads * draw.span(9_000, 24_000), get_size=reads << 18)
        then += draw.span(6_000, 12_000)
    others_wait(stage, [victim], draw)
    in_vain(stage, victim, over)
    stage.hang(at + 340 * MS, stage.culprit)
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure", "network"))
    return stage.close("Whoever changes disks was told to do it as soon as the spare one comes.", (made,))


@kind(reads=True, hangs=False, min_timeout_s=60, lead_s=60.0)
def gateway_redirects_too_late(stage: Stage) -> Scenario:
    """A proxy has far more requests than it can serve, and its hosts wait to be sent on (aistore docs/performance)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, over, proxy = stage.draw.child("gateway"), stage.at + seconds(15.01), stage.proxy_of(stage.culprit)
    stage.open()
    began = stage.mark(at - draw.span(11_000, 30_000), f"{proxy.name} has too many requests")
    aisupkeep.swamped(cluster, proxy, began, over + seconds(25), draw)
    same = [one for one in readers(stage) if stage.proxy_of(one) is proxy]
    for turn, other in enumerate(same[: draw.whole(2, 5)]):
        then = at - seconds(8) + seconds(5.2 * turn) + draw.span(1, 3_000)
        said = f"redirect by {proxy.url(0)} took {draw.between(5, 14):.1f} s, the read itself {draw.whole(4, 40)} ms"
        stage.job.note(then, other, said, "W", 72, "reader")
    httpx_late(stage, over, rank)
    leaves(stage, over, rank)
    made = stage.guilty("data_loading_stall", proxy, also=("storage_io", "infrastructure", "network"))
    return stage.close("A crawler of another team asks for the properties of every object there is.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0, without=DISKS)
def rotten_object_is_gone_at_second_try(stage: Stage) -> Scenario:
    """What has rotted is refused and removed; who asks again is told it never was (aistore docs/checksum)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("rotten"), utterance(stage.draw.child("rotten name"))
    stage.open()
    first = stage.mark(at - draw.span(3_000, 9_000), f"{name} has rotted on {victim.name}")
    aisobjects.bad_checksum(cluster, victim, first, name, draw)
    stage.job.note(first + 6 * MS, rank, f"{name}: 500 Server Error, asked for again", "W", 84)
    for other in readers(stage)[: draw.whole(0, 3)]:
        then, own = first + draw.span(100, 2_800), utterance(draw)
        aisobjects.bad_checksum(cluster, victim, then, own, draw)
        stage.job.note(then + 6 * MS, other, f"{own}: 500 Server Error, left out", "W", 86)
    text = aisobjects.not_there(cluster, victim, at - 5 * MS, name)
    told = refused_get(stage, at, rank, victim, name, (404, "Not Found"), text, "ErrNotFound")
    stage.job.raise_on(at, rank, told)
    leaves(stage, at, rank)
    made = stage.guilty("storage_io", victim, also=("data", "data_loading_stall"))
    return stage.close("A controller has lost its battery, and with it what it had not written yet.", (made,))
