"""Makes room in a spool after an ingest: files of a certain age, and the oldest ones where it is more than half full.

Only what the database holds to the last byte is removed, and what was removed is remembered, so that the next archive
of the node does not bring it back.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from aiscorr.lake.address import Lake
from aiscorr.lake.ledger import ledger
from aiscorr.model import WORK_PREFIX
from aiscorr.pull.node import SEVERITIES, STATE_NAME
from aiscorr.pull.spool import files_of, open_spool, read_state, write_state
from aiscorr.store.database import reading
from aiscorr.store.load import known_files

_DAY_S = 86400.0


@dataclass(frozen=True)
class _Kept:
    """A file of the spool that the database holds whole."""

    path: Path
    size: int
    written_s: float
    spooled_s: float
    is_current: bool


def clean(folder: str, db: str | Lake, *, keep_days: float, max_bytes: int, now: datetime) -> tuple[int, int]:
    """Removes ingested files from a spool; returns how many, and their bytes.

    `keep_days` counts from the last time a pull wrote to the file. Where there is too little room, the oldest logs go
    first, but none that is still growing.
    """
    with open_spool(folder, max_bytes):
        files = [(path, size) for path, size in files_of(Path(folder)) if not path.name.startswith(WORK_PREFIX)]
        total = sum(size for _, size in files)
        known = _stored_sizes(db, [os.path.realpath(path) for path, _ in files])
        kept = [_kept(path, size) for path, size in files if known.get(os.path.realpath(path)) == size]
        kept.sort(key=lambda one: (one.written_s, one.path))
        going: list[_Kept] = []
        for one in kept:
            is_old = one.spooled_s < now.timestamp() - keep_days * _DAY_S
            if is_old or (total > max_bytes // 2 and not one.is_current):
                going.append(one)
                total -= one.size
        _remove(going)
    return len(going), sum(one.size for one in going)


def _stored_sizes(db: str | Lake, paths: Collection[str]) -> dict[str, int]:
    """How many bytes of these files the database or the lake holds."""
    if isinstance(db, Lake):
        with ledger(db) as book:
            known = book.known(paths)
    else:
        with reading(db) as connection:
            known = known_files(connection)
    return {path: old.stored_byte_count for path, old in known.items()}


def _kept(path: Path, size: int) -> _Kept:
    state = read_state(path.parent / STATE_NAME)
    current = {state.get(severity, {}).get("current") for severity in SEVERITIES}
    info = path.stat()
    return _Kept(path, size, info.st_mtime, info.st_ctime, path.name in current)


def _remove(files: Iterable[_Kept]) -> None:
    """Notes the files as removed before they go, so that a crash in between brings nothing back."""
    by_folder: dict[Path, dict[str, int]] = {}
    for one in files:
        by_folder.setdefault(one.path.parent, {})[one.path.name] = one.size
    for folder, sizes in by_folder.items():
        state_path = folder / STATE_NAME
        state = read_state(state_path)
        if state:
            write_state(state_path, {**state, "removed": {**state.get("removed", {}), **sizes}})
        for name in sizes:
            (folder / name).unlink(missing_ok=True)
