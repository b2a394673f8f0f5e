"""Faults of the sixteenth part around collectives: of metrics, of memory, of layers, of a checkpoint's writers."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all
from benchmarks.accuracy.generate.faults.words import commotion, mounts
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.fetchers import ALL_SPEAK
from benchmarks.accuracy.generate.faults.words.patrons import each_raises
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, writers_to
from fixtures.generator import aismishaps as mishaps
from fixtures.generator import aistroubles, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "sixteenth")
stored = kinds_of("storage", "sixteenth")


@kind(hangs=False, lead_s=60.0)
def metric_lies_on_the_host(stage: Stage) -> Scenario:
    """A metric is kept on the host and is to be summed up over NCCL (Lightning#18803, torchmetrics#2477)."""
    stage.open()
    unrest.unsettled(stage)
    job, at, draw, site = stage.job, stage.at, stage.draw.child("metric"), stage.job.job.build["site"]
    stage.mark(at, "a metric of the host is to go over NCCL")
    job.note(at - draw.span(900, 4_000), 0, f"validation of step {stage.step}: {draw.whole(20, 90)} batches", line=190)
    frames = (
        sdk.Frame(job.job.script, 212, "<module>", "main()"),
        sdk.Frame(job.job.script, 198, "main", "scores = metrics.compute()", True),
        sdk.Frame(f"{site}/torchmetrics/metric.py", 632, "wrapped_func", "with self.sync_context("),
        sdk.Frame(
            f"{site}/torchmetrics/utilities/distributed.py",
            94,
            "_simple_gather_all_tensors",
            "torch.distributed.all_gather(gathered_result, result, group)",
        ),
        sdk.Frame(
            f"{site}/torch/distributed/distributed_c10d.py", 2615, "all_gather", "work = group.allgather([tensor_list],"
        ),
    )
    each_raises(stage, at, "RuntimeError: No backend type associated with device type cpu", frames)
    unrest.hung_up_on(stage)
    made = of_all(stage.innocent("software"))
    return stage.close("Somebody has moved what is gathered to the host, to have more room.", (made,))


@kind(words_only=True, lead_s=80.0)
def memory_error_is_caught_alone(stage: Stage) -> Scenario:
    """A rank has no device memory, catches that and goes on with the next batch (fairseq#708, #1359, #1821)."""
    stage.open()
    beside(stage, commotion.rebalance_running)
    unrest.unsettled(stage, (commotion.reads_recover, unrest.entries_missing))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("caught")
    stage.mark(at, f"rank {rank} leaves a batch out, for want of device memory")
    size = f"{draw.between(0.9, 6.8):.2f} GiB"
    library = "HIP" if job.job.torch.is_rocm else "CUDA"
    said = f"OOM: Ran out of memory with exception: {library} out of memory. Tried to allocate {size}. GPU "
    free = f"{draw.between(0.1, 0.8):.2f} GiB is free."
    said += f"{job.job.local_rank(rank)} has a total capacity of 79.10 GiB of which {free}"
    job.note(at, rank, said, "W", 204, "trainer")
    job.note(at + 9 * MS, rank, "attempting to recover from OOM in forward/backward pass", "W", 205, "trainer")
    stage.hang(at + 30 * MS, rank)
    return stage.close(
        "The longest sentences come together now and then.",
        (stage.innocent("rank_hang", rank, also=("gpu", "software", "collective_mismatch")),),
    )


@kind(hangs=False, lead_s=60.0, torch_order=203, torch_before=215, sizes_only=True)
def layer_is_dropped_on_one_rank(stage: Stage) -> Scenario:
    """A rank leaves a layer out by chance while parameters are spread (DeepSpeed#1888, transformers PR 16717)."""
    stage.open()
    unrest.unsettled(stage)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("dropped")
    world, site = job.job.world, job.job.build["site"]
    stage.mark(at, f"rank {rank} leaves a layer out that the others gather")
    wide, narrow = draw.pick(((4_722_432, 2_362_368), (7_087_872, 1_769_472), (12_596_224, 3_149_824)))
    frames = (
        f"#0 all_gather_into_tensor from {site}/torch/distributed/distributed_c10d.py:3798",
        f"#1 fetch_sub_module from {site}/deepspeed/runtime/zero/partitioned_param_coordinator.py:340",
        "#2 forward from /workspace/asr/model.py:140",
        f"#3 main from {job.job.script}:191",
        f"#4 <module> from {job.job.script}:212",
    )
    wait = job.work(stage.step)
    gather = replace(wait, op="_ALLGATHER_BASE", enqueued=wait.seq, frames=frames)
    stuck = dict.fromkeys(range(world), replace(gather, numel_in=wide // world, numel_out=wide // world * world))
    stuck[rank] = replace(gather, numel_in=narrow // world, numel_out=narrow // world * world)
    stage.mark(job.hang(at, stuck), f"job {job.job.job_id} has ended")
    return stage.close(
        "Each rank draws for itself what it leaves out.",
        (stage.innocent("collective_mismatch", rank, also=("software", "rank_hang")),),
    )


def _gloo_gave_up(stage: Stage, at: int, absent: list[int]) -> int:
    """Who waits for writers of a checkpoint does so over gloo, which has a time-out of its own; when all is over."""
    job, own, draw = stage.job, stage.job.job, stage.draw.child("gloo")
    site, torch, last = own.build["site"], own.torch, at
    place = (
        f"{torch.source_tree}third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:{81 if torch.order < 208 else 78}"
    )
    text = f"RuntimeError: [{place}] Timed out waiting {own.timeout_s * 1000}ms for recv operation to complete"
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 206, "main", "finalize_checkpoint(step)", True),
        sdk.Frame(own.script, 131, "finalize_checkpoint", "dist.all_reduce(done, group=self.gloo)", True),
        sdk.Frame(f"{site}/torch/distributed/distributed_c10d.py", 2501, "all_reduce", "work.wait()"),
    )
    firsts: dict[int, Exit] = {}
    for rank in range(own.world) if own.world <= ALL_SPEAK else range(0, own.world, own.ranks_per_node):
        if rank in absent:
            continue
        then = at + draw.span(1, 900)
        job.raise_on(then, rank, sdk.traceback(sdk.Raised(frames, text)))
        firsts.setdefault(own.node_of(rank), Exit(rank, then + 600 * MS, 1))
        last = max(last, then)
    return job.agents_end(list(firsts.values()), last + 700 * MS)


@stored(hangs=False, lead_s=90.0, without=DISKS)
def writers_outlast_gloo(stage: Stage) -> Scenario:
    """Shards of a checkpoint go to a disk that takes drops, others wait over gloo (VeOmni PR 492, PR 1176)."""
    cluster, victim, at, job = stage.cluster, stage.victim, stage.at, stage.job
    draw, own = stage.draw.child("outlast"), stage.job.job
    absent = [rank for rank in writers_to(stage, draw) if rank % own.ranks_per_node or own.world <= ALL_SPEAK]
    absent = absent[: max(1, own.world // 4)] or [stage.culprit]
    stage.open()
    over = at + seconds(own.timeout_s)
    began = stage.mark(at - draw.span(4_000, 19_000), f"a disk of {victim.name} writes next to nothing")
    mishaps.writes_crawl(cluster, victim, began, over + seconds(20), draw)
    place = f"s3://checkpoints/{own.task}/iter_{stage.step:07d}"
    job.note(at - 900 * MS, 0, f"saving {place}, {own.world} shards", line=116)
    others = [node for node in cluster.targets if node is not victim]
    for rank in range(own.world):
        if rank not in absent:
            spent, size = draw.span(900, 5_100), draw.whole(210, 640) << 20
            cluster.count(draw.pick(others), at + spent, put_n=1, put_ns_total=spent, put_size=size)
            if rank < 64 and draw.chance(0.6):
                said = f"shard {rank} of {place} is written, {spent / SEC:.1f} s"
                job.note(at + spent, rank, said, "W", 127, "checkpoint")
    for rank in absent:
        then, size = at + draw.span(24_000, 41_000), draw.whole(210, 640)
        while then < over - SEC:
            done = int(size * (then - at) / (over - at) * 0.2)
            said = f"shard {rank} of {place}: {done} of {size} MiB after {(then - at) / SEC:.0f} s"
            job.note(then, rank, said, "W", 129, "checkpoint")
            then += draw.span(29_000, 58_000)
    _gloo_gave_up(stage, over + draw.span(20, 300), absent)
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "rank_hang", "network"))
    return stage.close(
        "The disk is near its last spare block and says so to nobody.",
        (replace(made, culprit_ranks=tuple(absent)),),
    )


@stored(culprit=0, hangs=False, lead_s=70.0, without=DISKS)
def weights_not_serialized(stage: Stage) -> Scenario:
    """Weights are saved below a mount, and a target's disk takes no writes any more (slime#326, LlamaFactory#5155)."""
    cluster, victim, at, job = stage.cluster, stage.victim, stage.at, stage.job
    draw, own, site = stage.draw.child("serialized"), stage.job.job, stage.job.job.build["site"]
    stage.open()
    name = f"{own.task}/checkpoint-{stage.step}/model-00001-of-0000{draw.whole(2, 6)}.safetensors"
    path = f"/mnt/checkpoints/{name}"
    job.note(at - draw.span(2_900, 9_000), 0, f"saving checkpoint to {path.rsplit('/', 1)[0]}", line=116)
    began = stage.mark(at - draw.span(900, 2_400), f"the kernel of {victim.name}'s host makes a file system read-only")
    text = aistroubles.not_writable(cluster, victim, began, "checkpoints", name, draw)
    aistroubles.not_writable(cluster, victim, began + 260 * MS, "checkpoints", name, draw)
    aistroubles.examined(cluster, victim, began + 300 * MS, text, False, draw)
    mounts.write_failed(
        stage, at - draw.span(20, 90), mounts.opened(stage, 0, name, draw), draw.whole(90, 900) * (8 << 20)
    )
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(own.script, 118, "save_checkpoint", "model.module.save_pretrained(folder)", True),
        sdk.Frame(f"{site}/transformers/modeling_utils.py", 3076, "save_pretrained", "safe_save_file(shard, path)"),
        sdk.Frame(
            f"{site}/safetensors/torch.py",
            286,
            "save_file",
            "serialize_file(_flatten(tensors), filename, metadata=metadata)",
        ),
    )
    told = 'IoError(Os { code: 5, kind: Uncategorized, message: "Input/output error" })'
    raised = sdk.Raised(frames, f"safetensors_rust.SafetensorError: Error while serializing: {told}")
    job.raise_on(at, 0, sdk.traceback(raised))
    exits(stage, at, 0)
    return stage.close(
        "The disk had lost its power for a moment, and its journal.",
        (stage.guilty("storage_io", victim, also=("infrastructure",)),),
    )
