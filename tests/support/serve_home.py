"""A folder that the service works in: configuration, AIStore logs, and worker logs that come in one by one."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

from scenes import FIXTURES

from aiscorr.config import Settings, load_settings
from aiscorr.serve.ledger import ServiceRun
from aiscorr.serve.plan import ServePlan, read_plan
from aiscorr.serve.run import run_once

SCENARIO = FIXTURES / "target_killed_short_batch"
JOB = "4184269"
NOW = datetime(2026, 9, 15, 6, 0, tzinfo=UTC)
CONFIG = """
[serve]
every = "1s"
wait = "10m"
recent = "9000d"
[[serve.cluster]]
logs = ["ais"]
[[serve.jobs]]
path = "logs/{job_id}/error-*.out"
"""
JOBS_ONLY = CONFIG.replace('[[serve.cluster]]\nlogs = ["ais"]\n', "")


def furnish(home: Path, *, ais: bool = True) -> Path:
    """A folder with a configuration, AIStore logs unless told otherwise, and the first of a job's two worker logs."""
    (home / "aiscorr.toml").write_text(CONFIG if ais else JOBS_ONLY)
    if ais:
        shutil.copytree(SCENARIO / "ais", home / "ais")
    arrive(home, 0)
    return home


def arrive(home: Path, node: int) -> None:
    """The log of a worker node comes in."""
    target = home / "logs" / "train-7" / f"error-{JOB}-{node}.out"
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(SCENARIO / "workers" / target.name, target)


def setting(home: Path) -> tuple[ServePlan, Settings]:
    """Plan and settings as the verb reads them."""
    settings = load_settings(db=None, config=str(home / "aiscorr.toml"), environment={}, folder=str(home))
    return read_plan(settings.serve, base=settings.folder, where=settings.config_path), settings


def work(home: Path, now: datetime = NOW) -> ServiceRun:
    """One run at that time."""
    plan, settings = setting(home)
    return run_once(plan, settings, "nightly", now=lambda: now)


def reports(home: Path) -> dict[str, str]:
    """The reports that lie there, as text by failure."""
    return {path.stem: path.read_text() for path in sorted((home / "reports").glob("*.txt"))}
