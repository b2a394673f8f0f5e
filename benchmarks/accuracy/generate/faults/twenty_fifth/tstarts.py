"""Jobs that do not come to their first step, of the twenty-fifth part; storage is innocent.

The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth import unrest as old_unrest
from benchmarks.accuracy.generate.faults.eleventh import unrest
from benchmarks.accuracy.generate.faults.nineteenth import tunrest as late_unrest
from benchmarks.accuracy.generate.faults.ninth import unrest as ninth_unrest
from benchmarks.accuracy.generate.faults.tenth import unrest as tenth_unrest
from benchmarks.accuracy.generate.faults.tenth.training import of_all
from benchmarks.accuracy.generate.faults.twenty_second import tunrest as denied_unrest
from benchmarks.accuracy.generate.faults.words import launchers
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.requests import HANDLES
from benchmarks.accuracy.generate.faults.words.tellers import all_exit, all_raise, node_fails, speakers, told
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import sdk, torchrun
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "twenty_fifth")


def _greeted(stage: Stage, at: int) -> None:
    """Agents and ranks of the job begin, and it has no step yet; ranks have greeted before `at`."""
    job = stage.job
    launchers.banners(stage, at - seconds(4.9))
    for rank in range(job.job.world):
        job.greet(at - seconds(1.9) + rank * 170_000, rank)


def _others_are_ended(stage: Stage, at: int, failed: int) -> None:
    """One host has failed: SLURM ends the agents of all others, and the job is over."""
    job, draw = stage.job, stage.draw.child("others are ended")
    for node in range(len(job.job.hosts)):
        if node != failed:
            job.agent_signalled(at, node)
            job.slurm(at + draw.span(200, 400), node, torchrun.srun_exit(job.job, node))
    job.ended_at = at + SEC


def _reraised(
    stage: Stage, worker: int, asks: tuple[sdk.Frame, ...], error: str, text: str, *inner: sdk.Frame
) -> sdk.Raised:
    """One of the first batches, which `asks` asks for: an exception of a loader, raised once more in the rank."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame(
            f"{site}/torch/utils/data/_utils/worker.py", 349, "_worker_loop", "data = fetcher.fetch(index)", True
        ),
        sdk.Frame(f"{site}/torch/utils/data/_utils/fetch.py", 33, "fetch", "data.append(next(self.dataset_iter))"),
        *inner,
    )
    original = sdk.traceback(sdk.Raised(frames, f"{error}: {text}"))
    outer = launchers.begins(
        stage,
        *asks,
        sdk.Frame(f"{site}/torch/utils/data/dataloader.py", 708, "__next__", "data = self._next_data()", True),
        sdk.Frame(f"{site}/torch/_utils.py", 733, "reraise", "raise exception"),
    )
    return sdk.Raised(outer, f"{error}: Caught {error} in DataLoader worker process {worker}.\nOriginal {original}\n")


@kind(hangs=False, trains=False)
def no_credentials_in_pods(stage: Stage) -> Scenario:
    """A new template of pods has no secret: boto3 signs nothing and sends nothing (boto3, NoCredentialsError).

    To acquit: botocore says that it has no credentials, which it does before any request; no rank has asked AIStore;
    what targets deny meanwhile is another tenant's.
    """
    beside(stage, denied_unrest.tenant_is_denied_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, draw, site = stage.job, stage.draw.child("credentials"), stage.job.job.build["site"]
    at = job.begin - seconds(1.0)
    _greeted(stage, at)
    key = f"{draw.pick(('meta', 'index', 'v3'))}/{draw.pick(('manifest.jsonl', 'shards.json', 'cuts.jsonl.gz'))}"
    said = f"s3://{stage.bucket}/{key} (endpoint_url {stage.proxy_of(0).url(0)}/s3, profile default)"
    told(stage, at - 40 * MS, 0, "data", said)
    stage.mark(at, "no rank has credentials")
    frames = launchers.begins(
        stage,
        sdk.Frame("", 0, "", "manifest = read_manifest(args.data)"),
        sdk.Frame(job.job.script, 57, "read_manifest", "body = s3.get_object(Bucket=bucket, Key=key)['Body']", True),
        sdk.Frame(f"{site}/botocore/client.py", 570, "_api_call", "return self._make_api_call(operation_name, kwargs)"),
        sdk.Frame(f"{site}/botocore/endpoint.py", 198, "create_request", "self._event_emitter.emit("),
        sdk.Frame(f"{site}/botocore/signers.py", 205, "sign", "auth.add_auth(request)"),
        sdk.Frame(f"{site}/botocore/auth.py", 424, "add_auth", "raise NoCredentialsError()"),
    )
    text = "botocore.exceptions.NoCredentialsError: Unable to locate credentials"
    last = all_raise(stage, at, sdk.Raised(frames, text))
    all_exit(stage, last)
    late_unrest.killed_when_all_is_over(stage)
    made = stage.innocent("software", also=("infrastructure",))
    return stage.close("The secret is mounted in the old template only.", (of_all(made),))


@kind(hangs=False, trains=False)
def requests_go_through_a_proxy(stage: Stage) -> Scenario:
    """http_proxy is set and no_proxy lacks the cluster: requests for AIStore go to a proxy (requests docs).

    To acquit: each error names the host of an HTTP proxy, port 3128, which refuses connections; that is none of the
    cluster's nodes, whose own keepalive is a little late and never ends.
    """
    beside(stage, ninth_unrest.keepalives_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, draw, site = stage.job, stage.draw.child("proxy"), stage.job.job.build["site"]
    began = job.begin - seconds(2.5)
    _greeted(stage, began)
    host = draw.pick(("proxy.corp.internal", "squid-2.dmz.lan", "webproxy.site.local"))
    said = f"env: http_proxy=http://{host}:3128 https_proxy=http://{host}:3128 no_proxy=localhost,127.0.0.1"
    told(stage, began - 700 * MS, 0, "launch", said)
    stage.mark(began, "rank 0 asks a proxy of the site for AIStore")
    url = f"{stage.proxy_of(0).url(0)}/v1/buckets/{stage.bucket}?provider=ais"
    cause = f"ProxyError('Unable to connect to proxy', {sdk.refused(draw.whole(*HANDLES) // 16 * 16)})"
    text, then = sdk.pool_error(host, 3128, url, cause), began
    for attempt in range(6):
        wait = round(draw.between(1.0, min(30.0, 2.0**attempt + 0.5)), 2)
        job.sdk_warning(then, 0, sdk.retrying(wait, "ProxyError", text))
        then += seconds(wait) + draw.span(6, 60)
    job.sdk_warning(then, 0, "All retries exhausted; request failed", "ERROR")
    caller = launchers.begins(
        stage,
        sdk.Frame("", 0, "", "shards = list_shards(args)"),
        sdk.Frame(job.job.script, 48, "list_shards", "names = bucket.list_all_objects(prefix=prefix)", True),
        sdk.Frame(f"{site}/aistore/sdk/bucket.py", 472, "list_all_objects", "resp = self.list_objects("),
    )
    job.raise_on(then + 4 * MS, 0, sdk.exhausted(job.job, caller, "ProxyError", text))
    node_fails(stage, then + 700 * MS, 0, 0)
    _others_are_ended(stage, then + seconds(1.9), 0)
    made = stage.innocent("software", 0, also=("network", "infrastructure", "storage_io"))
    return stage.close("The environment of the login host went along with the job.", (made,))


@kind(hangs=False, trains=False)
def fewer_shards_than_loaders(stage: Stage) -> Scenario:
    """A data set of few shards is split over more loaders than that: one has none (WebDataset, check_empty).

    To acquit: the log counts shards and loaders; WebDataset says that there are fewer shards than workers; the listing
    was answered in full.
    """
    beside(stage, old_unrest.buckets_change_early)
    unrest.unsettled(stage, unrest.EARLY)
    own, draw = stage.job.job, stage.draw.child("fewer")
    at, site, loaders = own.began - 300 * MS, own.build["site"], draw.pick((4, 6, 8))
    _greeted(stage, at)
    many = draw.whole(own.world, own.world * (loaders - 1))
    said = f"ais://{stage.bucket}/dev-clean/: {many} shards listed, {own.world} ranks x {loaders} workers"
    told(stage, at - 900 * MS, 0, "data", said)
    stage.mark(at, "some loaders have no shard")
    text = "No samples found in dataset; perhaps you have fewer shards than workers.\n"
    text += "Turn off using empty_check=False in the WebDataset constructor."
    inner = (
        sdk.Frame(f"{site}/webdataset/pipeline.py", 105, "iterator", "yield from self.iterator1()"),
        sdk.Frame(f"{site}/webdataset/compat.py", 93, "check_empty", "raise ValueError("),
    )
    asks = (
        sdk.Frame("", 0, "", f"lengths = sample_lengths(loader, {8 * loaders})"),
        sdk.Frame(own.script, 71, "sample_lengths", "for batch in islice(loader, count):"),
    )
    last = all_raise(stage, at, _reraised(stage, loaders - 1, asks, "ValueError", text, *inner))
    all_exit(stage, last)
    made = stage.innocent("software", also=("data", "data_loading_stall"))
    return stage.close("The small set was to try something out on two hosts.", (of_all(made),))


@kind(hangs=False, trains=False)
def shared_memory_of_a_former_run(stage: Stage) -> Scenario:
    """A killed run has left its segments in /dev/shm of a host (MosaicML streaming, clean_stale_shared_memory).

    To acquit: Python finds a segment of that name on the host, as the first of its ranks says; no other host has
    one, and nothing was read yet.
    """
    beside(stage, tenth_unrest.disk_found_well_early)
    unrest.unsettled(stage, unrest.EARLY)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("stale")
    at, streaming = own.began - seconds(1.2), f"{own.build['site']}/streaming/base"
    node = own.node_of(stage.culprit)
    _greeted(stage, at)
    said = f"StreamingDataset(remote='s3://{stage.bucket}/mds', local='/tmp/mds/{own.task}')"
    told(stage, at - 500 * MS, 0, "data", said)
    name = f"/00000{draw.whole(0, 2)}_locals"
    stage.mark(at, f"{own.hosts[node]} has a segment of a former run")
    frames = launchers.begins(
        stage,
        sdk.Frame("", 0, "", "dataset = build_dataset(args)"),
        sdk.Frame(
            f"{streaming}/dataset.py", 514, "__init__", "self._shm_prefix_int, self._locals_shm = get_shm_prefix("
        ),
        sdk.Frame(f"{streaming}/shared/prefix.py", 192, "get_shm_prefix", "shm = SharedMemory(name, True, len(data))"),
        sdk.Frame(f"{streaming}/shared/memory.py", 60, "__init__", "shm = BuiltinSharedMemory(name, create, size)"),
        sdk.Frame(f"{PYTHON}/multiprocessing/shared_memory.py", 104, "__init__", "self._fd = _posixshmem.shm_open("),
    )
    text = f"FileExistsError: [Errno 17] File exists: '{name}'"
    first = own.ranks_of(node)[0]
    job.raise_on(at, first, sdk.traceback(sdk.Raised(frames, text)))
    node_fails(stage, at + 600 * MS, node, first)
    _others_are_ended(stage, at + seconds(1.8), node)
    late_unrest.killed_when_all_is_over(stage)
    made = stage.innocent("software", first, also=("infrastructure",))
    return stage.close("The last run was ended with SIGKILL.", (made,))


@kind(hangs=False, trains=False)
def device_used_in_a_fork(stage: Stage) -> Scenario:
    """A transform of the user moves samples to the device in a forked loader (PyTorch notes on multiprocessing).

    To acquit: PyTorch says that CUDA cannot be set up again in a forked process, in the user's own transform, on
    samples that were read.
    """
    unrest.unsettled(stage, unrest.EARLY)
    own, draw = stage.job.job, stage.draw.child("device in a fork")
    at, site, folder = own.began - 200 * MS, own.build["site"], own.script.rsplit("/", 1)[0]
    _greeted(stage, at)
    for rank in speakers(stage)[:3]:
        told(stage, at - draw.span(120, 400), rank, "dataset", f"first sample: {draw.whole(40, 900) * 1024} bytes here")
    stage.mark(at, "loaders ask for a device")
    text = "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' "
    inner = (
        sdk.Frame(f"{folder}/dataset.py", 66, "__iter__", "sample = self.transform(sample)", True),
        sdk.Frame(f"{folder}/transforms.py", 23, "__call__", "return self.mel(wave.cuda(non_blocking=True))", True),
        sdk.Frame(f"{site}/torch/cuda/__init__.py", 358, "_lazy_init", "raise RuntimeError("),
    )
    asks = (sdk.Frame("", 0, "", "batch = next(iter(loader))"),)
    last = all_raise(stage, at, _reraised(stage, 0, asks, "RuntimeError", f"{text}start method", *inner))
    all_exit(stage, last)
    made = stage.innocent("software", also=("gpu", "data_loading_stall"))
    return stage.close("Features are computed on the device since this morning.", (of_all(made),))
