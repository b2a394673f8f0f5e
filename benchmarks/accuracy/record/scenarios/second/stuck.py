"""Ranks that wait for something of their own outside collectives, or are only slow."""

from __future__ import annotations

import signal

from benchmarks.accuracy.record.scenario import Act, Layout, Running, Scenario, Start, Truth

_LINES = "".join(f"frame {number * 7919 % 20011:06d} box 12 40 88 131\n" for number in range(20011))


def _stacks(job: Running) -> None:
    job.take_stacks()


def _end_node_1(job: Running) -> None:
    job.signal_launcher(1, signal.SIGTERM)


SCENARIOS = (
    Scenario(
        "program_waits_for_its_reader",
        "Rank 2 waits for a program whose output nobody reads: the pipe is full. Stacks of the others.",
        "helpers_train.py",
        Truth("rank_hang", (2,), ("software",)),
        ("--convert", "2:7:clips/long.txt"),
        layout=Layout.SRUN_TEE,
        ranks_per_node=3,
        files={"clips/long.txt": _LINES},
        acts=(Act(r"sorting annotations", _stacks, 8.0),),
        group_timeout_s=15,
    ),
    Scenario(
        "queue_is_never_done",
        "The thread of rank 1 that writes samples died of an exception; the rank waits until its queue is empty.",
        "helpers_train.py",
        Truth("software", (1,), ("rank_hang",)),
        ("--samples", "1:6:100"),
        layout=Layout.TASKS,
        start=Start.TASKS,
        nodes=2,
        ranks_per_node=2,
        launcher=("--kill-on-bad-exit",),
        group_timeout_s=15,
    ),
    Scenario(
        "collector_does_not_accept",
        "Rank 0 connects to a collector of metrics that accepts no connection any more. Stacks.",
        "helpers_train.py",
        Truth("rank_hang", (0,), ("network", "software")),
        ("--metrics", "0:8:0"),
        layout=Layout.STREAM,
        nodes=2,
        ranks_per_node=2,
        acts=(Act(r"sending metrics to", _stacks, 8.0),),
        group_timeout_s=15,
    ),
    Scenario(
        "stale_lock_of_a_build",
        "A lock that an ended build left behind on the second node: its rank waits for a builder that is not there.",
        "helpers_train.py",
        Truth("rank_hang", (1,), ("software", "infrastructure")),
        ("--kernels",),
        layout=Layout.SRUN,
        nodes=2,
        ranks_per_node=1,
        node_environment={0: {"KERNEL_CACHE": "cache-0"}, 1: {"KERNEL_CACHE": "cache-1"}},
        files={"cache-1/lock": ""},
        acts=(Act(r"exitcode  : 1", _end_node_1, 2.0),),
        group_timeout_s=18,
    ),
    Scenario(
        "one_rank_is_only_slow",
        "Rank 3 compares rows longer and longer, and says so, while the others' time runs out.",
        "helpers_train.py",
        Truth("rank_hang", (3,), ("software",)),
        ("--rows", "3:5:6000"),
        layout=Layout.LABELS,
        start=Start.TASKS,
        nodes=2,
        ranks_per_node=2,
        launcher=("--kill-on-bad-exit",),
        group_timeout_s=15,
    ),
)
