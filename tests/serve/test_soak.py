"""A service that runs for long holds no more at the end than after its first nights."""

from __future__ import annotations

import os
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from serve_home import JOB, JOBS_ONLY, NOW, SCENARIO, work
from stored_rows import leave_analysis_out

NIGHTS = 30
LIMIT_MIB = 48


def resident_mib() -> float:
    """What this process holds in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.mark.slow
def test_a_month_of_nights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty nights, each with a new worker log and a file that has grown: no descriptor, thread or memory is kept."""
    leave_analysis_out(monkeypatch)
    (tmp_path / "aiscorr.toml").write_text(JOBS_ONLY)
    text = (SCENARIO / "workers" / f"error-{JOB}-0.out").read_text()
    growing = tmp_path / "logs" / "always" / "error-1-0.out"
    growing.parent.mkdir(parents=True)
    held: list[tuple[int, int]] = []
    memory: list[float] = []
    for number in range(NIGHTS):
        new = tmp_path / "logs" / f"job-{number}" / f"error-{number}-0.out"
        new.parent.mkdir()
        new.write_text(text.replace(JOB, str(number)))
        with growing.open("a") as file:
            file.write(text)
        run = work(tmp_path, NOW + timedelta(days=number))
        assert run.file_count == 2, run.problems
        held.append((len(os.listdir("/proc/self/fd")), threading.active_count()))
        memory.append(resident_mib())
    assert held[-1] == held[2]
    assert memory[-1] - memory[NIGHTS // 3] < LIMIT_MIB
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "aiscorr.duckdb", "aiscorr.duckdb.lock", "aiscorr.duckdb.runs.jsonl", "aiscorr.toml", "logs", "reports",
    ]  # fmt: skip
