"""A new database begins as a copy of one without rows; it is as if it had been made from nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commands import Command
from packing import LOG, written
from scenes import Library, parts_of, read_in
from test_refresh import contents
from truths import failures_of

from aiscorr import cache
from aiscorr.catalog.columns import view_columns
from aiscorr.store.database import reading
from aiscorr.views import blank
from aiscorr.views.inputs import view_uses
from aiscorr.views.spec import view_specs


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder that holds what this run's cache does, for a test that damages it."""
    folder = tmp_path / "cache" / "aiscorr"
    if cache.cache_folder().is_dir():
        shutil.copytree(cache.cache_folder(), folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    view_uses.cache_clear()
    return folder


def test_a_first_ingest_is_as_if_made_from_nothing(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The views of a database that began as the blank one are those of one whose views were all made."""
    begun = library.database("target_killed_short_batch")
    monkeypatch.setattr("aiscorr.ingest.pipeline.blank_database", lambda: None)
    read_in(tmp_path / "made.duckdb", *parts_of(library.folder("target_killed_short_batch")))
    with reading(begun) as one, reading(str(tmp_path / "made.duckdb")) as other:
        found, wanted = contents(one), contents(other)
        described = "select view_name, comment from duckdb_views() where not internal order by all"
        assert one.execute(described).fetchall() == other.execute(described).fetchall()
    own = {"ingest_run"}  # says when it was
    assert [name for name in wanted if found[name] != wanted[name] and name not in own] == []


def test_a_damaged_copy_is_made_anew(
    own_cache: Path, tmp_path: Path, run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A blank database in the cache that is not what was put there is thrown away, and so are columns read from SQL."""
    log = written(tmp_path / "rank3.log", LOG)
    assert run("ingest", log).code == 0
    (kept,) = own_cache.glob("blank-*")
    (columns,) = own_cache.glob("columns-*")
    good = kept.read_bytes()
    made: list[bytes] = []
    monkeypatch.setattr(blank, "_make", lambda: made.append(good) or good)
    kept.write_bytes(good[: len(good) // 2])
    columns.write_bytes(b"[" + columns.read_bytes()[1:-9] + b"something")
    view_uses.cache_clear()
    again = run("--db", "again.duckdb", "ingest", log)
    assert (again.code, again.err, len(made)) == (0, "", 1)
    view_uses.cache_clear()
    assert view_uses(view_specs())["job"] and kept.read_bytes() == good
    kept.write_bytes(b"[" + good[1:-9] + b"something")
    assert blank.blank_database() is not None and kept.read_bytes() == good and len(made) == 2


def test_without_a_cache_folder(own_cache: Path, tmp_path: Path, run: Command) -> None:
    """Where no cache can be written every database is made from nothing, and the columns of a view are told alike."""
    shutil.rmtree(own_cache.parent, ignore_errors=True)
    own_cache.parent.write_text("a file where the folder should be")
    assert cache.cache_folder() == own_cache
    assert run("ingest", written(tmp_path / "rank3.log", LOG)).code == 0
    assert len(failures_of("aiscorr.duckdb")) == 1
    with reading("aiscorr.duckdb") as connection:
        described = connection.execute("select column_name, column_type from (describe node_process)").fetchall()
    assert view_columns("node_process") == described


def test_columns_where_no_file_can_be_written(run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kept database is read as a file of its own; where none can be written the view is made instead."""
    assert run("ingest", written(tmp_path / "rank3.log", LOG)).code == 0
    told = view_columns("node_process")

    def full() -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(blank.tempfile, "TemporaryDirectory", full)
    with blank.reading_kept() as connection:
        assert connection is None
    assert view_columns("node_process") == told
