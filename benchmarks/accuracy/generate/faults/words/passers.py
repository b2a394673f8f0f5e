"""What readers print when a read fails: Lance, TileDB, TensorFlow's records, h5py, SQLite, Ultralytics, boto3, pandas.

The wordings follow their sources and reports of users; none of them was seen in a run of ours.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import PYTHON, fetch_frames
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from fixtures.generator import sdk
from fixtures.generator.draw import HEX, Draw
from fixtures.generator.moment import SEC, go_duration, local
from fixtures.generator.stage import Stage

#: What torch says of an archive that it cannot read, and the first release that says it.
MINIZ = (
    "This is an internal miniz error. If you are seeing this error, there is a high likelihood that your checkpoint "
    "file is corrupted. This can happen if the checkpoint was not saved properly, was transferred incorrectly, or the "
    "file was modified after saving."
)
NAMES_MINIZ = 211


def fragment(draw: Draw) -> str:
    """The name of a data file of a table of Lance."""
    parts = "-".join(draw.token(length, HEX) for length in (8, 4, 4, 4, 12))
    return f"captions.lance/data/{parts}.lance"


def cells(draw: Draw) -> str:
    """The name of a file of one attribute in a fragment of a TileDB array."""
    stamp = draw.whole(1_690_000_000_000, 1_740_000_000_000)
    return f"census/X/__fragments/__{stamp}_{stamp}_{draw.token(32, HEX)}_22/a{draw.whole(0, 3)}.tdb"


def rows_not_taken(stage: Stage, at: int, rank: int, url: str, spent: int) -> None:
    """Lance takes rows by their numbers; Rust's object_store below has tried ten times and could not send."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame("/workspace/train/rows.py", 46, "__getitems__", "table = self.table.take(rows)", True),
        sdk.Frame(
            f"{site}/lance/dataset.py", 1066, "take", "return pa.Table.from_batches([self._ds.take(indices, columns)])"
        ),
    )
    tried = "after 10 retries, max_retries: 10, retry_timeout: 180s  - HTTP error: error sending request"
    place = "rust/lance-io/src/scheduler.rs:214:27"
    text = f"LanceError(IO): Generic S3 error: Error performing GET {url} in {go_duration(spent)}, {tried}, {place}"
    in_worker(stage, at, rank, "OSError", text, frames)


def cells_not_read(stage: Stage, at: int, rank: int, name: str, code: int, why: str) -> None:
    """TileDB reads tiles of an array over S3 with the SDK of AWS for C++, whose error is one of curl."""
    site = stage.job.job.build["site"]
    frames = fetch_frames(
        stage,
        "counts = self.matrix.query(attrs=['data']).multi_index[rows]",
        sdk.Frame(f"{site}/tiledb/multirange_indexing.py", 274, "__getitem__", "return self._run_query()"),
        sdk.Frame(f"{site}/tiledb/multirange_indexing.py", 363, "_run_query", "self.pyquery.submit()"),
    )
    told = f"[Error Type: 99] [HTTP Response Code: -1] : curlCode: {code}, {why}"
    text = f"tiledb.cc.TileDBError: [TileDB::S3] Error: Failed to get S3 object s3://{stage.bucket}/{name}{told}"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))


def records_not_read(stage: Stage, at: int, rank: int, name: str) -> None:
    """TensorFlow reads a file of records below a mount, and knows its error of input and output as unknown."""
    site = stage.job.job.build["site"]
    place = f"{site}/tensorflow/python"
    frames = fetch_frames(
        stage,
        "episode = next(self.episodes)",
        sdk.Frame(f"{place}/data/ops/iterator_ops.py", 826, "__next__", "return self._next_internal()"),
        sdk.Frame(
            f"{place}/data/ops/iterator_ops.py", 776, "_next_internal", "ret = gen_dataset_ops.iterator_get_next("
        ),
        sdk.Frame(f"{place}/framework/ops.py", 5983, "raise_from_not_ok_status", "raise core._status_to_exception(e)"),
    )
    device = "/job:localhost/replica:0/task:0/device:CPU:0"
    node = f"{{{{function_node __wrapped__IteratorGetNext_output_types_9_device_{device}}}}}"
    said = f"{node} /mnt/{stage.bucket}/{name}; Input/output error [Op:IteratorGetNext]"
    text = f"tensorflow.python.framework.errors_impl.UnknownError: {said}"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))


def dataset_not_read(stage: Stage, at: int, rank: int, name: str, draw: Draw) -> None:
    """h5py reads a slice of a file below a mount; the library of HDF5 tells all it knows of the system's error."""
    stamp = f"{local(at, stage.job.job.zone):%a %b %e %H:%M:%S %Y}"
    size = draw.whole(2, 60) * 640 * 368 * 8
    where = f"filename = '/mnt/{stage.bucket}/{name}', file descriptor = {draw.whole(31, 90)}, errno = 5"
    what = f"error message = 'Input/output error', buf = 0x7f{draw.token(10, HEX)}, total read size = {size}"
    rest = (
        f"bytes this sub-read = {size}, bytes actually read = 18446744073709551615, offset = {draw.whole(0, 9) * 4096}"
    )
    frames = (
        sdk.Frame("/workspace/train/slices.py", 52, "__getitem__", 'kspace = file["kspace"][index]', True),
        sdk.Frame("h5py/_objects.pyx", 54, "h5py._objects.with_phil.wrapper", "with phil:"),
        sdk.Frame(
            "h5py/_selector.pyx", 376, "h5py._selector.Reader.read", "H5Dread(self.dataset, self.h5_memory_datatype,"
        ),
    )
    text = f"[Errno 5] Can't synchronously read data (file read failed: time = {stamp}\n, {where}, {what}, {rest})"
    in_worker(stage, at, rank, "OSError", text, frames)


def database_not_read(stage: Stage, at: int, rank: int) -> None:
    """SQLite reads a page of a file below a mount, and says nothing of where."""
    frames = (
        sdk.Frame(
            "/workspace/tiles/archive.py", 71, "__getitem__", "row = self.db.execute(TILE, (zoom, x, y)).fetchone()"
        ),
    )
    in_worker(stage, at, rank, "sqlite3.OperationalError", "disk I/O error", frames)


def image_not_found(stage: Stage, at: int, rank: int, name: str) -> None:
    """Ultralytics has OpenCV read a picture below a mount, which returns nothing for whatever reason."""
    site = stage.job.job.build["site"]
    path = f"/mnt/{stage.bucket}/{name}"
    since = (at - stage.job.begin) / SEC + 7.1
    reason = "can't open/read file: check file path/integrity"
    stage.job.say(at, rank, f"[ WARN:0@{since:.3f}] global loadsave.cpp:268 findDecoder imread_('{path}'): {reason}")
    frames = (
        sdk.Frame(
            f"{site}/ultralytics/data/base.py",
            377,
            "__getitem__",
            "return self.transforms(self.get_image_and_label(index))",
        ),
        sdk.Frame(
            f"{site}/ultralytics/data/base.py",
            390,
            "get_image_and_label",
            'label["img"], label["ori_shape"], label["resized_shape"] = self.load_image(index)',
        ),
        sdk.Frame(
            f"{site}/ultralytics/data/base.py", 237, "load_image", 'raise FileNotFoundError(f"Image Not Found {f}")'
        ),
    )
    in_worker(stage, at, rank, "FileNotFoundError", f"Image Not Found {path}", frames)


def picture_not_identified(stage: Stage, at: int, rank: int) -> None:
    """Pillow is given bytes that are no picture, and names the object that holds them."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame("/workspace/train/pictures.py", 67, "__getitem__", "picture = Image.open(io.BytesIO(content))", True),
        sdk.Frame(f"{site}/PIL/Image.py", 3536, "open", "raise UnidentifiedImageError(msg)"),
    )
    handle = f"0x7f{stage.draw.child('bytes', rank).token(10, HEX)}"
    text = f"cannot identify image file <_io.BytesIO object at {handle}>"
    in_worker(stage, at, rank, "PIL.UnidentifiedImageError", text, frames)


def address_refused(stage: Stage, at: int, rank: int, status: tuple[int, str]) -> None:
    """imageio reads a picture by its address with urllib, which raises a status of HTTP as an error of its own."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame("/workspace/train/links.py", 53, "__getitem__", "picture = imageio.v3.imread(self.url(name))", True),
        sdk.Frame(f"{site}/imageio/v3.py", 53, "imread", 'with imopen(uri, "r", **plugin_kwargs) as img_file:', True),
        sdk.Frame(f"{site}/imageio/core/request.py", 450, "get_file", "self._file = urlopen(self.filename, timeout=5)"),
        sdk.Frame(f"{PYTHON}/urllib/request.py", 643, "http_error_default", "raise HTTPError(req.full_url, code, msg,"),
    )
    in_worker(stage, at, rank, "urllib.error.HTTPError", f"HTTP Error {status[0]}: {status[1]}", frames)


def array_all_zeros(stage: Stage, at: int, rank: int, chunk: str) -> None:
    """The data set looks at what zarr returns: a chunk that is not there is one of the fill value."""
    frames = (
        sdk.Frame(
            "/workspace/weather/fields.py", 58, "__getitem__", "day = self.checked(self.array[index], key)", True
        ),
        sdk.Frame("/workspace/weather/fields.py", 49, "checked", 'raise ValueError(f"{key}: all values are {fill}")'),
    )
    in_worker(stage, at, rank, "ValueError", f"{chunk}: all values are 0.0", frames)


def record_not_read(stage: Stage, at: int, rank: int, number: int) -> None:
    """torch reads a storage of an archive by its own file reader, which has fewer bytes than it asked for."""
    job, site = stage.job, stage.job.job.build["site"]
    place = f"{site}/torch/serialization.py"
    frames = sdk.main_frames(
        job.job,
        stage.step,
        sdk.Frame("/workspace/train/teacher.py", 142, "refresh", 'state = torch.load(path, map_location="cpu")', True),
        sdk.Frame(place, 1360, "load", "return _load("),
        sdk.Frame(place, 1812, "persistent_load", "typed_storage = load_tensor("),
        sdk.Frame(place, 1772, "load_tensor", "zip_file.get_storage_from_record(name, numel, torch.UntypedStorage)"),
    )
    text = f"RuntimeError: PytorchStreamReader failed reading file data/{number}: file read failed"
    if stage.params.torch_release.order >= NAMES_MINIZ:
        text = f"{text}. {MINIZ}"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))


def tokens_timed_out(stage: Stage, at: int, rank: int, key: str) -> None:
    """Megatron reads documents of a file of tokens by ranges; in the middle of a body botocore knows no address."""
    site = stage.job.job.build["site"]
    place = f"{site}/megatron/core/datasets"
    frames = (
        sdk.Frame(
            f"{place}/gpt_dataset.py", 268, "__getitem__", "text, _ = self._query_document_sample_shuffle_indices(idx)"
        ),
        sdk.Frame(f"{place}/indexed_dataset.py", 735, "get", "sequence = self.bin_reader.read("),
        sdk.Frame(f"{place}/indexed_dataset.py", 529, "_extract_from_cache", "self._cache = self._client.get_object("),
        sdk.Frame(f"{site}/botocore/response.py", 103, "read", "raise ReadTimeoutError(endpoint_url=e.url, error=e)"),
    )
    stage.job.note(at - SEC // 300, rank, f"bin_reader: range of s3://{stage.bucket}/{key} is not complete", "E", 528)
    text = 'Read timeout on endpoint URL: "None"'
    in_worker(stage, at, rank, "botocore.exceptions.ReadTimeoutError", text, frames, "RuntimeError")


def download_given_up(stage: Stage, at: int, rank: int, url: str) -> None:
    """boto3 downloads a file in parts; a part was begun five times, each time its body stopped."""
    site = stage.job.job.build["site"]
    first = sdk.Raised(
        (
            sdk.Frame(f"{site}/boto3/s3/transfer.py", 406, "download_file", "future.result()"),
            sdk.Frame(f"{site}/s3transfer/futures.py", 111, "result", "return self._coordinator.result()"),
            sdk.Frame(f"{site}/s3transfer/download.py", 598, "_main", "raise RetriesExceededError(last_exception)"),
        ),
        "s3transfer.exceptions.RetriesExceededError: Max Retries Exceeded",
        sdk.DURING,
    )
    caller = fetch_frames(
        stage,
        "self.s3.download_file(self.bucket, key, local)",
        sdk.Frame(f"{site}/boto3/s3/inject.py", 192, "download_file", "return transfer.download_file("),
        sdk.Frame(f"{site}/boto3/s3/transfer.py", 415, "download_file", "raise RetriesExceededError(e.last_exception)"),
    )
    stage.job.note(at - SEC // 200, rank, f"download of {url} is given up", "E", 76)
    raised = sdk.Raised(caller, "boto3.exceptions.RetriesExceededError: Max Retries Exceeded")
    stage.job.raise_on(at, rank, sdk.traceback(first, raised))


def list_not_connected(stage: Stage, at: int, rank: int, url: str) -> None:
    """pandas reads a list of samples through s3fs, which gets no connection to where it was sent on to."""
    site = stage.job.job.build["site"]
    frames = fetch_frames(
        stage,
        "frame = pd.read_csv(uri, storage_options=OPTIONS)",
        sdk.Frame(f"{site}/pandas/io/parsers/readers.py", 1026, "read_csv", "return _read(filepath_or_buffer, kwds)"),
        sdk.Frame(f"{site}/pandas/io/common.py", 728, "get_handle", "ioargs = _get_filepath_or_buffer("),
        sdk.Frame(f"{site}/s3fs/core.py", 146, "_error_wrapper", "raise err"),
        sdk.Frame(
            f"{site}/aiobotocore/httpsession.py",
            237,
            "send",
            "raise ConnectTimeoutError(endpoint_url=request.url, error=e)",
        ),
    )
    text = f'botocore.exceptions.ConnectTimeoutError: Connect timeout on endpoint URL: "{url}"'
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
