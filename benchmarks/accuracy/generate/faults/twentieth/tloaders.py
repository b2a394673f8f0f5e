"""Loaders, their processes and their samples that no storage has harmed, of the twentieth part; storage is loud.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighteenth import tunrest as loud
from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, main_thread, py_spy
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as former_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, standing_in, watched
from benchmarks.accuracy.generate.faults.twentieth import tunrest as own_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk
from fixtures.generator.draw import HEX, LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twentieth")
CONNECTION = f"{PYTHON}/multiprocessing/connection.py"
#: How a client of multiprocessing comes to a socket of the own host.
CONNECTS = (
    sdk.Frame(CONNECTION, 524, "Client", "c = SocketClient(address)"),
    sdk.Frame(CONNECTION, 652, "SocketClient", "s.connect(address)"),
)


def _sent(stage: Stage, at: int, size: int, spent: int, salt: int = 0) -> None:
    """Some target has sent an object as a whole."""
    node = stage.cluster.target(stage.draw.child("sent", salt).whole(0, 99))
    stage.cluster.count(node, at, get_n=1, get_ns_total=spent, get_size=size)


def _received(stage: Stage) -> tuple[sdk.Frame, ...]:
    """From the next batch of a loader to a socket of the process that has it in shared memory."""
    site = stage.job.job.build["site"]
    sharer = f"{PYTHON}/multiprocessing/resource_sharer.py"
    return (
        sdk.Frame(stage.job.job.script, 88, "fetch", "batch = next(self.loader)", True),
        sdk.Frame(
            f"{site}/torch/utils/data/dataloader.py",
            1275,
            "_try_get_data",
            "data = self._data_queue.get(timeout=timeout)",
        ),
        sdk.Frame(f"{PYTHON}/multiprocessing/queues.py", 122, "get", "return _ForkingPickler.loads(res)"),
        sdk.Frame(f"{site}/torch/multiprocessing/reductions.py", 541, "rebuild_storage_fd", "fd = df.detach()"),
        sdk.Frame(sharer, 57, "detach", "with _resource_sharer.get_connection(self._id) as conn:"),
        sdk.Frame(sharer, 86, "get_connection", "c = Client(address, authkey=process.current_process().authkey)"),
        *CONNECTS,
    )


@kind(reads=True, hangs=False, lead_s=75.0, without=RESTARTS)
def temporary_folder_is_tidied_up(stage: Stage) -> Scenario:
    """What is old in /tmp is removed, a loader's socket as well: FileNotFoundError (cyto-dl#65; systemd-tmpfiles docs).

    To acquit: the stack ends in a connect to a socket of the own host, no name of an object is in it; the host's
    systemd-tmpfiles has just run; entries that a killed target owed were missing before, and batches went on.
    """
    stage.open()
    beside(stage, own_unrest.killed_in_window)
    unrest.unsettled(
        stage, (unrest.entries_missing, tenth_unrest.tenant_batches_fail, former_unrest.disk_lost_in_window)
    )
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("tidied")
    node = job.job.node_of(rank)
    gone = stage.mark(at - draw.span(900, 6_000), "/tmp is tidied up")
    watched(
        stage,
        gone - draw.span(300, 800),
        node,
        "systemd[1]: Starting systemd-tmpfiles-clean.service - Cleanup of Temporary Directories...",
    )
    watched(stage, gone, node, "systemd[1]: systemd-tmpfiles-clean.service: Deactivated successfully.")
    caller = sdk.main_frames(job.job, stage.step, *_received(stage))
    raised = sdk.Raised(caller, "FileNotFoundError: [Errno 2] No such file or directory")
    job.raise_on(at, rank, sdk.traceback(raised))
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", rank, also=("software", "data_loading_stall"))
    return stage.close("Sockets of a loader that runs for weeks are old.", (made,))


@kind(reads=True, hangs=False, lead_s=75.0, without=RESTARTS)
def manager_of_a_cache_is_gone(stage: Stage) -> Scenario:
    """Loader processes share a dictionary whose manager has ended: refused (Python docs, managers; DeepMod2#41).

    To acquit: what refuses is a socket of multiprocessing.managers; the host has ended that process, whose number the
    rank printed, for its memory.
    """
    stage.open()
    beside(stage, own_unrest.killed_in_window)
    unrest.unsettled(stage, (unrest.entries_missing, loud.neighbour_reads_slowly, former_unrest.tenant_full_in_window))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("manager")
    node, pid = job.job.node_of(rank), job.job.rank_pids[rank] + draw.whole(21, 33)
    reader_note(stage, job.begin + 90 * MS, rank, f"cache of decoded samples: manager pid {pid}, at most 64 GiB")
    killed = stage.mark(at - draw.span(40, 700), f"the manager of the cache of rank {rank} is killed")
    rss = draw.whole(61, 90) << 20
    said = f"Memory cgroup out of memory: Killed process {pid} (python3) total-vm:{rss + 9_410_220}kB, "
    said += f"anon-rss:{rss}kB, file-rss:2048kB"
    watched(stage, killed, node, f"kernel: {said}")
    managers = f"{PYTHON}/multiprocessing/managers.py"
    frames = (
        sdk.Frame("/workspace/asr/cache.py", 47, "__iter__", "if key in self.shared:", True),
        sdk.Frame("<string>", 2, "__contains__", "return self._callmethod('__contains__', args, kwds)"),
        sdk.Frame(managers, 818, "_callmethod", "self._connect()"),
        sdk.Frame(managers, 805, "_connect", "conn = self._Client(self._token.address, authkey=self._authkey)"),
        *CONNECTS,
    )
    in_worker(stage, at, rank, "ConnectionRefusedError", "[Errno 111] Connection refused", frames)
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    made = stage.innocent("infrastructure", rank, also=("software", "data_loading_stall"))
    return stage.close("What was put into the cache was never taken out.", (made,))


@kind(reads=True, lead_s=60.0)
def collate_aligns_for_minutes(stage: Stage) -> Scenario:
    """A batch is collated in the rank itself, in pure Python, and an odd one takes minutes (PyTorch docs, collate_fn).

    To acquit: the objects of the batch are said to be here, with their bytes; the stack stands, active, in the script's
    collate function, and no thread in a socket.
    """
    stage.open()
    beside(stage, former_unrest.disk_lost_in_window)
    unrest.unsettled(stage, (own_unrest.turned_away_in_window, commotion.reads_recover, loud.neighbour_reads_slowly))
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("collate")
    site, many = own.build["site"], draw.whole(24, 64)
    stage.mark(at, f"rank {rank} collates an odd batch")
    size, longest = draw.whole(90, 390), draw.between(1_900, 5_400)
    _sent(stage, at - 200 * MS, size << 20, draw.span(90, 400))
    reader_note(
        stage,
        at - 40 * MS,
        rank,
        f"batch: {many} of {many} objects here, {size} MiB, longest {longest:.1f} s; aligning",
    )
    folder = own.script.rsplit("/", 1)[0]
    inner = (
        ("cost_matrix", f"{folder}/align.py", draw.pick((38, 39, 41))),
        ("align", f"{folder}/align.py", 66),
        ("collate", f"{folder}/collate.py", 29),
        ("fetch", f"{site}/torch/utils/data/_utils/fetch.py", 54),
        ("_next_data", f"{site}/torch/utils/data/dataloader.py", 757),
        ("__next__", f"{site}/torch/utils/data/dataloader.py", 708),
    )
    after = min(draw.between(24, 44), own.timeout_s - 14)
    py_spy(stage, after, (standing_in(stage, 187, *inner, state="active"),))
    stage.hang(at + 60 * MS, rank)
    loud.killed_in_the_hang(stage)
    made = stage.innocent("data_loading_stall", rank, also=("rank_hang", "software", "data"))
    return stage.close("An alignment costs the square of a length, and one cut is a whole audiobook.", (made,))


def _waits_for_the_lock(folder: str) -> Thread:
    """A loader process waits for the lock of a cache."""
    frames = (
        ("__enter__", f"{PYTHON}/multiprocessing/synchronize.py", 95),
        ("get", f"{folder}/diskcache.py", 52),
        ("read", f"{folder}/samples.py", 71),
        ("_loop", f"{folder}/loaders.py", 118),
        ("run", f"{PYTHON}/multiprocessing/process.py", 108),
        ("_bootstrap", f"{PYTHON}/multiprocessing/process.py", 314),
    )
    return Thread("MainThread", frames)


@kind(reads=True, lead_s=60.0)
def lock_of_a_process_that_has_ended(stage: Stage) -> Scenario:
    """A loader process ended while it held a lock that all of them share (Python docs, multiprocessing.Lock).

    To acquit: the process was ended by a fault in native code, which the kernel tells; another one waits for the lock
    of a cache of the own host; no thread stands in a socket.
    """
    stage.open()
    beside(stage, own_unrest.turned_away_in_window)
    unrest.unsettled(
        stage, (former_unrest.disk_lost_in_window, commotion.reads_recover, own_unrest.neighbour_reads_cold)
    )
    own, rank, at, draw = stage.job.job, stage.culprit, stage.at, stage.draw.child("lock")
    node, folder, pid = own.node_of(rank), own.script.rsplit("/", 1)[0], own.rank_pids[rank]
    ended = stage.mark(at - draw.span(300, 1_900), f"a loader process of rank {rank} ends with a lock in its hand")
    base, library = (
        f"7f{draw.token(7, HEX)}000",
        draw.pick(("libavcodec.so.60.31.102", "libopus.so.0.9.0", "libsndfile.so.1.0.37")),
    )
    where = f"{int(base, 16) + draw.whole(9_000, 90_000):016x}"
    fault = f"python3[{pid + 61}]: segfault at {draw.whole(0, 80):x} ip {where} sp 00007ffd{draw.token(8, HEX)} error 4"
    watched(stage, ended, node, f"kernel: {fault} in {library}[{base}+{draw.whole(40, 99)}0000]")
    reader_note(stage, at - 30 * MS, rank, f"loader pid {pid + 61} has ended, a new one is started as pid {pid + 402}")
    waits = main_thread(
        stage,
        ("poll", f"{PYTHON}/selectors.py", 415),
        ("wait", CONNECTION, 948),
        ("next_batch", f"{folder}/loaders.py", 171),
    )
    after = min(draw.between(24, 40), own.timeout_s - 16)
    py_spy(stage, after, (waits,))
    py_spy(stage, after + 1.1, (_waits_for_the_lock(folder),), pid + 402)
    stage.hang(at + 90 * MS, rank)
    loud.killed_in_the_hang(stage)
    made = stage.innocent("software", rank, also=("rank_hang", "data_loading_stall", "data"))
    return stage.close("The loader is the script's own, and starts processes again.", (made,))


def _augmented(site: str) -> tuple[sdk.Frame, ...]:
    """From a data set to Albumentations' check of a box."""
    module = f"{site}/albumentations/core"
    return (
        sdk.Frame("/workspace/asr/boxes.py", 64, "__iter__", "seen = self.augment(image=image, bboxes=boxes)", True),
        sdk.Frame(f"{module}/composition.py", 207, "__call__", "p.preprocess(data)"),
        sdk.Frame(f"{module}/utils.py", 83, "preprocess", "data[data_name] = self.check_and_convert("),
        sdk.Frame(
            f"{module}/bbox_utils.py", 158, "convert_to_albumentations", "return convert_bboxes_to_albumentations("
        ),
        sdk.Frame(f"{module}/bbox_utils.py", 452, "check_bbox", "raise ValueError("),
    )


@kind(reads=True, hangs=False, lead_s=60.0)
def box_beyond_its_picture(stage: Stage) -> Scenario:
    """A box of an annotation ends beyond its picture: refused (albumentations#459, #922, #947).

    To acquit: the picture came whole and has a size, which is said; the error is about a number of its annotation.
    """
    stage.open()
    beside(stage, commotion.tenant_meets_bad_data)
    unrest.unsettled(
        stage, (own_unrest.turned_away_in_window, former_unrest.disk_lost_in_window, unrest.entries_missing)
    )
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("box")
    wide, high = draw.pick((640, 1024, 1280)), draw.pick((480, 640, 720))
    name = f"train/{draw.token(2, LOWER)}/img-{draw.whole(0, 999_999):06d}"
    stage.mark(at, f"rank {rank} has a box that ends beyond its picture")
    left, top, over = draw.between(0.6, 0.9), draw.between(0.1, 0.4), 1 + draw.whole(1, 60) / wide
    size = draw.whole(90, 900) << 10
    _sent(stage, at - 90 * MS, size, draw.span(2, 20))
    said = f"{name}.jpg: {size} of {size} bytes, {wide}x{high}; {name}.json: {draw.whole(1, 9)} boxes"
    reader_note(stage, at - 60 * MS, rank, said)
    box = f"({left}, {top}, {over}, {top + draw.between(0.1, 0.5)}, {draw.whole(0, 79)})"
    in_worker(
        stage,
        at,
        rank,
        "ValueError",
        f"Expected x_max for bbox {box} to be in the range [0.0, 1.0], got {over}.",
        _augmented(job.job.build["site"]),
    )
    exits(stage, at, rank)
    unrest.hung_up_on(stage)
    return stage.close(
        "Pictures were made smaller, their annotations were rounded up.",
        (stage.innocent("data", rank, also=("software",)),),
    )


@kind(reads=True, hangs=False, lead_s=60.0)
def line_has_one_field_more(stage: Stage) -> Scenario:
    """A list in CSV has a comma in one of its texts, and pandas another number of fields (pandas docs, on_bad_lines).

    To acquit: the list has all of its bytes and the digest that it was published with; the error names a line.
    """
    stage.open()
    beside(stage, own_unrest.neighbour_reads_cold)
    unrest.unsettled(
        stage, (commotion.tenant_meets_bad_data, own_unrest.turned_away_in_window, commotion.reads_recover)
    )
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("field")
    site, part, fields = job.job.build["site"], draw.whole(0, 255), draw.whole(5, 9)
    stage.mark(at, f"rank {rank} reads a list with a comma too many")
    size, digest = draw.whole(9_000_000, 90_000_000), draw.token(32, HEX)
    _sent(stage, at - 400 * MS, size, draw.span(30, 200))
    name = f"lists/part-{part:03d}.csv"
    reader_note(stage, at - 310 * MS, rank, f"{name}: {size} of {size} bytes, md5 {digest} as in lists/MD5SUMS")
    parsers = f"{site}/pandas/io/parsers"
    frames = (
        sdk.Frame("/workspace/asr/lists.py", 33, "__iter__", "rows = pd.read_csv(io.BytesIO(content))", True),
        sdk.Frame(f"{parsers}/readers.py", 1026, "read_csv", "return _read(filepath_or_buffer, kwds)"),
        sdk.Frame(f"{parsers}/readers.py", 626, "_read", "return parser.read(nrows)"),
        sdk.Frame(f"{parsers}/readers.py", 1923, "read", ") = self._engine.read(  # type: ignore[attr-defined]"),
        sdk.Frame(f"{parsers}/c_parser_wrapper.py", 234, "read", "chunks = self._reader.read_low_memory(nrows)"),
        sdk.Frame("parsers.pyx", 2061, "pandas._libs.parsers.raise_parser_error", "raise ParserError(message)"),
    )
    line = draw.whole(90, 190_000)
    text = f"Error tokenizing data. C error: Expected {fields} fields in line {line}, saw {fields + 1}\n"
    in_worker(stage, at, rank, "pandas.errors.ParserError", text, frames)
    exits(stage, at, rank)
    former_unrest.killed_when_all_is_over(stage)
    return stage.close(
        "Transcripts have commas since this release of the corpus.", (stage.innocent("data", rank, also=("software",)),)
    )
