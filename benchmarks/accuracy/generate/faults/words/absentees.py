"""What clients print of a node that is not there or not answered for: boto3, WebDataset's curl, urllib, AIStore's SDK.

The wordings follow the sources (botocore, webdataset/gopen.py, urllib, aistore/sdk) and were not seen in runs of ours.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.loaders import in_worker
from benchmarks.accuracy.generate.faults.words.tellers import told
from fixtures.generator import sdk
from fixtures.generator.draw import Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import MS
from fixtures.generator.stage import Stage

REFUSED = "Failed to connect to {0} port {1} after 0 ms: Couldn't connect to server"
UNAVAILABLE = "HTTP Error 503: Service Unavailable"


def stands_in_boto(stage: Stage) -> tuple[tuple[str, str, int], ...]:
    """Frames of a rank that waits for the first byte of an object by boto3, the innermost first."""
    site, script = stage.job.job.build["site"], stage.job.job.script
    return (
        ("readinto", f"{PYTHON}/socket.py", 718),
        ("_read_status", f"{PYTHON}/http/client.py", 286),
        ("begin", f"{PYTHON}/http/client.py", 325),
        ("getresponse", f"{PYTHON}/http/client.py", 1395),
        ("getresponse", f"{site}/urllib3/connection.py", 565),
        ("_make_request", f"{site}/urllib3/connectionpool.py", 534),
        ("urlopen", f"{site}/urllib3/connectionpool.py", 787),
        ("send", f"{site}/botocore/httpsession.py", 464),
        ("_send", f"{site}/botocore/endpoint.py", 383),
        ("_do_get_response", f"{site}/botocore/endpoint.py", 279),
        ("_send_request", f"{site}/botocore/endpoint.py", 200),
        ("_make_api_call", f"{site}/botocore/client.py", 1049),
        ("_api_call", f"{site}/botocore/client.py", 602),
        ("fetch", script, 79),
        ("next_batch", script, 94),
    )


def connection_listed(stage: Stage, at: int, rank: int, node: Node, program: tuple[str, int], draw: Draw) -> None:
    """A watcher on a rank's host lists a connection that a process has open, and when anything last came of it."""
    name, pid = program
    quiet = int((at - stage.at) / MS) + draw.whole(3, 60)
    users = f'users:(("{name}",pid={pid},fd={draw.whole(9, 60)}))'
    row = f"ESTAB 0 0 {stage.client(rank)} {node.endpoint(0)} {users} lastrcv:{quiet}"
    stage.job.agent(at, stage.job.job.node_of(rank), f"hang-watcher: rank {rank}: ss -tnpi: {row}")


def pipe_tried(stage: Stage, at: int, rank: int, code: int, text: str, url: str, turn: tuple[int, int]) -> None:
    """curl below WebDataset fails, and the job's own wrapper of pipes begins it again."""
    stage.job.say(at, rank, f"curl: ({code}) {text}")
    if turn[0] < turn[1]:
        said = f"pipe:curl -fsSL {url} has ended with {code}, try {turn[0]} of {turn[1]}"
        told(stage, at + 30 * MS, rank, "wds", said, "WARNING")


def bucket_not_made(stage: Stage, at: int, rank: int, proxy: Node, path: str) -> None:
    """A rank makes a bucket for what its host decodes, and is answered with 502 and an empty body."""
    script, site = stage.job.job.script, stage.job.job.build["site"]
    url = f"{proxy.url(0)}{path}?provider=ais"
    caller = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 195, "main", "decode_dev(model, step)", True),
        sdk.Frame(script, 142, "decode_dev", "out = client.bucket(name).create(exist_ok=True)", True),
        sdk.Frame(f"{site}/aistore/sdk/bucket.py", 152, "create", "self.make_request(HTTP_METHOD_POST, action=ACT_"),
    )
    error = "aistore.sdk.errors.AISError: " + sdk.request_error(502, "", url, "")
    stage.job.raise_on(at, rank, sdk.http_failure(stage.job.job, 502, "Bad Gateway", url, error, caller))


def address_given_up(stage: Stage, at: int, rank: int) -> None:
    """A loader process has opened an address with urllib as often as it may, and was told 503 each time."""
    frames = (
        sdk.Frame("/workspace/data/clips.py", 58, "__iter__", "blob = open_again(url, tries=TRIES)", True),
        sdk.Frame("/workspace/data/clips.py", 31, "open_again", "return urllib.request.urlopen(url, timeout=60)"),
        sdk.Frame(
            f"{PYTHON}/urllib/request.py", 643, "http_error_default", "raise HTTPError(req.full_url, code, msg, hdrs,"
        ),
    )
    in_worker(stage, at, rank, "urllib.error.HTTPError", UNAVAILABLE, frames)


def save_given_up(stage: Stage, at: int, text: str) -> None:
    """Rank 0 has tried to put its checkpoint as often as the SDK does."""
    script, site = stage.job.job.script, stage.job.job.build["site"]
    caller = (
        sdk.Frame(script, 212, "<module>", "main()"),
        sdk.Frame(script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(script, 121, "save_checkpoint", "bucket.object(name).get_writer().put_file(path)", True),
        sdk.Frame(f"{site}/aistore/sdk/obj/object_writer.py", 74, "put_file", "return self._put_data(data)", True),
    )
    stage.job.sdk_warning(at, 0, "All retries exhausted; request failed", "ERROR")
    stage.job.raise_on(at + 2 * MS, 0, sdk.exhausted(stage.job.job, caller, "ConnectionError", text))
