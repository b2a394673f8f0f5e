"""Hosts whose surroundings are not what a job expects at its start, of the twenty-third part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.tenth.training import exits, of_all, watched
from benchmarks.accuracy.generate.faults.words import launchers as own
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.requests import HANDLES
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import tenant_out_of_space
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_third")

#: Waits of the SDK between its seven tries, from the least to the greatest.
WAITS_S = ((1.0, 1.5), (1.0, 2.5), (1.5, 4.5), (3.0, 8.5), (6.0, 16.5), (9.0, 20.0))

#: Drivers by the CUDA that they know.
DRIVERS = ((11040, "470.223.02"), (11080, "520.61.05"), (12020, "535.183.01"), (12040, "550.54.15"))


def _asks_itself(stage: Stage, rank: int, began: int) -> int:
    """A rank asks a port of its own host seven times; when it has given up."""
    job, draw, then = stage.job, stage.draw.child("itself", rank), began
    path, text = f"/v1/buckets/{stage.bucket}?provider=ais", ""
    for low, high in WAITS_S:
        text = sdk.pool_error("localhost", 8080, path, sdk.refused(draw.whole(*HANDLES) // 16 * 16))
        wait = round(draw.between(low, high), 2)
        job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", text))
        then += seconds(wait) + draw.span(2, 9)
    job.sdk_warning(then, rank, "All retries exhausted; request failed", "ERROR")
    frames = own.begins(
        stage,
        sdk.Frame(job.job.script, 158, "main", "train_bucket = open_bucket(args.bucket)"),
        sdk.Frame(job.job.script, 41, "open_bucket", "bucket.head()"),
        sdk.Frame(f"{job.job.build['site']}/aistore/sdk/bucket.py", 290, "head", "return self.make_request("),
        line=158,
    )
    job.raise_on(then + 2 * MS, rank, sdk.exhausted(job.job, frames, "ConnectionError", text))
    return then


@kind(hangs=False, trains=False, hosts=2, min_timeout_s=90)
def endpoint_is_not_set_on_a_host(stage: Stage) -> Scenario:
    """A host's ranks have no AIS_ENDPOINT and ask a port of their own (aistore SDK docs; srun --export, mpirun -x).

    To acquit: these ranks say that the variable is not set; who refuses them is localhost:8080, no node of the cluster;
    ranks of other hosts have opened the bucket.
    """
    unrest.unsettled(stage, unrest.EARLY)
    late_unrest.killed_when_all_is_over(stage)
    job, draw, began = stage.job, stage.draw.child("unset"), stage.job.begin - seconds(1.2)
    node = job.job.node_of(stage.culprit)
    own.banners(stage, began - seconds(4.2))
    stage.mark(began, f"{job.job.hosts[node]} has no AIS_ENDPOINT")
    for rank in range(job.job.world):
        then, place = began + draw.span(1, 90), job.job.node_of(rank)
        is_there = place != node
        if rank % (1 if job.job.world <= own.SPEAKERS else 8) and is_there:
            continue
        job.greet(then, rank)
        where = f"AIS_ENDPOINT={job.job.endpoints[place % len(job.job.endpoints)]}"
        said = where if is_there else "AIS_ENDPOINT is not set, http://localhost:8080 is used"
        reader_note(stage, then + 110 * MS, rank, f"host {job.job.hosts[place]}: {said}")
        if is_there:
            reader_note(
                stage, then + draw.span(160, 300), rank, f"ais://{stage.bucket} is there, waiting for all ranks"
            )
    ends = {rank: _asks_itself(stage, rank, began + draw.span(230, 300)) for rank in job.job.ranks_of(node)}
    first = min(ends, key=lambda rank: ends[rank])
    over = ends[first]
    late = [line for line in job.lines if line.rank in ends and line.at > over + 600 * MS]
    job.lines = [line for line in job.lines if line not in late]
    exits(stage, over, first)
    made = stage.innocent("infrastructure", also=("software", "network"))
    return stage.close("The host was added later and its profile has no such line.", (of_all(made),))


@kind(hangs=False, trains=False)
def shared_memory_of_another_user(stage: Stage) -> Scenario:
    """Streaming's names in /dev/shm were left by another user on that host (streaming#332, #717, #824).

    To acquit: a call of shm_open is denied, no request; the host lists who owns the name; other hosts have theirs.
    """
    beside(stage, tenant_out_of_space)
    unrest.unsettled(stage, unrest.EARLY)
    job, draw, at = stage.job, stage.draw.child("shm"), stage.job.begin - 120 * MS
    node, site = job.job.node_of(stage.culprit), job.job.build["site"]
    rank = job.job.ranks_of(node)[0]
    job.start()
    stage.mark(at, f"names in /dev/shm of {job.job.hosts[node]} belong to another user")
    for host in range(len(job.job.hosts)):
        first = job.job.ranks_of(host)[0]
        said = f"StreamingDataset: remote s3://{stage.bucket}/mds, local /local/mds, prefix 000000"
        reader_note(stage, at - draw.span(20, 60), first, said)
    shared = f"{site}/streaming/base/shared"
    code = "dataset = StreamingDataset(streams=streams, batch_size=args.batch_size, shuffle=True)"
    frames = own.begins(
        stage,
        sdk.Frame(job.job.script, 161, "main", code),
        sdk.Frame(f"{site}/streaming/base/dataset.py", 529, "__init__", "self._shm_prefix_int, self._locals_shm = \\"),
        sdk.Frame(
            f"{shared}/prefix.py", 187, "get_shm_prefix", "_check_and_find(streams_local, streams_remote, LOCALS)"
        ),
        sdk.Frame(f"{shared}/prefix.py", 102, "_check_and_find", "shm = SharedMemory(name, False)"),
        sdk.Frame(f"{shared}/memory.py", 41, "__init__", "shm = BuiltinSharedMemory(name, create, size)"),
        sdk.Frame(f"{PYTHON}/multiprocessing/shared_memory.py", 104, "__init__", "self._fd = _posixshmem.shm_open("),
        line=161,
    )
    text = "PermissionError: [Errno 13] Permission denied: '/000000_locals'"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
    owner, days = draw.whole(10_100, 10_900), draw.whole(2, 19)
    listed = f"/dev/shm: 000000_barrier 000000_locals 000000_next_epoch, mode 0600, uid {owner}, {days} days old"
    watched(stage, at + 350 * MS, node, f"{listed}; no process has them open")
    exits(stage, at, rank)
    late_unrest.killed_when_all_is_over(stage)
    made = stage.innocent("software", rank, also=("infrastructure", "data_loading_stall"))
    return stage.close("A job of another user was killed there and could not tidy up.", (made,))


@kind(hangs=False, trains=False, hosts=2)
def driver_older_than_the_image(stage: Stage) -> Scenario:
    """One host has an older driver than the image's CUDA needs (pytorch forum; CUDA docs, compatibility).

    To acquit: the ranks of that host say that its driver is too old, and which it is; they have opened no bucket.
    """
    unrest.unsettled(stage, unrest.EARLY)
    job, draw, at = stage.job, stage.draw.child("driver"), stage.job.begin - seconds(1.3)
    node, site = job.job.node_of(stage.culprit), job.job.build["site"]
    own.banners(stage, at - seconds(4.1))
    stage.mark(at, f"the driver of {job.job.hosts[node]} is too old")
    for rank in range(job.job.world):
        if job.job.node_of(rank) != node and rank < own.SPEAKERS * 4:
            job.greet(at - 80 * MS + rank * 160_000, rank)
    known = DRIVERS[:2] if job.job.torch.order < 213 else DRIVERS[2:]
    version, driver = draw.pick(known)
    page = "http://www.nvidia.com/Download/index.aspx"
    advice = f"Please update your GPU driver by downloading and installing a new version from the URL: {page} "
    advice += "Alternatively, go to: https://pytorch.org to install a PyTorch version that has been compiled with your "
    text = f"RuntimeError: The NVIDIA driver on your system is too old (found version {version}). {advice}"
    text += "version of the CUDA driver."
    frames = own.begins(
        stage,
        sdk.Frame(job.job.script, 140, "main", "torch.cuda.set_device(local_rank)"),
        sdk.Frame(f"{site}/torch/cuda/__init__.py", 476, "set_device", "torch._C._cuda_setDevice(device)"),
        sdk.Frame(f"{site}/torch/cuda/__init__.py", 319, "_lazy_init", "torch._C._cuda_init()"),
        line=140,
    )
    ranks = list(job.job.ranks_of(node))
    for rank in ranks:
        own.bare(stage, at + draw.span(1, 60), rank, sdk.Raised(frames, text))
    said = f"nvidia-smi: Driver Version: {driver}, CUDA Version: {version // 1000}.{version % 1000 // 10}"
    watched(stage, at - draw.span(2_000, 9_000), node, said)
    exits(stage, at + 60 * MS, ranks[0])
    late_unrest.killed_when_all_is_over(stage)
    made = stage.innocent("infrastructure", also=("gpu", "software"))
    return stage.close("The host came back from repair with the image of last year.", (of_all(made),))
