"""Hosts, schedulers and host networks that end a job, beside loud storage; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.thirty_sixth.ranks_words import (
    BUSES,
    CRASHES,
    crash_in_the_wait,
    crash_just_now,
    kernel,
    loud,
    nccl_version,
)
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.requests import exhausted
from benchmarks.accuracy.generate.faults.words.script import without_carets
from benchmarks.accuracy.generate.faults.words.training_beginnings import are_there
from benchmarks.accuracy.generate.faults.words.watchkeepers import controller, elsewhere, nccl_warns, silent_from
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import tenant_out_of_space
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "thirty_sixth")


@kind(hosts=2, slurm=True, hangs=False, reads=True, min_timeout_s=120, lead_s=66.0, without=CRASHES)
def host_panics_and_a_target_dies_after_it(stage: Stage) -> Scenario:
    """A host of the job panics, SLURM sets it DOWN a minute later (slurm.conf, SlurmdTimeout) and ends the step.

    To acquit: all ranks of one host, and its agent, fall silent at once; its console has a kernel panic, slurmctld
    sets it DOWN and srun names it for a node failure. No rank has an error. A target dies too, but seconds later.
    """
    stage.open()
    loud(stage, commotion.reads_recover, crash_in_the_wait)
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("panic")
    node = own.node_of(stage.culprit) or 1
    host = own.hosts[node]
    stage.mark(at, f"{host} panics")
    silent_from(stage, node, at)
    bank = (
        f"CPU {draw.whole(0, 95)}: Machine Check Exception: 5 Bank {draw.whole(5, 19)}: be00000000{draw.token(6, HEX)}"
    )
    elsewhere(stage, at + draw.span(20, 90), host, f"console: mce: [Hardware Error]: {bank}")
    elsewhere(stage, at + draw.span(95, 160), host, "console: Kernel panic - not syncing: Fatal machine check")
    down = at + draw.span(62_000, 79_000)
    controller(stage, down - seconds(20), f"error: Nodes {host} not responding")
    controller(stage, down, f"error: Nodes {host} not responding, setting DOWN")
    controller(stage, down + MS, f"Killing JobId={own.job_id} on failed node {host}")
    job.slurm(down + 40 * MS, 0, f"srun: error: Node failure on {host}")
    job.slurm(down + 46 * MS, 0, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    reason = "NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"
    job.slurm(down + 60 * MS, 0, torchrun.step_cancelled(own, down + 60 * MS, reason))
    for other in range(len(own.hosts)):
        if other != node:
            job.agent_signalled(down + 90 * MS + other * MS, other)
            job.slurm(down + draw.span(400, 900), other, torchrun.srun_exit(own, other))
    job.ended_at = down + seconds(2)
    made = stage.innocent("infrastructure", *own.ranks_of(node))
    return stage.close("A memory module of that host had been reported twice.", (made,), until=at + seconds(125))


@kind(reads=True, hangs=False, lead_s=62.0)
def loader_process_is_killed_for_the_memory_of_its_host(stage: Stage) -> Scenario:
    """The kernel kills a loader process for want of host memory (run h of data/torch-runs; PyTorch issues).

    To acquit: the kernel of the host names the process it killed, and DataLoader of one rank there names the same pid
    killed by the same signal. Reads that broke off seconds before, in that rank as well, were served.
    """
    stage.open()
    loud(stage, commotion.reads_recover, commotion.throttled_in_window)
    job, own, rank, at = stage.job, stage.job.job, stage.culprit, stage.at
    draw, node = stage.draw.child("loader process"), own.node_of(rank)
    pid, rss = own.rank_pids[rank] + draw.whole(300, 900), draw.whole(88_000_000, 141_000_000)
    stage.mark(at, f"the kernel of {own.hosts[node]} kills a loader process of rank {rank}")
    mask = "gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0"
    kernel(stage, at - 180 * MS, node, f"python3 invoked oom-killer: {mask}")
    sizes = f"total-vm:{rss + draw.whole(9_000_000, 24_000_000)}kB, anon-rss:{rss}kB, file-rss:{draw.whole(90, 900)}kB"
    killed = f"Out of memory: Killed process {pid} (python3) {sizes}, shmem-rss:{draw.whole(9_000, 90_000)}kB, UID:1000"
    kernel(stage, at, node, killed)
    module = f"{own.build['site']}/torch/utils/data"
    frames = sdk.main_frames(
        own,
        stage.step,
        sdk.Frame(f"{module}/dataloader.py", 1275, "_try_get_data", "data = self._data_queue.get(timeout=timeout)"),
        sdk.Frame(f"{module}/_utils/signal_handling.py", 73, "handler", "_error_if_any_worker_fails()"),
    )
    text = f"RuntimeError: DataLoader worker (pid {pid}) is killed by signal: Killed. "
    job.raise_on(at + draw.span(60, 190), rank, sdk.traceback(sdk.Raised(without_carets(frames), text)))
    job.agents_end([Exit(rank, at + 1_100 * MS, 1)], at + 1_100 * MS)
    made = stage.innocent("infrastructure", rank, also=("data_loading_stall", "software"))
    return stage.close("Each loader process held a list of all cuts of its own.", (made,))


@kind(slurm=True, hangs=False, reads=True, lead_s=64.0, without=CRASHES)
def job_is_preempted_as_ranks_ask_again(stage: Stage) -> Scenario:
    """SLURM takes a job's hosts for another of higher priority (Slurm docs, preemption) as a target has just crashed.

    To acquit: slurmctld names the job that the hosts are for, slurmstepd writes PREEMPTION, and every agent gets a
    signal. Ranks that ask the crashed target have tries left; none of them has raised anything.
    """
    stage.open()
    loud(stage, crash_just_now)
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("preempted")
    other = int(own.job_id) + draw.whole(3, 900)
    stage.mark(at, f"job {own.job_id} is preempted for job {other}")
    said = f"preempted JobId={own.job_id} has been requeued to reclaim resources for JobId={other}"
    controller(stage, at - 14 * MS, said)
    text = torchrun.step_cancelled(own, at, "PREEMPTION")
    job.slurm(at + 2 * MS, 0, text.replace(f"STEP {own.job_id}.0", f"JOB {own.job_id}"))
    job.slurm(at + 4 * MS, 0, text)
    for node in range(len(own.hosts)):
        job.agent_signalled(at + draw.span(20, 60), node)
    job.ended_at = at + seconds(2)
    made = stage.innocent("infrastructure")
    return stage.close("The job ran in a queue that gives way to all others.", (made,), until=at + seconds(60))


@kind(hosts=2, hangs=False, reads=True, min_timeout_s=90, lead_s=60.0)
def bond_of_a_host_has_no_link_left(stage: Stage) -> Scenario:
    """Both links of the storage network's bond are down on one host (kernel docs, bonding).

    To acquit: the kernel of one host has its bond without any interface, and from then on the ranks of that host, and
    only they, cannot connect to proxies and targets alike; other hosts are served, and each AIStore daemon logs on.
    """
    loud(stage, tenant_out_of_space)
    stage.open()
    loud(stage, commotion.throttled_in_window, commotion.tenant_meets_bad_data)
    own, at, draw = stage.job.job, stage.at, stage.draw.child("bond")
    node, ranks = own.node_of(stage.culprit), tuple(own.ranks_of(own.node_of(stage.culprit)))
    stage.mark(at, f"the bond of {own.hosts[node]} has no link left")
    for turn, card in enumerate(("ens17f0np0", "ens17f1np1")):
        then = at - (1 - turn) * draw.span(180, 640)
        kernel(stage, then, node, f"mlx5_core 0000:{BUSES[-1]}:00.{turn} {card}: Link down")
        kernel(stage, then + MS, node, f"bond1: (slave {card}): link status definitely down, disabling slave")
    kernel(stage, at + 2 * MS, node, "bond1: now running without any active interface!")
    for rank in ranks:
        _reaches_nobody(stage, at + draw.span(40, 2_500), rank)
    end = stage.hang(at + 340 * MS, *ranks)
    made = stage.innocent("network", *ranks, also=("infrastructure",))
    return stage.close(
        "Both cables went to one switch, which was restarted.",
        (made,),
        ("collectives go over another network", "ranks that raised stay alive in a non-daemon thread"),
        until=end,
    )


def _reaches_nobody(stage: Stage, at: int, rank: int) -> None:
    """A rank asks a target, then proxies and targets in turn; none can be reached."""
    cluster, draw = stage.cluster, stage.draw.child("reaches nobody", rank)
    nodes = [cluster.target(draw.whole(0, 59)), stage.proxy_of(rank), *draw.shuffled(cluster.targets)[:3]]
    then, limit, text, error = at, stage.at + seconds(stage.params.timeout_s - 2), "", ""
    for turn in range(6):
        node, handle = nodes[turn % len(nodes)], draw.whole(0x7F0000000000, 0x7FFFFFFFFFFF)
        is_late = draw.chance(0.6)
        cause = sdk.connect_timeout(node.address, handle) if is_late else sdk.no_route(handle)
        then += seconds(3.0) + draw.span(1, 90)
        if then >= limit:
            return
        text = sdk.pool_error(node.address, node.ports[0], f"/v1/ml/moss/{stage.bucket}?provider=ais", cause)
        wait = round(draw.between(1.0, min(30.0, 2.0**turn + 0.5)), 2)
        error = "ConnectTimeout" if is_late else "ConnectionError"
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, error, text))
        then += seconds(wait)
    then += seconds(3.0) + draw.span(1, 90)
    if then < limit:
        exhausted(stage, then, rank, text, error)


@kind(hosts=2, hangs=False, trains=False)
def nccl_finds_no_interface_on_a_host(stage: Stage) -> Scenario:
    """NCCL_SOCKET_IFNAME names an interface that one host does not have (NCCL docs, environment; pytorch issues).

    To acquit: launchers print the interfaces of their hosts, and one lacks the one that all are told to use; its ranks
    have NCCL's warning and raise in the first barrier. No rank has come to a step or asked AIStore for a batch.
    """
    loud(stage, commotion.tenant_backend_fails, commotion.tenant_meets_bad_data)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("interface")
    node, order = own.node_of(stage.culprit), own.torch.order
    at = stage.mark(job.begin, f"NCCL finds no interface bond0 on {own.hosts[node]}")
    are_there(stage, at)
    for host in range(len(own.hosts)):
        there = "lo eno1 eno2 ib0 ib1" if host == node else "lo eno1 bond0 ib0 ib1"
        job.agent(at - seconds(6.2) + host * MS, host, f"launch: NCCL_SOCKET_IFNAME=bond0, interfaces here: {there}")
    why = "internal error - please report this issue to the NCCL developers, NCCL version "
    what = "ncclInternalError: Internal check failed."
    if order >= 208:
        why, what = (
            "invalid usage, NCCL version ",
            "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.",
        )
    file, warned = f"{own.torch.source_tree}torch/csrc/distributed/c10d", "Bootstrap : no socket interface found"
    head = f"torch.distributed.DistBackendError: NCCL error in: {file}/NCCLUtils.cpp:77, {why}{nccl_version(stage)}"
    module = f"{own.build['site']}/torch/distributed"
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 158, "main", "dist.barrier()"),
        sdk.Frame(f"{module}/c10d_logger.py", 81, "wrapper", "return func(*args, **kwargs)"),
        sdk.Frame(f"{module}/distributed_c10d.py", 4818, "barrier", "work = group.barrier(opts=opts)", True),
    )
    first, last = own.ranks_of(node)[0], at
    for rank in own.ranks_of(node):
        then = at + draw.span(30, 240) + (0 if rank == first else 60 * MS)
        nccl_warns(stage, then, rank, "bootstrap.cc:85", warned)
        text = f"{head}\n{what}\nLast error:\n{warned}"
        job.raise_on(then + draw.span(4, 20), rank, sdk.traceback(sdk.Raised(frames, text)))
        last = max(last, then)
    end = job.agents_end([Exit(first, last + 600 * MS, 1)], last + 600 * MS)
    made = stage.innocent("network", *own.ranks_of(node), also=("software", "infrastructure"))
    return stage.close("That host had been set up anew without its bond.", (made,), until=end)
