"""What readers and samplers of AIStore's SDK print: direct reads, blobs, lists of sizes, recordings of lhotse, tars.

The frames and texts follow the sources of the SDK and of lhotse and were not seen in runs of ours.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.requests import HANDLES
from benchmarks.accuracy.generate.faults.words.stewards import refused_at
from fixtures.generator import sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import MS, comma_stamp
from fixtures.generator.stage import Stage

DIRECT = "content = self.bucket.object(name).get_reader(direct=True).read_all()"


def direct_refused(stage: Stage, node: Node, name: str, draw: Draw) -> str:
    """Why a client cannot ask a target itself, without a gateway: nobody listens; no gateway stands in its address."""
    path = f"/v1/objects/{stage.bucket}/{name}?provider=ais"
    return sdk.pool_error(node.address, node.ports[0], path, sdk.refused(draw.whole(*HANDLES)))


def direct_frames(stage: Stage) -> tuple[sdk.Frame, ...]:
    """The program reads an object of the target that the SDK has chosen."""
    site = stage.job.job.build["site"]
    return (
        sdk.Frame(stage.job.job.script, 77, "fetch", DIRECT, True),
        sdk.Frame(f"{site}/aistore/sdk/obj/object_reader.py", 121, "read_all", "response = self.get()"),
        sdk.Frame(
            f"{site}/aistore/sdk/obj/object_client.py", 106, "_make_get_request", "resp = self._request_client.request("
        ),
    )


def blob_cut(stage: Stage, at: int, rank: int, got: int, left: int) -> None:
    """A data set reads a large object by the blob downloader, whose answer ends before all of it has come."""
    site = stage.job.job.build["site"]
    short = f"IncompleteRead({got} bytes read, {left} more expected)"
    frames = (
        sdk.Frame("/workspace/video/clips.py", 66, "__getitem__", "content = self.blob_reader(name).read_all()", True),
        sdk.Frame(f"{site}/aistore/sdk/obj/object_reader.py", 124, "read_all", "return response.content"),
        sdk.Frame(f"{site}/requests/models.py", 822, "generate", "raise ChunkedEncodingError(e)"),
    )
    text = f"('Connection broken: {short}', {short})"
    in_worker(stage, at, rank, "requests.exceptions.ChunkedEncodingError", text, frames)


def sizes_not_listed(stage: Stage, at: int, rank: int, proxy: Node) -> None:
    """The sampler of sizes has asked for the next page of a bucket six times, and was answered 500 each time."""
    own, site = stage.job.job, stage.job.job.build["site"]
    place = f"{site}/aistore"
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 176, "main", "sampler = DynamicBatchSampler(dataset, max_batch_size=args.bytes)", True),
        sdk.Frame(
            f"{place}/pytorch/dynamic_sampler.py", 53, "__init__", "self._samples_list = data_source._create_samples"
        ),
        sdk.Frame(f"{place}/sdk/obj/object_iterator.py", 41, "__next__", "new_objs = self._list_objects(self._token)"),
        sdk.Frame(f"{place}/sdk/bucket.py", 448, "list_objects", "return self.request_deserialize("),
    )
    text = sdk.pool_error(proxy.address, proxy.ports[0], f"/v1/buckets/{stage.bucket}?provider=ais", sdk.too_many(500))
    stage.job.sdk_warning(at, rank, "All retries exhausted; request failed", "ERROR")
    stage.job.raise_on(at + 2 * MS, rank, sdk.exhausted(own, frames, "RetryError", text))


def recordings_not_opened(stage: Stage, at: int, rank: int, node: Node, name: str, status: int, text: str) -> None:
    """lhotse opens the next tar of recordings by its own way to AIStore, and a target answers with an error."""
    site, (first, said) = stage.job.job.build["site"], refused_at(stage, at, rank, node, name, status, text)
    handler = f"{site}/aistore/sdk/response_handler.py"
    frames = (
        sdk.Frame(f"{site}/lhotse/shar/readers/lazy.py", 235, "__iter__", "for cut, *field_vals in zip(cuts, *fields)"),
        sdk.Frame(f"{site}/lhotse/shar/readers/tar.py", 44, "__iter__", 'with open_best(self.source, "rb") as f:'),
        sdk.Frame(f"{site}/lhotse/serialization.py", 1068, "open", "return obj.get_reader().as_file()"),
        sdk.Frame(handler, 45, "handle_response", "raise self.parse_error(r) from http_err"),
    )
    error = "aistore.sdk.errors." + ("ErrObjNotFound" if status == 404 else "AISError")
    in_worker(stage, at, rank, error, said, frames, "RuntimeError", (first,))


def tar_cut(stage: Stage, at: int, rank: int) -> None:
    """The tar of a streamed batch ends in the middle of a member; the SDK names neither the batch nor its target."""
    site, job = stage.job.job.build["site"], stage.job
    place, module = f"{site}/aistore/sdk/batch", "aistore.sdk.batch.extractor.tar_stream_extractor"
    cut = "unexpected end of data"
    head = f"{comma_stamp(at, job.job.zone)} [rank{rank}] ERROR {module}"
    job.say(at, rank, f"{head}: Failed to read tar archive: {cut}")
    first = sdk.Raised(
        (
            sdk.Frame(f"{place}/extractor/tar_stream_extractor.py", 66, "extract", "for tarinfo in tar:"),
            sdk.Frame(f"{PYTHON}/tarfile.py", 2524, "next", "raise ReadError(str(e)) from None"),
        ),
        f"tarfile.ReadError: {cut}",
        sdk.DIRECT,
    )
    caller = sdk.main_frames(
        job.job,
        stage.step,
        sdk.Frame(job.job.script, 61, "fetch", "info, content = next(items)", True),
        sdk.Frame(
            f"{place}/extractor/tar_stream_extractor.py",
            94,
            "extract",
            'raise RuntimeError("Failed to read tar archive stream") from e',
        ),
    )
    raised = sdk.Raised(caller, "RuntimeError: Failed to read tar archive stream")
    job.raise_on(at + 2 * MS, rank, sdk.traceback(first, raised))
