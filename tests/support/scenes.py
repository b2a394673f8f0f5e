"""Scenarios of the repository and recorded incidents beside it: copies with their times, and databases of them."""

from __future__ import annotations

import fcntl
import os
import shutil
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiscorr.ingest.pipeline import ingest
from aiscorr.model import IngestOptions, IngestSummary
from aiscorr.store.database import reading

REPO = Path(__file__).resolve().parents[2]
FIXTURES = REPO / "fixtures"
SHARED = (REPO.parent / "shared" / "data").resolve()
NOW = datetime(2027, 2, 1, 12, 0, tzinfo=UTC)
_FAMILIES = ("fr-cases", "incidents", "torch-runs")


def scenario_names() -> list[str]:
    """The scenarios that lie in the repository."""
    return sorted(path.parent.name for path in FIXTURES.glob("*/truth.toml"))


def recorded_names() -> list[str]:
    """The recorded incidents and runs that are available, as family/name."""
    return sorted(
        f"{path.parent.parent.name}/{path.parent.name}" for f in _FAMILIES for path in SHARED.glob(f"{f}/*/truth.toml")
    )


def some_names() -> list[str]:
    """Scenarios and recorded incidents that are looked at together in each run."""
    return [*scenario_names()[::6], *recorded_names()[::7]]


def truth_of(folder: Path) -> dict[str, Any]:
    """The truth of a scenario."""
    return tomllib.loads((folder / "truth.toml").read_text("utf-8"))


def parts_of(folder: Path, *, ais: str = "ais") -> list[Path]:
    """The folders of a scenario that hold logs; `ais` names the one that AIStore's are taken from."""
    return [part for part in (folder / ais, folder / "workers", folder / "logs") if part.is_dir()]


def copy_with_times(source: Path, target: Path) -> Path:
    """A copy whose files have the time of the last event of the truth; a checkout does not keep times."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("expected"))
    events = truth_of(source).get("event", [])
    moment = max(event["utc"] for event in events).timestamp()
    for path in target.rglob("*"):
        os.utime(path, (moment, moment))
    return target


def read_in(
    db: Path | str, *paths: Path | str, options: IngestOptions | None = None, now: datetime = NOW
) -> IngestSummary:
    """Ingests paths into a database, as of a fixed day."""
    return ingest([str(path) for path in paths], str(db), options or IngestOptions(), now=now)


def rows(db: Path | str, sql: str, parameters: Iterable[object] = ()) -> list[tuple[Any, ...]]:
    """The rows of a query."""
    with reading(str(db)) as connection:
        return connection.execute(sql, list(parameters)).fetchall()


def column(db: Path | str, sql: str, parameters: Iterable[object] = ()) -> list[Any]:
    """The first column of a query."""
    return [row[0] for row in rows(db, sql, parameters)]


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    with open(lock, "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True)
class Library:
    """Copies and databases in a folder that all processes of a test run share; each is made once."""

    base: Path

    def folder(self, name: str) -> Path:
        """A scenario by its name, or a recorded incident by family/name, where it may be read and not changed."""
        if "/" in name:
            return SHARED / name
        target = self.base / "scenarios" / name
        with _alone(self.base / f"{name}.copy.lock"):
            if not target.is_dir():
                making = self.base / f"{name}.making"
                copy_with_times(FIXTURES / name, making)
                target.parent.mkdir(exist_ok=True)
                making.rename(target)
        return target

    def database(self, name: str) -> str:
        """A database with the logs of one scenario."""
        return self.made(name.replace("/", "-"), lambda: parts_of(self.folder(name)))

    def own(self, name: str, db: Path) -> Path:
        """A copy at `db` of the database of one scenario, for a test that changes it."""
        return Path(shutil.copy(self.database(name), db))

    def together(self, label: str, names: Iterable[str]) -> str:
        """A database with the logs of several incidents."""
        return self.made(label, lambda: [part for name in names for part in parts_of(self.folder(name))])

    def several(self) -> str:
        """A database with the failures of several jobs."""
        names = ("target_killed_short_batch", "two_jobs", "worker_logs_only", "gpu_ecc_error")
        return self.together("several", names)

    def changeable(self, name: str) -> tuple[Path, Path]:
        """A database of one scenario and the logs that it was made of, to change; at the next call both are new."""
        place = self.base / f"{name}.of-{os.getpid()}"
        logs, kept = place / "logs", place / "kept.duckdb"
        shutil.rmtree(logs, ignore_errors=True)
        shutil.copytree(self.folder(name), logs)
        if not kept.exists():
            read_in(kept, *parts_of(logs))
        return Path(shutil.copy(kept, place / "x.duckdb")), logs

    def made(self, label: str, paths: Callable[[], list[Path]], options: IngestOptions | None = None) -> str:
        """The database of that label; if there is none yet, it is made of the paths that are told then."""
        db = self.base / f"{label}.duckdb"
        with _alone(self.base / f"{label}.lock-of-test"):
            if not db.exists():
                making = self.base / f"{label}.making.duckdb"
                read_in(making, *paths(), options=options)
                making.rename(db)
        return str(db)
