"""Faults of hosts, their devices, processors, power and fabric, of the fourteenth part; storage is innocent."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.eleventh.hosts import died_of, nccl_warned, xid
from benchmarks.accuracy.generate.faults.tenth.training import nccl_error, of_all, watched
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames, raise_and_exit
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aistraffic, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit, since

kind = kinds_of("training", "fourteenth")

#: Lines of NCCL's wrapper of libibverbs that speak of a queue pair, by PyTorch's release.
QUEUE_PAIR = {205: 199, 208: 213, 209: 262, 214: 281}
SYSTEM = (
    "unhandled system error (run with NCCL_DEBUG=INFO for details)\nncclSystemError: System call (e.g. socket, malloc) "
    "or external library call failed or device error."
)


def _pair_refused(stage: Stage, at: int, rank: int, peer: int) -> None:
    """NCCL of a rank cannot bring a queue pair to its peer into life; from 2.27 on it names both ends."""
    job, order = stage.job, stage.params.torch_release.order
    last = "Call to ibv_modify_qp failed with error Connection timed out"
    if order >= 208:
        own, other = (
            f"::ffff:10.16.{job.job.node_of(one) % 250}.{11 + job.job.local_rank(one)}" for one in (rank, peer)
        )
        last = f"Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_{job.job.local_rank(rank)}:1, "
        last += f"curr state INIT, next state RTR, local GID index 3, local GID {own}, remote GID {other}"
    nccl_warned(stage, at, rank, f"misc/ibvwrap.cc:{since(QUEUE_PAIR, order)}", last)
    text = nccl_error(stage, SYSTEM, last)
    job.raise_on(at + 6 * MS, rank, sdk.traceback(sdk.Raised(loss_frames(stage, "dist.barrier()"), text)))


@kind(hangs=False, trains=False, hosts=2, torch_order=203)
def queue_pair_not_made(stage: Stage) -> Scenario:
    """Cards of two hosts do not reach each other, NCCL's queue pairs time out (NVIDIA/nccl#2013, nccl-tests#227)."""
    unrest.unsettled(stage, unrest.EARLY)
    job, draw = stage.job, stage.draw.child("queue pair")
    job.start()
    per_node, world = job.job.ranks_per_node, job.job.world
    wrong = job.job.node_of(stage.culprit)
    began = stage.mark(
        job.begin + draw.span(300, 1_100), f"a port of {job.job.hosts[wrong]} has no address of its rail"
    )
    at, exits = began + seconds(draw.between(4.1, 19.9)), []
    ranks = sorted(draw.shuffled(job.job.ranks_of(wrong))[: draw.whole(1, 3)])
    for rank in ranks:
        peer = (rank + per_node) % world
        for one, other in ((rank, peer), (peer, rank)):
            then = at + draw.span(1, 900)
            _pair_refused(stage, then, one, other)
            exits.append(Exit(one, then + 500 * MS, 1))
    firsts = {job.job.node_of(one.rank): one for one in sorted(exits, key=lambda one: -one.at)}
    job.agents_end(list(firsts.values()), max(one.at for one in exits))
    also = ("gpu_fabric", "infrastructure")
    return stage.close(
        "After a change of cables two rails are swapped on one host.", (of_all(stage.innocent("network", also=also)),)
    )


@kind(hangs=False)
def context_switch_times_out(stage: Stage) -> Scenario:
    """A device does not leave a context in time: Xid 109 (NVIDIA's Xid catalogue, open-gpu-kernel-modules#502)."""
    stage.open()
    unrest.unsettled(stage)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("context")
    stage.mark(at, f"the device of rank {rank} does not leave its context")
    if job.job.torch.is_rocm:
        card = f"kernel: amdgpu 0000:{draw.whole(1, 13):x}c:00.0: amdgpu:"
        done = draw.whole(90_000, 9_900_000)
        ring = f"ring comp_1.{draw.whole(0, 3)}.{draw.whole(0, 1)} timeout, signaled seq={done}, emitted seq={done + 2}"
        watched(stage, at + 2 * MS, job.job.node_of(rank), f"{card} {ring}")
        if draw.chance(0.6):
            watched(stage, at + 4 * MS, job.job.node_of(rank), f"{card} GPU reset begin!")
    else:
        info = f"Info 0x{draw.pick(('1c016', '2c02c', '4c01f', '3c00e'))}"
        text = f"Ch {draw.whole(8, 70):08x}, errorString CTX SWITCH TIMEOUT, {info}"
        xid(stage, at + 2 * MS, rank, 109, text)
    died_of(stage, at + 70 * MS, rank, "unspecified launch failure", "cudaErrorLaunchFailure", draw)
    unrest.hung_up_on(stage)
    return stage.close(
        "It is the third time for this driver; the next one is to be better.",
        (stage.innocent("gpu", rank, also=("infrastructure", "software")),),
    )


@kind(hangs=False)
def product_fails_on_device(stage: Stage) -> Scenario:
    """A matrix product fails on one device of many (flow_grpo#181, DeepSpeed#294: CUBLAS_STATUS_EXECUTION_FAILED)."""
    stage.open()
    unrest.unsettled(stage)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("product")
    stage.mark(at, f"a product on the device of rank {rank} fails")
    if job.job.torch.is_rocm:
        call = "hipblasGemmEx( handle, opa, opb, m, n, k, alpha_ptr, a, HIP_R_16BF, lda, b, HIP_R_16BF, ldb, beta_ptr, "
        call += "c, HIP_R_16BF, ldc, HIPBLAS_COMPUTE_32F, HIPBLAS_GEMM_DEFAULT)"
        status = "HIPBLAS_STATUS_INTERNAL_ERROR"
    else:
        call = (
            "cublasGemmEx( handle, opa, opb, m, n, k, alpha_ptr, a, CUDA_R_16BF, lda, b, CUDA_R_16BF, ldb, beta_ptr, "
        )
        call += "c, CUDA_R_16BF, ldc, compute_type, CUBLAS_GEMM_DEFAULT_TENSOR_OP)"
        status = "CUBLAS_STATUS_EXECUTION_FAILED"
    code = draw.pick(("scaler.scale(loss).backward()", "loss = criterion(model(batch), batch)"))
    raise_and_exit(stage, at, rank, f"RuntimeError: CUDA error: {status} when calling `{call}`", code)
    unrest.hung_up_on(stage)
    return stage.close(
        "The device fails a test that runs for an hour.",
        (stage.innocent("gpu", rank, also=("software", "infrastructure")),),
    )


@kind(hangs=False, lead_s=80.0, without=("restart_before", "kill_after", "rotation"))
def device_not_answering(stage: Stage) -> Scenario:
    """A device answers no more after hours of load, and CUDA does not know why (returnn#1520, 3dgrut#191)."""
    stage.open()
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (commotion.tenant_backend_fails, commotion.throttled_in_window))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("unknown")
    node = job.job.node_of(rank)
    stage.mark(at, f"the device of rank {rank} answers no more")
    if not job.job.torch.is_rocm and draw.chance(0.6):
        watched(stage, at + draw.span(900, 4_000), node, "dcgm: GPU health check failed: unable to query temperature")
    error = "torch.AcceleratorError" if job.job.torch.order >= 208 else "RuntimeError"
    cause = cuda_error(job.job.torch.order, "unknown error", "cudaErrorUnknown")
    raise_and_exit(stage, at, rank, f"{error}: {cause}", "total += loss.item()")
    unrest.hung_up_on(stage)
    return stage.close(
        "The host needs a cold start.", (stage.innocent("gpu", rank, also=("infrastructure", "software")),)
    )


@kind(hangs=False, slurm=True)
def one_processor_for_all_loaders(stage: Stage) -> Scenario:
    """A job has one core a task: loaders decode in turns (Slurm docs, cpus-per-task; pytorch's warning of workers)."""
    job, draw, site = stage.job, stage.draw.child("one core"), stage.job.job.build["site"]
    usual, slow = stage.params.step_s, round(draw.between(5.2, 9.5), 2)
    job.params = replace(job.params, step_s=slow)
    steps = int(stage.params.lead_s / slow) + draw.whole(14, 25)
    stage.mark(job.begin - draw.span(900, 2_000), "a job is given one core a task")
    many = draw.pick((4, 8, 12))
    less = "which is smaller than what this DataLoader is going to create. Please be aware that excessive worker "
    less += "creation might get DataLoader running slow or even freeze, lower the worker number to avoid potential "
    said = (
        f"{site}/torch/utils/data/dataloader.py:624: UserWarning: This DataLoader will create {many} worker processes "
    )
    said += f"in total. Our suggested max number of worker in current system is 1, {less}slowness/freeze if necessary."
    for rank in range(job.job.world) if job.job.world <= 64 else range(0, job.job.world, job.job.ranks_per_node):
        job.say(job.begin - draw.span(100, 900), rank, f"{said}\n  warnings.warn(")
    stage.open(until_step=steps)
    for one in (commotion.throttled_in_window, commotion.tenant_backend_fails):
        if draw.child(one.__name__).chance(0.6):
            beside(stage, one)
    for step in range(10, steps, 10):
        decode = slow - usual - draw.between(0.1, 0.4)
        share = f"read 0.0{draw.whole(2, 9)} s, decode and augment {decode:.2f} s, compute {usual:.2f} s"
        job.note(job.step_at(step) + 90 * MS, 0, f"step {step}: {share}", line=141)
    cancelled_by_hand(stage, job.step_at(steps) + draw.span(900, 4_000))
    also = ("infrastructure", "software")
    return stage.close(
        "A script of another site was taken over, where a task has what its host has.",
        (of_all(stage.innocent("data_loading_stall", also=also)),),
    )


@kind(hangs=False, slurm=True, lead_s=60.0)
def power_brake_slows_a_host(stage: Stage) -> Scenario:
    """A power supply fails, and devices of a host are braked to a fifth (NVML: HW Power Brake Slowdown)."""
    stage.open()
    job, at, draw = stage.job, stage.at, stage.draw.child("brake")
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(stage)
    node, usual, many = job.job.node_of(stage.culprit), stage.params.step_s, draw.whole(12, 22)
    stage.mark(at, f"a power supply of {job.job.hosts[node]} fails")
    watched(stage, at + 900 * MS, node, f"ipmi: PS{draw.whole(1, 6)} Status: Power Supply input lost (AC/DC) Asserted")
    slows = {step: draw.between(6.1, 9.9) for step in range(stage.step, stage.step + many)}
    for step, late in slows.items():
        job.delay(step, seconds(late))
    job.train(stage.step, stage.step + many, every=2)
    over = job.step_at(stage.step + many)
    rate = job.job.world / max(1, stage.params.read_every) / (usual + 8)
    aistraffic.batches(stage.cluster, at, over, rate, draw.child("batches"))
    for step in range(stage.step, stage.step + many, 5):
        whole = slows[step]
        share = f"data 0.0{draw.whole(1, 6)} s, forward {whole * 0.31:.2f} s, backward {whole * 0.64:.2f} s"
        job.note(job.step_at(step + 1) + 90 * MS, 0, f"step {step}: {share}", line=141)
    then = at + draw.span(9_000, 21_000)
    while then < over and not job.job.torch.is_rocm:
        device, clock = draw.whole(0, job.job.ranks_per_node - 1), draw.whole(225, 405)
        said = f"GPU {device}: clocks event reasons: HW Power Brake Slowdown: Active, SM clock {clock} MHz"
        watched(stage, then, node, f"dcgm: {said}")
        then += draw.span(31_000, 60_000)
    cancelled_by_hand(stage, over + draw.span(2_000, 9_000))
    made = stage.innocent("infrastructure", also=("gpu",))
    return stage.close("Of six supplies four are needed.", (replace(made, culprit_ranks=None),))
