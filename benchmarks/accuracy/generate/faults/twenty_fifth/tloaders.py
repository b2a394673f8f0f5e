"""Loader processes and their threads that end or stand still, of the twenty-fifth part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, dumped, main_thread, py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_fifth import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.twenty_fourth import tunrest as near_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.workbenches import (
    forked_loader,
    loader_killed,
    queue_frames,
    script_folder,
    waits_for_loaders,
)
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "twenty_fifth")

BUS = "Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm)."
RAISE = "Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared "


@kind(reads=True, hangs=False, lead_s=60.0)
def shm_too_small_for_loaders(stage: Stage) -> Scenario:
    """Loaders hand batches over in a /dev/shm of 64 MB, which is full one day (pytorch#5040, docker --shm-size).

    To acquit: the loader itself says that it has met a bus error for want of shared memory, the size of /dev/shm
    stands in the log; 429 was answered seconds before and the batches came.
    """
    stage.open()
    beside(stage, past_unrest.turned_away_in_window)
    unrest.unsettled(stage, (own_unrest.tenant_uploads_break_off, unrest.entries_missing))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("shm")
    node, whole = job.job.node_of(rank), draw.pick((64, 64, 128))
    loaders, pid = draw.pick((4, 6, 8)), job.job.rank_pids[rank] + draw.whole(30, 110)
    each = whole / loaders / draw.between(1.4, 2.4)
    told(stage, job.begin - 90 * MS, rank, "loader", f"{loaders} workers, prefetch_factor 2, pin_memory, fork")
    for one in (rank, *readers(stage)[:3]):
        said = f"batch of {draw.whole(24, 64)} clips: {each * draw.between(0.6, 0.9):.1f} MB of samples handed over"
        told(stage, at - draw.span(2_500, 12_000), one, "loader", said)
    free = draw.whole(0, 3)
    said = f"df: shm {whole}M {whole - free}M {free}M {100 - 100 * free // whole}% /dev/shm"
    watched(stage, at - 400 * MS, node, said)
    stage.mark(at - 20 * MS, f"/dev/shm below rank {rank} is full")
    job.say(at - 12 * MS, rank, f"ERROR: {BUS}")
    loader_killed(stage, at, rank, pid, f"{RAISE}memory limit")
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", rank, also=("software", "data_loading_stall"))
    return stage.close("Clips are twice as long since the last release of the corpus.", (made,))


@kind(hangs=False, lead_s=75.0)
def lists_copied_until_killed(stage: Stage) -> Scenario:
    """Loaders copy a list of millions of names page by page as they count references (pytorch#13246).

    To acquit: memory of the host grows from the start on, its kernel is out of memory and kills the rank, which says
    nothing itself; the disk that a target gives up has copies, and no read of the job fails.
    """
    stage.open()
    beside(stage, disk_unrest.disk_lost_in_window)
    unrest.unsettled(stage, (near_unrest.tenant_asks_for_removed_names, past_unrest.neighbour_reads_cold))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("copied")
    node, whole, pid = job.job.node_of(rank), draw.pick((503.4, 1007.2, 1511.6)), job.job.rank_pids[rank]
    many, loaders = draw.whole(21, 88), draw.pick((8, 12, 16))
    said = f"index: {many}.{draw.whole(0, 9)} million entries read into a list, {loaders} workers (fork)"
    told(stage, job.begin - 200 * MS, rank, "dataset", said)
    then, began = job.begin + draw.span(3_000, 6_000), job.begin
    while then < at - 2 * SEC:
        share = 0.38 + 0.6 * (then - began) / (at - began)
        said = f"MemTotal {whole:.1f}G MemAvailable {whole * (1 - share):.1f}G, no swap"
        watched(stage, then, node, f"node-exporter: {said}, {loaders * len(job.job.ranks_of(node))} pt_data_worker")
        then += draw.span(9_000, 14_000)
    stage.mark(at, f"the kernel of {job.job.hosts[node]} kills rank {rank}")
    rss = int(whole * (1 << 20) / len(job.job.ranks_of(node)) * draw.between(0.21, 0.3))
    watched(
        stage,
        at - 60 * MS,
        node,
        "kernel: pt_data_worker invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, "
        "oom_score_adj=0",
    )
    said = f"kernel: Out of memory: Killed process {pid} (python3) total-vm:{rss + 61_204_480}kB, anon-rss:{rss}kB, "
    said += f"file-rss:118784kB, shmem-rss:{draw.whole(2, 9) * 1_048_576}kB, UID:0 pgtables:{rss // 490}kB "
    watched(stage, at + 3 * MS, node, said + "oom_score_adj:0")
    job.agents_end([Exit(rank, at + 90 * MS, -9)], at + 90 * MS)
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", rank, also=("software",))
    return stage.close("The index has four times as many names as that of last month.", (made,))


@kind(reads=True, hangs=False, lead_s=60.0)
def no_descriptor_for_a_tensor(stage: Stage) -> Scenario:
    """Each tensor of a loader comes with a file descriptor, and a process may have 1024 (pytorch#973, #11201).

    To acquit: the exception rises where torch.multiprocessing receives a tensor that was read and decoded, and open
    files of the rank reach the limit that the log names; the 404s are of a neighbour's bucket.
    """
    stage.open()
    beside(stage, own_unrest.neighbour_loses_its_bucket)
    unrest.unsettled(stage, (commotion.reads_recover, own_unrest.tenant_uploads_break_off))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("descriptor")
    limit, site, node = draw.pick((1024, 1024, 4096)), job.job.build["site"], job.job.node_of(rank)
    told(stage, job.begin - 70 * MS, rank, "dataset", "keeps the features of an epoch in a list of tensors")
    then, began = job.begin + draw.span(3_000, 7_000), job.begin
    while then < at - 2 * SEC:
        share = 0.2 + 0.78 * (then - began) / (at - began)
        said = f"proc-stat: pid {job.job.rank_pids[rank]} {int(limit * share)} fds (RLIMIT_NOFILE {limit}:524288)"
        watched(stage, then, node, f"{said}, {int(limit * share) - draw.whole(90, 150)} of them /dev/shm/torch_*")
        then += draw.span(9_000, 15_000)
    stage.mark(at, f"rank {rank} has no descriptor left for a tensor")
    reduction = f"{PYTHON}/multiprocessing/reduction.py"
    loader = f"{site}/torch/utils/data/dataloader.py"
    frames = (
        *queue_frames(stage),
        sdk.Frame(loader, 1251, "_try_get_data", "data = self._data_queue.get(timeout=timeout)", True),
        sdk.Frame(f"{PYTHON}/multiprocessing/queues.py", 122, "get", "return _ForkingPickler.loads(res)", True),
        sdk.Frame(f"{site}/torch/multiprocessing/reductions.py", 541, "rebuild_storage_fd", "fd = df.detach()"),
        sdk.Frame(f"{PYTHON}/multiprocessing/resource_sharer.py", 58, "detach", "return reduction.recv_handle(conn)"),
        sdk.Frame(reduction, 189, "recv_handle", "return recvfds(s, 1)[0]"),
        sdk.Frame(reduction, 164, "recvfds", "raise RuntimeError('received %d items of ancdata' %"),
    )
    text = "RuntimeError: received 0 items of ancdata"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    exits(stage, at, rank)
    made = stage.innocent("software", rank, also=("infrastructure", "data_loading_stall"))
    return stage.close("A cache of features was added, and the limit of the queue is that of old days.", (made,))


@kind(reads=True, lead_s=60.0)
def prefetch_thread_has_died(stage: Stage) -> Scenario:
    """A thread that fills a queue has ended with an exception, and nobody asks for it (forum: queue.get hangs).

    To acquit: Python prints the thread's exception, in the program's own parser; the rank takes what the queue has and
    then waits for it, and no thread that fills it is left; a target is killed when the job hangs already.
    """
    stage.open()
    beside(stage, disk_unrest.tenant_full_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, near_unrest.neighbour_skips_bad_reads))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("thread")
    folder, number = script_folder(stage), draw.whole(3, 9)
    name = f"Thread-{number} (_fill)"
    bad = draw.pick(("'1O.24'", "'n/a'", "'12,8'", "''"))
    gone = at - 300 * MS - draw.whole(2, 5) * seconds(stage.params.step_s)
    stage.mark(gone, f"a thread of rank {rank} ends")
    error, code = f"ValueError: could not convert string to float: {bad}", 'begin = float(row["start"])'
    frames = (
        sdk.Frame(f"{PYTHON}/threading.py", 1045, "_bootstrap_inner", "self.run()"),
        sdk.Frame(f"{PYTHON}/threading.py", 982, "run", "self._target(*self._args, **self._kwargs)"),
        sdk.Frame(f"{folder}/prefetch.py", 44, "_fill", "samples = self.parse(blob)", True),
        sdk.Frame(f"{folder}/prefetch.py", 71, "parse", code, True),
    )
    told(stage, gone - 40 * MS, rank, "prefetch", f"batch {stage.step}: 48 of 48 objects here, parsing")
    job.say(gone, rank, f"Exception in thread {name}:\n" + sdk.traceback(sdk.Raised(frames, error)))
    main = main_thread(
        stage,
        ("wait", f"{PYTHON}/threading.py", 327),
        ("get", f"{PYTHON}/queue.py", 171),
        ("take", f"{folder}/prefetch.py", 58),
        ("next_batch", job.job.script, 94),
    )
    pinning = Thread(
        "Thread-2 (_monitor)", (("wait", f"{PYTHON}/threading.py", 331), ("run", f"{folder}/meter.py", 33))
    )
    py_spy(stage, min(draw.between(21, 42), job.job.timeout_s - 10), (main, pinning))
    stage.hang(at + 40 * MS, rank)
    loud.killed_in_the_hang(stage)
    made = stage.innocent("software", rank, also=("data", "rank_hang", "data_loading_stall"))
    return stage.close("A table of segments was edited by hand.", (made,))


@kind(reads=True, lead_s=60.0)
def forked_loader_lacks_a_thread(stage: Stage) -> Scenario:
    """A loader is forked of a rank that has used a file system of fsspec: it waits for a thread that was not forked.

    From s3fs and fsspec, issues on forks in loaders. To acquit: the loader's only thread waits in fsspec's sync, its
    thread of input and output is not there, and it has no socket at all; a target is restarted in the hang.
    """
    stage.open()
    beside(stage, commotion.throttled_in_window)
    unrest.unsettled(stage, (own_unrest.tenant_uploads_break_off, loud.neighbour_reads_slowly))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("fork")
    site, node, pid = job.job.build["site"], job.job.node_of(rank), job.job.rank_pids[rank] + draw.whole(200, 900)
    told(stage, at - 90 * MS, rank, "data", f"epoch 1 begins, {draw.whole(2, 4)} workers are forked again")
    stage.mark(at, f"a loader of rank {rank} waits for a thread that is not there")
    loader = forked_loader(
        stage,
        ("wait", f"{PYTHON}/threading.py", 331),
        ("wait", f"{PYTHON}/threading.py", 629),
        ("sync", f"{site}/fsspec/asyn.py", 91),
        ("wrapper", f"{site}/fsspec/asyn.py", 118),
        ("__getitem__", f"{script_folder(stage)}/dataset.py", 52),
    )
    after = min(draw.between(20, 34), job.job.timeout_s - 14)
    py_spy(stage, after, (waits_for_loaders(stage),))
    said = f"hang-watcher: worker {pid} of rank {rank}, py-spy dump --pid {pid}"
    rows = dumped(job.job, pid, f"-u {job.job.script}", (loader,))
    job.agent(at + seconds(after + 0.9), node, "\n".join([said, *rows]))
    said = f"hang-watcher: ss -tnp: no connection of pid {pid}"
    job.agent(at + seconds(after + 1.4), node, said)
    stage.hang(at + 40 * MS, rank)
    near_unrest.restarted_in_the_hang(stage)
    made = stage.innocent("software", rank, also=("rank_hang", "data_loading_stall"))
    return stage.close("The manifest is read through s3fs in the rank itself since last week.", (made,))
