"""A zone that was given wrongly, or not at all, is said where the moments stand."""

from __future__ import annotations

import shutil
from pathlib import Path

from commands import Command
from scenes import FIXTURES, column, copy_with_times, read_in, rows

from aiscorr.model import IngestOptions

SCENE = "target_killed_short_batch"


def test_a_wrong_zone_is_said(tmp_path: Path) -> None:
    """Worker logs put hours away by --timezone: by how much they would fit, and that the zone is not sure."""
    scene = copy_with_times(FIXTURES / SCENE, tmp_path / SCENE)
    db = tmp_path / "x.duckdb"
    read_in(db, scene / "workers", options=IngestOptions(timezone="America/Los_Angeles"))
    read_in(db, scene / "ais")
    assert rows(db, "select distinct method, against_s, confidence < 0.5 from clock where kind = 'worker_log'") == [
        ("given", 7 * 3600, True)
    ]
    doubt = column(db, "select why from blind_spot where what like '%given as America/Los_Angeles%'")
    assert len(doubt) == 1 and doubt[0].startswith("moved by -7 h they would fit the AIStore logs")


def test_utc_that_is_assumed_is_said(tmp_path: Path, run: Command) -> None:
    """Without a line that ties a job to UTC the verdict's moments and the advice say that UTC is assumed."""
    scene = copy_with_times(FIXTURES / SCENE, tmp_path / SCENE)
    shutil.rmtree(scene / "ais")
    db = tmp_path / "x.duckdb"
    read_in(db, scene / "workers")
    text = " ".join(run("--db", db, "report").out.split())
    head = text[: text.index("Job ---")]
    assert "UTC assumed: no line of the job shows its time zone" in head
    assert "UTC (assumed: no line of the job shows its time zone)" in text and "no line shows the time zone" in text


def test_a_year_that_no_line_shows_is_that_of_the_job_or_said_to_be_assumed(tmp_path: Path, run: Command) -> None:
    """A log without a year has that of the job's others and belongs to its case; without one the head says so."""
    logs = tmp_path / "logs"
    logs.mkdir()
    fatal = "[rank{0}]:[E1120 23:05:53.231169699 ProcessGroupNCCL.cpp:757] [Rank {0}] Watchdog caught collective"
    fatal += " operation timeout: WorkNCCL(SeqNum=629, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=60000) ran"
    fatal += " for 60044 milliseconds before timing out.\n"
    (logs / "rank1.log").write_text(fatal.format(1), "utf-8")
    run("--db", tmp_path / "x.duckdb", "ingest", logs)
    text = " ".join(run("--db", tmp_path / "x.duckdb", "report").out.split())
    assert "UTC and year assumed: no line of the job shows its time zone or a year" in text
    (logs / "rank0.log").write_text("[rank0]: 2021-11-20 23:05:51,000 INFO ready\n" + fatal.format(0), "utf-8")
    run("--db", tmp_path / "y.duckdb", "ingest", logs)
    text = " ".join(run("--db", tmp_path / "y.duckdb", "report").out.split())
    assert "2021-11-20 23:05:51 UTC to 2021-11-20 23:05:53.231 UTC" in text and "2 ranks seen" in text
    assert "year assumed" not in text and "UTC assumed" in text
