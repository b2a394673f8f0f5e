"""The report: its JSON is the contract, its three forms say the same, its citations are true, and it does no harm."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from commands import Command
from reports import REPORT, as_json, golden_text, misfits, report_of, with_text
from scenes import FIXTURES, NOW, Library, column, parts_of, read_in, rows, scenario_names
from truths import differences, failures_of

from aiscorr.report import document as doc
from aiscorr.report.blocks import Places, cited, clock, clock_between, number, ranges, shorten
from aiscorr.report.render import render_json, render_markdown, render_text
from aiscorr.report.sections import sections
from fixtures.generator.__main__ import main as generate

SCENARIOS = scenario_names()
STORAGE = "target_killed_short_batch"
ANSI = re.compile(r"\x1b\[[0-9;]*m")
CELL = re.compile(r"(?<!\\)(?:\\\\)*\|")


@pytest.fixture(params=SCENARIOS)
def report(request: pytest.FixtureRequest, library: Library) -> doc.Report:
    """The report of every scenario, one after the other."""
    return report_of(library.database(request.param))


def one(library: Library, name: str = STORAGE) -> doc.Report:
    """The report of one scenario."""
    return report_of(library.database(name))


def flat(text: str) -> str:
    """The text on one line."""
    return " ".join(text.split())


def controls(text: str) -> set[str]:
    """The characters of a text that a terminal would obey."""
    return {letter for letter in text if letter != "\n" and (ord(letter) < 32 or 127 <= ord(letter) < 160)}


def test_json_is_the_contract(report: doc.Report) -> None:
    """The JSON has every key of the contract, each with a value of its kind."""
    assert misfits(json.loads(render_json(report)), REPORT) == []


def test_the_contract_is_looked_at() -> None:
    """A JSON that lacks a key or has a value of another kind is found out."""
    assert misfits({"schema": "aiscorr.report/2", "generated_at": "now", "failures": [{"job": 5}]}, REPORT)[:3] == [
        "report.aiscorr_version is missing",
        "report.schema is 'aiscorr.report/2', not ('aiscorr.report/1',)",
        "report.generated_at is 'now', not ('time',)",
    ]


def test_places_are_in_order(report: doc.Report) -> None:
    """Hypotheses are ranked from 1 by their score, weak ones behind `undetermined`, and the first is the verdict."""
    for failure in as_json(report)["failures"]:
        causes = failure["root_causes"]
        assert [cause["place"] for cause in causes] == list(range(1, len(causes) + 1)) != []
        scores = [cause["score"] for cause in causes if cause["failure_class"] != "undetermined"]
        assert scores == sorted(scores, reverse=True)
        for key in ("failure_class", "failure_kind", "storage_verdict", "statement"):
            assert causes[0][key] == failure[key]
        assert causes[0]["score"] > 0 and 0.5 <= failure["confidence"] <= 1


def test_three_forms_say_the_same(report: doc.Report) -> None:
    """Text, Markdown and JSON name the same verdict, confidence, statement, ranks, nodes and chains."""
    text = flat(render_text(report, width=110, color=False))
    markdown = re.sub(r"\\(.)", r"\1", flat(render_markdown(report)))
    for failure in as_json(report)["failures"]:
        verdict = f"(storage {failure['storage_verdict']}, confidence {failure['confidence']:.2f},"
        ids = [failure["failure_id"], *(node["node_id"] for node in failure["ais_nodes"])]
        ids += [step for chain in failure["chains"] if chain["is_verdict"] for step in (chain["chain_id"],)]
        for form in (text, markdown):
            assert verdict in form and flat(failure["statement"]) in form
            assert [name for name in ids if name not in form] == []
        for rank in failure["culprit_ranks"]:
            assert re.search(rf" rank [^()]*(?:\([^)]*\), )*{rank} \(host| rank +[\d, -]*{rank}\b", text), rank
    assert text.count("FAILURE ") == markdown.count("# Failure ") == len(report.failures)


def test_every_section_is_there(report: doc.Report) -> None:
    """Every section stands in text and Markdown in its order, or has nothing to say."""
    if not report.failures:
        return
    newest = replace(report, failures=report.failures[:1])
    lines = render_text(newest, width=110, color=False).splitlines()
    shown = [line for line, rule in pairwise(lines) if rule == "-" * len(line) and line]
    assert shown == [section.title for section in sections() if section.title in shown]
    assert {section.title for section in sections() if section.empty} <= set(shown)
    assert re.findall(r"^## (.*)$", render_markdown(newest), re.MULTILINE) == shown


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


def test_every_citation_is_true(report: doc.Report) -> None:
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


def test_citations_name_the_events(report: doc.Report) -> None:
    """A timeline's node or rank is the one whose log it cites, or one that the cited line names."""
    for failure in report.failures:
        for item in failure.timeline:
            if item.node_id and item.path:
                line = lines_of(item.path)[(item.line_no or 1) - 1]
                assert item.node_id in item.path or item.node_id in line, item


def test_no_colours_in_a_pipe(report: doc.Report) -> None:
    """No form of the report holds control characters when it does not go to a terminal."""
    assert controls(render_text(report, width=110, color=False)) == set()
    assert controls(render_markdown(report)) == controls(render_json(report)) == set()


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
    wide = [line for line in text.splitlines() if len(line) > width and line[:6] not in ("    $ ", "Paths ")]
    assert [line for line in wide if len(line.removeprefix("  - ").split()) > 1] == []
    squeezed = re.sub(r"\s", "", text)
    assert re.sub(r"\s", "", report.failures[0].statement) in squeezed
    assert all(re.sub(r"\s", "", item.why) in squeezed for item in report.failures[0].recommendations)


NASTY = "a|b `c` <script> *d* _e_ [f](g) \\| \\ # \t ``h``"


def table_rows(markdown: str) -> list[list[str]]:
    """The rows of all tables of a Markdown text, cut at the bars that are not escaped."""
    lines = [line for line in markdown.splitlines() if line.startswith("| ")]
    return [CELL.split(line)[1:-1] for line in lines]


def test_markdown_tables_survive(library: Library) -> None:
    """Bars, backticks and angle brackets of a log break no table of the Markdown and become no markup."""
    report = one(library)
    plain = table_rows(render_markdown(report))
    word = "shared-dm"
    assert sum(word in item.text for item in report.failures[0].timeline) > 2
    odd = render_markdown(with_text(report, word, NASTY))
    assert [len(row) for row in table_rows(odd)] == [len(row) for row in plain]
    assert not re.search(r"(?<!\\)<script", odd)
    assert re.sub(r"\\(.)", r"\1", odd).count("a|b `c` <script>") >= 3


def test_markdown_paths_survive(library: Library) -> None:
    """A path with a bar or a backtick breaks neither its table nor its code span."""
    report = one(library)
    plain = table_rows(render_markdown(report))
    odd = render_markdown(with_text(report, "aistarget.", "a|b`c."))
    assert [len(row) for row in table_rows(odd)] == [len(row) for row in plain]
    assert "`` ais/gREiOVxt/a\\|b`c." in odd


SECRETS = {
    "signature": "http://10.0.0.1:51080/v1/objects/b/o?X-Amz-Signature=5ecre7s1g&X-Amz-Expires=60",
    "bearer": "Authorization: Bearer 5ecre7.t0ken-abc",
    "user": "https://someone:5ecre7pass@s3.example.com/bucket",
    "google": "GET https://storage.example.com/o?X-Goog-Credential=5ecre7goog HTTP/1.1",
}


def changed_copy(library: Library, folder: Path, tail: str, *, only: str = "") -> Path:
    """A copy of an incident in which every line that holds a word has a tail."""
    copy = Path(shutil.copytree(library.folder(STORAGE), folder))
    for part in parts_of(copy):
        for path in part.rglob("*"):
            if path.is_file():
                lines = path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
                changed = "".join(f"{line}{tail if only in line else ''}\n" for line in lines)
                path.write_bytes(changed.encode())
    return copy


@pytest.mark.parametrize("only", ["AISBatchLoaderError", "failed to transmit"])
def test_secrets_of_a_cited_line(only: str, library: Library, tmp_path: Path) -> None:
    """Signatures, tokens and passwords in a cited line reach no report, and the line still verifies."""
    tail = " " + " ".join(SECRETS.values())
    copy = changed_copy(library, tmp_path / "logs", tail, only=only)
    db = str(tmp_path / "x.duckdb")
    read_in(db, *parts_of(copy))
    report = report_of(db)
    for form in (render_text(report, width=200, color=False), render_markdown(report), render_json(report)):
        assert "5ecre7" not in form
    assert report.failures[0].storage_verdict == "guilty"
    assert {line.check for line in report.failures[0].root_causes[0].supports} == {"verified"}


def test_secrets_stay_out_of_the_database(library: Library, tmp_path: Path) -> None:
    """Signatures, tokens and passwords of the logs are nowhere in the database."""
    copy = changed_copy(library, tmp_path / "logs", " " + " ".join(SECRETS.values()))
    db = str(tmp_path / "x.duckdb")
    read_in(db, *parts_of(copy))
    tables = column(db, "select table_name from duckdb_tables() where not internal")
    held = [name for name in tables if rows(db, f"select 1 from \"{name}\" as t where t::varchar like '%5ecre7%'")]
    assert held == []


def test_control_characters_are_not_obeyed(library: Library, tmp_path: Path, run: Command) -> None:
    """Escape sequences in logs and file names reach no terminal, and change no conclusion."""
    tail = " \x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b1A\x08\x7f"
    copy = changed_copy(library, tmp_path / "lo\x1b[2Jgs", tail)
    (copy / "no\x1b[31mte").write_text("nothing\n")
    outcome = run("ingest", copy, "no\x07ne")
    assert outcome.code == 3 and "x1b[31mte" in outcome.out and controls(outcome.out) == set()
    for form in ("text", "markdown", "json"):
        outcome = run("report", "--format", form)
        assert controls(outcome.out) == set() and "owned" in outcome.out and "guilty" in outcome.out
    (failure,) = report_of("aiscorr.duckdb").failures
    assert failure.culprit_ranks == (5,)
    assert {line.check for line in failure.root_causes[0].supports} == {"verified"}
    assert controls(run("-v", "verify").out) == controls(run("query", "@timeline").out) == set()


def test_commands_of_the_report_work(report: doc.Report, run: Command, request: pytest.FixtureRequest) -> None:
    """Every query that a report advises runs and gives rows, as Markdown's code spans have it."""
    library: Library = request.getfixturevalue("library")
    name = request.node.callspec.params["report"]
    markdown = render_markdown(report)
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
    """A report that lies beside logs is no log, however many lines of logs it quotes."""
    db, names = tmp_path / "x.duckdb", SCENARIOS[::3]
    for name in names:
        (tmp_path / "forms").mkdir(exist_ok=True)
        (tmp_path / "forms" / f"{name}.md").write_text(render_markdown(one(library, name)))
        (tmp_path / "forms" / f"{name}.json").write_text(render_json(one(library, name)))
    summary = read_in(db, tmp_path / "forms", *(FIXTURES / name / "expected" for name in names))
    assert summary.kinds == {"unknown": 3 * len(names)} and summary.event_count == 0
    assert column(db, "select failure_id from failure") == []


def test_a_report_beside_the_logs_changes_nothing(tmp_path: Path) -> None:
    """A scenario's whole folder, its golden report included, is concluded as without it."""
    folder = shutil.copytree(FIXTURES / STORAGE, tmp_path / "logs")
    assert (folder / "expected" / "report.txt").is_file()
    db = tmp_path / "x.duckdb"
    summary = read_in(db, folder)
    assert summary.kinds == {"ais_log": 10, "worker_log": 2, "unknown": 3}
    truth = [{"job_id": 4184269, "culprit_ranks": [5], "failure_class": "storage_io", "ais_nodes": ["AZq6Oo53"]}]
    assert differences(truth, failures_of(str(db))) == []


def test_generating_anew_keeps_golden_reports(tmp_path: Path) -> None:
    """Writing a scenario anew replaces its logs and leaves its expected report alone."""
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


def test_words_of_the_report(report: doc.Report) -> None:
    """The glossary explains the words of this report, and no others."""
    for failure in report.failures:
        text = render_text(replace(report, failures=(failure,)), width=400, color=False)
        body, _, words = text.partition("\nWords\n")
        for word in ("watchdog", "Flight Recorder", "shared-dm", "GFN", "Smap", "kalive"):
            is_said = re.search(rf"(?<![a-z]){word}(?![a-z])", flat(body), re.IGNORECASE) is not None
            assert (f"\n  {word} " in words) == is_said, word
        assert "\n  rank " in words


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((), ""),
        ((5,), "5"),
        ((0, 1, 2, 5), "0-2, 5"),
        ((7, 3, 4), "3-4, 7"),
        (tuple(range(1024)), "0-1023"),
        (tuple(range(0, 4096, 8)), "0, 8, … 4088"),
        ((1, 2, *range(8, 64, 8), 70), "1-2, 8, 16, … 56, 70"),
        ((0, 8, 16, 24, 32), "0, 8, 16, 24, 32"),
        (tuple(n * n for n in range(30)), "0-1, " + ", ".join(str(n * n) for n in range(2, 25)) + " and 5 more"),
    ],
)
def test_ranges(numbers: tuple[int, ...], text: str) -> None:
    """Ranks that follow each other, or are equally far apart, are written as one; of very many the first are shown."""
    assert ranges(numbers) == text


def test_small_words() -> None:
    """Times, numbers and places are written the same everywhere."""
    early, late = datetime(2026, 9, 14, 10, 20, 36), datetime(2026, 9, 14, 10, 21, 38, 342999)
    assert (clock(late), clock(late, is_exact=False), clock(None)) == ("10:21:38.342", "~10:21:38.342", "?")
    assert clock_between(early, late) == "after 10:20:36" and clock_between(None, late) == ""
    assert clock_between(late, late) == clock_between(late, None) == "10:21:38.342"
    assert (number(None), number(1234), number(0.44), number(12.0)) == ("–", "1,234", "0.4", "12")
    assert shorten("a\n  b " * 100, 10) == "a b a b a…" and shorten("short") == "short"
    assert cited("text", "") == "text" and cited("text", "a:1") == "text\n@ a:1"


def test_paths_are_shortened() -> None:
    """The folder that all paths share is named once, and a path outside of it stays whole."""
    places = Places(["/a/b/x/1.log", "/a/b/y.tar!m/2.log", "", "/a/b/x/3.log"])
    assert (places.root, places.path("/a/b/x/1.log"), places.path("/a/c")) == ("/a/b", "x/1.log", "/a/c")
    assert places.line("/a/b/x/1.log", 7) == "x/1.log:7" and places.line("/a/b/x", None) == "x"
    assert places.path(None) == places.line(None, 3) == "" and Places(["/1", "/2"]).root == ""
