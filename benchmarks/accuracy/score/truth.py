"""Reads the truth of an incident: what was expected, what may be unknown, what it is made of.

Recorded incidents have no `[accuracy]` table; for them everything is expected to be found.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Expected:
    """One failure as it was; None is not judged."""

    job_id: str | None
    classes: tuple[str, ...]
    culprits: tuple[int, ...] | None
    verdict: str | None
    nodes: tuple[str, ...] | None


@dataclass(frozen=True)
class Truth:
    """An incident as it was."""

    folder: Path
    part: str
    kind: str
    side: str
    hardness: str
    taken: str
    hides_failure: bool
    may_be_undetermined: bool
    cause_at: datetime | None
    expected: tuple[Expected, ...]
    made_of: Json = field(default_factory=dict)
    witnesses: tuple[tuple[str, int, str], ...] = ()

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    def logs(self) -> list[Path]:
        """The folders with logs."""
        return [part for part in (self.folder / name for name in ("ais", "workers", "logs")) if part.is_dir()]


def read_truth(folder: Path) -> Truth:
    """The truth.toml of a folder."""
    text = tomllib.loads((folder / "truth.toml").read_text("utf-8"))
    made = text.get("accuracy", {})
    first = text.get("first_cause_utc")
    return Truth(
        folder,
        made.get("part", "recorded"),
        made.get("kind", text.get("failure_words", "recorded")),
        made.get("side", "recorded"),
        made.get("hardness", "recorded"),
        made.get("taken", "nothing"),
        made.get("hides_failure", False),
        made.get("may_be_undetermined", False),
        made.get("cause_utc", first if isinstance(first, datetime) else None),
        tuple(_expected(one) for one in text.get("expect", [])),
        made,
        tuple((one["path"], one["line_no"], one["text"]) for one in text.get("witness", [])),
    )


def _expected(one: Json) -> Expected:
    return Expected(
        str(one["job_id"]) if "job_id" in one else None,
        (one["failure_class"], *one.get("also_ok", [])),
        tuple(sorted(one["culprit_ranks"])) if "culprit_ranks" in one else None,
        one.get("storage_verdict"),
        tuple(sorted(one["ais_nodes"])) if "ais_nodes" in one else None,
    )
