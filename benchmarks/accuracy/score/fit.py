"""Fits how sure an answer may be: how often such answers were right, as rows of sql/160_confidence_step.sql.

Comes in: judged answers. Goes out: a confidence for each group of answers and step of scores, never falling within a
group. Who accuses storage is right far more often than who leaves it open, and who acquits it is surer where the cause
shows by itself (a card, a host, a scheduler, a mismatch, a place) than where only an error of the job's own does, and
least where that error is about data: what is missing or unreadable may have been so in storage, without a word. Who
leaves all open is right nearly always, since lines or files are missing then; who names a class and leaves storage open
is so half of the time. Rules fare better on the incidents they were made on, so these count for a tenth, beside the
answers of the held-back parts when nobody had seen them: in full where the kinds were those that users report most, for
a quarter where they had to be such as were not there before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.accuracy.score.judge import Judged


@dataclass(frozen=True)
class Group:
    """Answers of one verdict on storage, of these classes (none: of every other), by the least scores of its steps.

    Right answers and all answers a step when nobody had seen them: `usual` of the parts of what users report and of
    AIStore's own clients, from `twenty_first` on, `odd` of the nine before it, which had to be of new kinds. Those that
    leave storage open were counted by class from `thirty_third` on.
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
    """An answer: its verdict on storage, its class, the score of its first hypothesis, whether it was right."""

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
    """A step of scores with what was counted and what confidence follows."""

    group: Group
    score_from: float
    right: int
    count: int
    confidence: float


def counted(judged: Sequence[Judged]) -> list[Answered]:
    """Every answer with a hypothesis."""
    return [
        Answered(one.verdict, one.said["failure_class"], float(one.said["root_causes"][0]["score"]), one.is_allowed)
        for one in judged
        if one.said is not None and one.said["root_causes"]
    ]


def fitted(answers: Sequence[Answered], group: Group) -> list[Fitted]:
    """A confidence for each step of the answers of a group."""
    blocks: list[list[tuple[float, int, int]]] = []
    steps = tuple(group.usual)
    for low, high in zip(steps, (*steps[1:], 2.0), strict=True):
        found = [one.is_right for one in answers if one.group is group and low <= one.score < high]
        blocks.append([(low, sum(found), len(found))])
        while len(blocks) > 1 and _confidence(blocks[-2], group) > _confidence(blocks[-1], group):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return [
        Fitted(group, low, right, count, round(_confidence(block, group), 2))
        for block in blocks
        for low, right, count in block
    ]


def _confidence(block: Sequence[tuple[float, int, int]], group: Group) -> float:
    right, count = (
        sum(SEEN_WEIGHT * one[1 + k] + group.usual[one[0]][k] + ODD_WEIGHT * group.odd[one[0]][k] for one in block)
        for k in (0, 1)
    )
    return (right + PRIOR_COUNT * PRIOR_SHARE) / (count + PRIOR_COUNT)


def report_of_fit(judged: Sequence[Judged]) -> str:
    """The rows for the SQL file."""
    answers = counted(judged)
    return "\n".join(f"        {_row(one)}," for group in GROUPS for one in fitted(answers, group))


def _row(one: Fitted) -> str:
    (right, count), (odd_right, odd_count) = one.group.usual[one.score_from], one.group.odd[one.score_from]
    seen = f"{one.right} of {one.count} such answers were right" if one.count else "none such was given of late"
    odd = f", and {odd_right} of {odd_count} on odd ones" if odd_count else ""
    reason = f"{seen}, on incidents nobody had seen {right} of {count}{odd}"
    classes = str(list(one.group.classes)) if one.group.classes else "null"
    return f"('{one.group.verdict}', {classes}, {one.score_from}, {one.confidence}, '{reason}')"
