"""What the usual loaders print when their reads fail: WebDataset, Streaming, Energon, s3fs, s3torchconnector.

The wordings follow their sources and reports of users; none of them was seen in a run of ours.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import PYTHON, TRIES_S, fetch_frames, pipe_ended
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.requests import object_path
from fixtures.generator import sdk
from fixtures.generator.draw import HEX, Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage


def tar_of(draw: Draw) -> str:
    """The name of a shard of WebDataset."""
    return f"wds/{draw.pick(('en', 'de', 'fr', 'es', 'multi'))}-{draw.whole(0, 9_999):06d}.tar"


def mds_of(draw: Draw) -> str:
    """The name of a shard of Streaming."""
    return f"mds/train/shard.{draw.whole(0, 9_999):05d}.mds.zstd"


def curl_tells(stage: Stage, at: int, rank: int, url: str, code: int, words: str) -> None:
    """WebDataset's pipe is a curl that fails on errors and follows redirects; it says why, then Python does."""
    stage.job.say(at, rank, f"curl: ({code}) {words}")
    handle = stage.draw.child("regular pipe", rank).token(10, HEX)
    pipe_ended(stage, at + 4 * MS, rank, f"curl -fsSL {url}", code, handle)


def shard_left_out(stage: Stage, at: int, rank: int, url: str, code: int, words: str) -> None:
    """WebDataset with warn_and_continue goes on with the next shard."""
    handle = stage.draw.child("left out", rank, at).token(10, HEX)
    told = f"(('curl -fsSL {url}',), {{'shell': True, 'bufsize': 8192}}): exit {code} (read) {{}}"
    text = f"UserWarning: OSError(\"{told}\", <webdataset.gopen.Pipe object at 0x7f{handle}>, 'pipe:curl -fsSL {url}')"
    site = stage.job.job.build["site"]
    stage.job.say(at - 3 * MS, rank, f"curl: ({code}) {words}")
    stage.job.say(at, rank, f"{site}/webdataset/handlers.py:34: {text}\n  warnings.warn(repr(exn))")


def background_failed(stage: Stage, at: int, rank: int, error: str, text: str, inner: tuple[sdk.Frame, ...]) -> None:
    """The thread of Streaming that prepares shards has failed; the loader process finds that out a moment later."""
    site, draw = stage.job.job.build["site"], stage.draw.child("background", rank)
    name, place = error.rsplit(".", 1)[-1], f"{site}/streaming/base"
    frames = (
        sdk.Frame(f"{PYTHON}/concurrent/futures/thread.py", 58, "run", "result = self.fn(*self.args, **self.kwargs)"),
        sdk.Frame(f"{place}/dataset.py", 1466, "_prepare_thread", "self.prepare_shard(shard_id, False)"),
        sdk.Frame(f"{place}/dataset.py", 1241, "prepare_shard", "delta = stream.prepare_shard(shard)"),
        sdk.Frame(f"{place}/stream.py", 299, "_download_file", "self._downloader.download(remote, local, timeout)"),
        *inner,
    )
    head = f"exception calling callback <Future at 0x7f{draw.token(10, HEX)} state=finished raised {name}>"
    stage.job.say(at, rank, head + "\n" + sdk.traceback(sdk.Raised(frames, f"{error}: {text}")))
    caller = (
        sdk.Frame(
            f"{place}/dataset.py", 1588, "__iter__", "yield from map(self.__getitem__, self._each_sample_id(it))"
        ),
        sdk.Frame(f"{place}/dataset.py", 1541, "_each_sample_id", "raise RuntimeError('Background thread failed. '"),
    )
    then = at + draw.span(40, 300)
    in_worker(stage, then, rank, "RuntimeError", "Background thread failed. Check other traces.", caller)


def head_unavailable(stage: Stage, at: int, rank: int) -> None:
    """Streaming's boto3 has asked five times for the size of a shard, and was told 503; HEAD has no text."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame(
            f"{site}/streaming/base/storage/download.py", 226, "_download_file_impl", "s3.download_file(obj.netloc,"
        ),
        sdk.Frame(
            f"{site}/s3transfer/tasks.py", 269, "_main", "self._submit(transfer_future=transfer_future, **kwargs)"
        ),
        sdk.Frame(
            f"{site}/botocore/client.py", 1023, "_make_api_call", "raise error_class(parsed_response, operation_name)"
        ),
    )
    text = "An error occurred (503) when calling the HeadObject operation (reached max retries: 4): Service Unavailable"
    background_failed(stage, at, rank, "botocore.exceptions.ClientError", text, frames)


def energon_skips(stage: Stage, at: int, rank: int, key: str, why: str) -> None:
    """The handler that the script gave to Energon prints a sample that could not be cooked, and goes on."""
    stage.job.say(at, rank, f"[energon] skipping sample {key}: {why}")


def energon_gives_up(stage: Stage, at: int, rank: int, many: int, key: str, why: str) -> None:
    """Energon has met as many errors in a row as it may, while it handles the last of them."""
    site = stage.job.job.build["site"]
    place = f"{site}/megatron/energon/wrappers/map_dataset.py"
    last = sdk.Raised(
        (
            sdk.Frame(place, 149, "__iter__", "mapped_sample = self.map_fn(sample)", True),
            sdk.Frame("/workspace/train/cook.py", 33, "cook_audio", "raw = shard.get_reader(archive).read_all()", True),
        ),
        f"aistore.sdk.errors.ErrObjNotFound: {why}",
        sdk.DURING,
    )
    frames = (sdk.Frame(place, 197, "__iter__", "raise FatalSampleError.from_sample("),)
    said = f"MapDataset <function cook_audio at 0x7f{stage.draw.child('cook', rank).token(10, HEX)}>"
    told = f"{said} failed {many} times in a row. Likely your code or dataset are broken."
    text = f"Sample CutSample(__key__='{key}', __restore_key__=()) failed: {told}"
    in_worker(stage, at, rank, "megatron.energon.errors.FatalSampleError", text, frames, first=(last,))


def s3fs_finds_nothing(stage: Stage, at: int, rank: int, told: str) -> None:
    """s3fs knows none of AIStore's own codes of errors: it makes an I/O error of botocore's whole text."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame("/workspace/train/parquet.py", 52, "__getitem__", "raw = self.fs.cat_file(path)", True),
        sdk.Frame(f"{site}/fsspec/asyn.py", 118, "wrapper", "return sync(self.loop, func, *args, **kwargs)"),
        sdk.Frame(f"{site}/s3fs/core.py", 1153, "_cat_file", "return await _error_wrapper(_call_and_read)"),
        sdk.Frame(f"{site}/s3fs/core.py", 146, "_error_wrapper", "raise err"),
    )
    text = f"[Errno 5] An error occurred (ErrNotFound) when calling the GetObject operation: {told}"
    in_worker(stage, at, rank, "OSError", text, frames)


def connector_told(stage: Stage, at: int, rank: int, status: int, code: str, told: str) -> None:
    """s3torchconnector gives up; its runtime has kept the answer of the last attempt, as Go has written its XML."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame("/workspace/train/s3set.py", 38, "decode", "return key, numpy.load(io.BytesIO(reader.read()))", True),
        sdk.Frame(
            f"{site}/s3torchconnector/s3reader/sequential.py", 83, "read", "self._buffer.write(next(self._stream))"
        ),
    )
    why = 'Error(14343, "aws-c-s3: AWS_ERROR_S3_INVALID_RESPONSE_STATUS, Invalid response status from request")'
    escaped = told.replace("&", "&amp;").replace('"', "&#34;")
    body = f"<Error><Code>{code}</Code><Message>{escaped}</Message><Resource></Resource><RequestId></RequestId></Error>"
    quoted = f'<?xml version=\\"1.0\\" encoding=\\"UTF-8\\"?>\\n{body}'
    result = f'response_status: {status}, crt_error: {why}, error_response_body: Some("{quoted}")'
    text = f"Client error: Unknown response error: MetaRequestResult {{ {result} }}"
    in_worker(stage, at, rank, "s3torchconnectorclient._mountpoint_s3_client.S3Exception", text, frames)


def status_moments(stage: Stage) -> tuple[list[int], int]:
    """When the SDK's pool asks again that was told a status it repeats, and when it has enough."""
    asked = [stage.at + seconds(after) for after in TRIES_S]
    return asked, asked[-1] + stage.draw.child("asked").span(4, 40)


def status_to_the_end(stage: Stage, rank: int, node: Node, name: str, status: int) -> tuple[list[int], int]:
    """The SDK's pool repeats a status without a word: when it has asked, and when it raises."""
    asked, over = status_moments(stage)
    path = object_path(stage, rank, name)
    path = path.split("&pid=")[0] if node.role == "proxy" else path
    text = sdk.pool_error(node.address, node.ports[0], path, sdk.too_many(status))
    caller = fetch_frames(stage, "payload = self.bucket.object(name).get_reader().read_all()")
    stage.job.raise_on(over, rank, sdk.exhausted(stage.job.job, caller, "RetryError", text))
    return asked, over


def sockets_of(stage: Stage, after: float, node: Node, url: str, draw: Draw) -> None:
    """A watcher on the host of the culprit prints what its loader processes wait for: a child, and its connection."""
    job, rank = stage.job, stage.culprit
    own, child = job.job.rank_pids[rank], job.job.rank_pids[rank] + draw.whole(300, 2_400)
    here = stage.client(rank)
    rows = (
        f"hang-watcher: rank {rank} (pid {own}) has made no step for {after:.0f} s",
        f"hang-watcher: ps --ppid {own + 61}: {child} S {int(after) // 60:02d}:{int(after) % 60:02d} curl -fsSL {url}",
        f'hang-watcher: ss -tnp: ESTAB 0 0 {here} {node.endpoint(0)} users:(("curl",pid={child},fd=5))',
    )
    job.agent(stage.at + seconds(after), job.job.node_of(rank), "\n".join(rows))


def put_not_taken(stage: Stage, at: int, rank: int, node: Node, path: str, status: int) -> None:
    """The SDK has repeated a PUT as often as it may; the exception of its pool has no text of the node."""
    job = stage.job.job
    text = sdk.pool_error(node.address, node.ports[0], f"{path}?provider=ais", sdk.too_many(status))
    caller = (
        sdk.Frame(job.script, 212, "<module>", "main()"),
        sdk.Frame(job.script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(job.script, 119, "save_checkpoint", "self.bucket.object(key).get_writer().put_file(path)", True),
        sdk.Frame(f"{job.build['site']}/aistore/sdk/obj/object_writer.py", 74, "put_file", "return self._obj_client("),
    )
    stage.job.raise_on(at, rank, sdk.exhausted(job, caller, "RetryError", text))


def asks_in_vain(
    stage: Stage, at: int, over: int, rank: int, kind: str, tries_ms: float, text: str, draw: Draw
) -> None:
    """A rank repeats a request that never comes through, six times with ever longer pauses, until its job is over."""
    then, turn = at, 0
    while then < over:
        wait, left = round(draw.between(1.0, min(30.0, 1.5 * 2**turn)), 2), round((over - then) / SEC + 2, 2)
        wait, turn = max(wait, left) if turn == 5 else wait, turn + 1
        stage.job.sdk_warning(then, rank, sdk.retrying(wait, kind, text))
        then += seconds(wait) + draw.span(tries_ms, tries_ms + 25)


def waited(since: int, then: int) -> str:
    """How long somebody has waited who asked at a moment."""
    return f"{(then - since) / SEC:.1f} s"
