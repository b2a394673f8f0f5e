"""Loader processes, caches and helper processes that fail or keep a rank waiting, and a healthy job with warnings."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping

from benchmarks.accuracy.record.payloads import features
from benchmarks.accuracy.record.scenario import Act, Fault, Layout, Running, Scenario, Start, Truth


def _manifest(count: int = 192, odd: Mapping[int, Mapping[str, object]] | None = None) -> dict[str, str]:
    rows = []
    for number in range(count):
        row: dict[str, object] = {"id": f"rec-{number:05d}", "seconds": 4 + number % 9, "rate": 16000}
        row |= {"codec": ("flac", "opus", "pcm_s16le")[number % 3], "pitch": 440 + number}
        rows.append(json.dumps(row | dict((odd or {}).get(number, {}))))
    return {"manifest.jsonl": "\n".join(rows) + "\n"}


def _kill_manager_of_1(job: Running) -> None:
    job.signal_loader(1, signal.SIGKILL)


SCENARIOS = (
    Scenario(
        "resampling_takes_longer_than_the_limit",
        "A recording of rank 1 is hours long and is resampled in plain Python: the DataLoader's time limit ends it.",
        "voice_workers.py",
        Truth("data_loading_stall", (1,), ("software", "data", "rank_hang")),
        ("--timeout", "15"),
        layout=Layout.TEE,
        nodes=2,
        ranks_per_node=2,
        files=_manifest(odd={101: {"seconds": 900000, "rate": 48000}, 34: {"rate": 22050}, 64: {"rate": 22050}}),
        group_timeout_s=90,
    ),
    Scenario(
        "loader_process_leaves_with_status",
        "A loader process of rank 2 meets a codec it does not know, says so and leaves with status 1.",
        "voice_workers.py",
        Truth("data", (2,), ("software", "infrastructure")),
        layout=Layout.SRUN,
        ranks_per_node=3,
        files=_manifest(144, odd={86: {"codec": "adpcm_g722"}}),
        group_timeout_s=90,
    ),
    Scenario(
        "index_of_cache_is_locked",
        "The first rank of the second node prunes a large cache in one transaction; rank 3 cannot write meanwhile.",
        "feature_cache.py",
        Truth("software", (3,), ("infrastructure", "data_loading_stall")),
        layout=Layout.LABELS,
        start=Start.TASKS,
        launcher=("--kill-on-bad-exit",),
        nodes=2,
        ranks_per_node=2,
        node_environment={1: {"CACHED_ALREADY": "9000"}},
        group_timeout_s=90,
    ),
    Scenario(
        "manager_of_a_rank_is_killed",
        "The process in which rank 1 keeps its vocabulary is killed from outside; the rank loses its connection to it.",
        "shared_vocab.py",
        Truth("infrastructure", (1,), ("software",)),
        layout=Layout.STREAM,
        acts=(Act(r"rank 1 step 20 ", _kill_manager_of_1),),
        group_timeout_s=60,
    ),
    Scenario(
        "healthy_with_warnings_of_libraries",
        "Pools are full, connections are made anew, loaders and schedulers complain, and the job is done.",
        "warned_train.py",
        None,
        layout=Layout.TEE,
        ranks_per_node=2,
        needs=("requests",),
        objects=features(14),
        faults=(Fault(r"^/v1/.*/part-0[01]-000(0[159]|12)", "close", 1),),
        group_timeout_s=120,
    ),
)
