"""What readers of tables, rasters and arrays print when a read fails: Polars, DuckDB, GDAL, NetCDF, zarr, KvikIO.

The wordings follow their sources and reports of users; none of them was seen in a run of ours.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.accuracy.generate.faults.words.clients import fetch_frames
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.lodgers import asked_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aistraffic, sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import SEC, go_duration, seconds
from fixtures.generator.stage import Stage, utterance

#: What Rust's object_store says of a request that has no answer, and of a certificate that is over.
NOT_SENT = "error sending request for url ({url})"
NOT_TRUSTED = "error sending request for url ({url}): client error (Connect): invalid peer certificate: Expired"


def crawls_in_turns(stage: Stage, steps: int, span_s: tuple[float, float]) -> tuple[int, Callable[[int], int]]:
    """From the fault on some ranks wait that long for data in each step, and all others for them.

    The moment of the last step, and a function that says for a moment who waits for data then.
    """
    draw, job, first, params = stage.draw.child("in turns"), stage.job, stage.step, stage.params
    ranks = sorted([stage.culprit, *readers(stage)])
    many = max(1, round(len(ranks) / len(stage.cluster.targets)))
    waits, late = {}, {}
    for step in range(first, first + steps):
        waits[step], late[step] = draw.between(*span_s), sorted(draw.shuffled(ranks)[: draw.whole(1, many)])
        job.delay(step, seconds(waits[step]))
    for step in range(first + first % 2, first + steps, 2):
        job.train(step, step + 1, every=2, slow=waits, late=late[step])
    over = job.step_at(first + steps)
    often = params.ranks / max(1, params.read_every) / sum(span_s) * 2
    aistraffic.batches(stage.cluster, stage.at, over, often, draw.child("batches"))

    def whose(then: int) -> int:
        step = next((one for one in late if then < job.step_at(one + 1)), first + steps - 1)
        return draw.pick(late[step])

    return over, whose


def tells_what_is_late(
    stage: Stage,
    draw: Draw,
    whose: Callable[[int], int],
    over: int,
    waits_s: tuple[float, float],
    since: int,
    apart_ms: tuple[int, int],
) -> None:
    """Who waits says since when (`since`), and two times of three for what and where; so much apart, until `over`."""
    then, turn = stage.at + draw.span(4_000, 9_000), 0
    while then < over:
        waited = late(draw, waits_s, since, then)
        said = f"no batch for {waited}"
        if turn % 3 < 2:
            said = f"{waited} for {asked_of(stage, stage.victim, utterance(draw))}"
        stage.job.note(then, whose(then), said, "W", 91, "loader")
        then, turn = then + draw.span(*apart_ms), turn + 1


def table(draw: Draw) -> str:
    """The name of a file of Parquet."""
    return f"tables/part-{draw.whole(0, 2047):05d}.parquet"


def raster(draw: Draw) -> str:
    """The name of a picture that a satellite has taken."""
    band, square = draw.pick("CDFGHKLMNPQRSTUVWX"), draw.token(2, "ABCDEFGHJKLMNPQRSTUV")
    return f"s2/{draw.whole(1, 60):02d}{band}/{square}/B0{draw.whole(2, 8)}.tif"


def late(draw: Draw, span_s: tuple[float, float], began: int, then: int) -> str:
    """How long somebody has waited who says so at that moment: not longer than since the fault began."""
    return f"{min(draw.between(*span_s), (then - began) / SEC - 0.1):.1f} s"


def s3_of(stage: Stage, node: Node, name: str) -> str:
    """What a client of the S3 API asks a node for."""
    return f"{node.url(0)}/s3/{stage.bucket}/{name}"


def gave_up(url: str, spent: int, tries: tuple[int, int, int], why: str) -> str:
    """Rust's object_store has tried as often, or as long, as it may; its error names the last address it has asked.

    `tries` is how often it has tried again, how often it may, and for how many seconds.
    """
    again, limit, timeout_s = tries
    head = f"Error after {again} retries in {go_duration(spent)}, max_retries:{limit}, retry_timeout:{timeout_s}s"
    return f"Generic S3 error: {head}, source:{why.format(url=url)}"


def frame_not_read(stage: Stage, at: int, rank: int, told: str) -> None:
    """Polars collects a lazy frame of a file of Parquet; below it is Rust's object_store."""
    site = stage.job.job.build["site"]
    frames = fetch_frames(
        stage,
        "frame = pl.scan_parquet(uri, storage_options=OPTIONS).filter(pl.col('fold') == fold).collect()",
        sdk.Frame(f"{site}/polars/_utils/deprecation.py", 97, "wrapper", "return function(*args, **kwargs)"),
        sdk.Frame(
            f"{site}/polars/lazyframe/frame.py", 2429, "collect", "return wrap_df(ldf.collect(engine, callback))"
        ),
    )
    stack = "This error occurred with the following context stack:\n\t[1] 'parquet scan'\n\t[2] 'filter'\n\t[3] 'sink'"
    stage.job.raise_on(
        at, rank, sdk.traceback(sdk.Raised(frames, f"polars.exceptions.ComputeError: {told}\n\n{stack}"))
    )


def query_failed(stage: Stage, at: int, rank: int, error: str, told: str) -> None:
    """DuckDB reads row groups over its httpfs; `error` is IOException or HTTPException."""
    query = "SELECT * FROM read_parquet(?) WHERE shard % ? = ?"
    frames = fetch_frames(stage, f'rows = self.con.execute("{query}", [uri, n, i]).fetch_record_batch(4096)')
    words = {"IOException": "IO Error", "HTTPException": "HTTP Error"}[error]
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"_duckdb.{error}: {words}: {told}")))


def tile_not_read(stage: Stage, at: int, rank: int, name: str, draw: Draw) -> None:
    """GDAL reads a tile of a raster over /vsicurl/ and gets a part of it; rasterio tells of an exception before."""
    frames = (
        sdk.Frame("/workspace/earth/tiles.py", 47, "__getitem__", "pixels = source.read(window=window)", True),
        sdk.Frame(
            "rasterio/_io.pyx", 671, "rasterio._io.DatasetReaderBase.read", "out = self._read(indexes, out, window)"
        ),
        sdk.Frame(
            "rasterio/_io.pyx", 1014, "rasterio._io.DatasetReaderBase._read", 'raise RasterioIOError("Read failed. See'
        ),
    )
    where = f"X offset {draw.whole(0, 40)}, Y offset {draw.whole(0, 40)}"
    cause = f"{name.rsplit('/', 1)[-1]}, band 1: IReadBlock failed at {where}: TIFFReadEncodedTile() failed."
    stage.job.say(at - SEC // 500, rank, f"ERROR:rasterio._env:CPLE_AppDefined in {cause}")
    text = "Read failed. See previous exception for details."
    in_worker(stage, at, rank, "rasterio.errors.RasterioIOError", text, frames)


def grid_not_opened(stage: Stage, at: int, rank: int, url: str) -> None:
    """netCDF's library reads bytes of an address with curl and knows one error of input and output."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame(
            "/workspace/weather/grids.py", 33, "__getitem__", 'grid = xr.open_dataset(f"{url}#mode=bytes")', True
        ),
        sdk.Frame(f"{site}/xarray/backends/api.py", 687, "open_dataset", "backend_ds = backend.open_dataset("),
        sdk.Frame(f"{site}/xarray/backends/netCDF4_.py", 464, "_acquire", "with self._manager.acquire_context("),
        sdk.Frame("src/netCDF4/_netCDF4.pyx", 2521, "netCDF4._netCDF4.Dataset.__init__", "_ensure_nc_success("),
    )
    in_worker(stage, at, rank, "OSError", f"[Errno -68] NetCDF: I/O failure: '{url}#mode=bytes'", frames)


def chunk_not_read(stage: Stage, at: int, rank: int, told: str) -> None:
    """zarr reads a chunk of an array through obstore, which is Rust's object_store."""
    site = stage.job.job.build["site"]
    frames = fetch_frames(
        stage,
        "fields = self.array[first : first + self.span]",
        sdk.Frame(f"{site}/zarr/core/array.py", 2430, "__getitem__", "return self.get_basic_selection(fields=fields)"),
        sdk.Frame(f"{site}/zarr/core/sync.py", 163, "sync", "raise return_result"),
        sdk.Frame(f"{site}/zarr/storage/_obstore.py", 109, "get", "resp = await obs.get_async(self.store, key)"),
    )
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"obstore.exceptions.GenericError: {told}")))


def kvikio_tries(stage: Stage, at: int, rank: int, status: int, attempt: int) -> None:
    """KvikIO says on standard output that it tries again."""
    wait = 500 << (attempt - 1)
    stage.job.say(at, rank, f"KvikIO: Got HTTP code {status}. Retrying after {wait}ms (attempt {attempt} of 3).")


def kvikio_failed(stage: Stage, at: int, rank: int, status: int) -> None:
    """KvikIO has tried three times to read a part of a remote file into memory of a device."""
    site = stage.job.job.build["site"]
    frames = fetch_frames(
        stage,
        "got = self.remote.pread(buffer, size, file_offset=offset).get()",
        sdk.Frame(f"{site}/kvikio/cufile.py", 29, "get", "return self._handle.get()"),
        sdk.Frame("future.pyx", 26, "kvikio._lib.future.IOFuture.get", "ret = self._handle.get()"),
    )
    where = "KvikIO failure at: cpp/src/shim/libcurl.cpp:197"
    why = f"KvikIO: HTTP request reached maximum number of attempts (3). Reason: Got HTTP code {status}."
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"RuntimeError: {where}: {why}")))


def audio_not_opened(stage: Stage, at: int, rank: int, path: str, why: str) -> None:
    """torchaudio's FFmpeg opens a file below a mount."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame("/workspace/train/waves.py", 41, "__getitem__", "wave, rate = torchaudio.load(path)", True),
        sdk.Frame(
            f"{site}/torchaudio/_backend/utils.py", 205, "load", "return backend.load(uri, frame_offset, num_frames)"
        ),
        sdk.Frame(
            f"{site}/torio/io/_streaming_media_decoder.py",
            526,
            "__init__",
            "self._be = ffmpeg_ext.StreamingMediaDecoder(",
        ),
    )
    source = "/__w/audio/audio/pytorch/audio/src/libtorio/ffmpeg/stream_reader/stream_reader.cpp:42"
    text = f'Failed to open the input "{path}" ({why}).\nException raised from get_input_format_context at {source}'
    in_worker(stage, at, rank, "RuntimeError", f"{text} (most recent call first):", frames)


def sound_not_known(stage: Stage, at: int, rank: int, name: str) -> None:
    """An entry of a streamed batch has come empty, and libsndfile is given what is in it."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame(
            "/workspace/train/entries.py", 58, "decode", "samples, rate = soundfile.read(io.BytesIO(data))", True
        ),
        sdk.Frame(f"{site}/soundfile.py", 305, "read", "with SoundFile(file, 'r', samplerate, channels,"),
        sdk.Frame(
            f"{site}/soundfile.py", 1216, "_open", 'raise LibsndfileError(err, prefix="Error opening {0!r}: ".format('
        ),
    )
    handle = f"0x7f{stage.draw.child('bytes', rank).token(10, '0123456789abcdef')}"
    told = f"Error opening <_io.BytesIO object at {handle}>: Format not recognised."
    stage.job.note(at - SEC // 400, rank, f"{name}: 0 bytes, decoded as flac", "W", 55, "entries")
    in_worker(stage, at, rank, "soundfile.LibsndfileError", told, frames, "RuntimeError")
