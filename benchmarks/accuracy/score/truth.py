"""Reads the truth of an incident: the failures that were, or what an excerpt allows, and what may be unknown.

`[[expect]]` alone is exact; `[soft]` says what may and may not be said of an excerpt of a real log; `[accuracy]` marks
a generated incident, part of whose evidence may have been taken away. What a truth does not state is not judged.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Expected:
    """One failure as it was; None is not judged. `classes` and `verdicts` hold what is allowed as well."""

    job_id: str | None
    classes: tuple[str, ...]
    culprits: tuple[int, ...] | None
    verdict: str | None
    verdicts: frozenset[str]
    nodes: tuple[str, ...] | None

    @property
    def is_guilty(self) -> bool:
        """Storage is guilty, and no other verdict is allowed."""
        return self.verdicts == {"guilty"}

    @property
    def is_innocent(self) -> bool:
        """Storage is innocent, and may not be called guilty."""
        return self.verdict == "innocent" and "guilty" not in self.verdicts


@dataclass(frozen=True)
class Soft:
    """What an excerpt allows: each failure has to fit every `_any`, and none may break a `_not`; None allows all.

    `report` is `must`, `may` or `never`; `days_max` limits the time from the start of the job to its end.
    """

    report: str
    failures_max: int
    classes_any: frozenset[str] | None
    classes_not: frozenset[str]
    verdicts_any: frozenset[str] | None
    verdicts_not: frozenset[str]
    culprits_any: tuple[frozenset[int], ...] | None
    culprits_not: frozenset[int]
    statement_not: tuple[str, ...]
    days_max: float | None


@dataclass(frozen=True)
class Truth:
    """An incident as it was."""

    folder: Path
    kind: str
    is_generated: bool
    taken: str
    hides_failure: bool
    may_be_undetermined: bool
    expected: tuple[Expected, ...]
    soft: Soft | None

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name


def read_truth(folder: Path) -> Truth:
    """The truth.toml of a folder."""
    return truth_of(folder, tomllib.loads((folder / "truth.toml").read_text("utf-8")))


def truth_of(folder: Path, text: Json) -> Truth:
    """A truth whose TOML has been read; `folder` is where its logs lie."""
    made = text.get("accuracy", {})
    return Truth(
        folder,
        made.get("kind", text.get("failure_words", "recorded")),
        "accuracy" in text,
        made.get("taken", "nothing"),
        made.get("hides_failure", False),
        made.get("may_be_undetermined", False),
        tuple(_expected(one) for one in text.get("expect", [])),
        _soft(text["soft"]) if "soft" in text else None,
    )


def _expected(one: Json) -> Expected:
    verdict = one.get("storage_verdict")
    return Expected(
        str(one["job_id"]) if one.get("job_id", "") != "" else None,
        (one["failure_class"], *one.get("also_ok", [])),
        tuple(sorted(one["culprit_ranks"])) if "culprit_ranks" in one else None,
        verdict,
        frozenset([verdict, *one.get("also_storage_ok", [])] if verdict else []),
        tuple(sorted(one["ais_nodes"])) if "ais_nodes" in one else None,
    )


def _soft(said: Json) -> Soft:
    def some(key: str) -> frozenset[str] | None:
        return frozenset(said[key]) if key in said else None

    return Soft(
        said.get("report", "must"),
        said.get("failures_max", 1),
        some("class_any"),
        frozenset(said.get("class_not", [])),
        some("storage_any"),
        frozenset(said.get("storage_not", [])),
        tuple(map(frozenset, said["culprit_any"])) if "culprit_any" in said else None,
        frozenset(said.get("culprit_not", [])),
        tuple(said.get("statement_not", [])),
        said.get("days_max"),
    )
