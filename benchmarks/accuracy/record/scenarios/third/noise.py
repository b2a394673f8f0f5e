"""Clients that met trouble with the store and got over it: then something else fails, or nothing does."""

from __future__ import annotations

import signal

from benchmarks.accuracy.record.payloads import speech, tar_shards
from benchmarks.accuracy.record.scenario import Act, Fault, Layout, Running, Scenario, Start, Truth


def _kill_1(job: Running) -> None:
    job.signal_rank(1, signal.SIGKILL)


SCENARIOS = (
    Scenario(
        "tracebacks_logged_then_zero_division",
        "Reads of all ranks fail once, are logged with a traceback and succeed; later rank 1 divides by a setting.",
        "asr_sdk.py",
        Truth("software", (1,), ("infrastructure",), "innocent"),
        ("--tries", "2"),
        layout=Layout.TASKS,
        start=Start.TASKS,
        launcher=("--kill-on-bad-exit",),
        nodes=3,
        ranks_per_node=1,
        needs=("aistore",),
        node_environment={1: {"MAX_HOURS": "0"}},
        objects=speech,
        faults=(Fault(r"^/v1/.*/clips/[0-3]/clip-0000[14]", "status", 1, 404, "not yet there"),),
        group_timeout_s=90,
    ),
    Scenario(
        "shards_ignored_then_rank_killed",
        "Shards that break are warned of and left out on all ranks; later rank 1 is killed.",
        "clip_wds.py",
        Truth("infrastructure", (1,), ("software",), "innocent"),
        ("--ignore-errors", "--log-all-ranks"),
        layout=Layout.SRUN_TEE,
        nodes=2,
        ranks_per_node=2,
        needs=("webdataset",),
        objects=tar_shards(24),
        faults=(Fault(r"^/v1/.*/shard-00000[0-3]", "cut"),),
        acts=(Act(r"\[ +240\] Rank 1 ", _kill_1),),
    ),
    Scenario(
        "healthy_with_logged_tracebacks",
        "Reads fail, are logged with their tracebacks, succeed the next time, and the job is done.",
        "asr_sdk.py",
        None,
        ("--tries", "2"),
        layout=Layout.TEE,
        needs=("aistore",),
        objects=speech,
        faults=(Fault(r"^/v1/.*/clips/[0-3]/clip-0000[258]", "status", 1, 404, "not yet there"),),
        group_timeout_s=90,
    ),
    Scenario(
        "healthy_with_progress_bars",
        "Lightning trains to its end, with progress bars and warnings in its stream.",
        "tune_lit.py",
        None,
        ("--epochs", "2"),
        layout=Layout.STREAM,
        ranks_per_node=2,
        needs=("lightning", "requests"),
    ),
)
