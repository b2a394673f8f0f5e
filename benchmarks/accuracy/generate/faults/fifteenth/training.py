"""Faults of programs and settings of the fifteenth part, the plainest of them; storage is innocent."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import of_all
from benchmarks.accuracy.generate.faults.words.fetchers import ALL_SPEAK
from benchmarks.accuracy.generate.faults.words.patrons import each_raises
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk, torchrun
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "fifteenth")


@kind(lead_s=60.0)
def raised_but_never_exits(stage: Stage) -> Scenario:
    """A rank has no device memory, says so and hangs in its own end (NVIDIA/nccl#1777, FunASR#2006)."""
    stage.open()
    unrest.unsettled(stage)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("never exits")
    stage.mark(at, f"rank {rank} has no device memory left, and its process does not end")
    name = "torch.OutOfMemoryError" if job.job.torch.order >= 205 else "torch.cuda.OutOfMemoryError"
    library = "HIP" if job.job.torch.is_rocm else "CUDA"
    setting = "PYTORCH_ALLOC_CONF" if job.job.torch.order >= 210 else f"PYTORCH_{library}_ALLOC_CONF"
    free = draw.between(90, 900)
    held = 79.06 - free / 1024
    whole = f"Including non-PyTorch memory, this process has {held:.2f} GiB memory in use. "
    text = (
        f"{name}: {library} out of memory. Tried to allocate {draw.whole(336, 990)}.00 MiB. GPU "
        f"{job.job.local_rank(rank)} has a total capacity of 79.10 GiB of which {free:.2f} MiB is free. "
        f"{'' if job.job.torch.is_rocm else whole}Of the allocated memory "
        f"{held - 1.7:.2f} GiB is allocated by PyTorch, and {draw.between(90, 700):.2f} MiB is reserved by PyTorch but "
        f"unallocated. If reserved but unallocated memory is large try setting {setting}="
        "expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  "
        "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    )
    code = draw.pick(("loss = criterion(model(batch), batch)", "scaler.scale(loss).backward()"))
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(loss_frames(stage, code), text)))
    stage.hang(at + 20 * MS, rank)
    return stage.close(
        "A thread of its tracker waits for the end of the process, which waits for the thread.",
        (stage.innocent("gpu", rank, also=("software", "rank_hang")),),
    )


@kind(hangs=False, trains=False)
def argument_is_required(stage: Stage) -> Scenario:
    """A script wants an argument that torchrun does not give any more (pytorch docs, torchrun; BasicSR#626)."""
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("argument")
    began = stage.mark(job.begin - draw.span(900, 2_400), "a script is started with arguments that it does not know")
    for node in range(len(own.hosts)):
        for text in torchrun.omp_banner(own, node, began - seconds(3.4)):
            job.agent(began - seconds(3.4), node, text)
    file = own.script.rsplit("/", 1)[-1]
    usage = (
        f"usage: {file} [-h] --cfg FILE [--opts OPTS [OPTS ...]] [--batch-size BATCH_SIZE] [--data-path DATA_PATH]\n"
    )
    usage += f"{' ' * (len(file) + 8)}[--resume RESUME] [--output PATH] [--tag TAG] [--eval] [--throughput]"
    wrong = draw.pick(
        (
            "the following arguments are required: --local_rank",
            "unrecognized arguments: --use-checkpoint",
            "unrecognized arguments: --amp-opt-level O1",
        )
    )
    ranks = range(own.world) if own.world <= ALL_SPEAK else range(0, own.world, own.ranks_per_node)
    for rank in ranks:
        job.say(began + draw.span(1, 400), rank, f"{usage}\n{file}: error: {wrong}")
    firsts = range(0, own.world, own.ranks_per_node)
    over = job.agents_end([Exit(rank, began + 700 * MS + rank * MS, 2) for rank in firsts], began + SEC)
    made = of_all(stage.innocent("software", also=("infrastructure",)))
    return stage.close("The script is of a year in which launchers were others.", (made,), until=over)


@kind(hangs=False, trains=False)
def shared_memory_name_taken(stage: Stage) -> Scenario:
    """A run that was killed has left its names in /dev/shm of a host (mosaicml/streaming#717, #767, #824)."""
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("name")
    job.start()
    rank = own.ranks_of(own.node_of(stage.culprit))[0]
    at, module = job.begin + draw.span(300, 1_900), f"{own.build['site']}/streaming/base"
    stage.mark(at, f"the host of rank {rank} has a segment of a run before")
    what = draw.pick(("locals", "locals", "epoch_shape", "barrier"))
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 168, "main", "dataset = StreamingDataset(remote=remote, local=local, batch_size=batch)"),
        sdk.Frame(f"{module}/dataset.py", 529, "__init__", "self._shm_prefix_int, self._locals_shm = get_shm_prefix("),
        sdk.Frame(f"{module}/shared/prefix.py", 221, "get_shm_prefix", "shm = SharedMemory(name, True, len(data))"),
        sdk.Frame(f"{module}/shared/memory.py", 41, "__init__", "shm = BuiltinSharedMemory(name, create, size)"),
        sdk.Frame(
            "/opt/conda/lib/python3.11/multiprocessing/shared_memory.py",
            104,
            "__init__",
            "self._fd = _posixshmem.shm_open(",
        ),
    )
    shown = frames if what == "locals" else (*frames[:2], *frames[4:])
    text = f"FileExistsError: [Errno 17] File exists: '/00000{draw.whole(0, 2)}_{what}'"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(shown, text)))
    over = job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)
    return stage.close(
        "Nobody calls what would remove them.",
        (stage.innocent("software", rank, also=("infrastructure",)),),
        until=over,
    )


@kind(hangs=False, trains=False)
def nothing_requires_a_gradient(stage: Stage) -> Scenario:
    """Adapters are trained and inputs are checkpointed: nothing has a gradient (microsoft/LoRA#120, FastChat#581)."""
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("gradient")
    job.start()
    at, site = job.begin + draw.span(1_900, 6_000), own.build["site"]
    stage.mark(at, "no parameter that the loss depends on requires a gradient")
    total = draw.whole(2_000, 13_000) * 1_000_000
    part = total // draw.whole(900, 2_400)
    job.note(at - 900 * MS, 0, f"trainable params: {part:,} || all params: {total:,}", line=163)
    warned = f"{site}/torch/utils/checkpoint.py:{draw.pick((86, 87, 92))}: UserWarning: None of the inputs have "
    warned += "requires_grad=True. Gradients will be None\n  warnings.warn("
    for rank in range(own.world) if own.world <= ALL_SPEAK else range(0, own.world, own.ranks_per_node):
        job.say(at - draw.span(90, 700), rank, warned)
    frames = (
        *loss_frames(stage, "loss.backward()"),
        sdk.Frame(f"{site}/torch/_tensor.py", 626, "backward", "torch.autograd.backward("),
        sdk.Frame(f"{site}/torch/autograd/__init__.py", 347, "backward", "_engine_run_backward("),
    )
    text = "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn"
    over = each_raises(stage, at, text, frames)
    made = of_all(stage.innocent("software"))
    return stage.close("One call is missing before the adapters are put in.", (made,), until=over)


@kind(hangs=False, lead_s=60.0)
def types_of_a_product_differ(stage: Stage) -> Scenario:
    """A validation computes without autocast what was trained in bfloat16 (ColossalAI#6169, Lightning#19980)."""
    stage.open()
    unrest.unsettled(stage)
    job, at, draw, site = stage.job, stage.at, stage.draw.child("types"), stage.job.job.build["site"]
    stage.mark(at, "a validation multiplies matrices of two types")
    job.note(at - draw.span(90, 900), 0, f"validation of step {stage.step}: {draw.whole(20, 90)} batches", line=190)
    frames = (
        *loss_frames(stage, "scores = validate(model, valid_loader, step)"),
        sdk.Frame(job.job.script, 149, "validate", "outputs = model.module(batch)", True),
        sdk.Frame(f"{site}/torch/nn/modules/module.py", 1773, "_wrapped_call_impl", "return self._call_impl("),
        sdk.Frame(
            f"{site}/torch/nn/modules/linear.py", 125, "forward", "return F.linear(input, self.weight, self.bias)"
        ),
    )
    pair = draw.pick(("Float and BFloat16", "Float and BFloat16", "BFloat16 and Float", "Half and Float"))
    each_raises(stage, at, f"RuntimeError: mat1 and mat2 must have the same dtype, but got {pair}", frames)
    unrest.hung_up_on(stage)
    made = of_all(stage.innocent("software"))
    return stage.close("It was tried with single precision only.", (made,))


def _gathers(stage: Stage, code: str, caller: str) -> tuple[str, ...]:
    own = stage.job.job
    place = f"{own.build['site']}/torch/distributed/distributed_c10d.py"
    return (
        f"#0 {code} from {place}:{3173 if code == 'all_gather' else 3798}",
        f"#1 {caller} from {own.script}:{151 if code == 'all_gather' else 158}",
        f"#2 main from {own.script}:194",
        f"#3 <module> from {own.script}:212",
    )


@kind(hangs=False, lead_s=60.0, torch_order=203, torch_before=215)
def generation_of_unequal_length(stage: Stage) -> Scenario:
    """A rank is done with its sentences, others still gather parameters (DeepSpeed#860; transformers, synced_gpus)."""
    stage.open()
    unrest.unsettled(stage)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("generation")
    stage.mark(at, f"rank {rank} has generated all it was to, the others have not")
    many = draw.whole(60, 500)
    job.note(at - draw.span(4_000, 9_000), 0, f"evaluation of step {stage.step}: {many} prompts a rank", line=190)
    if draw.chance(0.5):
        job.note(at - 30 * MS, rank, f"{many} answers, {draw.whole(9, 60)} tokens at most, gathering scores", "W", 150)
    shard = draw.pick((88_200, 2_048_000, 5_898_240))
    others = _gathers(stage, "all_gather_into_tensor", "generate")
    waits = job.work(stage.step)
    gather = replace(
        waits, op="_ALLGATHER_BASE", numel_in=shard, numel_out=shard * job.job.world, enqueued=waits.seq, frames=others
    )
    stuck = dict.fromkeys(range(job.job.world), gather)
    own = _gathers(stage, "all_gather", "share_scores")
    stuck[rank] = replace(gather, op="ALLGATHER", numel_in=many, numel_out=many * job.job.world, frames=own)
    stage.mark(job.hang(at, stuck), f"job {job.job.job_id} has ended")
    return stage.close(
        "Whoever generates with parameters that are spread must go on until the last one is done.",
        (stage.innocent("collective_mismatch", rank, also=("software", "rank_hang")),),
    )
