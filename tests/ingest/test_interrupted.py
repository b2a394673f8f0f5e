"""Databases of other versions are refused untouched; an analysis that is stopped or out of disk leaves the old one."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import duckdb
import pytest
from commands import Command
from outside import aiscorr, ended, files_end_at, left_behind, started
from packing import LOG, written
from scenes import FIXTURES, Library, read_in, rows
from truths import failures_of, mistakes

from aiscorr.store import load
from aiscorr.store.database import SCHEMA_VERSION, reading, reading_newest

SCENARIO = FIXTURES / "target_killed_short_batch"
NEW_FAILURE = SCENARIO / "workers"
VERDICTS = "select failure_id, storage_verdict, statement from failure order by failure_id"


@pytest.fixture
def analysed(library: Library, tmp_path: Path) -> Path:
    """A database that holds a failure."""
    return library.own("worker_logs_only", tmp_path / "x.duckdb")


@pytest.mark.parametrize("version", ["0", str(int(SCHEMA_VERSION) + 1)])
@pytest.mark.parametrize("verb", [("ingest", "rank0.log"), ("report",), ("query", "select 1"), ("verify",)])
def test_a_database_of_another_schema(version: str, verb: tuple[str, ...], tmp_path: Path, run: Command) -> None:
    """A database of an older or a newer schema is an error that names both versions, and is left as it is."""
    db, log = tmp_path / "x.duckdb", written(tmp_path / "rank0.log")
    with duckdb.connect(str(db)) as connection:
        connection.execute("create table schema_info as select ? as version", [version])
    before = db.read_bytes()
    done = run("--db", db, verb[0], *(log if word == "rank0.log" else word for word in verb[1:]))
    assert (done.code, done.out) == (1, "")
    said = f"error: this database has schema version {version}, this aiscorr writes version {SCHEMA_VERSION}\n"
    assert done.err.startswith(said) and "  try: ingest the logs into a new file (--db)" in done.err
    assert db.read_bytes() == before
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("beyond", [pytest.param(1, marks=pytest.mark.slow), 600_000])
def test_a_full_disk_while_views_are_computed(beyond: int, analysed: Path, tmp_path: Path) -> None:
    """A disk that ends while views are stored leaves the old database whole; with more space all goes in."""
    before, limit = analysed.read_bytes(), analysed.stat().st_size + beyond
    wanted = rows(analysed, VERDICTS)
    done = aiscorr(tmp_path, "-q", "--db", analysed, "ingest", NEW_FAILURE, analysed=True, prepare=files_end_at(limit))
    assert (done.code, done.out) == (1, ""), done.err
    assert done.err.startswith("error: the d") and "Traceback" not in done.err and "  try: free " in done.err
    assert analysed.read_bytes() == before and left_behind(tmp_path) == []
    assert rows(analysed, VERDICTS) == wanted
    read_in(analysed, NEW_FAILURE)
    assert set(wanted) < set(rows(analysed, VERDICTS))


def _when_storing(home: Path) -> None:
    """Waits until rows go into the copy of the database: from then on only storing and analysis are left."""
    end = time.monotonic() + 60
    while not any(path.name.endswith(".writing") for path in home.iterdir()):
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.parametrize("after_s", [pytest.param(0.05, marks=pytest.mark.slow), 0.5])
def test_ctrl_c_while_analysing(after_s: float, analysed: Path, tmp_path: Path) -> None:
    """Ctrl-C from storing on ends an ingest within two seconds, drops it whole, and the next one does all of it."""
    before = analysed.read_bytes()
    process = started(tmp_path, "-q", "--db", analysed, "ingest", NEW_FAILURE, analysed=True)
    _when_storing(tmp_path)
    time.sleep(after_s)
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    done = ended(process)
    if done.code != 0:  # it was faster
        assert (done.code, done.out, done.err.strip()) == (130, "", "stopped: nothing is half done")
        assert time.monotonic() - sent < 2
        assert analysed.read_bytes() == before
    assert left_behind(tmp_path) == []
    read_in(analysed, NEW_FAILURE)
    assert len(rows(analysed, VERDICTS)) == 2


@pytest.mark.parametrize("method", ["__arrow_c_stream__", "_batches", "_with_final"])
def test_ctrl_c_in_code_that_duckdb_calls(
    method: str, analysed: Path, tmp_path: Path, run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while DuckDB takes rows out of Python is Ctrl-C, not an error of DuckDB."""
    before = analysed.read_bytes()
    monkeypatch.setattr(load._Streamed, method, lambda *_: signal.raise_signal(signal.SIGINT))
    done = run("-q", "--db", analysed, "ingest", NEW_FAILURE)
    assert (done.code, done.out, done.err.strip()) == (130, "", "stopped: nothing is half done")
    assert analysed.read_bytes() == before and left_behind(tmp_path) == []


def test_two_ingests_with_analysis_at_once(tmp_path: Path) -> None:
    """Two ingests of the halves of an incident that are started at once, one perhaps sent away, leave its verdict."""
    halves = {
        part: started(tmp_path, "--db", "x.duckdb", "ingest", SCENARIO / part, analysed=True)
        for part in ("ais", "workers")
    }
    codes = {part: ended(process).code for part, process in halves.items()}
    assert sorted(codes.values()) in ([0, 0], [0, 4]), "the second waits for the first for five seconds"
    for part, code in codes.items():
        assert code == 0 or aiscorr(tmp_path, "--db", "x.duckdb", "ingest", SCENARIO / part, analysed=True).code == 0
    assert mistakes(SCENARIO, failures_of(str(tmp_path / "x.duckdb"))) == []
    assert left_behind(tmp_path) == []


def test_readers_while_ingests_publish(analysed: Path, tmp_path: Path) -> None:
    """Readers that come while ingests publish never wait, never fail, and see either the old or the new state whole."""
    seen: set[int] = set()
    is_over, problems = threading.Event(), []

    def read() -> None:
        while not is_over.wait(0.02):
            try:
                with reading(str(analysed), wait_s=0) as connection:
                    seen.update(connection.execute("select count(*) from worker_line").fetchall()[0])
            except Exception as error:  # whatever it is, it is a finding
                problems.append(repr(error))

    def newest() -> int:  # a plain connection would share what the reader has open, which may be the old state
        with reading_newest(str(analysed)) as connection:
            return int(connection.execute("select count(*) from worker_line").fetchall()[0][0])

    reader = threading.Thread(target=read)
    reader.start()
    counts = [newest()]
    for number in range(3):
        log = written(tmp_path / "logs" / f"rank{number}.log", LOG * (number + 1))
        assert aiscorr(tmp_path, "--db", analysed, "ingest", log).code == 0
        counts.append(newest())
    is_over.set()
    reader.join()
    assert problems == []
    assert seen <= set(counts) and len(seen) > 1
