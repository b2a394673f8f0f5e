"""Tables of a text report: a citation is never cut, so that a copied one is whole."""

from __future__ import annotations

from dataclasses import replace

import pytest
from reports import report_of
from scenes import Library, rows

from aiscorr.report.blocks import PLACE_MARK, Places, Table
from aiscorr.report.layout import laid_out
from aiscorr.report.render import render_text
from aiscorr.report.sections import clocks
from aiscorr.report.table_width import table_widths

PLACE = "ais/WMat9305/aistarget.ais-target-3.INFO.1120-231509.1:78"


@pytest.mark.parametrize("width", [82, 100, 130])
def test_the_place_stays_whole(width: int) -> None:
    """A column that may wrap is as wide as its longest place, and others that may wrap give way to it."""
    words = "AIStore logs of WMat9305, qOTt9304, CIXt9303 and 2 more"
    table = Table(("logs", "sure", "line"), ((words, "0.93", f"matched{PLACE_MARK}{PLACE}"),), wide=("logs", "line"))
    widths = table_widths(table, width)
    assert widths is not None and widths[2] >= len(PLACE) and widths[1] == 4 and widths[0] >= len("qOTt9304,")
    assert sum(widths) + 6 <= width


def test_no_width_where_nothing_helps() -> None:
    """A table that fits is left as it is, and so is one that cannot hold its place at all."""
    table = Table(("a", "line"), (("x", f"matched{PLACE_MARK}{PLACE}"),), wide=("line",))
    assert table_widths(table, 200) is None and table_widths(table, 40) is None


@pytest.mark.parametrize("name", ["target_killed_short_batch", "two_jobs", "nobody_finishes", "clocks_new_year"])
def test_places_of_a_report_are_whole(name: str, library: Library) -> None:
    """Every place that a table of a report cites stands in the text on one line, as wide as a page is."""
    report = report_of(library.database(name))
    text = render_text(report, width=110, color=False).splitlines()
    for failure in report.failures:
        tables = [block for _, blocks in laid_out(failure).sections for block in blocks if isinstance(block, Table)]
        places = [
            cell.split(PLACE_MARK)[1] for table in tables for row in table.rows for cell in row if PLACE_MARK in cell
        ]
        assert places and [place for place in places if not any(place in line for line in text)] == []


def test_clocks_cite_a_line(library: Library) -> None:
    """A clock told by a line of another file names that file and line, not the line's words."""
    database = library.database("nobody_finishes")
    told = rows(database, "select count(*) from clock where line_no is null and evidence is not null")
    (failure,) = report_of(database).failures
    assert told != [(0,)]
    assert all(line.line_no for line in failure.clocks if line.evidence)
    nowhere = replace(failure, clocks=tuple(replace(line, line_no=None, evidence="words") for line in failure.clocks))
    (table,) = [block for block in clocks.blocks(nowhere, Places([])) if isinstance(block, Table)]
    assert all(row[-1].endswith(": words") for row in table.rows)
