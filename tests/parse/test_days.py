"""Days of AIStore lines, which print none: headers, names, hourly markers, midnight, the file's own time."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from timed_lines import MODERATE, ais, header, marker, marks, text_of, times, warned

from aiscorr.parse.stamps import DAY_NS, iso_ns

pytestmark = pytest.mark.usefixtures("either_reader")


@pytest.mark.parametrize(
    ("start", "clocks", "expected"),
    [
        ("2026/11/20 23:59:50", ["23:59:59", "00:00:01"], ["2026-11-20 23:59:59", "2026-11-21 00:00:01"]),
        ("2026/12/31 23:59:50", ["23:59:59", "00:00:01"], ["2026-12-31 23:59:59", "2027-01-01 00:00:01"]),
        ("2028/02/28 23:59:50", ["23:59:59", "00:00:01"], ["2028-02-28 23:59:59", "2028-02-29 00:00:01"]),
        ("2026/02/28 23:59:50", ["23:59:59", "00:00:01"], ["2026-02-28 23:59:59", "2026-03-01 00:00:01"]),
        ("2026/11/20 00:00:01", ["23:00:00", "01:00:00"], ["2026-11-20 23:00:00", "2026-11-21 01:00:00"]),
        (
            "2026/11/20 23:00:00",
            ["23:59:59", "00:00:01", "23:59:58", "00:00:02"],
            ["2026-11-20 23:59:59", "2026-11-21 00:00:01", "2026-11-20 23:59:58", "2026-11-21 00:00:02"],
        ),
        ("2026/11/20 14:00:00", ["14:10:00", "13:10:00"], ["2026-11-20 14:10:00", "2026-11-20 13:10:00"]),
        ("2026/11/20 14:00:05", ["14:00:04", "14:00:06"], ["2026-11-20 14:00:04", "2026-11-20 14:00:06"]),
    ],
)
def test_midnight(start: str, clocks: list[str], expected: list[str]) -> None:
    """After midnight comes the next day, whatever the month and the year; a small step back is no midnight."""
    assert times(ais(header(start) + warned(*clocks))) == expected


def test_a_clock_that_was_set_back_is_marked() -> None:
    """A step back of an hour keeps the day and leaves a mark."""
    found = ais(header("2026/11/20 14:00:00") + warned("14:10:00", "13:10:00"))
    assert marks(found, "jump") == [("2026-11-20 13:10:00", None)]
    assert marks(ais(header("2026/11/20 14:00:00") + warned("14:10:00", "14:09:55")), "jump") == []


def test_a_rotation_header_dates_what_follows() -> None:
    """A header in the middle of a stream sets day and time, however long the silence before it."""
    text = (
        header("2026/11/20 10:00:00")
        + warned("10:00:01")
        + header("2026/11/25 09:00:00", "Rotated")
        + warned("09:00:01")
    )
    found = ais(text)
    assert times(found) == ["2026-11-20 10:00:01", "2026-11-25 09:00:01"]
    assert (found.summary.date_method, found.summary.date_line_no) == ("header", 1)


def test_the_hourly_marker_sets_the_day() -> None:
    """After days of silence the hourly marker tells the day of what follows, and UTC where its zone is unambiguous."""
    text = (
        header("2026/11/20 10:00:00")
        + warned("10:00:01")
        + marker("11:00:00", "23 Nov 26 11:00 PST")
        + warned("11:00:05")
    )
    found = ais(text)
    assert times(found)[0] == "2026-11-20 10:00:01"
    assert times(found)[-1] == "2026-11-23 11:00:05"
    assert marks(found, "utc_marker") == [("2026-11-23 11:00:00", "2026-11-23 19:00:00")]


def test_a_marker_written_over_midnight_moves_no_day() -> None:
    """A marker whose minute was taken just before midnight and written just after it leaves the days alone."""
    text = (
        header("2026/11/20 22:00:00")
        + warned("23:59:50")
        + marker("00:00:00", "20 Nov 26 23:59 UTC")
        + warned("00:00:05")
    )
    found = ais(text)
    assert times(found)[-1] == "2026-11-21 00:00:05"
    assert marks(found, "utc_marker") == [("2026-11-21 00:00:00", "2026-11-21 00:00:00")]


def test_a_header_in_an_undated_stream_moves_no_line_behind_it() -> None:
    """Lines before the first header of a stream keep guessed days, and one shift makes all days of the file true."""
    text = warned("01:00:00") + header("2026/11/20 14:00:00") + warned("14:00:01", "00:30:00")
    text += header("2026/11/22 09:00:00") + warned("09:00:01")
    found = ais(text)
    (shift,) = marks(found, "date_shift")
    moved = iso_ns(str(shift[1])) - iso_ns(str(shift[0]))
    true = [text_of(iso_ns(str(moment)) + moved) for moment in times(found)]
    assert true == ["2026-11-20 01:00:00", "2026-11-20 14:00:01", "2026-11-21 00:30:00", "2026-11-22 09:00:01"]
    assert found.summary.date_method == "header"


def test_an_ambiguous_marker_is_kept_without_utc() -> None:
    """A zone that means several offsets is a mark, but tells no UTC."""
    found = ais(header("2024/09/05 12:00:00") + marker("12:48:41", "05 Sep 24 12:48 CST"))
    assert marks(found, "zone_marker") == [("2024-09-05 12:48:41", None)]
    assert marks(found, "utc_marker") == []


def test_a_file_without_header_is_dated_by_its_marker() -> None:
    """Days guessed from the file's time are moved by what the first marker says, for the lines before it as well."""
    found = ais(warned("10:59:00") + marker("11:00:00", "20 Nov 26 11:00 UTC"))
    (shift,) = marks(found, "date_shift")
    assert times(found)[0] == "2026-12-24 10:59:00"
    moved = iso_ns(str(shift[1])) - iso_ns(str(shift[0]))
    assert moved == iso_ns("2026-11-20 00:00:00") - iso_ns("2026-12-24 00:00:00")


@pytest.mark.parametrize(
    ("name", "modified", "expected"),
    [
        ("aistarget.ais-target-0.INFO.1120-235900.1", "2026-12-24 12:00:00", "2026-11-20"),
        ("aistarget.ais-target-0.INFO.1231-235900.1", "2027-01-01 00:10:00", "2026-12-31"),
        ("aistarget.ais-target-0.ERROR.0229-235900.1", "2028-03-01 00:10:00", "2028-02-29"),
        ("aistarget.host.user.log.INFO.20240229-235900.77", "2026-12-24 12:00:00", "2024-02-29"),
    ],
)
def test_a_file_without_header_is_dated_by_its_name(name: str, modified: str, expected: str) -> None:
    """The name of a log tells month and day, older releases the year too; the file's time tells the year else."""
    found = ais(warned("23:59:59"), f"/logs/t1/{name}", modified)
    assert times(found) == [f"{expected} 23:59:59"]
    assert found.summary.date_method == "file_name"


def test_a_given_year_dates_a_file_name() -> None:
    """--year is the year of the month and day in a file's name."""
    found = ais(warned("23:59:59", "00:00:01"), "/x/aistarget.h.INFO.1231-235900.1", year=2021)
    assert times(found) == ["2021-12-31 23:59:59", "2022-01-01 00:00:01"]


@pytest.mark.parametrize(
    ("modified", "last", "days"),
    [
        ("2026-11-20 12:00:00", "11:59:00", None),
        ("2026-11-20 01:00:00", "23:00:00", -1),
        ("2026-11-20 10:00:00", "23:00:00", None),
    ],
)
def test_a_file_without_any_date_ends_at_its_last_change(modified: str, last: str, days: int | None) -> None:
    """Without header, name or marker the last line is no later than the file's time, give or take a zone."""
    shifts = marks(ais(warned(last), "/x/stderr", modified), "date_shift")
    assert [iso_ns(str(to)) - iso_ns(str(from_)) for from_, to in shifts] == ([days * DAY_NS] if days else [])


@MODERATE
@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2090, 1, 1)),
    st.lists(st.integers(0, 43_000), min_size=1, max_size=30),
)
def test_days_follow_the_header(start: datetime, steps: list[int]) -> None:
    """From its header on every line of a daemon has its day, as long as it is silent for less than half a day."""
    moment, text, expected = start.replace(microsecond=0), header(f"{start:%Y/%m/%d %H:%M:%S}"), []
    for step in steps:
        moment += timedelta(seconds=step)
        text += warned(f"{moment:%H:%M:%S}")
        expected.append(f"{moment:%Y-%m-%d %H:%M:%S}")
    assert times(ais(text)) == expected
