"""The server's pages in a real browser: no complaint, no sideways scroll on a phone, times in the reader's zone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from http_site import Site, site
from scenes import Library

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow
KILLED = "4184269.0-20260914T102238"
PAGES = (
    "/", "/failures", f"/failures/{KILLED}", "/overview?since=9000d", "/jobs", "/search?text=short", "/queries",
    "/sql?query=evidence", "/sql?sql=select+*+from+failure", "/explain/killed", "/runs",
)  # fmt: skip


@pytest.fixture(scope="module")
def served(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The server over the failures of several jobs."""
    with site(library.several(), tmp_path_factory.mktemp("served")) as running:
        yield running


def opened(browser: Browser, address: str, **options: Any) -> tuple[Page, list[str]]:
    """A page, and what the browser complained of."""
    page = browser.new_context(**options).new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(address)
    return page, complaints


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("width", [420, 1280])
def test_fits(width: int, path: str, browser: Browser, served: Site) -> None:
    """A page opens without a complaint and fits the width of a phone and of a screen."""
    page, complaints = opened(browser, served.address + path, viewport={"width": width, "height": 900})
    assert complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_phone_shows_the_verdict_first(browser: Browser, served: Site) -> None:
    """On a phone each failure of the list, and its page, begins with the verdict."""
    page, _ = opened(browser, f"{served.address}/failures", viewport={"width": 420, "height": 800})
    boxes = [page.locator(f"table.failures tr td.{kind}").first.bounding_box() for kind in ("v", "t", "w")]
    tops = [box["y"] for box in boxes if box is not None]
    assert len(tops) == 3 and tops[0] == min(tops) and tops[0] < 800
    page.goto(f"{served.address}/failures/{KILLED}")
    box = page.get_by_text("Storage failed this job").first.bounding_box()
    assert box is not None and box["y"] < 300


def test_times_in_the_readers_zone(browser: Browser, served: Site) -> None:
    """A button shows all times in the zone of the reader, keeps that from page to page, and shows UTC again."""
    page, complaints = opened(browser, f"{served.address}/failures?job=4184269", timezone_id="Asia/Tokyo")
    time = page.locator("td.t time")
    assert time.inner_text() == "2026-09-14 10:22"
    page.locator("button.zone").click()
    assert time.inner_text() == "2026-09-14 19:22" and "Asia/Tokyo" in page.locator("button.zone").inner_text()
    page.goto(f"{served.address}/overview?since=9000d")
    assert "19:22" in page.locator("ol.index").inner_text()
    page.locator("button.zone").click()
    assert "10:22" in page.locator("ol.index").inner_text() and complaints == []
    page.goto(f"{served.address}/failures/{KILLED}")
    assert page.locator("h2", has_text="Timeline").inner_text() == "Timeline (UTC)"
    page.locator("button.zone").click()
    assert page.locator("h2", has_text="Timeline").inner_text() == "Timeline (Asia/Tokyo)"
    assert "those in sentences and drawings are in UTC" in page.locator("footer").inner_text()


def test_without_scripts(browser: Browser, served: Site) -> None:
    """Without scripts facets, order and SQL work, and times are in UTC."""
    page, _ = opened(browser, f"{served.address}/failures", java_script_enabled=False)
    page.locator(".facets a", has_text="AZq6Oo53").click()
    assert page.locator("table.failures tbody tr").count() == 1
    assert "2026-09-14 10:22" in page.locator("table.failures").inner_text()
    page.goto(f"{served.address}/sql")
    page.locator("textarea").fill("select 40 + 2 as answer")
    page.get_by_role("button", name="run").click()
    assert "42" in page.locator("table").inner_text() and "sql=select" in page.url


def test_the_picture_is_that_of_the_report(browser: Browser, served: Site) -> None:
    """On a served page each bar and mark has the place and the size that its numbers say, as in a report's file."""
    page, _ = opened(browser, f"{served.address}/failures/{KILLED}", viewport={"width": 1280, "height": 900})
    page.wait_for_selector("section.picture[data-view]")
    wrong = page.evaluate("""() => {
        const svg = document.querySelector("svg.lanes"), box = svg.getBoundingClientRect();
        const scale = box.width / svg.viewBox.baseVal.width;
        return [...svg.querySelectorAll("rect.bar:not(.soft)")].filter((one) => {
            const seen = one.getBoundingClientRect();
            return Math.abs(seen.width - one.getAttribute("width") * scale) > 3
                || Math.abs(seen.height - one.getAttribute("height") * scale) > 3;
        }).map((one) => one.outerHTML);
    }""")
    assert wrong == []
