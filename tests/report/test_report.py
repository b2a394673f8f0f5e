"""The report: its JSON is the contract, its three forms say the same, its citations are true, and it does no harm."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from commands import Command
from reports import REPORT, as_json, controls, golden_text, misfits, scenario_report
from scenes import FIXTURES, NOW, Library, read_in, scenario_names
from truths import failures_of, mistakes

from aiscorr.report import document as doc
from aiscorr.report.render import render_json, render_markdown, render_text
from aiscorr.report.sections import sections
from fixtures.generator.__main__ import main as generate

SCENARIOS = scenario_names()
STORAGE = "target_killed_short_batch"
ANSI = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(params=SCENARIOS)
def report(request: pytest.FixtureRequest, library: Library) -> doc.Report:
    """The report of every scenario, one after the other."""
    return scenario_report(library, request.param)


def one(library: Library, name: str = STORAGE) -> doc.Report:
    """The report of one scenario."""
    return scenario_report(library, name)


def flat(text: str) -> str:
    """The text on one line."""
    return " ".join(text.split())


def test_the_contract_is_looked_at() -> None:
    """A JSON that lacks a key or has a value of another kind is found out."""
    assert misfits({"schema": "aiscorr.report/2", "generated_at": "now", "failures": [{"job": 5}]}, REPORT)[:3] == [
        "report.aiscorr_version is missing",
        "report.schema is 'aiscorr.report/2', not ('aiscorr.report/1',)",
        "report.generated_at is 'now', not ('time',)",
    ]


def check_places(report: doc.Report) -> None:
    """Hypotheses are ranked from 1 by their score, weak ones behind `undetermined`, and the first is the verdict."""
    for failure in as_json(report)["failures"]:
        causes = failure["root_causes"]
        assert [cause["place"] for cause in causes] == list(range(1, len(causes) + 1)) != []
        scores = [cause["score"] for cause in causes if cause["failure_class"] != "undetermined"]
        assert scores == sorted(scores, reverse=True)
        for key in ("failure_class", "failure_kind", "storage_verdict", "statement"):
            assert causes[0][key] == failure[key]
        assert causes[0]["score"] > 0 and 0.5 <= failure["confidence"] <= 1


def check_three_forms(report: doc.Report) -> None:
    """Text, Markdown and JSON name the same verdict, confidence, statement, ranks, nodes and chains."""
    text = flat(render_text(report, width=110, color=False))
    markdown = re.sub(r"\\(.)", r"\1", flat(render_markdown(report)))
    for failure in as_json(report)["failures"]:
        said = "; confidence that these logs cannot tell:"
        said = said if failure["storage_verdict"] == "undetermined" else ", confidence"
        verdict = f"(storage {failure['storage_verdict']}{said} {failure['confidence']:.2f},"
        ids = [failure["failure_id"], *(node["node_id"] for node in failure["ais_nodes"])]
        ids += [step for chain in failure["chains"] if chain["is_verdict"] for step in (chain["chain_id"],)]
        for form in (text, markdown):
            assert verdict in form and flat(failure["statement"]) in form
            assert [name for name in ids if name not in form] == []
        for rank in failure["culprit_ranks"]:
            assert re.search(rf" rank [^()]*(?:\([^)]*\), )*{rank} \(host| rank +[\d, -]*{rank}\b", text), rank
    assert text.count("FAILURE ") == markdown.count("# Failure ") == len(report.failures)


def check_sections(report: doc.Report) -> None:
    """Every section stands in text and Markdown in its order, or has nothing to say."""
    if not report.failures:
        return
    newest = replace(report, failures=report.failures[:1])
    lines = render_text(newest, width=110, color=False, extent="full").splitlines()
    shown = [line for line, rule in pairwise(lines) if rule == "-" * len(line) and line]
    assert shown == [section.title for section in sections() if section.title in shown]
    assert {section.title for section in sections() if section.empty} <= set(shown)
    assert re.findall(r"^## (.*)$", render_markdown(newest, extent="full"), re.MULTILINE) == shown
    usual = re.findall(r"^## (.*)$", render_markdown(newest), re.MULTILINE)
    assert usual[:2] == ["Verdict", "What to do"] and {"Triage of the worker logs", "Words"} <= set(shown) - set(usual)


def cited_places(failure: dict[str, Any]) -> Iterator[tuple[str, int, str | None]]:
    """Every line a report cites with its text: path, line number, text where it has one."""
    for cause in failure["root_causes"]:
        for line in (*cause["supports"], *cause["contradicts"]):
            assert line["check"] == "verified", line
            if line["locator"] is None:  # a dump has no lines; that its record is still there is checked above
                yield line["path"], line["line_no"], line["text"]
    for chain in failure["chains"]:
        for step in chain["steps"]:
            yield step["path"], step["line_no"], step["text"]
    for key in ("timeline", "ruled_out", "not_judged", "ranks", "triage", "counter_deltas", "clocks"):
        for item in failure[key]:
            if item["path"] and item["line_no"]:
                yield item["path"], item["line_no"], None


def lines_of(path: str) -> list[str]:
    """The lines of a file, as everyone counts them."""
    return Path(path).read_bytes().decode("utf-8").split("\n")


def check_citations(report: doc.Report) -> None:
    """Every line that is cited stands in its file at that number, word for word."""
    files: dict[str, list[str]] = {}
    for failure in as_json(report)["failures"]:
        places = list(cited_places(failure))
        assert len(places) >= 5 or failure["root_causes"][0]["supports"][0]["locator"]
        for path, line_no, text in places:
            lines = files.setdefault(path, lines_of(path))
            assert 1 <= line_no <= len(lines) and lines[line_no - 1].strip(), f"{path}:{line_no}"
            if text is not None:
                assert text in lines[line_no - 1], f"{path}:{line_no}"
        assert [item["path"] for item in failure["key_files"] if not Path(item["path"]).is_file()] == []


def check_timeline(report: doc.Report) -> None:
    """A timeline's node or rank is the one whose log it cites, or one that the cited line names."""
    for failure in report.failures:
        for item in failure.timeline:
            if item.node_id and item.path:
                line = lines_of(item.path)[(item.line_no or 1) - 1]
                assert item.node_id in item.path or item.node_id in line, item


def check_no_colours(report: doc.Report) -> None:
    """No form of the report holds control characters when it does not go to a terminal."""
    assert controls(render_text(report, width=110, color=False)) == set()
    assert controls(render_markdown(report)) == controls(render_json(report)) == set()


def check_words(report: doc.Report) -> None:
    """The glossary explains the words of this report, and no others."""
    for failure in report.failures:
        text = render_text(replace(report, failures=(failure,)), width=400, color=False, extent="full")
        body, _, words = text.partition("\nWords\n")
        for word in ("watchdog", "Flight Recorder", "shared-dm", "GFN", "Smap", "kalive"):
            is_said = re.search(rf"(?<![a-z]){word}(?![a-z])", flat(body), re.IGNORECASE) is not None
            assert (f"\n  {word} " in words) == is_said, word
        assert "\n  rank " in words


def test_json(report: doc.Report) -> None:
    """The JSON has every key of the contract; hypotheses are in order, and every citation is true."""
    assert misfits(json.loads(render_json(report)), REPORT) == []
    check_places(report)
    check_citations(report)
    check_timeline(report)


def test_forms(report: doc.Report) -> None:
    """Text and Markdown say what the JSON says, section by section, explain their words and hold no colours."""
    check_three_forms(report)
    check_sections(report)
    check_words(report)
    check_no_colours(report)


def test_colours_on_a_terminal(run: Command, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal and --color get colours, a pipe, NO_COLOR, --no-color and a file do not; the words are the same."""
    db = library.database(STORAGE)
    plain = run("--db", db, "report").out
    forced = run("--db", db, "report", "--color").out
    assert "\x1b[1;31mStorage failed this job" in forced and controls(forced) == {"\x1b"}
    words = [line.rstrip() for line in ANSI.sub("", forced).splitlines()]
    assert words[:-1] == plain.splitlines()[:-1] and not controls(plain)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "\x1b[" in run("--db", db, "report").out
    assert not controls(run("--db", db, "report", "--no-color").out)
    run("--db", db, "report", "-o", "report.txt")
    assert not controls(Path("report.txt").read_text("utf-8"))
    monkeypatch.setenv("NO_COLOR", "1")
    assert not controls(run("--db", db, "report").out)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_width(width: int, library: Library) -> None:
    """No line is wider than asked for, but for what is copied, commands, places and addresses; nothing is lost."""
    report = one(library)
    text = render_text(report, width=width, color=False)
    whole = ("    $ ", "Paths ", "aiscor")
    wide = [line for line in text.splitlines() if len(line) > width and line[:6] not in whole]
    assert [line for line in wide if len(line.removeprefix("  - ").split()) > 1] == []
    squeezed = re.sub(r"\s", "", text)
    assert re.sub(r"\s", "", report.failures[0].statement) in squeezed
    assert all(re.sub(r"\s", "", item.why) in squeezed for item in report.failures[0].recommendations)


def test_commands_of_the_report_work(report: doc.Report, run: Command, request: pytest.FixtureRequest) -> None:
    """Every query that a report advises runs and gives rows, as Markdown's code spans have it."""
    library: Library = request.getfixturevalue("library")
    name = request.node.callspec.params["report"]
    markdown = render_markdown(report, extent="full")
    found = set(re.findall(r'`aiscorr (query (?:"[^"]*"|@\w+)[^`]*)`', markdown))
    assert found or not report.failures
    assert markdown.count("aiscorr query") == len(re.findall("[`$] ?aiscorr query|(?m:^aiscorr query)", markdown))
    for command in found:
        outcome = run("--db", library.database(name), *shlex.split(command), "--format", "jsonl")
        assert outcome.code == 0 and outcome.out, command


def test_golden_reports(request: pytest.FixtureRequest) -> None:
    """The golden reports are those of the scenarios, no more and no fewer."""
    if request.config.getoption("--update-golden"):
        pytest.skip("they are being written")
    assert sorted(path.parent.parent.name for path in FIXTURES.glob("*/expected/report.txt")) == SCENARIOS


@pytest.mark.parametrize("name", SCENARIOS)
def test_golden_report(name: str, library: Library, request: pytest.FixtureRequest) -> None:
    """The report of a scenario is, word for word, the one kept beside it."""
    path = FIXTURES / name / "expected" / "report.txt"
    text = golden_text(library, name)
    if request.config.getoption("--update-golden"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8"), (
        "right? then: pytest tests/report/test_report.py --update-golden; read the diff"
    )


def test_reports_are_no_evidence(tmp_path: Path, library: Library) -> None:
    """Reports that lie beside logs are no logs, however many lines they quote: the logs are concluded as alone."""
    folder, names = shutil.copytree(FIXTURES / STORAGE, tmp_path / "logs"), SCENARIOS[::3]
    assert (folder / "expected" / "report.txt").is_file()
    for name in names:
        (folder / f"{name}.md").write_text(render_markdown(one(library, name)))
        (folder / f"{name}.json").write_text(render_json(one(library, name)))
        shutil.copy(FIXTURES / name / "expected" / "report.txt", folder / f"{name}.txt")
    db = tmp_path / "x.duckdb"
    summary = read_in(db, folder)
    assert summary.kinds == {"ais_log": 10, "worker_log": 2, "unknown": 3 + 3 * len(names)}
    truth = [{"job_id": 4184269, "culprit_ranks": [5], "failure_class": "storage_io", "ais_nodes": ["AZq6Oo53"]}]
    assert mistakes(folder, failures_of(str(db)), {"expect": truth}) == []


def test_generating_anew_keeps_golden_reports(tmp_path: Path) -> None:
    """Writing a scenario again replaces its logs and leaves its expected report alone."""
    arguments = ["--out", str(tmp_path), "--scenario", "worker_logs_only"]
    assert generate(arguments) == 0
    folder = tmp_path / "worker_logs_only"
    (folder / "expected").mkdir()
    (folder / "expected" / "report.txt").write_text("kept\n")
    (folder / "workers" / "stale.out").write_text("old\n")
    assert generate(arguments) == 0
    assert (folder / "expected" / "report.txt").read_text() == "kept\n"
    assert not (folder / "workers" / "stale.out").exists()


def test_no_failure() -> None:
    """A report without failures is a sentence, and JSON with an empty list."""
    report = doc.Report(doc.SCHEMA, NOW, "1", ())
    assert render_text(report, width=110, color=True) == render_markdown(report)
    assert "No failure was found" in render_markdown(report)
    assert json.loads(render_json(report))["failures"] == []


def test_brief(run: Command, library: Library) -> None:
    """The verdict, an advice for each team and three lines: what fits into a message."""
    db = library.database("target_killed_short_batch")
    said = run("--db", db, "report", "--brief", "--no-verify", "--width", "110").out
    assert "Storage failed this job" in said and "was killed at" in said and "\n  storage " in said
    assert len(re.findall(r"^  - ", said, re.MULTILINE)) == 3 and len(re.findall(r":\d+$", said, re.MULTILINE)) == 3
    assert "\n  ended     2026-09-14 10:22:40 taken as UTC, job 4184269, host pool3-0311\n" in said
    assert len(said.splitlines()) <= 13 and "Timeline" not in said
    narrow = run("--db", db, "report", "--brief", "--no-verify", "--width", "80").out.splitlines()
    assert len(narrow) <= 15 and max(map(len, narrow[2:])) <= 80
    assert "<h2>Verdict</h2>" in run("--db", db, "report", "--brief", "--format", "html").out
    assert run("--db", db, "report", "--brief", "--full").code == 2


@pytest.mark.parametrize(
    ("name", "begin"), [("x.html", "<!doctype"), ("x.md", "# Failure"), ("x.json", "{"), ("x.txt", "FAILURE")]
)
def test_the_name_of_the_file_says_the_form(
    name: str, begin: str, run: Command, library: Library, tmp_path: Path
) -> None:
    """Without --format the end of the file's name decides; --format has the last word."""
    db = library.database("target_killed_short_batch")
    assert run("--db", db, "report", "--no-verify", "-o", tmp_path / name).code == 0
    assert (tmp_path / name).read_text().startswith(begin)
    assert run("--db", db, "report", "--no-verify", "--format", "json", "-o", tmp_path / name).code == 0
    assert (tmp_path / name).read_text().startswith("{")
    foreign = tmp_path / f"{name}.docx"
    refused = run("--db", db, "report", "--no-verify", "-o", foreign)
    assert (refused.code, foreign.exists()) == (2, False) and "no format of a report is called .docx" in refused.err
