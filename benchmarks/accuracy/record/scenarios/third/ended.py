"""Processes that are ended by a signal: killed, crashed, preempted, interrupted."""

from __future__ import annotations

import signal

from benchmarks.accuracy.record.scenario import Act, Layout, Running, Scenario, Start, Truth
from benchmarks.accuracy.record.texts import books


def _cut_cache_2(job: Running) -> None:
    job.cut_file("cache/tokens_rank2.bin")


def _crash_0(job: Running) -> None:
    job.signal_rank(0, signal.SIGSEGV)


def _end_3(job: Running) -> None:
    job.signal_rank(3, signal.SIGTERM)


def _kill_0(job: Running) -> None:
    job.signal_rank(0, signal.SIGKILL)


def _interrupt(job: Running) -> None:
    job.signal_launcher(0, signal.SIGINT)


def _preempt_node_1(job: Running) -> None:
    job.signal_launcher(1, signal.SIGTERM)


SCENARIOS = (
    Scenario(
        "mapped_file_is_cut",
        "The file that rank 2 has mapped into memory gets shorter: SIGBUS when it comes to what is gone.",
        "mmap_train.py",
        Truth("infrastructure", (2,), ("software", "data")),
        layout=Layout.STREAM,
        nodes=2,
        ranks_per_node=2,
        acts=(Act(r"2: INFO - step 8/", _cut_cache_2),),
    ),
    Scenario(
        "first_rank_segfaults",
        "Rank 0 ends with a segmentation fault; faulthandler prints where it was.",
        "mmap_train.py",
        Truth("software", (0,), ("infrastructure",)),
        layout=Layout.SRUN_TEE,
        ranks_per_node=3,
        environment={"PYTHONFAULTHANDLER": "1"},
        acts=(Act(r"1: INFO - step 16/", _crash_0),),
    ),
    Scenario(
        "one_rank_is_terminated",
        "Somebody ends rank 3 with SIGTERM.",
        "char_lm.py",
        Truth("infrastructure", (3,), ("software",)),
        layout=Layout.FILES,
        nodes=2,
        ranks_per_node=2,
        files=books(),
        acts=(Act(r"\[rank 3\] iter 18:", _end_3),),
    ),
    Scenario(
        "first_task_killed_with_its_store",
        "Rank 0, in which the TCP store of all tasks lives, is killed.",
        "mmap_train.py",
        Truth("infrastructure", (0,), ("software",)),
        layout=Layout.TASKS,
        start=Start.TASKS,
        nodes=2,
        ranks_per_node=2,
        acts=(Act(r"0: INFO - step 14/", _kill_0),),
        group_timeout_s=15,
    ),
    Scenario(
        "interrupted_at_the_keyboard",
        "The user ends torchrun with Ctrl-C.",
        "char_lm.py",
        Truth("infrastructure", (), ("software",)),
        layout=Layout.STREAM,
        files=books(),
        acts=(Act(r"\[rank 0\] iter 20:", _interrupt),),
    ),
    Scenario(
        "second_node_is_preempted",
        "The batch system takes the second of two nodes back: its torchrun gets SIGTERM.",
        "char_lm.py",
        Truth("infrastructure", (2, 3), ("network",)),
        layout=Layout.SRUN_TEE,
        nodes=2,
        ranks_per_node=2,
        files=books(),
        acts=(Act(r"\[rank 2\] iter 16:", _preempt_node_1),),
        group_timeout_s=15,
    ),
)
