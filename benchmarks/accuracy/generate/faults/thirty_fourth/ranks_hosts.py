"""Hosts that crash, jobs that give way to others, loaders that take all memory; storage is loud and innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth import unrest as eighth_unrest
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.tenth.training import watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.watchkeepers import controller, elsewhere, silent_from
from benchmarks.accuracy.generate.faults.words.workbenches import loader_killed, loader_name
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import torchrun
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "thirty_fourth")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)
#: How long SLURM waits for a host that does not answer, if nothing else is configured.
SLURMD_TIMEOUT_S = 300


def _given_up(stage: Stage, failed: int, at: int) -> None:
    """SLURM takes a host that does not answer for down, and ends the job on all others, which wait for it still."""
    job, own, draw = stage.job, stage.job.job, stage.draw.child("given up")
    controller(stage, at, f"error: Nodes {own.hosts[failed]} not responding, setting DOWN")
    controller(stage, at + MS, f"Killing JobId={own.job_id} on failed node {own.hosts[failed]}")
    job.slurm(at + 12 * MS, 0, f"srun: error: Node failure on {own.hosts[failed]}")
    job.slurm(at + 13 * MS, 0, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    job.slurm(at + 20 * MS, 0, torchrun.step_cancelled(own, at, "NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"))
    for node in range(len(own.hosts)):
        if node != failed:
            then = at + draw.span(30, 160)
            job.agent_signalled(then, node)
            job.slurm(then + draw.span(900, 1_900), node, torchrun.srun_exit(own, node))
    job.ended_at = at + seconds(3)


@kind(hosts=2, slurm=True, lead_s=68.0, without=RESTARTS)
def host_of_ranks_panics_while_targets_rebalance(stage: Stage) -> Scenario:
    """A host has an error of its processor and panics; nothing of it is heard any more (kernel docs, mce; slurm docs).

    To acquit: all ranks of one host fall silent in one moment, without a last word, as its console has a panic; all
    others wait for them, or are ended for a failed node while they wait. A rebalance that somebody had started runs
    before and after; batches went on under it.
    """
    stage.open()
    beside(stage, commotion.rebalance_running)
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("panics")
    node = own.node_of(stage.culprit) or len(own.hosts) - 1
    host, ranks = own.hosts[node], tuple(own.ranks_of(node))
    stage.mark(at, f"{host} panics")
    if stage.params.timeout_s < SLURMD_TIMEOUT_S:
        end = stage.hang(at, *ranks)
        silent_from(stage, node, at)
        over = end + draw.span(61_000, 63_000)
        job.slurm(over, 0, "srun: error: Timed out waiting for job step to complete")
        job.ended_at = over + 200 * MS
    else:
        silent_from(stage, node, at)
        _given_up(stage, node, at + seconds(SLURMD_TIMEOUT_S) + draw.span(2_000, 28_000))
    bank, cpu = draw.whole(1, 20), draw.whole(0, 111)
    fault = f"mce: [Hardware Error]: CPU {cpu}: Machine Check Exception: 5 Bank {bank}: be000000{draw.token(8, HEX)}"
    for turn, said in enumerate((fault, "Kernel panic - not syncing: Fatal local machine check")):
        elsewhere(stage, at + (30 + 9 * turn) * MS, host, f"console: {said}")
    controller(stage, at + draw.span(38_000, 54_000), f"error: Nodes {host} not responding")
    made = stage.innocent("infrastructure", *ranks, also=("network",))
    return stage.close("Its memory modules had been reported as failing the week before.", (made,))


@kind(hangs=False, slurm=True, lead_s=64.0, without=RESTARTS)
def job_gives_way_to_one_of_a_higher_partition(stage: Stage) -> Scenario:
    """SLURM takes the nodes of a job for another of higher priority (slurm docs, preempt; slurmctld, job_mgr).

    To acquit: no rank has an error of its own; the controller names the job that takes its place, the step is
    cancelled due to preemption, and agents are ended by signal 15. Ranks that met a killed target half a minute before
    had been served since.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("gives way")
    stage.mark(at, "the job is preempted")
    other = int(own.job_id) + draw.whole(3, 900)
    said = f"preempted JobId={own.job_id} has been killed to reclaim resources for JobId={other}"
    controller(stage, at - draw.span(4, 40), said)
    job.slurm(at, 0, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    job.slurm(at + 3 * MS, 0, torchrun.step_cancelled(own, at, "PREEMPTION"))
    last = at
    for node in range(len(own.hosts)):
        then = at + draw.span(15, 90)
        job.agent_signalled(then, node)
        job.slurm(then + draw.span(900, 1_900), node, torchrun.srun_exit(own, node))
        last = max(last, then)
    job.ended_at = last + seconds(2)
    unrest.hung_up_on(stage)
    return stage.close(
        "The partition for evaluations of the release had been given priority for the night.",
        (stage.innocent("infrastructure"),),
    )


@kind(reads=True, lead_s=70.0, without=RESTARTS)
def loader_keeps_what_it_has_decoded_until_it_is_killed(stage: Stage) -> Scenario:
    """A loader process caches without a limit, and the kernel ends it (pytorch docs, data; recorded h; issue 13246).

    To acquit: the kernel names the process that it kills in the job's own cgroup, a child of the rank that raises;
    the rank had told how much that loader keeps. A disk of a target and some connections had trouble in the same half
    minute, after which every batch came.
    """
    stage.open()
    beside(stage, unrest.connects_repeated)
    unrest.unsettled(stage, (disk_unrest.disk_lost_in_window, eighth_unrest.slow_then_fine))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("keeps")
    node, worker = own.node_of(rank), draw.whole(0, 7)
    pid, gib = own.rank_pids[rank] + 64 + worker, draw.between(88, 140)
    for turn, part in enumerate((0.71, 0.86, 0.97)):
        then = at - seconds(31.0 - 14.0 * turn) - draw.span(0, 900)
        held = f"worker {worker} (pid {pid}): {gib * part:.1f} GiB resident, {int(gib * part * 931)} decoded recordings"
        told(stage, then, rank, "cache", f"{held} kept, none left out", "WARNING")
    killed = stage.mark(at - draw.span(12, 60), f"a loader of rank {rank} is killed for its memory")
    kib, mapped = int(gib * 1024 * 1024), draw.whole(9_000_000, 31_000_000)
    said = (
        f"kernel: Memory cgroup out of memory: Killed process {pid} ({loader_name(stage)}) total-vm:{kib + mapped}kB, "
    )
    said += f"anon-rss:{kib}kB, file-rss:{draw.whole(60_000, 140_000)}kB, shmem-rss:{draw.whole(9_000, 90_000)}kB, "
    watched(stage, killed, node, f"{said}UID:0 pgtables:{kib // 480}kB oom_score_adj:0")
    loader_killed(stage, at + 5 * MS, rank, pid, "Killed")
    end = stage.hang(at + 60 * MS, rank)
    job.slurm(end + 240 * MS, node, torchrun.oom_lines(own, node)[0])
    made = stage.innocent("infrastructure", rank, also=("software", "data_loading_stall"))
    return stage.close("The cache had been written for a corpus a tenth of the size.", (made,), ALIVE)
