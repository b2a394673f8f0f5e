"""Jobs that signals end, and one that only looks as if it had failed."""

from __future__ import annotations

import signal

from benchmarks.accuracy.record.scenario import Act, Layout, Running, Scenario, Truth


def _spend_1(job: Running) -> None:
    job.signal_rank(1, signal.SIGXCPU)


def _hang_up(job: Running) -> None:
    job.signal_launcher(0, signal.SIGHUP)


def _kill_node_1(job: Running) -> None:
    job.signal_rank(2, signal.SIGKILL)
    job.signal_rank(3, signal.SIGKILL)


SCENARIOS = (
    Scenario(
        "time_on_the_processor_is_spent",
        "The limit of processor time of rank 1 is reached: SIGXCPU.",
        "fashion.py",
        Truth("infrastructure", (1,), ("software",)),
        layout=Layout.STREAM,
        ranks_per_node=3,
        acts=(Act(r"\[1\] iter  16/", _spend_1),),
    ),
    Scenario(
        "session_hangs_up",
        "The terminal of torchrun is closed: SIGHUP.",
        "fashion.py",
        Truth("infrastructure", (), ("software",)),
        layout=Layout.TEE,
        acts=(Act(r"\[0\] iter  12/", _hang_up),),
    ),
    Scenario(
        "both_ranks_of_a_node_are_killed",
        "The memory limit of the second node's control group ends both its ranks at once.",
        "translate.py",
        Truth("infrastructure", (2, 3), ("software",)),
        layout=Layout.SRUN_TEE,
        nodes=2,
        ranks_per_node=2,
        environment={"CORPUS_ROOT": "/mnt/corpora/wmt24"},
        acts=(Act(r'"rank": 3, "event": "step", "step": 12', _kill_node_1),),
        group_timeout_s=16,
    ),
    Scenario(
        "healthy_with_dead_gauge_threads",
        "Threads that push gauges end with tracebacks on all ranks, gradients overflow, and the job is done.",
        "translate.py",
        None,
        ("--gauges", "http://127.0.0.1:5998", "--max-steps", "30"),
        layout=Layout.TEE,
        nodes=2,
        ranks_per_node=2,
        environment={"CORPUS_ROOT": "/mnt/corpora/wmt24"},
    ),
)
