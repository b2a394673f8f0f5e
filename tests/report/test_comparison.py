"""`report A --against B`: what two failures share, and where they part."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from commands import Command
from reports import scenario_report
from scenes import Library, column

from aiscorr.report.comparison import Shared, compared

KILLED = "target_killed_short_batch"


@pytest.fixture(scope="module")
def both(library: Library) -> tuple[str, list[str]]:
    """A database with several failures, and the ids of two for which other storage nodes are held responsible."""
    db = library.several()
    return db, column(db, "select failure_id from failure where storage_verdict = 'guilty' order by failure_id limit 2")


def test_two_failures_in_every_form(both: tuple[str, list[str]], run: Command) -> None:
    """Every form names both failures, what they share and where they part; the JSON has both reports too."""
    db, (first, second) = both
    found = json.loads(run("--db", db, "report", first, "--against", second, "--format", "json").out)
    comparison = found["comparison"]
    assert (comparison["first"], comparison["second"]) == (first, second)
    assert [one["failure_id"] for one in found["failures"]] == [first, second]
    assert {"what": "storage", "value": "guilty"} in comparison["shared"]
    assert "AIStore nodes held responsible" in {one["what"] for one in comparison["parted"]}
    for form, head in (
        ("text", "Where they part\n---"),
        ("markdown", "## Where they part"),
        ("html", "<h2>Where they part"),
    ):
        text = run("--db", db, "report", first, "--against", second, "--format", form).out
        assert head in text and first in text and second in text and "killed" in text


def test_a_failure_and_itself_changed(library: Library) -> None:
    """Values of both are shared, others part; a span is alike where it differs by a fifth at most."""
    failure = scenario_report(library, KILLED).failures[0]
    same = compared(failure, replace(failure, failure_id="other"))
    assert same.parted == () and Shared("class", failure.failure_class) in same.shared
    other = compared(failure, replace(failure, failure_class="data", job=replace(failure.job, data_source=None)))
    parted = {one.what: (one.first, one.second) for one in other.parted}
    assert parted["class"] == (failure.failure_class, "data") and parted["data"][1] == "–"
    assert failure.ended_at is not None
    longer = compared(failure, replace(failure, ended_at=failure.ended_at + timedelta(hours=1)))
    assert [one.what for one in longer.parted] == ["hang until the end"]


def test_what_cannot_be_compared(both: tuple[str, list[str]], run: Command) -> None:
    """A failure is not compared with itself, with several, with nothing, or in part."""
    db, (first, _) = both
    for given, said in (
        ((first, "--against", first), "is both failures"),
        ((first, "--against", "all"), "is 5 failures"),
        ((first, "--against", "nobody"), "no failure is called 'nobody'"),
        ((first, "--against", first, "--brief"), "compares two failures, whole"),
    ):
        outcome = run("--db", db, "report", *given)
        assert (outcome.code, outcome.out) == (2, "") and said in outcome.err
