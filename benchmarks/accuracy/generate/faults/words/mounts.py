"""What a bucket prints that is mounted with Mountpoint for S3, and what programs print that read and write there.

The wordings follow Mountpoint's sources and its documentation of troubles; none of them was seen in a run. Its log goes
to the journal of a host, which a monitor copies into the log of the job.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.accuracy.generate.faults.tenth.training import watched
from fixtures.generator import sdk
from fixtures.generator.draw import Draw
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage

INTERNAL = "CRT error 14341: aws-c-s3: AWS_ERROR_S3_INTERNAL_ERROR, Response code indicates internal server error"
INVALID = "CRT error 14343: aws-c-s3: AWS_ERROR_S3_INVALID_RESPONSE_STATUS, Invalid response status from request"
SHARED = (
    "It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit."
)
MOUNT = "mount-s3[{pid}]: [WARN]"


@dataclass(frozen=True)
class Opened:
    """A file below a mount that is open on a host."""

    node: int
    pid: int
    request: int
    inode: int
    handle: int
    name: str


def opened(stage: Stage, rank: int, name: str, draw: Draw) -> Opened:
    """A file on the host of a rank, as the daemon of its mount numbers it."""
    node = stage.job.job.node_of(rank)
    return Opened(
        node,
        stage.job.job.agent_pids[node] - draw.whole(300, 900),
        draw.whole(9_000, 990_000),
        draw.whole(12, 4_000),
        draw.whole(9, 900),
        name,
    )


def _span(file: Opened, verb: str, offset: int) -> str:
    return (
        f"{MOUNT.format(pid=file.pid)} {verb}{{req={file.request} ino={file.inode} fh={file.handle} offset={offset} "
        f'length=131072 name="{file.name.rsplit("/", 1)[-1]}"}}'
    )


def request_failed(stage: Stage, at: int, file: Opened, offset: int, spent_ms: float) -> None:
    """A part of a file was asked for and answered with 500; the client below tries it again."""
    end = offset + (8 << 20)
    what = f"request failed request_type=GetObject http_status=500 range=Some({offset}..{end}) "
    what += f"duration={spent_ms:.6f}ms ttfb=Some({spent_ms - 0.4:.6f}ms) request_id=<unknown>"
    watched(stage, at, file.node, f"{_span(file, 'read', offset)}: mountpoint_s3_client::s3_crt_client: {what}")


def read_failed(stage: Stage, at: int, file: Opened, offset: int) -> None:
    """The kernel is told that a page cannot be read."""
    why = "get request failed: get object request failed: Client error: Unknown CRT error: "
    said = f"{_span(file, 'read', offset)}: mountpoint_s3_fs::fuse: read failed: {why}{INTERNAL}"
    watched(stage, at, file.node, said)


def write_failed(stage: Stage, at: int, file: Opened, offset: int) -> None:
    """The kernel is told that a page cannot be written."""
    why = "upload error: put request failed: Client error: Unknown CRT error: "
    watched(
        stage, at, file.node, f"{_span(file, 'write', offset)}: mountpoint_s3_fs::fuse: write failed: {why}{INVALID}"
    )


def bus_error_in_worker(stage: Stage, at: int, rank: int) -> None:
    """A loader process touches a page that cannot be read; PyTorch thinks of shared memory."""
    job, module = stage.job, f"{stage.job.job.build['site']}/torch/utils/data"
    said = (
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm)."
    )
    job.say(at, rank, said)
    caller = sdk.main_frames(
        job.job,
        stage.step,
        sdk.Frame(f"{module}/dataloader.py", 1275, "_try_get_data", "data = self._data_queue.get(timeout=timeout)"),
        sdk.Frame(f"{module}/_utils/signal_handling.py", 73, "handler", "_error_if_any_worker_fails()"),
    )
    pid = job.job.rank_pids[rank] + stage.draw.child("mapped by").whole(90, 160)
    text = f"RuntimeError: DataLoader worker (pid {pid}) is killed by signal: Bus error. {SHARED}"
    job.raise_on(at + 80 * MS, rank, sdk.traceback(sdk.Raised(caller, text)))


def archive_not_written(stage: Stage, at: int, path: str, draw: Draw) -> None:
    """torch.save cannot write an archive; its destructor finds another position than it should be at."""
    own, file = stage.job.job, f"{stage.job.job.build['site']}/torch/serialization.py"
    lines, pos = draw.pick(((783, 603), (858, 664))), draw.whole(1 << 30, 9 << 30) // 64 * 64
    failed = f"PytorchStreamWriter failed writing file data/{draw.whole(31, 700)}: file write failed"
    first = sdk.Raised(
        (
            sdk.Frame(file, 966, "save", "_save("),
            sdk.Frame(file, 1268, "_save", "zip_file.write_record(name, storage, num_bytes)"),
        ),
        f"RuntimeError: [enforce fail at inline_container.cc:{lines[0]}] . {failed}",
        sdk.DURING,
    )
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(own.script, 118, "save_checkpoint", f'torch.save(state, "{path}")', True),
        sdk.Frame(file, 965, "save", "with _open_zipfile_writer(f) as opened_zipfile:"),
        sdk.Frame(file, 799, "__exit__", "self.file_like.write_end_of_file()"),
    )
    text = f"RuntimeError: [enforce fail at inline_container.cc:{lines[1]}] . unexpected pos {pos} vs {pos - 108}"
    stage.job.raise_on(at, 0, sdk.traceback(first, sdk.Raised(frames, text)))
