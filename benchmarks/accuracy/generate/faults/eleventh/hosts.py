"""Faults of hosts, their devices and links, of the eleventh part; storage is innocent, in most of them loud."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import NCCL, exits, of_all, watched
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames, raise_and_exit
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk, torchrun, watchdog
from fixtures.generator.draw import HEX, Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, second_stamp, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit, since

kind = kinds_of("training", "eleventh")

#: Lines of NCCL's InfiniBand transport that speak of a completion with an error, by PyTorch's release.
COMPLETION = {205: 1982, 207: 2119, 209: 2231, 212: 2368}


def nccl_warned(stage: Stage, at: int, rank: int, place: str, text: str) -> None:
    """A warning of NCCL: a blank line before it, and from 2.26 (torch 2.7) on the time."""
    job, pid = stage.job.job, stage.job.job.rank_pids[rank]
    stamp = f"[{second_stamp(at, job.zone)}] " if job.torch.order >= 207 else ""
    head = f"{stamp}{job.hosts[job.node_of(rank)]}:{pid}:{pid + 84} [{job.local_rank(rank)}]"
    stage.job.say(at, rank, f"\n{head} {place} NCCL WARN {text}")


def xid(stage: Stage, at: int, rank: int, number: int, text: str, pid: bool = True) -> None:
    """A line of NVIDIA's driver about the device of a rank, in the log of its host."""
    job, draw = stage.job.job, stage.draw.child("device", rank)
    who = f"pid={job.rank_pids[rank]}, name=python3" if pid else "pid='<unknown>', name=<unknown>"
    watched(
        stage,
        at,
        job.node_of(rank),
        f"kernel: NVRM: Xid (PCI:0000:{draw.whole(1, 13):x}{draw.pick('1359bd')}:00): {number}, {who}, {text}",
    )


def died_of(stage: Stage, at: int, rank: int, what: str, name: str, draw: Draw) -> None:
    """A rank meets an error of its device where it waits for it, or its watchdog does first."""
    job, torch = stage.job, stage.params.torch_release
    cause = cuda_error(torch.order, what, name)
    if draw.chance(0.5):
        error = "torch.AcceleratorError" if torch.order >= 208 else "RuntimeError"
        raise_and_exit(stage, at, rank, f"{error}: {cause}", "total += loss.item()")
        return
    for text in watchdog.taken_down(job.job, rank, at, cause, timed_out=False):
        job.say(at, rank, text)
    job.agents_end([Exit(rank, at + 400 * MS, -6)], at + 400 * MS)


@kind(hangs=False)
def exception_on_device(stage: Stage) -> Scenario:
    """A warp of one device does what it must not: Xid 13, and its rank ends (NVIDIA's Xid catalogue, gpud#46)."""
    stage.open()
    unrest.unsettled(stage)
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("warp")
    stage.mark(at, f"a warp on the device of rank {rank} raises an exception")
    warp, what, name = draw.pick(
        (
            ("Misaligned Address", "misaligned address", "cudaErrorMisalignedAddress"),
            ("Illegal Instruction Encoding", "an illegal instruction was encountered", "cudaErrorIllegalInstruction"),
            ("Out Of Range Address", "an illegal memory access was encountered", "cudaErrorIllegalAddress"),
        )
    )
    place = f"(GPC {draw.whole(0, 6)}, TPC {draw.whole(0, 8)}, SM {draw.whole(0, 1)})"
    if draw.chance(0.75):
        xid(stage, at + 3 * MS, rank, 13, f"Graphics SM Warp Exception on {place}: {warp}")
        xid(stage, at + 4 * MS, rank, 13, f"Graphics SM Global Exception on {place}: Multiple Warp Errors")
        registers = " ".join(f"0x{first:x}=0x{draw.token(7, HEX)}" for first in (0x57C730, 0x57C734, 0x57C728))
        xid(stage, at + 4 * MS, rank, 13, f"Graphics Exception: ESR {registers}")
    died_of(stage, at + 40 * MS, rank, what, name, draw)
    unrest.hung_up_on(stage)
    also = ("software",)
    return stage.close("A kernel of an extension has a bug.", (stage.innocent("gpu", rank, also=also),))


@kind(hangs=False)
def contained_memory_error(stage: Stage) -> Scenario:
    """A row of a device's memory goes bad, the error is contained to one process (Xid 63, 94; A100 memory errors)."""
    stage.open()
    unrest.unsettled(stage)
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("row")
    stage.mark(at, f"memory of the device of rank {rank} has an error that cannot be corrected")
    xid(stage, at + 2 * MS, rank, 63, "Row Remapper: New row marked for remapping, reset gpu to activate.", pid=False)
    unit = draw.pick(("CE User Channel (0x9)", "SM (0x1)"))
    if draw.chance(0.8):
        xid(stage, at + 5 * MS, rank, 94, f"Contained: {unit}. RST: No, D-RST: No")
    died_of(stage, at + 60 * MS, rank, "uncorrectable ECC error encountered", "cudaErrorECCUncorrectable", draw)
    unrest.hung_up_on(stage)
    also = ("infrastructure",)
    return stage.close("A device is to be reset, and later replaced.", (stage.innocent("gpu", rank, also=also),))


def _completion(stage: Stage, at: int, rank: int, peer: int, way: str) -> str:
    """NCCL says that what a rank has sent or awaited came to nothing; its last error."""
    job, draw = stage.job.job, stage.draw.child("completion", rank)
    own, other = (f"::ffff:10.16.{job.node_of(one) % 250}.{11 + job.local_rank(one)}" for one in (rank, peer))
    card = f" hca mlx5_{job.local_rank(rank)}" if job.torch.order >= 207 else ""
    where = f"10.9.{job.node_of(peer) % 250}.{draw.whole(2, 250)}<{draw.whole(32_800, 60_900)}>"
    last = f"NET/IB : Got completion from peer {where} with status=12 opcode={draw.pick((0, 0, 1))} len=0 "
    last += f"vendor err 129 ({way}) localGid {own} remoteGids{other}{card}"
    nccl_warned(stage, at, rank, f"transport/net_ib.cc:{since(COMPLETION, job.torch.order)}", last)
    return last


def remote_error(stage: Stage, at: int, rank: int, last: str) -> None:
    """The watchdog of a rank finds that its communicator is broken and ends the process."""
    job, order = stage.job.job, stage.params.torch_release.order
    cause = f"NCCL error: remote process exited or there was a network error, NCCL version {since(NCCL, order)}\n"
    cause += "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\n"
    cause += f"Last error:\n{last}"
    status = watchdog.caught(job, rank, at, stage.job.work(stage.step), 0)[1]
    stage.job.say(at, rank, status)
    duration = "std::optional<std::chrono::duration<long, std::ratio<1l, 1000l> > >"
    for text in watchdog.taken_down(job, rank, at + 3 * MS, cause):
        said = text.replace(f"WorkNCCL::checkTimeout({duration})", "WorkNCCL::checkAndSetException()")
        stage.job.say(at + 3 * MS, rank, said.replace("from checkTimeout at", "from checkForNCCLErrorsInternal at"))


@kind(hangs=False, hosts=2, torch_order=203, torch_before=215)
def fabric_retries_exceeded(stage: Stage) -> Scenario:
    """A port of the fabric goes down: NCCL's cards give up after their retries, status 12 (NVIDIA/nccl#1405, #1814)."""
    stage.open()
    unrest.unsettled(stage)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("port")
    peer = (rank + job.job.ranks_per_node) % job.job.world
    node, local = job.job.node_of(rank), job.job.local_rank(rank)
    stage.mark(at, f"the port mlx5_{local} of {job.job.hosts[node]} goes down")
    if draw.chance(0.5):
        card = f"mlx5_core 0000:{draw.whole(1, 13):x}a:00.0"
        watched(stage, at + 5 * MS, node, f"kernel: {card}: Port module event: module {local}, Cable unplugged")
    if draw.chance(0.6):
        place = f"transport/net_ib.cc:{draw.pick((113, 118, 137))}"
        nccl_warned(stage, at + 20 * MS, rank, place, f"NET/IB : mlx5_{local}:1 Got async event : port error")
    ends, then = [], at + seconds(draw.between(9, 26))
    for one, other, way in ((rank, peer, "Send"), (peer, rank, "Recv")):
        last = _completion(stage, then, one, other, way)
        remote_error(stage, then + draw.span(40, 130), one, last)
        ends.append(Exit(one, then + 400 * MS, -6))
        then += draw.span(20, 900)
    job.agents_end(ends, max(one.at for one in ends))
    unrest.hung_up_on(stage)
    also = ("gpu_fabric", "infrastructure")
    return stage.close("A transceiver is dirty.", (of_all(stage.innocent("network", also=also)),))


@kind(hangs=False)
def cgroup_takes_the_rank(stage: Stage) -> Scenario:
    """Loader processes copy what they were forked with until their cgroup is full: a rank is killed (pytorch#13246)."""
    stage.open()
    unrest.unsettled(stage)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("cgroup")
    stage.mark(at, f"the kernel kills rank {rank} for the memory of its cgroup")
    node, pid = job.job.node_of(rank), job.job.rank_pids[rank]
    resident = draw.whole(90, 420) * 1_000_000 + draw.whole(0, 999_999)
    killed = f"Killed process {pid} (python3) total-vm:{resident + draw.whole(40, 90) * 1_000_000}kB, "
    killed += f"anon-rss:{resident}kB, file-rss:{draw.whole(90_000, 240_000)}kB, shmem-rss:{draw.whole(10, 900) * 4}kB"
    if draw.chance(0.85):
        called = f"kernel: {draw.pick(('pt_data_worker', 'python3', 'pt_main_thread'))} invoked oom-killer: "
        watched(stage, at - 90 * MS, node, f"{called}gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0")
        tables = f"UID:0 pgtables:{resident // 470}kB oom_score_adj:0"
        watched(stage, at, node, f"kernel: Memory cgroup out of memory: {killed}, {tables}")
    job.agents_end([Exit(rank, at, -9)], at + 20 * MS)
    unrest.hung_up_on(stage)
    also = ("software",)
    return stage.close(
        "A manifest of Python objects is copied page by page by every loader process.",
        (stage.innocent("infrastructure", rank, also=also),),
    )


@kind(hangs=False, trains=False)
def leftover_holds_device(stage: Stage) -> Scenario:
    """A process of an older job still holds a device: the rank that gets it has no room for its model (torch, FAQ)."""
    unrest.unsettled(stage, unrest.EARLY)
    job, rank, draw = stage.job, stage.culprit, stage.draw.child("leftover")
    job.start()
    at = stage.mark(job.begin + draw.span(100, 900), f"an old process holds the device of rank {rank}")
    old, free, wanted = draw.between(41, 76), draw.between(0.11, 0.94), draw.pick((1.19, 2.0, 4.75))
    own = 79.1 - old - free
    text = (
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {wanted:.2f} GiB. GPU "
        f"{job.job.local_rank(rank)} has a total capacity of 79.10 GiB of which {free * 1024:.2f} MiB is free. Process "
        f"{draw.whole(3_000, 990_000)} has {old:.2f} GiB memory in use. Including non-PyTorch memory, this process has "
        f"{own:.2f} GiB memory in use. Of the allocated memory {own - 0.62:.2f} GiB is allocated by PyTorch, and "
        f"{draw.whole(9, 80)}.{draw.whole(10, 99)} MiB is reserved by PyTorch but unallocated. If reserved but "
        "unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid "
        "fragmentation.  See documentation for Memory Management  "
        "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    )
    frames = loss_frames(stage, "model = DDP(model.to(device), device_ids=[local_rank])")
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, at, rank)
    also = ("infrastructure", "software")
    return stage.close(
        "A job was cancelled, and one of its processes was not.", (stage.innocent("gpu", rank, also=also),)
    )


@kind(hangs=False, slurm=True, lead_s=95.0, without=("restart_before",))
def requeued_by_operator(stage: Stage) -> Scenario:
    """An operator puts the job back into the queue (scontrol requeue); a target was restarted within the minute."""
    stage.open()
    if stage.draw.child("restarted").chance(0.5):
        beside(stage, commotion.restart_survived)
    else:
        unrest.unsettled(stage)
    job, at = stage.job, stage.at
    stage.mark(at, "the job is put back into the queue")
    job.slurm(at, 0, torchrun.step_cancelled(job.job, at, "JOB REQUEUE"))
    for node in range(len(job.job.hosts)):
        job.agent_signalled(at + 50 * MS, node)
    job.ended_at = at + seconds(2)
    unrest.hung_up_on(stage)
    return stage.close("A host of the job is to be drained.", (stage.innocent("infrastructure"),))
