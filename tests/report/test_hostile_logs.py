"""What a log holds does no harm in a report: no markup, no secrets, nothing that a terminal would obey."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from commands import Command, Outcome
from reports import controls, report_of, scenario_report, with_text
from scenes import Library, parts_of

from aiscorr.report.render import render_markdown
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
CONTROLS = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b1A\x08\x7f"
UNSEEN = "\u202e\u2066\u200b\u200f\ufeff\u2028\xad"


def hostile_copy(library: Library, folder: Path) -> Path:
    """A copy of an incident with all of that at the end of every line, and names of files that are no better."""
    copy = Path(shutil.copytree(library.folder(STORAGE), folder))
    tail = f" {CONTROLS} {UNSEEN}turned {' '.join(SECRETS.values())}"
    for part in parts_of(copy):
        for path in part.rglob("*"):
            if path.is_file():
                lines = path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
                path.write_bytes("".join(f"{line}{tail}\n" for line in lines).encode())
    (copy / "no\x1b[31m\u202ete").write_text("nothing\n")
    return copy


def test_lines_that_would_do_harm(library: Library, tmp_path: Path, run: Command) -> None:
    """Escape sequences and characters that turn text reach no terminal, secrets nothing, and the verdict stays."""
    copy = hostile_copy(library, tmp_path / "lo\x1b[2J\u202egs")
    ingested = run("ingest", copy, "no\x07ne")
    assert ingested.code == 3 and "x1b[31m\\u202ete" in ingested.out
    reports = [run("report", "--format", form) for form in ("text", "markdown", "json", "html")]
    assert all("owned" in report.out and "guilty" in report.out for report in reports)
    tables = [run("query", "@timeline"), run("query", "--format", "markdown", "@timeline")]
    check_no_controls([ingested, *reports[:3], *tables[:1], run("-v", "verify")])
    check_nothing_turned([ingested, *reports[:2], reports[3], *tables])
    (failure,) = report_of("aiscorr.duckdb").failures
    assert (failure.culprit_ranks, failure.storage_verdict) == ((5,), "guilty")
    assert {line.check for line in failure.root_causes[0].supports} == {"verified"}
    check_no_secrets([ingested, *reports, *tables], "aiscorr.duckdb")


def check_no_controls(outcomes: list[Outcome]) -> None:
    """No output holds a character that a terminal obeys."""
    assert [controls(outcome.out) for outcome in outcomes] == [set()] * len(outcomes)


def check_nothing_turned(outcomes: list[Outcome]) -> None:
    """Characters that turn a text or are not seen are shown by their codes wherever people look; data has them."""
    assert not set(UNSEEN) & set("".join(outcome.out + outcome.err for outcome in outcomes))
    assert all("u202e" in outcome.out for outcome in outcomes)
    with reading("aiscorr.duckdb") as connection:
        assert connection.execute("select 1 from ais_event where contains(text, '\u202e')").fetchone()


def check_no_secrets(outcomes: list[Outcome], db: str) -> None:
    """Neither an output nor a table of the database has a signature, a token or a password."""
    assert "5ecre7" not in "".join(outcome.out + outcome.err for outcome in outcomes)
    with reading(db) as connection:
        tables = connection.execute("select table_name from duckdb_tables() where not internal").fetchall()
        searches = {name: f"select 1 from \"{name}\" as t where t::varchar like '%5ecre7%'" for (name,) in tables}
        assert [name for name, search in searches.items() if connection.execute(search).fetchone()] == []
