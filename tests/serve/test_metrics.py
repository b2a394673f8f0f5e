"""The lag that a scrape is given: never negative, and not from times that are no line's own."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from scenes import Library, column, read_in, rows

from aiscorr.config import load_settings
from aiscorr.sandbox.question import Limits
from aiscorr.serve.ledger import ledger_path
from aiscorr.serve.reader import Reader
from aiscorr.serve.web.metrics import RunCounts, metrics_text

SCENARIO = "target_killed_short_batch"
NEWEST = "select max(last_at)::timestamp from source_file where kind = 'worker_log'"


def scraped(db: str, now: datetime, folder: Path, kind: str = "worker_log") -> dict[str, float]:
    """Values of one kind of log at that moment, by the metric's name."""
    settings = load_settings(db=db, config=None, environment={}, folder=str(folder))
    text = metrics_text(Reader(settings, Limits()), RunCounts(ledger_path(db)), str(folder), now)
    found = re.findall(rf'^aiscorr_(\w+)\{{kind="{kind}",cluster="[^"]*"\}} (\S+)$', text, re.MULTILINE)
    return {name: float(value) for name, value in found}


@pytest.mark.parametrize(("after_s", "lag", "ahead"), [(90, 90, 0), (-60, 0, 60)])
def test_lag(after_s: int, lag: int, ahead: int, library: Library, tmp_path: Path) -> None:
    """The lag is the age of the newest line, and none where a clock is a little ahead."""
    db = library.database(SCENARIO)
    newest = column(db, NEWEST)[0].replace(tzinfo=UTC)
    found = scraped(db, newest + timedelta(seconds=after_s), tmp_path)
    assert found["lag_seconds"] == pytest.approx(lag, abs=0.01)
    assert found["lines_ahead_seconds"] == pytest.approx(ahead, abs=0.01)


def test_lines_far_ahead_are_no_news(library: Library, tmp_path: Path) -> None:
    """Where a file lies far ahead of now, the lag is that of the others, and how far it lies is said apart."""
    db = library.database(SCENARIO)
    newest = column(db, NEWEST)[0].replace(tzinfo=UTC)
    found = scraped(db, newest - timedelta(days=1), tmp_path)
    assert "lag_seconds" not in found, "no line is from before now"
    assert found["lines_ahead_seconds"] == pytest.approx(86400, abs=0.01)


def test_day_of_a_copy_is_no_day_of_a_line(tmp_path: Path, library: Library) -> None:
    """A stderr copy without a date of its own, copied days later, has no part in the lag of its cluster."""
    source = library.folder(SCENARIO) / "ais" / "gREiOVxt" / "aistarget.ais-target-0.INFO.0914-102007.1"
    text = source.read_text()
    (tmp_path / "ais").mkdir()
    (tmp_path / "ais" / source.name).write_text(text)
    line = next(line for line in text.splitlines() if line.startswith("W 10:20:07"))
    copy = tmp_path / "ais" / "target.stderr.log"
    copy.write_text(line.replace("10:20:07", "10:20:09") + "\n")
    later = datetime(2026, 9, 22, 10, 30, tzinfo=UTC).timestamp()
    os.utime(copy, (later, later))
    db = str(tmp_path / "x.duckdb")
    read_in(db, tmp_path / "ais")
    assert rows(db, "select count(*) from source_file where kind = 'ais_log'") == [(2,)]
    found = scraped(db, datetime(2026, 9, 15, 10, 23, tzinfo=UTC), tmp_path, "ais_log")
    assert 80_000 < found["lag_seconds"] < 90_000 and found["lines_ahead_seconds"] == 0
    copy.rename(tmp_path / "alone.log")
    read_in(tmp_path / "y.duckdb", tmp_path / "alone.log")
    alone = scraped(str(tmp_path / "y.duckdb"), datetime(2026, 9, 22, 10, 21, tzinfo=UTC), tmp_path, "ais_log")
    assert 0 < alone["lag_seconds"] < 90_000, "alone it is all that is known"
