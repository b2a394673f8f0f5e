"""Fits how sure an answer of a score may be: how often such answers were right, as rows of sql/160_confidence_step.sql.

Comes in: judged answers. Goes out: one confidence a step of scores, never falling. A step of few answers is drawn to
what is expected of answers that nobody has seen: rules fare better on the incidents they were made on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.accuracy.score.judge import Judged

STEPS = (0.0, 0.6, 0.7, 0.8, 0.9)
#: As if so many answers more had been given, of which this share was right.
PRIOR_COUNT, PRIOR_SHARE = 10, 0.8


@dataclass(frozen=True)
class Fitted:
    """A step of scores with what was counted and what confidence follows."""

    score_from: float
    right: int
    count: int
    confidence: float


def counted(judged: Sequence[Judged]) -> list[tuple[float, bool]]:
    """The score of the first hypothesis of every answer, and whether the answer was right."""
    return [
        (float(one.said["root_causes"][0]["score"]), one.is_allowed)
        for one in judged
        if one.said is not None and one.said["root_causes"]
    ]


def fitted(pairs: Sequence[tuple[float, bool]]) -> list[Fitted]:
    """A confidence for each step. Worked example: 89 of 90 right is 0.97, 5 of 5 is 0.87, none seen is 0.8."""
    blocks: list[list[tuple[float, int, int]]] = []
    for low, high in zip(STEPS, (*STEPS[1:], 2.0), strict=True):
        found = [is_right for score, is_right in pairs if low <= score < high]
        blocks.append([(low, sum(found), len(found))])
        while len(blocks) > 1 and _confidence(blocks[-2]) > _confidence(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return [Fitted(low, right, count, round(_confidence(block), 2)) for block in blocks for low, right, count in block]


def _confidence(block: Sequence[tuple[float, int, int]]) -> float:
    right, count = sum(one[1] for one in block), sum(one[2] for one in block)
    return (right + PRIOR_COUNT * PRIOR_SHARE) / (count + PRIOR_COUNT)


def report_of_fit(judged: Sequence[Judged]) -> str:
    """The rows for the SQL file."""
    return "\n".join(
        f"        ({one.score_from}, {one.confidence}, '{one.right} of {one.count} such answers were right')"
        for one in fitted(counted(judged))
    )
