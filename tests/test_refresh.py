"""Views after an ingest hold what they would hold if all of them were computed anew, however little was computed."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from commands import Command
from packing import LOG, written
from scenes import FIXTURES, Library, read_in
from truths import failures_of

from aiscorr import refresh
from aiscorr.refresh import refresh_views
from aiscorr.store.database import reading, writing
from aiscorr.views import ViewSpec, view_specs

STORED = [spec for spec in view_specs() if spec.is_stored]
SCENARIOS = ("target_killed_short_batch", "two_jobs", "collective_of_other_size")
MORE_WORDS = b"2026-09-14 10:24:00,000 ERROR [rank 0] Stale file handle: '/data/x'\n"
Contents = dict[str, list[tuple[object, ...]]]


def contents(connection: duckdb.DuckDBPyConnection) -> Contents:
    """The rows of every view, in order, with what differs from run to run left out."""
    return {
        spec.name: sorted(connection.execute(f"from {spec.name}").fetchall(), key=repr)
        for spec in view_specs()
        if spec.name != "current_conclusion"
    }


def assert_as_if_made_anew(db: Path) -> None:
    """Every view holds the rows it holds in a copy in which all views are made anew."""
    copy = db.with_name("anew.duckdb")
    shutil.copy(db, copy)
    with writing(str(copy)) as connection:
        connection.execute("delete from view_state")
        refresh_views(connection)
    with reading(str(db)) as one, reading(str(copy)) as other:
        found, wanted = contents(one), contents(other)
    assert [name for name in wanted if found[name] != wanted[name]] == []
    copy.unlink()


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the views that are computed from here on."""
    names: list[str] = []
    build = refresh.build_view

    def noted(connection: duckdb.DuckDBPyConnection, spec: ViewSpec) -> None:
        names.append(spec.name)
        build(connection, spec)

    monkeypatch.setattr(refresh, "build_view", noted)
    return names


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_files_in_any_order_and_number(seed: int, library: Library, tmp_path: Path) -> None:
    """Files that come in steps, grow, change and come twice leave the views and verdicts of one ingest of them all."""
    draw, db, logs = random.Random(seed), tmp_path / "x.duckdb", tmp_path / "logs"
    scenario = library.folder(SCENARIOS[seed - 1])
    waiting = sorted(path for path in scenario.rglob("*") if path.is_file() and path.suffix != ".toml")
    draw.shuffle(waiting)
    there: list[Path] = []
    while waiting:
        step, waiting = waiting[: (count := draw.randint(3, 16))], waiting[count:]
        for path in step:
            target = logs / path.relative_to(scenario)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
            there.append(target)
        read_in(db, logs)
        draw.choice(there).touch()
    conclusions = [{**failure, "changed": []} for failure in failures_of(str(db))]
    read_in(tmp_path / "at_once.duckdb", logs)
    kept = ("failure_class", "failure_kind", "storage_verdict", "culprit_ranks", "statement", "confidence")
    at_once = failures_of(str(tmp_path / "at_once.duckdb"))
    assert [[f[key] for key in kept] for f in conclusions] == [[f[key] for key in kept] for f in at_once]
    changed = draw.choice([path for path in there if path.parent.name == "workers"])
    for change in (changed.read_bytes() + MORE_WORDS, b"".join(path.read_bytes() for path in there[:2])):
        changed.write_bytes(change)
        read_in(db, logs)
        assert_as_if_made_anew(db)


def test_a_line_computes_what_stands_on_it(library: Library, tmp_path: Path, computed: list[str]) -> None:
    """One more worker line leaves the views of counters, clocks' marks and dumps alone, and those whose inputs stay."""
    logs, db = tmp_path / "logs", tmp_path / "x.duckdb"
    shutil.copytree(library.folder(SCENARIOS[0]), logs)
    read_in(db, logs)
    assert set(computed) == {spec.name for spec in view_specs()}
    computed.clear()
    with open(next((logs / "workers").iterdir()), "ab") as file:
        file.write(MORE_WORDS)
    read_in(db, logs)
    assert "worker_event" in computed
    never = {"stats_reading", "counter_interval", "ais_event", "node_outage", "chain_root", "get_batch_chain"}
    assert never.isdisjoint(computed)
    assert len(computed) < len(STORED) * 2 / 3
    assert_as_if_made_anew(db)


def test_only_a_files_time_changed(tmp_path: Path, computed: list[str]) -> None:
    """Where only the time of a file is new the views of files are computed, and nothing that is read from a failure."""
    log, db = written(tmp_path / "rank0.log"), tmp_path / "x.duckdb"
    read_in(db, log)
    computed.clear()
    os.utime(log, (1, 1))
    read_in(db, log)
    assert "worker_file" in computed and {"failure_case", "root_cause", "failure"}.isdisjoint(computed)
    assert_as_if_made_anew(db)


def test_a_view_without_rows_where_its_inputs_have_none(library: Library, tmp_path: Path) -> None:
    """No view has a row when none of the inputs that `-- empty without:` names has one, whatever the others hold."""
    copy = tmp_path / "copy.duckdb"
    shutil.copy(library.everything(), copy)
    specs = {spec.name: spec for spec in view_specs()}
    told = [spec for spec in view_specs() if spec.empty_without]
    assert len(told) > 30 and all(set(spec.empty_without) <= set(spec.reads) and spec.is_stored for spec in told)
    wrong, idle = [], []
    with duckdb.connect(str(copy)) as connection:
        for spec in told:
            idle += [] if connection.execute(f"from {spec.name} limit 1").fetchall() else [spec.name]
            connection.execute("begin")
            for name in spec.empty_without:
                columns = connection.execute(f"describe {name}").fetchall()
                nothing = ", ".join(f'null::{column[1]} as "{column[0]}"' for column in columns)
                if name not in specs:
                    connection.execute(f"alter table {name} rename to kept_{name}")
                connection.execute(f"create or replace view {name} as select {nothing} where false")
            wrong += [spec.name] if connection.execute(f"from ({spec.select}) limit 1").fetchall() else []
            connection.execute("rollback")
    assert wrong == []
    assert len(idle) < 5, "the incidents at hand do not show that these have rows at all"


def _other_sql(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("update view_state set definition = 'older' where view = 'failure'")
    connection.execute("alter table stored_failure rename column statement to wording")
    connection.execute("create or replace view failure as from stored_failure")
    connection.execute("create table stored_of_old as select 1 as x")
    connection.execute("create view of_old as from stored_of_old")
    connection.execute("insert into view_state values ('of_old', 'older', 1, '1')")


def said(report: str) -> str:
    """A report without its last line, which says when it was made."""
    return report.rstrip().rpartition("\n")[0]


def _no_state(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("drop table view_state")
    connection.execute("drop table changed_table")


@pytest.mark.parametrize("change", [_other_sql, _no_state])
def test_views_of_another_version(
    change: Callable[[duckdb.DuckDBPyConnection], None], tmp_path: Path, run: Command
) -> None:
    """Views of other SQL are told of by those who read them, and made anew by an ingest that has nothing to read."""
    logs = FIXTURES / "worker_logs_only" / "workers"
    assert run("ingest", logs).code == 0
    wanted = said(run("report", "--no-verify").out)
    with duckdb.connect("aiscorr.duckdb") as connection:
        change(connection)
    warned = run("query", "select job_id from job")
    assert warned.code == 0
    assert warned.err.startswith("warning: the views of this database were made by another version of aiscorr")
    assert "aiscorr ingest, on the same logs or an empty folder, makes them anew" in warned.err
    report = run("report", "--no-verify")
    if change is _other_sql:
        assert report.code == 1 and "error: the views of this database were made by another version" in report.err
    (tmp_path / "none").mkdir()
    assert run("ingest", tmp_path / "none").code == 0
    again = run("report", "--no-verify")
    assert (said(again.out), again.err) == (wanted, "")
    with duckdb.connect("aiscorr.duckdb") as connection:
        names = {row[0] for row in connection.execute("select table_name from information_schema.tables").fetchall()}
    assert names.isdisjoint({"of_old", "stored_of_old"})
    assert_as_if_made_anew(Path("aiscorr.duckdb"))


def test_patterns_are_stored_when_they_change(tmp_path: Path, computed: list[str]) -> None:
    """An ingest with the same patterns leaves the table of patterns, and what stands on it alone, as it is."""
    db = tmp_path / "x.duckdb"
    read_in(db, written(tmp_path / "rank0.log"))
    with writing(str(db)) as connection:
        connection.execute("comment on table pattern is 'of other files'")
    read_in(db, written(tmp_path / "rank1.log", LOG * 2))
    with reading(str(db)) as connection:
        (count,) = connection.execute("select count(distinct pattern) from pattern").fetchall()[0]
        (key,) = connection.execute("select comment from duckdb_tables() where table_name = 'pattern'").fetchall()[0]
    assert count > 100 and key != "of other files"
    assert_as_if_made_anew(db)
