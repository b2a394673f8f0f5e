"""Where the service reads of a lake: newer slices are made once, who has one need not wait, faults change nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from waiting import wait_for

from aiscorr.config import load_settings
from aiscorr.errors import DatabaseError
from aiscorr.lake.address import Lake
from aiscorr.lake.local import NEWEST, Slice, Wanted
from aiscorr.serve import source
from aiscorr.serve.source import FileSource, LakeSource, source_of

DB = "ducklake:postgres:dbname=none host=none.invalid"
TAKEN = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)


class FakeLake:
    """A lake whose snapshots are a number; it counts what is asked of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.snapshot = 1
        self.is_gone = False
        self.is_whole = True
        self.now = 100.0
        self.looks = 0
        self.made: list[tuple[Wanted, int]] = []
        self.may_make = threading.Event()
        self.may_make.set()

    @contextmanager
    def ledger(self, lake: Lake) -> Iterator[Any]:
        """The ledger."""
        self.looks += 1
        self._check()
        yield SimpleNamespace(newest=lambda: (self.snapshot, TAKEN), data_path=lambda: "/data/")

    def newest_slice(self, lake: Lake, wanted: Wanted, *, say: Any, **others: object) -> Slice:
        """A slice, which takes until it may be made."""
        snapshot = self.snapshot
        self.made.append((wanted, snapshot))
        assert self.may_make.wait(20)
        self._check()
        if not self.is_whole:
            say("this lake holds 9 rows")
        path = self.folder / f"{'newest' if wanted == NEWEST else '-'.join(wanted.jobs)}-{snapshot}.duckdb"
        path.touch()
        return Slice(str(path), snapshot, TAKEN, self.is_whole)

    def _check(self) -> None:
        if self.is_gone:
            raise DatabaseError("the catalogue cannot be reached: host 10.1.2.3", where="lake", try_this="wait")


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeLake:
    """A lake in the place of DuckLake and PostgreSQL."""
    made = FakeLake(tmp_path)
    monkeypatch.setattr(source, "ledger", made.ledger)
    monkeypatch.setattr(source, "newest_slice", made.newest_slice)
    return made


@pytest.fixture
def read(lake: FakeLake, tmp_path: Path) -> LakeSource:
    """The service's way to it."""
    settings = load_settings(db=DB, config=None, environment={}, folder=str(tmp_path))
    assert settings.lake is not None
    return LakeSource(settings, settings.lake, clock=lambda: lake.now)


def test_the_files_of_a_lake_lie_beside_the_settings(tmp_path: Path) -> None:
    """A lake's address is no name of a file: what the service keeps is beside aiscorr.toml under a plain name."""
    of_lake = load_settings(db=DB, config=None, environment={}, folder=str(tmp_path))
    of_file = load_settings(db="x.duckdb", config=None, environment={}, folder=str(tmp_path))
    assert of_lake.base_path == str(tmp_path / "aiscorr-lake") and of_file.base_path == "x.duckdb"
    assert isinstance(source_of(of_lake), LakeSource) and type(source_of(of_file)) is FileSource


def test_a_snapshot_is_looked_for_once_a_second(read: LakeSource, lake: FakeLake) -> None:
    """Many answers cost one question to the catalogue, and a slice is made when there is a newer snapshot only."""
    paths = {read.path() for _ in range(20)}
    assert (lake.looks, lake.made) == (1, [(NEWEST, 1)])
    lake.now += 1
    paths.add(read.path())
    assert (lake.looks, lake.made, len(paths)) == (2, [(NEWEST, 1)], 1)
    lake.snapshot = 2
    assert read.path() in paths, "it is not looked for yet"
    lake.now += 1
    assert read.path() not in paths and lake.made == [(NEWEST, 1), (NEWEST, 2)]


def test_nobody_waits_who_has_a_slice(read: LakeSource, lake: FakeLake) -> None:
    """One request makes the newer slice; those at the same time get the one before, and it is not made twice."""
    old = read.path()
    lake.snapshot, lake.now = 2, lake.now + 1
    lake.may_make.clear()
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(read.path()))
    thread.start()
    wait_for(lambda: len(lake.made) == 2)
    assert read.path() == old
    lake.may_make.set()
    thread.join()
    assert found == [read.path()] and found != [old] and len(lake.made) == 2


def test_without_a_slice_all_wait_for_one(read: LakeSource, lake: FakeLake) -> None:
    """Where there is no slice at all, those who ask wait for the one that is being made."""
    lake.may_make.clear()
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(read.path())) for _ in range(4)]
    for thread in threads:
        thread.start()
    wait_for(lambda: lake.made)
    lake.may_make.set()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and len(set(found)) == 1 and len(lake.made) == 1


def test_a_lake_that_is_away_changes_nothing(read: LakeSource, lake: FakeLake) -> None:
    """What was read last is answered, with a word that names no host; it is not tried again at each request."""
    old = read.path()
    assert read.notices() == []
    lake.is_gone, lake.now = True, lake.now + 1
    assert read.path() == old
    said = "the catalogue cannot be reached; what is shown is the lake as of 2026-11-20 10:00:00 UTC"
    assert read.notices(has_rows=False) == [said]
    looks, lake.now = lake.looks, lake.now + 5
    assert read.path() == old and lake.looks == looks
    lake.is_gone, lake.snapshot, lake.now = False, 2, lake.now + 10
    assert read.path() != old and read.notices() == []


def test_a_slice_that_cannot_be_made_changes_nothing(
    read: LakeSource, lake: FakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the catalogue answers and the store does not, the slice before is answered from."""
    old = read.path()

    def fail(*given: object, **others: object) -> Slice:
        raise DatabaseError("a file of the lake is gone: s3://b/x", where="lake", try_this="restore it")

    lake.snapshot, lake.now = 2, lake.now + 1
    monkeypatch.setattr(source, "newest_slice", fail)
    assert read.path() == old and "a file of the lake is gone; what is shown" in read.notices()[0]


def test_without_a_lake_there_is_no_answer(read: LakeSource, lake: FakeLake) -> None:
    """Where nothing was ever read, the error is that of the lake."""
    lake.is_gone = True
    with pytest.raises(DatabaseError, match="cannot be reached"):
        read.path()
    assert read.notices() == []


def test_of_a_large_lake_a_failure_has_a_slice_of_its_own(read: LakeSource, lake: FakeLake) -> None:
    """A small lake is one slice; of a large one the rows of jobs are in slices of their own, and it is said."""
    assert read.path(("a",)) == read.path() and read.is_whole
    lake.is_whole, lake.snapshot, lake.now = False, 2, lake.now + 1
    assert read.path(("b", "a")) != read.path() and not read.is_whole
    assert lake.made[-1] == (Wanted(jobs=("a", "b")), 2)
    assert read.notices() == ["this lake holds 9 rows"] and read.notices(has_rows=False) == []
    for number in range(20):
        read.path((str(number),))
    count = len(lake.made)
    assert Path(read.path()).exists() and len(lake.made) == count, "the lists have their slice still"


def test_a_slice_that_was_removed_is_made_again(read: LakeSource, lake: FakeLake) -> None:
    """The cache may be emptied at any time."""
    Path(read.path()).unlink()
    assert Path(read.path()).exists() and len(lake.made) == 2
