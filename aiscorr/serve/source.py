"""Where the service reads: a database file, or slices of a lake that are made anew when somebody has written to it.

Who asks while a newer slice is made gets the one before. Where the lake cannot be reached, the last slices are answered
from, and `notices` says so.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from aiscorr.config import Settings
from aiscorr.errors import AiscorrError, UsageError
from aiscorr.lake.address import Lake
from aiscorr.lake.ledger import ledger
from aiscorr.lake.local import NEWEST, Slice, Wanted, is_kept, jobs_around, jobs_of, newest_slice
from aiscorr.report.build import build_report, read_apart
from aiscorr.report.document import Report
from aiscorr.report.failure_choice import failure_ids
from aiscorr.store.database import reading_newest

if TYPE_CHECKING:
    import duckdb

#: So often the catalogue is asked for its newest snapshot, and so long after it failed.
_LOOK_S, _AGAIN_S = 1.0, 10.0
#: Slices around failures that are kept in mind.
_MOST = 8
#: How long an answer waits where another program has the database open for writing.
_WAIT_S = 1.0


class FileSource:
    """A database file; usable by several threads."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @property
    def is_whole(self) -> bool:
        """Whether all there is lies in one file."""
        return True

    def path(self, jobs: tuple[str, ...] = ()) -> str:
        """The file that holds all results, or the rows of some jobs too."""
        return self.settings.db_path

    def around(self, path: str, line_no: int) -> tuple[str, ...]:
        """The jobs whose rows are needed to show a line of a file."""
        return ()

    def notices(self, *, has_rows: bool = True) -> list[str]:
        """What should be known of answers; `has_rows`: of those that show rows, not only what was concluded of them."""
        return []

    @contextmanager
    def opened(self, jobs: tuple[str, ...] = ()) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection to what the last ingest published."""
        settings, path = self.settings, self.path(jobs)
        with reading_newest(
            path, memory_limit=settings.memory_limit, threads=settings.thread_count, wait_s=_WAIT_S
        ) as connection:
            yield connection

    def jobs_named(self, which: str | None) -> tuple[str, ...]:
        """The jobs that a failure, its beginning, `latest` or a job stands for, where their rows lie elsewhere."""
        path = self.path()
        if self.is_whole or not which:
            return ()
        with self.opened() as connection, contextlib.suppress(UsageError):
            return jobs_of(path, failure_ids(connection, which))
        return ()

    def report(self, which: str, now: datetime) -> Report:
        """The report, each failure of it from the rows of its job. Raises UsageError for a name that fits nothing."""
        with self.opened() as connection:
            return self.report_on(connection, which, now)

    def report_on(self, connection: duckdb.DuckDBPyConnection, which: str, now: datetime) -> Report:
        """As above, over a connection that is open."""
        report = build_report(connection, which, now)
        return report if self.is_whole else read_apart(report, lambda job: self.opened((job,)), now)


@dataclass(frozen=True)
class _Kept:
    """A slice, and what was said of it when it was made."""

    slice: Slice
    said: tuple[str, ...]


class LakeSource(FileSource):
    """A lake; usable by several threads."""

    def __init__(self, settings: Settings, lake: Lake, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(settings)
        self._lake = lake
        self._clock = clock
        self._guard = threading.Lock()
        self._looking = threading.Lock()
        self._next_look = 0.0
        self._snapshot: int | None = None
        self._problem: str | None = None
        self._kept: OrderedDict[Wanted, _Kept] = OrderedDict()
        self._making: dict[Wanted, threading.Lock] = {}

    @property
    def is_whole(self) -> bool:
        """Whether the lake is so small that one slice holds all of it; of what was last seen of it."""
        kept = self._kept.get(NEWEST)
        return kept is None or kept.slice.is_whole

    def path(self, jobs: tuple[str, ...] = ()) -> str:
        """The slice of all results and the newest rows, or of some jobs. Raises AiscorrError where none can be had."""
        path = self._path(NEWEST)
        return path if self.is_whole or not jobs else self._path(Wanted(jobs=tuple(sorted(jobs))))

    def around(self, path: str, line_no: int) -> tuple[str, ...]:
        """As above; none where the lake cannot be asked."""
        self.path()
        if self.is_whole:
            return ()
        with self._trying():
            return jobs_around(self._lake, path, line_no)
        return ()

    def notices(self, *, has_rows: bool = True) -> list[str]:
        """That the lake cannot be reached, and what rows of a large one are not looked at."""
        kept, problem = self._kept.get(NEWEST), self._problem
        if kept is None:
            return []
        said = list(kept.said) if has_rows else []
        if problem is not None:
            said.insert(0, f"{problem}; what is shown is the lake as of {kept.slice.taken_at:%Y-%m-%d %H:%M:%S} UTC")
        return said

    def _path(self, wanted: Wanted) -> str:
        snapshot = self._newest_snapshot()
        kept = self._fresh(wanted, snapshot)
        if kept is not None:
            return kept.slice.path
        old = self._there(wanted)
        with self._guard:
            making = self._making.setdefault(wanted, threading.Lock())
        if not making.acquire(blocking=old is None) and old is not None:
            return old.slice.path
        try:
            kept = self._fresh(wanted, self._snapshot) or self._made(wanted, old)
        finally:
            making.release()
        return kept.slice.path

    def _fresh(self, wanted: Wanted, snapshot: int | None) -> _Kept | None:
        """The slice that is there, where it is of that snapshot or nobody knows of a newer one."""
        kept = self._there(wanted)
        return kept if kept is not None and snapshot in (None, kept.slice.snapshot) else None

    def _there(self, wanted: Wanted) -> _Kept | None:
        kept = self._kept.get(wanted)
        return kept if kept is not None and is_kept(kept.slice.path) else None

    def _newest_snapshot(self) -> int | None:
        """The newest snapshot as it was asked for a moment ago; None where the lake cannot be asked."""
        if self._clock() < self._next_look or not self._looking.acquire(blocking=False):
            return self._snapshot
        try:
            self._next_look = self._clock() + _LOOK_S
            with self._trying(), ledger(self._lake) as book:
                self._snapshot = book.newest()[0] if book.data_path() is not None else None
                self._problem = None
        finally:
            self._looking.release()
        return self._snapshot

    def _made(self, wanted: Wanted, old: _Kept | None) -> _Kept:
        """A new slice; where it cannot be made, the one before."""
        if old is None:
            return self._pulled(wanted)
        with self._trying():
            return self._pulled(wanted)
        return old

    def _pulled(self, wanted: Wanted) -> _Kept:
        said: list[str] = []
        made = newest_slice(
            self._lake, wanted, memory_limit=self.settings.memory_limit, threads=self.settings.thread_count,
            say=said.append,
        )  # fmt: skip
        with self._guard:
            before = (one.said for one in self._kept.values() if one.slice.path == made.path)
            # of a file that was there already less is said
            kept = self._kept[wanted] = _Kept(made, tuple(said) or next(before, ()))
            self._kept.move_to_end(wanted)
            for one in _too_many(self._kept):
                del self._kept[one]
                self._making.pop(one, None)
        return kept

    @contextmanager
    def _trying(self) -> Iterator[None]:
        """What fails inside is not tried again for a while, and `notices` says what it was."""
        try:
            yield
        except AiscorrError as error:
            # what follows names hosts, which is for the log of the database and not for whoever asks
            self._problem = error.what.partition(": ")[0]
            self._snapshot = None
            self._next_look = self._clock() + _AGAIN_S


def _too_many(kept: Iterable[Wanted]) -> list[Wanted]:
    """Those that were wanted longest ago, but never the one that lists are made of."""
    return [one for one in kept if one != NEWEST][:-_MOST]


def source_of(settings: Settings) -> FileSource:
    """What the settings name."""
    return FileSource(settings) if settings.lake is None else LakeSource(settings, settings.lake)
