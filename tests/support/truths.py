"""Holds a report against the truth of a scenario, in the words of the contract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, cast

from aiscorr.report.build import build_report
from aiscorr.report.document import to_json
from aiscorr.store.database import reading

Json = dict[str, Any]


def failures_of(db: str, which: str = "all") -> list[Json]:
    """The failures of a database as in the report's JSON."""
    with reading(db) as connection:
        report = build_report(connection, which, datetime(2027, 2, 1, tzinfo=UTC))
    return cast("list[Json]", cast(Json, to_json(report))["failures"])


def differences(expected: Iterable[Mapping[str, Any]], failures: Iterable[Json]) -> list[str]:
    """What a report says otherwise than the truth; what the truth does not state is not judged."""
    left = list(failures)
    found: list[str] = []
    for truth in expected:
        job = truth.get("job_id")
        fitting = [failure for failure in left if job is None or failure["job_id"] == str(job)]
        if not fitting:
            found.append(f"no failure of job {job} is reported")
            continue
        best = min(fitting, key=lambda failure: len(_wrong(truth, failure)))
        left.remove(best)
        found += _wrong(truth, best)
    found += [f"{failure['failure_id']} is no failure: {failure['statement']}" for failure in left]
    return found


def _wrong(truth: Mapping[str, Any], failure: Json) -> list[str]:
    classes = [truth["failure_class"], *truth.get("also_ok", [])]
    said: Json = {
        "culprit_ranks": sorted(failure["culprit_ranks"]),
        "ais_nodes": sorted(node["node_id"] for node in failure["ais_nodes"]),
    }
    if failure["storage_verdict"] not in truth.get("also_storage_ok", []):
        said["storage_verdict"] = failure["storage_verdict"]
    name = failure["failure_id"]
    found = [
        f"{name}: {key} is {value!r}, expected {truth[key]!r}"
        for key, value in said.items()
        if key in truth and value != (sorted(truth[key]) if isinstance(value, list) else truth[key])
    ]
    if failure["failure_class"] not in classes:
        found.append(f"{name}: failure_class is {failure['failure_class']!r}, expected one of {classes}")
    return found
