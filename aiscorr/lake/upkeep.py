"""Keeps a lake quick and small, once in a while: many small files become few, and what no reader needs goes.

DuckLake does it; a reader that began before keeps the snapshot that it reads.
"""

from __future__ import annotations

import contextlib
from datetime import timedelta

from aiscorr.lake.address import Lake
from aiscorr.lake.ledger import ledger
from aiscorr.lake.shape import LAKE
from aiscorr.lake.site import attached, sweep
from aiscorr.store.database import DEFAULT_MEMORY_LIMIT, in_memory

#: So long a snapshot, and a file that none needs, stays.
KEPT = timedelta(days=30)
#: So long it waits for an ingest that writes.
_WAIT_S = 600.0


def keep_up(lake: Lake, *, kept: timedelta = KEPT, memory_limit: str = DEFAULT_MEMORY_LIMIT) -> None:
    """Merges small files, and removes snapshots and files that are old; no other process writes meanwhile."""
    old = f"older_than => now() - interval {int(kept.total_seconds())} seconds"
    with (
        ledger(lake) as book,
        contextlib.closing(in_memory(memory_limit)) as connection,
        book.committing(_WAIT_S),
        attached(connection, book),
    ):
        sweep(connection, book)
        connection.execute(f"call ducklake_merge_adjacent_files('{LAKE}')")
        connection.execute(f"call ducklake_expire_snapshots('{LAKE}', {old})")
        connection.execute(f"call ducklake_cleanup_old_files('{LAKE}', {old})")
