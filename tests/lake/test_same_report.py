"""The reports of a lake are those of a database file, byte for byte."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commands import Command

if TYPE_CHECKING:
    from servers.dask import Cluster
    from servers.postgres import Postgres
    from servers.s3 import S3

FIXTURES = Path(__file__).parents[2] / "fixtures"
SHARED = Path(__file__).parents[3] / "shared" / "data"
#: A chain of storage, two jobs at once, dumps alone, clocks in doubt, no failure.
OURS = ("target_killed_short_batch", "two_jobs", "dumps_alone", "clocks_new_year", "healthy_run")
#: Of so many rows a lake is pulled whole: every one, and hardly any.
SIZES = ("2000000", "300")
_OWN = re.compile(r'("generated_at": )"[^"]*"')


def _logs(folder: Path) -> list[Path]:
    """The logs of an incident: its `ais` and `workers`, else all of it."""
    parts = [folder / name for name in ("ais", "workers") if (folder / name).is_dir()]
    return parts or [folder]


def _shared_folders() -> list[Path]:
    kinds = ("incidents", "torch-runs", "fr-cases", "slurm-outputs", "field")
    return [
        path
        for kind in kinds
        if (SHARED / kind).is_dir()
        for path in sorted((SHARED / kind).iterdir())
        if path.is_dir()
    ]


@pytest.fixture
def lake(
    postgres: Postgres, s3: S3, lake_environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """The address of a lake of its own, its Parquet on S3."""
    for name, value in lake_environment.items():
        monkeypatch.setenv(name, value)
    database = postgres.new_database()
    monkeypatch.setenv("AISCORR_LAKE_DATA", s3.new_bucket(database.replace("_", "-")))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield f"ducklake:postgres:{postgres.dsn(database)}"


def _report(run: Command, db: str | Path, *logs: Path, engine: str = "processes") -> tuple[int, int, str]:
    """The exit codes of an ingest and of the reports, and these without where they are of and when they were made."""
    read = run("--db", db, "ingest", *logs, "--engine", engine)
    told = run("--db", db, "report", "all", "--format", "json")
    return read.code, told.code, _OWN.sub(r'\1""', told.out.replace(str(db), "DB"))


def _compare(run: Command, folder: Path, lake: str, engine: str, tmp_path: Path) -> None:
    expected = _report(run, tmp_path / "one.duckdb", *_logs(folder))
    assert _report(run, lake, *_logs(folder), engine=engine) == expected


@pytest.mark.parametrize("name", OURS)
def test_small_lake(run: Command, lake: str, dask_workers: Cluster, tmp_path: Path, name: str) -> None:
    """A lake that is pulled whole, read on two workers, gives the reports of a file."""
    _compare(run, FIXTURES / name, lake, dask_workers.engine, tmp_path)


@pytest.mark.parametrize("name", OURS[:2])
def test_large_lake(run: Command, lake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A lake of which slices are pulled gives the reports of a file, also when its rows came in two parts."""
    monkeypatch.setenv("AISCORR_LAKE_MOST_ROWS", SIZES[1])
    logs = _logs(FIXTURES / name)
    for part in logs:
        assert run("--db", lake, "ingest", part).code == 0
    assert _report(run, lake, *logs)[2] == _report(run, tmp_path / "one.duckdb", *logs)[2]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("most_rows", SIZES)
@pytest.mark.parametrize("folder", _shared_folders(), ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_shared_incidents(
    run: Command, lake: str, dask_workers: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path,
    most_rows: str,
) -> None:  # fmt: skip
    """Logs that others wrote give the same reports, read on two workers."""
    monkeypatch.setenv("AISCORR_LAKE_MOST_ROWS", most_rows)
    _compare(run, folder, lake, dask_workers.engine, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_all_incidents_in_one_lake(run: Command, lake: str, dask_workers: Cluster, tmp_path: Path) -> None:
    """All logs of a collection in one lake give the reports that they give in one file."""
    folders = [path for path in _shared_folders() if path.parent.name == "incidents"]
    if not folders:
        pytest.skip(f"{SHARED} is not there")
    logs = [log for folder in folders for log in _logs(folder)]
    here, there = _report(run, lake, *logs, engine=dask_workers.engine), _report(run, tmp_path / "one.duckdb", *logs)
    assert here[:2] == there[:2]
    assert here[2].splitlines() == there[2].splitlines()
