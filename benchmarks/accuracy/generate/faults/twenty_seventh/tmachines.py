"""Hosts, pods and networks of a job that fail it, of the twenty-seventh part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth import unrest as eighth_unrest
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.ninth import unrest as ninth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, nccl_error, of_all, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as bad_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.faults.words.workbenches import in_pods, loader_killed, meter
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "twenty_seventh")

#: What PyTorch adds before it tells that a loader was ended by SIGBUS.
BUS_ERROR = (
    "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm)."
)


@kind(reads=True, hangs=False, lead_s=60.0)
def shared_memory_of_container_full(stage: Stage) -> Scenario:
    """Loaders hand batches over in /dev/shm, which has the 64 MB of Docker (PyTorch docs and issues, shm-size).

    To acquit: PyTorch itself says that shared memory may not suffice, df of /dev/shm is at 100 %; a target that
    throttles batches for its disks delays them by milliseconds.
    """
    stage.open()
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, upload_unrest.tenant_uploads_break_off))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("shm")
    node, whole, pid = job.job.node_of(rank), draw.pick((64, 64, 256, 1024)), job.job.rank_pids[rank] + 90
    pid += draw.whole(0, 300)
    told(stage, job.begin - 410 * MS, 0, "data", f"num_workers={draw.pick((4, 6, 8))} sharing=file_descriptor")
    then = job.begin + draw.span(3_000, 8_000)
    while then < at - 2 * SEC:
        used = int(whole * draw.between(0.62, 0.93))
        watched(stage, then, node, f"df /dev/shm: {whole}M, used {used}M, {100 * used // whole}%")
        then += draw.span(12_000, 19_000)
    stage.mark(at - 30 * MS, f"/dev/shm of {job.job.hosts[node]} is full")
    said = f"batch {stage.step}: 48 clips read, {draw.between(1.2, 1.9) * whole / 4:.1f} MB after collate"
    told(stage, at - 60 * MS, rank, "dataset", said)
    watched(stage, at - 20 * MS, node, f"df /dev/shm: {whole}M, used {whole}M, 100%")
    job.say(at - 8 * MS, rank, BUS_ERROR)
    loader_killed(stage, at, rank, pid, "Bus error")
    exits(stage, at, rank)
    made = stage.innocent("infrastructure", rank, also=("software", "data_loading_stall"))
    return stage.close("The template of the pod had no emptyDir of memory.", (made,))


@kind(hangs=False, lead_s=60.0, without=RESTARTS)
def disk_of_host_under_pressure(stage: Stage) -> Scenario:
    """The root disk of a host fills up with logs and caches, and its job is ended (kubelet: DiskPressure, Evicted).

    To acquit: the service of the host says that its own /var has no room and that it ends the job for that; a target
    that was killed half a minute before is back, and ranks train since.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, upload_unrest.neighbour_loses_its_bucket))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("pressure")
    node = own.node_of(rank)
    for turn, free in enumerate((11, 6, 4)):
        then = at - seconds(48 - 14 * turn) + draw.span(1, 900)
        watched(stage, then, node, f"df /var: /dev/sda3 447G, avail {free}G, {100 - 100 * free // 447}%")
    stage.mark(at - SEC, f"/var of {own.hosts[node]} is full")
    if in_pods(stage):
        pod = f"{own.task.replace('_', '-')}-{draw.token(5, LOWER)}"
        said = f"kubelet: Killing pod {pod}, reason Evicted: The node was low on resource: "
        said += "ephemeral-storage. Threshold quantity: 4294967296, available: 4093604Ki."
        watched(stage, at - SEC, node, "kubelet: eviction manager: attempting to reclaim resource ephemeral-storage")
    else:
        said = f"slurm-healthcheck: /var has 3.9G left, limit 4G, node set to DRAIN, step {own.job_id}.0 terminated"
    watched(stage, at - 40 * MS, node, said)
    others = [one for one in own.ranks_of(node) if one != rank]
    job.agent_signalled(at, node)
    over = at + draw.span(1_100, 2_100)
    for host in range(len(own.hosts)):
        if host != node:
            job.agent_signalled(over + draw.span(10, 300), host)
        job.slurm(over + draw.span(400, 900), host, torchrun.srun_exit(own, host))
    job.ended_at = over + 2 * SEC
    made = stage.innocent("infrastructure", rank, *others, also=("software",))
    return stage.close("Core dumps of last week's job were never removed.", (of_all(made),))


@kind(culprit=0, hangs=False, lead_s=75.0)
def rank_zero_gathers_too_much(stage: Stage) -> Scenario:
    """Rank 0 gathers the whole state in its host's memory to save it (FSDP full state dict, Killed, exitcode -9).

    To acquit: memory of the host's cgroup climbs while rank 0 gathers, and the kernel kills that process; nothing was
    sent to AIStore yet, where a target has little memory of its own.
    """
    stage.open()
    beside(stage, eighth_unrest.memory_is_low)
    unrest.unsettled(stage, (unrest.entries_missing, bad_unrest.tenant_asks_for_removed_names))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("gather")
    limit, pid = draw.pick((200.0, 360.0, 500.0)), own.rank_pids[0]
    began = stage.mark(at - draw.span(7_000, 11_000), "rank 0 gathers the state of all ranks")
    told(stage, began, 0, "checkpoint", f"step {stage.step}: gathering full state dict, offload_to_cpu, rank0_only")
    for turn in range(1, 6):
        share = 0.44 + 0.11 * turn
        said = f"{meter(stage)}: memory.current {limit * share:.1f}G, memory.max {limit:.1f}G"
        watched(stage, began + (at - began) * turn // 6, 0, said)
    rss = int(limit * (1 << 20) * draw.between(0.66, 0.8))
    said = f"kernel: Memory cgroup out of memory: Killed process {pid} (python3) total-vm:{rss + 94_371_840}kB, "
    watched(stage, at - 15 * MS, 0, f"{said}anon-rss:{rss}kB, file-rss:201344kB, shmem-rss:{rss // 9}kB, UID:0")
    job.agents_end([Exit(0, at + 30 * MS, -9)], at + 30 * MS, {0: torchrun.oom_lines(own, 0)})
    made = stage.innocent("infrastructure", 0, also=("software",))
    return stage.close("The model had grown, the pod had not.", (made,))


@kind(hangs=False, hosts=2, lead_s=60.0, without=RESTARTS)
def spot_notice_comes_before_the_end(stage: Stage) -> Scenario:
    """A cloud takes a cheap host back (EC2 spot interruption notice, GKE preemption): its ranks end, then the rest.

    To acquit: the notice of the cloud comes before, then the host's agent gets its signal; a rebalance that an operator
    has begun has the disks busy, and steps go on until then.
    """
    stage.open()
    beside(stage, commotion.rebalance_running)
    unrest.unsettled(stage, (upload_unrest.tenant_uploads_break_off, ninth_unrest.keepalives_late))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("spot")
    node = own.node_of(rank)
    notice = stage.mark(at - draw.span(24_000, 30_000), f"{own.hosts[node]} is to be taken back")
    said = draw.pick(
        (
            "aws-node-termination-handler: Got interruption event from channel: spot-itn, instance-action terminate",
            "google_metadata_script_runner: instance/preempted changed to TRUE, shutting down in 30 s",
        )
    )
    watched(stage, notice, node, said)
    watched(stage, at - 30 * MS, node, "systemd[1]: Stopping User Manager and all user processes: powering off")
    job.agent_signalled(at, node)
    over = at + draw.span(2_200, 3_900)
    for host in range(len(own.hosts)):
        if host == node:
            job.slurm(over, node, f"srun: error: Node failure on {own.hosts[node]}")
        else:
            job.agent_signalled(over + draw.span(90, 400), host)
            job.slurm(over + draw.span(800, 1_200), host, torchrun.srun_exit(own, host))
    job.ended_at = over + 2 * SEC
    made = stage.innocent("infrastructure", rank, also=("network",))
    return stage.close("The zone was short of such machines.", (of_all(made),))


@kind(hangs=False, hosts=2, lead_s=60.0, torch_order=202, torch_before=215)
def bond_of_host_loses_its_links(stage: Stage) -> Scenario:
    """Both links of a host's bond go down, and its peers lose their sockets (nccl issues, socketProgress).

    To acquit: the kernel of that host has no link left, NCCL of another host says that this peer has closed; all other
    hosts read on; another job's slow reads are of a bucket of its own.
    """
    stage.open()
    beside(stage, loud.neighbour_reads_slowly)
    unrest.unsettled(stage, (unrest.entries_missing, upload_unrest.tenant_uploads_break_off))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("bond")
    node, first, second = own.node_of(rank), "ens1f0np0", "ens1f1np1"
    said = "NCCL_IB_DISABLE=1 NCCL_SOCKET_IFNAME=bond0, logs and slurmd on eno8303"
    told(stage, job.begin - 910 * MS, 0, "launch", said)
    down = stage.mark(at - draw.span(900, 2_400), f"{own.hosts[node]} has no link")
    for turn, name in enumerate((first, second)):
        then = down + turn * draw.span(40, 400)
        watched(stage, then, node, f"kernel: mlx5_core 0000:{37 + turn}:00.{turn} {name}: Link down")
        watched(stage, then + 3 * MS, node, f"kernel: bond0: (slave {name}): link status definitely down, disabling")
    watched(stage, down + 500 * MS, node, "kernel: bond0: now running without any active interface!")
    far = next(one for one in range(own.world) if own.node_of(one) != node)
    pid, host = own.rank_pids[far], own.hosts[own.node_of(far)]
    last = f"socketProgress: Connection closed by remote peer {own.hosts[node]}<{draw.whole(33_000, 60_000)}>"
    said = f"misc/socket.cc:{draw.pick((49, 57, 915))} NCCL WARN {last}"
    job.say(at - 11 * MS, far, f"\n{host}:{pid}:{pid + draw.whole(90, 700)} [{own.local_rank(far)}] {said}")
    what = "remote process exited or there was a network error (run with NCCL_DEBUG=INFO for details)"
    advice = "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely."
    frames = loss_frames(stage, "dist.broadcast(stop, src=0)")
    job.raise_on(at, far, sdk.traceback(sdk.Raised(frames, nccl_error(stage, f"{what}\n{advice}", last))))
    job.agents_end([Exit(far, at + 700 * MS, 1)], at + 700 * MS)
    made = stage.innocent("network", rank, also=("infrastructure", "gpu_fabric"))
    return stage.close("A switch was rebooted for its firmware.", (of_all(made),))
