"""Starts an ingest into a database file or into a lake."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aiscorr.lake.address import Lake
from aiscorr.model import IngestOptions, IngestSummary


def ingest_into(db: str | Lake, paths: Sequence[str], options: IngestOptions, **others: Any) -> IngestSummary:
    """As `pipeline.ingest`, whose other arguments it takes, into the file or lake that is given."""
    if isinstance(db, Lake):
        from aiscorr.ingest.into_lake import ingest_into_lake

        return ingest_into_lake(paths, db, options, **others)
    from aiscorr.ingest.pipeline import ingest

    return ingest(paths, db, options, **others)
