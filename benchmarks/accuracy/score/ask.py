"""Asks aiscorr about every incident of a folder and keeps the answers beside them, so that tables can be made again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.accuracy.score.answer import answers
from benchmarks.accuracy.score.judge import Opinion, judge
from benchmarks.accuracy.score.truth import Truth, read_truth

Json = dict[str, Any]
_KEPT = "answers.jsonl"


def incidents(folder: Path) -> list[Truth]:
    """The incidents of a folder, by name."""
    return [read_truth(path.parent) for path in sorted(folder.glob("*/truth.toml"))]


def opinions(folder: Path, jobs: int, *, anew: bool, kept: Path | None = None) -> list[Opinion]:
    """What aiscorr says of every incident, judged; `anew` is False to keep the answers of the last time."""
    truths, file = incidents(folder), kept or folder / _KEPT
    if anew:
        file.unlink(missing_ok=True)
    said = _read(file)
    open_ones = [truth for truth in truths if truth.name not in said]
    with file.open("a", encoding="utf-8") as keeper:
        found = answers([truth.logs() for truth in open_ones], jobs)
        for number, (truth, failures) in enumerate(zip(open_ones, found, strict=True), 1):
            said[truth.name] = failures
            keeper.write(json.dumps({"name": truth.name, "failures": failures}) + "\n")
            keeper.flush()
            sys.stderr.write(f"\r{number}/{len(open_ones)}")
            sys.stderr.flush()
    return [judge(truth, said[truth.name]) for truth in truths]


def _read(file: Path) -> dict[str, list[Json]]:
    if not file.is_file():
        return {}
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return {row["name"]: row["failures"] for row in rows}
