"""What a report says of its own length and moments is what the queries that it names give."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from commands import Command
from reports import scenario_report
from scenes import Library, rows

from aiscorr.report.blocks import clock_between
from aiscorr.report.render import render_text

SCENARIOS = ["target_killed_short_batch", "clocks_new_year", "noisy_storage_then_deadlock"]


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_query_gives_as_many_rows_as_are_announced(name: str, run: Command, library: Library) -> None:
    """Where a report counts what a query would show, the query has so many rows."""
    db = library.database(name)
    text = " ".join(render_text(scenario_report(library, name), width=4000, color=False).split())
    told = re.findall(r'all (\d+)(?: events, with those above)?: aiscorr (query "[^"]*")', text)
    assert told
    for count, command in told:
        assert len(run("--db", db, *shlex.split(command), "--format", "jsonl").out.splitlines()) == int(count)


@pytest.mark.parametrize("name", SCENARIOS)
def test_evidence_has_the_moments_of_the_report(name: str, run: Command, library: Library) -> None:
    """@evidence says of each line the moment that the report says, with its ~ or `after`, and both ends of it."""
    db = library.database(name)
    out = run("--db", db, "query", "@evidence", "--format", "jsonl").out
    found = {(item["path"], item["line_no"], item["why"]): item for item in map(json.loads, out.splitlines())}
    lines = [
        line
        for cause in scenario_report(library, name).failures[0].root_causes
        for line in (*cause.supports, *cause.contradicts)
    ]
    assert lines and len(rows(db, "from evidence")) == len(out.splitlines())
    for line in lines:
        moment = clock_between(line.at, line.latest_at, is_estimate=line.is_estimate)
        assert (found[line.path, line.line_no, line.why]["moment"] or "") == moment


def test_some_moment_is_estimated(run: Command, library: Library) -> None:
    """An error that prints no time has a ~ in @evidence."""
    out = run("--db", library.database("clocks_new_year"), "query", "@evidence", "--format", "jsonl").out
    assert any(str(item["moment"]).startswith("~") for item in map(json.loads, out.splitlines()))
