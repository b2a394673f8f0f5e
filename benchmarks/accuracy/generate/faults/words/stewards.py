"""What clients print whose storage fails inside its cluster: s5cmd, a map-style data set, a prefetch, curl -f, boto3.

The wordings follow the sources (s5cmd, aistore/pytorch, aistore/sdk/job.py, curl); none of them was seen in a run of
ours.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import pipe_ended
from benchmarks.accuracy.generate.faults.words.natives import FALLING, REASONS
from benchmarks.accuracy.generate.faults.words.operators import command_failed
from fixtures.generator import sdk
from fixtures.generator.draw import HEX, Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage


def s5cmd_not_put(stage: Stage, at: int, rank: int, name: str, text: str) -> None:
    """s5cmd cannot write a checkpoint over S3, and the script that runs it raises."""
    file, url = f"/dev/shm/{name.rsplit('/', 1)[-1]}", f"s3://checkpoints/{name}"
    error = f"ErrCapExceeded: {text} status code: 507, request id: , host id: "
    stage.job.say(at, rank, f'ERROR "cp {file} {url}": {error}')
    frames = (
        (203, "main", "save_checkpoint(model, optimizer, step)"),
        (119, "save_checkpoint", "subprocess.run(command, check=True)"),
    )
    command = f"s5cmd --endpoint-url {stage.proxy_of(rank).url(0)}/s3 --retry-count 2 cp {file} {url}"
    command_failed(stage, at + 9 * MS, rank, command, frames)


def refused_at(
    stage: Stage, at: int, rank: int, node: Node, name: str, status: int, text: str
) -> tuple[sdk.Raised, str]:
    """What requests raises first where a node answers the SDK with an error, and what the SDK says of it then."""
    path, site = f"/v1/objects/{stage.bucket}/{name}", stage.job.job.build["site"]
    url = node.url(0) + path + sdk.query(stage.proxy_of(rank), at - 4 * MS)
    body = sdk.answer(node, status, text, "GET", path, stage.client(rank))
    kind = "Client" if status < 500 else "Server"
    first = sdk.Raised(
        (sdk.Frame(f"{site}/aistore/sdk/response_handler.py", 42, "handle_response", "r.raise_for_status()"),),
        f"requests.exceptions.HTTPError: {status} {kind} Error: {REASONS[status]} for url: {url}",
        sdk.DIRECT,
    )
    return first, sdk.request_error(status, body, url)


def map_refused(stage: Stage, at: int, rank: int, node: Node, name: str, status: int, text: str) -> None:
    """AISMapDataset reads an object in a loader process, and a node answers with an error."""
    job = stage.job.job
    site, (first, said) = job.build["site"], refused_at(stage, at, rank, node, name, status, text)
    handler, loader = f"{site}/aistore/sdk/response_handler.py", f"{site}/torch/utils/data/_utils"
    frames = (
        sdk.Frame(f"{loader}/worker.py", 351, "_worker_loop", "data = fetcher.fetch(index)"),
        sdk.Frame(f"{loader}/fetch.py", 52, "fetch", "data = [self.dataset[idx] for idx in possibly_batched_index]"),
        sdk.Frame(f"{site}/aistore/pytorch/map_dataset.py", 61, "__getitem__", "content = obj.get_reader("),
        sdk.Frame(f"{site}/aistore/sdk/obj/object_reader.py", 121, "read_all", "response = self.get()"),
        sdk.Frame(handler, 45, "handle_response", "raise self.parse_error(r) from http_err"),
    )
    error = "aistore.sdk.errors.AISError: " + said
    original, worker = sdk.traceback(first, sdk.Raised(frames, error)), stage.draw.child("map", rank).whole(0, 3)
    caller = sdk.main_frames(
        job, stage.step, sdk.Frame(f"{site}/torch/_utils.py", 733, "reraise", "raise RuntimeError(msg) from None")
    )
    head = f"RuntimeError: Caught AISError in DataLoader worker process {worker}."
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(caller, f"{head}\nOriginal {original}\n")))


def prefetch_failed(stage: Stage, at: int, job: str, prefix: str) -> None:
    """Rank 0 does not begin an epoch whose part was not read ahead; the SDK has only told that its job was aborted."""
    script = stage.job.job.script
    frames = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 188, "main", "stage_part(bucket, part)", True),
        sdk.Frame(script, 94, "stage_part", 'raise RuntimeError(f"prefetch {job_id} of {prefix} did not succeed")'),
    )
    text = f"RuntimeError: prefetch {job} of {prefix} did not succeed"
    stage.job.raise_on(at, 0, sdk.traceback(sdk.Raised(frames, text)))


def curl_refused(stage: Stage, at: int, rank: int, shard: str, status: int) -> None:
    """WebDataset reads a shard through `curl -f`, which says the status and nothing of who sent it."""
    url = f"{stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{shard}"
    stage.job.say(at, rank, f"curl: (22) The requested URL returned error: {status}")
    handle = stage.draw.child("curl -f", rank).token(10, HEX)
    pipe_ended(stage, at + 3 * MS, rank, f"curl -sSfL {url}", 22, handle)


def stream_is_late(stage: Stage, at: int, rank: int, node: Node, draw: Draw) -> None:
    """lhotse has waited 20 s for the next entry of a batch, and asks for it alone."""
    slow = f"HTTPConnectionPool(host='{node.address}', port={node.ports[0]}): Read timed out."
    said = f"Timeout while fetching batch result at index {draw.whole(0, 40)}: {slow} {FALLING}."
    stage.job.sdk_warning(at, rank, said)
