"""Whole commands as multiples of what it takes to start Python with DuckDB and pyarrow, in turns with it."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.speed.process import REPO, run

_BASE = "import duckdb, pyarrow; duckdb.sql('create table t as select 1')"
_CORES = range(2)
_MANY = 100
_LINE = "2026-09-14 10:24:00,000 ERROR [rank 0] Stale file handle: '/data/x'\n"


def command_rows(rounds: int, incident: Path | None) -> Iterator[str]:
    """Lines of a table: what, seconds, multiple of the base; `incident`: a folder with `ais/` and `workers/`."""
    folder = incident or REPO / "fixtures" / "target_killed_short_batch"
    measured: dict[str, list[float]] = {"python with duckdb and pyarrow": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as place:
            measured["python with duckdb and pyarrow"].append(_seconds("-c", _BASE))
            for name, seconds in _one_round(Path(place), folder):
                measured.setdefault(name, []).append(seconds)
    base = median(measured["python with duckdb and pyarrow"])
    for name, times in measured.items():
        yield f"| {name} | {median(times):.2f} | {median(times) / base:.1f} |"


def _one_round(place: Path, incident: Path) -> Iterator[tuple[str, float]]:
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(place / "cache")
    try:
        yield "demo, nothing cached", _aiscorr("demo")
        _aiscorr("demo")  # parses the views, now that their columns are known
        yield "demo", _aiscorr("demo")
        yield from _incident(place, incident)
        yield from _many_cases(place, incident)
    finally:
        if before is None:
            del os.environ["XDG_CACHE_HOME"]
        else:
            os.environ["XDG_CACHE_HOME"] = before


def _incident(place: Path, incident: Path) -> Iterator[tuple[str, float]]:
    """Ingest and report of an incident, and one more line of its job."""
    logs, db = place / "one", str(place / "one.duckdb")
    for part in ("ais", "workers"):
        shutil.copytree(incident / part, logs / part)
    yield (
        "ingest and report of an incident",
        _aiscorr("--db", db, "ingest", str(logs)) + _aiscorr("--db", db, "report"),
    )
    with min((logs / "workers").iterdir()).open("a") as file:
        file.write(_LINE)
    yield "ingest of one more line of its job", _aiscorr("--db", db, "ingest", str(logs))


def _many_cases(place: Path, incident: Path) -> Iterator[tuple[str, float]]:
    """A hundred jobs of which each has the worker logs of the incident, beside one cluster."""
    logs, workers = place / "many", sorted((incident / "workers").iterdir())
    found = re.search(r"\d{5,}", workers[0].name)
    if found is None:
        return  # without its number in the name of a file, all would be one job
    shutil.copytree(incident / "ais", logs / "ais")
    for number in range(_MANY):
        for path in workers:
            own = str(6000000 + number)
            target = logs / f"job-{number}" / path.name.replace(found[0], own)
            target.parent.mkdir(exist_ok=True)
            target.write_text(path.read_text().replace(found[0], own))
    db = str(place / "many.duckdb")
    yield f"ingest of {_MANY} such jobs at once", _aiscorr("--db", db, "ingest", str(logs))


def _aiscorr(*arguments: str) -> float:
    return _seconds("-m", "aiscorr", "-q", *arguments)


def _seconds(*arguments: str) -> float:
    return run([sys.executable, *arguments], _CORES).seconds
