"""Databases of sites: one incident of 30 AIStore nodes with 10 million counter values and 128 ranks, and one of 4096.

Whole commands are timed, with interpreter start and imports; memory is that of the process, seen from outside.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from aiscorr.analysis.spec import view_specs
from aiscorr.store.database import reading
from benchmarks.speed.cases import Row
from benchmarks.speed.process import Run, run
from benchmarks.speed.scale_corpus import write_incident

_SIZES = ((128, 10_000_000), (4096, 0))
_FAILURE = "select failure_id, job_id, cluster, window_started_at, window_ended_at from failure"
_COLUMNS = "select table_name, list(column_name) from duckdb_columns() group by table_name"


def scale_rows(rounds: int) -> Iterator[Row]:
    """Ingest, one more line, report, and the slowest public view filtered to one failure."""
    for rank_count, sample_count in _SIZES:
        yield from _rows_of(rank_count, sample_count, rounds)


def _rows_of(rank_count: int, sample_count: int, rounds: int) -> list[Row]:
    title = f"{rank_count} ranks, {sample_count / 1e6:.0f} M counter values"
    with tempfile.TemporaryDirectory() as folder:
        incident = write_incident(Path(folder), rank_count, sample_count)
        database = str(Path(folder) / "scale.duckdb")
        parts = [str(incident / "ais"), str(incident / "workers")]
        size = sum(path.stat().st_size for path in incident.rglob("*") if path.is_file()) / (1 << 20)
        rows = [_row(f"ingest, {title}", size, [_command(database, "ingest", *parts)])]
        log = sorted((incident / "workers").iterdir())[0]
        again = []
        for _ in range(rounds):
            with log.open("a") as file:
                file.write("2026-09-14 10:24:00,000 ERROR [rank 0] Stale file handle: '/data/x'\n")
            again.append(_command(database, "ingest", *parts))
        rows.append(_row(f"ingest of one more line, {title}", size, again))
        rows.append(_row(f"report, {title}", size, [_command(database, "report") for _ in range(rounds)]))
        timed = {
            name: [_command(database, "query", "--format", "csv", sql) for _ in range(rounds)]
            for name, sql in _queries(database).items()
        }
    slowest = max(timed, key=lambda name: _seconds(timed[name]))
    return [*rows, _row(f"query of the slowest public view, {title}", size, timed[slowest], slowest)]


def _command(database: str, *arguments: str) -> Run:
    return run([sys.executable, "-m", "aiscorr", "-q", "--db", database, *arguments], range(2))


def _seconds(runs: list[Run]) -> float:
    return median(one.seconds for one in runs)


def _row(what: str, size: float, runs: list[Run], note: str = "") -> Row:
    return Row(what, "-", size, _seconds(runs), None, max(one.peak_mib for one in runs), note)


def _queries(database: str) -> dict[str, str]:
    """Each public view with what it has of the failure: its id, else its job, cluster and window."""
    with reading(database) as connection:
        failure_id, job_id, cluster, begin, end = connection.execute(_FAILURE).fetchall()[0]
        columns = dict(connection.execute(_COLUMNS).fetchall())
    conditions = {
        "job_id": f"job_id = '{job_id}'",
        "cluster": f"cluster = '{cluster}'",
        "event_at": f"event_at between '{begin}' and '{end}'",
        "sampled_at": f"sampled_at between '{begin}' and '{end}'",
    }
    found = {}
    for spec in view_specs():
        if spec.is_public:
            there = [text for name, text in conditions.items() if name in columns[spec.name]]
            own = [f"failure_id = '{failure_id}'"] if "failure_id" in columns[spec.name] else there or ["true"]
            found[spec.name] = f"select * from {spec.name} where {' and '.join(own)}"
    return found
