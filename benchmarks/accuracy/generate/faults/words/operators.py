"""What the command line of AIStore, its jobs' waits, its parallel and fsspec readers, rclone and WebDataset print.

The wordings follow the sources (cmd/cli, aistore/sdk/job.py, aistore/fsspec, webdataset/gopen.py, rclone) and were not
seen in runs of ours.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import PYTHON, fetch_frames
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.scene import Scene, readers
from fixtures.generator import sdk
from fixtures.generator.draw import HEX, Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import MS, US, local, seconds
from fixtures.generator.stage import Stage

#: Why a request is sent again whose server has closed the connection without an answer.
HUNG_UP = "('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))"
#: How often the SDK asks for the state of a job that it waits for, in seconds.
ASKS_EVERY_S = 1.0


def troubled(stage: Stage, draw: Draw) -> None:
    """Some ranks have warned of what goes on within their training; none of it has kept anybody waiting."""
    said = (
        "overflow in the gradients of this step, which is left out; loss scale is {0}",
        "{1} cudaMalloc retries since the last report, memory is fragmented",
        "gradient norm of {1}.4 is clipped to 1.0",
        "a batch of {1} cuts is longer than its bucket allows, cut down",
    )
    for rank in readers(stage)[-draw.whole(1, 3) :]:
        text = draw.pick(said).format(1 << draw.whole(9, 16), draw.whole(4, 90))
        told(stage, stage.at - draw.span(1_500, 30_000), rank, "trainer", text, "WARNING")


def command_failed(stage: Stage, at: int, rank: int, command: str, where: tuple[tuple[int, str, str], ...]) -> None:
    """A command that the script waits for has ended with 1; `where` are the script's own frames below its main."""
    script = stage.job.job.script
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        *(sdk.Frame(script, line, function, code, True) for line, function, code in where),
        sdk.Frame(f"{PYTHON}/subprocess.py", 571, "run", "raise CalledProcessError(retcode, process.args,"),
    )
    text = f"subprocess.CalledProcessError: Command '{command.split()}' returned non-zero exit status 1."
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text)))


def cli_reaches_nobody(stage: Stage, at: int, rank: int) -> None:
    """The command line found nobody who listens, and names the gateway that it was given, whoever it was."""
    tip = "Make sure that environment 'AIS_ENDPOINT' has the address of any AIS gateway (proxy).\n"
    tip += "For defaults, see CLI config at /root/.config/ais/cli/cli.json or run `ais show config cli`."
    text = f"Error: AIStore cannot be reached at {stage.proxy_of(rank).url(0)}\n{tip}"
    stage.job.say(at, rank, text)


def cli_failed(stage: Stage, at: int, rank: int, text: str) -> None:
    """The last line of a command of AIStore's."""
    stage.job.say(at, rank, f"Error: {text}")


def piped_by_ais_get(stage: Stage, at: int, rank: int, shard: str, error: str) -> None:
    """WebDataset opens ais:// by `ais get`, which ends with an error in the middle of a shard."""
    site, url = stage.job.job.build["site"], f"ais://{stage.bucket}/{shard}"
    cli_failed(stage, at, rank, error)
    handle = stage.draw.child("ais get", rank).token(10, HEX)
    text = (
        f"OSError: (\"(('ais get {url} -',), {{'shell': True, 'bufsize': 8192}}): exit 1 (read) {{}}\", "
        f"<webdataset.gopen.Pipe object at 0x7f{handle}>, '{url}')"
    )
    inner = (
        sdk.Frame(f"{site}/webdataset/tariterators.py", 218, "tar_file_expander", "for sample in tar_file_iterator("),
        sdk.Frame(f"{PYTHON}/tarfile.py", 469, "_read", "buf = self.fileobj.read(self.bufsize)", True),
        sdk.Frame(f"{site}/webdataset/gopen.py", 130, "read", "self.check_status()"),
        sdk.Frame(f"{site}/webdataset/gopen.py", 111, "wait_for_child", "raise IOError("),
    )
    caller = fetch_frames(stage, "sample = next(self.samples)", *inner)
    stage.job.raise_on(at + 3 * MS, rank, sdk.traceback(sdk.Raised(caller, text)))


def waits_for_job(stage: Stage, since: int, until: int, job: str) -> None:
    """Rank 0 waits for a job of the cluster by the SDK, which says so whenever it has asked."""
    then = since + 4 * MS
    while then < until:
        told(stage, then, 0, "aistore.sdk.job", f"Waiting on job '{job}'...")
        then += seconds(ASKS_EVERY_S) + 5 * MS


def job_aborted(stage: Stage, at: int, job: str, ended: int) -> None:
    """The SDK is told that the job it waits for was aborted, and when by the cluster's clock; it raises nothing."""
    ahead = seconds(stage.setting.cluster_skew_s) if isinstance(stage, Scene) else 0
    clock = f"{local(ended + ahead, stage.job.job.zone):%H:%M:%S}.{ended // US % 1_000_000:06d}"
    told(stage, at, 0, "aistore.sdk.job", f"Job '{job}' aborted at time '{clock}'", "ERROR")


def ranges_cut(stage: Stage, at: int, rank: int, got: int, left: int) -> None:
    """One of the ranges that a parallel reader fetches at the same time ends before all of it has come."""
    site = stage.job.job.build["site"]
    short = f"IncompleteRead({got} bytes read, {left} more expected)"
    place = f"{site}/torch/utils/data/_utils"
    frames = (
        sdk.Frame(f"{place}/worker.py", 351, "_worker_loop", "data = fetcher.fetch(index)"),
        sdk.Frame(f"{place}/fetch.py", 52, "fetch", "data = [self.dataset[idx] for idx in possibly_batched_index]"),
        sdk.Frame(f"{site}/aistore/pytorch/parallel_map_dataset.py", 57, "__getitem__", "content = obj.get_reader("),
        sdk.Frame(f"{PYTHON}/concurrent/futures/_base.py", 449, "result", "return self.__get_result()"),
        sdk.Frame(f"{PYTHON}/concurrent/futures/_base.py", 401, "__get_result", "raise self._exception"),
        sdk.Frame(f"{site}/requests/models.py", 822, "generate", "raise ChunkedEncodingError(e)"),
    )
    error = f"requests.exceptions.ChunkedEncodingError: ('Connection broken: {short}', {short})"
    own = sdk.traceback(sdk.Raised(frames, error))
    caller = sdk.main_frames(
        stage.job.job,
        stage.step,
        sdk.Frame(f"{site}/torch/_utils.py", 733, "reraise", "raise exception"),
    )
    worker = stage.draw.child("ranges", rank).whole(0, 3)
    text = (
        f"requests.exceptions.ChunkedEncodingError: Caught ChunkedEncodingError in DataLoader worker process {worker}."
    )
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, f"{text}\nOriginal {own}\n")))


def body_reset(stage: Stage, at: int, rank: int) -> None:
    """The SDK reads an object as a whole, and its connection is reset in the middle; requests names nobody."""
    site = stage.job.job.build["site"]
    reset = "ConnectionResetError(104, 'Connection reset by peer')"
    inner = (
        sdk.Frame(
            f"{site}/aistore/sdk/obj/object_reader.py", 124, "read_all", "return b''.join(response.iter_content())"
        ),
        sdk.Frame(f"{site}/requests/models.py", 822, "generate", "raise ChunkedEncodingError(e)"),
    )
    text = f'requests.exceptions.ChunkedEncodingError: ("Connection broken: {reset}", {reset})'
    caller = fetch_frames(stage, "content = self.bucket.object(name).get_reader().read_all()", *inner)
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, text)))


def fsspec_refused(stage: Stage, at: int, rank: int, node: Node, name: str, text: str) -> None:
    """AIStore's file system for fsspec reads a file, and a node answers 404."""
    job, path = stage.job.job, f"/v1/objects/{stage.bucket}/{name}"
    site, url = job.build["site"], node.url(0) + path + sdk.query(stage.proxy_of(rank), at - 4 * MS)
    body = sdk.answer(node, 404, text, "GET", path, stage.client(rank))
    failure = "aistore.sdk.errors.ErrObjNotFound: " + sdk.request_error(404, body, url)
    inner = (
        sdk.Frame(f"{site}/aistore/fsspec/filesystem.py", 119, "cat_file", "self._bucket(bucket_name)"),
        sdk.Frame(f"{site}/aistore/sdk/obj/object_reader.py", 121, "read_all", "response = self.get()"),
    )
    caller = fetch_frames(stage, 'content = self.fs.cat_file(f"ais://{self.root}/{name}")', *inner)
    stage.job.raise_on(at, rank, sdk.http_failure(job, 404, "Not Found", url, failure, caller))


def part_unanswered(stage: Stage, rank: int, node: Node, path: str, upload: str, part: int) -> str:
    """Why a part of an upload by the SDK is sent again: its target has not answered in 20 s."""
    tail = f"&uploadId={upload}&partNumber={part}"
    where = f"{path}?provider=ais&pid={stage.proxy_of(rank).node_id}{tail}"
    return sdk.pool_error(node.address, node.ports[0], where, sdk.read_timeout(node.address, node.ports[0]))


def gone_for_boto(stage: Stage, at: int, rank: int, proxy: Node, name: str) -> None:
    """boto3 finds nobody at the endpoint that it was given, after all its attempts."""
    nobody_at(stage, at, rank, f"{proxy.url(0)}/s3/{stage.bucket}/{name}")


def nobody_at(stage: Stage, at: int, rank: int, url: str) -> None:
    """botocore finds nobody at an address, as often as it tries."""
    site = stage.job.job.build["site"]
    caller = fetch_frames(
        stage,
        "content = self.s3.get_object(Bucket=self.bucket, Key=name)['Body'].read()",
        sdk.Frame(f"{site}/botocore/client.py", 569, "_api_call", "return self._make_api_call(operation_name, kwargs)"),
        sdk.Frame(f"{site}/botocore/endpoint.py", 281, "_do_get_response", "http_response = self._send(request)"),
        sdk.Frame(f"{site}/botocore/httpsession.py", 493, "send", "raise EndpointConnectionError(endpoint_url="),
    )
    text = f'botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL: "{url}"'
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, text)))


def rclone_says(stage: Stage, at: int, rank: int, level: str, text: str) -> None:
    """A line of rclone, which the script runs as a command."""
    stage.job.say(at, rank, f"{local(at, stage.job.job.zone):%Y/%m/%d %H:%M:%S} {level:<6}: {text}")


def rclone_not_sent(proxy: Node, bucket: str, name: str) -> str:
    """Why rclone cannot open a file: nobody listens at its endpoint."""
    url = f"{proxy.url(0)}/s3/{bucket}/{name}?x-id=GetObject"
    why = f'Get "{url}": dial tcp {proxy.endpoint(0)}: connect: connection refused'
    head = "failed to open source object: operation error S3: GetObject, exceeded maximum number of attempts, 10"
    return f"{head}, https response error StatusCode: 0, RequestID: , HostID: , request send failed, {why}"


def checkpoint_repeated(stage: Stage, at: int, rank: int, node: Node, key: str) -> None:
    """A rank has asked for a checkpoint six times in a minute and a half, and was answered 500 each time."""
    own = stage.job.job
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 171, "main", "start_step = load_checkpoint(model, optimizer)", True),
        sdk.Frame(own.script, 109, "load_checkpoint", "state = torch.load(BytesIO(obj.get_reader().read_all()))", True),
    )
    path = f"/v1/objects/checkpoints/{key}?provider=ais&pid={stage.proxy_of(rank).node_id}"
    text = sdk.pool_error(node.address, node.ports[0], path, sdk.too_many(500))
    stage.job.raise_on(at, rank, sdk.exhausted(own, frames, "RetryError", text))


def listing_repeated(stage: Stage, at: int, rank: int, proxy: Node) -> None:
    """A rank has asked for the names of a bucket six times in a minute and a half, and was answered 503 each time."""
    own = stage.job.job
    place = f"{own.build['site']}/aistore/sdk/bucket.py"
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 168, "main", "dataset = AISIterDataset(client.bucket(args.bucket))", True),
        sdk.Frame(place, 448, "list_objects", "return self.request_deserialize("),
    )
    text = sdk.pool_error(proxy.address, proxy.ports[0], f"/v1/buckets/{stage.bucket}?provider=ais", sdk.too_many(503))
    stage.job.raise_on(at, rank, sdk.exhausted(own, frames, "RetryError", text))
