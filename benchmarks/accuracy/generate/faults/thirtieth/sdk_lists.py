"""Storage faults of the thirtieth part that lists of AIStore's SDK run into: sizes for a sampler, members of shards."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import TRIES_S
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.inmates import sizes_not_listed
from benchmarks.accuracy.generate.faults.words.natives import one_line
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS
from fixtures.generator import aisdisk, aisinmates, aisobjects
from fixtures.generator import aisfaults as faults
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirtieth")
ALSO = ("data_loading_stall", "infrastructure", "network")


@kind(culprit=0, reads=True, hangs=False, min_timeout_s=180, lead_s=66.0, without=(*RESTARTS, "tenant_errors"))
def sizes_for_a_sampler_lose_the_target_that_lists(stage: Stage) -> Scenario:
    """The target that pages through a cloud's list for all others is drained in its midst (aistore, lso; SDK, sampler).

    To convict: the list of rank 0 is answered 500 for a minute and a half; each time all targets say that the one which
    pages is down: it has left the map on a signal just before, and does not come back.
    """
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, proxy = stage.draw.child("pages"), stage.proxy_of(0)
    stage.open()
    job, page = draw.token(9), draw.whole(3, 40)
    began = at - seconds(0.4 * page) - draw.span(300, 1_500)
    told(stage, began, 0, "sampler", f"listing sizes of ais://{stage.bucket} for the next epoch, 1000 names a page")
    cluster.last_process(victim).jobs.append((began, at, f"list[{job}]"))
    gone = stage.mark(at - draw.span(900, 2_600), f"the host of {victim.name} is drained")
    faults.terminate(cluster, victim, gone)
    peers = [one for one in cluster.targets if one is not victim]
    asked = max(at, (cluster.last_process(victim).ended_at or gone) + 60 * MS)
    told(stage, asked, 0, "sampler", f"{page} pages, {1000 * page} sizes so far")
    for after in TRIES_S:
        then = asked + seconds(after) + draw.span(3, 20)
        aisinmates.page_not_listed(cluster, proxy, peers[:5], then, job, victim)
    over = asked + seconds(TRIES_S[-1]) + draw.span(30, 60)
    for then, other in spread(stage, gone + 300 * MS, asked + seconds(9), (2, 4), draw):
        node, name = draw.pick(peers), utterance(draw)
        why = one_line(stage, then, other, node, name, 404, aisobjects.not_there(cluster, node, then - 4 * MS, name))
        told(stage, then, other, "prefetcher", f"{name} left out: {why}", "WARNING")
    sizes_not_listed(stage, over, 0, proxy)
    leaves(stage, over + 8 * MS, 0)
    return stage.close(
        "A list keeps to the target that it began with, whatever becomes of it.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        until=over + seconds(25),
    )


@kind(reads=True, lead_s=86.0, min_timeout_s=60, without=(*DISKS, "tenant_errors"))
def streams_of_two_sources_end_with_the_shorter_list(stage: Stage) -> Scenario:
    """A mountpath is lost and a list has a shard less; two streams in step end with the shorter (SDK, multi-shard).

    To convict: one rank is done with its epoch before all others, since of two sources one had a shard less than its
    index; that shard's target says it does not exist, and has given up a mountpath some time before.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("two sources")
    stage.open()
    which = draw.whole(0, len(victim.mountpaths) - 1)
    disabled = at - draw.span(44_000, 57_000)
    stage.mark(disabled - seconds(9), f"a disk of {victim.name} fails")
    aisdisk.lose_mountpath(
        cluster, victim, disabled, victim.mountpaths[which], victim.disks[which], draw.between(30, 90)
    )
    many, members = draw.whole(8, 40), draw.pick((128, 256, 512))
    listed = disabled + draw.span(4_000, 9_000)
    told(stage, listed, rank, "streams", f"video/: {many} shards listed, {many} in the index of this rank")
    short = f"audio/: {many - 1} shards listed, {many} in the index of this rank"
    told(stage, listed + draw.span(20, 200), rank, "streams", short, "WARNING")
    missed = f"audio/{draw.whole(0, 4_095):06d}.tar"
    for then, other in spread(stage, listed, at - seconds(2), (1, 3), draw):
        name = f"audio/{draw.whole(0, 4_095):06d}.tar"
        why = one_line(
            stage, then, other, victim, name, 404, aisobjects.not_there(cluster, victim, then - 4 * MS, name)
        )
        told(stage, then, other, "streams", f"{name} is in the index and not in the list: {why}", "WARNING")
    why = one_line(stage, at, rank, victim, missed, 404, aisobjects.not_there(cluster, victim, at - 4 * MS, missed))
    told(stage, at, rank, "streams", f"{missed} is in the index and not in the list: {why}", "WARNING")
    done = f"AISMultiShardStream has no more after {(many - 1) * members} of {many * members} samples"
    told(
        stage, at + 30 * MS, rank, "streams", f"{done}, waiting for the other ranks at the end of the epoch", "WARNING"
    )
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Nothing of what was on that disk had a copy, and a list is of what is there.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "rank_hang", "data", "software")),),
    )
