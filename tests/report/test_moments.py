"""Moments in a report: their order, their days, and how long a job ran."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from reports import scenario_report
from scenes import NOW, Library

from aiscorr.report import document as doc
from aiscorr.report.blocks import Places, Steps, Table, span
from aiscorr.report.sections import chain as chain_section
from aiscorr.report.sections import timeline as timeline_section
from aiscorr.report.sections import verdict as verdict_section


@pytest.fixture(name="failure")
def failure_of_storage(library: Library) -> doc.FailureReport:
    """The report of a failure that storage caused."""
    return scenario_report(library, "target_killed_short_batch").failures[0]


def test_lines_of_one_moment_stand_as_in_their_file(failure: doc.FailureReport) -> None:
    """Where a clock prints whole seconds, a line without a time does not go before those above it."""
    base = replace(failure.timeline[0], weight=1, node_id=None, path="/w", source="worker", rank=None)
    at = base.at.replace(microsecond=0)
    items = [replace(base, at=at, is_exact=n != 3, line_no=n, text=f"cancel: {n}") for n in (3, 2, 1)]
    shown = timeline_section.shown_events(replace(failure, timeline=tuple(items), chains=()))
    assert [item.line_no for item, _ in shown] == [1, 2, 3]


def test_moments_days_apart_have_their_days(failure: doc.FailureReport) -> None:
    """Where the events of a log that was appended to are a day apart or more, each has its day; else none has."""
    assert failure.ended_at is not None and failure.first_error_at is not None
    late = replace(failure.timeline[0], weight=1, node_id=None, path="/w", at=failure.ended_at + timedelta(days=2))
    (table, *_) = timeline_section.blocks(replace(failure, timeline=(failure.timeline[0], late)), Places([]))
    assert isinstance(table, Table) and [str(row[0])[:11] for row in table.rows] == ["2026-09-14 ", "2026-09-16 "]
    facts = verdict_section.blocks(replace(failure, ended_at=late.at), Places([]))
    assert "first error 2026-09-14 10:21:38.002" in str(facts) and "ended 2026-09-16 10:22:40.709 (taken" in str(facts)


def test_a_job_ran_at_least_as_long_as_its_steps_took() -> None:
    """Where steps print how long they took and no time, they tell more of a job's span than its stamps."""
    assert span(NOW, NOW, None) == span(NOW, NOW, 0.5)
    assert span(NOW, NOW, 6490.4).endswith(", by its steps at least 1:48:10")
    assert span(NOW, None, None).endswith(" to a moment not known")


def test_whole_seconds_do_not_tell_what_came_first(failure: doc.FailureReport) -> None:
    """A step in the second that the error's clock prints is not called later than the error."""
    began = failure.chains[0].steps[0]
    assert began.at is not None
    whole = began.at.replace(microsecond=0)
    line = doc.CitedLine("/w", 5, None, whole, whole, "E: gone", "the error of rank 5")
    soon = doc.ChainStep("reconnect", whole + timedelta(milliseconds=200), "p1", None, "/logs/x", 40, "line 40", 1)
    cause = replace(failure.root_causes[0], supports=(line,))
    asked = doc.ChainRequest("w1", "p1", failure.culprit_ranks[0], "wid")
    chain = replace(failure.chains[0], steps=(replace(began, at=whole), soon), requests=(asked,))
    told = replace(failure, chains=(chain,), root_causes=(cause,))
    (steps,) = [block for block in chain_section.blocks(told, Places([])) if isinstance(block, Steps)]
    assert [" ".join(head.split()[1:3]) for head, _, _ in steps.items[1:3]] == ["p1 reconnect", "the error"]


def test_who_says_it(failure: doc.FailureReport) -> None:
    """An end that no rank says is the launcher's; an error or a try that names no rank may be anybody's of the job."""
    base = replace(failure.timeline[0], weight=1, node_id=None, path="/w", source="worker", rank=None)
    items = [replace(base, line_no=n, text=text) for n, text in enumerate(("retry: x", "exit: y", "error: z"), 1)]
    table, *_ = timeline_section.blocks(replace(failure, timeline=tuple(items), chains=()), Places([]))
    assert isinstance(table, Table) and [str(row[1]) for row in table.rows] == ["job", "launcher", "job"]
