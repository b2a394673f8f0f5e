"""Faults of one rank's program, device or samples, of the sixth part; storage is innocent, in some of them loud."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.script import loss_frames, raise_and_exit
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import mountpath_before, tenant_out_of_space, tenant_rejected
from fixtures.generator import sdk
from fixtures.generator.model import Expect, Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "sixth")


@kind(hangs=False, lead_s=75.0)
def nan_on_one_rank(stage: Stage) -> Scenario:
    """One rank finds a loss that is no number before it is averaged away, and names itself. A disk failed before."""
    beside(stage, mountpath_before)
    stage.open()
    job, rank, at = stage.job.job, stage.culprit, stage.at
    stage.mark(at, f"the loss of rank {rank} is not a number")
    place = f"Rank {rank}, node {job.hosts[job.node_of(rank)]}, device {job.local_rank(rank)}, iteration {stage.step}"
    text = f"RuntimeError: {place}: Unexpected result nan (message='found NaN in local forward loss calculation')"
    raise_and_exit(
        stage, at, rank, text, "rerun_state_machine.validate_result(result=loss, rejection_func=torch.isnan)"
    )
    also = ("data", "gpu")
    return stage.close("A mask without a true entry.", (stage.innocent("software", rank, also=also),))


@kind(hangs=False)
def kernel_cache_race(stage: Stage) -> Scenario:
    """Ranks compile the same kernel into one folder on NFS: one of them finds its file gone when it renames it."""
    stage.open()
    rank, at, site = stage.culprit, stage.at, stage.job.job.build["site"]
    draw = stage.draw.child("kernel")
    stage.mark(at, f"rank {rank} loses a race for a compiled kernel")
    folder = f"/home/svc-train/.triton/cache/{draw.token(32, '0123456789abcdef')}"
    name = draw.pick(("_rms_norm_bwd_dx_fused.ttir", "_fused_linear_ce_fwd.cubin", "_rotary_kernel.ptx"))
    part = f"{folder}/{name}.tmp.pid_{stage.job.job.rank_pids[rank]}_{draw.whole(10_000, 990_000)}"
    frames = (
        *loss_frames(stage, "loss = criterion(model(batch), batch)"),
        sdk.Frame(
            f"{site}/triton/compiler/compiler.py", 482, "compile", "fn_cache_manager.put(next_module, ir_filename)"
        ),
        sdk.Frame(f"{site}/triton/runtime/cache.py", 109, "put", "os.replace(temp_path, filepath)"),
    )
    text = f"FileNotFoundError: [Errno 2] No such file or directory: '{part}' -> '{folder}/{name}'"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    stage.job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)
    also = ("infrastructure",)
    return stage.close(
        "The cache of compiled kernels lies in a home folder.", (stage.innocent("software", rank, also=also),)
    )


@kind(hangs=False, trains=False)
def too_few_shards(stage: Stage) -> Scenario:
    """A run on more GPUs has fewer shards than loader processes: every rank is told so before its first step."""
    beside(stage, tenant_out_of_space)
    job, site = stage.job, stage.job.job.build["site"]
    job.start()
    at = stage.mark(job.begin + seconds(0.2), "every rank counts fewer shards than loader processes")
    frames = (
        *loss_frames(stage, "loader = get_wds_dataset(args, preprocess)"),
        sdk.Frame(
            f"{site}/open_clip_train/data.py",
            418,
            "get_wds_dataset",
            "assert num_shards >= args.workers * args.world_size, 'number of shards must be >= total workers'",
        ),
    )
    raised = sdk.traceback(sdk.Raised(frames, "AssertionError: number of shards must be >= total workers"))
    for rank in range(job.job.world):
        job.raise_on(at + rank * 330_000, rank, raised)
    exits = [Exit(rank, at + 800 * MS + rank * MS, 1) for rank in range(0, job.job.world, job.job.ranks_per_node)]
    job.agents_end(exits, at + 900 * MS)
    made: Expect = replace(stage.innocent("software", also=("data",)), culprit_ranks=None)
    return stage.close("The number of nodes was doubled, the data set was not.", (made,))


@kind(hangs=False, reads=True)
def duplicate_member(stage: Stage) -> Scenario:
    """A shard was written by two processes and has a name twice: a loader process does not know which one to take."""
    beside(stage, tenant_rejected)
    stage.open()
    rank, at, site = stage.culprit, stage.at, stage.job.job.build["site"]
    draw = stage.draw.child("twice")
    stage.mark(at, f"rank {rank} reads a shard that has a name twice")
    frames = (
        sdk.Frame(
            f"{site}/webdataset/filters.py", 84, "__call__", "for sample in self.f(data, *self.args, **self.kw):"
        ),
        sdk.Frame(f"{site}/webdataset/tariterators.py", 251, "group_by_keys", "raise ValueError("),
    )
    keys = "dict_keys(['__key__', '__url__', 'flac', 'json'])"
    text = f"utt-{draw.whole(0, 99_999):05d}.flac: duplicate file name in tar file flac {keys}"
    in_worker(stage, at, rank, "ValueError", text, frames)
    stage.job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)
    return stage.close(
        "A step of the preparation was started twice and appended to its own output.",
        (stage.innocent("data", rank, also=("software",)),),
    )


@kind(reads=True, words_only=True)
def filter_drops_all(stage: Stage) -> Scenario:
    """A rank has the longest cuts of all, and a limit drops every one of them: it draws on and on. A tenant is full."""
    beside(stage, tenant_out_of_space)
    stage.open()
    job, rank, at = stage.job, stage.culprit, stage.at
    draw = stage.draw.child("filter")
    stage.mark(at, f"rank {rank} drops every cut that it draws")
    dropped = 0
    for after in (0.03, 9.8, 31.4, 77.7, 151.2):
        dropped += draw.whole(21_000, 64_000)
        if after < job.job.timeout_s - 4:
            text = f"{dropped} cuts in a row are longer than max_duration=20.0 s and dropped, no batch yet"
            job.note(at + seconds(after), rank, text, "W", 203, "sampler")
    stage.hang(at + 60 * MS, rank)
    also = ("software", "data_loading_stall", "rank_hang")
    return stage.close(
        "Recordings of meetings came into a corpus of commands.", (stage.innocent("data", rank, also=also),)
    )


@kind(hangs=False)
def breakpoint_left(stage: Stage) -> Scenario:
    """A breakpoint stands behind a condition that few batches meet: without a terminal the debugger ends at once."""
    stage.open()
    job, rank, at = stage.job, stage.culprit, stage.at
    stage.mark(at, f"rank {rank} comes to a breakpoint")
    script = job.job.script
    job.say(at - 12 * MS, rank, f"> {script}(166)clip_gradients()\n-> if total_norm > 1e4:\n(Pdb) ")
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 194, "main", "norm = clip_gradients(model, 1.0)", True),
        sdk.Frame(script, 166, "clip_gradients", "if total_norm > 1e4:"),
        sdk.Frame("/opt/conda/lib/python3.11/bdb.py", 90, "trace_dispatch", "return self.dispatch_line(frame)", True),
        sdk.Frame("/opt/conda/lib/python3.11/bdb.py", 115, "dispatch_line", "if self.quitting: raise BdbQuit"),
    )
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, "bdb.BdbQuit")))
    job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)
    return stage.close("Somebody has looked for a spike last week.", (stage.innocent("software", rank),))
