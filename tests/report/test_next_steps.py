"""What a report and an ingest tell a reader to do next: with the job, and which command to type."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from commands import Command
from packing import LOG, written
from reports import scenario_report
from scenes import NOW, Library

from aiscorr.report import document as doc
from aiscorr.report.blocks import Places
from aiscorr.report.decision_side import Decision
from aiscorr.report.layout import Extent
from aiscorr.report.render import render_text
from aiscorr.report.sections import causes as causes_section
from aiscorr.report.sections import chain as chain_section


@pytest.fixture(name="failure")
def failure_of_storage(library: Library) -> doc.FailureReport:
    """The report of a failure that storage caused."""
    return scenario_report(library, "target_killed_short_batch").failures[0]


def text_of(failure: doc.FailureReport, extent: Extent = "usual") -> str:
    """The report of one failure as text."""
    return render_text(doc.Report(doc.SCHEMA, NOW, "1", (failure,)), width=300, color=False, extent=extent)


def test_what_to_do_with_the_job_comes_first(failure: doc.FailureReport) -> None:
    """Whether the job may be started again, and why, stands above what each team does, in a brief report too."""
    told = replace(failure, decision=Decision("restart_without_hosts", ("h7",), "a device of h7 failed"))
    words = "Restart the job without h7: a device of h7 failed"
    after = text_of(told).partition("What to do\n")[2].splitlines()
    assert after[1:3] == [f"{words}.", "Storage team:"], after[:4]
    brief = text_of(told, extent="brief").splitlines()
    assert [line.split(None, 1) for line in brief if line.startswith("  job ")] == [["job", words]]


def test_repeats_to_another_address(failure: doc.FailureReport) -> None:
    """Where the repeats went to another address than the last request, each has its own."""
    last = doc.AskedFor(5, "ais://b", "o.tar", None, "10.0.0.2:51081", "t2", "missing", 6, NOW, "/w", 4)
    moved = replace(last, retry_endpoint="10.0.0.3:51081")
    same = replace(last, retry_endpoint=last.endpoint)
    whom = "ais://b/o.tar of 10.0.0.2:51081 (t2)"
    assert f"{whom}, before that 6 times of 10.0.0.3:51081 since" in text_of(replace(failure, asked_for=(moved,)))
    assert f"{whom}, tried again 6 times since" in text_of(replace(failure, asked_for=(same,)))


def test_a_chain_that_is_told_is_no_other_one(failure: doc.FailureReport) -> None:
    """A chain whose first line the verdict cites is not listed as another chain."""
    line = failure.root_causes[0].supports[0]
    step = replace(failure.chains[0].steps[0], path=line.path, line_no=line.line_no)
    named = replace(failure.chains[0], is_verdict=False, chain_id="chain-told", steps=(step,))
    other = replace(named, chain_id="chain-other", steps=(replace(step, line_no=-1),))
    told = replace(failure, chains=(*failure.chains, named, other))
    (listed,) = [str(block) for block in chain_section.blocks(told, Places([])) if "Other chains" in str(block)]
    assert "chain-other" in listed and "chain-told" not in listed


def test_only_a_link_makes_a_request_the_ranks(failure: doc.FailureReport) -> None:
    """A line that the verdict cites as the chain's first is of whoever met the trouble first, not of the rank."""
    cause = failure.root_causes[0]
    step = replace(failure.chains[0].steps[0], path="ais/log", line_no=7, wid="w-1")
    chain = replace(failure.chains[0], steps=(step,), requests=())
    for why, wids in (("the first line of the chain", []), ("the link: the same request", ["w-1"])):
        line = replace(cause.supports[0], path="ais/log", line_no=7, why=why)
        told = replace(failure, root_causes=(replace(cause, supports=(line,)),))
        assert chain_section.own_wids(told, chain) == wids


def test_blind_rules_point_to_blind_spots_that_are_there(failure: doc.FailureReport) -> None:
    """What could not be judged sends nobody to a list of blind spots that is empty."""
    said = replace(failure.rules[0], state="blind", failure_class=None, statement="the job prints too little")
    rules = (replace(said, finding="fabric", failure_class="gpu_fabric"), replace(said, finding="slowdown"))
    spot = doc.BlindSpot("the log of AIStore node t1", "it was not read", "ais log get t1")
    for spots, is_pointed in (((spot,), True), ((), False)):
        told = str(causes_section.blocks(replace(failure, rules=rules, blind=spots), Places([])))
        assert "Not seen: the job prints too little." in told and "slowdown" not in told
        assert "missing: fabric" in told and ("See the blind spots" in told) is is_pointed


def test_commands_name_the_database_of_a_flag(run: Command) -> None:
    """Who names the database by a flag is told commands with it, and an empty folder is named."""
    begin = b"2026-11-20 10:00:00,000 INFO [rank 0] begins\n2026-11-20 10:00:07,000 INFO [rank 0] step 1 done\n"
    log = written(Path("job1") / "rank0.log", begin + LOG)
    assert run("--db", "own db.duckdb", "ingest", log).out.endswith("read more: aiscorr --db 'own db.duckdb' report\n")
    Path("nothing").mkdir()
    assert run("ingest", "nothing").out.endswith("nothing: no file is in it\n")
