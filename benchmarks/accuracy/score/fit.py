"""Fits how sure an answer of a score may be: how often such answers were right, as rows of sql/160_confidence_step.sql.

Comes in: judged answers. Goes out: one confidence a step of scores, never falling. Rules fare better on the incidents
they were made on, so these count for a third, beside the answers of the only part that nobody had seen when it was
asked (the known part, the first time).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.accuracy.score.judge import Judged

#: Right answers and all answers of the known part when it was first asked, by the least score of a step.
UNSEEN = {0.0: (5, 9), 0.6: (2, 4), 0.7: (17, 20), 0.8: (44, 44), 0.9: (21, 22)}
STEPS = tuple(UNSEEN)
SEEN_WEIGHT = 1 / 3
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
    """A confidence for each step. Worked example: of 44 answers 42 are right, so are 17 of 20 unseen ones: 0.87."""
    blocks: list[list[tuple[float, int, int]]] = []
    for low, high in zip(STEPS, (*STEPS[1:], 2.0), strict=True):
        found = [is_right for score, is_right in pairs if low <= score < high]
        blocks.append([(low, sum(found), len(found))])
        while len(blocks) > 1 and _confidence(blocks[-2]) > _confidence(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return [Fitted(low, right, count, round(_confidence(block), 2)) for block in blocks for low, right, count in block]


def _confidence(block: Sequence[tuple[float, int, int]]) -> float:
    right = sum(SEEN_WEIGHT * one[1] + UNSEEN[one[0]][0] for one in block)
    count = sum(SEEN_WEIGHT * one[2] + UNSEEN[one[0]][1] for one in block)
    return (right + PRIOR_COUNT * PRIOR_SHARE) / (count + PRIOR_COUNT)


def report_of_fit(judged: Sequence[Judged]) -> str:
    """The rows for the SQL file."""
    return "\n".join(
        f"        ({one.score_from}, {one.confidence}, '{one.right} of {one.count} such answers were right, and "
        f"{UNSEEN[one.score_from][0]} of {UNSEEN[one.score_from][1]} on incidents nobody had seen'),"
        for one in fitted(counted(judged))
    )
