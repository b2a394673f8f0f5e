"""Hosts, health checks and clocks of a site that end a job or seem to blame storage for it; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, nccl_error, of_all, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import reducing_frames
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.watchkeepers import (
    REMOTE,
    controller,
    elsewhere,
    nccl_warns,
    silent_from,
)
from benchmarks.accuracy.generate.faults.words.workbenches import loader_killed
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator import chains, sdk, torchrun
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "thirty_second")


@kind(hosts=2, hangs=False, slurm=True, lead_s=60.0)
def kernel_of_a_host_panics_and_its_peers_raise(stage: Stage) -> Scenario:
    """The kernel of a host panics, its peers' sends time out and these raise (NVIDIA/nccl#1405; Slurm, Node failure).

    To acquit: the peers name the panicked host as who does not answer; no line of that host is younger than the panic
    that its console has sent to another, and slurmctld finds it rebooted. Repeated batches before were served. Wording
    of the kernel's lines from memory.
    """
    stage.open()
    beside(stage, past_unrest.turned_away_in_window)
    unrest.unsettled(stage, (tunrest.readers_resume, commotion.tenant_meets_bad_data, unrest.entries_missing))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("panic")
    node = max(1, own.node_of(stage.culprit))
    ranks, host = tuple(own.ranks_of(node)), own.hosts[node]
    stage.mark(at, f"the kernel of {host} panics")
    peers = {own.node_of(one): one for one in (*range(own.world),) if own.node_of(one) != node}
    exiting, over = [], at
    for far_node, far in list(peers.items())[:3]:
        over = at + draw.span(26_000, 34_000)
        where = f"from peer 10.44.{node % 250}.17<{draw.whole(33_000, 60_000)}> with status=12 opcode=0 len=0"
        gids = f"localGid ::ffff:10.44.{far_node % 250}.17 remoteGids::ffff:10.44.{node % 250}.17 hca mlx5_2"
        last = f"NET/IB : Got completion {where} vendor err 129 (Send) {gids}"
        nccl_warns(stage, over - 15 * MS, far, f"transport/net_ib.cc:{draw.pick((1691, 2011, 2117))}", last)
        raised = sdk.Raised(reducing_frames(stage), nccl_error(stage, REMOTE, last))
        job.raise_on(over, far, sdk.traceback(raised))
        exiting.append(Exit(far, over + 700 * MS, 1))
    end = job.agents_end(exiting, max(one.at for one in exiting))
    silent_from(stage, node, at)
    fault = f"ffff{draw.token(12, HEX)}"
    said = (
        f"BUG: unable to handle page fault for address: {fault}",
        "#PF: supervisor write access in kernel mode",
        f"Oops: 0002 [#1] SMP NOPTI CPU: {draw.whole(0, 95)} PID: 0 Comm: swapper Kdump: loaded Tainted: P OE",
        "RIP: 0010:mlx5e_handle_rx_cqe_mpwrq+0xb1/0x250 [mlx5_core]",
        "Kernel panic - not syncing: Fatal exception in interrupt",
        "Rebooting in 10 seconds..",
    )
    for turn, text in enumerate(said):
        elsewhere(stage, at + draw.span(1, 3) + turn * 2 * MS, host, f"netconsole: {text}")
    job.slurm(end + seconds(0.5), 0, f"srun: error: Node failure on {host}")
    back = at + draw.span(190_000, 260_000)
    boot, last_s = (back - seconds(42)) // SEC, (at - draw.span(2_000, 60_000)) // SEC
    controller(
        stage, back, f"validate_node_specs: Node {host} unexpectedly rebooted boot_time={boot} last response={last_s}"
    )
    job.ended_at = max(job.ended_at, back)
    made = stage.innocent("infrastructure", *ranks, also=("network",))
    return stage.close("The driver of the card was one that its maker had withdrawn.", (made,), until=back)


@kind(hosts=2, hangs=False, slurm=True, lead_s=66.0)
def health_check_sets_a_host_down_under_a_job(stage: Stage) -> Scenario:
    """A node health check fails and sets its host down, with which SLURM ends the job (LBNL NHC; Slurm, NODE_FAIL).

    To acquit: the check and slurmctld say what is missing and that the job is killed for it, before anything of the
    job ends; all ranks trained until then. Targets find streams cut only afterwards. Wording of NHC from memory.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (unrest.connects_repeated, commotion.tenant_backend_fails))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("check")
    node = own.node_of(stage.culprit)
    host, place = own.hosts[node], draw.pick(("/scratch", "/home", "/apps"))
    stage.mark(at - 300 * MS, f"the health check of {host} fails")
    for one in range(len(own.hosts)):
        said = f"nhc[{draw.whole(20_000, 900_000)}]: Node Health Check starting."
        watched(stage, at - draw.span(4_000, 6_000), one, said)
    why = f"check_fs_mount_rw:  {place} not mounted"
    watched(stage, at - 300 * MS, node, f"nhc: ERROR:  nhc:  Health check failed:  {why}")
    controller(stage, at - 40 * MS, f"update_node: node {host} reason set to: NHC: {why}")
    controller(stage, at - 39 * MS, f"update_node: node {host} state set to DOWN")
    controller(stage, at - 30 * MS, f"Killing JobId={own.job_id} on failed node {host}")
    job.slurm(at, 0, f"srun: error: Node failure on {host}")
    job.slurm(at + 4 * MS, 0, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    job.slurm(at + 9 * MS, 0, torchrun.step_cancelled(own, at, "NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"))
    last = at
    for one in range(len(own.hosts)):
        then = at + draw.span(30, 240)
        job.agent_signalled(then, one)
        last = max(last, then + draw.span(300, 900))
        job.slurm(last, one, f"srun: error: {own.hosts[one]}: task {one}: Terminated")
    job.ended_at = last + seconds(0.3)
    unrest.hung_up_on(stage)
    made = of_all(stage.innocent("infrastructure", also=("software",)))
    return stage.close(f"The export of {place} was renewed, and the check came in between.", (made,))


@kind(reads=True, hangs=False, ais_order=450, lead_s=70.0, without=(*RESTARTS, "second_job"))
def restart_after_the_end_is_dated_before_it(stage: Stage) -> Scenario:
    """AIStore's clocks are minutes slow, so its restart after a job's end bears an earlier time (chrony docs; shm).

    To acquit: work items that ranks name stand in targets' logs with times minutes earlier than theirs, so the clocks
    are that far apart, and by AIStore's own clock the job's streams broke long before any target stopped. A loader of
    the culprit dies of a bus error, for want of shared memory, as it says.
    """
    cluster, job, own, rank, at = stage.cluster, stage.job, stage.job.job, stage.culprit, stage.at
    draw, victim = stage.draw.child("slow clocks"), stage.victim
    stage.open()
    behind = draw.span(110_000, 170_000)
    for node in cluster.nodes:
        cluster.skews[node.node_id] = -behind - draw.span(0, 25)
    who = (rank, *readers(stage)[: draw.whole(1, 3)])
    for one in who:
        then = at - draw.span(9_000, 31_000)
        node = draw.pick(cluster.targets)
        chains.read_timed_out(stage, then, node, one, round(draw.between(1.0, 1.9), 2))
        late = then + draw.span(2_300, 3_900)
        told(stage, late, one, "batches", f"get-batch served after 2 attempts, {20 + (late - then) / SEC:.1f} s")
    pid = own.rank_pids[rank] + draw.whole(300, 900)
    stage.mark(at, f"a loader of rank {rank} finds no shared memory")
    hint = "This might be caused by insufficient shared memory (shm)."
    job.say(at - 12 * MS, rank, f"ERROR: Unexpected bus error encountered in worker. {hint}")
    signal = "Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your "
    loader_killed(stage, at, rank, pid, f"{signal}shared memory limit")
    exits(stage, at, rank)
    for one in who:
        node, then = cluster.target(draw.whole(0, 99)), at + draw.span(20, 1_900)
        if cluster.xact is not None:
            cluster.say(node, then, ev.broken_pipe(cluster.xact, node, stage.client(one)))
            cluster.count(node, then, getbatch_n=1, err_getbatch_n=1)
    down = at + behind - draw.span(4_500, 10_000)
    stage.mark(down, f"SIGTERM {victim.name}, with clocks of the cluster {behind / SEC:.0f} s behind")
    faults.terminate(cluster, victim, down)
    joined = faults.start_again(cluster, victim, down + draw.span(7_000, 9_500))
    made = stage.innocent("infrastructure", rank, also=("software",))
    said = "The container was started with the 64 MiB of /dev/shm that Docker gives."
    return stage.close(said, (made,), until=joined + seconds(60))
