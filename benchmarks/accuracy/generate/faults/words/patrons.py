"""What programs print that read a bucket by other ways: OpenCV below a mount, pyarrow, the AWS CLI, curl, safetensors.

The wordings follow reports of users; none of them was seen in a run of ours.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import PYTHON, fetch_frames, pipe_ended
from benchmarks.accuracy.generate.faults.words.fetchers import ALL_SPEAK
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.rclone import rclone_reads_again
from fixtures.generator import sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Node
from fixtures.generator.moment import MS, SEC
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit


def rclone_retries(stage: Stage, at: int, rank: int, name: str, text: str, attempt: int) -> None:
    """rclone, which has the bucket mounted, reads again what it was not given."""
    tail = f"InternalError: {text}\n\tstatus code: 500, request id: , host id: "
    rclone_reads_again(stage, at, rank, name, attempt, tail)


def picture_is_none(stage: Stage, at: int, rank: int, name: str) -> None:
    """OpenCV warns of a file that it cannot read and returns nothing; the data set asserts that there is a picture."""
    path, script = f"/mnt/{stage.bucket}/{name}", stage.job.job.script
    since = (at - stage.job.begin) / SEC + 7.1
    reason = "can't open/read file: check file path/integrity"
    stage.job.say(at, rank, f"[ WARN:0@{since:.3f}] global loadsave.cpp:268 findDecoder imread_('{path}'): {reason}")
    folder = script.rsplit("/", 1)[0]
    frames = (
        sdk.Frame(f"{folder}/data/wrapper.py", 110, "wrapper", "ret_val = getitem_fn(self, index)", True),
        sdk.Frame(f"{folder}/data/boxes.py", 206, "pull_item", "img = self.load_resized_img(index)", True),
        sdk.Frame(f"{folder}/data/boxes.py", 179, "load_resized_img", "img = self.load_image(index)", True),
        sdk.Frame(
            f"{folder}/data/boxes.py", 194, "load_image", 'assert img is not None, f"file named {img_file} not found"'
        ),
    )
    in_worker(stage, at + 3 * MS, rank, "AssertionError", f"file named {path} not found", frames)


def table_not_read(stage: Stage, at: int, rank: int, told: str) -> None:
    """pyarrow reads row groups of a file of Parquet over S3 and has tried three times."""
    site = stage.job.job.build["site"]
    frames = fetch_frames(
        stage,
        "table = self.file.read_row_group(group, columns=self.columns)",
        sdk.Frame(f"{site}/pyarrow/parquet/core.py", 474, "read_row_group", "return self.reader.read_row_group("),
        sdk.Frame("pyarrow/_parquet.pyx", 1655, "pyarrow._parquet.ParquetReader.read_row_group", "check_status("),
        sdk.Frame("pyarrow/error.pxi", 92, "pyarrow.lib.check_status", "raise convert_status(status)"),
    )
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"OSError: {told}")))


def aws_pipe_failed(stage: Stage, at: int, rank: int, shard: str, told: str) -> None:
    """WebDataset reads a shard through the AWS CLI, which asks for its size first and ends with an error."""
    stage.job.say(at, rank, f"fatal error: {told}")
    handle = stage.draw.child("aws pipe", rank).token(10, HEX)
    pipe_ended(stage, at + 90 * MS, rank, f"aws s3 cp s3://{stage.bucket}/{shard} -", 1, handle)


def silenced_pipe_ends(stage: Stage, at: int, rank: int, shard: str, left: int) -> None:
    """curl loses its server in the middle of a shard, `|| true` hides that, and tarfile finds no end."""
    job, site = stage.job, stage.job.job.build["site"]
    url = f"{stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{shard}"
    job.say(at, rank, f"curl: (18) transfer closed with {left} bytes remaining to read")
    handle = f"0x7f{stage.draw.child('silenced', rank).token(10, HEX)}"
    inner = (
        sdk.Frame(f"{site}/webdataset/tariterators.py", 218, "tar_file_expander", "for sample in tar_file_iterator("),
        sdk.Frame(f"{PYTHON}/tarfile.py", 2449, "next", "raise ReadError(str(e)) from None"),
    )
    text = (
        f"tarfile.ReadError: ('unexpected end of data', <webdataset.gopen.Pipe object at {handle}>, "
        f"'pipe:curl -sSL {url} || true')"
    )
    raised = sdk.Raised(fetch_frames(stage, "sample = next(self.samples)", *inner), text)
    job.raise_on(at + 4 * MS, rank, sdk.traceback(raised))


def weights_incomplete(stage: Stage, at: int, ranks: list[int], left: list[int], name: str) -> int:
    """curl fetches weights for each host and fails, nobody looks at that, safetensors does; when the job is over."""
    job, script, site = stage.job, stage.job.job.script, stage.job.job.build["site"]
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 168, "main", "model = build_model(args)", True),
        sdk.Frame(script, 61, "build_model", "model.load_state_dict(load_file(path), strict=False)", True),
        sdk.Frame(f"{site}/safetensors/torch.py", 313, "load_file", 'with safe_open(filename, framework="pt") as f:'),
    )
    text = "safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer"
    exits, last = [], at
    for turn, (rank, rest) in enumerate(zip(ranks, left, strict=True)):
        last = at + turn * 170 * MS
        job.say(last - 400 * MS, rank, f"curl: (18) transfer closed with {rest} bytes remaining to read")
        job.note(last - 380 * MS, rank, f"weights {name} fetched to /dev/shm/{name.rsplit('/', 1)[-1]}", "W", 58)
        job.raise_on(last, rank, sdk.traceback(sdk.Raised(frames, text)))
        exits.append(Exit(rank, last + 600 * MS, 1))
    return job.agents_end(exits, last + 700 * MS)


def put_failed(stage: Stage, at: int, rank: int, code: int, reason: str, key: str) -> None:
    """boto3 puts a checkpoint in one piece and has repeated that as often as it may."""
    script, site = stage.job.job.script, stage.job.job.build["site"]
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(script, 122, "save_checkpoint", f'self.s3.put_object(Bucket="checkpoints", Key="{key}", Body=blob)'),
        sdk.Frame(f"{site}/botocore/client.py", 569, "_api_call", "return self._make_api_call(operation_name, kwargs)"),
        sdk.Frame(
            f"{site}/botocore/client.py", 1023, "_make_api_call", "raise error_class(parsed_response, operation_name)"
        ),
    )
    error = f"An error occurred ({code}) when calling the PutObject operation (reached max retries: 4): {reason}"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"botocore.exceptions.ClientError: {error}")))


def shards_not_found(stage: Stage, at: dict[int, int], node: Node, path: str) -> int:
    """Ranks that begin are told that their shard of a checkpoint does not exist, each when it asks; the end."""
    exits: dict[int, Exit] = {}
    for rank, then in sorted(at.items(), key=lambda one: one[1]):
        name = f"{path}/rank{rank:04d}.pt"
        _load_not_found(stage, then, rank, node, f"/v1/objects/{name}", f"{node.name}: ais://{name} does not exist")
        exits.setdefault(stage.job.job.node_of(rank), Exit(rank, then + 600 * MS, 1))
    return stage.job.agents_end(list(exits.values()), max(at.values()) + 700 * MS)


def checkpoint_gone(stage: Stage, at: int, node: Node, path: str, text: str) -> int:
    """The first rank of each host asks for a checkpoint that does not exist; when the job is over."""
    job = stage.job.job
    exits, last = [], at
    for turn, rank in enumerate(range(0, job.world, job.ranks_per_node)):
        last = at + turn * 90 * MS
        _load_not_found(stage, last, rank, node, path, text)
        exits.append(Exit(rank, last + 600 * MS, 1))
    return stage.job.agents_end(exits, last + 700 * MS)


def _load_not_found(stage: Stage, at: int, rank: int, node: Node, path: str, text: str) -> None:
    """A rank loads a checkpoint through the SDK and is told by the node that there is none."""
    job, script, site = stage.job.job, stage.job.job.script, stage.job.job.build["site"]
    url = f"{node.url(0)}{path}{sdk.query(stage.proxy_of(rank), at - 4 * MS)}"
    body = sdk.answer(node, 404, text, "GET", path, stage.client(rank), "ErrNotFound")
    error = "aistore.sdk.errors.ErrObjNotFound: " + sdk.request_error(404, body, url)
    caller = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 171, "main", "start_step = load_checkpoint(model, optimizer)", True),
        sdk.Frame(script, 107, "load_checkpoint", "blob = bucket.object(name).get_reader().read_all()", True),
        sdk.Frame(f"{site}/aistore/sdk/obj/object_reader.py", 121, "read_all", "response = self.get()"),
    )
    stage.job.raise_on(at, rank, sdk.http_failure(job, 404, "Not Found", url, error, caller))


def http_file_refused(stage: Stage, at: int, rank: int, node: Node, name: str, status: tuple[int, str]) -> None:
    """fsspec reads an address over aiohttp, was sent on to a target, and is refused."""
    site = stage.job.job.build["site"]
    url = f"{node.url(0)}/v1/objects/{stage.bucket}/{name}{sdk.query(stage.proxy_of(rank), at - 9 * MS)}"
    frames = fetch_frames(
        stage,
        "content = self.fs.cat_file(url)",
        sdk.Frame(f"{site}/fsspec/asyn.py", 118, "wrapper", "return sync(self.loop, func, *args, **kwargs)"),
        sdk.Frame(
            f"{site}/fsspec/implementations/http.py", 236, "_cat_file", "self._raise_not_found_for_status(r, url)"
        ),
        sdk.Frame(f"{site}/aiohttp/client_reqrep.py", 629, "raise_for_status", "raise ClientResponseError("),
    )
    text = f"{status[0]}, message='{status[1]}', url='{url}'"
    stage.job.raise_on(
        at, rank, sdk.traceback(sdk.Raised(frames, f"aiohttp.client_exceptions.ClientResponseError: {text}"))
    )


def each_raises(stage: Stage, at: int, text: str, frames: tuple[sdk.Frame, ...]) -> int:
    """All ranks, in larger worlds the first of each host, meet the same within some moments; when the job is over."""
    own, draw, last = stage.job.job, stage.draw.child("each raises"), at
    said = sdk.traceback(sdk.Raised(frames, text))
    for rank in range(0, own.world, 1 if own.world <= ALL_SPEAK else own.ranks_per_node):
        then = at + draw.span(1, 240)
        stage.job.raise_on(then, rank, said)
        last = max(last, then)
    firsts = range(0, own.world, own.ranks_per_node)
    return stage.job.agents_end([Exit(rank, last + 500 * MS + rank * MS, 1) for rank in firsts], last + 900 * MS)
