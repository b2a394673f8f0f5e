"""Jobs that hang and have no failure yet: how a report says who stands apart."""

from __future__ import annotations

import json

import pytest
from scenes import NOW

from aiscorr.report import document as doc
from aiscorr.report.html import render_html
from aiscorr.report.render import render_json, render_markdown, render_text


def report_of(*, is_still: bool) -> doc.Report:
    """A report without a failure, of a job whose name would clear the screen."""
    said = "Rank 2 is in read while 3 ranks wait"
    return doc.Report(
        doc.SCHEMA, NOW, "1", (), (doc.StandingApart("j\x1b[2J", (2,), is_still, False, said, "/r2", 15),)
    )


@pytest.mark.parametrize("is_still", [False, True])
def test_every_form_says_who_and_where(is_still: bool) -> None:
    """Every form says who stands where, and how to make sure unless a second set of stacks did."""
    report = report_of(is_still=is_still)
    for text in (render_text(report, width=300, color=False), render_markdown(report), render_html(report)):
        assert "No failure was found" in text and "A job may hang now:" in text
        assert "Rank 2 is in read while 3 ranks wait" in text and "/r2:15" in text
        assert ("aiscorr collect stacks" in text) != is_still
        assert "\x1b" not in text


def test_json() -> None:
    """The JSON has the ranks as numbers beside the empty list of failures."""
    found = json.loads(render_json(report_of(is_still=False)))
    assert (found["failures"], found["standing_apart"][0]["ranks"]) == ([], [2])
