"""Starts of jobs that fail of themselves, of the seventeenth part; storage is innocent, in most of them loud."""

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
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk, torchrun
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "seventeenth")


@kind(hangs=False, trains=False, slurm=True)
def memory_options_exclude_each_other(stage: Stage) -> Scenario:
    """A step asks for memory in two ways: srun ends (snakemake-executor-plugin-slurm#75, recOrder#482)."""
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, draw = stage.job, stage.draw.child("memory options")
    at = stage.mark(job.begin - draw.span(900, 4_000), "a step asks for memory in two ways")
    said = "SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually exclusive."
    job.slurm(at, 0, f"srun: fatal: {said}")
    job.ended_at = at + seconds(0.4)
    made = of_all(stage.innocent("software", also=("infrastructure",)))
    return stage.close("The job was submitted out of a session on a login node.", (made,), until=job.ended_at)


@kind(hangs=False, trains=False, hosts=2, slurm=True)
def container_without_device_runtime(stage: Stage) -> Scenario:
    """Docker on one host knows nothing of devices: no container is made (NVIDIA/nvidia-docker#1352)."""
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("runtime")
    node = own.node_of(stage.culprit)
    at = stage.mark(job.begin - draw.span(2_000, 5_000), f"{own.hosts[node]} cannot give devices to a container")
    said = 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].'
    job.agent(at, node, said)
    if draw.chance(0.5):
        job.agent(at + MS, node, "\nRun 'docker run --help' for more information")
    job.slurm(at + 200 * MS, node, torchrun.srun_exit(own, node, 125))
    over = at + draw.span(31_000, 34_000)
    for host in range(len(own.hosts)):
        if host != node:
            for text in torchrun.omp_banner(own, host, at + 900 * MS):
                job.agent(at + 900 * MS, host, text)
            job.agent_signalled(over, host)
    job.slurm(over + 200 * MS, 0, torchrun.step_cancelled(own, over + 200 * MS))
    job.ended_at = over + seconds(1)
    made = of_all(stage.innocent("infrastructure", also=("software", "gpu")))
    return stage.close("The toolkit was left out when the host was set up anew.", (made,), until=job.ended_at)


@kind(hangs=False, trains=False)
def group_asked_before_it_exists(stage: Stage) -> Scenario:
    """A module asks for its rank while it is imported, before there is a group (mmsegmentation#809, DEIM#101)."""
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("group"), stage.job.job.build["site"]
    at = stage.mark(job.begin - draw.span(200, 900), "a group is asked for that does not exist yet")
    banners(stage, at - seconds(3.2))
    module = f"{site}/torch/distributed/distributed_c10d.py"
    frames = (
        sdk.Frame(own.script, 18, "<module>", "from train.metrics import Metrics"),
        sdk.Frame(f"{own.script.rsplit('/', 1)[0]}/train/metrics.py", 14, "<module>", "RANK = dist.get_rank()"),
        sdk.Frame(module, 2280, "get_rank", "default_pg = _get_default_group()"),
        sdk.Frame(module, 1298, "_get_default_group", "raise ValueError("),
    )
    text = "ValueError: Default process group has not been initialized, please make sure to call init_process_group."
    over = each_raises(stage, at, text, frames)
    made = of_all(stage.innocent("software"))
    return stage.close("A line was moved in a review.", (made,), until=over)


SAFE = (
    "\n        An attempt has been made to start a new process before the\n"
    "        current process has finished its bootstrapping phase.\n\n"
    "        This probably means that you are not using fork to start your\n"
    "        child processes and you have forgotten to use the proper idiom\n"
    "        in the main module:\n\n"
    "            if __name__ == '__main__':\n"
    "                freeze_support()\n"
    "                ...\n\n"
    '        The "freeze_support()" line can be omitted if the program\n'
    "        is not going to be frozen to produce an executable.\n\n"
    '        To fix this issue, refer to the "Safe importing of main module"\n'
    "        section in https://docs.python.org/3/library/multiprocessing.html\n"
)


@kind(hangs=False, trains=False)
def spawned_before_bootstrapped(stage: Stage) -> Scenario:
    """Loader processes are spawned by a script that has no guard (Python docs, safe importing of the main module)."""
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("spawned")
    job.start()
    at = stage.mark(job.begin + draw.span(2_900, 6_900), "loader processes begin the whole program again")
    frames = (
        sdk.Frame("<string>", 1, "<module>", ""),
        sdk.Frame(f"{PYTHON}/multiprocessing/spawn.py", 122, "spawn_main", "exitcode = _main(fd, parent_sentinel)"),
        sdk.Frame(f"{PYTHON}/multiprocessing/spawn.py", 131, "_main", "prepare(preparation_data)"),
        sdk.Frame(own.script, 188, "<module>", "for step, batch in enumerate(loader):"),
        sdk.Frame(f"{PYTHON}/multiprocessing/spawn.py", 164, "get_preparation_data", "_check_not_importing_main()"),
        sdk.Frame(f"{PYTHON}/multiprocessing/spawn.py", 140, "_check_not_importing_main", "raise RuntimeError('''"),
    )
    child = sdk.traceback(sdk.Raised(frames, f"RuntimeError: {SAFE}"))
    for rank in range(own.world) if own.world <= ALL_SPEAK else range(0, own.world, own.ranks_per_node):
        job.say(at - draw.span(300, 900), rank, child)
    module = f"{own.build['site']}/torch/utils/data/dataloader.py"
    callers = (
        sdk.Frame(own.script, 188, "<module>", "for step, batch in enumerate(loader):"),
        sdk.Frame(module, 1327, "_next_data", "idx, data = self._get_data()"),
        sdk.Frame(module, 1146, "_try_get_data", "raise RuntimeError("),
    )
    pids = ", ".join(str(draw.whole(20_000, 90_000)) for _ in range(4))
    over = each_raises(stage, at, f"RuntimeError: DataLoader worker (pid(s) {pids}) exited unexpectedly", callers)
    made = of_all(stage.innocent("software"))
    return stage.close("Processes were forked until the last release.", (made,), until=over)


@kind(hangs=False, trains=False)
def states_of_another_world_size(stage: Stage) -> Scenario:
    """A job goes on with another number of devices, ZeRO's states are for the old one (DeepSpeed#2898, #6441)."""
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("world size"), stage.job.job.build["site"]
    job.start()
    before, saved = draw.pick((own.world * 2, own.world // 2)), draw.whole(20, 400) * 500
    place = f"s3://checkpoints/{own.task}/global_step{saved}"
    job.note(job.begin + 1_600 * MS, 0, f"going on from {place}, saved by {before} ranks", line=104)
    at = stage.mark(job.begin + draw.span(6_900, 19_000), "states of an optimizer are cut for another number of ranks")
    for _ in range(own.world):
        node, spent = stage.cluster.target(draw.whole(0, 99)), draw.span(900, 3_900)
        stage.cluster.count(
            node, at - draw.span(90, 900), get_n=1, get_ns_total=spent, get_size=draw.whole(300, 900) << 20
        )
    module = f"{site}/deepspeed/runtime/engine.py"
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 171, "main", "start_step = load_checkpoint(engine, options)", True),
        sdk.Frame(module, 2780, "load_checkpoint", "success = self._load_zero_checkpoint(load_dir, tag,"),
        sdk.Frame(
            module, 2950, "_load_zero_checkpoint", 'raise ZeRORuntimeException("The checkpoint being loaded used"'
        ),
    )
    text = "deepspeed.runtime.zero.utils.ZeRORuntimeException: The checkpoint being loaded used a DP world size of "
    text += f"{before} but the current world size is {own.world}. Automatic adjustment of ZeRO's optimizer state "
    over = each_raises(stage, at, f"{text}partitioning with a new world size is not currently supported.", frames)
    made = of_all(stage.innocent("software", also=("data",)))
    return stage.close("The partition has other hosts since Monday.", (made,), until=over)


@kind(hangs=False, trains=False)
def tokenizer_has_no_padding(stage: Stage) -> Scenario:
    """A tokenizer has no token to pad with, and the first batch needs one (trl#466, FastChat#718)."""
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("padding"), stage.job.job.build["site"]
    job.start()
    at = stage.mark(job.begin + draw.span(1_900, 4_800), "there is no token to pad with")
    module = f"{site}/transformers/tokenization_utils_base.py"
    frames = (
        sdk.Frame("/workspace/asr/text.py", 48, "collate", "batch = self.tokenizer(texts, padding=True)"),
        sdk.Frame(module, 2877, "__call__", "encodings = self._call_one(text=text, text_pair=text_pair, **all_kwargs)"),
        sdk.Frame(module, 2802, "_get_padding_truncation_strategies", "raise ValueError("),
    )
    text = "Asking to pad but the tokenizer does not have a padding token. Please select a token to use as `pad_token` "
    text += "`(tokenizer.pad_token = tokenizer.eos_token e.g.)` or add a new pad token via "
    text += "`tokenizer.add_special_tokens({'pad_token': '[PAD]'})`."
    for rank in range(own.world) if own.world <= ALL_SPEAK else range(0, own.world, own.ranks_per_node):
        in_worker(stage, at + draw.span(1, 400), rank, "ValueError", text, frames)
    firsts = range(0, own.world, own.ranks_per_node)
    over = job.agents_end([Exit(rank, at + 900 * MS + rank * MS, 1) for rank in firsts], at + 980 * MS)
    made = of_all(stage.innocent("software", also=("data",)))
    return stage.close("Another model is the first of the family that has none.", (made,), until=over)


@kind(lead_s=80.0)
def batch_skipped_by_one_rank(stage: Stage) -> Scenario:
    """One rank leaves out a batch whose loss is no number, and comes to no collective (Lightning#5243, #4956)."""
    stage.open()
    beside(stage, commotion.rebalance_running)
    unrest.unsettled(stage, (commotion.reads_recover, unrest.entries_missing, commotion.throttled_in_window))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("skipped")
    stage.mark(at, f"rank {rank} leaves a batch out, for its loss is no number")
    value = draw.pick(("nan", "inf"))
    job.note(at, rank, f"step {stage.step}: loss is {value} on rank {rank}, batch skipped", "W", 193, "trainer")
    stage.hang(at + 20 * MS, rank)
    return stage.close(
        "It went well on one device, where nobody waits.",
        (stage.innocent("rank_hang", rank, also=("software", "collective_mismatch", "data")),),
    )


@kind(hangs=False, trains=False, torch_order=203)
def driver_older_than_the_build(stage: Stage) -> Scenario:
    """A new image has a CUDA that the drivers of all hosts are too old for (ai4d-iasc/trixie#9, SeqNet#36)."""
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, site = stage.job, stage.job.job, stage.draw.child("too old"), stage.job.job.build["site"]
    at = stage.mark(job.begin - draw.span(200, 900), "drivers are older than what the build of PyTorch needs")
    banners(stage, at - seconds(3.2))
    found = draw.pick((11040, 11060, 11080)) if own.torch.order < 212 else draw.pick((12020, 12040, 12060))
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 154, "main", "torch.cuda.set_device(local_rank)", True),
        sdk.Frame(f"{site}/torch/cuda/__init__.py", 529, "set_device", "torch._C._cuda_setDevice(device)"),
        sdk.Frame(f"{site}/torch/cuda/__init__.py", 372, "_lazy_init", "torch._C._cuda_init()"),
    )
    text = f"RuntimeError: The NVIDIA driver on your system is too old (found version {found}). Please update your GPU "
    text += (
        "driver by downloading and installing a new version from the URL: http://www.nvidia.com/Download/index.aspx "
    )
    text += "Alternatively, go to: https://pytorch.org to install a PyTorch version that has been compiled with your "
    over = each_raises(stage, at, f"{text}version of the CUDA driver.", frames)
    made = of_all(stage.innocent("software", also=("infrastructure", "gpu")))
    return stage.close("Drivers are updated in spring, images every week.", (made,), until=over)
