"""Ranks that the others wait for: a lock, a slow copy, a list that is not made, a queue, a host that stands still."""

from __future__ import annotations

import random
import signal
from collections.abc import Mapping

from benchmarks.accuracy.record.scenario import Act, Layout, Running, Scenario, Start, Truth
from benchmarks.accuracy.record.scenarios.fifth.groups import corpus

_RECORDER = {"TORCH_FR_BUFFER_SIZE": "2000"}


def _stacks(job: Running) -> None:
    job.take_stacks()


def _stacks_and_records(job: Running) -> None:
    job.take_stacks()
    job.take_flight_records()


def _stop_node_1(job: Running) -> None:
    job.signal_node(1, signal.SIGSTOP)


def _go_on_node_1(job: Running) -> None:
    job.signal_node(1, signal.SIGCONT)


def _stop_2(job: Running) -> None:
    job.signal_rank(2, signal.SIGSTOP)


def _go_on_2(job: Running) -> None:
    job.signal_rank(2, signal.SIGCONT)


def _spectra(strong: int, ranks: int = 4) -> Mapping[str, str]:
    """Spectra of every rank; those of `strong` have higher concentrations."""
    chance = random.Random(12)
    files = {}
    for rank in range(ranks):
        rows = []
        for number in range(120):
            amount = chance.uniform(0, 1) + (8 if rank == strong and number % 16 > 11 else 0)
            rows.append(
                " ".join(f"{one:.3f}" for one in [amount, *(amount * chance.uniform(0, 0.2) for _ in range(8))])
            )
        files[f"spectra/{rank}.txt"] = "\n".join(rows) + "\n"
    return files


def _text(long: tuple[int, int], ranks: int = 4, shards: int = 6) -> Mapping[str, str]:
    """Shards of every rank; that at `long`, a rank and a number, has longer lines."""
    files = {}
    for rank in range(ranks):
        for shard in range(shards):
            width = 900 if (rank, shard) == long else 60
            rows = ("".join(chr(32 + (number * 7 + at * at) % 95) for at in range(width)) for number in range(240))
            files[f"text/rank{rank}/shard{shard}.txt"] = "".join(f"a{row.strip()}z\n" for row in rows)
    return files


SCENARIOS = (
    Scenario(
        "hard_samples_are_flushed_under_their_lock",
        "Rank 1 has enough hard samples to write them: it takes a lock that it holds already. Stacks and dumps.",
        "spectra.py",
        Truth("rank_hang", (1,), ("software",)),
        layout=Layout.TEE,
        environment=_RECORDER,
        files=_spectra(1),
        acts=(Act(r"\[0\] INFO spectra: step 30 ", _stacks_and_records, 7.0),),
        group_timeout_s=20,
    ),
    Scenario(
        "archive_is_copied_to_gently",
        "Rank 0 copies its checkpoint at a low rate that it was told, longer than the others wait. Stacks.",
        "archive_saves.py",
        Truth("rank_hang", (0,), ("software",)),
        ("--archive-rate", "50000"),
        layout=Layout.STREAM,
        nodes=2,
        ranks_per_node=3,
        acts=(Act(r"saved encoder-", _stacks, 8.0),),
        group_timeout_s=16,
    ),
    Scenario(
        "lists_for_three_ranks_only",
        "Three lists are prepared for four ranks: rank 3 waits for its own and does not come to the monitored barrier.",
        "manifests.py",
        Truth("rank_hang", (3,), ("software", "data", "data_loading_stall")),
        ("--shards", "3"),
        layout=Layout.SRUN,
        nodes=2,
        ranks_per_node=2,
        group_timeout_s=15,
    ),
    Scenario(
        "second_host_stands_still",
        "All processes of the second host are frozen and go on when the first has given up. Stacks.",
        "names_lm.py",
        Truth("rank_hang", (2, 3), ("infrastructure", "network")),
        layout=Layout.TEE,
        nodes=2,
        ranks_per_node=2,
        files=corpus("corpus"),
        acts=(
            Act(r"2/4\|INFO\|step=18 ", _stop_node_1),
            Act(r"2/4\|INFO\|step=18 ", _stacks, 8.0),
            Act(r"[01]/4\|ERROR\|giving up", _go_on_node_1, 7.0),
        ),
        group_timeout_s=15,
    ),
    Scenario(
        "child_is_joined_before_its_queue_is_read",
        "A longer shard of rank 2 fills the pipe of the process that read it, which rank 2 waits for. No stacks.",
        "next_shard.py",
        Truth("rank_hang", (2,), ("software", "data_loading_stall")),
        layout=Layout.TASKS,
        start=Start.TASKS,
        launcher=("--kill-on-bad-exit",),
        nodes=2,
        ranks_per_node=2,
        files=_text((2, 3)),
        group_timeout_s=14,
    ),
    Scenario(
        "healthy_with_late_lists_and_a_pause",
        "Lists come late, rank 2 is stopped for some seconds, stacks are taken, all stop early together.",
        "manifests.py",
        None,
        ("--prepare-pause", "2.2", "--steps", "90", "--goal", "0.02"),
        layout=Layout.SRUN_TEE,
        acts=(
            Act(r"rank 2: step 9 ", _stop_2),
            Act(r"rank 2: step 9 ", _stacks, 3.0),
            Act(r"rank 2: step 9 ", _go_on_2, 6.0),
        ),
        group_timeout_s=22,
    ),
)
