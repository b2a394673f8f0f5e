"""What AIStore's own clients print: lhotse's batch loader, the data sets of aistore.pytorch, writers and readers.

The frames and texts follow the sources of the SDK and of lhotse; what is raised in a loader process and takes more
than a text becomes a RuntimeError in its rank.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import fetch_frames
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, object_path
from fixtures.generator import sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import MS, comma_stamp
from fixtures.generator.stage import Stage, utterance

LOADER_ERROR = "lhotse.ais.batch_loader.AISBatchLoaderError"
FALLING = "Falling back to direct AIStore API call"
REASONS = {400: "Bad Request", 403: "Forbidden", 404: "Not Found", 500: "Internal Server Error"}


def shard_of(draw: Draw) -> str:
    """The name of a shard of recordings."""
    return f"shards/audio-{draw.whole(0, 4_095):06d}.tar"


def lhotse_frames(stage: Stage, *lines: tuple[int, str, str]) -> tuple[sdk.Frame, ...]:
    """The data set of speech hands its cuts to lhotse's loader for AIStore."""
    site = stage.job.job.build["site"]
    return (
        sdk.Frame("/workspace/speech/data.py", 73, "__getitem__", "audio, lens = self.strategy(cuts)", True),
        sdk.Frame(f"{site}/lhotse/dataset/input_strategies.py", 318, "__call__", "cuts = self.ais_batch_loader(cuts)"),
        *(sdk.Frame(f"{site}/lhotse/ais/batch_loader.py", line, where, code) for line, where, code in lines),
    )


def truncated(stage: Stage, at: int, rank: int, index: int, wanted: int) -> None:
    """lhotse's stream has ended too early; it speaks on the root logger."""
    text = f"Batch stream truncated at index {index}/{wanted}. {FALLING}s for remaining objects."
    stage.job.sdk_warning(at, rank, text)


def falls_back(stage: Stage, at: int, rank: int, error: str) -> None:
    """lhotse's batch is answered with an error, so it asks for one object after the other."""
    text = f"AIStore batch.get() failed: {error.removeprefix('AISError: ')}. Falling back to sequential GET requests."
    stage.job.sdk_warning(at, rank, text)


def one_by_one_failed(stage: Stage, at: int, rank: int, name: str, why: str, *, sequential: bool) -> None:
    """An object cannot be had alone either, and lhotse gives its batch up."""
    stage.job.sdk_warning(at, rank, f"Failed to fetch object {name} from bucket ais://{stage.bucket}: {why}", "ERROR")
    lines = (
        (171, "__call__", "info, content = next(batch_result)"),
        (152, "sequential_get", "raise AISBatchLoaderError("),
    )
    frames = lhotse_frames(stage, *(lines if sequential else ((256, "__call__", "raise AISBatchLoaderError("),)))
    way = "Sequential GET" if sequential else "Direct API"
    in_worker(stage, at + 2 * MS, rank, LOADER_ERROR, f"{way} fallback failed for {name}", frames)


def stream_reset(stage: Stage, at: int, rank: int) -> None:
    """The connection of a streamed batch is reset in its middle; neither host nor batch is named."""
    site = stage.job.job.build["site"]
    frames = (
        *lhotse_frames(stage, (171, "__call__", "info, content = next(batch_result)")),
        sdk.Frame(f"{site}/aistore/sdk/batch/extractor/tar_stream_extractor.py", 66, "extract", "for tarinfo in tar:"),
        sdk.Frame(f"{site}/urllib3/response.py", 776, "_error_catcher", "raise ProtocolError(arg, e) from e"),
    )
    reset = "ConnectionResetError(104, 'Connection reset by peer')"
    text = f'("Connection broken: {reset}", {reset})'
    in_worker(stage, at, rank, "urllib3.exceptions.ProtocolError", text, frames)


def entry_failed(stage: Stage, at: int, rank: int, name: str, message: str) -> None:
    """The data set of batches was told of an entry that failed, and does not go on without it."""
    site = stage.job.job.build["site"]
    place = f"{site}/aistore/pytorch/batch_iter_dataset.py"
    frames = (
        sdk.Frame(place, 78, "__iter__", "yield from self._process_batch(batch)", True),
        sdk.Frame(place, 112, "_process_batch", 'raise RuntimeError(f"{obj_info.obj_name}: {obj_info.err_msg}")'),
    )
    in_worker(stage, at, rank, "RuntimeError", f"{name}: {message}", frames)


def one_line(stage: Stage, at: int, rank: int, node: Node, name: str, status: int, text: str, tail: str = "") -> str:
    """What the SDK makes of an answer with an error, in one line; `tail` is what else was asked."""
    path = f"/v1/objects/{stage.bucket}/{name}"
    body = sdk.answer(node, status, text, "GET", path, stage.client(rank))
    return sdk.request_error(
        status, body, node.url(0) + path + sdk.query(stage.proxy_of(rank), at - 4 * MS) + tail, " "
    )


def dataset_refused(
    stage: Stage,
    at: int,
    rank: int,
    node: Node,
    name: str,
    status: int,
    text: str,
    *,
    shards: bool = False,
    tail: str = "",
) -> None:
    """A data set of aistore.pytorch reads an object, or a shard, and a node answers with an error."""
    job = stage.job.job
    site, path = job.build["site"], f"/v1/objects/{stage.bucket}/{name}"
    url = node.url(0) + path + sdk.query(stage.proxy_of(rank), at - 4 * MS) + tail
    body = sdk.answer(node, status, text, "GET", path, stage.client(rank))
    missing = "ErrETLNotFound" if "etl job" in text else "ErrObjNotFound"
    error = "aistore.sdk.errors." + (missing if status == 404 else "AISError")
    kind = "Client" if status < 500 else "Server"
    handler = f"{site}/aistore/sdk/response_handler.py"
    first = sdk.Raised(
        (sdk.Frame(handler, 42, "handle_response", "r.raise_for_status()"),),
        f"requests.exceptions.HTTPError: {status} {kind} Error: {REASONS[status]} for url: {url}",
        sdk.DIRECT,
    )
    place, line, code = (
        ("shard_reader", 134, "shard_content = shard.get(")
        if shards
        else ("iter_dataset", 84, "content = obj.get_reader(etl=self._etl).read_all()")
    )
    frames = (
        sdk.Frame(f"{site}/aistore/pytorch/{place}.py", line, "__iter__", code),
        sdk.Frame(f"{site}/aistore/sdk/obj/object_reader.py", 121, "read_all", "response = self.get()"),
        sdk.Frame(handler, 45, "handle_response", "raise self.parse_error(r) from http_err"),
    )
    in_worker(stage, at, rank, error, sdk.request_error(status, body, url), frames, "RuntimeError", (first,))


def archived(name: str, draw: Draw) -> str:
    """What is asked beside the name of a shard for one of its members."""
    return f"&archpath=utt-{draw.whole(0, 99_999):05d}.flac"


def member_given_up(stage: Stage, at: int, rank: int, node: Node, name: str, tail: str, status: int) -> None:
    """The SDK has repeated the read of a member of a shard as often as it may."""
    text = sdk.pool_error(node.address, node.ports[0], object_path(stage, rank, name) + tail, sdk.too_many(status))
    code = "wav = self.bucket.object(shard).get_reader(archive_config=ArchiveConfig(archpath=member)).read_all()"
    caller = fetch_frames(stage, code)
    stage.job.raise_on(at, rank, sdk.exhausted(stage.job.job, caller, "RetryError", text))


def refused_at(stage: Stage, rank: int, node: Node, draw: Draw, name: str = "", tail: str = "") -> str:
    """Why a client cannot ask a node for an object: nobody listens."""
    path = object_path(stage, rank, name or utterance(draw)) + tail
    return sdk.pool_error(node.address, node.ports[0], path, sdk.refused(draw.whole(*HANDLES)))


def unanswered_at(stage: Stage, rank: int, node: Node, name: str, tail: str = "") -> str:
    """Why a client has nothing of an object: its node has not answered in 20 s."""
    path = object_path(stage, rank, name) + tail
    return sdk.pool_error(node.address, node.ports[0], path, sdk.read_timeout(node.address, node.ports[0]))


def first_repeat(stage: Stage, at: int, rank: int, draw: Draw, text: str) -> None:
    """The SDK's first repetition of a request comes a second or so later."""
    stage.job.sdk_warning(at, rank, sdk.retrying(round(draw.between(1.0, 1.5), 2), "ConnectionError", text))


def resumes_after_cut(stage: Stage, at: int, rank: int, name: str, got: int, wanted: int) -> None:
    """A file reader goes on where its stream has ended too early."""
    text = f"Object stream ended early at byte {got}; expected byte {wanted}"
    head = f"{comma_stamp(at, stage.job.job.zone)} [rank{rank}] WARNING aistore.sdk.obj.obj_file.utils"
    stage.job.say(at, rank, f"{head}: Resuming 'objects/{stage.bucket}/{name}' after {text} (1/5)")


def resumed_in_vain(stage: Stage, at: int, rank: int, node: Node, name: str) -> None:
    """The file reader asks whether the object is there and is told that it is not; an answer to HEAD has no text."""
    job, path = stage.job.job, f"/v1/objects/{stage.bucket}/{name}"
    url = node.url(0) + path + sdk.query(stage.proxy_of(rank), at - 3 * MS)
    place = f"{job.build['site']}/aistore/sdk/obj/obj_file"
    caller = fetch_frames(
        stage,
        "member = next(self.tar)",
        sdk.Frame(f"{place}/object_file.py", 176, "read", "self._content_iter = self._handle_broken_stream(err)"),
        sdk.Frame(f"{place}/utils.py", 46, "get_iterator", "if not content_iterator.client.head().present:"),
    )
    failure = "aistore.sdk.errors.ErrObjNotFound: " + sdk.request_error(404, "", url, "")
    stage.job.raise_on(at, rank, sdk.http_failure(job, 404, "Not Found", url, failure, caller))


def _saving(stage: Stage, *lines: tuple[str, int, str, str]) -> tuple[sdk.Frame, ...]:
    """From the script's main to the SDK's part in a checkpoint."""
    script, site = stage.job.job.script, stage.job.job.build["site"]
    return (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        *(
            sdk.Frame(f"{site}/aistore/sdk/{file}" if file else script, line, where, code)
            for file, line, where, code in lines
        ),
    )


def append_frames(stage: Stage) -> tuple[sdk.Frame, ...]:
    """A checkpoint is written to a file of the SDK, which appends."""
    return _saving(
        stage,
        ("", 124, "save_checkpoint", "torch.save(state, out)"),
        ("obj/obj_file/object_file.py", 318, "write", "self._handle = self._obj_writer.append_content(buffer, handle="),
        ("obj/object_writer.py", 112, "append_content", "resp_headers = self._client.request("),
    )


def part_frames(stage: Stage) -> tuple[sdk.Frame, ...]:
    """A checkpoint is uploaded in parts by the SDK."""
    return _saving(
        stage,
        ("", 126, "save_checkpoint", "upload.add_part(number).put_content(part)"),
        ("obj/object_writer.py", 47, "put_content", "return self._put_data(data=content)"),
    )


def write_refused(
    stage: Stage, at: int, node: Node, path: str, status: int, text: str, tail: str, frames: tuple[sdk.Frame, ...]
) -> None:
    """Rank 0 writes its checkpoint by the SDK, and a node answers with an error."""
    job = stage.job.job
    body = sdk.answer(node, status, text, "PUT", path, stage.client(0))
    url = f"{node.url(0)}{path}?provider=ais{tail}"
    error = "aistore.sdk.errors.AISError: " + sdk.request_error(status, body, url)
    stage.job.raise_on(at, 0, sdk.http_failure(job, status, REASONS[status], url, error, frames))
