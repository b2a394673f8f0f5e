"""What a log holds does no harm in a report: no markup, no secrets, nothing that a terminal would obey."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from commands import Command
from reports import controls, report_of, scenario_report, with_text
from scenes import Library, parts_of, read_in

from aiscorr.report.render import render_json, render_markdown, render_text
from aiscorr.store.database import reading

STORAGE = "target_killed_short_batch"
CELL = re.compile(r"(?<!\\)(?:\\\\)*\|")
NASTY = "a|b `c` <script> *d* _e_ [f](g) \\| \\ # \t ``h``"


def table_rows(markdown: str) -> list[list[str]]:
    """The rows of all tables of a Markdown text, cut at the bars that are not escaped."""
    lines = [line for line in markdown.splitlines() if line.startswith("| ")]
    return [CELL.split(line)[1:-1] for line in lines]


def test_markdown_tables_survive(library: Library) -> None:
    """Bars, backticks and angle brackets of a log break no table of the Markdown and become no markup."""
    report = scenario_report(library, STORAGE)
    plain = table_rows(render_markdown(report))
    word = "shared-dm"
    assert sum(word in item.text for item in report.failures[0].timeline) > 2
    odd = render_markdown(with_text(report, word, NASTY))
    assert [len(row) for row in table_rows(odd)] == [len(row) for row in plain]
    assert not re.search(r"(?<!\\)<script", odd)
    assert re.sub(r"\\(.)", r"\1", odd).count("a|b `c` <script>") >= 3


def test_markdown_paths_survive(library: Library) -> None:
    """A path with a bar or a backtick breaks neither its table nor its code span."""
    report = scenario_report(library, STORAGE)
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


def changed_copy(library: Library, folder: Path, tail: str) -> Path:
    """A copy of an incident in which every line has a tail."""
    copy = Path(shutil.copytree(library.folder(STORAGE), folder))
    for part in parts_of(copy):
        for path in part.rglob("*"):
            if path.is_file():
                lines = path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
                changed = "".join(f"{line}{tail}\n" for line in lines)
                path.write_bytes(changed.encode())
    return copy


def test_secrets_are_kept_nowhere(library: Library, tmp_path: Path) -> None:
    """Signatures, tokens and passwords of the logs reach neither report nor database; their lines still verify."""
    copy = changed_copy(library, tmp_path / "logs", " " + " ".join(SECRETS.values()))
    db = str(tmp_path / "x.duckdb")
    read_in(db, *parts_of(copy))
    report = report_of(db)
    for form in (render_text(report, width=200, color=False), render_markdown(report), render_json(report)):
        assert "5ecre7" not in form
    assert report.failures[0].storage_verdict == "guilty"
    assert {line.check for line in report.failures[0].root_causes[0].supports} == {"verified"}
    with reading(db) as connection:
        tables = connection.execute("select table_name from duckdb_tables() where not internal").fetchall()
        searches = {name: f"select 1 from \"{name}\" as t where t::varchar like '%5ecre7%'" for (name,) in tables}
        held = [name for name, search in searches.items() if connection.execute(search).fetchone()]
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


UNSEEN = "\u202e\u2066\u200b\u200f\ufeff\u2028\xad"


def test_a_log_turns_no_text_round(library: Library, tmp_path: Path, run: Command) -> None:
    """Characters that turn the direction of a text or are not seen are shown by their codes wherever people look."""
    copy = changed_copy(library, tmp_path / "logs\u202e", f" {UNSEEN}turned")
    (copy / "no\u202ete").write_text("nothing\n")
    outcomes = [run("ingest", copy), run("query", "@timeline"), run("query", "--format", "markdown", "@timeline")]
    outcomes += [run("report", "--format", form) for form in ("text", "markdown", "html")]
    for outcome in outcomes:
        assert not set(UNSEEN) & set(outcome.out + outcome.err)
    assert all("u202e" in outcome.out for outcome in outcomes)
    assert "\u202e" in run("query", "--format", "csv", "select text from ais_event").out, "data stays as it is"
