"""Hosts of training that stand still, are cut off, swap, or are given to somebody else, of the twentieth part.

Storage is innocent and mostly loud. The docstring of a kind says where it is from, and which lines acquit storage.
"""

from __future__ import annotations

import math
from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighteenth.thosts import gives_up
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as former_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import of_all, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, object_path
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.draw import HEX, LOWER, Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "twentieth")
#: Noise in which ranks ask AIStore for samples.
ASKED = ("idle_resets", "loader_fallbacks", "soft_errors", "restart_before", "pool_full")


def _slow_from_the_start(stage: Stage, slow: float, draw: Draw) -> int:
    """Every step takes that long; how many there are before somebody ends the job."""
    stage.job.params = replace(stage.job.params, step_s=slow)
    return int(stage.params.lead_s / slow) + draw.whole(12, 30)


def _pressure(draw: Draw, since_s: float) -> str:
    """How much of the time all tasks have waited for disks, which they do since then: averages start at nought."""
    share = draw.between(81, 96)
    short, long = (share * (1 - math.exp(-since_s / span)) for span in (10, 60))
    return f"full avg10={short:.2f} avg60={long:.2f}"


def _uuid(draw: Draw) -> str:
    return "-".join(draw.token(length, HEX) for length in (8, 4, 4, 4, 12))


@kind(lead_s=70.0, min_timeout_s=60, without=RESTARTS)
def processor_of_a_host_is_stuck(stage: Stage) -> Scenario:
    """A processor of a host does not leave the kernel, and with it a rank (kernel docs, lockup-watchdogs).

    To acquit: the kernel says again and again which process stands on which processor, and for how long: as long as
    the others wait; the killed target was back before, and its batches had come.
    """
    stage.open()
    beside(stage, own_unrest.killed_in_window)
    unrest.unsettled(
        stage, (unrest.entries_missing, former_unrest.disk_lost_in_window, tenth_unrest.tenant_batches_fail)
    )
    own, rank, at, draw, over = stage.job.job, stage.culprit, stage.at, stage.draw.child("stuck"), over_at(stage)
    node, core, pid = own.node_of(rank), draw.whole(3, 190), own.rank_pids[rank]
    stage.mark(at, f"rank {rank} stands on a processor that is stuck")
    then, stood = at + draw.span(22_000, 25_000), draw.whole(22, 23)
    head = f"kernel: watchdog: BUG: soft lockup - CPU#{core} stuck for"
    while then < over + 10 * SEC:
        watched(stage, then, node, f"{head} {stood}s! [python3:{pid}]")
        if stood < 30:
            place = draw.pick(
                ("native_queued_spin_lock_slowpath+0x23f/0x2d0", "smp_call_function_many_cond+0x10c/0x520")
            )
            watched(stage, then + 2 * MS, node, f"kernel: RIP: 0010:{place}")
        then, stood = then + seconds(28), stood + 26
    if own.timeout_s > 70:
        watched(stage, at + seconds(60.1), node, "kernel: rcu: INFO: rcu_sched self-detected stall on CPU")
        watched(
            stage,
            at + seconds(60.1) + MS,
            node,
            f"kernel: rcu: \t{core}-....: (59998 ticks this GP) idle=1a2c/1/0x4000000000000000",
        )
    stage.hang(at + 40 * MS, rank)
    loud.killed_in_the_hang(stage)
    made = stage.innocent("infrastructure", rank, also=("rank_hang", "software"))
    return stage.close("A driver of another card holds a lock.", (made,))


@kind(reads=True, hangs=False, hosts=2, lead_s=60.0)
def card_of_a_training_host_halts(stage: Stage) -> Scenario:
    """The firmware of a training host's network card stands still: it reaches nobody (mlx5, health.c; NVSentinel docs).

    To acquit: the kernel of that host says that its card is not well; its ranks alone fail, to every proxy and target,
    and its own monitor reaches its server no more.
    """
    stage.open()
    beside(stage, former_unrest.disk_lost_in_window)
    unrest.unsettled(stage, (commotion.tenant_backend_fails, own_unrest.neighbour_reads_cold, unrest.entries_missing))
    own, draw, cluster = stage.job.job, stage.draw.child("card"), stage.cluster
    node, bus = own.node_of(stage.culprit), f"0000:{draw.pick(('31', '4b', 'ca', '98'))}:00.{draw.whole(0, 1)}"
    began = stage.mark(stage.at - draw.span(2_000, 5_000), f"the network card of {own.hosts[node]} halts")
    wheres = draw.shuffled([*cluster.proxies, *cluster.targets])

    def asked(rank: int) -> str:
        where = draw.pick(wheres)
        cause = sdk.connect_timeout(where.address, draw.whole(*HANDLES))
        return sdk.pool_error(where.address, where.ports[0], object_path(stage, rank, utterance(draw)), cause)

    core = f"kernel: mlx5_core {bus}"
    watched(stage, began, node, f"{core}: poll_health:834:(pid 0): device's health compromised - reached miss count")
    watched(
        stage,
        began + 3 * MS,
        node,
        f"{core}: print_health_info:429:(pid 0): Health issue observed, firmware internal error, severity(3) ERROR:",
    )
    watched(stage, began + 900 * MS, node, f"{core}: mlx5_error_sw_reset:245:(pid {draw.whole(300, 9_000)}): start")
    post = 'Post "http://10.0.4.9:8086/api/v2/write": context deadline exceeded'
    watched(
        stage,
        began + draw.span(9_000, 12_000),
        node,
        f"telegraf: E! [agent] Error writing to outputs.influxdb_v2: {post}",
    )
    gives_up(stage, "ConnectTimeout", 3.0, asked)
    made = stage.innocent("network", stage.culprit, also=("infrastructure", "data_loading_stall"))
    return stage.close("A fan of that host turns at half its speed.", (made,))


@kind(hangs=False, hosts=2, lead_s=60.0)
def host_swaps_its_memory(stage: Stage) -> Scenario:
    """Loaders of one host hold more than its memory, which is swapped in and out (proc(5), vmstat; systemd-oomd docs).

    To acquit: vmstat of that host counts pages and waiting processes, its ranks print seconds for what is theirs, and
    hundredths for reads; ranks of other hosts wait.
    """
    job, own, draw = stage.job, stage.job.job, stage.draw.child("swap")
    usual, node = stage.params.step_s, own.node_of(stage.culprit)
    slow = round(usual + draw.between(2.6, 5.8), 2)
    steps = _slow_from_the_start(stage, slow, draw)
    stage.mark(job.begin - draw.span(900, 4_000), f"{own.hosts[node]} swaps")
    stage.open(until_step=0)
    waits = {step: (slow - usual) * draw.between(0.92, 1.06) for step in range(steps)}
    job.train(0, steps, slow=waits, late=own.ranks_of(node))
    stage.load(job, job.begin + 60 * MS, job.step_at(steps))
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(
        stage, (own_unrest.turned_away_in_window, loud.neighbour_reads_slowly, former_unrest.disk_lost_in_window)
    )
    over, then = job.step_at(steps) + draw.span(900, 3_900), job.begin + draw.span(3_000, 9_000)
    while then < over:
        stat = (
            f"r {draw.whole(2, 9)} b {draw.whole(40, 160)} swpd {draw.whole(190, 255)}G free {draw.whole(300, 900)}M "
        )
        stat += f"si {draw.whole(290_000, 910_000)} so {draw.whole(190_000, 880_000)} wa {draw.whole(41, 77)}"
        watched(stage, then, node, f"vmstat: {stat}")
        then += seconds(30)
    near = own.ranks_of(node)
    far = [one for one in range(own.world) if own.node_of(one) != node]
    for turn, step in enumerate(range(3, steps, 6)):
        for one in (near[turn % len(near)], far[turn * 5 % len(far)]):
            spent = f"{waits[step]:.2f}" if one in near else f"0.{draw.whole(10, 29)}"
            said = f"step {step}: objects here after 0.0{draw.whole(2, 9)} s, shuffled and collated in {spent} s"
            reader_note(stage, job.step_at(step + 1) - draw.span(20, 300), one, said)
    cancelled_by_hand(stage, over)
    made = of_all(stage.innocent("infrastructure", also=("data_loading_stall", "rank_hang", "software")))
    return stage.close("The buffers of all loaders were doubled; one host has half the memory.", (made,))


@kind(hangs=False, lead_s=60.0, without=ASKED)
def scratch_is_held_to_a_rate(stage: Stage) -> Scenario:
    """Shards are read from a host's own disk, whose rate is limited for the job (kernel docs, cgroup-v2, io.max).

    To acquit: what is read is below /scratch, staged there before from AIStore; the limit of the cgroup is printed, and
    bytes divided by seconds are this limit.
    """
    job, own, draw = stage.job, stage.job.job, stage.draw.child("rate")
    usual, limit = stage.params.step_s, draw.pick((100, 150, 200))
    waits = draw.between(2.1, 5.2)
    slow = round(usual + waits, 2)
    steps = _slow_from_the_start(stage, slow, draw)
    stage.mark(job.begin - draw.span(900, 4_000), f"the job may read {limit} MiB/s of its scratch")
    staged = f"{draw.whole(300, 900)} shards staged from ais://{stage.bucket} to /scratch/{own.job_id}, all there"
    reader_note(stage, job.begin - 300 * MS, 0, staged)
    stage.open(until_step=0)
    job.train(0, steps, slow={step: waits * draw.between(0.94, 1.06) for step in range(steps)})
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(
        stage, (own_unrest.neighbour_reads_cold, former_unrest.tenant_full_in_window, commotion.tenant_backend_fails)
    )
    over = job.step_at(steps) + draw.span(900, 3_900)
    for host in range(min(len(own.hosts), 4)):
        watched(
            stage,
            job.begin + draw.span(2_000, 6_000),
            host,
            f"io.max: 259:0 rbps={limit << 20} wbps=max riops=max wiops=max",
        )
        then = job.begin + draw.span(7_000, 12_000)
        while then < over:
            watched(stage, then, host, f"io.pressure: {_pressure(draw, (then - job.begin) / SEC)}")
            then += seconds(30)
    for step in range(4, steps, 6):
        took = waits * draw.between(0.95, 1.04)
        said = f"step {step}: {limit * took:.0f} MiB read from /scratch in {took:.2f} s, compute {usual:.2f} s"
        reader_note(stage, job.step_at(step + 1) + 80 * MS, draw.whole(0, own.world - 1), said)
    cancelled_by_hand(stage, over)
    made = of_all(stage.innocent("infrastructure", also=("data_loading_stall", "software")))
    return stage.close("The limit protects the images of the hosts from jobs that copy.", (made,))


@kind(hangs=False, lead_s=60.0)
def queue_gives_the_quota_to_another(stage: Stage) -> Scenario:
    """Kueue takes the quota of a workload for one of higher priority, and stops its pods (Kueue docs, preemption).

    To acquit: the event names the workload that is to have its place; all steps were as long as ever until then.
    """
    name = f"{stage.job.job.task.replace('_', '-')}-{stage.draw.child('queue').token(5, LOWER)}"
    stage.job.job = replace(stage.job.job, layout="kubectl", job_id=name)
    stage.open()
    beside(stage, own_unrest.turned_away_in_window)
    beside(stage, former_unrest.disk_lost_in_window)
    unrest.unsettled(stage, (commotion.reads_recover, own_unrest.neighbour_reads_cold))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("kueue")
    stage.mark(at, "the quota of the job is given to another")
    place = draw.pick(("prioritization in the ClusterQueue", "reclamation within the cohort"))
    why = f"Preempted to accommodate a workload (UID: {_uuid(draw)}, JobUID: {_uuid(draw)}) due to {place}"
    head = f"k8s-events: ml-train Workload/pytorchjob-{name}-{draw.token(5, HEX)}"
    job.agent(at, 0, f"{head} Normal EvictedDueToPreempted {why}")
    job.agent(at + 4 * MS, 0, f"{head} Normal Preempted {why}")
    job.agent(at + 60 * MS, 0, f"k8s-events: ml-train PyTorchJob/{name} Normal Stopped {why}")
    for node in range(len(own.hosts)):
        then = at + draw.span(400, 1_300)
        job.agent(
            then - 90 * MS,
            node,
            f"k8s-events: ml-train Pod/{name}-worker-{node} Normal Killing Stopping container pytorch",
        )
        job.agent_signalled(then, node)
    job.ended_at = at + seconds(3)
    former_unrest.killed_when_all_is_over(stage)
    return stage.close("An evaluation of another team has a higher class.", (of_all(stage.innocent("infrastructure")),))
