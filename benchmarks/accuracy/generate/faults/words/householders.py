"""What jobs print of their own household: names, ranges, pools, tokens, caches; and noise of storage beside them.

Megatron's, httpx', s3fs' and boto3's lines follow their sources and reports of users; none was seen in a run of ours.
"""

from __future__ import annotations

from urllib.parse import quote

from benchmarks.accuracy.generate.faults.words import borrowers
from benchmarks.accuracy.generate.faults.words.clients import fetch_frames
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.workbenches import data_folder, next_frames, script_folder
from benchmarks.accuracy.generate.scene import Scene
from fixtures.generator import aishouseholders as household
from fixtures.generator import sdk
from fixtures.generator.model import Node
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage


def served(stage: Stage, at: int, size: int, spent_s: float) -> Node:
    """Some target has sent an object as a whole, and counted that; which one."""
    draw = stage.draw.child("served", at, size)
    node = draw.pick(stage.cluster.up(at) or list(stage.cluster.targets))
    stage.cluster.count(node, at - MS, get_n=1, get_size=size, get_ns_total=seconds(spent_s))
    return node


def name_not_found(stage: Stage, at: int, rank: int, node: Node, name: str, text: str) -> None:
    """The SDK reads a shard whose name has letters that an address shows in their numbers: 404."""
    job, path = stage.job.job, f"/v1/objects/{stage.bucket}/{name}"
    body = sdk.answer(node, 404, text, "GET", path, stage.client(rank), "ErrNotFound")
    url = node.url(0) + quote(path) + sdk.query(stage.proxy_of(rank), at - 4 * MS)
    said = "aistore.sdk.errors.ErrObjNotFound: " + sdk.request_error(404, body, url)
    caller = fetch_frames(
        stage, "content = self.bucket.object(name).get_reader().read_all()", *borrowers.read_frames(stage)
    )
    stage.job.raise_on(at, rank, sdk.http_failure(job, 404, "Not Found", url, said, caller))


def range_too_short(stage: Stage, at: int, rank: int) -> None:
    """Megatron reads a block of a .bin file by boto3, and the block has less than the index says."""
    place = f"{stage.job.job.build['site']}/megatron/core/datasets"
    frames = (
        sdk.Frame(
            f"{place}/gpt_dataset.py", 271, "__getitem__", "text, _ = self._query_document_sample_shuffle_i", True
        ),
        sdk.Frame(f"{place}/gpt_dataset.py", 335, "_query_document_sample_shuffle_indices", "self.dataset.get("),
        sdk.Frame(f"{place}/indexed_dataset.py", 902, "get", "sequence = self.bin_reader.read(", True),
        sdk.Frame(
            f"{place}/indexed_dataset.py",
            487,
            "read",
            "return numpy.frombuffer(self._extract_from_cache(offset, size), dtype=dtype)",
        ),
        sdk.Frame(f"{place}/indexed_dataset.py", 433, "_extract_from_cache", "assert end <= len(self._cache)"),
    )
    borrowers.caught(stage, at, rank, frames, "AssertionError")


def drawn_too_often(stage: Stage, at: int, rank: int, deep: int) -> None:
    """A data set takes another sample for one that fails, from within itself, as deep as Python allows."""
    folder, data = script_folder(stage), data_folder(stage)
    again = sdk.Frame(f"{folder}/dataset.py", 118, "__getitem__", "return self[random.randrange(len(self))]", True)
    head = (
        sdk.Frame(f"{data}/_utils/worker.py", 349, "_worker_loop", "data = fetcher.fetch(index)", True),
        sdk.Frame(
            f"{data}/_utils/fetch.py", 52, "fetch", "data = [self.dataset[idx] for idx in possibly_batched_index]"
        ),
    )
    read = "return self.bucket.object(name).get_reader().read_all()"
    inner = (
        sdk.Frame(f"{folder}/dataset.py", 109, "__getitem__", "audio = decode(self.read(name))", True),
        sdk.Frame(f"{folder}/dataset.py", 96, "read", read, True),
        *borrowers.read_frames(stage)[1:],
    )
    text = "RecursionError: maximum recursion depth exceeded while calling a Python object"
    rows = sdk.traceback(sdk.Raised((*head, again, again, again, *inner), text)).split("\n")
    last = max(turn for turn, row in enumerate(rows) if again.code in row) + 2
    rows.insert(last, f"  [Previous line repeated {deep} more times]")
    loader, worker = f"{data}/dataloader.py", stage.draw.child("drawn", rank).whole(0, 3)
    outer = next_frames(
        stage,
        sdk.Frame(loader, 1480, "_next_data", "return self._process_data(data)", True),
        sdk.Frame(loader, 1505, "_process_data", "data.reraise()"),
        sdk.Frame(f"{stage.job.job.build['site']}/torch/_utils.py", 733, "reraise", "raise exception"),
    )
    said = f"RecursionError: Caught RecursionError in DataLoader worker process {worker}.\nOriginal "
    stage.job.raise_on(at, rank, sdk.traceback(sdk.Raised(outer, said + "\n".join(rows) + "\n")))


def _in_the_pool(stage: Stage) -> sdk.Raised:
    """httpcore has waited for a connection of its pool."""
    site = stage.job.job.build["site"]
    transport, pool = f"{site}/httpx/_transports/default.py", f"{site}/httpcore/_sync/connection_pool.py"
    waits = "connection = pool_request.wait_for_connection(timeout=timeout)"
    frames = (
        sdk.Frame(transport, 101, "map_httpcore_exceptions", "yield"),
        sdk.Frame(transport, 250, "handle_request", "resp = self._pool.handle_request(req)", True),
        sdk.Frame(pool, 256, "handle_request", "raise exc from None"),
        sdk.Frame(pool, 232, "handle_request", waits, True),
        sdk.Frame(pool, 35, "wait_for_connection", "self._connection_acquired.wait(timeout=timeout)"),
        sdk.Frame(f"{site}/httpcore/_synchronization.py", 270, "wait", "raise PoolTimeout()"),
    )
    return sdk.Raised(frames, "httpcore.PoolTimeout", sdk.DIRECT)


def pool_timed_out(stage: Stage, at: int, rank: int) -> None:
    """httpx has waited for one of its own connections, all of which are taken."""
    site, clips = stage.job.job.build["site"], f"{script_folder(stage)}/clips.py"
    asks = 'return self.http.send(self.http.build_request("GET", url), stream=True)'
    frames = (
        sdk.Frame(clips, 71, "__getitem__", "answer = self.open(name)", True),
        sdk.Frame(clips, 38, "open", asks, True),
        sdk.Frame(f"{site}/httpx/_client.py", 914, "send", "response = self._send_handling_auth(", True),
        sdk.Frame(
            f"{site}/httpx/_client.py", 1014, "_send_single_request", "response = transport.handle_request(request)"
        ),
        sdk.Frame(
            f"{site}/httpx/_transports/default.py", 118, "map_httpcore_exceptions", "raise mapped_exc(message) from exc"
        ),
    )
    borrowers.caught(stage, at, rank, frames, "httpx.PoolTimeout", "", _in_the_pool(stage))


def not_for_boto(stage: Stage, at: int, key: str, bucket: str, code: str) -> None:
    """boto3 uploads a checkpoint to another store, which does not take what it sends."""
    own, site = stage.job.job, stage.job.job.build["site"]
    cause = f"An error occurred ({code}) when calling the UploadPart operation: Unknown"
    first = sdk.Raised(
        (
            sdk.Frame(f"{site}/boto3/s3/transfer.py", 372, "upload_file", "future.result()"),
            sdk.Frame(f"{site}/s3transfer/futures.py", 264, "result", "raise self._exception"),
            sdk.Frame(f"{site}/s3transfer/upload.py", 814, "_main", "response = client.upload_part(", True),
            sdk.Frame(f"{site}/botocore/client.py", 1078, "_make_api_call", "raise error_class(parsed_response, oper"),
        ),
        f"botocore.exceptions.ClientError: {cause}",
        sdk.DURING,
    )
    frames = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 203, "main", "save_checkpoint(model, optimizer, step)"),
        sdk.Frame(own.script, 131, "save_checkpoint", "s3.upload_file(path, args.keep, key)"),
        sdk.Frame(f"{site}/boto3/s3/inject.py", 145, "upload_file", "return transfer.upload_file(", True),
        sdk.Frame(f"{site}/boto3/s3/transfer.py", 378, "upload_file", "raise S3UploadFailedError("),
    )
    local = f"/local/ckpt/{key.rsplit('/', 1)[-1]}"
    text = f"boto3.exceptions.S3UploadFailedError: Failed to upload {local} to {bucket}/{key}: {cause}"
    stage.job.raise_on(at, 0, sdk.traceback(first, sdk.Raised(frames, text)))


# noise of storage


def _window(scene: Scene, early: bool, before_s: tuple[int, int], after_s: tuple[int, int]) -> tuple[int, int]:
    draw = scene.draw.child("household", *before_s)
    middle = scene.job.begin - SEC if early else scene.at
    since = middle - draw.span(1_000 * before_s[0], 1_000 * before_s[1])
    return since, middle + draw.span(1_000 * after_s[0], 1_000 * after_s[1])


def _routines(scene: Scene, early: bool) -> None:
    draw, node = scene.draw.child("household routines"), scene.bystander()
    since, until = _window(scene, early, (15, 40), (8, 20))
    if scene.cluster.process(node, since) is scene.cluster.last_process(node):
        household.routines_are_many(scene.cluster, node, since, until, draw)


def _processors(scene: Scene, early: bool) -> None:
    draw, node = scene.draw.child("household processors"), scene.bystander()
    since, until = _window(scene, early, (22, 45), (10, 25))
    if scene.cluster.process(node, since) is scene.cluster.last_process(node):
        household.processors_are_used(scene.cluster, node, since, until, draw)


def routines_are_many(scene: Scene) -> None:
    """A target has a yellow alert of its routines around the fault, and serves as before."""
    _routines(scene, False)


def routines_are_many_early(scene: Scene) -> None:
    """The same while the job begins."""
    _routines(scene, True)


def processors_are_used(scene: Scene) -> None:
    """A target has too few processors for a minute around the fault: reads of it take some milliseconds more."""
    _processors(scene, False)


def processors_are_used_early(scene: Scene) -> None:
    """The same while the job begins."""
    _processors(scene, True)


def tenant_links_fail(scene: Scene) -> None:
    """Links that another tenant has the cluster download are broken off by the site behind them."""
    draw = scene.draw.child("household links")
    since, until = _window(scene, False, (18, 34), (5, 18))
    bucket, site = (
        draw.pick(("webcrawl-raw", "podcast-mirror", "gov-pdfs")),
        draw.pick(("mirror.example.org", "dumps.example.net")),
    )
    household.links_fail(scene.cluster, max(since, scene.job.begin), until, bucket, site, draw)


def shards_read(stage: Stage, at: int, rank: int, module: str, name: str, size: int, spent_s: float) -> None:
    """A rank has read a shard as a whole and tells how long that took."""
    served(stage, at, size, spent_s)
    told(stage, at, rank, module, f"{name!r}: {size} of {size} bytes, {spent_s:.2f} s")
