"""Faults of the model, its libraries and its devices, of the ninth part; storage is innocent, in some of them loud."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.ninth import unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import HEX
from fixtures.generator.model import Expect, Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit
from fixtures.generator.watchdog import Work

kind = kinds_of("training", "ninth")


def everywhere(stage: Stage, at: int) -> None:
    """The first rank of each host has exited, and with it its host."""
    job = stage.job.job
    firsts = range(0, job.world, job.ranks_per_node)
    stage.job.agents_end([Exit(rank, at + rank * MS, 1) for rank in firsts], at + 100 * MS)


def of_all(made: Expect) -> Expect:
    """What is found where no rank is to blame more than others."""
    return replace(made, culprit_ranks=None)


@kind(hangs=False, trains=False)
def extension_of_other_build(stage: Stage) -> Scenario:
    """A compiled extension was made for another PyTorch or another system: ranks end before they know each other."""
    beside(stage, unrest.settings_change_early)
    job, site, draw = stage.job, stage.job.job.build["site"], stage.draw.child("extension")
    begin = job.begin - seconds(1.6)
    at = stage.mark(begin, "ranks cannot load a compiled extension")
    for host in range(len(job.job.hosts)):
        for text in torchrun.omp_banner(job.job, host, begin - seconds(5.1)):
            job.agent(begin - seconds(5.1), host, text)
    module, library = draw.pick(
        (
            ("flash_attn/flash_attn_interface.py", "flash_attn_2_cuda"),
            ("apex/normalization/fused_layer_norm.py", "fused_layer_norm_cuda"),
            ("k2/__init__.py", "_k2"),
        )
    )
    file = f"{site}/{library}.cpython-311-x86_64-linux-gnu.so"
    missing = draw.pick(("_ZN3c105ErrorC2ENS_14SourceLocationESs", "_ZNK3c1010TensorImpl17decref_pyobjectEv"))
    text = draw.pick(
        (
            f"{file}: undefined symbol: {missing}",
            f"/lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.{draw.whole(30, 33)}' not found (required by "
            f"{file})",
            f"/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.{draw.whole(34, 38)}' not found (required by {file})",
        )
    )
    frames = (
        sdk.Frame(job.job.script, 17, "<module>", f"from {module.split('/')[0]} import ops"),
        sdk.Frame(f"{site}/{module}", 11, "<module>", f"import {library}"),
    )
    for rank in range(job.job.world):
        job.say(at + draw.span(0, 700), rank, sdk.traceback(sdk.Raised(frames, f"ImportError: {text}")))
    everywhere(stage, at + 1_100 * MS)
    made = of_all(stage.innocent("software", also=("infrastructure",)))
    return stage.close("An image was built anew, and one of its wheels came from a cache.", (made,))


@kind(hangs=False)
def not_deterministic(stage: Stage) -> Scenario:
    """Deterministic algorithms are asked for, and a term of the loss that sets in later has none: all ranks end."""
    beside(stage, unrest.settings_change)
    stage.open()
    beside(stage, commotion.reads_recover)
    job, at, draw = stage.job, stage.at, stage.draw.child("deterministic")
    stage.mark(at, "every rank meets an operation that is not deterministic")
    operation = draw.pick(
        ("ctc_loss_backward_gpu", "cumsum_cuda_kernel", "upsample_linear1d_backward_out_cuda", "kthvalue CUDA")
    )
    if draw.chance(0.5):
        job.note(at - 900 * MS, 0, f"step {stage.step}: the auxiliary loss is on from here, weight 0.3", line=171)
    text = (
        f"{operation} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms("
        "True)'. You can turn off determinism just for this operation, or you can use the 'warn_only=True' option, if "
        "that's acceptable for your application. You can also file an issue at https://github.com/pytorch/pytorch/"
        "issues to help us prioritize adding deterministic support for this operation."
    )
    site = job.job.build["site"]
    frames = (
        *loss_frames(stage, "scaler.scale(loss).backward()"),
        sdk.Frame(f"{site}/torch/_tensor.py", 581, "backward", "torch.autograd.backward("),
        sdk.Frame(f"{site}/torch/autograd/__init__.py", 347, "backward", "_engine_run_backward("),
    )
    for rank in range(job.job.world):
        then = at + draw.span(0, 90)
        job.raise_on(then, rank, sdk.traceback(sdk.Raised(frames, f"RuntimeError: {text}")))
    everywhere(stage, at + 700 * MS)
    made = of_all(stage.innocent("software"))
    return stage.close("A flag for tests was left in the configuration.", (made,))


@kind(hangs=False)
def replica_differs(stage: Stage) -> Scenario:
    """A GPU computes wrong now and then, without an error: a check of parameters finds one rank that differs."""
    beside(stage, commotion.tenant_meets_bad_data)
    stage.open()
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("replica")
    stage.mark(at - seconds(draw.between(3, 9)), f"the GPU of rank {rank} computes wrong")
    layer = f"encoder.layers.{draw.whole(0, 23)}.{draw.pick(('ffn1.w1', 'conv.pointwise', 'attn.out'))}"
    world = job.job.world
    mine, others = draw.token(16, HEX), draw.token(16, HEX)
    if draw.chance(0.5):
        bad = f"gradient norm {draw.between(31, 900):.1f} on this rank, {draw.between(0.4, 1.9):.2f} is the median"
        job.note(at - seconds(draw.between(1, 2.5)), rank, bad, "W", 149, "guard")
    text = f"guard.ReplicaMismatch: step {stage.step}: parameters of rank {rank} are not those of the other "
    text += f"{world - 1} ranks: first in {layer}.weight, {mine} != {others}"
    if draw.chance(0.5):
        again = "the same batch on the same rank twice gives two losses" if draw.chance(0.6) else "loss is finite"
        text += f"; {again}"
    frames = (
        *loss_frames(stage, "guard.check(model, step)"),
        sdk.Frame("/workspace/asr/guard.py", 83, "check", "raise ReplicaMismatch(report)"),
    )
    for one in range(world):
        job.raise_on(at + draw.span(0, 60), one, sdk.traceback(sdk.Raised(frames, text)))
    everywhere(stage, at + 800 * MS)
    also = ("software", "infrastructure")
    return stage.close(
        "One device passes all its tests when it is cold. Other objects are unsound than those it reads.",
        (stage.innocent("gpu", rank, also=also),),
    )


@kind(hangs=False, words_only=True, torch_before=215)
def receive_without_send(stage: Stage) -> Scenario:
    """A stage of a pipeline has nothing to send and goes on; the next one waits in its receive, all others behind."""
    stage.open()
    beside(stage, commotion.throttled_in_window)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("receive")
    world, step = job.job.world, stage.step
    waits = (rank + 1) % world
    stage.mark(at, f"rank {rank} sends nothing to rank {waits}")
    said = draw.pick(
        (
            f"rank {rank}: micro-batch {draw.whole(2, 8)} of step {step} has no frame left after the filter, skipped",
            f"rank {rank}: no valid frames in a micro-batch of step {step}, nothing is passed to rank {waits}",
        )
    )
    job.note(at - draw.span(20, 200), rank, said, "W", 144, "pipeline")
    stuck = stage.everyone_else(waits)
    size, before = draw.pick((2_097_152, 4_194_304, 6_291_456)), job.seq_of(step) - 1
    site = job.job.build["site"]
    frames = (
        f"#0 recv from {site}/torch/distributed/distributed_c10d.py:2623",
        "#1 recv_forward from /workspace/asr/pipeline.py:98",
        f"#2 main from {job.job.script}:189",
        f"#3 <module> from {job.job.script}:212",
    )
    stuck[waits] = Work(before + 1, "RECV", size, size, before + 1, before, frames)
    ended = job.hang(at, stuck)
    stage.mark(ended, f"job {job.job.job_id} has ended")
    also = ("software", "rank_hang", "data")
    return stage.close(
        "A filter was moved behind the first stage.", (stage.innocent("collective_mismatch", rank, also=also),)
    )


@kind(hangs=False, trains=False)
def loader_state_misfit(stage: Stage) -> Scenario:
    """A job goes on with another number of loader processes: the saved state of the loader is not for them."""
    beside(stage, unrest.keepalives_early)
    job, site, draw = stage.job, stage.job.job.build["site"], stage.draw.child("state")
    job.start()
    at = stage.mark(job.begin + seconds(0.6), "every rank meets a state of another loader")
    had, now = draw.pick(((8, 4), (4, 16), (16, 8), (0, 4)))
    job.note(at - 300 * MS, 0, f"resuming from /results/{job.job.task}/step-{draw.whole(20, 90) * 100}", line=126)
    keys = ", ".join(f"'worker_{one}'" for one in range(had))
    text, line, code = (
        "State doesn't contain key '_snapshot' expected for multiprocess dataloader",
        921,
        "assert self._SNAPSHOT in next_iter_state, (",
    )
    if had:
        text, line, code = f"({now}, dict_keys([{keys}]))", 948, "assert len(worker_states) == self._num_workers, ("
    place = f"{site}/torchdata/stateful_dataloader/stateful_dataloader.py"
    frames = (
        *loss_frames(stage, "batches = iter(loader)"),
        sdk.Frame(place, 446, "__iter__", "it = self._get_iterator()"),
        sdk.Frame(place, 387, "_get_iterator", "it = _StatefulMultiProcessingDataLoaderIter(self, self.next_iter)"),
        sdk.Frame(place, line, "__init__", code),
    )
    for rank in range(job.job.world):
        then = at + draw.span(0, 240)
        job.raise_on(then, rank, sdk.traceback(sdk.Raised(frames, f"AssertionError: {text}")))
    everywhere(stage, at + 900 * MS)
    made = of_all(stage.innocent("software", also=("data", "data_loading_stall")))
    return stage.close("The new hosts have fewer processors, so fewer loader processes were asked for.", (made,))


@kind(hangs=False, hosts=2)
def unpickled_elsewhere(stage: Stage) -> Scenario:
    """Rank 0 sends objects of a class that one host's older code does not have: its ranks cannot read them."""
    beside(stage, unrest.reads_are_hedged)
    stage.open()
    beside(stage, commotion.reads_recover)
    job, at, draw, site = stage.job, stage.at, stage.draw.child("pickle"), stage.job.job.build["site"]
    node = job.job.node_of(stage.culprit) or len(job.job.hosts) - 1
    ranks = tuple(job.job.ranks_of(node))
    stage.mark(at, f"ranks of host {job.job.hosts[node]} cannot read what rank 0 has sent")
    text = draw.pick(
        (
            f"AttributeError: Can't get attribute 'BucketPlan' on <module 'lhotse.dataset.sampling.data_source' from "
            f"'{site}/lhotse/dataset/sampling/data_source.py'>",
            "ModuleNotFoundError: No module named 'asr_common.plan'",
            "TypeError: EpochPlan.__init__() missing 1 required positional argument: 'weights'",
        )
    )
    place = f"{site}/torch/distributed/distributed_c10d.py"
    frames = (
        *loss_frames(stage, "dist.broadcast_object_list(plan, src=0)"),
        sdk.Frame(
            place, 3480, "broadcast_object_list", "object_list[i] = _tensor_to_object(obj_view, obj_size, group)"
        ),
        sdk.Frame(place, 2807, "_tensor_to_object", "return _unpickler(io.BytesIO(buf)).load()"),
    )
    for rank in ranks:
        job.raise_on(at + draw.span(0, 50), rank, sdk.traceback(sdk.Raised(frames, text)))
    job.agents_end([Exit(ranks[0], at + 600 * MS, 1)], at + 600 * MS)
    also = ("infrastructure", "data")
    made = stage.innocent("software", *ranks, also=also)
    return stage.close(
        "A host has an older checkout of the code.", (made if job.job.torch.prints_rank else of_all(made),)
    )


@kind(hangs=False)
def environment_changed(stage: Stage) -> Scenario:
    """The Python environment on a shared file system is rebuilt while the job runs: what it imports late is gone."""
    beside(stage, unrest.copies_are_made)
    stage.open()
    job, at, draw, site = stage.job, stage.at, stage.draw.child("environment"), stage.job.job.build["site"]
    stage.mark(at - seconds(draw.between(8, 30)), "somebody rebuilds the environment of the job")
    missing = f"{site}/sacrebleu/metrics/bleu.py"
    text = draw.pick(
        (
            "ModuleNotFoundError: No module named 'jiwer'",
            f"ImportError: cannot import name 'wer_details' from 'evalkit.metrics' ({site}/evalkit/metrics.py)",
            f"FileNotFoundError: [Errno 2] No such file or directory: '{missing}'",
        )
    )
    is_alone = draw.chance(0.4)
    ranks = (0,) if is_alone else tuple(range(job.job.world))
    frames = (
        *loss_frames(stage, "scores = validate(model, dev_loader)"),
        sdk.Frame("/workspace/asr/validate.py", 22, "validate", "from scoring import corpus_scores"),
        sdk.Frame("/workspace/asr/scoring.py", 9, "<module>", "import metrics_backend as backend"),
    )
    for who in readers(stage)[: draw.whole(0, 2)]:
        said = f"{site}/evalkit/__init__.py has changed since this process began"
        job.note(at - draw.span(400, 5_000), who, said, "W", 31, "freshness")
    for rank in ranks:
        job.raise_on(at + draw.span(0, 150), rank, sdk.traceback(sdk.Raised(frames, text)))
    if is_alone:
        job.agents_end([Exit(0, at + 800 * MS, 1)], at + 800 * MS)
    else:
        everywhere(stage, at + 800 * MS)
    made = stage.innocent("software", 0, also=("infrastructure",))
    return stage.close(
        "Another user upgrades a package of the common environment.", (made if is_alone else of_all(made),)
    )
