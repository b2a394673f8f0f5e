"""What input pipelines and savers print when storage fails them: a pipeline's own log, Lightning, curl, urllib3.

The wordings follow their sources and reports of users; none of them was seen in a run of ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.requests import exhausted, one_object, retries
from benchmarks.accuracy.generate.faults.words.turns import over_at
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import MS, SEC, comma_stamp, seconds
from fixtures.generator.stage import Stage

#: What curl says that is told to give up below a speed.
TOO_SLOW = "Operation too slow. Less than 1048576 bytes/sec transferred the last 30 seconds"


def told(stage: Stage, at: int, rank: int, level: str, text: str) -> None:
    """A line of the job's own input pipeline, in the format its logger was given."""
    job = stage.job
    job.say(at, rank, f"{comma_stamp(at, job.job.zone)} [rank{rank}] {level} datapipe: {text}")


def spread(stage: Stage, since: int, until: int, many: tuple[int, int], draw: Draw) -> Iterator[tuple[int, int]]:
    """Moments between two others, in order, each with a rank that reads and is not the culprit."""
    who = readers(stage)[: draw.whole(*many)]
    at = sorted(since + int((until - since) * draw.between(0.04, 0.96)) for _ in who)
    yield from zip(at, who, strict=True)


def audio_of(draw: Draw) -> str:
    """The name of a recording."""
    return f"audio/{draw.whole(0, 255):02x}/{draw.whole(0, 9_999_999):07d}.opus"


def lightning_not_saved(stage: Stage, at: int, key: str, code: str, why: str) -> None:
    """Lightning writes a checkpoint through fsspec to S3, in parts; s3fs makes an I/O error of an unknown code."""
    site = stage.job.job.build["site"]
    first = sdk.Raised(
        (
            sdk.Frame(f"{site}/s3fs/core.py", 114, "_error_wrapper", "return await func(*args, **kwargs)"),
            sdk.Frame(
                f"{site}/aiobotocore/client.py", 412, "_make_api_call", "raise error_class(parsed_response, operation)"
            ),
        ),
        f"botocore.exceptions.ClientError: An error occurred ({code}) when calling the UploadPart operation: {why}",
        sdk.DIRECT,
    )
    place = f"{site}/lightning"
    frames = (
        sdk.Frame(stage.job.job.script, 212, "<module>", "main()"),
        sdk.Frame(stage.job.job.script, 201, "main", f'trainer.save_checkpoint(f"s3://ckpt/{key}")'),
        sdk.Frame(f"{place}/pytorch/trainer/trainer.py", 1380, "save_checkpoint", "self.strategy.save_checkpoint("),
        sdk.Frame(
            f"{place}/fabric/plugins/io/torch_io.py", 59, "save_checkpoint", "_atomic_save(checkpoint, fs, path)"
        ),
        sdk.Frame(f"{place}/fabric/utilities/cloud_io.py", 89, "_atomic_save", "f.write(bytesbuffer.getvalue())"),
        sdk.Frame(f"{site}/fsspec/spec.py", 1960, "flush", "if self._upload_chunk(final=force) is not False:"),
        sdk.Frame(f"{site}/s3fs/core.py", 2503, "_upload_chunk", "out = self._call_s3("),
        sdk.Frame(f"{site}/s3fs/core.py", 146, "_error_wrapper", "raise err"),
    )
    text = f"OSError: [Errno 5] An error occurred ({code}) when calling the UploadPart operation: {why}"
    stage.job.raise_on(at, 0, sdk.traceback(first, sdk.Raised(frames, text)))


def keeps_asking(
    stage: Stage, since: int, until: int, rank: int, draw: Draw, spent_s: float, text: str, kind: str
) -> int:
    """A rank repeats what fails after `spent_s`, and has not had enough by then; when it hears of it next."""
    longest = [min(30.0, 2.0**attempt + 0.5) for attempt in range(6)]
    waits = [draw.between(1.0, one) for one in longest]
    short = (until - since) / SEC + 0.2 - 7 * spent_s - sum(waits)
    more = min(1.0, max(0.0, short / (sum(longest) - sum(waits))))
    then = since + seconds(spent_s)
    for wait, most in zip(waits, longest, strict=True):
        if then >= until:
            break
        own = round(wait + more * (most - wait), 2)
        stage.job.sdk_warning(then, rank, sdk.retrying(own, kind, text))
        then += seconds(own + spent_s)
    return then


def name_of_address_differs(node: Node) -> str:
    """Why urllib3 gives up a connection whose server has a certificate for other addresses."""
    what = f"IP address mismatch, certificate is not valid for '{node.address}'. (_ssl.c:1006)"
    return (
        f'SSLError(SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: {what}"))'
    )


def asks_until_the_end(stage: Stage, text: str, draw: Draw) -> int:
    """The culprit repeats a read that times out until the SDK or the job has enough; when that is."""
    over, rank = over_at(stage), stage.culprit
    then = retries(stage, stage.at, rank, draw, 20.02, text, over - SEC)
    if then < over - SEC:
        exhausted(stage, then, rank, text, "ConnectionError", one_object(stage))
        return then
    return over


def comes_to_an_end(stage: Stage, end: int) -> None:
    """The culprit exits if it had enough before the watchdog has; else the others' time is up."""
    if end < over_at(stage):
        leaves(stage, end, stage.culprit)
    else:
        stage.hang(stage.at + 240 * MS, stage.culprit)
