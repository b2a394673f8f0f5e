"""What clients print when they give up, and how people end a job that only crawls: boto3, s3torchconnector, appends."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import fetch_frames
from fixtures.generator import aistraffic, sdk, torchrun
from fixtures.generator.model import Node
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit


def answer_broken(stage: Stage, at: int, rank: int, got: int, left: int) -> None:
    """boto3 gets fewer bytes than were announced."""
    site = stage.job.job.build["site"]
    caller = fetch_frames(
        stage,
        "content = self.s3.get_object(Bucket=self.bucket, Key=name)['Body'].read()",
        sdk.Frame(f"{site}/botocore/response.py", 107, "read", "raise ResponseStreamingError(error=e)"),
    )
    broken = f"IncompleteRead({got} bytes read, {left} more expected)"
    cause = f"('Connection broken: {broken}', {broken})"
    text = f"An error occurred while reading from response stream: {cause}"
    raised = sdk.Raised(caller, f"botocore.exceptions.ResponseStreamingError: {text}")
    stage.job.raise_on(at, rank, sdk.traceback(raised))


def append_refused(stage: Stage, at: int, node: Node, path: str, text: str) -> None:
    """The SDK is to append to an object and is told that nobody has its beginning."""
    job = stage.job.job
    url = f"{node.url(0)}{path}?provider=ais&append_type=append"
    body = sdk.answer(node, 400, text, "PUT", path, stage.client(0))
    error = "aistore.sdk.errors.AISError: " + sdk.request_error(400, body, url)
    caller = (
        sdk.Frame(job.script, 212, "<module>", "main()"),
        sdk.Frame(job.script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(job.script, 124, "save_checkpoint", "handle = writer.append_content(part, handle=handle)", True),
        sdk.Frame(f"{job.build['site']}/aistore/sdk/obj/object_writer.py", 93, "append_content", "resp = self._send("),
    )
    stage.job.raise_on(at, 0, sdk.http_failure(job, 400, "Bad Request", url, error, caller))


def connector_cancelled(stage: Stage, at: int, ranks: list[int]) -> int:
    """s3torchconnector gives up on a checkpoint and keeps to itself what the answer was; when the job is over."""
    job, site = stage.job.job, stage.job.job.build["site"]
    frames = (
        sdk.Frame(job.script, 212, "<module>", "main()"),
        sdk.Frame(job.script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(job.script, 119, "save_checkpoint", "with self.checkpoint.writer(uri) as out:"),
        sdk.Frame(f"{site}/s3torchconnector/s3writer.py", 42, "__exit__", "self.close()"),
        sdk.Frame(f"{site}/s3torchconnector/s3writer.py", 71, "close", "self.stream.close()"),
    )
    text = "s3torchconnectorclient._mountpoint_s3_client.S3Exception: Client error: Request canceled"
    said, last = sdk.traceback(sdk.Raised(frames, text)), at
    firsts: dict[int, Exit] = {}
    for turn, rank in enumerate(ranks):
        last = at + turn * seconds(0.7)
        stage.job.raise_on(last, rank, said)
        firsts.setdefault(job.node_of(rank), Exit(rank, last + 600 * MS, 1))
    return stage.job.agents_end(list(firsts.values()), last + 900 * MS)


def listing_given_up(stage: Stage, at: int, node: Node) -> int:
    """The SDK is told 503 for a page of a list as often as it asks; when the job is over."""
    job = stage.job.job
    path = f"/v1/buckets/{stage.bucket}?provider=ais"
    text = sdk.pool_error(node.address, node.ports[0], path, sdk.too_many(503))
    caller = (
        sdk.Frame(job.script, 212, "<module>", "main()"),
        sdk.Frame(job.script, 174, "main", "names = list_names(bucket, epoch)", True),
        sdk.Frame(job.script, 52, "list_names", "return [one.name for one in bucket.list_all_objects()]", True),
        sdk.Frame(f"{job.build['site']}/aistore/sdk/bucket.py", 472, "list_all_objects", "resp = self.list_objects("),
    )
    stage.job.raise_on(at, 0, sdk.exhausted(job, caller, "RetryError", text))
    return stage.job.agents_end([Exit(0, at + 700 * MS, 1)], at + 700 * MS)


def batch_conflict(stage: Stage, at: int, rank: int, node: Node, wid: str, text: str) -> tuple[str, str]:
    """A get-batch whose job was aborted in the meantime: in one line, and as a traceback."""
    job, proxy, xid = stage.job.job, stage.proxy_of(rank), text.split('"')[1]
    path = f"/v1/ml/moss/{stage.bucket}/{xid}/{wid}/{len(stage.cluster.membership(at).targets)}"
    url = node.url(0) + path + sdk.query(proxy, at - 4 * MS)
    body = sdk.answer(node, 409, text, "GET", path, stage.client(rank))
    failure = "aistore.sdk.errors.AISError: " + sdk.request_error(409, body, url)
    caller = sdk.main_frames(job, stage.step, *sdk.batch_get_frames(job))
    one_line = "AISError: " + sdk.request_error(409, body, url, " ")
    return one_line, sdk.http_failure(job, 409, "Conflict", url, failure, caller)


def crawls(stage: Stage, steps: int, low_s: float, high_s: float) -> int:
    """From the fault on each step waits that long for its data; the moment of the last one."""
    draw, job, first = stage.draw.child("crawls"), stage.job, stage.step
    waits = {step: draw.between(low_s, high_s) for step in range(first, first + steps)}
    for step, wait in waits.items():
        job.delay(step, seconds(wait))
    job.train(first, first + steps, every=2, slow=waits)
    over, params = job.step_at(first + steps), stage.params
    often = params.ranks / max(1, params.read_every) / (low_s + high_s) * 2
    aistraffic.batches(stage.cluster, stage.at, over, often, draw.child("batches"))
    return over


def cancelled_by_hand(stage: Stage, at: int) -> None:
    """Somebody cancels the job; SLURM gives no reason."""
    job = stage.job
    stage.mark(at, "scancel")
    job.slurm(at, 0, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    job.slurm(at + 30 * MS, 0, torchrun.step_cancelled(job.job, at + 30 * MS))
    for node in range(len(job.job.hosts)):
        job.agent_signalled(at + 60 * MS, node)
    job.ended_at = at + seconds(2)
