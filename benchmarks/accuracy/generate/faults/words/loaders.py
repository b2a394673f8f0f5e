"""What readers of samples print when AIStore fails them: loader processes, MSC, a file that resumes; and TLS in all."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.clients import fetch_frames
from benchmarks.accuracy.generate.scene import Scene
from fixtures.generator import sdk
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import comma_stamp
from fixtures.generator.stage import Stage

EXPIRED = "certificate verify failed: certificate has expired (_ssl.c:1006)"


def certificate_expired() -> str:
    """Why urllib3 gives up a connection whose server has an old certificate."""
    return f"SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] {EXPIRED}'))"


def no_descriptor_left(handle: int) -> str:
    """Why urllib3 has no new connection in a process that has too many files open."""
    what = "Failed to establish a new connection: [Errno 24] Too many open files"
    return f"NewConnectionError('<urllib3.connection.HTTPConnection object at {handle:#x}>: {what}')"


def over_tls(stage: Stage, made: Scenario) -> Scenario:
    """The same incident of a cluster that speaks TLS only; the dumps of collectives know nothing of it."""

    def secured(data: bytes) -> bytes:
        return data.replace(b"http://", b"https://").replace(b"HTTPConnection", b"HTTPSConnection")

    if isinstance(stage, Scene):
        stage.raised = [secured(text.encode()).decode() for text in stage.raised]
    files = tuple(one if "trace_rank_" in one.path else replace(one, data=secured(one.data)) for one in made.files)
    return replace(made, files=files)


def in_worker(
    stage: Stage,
    at: int,
    rank: int,
    error: str,
    text: str,
    inner: tuple[sdk.Frame, ...],
    again: str = "",
    first: tuple[sdk.Raised, ...] = (),
) -> None:
    """An exception in a loader process, raised once more in the rank; `error` is its type with its module.

    One that takes more than a text cannot be made again: it becomes a RuntimeError, which `again` may say.
    `first` was being handled when it was raised.
    """
    job, worker = stage.job, stage.draw.child("loader process", rank).whole(0, 3)
    site = job.job.build["site"]
    name = error.rsplit(".", 1)[-1]
    frames = (
        sdk.Frame(f"{site}/torch/utils/data/_utils/worker.py", 351, "_worker_loop", "data = fetcher.fetch(index)"),
        sdk.Frame(f"{site}/torch/utils/data/_utils/fetch.py", 33, "fetch", "data.append(next(self.dataset_iter))"),
        *inner,
    )
    original = sdk.traceback(*first, sdk.Raised(frames, f"{error}: {text}" if text else error))
    caller = sdk.main_frames(
        job.job,
        stage.step,
        sdk.Frame(f"{site}/torch/_utils.py", 733, "reraise", "raise exception"),
    )
    bare = name in ("UnicodeDecodeError", "_ArrayMemoryError", "HTTPError")
    again = again or ("RuntimeError" if bare else error)
    where = f"{again}: Caught {name} in DataLoader worker process {worker}.\nOriginal {original}"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, where)))


def dataset_frames(stage: Stage) -> tuple[sdk.Frame, ...]:
    """The data set of AIStore for PyTorch reads an object."""
    site = stage.job.job.build["site"]
    return (
        sdk.Frame(f"{site}/aistore/pytorch/iter_dataset.py", 84, "__iter__", "content = obj.get_reader().read_all()"),
        sdk.Frame(f"{site}/aistore/sdk/obj/object_reader.py", 121, "read_all", "response = self.get()"),
    )


def msc_failed(stage: Stage, at: int, rank: int, key: str, node: Node, path: str) -> None:
    """Multi-Storage Client wraps whatever the SDK raises; its own text names the bucket and the key."""
    job, site = stage.job, stage.job.job.build["site"]
    provider = f"{site}/multistorageclient/providers/ais.py"
    text = sdk.pool_error(node.address, node.ports[0], path, sdk.too_many(500))
    first = sdk.Raised(
        (
            sdk.Frame(provider, 167, "_collect_metrics", "result = func()", True),
            sdk.Frame(provider, 243, "_invoke_api", "reader = self.client.bucket(bucket).object(key).get_reader()"),
            sdk.Frame(f"{site}/requests/adapters.py", 510, "send", "raise RetryError(e, request=request)"),
        ),
        f"requests.exceptions.RetryError: {text}",
        sdk.DIRECT,
    )
    caller = fetch_frames(
        stage,
        'content = msc.open(f"msc://train/{name}", "rb").read()',
        sdk.Frame(
            f"{site}/multistorageclient/client.py", 128, "read", "return self._storage_provider.get_object(path)"
        ),
        sdk.Frame(provider, 178, "_collect_metrics", "raise RuntimeError("),
    )
    raised = sdk.Raised(caller, f"RuntimeError: Failed to GET object(s) at {stage.bucket}/{key}")
    job.raise_on(at, rank, sdk.traceback(first, raised))


def broken_off(stage: Stage, at: int, rank: int, name: str, attempt: int, got: int, left: int) -> None:
    """A reader resumes an object whose answer has ended too early, with `left` bytes to come."""
    job, short = stage.job, f"IncompleteRead({got} bytes read, {left} more expected)"
    head = f"{comma_stamp(at, job.job.zone)} [rank{rank}] WARNING aistore.sdk.obj.obj_file.utils"
    where = f"'objects/{stage.bucket}/{name}'"
    job.say(at, rank, f"{head}: Resuming {where} after ('Connection broken: {short}', {short}) ({attempt}/5)")


def put_refused(stage: Stage, at: int, node: Node, path: str, text: str) -> str:
    """The traceback of a PUT that a target has no room for."""
    job = stage.job.job
    url = node.url(0) + path + sdk.query(stage.proxy_of(0), at)
    body = sdk.answer(node, 507, text, "PUT", path, stage.client(0))
    error = "aistore.sdk.errors.AISError: " + sdk.request_error(507, body, url)
    write = "bucket.object(name).get_writer().put_file(path)"
    caller = (
        sdk.Frame(job.script, 212, "<module>", "main()"),
        sdk.Frame(job.script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(job.script, 121, "save_checkpoint", write, True),
    )
    return sdk.http_failure(job, 507, "Insufficient Storage", url, error, caller)
