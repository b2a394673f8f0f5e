"""Loader processes that fail on their own host, of the twenty-first part; storage is innocent and mostly loud.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, main_thread, py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as disk_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, standing_in, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as past_unrest
from benchmarks.accuracy.generate.faults.twenty_first import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.forked import py_spy_forked
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_first")


def _waits_for_a_batch(stage: Stage) -> tuple[sdk.Frame, ...]:
    """From the script's main to the queue that loader processes fill."""
    loader = f"{stage.job.job.build['site']}/torch/utils/data/dataloader.py"
    return sdk.main_frames(
        stage.job.job,
        stage.step,
        sdk.Frame(stage.job.job.script, 88, "fetch", "batch = next(self.loader)", True),
        sdk.Frame(loader, 1291, "_get_data", "success, data = self._try_get_data()"),
        sdk.Frame(loader, 1251, "_try_get_data", "data = self._data_queue.get(timeout=timeout)"),
    )


def _loader_died(stage: Stage, at: int, rank: int, pid: int, signal: str) -> None:
    """A loader process is ended by a signal: the rank hears of it while it waits for a batch."""
    site = stage.job.job.build["site"]
    loader, waits = f"{site}/torch/utils/data/dataloader.py", _waits_for_a_batch(stage)
    handler = sdk.Frame(
        f"{site}/torch/utils/data/_utils/signal_handling.py", 73, "handler", "_error_if_any_worker_fails()"
    )
    first = sdk.Raised(
        (
            *waits[-1:],
            sdk.Frame(f"{PYTHON}/multiprocessing/queues.py", 113, "get", "if not self._poll(timeout):"),
            handler,
        ),
        f"RuntimeError: DataLoader worker (pid {pid}) is killed by signal: {signal}",
        sdk.DIRECT,
    )
    last = sdk.Frame(loader, 1264, "_try_get_data", "raise RuntimeError(")
    text = f"RuntimeError: DataLoader worker (pid(s) {pid}) exited unexpectedly"
    stage.job.raise_on(at, rank, sdk.traceback(first, sdk.Raised((*waits[:-1], last), text)))


@kind(reads=True, hangs=False, lead_s=75.0, without=RESTARTS)
def shared_memory_of_a_container_is_small(stage: Stage) -> Scenario:
    """Loaders hand batches over in /dev/shm, which is 64 MB in a container (PyTorch docs, notes/multiprocessing).

    To acquit: the bus error is said to be of shared memory, and df of that host shows /dev/shm full; the target that
    was killed was back, and the batches that it had delayed were served.
    """
    stage.open()
    beside(stage, past_unrest.killed_in_window)
    unrest.unsettled(
        stage, (unrest.entries_missing, own_unrest.listings_of_a_tenant_fail, tenth_unrest.peer_reconnects)
    )
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("shm")
    node, pid, size = job.job.node_of(rank), job.job.rank_pids[rank] + draw.whole(31, 90), draw.pick((64, 64, 512))
    reader_note(stage, job.begin - 200 * MS, rank, f"loader: {draw.pick((4, 8))} workers, prefetch 4, pinned")
    longest = draw.between(31, 58)
    reader_note(stage, at - draw.span(400, 900), rank, f"bucket 9: 96 cuts, longest {longest:.1f} s, all here")
    stage.mark(at, f"/dev/shm of rank {rank} is full")
    watched(stage, at - draw.span(20, 90), node, f"df: shm {size}M {size}M 0 100% /dev/shm")
    head = "ERROR: Unexpected bus error encountered in worker."
    job.say(at, rank, f"{head} This might be caused by insufficient shared memory (shm).\n")
    why = "It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory "
    _loader_died(stage, at + 12 * MS, rank, pid, f"Bus error. {why}limit.")
    exits(stage, at + 12 * MS, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", rank, also=("software", "data_loading_stall"))
    return stage.close("Longer cuts are in the last bucket; the container has the runtime's own shm.", (made,))


@kind(reads=True, lead_s=60.0)
def ranks_have_unequal_shares(stage: Stage) -> Scenario:
    """Shards are not a multiple of the ranks: one is through with its epoch before the others (WebDataset FAQ, #225).

    To acquit: the rank says that its epoch is over, after fewer shards than others have, and its stack stands in a
    barrier of the script; its shards were read to their ends; what was turned away was served.
    """
    stage.open()
    beside(stage, past_unrest.turned_away_in_window)
    unrest.unsettled(stage, (disk_unrest.disk_lost_in_window, unrest.entries_missing, own_unrest.neighbour_is_reset))
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("shares")
    shards, site = draw.whole(9, 40), own.build["site"]
    others = readers(stage)
    total = (len(others) + 1) * shards - 1
    for one in (rank, *others[:6]):
        mine = shards - (one == rank)
        said = f"shard list: {total} shards over {len(others) + 1} readers, by size; {mine} for this one"
        reader_note(stage, stage.job.begin - draw.span(50, 400), one, said)
    stage.mark(at, f"rank {rank} is through with its epoch")
    samples = draw.whole(200, 900) * (shards - 1)
    said = f"epoch 0 is over: {shards - 1} of {shards - 1} shards read to the end, {samples} samples"
    reader_note(stage, at - 15 * MS, rank, f"{said}; waiting for the other ranks (gloo barrier, 1800 s)")
    stack = standing_in(
        stage,
        199,
        ("barrier", f"{site}/torch/distributed/distributed_c10d.py", 4819),
        ("wrapper", f"{site}/torch/distributed/c10d_logger.py", 83),
        ("end_of_epoch", own.script, 146),
    )
    py_spy(stage, min(draw.between(25, 45), own.timeout_s - 13), (stack,))
    stage.hang(at + 70 * MS, rank)
    loud.killed_in_the_hang(stage)
    made = stage.innocent("software", rank, also=("rank_hang", "data_loading_stall", "data", "collective_mismatch"))
    return stage.close("Some shards were removed from the list after an inspection.", (made,))


def _in_the_queue(stage: Stage) -> Thread:
    """The main thread of a rank that waits for its loaders."""
    own = stage.job.job
    loader = f"{own.build['site']}/torch/utils/data"
    return main_thread(
        stage,
        ("poll", f"{PYTHON}/selectors.py", 415),
        ("wait", f"{PYTHON}/multiprocessing/connection.py", 948),
        ("_poll", f"{PYTHON}/multiprocessing/connection.py", 440),
        ("get", f"{PYTHON}/multiprocessing/queues.py", 113),
        ("_try_get_data", f"{loader}/dataloader.py", 1251),
        ("_get_data", f"{loader}/dataloader.py", 1291),
        ("_next_data", f"{loader}/dataloader.py", 1332),
        ("__next__", f"{loader}/dataloader.py", 708),
        ("fetch", own.script, 88),
        ("next_batch", own.script, 94),
    )


def _in_resize(stage: Stage) -> Thread:
    """The main thread of a loader that resizes a picture; below it stand the frames of the rank that forked it."""
    own = stage.job.job
    folder = own.script.rsplit("/", 1)[0]
    loader = f"{own.build['site']}/torch/utils/data"
    return main_thread(
        stage,
        ("resize", f"{folder}/augment.py", 44),
        ("__getitem__", f"{folder}/scans.py", 71),
        ("fetch", f"{loader}/_utils/fetch.py", 52),
        ("_worker_loop", f"{loader}/_utils/worker.py", 349),
        ("run", f"{PYTHON}/multiprocessing/process.py", 108),
        ("_bootstrap", f"{PYTHON}/multiprocessing/process.py", 314),
        ("_launch", f"{PYTHON}/multiprocessing/popen_fork.py", 71),
        ("__init__", f"{PYTHON}/multiprocessing/popen_fork.py", 19),
        ("_Popen", f"{PYTHON}/multiprocessing/context.py", 281),
        ("_Popen", f"{PYTHON}/multiprocessing/context.py", 224),
        ("start", f"{PYTHON}/multiprocessing/process.py", 121),
        ("__init__", f"{loader}/dataloader.py", 1182),
        ("_get_iterator", f"{loader}/dataloader.py", 424),
        ("__iter__", f"{loader}/dataloader.py", 493),
        ("fetch", own.script, 86),
        ("next_batch", own.script, 94),
    )


@kind(reads=True, lead_s=60.0)
def threads_of_opencv_after_a_fork(stage: Stage) -> Scenario:
    """A forked loader resizes a large picture with threads that it does not have (opencv#5150, pytorch#1355, #45198).

    To acquit: the loader's stack stands in a resize, no read, with its picture here and decoded; the rank
    waits in the queue of its loader; the target was killed long after the hang had begun.
    """
    stage.open()
    beside(stage, own_unrest.neighbour_is_reset)
    unrest.unsettled(stage, (past_unrest.turned_away_in_window, commotion.throttled_in_window, unrest.entries_missing))
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("opencv")
    pid = own.rank_pids[rank] + draw.whole(30, 120)
    wide, high, size = draw.whole(6_000, 14_000), draw.whole(4_000, 9_000), draw.whole(9, 60)
    stage.mark(at, f"a loader of rank {rank} waits for threads that it does not have")
    name = f"scans/{draw.whole(0, 9_999_999):07d}.tif"
    reader_note(stage, at - 90 * MS, rank, f"pid {pid}: {name} is here, {size} MiB, decoded {wide}x{high}, resizing")
    after = min(draw.between(26, 44), own.timeout_s - 15)
    py_spy(stage, after, (_in_the_queue(stage),))
    py_spy_forked(stage, after + 1.3, _in_resize(stage), pid)
    stage.hang(at + 60 * MS, rank)
    loud.killed_in_the_hang(stage)
    made = stage.innocent("software", rank, also=("rank_hang", "data_loading_stall"))
    return stage.close("Smaller pictures are resized without threads.", (made,))


@kind(reads=True, hangs=False, lead_s=70.0)
def copies_of_a_list_fill_a_host(stage: Stage) -> Scenario:
    """Each loader touches the counts of a long Python list, and so copies it, till memory ends (pytorch#13246).

    To acquit: memory of the host grows from the beginning, by its loaders, and its kernel ends one of them.
    """
    stage.open()
    unrest.unsettled(stage, (commotion.tenant_backend_fails, tenth_unrest.disk_found_well, unrest.entries_missing))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("copies")
    node, pid, room = job.job.node_of(rank), job.job.rank_pids[rank] + draw.whole(30, 90), draw.pick((251, 503, 1007))
    workers, first = 8 * len(job.job.ranks_of(node)), room * draw.between(0.3, 0.45)
    reader_note(stage, job.begin - 90 * MS, rank, f"manifest: {draw.whole(18, 70)}.{draw.whole(0, 9)} M cuts in a list")
    then, span = job.begin + draw.span(1_000, 4_000), at - job.begin
    while then < at - SEC:
        used = first + (room - first) * (then - job.begin) / span
        each = (used - 40) / workers
        watched(stage, then, node, f"mem: used {used:.0f}G of {room}G, {workers} loaders of {each:.1f}G on average")
        then += seconds(15)
    rss = int((room - 40) / workers * (1 << 20) * draw.between(1.0, 1.05))
    said = f"Out of memory: Killed process {pid} (python3) total-vm:{rss + 21_044_112}kB, anon-rss:{rss}kB, "
    tail = f"pgtables:{rss // 510 + 2_100}kB oom_score_adj:0"
    stage.mark(at - 400 * MS, f"a loader of rank {rank} is killed for the memory of its host")
    watched(stage, at - 400 * MS, node, f"kernel: {said}file-rss:3120kB, shmem-rss:71168kB, UID:10422 {tail}")
    _loader_died(stage, at, rank, pid, "Killed. ")
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", rank, also=("software", "data_loading_stall"))
    return stage.close("The list has grown with each release of the corpus.", (made,))
