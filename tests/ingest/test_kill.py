"""An ingest that is killed, interrupted or met by another one at any moment loses nothing and counts nothing twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from outside import aiscorr, ended, left_behind, started
from packing import LOG, noise, written
from scenes import NOW, column, read_in
from stored_rows import files, leave_analysis_out, stored

from aiscorr.cli import progress
from aiscorr.cli.context import Context
from aiscorr.ingest import pipeline
from aiscorr.model import IngestOptions
from aiscorr.store.work_folder import remove_stale, work_folder


def corpus(folder: Path) -> Path:
    """Some logs, of which two grew since the first half was ingested."""
    for number in range(8):
        written(folder / f"rank{number}.log", LOG * (number + 1) + noise(20_000) + b"end %d\n" % number)
    return folder


def grow(folder: Path) -> None:
    """More lines in two of the logs."""
    for number in (1, 5):
        with open(folder / f"rank{number}.log", "ab") as target:
            target.write(LOG * 3)


@pytest.fixture
def undisturbed(tmp_path: Path) -> tuple[Path, object]:
    """Grown logs, and what an undisturbed visit before and after they grew makes of them."""
    logs, db = corpus(tmp_path / "logs"), tmp_path / "undisturbed" / "x.duckdb"
    db.parent.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        leave_analysis_out(patch)
        read_in(db, logs)
        grow(logs)
        read_in(db, logs)
    return logs, (stored(db), files(db))


def kill_after(process: subprocess.Popen[str], seconds: float) -> int:
    """Kills a process that has not ended by then; its exit code, or minus the signal."""
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
    return process.returncode


@pytest.mark.slow
@pytest.mark.parametrize("pool", [False, True])
def test_killed_at_random_moments(pool: bool, tmp_path: Path, undisturbed: tuple[Path, object]) -> None:
    """However often an ingest is killed, the one that ends well leaves the tables of an undisturbed run."""
    logs, wanted = undisturbed
    home = tmp_path / "home"
    home.mkdir()
    began = time.monotonic()
    assert aiscorr(home, "--db", "whole.duckdb", "ingest", logs, "--jobs", "2", pool=pool).code == 0
    duration, chance = time.monotonic() - began, random.Random(5)
    codes = []
    for share in (0.0, *(chance.uniform(0.3, 1.0) for _ in range(3))):
        process = started(home, "--db", "x.duckdb", "ingest", logs, "--jobs", "2", pool=pool)
        while not left_behind(home) and process.poll() is None:
            pass  # its work folder is about to be there
        codes.append(kill_after(process, duration * share))
        if (home / "x.duckdb").exists():
            assert (stored(home / "x.duckdb"), files(home / "x.duckdb")) == wanted, "half an ingest was published"
    assert -signal.SIGKILL in codes
    assert aiscorr(home, "--db", "x.duckdb", "ingest", logs).code == 0
    assert (stored(home / "x.duckdb"), files(home / "x.duckdb")) == wanted
    assert left_behind(home) == []


@pytest.mark.slow
def test_processes_of_a_killed_ingest_end(tmp_path: Path) -> None:
    """Processes that read for an ingest end when it is killed."""
    logs = tmp_path / "logs"
    for number in range(4):
        written(logs / f"big{number}.log", LOG + noise(6_000_000))
    process = started(tmp_path, "--db", "x.duckdb", "ingest", "logs", "--jobs", "2", pool=True)
    children: list[str] = []
    while len(children) < 3 and process.poll() is None:  # the tracker of semaphores and two readers
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.kill()
    assert ended(process).code == -signal.SIGKILL, "its pipes are closed: nobody is left who holds them"


def test_ingests_started_at_once(tmp_path: Path, undisturbed: tuple[Path, object]) -> None:
    """Two ingests of the same logs into one database that are started at once both end well, and count once."""
    logs, wanted = undisturbed
    both = [started(tmp_path, "--db", "x.duckdb", "ingest", logs) for _ in range(2)]
    assert [ended(process).code for process in both] == [0, 0]
    assert (stored(tmp_path / "x.duckdb"), files(tmp_path / "x.duckdb")) == wanted
    assert left_behind(tmp_path) == []


def test_ctrl_c_twice(tmp_path: Path) -> None:
    """Ctrl-C twice ends an ingest at once without a traceback; the next one reads all."""
    logs = corpus(tmp_path / "logs")
    written(logs / "big.log", LOG + noise(12_000_000))
    process = started(tmp_path, "--db", "x.duckdb", "ingest", "logs", analysed=True)
    while not any(name.startswith(".aiscorr-") for name in os.listdir(tmp_path)) and process.poll() is None:
        pass
    assert process.stderr is not None
    process.send_signal(signal.SIGINT)
    assert process.stderr.readline().startswith("stopping: what has been read is kept")
    process.send_signal(signal.SIGINT)
    done = ended(process)
    assert (done.code, done.out) == (130, "")
    assert done.err.strip() == "stopped: nothing is half done"
    assert left_behind(tmp_path) == [] and not (tmp_path / "x.duckdb").exists()
    assert aiscorr(tmp_path, "--db", "x.duckdb", "ingest", "logs").code == 0
    assert column(tmp_path / "x.duckdb", "select count(*) from ingested_file") == [9]


def test_work_folders_of_the_dead_are_removed(tmp_path: Path) -> None:
    """A work folder nobody holds is removed; one in use, and a user's folder of such a name, are not."""
    written(tmp_path / ".aiscorr-dead" / "ais_line-1-1.arrow")
    written(tmp_path / ".aiscorr-mine" / "notes.txt")
    (tmp_path / ".aiscorr-begun").mkdir()
    with work_folder(str(tmp_path / "x.duckdb")) as folder:
        assert left_behind(tmp_path) == sorted([".aiscorr-mine", Path(folder).name])
        remove_stale(str(tmp_path))
        assert os.path.isdir(folder)
    assert left_behind(tmp_path) == [".aiscorr-mine"]


def test_progress_is_a_line_now_and_then(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where stderr is no terminal a line every five seconds tells files, bytes, rows and time left; none at first."""
    now = [0.0]
    monkeypatch.setattr("aiscorr.cli.progress.time.monotonic", lambda: now[0])
    with progress.progress(Context(None, None, 0)) as show:
        show("read", 4, 2_000_000, 0)
        for second in range(12):
            now[0] = float(second)
            show("scan", second // 4, second * 100_000, second * 1000)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "1 of 4 files, 0.5 of 2.0 MB, 5,000 rows, 5 s, about 15 s left to read",
        "2 of 4 files, 1.0 of 2.0 MB, 10,000 rows, 10 s, about 10 s left to read",
    ]


def test_progress_of_the_analysis(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows reading is told step by step, each with how far it is and with seconds of its own."""
    now = [0.0]
    monkeypatch.setattr("aiscorr.cli.progress.time.monotonic", lambda: now[0])
    with progress.progress(Context(None, None, 0)) as show:
        show("read", 4, 2_000_000, 0)
        for second, step, first, of in (
            (20, "load", 4, 0), (26, "views", 10, 143), (31, "views", 90, 143),
            (33, "cases", 0, 6), (37, "cases", 2, 6), (42, "publish", 0, 0),
        ):  # fmt: skip
            now[0] = float(second)
            show(step, first, of, 9000)
    assert capsys.readouterr().err.splitlines() == [
        "storing 9,000 events of 4 files, 0 s",
        "analysing: 10 of 143 views, 0 s",
        "analysing: 90 of 143 views, 5 s",
        "judging: 2 of 6 jobs, 4 s",
        "publishing, 0 s",
    ]


def test_steps_of_an_ingest(tmp_path: Path) -> None:
    """An ingest tells every step: reading, storing, each view, each case, publishing."""
    told: list[tuple[str, int, int]] = []
    pipeline.ingest(
        [str(written(tmp_path / "rank0.log"))], str(tmp_path / "x.duckdb"), IngestOptions(job_count=1),
        now=NOW, progress=lambda phase, first, second, _rows: told.append((phase, first, second)),
    )  # fmt: skip
    assert list(dict.fromkeys(phase for phase, *_ in told)) == ["read", "scan", "load", "views", "cases", "publish"]
    views = [(done, count) for phase, done, count in told if phase == "views"]
    assert [done for done, _ in views] == list(range(1, views[0][1] + 1))
    assert [one[1:] for one in told if one[0] == "cases"] == [(0, 1), (1, 1)]


def test_a_terminal_that_cannot_move_has_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """With TERM=dumb progress is told in lines."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    assert not progress._can_move()
    monkeypatch.setenv("TERM", "xterm")
    assert progress._can_move()


def test_progress_is_a_bar_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal a bar tells files, bytes and rows, and is gone at the end; with -q there is none."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    for verbosity in (0, -1):
        with progress.progress(Context(None, None, verbosity)) as show:
            show("read", 4, 2_000_000, 0)
            show("scan", 1, 500_000, 5000)
            show("load", 4, 0, 9000)
        assert ("storing 9,000 events of 4 files" in capsys.readouterr().err) == (verbosity == 0)
