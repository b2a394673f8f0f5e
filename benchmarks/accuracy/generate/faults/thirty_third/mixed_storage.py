"""Guilty storage in awkward everyday set-ups: a whole host struck, proxy then target, a requeue, clocks, stages.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.mixtures import (
    WITHIN_KEEPALIVE,
    aside,
    earlier_step,
    goes_on_after,
    refused_by,
    refused_in_the_background,
    refused_until,
)
from benchmarks.accuracy.generate.faults.words.natives import shard_of, unanswered_at
from benchmarks.accuracy.generate.faults.words.requests import exhausted, object_path, one_object, refused_get
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.tries import client_told, removed_and_back
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import Scene, readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisgates, aisstandstills, chains, sdk, torchrun
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.parallel import Mesh
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("storage", "thirty_third")
ALSO = ("network", "data_loading_stall", "infrastructure")
ALIVE = ("ranks that raised stay alive in a non-daemon thread, as in the recorded runs",)
NOISE = (*RESTARTS, "kalive_hiccup", "soft_errors", "mountpath_before")
#: First releases that name their process groups, and the largest world that is split.
NAMES_GROUPS, LARGEST = 203, 256


def _refused_to_the_end(stage: Stage, at: int, rank: int, shard: str) -> None:
    """All tries of a rank are refused at the victim, and it raises."""
    draw = stage.draw.child("refused", rank)
    text = refused_by(stage, stage.victim, object_path(stage, rank, shard), draw)
    for most in WITHIN_KEEPALIVE:
        wait = round(draw.between(1.0, most), 2)
        stage.job.sdk_warning(at, rank, sdk.retrying(wait, "ConnectionError", text))
        at += seconds(wait) + draw.span(3, 9)
    exhausted(stage, at, rank, text, inner=one_object(stage))


@kind(reads=True, hangs=False, hosts=2, lead_s=58.0, without=NOISE)
def all_ranks_of_one_host_open_shards_of_a_dead_target(stage: Stage) -> Scenario:
    """Shards are dealt out by host, and one host's turn falls on a killed target (webdataset, split_by_node).

    To convict: it looks like a lost host, but all its ranks are refused at one address, which is that of one target,
    and were sent there by a proxy that answers them; a rank of another host is refused there as well, and peers lose
    their streams to that target, whose log breaks off and which the primary removes. The other hosts only wait.
    """
    victim, rank, at, own = stage.victim, stage.culprit, stage.at, stage.job.job
    draw = stage.draw.child("one host")
    host = own.node_of(rank)
    told(
        stage,
        stage.job.begin - 400 * MS,
        0,
        "shards",
        f"split_by_node: {len(own.hosts)} hosts, one shard a turn",
        "INFO",
    )
    stage.open()
    died = stage.mark(at - draw.span(12, 40), f"kill -9 {victim.name}")
    faults.kill(stage.cluster, victim, died)
    struck, shard = tuple(own.ranks_of(host)), shard_of(draw)
    for one in struck:
        told(stage, at - draw.span(2, 9), one, "shards", f"step {stage.step}: next shard {shard}")
        _refused_to_the_end(stage, at + draw.span(2, 30), one, shard)
    elsewhere = [one for one in readers(stage) if own.node_of(one) != host]
    for one in elsewhere[: draw.whole(1, 2)]:
        text = refused_by(stage, victim, object_path(stage, one, shard_of(draw)), draw)
        refused_in_the_background(stage, at + draw.span(300, 1_900), one, text, over_at(stage) - SEC, draw)
    removed_and_back(stage, died)
    stage.hang(at + 340 * MS, *struck)
    made = replace(stage.guilty("storage_io", victim, also=ALSO), culprit_ranks=struck)
    return stage.close("It was killed for memory by the kernel of its host.", (made,), ALIVE, until=died + seconds(100))


@kind(reads=True, proxies=2, hosts=2, off_primary=True, ais_order=390, lead_s=104.0, without=NOISE)
def target_dies_a_minute_after_the_proxy_came_back(stage: Stage) -> Scenario:
    """A proxy falls and comes back, ranks get over it; then a target dies and one does not (rolling trouble of a site).

    To convict: the refusals at the proxy's address end as it is started again, and the job makes steps for most of a
    minute; the exception has the address of a target, as has the line of that proxy with the same wid; peers lose their
    streams to the target, and its log ends without a word. Logs of all others were rotated between both falls.
    """
    cluster, victim, rank = stage.cluster, stage.victim, stage.culprit
    draw, proxy = stage.draw.child("proxy then target"), stage.proxy_of(stage.culprit)
    step = earlier_step(stage, draw.between(42, 60))
    stage.open(until_step=step)
    first = stage.job.step_at(step) + 40 * MS
    with aside(stage):
        fell = stage.mark(first - draw.span(15, 300), f"kill -9 {proxy.name}")
        up = stage.mark(fell + draw.span(5_600, 7_200), f"{proxy.name} is started again")
    faults.kill(cluster, proxy, fell)
    aisgates.proxy_starts(cluster, proxy, up, draw.child("proxy"))
    text = refused_by(stage, proxy, f"/v1/ml/moss/{stage.bucket}?provider=ais", draw)
    over = refused_until(stage, first, up + seconds(2.1), [rank], text, draw)
    goes_on_after(stage, step, over + draw.span(40, 200))
    at = stage.at
    rotated = stage.mark(over + (at - over) // 2, "rotate-logs")
    for node in cluster.nodes:
        if node is not proxy:
            cluster.last_process(node).rotations.append(rotated + draw.span(1, 9))
    died = stage.mark(at - draw.span(12, 40), f"kill -9 {victim.name}")
    faults.kill(cluster, victim, died)
    failed = chains.dead_designated(stage, at, victim, rank)
    stage.job.raise_on(at + 8 * MS, rank, failed.traceback)
    removed_and_back(stage, died)
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "Hosts of the cluster were being updated one by one, and nobody had told the training team.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ALIVE,
        until=died + seconds(100),
    )


def _requeued(stage: Stage, at: int) -> int:
    """The batch script puts its own job back into the queue, and SLURM ends it; when it is gone."""
    job, own = stage.job, stage.job.job
    job.slurm(at, 0, f"train.sbatch: srun has ended with 1, attempt 1 of 3, scontrol requeue {own.job_id}")
    stamp = torchrun.step_cancelled(own, at + 700 * MS, "JOB REQUEUE").replace(
        f"STEP {own.job_id}.0", f"JOB {own.job_id}"
    )
    job.slurm(at + 700 * MS, 0, stamp)
    return at + SEC


@kind(reads=True, hangs=False, slurm=True, ais_order=390, lead_s=56.0, without=(*NOISE, "second_job"))
def job_is_requeued_after_its_target_died_and_completes(stage: Stage) -> Scenario:
    """A job puts itself back into the queue after a failure and ends well at its second attempt (sbatch --requeue).

    To convict: one file has both attempts; only the first has an exception, with the address of a target and the wid
    that a proxy logs with it. That target's log breaks off in the moment, peers lose their streams to it, it is removed
    and started again; the second attempt begins after that, from the last checkpoint, and reaches its last step.
    """
    victim, rank, at, job = stage.victim, stage.culprit, stage.at, stage.job
    draw = stage.draw.child("requeued")
    stage.open(save_every=10)
    died = stage.mark(at - draw.span(12, 40), f"kill -9 {victim.name}")
    faults.kill(stage.cluster, victim, died)
    job.raise_on(at + 8 * MS, rank, chains.dead_designated(stage, at, victim, rank).traceback)
    removed_and_back(stage, died)
    ended = job.agents_end([Exit(rank, at + 720 * MS, 1)], at + 720 * MS)
    gone = stage.mark(_requeued(stage, ended + draw.span(300, 900)), f"job {job.job.job_id} is put back into the queue")
    begin = max(gone + draw.span(61_000, 95_000), died + seconds(104))
    saved = max(10, (stage.step - 1) // 10 * 10)
    job.restart(begin, saved + 1)
    agents = tuple(pid + draw.whole(1_100, 4_000) for pid in job.job.agent_pids)
    job.job = replace(job.job, agent_pids=agents)
    stage.cluster.start_batches(begin + 40 * MS, stage.other_target(victim))
    stage.mark(begin, f"job {job.job.job_id} starts training again")
    job.slurm(begin - seconds(7.4), 0, f"train.sbatch: SLURM_RESTART_COUNT=1, hosts {','.join(job.job.hosts)}")
    job.start()
    told(stage, begin - 240 * MS, 0, "resume", f"restored from the checkpoint of step {saved}")
    last = saved + draw.whole(60, 110)
    job.train(saved + 1, last)
    stage.load(job, begin + 60 * MS, job.step_at(last))
    job.finish(last)
    stage.mark(job.ended_at, f"job {job.job.job_id} ends normally")
    return stage.close(
        "The target's process had run into a limit of its cgroup; the second attempt met a cluster that was whole.",
        (stage.guilty("storage_io", victim, also=ALSO),),
    )


@kind(reads=True, hangs=False, ais_order=390, lead_s=60.0, without=(*NOISE, "second_job"))
def clocks_of_the_cluster_are_minutes_slow(stage: Stage) -> Scenario:
    """A cluster has lost its time server; by its clock another target is restarted when the failure was (chrony, NTP).

    To convict: the exception has a wid and an address, and so has one line of a proxy, some minutes earlier by its own
    clock: so much is the cluster slow. By that the named target died as the rank asked it. The orderly restart of
    another target stands at the moment of the failure as read, and came when the rank had failed long before.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("slow clocks")
    slow = draw.span(165_000, 245_000)
    for node in cluster.nodes:
        cluster.skews[node.node_id] = -slow
    client_told(stage, "get-batch: 48 entries, streaming, one try")
    stage.open()
    died = stage.mark(at - draw.span(12, 40), f"kill -9 {victim.name}")
    faults.kill(cluster, victim, died)
    stage.job.raise_on(at + 8 * MS, rank, chains.dead_designated(stage, at, victim, rank).traceback)
    removed_and_back(stage, died)
    stage.hang(at + 330 * MS, rank)
    other: Node = draw.pick([one for one in cluster.targets if one is not victim])
    down = stage.mark(at + slow - draw.span(900, 6_000), f"SIGTERM {other.name}, an update")
    faults.terminate(cluster, other, down)
    back = stage.mark(down + draw.span(9_000, 14_000), f"{other.name} is started again")
    joined = faults.start_again(cluster, other, back)
    return stage.close(
        "The time server of the storage network had been switched off with the old rack.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        ALIVE,
        until=joined + seconds(60),
    )


def _split(stage: Stage) -> None:
    """The job is split over tensors and stages, so that rank 2 is of the first stage and first of its tensor group."""
    if not isinstance(stage, Scene) or stage.params.ranks > LARGEST or stage.params.ranks % 8:
        return
    if stage.params.torch_release.order < NAMES_GROUPS or stage.params.torch_release.glog:
        return
    mesh = Mesh(stage.params.ranks, 2, 2 if stage.params.ranks < 32 else 4)
    stage.setting = replace(stage.setting, mesh=mesh)
    stage.job.job = replace(stage.job.job, grid=(mesh.tensor, mesh.pipeline))


@kind(culprit=2, reads=True, lead_s=62.0, min_timeout_s=90, without=NOISE)
def first_stage_waits_for_a_target_that_stands_still(stage: Stage) -> Scenario:
    """One reader of the first stage waits for a stopped target, all groups wait for it (Megatron, TP and PP).

    To convict: the watchdogs speak in several groups, and the rank behind in all of them is the one whose reads time
    out at one address; the target there writes and counts nothing from then on, and the primary cannot reach it and
    removes it: only then does another say that it has no such object, which is true of it alone. Later stages wait in
    a receive, its tensor peer in a broadcast, other replicas for its gradients.
    """
    victim, rank, at = stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("first stage")
    _split(stage)
    stage.open()
    frozen = stage.mark(at - 25 * MS, f"SIGSTOP {victim.name}")
    until = over_at(stage) + seconds(draw.between(24, 40))
    faults.stop(stage.cluster, victim, frozen, until)
    faults.leave_smap(stage.cluster, victim, at, hung=True)
    then, shard = at, shard_of(draw)
    for _ in range(2):
        then, wait = then + seconds(20.02) + draw.span(1, 9), round(draw.between(1.1, 1.5), 2)
        text = unanswered_at(stage, rank, victim, shard)
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", text))
        then += seconds(wait)
    heir = stage.other_target(victim, draw.whole(0, 50))
    missing = aisstandstills.not_here(stage.cluster, heir, then, shard)
    answer = refused_get(stage, then, rank, heir, shard, (404, "Not Found"), missing)
    stage.job.raise_on(then + 4 * MS, rank, answer)
    stage.hang(at + 350 * MS, rank)
    stage.mark(until, f"SIGCONT {victim.name}")
    back = faults.resume(stage.cluster, victim, until + 2 * MS)
    return stage.close(
        "Its virtual machine was stopped while a copy of its disk was taken.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure")),),
        until=back + seconds(60),
    )
