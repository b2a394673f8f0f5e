"""Judges what a report says of an incident: every failure that was, found or missed, and every one that was not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.accuracy.score.truth import Expected, Truth

Json = dict[str, Any]


@dataclass(frozen=True)
class Judged:
    """One failure of the truth and what was said of it; None is not judged."""

    truth: Truth
    expected: Expected
    said: Json | None

    @property
    def is_found(self) -> bool:
        """A failure of this job is reported."""
        return self.said is not None

    @property
    def culprits(self) -> set[int]:
        """The ranks that are named."""
        return set(self.said["culprit_ranks"]) if self.said else set()

    @property
    def is_exact(self) -> bool | None:
        """The culprits are those of the truth, all and no other."""
        return (
            None if self.expected.culprits is None else self.is_found and self.culprits == set(self.expected.culprits)
        )

    @property
    def is_no_other(self) -> bool | None:
        """Nobody innocent is named; nobody at all may be named."""
        return None if self.expected.culprits is None else self.culprits <= set(self.expected.culprits)

    @property
    def is_class(self) -> bool:
        """The class is that of the truth, or one the truth allows."""
        return self.said is not None and self.said["failure_class"] in self.expected.classes

    @property
    def is_top3(self) -> bool:
        """The class of the truth is among the first three hypotheses."""
        if self.said is None:
            return False
        causes = [self.said["failure_class"], *(cause["failure_class"] for cause in self.said["root_causes"][:3])]
        return any(name in self.expected.classes for name in causes)

    @property
    def verdict(self) -> str:
        """What is said of storage; `none` where no failure is reported."""
        return str(self.said["storage_verdict"]) if self.said else "none"

    @property
    def is_verdict(self) -> bool | None:
        """The verdict is that of the truth."""
        return None if self.expected.verdict is None else self.verdict == self.expected.verdict

    @property
    def is_nodes(self) -> bool | None:
        """The AIStore nodes held responsible are those of the truth."""
        if not self.expected.nodes:
            return None
        return self.said is not None and {one["node_id"] for one in self.said["ais_nodes"]} == set(self.expected.nodes)

    @property
    def is_allowed(self) -> bool:
        """Right, or narrower where evidence was taken away: nothing that is said is wrong."""
        may = self.truth.may_be_undetermined
        if self.said is None:
            return self.truth.hides_failure
        culprits = self.is_exact is not False or (may and self.is_no_other is True)
        verdict = self.is_verdict is not False or (may and self.verdict == "undetermined")
        named = self.is_class or (may and self.said["failure_class"] == "undetermined")
        return culprits and verdict and named

    @property
    def confidence(self) -> float | None:
        """How sure the report is."""
        return self.said.get("confidence") if self.said else None

    @property
    def cause_error_s(self) -> float | None:
        """Seconds from the first cause to the first sign that is reported (error or hang); negative is too early."""
        if self.said is None or self.truth.cause_at is None:
            return None
        signs = [self.said.get(name) for name in ("first_error_at", "hang_started_at")]
        moments = [datetime.fromisoformat(sign.replace("Z", "+00:00")) for sign in signs if sign]
        return (min(moments) - self.truth.cause_at.astimezone(UTC)).total_seconds() if moments else None


@dataclass(frozen=True)
class Opinion:
    """All that is said of one incident."""

    truth: Truth
    judged: tuple[Judged, ...]
    invented: tuple[Json, ...]
    cited: int
    cited_real: int


_STATISTICS = re.compile(r'\{"?[\w.-]+"?:')
_COLOUR = re.compile(r"\x1b\[[\d;]*m")


def judge(truth: Truth, failures: Sequence[Json]) -> Opinion:
    """Pairs the failures of the truth with those reported, the best fitting first."""
    left, judged = list(failures), []
    for expected in truth.expected:
        fitting = [one for one in left if expected.job_id is None or _job(one["job_id"]) == _job(expected.job_id)]
        if not fitting and len(truth.expected) == 1:
            fitting = left
        best = max(fitting, key=lambda one: _score(truth, expected, one), default=None)
        if best is not None:
            left.remove(best)
        judged.append(Judged(truth, expected, best))
    cited = [place for failure in failures for place in citations(failure)]
    files: dict[str, list[str]] = {}
    real = sum(stands(path, line_no, text, files) for path, line_no, text in cited)
    return Opinion(truth, tuple(judged), tuple(left), len(cited), real)


def _job(job_id: str | None) -> str:
    """A SLURM job id without its step."""
    return str(job_id).removesuffix(".0")


def _score(truth: Truth, expected: Expected, said: Json) -> int:
    one = Judged(truth, expected, said)
    return 4 * (one.is_exact is not False) + 2 * (one.is_verdict is not False) + one.is_class


def citations(failure: Json) -> list[tuple[str, int, str]]:
    """Every line that a failure cites as evidence: its file, its number, its text (empty: a line of statistics)."""
    places = [step for chain in failure["chains"] for step in chain["steps"]]
    places += [line for cause in failure["root_causes"] for line in (*cause["supports"], *cause["contradicts"])]
    return [
        (place["path"], place["line_no"], place.get("text") or "")
        for place in places
        if place.get("path") and place.get("line_no")
    ]


def stands(path: str, line_no: int, text: str, files: dict[str, list[str]]) -> bool:
    """The quoted text stands in that line of that file, read again: cut, spaced otherwise, no secrets or colours.

    A report quotes no statistics: where it gives no text, the line must hold a record of them.
    """
    if path not in files:
        try:
            files[path] = Path(path).read_bytes().decode("utf-8", "replace").split("\n")
        except OSError:
            files[path] = []
    if not 1 <= line_no <= len(files[path]):
        return False
    if not text:
        return _STATISTICS.search(files[path][line_no - 1]) is not None
    quoted = " ".join(text.split("\n")[0].split("…")[0].split())
    line = " ".join(_COLOUR.sub("", files[path][line_no - 1]).split())
    pattern = ".+".join(re.escape(part) for part in quoted.split("<redacted>"))
    return bool(quoted) and re.search(pattern, line) is not None
