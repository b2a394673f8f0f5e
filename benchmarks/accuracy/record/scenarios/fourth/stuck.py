"""Ranks that keep the others waiting: a pattern, a pool that lost a task, a process that was stopped for a while."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping

from benchmarks.accuracy.record.scenario import Act, Layout, Running, Scenario, Start, Truth

_LONG = "Summer_sale_shoes_and_boots_for_the_whole_family_in_all_sizes_and_colours!"


def pages(odd: Mapping[tuple[int, int], Mapping[str, str]] | None = None, ranks: int = 4) -> Mapping[str, str]:
    """Pages of every rank; `odd` puts another page at a rank and a place."""
    files = {}
    for rank in range(ranks):
        rows = [{"title": f"On rivers, part {number}", "lang": "en"} for number in range(120)]
        texts = (json.dumps((odd or {}).get((rank, number), row)) for number, row in enumerate(rows))
        files[f"pages/{rank}.jsonl"] = "\n".join(texts) + "\n"
    return files


def _lose_worker_1(job: Running) -> None:
    job.signal_loader(1, signal.SIGKILL)


def _stop_2(job: Running) -> None:
    job.signal_rank(2, signal.SIGSTOP)


def _go_on_2(job: Running) -> None:
    job.signal_rank(2, signal.SIGCONT)


SCENARIOS = (
    Scenario(
        "pattern_tries_for_ever",
        "A title of rank 2 sends a regular expression into endless attempts; the others wait for its gradient.",
        "titles.py",
        Truth("rank_hang", (2,), ("software", "data", "data_loading_stall")),
        layout=Layout.SRUN,
        nodes=2,
        ranks_per_node=2,
        files=pages({(2, 45): {"title": _LONG, "lang": "en"}}),
        group_timeout_s=22,
    ),
    Scenario(
        "pool_lost_a_task",
        "A process of rank 1's pool is killed and its task with it: map never returns. The watchdog shows stacks.",
        "molecules.py",
        Truth("rank_hang", (1,), ("data_loading_stall", "software", "infrastructure")),
        layout=Layout.TEE,
        ranks_per_node=3,
        acts=(Act(r"rank=1 step=6 ", _lose_worker_1, 0.15),),
        group_timeout_s=18,
    ),
    Scenario(
        "stopped_and_continued",
        "Rank 2 is stopped and goes on only when the others have given up.",
        "translate.py",
        Truth("rank_hang", (2,), ("infrastructure",)),
        layout=Layout.TASKS,
        start=Start.TASKS,
        nodes=2,
        ranks_per_node=2,
        environment={"CORPUS_ROOT": "/mnt/corpora/wmt24"},
        acts=(Act(r'"rank": 2, "event": "step", "step": 16', _stop_2), Act(r"training failed", _go_on_2, 8.0)),
        group_timeout_s=14,
    ),
)
