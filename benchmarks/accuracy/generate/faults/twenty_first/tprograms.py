"""Programs and libraries that go wrong by themselves, of the twenty-first part; storage is innocent, and loud at times.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_first import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.patrons import each_raises
from benchmarks.accuracy.generate.faults.words.requests import HANDLES
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.draw import LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "twenty_first")


def _begin_frames(stage: Stage, line: int, code: str, *inner: sdk.Frame) -> tuple[sdk.Frame, ...]:
    """From the script's main to a line before its first step."""
    script = stage.job.job.script
    return (sdk.Frame(script, 212, "<module>", "main()"), sdk.Frame(script, line, "main", code, True), *inner)


def _not_loaded(refused: str, order: int) -> str:
    """What torch.load says of a class that it does not know to be safe; from 2.8 on its advice has the whole name."""
    name = refused if order >= 208 else refused.rsplit(".", 1)[-1]
    text = "_pickle.UnpicklingError: Weights only load failed. This file can still be loaded, to do so you have two "
    text += (
        "options, do those steps only if you trust the source of the checkpoint. \n\t(1) In PyTorch 2.6, we changed "
    )
    text += "the default value of the `weights_only` argument in `torch.load` from `False` to `True`. Re-running "
    text += "`torch.load` with `weights_only` set to `False` will likely succeed, but it can result in arbitrary code "
    text += "execution. Do it only if you got the file from a trusted source.\n\t(2) Alternatively, to load with "
    text += (
        "`weights_only=True` please check the recommended steps in the following error message.\n\tWeightsUnpickler "
    )
    text += f"error: Unsupported global: GLOBAL {refused} was not an allowed global by default. Please use "
    text += f"`torch.serialization.add_safe_globals([{name}])` or the `torch.serialization.safe_globals([{name}])` "
    text += "context manager to allowlist this global if you trust this class/function.\n\nCheck the documentation of "
    text += "torch.load to learn more about types accepted by default with weights_only "
    return f"{text}https://pytorch.org/docs/stable/generated/torch.load.html."


@kind(hangs=False, trains=False, torch_order=206)
def weights_only_is_the_default_now(stage: Stage) -> Scenario:
    """A checkpoint holds its settings as objects, which torch.load refuses since 2.6 (PyTorch 2.6 notes; fairseq#5590).

    To acquit: the file came with all of its bytes; what is refused is a class by its name, on all ranks.
    """
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("weights only"), stage.job.job.build["site"]
    job.start()
    at = stage.mark(job.begin + draw.span(5_000, 16_000), "a checkpoint holds what torch.load refuses")
    size, step = draw.whole(900, 6_000) << 20, draw.whole(10, 300) * 1_000
    name = f"{own.task}/step_{step}.pt"
    stage.cluster.count(stage.victim, at - 900 * MS, get_n=1, get_ns_total=draw.span(900, 4_000), get_size=size)
    reader_note(stage, at - 700 * MS, 0, f"resume from ais://checkpoints/{name}, {size} of {size} bytes")
    refused = draw.pick(
        (
            "omegaconf.dictconfig.DictConfig",
            "argparse.Namespace",
            "numpy._core.multiarray.scalar",
            "pathlib.PosixPath",
        )
    )
    text = _not_loaded(refused, own.torch.order)
    frames = _begin_frames(
        stage,
        174,
        "state = torch.load(io.BytesIO(content), map_location='cpu')",
        sdk.Frame(
            f"{site}/torch/serialization.py",
            1529 if own.torch.order >= 208 else 1524,
            "load",
            "raise pickle.UnpicklingError(_get_wo_message(str(e))) from None",
        ),
    )
    over = each_raises(stage, at, text, frames)
    made = of_all(stage.innocent("software", also=("data",)))
    return stage.close("The image has a newer PyTorch than the run had begun with.", (made,), until=over)


@kind(culprit=0, hangs=False, torch_before=215, lead_s=60.0)
def state_is_gathered_on_one_rank_only(stage: Stage) -> Scenario:
    """Rank 0 alone asks FSDP for the whole state, which all ranks have to give (accelerate docs, fsdp; pytorch#98823).

    To acquit: rank 0 waits in an all-gather, all others in the all-reduce of the same number; it had said what it
    asks for, and nothing is written yet. The target that is full is so for another tenant.
    """
    stage.open()
    beside(stage, disk_unrest.tenant_full_in_window)
    unrest.unsettled(stage, (past_unrest.turned_away_in_window, own_unrest.neighbour_is_reset, unrest.entries_missing))
    job, own, at, site = stage.job, stage.job.job, stage.at, stage.job.job.build["site"]
    stuck = stage.everyone_else()
    shard = stuck[0].numel_in // own.world
    fsdp = f"{site}/torch/distributed/fsdp"
    frames = (
        f"#0 all_gather_into_tensor from {site}/torch/distributed/distributed_c10d.py:3962",
        f"#1 _all_gather_flat_param from {fsdp}/_flat_param.py:1422",
        f"#2 _pre_state_dict_hook from {fsdp}/_state_dict_utils.py:793",
        f"#3 save_checkpoint from {own.script}:117",
        f"#4 main from {own.script}:203",
    )
    whole = shard * own.world
    stuck[0] = replace(
        stuck[0], op="_ALLGATHER_BASE", numel_in=shard, numel_out=whole, enqueued=stuck[0].seq, frames=frames
    )
    reader_note(stage, at - 30 * MS, 0, f"step {stage.step}: best so far, asking for the whole state dict on rank 0")
    stage.mark(at, "rank 0 alone gathers the state of all")
    end = job.hang(at, stuck)
    stage.mark(end, f"job {own.job_id} has ended")
    loud.killed_in_the_hang(stage)
    made = stage.innocent("collective_mismatch", 0, also=("software", "rank_hang"))
    return stage.close("Saving the best model was written for DDP.", (made,))


@kind(culprit=0, hangs=False, min_timeout_s=60, lead_s=60.0)
def dev_set_is_asked_of_localhost(stage: Stage) -> Scenario:
    """The dev set has a client of its own, whose endpoint is left at what an example has (aistore docs, AIS_ENDPOINT).

    To acquit: what refuses is port 8080 of the own host, where no node of the cluster is; batches for training came
    from the cluster's own address until then.
    """
    stage.open()
    beside(stage, past_unrest.turned_away_in_window)
    unrest.unsettled(
        stage, (commotion.throttled_in_window, own_unrest.neighbour_is_reset, tenth_unrest.peer_reconnects)
    )
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("localhost")
    bucket = draw.pick(("dev-clean", "dev-mixed", "heldout-v2"))
    stage.mark(at, "the dev set is asked of localhost")
    reader_note(
        stage,
        at - 5 * MS,
        0,
        f"step {stage.step}: evaluation on ais://{bucket}, no AIS_ENDPOINT, http://localhost:8080",
    )
    cause = sdk.refused(draw.whole(*HANDLES) // 16 * 16)
    path = f"/v1/buckets/{bucket}?provider=ais"
    text, then = sdk.pool_error("localhost", 8080, path, cause), at + 3 * MS
    longest = min(own.timeout_s - 12, 60) / 6
    for attempt in range(6):
        wait = round(draw.between(1.0, min(2.0**attempt + 0.5, longest)), 2)
        job.sdk_warning(then, 0, sdk.retrying(wait, "ConnectionError", text))
        then += seconds(wait) + draw.span(2, 6)
    job.sdk_warning(then, 0, "All retries exhausted; request failed", "ERROR")
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 199, "main", "evaluate(model, dev_set)", True),
        sdk.Frame(own.script, 151, "evaluate", "for one in dev.bucket.list_all_objects():", True),
        sdk.Frame(f"{own.build['site']}/aistore/sdk/bucket.py", 472, "list_all_objects", "resp = self.list_objects("),
    )
    job.raise_on(then + 2 * MS, 0, sdk.exhausted(own, frames, "ConnectionError", text))
    exits(stage, then + 2 * MS, 0)
    made = stage.innocent("software", 0, also=("infrastructure", "network"))
    return stage.close("The variable was set in the old image.", (made,))


@kind(hangs=False, trains=False)
def shared_memory_of_an_earlier_run(stage: Stage) -> Scenario:
    """Streaming finds segments of a run that was killed on that host before (mosaicml/streaming#717, #767, #901).

    To acquit: a segment of shared memory exists already; nothing of the job has been asked of AIStore by then.
    """
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, rank, draw = stage.job, stage.job.job, stage.culprit, stage.draw.child("earlier")
    first = own.ranks_of(own.node_of(rank))[0]
    job.start()
    at = stage.mark(job.begin + draw.span(3_000, 8_000), f"{own.hosts[own.node_of(rank)]} has segments of another run")
    base = f"{own.build['site']}/streaming/base"
    frames = _begin_frames(
        stage,
        166,
        "dataset = StreamingDataset(streams=streams, batch_size=options.batch)",
        sdk.Frame(f"{base}/dataset.py", 529, "__init__", "self._shm_prefix_int, self._locals_shm = get_shm_prefix("),
        sdk.Frame(f"{base}/shared/prefix.py", 210, "get_shm_prefix", "shm = SharedMemory(name, True, len(data))"),
        sdk.Frame(f"{base}/shared/memory.py", 41, "__init__", "shm = BuiltinSharedMemory(name, create, size)"),
        sdk.Frame(f"{PYTHON}/multiprocessing/shared_memory.py", 104, "__init__", "self._fd = _posixshmem.shm_open("),
    )
    segment = f"/{draw.whole(0, 2):06d}_locals"
    error = f"FileExistsError: [Errno 17] File exists: '{segment}'"
    old = f"/dev/shm{segment} is of uid {draw.whole(10_000, 19_999)}, from {draw.whole(2, 40)} hours ago"
    reader_note(stage, at - 20 * MS, first, f"local cache /scratch/mds-{draw.token(4, LOWER)} is empty; {old}")
    job.raise_on(at, first, sdk.traceback(sdk.Raised(frames, error)))
    job.agents_end([Exit(first, at + 700 * MS, 1)], at + 700 * MS)
    made = stage.innocent("software", first, also=("infrastructure",))
    return stage.close("Its scheduler does not clear /dev/shm behind a job.", (made,))
