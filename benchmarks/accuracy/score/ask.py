"""Asks aiscorr about incidents through its public functions, in several processes; or reads what was kept of it.

A report is what `aiscorr report all --format json` prints; of an incident that cannot be read it is the error's words.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import cast

from aiscorr.ingest.pipeline import ingest
from aiscorr.model import IngestOptions
from aiscorr.report.build import build_report
from aiscorr.report.document import to_json
from aiscorr.store.database import reading
from benchmarks.accuracy.compare import kept_reports
from benchmarks.accuracy.score.truth import Json

NOW = datetime(2027, 2, 1, tzinfo=UTC)


def report_of(paths: Sequence[Path]) -> Json:
    """The report of all failures in these logs, read into a database of their own."""
    with tempfile.TemporaryDirectory() as folder:
        database = str(Path(folder) / "incident.duckdb")
        ingest([str(path) for path in paths], database, IngestOptions(), now=NOW, threads=1)
        with reading(database) as connection:
            return cast(Json, to_json(build_report(connection, "all", NOW)))


def reports(incidents: Sequence[Sequence[Path]], jobs: int) -> Iterator[Json | str]:
    """The reports of many incidents, in their order, or the words of an error."""
    if jobs == 1:
        yield from map(_report_or_error, incidents)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_report_or_error, incidents)


def _report_or_error(paths: Sequence[Path]) -> Json | str:
    try:
        return report_of(paths)
    except Exception as error:  # an incident that cannot be asked about is a result, with whatever it raises
        return f"{type(error).__name__}: {str(error)[:200]}"


def kept(file: Path, incidents: Sequence[Path]) -> Iterator[Json | str]:
    """The reports that `compare ask` kept of these incidents; their paths are those of the incidents again."""
    reports_by_name = kept_reports(file)
    for incident in incidents:
        name = f"{incident.parent.name}/{incident.name}"
        if name not in reports_by_name:
            raise ValueError(f"{file}: nothing is kept of {name}; ask again with the same places and --every")
        report = reports_by_name[name]["report"]
        if isinstance(report, str):
            yield report
        else:
            text = json.dumps(report, ensure_ascii=False)
            yield json.loads(text.replace(f'"/{incident.name}/', f'"{incident}/'))
