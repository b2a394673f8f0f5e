"""The page of a failure in a real browser: nothing fails, nothing leaves it, all plots move together, lines open."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from big_pages import grown
from commands import Command
from reports import scenario_report, with_text
from scenes import Library

from aiscorr.report import document as doc
from aiscorr.report.citation import read_around
from aiscorr.report.html import render_html
from aiscorr.report.paper import browser_path

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow
STORAGE = "target_killed_short_batch"
HOSTILE = (
    '</script></li><img src=x onerror="window.acted=1"><script>window.acted=1</script>'
    "<svg onload=window.acted=1>\x1b[31m\u202ederob\u200b<!--"
)


@dataclass
class Opened:
    """A page that a browser shows, what it complained of and what it asked the network for."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    took_s: float = 0.0


def opened(browser: Browser, folder: Path, report: doc.Report, **options: Any) -> Opened:
    """The page of a report, opened from a file."""
    path = folder / "report.html"
    path.write_text(render_html(report), "utf-8")
    page = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options}).new_page()
    result = Opened(page)
    page.on("console", lambda message: result.complaints.append(message.text))
    page.on("pageerror", lambda error: result.complaints.append(str(error)))
    page.on("request", lambda request: result.asked.append(request.url))
    began = time.monotonic()
    page.goto(path.as_uri())
    page.wait_for_selector("section.picture[data-view]")
    result.took_s = time.monotonic() - began
    return result


@pytest.fixture(scope="module")
def report(library: Library) -> doc.Report:
    """The report of a scenario, with the surroundings of its lines."""
    return read_around(scenario_report(library, STORAGE))


def view(page: Page) -> tuple[float, float]:
    """The span of time that the picture shows, in seconds from its left edge."""
    low, high = page.evaluate("document.querySelector('section.picture').dataset.view.split(' ').map(Number)")
    return low, high


def spans(page: Page) -> set[str | None]:
    """The spans of time that the counters show."""
    return {one.get_attribute("data-view") for one in page.locator("figure.multi").all()}


def test_nothing_fails_and_nothing_leaves(browser: Browser, report: doc.Report, tmp_path: Path) -> None:
    """The page opens without a complaint and asks for nothing but itself, whatever one does with it."""
    shown = opened(browser, tmp_path, report)
    for name in ("All", "The failure", "First error ± 2 s", "−", "+", "◀", "▶"):
        shown.page.get_by_role("button").get_by_text(name, exact=True).click()
    for summary in shown.page.locator("summary").all():
        summary.click(position={"x": 2, "y": 5})
    for link in shown.page.locator("a.to").all():
        link.click()
    shown.page.mouse.move(700, 700)
    assert shown.complaints == []
    assert shown.asked == [shown.page.url.partition("#")[0]]


def test_zoom_moves_all_plots(browser: Browser, report: doc.Report, tmp_path: Path) -> None:
    """A drag over the lanes zooms lanes and counters to the same span, and keys move it on; zero shows all again."""
    shown = opened(browser, tmp_path, report)
    page, whole = shown.page, view(shown.page)
    box = page.locator("svg.lanes").bounding_box()
    assert box is not None
    page.locator("svg.lanes").scroll_into_view_if_needed()
    box = page.locator("svg.lanes").bounding_box()
    assert box is not None
    marks = page.locator("svg.lanes use.mark")
    before = [marks.nth(i).get_attribute("x") for i in range(marks.count())]
    page.mouse.move(box["x"] + 500, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 700, box["y"] + 100, steps=4)
    page.mouse.up()
    low, high = view(page)
    assert whole[0] < low < high < whole[1] and high - low < (whole[1] - whole[0]) / 3
    after = [marks.nth(i).get_attribute("x") for i in range(marks.count())]
    assert len(after) > 3 and all(a != b for a, b in zip(before, after, strict=True))
    figures = page.locator("figure.multi .u-over")
    assert figures.count() == page.locator("figure.multi").count() > 0
    ticks = page.locator("svg.lanes .axis text").all_text_contents()
    assert spans(page) == {page.locator("section.picture").get_attribute("data-view")}
    page.locator(".plots").focus()
    page.keyboard.press("ArrowRight")
    moved = view(page)
    assert moved[0] > low and moved[1] - moved[0] == pytest.approx(high - low, abs=0.01)
    assert page.locator("svg.lanes .axis text").all_text_contents() != ticks
    page.keyboard.press("+")
    assert view(page)[1] - view(page)[0] < high - low
    page.keyboard.press("0")
    assert view(page) == whole and shown.complaints == []


def test_zoom_by_a_counter_moves_the_lanes(browser: Browser, report: doc.Report, tmp_path: Path) -> None:
    """A drag over a counter zooms the lanes too, and the cross-hair is at one moment in all plots."""
    shown = opened(browser, tmp_path, report)
    page, whole = shown.page, view(shown.page)
    over = page.locator("figure.multi .u-over").first
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 300, box["y"] + 20)
    assert page.locator("section.picture").get_attribute("data-cross")
    assert "M" in (page.locator("path.cross").get_attribute("d") or "")
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 20, steps=4)
    page.mouse.up()
    low, high = view(page)
    assert whole[0] < low < high < whole[1] and shown.complaints == []
    assert spans(page) == {page.locator("section.picture").get_attribute("data-view")}


def test_hover_shows_the_line_and_its_place(browser: Browser, report: doc.Report, tmp_path: Path) -> None:
    """Who points at an event sees its moment, its line and its place; a click keeps it, with a link to its lines."""
    shown = opened(browser, tmp_path, report)
    page = shown.page
    mark = page.locator("svg.lanes use.mark.crash").first
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    hint = page.locator(".hint").inner_text()
    place = mark.get_attribute("data-place")
    assert place and place in hint and ":" in hint
    page.mouse.down()
    page.mouse.up()
    assert place in page.locator(".plots > .picked").inner_text()
    page.locator(".plots > .picked a.place").click()
    assert page.locator("details[open] .cited").first.is_visible()


def test_evidence_opens_its_surroundings(browser: Browser, report: doc.Report, tmp_path: Path) -> None:
    """A cited line opens with the lines around it, where it is cited first and wherever it is cited again."""
    page = opened(browser, tmp_path, report).page
    first = page.locator("details:not(.more)").first
    assert not first.locator(".excerpt").is_visible()
    first.locator("summary").click(position={"x": 2, "y": 5})
    assert first.locator(".excerpt .cited").first.is_visible() and first.locator(".excerpt li").count() > 5
    again = page.locator("a.to").first
    again.click()
    assert again.locator("xpath=..").locator(".excerpt.here .cited").is_visible()


def test_a_rank_of_the_grid(browser: Browser, report: doc.Report, tmp_path: Path) -> None:
    """A click on a cell shows that rank in words and on a lane of its own; arrow keys go to the next one."""
    shown = opened(browser, tmp_path, grown(report, 128, 30))
    page = shown.page
    page.locator("svg.grid").click(position={"x": 5, "y": 5})
    assert "rank 0" in page.locator(".ranks .picked").inner_text()
    assert page.locator("svg.lanes g.one .label").text_content() == "rank 0"
    assert page.locator("svg.lanes g.one use.mark").count() > 0
    page.keyboard.press("ArrowDown")
    assert page.locator("section.picture").get_attribute("data-rank") == "32" and shown.complaints == []


def test_the_lane_of_a_chosen_rank_shows_what_is_known(browser: Browser, report: doc.Report, tmp_path: Path) -> None:
    """A culprit keeps others waiting, a rank of which no line was read has no bar, and unknown time is hatched."""
    (failure,) = report.failures
    gone, rest = failure.ranks[0], failure.ranks[1:]
    page = opened(browser, tmp_path, replace(report, failures=(replace(failure, ranks=rest),))).page
    kinds = "[...document.querySelectorAll('g.one .row rect.bar')].map((one) => one.classList[1])"
    page.locator("svg.grid").focus()
    page.keyboard.press("ArrowRight")
    assert f"rank {gone.rank}, unseen" in page.locator(".ranks .picked").inner_text()
    assert page.evaluate(kinds) == [] and page.locator("g.one rect.unknown").count() == 1
    for number, line in enumerate(rest):
        page.keyboard.press("ArrowRight")
        wanted = "held" if line.role == "culprit" else "wait"
        assert page.evaluate(kinds) == ["run", wanted], (number, line.role)


def test_4096_ranks_open_at_once(browser: Browser, report: doc.Report, tmp_path: Path) -> None:
    """The page of 4,096 ranks and 30 nodes is open, with its picture laid out, in less than two seconds."""
    shown = opened(browser, tmp_path, grown(report, 4096, 30))
    assert shown.took_s < 2.0 and shown.complaints == []
    assert shown.page.locator("svg.grid path.rank").count() >= 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phone(scheme: str, browser: Browser, report: doc.Report, tmp_path: Path) -> None:
    """On a screen of 420 points the page has no scroll sideways, closed and with all that opens open."""
    options = {"viewport": {"width": 420, "height": 860}, "has_touch": True, "is_mobile": True, "color_scheme": scheme}
    page = opened(browser, tmp_path, grown(report, 128, 30), **options).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    (failure,) = report.failures
    lines = tuple(replace(one, lines=tuple(400 * "x" for _ in one.lines)) for one in failure.excerpts)
    chain = replace(report, failures=(replace(failure, excerpts=lines, timeline=failure.timeline[:1]),))
    page = opened(browser, tmp_path, chain, **options).page
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.locator(".chain details .excerpt").count() > 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    verdict = page.locator(".said").bounding_box()
    assert verdict is not None and verdict["y"] + verdict["height"] < 860


def test_paper(browser: Browser, report: doc.Report, tmp_path: Path) -> None:
    """Paper is white, all is open on it and drawn lines stand for the plots; afterwards the page is as it was."""
    page = opened(browser, tmp_path, report).page
    closed = page.locator("details:not([open])").count()
    page.emulate_media(media="print", color_scheme="dark")
    page.locator("details:not([open])").first.wait_for(state="detached")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("figure.multi g.plot").first.is_visible() and not page.locator(".uplot").first.is_visible()
    page.emulate_media(media="screen")
    page.locator("details:not([open])").nth(closed - 1).wait_for(state="attached")
    assert page.locator("details:not([open])").count() == closed > 0


def test_without_script(browser: Browser, report: doc.Report, tmp_path: Path) -> None:
    """Without a script the same marks, lanes and lines of counters are there, and lines open."""
    path = tmp_path / "report.html"
    path.write_text(render_html(report), "utf-8")
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(path.as_uri())
    assert page.locator("svg.lanes use.mark").count() > 3 and page.locator("g.plot .known").first.is_visible()
    first = page.locator("details:not(.more)").first
    first.locator("summary").click()
    assert first.locator(".cited").first.is_visible()


def test_a_hostile_line_cannot_act(browser: Browser, report: doc.Report, tmp_path: Path) -> None:
    """HTML, terminal codes and characters that turn a text round are shown as text wherever a log's text is shown."""
    hostile = with_text(with_text(report, "AISBatchLoaderError", HOSTILE), "pool3", HOSTILE)
    lines = tuple(replace(one, lines=(HOSTILE, *one.lines[1:])) for one in hostile.failures[0].excerpts)
    hostile = replace(hostile, failures=(replace(hostile.failures[0], excerpts=lines, job_id=HOSTILE),))
    shown = opened(browser, tmp_path, hostile)
    page = shown.page
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for mark in page.locator("svg.lanes use.mark").all()[:20]:
        page.evaluate(
            "(one) => one.dispatchEvent(new PointerEvent('pointermove', { bubbles: true }))", mark.element_handle()
        )
    page.locator("svg.grid").click(position={"x": 5, "y": 5})
    page.locator(".plots").focus()
    for _ in range(5):
        page.keyboard.press("n")
    assert page.evaluate("window.acted") is None and shown.complaints == []
    assert page.locator("img").count() == 0 and shown.asked == [page.url.partition("#")[0]]
    text = page.locator("body").inner_text()
    assert "<img src=x" in text and not {"\u202e", "\u200b", "\x1b"} & set(text) and "\\u202e" in text


def test_focus_and_names(browser: Browser, report: doc.Report, tmp_path: Path) -> None:
    """Plots, grid and tables can be reached by keyboard and have names; times can be read by programs."""
    page = opened(browser, tmp_path, report).page
    for selector in (".plots", "svg.grid", "svg.lanes"):
        assert page.locator(selector).first.get_attribute("aria-label")
    assert page.locator(".plots[tabindex='0'], svg.grid[tabindex='0']").count() == 2
    assert page.locator("svg.lanes use.mark:not([aria-label])").count() == 0
    moments = page.locator("time[datetime]")
    assert moments.count() > 3 and (moments.first.get_attribute("datetime") or "").endswith("Z")
    page.locator(".plots").focus()
    page.keyboard.press("n")
    assert page.locator(".plots > .picked").inner_text().strip()


def test_pdf(run: Command, library: Library) -> None:
    """`report -o x.pdf` prints the page with a Chromium that is installed, and says so clearly where there is none."""
    if browser_path() is None:
        pytest.skip("there is no Chromium here")
    assert run("--db", library.database(STORAGE), "report", "-o", "x.pdf").code == 0
    assert Path("x.pdf").read_bytes().startswith(b"%PDF")
