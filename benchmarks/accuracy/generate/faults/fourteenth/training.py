"""Faults of programs, samples and settings of the fourteenth part; storage is innocent, in most of them loud."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.draw import HEX, LOWER, Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "fourteenth")
#: In larger worlds one rank of each host speaks for the others.
ALL_SPEAK = 32
REQUEST = "(Request ID: )"


def _request(draw: Draw) -> str:
    """What the hub calls a request that it has refused."""
    whole = "-".join(draw.token(many, HEX) for many in (8, 4, 4, 4, 12))
    return f"(Request ID: Root=1-{draw.token(8, HEX)}-{draw.token(24, HEX)};{whole})"


def all_raise(stage: Stage, at: int, text: str, frames: tuple[sdk.Frame, ...]) -> int:
    """Every rank meets the same exception within some moments, a refused request has an own name; when all is over."""
    job, own, draw = stage.job, stage.job.job, stage.draw.child("all raise")
    said = sdk.traceback(sdk.Raised(frames, text))
    for rank in range(own.world) if own.world <= ALL_SPEAK else range(0, own.world, own.ranks_per_node):
        job.raise_on(at + draw.span(1, 260), rank, said.replace(REQUEST, _request(draw.child("request", rank))))
    firsts = range(0, own.world, own.ranks_per_node)
    return job.agents_end([Exit(rank, at + 800 * MS + rank * MS, 1) for rank in firsts], at + SEC)


@kind(reads=True, hangs=False)
def storage_not_resizable(stage: Stage) -> Scenario:
    """Samples of a batch differ in size, and a loader says `storage` of a tensor (litData#472)."""
    stage.open()
    unrest.unsettled(stage)
    rank, at, site = stage.culprit, stage.at, stage.job.job.build["site"]
    draw, module = stage.draw.child("resizable"), f"{site}/torch/utils/data/_utils/collate.py"
    stage.mark(at, f"a batch of rank {rank} has samples of different sizes")
    if draw.chance(0.4):
        source = draw.pick(("field recordings", "a new speaker set", "scans of 2019"))
        stage.job.note(at - draw.span(2_000, 9_000), 0, f"mixing in {source} from here, weight 0.05", "W", 96)
    frames = (
        sdk.Frame(f"{site}/torch/utils/data/_utils/fetch.py", 54, "fetch", "return self.collate_fn(data)"),
        sdk.Frame(module, 398, "default_collate", "return collate(batch, collate_fn_map=default_collate_fn_map)"),
        sdk.Frame(module, 212, "collate", "collate(samples, collate_fn_map=collate_fn_map)"),
        sdk.Frame(module, 271, "collate_tensor_fn", "out = elem.new(storage).resize_(len(batch), *list(elem.size()))"),
    )
    in_worker(stage, at, rank, "RuntimeError", "Trying to resize storage that is not resizable", frames)
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    return stage.close(
        "The data set that was mixed in is not cut to one length.", (stage.innocent("software", rank, also=("data",)),)
    )


@kind(hangs=False, lead_s=60.0)
def buffers_changed_between_passes(stage: Stage) -> Scenario:
    """DDP hands buffers out between two forward passes of one backward (pytorch#22095, #175024)."""
    stage.open()
    unrest.unsettled(stage)
    job, at, draw = stage.job, stage.at, stage.draw.child("buffers")
    stage.mark(at, "a second forward pass changes what the first one needs")
    job.note(at - draw.span(90, 400), 0, f"step {stage.step}: the adversarial loss is on from here", "W", 144)
    width, version = draw.pick((64, 256, 768)), draw.whole(3, 9)
    changed = f"[torch.cuda.FloatTensor [{width}]] is at version {version}; expected version {version - 1} instead."
    hint = "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
    text = "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace "
    text += f"operation: {changed} {hint}torch.autograd.set_detect_anomaly(True)."
    site = job.job.build["site"]
    frames = (
        *loss_frames(stage, "scaler.scale(loss_d).backward()"),
        sdk.Frame(f"{site}/torch/_tensor.py", 647, "backward", "torch.autograd.backward("),
        sdk.Frame(f"{site}/torch/autograd/__init__.py", 354, "backward", "_engine_run_backward("),
    )
    all_raise(stage, at, text, frames)
    unrest.hung_up_on(stage)
    made = of_all(stage.innocent("software"))
    return stage.close(
        "A discriminator sees what is true and what is made in two passes.", (replace(made, culprit_ranks=None),)
    )


def _contradiction(world: int, draw: Draw) -> tuple[str, str]:
    """What a framework says of settings that do not fit: the line that checks, and the error."""
    micro, whole = draw.pick((2, 4)), draw.pick((200, 300, 500))
    steps = whole // (micro * world)
    check = (
        "Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * "
    )
    key = draw.pick(("warmup_ratio", "max_duration_s", "sync_batchnorm", "val_every"))
    return draw.pick(
        (
            (
                "engine = deepspeed.initialize(model=model, config=args.deepspeed)",
                f"AssertionError: {check}world_size {whole} != {micro} * {max(1, steps)} * {world}",
            ),
            (
                f"loop.set(value=cfg.trainer.{key}, steps=cfg.trainer.steps)",
                f"omegaconf.errors.ConfigAttributeError: Key '{key}' is not in struct\n"
                f"    full_key: trainer.{key}\n    object_type=dict",
            ),
            (
                "calculator = init_num_microbatches_calculator(args)",
                f"AssertionError: global batch size ({whole}) is not divisible by micro batch size ({micro}) times "
                f"data parallel size ({world})",
            ),
        )
    )


@kind(hangs=False, trains=False)
def settings_contradict(stage: Stage) -> Scenario:
    """Batch sizes that do not multiply, a key that is not known (DeepSpeed#6914, OpenRLHF#346, OmegaConf docs)."""
    unrest.unsettled(stage, unrest.EARLY)
    job, draw = stage.job, stage.draw.child("settings")
    job.start()
    at = stage.mark(job.begin + draw.span(100, 1_200), "the settings of the job contradict each other")
    code, text = _contradiction(job.job.world, draw)
    frames = (
        sdk.Frame(job.job.script, 212, "<module>", "main()"),
        sdk.Frame(job.job.script, 168, "main", code, True),
    )
    ended = all_raise(stage, at, text, frames)
    made = of_all(stage.innocent("software", also=("infrastructure",)))
    return stage.close(
        "The job was moved to another number of hosts.", (replace(made, culprit_ranks=None),), until=ended
    )


@kind(lead_s=60.0)
def one_rank_stops_early(stage: Stage) -> Scenario:
    """Early stopping looks at a metric of its own rank only (speechbrain#1939; Lightning docs, sync_dist)."""
    stage.open()
    unrest.unsettled(stage)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("early stop")
    stage.mark(at, f"rank {rank} stops early, for itself")
    best, patience = draw.between(0.081, 0.162), draw.pick((3, 5, 10))
    said = f"[rank: {rank}] Monitored metric val_loss did not improve in the last {patience} records. Best score: "
    said += f"{best:.3f}. Signaling Trainer to stop."
    job.note(at - 40 * MS, rank, said, "W", 258, "early_stopping")
    if draw.chance(0.6):
        job.note(at - 20 * MS, rank, "training is over on this rank, waiting for the others", "W", 205)
    stage.hang(at + 20 * MS, rank)
    return stage.close(
        "The metric is not reduced over ranks, and differs in its fourth digit.",
        (stage.innocent("rank_hang", rank, also=("software", "collective_mismatch")),),
    )


@kind(reads=True, hangs=False)
def sample_of_zero_bytes(stage: Stage) -> Scenario:
    """A preparation was killed and has left empty objects: numpy has no data (numpy#23105: EOFError)."""
    stage.open()
    unrest.unsettled(stage)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("empty")
    name = f"feats/{draw.token(2, LOWER)}/utt-{draw.whole(0, 99_999):05d}.npy"
    stage.mark(at, f"rank {rank} reads {name}, which was uploaded empty")
    node = stage.cluster.target(draw.whole(0, 99))
    stage.cluster.count(node, at - 12 * MS, get_n=1, get_ns_total=draw.span(1, 6))
    day = f"2024-0{draw.whole(1, 9)}-{draw.whole(10, 28)}"
    said = f"ais://{stage.bucket}/{name}: content-length 0, ais-atime {day}, as listed (size 0)"
    job.note(at - 5 * MS, rank, said, "W", 83, "feats")
    site = job.job.build["site"]
    frames = (
        sdk.Frame("/workspace/asr/feats.py", 61, "decode", "return np.load(io.BytesIO(content))"),
        sdk.Frame(f"{site}/numpy/lib/_npyio_impl.py", 460, "load", 'raise EOFError("No data left in file")'),
    )
    in_worker(stage, at, rank, "EOFError", "No data left in file", frames)
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    return stage.close(
        "A job that made features was killed at its limit; what it had opened was uploaded.",
        (stage.innocent("data", rank, also=("software",)),),
    )


@kind(hangs=False, trains=False)
def model_of_hub_is_gated(stage: Stage) -> Scenario:
    """The token in the image may not read a model: 401, of the hub (transformers#29177)."""
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, draw, site = stage.job, stage.draw.child("gated"), stage.job.job.build["site"]
    job.start()
    at = stage.mark(job.begin + draw.span(400, 2_600), "the hub gives a gated model to nobody it does not know")
    model = draw.pick(("pyannote/segmentation-3.0", "meta-llama/Llama-3.2-1B", "google/gemma-3-4b-it"))
    url = f"https://huggingface.co/{model}/resolve/main/config.json"
    rows = (
        "OSError: You are trying to access a gated repo.",
        f"Make sure to have access to it at https://huggingface.co/{model}.",
        f"401 Client Error. {REQUEST}",
        "",
        f"Cannot access gated repo for url {url}.",
        f"Access to model {model} is restricted. You must have access to it and be authenticated to access it. Please "
        "log in.",
    )
    frames = (
        sdk.Frame(job.job.script, 212, "<module>", "main()"),
        sdk.Frame(job.job.script, 159, "main", "encoder = AutoModel.from_pretrained(args.encoder)", True),
        sdk.Frame(f"{site}/transformers/utils/hub.py", 543, "cached_files", "raise OSError("),
    )
    ended = all_raise(stage, at, "\n".join(rows), frames)
    made = of_all(stage.innocent("software", also=("infrastructure",)))
    return stage.close(
        "The token was that of somebody who has left.", (replace(made, culprit_ranks=None),), until=ended
    )


HEAPS = (
    "double free or corruption (!prev)",
    "free(): invalid pointer",
    "corrupted size vs. prev_size",
    "malloc(): unsorted double linked list corrupted",
    "munmap_chunk(): invalid pointer",
)


@kind(hangs=False)
def heap_is_corrupted(stage: Stage) -> Scenario:
    """A native library spoils memory, and the C library ends the process (pytorch#33661, SAN#6)."""
    stage.open()
    unrest.unsettled(stage)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("heap")
    stage.mark(at, f"the C library finds the heap of rank {rank} corrupted")
    job.say(at, rank, draw.pick(HEAPS))
    if draw.chance(0.5):
        job.agents_end([Exit(rank, at + 300 * MS, -6)], at + 300 * MS)
    else:
        module = f"{job.job.build['site']}/torch/utils/data"
        caller = sdk.main_frames(
            job.job,
            stage.step,
            sdk.Frame(f"{module}/dataloader.py", 1275, "_try_get_data", "data = self._data_queue.get(timeout=timeout)"),
            sdk.Frame(f"{module}/_utils/signal_handling.py", 73, "handler", "_error_if_any_worker_fails()"),
        )
        pid = job.job.rank_pids[rank] + draw.whole(90, 160)
        text = f"RuntimeError: DataLoader worker (pid {pid}) is killed by signal: Aborted. "
        job.raise_on(at + seconds(draw.between(0.02, 0.2)), rank, sdk.traceback(sdk.Raised(caller, text)))
        exits(stage, at + 200 * MS, rank)
    unrest.hung_up_on(stage)
    return stage.close(
        "A resampler writes one sample too many.", (stage.innocent("software", rank, also=("infrastructure",)),)
    )
