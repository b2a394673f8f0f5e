"""Clients whose object server answers with errors, too late, in part or not at all.

No storage verdict is asked for: only the clients' side is at hand.
"""

from __future__ import annotations

from benchmarks.accuracy.record.payloads import speech, tables
from benchmarks.accuracy.record.scenario import Fault, Layout, Scenario, Start, Truth

_WEIGHTS = "{store}/v1/objects/models/bag-of-words/v4/weights.pt"
_KEYS = {
    f"keys/{rank}.txt": "".join(f"day={rank:02d}/part-{part:04d}.npy\n" for part in range(12)) for rank in (0, 1, 3)
}
_LATE_KEYS = "".join(f"day=02/part-{part:04d}.npy\n" for part in (0, 1, 2, 3, 4, 5, 31, 6, 7, 8, 9, 10))

SCENARIOS = (
    Scenario(
        "listed_key_does_not_exist",
        "The list of rank 2 has a key that the bucket does not have: NoSuchKey of boto3.",
        "tables_boto.py",
        Truth("data", (2,), ("software", "storage_io")),
        ("--keys", "keys/{rank}.txt"),
        layout=Layout.TEE,
        needs=("boto3",),
        files={**_KEYS, "keys/2.txt": _LATE_KEYS},
        objects=tables,
    ),
    Scenario(
        "token_expires_on_all_ranks",
        "The token that all ranks read with expires: ExpiredToken for everyone.",
        "tables_boto.py",
        Truth("software", None, ("infrastructure", "storage_io")),
        layout=Layout.SRUN,
        nodes=2,
        ranks_per_node=2,
        needs=("boto3",),
        objects=tables,
        faults=(
            Fault(r"^/s3/.*/part-000[6-9]", "status", status=400, message="The provided token has expired."),
            Fault(r"^/s3/.*/part-001", "status", status=400, message="The provided token has expired."),
        ),
    ),
    Scenario(
        "boto_body_is_cut",
        "The connection ends within a table of rank 3, while boto3 streams its body.",
        "tables_boto.py",
        Truth("storage_io", (3,), ("network",)),
        layout=Layout.TASKS,
        start=Start.TASKS,
        launcher=("--kill-on-bad-exit",),
        nodes=2,
        ranks_per_node=2,
        needs=("boto3",),
        objects=tables,
        faults=(Fault(r"^/s3/.*/day=03/part-0005", "cut"),),
    ),
    Scenario(
        "boto_reads_time_out",
        "A table of rank 0 is never answered: boto3 waits for it three times and gives up.",
        "tables_boto.py",
        Truth("storage_io", (0,), ("network", "data_loading_stall")),
        ("--read-timeout", "4"),
        layout=Layout.STREAM,
        ranks_per_node=3,
        needs=("boto3",),
        objects=tables,
        faults=(Fault(r"^/s3/.*/day=00/part-0006", "hang"),),
        group_timeout_s=60,
    ),
    Scenario(
        "sdk_is_answered_500",
        "A clip of rank 1 lies on a disk that cannot be read: a loader process is answered 500 every time.",
        "asr_sdk.py",
        Truth("storage_io", (1,), ("network", "data")),
        layout=Layout.SRUN_TEE,
        nodes=2,
        ranks_per_node=2,
        needs=("aistore",),
        objects=speech,
        faults=(Fault(r"^/v1/.*/clips/1/clip-00007", "status", status=500, message="read: input/output error"),),
        group_timeout_s=180,
    ),
    Scenario(
        "weights_cannot_be_downloaded",
        "All ranks of Lightning download the same weights and are answered 503.",
        "tune_lit.py",
        Truth("storage_io", None, ("network",)),
        ("--warm-start", _WEIGHTS),
        layout=Layout.STREAM,
        ranks_per_node=3,
        needs=("lightning", "requests"),
        faults=(Fault(r"^/v1/.*/weights\.pt", "status", message="cluster is starting up"),),
    ),
    Scenario(
        "name_of_the_store_unknown",
        "The second node cannot resolve the store's name.",
        "asr_sdk.py",
        Truth("network", (1,), ("infrastructure", "software")),
        layout=Layout.LABELS,
        start=Start.TASKS,
        launcher=("--kill-on-bad-exit",),
        nodes=3,
        ranks_per_node=1,
        needs=("aistore",),
        node_environment={1: {"STORE_URL": "http://aistore-proxy.ais.svc.cluster.local:51080"}},
        objects=speech,
        group_timeout_s=90,
    ),
    Scenario(
        "refused_then_second_attempt_completes",
        "Reads of rank 1 are answered 503 for a while; torchrun starts all ranks again, and then they are done.",
        "tables_boto.py",
        Truth("storage_io", (1,), ("network",)),
        layout=Layout.TEE,
        environment={"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"},
        launcher=("--max-restarts=2", "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0", "--rdzv-id=ctr-21"),
        needs=("boto3",),
        objects=tables,
        faults=(Fault(r"^/s3/.*/day=01/part-0005", "status", 4, message="Please reduce your request rate."),),
        is_completed=True,
    ),
)
