"""The report of all failures of a time: its figures in every form, its index, and a time without failures."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import pytest
from commands import Command
from html_page import Parsed
from reports import REPORT, misfits, with_text
from scenes import NOW, Library, read_in

from aiscorr.errors import UsageError
from aiscorr.report import document as doc
from aiscorr.report.build import build_report_since
from aiscorr.report.overview import Group, Overview, Repeat
from aiscorr.report.overview_html import render_overview
from aiscorr.report.overview_layout import group_blocks, rank_hours, recurring_blocks, span
from aiscorr.report.period import duration, moment_since
from aiscorr.report.render import render_json, render_markdown, render_text
from aiscorr.store.database import reading

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
UNDATED = """[W socket.cpp:436] [c10d] The server socket has failed to bind to [::]:12211 (errno: 98 - Address in use).
[E socket.cpp:472] [c10d] The server socket has failed to listen on any local network address.
Traceback (most recent call last):
  File "/app/train.py", line 40, in <module>
    torch.distributed.barrier()
torch.distributed.DistBackendError: NCCL error in: ../ProcessGroupNCCL.cpp:1331, invalid usage
"""
HOSTILE = """<script>alert(1)</script>"onload='x'\u202e"""


@pytest.fixture(scope="module")
def db(library: Library) -> str:
    """A database with the failures of several jobs."""
    return library.several()


@pytest.fixture(scope="module")
def report(db: str) -> doc.Report:
    """The report of all of them."""
    with reading(db) as connection:
        return build_report_since(connection, LONG_AGO, NOW)


def overview_of(report: doc.Report) -> Overview:
    """The overview, which is there."""
    assert report.overview is not None
    return report.overview


def test_figures_add_up(report: doc.Report) -> None:
    """Each failure is counted once a verdict, a class and a job, and what they cost is what the failures cost."""
    overview = overview_of(report)
    counts = (overview.guilty_count, overview.innocent_count, overview.undetermined_count)
    verdicts = [one.storage_verdict for one in report.failures]
    assert counts == tuple(verdicts.count(verdict) for verdict in ("guilty", "innocent", "undetermined"))
    assert sum(counts) == overview.failure_count == len(report.failures) >= 5 and min(counts) >= 1
    for facet in ("class", "job"):
        assert sum(group.failure_count for group in overview.groups_of(facet)) == overview.failure_count
    lost = sum((one.impact.ranks or 0) * (one.impact.lost_s or 0) / 3600 for one in report.failures)
    assert overview.lost_rank_hours == pytest.approx(lost) and overview.guilty_lost_rank_hours < lost
    assert overview.guilty_ratio == pytest.approx(counts[0] / sum(counts))
    assert overview.guilty_of_determined_ratio == pytest.approx(counts[0] / (counts[0] + counts[1]))
    assert 0 < overview.timed_count <= counts[0] and (overview.mean_until_hang_s or 0) > 0
    (node,) = (group for group in overview.groups_of("node") if group.value == "AZq6Oo53")
    assert (node.guilty_count, node.innocent_count, node.last_failure_id) == (1, 0, "4184269.0-20260914T102238")


def test_queries_say_the_same(run: Command, db: str, report: doc.Report) -> None:
    """`aiscorr query` gives the figures of the report."""
    share = json.loads(run("--db", db, "query", "@share", "--format", "json").out)[0]
    overview = overview_of(report)
    assert {name: getattr(overview, name) for name in share} == share
    rows = json.loads(run("--db", db, "query", "@overview", "-p", "facet=bucket", "--format", "json").out)
    assert [row["value"] for row in rows] == [group.value for group in overview.groups_of("bucket")] != []


def test_every_form_says_it(run: Command, db: str, report: doc.Report) -> None:
    """Text, Markdown and HTML have the sums and every failure; the JSON has `overview` beside `failures`."""
    verb = ("-q", "--db", db, "report", "--since", "9000d")
    forms = {form: run(*verb, "--format", form) for form in ("text", "markdown", "html")}
    said = f"{len(report.failures)} failures: storage is guilty in {overview_of(report).guilty_count}"
    for form, done in forms.items():
        assert done.code == 0 and done.err == "" and said in done.out, form
        for failure in report.failures:
            assert done.out.count(failure.failure_id) >= 2, "in the index, and as a report"
        for title in (
            "By class",
            "By node",
            "By mountpath",
            "By bucket",
            "By host",
            "By job",
            "Trouble that came back",
        ):
            assert title in done.out, form
    found = json.loads(run("--db", db, "report", "all", "--since", "9000d", "--format", "json").out)
    assert misfits(found, REPORT) == [] and len(found["failures"]) == len(report.failures)
    assert found["overview"]["failure_count"] == len(report.failures) and found["overview"]["groups"]


def test_page(report: doc.Report) -> None:
    """The page is well formed, each failure of the index leads to its report, and it may show its own styles alone."""
    html = render_overview(report)
    parsed = Parsed(html)
    assert parsed.wrong == [] and len(set(parsed.ids)) == len(parsed.ids)
    assert [link for link in parsed.links if not link.startswith("#") or link[1:] not in parsed.ids] == []
    leads = re.findall(r'href="#(failure-\d+)">([^<]+)</a>', html)
    assert [words for _, words in leads] == [one.failure_id for one in report.failures]
    assert html.count("sha256-") == 3 and not any(name.startswith("on") for name in parsed.attributes)
    with pytest.raises(ValueError, match="not that of a time"):
        render_overview(replace(report, overview=None))


def test_text_of_logs_is_no_markup(report: doc.Report) -> None:
    """What nodes, buckets and statements are called is shown as text, and characters that turn it as their codes."""
    hostile = with_text(with_text(report, "AZq6Oo53", f"AZq6{HOSTILE}"), "Rank 5 failed", f"Rank {HOSTILE}")
    for shown in (
        render_overview(hostile),
        render_text(hostile, width=200, color=False),
        render_markdown(hostile),
    ):
        assert "\u202e" not in shown and "\\u202e" in shown.replace("\\\\", "\\")
    html = render_overview(hostile)
    assert "<script>alert" not in html and Parsed(html).wrong == []
    assert "\\u202e" not in render_json(hostile) and "\u202e" in render_json(hostile)


def test_no_failure_in_the_time(run: Command, db: str) -> None:
    """A time without failures is said as such, in every form, and is no error."""
    with reading(db) as connection:
        none = build_report_since(connection, datetime(2027, 1, 31, tzinfo=UTC), NOW)
    said = f"No failure from 2027-01-31 00:00 UTC to {NOW:%Y-%m-%d %H:%M} UTC; "
    for shown in (render_text(none, width=110, color=False), render_markdown(none), render_overview(none)):
        assert said in shown and " earlier: " in shown
    found = json.loads(render_json(none))
    assert found["failures"] == [] and found["overview"]["failure_count"] == 0
    assert run("--db", db, "report", "--since", "1s").code == 0


def test_rank_hours() -> None:
    """What was lost is never shown as nothing."""
    assert [rank_hours(hours) for hours in (0, 0.0004, 0.06, 1.44, 1234.5)] == ["0", "<0.1", "0.1", "1.4", "1,234.5"]


def test_failures_without_a_time(report: doc.Report) -> None:
    """Failures whose time no line gives are counted in words, with the query that shows them."""
    for count, words in ((1, "1 failure without a known time is"), (1234, "1,234 failures without a known time are")):
        overview = replace(overview_of(report), undated_count=count)
        for one in (overview, Overview(overview.since, overview.until, undated_count=count)):
            told = replace(report, overview=one)
            for shown in (render_text(told, width=200, color=False), render_overview(told)):
                assert f"{words} not counted here" in shown and "is null" in shown
    assert "without a known time" not in render_overview(report)


def test_undated_failures_are_counted(tmp_path: Path) -> None:
    """A failure whose log prints no times is counted as one without a time."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "job.log").write_text(UNDATED)
    db = str(tmp_path / "one.duckdb")
    read_in(db, tmp_path / "logs")
    with reading(db) as connection:
        overview = overview_of(build_report_since(connection, LONG_AGO, NOW))
    assert (overview.failure_count, overview.undated_count) == (0, 1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--since", "soon"), "'soon' is no duration, day or moment"),
        (("--since", "2999-01-01"), "'2999-01-01' lies ahead"),
        (("train-7", "--since", "30d"), "--since and 'train-7'"),
    ],
)
def test_what_is_no_time(arguments: tuple[str, ...], said: str, run: Command, db: str) -> None:
    """A time that is none, or a time and a failure at once, is an error of usage."""
    done = run("--db", db, "report", *arguments)
    assert done.code == 2 and said in done.err and done.out == ""


def test_moments() -> None:
    """How long ago, a day, and a moment with or without a zone are moments in UTC; none is before all logs."""
    assert moment_since("36h", NOW, "") == NOW - duration("36h", "")
    assert moment_since("yesterday", NOW, "") == datetime.combine(NOW.date(), time(tzinfo=UTC)) - timedelta(days=1)
    assert moment_since("2026-09-14", NOW, "") == datetime(2026, 9, 14, tzinfo=UTC)
    assert moment_since("2026-09-14T02:00:00+02:00", NOW, "") == datetime(2026, 9, 14, tzinfo=UTC)
    assert moment_since("999999d", NOW, "").year == 1970
    with pytest.raises(UsageError):
        duration("0d", "")


def group(facet: str, value: str, count: int) -> Group:
    """Failures of one class, node and so on."""
    return Group(facet, value, count, count, 0, 0, 1.0, NOW, "A")


def test_long_lists_say_what_is_left_out() -> None:
    """Ten rows a facet are shown, of hosts and jobs those that failed twice, and a command shows the others."""
    nodes = tuple(group("node", f"t{number}", 1) for number in range(12))
    hosts = (group("host", "gpu1", 2), group("host", "gpu2", 1))
    back = tuple(Repeat("c", f"t{no}", "killed", 2, 1, 3, 1, ("A",), NOW, NOW) for no in range(11))
    overview = Overview(LONG_AGO, NOW, 12, groups=(*nodes, *hosts, group("job", "j", 1)), recurring=back)
    assert "2 more: aiscorr query @overview -p facet=node -p since=2020-01-01T00:00:00" in str(
        group_blocks(overview, "node")
    )
    assert "gpu1" in str(group_blocks(overview, "host")) and "gpu2" not in str(group_blocks(overview, "host"))
    assert "No job failed twice; all 1: aiscorr query @overview" in str(group_blocks(overview, "job"))
    assert "No bucket is known" in str(group_blocks(overview, "bucket"))
    assert "1 more: aiscorr query @recurring" in str(recurring_blocks(overview)) and "t10" not in str(
        recurring_blocks(overview)
    )
    assert "No node had" in str(recurring_blocks(replace(overview, recurring=())))


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.34, "0.3 s"), (33.4, "33 s"), (59.9, "60 s"), (312, "5 min 12 s"), (12_000, "3 h 20 min")]
)
def test_spans(seconds: float, shown: str) -> None:
    """Spans are said in the unit that fits."""
    assert span(seconds) == shown
