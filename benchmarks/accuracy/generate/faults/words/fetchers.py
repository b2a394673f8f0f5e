"""What loaders and checkpoints above AIStore print when reads and writes fail: lhotse, streamed batches, torch."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from fixtures.generator import sdk
from fixtures.generator.model import Node
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

ALL_SPEAK = 32


def falls_back(stage: Stage, at: int, rank: int, error: str) -> None:
    """lhotse is told that a batch failed and asks for its objects one by one; `error` is that of the SDK, one line."""
    text = f"AIStore batch.get() failed: {error.removeprefix('AISError: ')}. Falling back to sequential GET requests."
    stage.job.note(at, rank, text, "W", 137, "batch_loader")


def sequential_failed(stage: Stage, at: int, rank: int, name: str, why: str) -> None:
    """One of the objects cannot be had alone either, and lhotse gives the whole batch up."""
    site = stage.job.job.build["site"]
    text = f"Failed to fetch object {name} from bucket ais://{stage.bucket}: {why}"
    stage.job.note(at, rank, text, "E", 148, "batch_loader")
    loader = f"{site}/lhotse/ais/batch_loader.py"
    frames = (
        sdk.Frame(f"{site}/lhotse/dataset/input_strategies.py", 318, "__call__", "cuts = self.ais_batch_loader(cuts)"),
        sdk.Frame(loader, 171, "__call__", "info, content = next(batch_result)"),
        sdk.Frame(loader, 152, "sequential_get", "raise AISBatchLoaderError("),
    )
    error = "lhotse.ais.batch_loader.AISBatchLoaderError"
    in_worker(stage, at + 2 * MS, rank, error, f"Sequential GET fallback failed for {name}", frames)


def tar_stream_broken(stage: Stage, at: int, rank: int, got: int) -> None:
    """A streamed batch ends in the middle of a chunk: tarfile reads on, and urllib3 has nothing to give."""
    site = stage.job.job.build["site"]
    broken = f"IncompleteRead({got} bytes read)"
    frames = (
        sdk.Frame(
            f"{site}/aistore/pytorch/batch_iter_dataset.py", 96, "__iter__", "for moss_out, data in batch.get():"
        ),
        sdk.Frame(f"{site}/aistore/sdk/batch/extractor/tar_stream_extractor.py", 66, "extract", "for tarinfo in tar:"),
        sdk.Frame(f"{PYTHON}/tarfile.py", 562, "__read", "buf = self.fileobj.read(self.bufsize)"),
        sdk.Frame(
            f"{site}/urllib3/response.py",
            776,
            "_error_catcher",
            "raise ProtocolError(arg, e) from e",
        ),
    )
    text = f"('Connection broken: {broken}', {broken})"
    in_worker(stage, at, rank, "urllib3.exceptions.ProtocolError", text, frames)


def tar_stream_timed_out(stage: Stage, at: int, rank: int, node: Node) -> None:
    """A streamed batch has no next entry for longer than its client waits: host and port, no address of a batch."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame(
            f"{site}/aistore/pytorch/batch_iter_dataset.py", 96, "__iter__", "for moss_out, data in batch.get():"
        ),
        sdk.Frame(f"{site}/aistore/sdk/batch/extractor/tar_stream_extractor.py", 66, "extract", "for tarinfo in tar:"),
        sdk.Frame(f"{PYTHON}/tarfile.py", 562, "__read", "buf = self.fileobj.read(self.bufsize)"),
        sdk.Frame(f"{site}/urllib3/response.py", 754, "_error_catcher", "raise ReadTimeoutError("),
    )
    text = f"HTTPConnectionPool(host='{node.address}', port={node.ports[0]}): Read timed out."
    in_worker(stage, at, rank, "urllib3.exceptions.ReadTimeoutError", text, frames)


def shards_not_loaded(stage: Stage, at: int, missing: dict[int, str]) -> int:
    """torch's checkpoint is not read on all ranks if it is not on one; each names those; when the job is over."""
    job, site, draw = stage.job, stage.job.job.build["site"], stage.draw.child("not loaded")
    place, own = f"{site}/torch/distributed/checkpoint", stage.job.job
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 171, "main", "start_step = load_checkpoint(model, optimizer)", True),
        sdk.Frame(own.script, 109, "load_checkpoint", "dcp.load(state, storage_reader=FsspecReader(path))"),
        sdk.Frame(f"{place}/state_dict_loader.py", 172, "load", "_load_state_dict("),
        sdk.Frame(f"{place}/utils.py", 252, "all_reduce", "raise final_result"),
    )
    inner = (
        sdk.Frame(f"{place}/filesystem.py", 692, "read_data", "with self.fs.create_stream(new_path, 'rb') as stream:"),
        sdk.Frame(f"{site}/fsspec/spec.py", 1310, "open", "f = self._open("),
        sdk.Frame(f"{site}/s3fs/core.py", 1424, "_info", "raise FileNotFoundError(path)"),
    )
    told = "\n".join(
        sdk.traceback(sdk.Raised(inner, f"FileNotFoundError: {path}")).replace(
            "(most recent call last):", f"(most recent call last): (RANK {rank})"
        )
        for rank, path in missing.items()
    )
    ranks = ", ".join(map(str, missing))
    error = "torch.distributed.checkpoint.api.CheckpointException"
    said = sdk.traceback(sdk.Raised(frames, f"{error}: CheckpointException ranks:dict_keys([{ranks}])\n{told}"))
    last = at
    for rank in range(own.world) if own.world <= ALL_SPEAK else range(0, own.world, own.ranks_per_node):
        then = at + draw.span(1, 40)
        job.raise_on(then, rank, said)
        last = max(last, then)
    exits = [Exit(rank, last + 500 * MS + rank * MS, 1) for rank in range(0, own.world, own.ranks_per_node)]
    return job.agents_end(exits, last + 900 * MS)


def upload_of_before(stage: Stage, node: Node, began: int, path: str, text: str) -> str:
    """The traceback of an upload that failed in its thread and is told when the next one is to begin."""
    job = stage.job.job
    url = node.url(0) + path + sdk.query(stage.proxy_of(0), began)
    body = sdk.answer(node, 507, text, "PUT", path, stage.client(0), "ErrCapExceeded")
    error = "aistore.sdk.errors.AISError: " + sdk.request_error(507, body, url)
    caller = (
        sdk.Frame(job.script, 212, "<module>", "main()"),
        sdk.Frame(job.script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(job.script, 116, "save_checkpoint", "self.pending.result()", True),
        sdk.Frame(f"{PYTHON}/concurrent/futures/_base.py", 449, "result", "return self.__get_result()", True),
        sdk.Frame(f"{PYTHON}/concurrent/futures/thread.py", 58, "run", "result = self.fn(*self.args, **self.kwargs)"),
        sdk.Frame(job.script, 121, "upload", "bucket.object(name).get_writer().put_file(path)", True),
    )
    return sdk.http_failure(job, 507, "Insufficient Storage", url, error, caller)
