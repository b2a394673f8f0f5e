"""Numbers that a computation cannot go on with, and graphs that are compiled too often; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth import unrest as eighth_unrest
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.twenty_first import tunrest as reset_unrest
from benchmarks.accuracy.generate.faults.words import commotion, crewmates
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.workbenches import script_folder
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "thirtieth")

CONVERGED = (
    "linalg.eigh: The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
    "repeated eigenvalues (error code: {code})."
)


def _gives_up(stage: Stage, at: int, rank: int, code: int) -> None:
    """The optimizer warns that single precision fails, and meets the same in double."""
    own = stage.job.job
    module = "distributed_shampoo.utils.matrix_functions"
    first = CONVERGED.format(code=code)
    said = (
        f"Failed to compute eigendecomposition in torch.float32 precision with exception {first}! Retrying in double "
    )
    told(stage, at - 40 * MS, rank, module, f"{said}precision...", "WARNING")
    place = f"{own.build['site']}/{module.replace('.', '/')}.py"
    inner = sdk.Frame(place, 207, "_matrix_root_eigen", "L, Q = torch.linalg.eigh(A)", True)
    outer = (
        *loss_frames(stage, "optimizer.step()"),
        sdk.Frame(f"{own.build['site']}/distributed_shampoo/distributed_shampoo.py", 1019, "step", "self._roots()"),
        sdk.Frame(place, 119, "matrix_inverse_root", "X, L, Q = _matrix_root_eigen(", True),
    )
    again = sdk.Frame(place, 217, "_matrix_root_eigen", "L, Q = torch.linalg.eigh(A.double())", True)
    text = f"torch._C._LinAlgError: {first}"
    crewmates.chained(stage, at, rank, sdk.Raised((inner,), text), sdk.Raised((*outer, again), text))


@kind(reads=True, hangs=False, lead_s=60.0)
def preconditioner_has_no_eigenvalues(stage: Stage) -> Scenario:
    """Shampoo takes roots of a matrix that is no longer finite, on the rank that owns it (Meta's optimizers#13).

    To acquit: the optimizer of that rank warns that single precision fails, tries double, and raises; the norms of its
    block grow before; the batches of all ranks are complete, and a target that was busy has served them.
    """
    stage.open()
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(stage, (tunrest.readers_resume, loud.neighbour_reads_slowly, unrest.entries_missing))
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("roots")
    block = f"encoder.layers.{draw.whole(2, 17)}.ffn.w{draw.pick((1, 2))}.block_{draw.whole(0, 7)}"
    every, norm = draw.pick((10, 20, 25)), draw.between(2, 40)
    told(
        stage, stage.job.begin - 390 * MS, 0, "optim", f"Shampoo, roots every {every} steps, blocks shared among ranks"
    )
    for turn in range(4, 0, -1):
        then = at - seconds(turn * every * stage.params.step_s) + draw.span(1, 90)
        if then > stage.job.begin:
            said = f"{block}: norm of factor {norm:.3g}, epsilon 1e-12"
            told(stage, then, rank, "optim", said)
        norm *= draw.between(300, 9_000)
    for one in readers(stage)[:5]:
        said = f"step {stage.step}: 32 of 32 recordings here, roots of {draw.whole(3, 9)} blocks done"
        told(stage, at - draw.span(5, 60), one, "optim", said)
    stage.mark(at, f"a factor of {block} on rank {rank} is not finite any more")
    _gives_up(stage, at, rank, draw.pick((1, 1, 511, 1023)))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", rank, also=("data",))
    return stage.close("The learning rate was doubled with the batch.", (made,))


@kind(hangs=False, lead_s=60.0)
def sampling_finds_no_probabilities(stage: Stage) -> Scenario:
    """Logits of a model in half precision overflow as it writes samples: multinomial asserts (transformers issues).

    To acquit: the rank that writes samples says that its logits have no finite maximum, and a kernel asserts what a
    probability is; the prompts are in memory since the start; a disk that a target has lost has copies.
    """
    stage.open(save_every=10_000)
    beside(stage, late_unrest.disk_lost_in_window)
    unrest.unsettled(stage, (eighth_unrest.memory_is_low, unrest.connects_repeated, tunrest.withdrawn_left_out))
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("sampling")
    prompts, steps = draw.whole(16, 96), draw.whole(3, 180)
    told(stage, stage.job.begin - 330 * MS, rank, "samples", f"{prompts} prompts in memory, generate() in float16")
    began = at - draw.span(700, 2_900)
    told(stage, began, rank, "samples", f"step {stage.step}: writing answers to {prompts} prompts, temperature 0.7")
    said = f"token {steps}: logits min -inf, max {draw.pick(('inf', 'nan'))} in {draw.whole(1, 9)} of {prompts} rows"
    told(stage, at - 30 * MS, rank, "samples", said, "WARNING")
    stage.mark(at - 30 * MS, f"logits of rank {rank} are not finite")
    place = f"aten/src/ATen/native/cuda/TensorCompare.cu:{110 if own.torch.order < 209 else 112}"
    what = "probability tensor contains either `inf`, `nan` or element < 0"
    crewmates.asserts_on_device(stage, at - 4 * MS, rank, place, "_assert_async_cuda_kernel", what, 1)
    name = "torch.AcceleratorError" if own.torch.order >= 208 else "RuntimeError"
    site, generation = own.build["site"], f"{own.build['site']}/transformers/generation/utils.py"
    code = "next_tokens = torch.multinomial(probs, num_samples=1).squeeze(1)"
    frames = (
        *loss_frames(stage, "write_samples(model, step)"),
        sdk.Frame(f"{script_folder(stage)}/samples.py", 47, "write_samples", "ids = model.generate(**prompts)", True),
        sdk.Frame(f"{site}/torch/utils/_contextlib.py", 116, "decorate_context", "return func(*args, **kwargs)", True),
        sdk.Frame(generation, 2617, "generate", "result = self._sample(", True),
        sdk.Frame(generation, 3637, "_sample", code, True),
    )
    text = cuda_error(own.torch.order, "device-side assert triggered", "cudaErrorAssert")
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"{name}: {text}")))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", rank, also=("gpu",))
    return stage.close("The model was trained in bfloat16.", (made,))


def _limit_is_hit(stage: Stage, at: int, rank: int, last: int, length: int) -> None:
    """Dynamo says which function it has compiled too often, and raises as it may not fall back."""
    own = stage.job.job
    encoder = f"{script_folder(stage)}/encoder.py"
    reason = f"tensor 'frames' size mismatch at index 1. expected {last}, actual {length}"
    for text in (
        "torch._dynamo hit config.recompile_limit (8)",
        f"   function: 'forward' ({encoder}:131)",
        f"   last reason: 0/7: {reason}",
        'To log all recompilation reasons, use TORCH_LOGS="recompiles".',
    ):
        stage.job.say(at - 9 * MS, rank, crewmates.dynamo_line(stage, at - 9 * MS, rank, 8, text))
    dynamo = f"{own.build['site']}/torch/_dynamo"
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(f"{dynamo}/eval_frame.py", 655, "_fn", "return fn(*args, **kwargs)", True),
        sdk.Frame(f"{dynamo}/convert_frame.py", 1432, "__call__", "return self._torchdynamo_orig_callable(", True),
        sdk.Frame(f"{dynamo}/convert_frame.py", 598, "__call__", "return _compile(", True),
        sdk.Frame(f"{dynamo}/convert_frame.py", 981, "_compile", "raise FailOnRecompileLimitHit("),
    )
    graph = "one_graph=True" if own.torch.order < 208 else "fullgraph=True"
    text = (
        f"torch._dynamo.exc.FailOnRecompileLimitHit: recompile_limit reached with {graph}. Excessive recompilations "
        "can degrade performance due to the compilation overhead of each recompilation. To monitor recompilations, "
        "enable TORCH_LOGS=recompiles. If recompilations are expected, consider increasing "
        "torch._dynamo.config.cache_size_limit to an appropriate value."
    )
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))


@kind(reads=True, hangs=False, torch_order=206, lead_s=60.0)
def lengths_exceed_the_limit_of_recompilations(stage: Stage) -> Scenario:
    """A model compiled with fullgraph=True meets a ninth length: FailOnRecompileLimitHit (pytorch#167504, dion#23).

    To acquit: Dynamo says which function it has compiled eight times and which size differs, then raises; the batch is
    whole, and its length is the one that the rank told before.
    """
    stage.open()
    beside(stage, crewmates.curl_pipes_try_again)
    unrest.unsettled(stage, (unrest.entries_missing, reset_unrest.neighbour_is_reset, commotion.throttled_in_window))
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("lengths")
    lengths = draw.shuffled(list(range(640, 3_200, 16)))[:9]
    told(stage, stage.job.begin - 300 * MS, 0, "model", "torch.compile(encoder, fullgraph=True, dynamic=False)")
    for turn, length in enumerate(lengths[-4:]):
        then = at - (seconds(5.4) * (3 - turn) + draw.span(40, 400))
        said = f"batch of 32 recordings here, {length} frames, shapes so far: {turn + 6}"
        told(stage, then, rank, "dataset", said)
    stage.mark(at, f"rank {rank} has a batch of a ninth length")
    _limit_is_hit(stage, at, rank, lengths[7], lengths[8])
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("software", rank, also=("data",))
    return stage.close("Batches are padded to a multiple of sixteen frames and to nothing else.", (made,))
