"""The page of a failure: its first screen, its picture, cited lines with their surroundings, and how large it is."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import timedelta
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest
from big_pages import grown
from commands import Command
from html_page import Parsed
from reports import scenario_report, with_text
from scenes import Library

from aiscorr.report import document as doc
from aiscorr.report.citation import read_around
from aiscorr.report.excerpts import AROUND
from aiscorr.report.html import render_html
from aiscorr.report.layout import laid_out
from aiscorr.report.overview_html import overview_style
from aiscorr.report.page.assets import style
from aiscorr.report.page.data import json_for_html
from aiscorr.report.page.lanes import scene
from aiscorr.report.page.scene import Scene
from aiscorr.report.picture_side import Recurrence

STORAGE = "target_killed_short_batch"
SOFTWARE = "software_exception"


@cache
def report_with_lines(library: Library, name: str) -> doc.Report:
    """The report of a scenario with the surroundings of its lines, made once a process."""
    return read_around(scenario_report(library, name))


def picture_of(failure: doc.FailureReport) -> Scene:
    """The picture of a failure, before it is drawn."""
    shown = laid_out(failure)
    drawn = scene(shown.failure, shown.places)
    assert drawn is not None
    return drawn


def seen_in(report: doc.Report) -> str:
    """The text of a page on one line."""
    return " ".join(Parsed(render_html(report)).text.split())


def test_first_screen(library: Library) -> None:
    """The page begins with the verdict, how sure it is, what to do and who does it, and what it cost."""
    report = report_with_lines(library, STORAGE)
    (failure,) = report.failures
    first = seen_in(report).partition("What happened when")[0]
    assert "Storage failed this job" in first and f"confidence {failure.confidence:.2f}, high" in first
    assert failure.statement in first and "restart" in first.lower()
    advice = {item.to: item.text for item in reversed(failure.recommendations)}
    assert [text for text in advice.values() if text not in first] == []
    assert failure.impact.lost_s is not None and f"{failure.impact.ranks:,} ranks ×" in first
    assert "This database has no recent failure like it." in first


def test_first_screen_of_what_is_not_known(library: Library) -> None:
    """Where the logs leave it open, the command that would tell more is on top; only what is known is compared."""
    report = report_with_lines(library, "worker_logs_only")
    silent = replace(report.failures[0], recommendations=(), failure_class="undetermined", recurrence=())
    first = seen_in(replace(report, failures=(silent,))).partition("What happened when")[0]
    command = next(one.command for one in silent.blind if one.command)
    asked = next((one.would_decide for one in silent.suspects if one.would_decide), command)
    assert f"What would tell more: {' '.join(asked.split())}" in first
    advised = replace(silent, recommendations=report.failures[0].recommendations)
    assert "What would tell more: " in seen_in(replace(report, failures=(advised,)))
    assert "Its cause is not known, so that it cannot be compared with failures before it." in first
    hanging = seen_in(replace(report, failures=(replace(silent, ended_at=None),)))
    assert "it may still hang" in hanging and "it may still hang" not in first
    undated = replace(silent, ended_at=None, first_error_at=None, hang_started_at=None)
    assert "No line gives its time" in seen_in(replace(report, failures=(undated,)))


def test_ranks_of_which_nothing_was_read(library: Library) -> None:
    """The grid has a cell for each rank of the job, also for one that no line is of, and says so."""
    report = report_with_lines(library, STORAGE)
    (failure,) = report.failures
    fewer = replace(report, failures=(replace(failure, ranks=failure.ranks[2:]),))
    missing = " and ".join(str(line.rank) for line in failure.ranks[:2])
    assert missing == "0 and 1" and "2 unseen: no line of its own was read (0-1)" in seen_in(fewer)
    assert "unseen:" not in seen_in(report)


def test_the_day_of_a_time(library: Library) -> None:
    """A rank that was last seen a day before the failure has that day, though its row shows a time of day only."""
    report = report_with_lines(library, STORAGE)
    (failure,) = report.failures
    line = next(line for line in failure.ranks if line.role == "culprit" and line.last_seen_at)
    assert line.last_seen_at is not None
    seen = line.last_seen_at.replace(hour=3, microsecond=123000) - timedelta(days=1)
    ranks = tuple(replace(one, last_seen_at=seen) if one is line else one for one in failure.ranks)
    html = render_html(replace(report, failures=(replace(failure, ranks=ranks),)))
    assert f'<time datetime="{seen:%Y-%m-%dT%H:%M:%S}.123Z">{seen:%H:%M:%S}.123</time>' in html


def test_commands_have_lines_of_their_own(library: Library) -> None:
    """Each command that a sentence ends with is on a line of its own, to be copied."""
    html = render_html(report_with_lines(library, STORAGE))
    assert '<code class="command">aiscorr lines 4184269.0-20260914T102238</code>' in html
    assert re.findall(r"<p[^>]*>[^<]*aiscorr (?:query|lines|report|ingest) ", html) == []


def test_no_style_of_other_pages_reaches_into_a_report() -> None:
    """Overviews and served pages name no class that the style of reports has: a bar is not stretched by theirs."""
    names = set(re.findall(r"\.([a-z][\w-]*)", style()))
    for sheet in (overview_style(), files("aiscorr.serve.web").joinpath("site.css").read_text("utf-8")):
        selectors = [part for found in re.findall(r"([^{}]+)\{", sheet) for part in found.split(",")]
        begins = {match[1] for one in selectors if (match := re.match(r"\s*\.([a-z][\w-]*)", one))}
        assert begins & names == set()


def test_recurrence(library: Library) -> None:
    """A node that failed jobs before is named with how often, and the JSON says so too."""
    report = report_with_lines(library, STORAGE)
    again = Recurrence("node", "AZq6Oo53", 3, 30, "first-one", "one-before")
    twice = replace(report, failures=(replace(report.failures[0], recurrence=(again,)),))
    assert "Third failure with AIStore node AZq6Oo53 in 30 days; the last one: one-before" in seen_in(twice)
    told = doc.to_json(twice)
    assert isinstance(told, dict)
    assert told["failures"][0]["recurrence"][0]["occurrence_no"] == 3
    assert {"picture", "excerpts"} & told["failures"][0].keys() == set(), "what only a page shows"


@pytest.mark.parametrize(("count", "words"), [(2, "Second"), (7, "7th"), (21, "21st"), (112, "112th"), (33, "33rd")])
def test_how_manieth(count: int, words: str, library: Library) -> None:
    """The number of a failure among its like is an English ordinal."""
    report = report_with_lines(library, STORAGE)
    again = Recurrence("kind", "gpu", count, 30, "a", "b")
    told = replace(report, failures=(replace(report.failures[0], recurrence=(again,)),))
    assert f"{words} failure of the kind gpu in 30 days" in seen_in(told)


def test_surroundings(library: Library) -> None:
    """Each cited line is on the page once, with ten lines before and after it as they are in its file."""
    report = report_with_lines(library, STORAGE)
    (failure,) = report.failures
    html = render_html(report)
    cited = [line for line in failure.root_causes[0].supports if line.line_no]
    assert cited
    for line in cited:
        (excerpt,) = (one for one in failure.excerpts if one.path == line.path and line.line_no in one.cited)
        whole = Path(line.path).read_text("utf-8", "replace").splitlines()
        number = line.line_no or 0
        for wanted in range(max(number - AROUND, 1), min(number + AROUND, len(whole)) + 1):
            shown = excerpt.lines[wanted - excerpt.first_line_no]
            assert whole[wanted - 1].startswith(shown.removesuffix("…")), (line.path, wanted)
        ids = re.findall(rf'class="cited" id="(f0-x\d+-{number})"', html)
        assert len(ids) == len(set(ids)) >= 1
    assert render_html(report, extent="full").count("<summary><code") == len(failure.excerpts)


def test_a_file_that_is_gone(library: Library) -> None:
    """Where a file is gone the page has its places without lines."""
    report = with_text(scenario_report(library, STORAGE), "/workers/", "/nowhere/")
    html = render_html(read_around(report))
    assert "nowhere/" in html and not re.search(r"<summary><code[^>]*>[^<]*nowhere/", html)


def test_traceback_of_the_culprit(library: Library) -> None:
    """The culprit's own traceback is in the report, without the lines of other ranks between its own."""
    report = report_with_lines(library, SOFTWARE)
    (failure,) = report.failures
    (trace,) = failure.tracebacks[:1]
    assert trace.rank in failure.culprit_ranks and trace.lines[0].startswith("Traceback (most recent call last)")
    html = render_html(report)
    assert "<figcaption>Traceback of rank" in html and "File &quot;" in html


def test_lanes(library: Library) -> None:
    """The failed node and the culprit have lanes of their own, other ranks one a role, and the chain joins them."""
    (failure,) = report_with_lines(library, STORAGE).failures
    drawn = picture_of(failure)
    held = {lane.label for lane in drawn.lanes if lane.is_held}
    assert held == {failure.ais_nodes[0].node_id, *(f"rank {rank}" for rank in failure.culprit_ranks)}
    assert {bar.kind for bar in drawn.bars} >= {"up", "down", "run", "wait"}
    lanes = {lane.key: lane for lane in drawn.lanes}
    assert lanes[drawn.arrows[-1].to_lane].label == f"rank {failure.culprit_ranks[0]}"
    assert lanes[drawn.arrows[0].from_lane].group == "nodes"
    assert all(0 <= mark.low <= mark.moment <= mark.high <= drawn.length for mark in drawn.marks)


def test_unknown_is_drawn(library: Library) -> None:
    """A lane is hatched where no line covers it, and an event without a moment of its own is blurred."""
    (failure,) = report_with_lines(library, STORAGE).failures
    assert failure.picture is not None
    html = render_html(replace(report_with_lines(library, STORAGE)))
    drawn = picture_of(failure)
    assert html.count('class="unknown"') >= sum(lane.group != "job" for lane in drawn.lanes)
    assert any(mark.low < mark.high for mark in drawn.marks) and 'class="blur"' in html
    early = replace(
        failure.picture,
        node_spans=tuple(
            replace(span, from_latest=span.from_ + timedelta(seconds=9)) if span.kind == "down" else span
            for span in failure.picture.node_spans
        ),
    )
    blurred = render_html(doc.Report(doc.SCHEMA, failure.picture.to, "x", (replace(failure, picture=early),)))
    assert 'class="bar down soft"' in blurred and 'class="bar down soft"' not in html


@pytest.mark.parametrize(("rank_count", "node_count", "most"), [(128, 30, 500_000), (4096, 30, 2_000_000)])
def test_size(rank_count: int, node_count: int, most: int, library: Library) -> None:
    """The page of 128 ranks and 30 nodes has at most 500 kB, that of 4,096 ranks at most 2 MB."""
    html = render_html(grown(report_with_lines(library, STORAGE), rank_count, node_count))
    assert len(html.encode()) <= most
    (data,) = re.findall(r'<script type="application/json" class="data">(.*?)</script>', html)
    assert len(json.loads(data)["ranks"]["rank"]) == rank_count
    assert Parsed(html).wrong == []


def test_data_cannot_end_its_element() -> None:
    """JSON in a page holds nothing that ends a script, begins a comment or breaks a line of JavaScript."""
    nasty = "</script><!-- ]]> & \u2028\u2029"
    told = json_for_html({"text": nasty})
    assert set("<>&\u2028\u2029") & set(told) == set() and json.loads(told)["text"] == nasty


def test_surroundings_keep_no_secret(library: Library, tmp_path: Path) -> None:
    """Secrets in the lines around a cited one are taken out, long lines cut, and what turns a text round is a code."""
    report = scenario_report(library, STORAGE)
    path = next(line.path for line in report.failures[0].root_causes[0].supports if "/workers/" in line.path)
    number = next(line.line_no for line in report.failures[0].root_causes[0].supports if line.path == path) or 1
    lines = Path(path).read_text("utf-8").splitlines()
    copy = tmp_path / "copy.out"
    around = f"</ol><script>alert(1)</script>\u202e\x1b[2J token Bearer 5ecre7.t0ken-abc {'x' * 5000}"
    copy.write_text("\n".join([*lines[: number - 1], lines[number - 1], around, *lines[number:]]))
    shown = read_around(with_text(report, path, str(copy)))
    html = render_html(shown)
    assert "5ecre7" not in html and "\u202e" not in html and "\x1b" not in html and "x" * 400 not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\u202e" in html


def test_command_writes_the_page(run: Command, library: Library) -> None:
    """`report -o x.html` writes the page with the surroundings of its lines; with --no-verify it opens no file."""
    assert run("--db", library.database(STORAGE), "report", "-o", "x.html").code == 0
    assert '<ol class="excerpt"' in Path("x.html").read_text("utf-8")
    assert run("--db", library.database(STORAGE), "report", "--no-verify", "-o", "y.html").code == 0
    assert '<ol class="excerpt"' not in Path("y.html").read_text("utf-8")


def test_pdf_without_a_browser(run: Command, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no Chromium is installed a PDF is refused with what to do."""
    monkeypatch.setenv("PATH", "")
    done = run("--db", library.database(STORAGE), "report", "-o", "x.pdf")
    assert done.code == 2 and "a PDF needs Chromium or Chrome" in done.err and "--format html" in done.err
