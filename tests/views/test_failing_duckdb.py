"""Where DuckDB fails inside while views are computed, an ingest goes on with other plans, or says what failed."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from commands import Command
from failing_duckdb import Failing, fail_at, give_up, refuse_plan
from outside import left_behind
from packing import LOG, written
from scenes import Library, parts_of, read_in
from stored_rows import stored
from test_refresh import STORED, Contents, contents

from aiscorr.analysis.spec import compute
from aiscorr.errors import PlanError
from aiscorr.ingest import pipeline
from aiscorr.store.database import reading, writing


def everything_in(db: Path | str) -> Contents:
    """The rows of every view and of every table of lines, but for the time the ingest ended."""
    with reading(str(db)) as connection:
        return {**contents(connection), **stored(db), "ingest_run": []}


@pytest.mark.parametrize("fail", [pytest.param(refuse_plan, marks=pytest.mark.slow), give_up])
def test_duckdb_fails_inside(fail: Failing, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where DuckDB fails at a view, all views are computed with other plans on a new connection; nothing is lost."""
    db, name = tmp_path / "x.duckdb", "target_killed_short_batch"
    disabled = fail_at("worker_event", 1, fail, monkeypatch)
    read_in(db, *parts_of(library.folder(name)))
    left_out = set(disabled[0].split(","))
    assert disabled[-1] == "" and "statistics_propagation" in left_out and "filter_pushdown" not in left_out
    assert everything_in(db) == everything_in(library.database(name))
    assert left_behind(tmp_path) == []
    with writing(str(db), wait_s=0):
        pass  # nobody holds the lock


def fail_at_a_view(patch: pytest.MonkeyPatch) -> None:
    """DuckDB gives up at a view, with other plans too."""
    fail_at("worker_event", 2, give_up, patch)


def fail_at_conclusions(patch: pytest.MonkeyPatch) -> None:
    """DuckDB gives up after the views, with other plans too."""
    concluded = pipeline.name_failures
    patch.setattr(pipeline, "name_failures", lambda connection: concluded(give_up(connection)))


@pytest.mark.parametrize(
    ("fail", "code", "said"),
    [
        (fail_at_a_view, 2, r"view worker_event cannot be built: FATAL Error: .*\n  at: /.*_worker_event\.sql"),
        (fail_at_conclusions, 1, r"DuckDB failed inside: FATAL Error: .*\n  at: /.*/x\.duckdb"),
    ],
)
def test_duckdb_fails_inside_twice(
    fail: Callable[[pytest.MonkeyPatch], None], code: int, said: str, library: Library, tmp_path: Path, run: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Where other plans fail too, the error says where and what to try, and the database is as it was."""
    db = library.own("worker_logs_only", tmp_path / "x.duckdb")
    before = db.read_bytes()
    with monkeypatch.context() as patch:
        fail(patch)
        done = run("-q", "--db", db, "ingest", "--jobs", "1", written(tmp_path / "rank1.log", LOG * 2))
    assert (done.code, done.out) == (code, "")
    assert re.fullmatch(rf"error: {said}\n  try: fewer logs at a time, .*; the database is as it was .*\n", done.err)
    assert db.read_bytes() == before and left_behind(tmp_path) == []
    with writing(str(db), wait_s=0):
        pass  # nobody holds the lock


@pytest.mark.parametrize(
    ("kind", "said", "advice"),
    [
        (duckdb.InternalException, "INTERNAL Error: Conflicting column binding", "another release of DuckDB"),
        (duckdb.OutOfMemoryException, "Out of Memory Error: failed to allocate data of size 4.0 GiB", "memory_limit"),
    ],
)
def test_an_error_inside_duckdb_names_the_view(kind: type[duckdb.Error], said: str, advice: str) -> None:
    """It is told apart from wrong SQL, and without DuckDB's own stack; what is short of memory says what to raise."""

    class Broken:
        def extract_statements(self, sql: str) -> list[str]:
            return [sql]

        def execute(self, sql: str) -> object:
            raise kind(f"{said}\nStack Trace:\n...")

    with pytest.raises(PlanError, match=advice) as told:
        compute(Broken(), STORED[0], "x")  # type: ignore[arg-type]
    assert str(told.value).startswith(f"view {STORED[0].name} cannot be built: {said}")
    assert "Stack Trace" not in str(told.value)
