"""Hosts and schedulers that take a job's processes away, beside storage that is loud; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.thirty_fifth.ranks_beside import (
    KILLED,
    complete,
    disk_given_up,
    host_says,
    killed_and_back,
    killed_in_the_hang,
    turned_away,
)
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, exhausted
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.faults.words.watchkeepers import elsewhere, silent_from
from benchmarks.accuracy.generate.faults.words.workbenches import in_pods, loader_killed, loader_name
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "thirty_fifth")
DISKS = ("mountpath_before", "disk_busy")


@kind(reads=True, hosts=2, slurm=True, lead_s=56.0, without=("restart_before", "kill_after"))
def kernel_of_one_host_of_the_job_panics(stage: Stage) -> Scenario:
    """A machine check ends the kernel of one host; its ranks are silent from then on (Slurm docs, node failure).

    To acquit: the log server has the panic of that host, and nothing of its ranks or its agent stands anywhere after
    it, as all others wait in one collective; srun reports the failed node at the end. Batches that were turned away
    before had all come, and the target that is killed was well until half of the time-out had passed.
    """
    stage.open()
    beside(stage, turned_away)
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("panics")
    node = own.node_of(stage.culprit) or 1
    ranks = tuple(own.ranks_of(node))
    stage.mark(at, f"the kernel of {own.hosts[node]} panics")
    core, bank = draw.whole(1, 95), draw.pick((5, 7, 13, 14))
    checked = f"kernel: mce: [Hardware Error]: CPU {core}: Machine Check Exception: 5 Bank {bank}: be00000000800400"
    elsewhere(stage, at + 3 * MS, own.hosts[node], checked)
    panic = "kernel: Kernel panic - not syncing: Fatal local machine check"
    elsewhere(stage, at + 11 * MS, own.hosts[node], panic)
    end = stage.hang(at + 40 * MS, *ranks)
    silent_from(stage, node, at)
    job.slurm(end + draw.span(600, 1_900), 0, f"srun: error: Node failure on {own.hosts[node]}")
    job.ended_at = end + seconds(2)
    beside(stage, killed_in_the_hang)
    made = stage.innocent("infrastructure", *ranks, also=("network",))
    return stage.close("A memory module of that host had been reported twice in the month before.", (made,))


@kind(hangs=False, slurm=True, lead_s=66.0, without=(*RESTARTS, *KILLED))
def job_makes_room_for_one_of_higher_priority(stage: Stage) -> Scenario:
    """SLURM preempts a job: a signal, a time of grace, the end (Slurm docs, preemption, GraceTime).

    To acquit: rank 0 tells of the scheduler's signal and goes on, slurmstepd cancels the step for preemption, and only
    then agents and ranks are ended. The target that was killed in the minute before is back and each batch came.
    """
    stage.open()
    beside(stage, killed_and_back)
    job, at, draw = stage.job, stage.at, stage.draw.child("preempted")
    grace = draw.pick((15, 20, 30))
    stage.mark(at - seconds(grace), "the scheduler has chosen the job for preemption")
    said = f"SIGUSR1 from the scheduler: this job may be preempted in {grace} s, a checkpoint is due at the next save"
    told(stage, at - seconds(grace) + 40 * MS, 0, "signals", said, "WARNING")
    job.slurm(at, 0, torchrun.step_cancelled(job.job, at, "PREEMPTION"))
    job.slurm(at + 2 * MS, 0, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    last = at
    for node in range(len(job.job.hosts)):
        then = at + draw.span(30, 90)
        job.agent_signalled(then, node)
        last = then + draw.span(300, 900)
        job.slurm(last, node, torchrun.srun_exit(job.job, node))
    job.ended_at = last + seconds(1)
    return stage.close("The other job had a deadline.", (stage.innocent("infrastructure"),))


@kind(reads=True, hangs=False, lead_s=58.0, without=("restart_before", "disk_busy"))
def kernel_takes_a_loader_for_its_memory(stage: Stage) -> Scenario:
    """A loader process outgrows the memory of its job and is killed (recorded torch run h; pytorch issues).

    To acquit: the kernel of the rank's host kills a process by the pid that the rank then tells of as its loader's;
    that loader has told how much it holds, and that its batch came whole. A target's busy disks made batches slow by
    milliseconds, before and after; batches that were turned away came.
    """
    stage.open()
    beside(stage, commotion.throttled_in_window)
    beside(stage, turned_away)
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("loader")
    node, worker, pid = own.node_of(rank), draw.whole(0, 7), own.rank_pids[rank] + draw.whole(60, 300)
    for turn, late in enumerate((31_000, 19_000, 6_000)):
        then = at - draw.span(late, late + 3_000)
        if then > job.begin + seconds(3):
            said = f"worker {worker} (pid {pid}): 48 of 48 recordings, {21.5 + 14.2 * turn:.1f} GiB resident"
            told(stage, then, rank, "loader", said)
    stage.mark(at - 90 * MS, f"the kernel kills a loader of rank {rank}")
    group = f"/kubepods.slice/pod{draw.token(8)}" if in_pods(stage) else f"/slurm/uid_4102/job_{own.job_id}/step_0"
    task = loader_name(stage)
    where = f"nodemask=(null),cpuset={group.rsplit('/', 1)[-1]},mems_allowed=0-1,oom_memcg={group}"
    said = f"oom-kill:constraint=CONSTRAINT_MEMCG,{where},task_memcg={group},task={task},pid={pid},uid=4102"
    host_says(stage, at - 88 * MS, node, f"kernel: {said}")
    held = draw.whole(54_000_000, 61_000_000)
    said = f"Memory cgroup out of memory: Killed process {pid} ({task}) total-vm:{held * 2}kB, anon-rss:{held}kB, "
    said += f"file-rss:{draw.whole(9_000, 70_000)}kB, shmem-rss:{draw.whole(100_000, 900_000)}kB, UID:4102 "
    said += f"pgtables:{held // 480}kB oom_score_adj:0"
    host_says(stage, at - 87 * MS, node, f"kernel: {said}")
    loader_killed(stage, at, rank, pid, "Killed")
    over = at + draw.span(600, 1_400)
    job.agents_end([Exit(rank, over, 1)], over, {node: torchrun.oom_lines(own, node)})
    made = stage.innocent("infrastructure", rank, also=("software", "data_loading_stall"))
    return stage.close("Each loader kept the waveforms that it had ever decoded in a dictionary.", (made,))


def _no_connection(stage: Stage, rank: int, at: int, limit: int, draw: Draw) -> None:
    """New connections of a rank to targets and proxies time out until it or the job gives up."""
    cluster = stage.cluster
    nodes, then, text = draw.shuffled([*cluster.targets, *cluster.proxies]), at, ""
    for turn in range(7):
        node = nodes[turn % len(nodes)]
        then += seconds(3.003)
        if then > limit:
            return
        path = f"/v1/ml/moss/{stage.bucket}?provider=ais"
        path += f"&pid={stage.proxy_of(rank).node_id}" if node in cluster.targets else ""
        text = sdk.pool_error(
            node.address, node.ports[0], path, sdk.connect_timeout(node.address, draw.whole(*HANDLES))
        )
        if turn == 6:
            exhausted(stage, then, rank, text, "ConnectTimeout")
            return
        wait = round(draw.between(1.0, min(30.0, 2.0**turn + 0.5)), 2)
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectTimeout", text))
        then += seconds(wait)


@kind(hosts=2, hangs=False, min_timeout_s=90, lead_s=56.0, without=DISKS)
def one_host_drops_packets_of_new_connections(stage: Stage) -> Scenario:
    """One host tracks too many connections and drops packets of new ones (kernel docs, nf_conntrack).

    To acquit: the kernel of one host tells again and again that its table is full; all ranks there time out as they
    connect to targets and to proxies alike, while ranks of other hosts fetch whole batches of the same nodes. The
    disk that a target has given up a little earlier is one of several, and no batch fails for want of it.
    """
    stage.open()
    beside(stage, disk_given_up)
    own, at, draw = stage.job.job, stage.at, stage.draw.child("table")
    node, over = own.node_of(stage.culprit), over_at(stage)
    ranks = tuple(own.ranks_of(node))
    stage.mark(at - 20 * MS, f"the table of connections of {own.hosts[node]} is full")
    then = at - 15 * MS
    while then < over:
        host_says(stage, then, node, "kernel: nf_conntrack: nf_conntrack: table full, dropping packet")
        then += draw.span(5_000, 14_000)
    for rank in ranks:
        _no_connection(stage, rank, at + draw.span(2, 400), over - SEC, draw.child("rank", rank))
    for one in [one for one in readers(stage) if one not in ranks][:4]:
        asked = at + draw.span(600, 6_000)
        complete(stage, asked + draw.span(110, 700), one, asked)
    stage.hang(at + 340 * MS, *ranks)
    made = stage.innocent("network", *ranks, also=("infrastructure", "data_loading_stall"))
    return stage.close("A service for metrics on that host opened a connection for each value.", (made,))
