"""What a job prints while the target that it needs is gone: signed addresses, shards of a checkpoint, lists of tries.

The SDK's tries are as in recorded runs; the words of requests, urllib3 and curl follow their sources.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import PYTHON, fetch_frames
from benchmarks.accuracy.generate.faults.words.lostones import BEFORE_IT_LEAVES, REFUSED_S, put_gave_up, tried_in_vain
from benchmarks.accuracy.generate.faults.words.requests import HANDLES
from benchmarks.accuracy.generate.faults.words.tellers import told
from fixtures.generator import sdk
from fixtures.generator.draw import HEX, Draw
from fixtures.generator.model import Node
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage

#: What curl says as its server goes away in the middle of a body, and as nobody listens any more.
CUT_SHORT = "transfer closed with {0} bytes remaining to read"
NOT_CONNECTED = "Failed to connect to {0} port {1} after 0 ms: Couldn't connect to server"


def signed_path(stage: Stage, key: str, draw: Draw) -> str:
    """What is asked of the S3 side with an address that was signed for some hours."""
    expires = stage.job.begin // SEC + 21_600
    return f"/s3/{stage.bucket}/{key}?AWSAccessKeyId=train&Signature={draw.token(26)}%3D&Expires={expires}"


def dialed_in_vain(node: Node, path: str, draw: Draw, limit: int) -> str:
    """A host is gone: nobody refuses, and the time-out of connecting runs out."""
    cause = sdk.connect_timeout(node.address, draw.whole(*HANDLES), limit)
    return sdk.pool_error(node.address, node.ports[0], path, cause)


def signed_read_failed(stage: Stage, at: int, rank: int, text: str) -> None:
    """The program reads a signed address with requests, which was sent on to a target and cannot connect."""
    site = stage.job.job.build["site"]
    frames = fetch_frames(
        stage,
        "answer = self.session.get(self.sign(key), timeout=(CONNECT_S, READ_S))",
        sdk.Frame(f"{site}/requests/sessions.py", 724, "send", "history = [resp for resp in gen]", True),
        sdk.Frame(f"{site}/requests/sessions.py", 265, "resolve_redirects", "resp = self.send("),
        sdk.Frame(f"{site}/requests/adapters.py", 688, "send", "raise ConnectTimeout(e, request=request)"),
    )
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, f"requests.exceptions.ConnectTimeout: {text}")))


def shard_put_in_vain(stage: Stage, at: int, rank: int, node: Node, name: str, draw: Draw) -> int:
    """A rank puts its shard of a checkpoint and is refused in each of the SDK's tries; when it has given up."""
    script = stage.job.job.script
    path = f"/v1/objects/checkpoints/{name}?provider=ais&pid={stage.proxy_of(rank).node_id}"

    def why() -> str:
        return sdk.pool_error(node.address, node.ports[0], path, sdk.refused(draw.whole(*HANDLES)))

    then = tried_in_vain(stage, at, rank, why, draw, BEFORE_IT_LEAVES, REFUSED_S)
    saver = (
        sdk.Frame(script, 203, "main", "save_sharded(model, optimizer, step)", True),
        sdk.Frame(script, 133, "save_sharded", "self.bucket.object(name).get_writer().put_content(buffer)", True),
    )
    put_gave_up(stage, then, rank, "ConnectionError", why(), saver)
    return then + 2 * MS


def pipe_opened(stage: Stage, at: int, rank: int, shard: str) -> str:
    """A rank opens the next shard with curl below WebDataset; the address that curl was given."""
    url = f"{stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{shard}"
    told(stage, at, rank, "shards", f"next shard pipe:curl -fsSL {url}")
    return url


def pipe_begun_anew(stage: Stage, at: int, rank: int, code: int, text: str, turn: tuple[int, int]) -> None:
    """curl has said why it ends, and the job's own opener begins the shard anew, if it may."""
    stage.job.say(at, rank, f"curl: ({code}) {text}")
    if turn[0] < turn[1]:
        said = f"curl ended with {code}, the shard is opened again ({turn[0]} of {turn[1]} tries)"
        told(stage, at + 12 * MS, rank, "shards", said, "WARNING")


def reads_signed(stage: Stage, at: int, rank: int, node: Node, key: str, tries: int, limit: int, draw: Draw) -> int:
    """A signed address is read some times and its target is never connected to: when the last try has failed."""
    path = signed_path(stage, key, draw)
    then = at
    for turn in range(1, tries + 1):
        then += seconds(limit) + draw.span(2, 9)
        text = dialed_in_vain(node, path, draw, limit)
        if turn == tries:
            signed_read_failed(stage, then, rank, text)
        else:
            told(stage, then, rank, "s3", f"{key}: try {turn} of {tries} failed: {text}", "WARNING")
            then += seconds(turn) + draw.span(1, 9)
    return then


def handle_of(draw: Draw) -> str:
    """The last digits of an address in memory."""
    return draw.token(10, HEX)


def stands_in_sending(stage: Stage) -> tuple[tuple[str, str, int], ...]:
    """Frames of a rank that sends a large object to somebody who takes no more of it, the innermost first."""
    site, script = stage.job.job.build["site"], stage.job.job.script
    return (
        ("send", f"{PYTHON}/http/client.py", 1018),
        ("request", f"{site}/urllib3/connection.py", 507),
        ("_make_request", f"{site}/urllib3/connectionpool.py", 495),
        ("urlopen", f"{site}/urllib3/connectionpool.py", 787),
        ("send", f"{site}/requests/adapters.py", 644),
        ("request_op", f"{site}/aistore/sdk/request_client.py", 225),
        ("request", f"{site}/aistore/sdk/request_client.py", 231),
        ("_put_data", f"{site}/aistore/sdk/obj/object_writer.py", 132),
        ("put_file", f"{site}/aistore/sdk/obj/object_writer.py", 74),
        ("save_checkpoint", script, 121),
    )


def unsent_bytes_listed(stage: Stage, at: int, rank: int, node: Node, draw: Draw) -> None:
    """A watcher lists the connection that a rank sends by, with what waits in it and since when nothing was sent."""
    own, quiet = stage.job.job, (at - stage.at) // MS - draw.whole(2, 40)
    users = f'users:(("python3",pid={own.rank_pids[rank]},fd={draw.whole(31, 90)}))'
    row = f"ESTAB 0 {draw.whole(1_900, 4_100) << 10} {stage.client(rank)} {node.endpoint(0)} {users} lastsnd:{quiet}"
    stage.job.agent(at, own.node_of(rank), f"hang-watcher: rank {rank}: ss -tnpi: {row}")
