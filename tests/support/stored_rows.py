"""Stored rows of a database by path, and ingestion without analysis, for tests that ask only what was read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scenes import rows

from aiscorr.ingest import pipeline
from aiscorr.schema.tables import FILE_TABLES, INGESTED_FILE

_OF_THE_RUN = ("run_id", "modified_ns", "stored_byte_count")
_OF_READING = ("resume_offset", "resume_state")
Table = list[tuple[Any, ...]]


def leave_analysis_out(patch: pytest.MonkeyPatch) -> None:
    """Ingestion stores rows and publishes them, but computes no view and concludes nothing."""
    patch.setattr(pipeline, "refresh_alone", lambda *given: None)
    patch.setattr(pipeline, "are_views_current", lambda connection: True)
    patch.setattr(pipeline, "changed_failures", lambda connection, run_id: ())


def stored(db: Path | str) -> dict[str, Table]:
    """All rows that came from files, by table, with the path in place of the file's number."""
    found = {}
    for table in FILE_TABLES:
        names = ", ".join(f"r.{name}" for name in table.column_names if name != "file_id")
        found[table.name] = rows(
            db, f"select f.path, {names} from {table.name} as r join ingested_file as f using (file_id) order by all"
        )
    return found


def files(db: Path | str) -> Table:
    """The rows of ingested_file without what differs from run to run."""
    left = {"file_id", "duplicate_of", *_OF_THE_RUN, *_OF_READING}
    names = ", ".join(f"f.{name}" for name in INGESTED_FILE.column_names if name not in left)
    return rows(
        db,
        f"select {names}, d.path from ingested_file as f left join ingested_file as d on d.file_id = f.duplicate_of"
        " order by f.path",
    )
