"""Asks aiscorr: logs in, the report's JSON out, through its public functions; also in several processes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any, cast

from aiscorr.ingest.pipeline import ingest
from aiscorr.model import IngestOptions
from aiscorr.report.build import build_report
from aiscorr.report.document import to_json
from aiscorr.store.database import reading

Json = dict[str, Any]
NOW = datetime(2027, 2, 1, tzinfo=UTC)


def answer(paths: Iterable[Path]) -> list[Json]:
    """The failures that aiscorr reports of these logs."""
    with tempfile.TemporaryDirectory() as folder:
        database = str(Path(folder) / "incident.duckdb")
        ingest([str(path) for path in paths], database, IngestOptions(), now=NOW, threads=1)
        with reading(database) as connection:
            return cast("list[Json]", cast(Json, to_json(build_report(connection, "all", NOW)))["failures"])


def answers(incidents: list[list[Path]], jobs: int) -> Iterator[list[Json]]:
    """The answers of many incidents, in their order."""
    if jobs == 1:
        yield from map(answer, incidents)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(answer, incidents)
