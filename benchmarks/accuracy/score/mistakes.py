"""The kinds of mistakes a report can make, and the claims it makes with a confidence.

| kind | is |
|---|---|
| blamed | storage is called guilty although it is innocent |
| acquitted | storage is called innocent although it is guilty |
| wrong | another false statement, or a failure too many |
| evidence | a cited line is not there |
| missed | a failure is not reported, a node not named |
| modest | undetermined, or less than the logs show |
| error | no report was made |
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.accuracy.score.truth import Expected, Json

KINDS = ("blamed", "acquitted", "wrong", "evidence", "missed", "modest", "error")
_FALSE = frozenset(KINDS[:3])


@dataclass(frozen=True)
class Mistake:
    """One thing that is not right, with its kind of `KINDS`."""

    kind: str
    words: str

    @property
    def is_false(self) -> bool:
        """Something untrue is stated; otherwise something is missing."""
        return self.kind in _FALSE

    @property
    def is_about_storage(self) -> bool:
        """It concerns storage or its nodes."""
        return self.kind in ("blamed", "acquitted") or "storage" in self.words or "nodes" in self.words

    def __str__(self) -> str:
        return f"{self.kind}: {self.words}"


@dataclass(frozen=True)
class Claim:
    """What a failure states with a confidence of 0 to 1: right if nothing of it is false."""

    confidence: float
    is_right: bool
    is_about_storage: bool
    words: str


@dataclass(frozen=True)
class Answer:
    """An expected failure, the reported one that stands for it (None: not reported), and what is not right with it."""

    expected: Expected
    said: Json | None
    mistakes: tuple[Mistake, ...]

    @property
    def is_right(self) -> bool:
        """Culprits, class, verdict and nodes are right, or narrower where that is allowed; evidence does not count."""
        return all(one.kind == "evidence" for one in self.mistakes)

    @property
    def verdict(self) -> str:
        """What is said of storage; `none` where no failure is reported."""
        return str(self.said.get("storage_verdict")) if self.said is not None else "none"

    @property
    def culprits(self) -> frozenset[int]:
        """The ranks that are named."""
        return frozenset(self.said.get("culprit_ranks", [])) if self.said is not None else frozenset()


@dataclass(frozen=True)
class Judgement:
    """All that is said of one incident."""

    mistakes: tuple[Mistake, ...] = ()
    claims: tuple[Claim, ...] = ()
    answers: tuple[Answer, ...] = ()
    invented_count: int = 0

    @property
    def worst(self) -> str | None:
        """The worst kind of its mistakes."""
        return min((one.kind for one in self.mistakes), key=KINDS.index, default=None)


def claimed(failure: Json, mistakes: Iterable[Mistake]) -> tuple[list[Mistake], list[Claim]]:
    """The mistakes of a failure with those of its confidence, and its claim; who leaves all open claims nothing."""
    confidence = failure.get("confidence")
    found = list(mistakes)
    if not isinstance(confidence, int | float):
        found.append(Mistake("wrong", f"confidence {confidence}"))
    open_words = (failure.get("failure_class"), failure.get("storage_verdict"))
    if open_words == ("undetermined", "undetermined") and not failure.get("culprit_ranks"):
        return found, []
    false = [one for one in found if one.is_false]
    about_storage = any(one.is_about_storage for one in false)
    return found, [Claim(float(confidence or 0), not false, about_storage, "; ".join(map(str, false)))]


def summed(
    judged: Iterable[tuple[list[Mistake], list[Claim]]], answers: Sequence[Answer] = (), invented_count: int = 0
) -> Judgement:
    """One judgement of the failures of an incident."""
    mistakes: list[Mistake] = []
    claims: list[Claim] = []
    for its_mistakes, its_claims in judged:
        mistakes += its_mistakes
        claims += its_claims
    return Judgement(tuple(mistakes), tuple(claims), tuple(answers), invented_count)
