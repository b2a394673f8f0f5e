"""What further programs print when their reads or writes fail: PySlowFast, MMCV, h5py, libsndfile, nanotron's mover.

The wordings follow their sources and reports of users; none of them was seen in a run of ours.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import PYTHON, fetch_frames
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.rclone import rclone_reads_again
from fixtures.generator import sdk
from fixtures.generator.model import Node
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage

WORKER = "torch/utils/data/_utils"
TRIALS = 10


def videos_not_fetched(stage: Stage, turns: list[int], rank: int, names: list[str], said: str) -> None:
    """PySlowFast tries a video some times, then others; `said` is what it says of each try. The last turn raises."""
    folder = stage.job.job.script.rsplit("/", 1)[0]
    for trial, (then, name) in enumerate(zip(turns, names, strict=True)):
        index = sum(map(ord, name)) * 37
        stage.job.say(then, rank, said.format(index=index, path=f"/mnt/{stage.bucket}/{name}", trial=trial))
    frames = (
        sdk.Frame(f"{folder}/slowfast/datasets/kinetics.py", 464, "__getitem__", "raise RuntimeError(", marked=False),
    )
    text = f"Failed to fetch video after {TRIALS} retries."
    in_worker(stage, turns[-1] + 4 * MS, rank, "RuntimeError", text, frames)


def _backend_frames(stage: Stage) -> tuple[sdk.Frame, ...]:
    site = stage.job.job.build["site"]
    return (
        sdk.Frame(f"{site}/mmdet/datasets/custom.py", 220, "__getitem__", "data = self.prepare_train_img(idx)", True),
        sdk.Frame(
            f"{site}/mmdet/datasets/pipelines/loading.py", 60, "__call__", "img_bytes = self.file_client.get(filename)"
        ),
        sdk.Frame(f"{site}/mmcv/fileio/file_client.py", 1014, "get", "return self.client.get(filepath)", True),
        sdk.Frame(f"{site}/mmcv/fileio/file_client.py", 706, "get", "value_buf = urlopen(filepath).read()"),
    )


def url_refused(stage: Stage, at: int, rank: int, status: tuple[int, str]) -> None:
    """MMCV reads a picture by its address with urllib, which raises a status of HTTP as an error of its own."""
    code = "raise HTTPError(req.full_url, code, msg, hdrs, fp)"
    frames = (*_backend_frames(stage), sdk.Frame(f"{PYTHON}/urllib/request.py", 643, "http_error_default", code))
    in_worker(stage, at, rank, "urllib.error.HTTPError", f"HTTP Error {status[0]}: {status[1]}", frames)


def url_not_opened(stage: Stage, at: int, rank: int, why: str) -> None:
    """The same where there is no connection: urllib puts a bracket around what it was given, twice here."""
    own, site = stage.job.job, stage.job.job.build["site"]
    inner = (
        sdk.Frame(f"{site}/{WORKER}/worker.py", 308, "_worker_loop", "data = fetcher.fetch(index)"),
        sdk.Frame(f"{site}/{WORKER}/fetch.py", 51, "fetch", "data = [self.dataset[idx] for idx in possibly_batched]"),
        *_backend_frames(stage),
        sdk.Frame(f"{PYTHON}/urllib/request.py", 1351, "do_open", "raise URLError(err)"),
    )
    original = sdk.traceback(sdk.Raised(inner, f"urllib.error.URLError: <urlopen error {why}>"))
    caller = sdk.main_frames(own, stage.step, sdk.Frame(f"{site}/torch/_utils.py", 694, "reraise", "raise exception"))
    worker = stage.draw.child("loader process", rank).whole(0, 3)
    head = f"Caught URLError in DataLoader worker process {worker}."
    text = f"urllib.error.URLError: <urlopen error {head}\nOriginal {original}\n>"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, text)))


def hdf5_cannot_ask(stage: Stage, at: int, rank: int) -> None:
    """The driver of HDF5 for objects of S3 has no answer from curl, and says no more than that."""
    folder, site = stage.job.job.script.rsplit("/", 1)[0], stage.job.job.build["site"]
    frames = (
        sdk.Frame(f"{folder}/data/tiles.py", 58, "__getitem__", 'tile = self.file["tiles"][index]', True),
        sdk.Frame("h5py/_objects.pyx", 54, "h5py._objects.with_phil.wrapper", "return func(*args)"),
        sdk.Frame(f"{site}/h5py/_hl/dataset.py", 781, "__getitem__", "return self._fast_reader.read(args)"),
        sdk.Frame("h5py/_selector.pyx", 376, "h5py._selector.Reader.read", "H5Dread(self.dataset, mtype,"),
    )
    in_worker(stage, at, rank, "OSError", "Can't synchronously read data (curl cannot perform request)", frames)


def closed_unanswered(stage: Stage, at: int, rank: int, url: str) -> None:
    """botocore has sent a request, and the connection was closed before anything came back."""
    site = stage.job.job.build["site"]
    caller = fetch_frames(
        stage,
        "content = self.s3.get_object(Bucket=self.bucket, Key=name)['Body'].read()",
        sdk.Frame(f"{site}/botocore/client.py", 569, "_api_call", "return self._make_api_call(operation_name, kwargs)"),
        sdk.Frame(f"{site}/botocore/httpsession.py", 533, "send", "raise ConnectionClosedError("),
    )
    text = f'Connection was closed before we received a valid response from endpoint URL: "{url}".'
    raised = sdk.Raised(caller, f"botocore.exceptions.ConnectionClosedError: {text}")
    stage.job.raise_on(at, rank, sdk.traceback(raised))


def chunk_cut(stage: Stage, at: int, rank: int) -> None:
    """A streamed batch ends between two chunks: urllib3 wants the length of the next one and gets nothing."""
    job, site = stage.job.job, stage.job.job.build["site"]
    short = "InvalidChunkLength(got length b'', 0 bytes read)"
    broken = f'("Connection broken: {short}", {short})'
    first = sdk.Raised(
        (
            sdk.Frame(f"{site}/requests/models.py", 820, "generate", "yield from self.raw.stream(chunk_size"),
            sdk.Frame(f"{site}/urllib3/response.py", 1248, "read_chunked", "self._update_chunk_length()"),
            sdk.Frame(f"{site}/urllib3/response.py", 776, "_error_catcher", "raise ProtocolError(arg, e) from e"),
        ),
        f"urllib3.exceptions.ProtocolError: {broken}",
        sdk.DURING,
    )
    frames = (
        sdk.Frame(job.script, 61, "fetch", "info, content = next(items)", True),
        sdk.Frame(f"{site}/aistore/sdk/batch/extractor/tar_stream_extractor.py", 66, "extract", "for tarinfo in tar:"),
        sdk.Frame(f"{PYTHON}/tarfile.py", 562, "__read", "buf = self.fileobj.read(self.bufsize)", True),
        sdk.Frame(f"{site}/requests/models.py", 822, "generate", "raise ChunkedEncodingError(e)"),
    )
    raised = sdk.Raised(
        sdk.main_frames(job, stage.step, *frames), f"requests.exceptions.ChunkedEncodingError: {broken}"
    )
    stage.job.raise_on(at, rank, sdk.traceback(first, raised))


def mount_refused(stage: Stage, at: int, rank: int, node: Node, name: str, attempt: int) -> None:
    """rclone, which has the bucket mounted, gets no connection to the target that it was sent on to."""
    asked = f'Get "{node.url(0)}/s3/{stage.bucket}/{name}?x-id=GetObject"'
    why = f"dial tcp {node.address}:{node.ports[0]}: connect: connection refused"
    tried = "exceeded maximum number of attempts, 10, https response error StatusCode: 0, RequestID: , HostID: "
    text = f"operation error S3: GetObject, {tried}, request send failed, {asked}: {why}"
    rclone_reads_again(stage, at, rank, name, attempt, text)


def sound_without_reason(stage: Stage, at: int, rank: int) -> None:
    """An error of libsndfile in a loader process cannot be made again from its text: nothing of it is left."""
    job, site = stage.job, stage.job.job.build["site"]
    module = f"{site}/torch/utils/data/dataloader.py"
    caller = sdk.main_frames(
        job.job,
        stage.step,
        sdk.Frame(module, 733, "__next__", "data = self._next_data()", True),
        sdk.Frame(module, 1505, "_process_data", "data.reraise()"),
        sdk.Frame(f"{site}/torch/_utils.py", 733, "reraise", "raise exception"),
    )
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, "soundfile.LibsndfileError: <exception str() failed>")))


def moves(stage: Stage, at: int, rank: int, text: str) -> None:
    """nanotron's mover of checkpoints speaks in warnings only."""
    stage.job.note(at, rank, f"[S3] {text}", "W", 98, "s3_mover")


def console(stage: Stage, folder: str) -> str:
    """The address that nanotron's mover adds for people, of a bucket that Amazon does not have."""
    where = f"https://s3.console.aws.amazon.com/s3/buckets/checkpoints?region=us-east-1&prefix={folder}/"
    return f"(direct link: {where}&showversions=false)"


def s5cmd_failed(stage: Stage, command: list[str], state: str, errors: list[tuple[str, str]]) -> str:
    """What nanotron's mover says, at each look, of a command that has ended with an error."""
    rows = "\n".join(f'{{"operation":"cp","command":"cp {what}","error":"{why}"}}' for what, why in errors)
    return f"Error running command {command} during process {state}, return code 1, return message {rows}"
