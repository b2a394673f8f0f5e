"""What further clients print when they give up: a checkpoint of shards, a bucket's job, a listing, a shard of tar."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import PYTHON, fetch_frames
from fixtures.generator import sdk
from fixtures.generator.model import Node
from fixtures.generator.moment import MS, comma_stamp
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

#: In larger worlds one rank of each host speaks for the others.
ALL_SPEAK = 64


def reader_note(stage: Stage, at: int, rank: int, text: str) -> None:
    """A line of the script's own reader on any rank, in the format the script set for it."""
    job = stage.job
    job.say(at, rank, f"{comma_stamp(at, job.job.zone)} [rank{rank}] INFO reader: {text}")


def _shard_error(stage: Stage, rank: int, text: str) -> str:
    """What a rank has met while it wrote its shard, as torch's checkpoint prints it for all."""
    site = stage.job.job.build["site"]
    frames = (
        sdk.Frame(f"{site}/torch/distributed/checkpoint/utils.py", 222, "all_reduce", "local_data = map_fun()"),
        sdk.Frame(f"{site}/torch/distributed/checkpoint/filesystem.py", 378, "_write_files_from_queue", "os.fsync("),
        sdk.Frame(f"{site}/fsspec/spec.py", 2027, "close", "self.flush(force=True)"),
        sdk.Frame(f"{site}/s3fs/core.py", 2403, "commit", "write_result = self._call_s3("),
        sdk.Frame(f"{site}/s3fs/core.py", 146, "_error_wrapper", "raise err"),
    )
    own = sdk.traceback(sdk.Raised(frames, f"OSError: [Errno 5] {text}"))
    return own.replace("(most recent call last):", f"(most recent call last): (RANK {rank})")


def shards_not_saved(stage: Stage, at: int, failed: dict[int, str]) -> int:
    """torch's checkpoint fails on all ranks if it fails on one; each names those that failed; when the job is over."""
    job, site = stage.job, stage.job.job.build["site"]
    place = f"{site}/torch/distributed/checkpoint"
    frames = (
        sdk.Frame(job.job.script, 212, "<module>", "main()"),
        sdk.Frame(job.job.script, 203, "main", "save_checkpoint(model, optimizer, step)"),
        sdk.Frame(job.job.script, 124, "save_checkpoint", "dcp.save(state, storage_writer=FsspecWriter(path))"),
        sdk.Frame(f"{place}/logger.py", 87, "wrapper", "result = func(*args, **kwargs)"),
        sdk.Frame(f"{place}/state_dict_saver.py", 176, "save", "return _save_state_dict("),
        sdk.Frame(f"{place}/utils.py", 252, "all_reduce", "raise final_result"),
    )
    ranks = ", ".join(map(str, failed))
    told = "\n".join(_shard_error(stage, rank, text) for rank, text in failed.items())
    text = (
        f"torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([{ranks}])\n{told}"
    )
    said = sdk.traceback(sdk.Raised(frames, text))
    own, draw = job.job, stage.draw.child("not saved")
    speakers = range(own.world) if own.world <= ALL_SPEAK else range(0, own.world, own.ranks_per_node)
    last = at
    for rank in speakers:
        then = at + draw.span(1, 40)
        job.raise_on(then, rank, said)
        last = max(last, then)
    exits = [Exit(rank, last + 500 * MS + rank * MS, 1) for rank in range(0, own.world, own.ranks_per_node)]
    return job.agents_end(exits, last + 900 * MS)


def bucket_job_refused(stage: Stage, at: int, node: Node, action: str, text: str) -> str:
    """The traceback of a job over a bucket that the cluster does not begin."""
    job, path = stage.job.job, f"/v1/buckets/{stage.bucket}"
    url = f"{node.url(0)}{path}?provider=ais"
    body = sdk.answer(node, 409, text, "POST", path, stage.client(0), "ErrLimitedCoexistence")
    error = "aistore.sdk.errors.AISError: " + sdk.request_error(409, body, url)
    call = (
        "bucket.copy(to_bck=client.bucket(name))"
        if action == "copy-bck"
        else "bucket.transform(etl_name=ETL, to_bck=to)"
    )
    caller = (
        sdk.Frame(job.script, 212, "<module>", "main()"),
        sdk.Frame(job.script, 177, "main", "snapshot = prepare_epoch(client, epoch)", True),
        sdk.Frame(job.script, 68, "prepare_epoch", f"job_id = {call}", True),
    )
    return sdk.http_failure(job, 409, "Conflict", url, error, caller)


def listing_refused(stage: Stage, node: Node, text: str) -> str:
    """The traceback of a listing that ends with an error between two of its pages."""
    job, path = stage.job.job, f"/v1/buckets/{stage.bucket}"
    url = f"{node.url(0)}{path}?provider=ais"
    body = sdk.answer(node, 400, text, "GET", path, stage.client(0), "ErrFailedTo")
    error = "aistore.sdk.errors.AISError: " + sdk.request_error(400, body, url)
    site = job.build["site"]
    caller = (
        sdk.Frame(job.script, 212, "<module>", "main()"),
        sdk.Frame(job.script, 174, "main", "names = list_names(bucket, epoch)", True),
        sdk.Frame(job.script, 52, "list_names", "return [one.name for one in bucket.list_all_objects()]", True),
        sdk.Frame(f"{site}/aistore/sdk/bucket.py", 472, "list_all_objects", "resp = self.list_objects("),
    )
    return sdk.http_failure(job, 400, "Bad Request", url, error, caller)


def shard_ends_early(stage: Stage, at: int, rank: int, shard: str) -> None:
    """A tar of samples has no end: tarfile says so, and WebDataset names the shard."""
    site = stage.job.job.build["site"]
    url = f"{stage.proxy_of(rank).url(0)}/v1/objects/{stage.bucket}/{shard}"
    inner = (
        sdk.Frame(f"{site}/webdataset/tariterators.py", 218, "tar_file_expander", "for sample in tar_file_iterator("),
        sdk.Frame(f"{PYTHON}/tarfile.py", 2449, "next", "raise ReadError(str(e)) from None"),
    )
    text = f"tarfile.ReadError: ('unexpected end of data @ <_io.BufferedReader>', '{url}')"
    raised = sdk.Raised(fetch_frames(stage, "sample = next(self.samples)", *inner), text)
    stage.job.raise_on(at, rank, sdk.traceback(raised))
