"""Ranks that part ways without an error of their own: one validates, reports or stops by itself."""

from __future__ import annotations

import random
import signal
from collections.abc import Mapping

from benchmarks.accuracy.record.scenario import Act, Layout, Running, Scenario, Start, Truth

_CORPUS = {"CORPUS_ROOT": "/mnt/corpora/wmt24"}


def _records(job: Running) -> None:
    job.take_flight_records()


def _signal_0(job: Running) -> None:
    job.signal_rank(0, signal.SIGUSR1)


def _regions(odd: tuple[int, ...] = (), ranks: int = 4) -> Mapping[str, str]:
    """Tables of every region; the held out rows of those in `odd` have the opposite sign."""
    chance = random.Random(6)
    truth = [chance.uniform(0.5, 1.5) for _ in range(6)]
    files = {}
    for rank in range(ranks):
        for part, count in (("train", 80), ("valid", 24)):
            sign = -1 if part == "valid" and rank in odd else 1
            rows = []
            for _ in range(count):
                row = [chance.gauss(0, 1) for _ in truth]
                rows.append(
                    ",".join(f"{x:.4f}" for x in [*row, sign * sum(a * b for a, b in zip(row, truth, strict=True))])
                )
            files[f"regions/{part}_{rank}.csv"] = "\n".join(rows) + "\n"
    return files


def _churn(counts: tuple[int, ...]) -> Mapping[str, str]:
    """Rows of every rank, of different number."""
    return {f"churn/rows.{rank}.txt": "\n".join(["0.5", "1.25"] * (count // 2)) for rank, count in enumerate(counts)}


SCENARIOS = (
    Scenario(
        "first_rank_validates_with_the_wrapped_model",
        "Rank 0 alone validates, through DDP, whose buffers are broadcast in every forward.",
        "fashion.py",
        Truth("collective_mismatch", (0,), ("software",)),
        ("--val-every", "16"),
        layout=Layout.TEE,
        nodes=2,
        ranks_per_node=2,
        group_timeout_s=22,
        limit_s=240,
    ),
    Scenario(
        "best_is_decided_by_each_rank",
        "The held out rows of rank 3 get worse, so it alone does not join when the best weights are gathered. Dumps.",
        "uplift.py",
        Truth("collective_mismatch", (3,), ("software", "data")),
        ("--whole",),
        layout=Layout.STREAM,
        environment={"TORCH_FR_BUFFER_SIZE": "2000"},
        files=_regions((3,)),
        acts=(Act(r"rank2\]\[INFO\] - step 12 valid", _records, 3.0),),
        group_timeout_s=26,
    ),
    Scenario(
        "patience_ends_on_one_rank",
        "The held out rows of the second host get worse: its rank stops early, the others go on to the next step.",
        "uplift.py",
        Truth("collective_mismatch", (1,), ("software", "data")),
        ("--eval-every", "7", "--patience", "1"),
        layout=Layout.SRUN,
        nodes=3,
        ranks_per_node=1,
        files=_regions((1,), 3),
        group_timeout_s=16,
    ),
    Scenario(
        "norm_is_logged_by_the_first_rank",
        "Rank 0 of Lightning logs a norm that is to be averaged over all ranks.",
        "lit_depth.py",
        Truth("collective_mismatch", (0,), ("software",)),
        ("--norm-every", "12"),
        layout=Layout.STREAM,
        ranks_per_node=3,
        needs=("lightning",),
        group_timeout_s=22,
        limit_s=240,
    ),
    Scenario(
        "score_is_computed_by_the_first_rank",
        "Rank 0 alone computes a score with torchmetrics, which gathers from all.",
        "quality.py",
        Truth("collective_mismatch", (0,), ("software",)),
        layout=Layout.TASKS,
        start=Start.TASKS,
        launcher=("--kill-on-bad-exit",),
        nodes=2,
        ranks_per_node=2,
        needs=("torchmetrics",),
        group_timeout_s=22,
        limit_s=240,
    ),
    Scenario(
        "main_process_evaluates_in_a_callback",
        "A callback lets the main process of the Trainer evaluate; evaluation gathers from all processes.",
        "caption_hf.py",
        Truth("collective_mismatch", (0,), ("software",)),
        ("--evaluate-every", "12"),
        layout=Layout.FILES,
        ranks_per_node=3,
        needs=("transformers", "accelerate"),
        group_timeout_s=22,
        limit_s=240,
    ),
    Scenario(
        "signal_reaches_the_first_rank_only",
        "The batch system's warning goes to rank 0 only: it saves and waits in the last barrier.",
        "translate.py",
        Truth("collective_mismatch", (0,), ("infrastructure", "software")),
        layout=Layout.LABELS,
        start=Start.TASKS,
        launcher=("--kill-on-bad-exit",),
        nodes=2,
        ranks_per_node=2,
        environment=_CORPUS,
        acts=(Act(r'"rank": 0, "event": "step", "step": 14', _signal_0),),
        group_timeout_s=16,
    ),
    Scenario(
        "join_gives_up_for_all",
        "Rank 2 has fewer rows; DDP's join context raises on all ranks as soon as one is out of input.",
        "churn_join.py",
        Truth("collective_mismatch", (2,), ("data", "software")),
        ("--strict",),
        layout=Layout.SRUN_TEE,
        files=_churn((320, 322, 200, 318)),
    ),
)
