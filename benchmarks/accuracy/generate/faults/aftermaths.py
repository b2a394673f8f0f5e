"""What is left in a job of reads and writes that failed below it: loader processes, shards that are none, barriers."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.clients import PYTHON, fetch_frames
from benchmarks.accuracy.generate.faults.loaders import dataset_frames
from fixtures.generator import sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Node
from fixtures.generator.stage import Stage


def error_of_get(stage: Stage, at: int, rank: int, node: Node, name: str, status: int, text: str) -> str:
    """The SDK's words for a GET that a target answers with an error, in one line."""
    path = f"/v1/objects/{stage.bucket}/{name}"
    body = sdk.answer(node, status, text, "GET", path, stage.client(rank))
    return sdk.request_error(status, body, node.url(0) + path + sdk.query(stage.proxy_of(rank), at), " ")


def died_in_worker(stage: Stage, at: int, rank: int, error: str, text: str) -> None:
    """An error of the SDK in a loader process: it takes more than a text, so the rank raises a RuntimeError."""
    job, worker = stage.job, stage.draw.child("loader process", rank).whole(0, 5)
    site, name = job.job.build["site"], error.rsplit(".", 1)[-1]
    frames = (
        sdk.Frame(f"{site}/torch/utils/data/_utils/worker.py", 351, "_worker_loop", "data = fetcher.fetch(index)"),
        sdk.Frame(f"{site}/torch/utils/data/_utils/fetch.py", 33, "fetch", "data.append(next(self.dataset_iter))"),
        *dataset_frames(stage),
    )
    original = sdk.traceback(sdk.Raised(frames, f"{error}: {text}"))
    caller = sdk.main_frames(job.job, stage.step, sdk.Frame(f"{site}/torch/_utils.py", 733, "reraise", REMADE))
    said = f"RuntimeError: Caught {name} in DataLoader worker process {worker}.\nOriginal {original}"
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, said)))


REMADE = "raise RuntimeError(msg) from None"


def no_tar(stage: Stage, at: int, rank: int, url: str) -> None:
    """curl passes the text of an error on as if it were the shard: tarfile finds no header in it."""
    site, handle = stage.job.job.build["site"], f"0x7f{stage.draw.child('no tar', rank).token(10, HEX)}"
    inner = (
        sdk.Frame(f"{site}/webdataset/tariterators.py", 218, "tar_file_expander", "for sample in tar_file_iterator("),
        sdk.Frame(f"{site}/webdataset/tariterators.py", 138, "tar_file_iterator", "stream = tarfile.open("),
        sdk.Frame(f"{PYTHON}/tarfile.py", 2471, "next", "raise ReadError(str(e)) from None"),
    )
    pipe = f"<webdataset.gopen.Pipe object at {handle}>"
    text = f"tarfile.ReadError: ('truncated header', {pipe}, 'pipe:curl -sSL {url}')"
    raised = sdk.Raised(fetch_frames(stage, "sample = next(self.samples)", *inner), text)
    stage.job.raise_on(at, rank, sdk.traceback(raised))


def nothing_to_put_together(stage: Stage, at: int, rank: int) -> None:
    """A batch from which all samples were left out cannot be made."""
    site, script = stage.job.job.build["site"], stage.job.job.script
    frames = (
        sdk.Frame(script, 88, "collate", "audio = collate_audio(cuts)"),
        sdk.Frame(f"{site}/lhotse/dataset/collation.py", 186, "collate_audio", "return torch.stack(audios)"),
    )
    text = "RuntimeError: stack expects a non-empty TensorList"
    caller = sdk.main_frames(stage.job.job, stage.step, *frames)
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, text)))
