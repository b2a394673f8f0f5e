"""Ingestion from start to end: only what is new is read, in one process or several, and conclusions are remembered."""

from __future__ import annotations

import gzip
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Command
from packing import LOG, tar_of, written
from scenes import FIXTURES, NOW, column, read_in, rows
from stored_rows import files, leave_analysis_out, stored

from aiscorr.ingest import pipeline, scanning, spreading
from aiscorr.ingest.pipeline import ingest
from aiscorr.model import IngestOptions, IngestSummary

SCENARIO = FIXTURES / "target_killed_short_batch"
STEP = "[NeMo I 2026-11-20 23:03:23 train:131 rank:0] global_step: {} | loss: 3\n"


@pytest.fixture
def rows_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is read and stored is looked at."""
    leave_analysis_out(monkeypatch)


def steps(first: int, last: int) -> bytes:
    """Lines of training steps."""
    return "".join(STEP.format(number) for number in range(first, last)).encode()


def counts(summary: IngestSummary) -> tuple[int, int, int]:
    """New files, unchanged ones, and those with bytes already known."""
    return summary.new_file_count, summary.unchanged_count, summary.duplicate_count


def later(path: Path) -> None:
    """The file was changed ten seconds after it was."""
    moment = path.stat().st_mtime + 10
    os.utime(path, (moment, moment))


# --- what is new ---------------------------------------------------------------------------------------------------


def test_nothing_new_changes_nothing(tmp_path: Path, rows_only: None) -> None:
    """A run that finds nothing new reads nothing, logs no run and leaves the database's bytes alone."""
    log, db = written(tmp_path / "logs" / "rank0.log", steps(0, 50) + LOG), tmp_path / "x.duckdb"
    assert counts(read_in(db, log)) == (1, 0, 0)
    before = (db.read_bytes(), db.stat().st_ino)
    again = read_in(db, tmp_path / "logs")
    assert (counts(again), again.run_id, again.outcome) == ((0, 1, 0), 0, "ok")
    assert (db.read_bytes(), db.stat().st_ino) == before


def test_a_touched_file_is_no_news(tmp_path: Path, rows_only: None) -> None:
    """A file whose time alone changed keeps its rows and is not looked at once more."""
    log, db = written(tmp_path / "logs" / "rank0.log", LOG), tmp_path / "x.duckdb"
    read_in(db, log)
    before = stored(db)
    later(log)
    assert counts(read_in(db, log)) == (0, 1, 0)
    assert stored(db) == before
    assert read_in(db, log).run_id == 0


def test_a_grown_file_gives_its_tail(tmp_path: Path, rows_only: None) -> None:
    """New lines of a file are added under the number the file has; its rows stay."""
    log, db = written(tmp_path / "logs" / "rank0.log", LOG + steps(0, 9_000)), tmp_path / "x.duckdb"
    read_in(db, log)
    before = rows(db, "select file_id, line_no, pattern from worker_line")
    log.write_bytes(LOG + steps(0, 9_000) + LOG)
    assert counts(read_in(db, log)) == (1, 0, 0)
    (file_id,) = column(db, "select file_id from ingested_file")
    assert rows(db, "select file_id, line_no, pattern from worker_line order by line_no") == [
        *before,
        (file_id, 9_004, "python_exception"),
    ]


def test_a_changed_file_is_read_anew(tmp_path: Path, rows_only: None) -> None:
    """A file that holds something else, longer or shorter or as long, has only the rows of what it holds now."""
    log, db = written(tmp_path / "logs" / "rank0.log", LOG + steps(0, 100)), tmp_path / "x.duckdb"
    read_in(db, log)
    for text in (
        LOG.replace(b"boom", b"bang") + steps(0, 200),
        LOG.replace(b"boom", b"bing"),
        b"\n" + LOG[:-5] + b"xxxx",
    ):
        log.write_bytes(text)
        later(log)
        assert counts(read_in(db, log)) == (1, 0, 0)
        once = tmp_path / f"once{len(text)}.duckdb"
        read_in(once, log)
        assert (stored(db), files(db)) == (stored(once), files(once))


def test_other_options_read_anew(tmp_path: Path, rows_only: None) -> None:
    """The same file with another zone, job or kind is read again, with the rows of the new options only."""
    log, db = written(tmp_path / "logs" / "rank0.log", b"2026-11-20 10:00:00,000 INFO x\n" + LOG), tmp_path / "x.duckdb"
    read_in(db, log)
    first = column(db, "select local_ns from worker_line")
    assert counts(read_in(db, log, options=IngestOptions(timezone="Asia/Tokyo"))) == (1, 0, 0)
    assert column(db, "select local_ns from worker_line") == [first[0] - 9 * 3600 * 10**9]
    assert counts(read_in(db, log, options=IngestOptions(job_id="j9", timezone="Asia/Tokyo"))) == (1, 0, 0)
    assert column(db, "select job_id from ingested_file") == ["j9"]


def test_an_archive_is_opened_once(tmp_path: Path, rows_only: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive that was read to its end is not opened again until it changes."""
    archive = written(tmp_path / "logs" / "x.tar.gz", gzip.compress(tar_of([("rank0.log", LOG), ("notes", b"none")])))
    db = tmp_path / "x.duckdb"
    assert counts(read_in(db, archive)) == (1, 0, 0)
    monkeypatch.setattr(scanning, "expand", None)
    assert counts(read_in(db, archive)) == (0, 1, 0)
    monkeypatch.undo()
    leave_analysis_out(monkeypatch)
    archive.write_bytes(gzip.compress(tar_of([("rank0.log", LOG + LOG), ("rank1.log", steps(0, 5) + LOG)])))
    later(archive)
    assert counts(read_in(db, archive)) == (2, 0, 0)
    assert column(db, "select count(*) from worker_line") == [3]


# --- copies that outlive their original ----------------------------------------------------------------------------


def test_a_rotated_log_keeps_its_rows(tmp_path: Path, rows_only: None) -> None:
    """A log that was renamed, and whose name holds a new log now, is there with all rows of both."""
    log, db = written(tmp_path / "logs" / "train.log", LOG + steps(0, 50)), tmp_path / "x.duckdb"
    read_in(db, tmp_path / "logs")
    log.rename(tmp_path / "logs" / "train.log.1")
    written(log, LOG.replace(b"boom", b"bang"))
    later(log)
    read_in(db, tmp_path / "logs")
    found = rows(
        db, "select parse_filename(path), text from worker_line join ingested_file using (file_id) order by all"
    )
    assert found == [("train.log", "[rank3]: RuntimeError: bang"), ("train.log.1", "[rank3]: RuntimeError: boom")]


@pytest.mark.parametrize("is_looked_at", [True, False])
@pytest.mark.parametrize("is_packed", [True, False])
def test_a_copy_whose_original_changed_is_read(
    is_looked_at: bool, is_packed: bool, tmp_path: Path, rows_only: None
) -> None:
    """A copy gave no rows while its original stood; when that changes the copy gives them, when it is seen next."""
    folder, db = tmp_path / "logs", tmp_path / "x.duckdb"
    log = written(folder / "a.log", LOG)
    copy = written(folder / "b.tar", tar_of([("a.log", LOG)])) if is_packed else written(folder / "b.log", LOG)
    assert counts(read_in(db, folder)) == (1, 0, 1)
    log.write_bytes(LOG.replace(b"boom", b"other"))
    later(log)
    read_in(db, folder if is_looked_at else log)
    if not is_looked_at:
        assert counts(read_in(db, copy)) == (1, 0, 0)
    assert column(db, "select text[-5:] from worker_line order by all") == [" boom", "other"]
    assert column(db, "select count(*) from ingested_file where state = 'duplicate'") == [0]
    assert counts(read_in(db, folder)) == (0, 2, 0)


def test_a_file_that_grows_into_a_copy_is_one(tmp_path: Path, rows_only: None) -> None:
    """A log that grew to the bytes of an archived copy of it is counted once."""
    whole = LOG + steps(0, 9_000) + LOG
    log, db = written(tmp_path / "logs" / "a.log", whole[: -len(LOG)]), tmp_path / "x.duckdb"
    read_in(db, log)
    read_in(db, written(tmp_path / "late" / "x.tar", tar_of([("a.log", whole)])))
    log.write_bytes(whole)
    later(log)
    assert counts(read_in(db, log)) == (0, 0, 1)
    assert column(db, "select line_no from worker_line order by all") == [2, 9_004]


# --- stopping ------------------------------------------------------------------------------------------------------


def after(count: int) -> Callable[[], bool]:
    """A stop that comes after so many questions."""
    asked = iter(range(10**9))
    return lambda: next(asked) >= count


@pytest.mark.parametrize("count", range(9))
def test_a_stop_keeps_what_was_read(
    count: int, tmp_path: Path, rows_only: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever the user stops, files that were read whole are kept, none is half, and the outcome says so."""
    monkeypatch.setattr(spreading, "TASK_FILES", 2)
    for number in range(5):
        written(tmp_path / "logs" / f"rank{number}.log", LOG + steps(0, number + 1))
    db = tmp_path / "x.duckdb"
    summary = ingest([str(tmp_path / "logs")], str(db), IngestOptions(), now=NOW, should_stop=after(count))
    kept = column(db, "select path from ingested_file")
    assert column(db, "select count(*) from worker_line") == [len(kept)] == [summary.new_file_count]
    assert (summary.outcome == "stopped") == (len(kept) < 5)
    assert column(db, "select outcome from ingest_log") == ["stopped" if len(kept) < 5 else "ok"]
    assert read_in(db, tmp_path / "logs").new_file_count == 5 - len(kept)
    assert column(db, "select count(*) from worker_line") == [5]


def test_ctrl_c_ends_with_130(tmp_path: Path, run: Command, rows_only: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C says that what was read is kept, and the exit code is 130."""
    log = written(tmp_path / "logs" / "rank0.log")
    written(tmp_path / "logs" / "rank1.log", LOG + LOG)
    scan_item = scanning._scan_item

    def interrupted(item: scanning.ScanItem, *rest: object) -> None:
        scan_item(item, *rest)  # type: ignore[arg-type]
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(scanning, "_scan_item", interrupted)
    done = run("ingest", tmp_path / "logs")
    assert done.code == 130
    assert "stopping: what has been read is kept" in done.err
    assert len(column("aiscorr.duckdb", "select path from ingested_file")) == 1
    assert log.exists()


# --- several processes ---------------------------------------------------------------------------------------------


def test_several_processes_give_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read by one process or by two, the same files give the same rows under the same numbers."""
    leave_analysis_out(monkeypatch)
    logs = tmp_path / "logs"
    shutil.copytree(SCENARIO, logs)
    written(logs / "copy" / "error-4184269-0.out", (logs / "workers" / "error-4184269-0.out").read_bytes())
    monkeypatch.setattr(spreading, "POOL_BYTES", 0)
    monkeypatch.setattr(spreading, "TASK_FILES", 3)
    pools: list[int] = []
    pool = spreading._scan_in_pool
    monkeypatch.setattr(
        spreading, "_scan_in_pool", lambda tasks, *rest: (pools.append(len(tasks)), pool(tasks, *rest))[1]
    )
    for job_count in (1, 2):
        read_in(tmp_path / f"{job_count}.duckdb", logs, options=IngestOptions(job_count=job_count))
    one, two = tmp_path / "1.duckdb", tmp_path / "2.duckdb"
    assert pools and pools[0] > 2
    assert (files(two), stored(two)) == (files(one), stored(one))
    sql = "select file_id, path, duplicate_of from ingested_file order by all"
    assert rows(two, sql) == rows(one, sql)


def test_a_stop_reaches_all_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop ends the reading of several processes; what is left unread makes the outcome `stopped`."""
    leave_analysis_out(monkeypatch)
    monkeypatch.setattr(spreading, "POOL_BYTES", 0)
    monkeypatch.setattr(spreading, "TASK_FILES", 1)
    for number in range(12):
        written(tmp_path / "logs" / f"rank{number}.log", LOG + steps(0, number + 1))
    db = tmp_path / "x.duckdb"
    options = IngestOptions(job_count=2)
    summary = ingest([str(tmp_path / "logs")], str(db), options, now=NOW, should_stop=lambda: True)
    assert summary.outcome == "stopped"
    assert summary.new_file_count == len(column(db, "select path from ingested_file")) < 12


def test_the_memory_limit_reaches_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory limit and the number of threads that are asked for are those of the connection that writes."""
    leave_analysis_out(monkeypatch)
    seen: list[tuple[str, int]] = []
    sql = "select current_setting('memory_limit'), current_setting('threads')"
    monkeypatch.setattr(
        pipeline, "refresh_alone", lambda copy, *_: seen.extend(copy.connection.execute(sql).fetchall())
    )
    log = str(written(tmp_path / "logs" / "rank0.log"))
    ingest([log], str(tmp_path / "x.duckdb"), IngestOptions(), now=NOW, memory_limit="300MB", threads=1)
    assert seen == [("286.1 MiB", 1)]


# --- conclusions ---------------------------------------------------------------------------------------------------


def test_a_conclusion_changes_when_the_other_side_arrives(tmp_path: Path, run: Command) -> None:
    """Where AIStore's logs come later, the failure keeps its id, and report and ingest say what was believed before."""
    done = run("ingest", SCENARIO / "workers")
    assert done.code == 0
    before = rows("aiscorr.duckdb", "select failure_id, storage_verdict from failure")
    assert column("aiscorr.duckdb", "select count(*) from conclusion_change") == [0]
    done = run("ingest", SCENARIO / "ais")
    assert done.code == 0 and "\nfailure " in done.out and "no new failure" not in done.out
    after_it = rows("aiscorr.duckdb", "select failure_id, storage_verdict from failure")
    assert [row[0] for row in after_it] == [row[0] for row in before] and len(before) == 1
    assert after_it[0][1] == "guilty" and before[0][1] != "guilty"
    sql = "select failure_id, was, \"is\", because from conclusion_change where field = 'storage_verdict'"
    ((failure_id, was, now_is, because),) = rows("aiscorr.duckdb", sql)
    assert (failure_id, was, now_is) == (before[0][0], before[0][1], "guilty")
    assert because.startswith("ingested since: 10 ais logs (")
    told = dict(rows("aiscorr.duckdb", 'select field, "is" from conclusion_change'))
    now = rows("aiscorr.duckdb", "select failure_kind, confidence::varchar from failure")
    assert [(told["failure_kind"], told["confidence"])] == now and told["chain"].startswith("chain-")
    text = run("report").out
    assert f"storage_verdict: was {before[0][1]}, is guilty; ingested since: 10 ais logs" in text
    assert run("ingest", SCENARIO).code == 0
    assert column("aiscorr.duckdb", f"select count(*) from ({sql})") == [1]
