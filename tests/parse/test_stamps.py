"""Times that lines print: years that stamps leave out, zones that are printed, given or neither."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from timed_lines import MODERATE, RETRY, WATCHDOG, ais, header, marks, text_of, times, warned, worker

from aiscorr.errors import UsageError
from aiscorr.model import IngestOptions
from aiscorr.parse.ais.record import marker_of, zone_of_marker
from aiscorr.parse.file_reader import zone_for
from aiscorr.parse.stamps import DAY_NS, SECOND_NS, YearContext, clock_ns, day_ns, iso_ns, year_of_ns, zone_seconds
from aiscorr.parse.zone import ZoneClock

# --- numbers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01 00:00:00", 0),
        ("1970-01-02T00:00:01.5", DAY_NS + 1_500_000_000),
        ("2026-11-20_23:05:55,123", 1_795_215_955_123_000_000),
        ("2026/11/20 23:05:55.123456789", 1_795_215_955_123_456_789),
        ("2024-02-29 12:00:60", 1_709_208_059_000_000_000),
    ],
)
def test_iso(text: str, expected: int) -> None:
    """Date and time in any of the usual spellings is read to the nanosecond; a leap second is the second before."""
    assert iso_ns(text) == expected


@pytest.mark.parametrize("text", ["2026-02-29 00:00:00", "2026-13-01 00:00:00", "20 Nov 2026", ""])
def test_no_date(text: str) -> None:
    """A day that does not exist is no date."""
    with pytest.raises(ValueError):
        iso_ns(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("Z", 0), ("+09:00", 32400), ("-0800", -28800), ("+0530", 19800), ("-03:30", -12600), ("+00:00", 0)],
)
def test_zone_seconds(text: str, seconds: int) -> None:
    """A printed zone is seconds east of UTC."""
    assert zone_seconds(text) == seconds


@pytest.mark.parametrize(
    ("zone", "seconds"),
    [("UTC", 0), ("PST", -28800), ("CEST", 7200), ("+03", 10800), ("-0330", -12600), ("CST", None), ("IST", None)],
)
def test_zone_of_a_marker(zone: str, seconds: int | None) -> None:
    """An abbreviation that means one offset only is taken; one that names several zones is not guessed."""
    assert zone_of_marker(zone) == seconds


def test_marker() -> None:
    """The hourly marker tells day, minute and zone; a day that does not exist tells nothing."""
    assert marker_of(b"05 Sep 24 12:48 CST =============") == (iso_ns("2024-09-05 12:48:00"), "CST")
    assert marker_of(b"31 Feb 24 12:48 UTC =============") is None


@MODERATE
@given(st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1)), st.sampled_from(" T_"), st.integers(0, 9))
def test_any_moment_is_read_back(moment: datetime, between: str, digits: int) -> None:
    """Any date and time is read as the moment it names, with as many digits as are printed."""
    fraction = f"{moment.microsecond:06d}000"[:digits]
    text = f"{moment:%Y-%m-%d}{between}{moment:%H:%M:%S}" + (f".{fraction}" if digits else "")
    whole = int(moment.replace(microsecond=0, tzinfo=UTC).timestamp()) * SECOND_NS
    assert iso_ns(text) == whole + int((fraction or "0").ljust(9, "0"))
    assert year_of_ns(iso_ns(text)) == moment.year


# --- years ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("anchor", "is_bound", "day", "expected"),
    [
        ("2026-11-20", True, (4, 15), "2026-04-15"),
        ("2027-01-02", True, (12, 31), "2026-12-31"),
        ("2026-12-31", True, (1, 1), "2027-01-01"),
        ("2026-12-20", True, (1, 1), "2026-01-01"),
        ("2026-12-31", False, (1, 1), "2027-01-01"),
        ("2027-01-01", False, (12, 31), "2026-12-31"),
        ("2028-03-05", True, (2, 29), "2028-02-29"),
        ("2029-01-05", True, (2, 29), "2028-02-29"),
    ],
)
def test_year_of_a_day(anchor: str, is_bound: bool, day: tuple[int, int], expected: str) -> None:
    """A day without year is the nearest one to a full date, and none after the file was last written."""
    years = YearContext(iso_ns(f"{anchor} 00:10:00"), is_bound=is_bound)
    assert text_of(years.resolve(*day)) == f"{expected} 00:00:00"


def test_no_year_fits() -> None:
    """The 29th of February with no leap year near is no date."""
    with pytest.raises(ValueError):
        YearContext(iso_ns("2026-06-01 00:00:00")).resolve(2, 29)


@MODERATE
@given(st.dates(date(2020, 2, 1), date(2090, 1, 1)), st.integers(0, 170))
def test_a_day_before_the_last_change_is_found(written: date, age: int) -> None:
    """Any day of the last half year before the file was last written gets its year back."""
    day = written - timedelta(days=age)
    years = YearContext(day_ns(written.year, written.month, written.day))
    assert years.resolve(day.month, day.day) == day_ns(day.year, day.month, day.day)


@MODERATE
@given(st.dates(date(2020, 2, 1), date(2090, 1, 1)), st.integers(-170, 170))
def test_a_day_near_a_full_date_is_found(seen: date, distance: int) -> None:
    """Any day less than half a year from a full date of the same file gets its year back, before it or after it."""
    day = seen + timedelta(days=distance)
    years = YearContext(0)
    years.note(day_ns(seen.year, seen.month, seen.day))
    assert years.resolve(day.month, day.day) == day_ns(day.year, day.month, day.day)


def test_stamps_without_year_take_it_from_full_dates() -> None:
    """A full date anywhere before it in the file tells the year of a C++ stamp, whatever the file's own time says."""
    text = "[NeMo I 2024-12-31 23:59:50 x:1 rank:0] start\n"
    found = worker(text + WATCHDOG.format("1231 23:59:59.000000001") + WATCHDOG.format("101 00:00:01.000000001"))
    assert times(found) == ["2024-12-31 23:59:59", "2025-01-01 00:00:01"]


def test_stamps_without_year_take_it_from_the_last_change() -> None:
    """Without a full date the file's time tells the year; a stamp of December in a file of January is of last year."""
    line = WATCHDOG.format("{} 23:59:59.000000001")
    assert times(worker(line.format("1231"), "2027-01-01 00:05:00")) == ["2026-12-31 23:59:59"]
    assert times(worker(line.format("909"), "2027-01-01 00:05:00")) == ["2026-09-09 23:59:59"]


def test_a_unix_time_tells_the_year() -> None:
    """Seconds since 1970 that a line calls unix time tell the year of stamps, also of those in front of it."""
    stamped = WATCHDOG.format("1120 23:05:53.000000001")
    found = worker(stamped + "[TimeInfo: *** Aborted at 1700522000 (unix time) ***]\n")
    assert times(found) == ["2023-11-20 23:05:53"]
    assert (found.summary.date_method, worker(stamped).summary.date_method) == ("stamp", "mtime")


def test_a_given_year() -> None:
    """--year goes before the file's time, also for the days after New Year."""
    line = WATCHDOG.format("{} 23:59:59.000000001")
    found = worker(line.format("1130"), year=2023)
    assert times(found) == ["2023-11-30 23:59:59"]


def test_a_given_year_goes_on_after_new_year() -> None:
    """--year is the year the file begins in: after the 31st of December comes the next year."""
    line = WATCHDOG.format("{} 12:00:00.000000001")
    found = worker(line.format("1231") + line.format("101"), year=2023)
    assert times(found) == ["2023-12-31 12:00:00", "2024-01-01 12:00:00"]


def test_an_impossible_stamp_is_none() -> None:
    """A stamp whose digits make no date leaves the line to the stamp before it."""
    text = "2026-11-20 10:00:00,000 INFO start\n" + RETRY.format("2026-02-31 10:00:05,000")
    (row,) = worker(text).worker_line
    assert (text_of(row["local_ns"]), row["stamp_source"]) == ("2026-11-20 10:00:00", "before")


def test_a_time_of_day_takes_its_date_from_the_stamps_around_it() -> None:
    """A line that prints no date is of the day on which it comes nearest to the last stamp, also over midnight."""
    late, early = RETRY.format("[23:59:50 - fetch - ERROR]"), RETRY.format("[00:00:05 - fetch - ERROR]")
    found = worker("2026-11-20 23:58:00,000 INFO start\n" + late + early + late)
    assert times(found) == ["2026-11-20 23:59:50", "2026-11-21 00:00:05", "2026-11-20 23:59:50"]
    assert {row["stamp_source"] for row in found.worker_line} == {"own"}


def test_a_time_of_day_without_any_date_is_no_stamp() -> None:
    """The day is taken from a date at the beginning of the file, also behind the line; without any it is not known."""
    line = RETRY.format("[10:00:05 - fetch - ERROR]")
    (row,) = worker(line + "2026-11-20 10:01:00,000 INFO start\n").worker_line
    assert (text_of(row["local_ns"]), row["stamp_source"]) == ("2026-11-20 10:00:05", "own")
    plain = "loss is falling slowly\n" * 2_000
    late = "".join(line.replace("10:00:05", clock) for clock in ("10:00:05", "19:00:00", "03:00:00"))
    text = late + plain + "W1121 10:01:00.123456 77 api.py:1] start\n"
    assert times(worker(text)) == ["2026-11-20 10:00:05", "2026-11-20 19:00:00", "2026-11-21 03:00:00"]
    (row,) = worker(line).worker_line
    assert (row["local_ns"], row["stamp_source"]) == (None, None)


@MODERATE
@given(st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)), st.integers(-43_199, 43_199))
def test_a_time_of_day_within_half_a_day_is_found(seen: datetime, distance: int) -> None:
    """A moment less than twelve hours from the last stamp gets its day back from its time of day."""
    near = iso_ns(f"{seen:%Y-%m-%d %H:%M:%S}")
    moment = near + distance * SECOND_NS
    assert YearContext(0, near_ns=near).nearest(moment % DAY_NS) == moment


# --- zones ---------------------------------------------------------------------------------------------------------


def test_a_collectors_zone_is_a_mark() -> None:
    """The prefix of kubectl or a CRI file tells UTC beside the daemon's own clock, once a file."""
    line = "2026-11-20T15:04:05.500000+09:00 stdout F W 22:04:05.400001 x:1 t[tgt81] warned\n"
    found = ais(header("2026/11/19 20:00:00") + line + line)
    assert marks(found, "wrapper") == [("2026-11-19 22:04:05", "2026-11-20 06:04:05")]


def test_a_printed_zone_makes_utc() -> None:
    """A worker's stamp with a zone is stored as UTC; a collector's zone beside a stamp of the program is a mark."""
    found = worker(RETRY.format("2026-11-20 15:04:05,000+09:00"))
    assert times(found) == ["2026-11-20 06:04:05"] and found.summary.is_utc
    line = WATCHDOG.format("1120 09:16:33.000000001")
    found = worker(f"2026-11-20T17:16:33Z stderr F {line}")
    assert times(found) == ["2026-11-20 09:16:33"]
    assert marks(found, "wrapper") == [("2026-11-20 09:16:33", "2026-11-20 17:16:33")]


def test_a_collectors_zone_beats_a_stamp_of_the_program_behind_it() -> None:
    """A program's local stamp that looks like a collector's does not hide the zone in front of it."""
    local = RETRY.format("2026-11-20 23:14:04,340")
    found = worker(f"2026-11-20T17:44:01.5Z plain\n2026-11-20T17:44:04.340925949Z {local}2026-11-20T17:44:09Z plain\n")
    assert found.summary.is_utc
    assert [found.summary.first_ns, found.summary.last_ns] == [
        iso_ns("2026-11-20T17:44:01.5"), iso_ns("2026-11-20T17:44:09")
    ]  # fmt: skip
    assert times(found) == ["2026-11-20 17:44:04"]


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("Asia/Tokyo", "2026-11-20 01:00:00"),
        ("America/New_York", "2026-11-20 15:00:00"),
        ("Asia/Kathmandu", "2026-11-20 04:15:00"),
        ("UTC", "2026-11-20 10:00:00"),
    ],
)
def test_a_given_zone(zone: str, expected: str) -> None:
    """--timezone makes UTC of what prints no zone, on both sides."""
    found = ais(header("2026/11/20 09:00:00") + warned("10:00:00"), timezone=zone)
    assert times(found) == [expected] and found.summary.is_utc
    found = worker(RETRY.format("2026-11-20 10:00:00,000"), timezone=zone)
    assert times(found) == [expected] and found.summary.is_utc


def test_a_printed_zone_beats_a_given_one() -> None:
    """--timezone is for stamps without a zone: one with a zone keeps its own."""
    assert times(worker(RETRY.format("2026-11-20 15:04:05,000+09:00"), timezone="Europe/Berlin")) == [
        "2026-11-20 06:04:05"
    ]


def test_zones_by_path() -> None:
    """The first glob that fits a path or a name tells the zone, then --timezone."""
    options = IngestOptions(timezone="UTC", timezone_globs=(("*/tokyo/*", "Asia/Tokyo"), ("*.out", "Europe/Berlin")))
    found = [zone_for(path, options) for path in ("/logs/tokyo/x.out", "/logs/x.out", "/logs/x.log")]
    assert found == ["Asia/Tokyo", "Europe/Berlin", "UTC"]
    assert zone_for("/logs/x.log", IngestOptions()) is None


def test_the_hour_that_comes_twice() -> None:
    """In the hour that daylight saving time repeats, lines are told apart by their order."""
    clock = ZoneClock("Europe/Berlin")
    local = ["2026-10-25 01:50:00", "2026-10-25 02:30:00", "2026-10-25 02:10:00", "2026-10-25 03:10:00"]
    assert [text_of(clock.to_utc(iso_ns(text))) for text in local] == [
        "2026-10-24 23:50:00",
        "2026-10-25 00:30:00",
        "2026-10-25 01:10:00",
        "2026-10-25 02:10:00",
    ]


def test_a_zone_that_is_not_known() -> None:
    """A zone that is no IANA name is an error that says what to write."""
    with pytest.raises(UsageError, match="time zone 'Mars/Base' is not known"):
        ZoneClock("Mars/Base")


@MODERATE
@given(
    st.sampled_from(
        ["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Africa/Casablanca", "UTC"]
    ),
    st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1)),
    st.lists(st.integers(0, 5 * 3600), min_size=1, max_size=12),
)
def test_utc_comes_back_from_local_time(zone: str, start: datetime, steps: list[int]) -> None:
    """Local times of a log give back UTC, but for an hour that occurs twice, where either reading may be taken."""
    clock, info, moment = ZoneClock(zone), ZoneInfo(zone), start.replace(tzinfo=UTC)
    for step in steps:
        moment += timedelta(seconds=step)
        local = moment.astimezone(info)
        found = clock.to_utc(iso_ns(f"{local:%Y-%m-%d %H:%M:%S.%f}"))
        true = int(moment.timestamp()) * SECOND_NS + moment.microsecond * 1000
        other = local.replace(fold=1 - local.fold)
        if other.utcoffset() == local.utcoffset():
            assert found == true
        else:
            assert found in (true, int(other.timestamp()) * SECOND_NS + moment.microsecond * 1000)


@MODERATE
@given(st.integers(0, 23), st.integers(0, 59), st.integers(0, 59), st.text("0123456789", max_size=12))
def test_time_of_day(hour: int, minute: int, second: int, fraction: str) -> None:
    """A time of day is nanoseconds since midnight, whatever the number of digits behind the point."""
    found = clock_ns(hour, minute, second, fraction)
    assert found // SECOND_NS == hour * 3600 + minute * 60 + second
    assert f"{found % SECOND_NS:09d}".startswith(fraction[:9])
    assert clock_ns(hour, minute, second, None) == found // SECOND_NS * SECOND_NS
