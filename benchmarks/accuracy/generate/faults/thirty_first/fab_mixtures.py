"""Two failures in one set of logs, of which storage is to blame for the first only.

The docstring of a kind says where it is from, and which lines tell who is to blame for what.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.script import cuda_error
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisfaults as faults
from fixtures.generator import chains, sdk, torchrun
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, comma_stamp, local, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit
from fixtures.generator.trainend import JobRun

kind = kinds_of("storage", "thirty_first")


def _watched(job: JobRun, at: int, node: int, text: str) -> None:
    """A line of a host's own services, as a monitor copies it into the log of that job."""
    stamp = f"{local(at, job.job.zone):%b %e %H:%M:%S}"
    job.agent(at, node, f"node-monitor: {stamp} {job.job.hosts[node]} {text}")


def _double_bit_error(job: JobRun, at: int, rank: int, bus: str) -> None:
    """The device of a rank has an error that is not to be corrected: Xid 48, CUDA's error, the end of the job."""
    own = job.job
    said = (
        f"48, pid={own.rank_pids[rank]}, name=python3, An uncorrectable double bit error (DBE) has been detected on GPU"
    )
    place = f"in the framebuffer at partition {rank + 3}, subpartition {rank % 2}"
    _watched(job, at - 50 * MS, 0, f"kernel: NVRM: Xid (PCI:0000:{bus}:00): {said} {place}.")
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 192, "main", "grad_norm = clip_grad_norm_(model.parameters(), 1.0).item()"),
    )
    name = "torch.AcceleratorError" if own.torch.order >= 208 else "RuntimeError"
    text = cuda_error(own.torch.order, "uncorrectable ECC error encountered", "cudaErrorECCUncorrectable")
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"{name}: {text}")))
    job.agents_end([Exit(rank, at + 600 * MS, 1)], at + 600 * MS)


@kind(reads=True, proxies=2, lead_s=70.0, without=RESTARTS)
def neighbour_loses_a_device_as_a_target_crashes(stage: Stage) -> Scenario:
    """Two jobs end within seconds, one for a crashed target and one for its device (NVIDIA Xid 48; kill -9, 02 and 15).

    To convict: a rank of the large job has three batches end short or refused for want of one target, and raises. The
    small job's batch, which failed too, was served; its host reports Xid 48 and CUDA raises: that one is its own.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("neighbour")
    params = replace(stage.params, ranks=4, ranks_per_node=4, layout="slurm", culprit=0)
    other = stage.new_job("device", params, stage.job.begin + draw.span(3_000, 8_000))
    stage.open()
    lost = at + draw.span(3_200, 5_900)
    stage.open(other, until_step=int((lost - other.begin) / seconds(params.step_s)))
    down = stage.mark(at - 20 * MS, f"kill -9 {victim.name}")
    faults.kill(cluster, victim, down)
    read = at + draw.span(100, 500)
    failed = chains.cut_off_stream(stage, read, stage.other_target(victim, 1), victim, 0, draw.whole(3, 30), 48)
    reader = draw.whole(0, 3)
    other.note(read + 5 * MS, reader, f"get-batch failed ({failed.error}), retrying 1/5", "W", 96)
    spent = draw.between(1.3, 1.9)
    other.note(read + seconds(spent), reader, f"get-batch served after 2 attempts, {spent:.1f} s", "W", 99)
    failed = chains.cut_off_stream(stage, at, stage.other_target(victim), victim, rank, draw.whole(0, 6), 48)
    then = at
    for turn in range(1, 3):
        stage.job.note(then + 7 * MS, rank, f"get-batch failed ({failed.error}), retrying {turn}/3", "W", 96)
        then += seconds(1.5 * turn) + draw.span(4, 60)
        failed = chains.dead_designated(stage, then, victim, rank)
    stage.job.raise_on(then + 8 * MS, rank, failed.traceback)
    faults.reconnects(cluster, victim, at, at + seconds(16))
    faults.leave_smap(cluster, victim, at)
    stage.mark(lost - 50 * MS, f"job {other.job.job_id}: the device of a rank has a double-bit error")
    struck = (reader + draw.whole(1, 3)) % 4
    _double_bit_error(other, lost, struck, draw.pick(("1d", "52", "a4", "cb")))
    stage.hang(at + 340 * MS, rank)
    back = stage.mark(at + draw.span(41_000, 52_000), f"{victim.name} is started again")
    faults.start_again(cluster, victim, back)
    own = replace(stage.innocent("gpu", struck, also=("infrastructure",)), job_id=other.job.job_id)
    return stage.close(
        "The target was ended by an operator who meant another one; the device had been on a list.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall",)), own),
    )


def _ends_at_its_limit(job: JobRun, at: int) -> None:
    """SLURM ends a job whose minutes are over."""
    own, draw = job.job, job.draw.child("limit")
    job.slurm(at, 0, torchrun.step_cancelled(own, at, "TIME LIMIT"))
    job.slurm(at + 3 * MS, 0, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    for node in range(len(own.hosts)):
        then = at + draw.span(20, 240)
        job.agent_signalled(then, node)
        job.slurm(then + draw.span(900, 1_700), node, f"srun: error: {own.hosts[node]}: task {node}: Terminated")
    job.ended_at = at + 3 * SEC


@kind(reads=True, lead_s=70.0, without=RESTARTS)
def job_after_a_stall_ends_at_the_limit_of_a_debug_queue(stage: Stage) -> Scenario:
    """A job stalls at a stopped target, and is sent again with the minutes of a debug queue (03; Slurm docs, --time).

    To convict: a silent rank has asked a target for a shard that says nothing from then on and is taken from the Smap,
    all others wait. The second job trains through the rebalance until slurmstepd says DUE TO TIME LIMIT: its own.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, params = stage.draw.child("again"), stage.params
    stage.open()
    shard = f"shards/train-{draw.whole(0, 4095):06d}.tar"
    told(stage, at - 35 * MS, rank, "shards", f"next: {victim.url(0)}/v1/objects/{stage.bucket}/{shard}")
    frozen = stage.mark(at - 30 * MS, f"SIGSTOP {victim.name}")
    end_of_stop = at + seconds(params.timeout_s + draw.between(40, 52))
    faults.stop(cluster, victim, frozen, end_of_stop)
    faults.leave_smap(cluster, victim, at, hung=True)
    stage.hang(at + 360 * MS, rank)
    stage.mark(end_of_stop, f"SIGCONT {victim.name}")
    back = faults.resume(cluster, victim, end_of_stop + 2 * MS)
    first = max(1, stage.step // 60 * 60 + 1)
    size = min(params.ranks, 2 * params.ranks_per_node)
    again = replace(params, ranks=size, layout="slurm", culprit=params.culprit % size)
    other = stage.new_job("again", again, back + draw.span(24_000, 31_000))
    former = stage.job.job
    hosts = former.hosts[: len(other.job.hosts)]
    other.job = replace(other.job, hosts=hosts, task=former.task, script=former.script)
    own, minutes = other.job, draw.pick((2, 2, 3))
    other.first_step = first
    over = other.begin - seconds(7) + minutes * 60 * SEC + draw.span(2_000, 26_000)
    last = first + int((over - other.begin) / seconds(params.step_s))
    stage.mark(other.begin, f"job {own.job_id} starts training")
    said = f"job {own.job_id}, partition debug, time limit 00:{minutes:02d}:00, continues {former.job_id}"
    other.say(other.begin - seconds(6.6), 0, f"{comma_stamp(other.begin - seconds(6.6), own.zone)} launch: {said}")
    cluster.start_batches(other.begin + 40 * MS, stage.other_target(victim))
    other.start()
    if first > 1:
        other.note(other.begin - 300 * MS, 0, f"Restored all states from the checkpoint at step={first - 1}", line=151)
    other.train(first, last, save_every=10_000)
    stage.load(other, other.begin + 60 * MS, other.step_at(last))
    stage.mark(over, f"the minutes of job {own.job_id} are over")
    _ends_at_its_limit(other, over)
    second = replace(stage.innocent("infrastructure", also=("software",)), job_id=own.job_id, culprit_ranks=None)
    return stage.close(
        "The host of the target was frozen by its hypervisor; who sent the job again took the queue that was free.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io",)), second),
    )
