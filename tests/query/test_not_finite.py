"""`@not_finite`: where the numbers of each rank first went wrong."""

from __future__ import annotations

import json
from pathlib import Path

from commands import Command
from scenes import read_in

SAID = (
    (0, "step 9 loss 1.4"),
    (1, "step 9 loss nan"),
    (0, "Loss is nan, stopping training"),
    (0, "step 10 loss nan"),
    (1, "step 11 grad_norm: inf"),
)


def test_first_not_finite(run: Command, tmp_path: Path) -> None:
    """The first line of each rank with a NaN or Inf, also one that stopped the training; of one moment the first."""
    stamp = "2026-11-20 21:42:00,873 INFO"
    lines = [f"{stamp} [rank {rank}] train:134 - {text}\n" for rank, text in SAID]
    (tmp_path / "train.log").write_text("".join(lines))
    read_in(tmp_path / "a.duckdb", tmp_path / "train.log")
    outcome = run("--db", str(tmp_path / "a.duckdb"), "query", "@not_finite", "--format", "json")
    assert [(row["rank"], row["line_no"]) for row in json.loads(outcome.out)] == [(0, 3), (1, 2)]
