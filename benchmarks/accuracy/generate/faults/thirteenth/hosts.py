"""Faults of hosts, their devices, file systems and links, of the thirteenth part; storage is innocent, mostly loud."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.eleventh.hosts import died_of, nccl_warned, xid
from benchmarks.accuracy.generate.faults.tenth.training import NCCL, exits, nccl_error, of_all, watched
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit, since

kind = kinds_of("training", "thirteenth")

#: Lines of NCCL's sockets that speak of a connection which is not made, by PyTorch's release.
CONNECT = {203: 484, 206: 485, 209: 567}
SHARED = (
    "It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit."
)


@kind(hangs=False)
def error_not_contained(stage: Stage) -> Scenario:
    """Memory errors of a device reach all of it: Xid 95 (NVIDIA's memory errors), or it hangs (ROCm#4021)."""
    stage.open()
    unrest.unsettled(stage)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("uncontained")
    node = job.job.node_of(rank)
    stage.mark(at, f"the device of rank {rank} has an error that is not contained")
    if job.job.torch.is_rocm:
        card = f"kernel: amdgpu 0000:{draw.whole(1, 13):x}c:00.0: amdgpu:"
        if draw.chance(0.7):
            watched(stage, at + 2 * MS, node, f"{card} GPU reset begin!")
        agent = f"(Agent handle: 0x{draw.token(8, HEX)}) reason :GPU Hang"
        job.say(at + 9 * MS, rank, f"HW Exception by GPU node-{job.job.local_rank(rank) + 2} {agent}")
        job.agents_end([Exit(rank, at + 400 * MS, -6)], at + 400 * MS)
    else:
        place = f"({draw.pick(('0x0', '0x2', '0x9'))},{draw.pick(('0x0', '0x1', '0x3'))})"
        xid(stage, at + 2 * MS, rank, 95, f"Uncontained: LTC TAG {place}. RST: Yes, D-RST: No", draw.chance(0.5))
        if draw.chance(0.6):
            action = "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
            xid(stage, at + 6 * MS, rank, 154, action, pid=False)
        what = "uncorrectable ECC error encountered"
        died_of(stage, at + 50 * MS, rank, what, "cudaErrorECCUncorrectable", draw)
    unrest.hung_up_on(stage)
    return stage.close(
        "The device is to be reset, then tested.", (stage.innocent("gpu", rank, also=("infrastructure",)),)
    )


@kind(hangs=False, reads=True)
def host_memory_poisoned(stage: Stage) -> Scenario:
    """A module of a host's memory fails: the kernel kills who reads there (Linux docs, hwpoison; Llama 3, table 5)."""
    stage.open()
    unrest.unsettled(stage)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("poison")
    node, site = job.job.node_of(rank), job.job.build["site"]
    stage.mark(at, f"a module of memory of {job.job.hosts[node]} fails")
    own, in_process = job.job.rank_pids[rank], draw.chance(0.4)
    pid, page = own + (draw.whole(90, 160) if in_process else 0), draw.token(7, HEX)
    watched(stage, at + MS, node, f"kernel: mce: Uncorrected hardware memory error in user-access at {page}{'4c0'}")
    verb = draw.pick(("Sending SIGBUS to", "Killing"))
    who = f"python3:{pid} due to hardware memory corruption"
    watched(stage, at + 2 * MS, node, f"kernel: Memory failure: 0x{page}: {verb} {who}")
    watched(
        stage, at + 3 * MS, node, f"kernel: Memory failure: 0x{page}: recovery action for dirty LRU page: Recovered"
    )
    if in_process:
        said = "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory"
        job.say(at + 5 * MS, rank, f"{said} (shm).")
        module = f"{site}/torch/utils/data"
        caller = sdk.main_frames(
            job.job,
            stage.step,
            sdk.Frame(f"{module}/dataloader.py", 1275, "_try_get_data", "data = self._data_queue.get(timeout=timeout)"),
            sdk.Frame(f"{module}/_utils/signal_handling.py", 73, "handler", "_error_if_any_worker_fails()"),
        )
        text = f"RuntimeError: DataLoader worker (pid {pid}) is killed by signal: Bus error. {SHARED}"
        job.raise_on(at + 90 * MS, rank, sdk.traceback(sdk.Raised(caller, text)))
        exits(stage, at + 90 * MS, rank)
    else:
        job.agents_end([Exit(rank, at + 300 * MS, -7)], at + 300 * MS)
    unrest.hung_up_on(stage)
    also = ("software", "data_loading_stall")
    return stage.close(
        "Memory errors that cannot be corrected come once a month in a fleet of this size.",
        (stage.innocent("infrastructure", rank, also=also),),
    )


@kind(hangs=False, hosts=2)
def scale_membership_lost(stage: Stage) -> Scenario:
    """A host loses its place in the cluster of IBM's file system: ESTALE (Storage Scale docs, forced unmount)."""
    stage.open()
    unrest.unsettled(stage)
    job, at, draw = stage.job, stage.at, stage.draw.child("scale")
    node = job.job.node_of(stage.culprit)
    own, folder = job.job.ranks_of(node), draw.pick(("/gpfs/scratch", "/gpfs/work", "/fs1/projects"))
    stage.mark(at, f"{job.job.hosts[node]} is expelled from the cluster of {folder}")
    if draw.chance(0.8):
        said = "Lost membership in cluster scale.storage.example. Unmounting file systems."
        watched(stage, at - draw.span(30, 900), node, f"mmfs: [E] {said}")
    ranks = sorted(draw.shuffled(own)[: draw.whole(1, min(4, len(own)))])
    for rank in ranks:
        path = f"{folder}/{job.job.task}/{job.job.job_id}/rank-{rank:04d}.jsonl"
        caller = (
            *loss_frames(stage, "journal.write(step, loss)"),
            sdk.Frame("/workspace/asr/journal.py", 33, "write", 'with open(self.path, "a") as out:'),
        )
        text = f"OSError: [Errno 116] Stale file handle: '{path}'"
        job.raise_on(at + draw.span(10, 800), rank, sdk.traceback(sdk.Raised(caller, text)))
    job.agents_end([Exit(ranks[0], at + seconds(1.1), 1)], at + seconds(1.2))
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", also=("network", "software"))
    return stage.close(
        "A daemon was late with its lease, for the host was short of memory.", (replace(made, culprit_ranks=None),)
    )


@kind(hangs=False, trains=False, hosts=2, torch_order=203, torch_before=215)
def bridge_of_containers_chosen(stage: Stage) -> Scenario:
    """NCCL takes the bridge of Docker for a network: others cannot connect there (NVIDIA/nccl#929, #1105)."""
    unrest.unsettled(stage, unrest.EARLY)
    job, draw, order = stage.job, stage.draw.child("bridge"), stage.params.torch_release.order
    job.start()
    hosts = len(job.job.hosts)
    wrong = job.job.node_of(stage.culprit) or hosts - 1
    began = stage.mark(job.begin + draw.span(200, 900), f"NCCL of {job.job.hosts[wrong]} chooses docker0")
    first = job.job.ranks_of(wrong)[0]
    rank = (first - 1) % job.job.world
    if draw.chance(0.5):
        pid = job.job.rank_pids[first]
        head = f"{job.job.hosts[wrong]}:{pid}:{pid} [0] NCCL INFO"
        job.say(began, first, f"{head} Bootstrap : Using docker0:172.17.0.1<0>")
    where = f"172.17.0.1<{draw.whole(32_800, 60_900)}>"
    if order >= 209:
        at, why = began + seconds(60.1), "returned Connection refused, exceeded error retry count after 35 attempts"
        last = f"socketPollConnect: connect to {where} {why}"
        what = "remote process exited or there was a network error\nncclRemoteError: A call failed possibly due to a "
        what += "network error or a remote process exiting prematurely."
    else:
        at, last = (
            began + seconds(20.4),
            f"socketStartConnect: Connect to {where} failed : Software caused connection abort",
        )
        what = "unhandled system error (run with NCCL_DEBUG=INFO for details)\nncclSystemError: System call (e.g. "
        what += "socket, malloc) or external library call failed or device error."
    nccl_warned(stage, at, rank, f"misc/socket.cc:{since(CONNECT, order)}", last)
    text = nccl_error(stage, what, last)
    job.raise_on(at + 6 * MS, rank, sdk.traceback(sdk.Raised(loss_frames(stage, "dist.barrier()"), text)))
    job.agents_end([Exit(rank, at + 900 * MS, 1)], at + seconds(1))
    also = ("infrastructure", "software", "gpu_fabric")
    return stage.close(
        "Docker was installed on hosts that had none, and its bridge comes first by name.",
        (of_all(stage.innocent("network", also=also)),),
    )


@kind(hangs=False, trains=False, slurm=True)
def step_asks_for_too_much(stage: Stage) -> Scenario:
    """A job step wants devices that its allocation has not: srun refuses (Slurm docs, gres; linaro forge notes)."""
    job, draw = stage.job, stage.draw.child("gres")
    at = stage.mark(job.begin - draw.span(300, 2_000), "srun refuses to create the step")
    asked = job.job.ranks_per_node * draw.pick((2, 2, 4))
    job.slurm(at - 900 * MS, 0, f"+ echo 'job {job.job.job_id} on {len(job.job.hosts)} nodes: {job.job.task}'")
    job.slurm(at - 899 * MS, 0, f"job {job.job.job_id} on {len(job.job.hosts)} nodes: {job.job.task}")
    job.slurm(
        at - 890 * MS,
        0,
        f"+ srun --ntasks-per-node=1 --gpus-per-node={asked} torchrun --nproc-per-node={asked} {job.job.script}",
    )
    why = "Invalid generic resource (gres) specification"
    job.slurm(at, 0, f"srun: error: Unable to create step for job {job.job.job_id}: {why}")
    job.ended_at = at + seconds(1)
    made = of_all(stage.innocent("infrastructure", also=("software", "undetermined")))
    return stage.close("A script was made for hosts with more devices.", (made,))


@kind(hangs=False, slurm=True, hosts=2, lead_s=45.0)
def falls_back_to_sockets(stage: Stage) -> Scenario:
    """NCCL finds no InfiniBand in the new image and takes TCP: ten times slower (NVIDIA/nccl#952, detectron2#4730)."""
    job, draw = stage.job, stage.draw.child("sockets")
    usual, slow = stage.params.step_s, round(draw.between(5.5, 9.5), 2)
    job.params = replace(job.params, step_s=slow)
    steps = int(stage.params.lead_s / slow) + draw.whole(14, 25)
    at = job.begin - draw.span(300, 900)
    stage.mark(at, "NCCL finds no device of the fabric")
    for rank in range(0, job.job.world, job.job.ranks_per_node):
        host, pid = job.job.hosts[job.job.node_of(rank)], job.job.rank_pids[rank]
        head, address = f"{host}:{pid}:{pid + 61} [0] NCCL INFO", f"eth0:10.9.{job.job.node_of(rank) % 250}.11<0>"
        then = at + draw.span(1, 200)
        for text in ("NET/IB : No device found.", f"NET/Socket : Using [0]{address}", "Using network Socket"):
            then += MS
            job.say(then, rank, f"{head} {text}")
    if not job.job.torch.is_rocm:
        job.say(at + 400 * MS, 0, f"NCCL version {since(NCCL, job.job.torch.order)}+cuda12.4")
    stage.open(until_step=steps)
    for step in range(10, steps, 10):
        share = f"data 0.0{draw.whole(1, 5)} s, forward {usual * 0.3:.2f} s, backward {slow - usual * 0.4:.2f} s"
        job.note(job.step_at(step) + 90 * MS, 0, f"step {step}: {share}, optimizer {usual * 0.05:.2f} s", line=141)
    over = job.step_at(steps) + draw.span(900, 4_000)
    cancelled_by_hand(stage, over)
    also = ("network", "infrastructure", "software")
    return stage.close(
        "The image lacks libibverbs; a user sees the speed and gives up.",
        (of_all(stage.innocent("gpu_fabric", also=also)),),
    )
