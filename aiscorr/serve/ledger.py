"""The service's runs, one JSON line each, in a file beside the database: a run that fails leaves its row too.

A line is written whole and synced before the run counts as done; a last line that a crash cut is left out.
"""

from __future__ import annotations

import json
import os
from collections import deque
from dataclasses import asdict, dataclass
from datetime import datetime

OUTCOMES = ("ok", "partial", "failed", "stopped")
_LAST = 1000


@dataclass(frozen=True)
class ServiceRun:
    """One run. Times are ISO 8601 with zone; `problems`: what went wrong, a sentence each.

    `removed_count`: rows that were too old to be kept; `notices`: what should be known of how clusters are reached.
    """

    kind: str
    started_at: str
    ended_at: str
    outcome: str
    file_count: int = 0
    event_count: int = 0
    failures: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    removed_count: int = 0
    notices: tuple[str, ...] = ()

    @property
    def began(self) -> datetime:
        """When it began."""
        return datetime.fromisoformat(self.started_at)


def ledger_path(base_path: str) -> str:
    """Where the runs of the service over a database are; `base_path`: that of its settings."""
    return f"{base_path}.runs.jsonl"


def add_run(path: str, run: ServiceRun) -> None:
    """Appends a run; it is on the disk when this returns."""
    line = json.dumps(asdict(run), ensure_ascii=False).encode() + b"\n"
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        size = os.fstat(handle).st_size
        is_cut = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
        os.write(handle, b"\n" + line if is_cut else line)
        os.fsync(handle)
    finally:
        os.close(handle)


def last_runs(path: str, count: int = _LAST) -> list[ServiceRun]:
    """The last runs, oldest first; lines that are not whole are left out."""
    runs: deque[ServiceRun] = deque(maxlen=count)
    try:
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                run = _run(line)
                if run is not None:
                    runs.append(run)
    except FileNotFoundError:
        pass
    return list(runs)


@dataclass(frozen=True)
class Mark:
    """How far a ledger was read: which file it was, and where the next line begins."""

    inode: int = 0
    offset: int = 0


def runs_since(path: str, mark: Mark) -> tuple[list[ServiceRun], Mark, bool]:
    """The runs behind a mark, the mark behind them, and whether these are all, the ledger being another file now."""
    try:
        with open(path, "rb") as file:
            found = os.fstat(file.fileno())
            is_anew = found.st_ino != mark.inode or found.st_size < mark.offset
            begin = 0 if is_anew else mark.offset
            file.seek(begin)
            text = file.read()
    except FileNotFoundError:
        return [], Mark(), True
    whole = text[: text.rfind(b"\n") + 1]
    runs = [_run(line) for line in whole.decode("utf-8", "replace").split("\n")]
    return [run for run in runs if run is not None], Mark(found.st_ino, begin + len(whole)), is_anew


def _run(line: str) -> ServiceRun | None:
    try:
        values = json.loads(line)
        lists = {name: tuple(values.get(name, ())) for name in ("failures", "reports", "problems", "notices")}
        return ServiceRun(**{**values, **lists})
    except (ValueError, TypeError, AttributeError):
        return None
