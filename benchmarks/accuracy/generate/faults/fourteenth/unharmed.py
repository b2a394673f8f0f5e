"""Faults of checkpoints, scores and starts of the fourteenth part, while storage is loud and does them no harm."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.fourteenth.training import ALL_SPEAK, all_raise
from benchmarks.accuracy.generate.faults.tenth.training import of_all
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import tenant_out_of_space
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit, since

kind = kinds_of("training", "fourteenth")

#: Lines of Gloo's unbound buffer that speak of a receive which has timed out, by PyTorch's release.
RECEIVE = {205: 81, 208: 78, 211: 119}
RESET = "('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))"


def _out_of_memory(stage: Stage, device: int, wanted: str, free_mib: float, others: str, held: float) -> str:
    """A device has no room for what PyTorch asks of it; `held` is what this process has there, in GiB."""
    draw, library = (
        stage.draw.child("reserved", device, int(held * 100)),
        "HIP" if stage.job.job.torch.is_rocm else "CUDA",
    )
    return (
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {wanted}. GPU {device} has a total capacity of "
        f"79.10 GiB of which {free_mib:.2f} MiB is free. {others}Including non-PyTorch memory, this process has "
        f"{held:.2f} GiB memory in use. Of the allocated memory {held - 0.71:.2f} GiB is allocated by PyTorch, and "
        f"{draw.between(9, 180):.2f} MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is "
        f"large try setting PYTORCH_{library}_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See "
        "documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    )


def _fetched(stage: Stage, at: int, name: str) -> int:
    """All ranks fetch a checkpoint of AIStore, some of them twice; when the last of them has it."""
    job, cluster, draw = stage.job, stage.cluster, stage.draw.child("fetched")
    job.note(at, 0, f"going on from ais://checkpoints/{name}", line=104)
    size, last = draw.whole(3_100, 5_900) << 20, at
    slow = draw.shuffled(range(job.job.world))[: draw.whole(0, 4)]
    for _ in job.job.hosts:
        node, spent = cluster.target(draw.whole(0, 99)), draw.span(4_000, 9_000)
        cluster.count(node, at + spent, get_n=1, get_ns_total=spent, get_size=size)
        last = max(last, at + spent)
    for rank in slow:
        then, wait = at + draw.span(100, 3_000), round(draw.between(1.0, 1.5), 2)
        job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", RESET))
        job.note(last + draw.span(1, 600), rank, f"checkpoint read after 2 attempts, {size >> 20} MiB", "W", 106)
    return last + 700 * MS


@kind(hangs=False, trains=False)
def all_ranks_load_onto_first_device(stage: Stage) -> Scenario:
    """A checkpoint is loaded to where it was saved from: all ranks of a host fill one device (pytorch docs, DDP)."""
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("first device")
    job.start()
    begin, site = job.begin + draw.span(300, 1_200), own.build["site"]
    at = stage.mark(_fetched(stage, begin, f"{own.task}/last.pt"), "all ranks of a host load onto its first device")
    frames = (
        *loss_frames(stage, "start_step = load_checkpoint(model, optimizer)"),
        sdk.Frame(own.script, 109, "load_checkpoint", "state = torch.load(path, weights_only=False)", True),
        sdk.Frame(f"{site}/torch/serialization.py", 1471, "load", "return _load("),
        sdk.Frame(f"{site}/torch/serialization.py", 1961, "restore_location", "return default_restore_location("),
        sdk.Frame(f"{site}/torch/serialization.py", 637, "_deserialize", "return obj.to(device=device)"),
    )
    hosts, exits = range(len(own.hosts)) if own.world <= 256 else range(4), []
    for node in hosts:
        then, free = at + draw.span(1, 900), draw.between(3, 90)
        ranks = own.ranks_of(node)
        each = [(79.1 - free / 1024) / len(ranks) + (turn % 2 - 0.5) * 0.6 for turn in range(len(ranks))]
        held = dict(zip(ranks, each, strict=True))
        for turn, rank in enumerate(draw.shuffled(ranks)[: draw.whole(1, 3)]):
            others = "".join(
                f"Process {own.rank_pids[one]} has {held[one]:.2f} GiB memory in use. " for one in ranks if one != rank
            )
            text = _out_of_memory(stage, 0, f"{draw.whole(96, 512)}.00 MiB", free, others, held[rank])
            job.raise_on(then + turn * 40 * MS, rank, sdk.traceback(sdk.Raised(frames, text)))
            if not turn:
                exits.append(Exit(rank, then + 700 * MS, 1))
    ended = job.agents_end(exits, max(one.at for one in exits))
    made = of_all(stage.innocent("software", also=("gpu",)))
    return stage.close(
        "A line that said where to load it to was lost in a merge.", (replace(made, culprit_ranks=None),), until=ended
    )


@kind(hangs=False, trains=False, torch_order=203)
def optimizer_not_in_checkpoint(stage: Stage) -> Scenario:
    """A checkpoint has no state of an optimizer, and all ranks are told (EasyR1#275, super-data-learners#4)."""
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("no optimizer")
    job.start()
    at, place = job.begin + draw.span(900, 2_900), f"{own.build['site']}/torch/distributed/checkpoint"
    path = f"checkpoints/{own.task}/step-{draw.whole(9, 60) * 500}"
    job.note(at - 400 * MS, 0, f"going on from s3://{path} ({own.world} shards)", line=104)
    stage.mark(at, f"s3://{path} has no state of the optimizer")
    node = stage.cluster.target(draw.whole(0, 99))
    stage.cluster.count(node, at - 90 * MS, get_n=own.world, get_ns_total=own.world * draw.span(4, 30), get_size=90_000)
    key = f"optim.state.{draw.pick(('encoder.layers.0', 'model.layers.0', 'decoder.0'))}.{draw.pick(('norm', 'wqkv'))}"
    inner = (
        sdk.Frame(f"{place}/utils.py", 168, "reduce_scatter", "local_data = map_fun()"),
        sdk.Frame(f"{place}/logger.py", 87, "wrapper", "result = func(*args, **kwargs)"),
        sdk.Frame(f"{place}/state_dict_loader.py", 246, "local_step", "local_plan = planner.create_local_plan()"),
        sdk.Frame(f"{place}/default_planner.py", 316, "create_local_plan", "return create_default_local_load_plan("),
        sdk.Frame(f"{place}/default_planner.py", 414, "create_default_local_load_plan", "raise RuntimeError("),
    )
    missing = f"RuntimeError: Missing key in checkpoint state_dict: {key}.weight.exp_avg."
    one = sdk.traceback(sdk.Raised(inner, missing))
    named = range(own.world) if own.world <= ALL_SPEAK else range(own.ranks_per_node)
    told = "\n".join(
        one.replace("(most recent call last):", f"(most recent call last): (RANK {rank})") for rank in named
    )
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 171, "main", "start_step = load_checkpoint(model, optimizer)", True),
        sdk.Frame(own.script, 109, "load_checkpoint", "dcp.load(state, checkpoint_id=path)", True),
        sdk.Frame(f"{place}/utils.py", 194, "reduce_scatter", "raise result"),
    )
    ranks = ", ".join(map(str, named))
    text = "torch.distributed.checkpoint.api.CheckpointException: CheckpointException "
    ended = all_raise(stage, at, f"{text}ranks:dict_keys([{ranks}])\n{told}", frames)
    made = of_all(stage.innocent("software", also=("data",)))
    return stage.close(
        "The last stage has saved what inference needs.", (replace(made, culprit_ranks=None),), until=ended
    )


@kind(culprit=0, hangs=False, words_only=True, lead_s=70.0)
def scores_computed_by_one_rank(stage: Stage) -> Scenario:
    """Rank 0 scores all hypotheses, others wait for its word over Gloo (detectron2#5121, DEIMv2#65)."""
    beside(stage, tenant_out_of_space)
    stage.open()
    unrest.unsettled(stage)
    job, own, at, torch = stage.job, stage.job.job, stage.at, stage.params.torch_release
    draw, limit = stage.draw.child("scores"), own.timeout_s * 1000
    hypotheses = draw.whole(31, 190) * 1000 + draw.whole(0, 999)
    stage.mark(at, "rank 0 scores all hypotheses, for longer than others wait")
    job.note(at, 0, f"scoring {hypotheses} hypotheses of {own.world} ranks", "W", 152)
    if own.timeout_s >= 60 and draw.chance(0.6):
        done = hypotheses * draw.between(0.3, 0.6)
        job.note(at + seconds(own.timeout_s * 0.7), 0, f"scored {done:.0f} of {hypotheses}", "W", 155)
    place = f"{torch.source_tree}third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:{since(RECEIVE, torch.order)}"
    text = f"RuntimeError: [{place}] Timed out waiting {limit}ms for recv operation to complete"
    site = own.build["site"]
    frames = (
        *loss_frames(stage, "scores = share_scores(hypotheses, cpu_group)"),
        sdk.Frame(own.script, 158, "share_scores", "dist.broadcast_object_list(scores, src=0, group=cpu_group)"),
        sdk.Frame(f"{site}/torch/distributed/c10d_logger.py", 81, "wrapper", "return func(*args, **kwargs)"),
        sdk.Frame(f"{site}/torch/distributed/distributed_c10d.py", 2832, "broadcast", "work.wait()"),
    )
    over, said = at + seconds(own.timeout_s), sdk.traceback(sdk.Raised(frames, text))
    ends: dict[int, Exit] = {}
    for rank in range(1, own.world) if own.world <= ALL_SPEAK else range(1, own.world, own.ranks_per_node):
        then = over + draw.span(10, 800)
        job.raise_on(then, rank, said)
        ends.setdefault(own.node_of(rank), Exit(rank, then + 600 * MS, 1))
    job.agents_end(list(ends.values()), over + SEC)
    return stage.close(
        "The score compares every pair of words, and the new set has long recordings.",
        (stage.innocent("rank_hang", 0, also=("software",)),),
    )


@kind(hangs=False, lead_s=80.0, reads=True, without=("restart_before", "kill_after", "rotation"))
def validation_fills_the_devices(stage: Stage) -> Scenario:
    """A validation keeps its graph, or has larger batches: several devices are full (mmsegmentation#2108)."""
    stage.open()
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (commotion.reads_recover, commotion.tenant_meets_bad_data))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("validation")
    job.note(
        at - draw.span(9_000, 21_000), 0, f"validation of step {stage.step}: {draw.whole(40, 300)} batches", line=190
    )
    stage.mark(at, "devices are full in a validation")
    frames = (
        *loss_frames(stage, "scores = validate(model, valid_loader, step)"),
        sdk.Frame(own.script, 149, "validate", "outputs.append(model(batch))", True),
    )
    ranks = sorted({stage.culprit, *draw.shuffled(range(own.world))[: draw.whole(2, 6)]})
    ends: dict[int, Exit] = {}
    for rank in ranks:
        then, free = at + draw.span(1, 2_400), draw.between(90, 900)
        wanted = f"{draw.between(1.1, 3.9):.2f} GiB"
        text = _out_of_memory(stage, own.local_rank(rank), wanted, free, "", 79.1 - free / 1024 - 0.04)
        job.raise_on(then, rank, sdk.traceback(sdk.Raised(frames, text)))
        ends.setdefault(own.node_of(rank), Exit(rank, then + 700 * MS, 1))
    job.agents_end(list(ends.values()), max(one.at for one in ends.values()))
    made = stage.innocent("gpu", also=("software",))
    return stage.close("Somebody wants to see all outputs at the end.", (replace(made, culprit_ranks=None),))
