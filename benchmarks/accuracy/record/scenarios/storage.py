"""Jobs whose object server is silent, slow, gone, overloaded or cuts its answers.

No storage verdict is asked for: only the clients' side is at hand.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.accuracy.record.payloads import features, manifests, speech, tables, tar_shards
from benchmarks.accuracy.record.scenario import Act, Fault, Layout, Running, Scenario, Truth

_STALL = ("storage_io", "network")
_HTTP = ("--endpoint", "{store}")


def _store_goes(job: Running) -> None:
    job.stop_store()


def _stacks(job: Running) -> None:
    job.take_stacks()


def _stacks_and_records(job: Running) -> None:
    job.take_stacks()
    job.take_flight_records()


def _speech() -> Mapping[str, bytes]:
    return speech()


SCENARIOS = (
    Scenario(
        "loader_process_waits_for_silent_store",
        "A data loading process of rank 2 waits for an answer that never comes (no read time-out); py-spy shows it.",
        "train_http.py",
        Truth("data_loading_stall", (2,), _STALL),
        (*_HTTP, "--workers", "1"),
        needs=("requests",),
        objects=features(),
        faults=(Fault(r"^/v1/.*/part-02-00007", "hang"),),
        acts=(Act(r"rank 1\] train: step 6", _stacks, 12.0),),
    ),
    Scenario(
        "body_drips_in_process",
        "Rank 1 reads an object in its main process that arrives byte by byte; Flight Recorder dumps and stacks.",
        "train_http.py",
        Truth("data_loading_stall", (1,), _STALL),
        (*_HTTP, "--timeout", "10"),
        layout=Layout.STREAM,
        needs=("requests",),
        environment={"TORCH_FR_BUFFER_SIZE": "2000"},
        objects=features(),
        faults=(Fault(r"^/v1/.*/part-01-00005", "drip"),),
        acts=(Act(r"rank 3\] train: step 4", _stacks_and_records, 10.0),),
    ),
    Scenario(
        "sdk_read_times_out",
        "The SDK of rank 3 tries an object three times, each read times out, the exception ends the rank.",
        "train_sdk.py",
        Truth("storage_io", (3,), ("network", "data_loading_stall")),
        ("--read-timeout", "3"),
        layout=Layout.SRUN,
        needs=("aistore", "tenacity"),
        files=manifests(),
        objects=_speech,
        faults=(Fault(r"^/v1/.*/clips/3/clip-00006", "hang"),),
        group_timeout_s=60,
    ),
    Scenario(
        "store_goes_while_one_rank_reads",
        "Rank 0 reads for all through the SDK; the whole store goes away, its connections are refused.",
        "train_sdk.py",
        Truth("storage_io", (0,), ("network",)),
        ("--share",),
        layout=Layout.FILES,
        needs=("aistore", "tenacity"),
        files=manifests(40),
        objects=lambda: speech(40),
        acts=(Act(r"\[0/4\] \| it    5", _store_goes),),
        group_timeout_s=60,
    ),
    Scenario(
        "answers_503_until_retries_end",
        "The server answers 503 for one object; urllib3 retries in silence, then RetryError on rank 2.",
        "train_http.py",
        Truth("storage_io", (2,), ("network",)),
        (*_HTTP, "--timeout", "10", "--retries", "4"),
        nodes=2,
        ranks_per_node=2,
        needs=("requests",),
        objects=features(),
        faults=(Fault(r"^/v1/.*/part-02-00006", "status", status=503, message="target is in maintenance"),),
        group_timeout_s=60,
    ),
    Scenario(
        "told_to_come_back_much_later",
        "429 with a long Retry-After: urllib3 on rank 3 sleeps as told, longer than the group waits.",
        "train_http.py",
        Truth("data_loading_stall", (3,), ("storage_io",)),
        (*_HTTP, "--timeout", "10"),
        needs=("requests",),
        objects=features(),
        faults=(
            Fault(
                r"^/v1/.*/part-03-00004",
                "status",
                status=429,
                message="too many requests",
                headers={"Retry-After": "300"},
            ),
        ),
        acts=(Act(r"rank 0\] train: step 3", _stacks, 9.0),),
        group_timeout_s=22,
    ),
    Scenario(
        "body_is_cut_short",
        "A connection ends in the middle of an object: IncompleteRead in a data loading process of rank 1.",
        "train_http.py",
        Truth("storage_io", (1,), ("network",)),
        (*_HTTP, "--timeout", "10", "--workers", "2"),
        layout=Layout.SRUN_TEE,
        nodes=2,
        ranks_per_node=2,
        needs=("requests",),
        objects=features(),
        faults=(Fault(r"^/v1/.*/part-01-00008", "cut"),),
    ),
    Scenario(
        "curl_pipe_meets_500",
        "WebDataset reads through `curl -f`; one shard of rank 2 is answered with 500, the pipe ends with a status.",
        "train_tar.py",
        Truth("storage_io", (2,), ("network", "data")),
        (*_HTTP, "--how", "pipe"),
        needs=("webdataset",),
        objects=tar_shards(),
        faults=(Fault(r"^/v1/.*/shard-000006", "status", status=500, message="input/output error"),),
    ),
    Scenario(
        "s3_read_times_out",
        "boto3 of rank 2 reads from the S3 endpoint; two attempts time out.",
        "train_s3.py",
        Truth("storage_io", (2,), ("network", "data_loading_stall")),
        _HTTP,
        layout=Layout.STREAM,
        needs=("boto3",),
        objects=tables,
        faults=(Fault(r"^/s3/.*/day=02/part-0006", "hang"),),
        group_timeout_s=60,
    ),
)
