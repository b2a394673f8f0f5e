"""Tables and running text of a report: a citation is never cut, so that a copied one is whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from reports import scenario_report
from rich.text import Text
from scenes import Library, rows

from aiscorr.report.blocks import PLACE_MARK, Block, Bullets, Places, Steps, Table
from aiscorr.report.layout import laid_out
from aiscorr.report.render import render_text
from aiscorr.report.sections import clocks
from aiscorr.report.table_width import table_widths, text_widths
from aiscorr.report.wrapping import hanging, lines_of

PLACE = "ais/WMat9305/aistarget.ais-target-3.INFO.1120-231509.1:78"


def tables_of(sections: Iterable[tuple[str, list[Block]]]) -> list[Table]:
    """The tables of all sections."""
    return [block for _, blocks in sections for block in blocks if isinstance(block, Table)]


@pytest.mark.parametrize("width", [82, 100, 130])
def test_the_place_stays_whole(width: int) -> None:
    """A column that may wrap is as wide as its longest place, and others that may wrap give way to it."""
    words = "AIStore logs of WMat9305, qOTt9304, CIXt9303 and 2 more"
    table = Table(("logs", "sure", "line"), ((words, "0.93", f"matched{PLACE_MARK}{PLACE}"),), wide=("logs", "line"))
    widths = table_widths(table, width)
    assert widths is not None and widths[2] >= len(PLACE) and widths[1] == 4 and widths[0] >= len("qOTt9304,")
    assert sum(widths) + 6 <= width


def test_no_width_where_nothing_helps() -> None:
    """A table that fits is left as it is, and so is one that is too wide without any place."""
    table = Table(("a", "line"), (("x", f"matched{PLACE_MARK}{PLACE}"),), wide=("line",))
    assert table_widths(table, 200) is None
    assert table_widths(Table(("a", "b"), (("x" * 30, "y" * 30),)), 40) is None


def test_a_place_wider_than_the_page_is_whole() -> None:
    """Where the place alone is too wide it stands beyond the page, and the words beside it still wrap at the page."""
    words = "the statistics of all targets and all proxies of the cluster and of the time after"
    table = Table(("a", "line"), (("x y", f"{words}{PLACE_MARK}{PLACE}"),), wide=("a", "line"))
    widths = table_widths(table, 40)
    assert widths is not None and widths[1] >= len(PLACE)
    assert text_widths(widths, 40) == [None, 34] and text_widths(None, 40) == []
    assert text_widths([10, 27], 40) == [None, None]


def test_words_are_whole() -> None:
    """Running text breaks between words alone, and only what is asked to be cut is."""
    text = Text(f"the error stands at {PLACE}\nand here")
    assert [line.plain for line in lines_of(text, 20)] == ["the error stands at", PLACE, "and here"]
    cut = [line.plain for line in lines_of(text, 20, is_cut=True)]
    assert cut[:2] == ["the error stands at", PLACE[:20]] and "".join(cut[1:-1]) == PLACE
    assert [line.plain for line in hanging(Text("  - "), lines_of(Text("a bc"), 2))] == ["  - a", "    bc"]


@pytest.mark.parametrize("name", ["target_killed_short_batch", "clocks_new_year"])
def test_places_of_a_narrow_report_are_whole(name: str, library: Library) -> None:
    """On a page narrower than its citations every part of a report, tables and chains alike, shows them whole."""
    report = scenario_report(library, name)
    text = render_text(report, width=60, color=False).splitlines()
    (failure,) = report.failures
    page = laid_out(failure).sections
    cells = [row[-1] for table in tables_of(page) for row in table.rows]
    places = {cell.split(PLACE_MARK)[1] for cell in cells if PLACE_MARK in cell}
    steps = {item[-1] for _, blocks in page for block in blocks if isinstance(block, Steps) for item in block.items}
    files = {item[-1] for _, blocks in page for block in blocks if isinstance(block, Bullets) for item in block.items}
    assert max(map(len, steps)) > 54
    assert [place for place in places | steps | files if not any(place in line for line in text)] == []


@pytest.mark.parametrize("name", ["target_killed_short_batch", "two_jobs", "nobody_finishes", "clocks_new_year"])
def test_places_of_a_report_are_whole(name: str, library: Library) -> None:
    """Every place that a table of a report cites stands in the text on one line, as wide as a page is."""
    report = scenario_report(library, name)
    text = render_text(report, width=110, color=False).splitlines()
    for failure in report.failures:
        tables = tables_of(laid_out(failure).sections)
        places = [
            cell.split(PLACE_MARK)[1] for table in tables for row in table.rows for cell in row if PLACE_MARK in cell
        ]
        assert places and [place for place in places if not any(place in line for line in text)] == []


def test_clocks_cite_a_line(library: Library) -> None:
    """A clock told by a line of another file names that file and line, not the line's words."""
    database = library.database("nobody_finishes")
    told = rows(database, "select count(*) from clock where line_no is null and evidence is not null")
    (failure,) = scenario_report(library, "nobody_finishes").failures
    assert told != [(0,)]
    assert all(line.line_no for line in failure.clocks if line.evidence)
    nowhere = replace(failure, clocks=tuple(replace(line, line_no=None, evidence="words") for line in failure.clocks))
    (table,) = [block for block in clocks.blocks(nowhere, Places([])) if isinstance(block, Table)]
    assert all(row[-1].endswith(": words") for row in table.rows)
