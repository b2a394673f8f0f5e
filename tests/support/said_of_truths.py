"""A small incident, its truth, and the failure that a right report has of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

Json = dict[str, Any]
LINE = "[rank5]: AISBatchLoaderError: received 0 of 48 objects"
EXPECT = {
    "job_id": "7",
    "culprit_ranks": [5],
    "failure_class": "storage_io",
    "also_ok": ["data_loading_stall"],
    "storage_verdict": "guilty",
    "ais_nodes": ["t1"],
}
INNOCENT = {"failure_class": "gpu", "storage_verdict": "innocent", "culprit_ranks": [5], "ais_nodes": []}


def incident(base: Path) -> Path:
    """A folder with one line of a worker, which `said` cites."""
    place = base / "one" / "workers"
    place.mkdir(parents=True)
    (place / "rank5.log").write_text(f"starting\n{LINE}\n", "utf-8")
    return place.parent


def said(**changes: object) -> Json:
    """A failure as a right report of EXPECT has it, with changes."""
    line = {"path": "workers/rank5.log", "line_no": 2, "locator": None, "text": LINE}
    cause = {"failure_class": "storage_io", "score": 0.9, "supports": [line], "contradicts": []}
    failure = {"job_id": "7", "failure_class": "storage_io", "storage_verdict": "guilty", "confidence": 0.9}
    return {**failure, "culprit_ranks": [5], "ais_nodes": [{"node_id": "t1"}], "root_causes": [cause], **changes}
