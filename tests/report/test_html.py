"""Reports as HTML: everything the other forms say, well formed, and nothing a log says becomes markup."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest
from commands import Command
from html_page import Parsed
from packing import written
from reports import scenario_report, with_text
from scenes import Library, scenario_names

from aiscorr.report.blocks import PLACE_MARK
from aiscorr.report.citation import read_around
from aiscorr.report.html import render_html
from aiscorr.report.layout import laid_out

SCENARIO = "target_killed_short_batch"
TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "article", "h1", "h2", "h3", "nav", "a", "p",
    "code", "section", "dl", "dt", "dd", "ul", "ol", "li", "b", "i", "br", "span", "strong", "div", "table", "thead",
    "tbody", "tr", "th", "td", "pre", "footer", "details", "summary", "time", "figure", "figcaption", "progress",
    "script", "svg", "g", "defs", "pattern", "filter", "fegaussianblur", "marker", "clippath", "rect", "path", "text",
    "use", "circle",
}  # fmt: skip
#: Attributes that a browser would act on, beyond showing the page.
ACTING = re.compile(r"on\w+|style|src|srcset|action|formaction|ping|xlink:href")
#: How a block is laid out; not what it says.
UNSEEN = {"tone", "numeric", "wide"}
HOSTILE = """<script>alert(1)</script><img src=x onerror="alert(1)"> ' & </title></style>"""


def squeezed(text: str) -> str:
    """The text without white space, and without the brackets that the first screen leaves out."""
    return re.sub(r"[\s()]|\.(?=\s|$)", "", text)


def texts(value: object) -> list[str]:
    """Every text that the sections of a report show."""
    if isinstance(value, str):
        return value.split(PLACE_MARK)
    if is_dataclass(value) and not isinstance(value, type):
        return [
            text for field in fields(value) if field.name not in UNSEEN for text in texts(getattr(value, field.name))
        ]
    if isinstance(value, tuple | list):
        return [text for item in value for text in texts(item)]
    return []


@pytest.mark.parametrize("name", [*scenario_names()[:6], "two_jobs"])
def test_report_is_well_formed_and_whole(name: str, library: Library) -> None:
    """Tags fit together, links lead to sections that are there once, and what the report says is in it."""
    report = scenario_report(library, name)
    parsed = Parsed(render_html(read_around(report)))
    assert parsed.wrong == [] and parsed.tags - TAGS == set()
    assert [name for name in parsed.attributes if ACTING.fullmatch(name)] == []
    assert {link.removeprefix("#") for link in parsed.links} - set(parsed.ids) == set()
    assert len(set(parsed.ids)) == len(parsed.ids)
    seen = squeezed(parsed.text)
    said = texts([laid_out(failure).sections for failure in report.failures])
    assert len(said) > 50 and [text for text in said if squeezed(text) not in seen] == []


def test_text_of_a_log_is_no_markup(library: Library) -> None:
    """Whatever stands in a log, a name or a path, the page has the same tags as ever and shows it as text."""
    report = scenario_report(library, SCENARIO)
    hostile = report
    for old in ("AZq6Oo53", "AISBatchLoaderError", "4184269", "pool3", "workers/"):
        hostile = with_text(hostile, old, HOSTILE)
    assert hostile != report
    parsed, plain = Parsed(render_html(hostile)), Parsed(render_html(report))
    assert (parsed.wrong, parsed.tags, parsed.attributes) == (plain.wrong, plain.tags, plain.attributes)
    assert squeezed("<script>alert(1)</script>") in squeezed(parsed.text)


def test_nothing_is_fetched(library: Library) -> None:
    """A report names no address that a browser would load, and forbids every other."""
    html = render_html(scenario_report(library, SCENARIO))
    (sheet,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    style_hash, script_hash = (b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (sheet, script))
    policy = f"default-src 'none'; style-src 'sha256-{style_hash}'; script-src 'sha256-{script_hash}'; base-uri 'none'"
    assert f'content="{policy}; ' in html
    assert [word for word in (" src=", "@import", "<link") if word in html] == []
    assert set(re.findall(r"url\((.)", html)) == {"#"}


def test_command(run: Command, library: Library, tmp_path: Path) -> None:
    """`report --format html` writes the page, also where there is no failure."""
    done = run("--db", library.database(SCENARIO), "report", "--format", "html")
    assert done.code == 0 and done.out.startswith("<!doctype html>") and "Storage failed this job" in done.out
    assert run("ingest", written(tmp_path / "README", b"no log\n")).code == 0
    done = run("report", "--format", "html")
    assert done.code == 0 and "No failure was found" in done.out
