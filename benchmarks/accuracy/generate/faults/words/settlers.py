"""What programs print of mounts, pipes and uploads that fail: s3fs-fuse, goofys, AIS CLI, pyarrow, pycurl.

The wordings follow their sources and reports of users; none of them was seen in a run of ours.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.tenth.training import watched
from benchmarks.accuracy.generate.faults.words.clients import fetch_frames
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from fixtures.generator import sdk
from fixtures.generator.draw import HEX, LOWER, Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import MS, local
from fixtures.generator.stage import Stage


def s3fs_says(stage: Stage, at: int, rank: int, level: str, place: str, text: str) -> None:
    """s3fs-fuse, which has the bucket mounted on the host of a rank, writes to its journal."""
    node = stage.job.job.node_of(rank)
    pid = stage.job.job.agent_pids[node] - stage.draw.child("s3fs", node).whole(300, 900)
    watched(stage, at, node, f"s3fs[{pid}]: [{level}] {place}: {text}")


def s3fs_timed_out(stage: Stage, at: int, rank: int, name: str) -> None:
    """A request of s3fs-fuse has not been answered in the half minute it has; it sleeps and asks again."""
    s3fs_says(stage, at, rank, "ERR", "curl.cpp:RequestPerform(2573)", "### CURLE_OPERATION_TIMEDOUT")
    said = f"Retry request. [type=5][url={stage.proxy_of(rank).url(0)}/s3/{stage.bucket}/{name}][path=/{name}]"
    s3fs_says(stage, at + 2_000 * MS, rank, "WAN", "curl.cpp:RemakeHandle(1808)", said)


def goofys_says(stage: Stage, at: int, rank: int, unit: str, text: str) -> None:
    """goofys, which has a bucket mounted on the host of a rank, writes to its journal with a stamp of its own."""
    node = stage.job.job.node_of(rank)
    pid = stage.job.job.agent_pids[node] - stage.draw.child("goofys", node).whole(300, 900)
    stamp = f"{local(at, stage.job.job.zone):%Y/%m/%d %H:%M:%S}.{at // 1000 % 1_000_000:06d}"
    watched(stage, at, node, f"goofys[{pid}]: {stamp} {unit}.ERROR {text}")


def file_not_flushed(stage: Stage, at: int, rank: int, path: str) -> None:
    """What was written below a mount is sent when the file is closed, and that is when the program hears of it."""
    script = stage.job.job.script
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(script, 126, "save_checkpoint", 'with open(path, "wb") as out:'),
    )
    stage.job.note(at - MS, rank, f"checkpoint not saved: {path}", "E", 129)
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, "OSError: [Errno 5] Input/output error")))


def cli_gave_up(stage: Stage, at: int, rank: int, name: str, told: str) -> None:
    """NeMo reads a tar of sounds through the AIS CLI, which has ended five times without a byte."""
    site = stage.job.job.build["site"]
    place = f"{site}/nemo/utils/data_utils.py"
    frames = fetch_frames(
        stage,
        "batch = next(self.tarred)",
        sdk.Frame(f"{site}/nemo/collections/asr/data/audio_to_text.py", 912, "__iter__", "for tar in self._tars:"),
        sdk.Frame(place, 118, "open_best", "return open_datastore_object_with_binary(path)", True),
        sdk.Frame(place, 96, "open_datastore_object_with_binary", "raise ValueError("),
    )
    path = f"ais://{stage.bucket}/{name}"
    text = f"{path} couldn't be opened with AIS binary after 5 attempts because of the following exception: {told}"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"ValueError: {text}")))


def part_not_sent(stage: Stage, at: int, rank: int, key: str, told: str, operation: str = "UploadPart") -> None:
    """pyarrow copies a checkpoint to S3 in parts; `told` is what the SDK of AWS has to say of the operation."""
    site, script = stage.job.job.build["site"], stage.job.job.script
    doing = {"UploadPart": "uploading part", "CreateMultipartUpload": "initiating multiple part upload"}[operation]
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(script, 127, "save_checkpoint", "fs.copy_files(folder, target, destination_filesystem=S3)"),
        sdk.Frame(f"{site}/pyarrow/fs.py", 269, "copy_files", "_copy_files_selector(source_fs, source_sel,"),
        sdk.Frame("pyarrow/_fs.pyx", 1629, "pyarrow._fs._copy_files_selector", "check_status(CCopyFilesWithSelector("),
        sdk.Frame("pyarrow/error.pxi", 92, "pyarrow.lib.check_status", "raise convert_status(status)"),
    )
    text = f"When {doing} for key '{key}' in bucket 'checkpoints': AWS Error {told}"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"OSError: {text.replace('{op}', operation)}")))


def pycurl_failed(stage: Stage, at: int, rank: int, code: int, text: str) -> None:
    """A loader process reads an address with pycurl, whose error is a number and curl's words."""
    frames = (
        sdk.Frame("/workspace/train/pull.py", 38, "__getitem__", "body = self.pull(url)", True),
        sdk.Frame("/workspace/train/pull.py", 24, "pull", "self.handle.perform()"),
    )
    in_worker(stage, at, rank, "pycurl.error", f"({code}, '{text}')", frames)


def signed(url: str, at: int, draw: Draw) -> str:
    """An address of S3 with its signature, as boto3 makes it."""
    day = f"{local(at, 'UTC'):%Y%m%dT%H%M00Z}"
    who = f"AKIA{draw.token(16, LOWER).upper()}%2F{day[:8]}%2Fus-west-2%2Fs3%2Faws4_request"
    head = f"{url}?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={who}&X-Amz-Date={day}&X-Amz-Expires=43200"
    return f"{head}&X-Amz-SignedHeaders=host&X-Amz-Signature={draw.token(64, HEX)}"


def signed_read_failed(stage: Stage, at: int, rank: int, url: str) -> None:
    """A loader process reads a signed address with requests, was sent on to a target, and is told 500."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame("/workspace/train/signed.py", 53, "__getitem__", "answer.raise_for_status()"),
        sdk.Frame(
            f"{site}/requests/models.py", 1024, "raise_for_status", "raise HTTPError(http_error_msg, response=self)"
        ),
    )
    text = f"500 Server Error: Internal Server Error for url: {url}"
    in_worker(stage, at, rank, "requests.exceptions.HTTPError", text, frames)


def mapped_object_gone(stage: Stage, at: int, rank: int, node: Node, name: str, text: str) -> None:
    """AIStore's own data set of a map reads an object by its index, and is told 404."""
    job, path = stage.job.job, f"/v1/objects/{stage.bucket}/{name}"
    site = job.build["site"]
    url = node.url(0) + path + sdk.query(stage.proxy_of(rank), at)
    body = sdk.answer(node, 404, text, "GET", path, stage.client(rank))
    frames = (
        sdk.Frame(
            f"{site}/aistore/pytorch/map_dataset.py",
            73,
            "__getitem__",
            "content = obj.get_reader(etl=self._etl).read_all()",
        ),
        sdk.Frame(f"{site}/aistore/sdk/obj/object_reader.py", 121, "read_all", "response = self.get()"),
        sdk.Frame(
            f"{site}/aistore/sdk/response_handler.py", 45, "handle_response", "raise self.parse_error(r) from http_err"
        ),
    )
    error = sdk.request_error(404, body, url, " ")
    in_worker(stage, at, rank, "aistore.sdk.errors.ErrObjNotFound", error, frames, "RuntimeError")
