"""Fits how sure an answer may be: how often such answers were right, as rows of the view `confidence_step`.

Comes in: answers. Goes out: a confidence for each group of answers and step of scores, never falling within a group.
Who accuses storage is right far more often than who leaves it open, and who acquits it is surer where the cause shows
alone (a card, a host, a scheduler, a mismatch) than where only an error of the job's own does, and least where that
error is about data: what is missing or unreadable may have been so in storage, without a word. Rules fare better on
incidents that they were made on, so these count for a tenth.

`GROUPS` holds how often answers were right on generated incidents when nobody had seen them. These counts cannot be
made again: each part of the incidents was new only once, with the rules of its day. `fit` adds answers of now.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.accuracy.score.mistakes import Answer


@dataclass(frozen=True)
class Group:
    """Answers of one verdict on storage, of these classes (none: of every other), by the least scores of its steps.

    Right answers and all answers a step when nobody had seen them: `usual` of incidents such as users report, `odd` of
    those that had to be of kinds that were not there before.
    """

    verdict: str
    classes: tuple[str, ...]
    usual: dict[float, tuple[int, int]]
    odd: dict[float, tuple[int, int]]


#: The first group that fits an answer is its own.
GROUPS = (
    Group(
        "guilty",
        (),
        {0.0: (18, 26), 0.7: (289, 303), 0.8: (725, 738)},
        {0.0: (13, 18), 0.7: (117, 124), 0.8: (185, 186)},
    ),
    Group(
        "innocent",
        ("gpu", "infrastructure", "collective_mismatch", "rank_hang"),
        {0.0: (605, 625)},
        {0.0: (212, 242)},
    ),
    Group("innocent", ("data", "data_loading_stall"), {0.0: (151, 182)}, {0.0: (60, 93)}),
    Group("innocent", (), {0.0: (395, 446)}, {0.0: (242, 280)}),
    Group("undetermined", ("undetermined",), {0.0: (41, 44)}, {0.0: (0, 0)}),
    Group("undetermined", (), {0.0: (27, 46)}, {0.0: (0, 0)}),
)
SEEN_WEIGHT, ODD_WEIGHT = 0.1, 0.25
#: As if so many answers more had been given, of which this share was right.
PRIOR_COUNT, PRIOR_SHARE = 10, 0.8


@dataclass(frozen=True)
class Answered:
    """An answer: its verdict on storage, its class, the score of its first hypothesis (0 to 1), and is it right?"""

    verdict: str
    failure_class: str
    score: float
    is_right: bool

    @property
    def group(self) -> Group:
        """The group it belongs to."""
        return next(
            one
            for one in GROUPS
            if one.verdict == self.verdict and (not one.classes or self.failure_class in one.classes)
        )


@dataclass(frozen=True)
class Fitted:
    """A step of scores with how many seen answers were counted and what confidence follows."""

    group: Group
    score_from: float
    right: int
    count: int
    confidence: float


def answered(answers: Iterable[Answer]) -> list[Answered]:
    """Every answer with a hypothesis; right is it as a whole, verdict, culprits, class and nodes."""
    return [
        Answered(one.verdict, one.said["failure_class"], float(one.said["root_causes"][0]["score"]), one.is_right)
        for one in answers
        if one.said is not None and one.said["root_causes"]
    ]


def seen_counts(answers: Sequence[Answered], group: Group) -> dict[float, tuple[int, int]]:
    """How many of the answers of a group are right, and how many there are, by the least score of the step."""
    steps = tuple(group.usual)
    inside = {
        low: [one.is_right for one in answers if one.group is group and low <= one.score < high]
        for low, high in zip(steps, (*steps[1:], 2.0), strict=True)
    }
    return {low: (sum(found), len(found)) for low, found in inside.items()}


def fitted(seen: dict[float, tuple[int, int]], group: Group) -> list[Fitted]:
    """A confidence for each step of a group; neighbours that would fall are taken together."""
    blocks: list[list[float]] = []
    for step in group.usual:
        blocks.append([step])
        while len(blocks) > 1 and _confidence(blocks[-2], seen, group) > _confidence(blocks[-1], seen, group):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return [
        Fitted(group, step, *seen[step], round(_confidence(block, seen, group), 2))
        for block in blocks
        for step in block
    ]


def _confidence(block: Sequence[float], seen: dict[float, tuple[int, int]], group: Group) -> float:
    right, count = (
        sum(SEEN_WEIGHT * seen[step][k] + group.usual[step][k] + ODD_WEIGHT * group.odd[step][k] for step in block)
        for k in (0, 1)
    )
    return (right + PRIOR_COUNT * PRIOR_SHARE) / (count + PRIOR_COUNT)


def fitted_rows(answers: Iterable[Answer]) -> str:
    """The rows for the SQL file."""
    found = answered(answers)
    steps = [step for group in GROUPS for step in fitted(seen_counts(found, group), group)]
    return "\n".join(f"        {_row(step)}," for step in steps)


def reason(one: Fitted) -> str:
    """What was counted, as the view says it."""
    (right, count), (odd_right, odd_count) = one.group.usual[one.score_from], one.group.odd[one.score_from]
    seen = f"{one.right} of {one.count} such answers were right" if one.count else "none such was given of late"
    odd = f", and {odd_right} of {odd_count} on odd ones" if odd_count else ""
    return f"{seen}, on incidents nobody had seen {right} of {count}{odd}"


def _row(one: Fitted) -> str:
    classes = str(list(one.group.classes)) if one.group.classes else "null"
    return f"('{one.group.verdict}', {classes}, {one.score_from}, {one.confidence}, '{reason(one)}')"
