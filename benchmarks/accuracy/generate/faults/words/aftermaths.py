"""What is left in a job of reads that failed below it: samples and shards left out, shards that are none, no batch."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import PYTHON, fetch_frames
from fixtures.generator import sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Node
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage


def left_out(stage: Stage, at: int, rank: int, node: Node, name: str) -> None:
    """A loader that reads plain addresses leaves a sample out that a target answers with 500."""
    url = f"{node.url(0)}/v1/objects/{stage.bucket}/{name}{sdk.query(stage.proxy_of(rank), at - 4 * MS)}"
    text = f"500 Server Error: Internal Server Error for url: {url}"
    stage.job.note(at, rank, f"cut {name} is left out: HTTPError: {text}", "W", 94)


def passed_over(stage: Stage, at: int, rank: int, node: Node, shard: str, handle: str) -> None:
    """curl is sent on to a target that refuses connections; WebDataset's handler warns and takes the next shard."""
    job = stage.job
    command = f"curl -sSL {stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{shard}"
    why = "Couldn't connect to server"
    job.say(at, rank, f"curl: (7) Failed to connect to {node.address} port {node.ports[0]} after 0 ms: {why}")
    what = f"((('{command}',), {{'shell': True, 'bufsize': 8192}}): exit 7 (read) {{}})"
    said = f"""OSError("{what}", <webdataset.gopen.Pipe object at 0x7f{handle}>, 'pipe:{command}')"""
    handler = f"{job.job.build['site']}/webdataset/handlers.py:34: UserWarning"
    job.say(at + 2 * MS, rank, f"{handler}: {said}\n  warnings.warn(repr(exn))")


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
