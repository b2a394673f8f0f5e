"""The frames of a traceback tell which client an error is of, and so do the addresses that it names."""

from __future__ import annotations

import pytest
from lines import TRACEBACK, Row, events, read_worker, told

from aiscorr.parse.ids import client_ids

RESET = "ConnectionResetError: [Errno 104] Connection reset by peer"


def raised(exception: str, *frames: str) -> Row:
    """The event that an exception of rank 5 below these files of libraries is."""
    places = [f'  File "/opt/venv/lib/python3.11/site-packages/{frame}", line 7, in get' for frame in frames]
    text = ["Traceback (most recent call last):", *places, exception]
    return events(read_worker("".join(f"[rank5]: {line}\n" for line in text)))[0]


@pytest.mark.parametrize(
    ("frames", "pattern", "kind"),
    [
        (("aistore/sdk/obj/object_reader.py", "urllib3/response.py"), "storage_connection_lost", "storage"),
        (("torch/utils/data/_utils/fetch.py", "aiobotocore/response.py"), "storage_connection_lost", "storage"),
        (("multiprocessing/connection.py",), "multiprocessing_other_end_gone", "other"),
        (("torch/multiprocessing/spawn.py",), "multiprocessing_peer_gone", "other"),
        (("wandb/sdk/internal/sender.py", "requests/adapters.py"), "tracker_connection_lost", "log_upload"),
        (("huggingface_hub/file_download.py", "requests/adapters.py"), "multiprocessing_peer_gone", "hub_wait"),
        (("slack_sdk/web/client.py", "urllib3/response.py"), "multiprocessing_peer_gone", "another_service"),
        (
            ("ray/dashboard/modules/job/job_head.py", "aiohttp/client.py"),
            "multiprocessing_peer_gone",
            "another_service",
        ),
    ],
)
def test_a_bare_reset(frames: tuple[str, ...], pattern: str, kind: str) -> None:
    """A bare reset is a storage client's in its frames, a helper's elsewhere, and no storage's below another client."""
    row = raised(RESET, *frames)
    assert (row["pattern"], row["frame_kind"]) == (pattern, kind)


@pytest.mark.parametrize(
    ("exception", "pattern"),
    [
        ("aistore.sdk.errors.ErrNobodyKnows: gave up", "storage_client_error"),
        ("RuntimeError: Failed to get object(s) at b/o, error type: AISError", "storage_client_error"),
        ("requests.exceptions.JSONDecodeError: Expecting value: line 1 column 1 (char 0)", "storage_answer_unreadable"),
        ("TypeError: get() got an unexpected keyword argument 'x'", "python_exception"),
        ("ValueError: bucket name is empty", "python_exception"),
        ("requests.exceptions.ProxyError: Cannot connect to proxy.", "http_proxy_failed"),
        ("RuntimeError: cannot schedule new futures after shutdown", "http_client_misused"),
        ("PermissionError: Access Denied", "storage_access_denied"),
    ],
)
def test_an_exception_that_nobody_knows(exception: str, pattern: str) -> None:
    """In a storage client it is the client's error, unless only a program's mistake or a setting makes it."""
    assert raised(exception, "aistore/sdk/request_client.py")["pattern"] == pattern
    assert not raised(exception, "torch/nn/modules/module.py")["pattern"].startswith("storage_")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('"http://10.0.0.1:51080/s3/speech/train/a.tar?x=1"', "train/a.tar"),
        ("input/output error: GET /s3/speech/train/a.tar (t[nQAKMQ1b]: htrun.go:1636)", "train/a.tar"),
        ("open(GET)/s3/speech/train/a.tar", None),
        ("http://10.0.0.1:51080/v1/objects/speech/train/a.tar?provider=ais", "train/a.tar"),
        ("/mnt/s3/speech/train/a.tar", None),
        ("http://10.0.0.1:51080/metrics/s3/", None),
    ],
)
def test_the_object_of_an_address(text: str, found: str | None) -> None:
    """An address of AIStore's own API or of its S3 API names the object; a path of a file system does not."""
    assert client_ids(text).get("object") == found


@pytest.mark.parametrize("exception", ["EOFError", "ConnectionRefusedError: [Errno 111] Connection refused"])
def test_the_other_end_of_a_pipe(exception: str) -> None:
    """Where the last call talks to another process of the program, its end is no error of this one; elsewhere it is."""
    row = raised(exception, "torch/utils/data/_utils/pin_memory.py", "multiprocessing/connection.py")
    assert (row["pattern"], row["frame_kind"]) == ("multiprocessing_other_end_gone", "data_loading")
    assert (
        raised(exception, "multiprocessing/connection.py", "numpy/a.py", "numpy/b.py")["pattern"] == "python_exception"
    )


@pytest.mark.parametrize(
    ("frames", "pattern"),
    [
        (("triton/runtime/cache.py",), "compiler_cache_unreadable"),
        (("torch/_dynamo/eval_frame.py", "torch/_inductor/codecache.py"), "compiler_cache_unreadable"),
        (("torch/_inductor/codecache.py", "lhotse/serialization.py"), "manifest_json_invalid"),
        (("torch/_dynamo/eval_frame.py", "datasets/builder.py"), "manifest_json_invalid"),
    ],
)
def test_json_of_a_compiler(frames: tuple[str, ...], pattern: str) -> None:
    """What a compiler of kernels cannot parse is its own cache; what is read further inside is data."""
    error = "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"
    assert raised(error, *frames)["pattern"] == pattern
    read = ("/opt/conda/lib/python3.11/json/decoder.py", "raw_decode")
    places = [(f"/opt/venv/lib/python3.11/site-packages/{frame}", "get") for frame in frames]
    assert waited(*places, read, exception=error)[0] == pattern


def waited(*frames: tuple[str, str], exception: str = "TimeoutError") -> tuple[object, object]:
    """Pattern and kind of frame of an exception of rank 5 below these files and functions."""
    places = [f'  File "{path}", line 7, in {function}' for path, function in frames]
    text = ["Traceback (most recent call last):", *places, exception]
    row = events(read_worker("".join(f"[rank5]: {line}\n" for line in text)))[0]
    return row["pattern"], row["frame_kind"]


FUTURE = ("/opt/conda/lib/python3.11/concurrent/futures/_base.py", "result")
LOADER = ("/opt/venv/lib/python3.11/site-packages/torch/utils/data/dataloader.py", "_next_data")


@pytest.mark.parametrize(
    "frames",
    [
        (("/w/train.py", "main"), ("/w/train.py", "next_batch"), FUTURE),
        (("/w/train.py", "fetch"), ("/opt/conda/lib/python3.11/queue.py", "get")),
        (("/w/shards.py", "__next__"), ("/opt/conda/lib/python3.12/asyncio/tasks.py", "wait_for")),
        (("/w/train.py", "main"), LOADER, ("/opt/conda/lib/python3.11/threading.py", "wait")),
    ],
)
def test_a_wait_for_data_that_ran_out(frames: tuple[tuple[str, str], ...]) -> None:
    """A bare time-out of a wait that a function for data began is a stall of data loading."""
    assert waited(*frames) == ("data_wait_timeout", "data_loading")
    assert waited(*frames, exception="_queue.Empty")[0] == "data_wait_timeout"


@pytest.mark.parametrize(
    "frames",
    [
        (("/w/train.py", "main"), ("/w/train.py", "join_ranks"), FUTURE),
        (("/w/train.py", "fetch"), ("/w/train.py", "save_states"), FUTURE),
        (("/w/train.py", "next_batch"), ("/opt/conda/lib/python3.11/concurrent/futures/_base.py", "__get_result")),
        (("/w/train.py", "next_batch"), FUTURE, ("/w/decode.py", "resample")),
    ],
)
def test_a_wait_for_something_else(frames: tuple[tuple[str, str], ...]) -> None:
    """A time-out of a wait for anything else, or that a thread raised itself, stays the program's."""
    assert waited(*frames)[0] == "python_exception"


TRANSFERS = (
    "ourio.RemoteReadError: server closed the stream after 4194304 bytes",
    "RuntimeError: prefetcher thread died: connection lost",
    "IOError: error while reading remote file: peer went away",
    "RuntimeError: HTTP status 500 while streaming shard 5",
    "rpc.FetchTimeoutError: request 0x12 exceeded 60s deadline",
    "DataError: no data for 300 s",
)
IN_A_LOADER = (("/opt/venv/lib/python3.11/site-packages/torch/utils/data/_utils/fetch.py", "fetch"),)
OF_A_SAVE = (
    ("/w/train.py", "main"),
    ("/w/train.py", "save_checkpoint"),
    ("/opt/venv/lib/python3.11/site-packages/ourio/a.py", "_send"),
)
OF_A_READER = (
    ("/w/train.py", "main"),
    ("/w/shards.py", "read_shard"),
    ("/opt/venv/lib/python3.11/site-packages/ourio/a.py", "_recv"),
)


@pytest.mark.parametrize("error", TRANSFERS)
@pytest.mark.parametrize("frames", [IN_A_LOADER, OF_A_READER, OF_A_SAVE])
def test_a_transfer_that_failed_in_unknown_words(error: str, frames: tuple[tuple[str, str], ...]) -> None:
    """Below frames that get data or put some away, in any library, an error about a transfer is one of storage."""
    assert waited(*frames, exception=error)[0] == "storage_transfer_failed"


@pytest.mark.parametrize("error", TRANSFERS)
@pytest.mark.parametrize(
    "frames",
    [
        (("/w/train.py", "main"), ("/w/train.py", "train_step")),
        (*OF_A_SAVE, ("/opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", "barrier")),
        (*IN_A_LOADER, ("/opt/venv/lib/python3.11/site-packages/torch/functional.py", "stack")),
        (("/w/train.py", "fetch"), ("/opt/venv/lib/python3.11/site-packages/wandb/sdk/a.py", "get")),
    ],
)
def test_a_transfer_that_was_for_something_else(error: str, frames: tuple[tuple[str, str], ...]) -> None:
    """The same words say nothing of data below a step, a collective, an operation or another service."""
    assert waited(*frames, exception=error)[0] == "python_exception"


@pytest.mark.parametrize(
    ("error", "pattern"),
    [
        ("company.ShardReadError: a.tar: stream ended at 12345 of 67890 bytes", "reader_content_truncated"),
        ("RuntimeError: size of a.bin differs: 123 here, 456 there", "reader_content_truncated"),
        ("RuntimeError: output with shape [1, 8] does not match the batch, could not broadcast", "python_exception"),
        ("OSError: could not read /scratch/local/shard-0012.tar: failed", "python_exception"),
    ],
)
def test_what_a_reader_says_in_unknown_words(error: str, pattern: str) -> None:
    """Two sizes that differ are content that ends early; shapes, local files and what is not there are neither."""
    assert waited(*IN_A_LOADER, exception=error)[0] == pattern


def test_calls_without_header_or_rank() -> None:
    """Calls alone begin a traceback as well, but only where an exception stands behind them: programs print stacks."""
    calls = TRACEBACK.partition("\n")[2]
    found = read_worker(calls + "pkg.errors.ShardGone: 7\n", "/logs/j/n.log")
    assert told(found, "exception", "block_line_no", "frame_kind") == [("ShardGone", 1, "storage")]
    retry = "WARNING: retry 1 of 5 after 2.0 s\n"
    assert told(read_worker(calls + retry), "block_line_no") == told(read_worker(retry), "block_line_no")
    assert told(read_worker(calls), "pattern") == []
