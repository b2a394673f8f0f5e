"""Ranks that hang outside collectives: stopped, computing on their own, waiting for a thread that died."""

from __future__ import annotations

import signal

from benchmarks.accuracy.record.scenario import Act, Layout, Running, Scenario, Truth


def _stop_rank_1(job: Running) -> None:
    job.signal_rank(1, signal.SIGSTOP)


def _records(job: Running) -> None:
    job.take_flight_records()


def _stacks(job: Running) -> None:
    job.take_stacks()


SCENARIOS = (
    Scenario(
        "rank_is_stopped",
        "Rank 1 is sent SIGSTOP and never goes on; the others wait, dumps of all but rank 1.",
        "pretrain.py",
        Truth("rank_hang", (1,), ("infrastructure", "software")),
        environment={"TORCH_FR_BUFFER_SIZE": "2000"},
        acts=(
            Act(r"rank 0\] iteration \s+8/", _stop_rank_1),
            Act(r"rank 0\] iteration \s+8/", _records, 10.0),
        ),
    ),
    Scenario(
        "first_rank_generates_too_long",
        "Rank 0 samples text for its report while the others wait in the next step; stacks.",
        "pretrain.py",
        Truth("rank_hang", (0,), ("software",)),
        ("--sample-interval", "7", "--sample-tokens", "10000000"),
        layout=Layout.STREAM,
        nodes=2,
        ranks_per_node=2,
        acts=(Act(r"generating \d+ tokens", _stacks, 9.0),),
    ),
    Scenario(
        "prefetch_thread_died",
        "The thread of rank 2 that prepares batches died of an exception; its main thread waits for ever.",
        "prefetch.py",
        Truth("data_loading_stall", (2,), ("data", "software")),
        ("--odd-widths", "2:9:120"),
        layout=Layout.FILES,
        needs=("requests",),
    ),
    Scenario(
        "two_ranks_late_at_monitored_barrier",
        "Ranks 1 and 3 decode much longer recordings; the monitored barrier names both.",
        "evaluate.py",
        Truth("rank_hang", (1, 3), ("software",)),
        ("--long", "1:60000,3:60000", "--wait-all"),
        layout=Layout.SRUN_TEE,
    ),
)
