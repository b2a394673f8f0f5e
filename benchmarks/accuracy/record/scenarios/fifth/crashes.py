"""Ranks that raise, abort, are killed or leave with a status of their own."""

from __future__ import annotations

import json
import random
import signal
from collections.abc import Mapping

from benchmarks.accuracy.record.payloads import blocks
from benchmarks.accuracy.record.scenario import Act, Fault, Layout, Running, Scenario, Start, Truth


def _replay(spent: tuple[int, int], actors: int = 4, segment: int = 24) -> Mapping[str, str]:
    """Transitions of every actor; all priorities of a segment, `spent` by actor and number, are zero."""
    chance = random.Random(21)
    files = {}
    for actor in range(actors):
        rows = []
        for number in range(40 * segment):
            priority = 0.0 if (actor, number // segment) == spent else chance.uniform(0.1, 2)
            rows.append(" ".join(f"{one:.4f}" for one in (*(chance.gauss(0, 1) for _ in range(5)), priority)))
        files[f"replay/actor{actor}.txt"] = "\n".join(rows) + "\n"
    return files


def _documents(long: int, count: int = 90) -> Mapping[str, str]:
    """Documents of some lines; that at `long` is a book."""
    rows = []
    for number in range(count):
        times = 14000 if number == long else 3 + number % 5
        text = "the ferry left at nine and came back after dark; " * times
        rows.append(json.dumps({"id": f"doc-{number:05d}", "topic": number % 6, "text": text}))
    return {"docs/train.jsonl": "\n".join(rows) + "\n"}


def _illegal_on_node_1(job: Running) -> None:
    job.signal_rank(2, signal.SIGILL)
    job.signal_rank(3, signal.SIGILL)


def _kill_4(job: Running) -> None:
    job.signal_rank(4, signal.SIGKILL)


SCENARIOS = (
    Scenario(
        "no_priority_is_left_to_draw_by",
        "All priorities of a segment of rank 3 are zero: no weights to draw by, an error file on its node.",
        "replay_q.py",
        Truth("software", (3,), ("data",)),
        layout=Layout.FILES,
        nodes=2,
        ranks_per_node=2,
        files=_replay((3, 15)),
        group_timeout_s=20,
    ),
    Scenario(
        "attention_over_a_whole_book",
        "A document of rank 2 is a book: attention over all its letters is more than can be allocated.",
        "longdoc.py",
        Truth("data", (2,), ("software", "infrastructure")),
        layout=Layout.STREAM,
        ranks_per_node=3,
        files=_documents(47),
        group_timeout_s=25,
    ),
    Scenario(
        "illegal_instruction_on_second_node",
        "The processors of the second node lack what a library was built for: both its ranks end by SIGILL.",
        "forecast.py",
        Truth("infrastructure", (2, 3), ("software",)),
        layout=Layout.TEE,
        nodes=2,
        ranks_per_node=2,
        acts=(Act(r"\[003\]\[INFO\s*\] step=0 ", _illegal_on_node_1),),
        group_timeout_s=20,
    ),
    Scenario(
        "scratch_of_one_host_is_too_small",
        "The first rank of the second host finds too little room for its cache, says so and leaves with status 78.",
        "forecast.py",
        Truth("infrastructure", (2,), ("software",)),
        ("--scratch", "scratch{host}"),
        layout=Layout.LABELS,
        start=Start.TASKS,
        launcher=("--kill-on-bad-exit",),
        nodes=2,
        ranks_per_node=2,
        links={"scratch0": "/tmp", "scratch1": "/proc"},
        group_timeout_s=20,
    ),
    Scenario(
        "killed_on_the_third_of_three_nodes",
        "A rank of the third node is killed within a step, as the kernel does when memory is short.",
        "forecast.py",
        Truth("infrastructure", (4,), ("software",)),
        layout=Layout.SRUN,
        nodes=3,
        ranks_per_node=2,
        launcher=("--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:{port}", "--rdzv-id=loads-5"),
        acts=(Act(r"\[004\]\[INFO\s*\] step=12 ", _kill_4),),
        group_timeout_s=20,
    ),
    Scenario(
        "step_guard_aborts_all_ranks",
        "A block of rank 2 is never answered; the guard of every rank aborts it, with stacks, before gloo gives up.",
        "guarded_lm.py",
        Truth("data_loading_stall", (2,), ("storage_io", "network", "rank_hang")),
        ("--step-limit", "9"),
        layout=Layout.TASKS,
        start=Start.TASKS,
        nodes=2,
        ranks_per_node=2,
        objects=blocks(),
        faults=(Fault(r"^/v1/.*/rank2/block-00006", "hang"),),
        group_timeout_s=60,
    ),
)
