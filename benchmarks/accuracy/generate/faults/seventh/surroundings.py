"""Faults around a job, of the seventh part: hosts, disks, mounts, scheduler; storage is innocent."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import fetch_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import mountpath_before
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk, torchrun
from fixtures.generator.model import Expect, Scenario
from fixtures.generator.moment import MS, local, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "seventh")


def _kernel(stage: Stage, at: int, node: int, text: str) -> None:
    """A line of a host's kernel, as a monitor copies it into the log of the job."""
    stage.job.agent(at, node, f"node-monitor: [{local(at, stage.job.job.zone):%a %b %e %H:%M:%S %Y}] {text}")


@kind(hangs=False, reads=True, lead_s=75.0)
def cache_disk_fails(stage: Stage) -> Scenario:
    """The disk of a training host that holds copies of shards fails. A target of AIStore has lost a disk before."""
    beside(stage, mountpath_before)
    stage.open()
    job, rank, at = stage.job, stage.culprit, stage.at
    draw, node = stage.draw.child("cache"), stage.job.job.node_of(stage.culprit)
    disk = f"nvme{draw.whole(1, 7)}n1"
    stage.mark(at - seconds(2.1), f"{disk} of host {job.job.hosts[node]} fails")
    block = (
        f"{draw.whole(1 << 27, 1 << 32)}, {draw.pick((8, 256, 1024))} blocks, I/O Error (sct 0x2 / sc 0x81) MORE DNR"
    )
    _kernel(stage, at - seconds(2.1), node, f"{disk}: I/O Cmd(0x2) @ LBA {block}")
    is_locked, shard = draw.chance(0.5), f"/raid/cache/{stage.bucket}/shards/train-{draw.whole(0, 4095):06d}.tar"
    ended = "log I/O error -5, shutting down filesystem" if not is_locked else "Remounting filesystem read-only"
    _kernel(stage, at - seconds(1.9), node, f"{'EXT4-fs' if is_locked else 'XFS'} ({disk}): {ended}")
    errors = "[Errno 30] Read-only file system" if is_locked else "[Errno 5] Input/output error"
    for other in [one for one in readers(stage) if job.job.node_of(one) == node][:2]:
        path = f"/raid/cache/{stage.bucket}/shards/train-{draw.whole(0, 4095):06d}.tar"
        job.note(at - draw.span(100, 1_500), other, f"cannot keep {path}: {errors}, reading past the cache", "W", 71)
    site, path = job.job.build["site"], f"{shard}.temp{job.job.rank_pids[rank]}" if is_locked else shard
    code = "dest = open(temp, 'wb')" if is_locked else "stream = open(dest, 'rb')"
    inner = sdk.Frame(f"{site}/webdataset/cache.py", 118, "get_file", code, True)
    caller = fetch_frames(stage, "sample = next(self.samples)", inner)
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, f"OSError: {errors}: '{path}'")))
    job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)
    also = ("software", "data_loading_stall")
    return stage.close(
        "A local disk has no spare blocks left; AIStore has every shard.",
        (stage.innocent("infrastructure", rank, also=also),),
    )


@kind(reads=True, words_only=True)
def processors_taken(stage: Stage) -> Scenario:
    """Somebody's job takes the processors of a host: batches come at once and are decoded for minutes."""
    stage.open()
    beside(stage, commotion.throttled_in_window)
    job, rank, at = stage.job, stage.culprit, stage.at
    draw, node = stage.draw.child("processors"), stage.job.job.node_of(stage.culprit)
    began = stage.mark(at - draw.span(14_000, 19_000), f"another job takes the processors of {job.job.hosts[node]}")
    spent, cores = 2.0, draw.pick((96, 128, 192))
    for after in (-11.0, -6.5, -0.4):
        spent = spent * draw.between(1.4, 2.2)
        text = f"loader is behind: last batch fetch {draw.between(0.05, 0.3):.2f} s, decode {spent:.1f} s"
        job.note(at + seconds(after), rank, text, "W", 121, "loader")
    fetched = draw.between(0.05, 0.3)
    for after in (20.2, 50.2, 110.3, 230.3):
        if after < job.job.timeout_s - 4:
            text = f"no batch for {after:.0f} s: the next one was fetched in {fetched:.2f} s and is being decoded"
            job.note(at + seconds(after), rank, text, "W", 126, "loader")
    for other in [one for one in readers(stage) if job.job.node_of(one) == node][:2]:
        text = f"loader is behind: last batch fetch {draw.between(0.05, 0.3):.2f} s, decode {draw.between(2, 6):.1f} s"
        job.note(at - draw.span(300, 9_000), other, text, "W", 121, "loader")
    if draw.chance(0.7):
        load = (
            f"load average {draw.between(700, 1900):.1f} on {cores} CPUs, {draw.whole(900, 3000)} processes of ffmpeg"
        )
        job.agent(began + seconds(9), node, f"node-monitor: {load}, not of this job")
    stage.hang(at + 20 * MS, rank)
    also = ("infrastructure", "rank_hang", "software")
    return stage.close(
        "A job of another user runs outside its limits; a busy disk of AIStore costs milliseconds.",
        (stage.innocent("data_loading_stall", rank, also=also),),
    )


@kind()
def gpu_firmware_hangs(stage: Stage) -> Scenario:
    """The firmware of a GPU answers its driver no more: its rank stays in a call. A rebalance runs at the same time."""
    stage.open()
    beside(stage, commotion.rebalance_running)
    job, rank, at = stage.job, stage.culprit, stage.at
    draw, node = stage.draw.child("firmware"), stage.job.job.node_of(stage.culprit)
    stage.mark(at, f"the GPU of rank {rank} answers no more")
    pci, who = f"{draw.whole(16, 220):02x}:00", f"pid={job.job.rank_pids[rank]}, name=python3"
    function = draw.pick(
        ("76 (GSP_RM_CONTROL) (0x20802a02 0x4)", "103 (GSP_RM_ALLOC) (0x0 0x6c)", "10 (FREE) (0x0 0x0)")
    )
    for after in (6.0, 12.0, 51.0):
        text = f"NVRM: Xid (PCI:0000:{pci}): 119, {who}, Timeout after 6s of waiting for RPC response from GPU"
        text += f"{job.job.local_rank(rank)} GSP! Expected function {function}."
        if job.job.torch.is_rocm:
            text = (
                f"amdgpu 0000:{pci}.0: amdgpu: SMU: I'm not done with your previous command: SMN_C2PMSG_66:0x00000026"
            )
        if after < job.job.timeout_s - 4:
            _kernel(stage, at + seconds(after) + draw.span(1, 900), node, text)
    stage.hang(at + 20 * MS, rank)
    also = ("rank_hang", "infrastructure", "software")
    return stage.close("A known fault of a driver's release.", (stage.innocent("gpu", rank, also=also),))


@kind(hangs=False, trains=False, hosts=2, slurm=True)
def container_not_created(stage: Stage) -> Scenario:
    """SLURM cannot make the container on one host: its registry says 429, or its local disk is full."""
    job, draw = stage.job, stage.draw.child("container")
    node, begin = len(job.job.hosts) - 1 - draw.whole(0, 1), stage.job.begin - seconds(20)
    stage.mark(begin, f"host {job.job.hosts[node]} cannot make its container")
    at, label = begin + draw.span(4_000, 9_000), f"pyxis_{job.job.job_id}.0"
    what, why = draw.pick(
        (
            (
                "failed to import docker image",
                "[ERROR] URL https://registry-1.docker.io/v2/speech/train/manifests/26.02 returned error code: 429 "
                "Too Many Requests",
            ),
            (
                "failed to create container filesystem",
                f"Write on output file failed because No space left on device: /raid/enroot/data/{label}",
            ),
            (
                "failed to create container filesystem",
                f"FATAL ERROR:dir_scan: failed to make directory /raid/enroot/data/{label}/usr, because File exists",
            ),
        )
    )
    plugin = "required plugin spank_pyxis.so: task_init() failed with rc=-1"
    said = (
        f"pyxis: child {draw.whole(100_000, 900_000)} failed with error code: 1",
        f"pyxis: {what}",
        "pyxis: printing enroot log file:",
        f"pyxis:     {why}",
        "pyxis: couldn't start container",
        f"spank: {plugin}",
        "Failed to invoke spank plugin stack",
    )
    for turn, text in enumerate(said):
        job.slurm(at + turn * 40_000, node, f"slurmstepd: error: {text}")
    job.slurm(at + seconds(0.3), node, torchrun.srun_exit(job.job, node))
    job.slurm(at + seconds(0.4), 0, torchrun.step_cancelled(job.job, at + seconds(0.4)))
    job.ended_at = at + seconds(2)
    made: Expect = replace(stage.innocent("infrastructure", also=("software",)), culprit_ranks=None)
    return stage.close("No rank is ever started; nobody has asked AIStore for anything.", (made,))


@kind(hangs=False, slurm=True, lead_s=95.0, without=("restart_before",))
def warning_signal_kills(stage: Stage) -> Scenario:
    """SLURM warns the job of its end with a signal that a new script does not handle: everything ends at once."""
    stage.open()
    beside(stage, commotion.restart_survived)
    job, at = stage.job, stage.at
    stage.mark(at, "SLURM sends SIGUSR1 to the step")
    for node, host in enumerate(job.job.hosts):
        job.slurm(at + (60 + 11 * node) * MS, 0, f"srun: error: {host}: task {node}: User defined signal 1")
    job.slurm(at + 190 * MS, 0, f"srun: Terminating StepId={job.job.job_id}.0")
    job.ended_at = at + seconds(2)
    made: Expect = replace(stage.innocent("infrastructure", also=("software",)), culprit_ranks=None)
    return stage.close("The handler was in the launcher that was replaced.", (made,))


@kind(culprit=0, lead_s=95.0, words_only=True, without=("restart_before",))
def nfs_not_responding(stage: Stage) -> Scenario:
    """The NFS server of the experiments is gone: rank 0 stays in a write of its logs. A target was restarted before."""
    stage.open()
    beside(stage, commotion.restart_survived)
    job, at, draw = stage.job, stage.at, stage.draw.child("nfs")
    server = draw.pick(("nfs-exp2", "filer-a.corp.example", "10.3.0.11"))
    stage.mark(at, f"{server} does not answer")
    path = f"/nfs/exp/{job.job.task}/samples/step-{stage.step}.html"
    job.note(at - 15 * MS, 0, f"writing 64 decoded samples to {path}", "W", 161)
    if draw.chance(0.75):
        _kernel(stage, at + seconds(18.3), 0, f"nfs: server {server} not responding, still trying")
    if job.job.timeout_s > 130:
        text = f"INFO: task python3:{job.job.rank_pids[0]} blocked for more than 122 seconds."
        _kernel(stage, at + seconds(124.8), 0, text)
    stage.hang(at + 20 * MS, 0)
    also = ("rank_hang", "network", "software")
    return stage.close(
        "A filer is upgraded; what AIStore holds was read all the time.",
        (stage.innocent("infrastructure", 0, also=also),),
    )
