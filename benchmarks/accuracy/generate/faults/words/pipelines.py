"""What pipelines above AIStore's clients print: datasets of Hugging Face, fsspec, WebDataset, MONAI, a validation."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from fixtures.generator import sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Node
from fixtures.generator.stage import Stage


def _reraised(stage: Stage, at: int, rank: int, name: str, original: str, tail: str = "") -> None:
    """An exception of a loader process, raised once more in the rank; `name` has its module."""
    worker, site = stage.draw.child("loader process", rank).whole(0, 3), stage.job.job.build["site"]
    module = f"{site}/torch/utils/data/dataloader.py"
    caller = sdk.main_frames(
        stage.job.job,
        stage.step,
        sdk.Frame(module, 708, "__next__", "data = self._next_data()", True),
        sdk.Frame(module, 1480, "_next_data", "return self._process_data(data)", True),
        sdk.Frame(module, 1505, "_process_data", "data.reraise()"),
        sdk.Frame(f"{site}/torch/_utils.py", 733, "reraise", "raise exception"),
    )
    short = name.rsplit(".", 1)[-1]
    text = f"{name}: Caught {short} in DataLoader worker process {worker}.\nOriginal {original}{tail}"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, text)))


def _worker_frames(stage: Stage, *inner: sdk.Frame) -> tuple[sdk.Frame, ...]:
    site = stage.job.job.build["site"]
    return (
        sdk.Frame(f"{site}/torch/utils/data/_utils/worker.py", 351, "_worker_loop", "data = fetcher.fetch(index)"),
        sdk.Frame(f"{site}/torch/utils/data/_utils/fetch.py", 33, "fetch", "data.append(next(self.dataset_iter))"),
        *inner,
    )


def disconnected(stage: Stage, at: int, rank: int, attempt: int) -> None:
    """datasets waits before it reads on; its own logger prints the bare text."""
    stage.job.say(at, rank, f"Got disconnected from remote data host. Retrying in 5sec [{attempt}/20]")


def server_disconnected(stage: Stage, at: int, rank: int, node: Node, path: str) -> None:
    """datasets has tried twenty times; the last answer was a 404, which it takes for a lost connection."""
    site = stage.job.job.build["site"]
    url = f"{node.url(0)}{path}{sdk.query(stage.proxy_of(rank), at)}"
    module = f"{site}/datasets/utils/file_utils.py"
    first = sdk.Raised(
        (
            sdk.Frame(module, 823, "read_with_retries", "out = read(*args, **kwargs)"),
            sdk.Frame(f"{site}/fsspec/implementations/http.py", 629, "read", "return super().read(length)"),
            sdk.Frame(f"{site}/fsspec/implementations/http.py", 691, "async_fetch_range", "r.raise_for_status()"),
            sdk.Frame(f"{site}/aiohttp/client_reqrep.py", 1161, "raise_for_status", "raise ClientResponseError("),
        ),
        f"aiohttp.client_exceptions.ClientResponseError: 404, message='Not Found', url='{url}'",
        sdk.DIRECT,
    )
    frames = _worker_frames(
        stage,
        sdk.Frame(f"{site}/datasets/iterable_dataset.py", 2270, "__iter__", "for key, example in ex_iterable:"),
        sdk.Frame(f"{PYTHON}/tarfile.py", 2441, "next", "tarinfo = self.tarinfo.fromtarfile(self)"),
        sdk.Frame(module, 833, "read_with_retries", 'raise ConnectionError("Server Disconnected") from disconnect_err'),
    )
    original = sdk.traceback(first, sdk.Raised(frames, "ConnectionError: Server Disconnected"))
    _reraised(stage, at, rank, "ConnectionError", original)


def fsspec_timed_out(stage: Stage, at: int, rank: int) -> None:
    """fsspec has its own error for the time-out of aiohttp, which has no text."""
    site = stage.job.job.build["site"]
    first = sdk.Raised(
        (
            sdk.Frame(f"{site}/fsspec/asyn.py", 56, "_runner", "result[0] = await coro"),
            sdk.Frame(f"{site}/fsspec/implementations/http.py", 694, "async_fetch_range", "out = await r.read()"),
            sdk.Frame(f"{site}/aiohttp/streams.py", 418, "readany", 'await self._wait("readany")'),
            sdk.Frame(f"{site}/aiohttp/helpers.py", 713, "__exit__", "raise asyncio.TimeoutError from exc_val"),
        ),
        "TimeoutError",
        sdk.DIRECT,
    )
    frames = _worker_frames(
        stage,
        sdk.Frame("/workspace/asr/shards.py", 41, "__iter__", "block = self.file.read(BLOCK)"),
        sdk.Frame(f"{site}/fsspec/spec.py", 1970, "read", "out = self.cache._fetch(self.loc, self.loc + length)"),
        sdk.Frame(f"{site}/fsspec/asyn.py", 118, "wrapper", "return sync(self.loop, func, *args, **kwargs)"),
        sdk.Frame(f"{site}/fsspec/asyn.py", 101, "sync", "raise FSTimeoutError from return_result"),
    )
    original = sdk.traceback(first, sdk.Raised(frames, "fsspec.exceptions.FSTimeoutError"))
    _reraised(stage, at, rank, "fsspec.exceptions.FSTimeoutError", original)


def shard_skipped(stage: Stage, at: int, rank: int, node: Node, shard: str, handle: str) -> None:
    """curl cannot connect; WebDataset's handler warns, and goes on with the next shard."""
    job = stage.job
    command = f"curl -sSL --retry 5 --retry-connrefused {node.url(0)}/v1/objects/{stage.bucket}/{shard}"
    job.say(at, rank, f"curl: (7) Failed to connect to {node.address} port {node.ports[0]} after 0 ms: {NO_SERVER}")
    what = f"((('{command}',), {{'shell': True, 'bufsize': 8192}}): exit 7 (read) {{}})"
    pipe = f"<webdataset.gopen.Pipe object at 0x7f{handle}>"
    said = f"""OSError("{what}", {pipe}, 'pipe:{command}')"""
    handler = f"{job.job.build['site']}/webdataset/handlers.py:34: UserWarning"
    job.say(at + 2_000_000, rank, f"{handler}: {said}\n  warnings.warn(repr(exn))")


NO_SERVER = "Couldn't connect to server"


def in_transform(stage: Stage, at: int, rank: int, cause: str, transform: str) -> None:
    """MONAI wraps whatever a transform raises, and names the transform; `cause` is the traceback it had."""
    site = stage.job.job.build["site"]
    module = f"{site}/monai/transforms"
    handle = f"0x7f{stage.draw.child('transform', rank).token(10, HEX)}"
    frames = (
        sdk.Frame(f"{site}/torch/utils/data/_utils/worker.py", 351, "_worker_loop", "data = fetcher.fetch(index)"),
        sdk.Frame(f"{site}/torch/utils/data/_utils/fetch.py", 52, "fetch", "data = [self.dataset[idx] for idx in"),
        sdk.Frame(f"{site}/monai/data/dataset.py", 112, "__getitem__", "return self._transform(index)"),
        sdk.Frame(f"{site}/monai/data/dataset.py", 98, "_transform", "return self.transform(data_i)"),
        sdk.Frame(f"{module}/compose.py", 121, "execute_compose", "data = apply_transform("),
        sdk.Frame(
            f"{module}/transform.py", 171, "apply_transform", 'raise RuntimeError(f"applying transform {transform}")'
        ),
    )
    wrapped = sdk.traceback(sdk.Raised(frames, f"RuntimeError: applying transform <{transform} object at {handle}>"))
    _reraised(stage, at, rank, "RuntimeError", f"{cause}\n\n{sdk.DIRECT}\n\n{wrapped}")


def applied(stage: Stage, *inner: sdk.Frame) -> tuple[sdk.Frame, ...]:
    """From MONAI's call of a transform to what it does."""
    module = f"{stage.job.job.build['site']}/monai/transforms/transform.py"
    return (
        sdk.Frame(module, 141, "apply_transform", "return _apply_transform(transform, data, unpack_items, lazy,"),
        sdk.Frame(module, 98, "_apply_transform", "return transform(data, lazy=lazy) if isinstance(transform, Lazy"),
        *inner,
    )


def denied(stage: Stage, at: int, rank: int, node: Node, bucket: str, name: str, text: str) -> str:
    """The traceback of a validation whose first object a target does not get."""
    job, path = stage.job.job, f"/v1/objects/{bucket}/{name}"
    url = f"{node.url(0)}{path}?provider=aws&pid={stage.proxy_of(rank).node_id}"
    body = sdk.answer(node, 403, text, "GET", path, stage.client(rank))
    failure = "aistore.sdk.errors.AISError: " + sdk.request_error(403, body, url)
    reader = f"{job.build['site']}/aistore/sdk/obj/object_reader.py"
    caller = (
        sdk.Frame(job.script, 212, "<module>", "main()"),
        sdk.Frame(job.script, 194, "main", "scores = validate(model, valid_loader, step)", True),
        sdk.Frame(job.script, 149, "validate", "for batch in loader:"),
        sdk.Frame(job.script, 77, "fetch", "content = self.bucket.object(name).get_reader().read_all()", True),
        sdk.Frame(reader, 121, "read_all", "response = self.get()"),
    )
    return sdk.http_failure(job, 403, "Forbidden", url, failure, caller)
