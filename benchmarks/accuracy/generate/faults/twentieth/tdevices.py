"""Faults around devices, their memory and their libraries, of the twentieth part; storage is innocent, mostly loud.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighteenth.tlaunch import speakers
from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as former_unrest
from benchmarks.accuracy.generate.faults.ninth import unrest as ninth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import of_all, standing_in
from benchmarks.accuracy.generate.faults.twentieth import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, comma_stamp, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "twentieth")


def _compiles(site: str) -> tuple[tuple[str, str, int], ...]:
    """A rank waits for the compiler of a kernel of DeepGEMM, the innermost frame first."""
    gemm = f"{site}/deep_gemm"
    return (
        ("communicate", f"{PYTHON}/subprocess.py", 1209),
        ("run", f"{PYTHON}/subprocess.py", 550),
        ("build", f"{gemm}/jit/compiler.py", 105),
        ("compile_and_tune", f"{gemm}/jit_kernels/tuner.py", 43),
        ("m_grouped_gemm_fp8_fp8_bf16_nt_contiguous", f"{gemm}/jit_kernels/m_grouped_gemm.py", 67),
    )


def _dispatches(stage: Stage, is_far: bool) -> tuple[sdk.Frame, ...]:
    """From the script to DeepEP's exchange of tokens, within a host or between hosts."""
    module = f"{stage.job.job.build['site']}/deep_ep/buffer.py"
    return (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(
            f"{stage.job.job.script.rsplit('/', 1)[0]}/experts.py",
            77,
            "forward",
            "tokens, ids, weights, counts, handle, event = self.buffer.dispatch(",
            True,
        ),
        sdk.Frame(
            module,
            335 if is_far else 347,
            "internode_dispatch" if is_far else "dispatch",
            "self.runtime.internode_dispatch(" if is_far else "self.runtime.intranode_dispatch(",
        ),
    )


@kind(hangs=False, min_timeout_s=180, lead_s=60.0)
def experts_wait_for_a_dispatch(stage: Stage) -> Scenario:
    """A rank compiles kernels while its peers wait for its tokens, a hundred seconds at most (DeepEP#424, sglang#6701).

    To acquit: peers wait in a dispatch between experts; the one that they wait for stands in a compiler, and says so.
    """
    stage.open()
    beside(stage, former_unrest.disk_lost_in_window)
    unrest.unsettled(
        stage, (own_unrest.turned_away_in_window, commotion.reads_recover, own_unrest.neighbour_reads_cold)
    )
    job, own, rank, at = stage.job, stage.job.job, stage.culprit, stage.at
    draw, site, last = stage.draw.child("dispatch"), stage.job.job.build["site"], stage.at
    stage.mark(at, f"rank {rank} compiles kernels")
    tokens = draw.whole(9_000, 31_000)
    reader_note(
        stage, at - 20 * MS, rank, f"step {stage.step}: batch here, {tokens} tokens; no kernel for it yet, compiling"
    )
    py_spy(stage, draw.between(34, 61), (standing_in(stage, 191, *_compiles(site)),))
    is_far = len(own.hosts) > 1
    text = f"RuntimeError: DeepEP error: {'timeout (dispatch CPU)' if is_far else 'CPU recv timeout'}"
    frames = _dispatches(stage, is_far)
    for one in speakers(stage):
        if one != rank:
            then = at + seconds(100) + draw.span(20, 900)
            job.raise_on(then, one, sdk.traceback(sdk.Raised(frames, text)))
            last = max(last, then)
    firsts = {own.node_of(one): one for one in reversed(speakers(stage)) if one != rank}
    job.agents_end([Exit(one, last + 500 * MS, 1) for one in firsts.values()], last + 900 * MS)
    made = stage.innocent("rank_hang", rank, also=("software", "gpu_fabric"))
    return stage.close("The cache of compiled kernels is on a disk of each host, and one was made anew.", (made,))


@kind(hangs=False, lead_s=60.0)
def memory_of_devices_is_flushed_in_each_step(stage: Stage) -> Scenario:
    """Devices are nearly full, and PyTorch gives memory back at each step (DeepSpeedExamples#172, EasyContext#11).

    To acquit: DeepSpeed says in each step how often that was; batches were there after hundredths of a second.
    """
    job, own, draw = stage.job, stage.job.job, stage.draw.child("flushed")
    usual = stage.params.step_s
    slow = round(usual + draw.between(2.4, 5.4), 2)
    stage.job.params = replace(stage.job.params, step_s=slow)
    steps = int(stage.params.lead_s / slow) + draw.whole(12, 30)
    stage.mark(job.begin, "devices are nearly full")
    stage.open(until_step=steps)
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(
        stage, (own_unrest.neighbour_reads_cold, former_unrest.disk_lost_in_window, own_unrest.turned_away_in_window)
    )
    over = job.step_at(steps) + draw.span(900, 3_900)
    said = "pytorch allocator cache flushes since last step. this happens when there is high memory pressure and is "
    said += "detrimental to performance. if this is happening frequently consider adjusting settings to reduce memory "
    said += "consumption. If you are unable to make the cache flushes go away consider adding "
    said += (
        "get_accelerator().empty_cache() calls in your training loop to ensure that all ranks flush their caches at "
    )
    said += "the same time"
    for step in range(2, steps):
        then = job.step_at(step + 1) + 2 * MS
        job.say(then, 0, f"[{comma_stamp(then, own.zone)}] [WARNING] [stage3.py:2139:step] {draw.whole(9, 31)} {said}")
        if step % 5 == 0:
            shares = f"data 0.0{draw.whole(1, 6)} s, forward and backward {slow - draw.between(0.2, 0.3):.2f} s"
            reader_note(stage, then + 20 * MS, draw.whole(0, own.world - 1), f"step {step}: {shares}")
    cancelled_by_hand(stage, over)
    made = of_all(stage.innocent("gpu", also=("software", "rank_hang")))
    return stage.close("Batches are a fifth longer since today.", (made,))


@kind(hangs=False, trains=False, hosts=2)
def parts_of_cudnn_are_of_two_releases(stage: Stage) -> Scenario:
    """A host finds a library of the system between those of cuDNN that PyTorch brings (pytorch#185512, #188892).

    To acquit: all ranks of one host raise the same at their first convolution; the batch was made up of random numbers.
    """
    beside(stage, ninth_unrest.keepalives_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("cudnn"), stage.job.job.build["site"]
    job.start()
    node = own.node_of(stage.culprit)
    at = stage.mark(job.begin + draw.span(400, 2_900), f"cuDNN of {own.hosts[node]} is of two releases")
    reader_note(stage, at - 300 * MS, 0, "warming up with one batch of random numbers")
    conv = f"{site}/torch/nn/modules/conv.py"
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 180, "main", "warm_up(model, options.shape)", True),
        sdk.Frame(own.script, 84, "warm_up", "model(torch.randn(shape, device=device)).sum().backward()", True),
        sdk.Frame(f"{site}/torch/nn/modules/module.py", 1747, "_call_impl", "return forward_call(*args, **kwargs)"),
        sdk.Frame(conv, 554, "forward", "return self._conv_forward(input, self.weight, self.bias)"),
        sdk.Frame(conv, 549, "_conv_forward", "return F.conv2d("),
    )
    text = "RuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH"
    last = at
    for rank in own.ranks_of(node):
        then = at + draw.span(1, 240)
        last = max(last, then)
        job.raise_on(then, rank, sdk.traceback(sdk.Raised(frames, text)))
    over = job.agents_end([Exit(own.ranks_of(node)[0], last + 500 * MS, 1)], last + 600 * MS)
    made = of_all(stage.innocent("software", also=("infrastructure", "gpu")))
    return stage.close("LD_LIBRARY_PATH of that host names a folder of the system first.", (made,), until=over + SEC)
