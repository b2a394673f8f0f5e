"""Training faults of the fifteenth part at starts and checkpoints, beside storage that is noisy and harms nobody."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.fetchers import ALL_SPEAK
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.patrons import each_raises
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import tenant_out_of_space
from fixtures.generator import aisevents as ev
from fixtures.generator import sdk
from fixtures.generator.draw import LOWER, Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "fifteenth")


def _metadata_asked_for(stage: Stage, at: int, key: str, draw: Draw) -> None:
    """Each rank asks for the index of a checkpoint; the target that would have it says 404, and counts that."""
    cluster, node = stage.cluster, stage.cluster.target(draw.whole(0, 99))
    path, world = f"checkpoints/{key}/.metadata", stage.job.job.world
    for _ in range(world if world <= ALL_SPEAK else world // stage.job.job.ranks_per_node):
        then = at - draw.span(9, 240)
        said = f"{node.name}: ais://{path} does not exist"
        cluster.say(node, then, ev.http_error(node, said, f"GET /v1/objects/{path}", "htrun.go:1636"))
        cluster.count(node, then, err_get_n=1)


@kind(hangs=False, trains=False, torch_order=203)
def checkpoint_without_its_index(stage: Stage) -> Scenario:
    """The run before was ended while it saved: its shards have no index (axolotl#554; torchtitan PR 315)."""
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("index")
    job.start()
    step, site = draw.whole(9, 90) * 500, own.build["site"]
    at, key = job.begin + draw.span(900, 3_900), f"{own.task}/step-{step}"
    stage.mark(at, f"ais://checkpoints/{key} was never completed")
    if draw.chance(0.7):
        found = f"{own.world} shards of step {step}, written until the last run was ended (TIME LIMIT)"
        job.note(at - 700 * MS, 0, found, "W", 103)
    job.note(at - 500 * MS, 0, f"going on from ais://checkpoints/{key}", line=104)
    _metadata_asked_for(stage, at, key, draw)
    place = f"{site}/torch/distributed/checkpoint"
    missing = f"FileNotFoundError: Object checkpoints/{key}/.metadata does not exist."
    inner = (
        sdk.Frame(f"{place}/utils.py", 168, "reduce_scatter", "local_data = map_fun()"),
        sdk.Frame(f"{place}/state_dict_loader.py", 231, "local_step", "metadata = storage_reader.read_metadata()"),
        sdk.Frame(f"{site}/multistorageclient/providers/ais.py", 166, "_translate_errors", "raise FileNotFoundError("),
    )
    one = sdk.traceback(sdk.Raised(inner, missing))
    named = range(own.world) if own.world <= ALL_SPEAK else range(own.ranks_per_node)
    told = "\n".join(one.replace("recent call last):", f"recent call last): (RANK {rank})") for rank in named)
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 171, "main", "start_step = load_checkpoint(model, optimizer)", True),
        sdk.Frame(own.script, 109, "load_checkpoint", "dcp.load(state, storage_reader=reader)", True),
        sdk.Frame(f"{place}/utils.py", 194, "reduce_scatter", "raise result"),
    )
    ranks = ", ".join(map(str, named))
    text = (
        f"torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([{ranks}])\n{told}"
    )
    over = each_raises(stage, at, text, frames)
    made = of_all(stage.innocent("data", also=("software", "infrastructure")))
    return stage.close("The index is written last, when all ranks have theirs.", (made,), until=over)


@kind(hangs=False, lead_s=70.0, without=RESTARTS)
def checkpoint_renamed_by_another(stage: Stage) -> Scenario:
    """All ranks rename what one of them has renamed already (transformers#27925, #28119; axolotl#948)."""
    stage.open()
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (commotion.tenant_meets_bad_data, commotion.throttled_in_window))
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("renamed")
    folder, site = f"/results/{own.task}", f"{own.build['site']}/transformers/trainer.py"
    stage.mark(at, f"ranks rename the checkpoint of step {stage.step}, each of them")
    job.note(
        at - draw.span(2_000, 9_000), 0, f"Saving model checkpoint to {folder}/tmp-checkpoint-{stage.step}", line=116
    )
    frames = (
        *loss_frames(stage, "trainer.train()"),
        sdk.Frame(site, 1537, "train", "return inner_training_loop("),
        sdk.Frame(site, 1929, "_inner_training_loop", "self._maybe_log_save_evaluate(tr_loss, model, trial, epoch,"),
        sdk.Frame(site, 2279, "_maybe_log_save_evaluate", "self._save_checkpoint(model, trial, metrics=metrics)"),
        sdk.Frame(site, 2395, "_save_checkpoint", "os.rename(staging_output_dir, output_dir)"),
    )
    names = f"'{folder}/tmp-checkpoint-{stage.step}' -> '{folder}/checkpoint-{stage.step}'"
    said = sdk.traceback(sdk.Raised(frames, f"FileNotFoundError: [Errno 2] No such file or directory: {names}"))
    first = draw.whole(0, own.world - 1)
    ends: dict[int, Exit] = {}
    for rank in range(own.world) if own.world <= ALL_SPEAK else range(0, own.world, own.ranks_per_node):
        if rank != first:
            then = at + draw.span(1, 160)
            job.raise_on(then, rank, said)
            ends.setdefault(own.node_of(rank), Exit(rank, then + 700 * MS, 1))
    job.agents_end(list(ends.values()), at + seconds(0.9))
    made = of_all(stage.innocent("software", also=("infrastructure",)))
    return stage.close("The folder is one that all hosts share.", (made,))


@kind(hangs=False, trains=False)
def prefix_matches_nothing(stage: Stage) -> Scenario:
    """A list of samples is empty, for its prefix is that of last year (pytorch, RandomSampler: num_samples=0)."""
    beside(stage, tenant_out_of_space)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("prefix")
    job.start()
    at, module = job.begin + draw.span(700, 2_900), f"{own.build['site']}/torch/utils/data"
    stage.mark(at, "the prefix of the samples matches nothing")
    prefix = draw.pick(("train-2024", "shards/v2/train", "wav/train-clean"))
    job.note(at - 90 * MS, 0, f"ais://{stage.bucket}/{prefix}: 0 samples", line=52)
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 176, "main", "loader = DataLoader(dataset, batch_size=batch, shuffle=True)", True),
        sdk.Frame(f"{module}/dataloader.py", 385, "__init__", "sampler = RandomSampler(dataset, generator=generator)"),
        sdk.Frame(f"{module}/sampler.py", 156, "__init__", "raise ValueError("),
    )
    text = "ValueError: num_samples should be a positive integer value, but got num_samples=0"
    over = each_raises(stage, at, text, frames)
    made = of_all(stage.innocent("data", also=("software",)))
    return stage.close("Samples were put under another prefix when they were packed anew.", (made,), until=over)


@kind(reads=True, hangs=False, lead_s=90.0)
def picture_is_truncated(stage: Stage) -> Scenario:
    """A picture ends before its end, as it was uploaded (detectron2#143, stylegan2-pytorch#7; Pillow docs)."""
    stage.open()
    beside(stage, commotion.tenant_meets_bad_data)
    unrest.unsettled(stage, (commotion.reads_recover, commotion.tenant_backend_fails, commotion.throttled_in_window))
    rank, at, site = stage.culprit, stage.at, stage.job.job.build["site"]
    draw = stage.draw.child("truncated")
    name = f"images/{draw.token(2, LOWER)}/{draw.whole(0, 999_999):012d}.jpg"
    stage.mark(at, f"rank {rank} decodes {name}, which was cut before it was uploaded")
    size = draw.whole(2, 40) << 14
    node = stage.cluster.target(draw.whole(0, 99))
    stage.cluster.count(node, at - 12 * MS, get_n=1, get_ns_total=draw.span(1, 6), get_size=size)
    if draw.chance(0.6):
        said = f"ais://{stage.bucket}/{name}: {size} bytes read, {size} as listed"
        stage.job.note(at - 4 * MS, rank, said, "W", 83, "images")
    frames = (
        sdk.Frame("/workspace/asr/images.py", 61, "decode", 'return Image.open(io.BytesIO(content)).convert("RGB")'),
        sdk.Frame(f"{site}/PIL/Image.py", 984, "convert", "self.load()"),
        sdk.Frame(f"{site}/PIL/ImageFile.py", 300, "load", "raise OSError(msg)"),
    )
    text = f"image file is truncated ({draw.whole(1, 87)} bytes not processed)"
    in_worker(stage, at, rank, "OSError", text, frames)
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    return stage.close(
        "A disk was full on the machine that wrote the pictures out.",
        (stage.innocent("data", rank, also=("software",)),),
    )


@kind(reads=True, hangs=False, lead_s=60.0)
def bucketer_asked_too_early(stage: Stage) -> Scenario:
    """A sampler asks for what its thread has not set yet, at a new epoch (lhotse#1522; NeMo, DynamicBucketer)."""
    stage.open()
    beside(stage, commotion.reads_recover)
    unrest.unsettled(stage)
    rank, at, site = stage.culprit, stage.at, stage.job.job.build["site"]
    draw, module = stage.draw.child("bucketer"), f"{site}/lhotse/dataset/sampling/dynamic_bucketing.py"
    stage.mark(at, f"a sampler of rank {rank} is asked before its thread has begun")
    if draw.chance(0.5):
        stage.job.note(at - draw.span(30, 400), 0, "epoch 1 begins", line=181)
    frames = (
        sdk.Frame(f"{site}/lhotse/dataset/iterable_dataset.py", 88, "__next__", "return self.dataset[next(self._it)]"),
        sdk.Frame(f"{site}/lhotse/dataset/sampling/base.py", 306, "__next__", "batch = self._next_batch()"),
        sdk.Frame(module, 316, "_next_batch", "batch = next(self.cuts_iter)"),
        sdk.Frame(module, 512, "__iter__", "if self._source_exhausted:"),
    )
    text = "'DynamicBucketer' object has no attribute '_source_exhausted'"
    in_worker(stage, at, rank, "AttributeError", text, frames)
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    return stage.close(
        "With many loader processes on few cores it happens once in a thousand epochs.",
        (stage.innocent("software", rank, also=("data",)),),
    )


@kind(may_be_undetermined=True, lead_s=60.0)
def stacks_of_another_rank(stage: Stage) -> Scenario:
    """Stacks were taken of rank 0 only, which waits like all others (NVIDIA/nccl#968; py-spy docs)."""
    stage.open()
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(stage)
    job, own, at, draw = stage.job, stage.job.job, stage.at, stage.draw.child("stacks")
    stage.mark(at, f"rank {stage.culprit} loops in its own code without a word")
    after, pid = draw.between(31, 55), own.rank_pids[0]
    short = own.script.rsplit("/", 1)[-1]
    rows = (
        f"hang-watcher: rank 0 has made no step for {after:.0f} s, py-spy dump --pid {pid}",
        f"Process {pid}: {own.build['python']} -u {own.script}",
        f"Python v3.11.9 ({own.build['bin']}/python3.11)",
        "",
        f'Thread {pid} (active): "MainThread"',
        "    synchronize (torch/cuda/__init__.py:985)",
        f"    main ({short}:196)",
        f"    <module> ({short}:212)",
        f'Thread {pid + 31} (idle): "Thread-1 (_pin_memory_loop)"',
        "    select (selectors.py:415)",
        "    wait (multiprocessing/connection.py:947)",
        "    do_one_step (torch/utils/data/_utils/pin_memory.py:35)",
    )
    job.agent(at + seconds(after), 0, "\n".join(rows))
    stage.hang(at + 20 * MS, stage.culprit)
    also = ("software", "undetermined", "data_loading_stall")
    return stage.close(
        "Whoever looked had an account on the first host only.",
        (stage.innocent("rank_hang", stage.culprit, also=also),),
    )
