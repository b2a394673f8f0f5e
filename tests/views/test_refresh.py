"""Views after an ingest hold what they would hold if all of them were computed again, however little was computed."""

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
from scenes import NOW, Library, read_in
from truths import failures_of

from aiscorr.analysis import refresh
from aiscorr.analysis.refresh import refresh_views
from aiscorr.analysis.spec import ViewSpec, compute, view_specs
from aiscorr.ingest.pipeline import ingest
from aiscorr.model import IngestOptions
from aiscorr.store.database import reading, writing

STORED = [spec for spec in view_specs() if spec.is_stored]
SCENARIOS = ("target_killed_short_batch", "two_jobs", "collective_of_other_size")
MORE_WORDS = b"2026-09-14 10:24:00,000 ERROR [rank 0] Stale file handle: '/data/x'\n"
WORKER_WORDS = (
    MORE_WORDS,
    b"2026-09-14 10:25:00,000 INFO [rank 1] saved '/x'\n",
    b"2026-09-14 10:23:00,000 INFO [rank 2] step 1234 done\n",
    b"[rank3]: torch.distributed.DistBackendError: NCCL error, connection closed by remote peer\n",
    b"2026-09-14 10:22:50,000 ERROR [rank 4] CUDA error: an illegal memory access was encountered\n",
    b"slurmstepd: error: *** JOB 5120341 ON pool3-0311 CANCELLED AT 2026-09-14T10:26:00 ***\n",
)
AIS_WORDS = (
    b"E 10:23:01.000001 err.go:1 read /ais/x: input/output error\n",
    b"W 10:24:01.000001 x.go:1 something odd\n",
    b"I 10:24:31.000001 common_statsd.go:1 {aws.get.n:1,err.getbatch.n:3}\n",
)
Contents = dict[str, list[tuple[object, ...]]]


def contents(connection: duckdb.DuckDBPyConnection) -> Contents:
    """The rows of every view, in order, with what differs from run to run left out."""
    return {
        spec.name: sorted(connection.execute(f"from {spec.name}").fetchall(), key=repr)
        for spec in view_specs()
        if spec.is_in_database and spec.name != "current_conclusion"
    }


def assert_as_if_made_anew(db: Path) -> None:
    """Every view holds the rows it holds in a copy in which all views are made again."""
    copy = db.with_name("again.duckdb")
    shutil.copy(db, copy)
    with writing(str(copy)) as working:
        working.connection.execute("delete from view_state")
        refresh_views(working.connection)
    with reading(str(db)) as one, reading(str(copy)) as other:
        found, wanted = contents(one), contents(other)
    assert [name for name in wanted if found[name] != wanted[name]] == []
    copy.unlink()


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the views that are computed from here on."""
    names: list[str] = []
    compute = refresh.compute

    def noted(connection: duckdb.DuckDBPyConnection, spec: ViewSpec, table: str) -> int:
        names.append(spec.name)
        return compute(connection, spec, table)

    monkeypatch.setattr(refresh, "compute", noted)
    return names


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_files_in_any_order_and_number(seed: int, library: Library, tmp_path: Path) -> None:
    """Files that come in steps, grow, change and come twice leave the views and verdicts of one ingest of them all."""
    draw, db, logs = random.Random(seed), tmp_path / "x.duckdb", tmp_path / "logs"
    scenario = library.folder(SCENARIOS[seed - 1])
    waiting = sorted(path for path in scenario.rglob("*") if path.is_file() and path.suffix != ".toml")
    draw.shuffle(waiting)
    there: list[Path] = []
    while waiting:
        step, waiting = waiting[: (count := draw.randint(8, 32))], waiting[count:]
        for path in step:
            target = logs / path.relative_to(scenario)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
            there.append(target)
        read_in(db, logs)
        draw.choice(there).touch()
    conclusions = [{**failure, "changed": []} for failure in failures_of(str(db))]
    kept = ("failure_class", "failure_kind", "storage_verdict", "culprit_ranks", "statement", "confidence")
    at_once = failures_of(library.database(SCENARIOS[seed - 1]))
    assert [[f[key] for key in kept] for f in conclusions] == [[f[key] for key in kept] for f in at_once]
    changed = draw.choice([path for path in there if path.parent.name == "workers"])
    changed.write_bytes(b"".join(path.read_bytes() for path in there[:2]))
    read_in(db, logs)
    assert_as_if_made_anew(db)


@pytest.mark.slow
def test_lines_at_the_ends_of_files(library: Library, tmp_path: Path) -> None:
    """Whatever lines come to whatever files, the views hold what they would hold if all were computed again."""
    draw, db, logs = random.Random(7), tmp_path / "x.duckdb", tmp_path / "logs"
    shutil.copytree(library.folder(SCENARIOS[1]), logs)
    read_in(db, logs)
    files = sorted(path for path in logs.rglob("*") if path.suffix in (".out", ".log") or ".INFO." in path.name)
    for path in draw.sample(files, 8):
        with path.open("ab") as file:
            file.write(draw.choice(AIS_WORDS if "ais" in path.parts else WORKER_WORDS))
    read_in(db, logs)
    assert_as_if_made_anew(db)


def test_a_line_computes_what_stands_on_it(library: Library, tmp_path: Path, computed: list[str]) -> None:
    """One more worker line leaves the views of AIStore's side alone, and those whose inputs hold what they held."""
    logs, db = tmp_path / "logs", tmp_path / "x.duckdb"
    shutil.copytree(library.folder(SCENARIOS[0]), logs)
    read_in(db, logs)
    assert {"ais_event", "worker_event", "get_batch_chain"} <= set(computed)
    computed.clear()
    with open(next((logs / "workers").iterdir()), "ab") as file:
        file.write(MORE_WORDS)
    read_in(db, logs)
    assert "worker_event" in computed
    never = {"stats_reading", "counter_interval", "ais_event", "node_outage", "chain_root", "get_batch_chain"}
    assert never.isdisjoint(computed)
    assert len(computed) < len(STORED) * 3 / 5, " ".join(computed)
    assert_as_if_made_anew(db)


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
    change: Callable[[duckdb.DuckDBPyConnection], None], library: Library, tmp_path: Path, run: Command
) -> None:
    """Views of other SQL are told of by those who read them, and made again by an ingest that has nothing to read."""
    library.own("worker_logs_only", Path("aiscorr.duckdb"))
    wanted = said(run("report", "--no-verify").out)
    with duckdb.connect("aiscorr.duckdb") as connection:
        change(connection)
    warned = run("query", "select job_id from job")
    assert warned.code == 0
    assert warned.err.startswith("warning: the views of this database were made by another version of aiscorr")
    assert "aiscorr ingest, on the same logs or an empty folder, makes them again" in warned.err
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
    with reading("aiscorr.duckdb") as one, reading(library.database("worker_logs_only")) as other:
        found, before = contents(one), contents(other)
    assert [name for name in before if found[name] != before[name] and name != "ingest_run"] == []


def test_patterns_and_times_of_files_that_change(tmp_path: Path, computed: list[str]) -> None:
    """New patterns are stored, and where a file has only another time its views alone are computed."""
    log, db = written(tmp_path / "rank0.log"), tmp_path / "x.duckdb"
    read_in(db, log)
    with writing(str(db)) as copy:
        copy.connection.execute("comment on table pattern is 'of other files'")
    read_in(db, written(tmp_path / "rank1.log", LOG * 2))
    with reading(str(db)) as connection:
        (count,) = connection.execute("select count(distinct pattern) from pattern").fetchall()[0]
        (key,) = connection.execute("select comment from duckdb_tables() where table_name = 'pattern'").fetchall()[0]
    assert count > 100 and key != "of other files"
    computed.clear()
    os.utime(log, (1, 1))
    read_in(db, log)
    assert "worker_file" in computed and {"ais_event", "node"}.isdisjoint(computed)
    assert_as_if_made_anew(db)


@pytest.mark.parametrize(("shared_rows", "threads"), [(10_000, 1), (1, 3)])
def test_threads_that_would_wake_in_vain(
    shared_rows: int, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Views of few rows are computed by one thread, those of a table that can be shared out by as many as are asked."""
    asked: list[int] = []

    def noted(connection: duckdb.DuckDBPyConnection, spec: ViewSpec, table: str) -> int:
        asked.append(connection.execute("select current_setting('threads')").fetchall()[0][0])
        return compute(connection, spec, table)

    monkeypatch.setattr(refresh, "_SHARED_ROWS", shared_rows)
    monkeypatch.setattr(refresh, "compute", noted)
    ingest([str(written(tmp_path / "rank0.log"))], str(tmp_path / "x.duckdb"), IngestOptions(), now=NOW, threads=3)
    assert set(asked) == {threads}
