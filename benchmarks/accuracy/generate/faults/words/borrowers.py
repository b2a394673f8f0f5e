"""What AIStore's Python SDK 2.0, its data sets for PyTorch and lhotse print, frame by frame as a run of the SDK does.

The frames and lines are those that the SDK printed against a small server of ours; lhotse's follow its source.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import PYTHON, fetch_frames
from benchmarks.accuracy.generate.faults.words.workbenches import data_folder, next_frames
from fixtures.generator import sdk
from fixtures.generator.model import Node
from fixtures.generator.moment import comma_stamp
from fixtures.generator.stage import Stage

RESUME = "IncompleteRead({got} bytes read, {left} more expected)"


def own_line(stage: Stage, at: int, rank: int, level: str, text: str) -> None:
    """A line of the SDK's own handler, which names neither a module nor a rank."""
    job = stage.job
    job.say(at, rank, f"{comma_stamp(at, job.job.zone)} {level}: {text}")


def resumes(stage: Stage, at: int, rank: int, name: str, got: int, left: int, turn: int) -> None:
    """An object file reader goes on after its stream has ended too early."""
    short = RESUME.format(got=got, left=left)
    told = f"Resuming 'objects/{stage.bucket}/{name}' after ('Connection broken: {short}', {short}) ({turn}/5)"
    own_line(stage, at, rank, "WARNING", told)


def read_frames(stage: Stage) -> tuple[sdk.Frame, ...]:
    """From read_all of a reader to the request client."""
    place = f"{stage.job.job.build['site']}/aistore/sdk/obj"
    return (
        sdk.Frame(f"{place}/object_reader.py", 96, "read_all", "return self._content_provider.read_all()", True),
        sdk.Frame(
            f"{place}/content_iterator/sequential.py",
            27,
            "read_all",
            "return self._client.get(stream=False).content",
        ),
        sdk.Frame(f"{place}/object_client.py", 184, "get", "return self._make_get_request(headers, stream)", True),
        sdk.Frame(f"{place}/object_client.py", 135, "_make_get_request", "resp = self._request_client.request(", True),
    )


def list_frames(stage: Stage) -> tuple[sdk.Frame, ...]:
    """From a listing of all objects of a bucket to the request client."""
    place = f"{stage.job.job.build['site']}/aistore/sdk"
    return (
        sdk.Frame(f"{place}/bucket.py", 749, "list_all_objects", "resp = self.list_objects(", True),
        sdk.Frame(f"{place}/bucket.py", 624, "list_objects", "bucket_list = self.client.request_deserialize(", True),
        sdk.Frame(
            f"{place}/request_client.py",
            183,
            "request_deserialize",
            "resp = self.request(method, path, **kwargs)",
            True,
        ),
    )


def answered(
    stage: Stage, node: Node, status: tuple[int, str], error: str, text: str, path: str, caller: tuple[sdk.Frame, ...]
) -> str:
    """The traceback of a request that a node answers with an error; `path` may have a query."""
    job, plain = stage.job.job, path.partition("?")[0]
    client = stage.client(stage.culprit)
    tcode = {"ErrBckNotFound": "ErrBckNotFound", "ErrObjNotFound": "ErrNotFound"}.get(error, "")
    body = sdk.answer(node, status[0], text, "GET", plain, client, tcode)
    url = node.url(0) + path
    said = f"aistore.sdk.errors.{error}: " + sdk.request_error(status[0], body, url)
    return sdk.http_failure(job, status[0], status[1], url, said, caller)


def moss_frames(stage: Stage) -> tuple[sdk.Frame, ...]:
    """AIStore's data set that reads by batches, as a loader process goes through it."""
    place = f"{stage.job.job.build['site']}/aistore/pytorch/batch_iter_dataset.py"
    return (
        sdk.Frame(place, 84, "__iter__", "yield from self._process_batch(pending)"),
        sdk.Frame(place, 111, "_process_batch", 'raise RuntimeError(f"{obj_info.obj_name}: {obj_info.err_msg}")'),
    )


def lhotse_frames(stage: Stage, line: int, function: str, code: str) -> tuple[sdk.Frame, ...]:
    """From NeMo's data set to a line of lhotse's loader of batches."""
    site = stage.job.job.build["site"]
    return (
        sdk.Frame(
            f"{site}/nemo/collections/asr/data/audio_to_text_lhotse.py",
            97,
            "__getitem__",
            "audio, audio_lens, cuts = self.load_audio(cuts)",
            True,
        ),
        sdk.Frame(f"{site}/lhotse/dataset/input_strategies.py", 318, "__call__", "cuts = self.ais_batch_loader(cuts)"),
        sdk.Frame(f"{site}/lhotse/ais/batch_loader.py", line, function, code),
    )


def spawn_frames(stage: Stage) -> tuple[sdk.Frame, ...]:
    """From the first batch of a loader to the pickle that its processes are started with."""
    loader, place = f"{stage.job.job.build['site']}/torch/utils/data/dataloader.py", f"{PYTHON}/multiprocessing"
    return (
        sdk.Frame(loader, 493, "__iter__", "return self._get_iterator()", True),
        sdk.Frame(loader, 424, "_get_iterator", "return _MultiProcessingDataLoaderIter(self)", True),
        sdk.Frame(loader, 1171, "__init__", "w.start()"),
        sdk.Frame(f"{place}/process.py", 121, "start", "self._popen = self._Popen(self)", True),
        sdk.Frame(f"{place}/context.py", 288, "_Popen", "return Popen(process_obj)", True),
        sdk.Frame(f"{place}/popen_spawn_posix.py", 32, "__init__", "super().__init__(process_obj)"),
        sdk.Frame(f"{place}/popen_fork.py", 19, "__init__", "self._launch(process_obj)"),
        sdk.Frame(f"{place}/popen_spawn_posix.py", 47, "_launch", "reduction.dump(process_obj, fp)"),
        sdk.Frame(f"{place}/reduction.py", 60, "dump", "ForkingPickler(file, protocol).dump(obj)"),
    )


def resumed_too_often(stage: Stage, at: int, rank: int, why: str) -> None:
    """A tar is read through an object file reader, which has resumed as often as it may; `why` is requests' error."""
    site = stage.job.job.build["site"]
    place, module = f"{site}/aistore/sdk/obj/obj_file", "aistore.sdk.obj.obj_file.errors"
    first = sdk.Raised(
        (
            sdk.Frame(f"{place}/stream.py", 115, "__next__", "chunk = memoryview(next(self._content_iter))"),
            sdk.Frame(f"{site}/requests/models.py", 822, "generate", "raise ChunkedEncodingError(e)"),
        ),
        f"requests.exceptions.ChunkedEncodingError: {why}",
        sdk.DIRECT,
    )
    inner = (
        sdk.Frame(f"{PYTHON}/tarfile.py", 2449, "next", "tarinfo = self.tarinfo.fromtarfile(self)", True),
        sdk.Frame(f"{place}/object_file.py", 100, "read", "chunk = next(self._stream, None)", True),
        sdk.Frame(f"{place}/stream.py", 119, "__next__", "self._resume(err)"),
        sdk.Frame(
            f"{place}/stream.py", 146, "_resume", "raise ObjectFileReaderMaxResumeError(err, self._resumes) from err"
        ),
    )
    text = f"{module}.ObjectFileReaderMaxResumeError: ObjectFileReader exceeded max number of stream resumptions: 6"
    last = sdk.Raised(fetch_frames(stage, "member = next(self.tar)", *inner), text)
    stage.job.raise_on(at, rank, sdk.traceback(first, last))


def caught(
    stage: Stage, at: int, rank: int, frames: tuple[sdk.Frame, ...], text: str, again: str = "", *first: sdk.Raised
) -> None:
    """A rank raises anew what a loader process has raised, whose type PyTorch names without its module.

    A type that takes more than a text cannot be made again and becomes what `again` says. `first` is the cause of it.
    """
    error = text.partition(":")[0]
    loader, worker = f"{data_folder(stage)}/dataloader.py", stage.draw.child("caught", rank).whole(0, 3)
    outer = next_frames(
        stage,
        sdk.Frame(loader, 1480, "_next_data", "return self._process_data(data)", True),
        sdk.Frame(loader, 1505, "_process_data", "data.reraise()"),
        sdk.Frame(f"{stage.job.job.build['site']}/torch/_utils.py", 733, "reraise", "raise exception"),
    )
    loop = sdk.Frame(f"{data_folder(stage)}/_utils/worker.py", 349, "_worker_loop", "data = fetcher.fetch(index)", True)
    own = sdk.traceback(*first, sdk.Raised((loop, *frames), text))
    head = f"{again or error}: Caught {error.rpartition('.')[2]} in DataLoader worker process {worker}."
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(outer, f"{head}\nOriginal {own}\n")))
