"""Faults of programs that train already, of the nineteenth part; storage is innocent, in most of them loud.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as former_unrest
from benchmarks.accuracy.generate.faults.eighteenth.tdevices import backward_frames
from benchmarks.accuracy.generate.faults.eighteenth.tlaunch import all_end, speakers
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all, watched
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.patrons import each_raises
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import mountpath_before
from fixtures.generator import sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage

kind = kinds_of("training", "nineteenth")
#: Weights that are one, as safetensors names them.
TIED = (
    "{'lm_head.weight', 'model.embed_tokens.weight'}",
    "{'decoder.embed_tokens.weight', 'encoder.embed_tokens.weight', 'shared.weight'}",
    "{'joint.proj.weight', 'predictor.embedding.weight'}",
)


@kind(culprit=0, hangs=False, lead_s=60.0)
def weights_share_their_memory(stage: Stage) -> Scenario:
    """Two weights are one, and safetensors does not save that (LlamaFactory PR 10137, safetensors#98, unsloth#1105).

    To acquit: the text is about tensors and comes before the first byte is written; the full target is another's.
    """
    stage.open()
    beside(stage, own_unrest.tenant_full_in_window)
    unrest.unsettled(
        stage, (commotion.reads_recover, commotion.throttled_in_window, former_unrest.neighbour_reads_slowly)
    )
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("share")
    site = own.build["site"]
    stage.mark(at, "two weights of the model share their memory")
    path = f"ais://checkpoints/{own.task}/step-{stage.step:07d}"
    reader_note(stage, at - 240 * MS, 0, f"saving {path}/model.safetensors, {draw.whole(300, 900)} tensors to write")
    shared = draw.pick(TIED)
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 203, "main", "save_checkpoint(model, optimizer, step)"),
        sdk.Frame(own.script, 117, "save_checkpoint", "save_file(model.state_dict(), path)"),
        sdk.Frame(
            f"{site}/safetensors/torch.py", 286, "save_file", "serialize_file(_flatten(tensors), filename, metadata="
        ),
        sdk.Frame(f"{site}/safetensors/torch.py", 488, "_flatten", "raise RuntimeError("),
    )
    text = "RuntimeError: \n            Some tensors share memory, this will lead to duplicate memory on disk and "
    text += (
        f"potential differences when loading them again: [{shared}].\n            A potential way to correctly save "
    )
    text += "your model is to use `save_model`.\n            More information at "
    text += "https://huggingface.co/docs/safetensors/torch_shared_tensors"
    job.raise_on(at, 0, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, at, 0)
    own_unrest.killed_when_all_is_over(stage)
    return stage.close("Embeddings are tied since this run.", (stage.innocent("software", 0),))


@kind(hangs=False, lead_s=60.0, without=RESTARTS)
def batch_beyond_what_an_index_counts(stage: Stage) -> Scenario:
    """A convolution of the longest batch has too many elements for 32 bits (NeMo Speech PR 15858, pytorch#80020).

    To acquit: the rank prints the shape of the batch that it has; the stack ends in a convolution.
    """
    stage.open()
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (commotion.throttled_in_window, unrest.entries_missing, own_unrest.disk_lost_in_window))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("counts")
    site, many = job.job.build["site"], draw.whole(112, 160)
    frames_of = (1 << 31) * 4 // (256 * 80 * many) + draw.whole(60, 900)
    stage.mark(at, f"a batch of rank {rank} is too large for a convolution")
    said = f"batch of {many} cuts, longest {frames_of / 100:.2f} s, features [{many}, {frames_of}, 80]"
    reader_note(stage, at - 220 * MS, rank, said)
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(f"{site}/torch/nn/modules/module.py", 1762, "_call_impl", "return forward_call(*args, **kwargs)"),
        sdk.Frame(
            f"{job.job.script.rsplit('/', 1)[0]}/subsampling.py", 58, "forward", "x = self.out(self.conv(x))", True
        ),
        sdk.Frame(
            f"{site}/torch/nn/modules/conv.py",
            554,
            "forward",
            "return self._conv_forward(input, self.weight, self.bias)",
        ),
        sdk.Frame(f"{site}/torch/nn/modules/conv.py", 549, "_conv_forward", "return F.conv2d("),
    )
    text = "RuntimeError: Expected canUse32BitIndexMath(input) && canUse32BitIndexMath(output) to be true, but got "
    text += "false.  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    return stage.close(
        "Batches are made by their length in seconds, and devices have more memory now.",
        (stage.innocent("software", rank, also=("data", "gpu")),),
    )


@kind(hangs=False, lead_s=60.0)
def attention_wants_half_precision(stage: Stage) -> Scenario:
    """A first validation runs without autocast, and FlashAttention wants fp16 or bf16 (transformers; flash-attn).

    To acquit: all ranks raise the same of a kernel at the validation that rank 0 has announced; its data had come.
    """
    stage.open()
    beside(stage, mountpath_before)
    unrest.unsettled(stage, (commotion.tenant_backend_fails, tenth_unrest.tenant_batches_fail, commotion.reads_recover))
    own, at, draw, site = stage.job.job, stage.at, stage.draw.child("half"), stage.job.job.build["site"]
    stage.mark(at, "an attention is asked for in single precision")
    many = draw.whole(20, 90)
    reader_note(stage, at - 90 * MS, 0, f"validation of step {stage.step}: first batch of {many} here, float32")
    module = f"{site}/flash_attn/flash_attn_interface.py"
    frames = (
        *loss_frames(stage, "scores = validate(model, valid_loader, step)"),
        sdk.Frame(own.script, 149, "validate", "logits = model(batch)", True),
        sdk.Frame(f"{site}/torch/nn/modules/module.py", 1762, "_call_impl", "return forward_call(*args, **kwargs)"),
        sdk.Frame(module, 1201, "flash_attn_func", "return FlashAttnFunc.apply("),
        sdk.Frame(module, 839, "forward", "out_padded, softmax_lse, S_dmask, rng_state = _wrapped_flash_attn_forward("),
        sdk.Frame(module, 96, "_flash_attn_forward", "out, softmax_lse, S_dmask, rng_state = flash_attn_gpu.fwd("),
    )
    each_raises(stage, at, "RuntimeError: FlashAttention only support fp16 and bf16 data type", frames)
    unrest.hung_up_on(stage)
    return stage.close(
        "The validation was taken over from a script without autocast.", (of_all(stage.innocent("software")),)
    )


@kind(hangs=False, reads=True, lead_s=60.0)
def one_rank_has_exhausted_its_inputs(stage: Stage) -> Scenario:
    """Ranks have unequal many batches, and a join is to throw then (PyTorch docs, Join, throw_on_early_termination).

    To acquit: the rank that is through says that its epoch is complete, with all its samples; the others are just told.
    """
    stage.open()
    beside(stage, commotion.rebalance_running)
    unrest.unsettled(stage, (commotion.reads_recover, unrest.entries_missing, own_unrest.tenant_full_in_window))
    job, own, rank, at = stage.job, stage.job.job, stage.culprit, stage.at
    draw, site, last = stage.draw.child("exhausted"), stage.job.job.build["site"], stage.at
    stage.mark(at, f"rank {rank} is through with its samples, the others are not")
    many = stage.step * draw.pick((16, 24, 32))
    reader_note(stage, at - 40 * MS, rank, f"epoch 0 complete: {many} of {many} samples, {stage.step} batches")
    join = f"{site}/torch/distributed/algorithms/join.py"
    done = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 184, "main", "with Join([model, optimizer], throw_on_early_termination=True):"),
        sdk.Frame(join, 277, "__exit__", "self._notify_procs_to_terminate()"),
        sdk.Frame(
            join, 306, "_notify_procs_to_terminate", 'raise RuntimeError(f"Rank {self._rank} exhausted all inputs.")'
        ),
    )
    told = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(f"{site}/torch/nn/parallel/distributed.py", 1633, "forward", "inputs, kwargs = self._pre_forward("),
        sdk.Frame(
            f"{site}/torch/nn/parallel/distributed.py", 1519, "_pre_forward", "work = Join.notify_join_context(self)"
        ),
        sdk.Frame(join, 348, "notify_join_context", "raise RuntimeError("),
    )
    text = "RuntimeError: Detected at least one rank that exhausted inputs. Throwing across all ranks."
    for one in sorted({*speakers(stage), rank}):
        then, raised = at + draw.span(3, 260), sdk.Raised(told, text)
        if one == rank:
            then, raised = at + 2 * MS, sdk.Raised(done, f"RuntimeError: Rank {rank} exhausted all inputs.")
        job.raise_on(then, one, sdk.traceback(raised))
        last = max(last, then)
    all_end(stage, last)
    made = stage.innocent("data", rank, also=("software", "data_loading_stall"))
    return stage.close("The list was cut to whole hours, not to whole rounds of all ranks.", (made,))


@kind(hangs=False, lead_s=60.0)
def graph_is_not_as_static_as_promised(stage: Stage) -> Scenario:
    """DDP was promised a graph that does not change, and a layer comes in later (insightface#2288, pytorch#58111).

    To acquit: all ranks raise the same in their backward pass, at the step that rank 0 has announced.
    """
    stage.open()
    beside(stage, former_unrest.backup_until_now)
    unrest.unsettled(stage, (commotion.reads_recover, commotion.throttled_in_window, tenth_unrest.tenant_batches_fail))
    at, draw = stage.at, stage.draw.child("static")
    stage.mark(at, "a layer takes part that did not before")
    layer = draw.pick(("auxiliary CTC of layer 6", "speaker head", "gate of the mixture"))
    reader_note(stage, at - 60 * MS, 0, f"step {stage.step}: {layer} from here")
    text = "RuntimeError: Your training graph has changed in this iteration, e.g., one parameter is unused in first "
    text += (
        "iteration, but then got used in the second iteration. this is not compatible with static_graph set to True."
    )
    each_raises(stage, at, text, backward_frames(stage))
    unrest.hung_up_on(stage)
    return stage.close("It saves memory with checkpointed layers.", (of_all(stage.innocent("software")),))


@kind(culprit=0, hangs=False, lead_s=60.0)
def process_of_a_pool_ends_abruptly(stage: Stage) -> Scenario:
    """Rank 0 tokenizes in a pool of processes, one of which ends in native code (Python docs, BrokenProcessPool).

    To acquit: the kernel names the library that the process has ended in; the pool is of the rank and reads nothing.
    """
    stage.open()
    beside(stage, own_unrest.disk_lost_in_window)
    unrest.unsettled(stage, (commotion.reads_recover, commotion.throttled_in_window, unrest.entries_missing))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("abruptly")
    stage.mark(at, "a process of a pool of rank 0 ends in native code")
    pid, base = own.rank_pids[0] + draw.whole(140, 900), f"7f{draw.token(7, HEX)}000"
    library = draw.pick(("_sentencepiece.abi3.so", "libopenfst.so.26", "_tokenizers.abi3.so"))
    where = f"{int(base, 16) + draw.whole(9_000, 90_000):016x}"
    said = f"python3[{pid}]: segfault at {draw.whole(8, 99):x} ip {where} sp 00007ffd{draw.token(8, HEX)} error 4"
    watched(stage, at - 30 * MS, 0, f"kernel: {said} in {library}[{base}+{draw.whole(30, 90)}000]")
    texts = draw.whole(9_000, 90_000)
    reader_note(
        stage, at - draw.span(900, 2_900), 0, f"step {stage.step}: {texts} new transcripts to tokenize in 16 processes"
    )
    frames = (
        *loss_frames(stage, "vocabulary.extend(texts)"),
        sdk.Frame(
            f"{own.script.rsplit('/', 1)[0]}/vocabulary.py", 77, "extend", "ids = list(pool.map(encode, parts))", True
        ),
        sdk.Frame(
            f"{PYTHON}/concurrent/futures/process.py", 620, "_chain_from_iterable_of_lists", "for element in iterable:"
        ),
        sdk.Frame(f"{PYTHON}/concurrent/futures/_base.py", 619, "result_iterator", "yield _result_or_cancel(fs.pop())"),
        sdk.Frame(f"{PYTHON}/concurrent/futures/_base.py", 401, "__get_result", "raise self._exception"),
    )
    text = (
        "concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated abruptly while the "
    )
    job.raise_on(at, 0, sdk.traceback(sdk.Raised(frames, f"{text}future was running or pending.")))
    exits(stage, at, 0)
    own_unrest.killed_when_all_is_over(stage)
    return stage.close("A transcript is a million characters long.", (stage.innocent("software", 0, also=("data",)),))
