"""A lake with much in it: the healthy month that benchmarks/lake makes, and an incident read into it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from commands import Command

if TYPE_CHECKING:
    from servers.postgres import Postgres

    from aiscorr.lake.address import Lake

FIXTURES = Path(__file__).parents[2] / "fixtures"
#: Whose worker logs lie beside those of the storage, and whose name a node of it.
PLACES = {
    "target_killed_short_batch": ("one/ais", "one/workers"),
    "mountpath_faulted": ("site/logs/ais", "jobs/of/a/user/workers"),
}
DAY = date(2026, 10, 20)


@pytest.fixture
def month(postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[date], Lake]:
    """Makes a lake of eight nodes in two clusters that holds three days, up to one."""
    for name, value in postgres.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def make(last: date) -> Lake:
        from aiscorr.lake.address import Lake
        from benchmarks.lake.month import Site, write_days

        lake = Lake(postgres.dsn(postgres.new_database()), str(tmp_path / "data"))
        site = Site(node_count=8, cluster_count=2, stats_count=40)
        days = [date.fromordinal(last.toordinal() - number) for number in range(3)]
        assert write_days(lake, site, days) == 3 * site.rows_a_day
        return lake

    return make


def test_rows_as_ingest_makes_them(run: Command, month: Callable[[date], Lake], tmp_path: Path) -> None:
    """The views of a made month know each node and its counters, and find nothing amiss."""
    lake = month(DAY)
    assert _json(run, "--db", lake.name, "report", "all")["failures"] == []
    sql = "select count(*) as nodes, sum(file_count) as files from node_coverage where cluster like 'month%'"
    assert _json(run, "--db", lake.name, "query", sql) == [{"nodes": 8, "files": 24}]
    rejected = _json(run, "--db", lake.name, "query", "select count(*) as n from reject")
    assert rejected == [{"n": 0}]


@pytest.mark.parametrize("name", PLACES)
def test_incident_in_a_month(
    run: Command, month: Callable[[date], Lake], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """What is read into a lake with logs of other clusters of the same days is reported as if it were alone."""
    logs = [tmp_path / place for place in PLACES[name]]
    for folder in logs:
        shutil.copytree(FIXTURES / name / folder.name, folder)
    alone = str(tmp_path / "alone.duckdb")
    for folder in logs:
        run("--db", alone, "ingest", folder)
    begin = _json(run, "--db", alone, "query", "select min(started_at)::date as day from job")
    lake = month(date.fromisoformat(begin[0]["day"]))
    monkeypatch.setenv("AISCORR_LAKE_MOST_ROWS", "1000")
    for folder in logs:
        run("--db", lake.name, "ingest", folder)
    expected, found = (_json(run, "--db", db, "report", "all")["failures"] for db in (alone, lake.name))
    assert json.dumps([_told(one) for one in found]) == json.dumps([_told(one) for one in expected])
    assert found
    slices = sorted((tmp_path / "cache" / "aiscorr" / "lake").glob("*.duckdb"))
    counts = {_json(run, "--db", path, "query", "select count(*) as n from stats_line")[0]["n"] for path in slices}
    assert max(counts) < 100, "statistics lines of other clusters are not pulled"


def _json(run: Command, *arguments: str | Path) -> Any:
    return json.loads(run(*arguments, "--format", "json").out)


def _told(failure: dict[str, object]) -> dict[str, object]:
    return {
        name: failure.get(name)
        for name in ("failure_id", "failure_class", "storage_verdict", "statement", "culprit_nodes")
    }


def test_day_of_text(run: Command, month: Callable[[date], Lake], tmp_path: Path) -> None:
    """The text of a day is read whole: each node with its cluster, its lines and its counters."""
    lake = month(DAY)
    from benchmarks.lake.day_logs import write_day
    from benchmarks.lake.month import COUNTER_NAMES

    write_day(tmp_path / "logs", date(2026, 10, 21), 2, "month0001")
    read = _json(run, "--db", lake.name, "ingest", tmp_path / "logs")
    assert (read["new_file_count"], read["reject_count"]) == (2, 0)
    assert read["counter_count"] == 2 * 199 * len(COUNTER_NAMES)
