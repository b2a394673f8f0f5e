"""What a report says of the case as a whole: suspects, coverage, the decision, the impact, and the first error."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from commands import Command
from reports import as_json, scenario_report
from scenes import NOW, Library

from aiscorr.report import document as doc
from aiscorr.report.layout import Extent
from aiscorr.report.render import render_markdown, render_text

STORAGE = "target_killed_short_batch"
DUMPS = "dumps_alone"


@pytest.fixture(name="failure")
def failure_of_storage(library: Library) -> doc.FailureReport:
    """The report of a failure that storage caused."""
    return scenario_report(library, STORAGE).failures[0]


def text_of(failure: doc.FailureReport, extent: Extent = "usual") -> str:
    """The text of the report of one failure."""
    report = doc.Report(doc.SCHEMA, NOW, "1", (failure,))
    return render_text(report, width=120, color=False, extent=extent)


def test_case_as_json(library: Library) -> None:
    """The probabilities of a failure add up to 1, and with a verdict place 1 has its statement and confidence."""
    for name in (STORAGE, DUMPS):
        for failure in as_json(scenario_report(library, name))["failures"]:
            suspects = failure["suspects"]
            assert [item["place"] for item in suspects] == list(range(1, len(suspects) + 1)) and len(suspects) <= 12
            assert sum(item["probability"] for item in suspects) == pytest.approx(1)
            assert any(item["what"] == "something that no line read shows" for item in suspects)
            if failure["failure_class"] != "undetermined":
                assert (suspects[0]["what"], suspects[0]["probability"]) == (
                    failure["statement"],
                    failure["confidence"],
                )


def test_coverage_as_json(failure: doc.FailureReport) -> None:
    """Every rank and every node of the cluster has an item, and a complete one names its span."""
    things = [item.of for item in failure.coverage]
    assert {f"rank {line.rank}" for line in failure.ranks} <= set(things) and len(things) == len(set(things))
    assert {f"node {node.node_id}" for node in failure.ais_nodes} <= set(things)
    complete = [item for item in failure.coverage if item.state == "complete"]
    assert complete and all(item.from_ and item.to and item.from_ <= item.to for item in complete)


def test_suspects_of_an_undetermined_failure(failure: doc.FailureReport) -> None:
    """An undetermined failure shows the five likeliest suspects and the coverage, a determined one only in full."""
    many = tuple(
        replace(failure.suspects[0], place=n, what=f"candidate {n}", would_decide=f"run {n}") for n in range(7)
    )
    open_one = replace(failure, storage_verdict="undetermined", suspects=many)
    text = text_of(open_one)
    assert "candidate 4" in text and "run 4" in text and "candidate 5" not in text and "2 more; all 7" in text
    assert "\nCoverage\n" in text and "Output of ranks: " in text
    for short in (text_of(failure), render_markdown(doc.Report(doc.SCHEMA, NOW, "1", (failure,)))):
        assert "Suspects\n" not in short and "Coverage\n" not in short
    full = text_of(failure, "full")
    assert "\nSuspects\n" in full and "\nCoverage\n" in full


def test_coverage_in_short(failure: doc.FailureReport) -> None:
    """What is complete is counted, and what is not is named, with the reason where it is one."""
    item = replace(failure.coverage[0], kind="output", state="complete", because="a")
    cut = [replace(item, of=f"rank {n}", rank=n, state="cut", because="it ends early") for n in (2, 3, 4)]
    node = replace(item, of="node t1", kind="log", rank=None, state="missing", because="no log of it was read")
    other = replace(node, of="node t2", because="another reason")
    text = text_of(replace(failure, coverage=(item, *cut, node, other)), "full")
    assert "Output of ranks: 1 complete; cut: ranks 2-4 (it ends early)\n" in text
    assert "Logs of AIStore: missing: node t1, node t2\n" in text


def test_first_error_without_a_printed_time(failure: doc.FailureReport) -> None:
    """A first error whose moment no line prints has a mark before its time, in text and in Markdown."""
    guessed = replace(failure, first_error_at_is="at_latest")
    for first, mark in ((failure, ""), (guessed, "~")):
        report = doc.Report(doc.SCHEMA, NOW, "1", (first,))
        for text in (render_text(report, width=200, color=False), render_markdown(report)):
            assert f"first error {mark}{first.first_error_at:%H:%M:%S}" in text


def test_full_report(library: Library, run: Command) -> None:
    """The option --full shows suspects and coverage, and changes nothing in the JSON."""
    db = library.database(STORAGE)
    assert "\nSuspects\n" in run("--db", db, "report", "--full", "--no-verify").out
    full, usual = (
        json.loads(run("--db", db, "report", "--format", "json", "--no-verify", *options).out)["failures"]
        for options in (("--full",), ())
    )
    assert full == usual


def test_why(library: Library, run: Command) -> None:
    """The query @why gives what each rule that fired begins with, what speaks for and against it, then blind rules."""
    db = library.database(STORAGE)
    rows = json.loads(run("--db", db, "query", "@why", "--format", "json").out)
    states = [row["state"] for row in rows]
    assert states[0] == "fired" and states == sorted(states, key=["fired", "blind"].index)
    failure = scenario_report(library, STORAGE).failures[0]
    assert {row["rule"] for row in rows} == {rule.finding for rule in failure.rules if rule.state != "quiet"}
    assert all(row["statement"] is row["score"] is None for row in rows if row["state"] != "fired")
    assert sum(row["statement"] is not None for row in rows) == len(
        {row["rule"] for row in rows if row["state"] == "fired"}
    )
    assert all(row["speaks"] in ("against", "start") for row in rows if (row["weight"] or 0) < 0)
    assert [row["term"] for row in rows if row["speaks"] == "start" and row["rule"] == "storage_error"] == ["error"]
    fired = [row for row in rows if row["state"] == "fired" and row["speaks"] == "for"]
    assert all(row["line"] is None or ":" in row["line"] for row in fired)
    assert all(row["line"] is not None for row in fired if row["weight"] is not None)
    added = sum(row["weight"] or 0 for row in rows if row["rule"] == rows[0]["rule"])
    assert 1 / (1 + math.exp(-added)) == pytest.approx(rows[0]["score"], abs=0.01)
