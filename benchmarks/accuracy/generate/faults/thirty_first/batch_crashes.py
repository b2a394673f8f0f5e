"""Storage faults of the thirty-first part: a target is killed in the course of get-batch, and ranks try again."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.natives import one_by_one_failed, one_line, refused_at, truncated
from benchmarks.accuracy.generate.faults.words.tries import (
    again,
    client_told,
    moments,
    other_targets,
    removed_and_back,
    short,
    turned_down,
)
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisassemblies, aisobjects, chains, sdk
from fixtures.generator import aisfaults as faults
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirty_first")
ALSO = ("data_loading_stall", "infrastructure")


@kind(reads=True, ais_order=450, lead_s=64.0, without=RESTARTS)
def colocated_rank_is_sent_to_its_dead_target_each_time(stage: Stage) -> Scenario:
    """Colocated batches go to whoever holds their shard, which was killed (docs/get_batch, coloc; kill -9).

    To convict: five tries of one rank are refused at one target, whose id is in each error and in the line of the proxy
    with the same wid; peers lose their streams to it just before, its log ends without a word, and it is removed after
    the last try only. Ranks whose shards lie elsewhere wait in all_reduce.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("colocated")
    shard = f"shards/train-{draw.whole(0, 4_095):06d}.tar"
    client_told(stage, "get-batch: 48 members of one shard, streaming, colocation 2, tries 5, retries of the SDK off")
    stage.open()
    died = stage.mark(at - draw.span(12, 30), f"kill -9 {victim.name}, which holds {shard}")
    faults.kill(cluster, victim, died)
    tries = list(moments(at, (2.0, 4.0, 6.0, 8.0), draw))
    for turn, then in enumerate(tries):
        failed = chains.dead_designated(stage, then, victim, rank)
        if turn + 1 < len(tries):
            again(stage, then + 4 * MS, rank, failed, turn + 1, len(tries))
        else:
            stage.job.raise_on(then + 6 * MS, rank, failed.traceback)
    removed_and_back(stage, died)
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "The job's waits between tries are shorter in sum than what a cluster needs to give a target up.",
        (stage.guilty("storage_io", victim, also=("network", *ALSO)),),
        until=died + seconds(100),
    )


@kind(reads=True, ais_order=450, lead_s=62.0, without=RESTARTS)
def rebalance_of_a_return_takes_the_last_try(stage: Stage) -> Scenario:
    """A killed target is back in seconds, and the rebalance that follows aborts batches (docs/rebalance, x-moss).

    To convict: several ranks fall short in the second in which peers lose their streams to one target; their next tries
    succeed. One rank's last try is under way as all targets abort get-batch for a rebalance that has begun for no other
    reason than that target's return; it ends with 0 HTTP errors, and raises.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("return")
    client_told(stage, "get-batch: 48 entries, streaming, tries 3")
    stage.open()
    died = stage.mark(at - draw.span(12, 30), f"kill -9 {victim.name}")
    faults.kill(cluster, victim, died)
    back = died + draw.span(4_300, 4_900)
    faults.reconnects(cluster, victim, died, back - 200 * MS, 2)
    again(stage, at + 6 * MS, rank, short(stage, at, rank, draw), 1, 3)
    for turn, other in enumerate(readers(stage)[: draw.whole(2, 5)]):
        then = at + (turn + 1) * draw.span(40, 190)
        again(stage, then + 6 * MS, other, short(stage, then, other, draw), 1, 3)
        if draw.chance(0.5):
            then += draw.span(1_100, 2_600)
            again(stage, then + 6 * MS, other, short(stage, then, other, draw), 2, 3)
    second = at + draw.span(2_005, 2_012)
    again(stage, second + 6 * MS, rank, chains.dead_designated(stage, second, victim, rank), 2, 3)
    stage.mark(back, f"{victim.name} is started again")
    designated, wid = draw.pick(other_targets(stage, second)), cluster.wid(stage.proxy_of(rank), draw)
    begun, got, xact = second + draw.span(4_004, 4_011), draw.whole(17, 39), cluster.xact
    joined = faults.start_again(cluster, victim, back)
    ended = joined + 2 * SEC + 12 * MS + draw.span(0.6, 3.0)
    cluster.xact = xact
    aisassemblies.ends_early(cluster, designated, ended, wid, got, ended - begun)
    cluster.xact = None
    _, raised = sdk.short_batch(stage.job.job, stage.step, got, 48)
    stage.job.raise_on(ended + 7 * MS, rank, raised)
    cluster.start_batches(joined + seconds(3.6), draw.pick(other_targets(stage, joined)))
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "Long recordings had made that batch the slowest of the epoch.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        until=died + seconds(70),
    )


def _struck_before(stage: Stage, draw: Draw) -> int:
    """The first crash, some steps before: three tries fail, the fourth succeeds; when it is over."""
    cluster, victim, rank, job = stage.cluster, stage.victim, stage.culprit, stage.job
    every, spent = max(1, stage.params.read_every), seconds(7.3)
    turns = max(1, round(draw.between(84, 90) / stage.params.step_s / every))
    step = max(stage.step % every, stage.step - turns * every)
    at = job.step_at(step) + 40 * MS
    job.delay(step, spent)
    stage.at += spent
    job.start()
    job.train(0, stage.step)
    stage.mark(job.begin, f"job {job.job.job_id} starts training")
    cluster.start_batches(job.begin + 40 * MS, stage.other_target(victim))
    stage.load(job, job.begin + 60 * MS, at - 60 * MS)
    died = stage.mark(at - draw.span(12, 30), f"{victim.name} crashes for the first time")
    faults.kill(cluster, victim, died)
    again(stage, at + 6 * MS, rank, short(stage, at, rank, draw), 1, 4)
    second = at + draw.span(1_004, 1_012)
    again(stage, second + 6 * MS, rank, chains.dead_designated(stage, second, victim, rank), 2, 4)
    back = died + draw.span(1_250, 1_420)
    proxy, third = stage.proxy_of(rank), second + draw.span(2_004, 2_012)
    wid = cluster.wid(proxy, draw.child("not ready"))
    joined = faults.start_again(cluster, victim, back)
    aisassemblies.turned_down(cluster, proxy, victim, third, wid, "not ready yet")
    again(stage, third + 6 * MS, rank, turned_down(stage, third, rank, wid, 503, "not ready yet"), 3, 4)
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))
    stage.load(job, at + spent, job.step_at(stage.step))
    return at + spent


@kind(reads=True, ais_order=450, lead_s=112.0, without=RESTARTS)
def second_crash_of_a_target_outlasts_the_tries(stage: Stage) -> Scenario:
    """A target crashes twice within minutes, and its container waits longer the second time (kubernetes, back-off).

    To convict: one rank is struck twice, and gets over it once: both times its tries end at one target, by its address
    or in the second in which peers lose their streams to it; its log ends twice without a word. All four tries of the
    second time are within the ten seconds before it is started again.
    """
    cluster, victim, rank = stage.cluster, stage.victim, stage.culprit
    draw = stage.draw.child("twice")
    client_told(stage, "get-batch: 48 entries, streaming, tries 4, retries of the SDK off")
    _struck_before(stage, draw.child("before"))
    at = stage.at
    died = stage.mark(at - draw.span(12, 30), f"{victim.name} crashes again")
    faults.kill(cluster, victim, died)
    back = died + draw.span(10_900, 13_500)
    faults.reconnects(cluster, victim, died, back - 400 * MS, 2)
    tries = list(moments(at, (1.0, 2.0, 4.0), draw))
    refused = draw.whole(1, 3)
    for turn, then in enumerate(tries):
        failed = (
            chains.dead_designated(stage, then, victim, rank) if turn == refused else short(stage, then, rank, draw)
        )
        if turn + 1 < len(tries):
            again(stage, then + 6 * MS, rank, failed, turn + 1, len(tries))
        else:
            stage.job.raise_on(then + 8 * MS, rank, failed.traceback)
    stage.mark(back, f"{victim.name} is started again")
    joined = faults.start_again(cluster, victim, back)
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "It had a mistake in how it read one kind of archive, which came up twice in that epoch.",
        (stage.guilty("storage_io", victim, also=("network", *ALSO)),),
        until=died + seconds(75),
    )


@kind(reads=True, ais_order=450, min_timeout_s=60, lead_s=64.0, without=RESTARTS)
def struck_ranks_are_told_by_others_that_objects_do_not_exist(stage: Stage) -> Scenario:
    """Streams of several ranks end early for one killed target, and lhotse asks on alone (lhotse, batch_loader).

    To convict: all of them are cut in one second, all single reads are then refused at one address until the map has
    changed; only then does another target, which is well, say that an object does not exist. What is common to all is
    the target that refused; a rank that had nothing left to ask of it got its batch.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("struck")
    client_told(stage, "aistore 2.0.0, lhotse 1.33.0, USE_AIS_GET_BATCH=true")
    stage.open()
    died = stage.mark(at - draw.span(12, 30), f"kill -9 {victim.name}")
    faults.kill(cluster, victim, died)
    struck = [rank, *readers(stage)[: draw.whole(1, 3)]]
    cuts = {one: at + turn * draw.span(3, 90) for turn, one in enumerate(struck)}
    for one, then in cuts.items():
        got = draw.whole(0, 30)
        chains.cut_off_stream(stage, then, draw.pick(other_targets(stage, then)), victim, one, got, 48)
        truncated(stage, then + 3 * MS, one, got, 48)
    for one in readers(stage)[len(struck) - 1 :][: draw.whole(1, 2)]:
        then = at + draw.span(5, 200)
        got = draw.whole(43, 47)
        chains.cut_off_stream(stage, then, draw.pick(other_targets(stage, then)), victim, one, got, 48)
        truncated(stage, then + 3 * MS, one, got, 48)
    left = removed_and_back(stage, died)
    peers = [one for one in cluster.targets if one is not victim]
    for one, cut in cuts.items():
        name, then, own = utterance(draw), cut + 9 * MS, draw.child("asks alone", one)
        for attempt in range(6):
            if then >= left:
                break
            wait = round(min(own.between(0.55, 1.0) * 2.0 ** (attempt + 1), own.between(8.2, 12.4)), 2)
            wait = round((left - then) / SEC + own.between(0.4, 4.0), 2) if attempt == 5 else wait
            text = refused_at(stage, one, victim, own, name)
            stage.job.sdk_warning(then, one, sdk.retrying(wait, "ConnectionError", text))
            then += seconds(wait) + 5 * MS
        node = own.pick(peers)
        why = one_line(stage, then, one, node, name, 404, aisobjects.not_there(cluster, node, then - 3 * MS, name))
        one_by_one_failed(stage, then, one, name, why, sequential=False)
    stage.hang(at + 330 * MS, *sorted(struck))
    made = stage.expect(
        "storage_io",
        also_ok=("data", *ALSO),
        culprit_ranks=tuple(sorted(struck)),
        storage_verdict="guilty",
        ais_nodes=(victim.node_id,),
    )
    return stage.close(
        "The bucket has one copy of each object, and the job was started for the third time that day.",
        (made,),
        until=died + seconds(100),
    )
