"""Faults of the job whose last words or stacks speak of reads of AIStore, of the eighth part; storage is innocent."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighth import unrest
from benchmarks.accuracy.generate.faults.eighth.stacks import BOOTSTRAP, Thread, faulthandler, main_thread, py_spy
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON, fetch_frames
from benchmarks.accuracy.generate.faults.words.requests import exhausted, retries
from benchmarks.accuracy.generate.faults.words.script import loss_frames
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisevents as ev
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import HEX
from fixtures.generator.model import Expect, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "eighth")

#: What was uploaded, how its reader fails on the text of a pointer, where and in which line.
POINTERS = (
    (
        "tokenizer_spe_bpe_v1024/tokenizer.model",
        "RuntimeError: Internal: src/sentencepiece_processor.cc(1101) "
        "[model_proto->ParseFromArray(serialized.data(), serialized.size())] ",
        "sentencepiece/__init__.py",
        "return _sentencepiece.SentencePieceProcessor_LoadFromSerializedProto(self, serialized)",
    ),
    (
        "tokenizer_v3/tokenizer.json",
        "Exception: expected value at line 1 column 1",
        "transformers/tokenization_utils_fast.py",
        "fast_tokenizer = TokenizerFast.from_buffer(content)",
    ),
    (
        "speaker_embeddings/mean.pt",
        "_pickle.UnpicklingError: invalid load key, 'v'.",
        "torch/serialization.py",
        "magic_number = pickle_module.load(f, **pickle_load_args)",
    ),
)


def _everywhere(stage: Stage, at: int, away: int = -1) -> None:
    """The first rank of each host but `away` has exited, and with it its host."""
    job = stage.job.job
    firsts = (next(one for one in job.ranks_of(node) if one != away) for node in range(len(job.hosts)))
    stage.job.agents_end([Exit(rank, at + rank * MS, 1) for rank in firsts], at + 100 * MS)


@kind(hangs=False, trains=False)
def tokenizer_is_pointer(stage: Stage) -> Scenario:
    """What somebody has uploaded as a tokenizer is a pointer of Git LFS: ranks get it whole and cannot use it."""
    beside(stage, unrest.buckets_change_early)
    job, draw, site = stage.job, stage.draw.child("pointer"), stage.job.job.build["site"]
    job.start()
    at = stage.mark(job.begin + seconds(0.5), "every rank reads a tokenizer that is a pointer")
    size = draw.whole(131, 135)
    name, text, file, code = draw.pick(POINTERS)
    frames = (
        *loss_frames(stage, f'tokenizer = load_from_ais("ais://models/{name}")'),
        sdk.Frame(
            job.job.script, 44, "load_from_ais", "return load(bucket.object(name).get_reader().read_all())", True
        ),
        sdk.Frame(f"{site}/{file}", 1602, "load", code),
    )
    for rank in range(job.job.world):
        then = at + rank * 330_000
        job.note(then - 60 * MS, rank, f"ais://models/{name}: {size} bytes read in {draw.whole(2, 9)} ms", line=43)
        job.raise_on(then, rank, sdk.traceback(sdk.Raised(frames, text)))
        stage.cluster.count(stage.cluster.target(len(name)), then - 62 * MS, get_n=1, get_size=size)
    _everywhere(stage, at + 800 * MS)
    made: Expect = replace(stage.innocent("data", also=("software",)), culprit_ranks=None)
    return stage.close("A folder was cloned without its large files, and uploaded.", (made,))


@kind(hangs=False, reads=True)
def shard_replaced(stage: Stage) -> Scenario:
    """Somebody uploads shards anew under their old names while the job reads them: s3fs finds another tag and stops."""
    cluster, job, rank, at = stage.cluster, stage.job, stage.culprit, stage.at
    draw, site = stage.draw.child("anew"), stage.job.job.build["site"]
    stage.open()
    then = stage.mark(at - draw.span(14_000, 30_000), "somebody begins to upload shards anew")
    while then < at + seconds(30):
        for node in cluster.up(then):
            count, size = draw.whole(0, 2), draw.whole(190, 420) << 20
            cluster.count(node, then, put_n=count, put_ns_total=count * draw.span(310, 900), put_size=count * size)
        then += SEC
    for other in readers(stage)[: draw.whole(1, 3)]:
        said = f"shards/train-{draw.whole(0, 4095):06d}.tar is newer than this epoch's list, starting it from its head"
        job.note(at - draw.span(900, 12_000), other, said, "W", 67)
    name = f"{stage.bucket}/shards/train-{draw.whole(0, 4095):06d}.tar"
    tag = f'\\"{draw.token(32, HEX)}\\"' if draw.chance(0.4) else draw.token(16, HEX)
    inner = (
        sdk.Frame(f"{site}/fsspec/spec.py", 2083, "read", "out = self.cache._fetch(self.loc, self.loc + length)", True),
        sdk.Frame(f"{site}/fsspec/caching.py", 234, "_fetch", "self.cache = self.fetcher(start, end)", True),
        sdk.Frame(f"{site}/s3fs/core.py", 2388, "_fetch_range", "raise FileExpired("),
    )
    text = f'The remote file corresponding to filename {name} and Etag "{tag}" no longer exists.'
    caller = fetch_frames(stage, "member = shard.read(size)", *inner)
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, f"s3fs.utils.FileExpired: [Errno 16] {text}")))
    job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)
    return stage.close(
        "Transcripts were corrected in place, in the middle of an epoch.",
        (stage.innocent("data", rank, also=("software",)),),
    )


@kind(reads=True)
def prefetcher_deadlocks(stage: Stage) -> Scenario:
    """Threads that read ahead wait for room in a full queue, and hold the lock that its only reader wants first."""
    beside(stage, unrest.tenant_lists_long)
    stage.open()
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("ahead")
    stage.mark(at, f"the reader of rank {rank} and its threads wait for each other")
    module, room = f"{stage.job.job.script.rsplit('/', 1)[0]}/aistore_prefetch.py", draw.pick((32, 64, 256))
    if draw.chance(0.6):
        text = f"queue of samples is full ({room}/{room}), 4 threads read ahead of step {stage.step}"
        stage.job.note(at - draw.span(1_500, 9_000), rank, text, "W", 92, "aistore_prefetch")
    full = (("wait", f"{PYTHON}/threading.py", 327), ("put", f"{PYTHON}/queue.py", 140))
    readers_of = [
        Thread(f"aistore-prefetch-{one}", (*full, ("_fill", module, 88), *BOOTSTRAP)) for one in range(draw.whole(1, 3))
    ]
    holder = Thread("aistore-prefetch-3", (*full, ("_refill_in_order", module, 117), *BOOTSTRAP))
    main = main_thread(stage, ("next_batch", module, 61), ("next_batch", stage.job.job.script, 94))
    after = min(draw.between(24, 45), stage.params.timeout_s - 9)
    (py_spy if draw.chance(0.6) else faulthandler)(stage, after, (main, *readers_of, holder))
    stage.hang(at + 40 * MS, rank)
    also = ("data_loading_stall", "rank_hang")
    return stage.close(
        "A lock around the order of samples was added to a loader that has run for a year.",
        (stage.innocent("software", rank, also=also),),
    )


def _loader_process(stage: Stage, where: tuple[str, str, int]) -> Thread:
    """A process that reads samples of AIStore one after another, and is in the middle of an expression."""
    site, folder = stage.job.job.build["site"], stage.job.job.script.rsplit("/", 1)[0]
    return Thread(
        "MainThread",
        (
            ("sub", f"{PYTHON}/re/__init__.py", 186),
            where,
            ("normalize", f"{folder}/textnorm.py", 160),
            ("__iter__", f"{folder}/ais_samples.py", 47),
            ("__iter__", f"{site}/aistore/pytorch/shard_reader.py", 118),
            ("fetch", f"{site}/torch/utils/data/_utils/fetch.py", 33),
            ("_worker_loop", f"{site}/torch/utils/data/_utils/worker.py", 351),
            ("run", f"{PYTHON}/multiprocessing/process.py", 108),
            ("_bootstrap", f"{PYTHON}/multiprocessing/process.py", 314),
            ("_main", f"{PYTHON}/multiprocessing/spawn.py", 135),
            ("spawn_main", f"{PYTHON}/multiprocessing/spawn.py", 122),
            ("<module>", "<string>", 1),
        ),
        "active+gil",
    )


@kind(reads=True)
def normaliser_backtracks(stage: Stage) -> Scenario:
    """A transcript sends a regular expression back and forth without end, in a loader process between two reads."""
    beside(stage, unrest.memory_is_low)
    stage.open()
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("expression")
    site, folder = job.job.build["site"], job.job.script.rsplit("/", 1)[0]
    stage.mark(at, f"a loader process of rank {rank} normalises one transcript without end")
    function, rule = draw.pick((("expand_numbers", 88), ("strip_markup", 54), ("split_sentences", 131)))
    worker = _loader_process(stage, (function, f"{folder}/textnorm.py", rule))
    loader = f"{site}/torch/utils/data/dataloader.py"
    waits = (
        ("wait", f"{PYTHON}/multiprocessing/connection.py", 947),
        ("poll", f"{PYTHON}/multiprocessing/connection.py", 257),
    )
    queue = (("get", f"{PYTHON}/multiprocessing/queues.py", 113), ("_try_get_data", loader, 1275))
    main = main_thread(stage, *waits, *queue, ("_next_data", loader, 1445), ("__next__", loader, 734))
    after, pid = min(draw.between(20, 30), stage.params.timeout_s / 2), job.job.rank_pids[rank] + draw.whole(90, 160)
    py_spy(stage, after, (main,))
    py_spy(stage, after + 0.6, (worker,), pid)
    if after * 2 < stage.params.timeout_s - 8:
        py_spy(stage, after * 2, (worker,), pid)
    stage.hang(at + 60 * MS, rank)
    also = ("software", "data", "rank_hang")
    return stage.close(
        "A transcript of forty thousand digits; the objects around it were read in milliseconds.",
        (stage.innocent("data_loading_stall", rank, also=also),),
    )


@kind(hangs=False, trains=False)
def timeout_of_other_unit(stage: Stage) -> Scenario:
    """A time-out is meant in seconds and set as if in minutes: clients give every read up after some milliseconds."""
    cluster, job, draw = stage.cluster, stage.job, stage.draw.child("unit")
    job.start()
    limit = draw.pick((0.005, 0.01, 0.02))
    at = stage.mark(job.begin + seconds(0.4), f"every rank waits {limit * 1000:g} ms for an answer")
    xact, last = cluster.start_batches(at + 2 * MS, draw.pick(cluster.up(at))), []
    for rank in range(job.job.world):
        own, node = draw.child("rank", rank), cluster.target(draw.whole(0, 99))
        path = f"/v1/ml/moss/{stage.bucket}?provider=ais&pid={stage.proxy_of(rank).node_id}"
        cause = sdk.read_timeout(node.address, node.ports[0]).replace("timeout=20", f"timeout={limit}")
        text, then = sdk.pool_error(node.address, node.ports[0], path, cause), at + own.span(20, 900)
        if rank < 64:
            for moment in (then, then + own.span(3_000, 9_000)):
                late = moment + seconds(limit) + own.span(8, 60)
                cluster.say(node, late, ev.broken_pipe(xact, node, stage.client(rank)))
                cluster.count(node, late, getbatch_n=1, err_getbatch_n=1)
        then = retries(stage, then, rank, own, limit + 0.002, text, at + seconds(28))
        exhausted(stage, then, rank, text)
        last.append((then, rank))
    firsts = [min(one for one in last if job.job.node_of(one[1]) == node) for node in range(len(job.job.hosts))]
    job.agents_end([Exit(rank, then + 700 * MS, 1) for then, rank in firsts], max(last)[0] + 800 * MS)
    also = ("data_loading_stall", "infrastructure")
    made: Expect = replace(stage.innocent("software", also=also), culprit_ranks=None)
    return stage.close("A configuration came from a loader that counted in other units.", (made,))


@kind(culprit=0, hangs=False, trains=False, torch_before=215)
def index_built_first(stage: Stage) -> Scenario:
    """Rank 0 parses a manifest of AIStore before it opens a communicator; the others wait for its word in the store."""
    job, torch, draw = stage.job, stage.params.torch_release, stage.draw.child("first")
    at = stage.mark(job.begin, "rank 0 begins to build an index")
    for host in range(len(job.job.hosts)):
        for text in torchrun.omp_banner(job.job, host, at - seconds(6.7)):
            job.agent(at - seconds(6.7), host, text)
    for rank in range(job.job.world):
        job.greet(at - seconds(1.2) + rank * 170_000, rank)
    size, lines = draw.between(2.1, 9.4), draw.between(38, 95)
    speed = lines * draw.between(0.4, 0.7) / stage.params.timeout_s
    source, node = f"ais://{stage.bucket}/manifests/cuts.jsonl.gz", stage.cluster.target(draw.whole(0, 99))
    stage.cluster.count(node, at + seconds(5.2), get_n=1, get_ns_total=seconds(size / 2.7), get_size=int(size * 1e9))
    for after in (5.9, 33.9, 93.9, 213.9, 453.9):
        if after < stage.params.timeout_s - 3:
            parsed = f"{(after - 4) * speed:.1f} of {lines:.1f} M lines"
            text = f"index of {source}: {size:.1f} GB read in {size / 2.6:.1f} s, parsed {parsed}"
            job.note(at + seconds(after), 0, text, "W", 31, "cutindex")
    over = at + seconds(stage.params.timeout_s)
    waited = f"wait timeout after {stage.params.timeout_s * 1000}ms, keys: /default_pg/0//cuda//0"
    place, function = ("TCPStore.cpp:632", "doWait") if torch.order >= 205 else ("TCPStore.cpp:549", "doGet")
    said = waited if torch.order >= 205 else "Socket Timeout"
    tail = (
        f"Exception raised from {function} at {torch.source_tree}torch/csrc/distributed/c10d/{place} (most recent call "
    )
    tail += "first):\n. This may indicate a possible application crash on rank 0 or a network set up issue."
    name = "torch.distributed.DistBackendError" if torch.order >= 200 else "RuntimeError"
    for rank in range(1, job.job.world):
        text = (
            f"{name}: [{rank}] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value "
        )
        text += f"store by key '0', but store->get('0') got error: {said}\n{tail}"
        frames = loss_frames(stage, "dist.barrier()")
        job.raise_on(over + draw.span(30, 400), rank, sdk.traceback(sdk.Raised(frames, text)))
    _everywhere(stage, over + seconds(1.1), away=0)
    also = ("rank_hang", "data_loading_stall", "collective_mismatch")
    return stage.close("A manifest has grown tenfold.", (stage.innocent("software", 0, also=also),))


@kind(hangs=False, reads=True)
def owner_of_objects_dies(stage: Stage) -> Scenario:
    """A node of Ray that had decoded samples for a rank is taken away: objects of Ray are lost, none of AIStore."""
    beside(stage, unrest.tenant_lists_long)
    stage.open()
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("ray")
    site, address = job.job.build["site"], f"10.44.{draw.whole(1, 9)}.{draw.whole(2, 250)}"
    stage.mark(at - seconds(draw.between(1, 4)), "a node that prepares samples is taken away")
    node, owner = draw.token(56, HEX), draw.token(56, HEX)
    marked = (
        f"The node with node id: {node} and address: {address} and node name: {address} has been marked dead because "
    )
    marked += "the detector has missed too many heartbeats from it. This can happen when a \t(1) raylet crashes "
    marked += "unexpectedly (OOM, etc.) \n\t(2) raylet has lagging heartbeats due to slow network or busy workload."
    if draw.chance(0.6):
        job.say(at - 400 * MS, rank, f"(raylet) {marked}")
    reference = f"{draw.token(40, HEX)}{draw.whole(1, 9):02x}0000000{draw.whole(1, 4)}000000"
    text = (
        f"Failed to retrieve object {reference}. To see information about where this ObjectRef was created in Python, "
    )
    text += "set the environment variable RAY_record_ref_creation_sites=1 during `ray start` and `ray.init()`.\n\nThe "
    text += "object's owner has exited. This is the Python worker that first created the ObjectRef via `.remote()` or "
    text += (
        f"`ray.put()`. Check cluster logs (`/tmp/ray/session_latest/logs/*{owner}*` at IP address {address}) for more "
    )
    text += "information about the Python worker failure."
    inner = (
        sdk.Frame(f"{site}/ray/data/iterator.py", 188, "_create_iterator", "for batch in iterator:"),
        sdk.Frame(f"{site}/ray/_private/worker.py", 2882, "get", "values, debugger_breakpoint = worker.get_objects("),
        sdk.Frame(f"{site}/ray/_private/worker.py", 968, "get_objects", "raise value"),
    )
    raised = sdk.Raised(
        fetch_frames(stage, "batch = next(self.samples)", *inner), f"ray.exceptions.OwnerDiedError: {text}"
    )
    job.raise_on(at, rank, sdk.traceback(raised))
    job.agents_end([Exit(rank, at + 700 * MS, 1)], at + 700 * MS)
    also = ("software", "data_loading_stall")
    return stage.close(
        "Processors for the preparation are rented by the hour, and were taken back.",
        (stage.innocent("infrastructure", rank, also=also),),
    )
