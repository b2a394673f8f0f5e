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
from aiscorr.report.table_lines import table_lines
from aiscorr.report.table_width import Widths, table_widths
from aiscorr.report.wrapping import hanging, lines_of

PLACE = "ais/WMat9305/aistarget.ais-target-3.INFO.1120-231509.1:78"


def tables_of(sections: Iterable[tuple[str, list[Block]]]) -> list[Table]:
    """The tables of all sections."""
    return [block for _, blocks in sections for block in blocks if isinstance(block, Table)]


@pytest.mark.parametrize("width", [70, 82, 100, 130])
def test_the_place_stays_whole(width: int) -> None:
    """A place is on one line however narrow its column is, and the text next to it wraps within the page."""
    words = "AIStore logs of WMat9305, qOTt9304, CIXt9303 and 2 more"
    table = Table(("logs", "sure", "line"), ((words, "0.93", f"matched{PLACE_MARK}{PLACE}"),), wide=("logs", "line"))
    lines = [line.plain for line in table_lines(table, width)]
    assert any(PLACE in line for line in lines) and max(map(len, lines)) <= width
    assert " ".join(" ".join(lines[2:]).split()).count("0.93") == 1


def test_a_table_that_fits_is_left_as_it_is() -> None:
    """Columns are as wide as their cells on a page that has room, with the place behind the text."""
    table = Table(("a", "line"), (("x", f"matched{PLACE_MARK}{PLACE}"),), wide=("line",))
    assert table_widths(table, 200) == Widths((1, len(PLACE) + 9))
    assert [line.plain for line in table_lines(table, 200)][2] == f"x   matched  {PLACE}"
    assert table_widths(Table(("a", "b"), (("x" * 30, "y" * 30),)), 40) == Widths((30, None))


def test_what_has_no_room_goes_below_its_row() -> None:
    """The last column that may wrap is written below its row, indented, where fewer than 30 columns are left for it."""
    words = "it kept the others waiting, or it failed first"
    table = Table(("role", "seen at", "meaning"), (("culprit", "x" * 50, words),), wide=("meaning",))
    assert table_widths(table, 80) == Widths((7, 50, None))
    lines = [line.plain for line in table_lines(table, 80)]
    assert [line.plain for line in table_lines(table, 40)][1:] == ["    meaning", "─" * 40, "culprit", *(
        f"    {line}" for line in ("seen at", "x" * 50, "it kept the others waiting, or it", "failed first")
    )]  # fmt: skip
    assert lines[0].split() == ["role", "seen", "at"] and lines[1] == "    meaning"
    assert lines[3].split() == ["culprit", "x" * 50] and lines[4] == f"    {words}"


def test_a_place_wider_than_the_page_is_whole() -> None:
    """A place that is wider than the page is below its row from the indent on, and the words next to it wrap."""
    words = "the statistics of all targets and all proxies of the cluster and of the time after"
    table = Table(("a", "line"), (("x y", f"{words}{PLACE_MARK}{PLACE}"),), wide=("a", "line"))
    lines = [line.plain for line in table_lines(table, 40)]
    assert lines[-1] == f"    {PLACE}" and max(map(len, lines[:-1])) <= 40
    assert " ".join(" ".join(lines[2:-1]).split()) == f"x y {words}"


def test_a_command_is_never_wrapped() -> None:
    """A command in running text is on one line as it is to be copied, also where it is wider than the page."""
    query = 'aiscorr query "select * from timeline where weight < 3 order by event_at"'
    lines = [line.plain for line in lines_of(Text(f"2 lesser events are not shown; all 19: {query}"), 40)]
    assert lines == ["2 lesser events are not shown; all 19:", query]
    lines = [line.plain for line in lines_of(Text("what it says, kubectl describe pod, dmesg -T, and the log"), 20)]
    assert lines == ["what it says,", "kubectl describe pod,", "dmesg -T, and the", "log"]
    told = [line.plain for line in lines_of(Text(f"all: ({query})."), 30)]
    assert told == ["all:", f"({query})."]


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
