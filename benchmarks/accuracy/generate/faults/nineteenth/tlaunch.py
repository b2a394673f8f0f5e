"""Starts of jobs that fail of themselves and a run that is stopped though it is well, of the nineteenth part.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as former_unrest
from benchmarks.accuracy.generate.faults.eighteenth.tlaunch import all_end, speakers
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.eleventh.hosts import nccl_warned
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import NCCL, nccl_error, of_all
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.patrons import each_raises
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, comma_stamp, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import since

kind = kinds_of("training", "nineteenth")
#: Where NCCL compares versions of its peers, by PyTorch's release.
COMPARED = {201: 791, 203: 893, 207: 978, 209: 1018, 212: 1063}


def _of_all_targets(stage: Stage, at: int, reads: tuple[int, int], size: int) -> None:
    """Each target has served some reads, as quickly as ever."""
    draw = stage.draw.child("of all targets")
    for node in stage.cluster.targets:
        many = draw.whole(*reads)
        stage.cluster.count(node, at, get_n=many, get_ns_total=many * draw.span(2, 9), get_size=many * size)


@kind(hangs=False, trains=False)
def nobody_splits_the_shards(stage: Stage) -> Scenario:
    """A pipeline was written for one device and is started on several: WebDataset refuses (webdataset docs, FAQ, #440).

    To acquit: the text is about the pipeline, every rank has it in its loader process 0, and no shard was opened.
    """
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, draw, site = stage.job, stage.draw.child("splits"), stage.job.job.build["site"]
    job.start()
    at = stage.mark(job.begin + draw.span(900, 4_900), "shards are not split between ranks")
    worker = (
        sdk.Frame(f"{site}/torch/utils/data/_utils/worker.py", 351, "_worker_loop", "data = fetcher.fetch(index)"),
        sdk.Frame(f"{site}/torch/utils/data/_utils/fetch.py", 33, "fetch", "data.append(next(self.dataset_iter))"),
        sdk.Frame(f"{site}/webdataset/pipeline.py", 105, "iterator", "yield from self.iterator1()"),
        sdk.Frame(f"{site}/webdataset/filters.py", 423, "_shuffle", "for sample in data:"),
        sdk.Frame(f"{site}/webdataset/tariterators.py", 104, "url_opener", "for sample in data:"),
        sdk.Frame(f"{site}/webdataset/shardlists.py", 118, "single_node_only", "raise ValueError("),
    )
    said = "you need to add an explicit nodesplitter to your input pipeline for multi-node training"
    original = sdk.traceback(sdk.Raised(worker, f"ValueError: {said}"))
    frames = (
        *loss_frames(stage, "for step, batch in enumerate(loader):"),
        sdk.Frame(f"{site}/torch/utils/data/dataloader.py", 1480, "_process_data", "data.reraise()"),
        sdk.Frame(f"{site}/torch/_utils.py", 733, "reraise", "raise exception"),
    )
    text = f"ValueError: Caught ValueError in DataLoader worker process 0.\nOriginal {original}"
    over = each_raises(stage, at, text, frames)
    made = of_all(stage.innocent("software", also=("data_loading_stall",)))
    return stage.close("It ran on one device for a year.", (made,), until=over)


@kind(hangs=False, trains=False)
def custom_code_is_not_allowed(stage: Stage) -> Scenario:
    """A model brings code of its own, which nobody has allowed (transformers, resolve_trust_remote_code).

    To acquit: the text names the argument that is missing; files of the model were read as a whole by then.
    """
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, draw, site = stage.job, stage.draw.child("custom"), stage.job.job.build["site"]
    job.start()
    at = stage.mark(job.begin + draw.span(2_900, 9_000), "code of a model is not allowed")
    many, model = draw.whole(8, 30), draw.pick(("speech-lm-1b", "asr-moe-3b", "audio-vae-xl"))
    reader_note(stage, at - 900 * MS, 0, f"models/{model}: {many} of {many} files here, {draw.between(0.9, 9):.1f} GiB")
    _of_all_targets(stage, at - 950 * MS, (2, 9), draw.whole(90, 400) << 20)
    module = f"{site}/transformers"
    frames = (
        sdk.Frame(stage.job.job.script, 212, "<module>", "main()"),
        sdk.Frame(stage.job.job.script, 166, "main", "model = AutoModel.from_pretrained(options.model)", True),
        sdk.Frame(
            f"{module}/models/auto/auto_factory.py",
            531,
            "from_pretrained",
            "config, kwargs = AutoConfig.from_pretrained(",
        ),
        sdk.Frame(
            f"{module}/models/auto/configuration_auto.py",
            1113,
            "from_pretrained",
            "trust_remote_code = resolve_trust_remote_code(",
        ),
        sdk.Frame(f"{module}/dynamic_module_utils.py", 676, "resolve_trust_remote_code", "raise ValueError("),
    )
    name = f"/local/models/{model}"
    text = f"ValueError: The repository for {name} contains custom code which must be executed to correctly load the "
    text += f"model. You can inspect the repository content at https://hf.co/{name}.\nPlease pass the argument "
    over = each_raises(stage, at, f"{text}`trust_remote_code=True` to allow custom code to be run.", frames)
    made = of_all(stage.innocent("software"))
    return stage.close("The model before this one had none.", (made,), until=over)


@kind(hangs=False, trains=False)
def sizes_of_splits_disagree(stage: Stage) -> Scenario:
    """A card of a data set counts what was there before some of it was withdrawn (datasets#3750, #6896, peft PR 2207).

    To acquit: rank 0 has read all parts that its list has, none was refused; what is compared with is a card of theirs.
    """
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, draw, site = stage.job, stage.draw.child("sizes"), stage.job.job.build["site"]
    job.start()
    at = stage.mark(job.begin + draw.span(9_000, 31_000), "a card counts other samples than there are")
    parts, more = draw.whole(40, 400), draw.whole(90_000, 900_000)
    less, each = more - draw.whole(90, 9_000), draw.whole(9_000, 31_000)
    shards = f"[{', '.join(str(less // 3 + turn) for turn in (0, 1))}, {less - 2 * (less // 3) - 1}]"
    said = f"train: {parts} of {parts} parts read from ais://{stage.bucket}/parquet, none refused, {less} rows"
    reader_note(stage, at - 300 * MS, 0, said)
    _of_all_targets(stage, at - 900 * MS, (9, 40), draw.whole(90, 200) << 20)
    frames = (
        sdk.Frame(job.job.script, 212, "<module>", "main()"),
        sdk.Frame(job.job.script, 172, "main", "corpus = load_dataset(options.corpus, streaming=False)", True),
        sdk.Frame(f"{site}/datasets/load.py", 2096, "load_dataset", "builder_instance.download_and_prepare("),
        sdk.Frame(f"{site}/datasets/builder.py", 924, "download_and_prepare", "self._download_and_prepare("),
        sdk.Frame(
            f"{site}/datasets/builder.py", 1018, "_download_and_prepare", "verify_splits(self.info.splits, split_dict)"
        ),
        sdk.Frame(
            f"{site}/datasets/utils/info_utils.py",
            77,
            "verify_splits",
            "raise NonMatchingSplitsSizesError(str(bad_splits))",
        ),
    )
    expected = (
        f"SplitInfo(name='train', num_bytes={more * each}, num_examples={more}, shard_lengths=None, dataset_name=None)"
    )
    recorded = f"SplitInfo(name='train', num_bytes={less * each}, num_examples={less}, shard_lengths={shards}, "
    recorded += "dataset_name='parquet')"
    text = f"datasets.exceptions.NonMatchingSplitsSizesError: [{{'expected': {expected}, 'recorded': {recorded}}}]"
    over = each_raises(stage, at, text, frames)
    made = of_all(stage.innocent("data", also=("software",)))
    return stage.close("Speakers have withdrawn their consent, and their rows are gone.", (made,), until=over)


@kind(hangs=False, trains=False, hosts=2, torch_before=215)
def libraries_of_nccl_differ(stage: Stage) -> Scenario:
    """The image on one host has another NCCL: the first communicator of all is refused (NVIDIA/nccl, init.cc).

    To acquit: NCCL itself compares its versions, rank by rank; the first collective was not done, nothing was read.
    """
    beside(stage, tenth_unrest.tenant_tokens_refused_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw, order = stage.job, stage.job.job, stage.draw.child("versions"), stage.job.job.torch.order
    job.start()
    node, last = own.node_of(stage.culprit), 0
    at = stage.mark(job.begin + draw.span(300, 1_900), f"NCCL of {own.hosts[node]} is another one")
    release = since(NCCL, order)
    major, minor, patch = map(int, release.split("."))
    usual, other = (major * 10_000 + (minor - less) * 100 + patch for less in (0, 1))
    far = next(rank for rank in range(own.world) if own.node_of(rank) != node)
    what = "invalid usage (run with NCCL_DEBUG=WARN for details)\n"
    what += "ncclInvalidUsage: This usually reflects invalid usage of NCCL library."
    for rank in speakers(stage):
        is_odd = own.node_of(rank) == node
        whom, its, mine = (far, usual, other) if is_odd else (own.ranks_of(node)[0], other, usual)
        said = f"Mismatched NCCL version detected : rank {whom} version {its} rank {rank} version {mine}"
        then, shown = at + draw.span(1, 300), f"{major}.{minor - 1}.{patch}" if is_odd else release
        nccl_warned(stage, then, rank, f"init.cc:{since(COMPARED, order)}", said)
        text = nccl_error(stage, what, said, shown)
        job.raise_on(then + 4 * MS, rank, sdk.traceback(sdk.Raised(loss_frames(stage, "dist.barrier()"), text)))
        last = max(last, then)
    over = all_end(stage, last)
    made = of_all(stage.innocent("software", also=("infrastructure", "gpu_fabric", "network")))
    return stage.close("A host has kept the image of last month, whose tag is the same.", (made,), until=over)


@kind(hangs=False, lead_s=70.0)
def sweep_stops_a_run(stage: Stage) -> Scenario:
    """A search for hyperparameters stops a run that is worse than others, and well (wandb#698, early_terminate).

    To acquit: the agent of the sweep says that it was told to stop this run; all steps were as long as ever until then.
    """
    job, own, draw = stage.job, stage.job.job, stage.draw.child("sweep")
    stage.open()
    beside(stage, own_unrest.tenant_full_in_window)
    beside(stage, commotion.reads_recover)
    unrest.unsettled(
        stage, (commotion.throttled_in_window, former_unrest.neighbour_reads_slowly, unrest.entries_missing)
    )
    at, run = stage.at, draw.token(8, LOWER)

    def told(then: int, text: str) -> None:
        job.agent(then, 0, f"{comma_stamp(then, own.zone)} - wandb.wandb_agent - INFO - {text}")

    first = job.begin - seconds(draw.between(9, 14))
    told(first, "Agent received command: run")
    rates = f"learning_rate: {draw.between(0.0002, 0.004):.7f}\n\twarmup_steps: {draw.whole(2, 30) * 100}"
    told(first + 2 * MS, f"Agent starting run with config:\n\t{rates}")
    then = first + seconds(5)
    while then < at:
        told(then, f"Running runs: ['{run}']")
        then += seconds(draw.between(25, 31))
    stage.mark(at, "a sweep stops the run")
    told(at, "Agent received command: stop")
    told(at + MS, f"Stop: {run}")
    job.slurm(at + 20 * MS, 0, "srun: forcing job termination")
    job.slurm(at + 22 * MS, 0, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    job.slurm(at + 50 * MS, 0, torchrun.step_cancelled(own, at + 50 * MS))
    for host in range(len(own.hosts)):
        later = draw.span(700, 1_900) if host and own.layout not in ("slurm", "srun-l") else 0
        job.agent_signalled(at + 60 * MS + later, host)
    over = at + seconds(draw.between(3.1, 5.6))
    told(over, f"Cleaning up finished run: {run}")
    job.ended_at = over + MS
    own_unrest.killed_when_all_is_over(stage)
    made = of_all(stage.innocent("infrastructure", also=("software",)))
    return stage.close("Its loss is in the worse half after as many steps.", (made,))
