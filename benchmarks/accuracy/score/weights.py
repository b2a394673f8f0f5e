"""Fits the weights of rules: how much each term of a hypothesis tells whether it is right.

Comes in: kept reports and their truths. Goes out: for each row of sql/facts/rule_term.csv the weight that is there, the
one that the data would have, and on how many hypotheses that rests. A hypothesis is right if its class is one that the
truth allows, its verdict on storage is not the opposite, and its rank is a culprit.

Each rule is a logistic regression of its own, held near the weights that are there (a normal prior), as most terms are
seen a few times only. Hypotheses of recorded logs count tenfold, and no sign turns round. Each source is left out once
(`spread`): a weight that hangs on one kind of logs shows.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from aiscorr.catalog.explain import constants
from benchmarks.accuracy.score.truth import Expected, Json, Soft, Truth

RECORDED_WEIGHT = 10.0
#: How far a weight may reasonably lie from the one that is there, in log-odds.
PRIOR_WIDTH = 0.5
_STEPS, _RATE = 400, 2.0
Weights = dict[str, float]


@dataclass(frozen=True)
class Hypothesis:
    """A hypothesis of a report: its rule, the strengths of its terms, where it is from, and is it right?"""

    rule: str
    strengths: Mapping[str, float]
    source: str
    is_recorded: bool
    is_right: bool


@dataclass(frozen=True)
class Fitted:
    """A term with its weight now and as fitted; `spread`: how far it moves when a source is left out."""

    rule: str
    term: str
    now: float
    weight: float
    spread: float
    right: int
    count: int


def hypotheses(report: Json, truth: Truth) -> list[Hypothesis]:
    """Every hypothesis of a report whose truth is known."""
    found = []
    for failure in report.get("failures", []):
        for cause in failure.get("root_causes", []):
            is_right = _is_right(cause, failure, truth)
            strengths = {one["term"]: one["strength"] for one in cause["terms"] if one["weight"] is not None}
            if is_right is not None and strengths and cause["failure_class"] != "undetermined":
                source = truth.folder.parent.name
                found.append(Hypothesis(cause["rule"], strengths, source, not truth.is_generated, is_right))
    return found


def _is_right(cause: Json, failure: Json, truth: Truth) -> bool | None:
    if truth.soft is not None:
        return _fits(cause, truth.soft)
    jobs = {one.job_id: one for one in truth.expected}
    expected = jobs.get(str(failure["job_id"]), truth.expected[0] if len(truth.expected) == 1 else None)
    return None if expected is None else _is_of(cause, expected)


def _is_of(cause: Json, expected: Expected) -> bool:
    opposite = {"guilty": "innocent", "innocent": "guilty"}.get(cause["storage_verdict"])
    is_false = bool(expected.verdicts) and opposite in expected.verdicts
    is_other_rank = cause["rank"] is not None and cause["rank"] not in (expected.culprits or (cause["rank"],))
    return cause["failure_class"] in expected.classes and not is_false and not is_other_rank


def _fits(cause: Json, soft: Soft) -> bool:
    name, verdict = cause["failure_class"], cause["storage_verdict"]
    is_class = name not in soft.classes_not and (soft.classes_any is None or name in soft.classes_any)
    is_verdict = verdict not in soft.verdicts_not and (soft.verdicts_any is None or verdict in soft.verdicts_any)
    return is_class and (is_verdict or verdict == "undetermined") and cause["rank"] not in soft.culprits_not


def weights_now() -> dict[str, Weights]:
    """The weights that are there, by rule and term."""
    found: dict[str, Weights] = defaultdict(dict)
    with closing(constants()) as connection:
        for rule, term, weight in connection.execute("select rule, term, weight from rule_term").fetchall():
            found[rule][term] = float(weight)
    return dict(found)


def fitted(found: Sequence[Hypothesis], now: Mapping[str, Weights]) -> list[Fitted]:
    """Each term with its fitted weight, in the order of the file."""
    result = []
    for rule, weights in now.items():
        own = [one for one in found if one.rule == rule]
        best = _fit(own, weights)
        others = [_fit([one for one in own if one.source != source], weights) for source in {one.source for one in own}]
        for term, weight in weights.items():
            seen = [one for one in own if term in one.strengths]
            spread = max((abs(other[term] - best[term]) for other in others), default=0.0)
            right = sum(one.is_right for one in seen)
            result.append(Fitted(rule, term, weight, round(best[term], 2), round(spread, 2), right, len(seen)))
    return result


def _fit(found: Iterable[Hypothesis], prior: Weights) -> Weights:
    """The most likely weights, by steps uphill; each step is scaled by the rows that there are."""
    rows = [(one.strengths, RECORDED_WEIGHT if one.is_recorded else 1.0, one.is_right) for one in found]
    total = 1 / PRIOR_WIDTH**2 + sum(weight * max(strengths.values()) for strengths, weight, _ in rows)
    best = dict(prior)
    for _ in range(_STEPS):
        slope = {term: (prior[term] - best[term]) / PRIOR_WIDTH**2 for term in best}
        for strengths, weight, is_right in rows:
            odds = sum(best[term] * strength for term, strength in strengths.items())
            miss = weight * (is_right - 1 / (1 + math.exp(-odds)))
            for term, strength in strengths.items():
                slope[term] += miss * strength
        for term, value in slope.items():
            moved = best[term] + _RATE * value / total
            best[term] = max(moved, 0.0) if prior[term] > 0 else min(moved, 0.0)
    return best


def fitted_table(found: Sequence[Hypothesis]) -> str:
    """A line a term: now, fitted, how far it moves without a source, right and all hypotheses that have it."""
    lines = [f"{'rule':20} {'term':22} {'now':>6} {'fitted':>6} {'spread':>6}  right of"]
    for one in fitted(found, weights_now()):
        numbers = f"{one.now:6.2f} {one.weight:6.2f} {one.spread:6.2f}"
        lines.append(f"{one.rule:20} {one.term:22} {numbers}  {one.right} of {one.count}")
    return "\n".join(lines)
