"""Faults of the model, its numbers and its libraries, of the eighth part; storage is innocent, in some of them loud."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighth import unrest
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.model import Expect, Scenario
from fixtures.generator.moment import MS, comma_stamp, local, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "eighth")


def _exits(stage: Stage, at: int, rank: int) -> None:
    """A rank exits, and with it the job."""
    stage.job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)


@kind(hangs=False)
def fp8_needs_sixteen(stage: Stage) -> Scenario:
    """TransformerEngine computes in FP8 what is a multiple of eight long, a batch is not. An AIStore handler panics."""
    beside(stage, unrest.tenant_panics)
    stage.open()
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("fp8")
    stage.mark(at, f"a batch of rank {rank} does not fit FP8")
    frames_of, items, width = (
        8 * draw.whole(20, 90) + draw.whole(1, 7),
        2 * draw.whole(1, 6) + 1,
        draw.pick((512, 1024)),
    )
    rows = frames_of * items + (1 if frames_of * items % 8 == 0 else 0)
    text = draw.pick(
        (
            "FP8 execution requires 2D input matrices with height divisible by 8 and width divisible by 16, but got "
            f"tensor with dims=[{rows}, {width}]",
            "FP8 execution requires the product of all dimensions except the last to be divisible by 8 and the last "
            f"dimension to be divisible by 16, but got tensor with dims=[{rows}, 1, {width}] (product of leading dims "
            f"= {rows}, last dim = {width})",
        )
    )
    module = f"{stage.job.job.build['site']}/transformer_engine/pytorch"
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(f"{module}/module/layernorm_linear.py", 139, "forward", "assert_dim_for_fp8_exec(inputmat, weight)"),
        sdk.Frame(f"{module}/utils.py", 237, "assert_dim_for_fp8_exec", "assert ("),
    )
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"AssertionError: {text}")))
    _exits(stage, at, rank)
    also = ("data", "gpu")
    return stage.close(
        "Padding to multiples of 16 was switched off to save memory.",
        (stage.innocent("software", rank, also=also),),
    )


@kind(hangs=False, lead_s=60.0)
def scale_at_minimum(stage: Stage) -> Scenario:
    """DeepSpeed halves its loss scale with every step until it cannot: every rank ends. A target evicts old objects."""
    beside(stage, unrest.eviction_runs)
    stage.open()
    job, at, site = stage.job, stage.at, stage.job.job.build["site"]
    draw = stage.draw.child("scale")
    halvings = draw.whole(5, 9)
    stage.mark(at - seconds(halvings * stage.params.step_s), "gradients overflow from here on")
    for turn in range(halvings):
        then, scale = at - seconds((halvings - turn) * stage.params.step_s), 1 << (halvings - turn)
        said = f"[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {scale}, reducing to {scale // 2}"
        where = f"[{comma_stamp(then, job.job.zone)}] [INFO] [loss_scaler.py:186:update_scale]"
        job.say(then, 0, f"{where} {said}")
    runtime = f"{site}/deepspeed/runtime"
    frames = (
        *loss_frames(stage, "engine.step()"),
        sdk.Frame(f"{runtime}/engine.py", 2213, "step", "self._take_model_step(lr_kwargs)"),
        sdk.Frame(f"{runtime}/zero/stage_1_and_2.py", 1842, "step", "self._update_scale(self.overflow)"),
        sdk.Frame(f"{runtime}/fp16/loss_scaler.py", 176, "update_scale", "raise Exception("),
    )
    text = "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run."
    for rank in range(job.job.world):
        job.raise_on(at + rank * 260_000, rank, sdk.traceback(sdk.Raised(frames, text)))
    exits = [Exit(rank, at + 800 * MS + rank * MS, 1) for rank in range(0, job.job.world, job.job.ranks_per_node)]
    job.agents_end(exits, at + 900 * MS)
    made: Expect = replace(stage.innocent("software", also=("data", "gpu")), culprit_ranks=None)
    return stage.close("A model trained in bfloat16 goes on in half precision.", (made,))


@kind(hangs=False, reads=True)
def lengths_disagree(stage: Stage) -> Scenario:
    """Lengths that a manifest gives are not those of the features: the loss refuses them. Batches were slow before."""
    stage.open()
    beside(stage, unrest.slow_then_fine)
    rank, at, site = stage.culprit, stage.at, stage.job.job.build["site"]
    draw = stage.draw.child("lengths")
    stage.mark(at, f"lengths of a batch of rank {rank} disagree")
    for other in readers(stage)[: draw.whole(0, 2)]:
        said = f"{utterance(draw)}: {draw.whole(300, 900)} frames in the manifest, one less in the features"
        stage.job.note(at - draw.span(3_000, 30_000), other, said, "W", 88)
    longest = draw.whole(290, 1100)
    call = "costs, _ = torch.ops.torchaudio.rnnt_loss("
    transducer = ("torchaudio/functional/functional.py", 1775, "_rnnt_loss", call)
    text, where = draw.pick(
        (
            (
                f"Expected input_lengths to have value at most {longest}, but got value {longest + draw.whole(1, 3)} "
                "(while checking arguments for ctc_loss_gpu)",
                ("torch/nn/functional.py", 3079, "ctc_loss", "return torch.ctc_loss("),
            ),
            ("input length mismatch", transducer),
            ("output length mismatch", transducer),
        )
    )
    frames = (*loss_frames(stage, "loss = criterion(model(batch), batch)"), sdk.Frame(f"{site}/{where[0]}", *where[1:]))
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"RuntimeError: {text}")))
    _exits(stage, at, rank)
    return stage.close(
        "A manifest was written for another hop of the features.",
        (stage.innocent("data", rank, also=("software",)),),
    )


@kind(hangs=False, torch_order=206)
def rollout_engine_dies(stage: Stage) -> Scenario:
    """The engine that writes answers for a rank dies in its own process, by a fault of its own. An ETL was killed."""
    beside(stage, unrest.tenant_transformer_ends)
    stage.open()
    job, rank, at, site = stage.job, stage.culprit, stage.at, stage.job.job.build["site"]
    draw = stage.draw.child("engine")
    stage.mark(at - 60 * MS, f"the engine beside rank {rank} ends with an error")
    long = draw.whole(2, 8) * 512
    error = draw.pick(
        (
            f"ValueError: could not broadcast input array from shape ({long + 1},) into shape ({long},)",
            "TimeoutError: RPC call to sample_tokens timed out.",
            f"AssertionError: Tried to free {draw.whole(2, 40)} blocks of a request that has none in the cache",
        )
    )
    pid = job.job.rank_pids[rank] + draw.whole(300, 900)
    head = f"(EngineCore_DP0 pid={pid}) ERROR {local(at, job.job.zone):%m-%d %H:%M:%S} [core.py:846]"
    rows = (
        "EngineCore encountered a fatal error.",
        "Traceback (most recent call last):",
        f'  File "{site}/vllm/v1/engine/core.py", line 837, in run_engine_core',
        "    engine_core.run_busy_loop()",
        f'  File "{site}/vllm/v1/engine/core.py", line 864, in run_busy_loop',
        "    self._process_engine_step()",
        error,
    )
    job.say(at - 50 * MS, rank, "\n".join(f"{head} {row}" for row in rows))
    frames = (
        *loss_frames(stage, "answers = rollout.generate(prompts, sampling)"),
        sdk.Frame(f"{site}/vllm/v1/engine/core_client.py", 737, "get_output", "raise self._format_exception(outputs)"),
    )
    dead = "EngineCore encountered an issue. See stack trace (above) for the root cause."
    raised = sdk.Raised(frames, f"vllm.v1.engine.exceptions.EngineDeadError: {dead}")
    job.raise_on(at, rank, sdk.traceback(raised))
    _exits(stage, at, rank)
    return stage.close(
        "A prompt is one token longer than the engine allows for.",
        (stage.innocent("software", rank, also=("gpu", "rank_hang")),),
    )


@kind(words_only=True)
def profiler_exports(stage: Stage) -> Scenario:
    """A rank writes out what its profiler has gathered, for longer than others wait. A target is short of memory."""
    beside(stage, unrest.memory_is_low)
    stage.open()
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("profiler")
    events, done = draw.between(60, 190), 0.0
    is_trace = draw.chance(0.5)
    stage.mark(at, f"rank {rank} exports what its profiler has gathered")
    folder = f"/raid/prof/{job.job.task}"
    for after in (0.01, 21.3, 48.9, 101.7, 204.4):
        done += draw.between(2.5, 6.5)
        text = f"profiler stopped, exporting {events:.1f} M events to {folder}/rank{rank}.pt.trace.json, {done:.1f} %"
        if not is_trace:
            text = (
                f"allocator history of {events:.1f} M entries, writing {folder}/rank{rank}.pickle, {done:.1f} GB so far"
            )
        if after < job.job.timeout_s - 4:
            job.note(at + seconds(after), rank, text, "W", 223, "profile")
    stage.hang(at + 40 * MS, rank)
    also = ("rank_hang",)
    return stage.close(
        "A profiler was left running since the first step; its file lies on a disk of the host.",
        (stage.innocent("software", rank, also=also),),
    )


@kind(hangs=False, hosts=2, reads=True)
def two_at_once(stage: Stage) -> Scenario:
    """Within a second a loader process meets a label it does not know, and a GPU of another host fails."""
    stage.open()
    job, first, at = stage.job, stage.culprit, stage.at
    draw, order = stage.draw.child("two"), stage.params.torch_release.order
    world, per_node = job.job.world, job.job.ranks_per_node
    second = (first + per_node + draw.whole(0, per_node - 1)) % world
    while job.job.node_of(second) == job.job.node_of(first):
        second = (second + 1) % world
    stage.mark(at, f"rank {first} meets an unknown label")
    frames = (sdk.Frame(job.job.script, 71, "encode_label", "return self.table[label]", True),)
    label = draw.pick(("spk_0412", "de-AT", "<laugh>", "noise/2"))
    in_worker(stage, at, first, "KeyError", f"'{label}'", frames)
    then = at + draw.span(150, 520)
    stage.mark(then, f"the GPU of rank {second} fails")
    error = "torch.AcceleratorError" if order >= 208 else "RuntimeError"
    text = f"{error}: {cuda_error(order, 'unspecified launch failure', 'cudaErrorLaunchFailure')}"
    frame = loss_frames(stage, "scaler.scale(loss).backward()")
    job.raise_on(then, second, sdk.traceback(sdk.Raised(frame, text)))
    job.agents_end([Exit(first, at + 700 * MS, 1), Exit(second, then + 600 * MS, 1)], then + 700 * MS)
    also = ("gpu", "software", "infrastructure")
    made = stage.innocent("data", *sorted((first, second)), also=also)
    return stage.close("A new corpus, and a GPU that was to be replaced.", (made,))
