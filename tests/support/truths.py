"""The failures of a database as a report says them, held against the truth of an incident."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from aiscorr.report.build import build_report
from aiscorr.report.document import to_json
from aiscorr.store.database import reading
from benchmarks.accuracy.score.judge import judge
from benchmarks.accuracy.score.truth import read_truth, truth_of

Json = dict[str, Any]


def failures_of(db: str, which: str = "all") -> list[Json]:
    """The failures of a database as in the report's JSON."""
    with reading(db) as connection:
        report = build_report(connection, which, datetime(2027, 2, 1, tzinfo=UTC))
    return cast("list[Json]", cast(Json, to_json(report))["failures"])


def mistakes(folder: Path, failures: list[Json], truth: Json | None = None) -> list[str]:
    """What is wrong or missing in the failures said of an incident, judged as the accuracy benchmark does.

    `truth` stands in for the folder's own truth.toml.
    """
    known = read_truth(folder) if truth is None else truth_of(folder, truth)
    return [f"{one.kind}: {one.words}" for one in judge({"failures": failures}, known).mistakes]
