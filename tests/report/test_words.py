"""Small words of a report: times, numbers, ranks and places are written the same everywhere."""

from __future__ import annotations

from datetime import datetime

import pytest

from aiscorr.report.blocks import Places, cited, clock, clock_between, number, ranges, shorten
from aiscorr.report.speaking import said


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((), ""),
        ((5,), "5"),
        ((0, 1, 2, 5), "0-2, 5"),
        ((7, 3, 4), "3-4, 7"),
        (tuple(range(1024)), "0-1023"),
        (tuple(range(0, 4096, 8)), "0, 8, … 4088"),
        ((1, 2, *range(8, 64, 8), 70), "1-2, 8, 16, … 56, 70"),
        ((0, 8, 16, 24, 32), "0, 8, 16, 24, 32"),
        (tuple(n * n for n in range(30)), "0-1, " + ", ".join(str(n * n) for n in range(2, 25)) + " and 5 more"),
    ],
)
def test_ranges(numbers: tuple[int, ...], text: str) -> None:
    """Ranks that follow each other, or are equally far apart, are written as one; of very many the first are shown."""
    assert ranges(numbers) == text


def test_small_words() -> None:
    """Times, numbers and places are written the same everywhere."""
    early, late = datetime(2026, 9, 14, 10, 20, 36), datetime(2026, 9, 14, 10, 21, 38, 342999)
    assert (clock(late), clock(late, is_exact=False), clock(None)) == ("10:21:38.342", "~10:21:38.342", "?")
    assert clock_between(early, late) == "after 10:20:36" and clock_between(None, late) == ""
    assert clock_between(late, late) == clock_between(late, None) == "10:21:38.342"
    assert (number(None), number(1234), number(0.44), number(12.0)) == ("–", "1,234", "0.4", "12")
    assert shorten("a\n  b " * 100, 10) == "a b a b a…" and shorten("short") == "short"
    assert cited("text", "") == "text" and cited("text", "a:1") == "text\n@ a:1"


@pytest.mark.parametrize(
    "line",
    [
        '{"ts": 1796066042.404, "lvl": "warning", "rank": 1, "msg": "Retrying x',
        "2026-11-30 19:13:51.467 | ERROR    | rank 1 | __main__:watchdog:206 - Retrying x",
        "11/30/2026 08:35:37 PM - WARNING - root - rank 0 -   Retrying x",
        "[2026-11-30 19:35:58,803][asr.trainer.r3][WARNING] - Retrying x",
    ],
)
def test_what_a_line_says(line: str) -> None:
    """Of a line the words are shown, without level, rank, logger and place before them."""
    assert said(line, 80) == "Retrying x"


def test_paths_are_shortened() -> None:
    """The folder that all paths share is named once, and a path outside of it stays whole."""
    places = Places(["/a/b/x/1.log", "/a/b/y.tar!m/2.log", "", "/a/b/x/3.log"])
    assert (places.root, places.path("/a/b/x/1.log"), places.path("/a/c")) == ("/a/b", "x/1.log", "/a/c")
    assert places.line("/a/b/x/1.log", 7) == "x/1.log:7" and places.line("/a/b/x", None) == "x"
    assert places.path(None) == places.line(None, 3) == "" and Places(["/1", "/2"]).root == ""
