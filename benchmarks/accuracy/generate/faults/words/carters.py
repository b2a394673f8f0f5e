"""What programs print that bring files from one place to another: aria2, curl and tar, JuiceFS, squashfs, MLflow, Ray.

The wordings follow their sources and reports of users; none of them was seen in a run of ours. What daemons and the
kernel of a host say is copied into the log of the job by a monitor.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.tenth.training import watched
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from fixtures.generator import sdk
from fixtures.generator.draw import HEX, Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import MS, comma_stamp, local
from fixtures.generator.stage import Stage


def _called(stage: Stage, command: str, code: int, line: str) -> str:
    """A command that a thread of the script had begun has ended with a code, and the script waits for it."""
    script, futures = stage.job.job.script, f"{PYTHON}/concurrent/futures"
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 184, "main", "staging.result()", True),
        sdk.Frame(f"{futures}/_base.py", 456, "result", "return self.__get_result()"),
        sdk.Frame(f"{futures}/_base.py", 401, "__get_result", "raise self._exception"),
        sdk.Frame(f"{futures}/thread.py", 58, "run", "result = self.fn(*self.args, **self.kwargs)"),
        sdk.Frame(script, 91, "stage_next", line, True),
        sdk.Frame(f"{PYTHON}/subprocess.py", 571, "run", "raise CalledProcessError(retcode, process.args,"),
    )
    text = f"subprocess.CalledProcessError: Command '{command}' returned non-zero exit status {code}."
    return sdk.traceback(sdk.Raised(frames, text))


def aria2_aborted(stage: Stage, at: int, rank: int, connection: int, url: str, place: str, error: str) -> None:
    """aria2c has no tries left for one of its connections."""
    stamp = f"{local(at, stage.job.job.zone):%m/%d %H:%M:%S}"
    said = f"{stamp} [ERROR] CUID#{connection} - Download aborted. URI={url}\nException: [{place}] {error}"
    stage.job.say(at, rank, said)


def aria2_ended(stage: Stage, at: int, rank: int, part: str, code: int) -> None:
    """aria2c ends with its own number of an error, and the script with it."""
    stage.job.say(at, rank, "aria2 will resume download if the transfer is restarted.")
    command = f"aria2c -x4 -i /scratch/lists/{part}.txt -d /scratch/{part}"
    raised = _called(stage, str(command.split()), code, "subprocess.run(command, check=True)")
    stage.job.raise_on(at + 20 * MS, rank, raised)


def archive_cut(stage: Stage, at: int, rank: int, url: str, left: int) -> None:
    """curl pipes an archive into tar and loses its server; tar finds no end."""
    job = stage.job
    job.say(at - 9 * MS, rank, f"curl: (18) transfer closed with {left} bytes remaining to read")
    job.say(at - 4 * MS, rank, "tar: Unexpected EOF in archive\ntar: Error is not recoverable: exiting now")
    command = f"set -o pipefail; curl -sSfL {url} | tar -x -C /scratch/next"
    job.raise_on(
        at, rank, _called(stage, command, 2, 'subprocess.run(command, shell=True, check=True, executable="/bin/bash")')
    )


def juicefs_says(stage: Stage, at: int, rank: int, level: str, text: str) -> None:
    """JuiceFS, which has its files in a bucket of AIStore, writes to the journal of a host, which is one of lines."""
    node = stage.job.job.node_of(rank)
    pid = stage.job.job.agent_pids[node] - stage.draw.child("juicefs", node).whole(300, 900)
    stamp = f"{local(at, stage.job.job.zone):%Y/%m/%d %H:%M:%S}.{at // 1000 % 1_000_000:06d}"
    for spoken in f"{stamp} juicefs[{pid}] <{level}>: {text}".splitlines():
        watched(stage, at, node, f"juicefs[{pid}]: {spoken}")


def not_sent(method: str, url: str) -> str:
    """What the S3 client below JuiceFS says of a request whose answer has not begun after half a minute."""
    failed = f'{method} "{url}": net/http: timeout awaiting response headers'
    return f"RequestError: send request failed\ncaused by: {failed}"


def block(draw: Draw) -> tuple[int, str]:
    """A slice of a file of JuiceFS, and the key of one of its blocks."""
    number = draw.whole(100_000, 9_900_000)
    return number, f"chunks/{number // 1_000_000}/{number // 1_000}/{number}_{draw.whole(0, 15)}_4194304"


def block_is_late(stage: Stage, at: int, rank: int, node: Node, key: str) -> None:
    """A request for a block, which JuiceFS was sent on to a target with, had no answer for half a minute."""
    spent = 30 + stage.draw.child("late block", rank, at).between(0.01, 0.04)
    why = not_sent("Get", f"{node.url(0)}/s3/{stage.bucket}/{key}")
    juicefs_says(stage, at, rank, "INFO", f"slow request: GET {key} ({why}, {spent:.3f}s) [cached_store.go:740]")


def slice_not_read(stage: Stage, at: int, rank: int, number: int, span: str, why: str) -> None:
    """JuiceFS could not read a part of a slice, and will try again up to ten times."""
    said = f"fail to read sliceId {number} ({span}): {why} [readSlice@reader.go:830]"
    juicefs_says(stage, at, rank, "WARNING", said)


def file_not_read(stage: Stage, at: int, rank: int, path: str, inode: int) -> None:
    """A file below JuiceFS cannot be read, and a loader process gets an error of input and output."""
    said = f"read file {inode}: input/output error [reader.go:212]"
    juicefs_says(stage, at - 3 * MS, rank, "ERROR", said)
    stage.job.note(at - 2 * MS, rank, f"{path} is not read", "E", 49, "waves")
    frames = (sdk.Frame("/workspace/train/waves.py", 47, "__getitem__", 'content = open(path, "rb").read()', True),)
    in_worker(stage, at, rank, "OSError", "[Errno 5] Input/output error", frames)


def kernel_says(stage: Stage, at: int, rank: int, text: str) -> None:
    """The kernel of the host of a rank, as its journal shows it."""
    watched(stage, at, stage.job.job.node_of(rank), f"kernel: {text}")


def squashed_not_read(stage: Stage, at: int, rank: int, image: str, draw: Draw) -> None:
    """An image of squashfs is mounted through a loop device; a block of it cannot be read, and so a file in it."""
    sector = draw.whole(9_000_000, 90_000_000)
    start = f"{sector * 512 - draw.whole(1, 40_000):x}"
    device = f"loop{draw.whole(0, 7)}"
    for spoken, text in enumerate(
        (
            f"I/O error, dev {device}, sector {sector} op 0x0:(READ) flags 0x80700 phys_seg 16 prio class 2",
            f"SQUASHFS error: Failed to read block 0x{start}: -5",
            f"SQUASHFS error: Unable to read data cache entry [{start}]",
            f"SQUASHFS error: Unable to read page, block {start}, size {draw.token(4, HEX)}",
        )
    ):
        kernel_says(stage, at - 9 * MS + spoken * MS, rank, text)
    stage.job.note(at - 4 * MS, rank, f"{device} is {image}", "E", 57, "folders")


def uploads_failed(stage: Stage, at: int, rank: int, run: str, place: str, told: str) -> None:
    """MLflow logs a folder of artifacts, and boto3 below it gives up on a part of one."""
    site, script = stage.job.job.build["site"], stage.job.job.script
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(script, 128, "save_checkpoint", "mlflow.log_artifacts(folder, place)", True),
        sdk.Frame(
            f"{site}/mlflow/tracking/fluent.py",
            1168,
            "log_artifacts",
            "MlflowClient().log_artifacts(run_id, local_dir,",
        ),
        sdk.Frame(f"{site}/mlflow/store/artifact/s3_artifact_repo.py", 328, "_upload_file", "s3_client.upload_file("),
        sdk.Frame(f"{site}/boto3/s3/inject.py", 145, "upload_file", "return transfer.upload_file(", True),
        sdk.Frame(f"{site}/boto3/s3/transfer.py", 378, "upload_file", "raise S3UploadFailedError("),
    )
    where = f"checkpoints/mlflow/3/{run}/artifacts/{place}"
    text = f"Failed to upload /scratch/{place} to {where}: {told}"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"boto3.exceptions.S3UploadFailedError: {text}")))


def ray_warns(stage: Stage, at: int, rank: int, task: tuple[int, str], ran: float, mean: float) -> None:
    """Ray Data finds a task that runs for much longer than others of its operator."""
    pid, host = task
    who = f"A task of operator ReadImage->MapBatches(decode) (pid={pid}, node_id={host}, attempt=0)"
    since = f"has been running for {ran:.2f}s, which is longer than the average task duration of this operator"
    advice = "If this message persists, please check the stack trace of the task for potential hanging issues."
    head = f"{comma_stamp(at, stage.job.job.zone)}\tWARNING issue_detector_manager.py:69 --"
    stage.job.say(at, rank, f"{head} {who} {since} ({mean:.2f}s). {advice}")
