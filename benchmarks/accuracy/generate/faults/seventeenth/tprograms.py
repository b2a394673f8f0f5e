"""Faults of programs, settings and images of the seventeenth part; storage is innocent, most often loud."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.seventeenth.thosts import banners
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import of_all
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.fetchers import ALL_SPEAK
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.patrons import each_raises
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk, torchrun
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "seventeenth")


@kind(hangs=False, trains=False)
def started_without_its_launcher(stage: Stage) -> Scenario:
    """Python is started where torchrun should be: no process has a RANK (NVIDIA-NeMo/Speech#912, llama-cookbook#59)."""
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("no launcher")
    at = stage.mark(job.begin - draw.span(900, 3_000), "the program is started without its launcher")
    module = f"{own.build['site']}/torch/distributed"
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 158, "main", 'dist.init_process_group(backend="nccl", timeout=timeout)', True),
        sdk.Frame(f"{module}/c10d_logger.py", 81, "wrapper", "return func(*args, **kwargs)"),
        sdk.Frame(f"{module}/distributed_c10d.py", 1714, "init_process_group", "store, rank, world_size = next("),
        sdk.Frame(f"{module}/rendezvous.py", 258, "_env_rendezvous_handler", 'rank = int(_get_env_or_raise("RANK"))'),
        sdk.Frame(f"{module}/rendezvous.py", 243, "_get_env_or_raise", "raise _env_error(env_var)"),
    )
    text = "ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable RANK "
    raised = sdk.traceback(sdk.Raised(frames, f"{text}expected, but not set"))
    last = at
    for host in range(len(own.hosts)):
        then = at + draw.span(1, 400)
        job.agent(then, host, raised)
        job.slurm(then + draw.span(600, 900), host, torchrun.srun_exit(own, host))
        last = max(last, then)
    job.ended_at = last + seconds(1.4)
    made = of_all(stage.innocent("software", also=("infrastructure",)))
    return stage.close("A line of the script that submits jobs was edited.", (made,), until=job.ended_at)


@kind(hangs=False, trains=False)
def override_of_an_unknown_key(stage: Stage) -> Scenario:
    """A command line sets a key that the configuration has not (espresso#74, BiomedGPT#75, NVIDIA-NeMo/RL PR 4031)."""
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("override")
    at = stage.mark(job.begin - draw.span(200, 900), "a key is set that the configuration has not")
    banners(stage, at - seconds(3.2))
    key, value = draw.pick((("trainer.max_step", 400_000), ("model.train_ds.num_worker", 12), ("exp.resume_from", 1)))
    module = f"{own.build['site']}/hydra/_internal"
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(f"{own.build['site']}/hydra/main.py", 94, "decorated_main", "_run_hydra("),
        sdk.Frame(f"{module}/utils.py", 394, "_run_hydra", "_run_app("),
        sdk.Frame(
            f"{module}/config_loader_impl.py", 142, "load_configuration", "return self._load_configuration_impl("
        ),
        sdk.Frame(
            f"{module}/config_loader_impl.py", 386, "_apply_overrides_to_config", "raise ConfigCompositionException("
        ),
    )
    text = f"hydra.errors.ConfigCompositionException: Could not override '{key}'.\nTo append to your config use "
    text += (
        f"+{key}={value}\nKey '{key.rsplit('.', 1)[-1]}' is not in struct\n    full_key: {key}\n    object_type=dict"
    )
    over = each_raises(stage, at, text, frames)
    made = of_all(stage.innocent("software"))
    return stage.close("The recipe was written for an older configuration.", (made,), until=over)


@kind(hangs=False, trains=False)
def name_dropped_by_numpy(stage: Stage) -> Scenario:
    """A new image has NumPy 2, a package has not heard of it (sigsep-mus-db#83, NumPy migration guide)."""
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("numpy"), stage.job.job.build["site"]
    at = stage.mark(job.begin - draw.span(200, 900), "a package asks NumPy for a name that it has not any more")
    banners(stage, at - seconds(3.2))
    package, line, code, old, new = draw.pick(
        (
            ("musdb/audio_classes.py", 31, "SAMPLE = np.float_", "float_", "float64"),
            ("pytorch_lightning/callbacks/early_stopping.py", 35, "torch_inf = torch.tensor(np.Inf)", "Inf", "inf"),
        )
    )
    frames = (
        sdk.Frame(own.script, 12, "<module>", "from train.data import build_loader"),
        sdk.Frame(own.script.rsplit("/", 1)[0] + "/train/data.py", 9, "<module>", f"import {package.split('/')[0]}"),
        sdk.Frame(f"{site}/{package}", line, "<module>", code),
        sdk.Frame(f"{site}/numpy/__init__.py", 400, "__getattr__", "raise AttributeError("),
    )
    text = f"AttributeError: `np.{old}` was removed in the NumPy 2.0 release. Use `np.{new}` instead."
    over = each_raises(stage, at, text, frames)
    made = of_all(stage.innocent("software", also=("infrastructure",)))
    return stage.close("Nobody had pinned the version.", (made,), until=over)


@kind(hangs=False, trains=False)
def loader_process_wants_children(stage: Stage) -> Scenario:
    """A data set opens a pool of processes in a loader process, which may have none (pytorch#15950, taskiq#335)."""
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("children")
    job.start()
    at = stage.mark(job.begin + draw.span(1_900, 4_800), "loader processes want processes of their own")
    folder = own.script.rsplit("/", 1)[0]
    frames = (
        sdk.Frame(f"{folder}/data/features.py", 61, "__getitem__", "self.pool = self.pool or multiprocessing.Pool(4)"),
        sdk.Frame(f"{PYTHON}/multiprocessing/context.py", 119, "Pool", "return Pool(processes, initializer, initargs,"),
        sdk.Frame(f"{PYTHON}/multiprocessing/pool.py", 329, "_repopulate_pool_static", "w.start()"),
        sdk.Frame(f"{PYTHON}/multiprocessing/process.py", 118, "start", "assert not _current_process._config.get("),
    )
    for rank in range(own.world) if own.world <= ALL_SPEAK else range(0, own.world, own.ranks_per_node):
        text = "daemonic processes are not allowed to have children"
        in_worker(stage, at + draw.span(1, 400), rank, "AssertionError", text, frames)
    firsts = range(0, own.world, own.ranks_per_node)
    over = job.agents_end([Exit(rank, at + 900 * MS + rank * MS, 1) for rank in firsts], at + 980 * MS)
    made = of_all(stage.innocent("software", also=("data",)))
    return stage.close("It was tried with no loader processes at all.", (made,), until=over)


@kind(hangs=False, lead_s=70.0, without=RESTARTS)
def graph_is_walked_twice(stage: Stage) -> Scenario:
    """A second loss comes in at some step, and its graph is freed (denoising-diffusion-pytorch#109, pytorch#47260)."""
    stage.open()
    beside(stage, commotion.restart_survived)
    unrest.unsettled(stage, (commotion.tenant_backend_fails, unrest.entries_missing, commotion.throttled_in_window))
    job, at, site = stage.job, stage.at, stage.job.job.build["site"]
    stage.mark(at, "a graph that is freed is to be walked again")
    job.note(at - 300 * MS, 0, f"step {stage.step}: the loss of the discriminator is added from here", line=181)
    frames = (
        *loss_frames(stage, "optimize_parameters(step)"),
        sdk.Frame(f"{job.job.script.rsplit('/', 1)[0]}/models/gan.py", 97, "optimize_parameters", "l_g_gan.backward()"),
        sdk.Frame(f"{site}/torch/_tensor.py", 522, "backward", "torch.autograd.backward("),
        sdk.Frame(f"{site}/torch/autograd/graph.py", 825, "_engine_run_backward", "return Variable._execution_engine."),
    )
    text = "RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after "
    text += "they have already been freed). Saved intermediate values of the graph are freed when you call .backward() "
    text += "or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or "
    text += "if you need to access saved tensors after calling backward."
    each_raises(stage, at, text, frames)
    unrest.hung_up_on(stage)
    made = of_all(stage.innocent("software"))
    return stage.close("Nobody has tried the settings beyond the first steps.", (made,))


@kind(hangs=False, lead_s=60.0)
def optimizer_fills_the_devices(stage: Stage) -> Scenario:
    """Layers are unfrozen, and the optimizer finds no memory for their states on any device (PyTorch docs, FAQ)."""
    stage.open()
    unrest.unsettled(stage)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("states"), stage.job.job.build["site"]
    at = stage.mark(stage.at, "no device has room for further states of the optimizer")
    more = draw.whole(200, 900)
    job.note(
        at - 700 * MS, 0, f"step {stage.step}: the encoder is unfrozen, {more} M parameters more are trained", line=168
    )
    whole, size = draw.pick((44.53, 79.11, 139.81)), draw.pick(("192.00 MiB", "512.00 MiB", "1.46 GiB"))
    library = "HIP" if own.torch.is_rocm else "CUDA"
    frames = (
        *loss_frames(stage, "optimizer.step()"),
        sdk.Frame(f"{site}/torch/optim/adamw.py", 166, "_init_group", 'state["exp_avg_sq"] = torch.zeros_like('),
    )
    error = "torch.OutOfMemoryError" if own.torch.order >= 205 else "torch.cuda.OutOfMemoryError"
    setting = "PYTORCH_ALLOC_CONF" if own.torch.order >= 210 else f"PYTORCH_{library}_ALLOC_CONF"
    advice = f"{setting}=expandable_segments:True"
    last = at
    for rank in range(own.world) if own.world <= ALL_SPEAK else range(0, own.world, own.ranks_per_node):
        free, spare = draw.between(0.05, 0.18), draw.between(0.02, 0.15)
        text = f"{error}: {library} out of memory. Tried to allocate {size}. GPU {own.local_rank(rank)} has a total "
        text += (
            f"capacity of {whole:.2f} GiB of which {free * 1024:.2f} MiB is free. Including non-PyTorch memory, this "
        )
        text += f"process has {whole - free:.2f} GiB memory in use. Of the allocated memory {whole - 2.3:.2f} GiB is "
        text += f"allocated by PyTorch, and {spare * 1024:.2f} MiB is reserved by PyTorch but unallocated. If reserved "
        text += f"but unallocated memory is large try setting {advice} to avoid fragmentation.  See documentation for "
        text += "Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
        then = at + draw.span(1, 200)
        job.raise_on(then, rank, sdk.traceback(sdk.Raised(frames, text)))
        last = max(last, then)
    firsts = range(0, own.world, own.ranks_per_node)
    job.agents_end([Exit(rank, last + 500 * MS + rank * MS, 1) for rank in firsts], last + 900 * MS)
    made = of_all(stage.innocent("gpu", also=("software",)))
    return stage.close("The settings are those for devices with twice the memory.", (made,))
