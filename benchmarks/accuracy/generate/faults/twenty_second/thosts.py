"""Hosts of ranks, their devices, links and mounts, and the scheduler, of the twenty-second part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.tenth.training import of_all, standing_in, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_second import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import script_folder
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds, slurm_stamp
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_second")


@kind(reads=True, lead_s=60.0, min_timeout_s=90)
def home_of_the_users_does_not_answer(stage: Stage) -> Scenario:
    """A rank writes into a home on NFS whose server is away (nfs(5), hard mounts).

    To acquit: the kernel names the NFS server, from which the host mounts /home and which is no node of AIStore;
    the rank's stack is a write of its program below /home, the batch being here.
    """
    stage.open()
    beside(stage, past_unrest.turned_away_in_window)
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("home")
    node, server = own.node_of(rank), draw.pick(("nas-home-02", "filer3-home", "homes01"))
    user = draw.pick(("mkoller", "tsuzuki", "apetrov"))
    kept = f"/home/{user}/runs/{own.task}"
    said = f"alignments of every step are appended to {kept}/align.{rank}.jsonl"
    reader_note(stage, stage.job.begin - draw.span(50, 300), rank, said)
    mount = f"mounts: {server}:/export/home /home nfs4 rw,relatime,vers=4.2,hard,proto=tcp,timeo=30,retrans=2"
    watched(stage, stage.job.begin - draw.span(1_000, 3_000), node, mount)
    stage.mark(at - 20 * MS, f"{server} does not answer rank {rank}'s host")
    reader_note(
        stage, at - 15 * MS, rank, f"step {stage.step}: batch here, loss computed, {draw.whole(12, 40)} to append"
    )
    late = at + seconds(draw.between(9.1, 9.9))
    watched(stage, late, node, f"kernel: nfs: server {server} not responding, still trying")
    main = standing_in(
        stage,
        199,
        ("append", f"{script_folder(stage)}/alignments.py", 37),
        ("after_step", f"{script_folder(stage)}/alignments.py", 61),
    )
    py_spy(stage, draw.between(26, 44), (main,))
    stage.hang(at + 50 * MS, rank)
    loud.killed_in_the_hang(stage)
    made = stage.innocent("infrastructure", rank, also=("network", "rank_hang"))
    return stage.close("The filer of the homes was moved between two racks.", (made,))


@kind(hangs=False, slurm=True, lead_s=100.0, without=RESTARTS)
def allocation_ends_by_its_time_limit(stage: Stage) -> Scenario:
    """SLURM ends a job whose time is over while it trains (sbatch docs, --time).

    To acquit: slurmstepd says DUE TO TIME LIMIT before anything of the job ends; steps went on up to then, and no rank
    raises an error.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (disk_unrest.tenant_full_in_window, own_unrest.neighbour_fails))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("limit")
    stage.mark(at, "the time limit of the allocation is over")
    stamp = slurm_stamp(at, own.zone)
    head, tail = "slurmstepd: error: ***", f"ON {own.hosts[0]} CANCELLED AT {stamp} DUE TO TIME LIMIT ***"
    job.slurm(at, 0, f"{head} JOB {own.job_id} {tail}")
    job.slurm(at + 3 * MS, 0, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    job.slurm(at + 5 * MS, 0, f"{head} STEP {own.job_id}.0 {tail}")
    last = at
    for node in range(len(own.hosts)):
        then = at + draw.span(20, 140)
        job.agent_signalled(then, node)
        last = max(last, then + draw.span(300, 900))
        job.slurm(last, node, f"srun: error: {own.hosts[node]}: task {node}: Exited with exit code 1")
    job.ended_at = last + seconds(0.3)
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", also=("software",))
    return stage.close("The job was given the default of the partition.", (of_all(made),))


@kind(hosts=2, lead_s=60.0)
def link_of_a_host_goes_down(stage: Stage) -> Scenario:
    """The InfiniBand port of a host goes down and comes up, and collectives do not (nccl#905, lit-llama#380).

    To acquit: kernel and NCCL of one host name the port at the moment when all ranks stand still; none of
    them is absent, and none waits for data.
    """
    stage.open()
    unrest.unsettled(stage, (commotion.reads_recover, disk_unrest.disk_lost_in_window, unrest.entries_missing))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("port")
    node, card = own.node_of(stage.culprit), draw.whole(0, 7)
    stage.mark(at - 30 * MS, f"a port of {own.hosts[node]} goes down")
    said = f"NET/IB : Using [0]mlx5_{card}:1/IB [RO]; OOB eth0"
    for rank in list(own.ranks_of(node))[:2]:
        pid = own.rank_pids[rank]
        job.say(job.begin - seconds(0.9), rank, f"{own.hosts[node]}:{pid}:{pid + 61} [{rank % 8}] NCCL INFO {said}")
    port = f"mlx5_{card}:1 " if own.torch.order >= 206 else ""
    busid = f"0000:{draw.pick(('1b', '4d', '9c', 'dc'))}:00.0"
    watched(stage, at - 30 * MS, node, f"kernel: mlx5_core {busid} mlx5_{card}: Port: 1 Link DOWN")
    for rank in own.ranks_of(node):
        pid, local = own.rank_pids[rank], own.local_rank(rank)
        head = f"\n{own.hosts[node]}:{pid}:{pid + 133} [{local}] transport/net_ib.cc:101 NCCL WARN NET/IB : "
        job.say(at - draw.span(1, 25), rank, f"{head}{port}Got async event : port error")
    up, errors = at + draw.span(4_000, 13_000), draw.whole(300, 9_000)
    watched(stage, up, node, f"kernel: mlx5_core {busid} mlx5_{card}: Port: 1 Link ACTIVE")
    watched(
        stage,
        up + draw.span(900, 4_000),
        node,
        f"ibmon: mlx5_{card} port 1 LinkDownedCounter 1 -> 2, SymbolErrors {errors}",
    )
    stage.hang(at)
    made = stage.innocent("network", also=("infrastructure", "gpu_fabric"))
    return stage.close("A transceiver of that port is old.", (of_all(made),))


@kind(reads=True, lead_s=60.0)
def device_falls_off_its_bus(stage: Stage) -> Scenario:
    """A device is not to be reached any more, and its rank stays in the driver (NVIDIA Xid catalogue, 79; gpud#1209).

    To acquit: the kernel reports Xid 79 for the device of the rank that no collective sees, and nvidia-smi has lost it.
    """
    stage.open()
    unrest.unsettled(stage, (past_unrest.neighbour_reads_cold, own_unrest.neighbour_fails))
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("bus")
    node, local = own.node_of(rank), own.local_rank(rank)
    bus = ("18", "2a", "3a", "5d", "9a", "ab", "ba", "db")[local % 8]
    stage.mark(at - 10 * MS, f"the device of rank {rank} falls off its bus")
    where, pid = f"NVRM: Xid (PCI:0000:{bus}:00)", own.rank_pids[rank]
    watched(stage, at - 10 * MS, node, f"kernel: {where}: 79, pid={pid}, name=python3, GPU has fallen off the bus.")
    watched(stage, at - 8 * MS, node, f"kernel: NVRM: GPU 0000:{bus}:00.0: GPU has fallen off the bus.")
    reader_note(stage, at - 60 * MS, rank, f"step {stage.step}: batch {draw.token(6, HEX)} here, copied to the device")
    lost = f"Unable to determine the device handle for GPU0000:{bus.upper()}:00.0: Unknown Error"
    watched(stage, at + seconds(draw.between(8, 20)), node, f"nvidia-smi: {lost}")
    stage.hang(at + 30 * MS, rank)
    made = stage.innocent("gpu", rank, also=("infrastructure", "gpu_fabric"))
    return stage.close("A riser of that host is loose.", (made,))
