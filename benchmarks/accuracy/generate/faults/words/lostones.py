"""What clients print while the target they ask is lost: the SDK's tries, one after the other, and what they end in.

Tries and the answers after a target has left the map are as in recorded runs; curl's and urllib3's words follow theirs.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.accuracy.generate.faults.words.clients import fetch_frames
from fixtures.generator import sdk
from fixtures.generator.draw import HEX, Draw
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

#: The SDK's waits, at most, in seconds: all seven tries of a refused request end before the primary removes a node.
BEFORE_IT_LEAVES = (1.4, 2.4, 4.0, 5.6, 5.4, 4.8)
#: The same where each try also dials for three seconds, to a host that is gone.
BEFORE_A_HOST_LEAVES = (1.3, 1.9, 2.6, 2.9, 2.4, 2.7)
#: What a try takes that is refused, and one that nobody answers, with the time-out that the SDK has for connecting.
REFUSED_S, DIALED_S = 0.004, 3.006


def tried_in_vain(
    stage: Stage, at: int, rank: int, why: Callable[[], str], draw: Draw, most: tuple[float, ...], spent_s: float
) -> int:
    """All tries of the SDK but the last end as `why` says; the moment at which the last one ends."""
    kind = "ConnectTimeout" if spent_s > 1 else "ConnectionError"
    then = at + seconds(spent_s)
    for longest in most:
        wait = round(draw.between(1.0, longest), 2)
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, kind, why()))
        then += seconds(wait) + seconds(spent_s) + draw.span(0.4, 2.0)
    return then


def tried_until_left(
    stage: Stage, at: int, rank: int, why: Callable[[], str], draw: Draw, gone: int, spent_s: float
) -> int:
    """Tries of the SDK end as `why` says until the node has left the map: when it asks for the first time after that.

    The proxy sends it on to another target then, so that try is answered.
    """
    kind = "ConnectTimeout" if spent_s > 1 else "ConnectionError"
    then = at + seconds(spent_s)
    for turn in range(1, 7):
        wait = draw.between(1.0, min(30.0, 2.0**turn + 0.5))
        left = (gone - then) / SEC
        if wait > left or turn == 6:
            wait = max(1.0, left + draw.between(0.2, 3.4))
        wait = round(wait, 2)
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, kind, why()))
        asked = then + seconds(wait)
        if asked > gone + 15 * MS:
            return asked
        then = asked + seconds(spent_s) + draw.span(0.4, 2.0)
    return max(then, gone + 200 * MS)


def member_not_there(stage: Stage, at: int, rank: int, url: str, body: str) -> None:
    """The program reads a member of a shard by the SDK, and the target it was sent on to does not have the shard."""
    site = stage.job.job.build["site"]
    caller = fetch_frames(
        stage,
        "wav = self.shard(name).get_reader(archive_config=ArchiveConfig(archpath=member)).read_all()",
        sdk.Frame(f"{site}/aistore/sdk/obj/object_reader.py", 121, "read_all", "response = self.get()"),
    )
    failure = "aistore.sdk.errors.ErrObjNotFound: " + sdk.request_error(404, body, url)
    stage.job.raise_on(at, rank, sdk.http_failure(stage.job.job, 404, "Not Found", url, failure, caller))


def shard_not_saved(stage: Stage, at: int, rank: int, text: str) -> None:
    """A rank has tried to put its own shard of a checkpoint as often as the SDK does, and never came through."""
    script = stage.job.job.script
    saver = (
        sdk.Frame(script, 203, "main", "save_shard(model, optimizer, step)", True),
        sdk.Frame(script, 127, "save_shard", "bucket.object(name).get_writer().put_content(state.getvalue())", True),
    )
    put_gave_up(stage, at, rank, "ConnectTimeout", text, saver)


def put_gave_up(stage: Stage, at: int, rank: int, kind: str, text: str, saver: tuple[sdk.Frame, ...]) -> None:
    """The SDK has no tries left for what a rank puts; `saver` are the program's frames below its main."""
    script, site = stage.job.job.script, stage.job.job.build["site"]
    caller = (
        sdk.Frame(script, 212, "<module>", "main()"),
        *saver,
        sdk.Frame(f"{site}/aistore/sdk/obj/object_writer.py", 47, "put_content", "return self._put_data(data=content)"),
    )
    stage.job.sdk_warning(at, rank, "All retries exhausted; request failed", "ERROR")
    stage.job.raise_on(at + 2 * MS, rank, sdk.exhausted(stage.job.job, caller, kind, text))


def cut_in_a_member(stage: Stage, step: int, got: int) -> tuple[str, str]:
    """A streamed batch loses its connection in the middle of a member: the text of the exception and its traceback."""
    job = stage.job.job
    site, python = job.build["site"], "/opt/conda/lib/python3.11"
    frames = (
        sdk.Frame(job.script, 61, "fetch", "info, content = next(items)", True),
        sdk.Frame(f"{site}/aistore/sdk/batch/extractor/tar_stream_extractor.py", 66, "extract", "for tarinfo in tar:"),
        sdk.Frame(f"{python}/tarfile.py", 522, "read", "buf = self._read(size)", True),
        sdk.Frame(f"{site}/urllib3/response.py", 776, "_error_catcher", "raise ProtocolError(arg, e) from e"),
    )
    text = f"('Connection broken: IncompleteRead({got} bytes read)', IncompleteRead({got} bytes read))"
    error = f"urllib3.exceptions.ProtocolError: {text}"
    return f"ProtocolError: {text}", sdk.traceback(sdk.Raised(sdk.main_frames(job, step, *frames), error))


def stands_in_a_put(stage: Stage) -> tuple[tuple[str, str, int], ...]:
    """Frames of a rank that has sent an object and waits for the answer to its PUT, the innermost first."""
    site, script = stage.job.job.build["site"], stage.job.job.script
    python = "/opt/conda/lib/python3.11"
    return (
        ("readinto", f"{python}/socket.py", 718),
        ("_read_status", f"{python}/http/client.py", 286),
        ("begin", f"{python}/http/client.py", 325),
        ("getresponse", f"{python}/http/client.py", 1395),
        ("getresponse", f"{site}/urllib3/connection.py", 565),
        ("_make_request", f"{site}/urllib3/connectionpool.py", 534),
        ("urlopen", f"{site}/urllib3/connectionpool.py", 787),
        ("send", f"{site}/requests/adapters.py", 644),
        ("request_op", f"{site}/aistore/sdk/request_client.py", 225),
        ("request", f"{site}/aistore/sdk/request_client.py", 231),
        ("_put_data", f"{site}/aistore/sdk/obj/object_writer.py", 132),
        ("put_file", f"{site}/aistore/sdk/obj/object_writer.py", 74),
        ("save_checkpoint", script, 121),
    )


def signature(draw: Draw) -> str:
    """What a signed address has behind its path, as the job prints it: the end is cut off."""
    return f"?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Expires=21600&X-Amz-Signature={draw.token(12, HEX)}..."


def too_many_left_out(stage: Stage, at: int, rank: int, many: int, ahead: int) -> None:
    """The program's own reader leaves out what is not there, up to a limit."""
    code = 'raise DataError(f"{len(left_out)} of {ahead} shards asked for ahead are not there")'
    frames = sdk.main_frames(stage.job.job, stage.step, sdk.Frame(stage.job.job.script, 83, "fetch", code))
    text = f"DataError: {many} of {ahead} shards asked for ahead are not there"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))
