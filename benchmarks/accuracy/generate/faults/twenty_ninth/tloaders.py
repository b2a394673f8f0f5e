"""Loaders that wait for themselves, for their cores or for work that was done before; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth import unrest as eighth_unrest
from benchmarks.accuracy.generate.faults.eighth.stacks import py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, standing_in, watched
from benchmarks.accuracy.generate.faults.twenty_eighth import tunrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as upload_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as hang_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.callers import loader_timed_out
from benchmarks.accuracy.generate.faults.words.forked import py_spy_forked
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.workbenches import (
    forked_loader,
    loader_name,
    script_folder,
    waits_for_loaders,
)
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_ninth")

#: So many loaders of a rank read and decode what is to be skipped.
LOADERS = 12


@kind(reads=True)
def forked_loader_waits_in_polars(stage: Stage) -> Scenario:
    """A loader was forked after its rank had used Polars, whose threads it lacks (litData#823, polars#24162, #14219).

    To acquit: the part of the table had come whole, the stack of the forked loader stands in collect() and it has no
    connection open; the target that an operator restarts goes down long after all ranks wait.
    """
    stage.open()
    beside(stage, commotion.reads_recover)
    unrest.unsettled(stage, (unrest.entries_missing, eighth_unrest.tenant_lists_long))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("polars")
    pid, site = own.rank_pids[rank] + draw.whole(600, 4_000), own.build["site"]
    version, size = draw.pick(("1.9.0", "1.22.0", "1.31.0")), draw.whole(60_000_000, 240_000_000)
    told(stage, job.begin - 360 * MS, 0, "table", f"polars {version}, rows counted by scan_parquet in each rank")
    part, began = f"text/part-{draw.whole(0, 900):05d}.parquet", at - draw.span(600, 2_600)
    node = draw.pick(stage.cluster.up(began))
    stage.cluster.count(node, began, get_n=1, get_size=size, get_ns_total=draw.span(300, 1_900))
    told(stage, began, rank, "table", f"{part}: {size} of {size} bytes by read_all, handed to loader 0")
    stage.mark(at, f"a loader of rank {rank} waits for threads that were not forked")
    inner = (
        ("collect", f"{site}/polars/lazyframe/frame.py", 2407),
        ("wrapper", f"{site}/polars/_utils/deprecation.py", 97),
        ("rows_of", f"{script_folder(stage)}/table.py", 63),
        ("__getitem__", f"{script_folder(stage)}/dataset.py", 88),
    )
    after = min(draw.between(20, 38), own.timeout_s - 12)
    py_spy(stage, after, (waits_for_loaders(stage),))
    py_spy_forked(stage, after + 0.7, forked_loader(stage, *inner), pid)
    said = f"hang-watcher: /proc/{pid}: Threads 1, wchan futex_wait_queue, lsof -p {pid}: 0 sockets established"
    job.agent(at + seconds(after + 1.3), own.node_of(rank), said)
    stage.hang(at + 20 * MS, rank)
    hang_unrest.restarted_in_the_hang(stage)
    made = stage.innocent("data_loading_stall", rank, also=("software", "rank_hang"))
    return stage.close("The table was read by pyarrow until last week.", (made,))


def _skips(stage: Stage, rank: int, began: int, over: int, whole: int, until: int) -> int:
    """A rank tells how far it is with the batches that it has trained with before; the last number it tells."""
    draw, then, done = stage.draw.child("skips", rank), began + stage.draw.child("skips at", rank).span(3_000, 6_000), 0
    while then < min(over, until):
        done = whole * (then - began) // (over - began)
        read = draw.between(0.01, 0.05)
        decoded = LOADERS * (over - began) / whole / SEC * draw.between(0.9, 1.1)
        said = f"skipping: {done} of {whole} batches of this epoch, read {read:.2f} s, decoded {decoded:.2f} s each"
        told(stage, then, rank, "resume", said)
        then += draw.span(9_000, 14_000)
    return done


@kind(reads=True, lead_s=60.0)
def trained_batches_are_read_again_at_a_resume(stage: Stage) -> Scenario:
    """A job resumes in an epoch and reads all that it has trained with, to drop it (transformers, ignore_data_skip).

    To acquit: each rank tells that it skips batches, and how long one takes to be read and to be decoded; the others
    are through, the last one's recordings are longer; batches have come at once all the while.
    """
    stage.open(until_step=0)
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(
        stage, (loud.neighbour_reads_slowly, eighth_unrest.memory_is_low, upload_unrest.neighbour_loses_its_bucket)
    )
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("skip")
    began, whole = job.begin + 200 * MS, draw.whole(1_400, 4_000)
    told(
        stage,
        job.begin - 300 * MS,
        0,
        "resume",
        f"checkpoint of step {whole}, ignore_data_skip=False, {LOADERS} loaders a rank",
    )
    stage.mark(began, f"all ranks read {whole} batches again")
    end = at + own.timeout_s * SEC
    stage.load(job, began, min(end, at + 60 * SEC))
    for one in readers(stage)[:9]:
        over = at - draw.span(100, 9_000)
        _skips(stage, one, began, over, whole, over)
        told(stage, over, one, "resume", f"skipped {whole} batches in {(over - began) / SEC:.1f} s, going on")
    late = at + seconds(own.timeout_s * draw.between(1.3, 2.2))
    _skips(stage, rank, began, late, whole, end - SEC)
    main = standing_in(
        stage,
        178,
        ("poll", "/opt/conda/lib/python3.11/selectors.py", 415),
        ("get", "/opt/conda/lib/python3.11/multiprocessing/queues.py", 113),
        ("__next__", f"{own.build['site']}/torch/utils/data/dataloader.py", 708),
        ("skip_first_batches", f"{script_folder(stage)}/resume.py", 29),
    )
    py_spy(stage, min(draw.between(22, 40), own.timeout_s - 12), (main,))
    stage.hang(at, rank, step=0)
    made = stage.innocent("data_loading_stall", rank, also=("software", "rank_hang"))
    return stage.close("The state of the sampler is not in the checkpoint.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def loaders_share_the_core_of_an_import(stage: Stage) -> Scenario:
    """An import binds a rank to one core, and its loaders inherit that (pytorch and numpy issues, affinity, OpenMP).

    To acquit: recordings of a batch are here in a fraction of a second and are decoded for half a minute; the host says
    that the loaders of this rank may use core 0 only, and that all other cores are idle.
    """
    stage.open()
    beside(stage, loud.neighbour_reads_slowly)
    unrest.unsettled(stage, (commotion.throttled_in_window, tunrest.readers_resume, unrest.entries_missing))
    job, own, rank, at, draw = stage.job, stage.job.job, stage.culprit, stage.at, stage.draw.child("core")
    limit, many, node = draw.pick((30, 40, 45)), draw.pick((8, 10, 12)), own.node_of(rank)
    told(stage, job.begin - 410 * MS, 0, "data", f"num_workers={many} timeout={limit} start_method=fork")
    cores = draw.pick((64, 96, 128))
    warned = f"OMP: Warning #123: Ignoring invalid OS proc ID {cores}; OMP_PROC_BIND=true, master thread on OS proc 0"
    told(stage, job.begin - 380 * MS, rank, "features", warned, "WARNING")
    over = at + limit * SEC + draw.span(3, 40)
    stage.mark(at, f"the loaders of rank {rank} share one core for a batch of long recordings")
    for turn in range(3):
        then, read = at + seconds(1.3) + turn * seconds(0.9), draw.between(0.1, 0.4)
        count = draw.pick((24, 32))
        one = draw.pick(stage.cluster.up(then))
        stage.cluster.count(one, then, get_n=count, get_size=count * 9_400_000, get_ns_total=count * draw.span(9, 40))
        said = f"batch {stage.step + turn}: {count} of {count} recordings of 10 min here after {read:.2f} s, decoding"
        told(stage, then, rank, "dataset", said)
    pids = [own.rank_pids[rank] + 200 + 3 * turn for turn in range(3)]
    for turn, pid in enumerate(pids):
        then = at + seconds(limit * (0.3 + 0.22 * turn))
        said = f"host-watcher: {loader_name(stage)} {pid} (child of rank {rank}) cpus_allowed_list 0, run queue of "
        watched(stage, then, node, f"{said}core 0: {many}, cores 1-{cores - 1} {draw.whole(91, 98)} % idle")
    told(stage, over - 900 * MS, rank, "dataset", f"batch {stage.step}: 5 of 32 recordings decoded after {limit - 2} s")
    loader_timed_out(stage, over, rank, limit)
    exits(stage, over, rank)
    made = stage.innocent("data_loading_stall", rank, also=("software", "infrastructure"))
    return stage.close("OMP_PROC_BIND came with the module of the compiler.", (made,))


@kind(culprit=0, lead_s=60.0)
def map_is_computed_anew_by_one_rank(stage: Stage) -> Scenario:
    """A tokenizer that was used has another hash, so a rank finds no cache of a map (huggingface/datasets#3847, #4506).

    To acquit: the others load the processed dev set from a cache, rank 0 tells of another fingerprint and counts the
    examples that it maps; what it maps lies on its own disk; a target is restarted while all wait.
    """
    stage.open(save_every=10_000)
    beside(stage, tunrest.withdrawn_left_out)
    unrest.unsettled(stage, (commotion.throttled_in_window, upload_unrest.tenant_uploads_break_off))
    own, at, draw = stage.job.job, stage.at, stage.draw.child("map")
    folder, known, other = "/scratch/hf/datasets/dev", draw.token(16, HEX), draw.token(16, HEX)
    whole, rate = draw.whole(900_000, 2_400_000), draw.between(1_900, 5_200)
    told(stage, at - 700 * MS, 0, "train", f"step {stage.step}: first validation, dev set is mapped by tokenize")
    for rank in readers(stage)[:9]:
        said = f"Loading cached processed dataset at {folder}/cache-{known}.arrow"
        told(stage, at - draw.span(60, 400), rank, "datasets.arrow_dataset", said)
    told(
        stage, at - 300 * MS, 0, "datasets.arrow_dataset", f"Caching processed dataset at {folder}/cache-{other}.arrow"
    )
    stage.mark(at - 300 * MS, "rank 0 maps the dev set anew")
    end = at + own.timeout_s * SEC
    then = at + draw.span(4_000, 7_000)
    while then < end - SEC:
        spent = (then - at) / SEC
        done = min(int(spent * rate), whole - 1)
        share = 100 * done // whole
        said = f"Map: {share:3d}%|{'#' * (share // 10):<10}| {done}/{whole} [{spent:.0f}s, {rate:.2f} examples/s]"
        told(stage, then, 0, "datasets", said)
        then += draw.span(9_000, 14_000)
    site = own.build["site"]
    main = standing_in(
        stage,
        203,
        ("_batch_encode_plus", f"{site}/transformers/tokenization_utils_fast.py", 553),
        ("tokenize", f"{script_folder(stage)}/dev.py", 31),
        ("apply_function_on_filtered_inputs", f"{site}/datasets/arrow_dataset.py", 3381),
        ("_map_single", f"{site}/datasets/arrow_dataset.py", 3482),
        ("map", f"{site}/datasets/arrow_dataset.py", 3093),
        ("make_dev_set", f"{script_folder(stage)}/dev.py", 44),
        state="active+gil",
    )
    py_spy(stage, min(draw.between(22, 40), own.timeout_s - 12), (main,))
    stage.hang(at, 0)
    hang_unrest.restarted_in_the_hang(stage)
    made = stage.innocent("rank_hang", 0, also=("software", "data_loading_stall"))
    return stage.close("Rank 0 alone prints examples, with the tokenizer that the map is to use.", (made,))
