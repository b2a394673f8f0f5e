"""What is published is whole: two writers, killed writers, readers, errors and other programs do no harm."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest
from commands import Command
from outside import aiscorr
from packing import LOG, written
from scenes import column, read_in, rows
from stored_rows import leave_analysis_out, stored

from aiscorr.errors import DatabaseBusyError
from aiscorr.ingest import pipeline, scanning
from aiscorr.model import IngestSummary
from aiscorr.store.database import reading, reading_newest, writing

HOLDER = """
import fcntl, sys
with open(sys.argv[1] + ".lock", "a+") as handle:
    fcntl.flock(handle, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.read()
"""
WRITER = """
import os, signal, sys
from aiscorr.store.database import writing
with writing(sys.argv[1]) as copy:
    copy.connection.execute("delete from ingested_file")
    copy.connection.execute("checkpoint")
    os.kill(os.getpid(), signal.SIGKILL)
"""

ASKER = """
import sys, duckdb
from aiscorr.store.database import in_memory, reading, reading_newest, writing
QUESTION = "select current_setting('enable_progress_bar')"
print(duckdb.connect().execute(QUESTION).fetchone()[0])
with writing(sys.argv[1]) as copy:
    print(copy.connection.execute(QUESTION).fetchone()[0])
for opened in (reading, reading_newest):
    with opened(sys.argv[1]) as connection:
        print(connection.execute(QUESTION).fetchone()[0])
print(in_memory().execute(QUESTION).fetchone()[0])
"""


@pytest.fixture
def rows_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is read and stored is looked at."""
    leave_analysis_out(monkeypatch)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that is held is waited for a moment only."""
    monkeypatch.setattr(pipeline, "writing", partial(writing, wait_s=0.1))


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Path]:
    """A database that another process is writing."""
    db = tmp_path / "held.duckdb"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(db)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"held\n"
        yield db
        process.communicate()


def counts(summary: IngestSummary) -> tuple[int, int, int]:
    """New files, unchanged ones, and those with bytes already known."""
    return summary.new_file_count, summary.unchanged_count, summary.duplicate_count


def left_behind(folder: Path) -> list[str]:
    """What is in a folder beside logs and the database."""
    return sorted(path.name for path in folder.iterdir() if path.suffix not in (".duckdb", ".log", ".lock"))


def test_a_database_in_use_is_exit_code_4(held: Path, tmp_path: Path, run: Command, impatient: None) -> None:
    """While another process writes the database an ingest gives up, says so, and leaves nothing behind."""
    log = written(tmp_path / "logs" / "rank0.log")
    done = run("--db", held, "ingest", log)
    assert (done.code, done.out) == (4, "")
    assert done.err.startswith("error: another ingest is writing this database\n")
    assert not held.exists()
    assert [name for name in left_behind(tmp_path) if name.startswith(".aiscorr")] == []


def test_a_database_that_a_shell_holds_is_busy(
    tmp_path: Path, rows_only: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that has the database open for writing is waited for, then named by its process."""
    db = tmp_path / "x.duckdb"
    read_in(db, written(tmp_path / "logs" / "rank0.log"))
    code = "import duckdb,sys; c=duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(db)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"held\n"
        monkeypatch.setattr(pipeline, "reading", partial(reading, wait_s=0.1))
        with pytest.raises(DatabaseBusyError, match=f"held by process {process.pid}"):
            read_in(db, tmp_path / "logs")
        process.communicate()
    assert read_in(db, tmp_path / "logs").unchanged_count == 1


def test_another_programs_database_is_refused(tmp_path: Path, run: Command) -> None:
    """A file that is no database, or not one of aiscorr, is left as it is: exit code 1."""
    log = written(tmp_path / "logs" / "rank0.log")
    other = tmp_path / "other.duckdb"
    with duckdb.connect(str(other)) as connection:
        connection.execute("create table mine as select 1 as x")
    text = written(tmp_path / "text.duckdb", b"nothing of the kind")
    for path in (other, text):
        before = path.read_bytes()
        done = run("--db", path, "ingest", log)
        assert done.code == 1 and done.err.startswith("error: ")
        assert path.read_bytes() == before


def test_a_folder_that_cannot_be_written(tmp_path: Path, run: Command) -> None:
    """A database in a folder that is not there is an error that says what to do."""
    log = written(tmp_path / "logs" / "rank0.log")
    done = run("--db", tmp_path / "none" / "x.duckdb", "ingest", log)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: the folder of the database cannot be written: No such file or directory\n")


def test_a_crashed_writer_leaves_the_database(tmp_path: Path, rows_only: None) -> None:
    """A writer that is killed leaves the database as it was, and the next one goes on."""
    log, db = written(tmp_path / "logs" / "rank0.log"), tmp_path / "x.duckdb"
    read_in(db, log)
    before, found = db.read_bytes(), stored(db)
    done = subprocess.run([sys.executable, "-c", WRITER, str(db)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert db.read_bytes() == before and (tmp_path / "x.duckdb.writing").exists()
    assert stored(db) == found
    assert counts(read_in(db, log, written(tmp_path / "logs" / "rank1.log", LOG + LOG))) == (1, 1, 0)
    assert left_behind(tmp_path) == ["logs"]


def test_an_error_while_loading_leaves_the_database(
    tmp_path: Path, rows_only: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong between reading and publishing, the database stays as it was, and nothing is left behind."""
    log, db = written(tmp_path / "logs" / "rank0.log"), tmp_path / "x.duckdb"
    read_in(db, log)
    before = db.read_bytes()

    def fail(*given: object) -> None:
        raise MemoryError("no more")

    monkeypatch.setattr(pipeline, "refresh_alone", fail)
    with pytest.raises(MemoryError):
        read_in(db, written(tmp_path / "logs" / "rank1.log", LOG + LOG))
    assert db.read_bytes() == before
    assert left_behind(tmp_path) == ["logs"]


def test_a_reader_is_not_disturbed(tmp_path: Path, rows_only: None) -> None:
    """An ingest does not wait for a reader, who goes on seeing what it saw; the next reader sees all."""
    db = tmp_path / "x.duckdb"
    read_in(db, written(tmp_path / "logs" / "rank0.log"))
    sql = "select count(*) from ingested_file"
    with reading(str(db)) as connection, open(db, "rb") as handle:
        bytes_seen = handle.read()
        assert connection.execute(sql).fetchall() == [(1,)]
        other = written(tmp_path / "logs" / "rank1.log", LOG + LOG)
        assert aiscorr(tmp_path, "--db", db, "ingest", other).code == 0
        assert connection.execute(sql).fetchall() == [(1,)]
        assert connection.execute("select count(*) from worker_line").fetchall() == [(1,)]
        handle.seek(0)
        assert handle.read() == bytes_seen
    assert column(db, sql) == [2]


def test_ingests_at_once_keep_each_others_files(
    tmp_path: Path, rows_only: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another ingest publishes while this one reads stays, the same file read by both is one, numbers differ."""
    db, logs = tmp_path / "x.duckdb", tmp_path / "logs"
    read_in(db, written(logs / "rank0.log"))
    both, other = written(logs / "rank1.log", LOG * 2), written(tmp_path / "other" / "rank9.log", LOG * 3)
    scan = pipeline.scan

    def slow_scan(*arguments: object, **named: object) -> Iterator[scanning.ScanResult]:
        monkeypatch.setattr(pipeline, "scan", scan)
        read_in(db, both, other)
        yield from scan(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(pipeline, "scan", slow_scan)
    read_in(db, logs, written(logs / "rank2.log", LOG * 4))
    found = rows(
        db,
        "select parse_filename(path), state, count(*) from ingested_file join worker_line using (file_id)"
        " group by all order by all",
    )
    assert found == [(f"rank{name}.log", "ingested", count) for name, count in ((0, 1), (1, 2), (2, 4), (9, 3))]
    assert len(set(column(db, "select file_id from ingested_file"))) == 4


@pytest.mark.parametrize("opener", [reading, reading_newest])
@pytest.mark.parametrize("fails", [False, True])
def test_a_publication_while_a_reader_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opener: Callable[[str], Any], fails: bool
) -> None:
    """A database published between DuckDB's first and last look at the file: the reader opens it again, whole."""
    path = str(tmp_path / "a.duckdb")
    with writing(path) as copy:
        copy.connection.execute("create table mark as select 'old' as version")
    connect, opened = duckdb.connect, []

    def connect_late(*args: Any, **settings: Any) -> duckdb.DuckDBPyConnection:
        """As DuckDB, while another version is put in the file's place at the first call."""
        opened.append(args)
        if len(opened) > 1:
            return connect(*args, **settings)
        with monkeypatch.context() as context:
            context.setattr(duckdb, "connect", connect)
            with writing(path) as copy:
                copy.connection.execute("update mark set version = 'new'")
        if fails:
            raise duckdb.IOException("IO Error: No more data remaining in MetadataReader")
        return connect(*args, **settings)

    monkeypatch.setattr(duckdb, "connect", connect_late)
    with opener(path) as connection:
        assert connection.execute("select version from mark").fetchall() == [("new",)]
    assert len(opened) == 2


def test_no_bar_is_drawn_on_stdout(tmp_path: Path, rows_only: None) -> None:
    """In a child without a script DuckDB draws a bar for what takes seconds, and stdout is data."""
    db = tmp_path / "x.duckdb"
    read_in(db, written(tmp_path / "rank0.log"))
    asked = [sys.executable, "-c", ASKER, str(db)]
    said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
    assert said == ["True", "False", "False", "False", "False"]
