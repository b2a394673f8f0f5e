"""The fit of weights: which hypotheses are right, and how far data moves a weight."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.accuracy.score.truth import Truth, truth_of
from benchmarks.accuracy.score.weights import Hypothesis, fitted, fitted_table, hypotheses, weights_now

EXACT = truth_of(
    Path("sources/one"),
    {"expect": [{"job_id": "7", "failure_class": "gpu", "storage_verdict": "innocent", "culprit_ranks": [3]}]},
)
SOFT = truth_of(Path("posts/one"), {"soft": {"class_any": ["gpu"], "storage_any": ["undetermined"]}})
TERMS = [
    {"term": "error", "strength": 1.0, "weight": 1.73, "why": "w"},
    {"term": "wid", "strength": 0.9, "weight": None, "why": "w"},
]
NOW = {"exception": {"error": 1.0, "network": -0.5}}


def cause(**changes: Any) -> dict[str, Any]:
    """A hypothesis of a report."""
    usual = {"rule": "exception", "failure_class": "gpu", "storage_verdict": "innocent", "rank": 3, "terms": TERMS}
    return {**usual, **changes}


def found(truth: Truth, **changes: Any) -> list[Hypothesis]:
    """What the fit takes from a report of one hypothesis."""
    return hypotheses({"failures": [{"job_id": "7", "root_causes": [cause(**changes)]}]}, truth)


@pytest.mark.parametrize(
    ("truth", "changes", "is_right"),
    [
        (EXACT, {}, True),
        (EXACT, {"rank": None, "storage_verdict": "undetermined"}, True),
        (EXACT, {"failure_class": "network"}, False),
        (EXACT, {"storage_verdict": "guilty"}, False),
        (EXACT, {"rank": 4}, False),
        (SOFT, {"storage_verdict": "undetermined"}, True),
        (SOFT, {"storage_verdict": "innocent"}, False),
        (SOFT, {"failure_class": "network", "storage_verdict": "undetermined"}, False),
    ],
)
def test_a_hypothesis_is_right(truth: Truth, changes: dict[str, Any], is_right: bool) -> None:
    """Class, verdict and rank decide; what leaves a side open is not false."""
    (one,) = found(truth, **changes)
    assert (one.is_right, one.strengths, one.source) == (is_right, {"error": 1.0}, truth.folder.parent.name)


def test_what_says_nothing_is_not_counted() -> None:
    """No hypothesis is one that leaves the class open, has no term with a weight, or is of a job without a truth."""
    assert found(EXACT, failure_class="undetermined") == found(EXACT, terms=TERMS[1:]) == []
    two = truth_of(Path("a/b"), {"expect": [{"job_id": job, "failure_class": "gpu"} for job in ("1", "2")]})
    assert found(two) == []


def test_weights_follow_the_data() -> None:
    """Many right ones raise a weight and many wrong ones lower it, recorded ones more; none turns its sign."""

    def weights(right: int, wrong: int, *, is_recorded: bool = False) -> list[float]:
        rows = [
            Hypothesis("exception", {"error": 1.0, "network": 1.0}, "a", is_recorded, number < right)
            for number in range(right + wrong)
        ]
        return [one.weight for one in fitted(rows, NOW)]

    assert weights(0, 0) == [1.0, -0.5]
    better, worse = weights(30, 1), weights(1, 30)
    assert better[0] > 1.0 > worse[0] >= 0 and better[1] <= 0 and worse[1] < -0.5
    assert weights(5, 0, is_recorded=True)[0] > weights(5, 0)[0]


def test_spread_shows_what_hangs_on_one_source() -> None:
    """A weight that one source alone moves has a spread; right ones are counted by term."""
    rows = [Hypothesis("exception", {"error": 1.0}, source, True, source == "a") for source in "ab" for _ in range(9)]
    error, network = fitted(rows, NOW)
    assert (error.right, error.count, network.count) == (9, 18, 0) and error.spread > 0.3 and network.spread == 0


def test_the_table_has_every_term() -> None:
    """The weights of the program are read from its own file, and each has its line."""
    now = weights_now()
    lines = fitted_table([]).splitlines()[1:]
    assert len(lines) == sum(map(len, now.values())) and all(line.endswith("0 of 0") for line in lines)
