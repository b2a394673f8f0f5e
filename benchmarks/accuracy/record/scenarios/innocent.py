"""Clients that met trouble and got over it, then something that has nothing to do with it; and jobs that end well."""

from __future__ import annotations

import signal

from benchmarks.accuracy.record.payloads import corpus, features
from benchmarks.accuracy.record.scenario import Act, Fault, Layout, Running, Scenario, Truth

_HTTP = ("--endpoint", "{store}", "--timeout", "10")


def _stacks(job: Running) -> None:
    job.take_stacks()


def _kill_rank_1(job: Running) -> None:
    job.signal_rank(1, signal.SIGKILL)


SCENARIOS = (
    Scenario(
        "resets_got_over_then_type_error",
        "Reads of all ranks are reset once and retried with success; later rank 0 fails to write a tensor as JSON.",
        "train_http.py",
        Truth("software", (0,), (), "innocent"),
        (*_HTTP, "--metrics", "metrics.jsonl"),
        needs=("requests",),
        objects=features(),
        faults=(Fault(r"^/v1/.*/part-0[0-3]-0000[25]", "reset", 1),),
    ),
    Scenario(
        "closed_connections_then_deadlock",
        "Connections are closed and opened again on several ranks; later rank 1 takes a lock twice. Stacks show it.",
        "prefetch.py",
        Truth("software", (1,), ("rank_hang",), "innocent"),
        ("--shards", "8", "--flush-at", "1:14"),
        layout=Layout.TEE,
        needs=("requests",),
        objects=corpus,
        faults=(Fault(r"^/v1/.*/shard-[0-3]-00[246]", "close", 1),),
        acts=(Act(r"worker 0: batch 13 done", _stacks, 10.0),),
    ),
    Scenario(
        "retries_got_over_then_kill",
        "Reads on three ranks are closed and retried with success; later rank 1 is killed from outside.",
        "prefetch.py",
        Truth("infrastructure", (1,), ("software",), "innocent"),
        ("--shards", "8"),
        layout=Layout.SRUN_TEE,
        nodes=2,
        ranks_per_node=2,
        needs=("requests",),
        objects=corpus,
        faults=(Fault(r"^/v1/.*/shard-[0-2]-00[135]", "close", 1),),
        acts=(Act(r"worker 2: batch 20 done", _kill_rank_1),),
    ),
    Scenario(
        "healthy_with_many_retries",
        "Every third object is reset or closed at first; all reads succeed in the end and the job is done.",
        "train_http.py",
        None,
        _HTTP,
        needs=("requests",),
        objects=features(),
        faults=(Fault(r"^/v1/.*-0000[036]", "reset", 2), Fault(r"^/v1/.*-0000[258]", "close", 1)),
    ),
    Scenario(
        "healthy_lightning",
        "A Lightning run of two epochs on two nodes, to its end.",
        "lightning_fit.py",
        None,
        layout=Layout.SRUN,
        nodes=2,
        ranks_per_node=2,
        needs=("lightning",),
    ),
)
