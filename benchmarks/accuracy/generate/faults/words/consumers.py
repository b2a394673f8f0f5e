"""What programs print that read or write AIStore: datasets, s5cmd, rclone, boto3, aiohttp, lhotse, loaders on mounts.

The wordings follow their sources, their documentation and reports of users; none of them was seen in a run of ours.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.tenth.training import watched
from benchmarks.accuracy.generate.faults.words.clients import PYTHON, fetch_frames
from benchmarks.accuracy.generate.faults.words.loaders import EXPIRED, in_worker
from fixtures.generator import sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import MS, comma_stamp, local
from fixtures.generator.stage import Stage


def datasets_retries(stage: Stage, at: int, rank: int, attempt: int, limit: int) -> None:
    """Hugging Face datasets has lost its connection while it streams, and tries again five seconds later."""
    said = f"Got disconnected from remote data host. Retrying in 5sec [{attempt}/{limit}]"
    stage.job.say(at, rank, said)


def datasets_disconnected(stage: Stage, at: int, rank: int, node: Node) -> None:
    """datasets has tried as often as it may; what aiohttp has met last stands before its own two words."""
    site = stage.job.job.build["site"]
    place = f"{site}/datasets/utils/file_utils.py"
    failed = f"Cannot connect to host {node.endpoint(0)} ssl:default [Connect call failed ('{node.address}', "
    first = sdk.Raised(
        (
            sdk.Frame(place, 828, "read_with_retries", "out = read(*args, **kwargs)"),
            sdk.Frame(f"{site}/fsspec/implementations/http.py", 617, "read", "return super().read(length)"),
            sdk.Frame(f"{site}/aiohttp/connector.py", 1268, "_wrap_create_connection", "raise client_error(req."),
        ),
        f"aiohttp.client_exceptions.ClientConnectorError: {failed}{node.ports[0]})]",
        sdk.DIRECT,
    )
    frames = (
        sdk.Frame(f"{site}/datasets/iterable_dataset.py", 2267, "__iter__", "for key, example in ex_iterable:"),
        sdk.Frame(place, 843, "read_with_retries", 'raise ConnectionError("Server Disconnected") from disconnect_err'),
    )
    in_worker(stage, at, rank, "ConnectionError", "Server Disconnected", frames, first=(first,))


def s5cmd_failed(stage: Stage, at: int, key: str, upload: str, told: str) -> None:
    """The script hands its checkpoint to s5cmd, which says why a part was not taken; Python knows its code."""
    local_path = f"/dev/shm/ckpt/{key.rsplit('/', 1)[-1]}"
    command = f"cp {local_path} s3://checkpoints/{key}"
    cause = (
        f"MultipartUpload: upload multipart failed upload id: {upload} caused by: NoSuchUpload: {told} status code: 404"
    )
    stage.job.say(at, 0, f'ERROR "{command}": {cause}, request id: , host id: ')
    script = stage.job.job.script
    call = "['s5cmd', '--numworkers', '16', " + ", ".join(f"'{one}'" for one in command.split()) + "]"
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(script, 122, "save_checkpoint", "subprocess.run(command, check=True)", True),
        sdk.Frame(f"{PYTHON}/subprocess.py", 571, "run", "raise CalledProcessError(retcode, process.args,"),
    )
    text = f"subprocess.CalledProcessError: Command '{call}' returned non-zero exit status 1."
    stage.job.raise_on(at + 31 * MS, 0, sdk.traceback(sdk.Raised(frames, text)))


def rclone_says(stage: Stage, at: int, level: str, path: str, text: str) -> None:
    """rclone, which has a bucket mounted on the host of rank 0, writes to the journal."""
    stamp = f"{local(at, stage.job.job.zone):%Y/%m/%d %H:%M:%S}"
    watched(stage, at, 0, f"rclone[{stage.job.job.agent_pids[0] - 412}]: {stamp} {level:<6}: {path}: {text}")


def gateway_timed_out(stage: Stage, at: int, rank: int, name: str, tries: int) -> None:
    """botocore was answered by an nginx in between, the last time as well; who stands behind it has said nothing."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame("/workspace/train/frames.py", 61, "__getitem__", "raw = self.s3.get_object(Bucket=b, Key=k)", True),
        sdk.Frame(f"{site}/botocore/client.py", 569, "_api_call", "return self._make_api_call(operation_name, kwargs)"),
        sdk.Frame(
            f"{site}/botocore/client.py", 1023, "_make_api_call", "raise error_class(parsed_response, operation_name)"
        ),
    )
    asked = f"when calling the GetObject operation (reached max retries: {tries - 1})"
    text = f"An error occurred (504) {asked}: Gateway Time-out"
    stage.job.note(at - 4 * MS, rank, f"giving up on s3://{stage.bucket}/{name} after {tries} attempts", "E", 64)
    in_worker(stage, at, rank, "botocore.exceptions.ClientError", text, frames)


def not_trusted_by_boto(stage: Stage, at: int, rank: int, node: Node, name: str) -> None:
    """boto3 opens a new connection and looks at the certificate of whom it talks to."""
    site = stage.job.job.build["site"]
    caller = fetch_frames(
        stage,
        "content = self.s3.get_object(Bucket=self.bucket, Key=name)['Body'].read()",
        sdk.Frame(f"{site}/botocore/client.py", 569, "_api_call", "return self._make_api_call(operation_name, kwargs)"),
        sdk.Frame(f"{site}/botocore/httpsession.py", 491, "send", "raise SSLError(endpoint_url=request.url, error=e)"),
    )
    where = f"{node.url(0)}/s3/{stage.bucket}/{name}"
    why = f"[SSL: CERTIFICATE_VERIFY_FAILED] {EXPIRED}"
    text = f"botocore.exceptions.SSLError: SSL validation failed for {where} {why}"
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, text)))


def socket_timed_out(stage: Stage, at: int, rank: int) -> None:
    """aiohttp is connected, has asked, and reads nothing; its error does not say from whom."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame("/workspace/train/aread.py", 71, "__iter__", "yield from self.loop.run_until_complete(self.fill())"),
        sdk.Frame("/workspace/train/aread.py", 48, "fill", "return await asyncio.gather(*map(self.get, names))"),
        sdk.Frame(f"{site}/aiohttp/client_reqrep.py", 532, "start", "message, payload = await protocol.read()"),
        sdk.Frame(f"{site}/aiohttp/streams.py", 672, "read", "await self._waiter"),
    )
    error = "aiohttp.client_exceptions.SocketTimeoutError"
    in_worker(stage, at, rank, error, "Timeout on reading data from socket", frames)


def connection_closed_on_boto(stage: Stage, at: int, rank: int, node: Node, name: str) -> None:
    """botocore had sent its request when the other side was gone, and has found nobody there since."""
    site = stage.job.job.build["site"]
    where = f"{node.url(0)}/s3/{stage.bucket}/{name}"
    frames = (
        sdk.Frame("/workspace/train/s3reader.py", 44, "__getitem__", "body = self.get(key)['Body'].read()", True),
        sdk.Frame(f"{site}/botocore/endpoint.py", 281, "_do_get_response", "http_response = self._send(request)"),
        sdk.Frame(
            f"{site}/botocore/httpsession.py", 493, "send", "raise EndpointConnectionError(endpoint_url=request."
        ),
    )
    first = sdk.Raised(
        (sdk.Frame(f"{site}/urllib3/util/connection.py", 73, "create_connection", "sock.connect(sa)"),),
        "ConnectionRefusedError: [Errno 111] Connection refused",
        sdk.DURING,
    )
    text = f'Could not connect to the endpoint URL: "{where}"'
    in_worker(stage, at, rank, "botocore.exceptions.EndpointConnectionError", text, frames, first=(first,))


def dataloader_rank_waits(stage: Stage, at: int, rank: int, pid: int, waited_s: int) -> None:
    """The kernel of a host says that a loader process is blocked in a read below a mount."""
    node = stage.job.job.node_of(rank)
    stack = "__schedule schedule io_schedule folio_wait_bit_common filemap_get_pages filemap_read fuse_file_read_iter"
    head = f"kernel: INFO: task pt_data_worker:{pid} blocked for more than {waited_s} seconds."
    watched(stage, at, node, head)
    watched(stage, at + MS, node, f"kernel: Call Trace: {stack}")


def connection_of_mount(stage: Stage, at: int, rank: int, node: Node, draw: Draw) -> None:
    """A watcher on the host lists the connection that the daemon of a mount has open, and what it has to send."""
    pid = stage.job.job.agent_pids[stage.job.job.node_of(rank)] - draw.whole(300, 900)
    row = f'ESTAB 0 0 {stage.client(rank)} {node.endpoint(0)} users:(("mount-s3",pid={pid},fd={draw.whole(9, 40)}))'
    watched(stage, at, stage.job.job.node_of(rank), f"hang-watcher: ss -tnpo: {row}")


def lhotse_direct_failed(stage: Stage, at: int, rank: int, name: str, why: str) -> None:
    """lhotse has asked for what a batch left out, alone, and cannot have it either; its SDK has tried for long."""
    site = stage.job.job.build["site"]
    stage.job.note(at, rank, f"Failed to fetch object {name} from bucket ais://{stage.bucket}: {why}", "E", 250)
    loader = f"{site}/lhotse/ais/batch_loader.py"
    frames = (
        sdk.Frame("/workspace/asr/data/cuts.py", 73, "__getitem__", "audio, lens = self.strategy(cuts)", True),
        sdk.Frame(f"{site}/lhotse/dataset/input_strategies.py", 318, "__call__", "cuts = self.ais_batch_loader(cuts)"),
        sdk.Frame(loader, 256, "_fetch_direct", "raise AISBatchLoaderError("),
    )
    error = "lhotse.ais.batch_loader.AISBatchLoaderError"
    in_worker(stage, at + 2 * MS, rank, error, f"Direct API fallback failed for {name}", frames)


def entry_was_empty(stage: Stage, at: int, rank: int, name: str) -> None:
    """lhotse was given nothing for an entry of a batch and asks for it alone."""
    what = f"Object {name} from bucket ais://{stage.bucket} returned empty content"
    stage.job.note(at, rank, f"{what}. Retrying with direct AIStore API call.", "W", 238)


def shard_comes_slowly(stage: Stage, at: int, rank: int, url: str, part: int, size_mb: int, rate: float) -> None:
    """The script's own cache of shards says how far a download is, in a format of its own on any rank."""
    head = f"{comma_stamp(at, stage.job.job.zone)} [rank{rank}] WARNING shardcache"
    stage.job.say(at, rank, f"{head}: {url}: {part} % of {size_mb} MB, {rate:.2f} MB/s")
