"""`copy` moves a database between a file and a lake, both ways, with all that it holds, or does nothing."""

from __future__ import annotations

import re
import signal
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from commands import Command
from lakes import LakeHere, check_whole
from packing import tar_of
from scenes import Library, parts_of, read_in, rows
from stored_rows import files, stored

from aiscorr.analysis import refresh
from aiscorr.lake import copying
from aiscorr.lake.copying import Limits, copy_database

SCENARIOS = ("gpu_ecc_error", "two_jobs")
#: A copy that is killed where its rows are in the lake and not committed, and where the ledger does not know.
_DIES = {
    "written": "from aiscorr.lake import copying; copying._checked = lambda *given: die()",
    "committed": "Ledger.confirm = lambda *given: die()",
}
_KEPT = ("failure_name", "conclusion", "ingest_log", "archive_seen", "pattern", "case_input", "retention_log")

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def logs(library: Library, tmp_path: Path) -> list[Path]:
    """Logs of three jobs, some of them in an archive."""
    first, *more = (part for name in SCENARIOS for part in parts_of(library.folder(name)))
    archive = tmp_path / "first.tar.gz"
    archive.write_bytes(tar_of([(path.name, path.read_bytes()) for path in sorted(first.rglob("*.*"))], "w:gz"))
    return [archive, *more]


@pytest.fixture
def file(logs: list[Path], tmp_path: Path) -> str:
    """A database that read them in two runs."""
    db = str(tmp_path / "file.duckdb")
    read_in(db, *logs[:2])
    read_in(db, *logs)
    return db


def _kept(db: str) -> dict[str, list[tuple[object, ...]]]:
    return {table: rows(db, f"select * from {table} order by all") for table in _KEPT}


def _report(lake: LakeHere, db: str) -> str:
    found = lake.aiscorr("report", "all", "--format", "json", db=db)
    assert found.returncode == 0, found.stderr
    return re.sub(r'"generated_at": "[^"]*"', "", found.stdout.replace(db, "DB"))


def _other(lake: LakeHere, tmp_path: Path) -> LakeHere:
    return replace(lake, database=lake.postgres.new_database(), data=f"{tmp_path}/other-data/", s3=None)


@pytest.mark.parametrize("lake", ["folder", "s3"], indirect=True)
def test_round(lake: LakeHere, file: str, logs: list[Path], tmp_path: Path) -> None:
    """From a file into a lake, from that into another, and back into a file: all is there, and no log is read again."""
    other, back = _other(lake, tmp_path), str(tmp_path / "back.duckdb")
    there = other.lake.name
    steps = [
        lake.aiscorr("copy", "--to", lake.lake.name, db=file),
        lake.aiscorr("copy", "--to", there, AISCORR_LAKE_DATA=other.data),
        lake.aiscorr("copy", "--to", back, db=there),
    ]
    for done in steps:
        assert done.returncode == 0 and re.match(r"copied \d+ files, [\d,]+ rows and 3 cases to ", done.stdout), (
            done.stderr
        )
    check_whole(lake, file)
    check_whole(other, file)
    assert stored(back) == stored(file) and files(back) == files(file) and _kept(back) == _kept(file)
    wanted = _report(lake, file)
    assert '"failure_id"' in wanted
    for db in (lake.lake.name, there, back):
        assert _report(lake, db) == wanted
        assert " 0 new" in lake.aiscorr("ingest", *logs, db=db).stdout


def test_a_copy_goes_on(lake: LakeHere, file: str, library: Library) -> None:
    """A lake that is a copy takes more logs as the file does."""
    assert lake.aiscorr("copy", "--to", lake.lake.name, db=file).returncode == 0
    more = parts_of(library.folder("software_exception"))
    for db in (file, lake.lake.name):
        done = lake.aiscorr("ingest", *more, db=db)
        assert done.returncode == 0, done.stderr
    check_whole(lake, file)
    assert _report(lake, lake.lake.name) == _report(lake, file)


def test_a_copy_is_killed(lake: LakeHere, file: str, logs: list[Path]) -> None:
    """A copy that dies before its commit leaves a lake of nothing, one that dies after it leaves all of it."""
    given = ("copy", "--to", lake.lake.name)
    assert lake.aiscorr(*given, db=file, changed=_DIES["written"]).returncode == -signal.SIGKILL
    assert lake.rows("select 1 from lake.ingested_file union all select 1 from lake.ingest_log") == []
    assert lake.aiscorr(*given, db=file, changed=_DIES["committed"]).returncode == -signal.SIGKILL
    refused = lake.aiscorr(*given, db=file)
    assert refused.returncode == 2 and "something is already" in refused.stderr
    done = lake.aiscorr("ingest", *logs)
    assert done.returncode == 0 and " 0 new" in done.stdout, done.stderr
    check_whole(lake, file)


def test_in_parts(lake: LakeHere, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database of more rows than are copied at a time goes over in parts, and cases too; nothing differs."""
    monkeypatch.setattr(copying, "_MANY_ROWS", 100)
    monkeypatch.setattr(copying, "_MANY_JOBS", 1)
    said: list[str] = []
    copied = copy_database(file, lake.lake, Limits(say=said.append))
    assert copied.case_count == 3 and re.fullmatch(r"copying the rows of \d+ files in \d+ parts", said[0])
    check_whole(lake, file)
    other, back = _other(lake, tmp_path), str(tmp_path / "back.duckdb")
    assert copy_database(lake.lake, other.lake, Limits()) == copied
    check_whole(other, file)
    assert copy_database(other.lake, back, Limits()) == copied
    assert stored(back) == stored(file) and _kept(back) == _kept(file)


def test_results_of_another_version(lake: LakeHere, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the results of a file are of another version they are made again on the way, and the file is left alone."""
    wanted = _report(lake, file)
    with duckdb.connect(file) as connection:
        connection.execute("update view_state set definition = 'of another DuckDB'")
        connection.execute("delete from stored_failure")
    before = Path(file).read_bytes()
    done = lake.aiscorr("copy", "--to", lake.lake.name, db=file)
    assert done.returncode == 0 and "are made again" in done.stderr, done.stderr
    assert _report(lake, lake.lake.name) == wanted and Path(file).read_bytes() == before
    lake.write("update lake.lake_note set value = 'of another aiscorr' where name = 'views'")
    back = str(tmp_path / "back.duckdb")
    again = lake.aiscorr("copy", "--to", back)
    assert again.returncode == 0 and "are made again" in again.stderr, again.stderr
    assert _report(lake, back) == wanted


def test_duckdb_fails_inside(lake: LakeHere, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where DuckDB fails while the views of a copy are computed, it is opened again, and gets what cases gave."""
    copy_database(file, lake.lake, Limits())
    refreshed, given = refresh.refresh_views, []

    def fails_once(*arguments: object, **more: object) -> None:
        given.append(arguments)
        if len(given) == 1:
            raise duckdb.InternalException("as it does on some rows")
        refreshed(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(refresh, "refresh_views", fails_once)
    back = str(tmp_path / "back.duckdb")
    copy_database(lake.lake, back, Limits())
    assert len(given) == 2 and _kept(back) == _kept(file) and _report(lake, back) == _report(lake, file)


def test_refusals(lake: LakeHere, file: str, run: Command, tmp_path: Path) -> None:
    """What holds something already is no place for a copy, nor is a file of a file; nothing is made where it fails."""
    taken, new = tmp_path / "taken.duckdb", tmp_path / "new.duckdb"
    taken.write_bytes(b"something")
    cases: list[tuple[tuple[str | Path, ...], int, str]] = [
        (("--db", new, "copy", "--to", lake.lake.name), 1, "there is no database yet"),
        (("--db", file, "copy", "--to", new), 2, f"try: cp {file} {new}"),
        (("--db", lake.lake.name, "copy", "--to", new), 1, "there is no lake yet"),
        (("--db", lake.lake.name, "copy", "--to", taken), 2, "where something is already"),
        (("--db", file, "copy", "--to", lake.lake.name), 2, "nothing says where its Parquet goes"),
        (("--db", file, "copy", "--to", "ducklake:sqlite:x"), 2, "  at: --to"),
    ]
    for arguments, code, said in cases:
        outcome = run(*arguments)
        assert (outcome.code, outcome.out) == (code, "") and said in outcome.err, outcome.err
        assert not new.exists() and taken.read_bytes() == b"something"
    assert lake.postgres.run("select 1 from pg_tables where schemaname = 'public'", lake.database) == []
    lake.postgres.run("create schema other", lake.database)
    with duckdb.connect(str(new)) as connection:
        connection.execute("create table somebody_elses as select 1 as one")
    outcome = run("--db", new, "copy", "--to", lake.lake.name)
    assert outcome.code == 1 and "was not made by aiscorr" in outcome.err
