"""What clients print at work of their own: a download that lacks a part, batches in disorder, shards of two steps."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import fetch_frames
from fixtures.generator import sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node
from fixtures.generator.stage import Stage


def download_failed(stage: Stage, at: int, dload: str, many: int, links: list[str], why: str) -> None:
    """Rank 0 reads the state of its download: what was not fetched, and why."""
    script, count = stage.job.job.script, len(links)
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 176, "main", "next_part = fetch_part(endpoint, part)", True),
        sdk.Frame(script, 71, "fetch_part", "raise DownloadError("),
    )
    first = links[0].rsplit("/", 1)[-1]
    told = f"finished_cnt={many - count} scheduled_cnt={many} error_cnt={count}, first: {first}: {why}"
    stage.job.raise_on(at, 0, sdk.traceback(sdk.Raised(frames, f"DownloadError: job {dload}: {told}")))


def batch_in_disorder(stage: Stage, at: int, rank: int, designated: Node, index: int, wid: str, draw: Draw) -> None:
    """A loader that looks at the names of what it gets finds another one than it has asked for."""
    wanted, got = (f"train/{draw.token(2)}/utt-{draw.whole(0, 99_999):05d}.flac" for _ in range(2))
    frame = sdk.Frame(stage.job.job.script, 66, "fetch", "raise BatchOrderError(")
    where = f"{designated.url(0)}, {wid}"
    text = f"BatchOrderError: entry {index} of 48 is {got}, not {wanted} (batch of {where})"
    caller = sdk.main_frames(stage.job.job, stage.step, frame)
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, text)))


def shard_of_another_step(stage: Stage, at: int, rank: int, shard: str, has: int, wanted: int, node: Node) -> None:
    """A rank goes on from a shard that is older than the checkpoint it belongs to."""
    script = stage.job.job.script
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 171, "main", "start_step = load_checkpoint(model, optimizer)", True),
        sdk.Frame(script, 112, "load_checkpoint", "raise RuntimeError("),
    )
    text = f"RuntimeError: {shard} (from {node.url(0)}) is of step {has}, latest.json says {wanted}"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))


def tar_not_read(stage: Stage, at: int, rank: int, text: str) -> None:
    """The program's own reader gives a sample up for good."""
    frame = sdk.Frame(stage.job.job.script, 85, "read", "raise SampleError(")
    caller = fetch_frames(stage, "content = self.read(name)", frame)
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, f"SampleError: {text}")))
