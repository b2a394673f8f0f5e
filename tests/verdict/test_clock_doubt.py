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
