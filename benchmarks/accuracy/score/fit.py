"""Fits how sure an answer of a score may be: how often such answers were right, as rows of sql/160_confidence_step.sql.

Comes in: judged answers. Goes out: one confidence a step of scores, never falling, for answers that accuse storage and
for all others. Rules fare better on the incidents they were made on, so these count for a tenth, beside the answers of
the held-back parts when nobody had seen them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.accuracy.score.judge import Judged

#: Right answers and all answers of the last five parts when they were first asked, by the least score of a
#: step: those that accuse storage, and the others.
UNSEEN = {
    True: {0.0: (0, 0), 0.7: (81, 91), 0.8: (95, 98)},
    False: {0.0: (77, 142), 0.7: (103, 142), 0.8: (140, 201)},
}
STEPS = tuple(UNSEEN[True])
SEEN_WEIGHT = 0.1
#: As if so many answers more had been given, of which this share was right.
PRIOR_COUNT, PRIOR_SHARE = 10, 0.8


@dataclass(frozen=True)
class Answered:
    """An answer: whether it accuses storage, the score of its first hypothesis, whether it was right."""

    accuses: bool
    score: float
    is_right: bool


@dataclass(frozen=True)
class Fitted:
    """A step of scores with what was counted and what confidence follows."""

    accuses: bool
    score_from: float
    right: int
    count: int
    confidence: float


def counted(judged: Sequence[Judged]) -> list[Answered]:
    """Every answer with a hypothesis."""
    return [
        Answered(one.verdict == "guilty", float(one.said["root_causes"][0]["score"]), one.is_allowed)
        for one in judged
        if one.said is not None and one.said["root_causes"]
    ]


def fitted(answers: Sequence[Answered], *, accuses: bool) -> list[Fitted]:
    """A confidence for each step of the answers that accuse storage, or of the others."""
    blocks: list[list[tuple[float, int, int]]] = []
    for low, high in zip(STEPS, (*STEPS[1:], 2.0), strict=True):
        found = [one.is_right for one in answers if one.accuses == accuses and low <= one.score < high]
        blocks.append([(low, sum(found), len(found))])
        while len(blocks) > 1 and _confidence(blocks[-2], accuses) > _confidence(blocks[-1], accuses):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return [
        Fitted(accuses, low, right, count, round(_confidence(block, accuses), 2))
        for block in blocks
        for low, right, count in block
    ]


def _confidence(block: Sequence[tuple[float, int, int]], accuses: bool) -> float:
    right = sum(SEEN_WEIGHT * one[1] + UNSEEN[accuses][one[0]][0] for one in block)
    count = sum(SEEN_WEIGHT * one[2] + UNSEEN[accuses][one[0]][1] for one in block)
    return (right + PRIOR_COUNT * PRIOR_SHARE) / (count + PRIOR_COUNT)


def report_of_fit(judged: Sequence[Judged]) -> str:
    """The rows for the SQL file."""
    answers = counted(judged)
    rows = [one for accuses in (True, False) for one in fitted(answers, accuses=accuses)]
    return "\n".join(f"        {_row(one, *UNSEEN[one.accuses][one.score_from])}," for one in rows)


def _row(one: Fitted, unseen_right: int, unseen_count: int) -> str:
    counts = f"{one.right} of {one.count} such answers were right, and {unseen_right} of {unseen_count}"
    return f"({str(one.accuses).lower()}, {one.score_from}, {one.confidence}, '{counts} on incidents nobody had seen')"
