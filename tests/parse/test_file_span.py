"""From when to when a worker's log reaches, where its lines print no year or one of them has a wrong clock."""

from __future__ import annotations

import pytest
from lines import read_worker
from timed_lines import RETRY, WATCHDOG, text_of, times


@pytest.mark.parametrize(
    "dated",
    [
        "*** SIGSEGV received at time=1621758224 on cpu 3 ***",
        "Sun May 23 08:23:44 2021       ",
        "[after dataloaders are built] datetime: 2021-05-23 08:23:57 ",
    ],
)
def test_a_full_date_behind_stamps_without_year(dated: str) -> None:
    """Stamps without a year are of the year that a line further down tells, whenever the file was copied."""
    text = WATCHDOG.format("523 08:20:00.000000000") + f"loading\n{dated}\n"
    found = read_worker(text)
    assert times(found)[0] == "2021-05-23 08:20:00"
    assert text_of(found.summary.first_ns) == "2021-05-23 08:20:00"


@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_stamp_of_a_wrong_clock(place: int) -> None:
    """A file reaches from its first to its last time; a stamp more than a month off all others does not count."""
    lines = [f"2026-11-20 10:0{minute}:00,000 INFO step {minute}\n" for minute in range(4)]
    lines[place:place] = [RETRY.format("1970-01-01 00:00:12,000", 1)]
    summary = read_worker("".join(lines) + RETRY.format("2026-11-20 10:05:00,000", 1)).summary
    assert [text_of(summary.first_ns), text_of(summary.last_ns)] == ["2026-11-20 10:00:00", "2026-11-20 10:05:00"]


def test_a_file_with_a_long_gap() -> None:
    """Two stamps behind a gap of more than a month make the file as long as it is."""
    lines = [RETRY.format(f"2026-{day} 10:00:00,000", 1) for day in ("03-01", "03-02", "06-01", "06-02")]
    summary = read_worker("".join(lines)).summary
    assert [text_of(summary.first_ns), text_of(summary.last_ns)] == ["2026-03-01 10:00:00", "2026-06-02 10:00:00"]


@pytest.mark.parametrize(
    ("zone", "began", "ended"),
    [("Z", "18:01:00", "18:03:00"), ("+05:30", "12:31:00", "12:33:00"), ("-03:00", "21:01:00", "21:03:00")],
)
def test_a_stamp_behind_a_bar_in_a_file_that_a_collector_dated(zone: str, began: str, ended: str) -> None:
    """What stands behind the last `\\r` of a bar has no stamp of a collector; its zone is that of the lines that do."""
    text = (
        f"2026-11-20T18:01:00.222716842{zone} 11/20/2026 20:01:00 [INFO|DP=1|PP=0|TP=0|n1]: rank 1/2 ready\n"
        f"2026-11-20T18:01:10.930375618{zone} Downloading data:  3%| | 2/62 [00:03]\r"
        "Downloading data:  4%| | 3/62 [01:30]" + WATCHDOG.format("1120 20:03:00.000000000")
    )
    summary = read_worker(text).summary
    assert summary.is_utc
    assert [text_of(summary.first_ns), text_of(summary.last_ns)] == [f"2026-11-20 {began}", f"2026-11-20 {ended}"]
