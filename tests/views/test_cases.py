"""A case is judged from its own rows alone, when they change, and by whom does not matter."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scenes import Library, parts_of, read_in

from aiscorr.analysis import cases
from aiscorr.analysis.judge import case_inputs, case_views, judge
from aiscorr.analysis.spec import view_specs
from aiscorr.ingest import judging, pipeline, pool
from aiscorr.store.database import reading

KILLED = "target_killed_short_batch"
MORE_WORDS = b"2026-09-14 10:24:00,000 ERROR [rank 0] Stale file handle: '/data/x'\n"
Inputs = dict[str, pa.Table]


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Inputs]]:
    """The cases that are judged from here on, with their rows."""
    found: list[tuple[str, Inputs]] = []

    def noted(some: Iterable[tuple[str, Inputs]], count: int) -> Iterator[tuple[str, Any]]:
        for job, inputs in some:
            found.append((job, inputs))
            yield job, judge(inputs)

    monkeypatch.setattr(pipeline, "judging", lambda job_count, memory_limit, workers: noted)
    return found


def rows_of(results: dict[str, Any]) -> dict[str, list[str]]:
    """The rows of each view, in any order."""
    return {name: sorted(map(repr, duckdb.from_arrow(result.rows).fetchall())) for name, result in results.items()}


def rows_of_a_case(library: Library) -> tuple[str, Inputs]:
    """The job of a case, and what it is judged from."""
    with reading(library.database(KILLED)) as connection:
        (job,) = connection.execute("select job_id from failure").fetchall()[0]
        return job, cases.inputs_of(connection, job)


def test_a_case_is_a_function_of_its_rows(library: Library, tmp_path: Path) -> None:
    """From Parquet files, with threads or without, on an executor: what comes out is the same."""
    job, inputs = rows_of_a_case(library)
    assert set(inputs) == set(case_inputs())
    from_files = {}
    for name, rows in inputs.items():
        pq.write_table(rows, tmp_path / f"{name}.parquet")
        from_files[name] = pq.read_table(tmp_path / f"{name}.parquet")
    wanted = rows_of(judge(inputs))
    assert wanted["failure"] and wanted["evidence"]
    assert set(wanted) == {spec.name for spec in case_views() if spec.is_kept}
    assert rows_of(judge(from_files, threads=2)) == wanted
    with ThreadPoolExecutor(2) as executor:
        for given, results in judging.judge_on(executor, [(job, inputs)] * 2, 2, judge):
            assert (given, rows_of(results)) == (job, wanted)


def test_logs_of_others_do_not_touch_a_case(library: Library, tmp_path: Path, judged: list[tuple[str, Inputs]]) -> None:
    """Logs of another cluster and of other jobs leave a case as it was judged: it is not judged again."""
    db = tmp_path / "x.duckdb"
    read_in(db, *parts_of(library.folder(KILLED)))
    first = [job for job, _ in judged]
    judged.clear()
    read_in(db, *parts_of(library.folder("two_jobs")), *parts_of(library.folder("worker_logs_only")))
    assert judged and not {job for job, _ in judged} & set(first)
    with reading(str(db)) as connection:
        for name in ("failure", "root_cause", "rank_state"):
            assert connection.execute(f"select count(*) from {name}").fetchall() > [(0,)]


def test_one_more_line_judges_its_case_alone(
    library: Library, tmp_path: Path, judged: list[tuple[str, Inputs]]
) -> None:
    """Of several cases the one is judged again whose job wrote a line; an ingest of nothing new judges none."""
    logs, db = tmp_path / "logs", tmp_path / "x.duckdb"
    for name in (KILLED, "worker_logs_only"):
        shutil.copytree(library.folder(name), logs / name)
    read_in(db, logs)
    assert len(judged) > 1
    judged.clear()
    read_in(db, logs)
    assert judged == []
    with open(next((logs / KILLED / "workers").iterdir()), "ab") as file:
        file.write(MORE_WORDS)
    read_in(db, logs)
    assert len(judged) == 1


def test_a_case_that_is_none_any_more(library: Library, tmp_path: Path) -> None:
    """Where a job's files turn out to be of one that ended well, nothing is kept of its failure."""
    logs, db = tmp_path / "logs", tmp_path / "x.duckdb"
    shutil.copytree(library.folder("worker_logs_only"), logs)
    read_in(db, logs)
    for path in logs.rglob("*"):
        if path.suffix in (".out", ".log", ".err"):
            path.write_text("2026-09-14 10:00:00,000 INFO [rank 0] step 1 done\n" * 3)
    read_in(db, logs)
    with reading(str(db)) as connection:
        kept = [spec.name for spec in view_specs() if spec.is_kept]
        assert [name for name in kept if connection.execute(f"from {name} limit 1").fetchall()] == []
        assert connection.execute("from case_input").fetchall() == []


def test_inputs_without_a_key_are_lists_of_facts(library: Library) -> None:
    """What a case takes whole is the same for all cases: constants, and nothing of a job, a file or a cluster."""
    with reading(str(library.database(KILLED))) as connection:
        whole = [name for name, one in cases._inputs(connection, lambda name: True).items() if one.rows is None]
    constants = {spec.name for spec in view_specs() if spec.number < 200}
    assert set(whole) - constants == {"pattern"}


class _Dying(ThreadPoolExecutor):
    """An executor whose first process dies, and which takes no calls after that."""

    is_dead = False

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        """One call is lost, the others are refused."""
        if self.is_dead:
            raise BrokenProcessPool("a process was taken")
        self.is_dead = True
        lost: Future[Any] = Future()
        lost.set_exception(BrokenProcessPool("a process was taken"))
        return lost


def given_back(inputs: Inputs, **limits: object) -> Any:
    """What stands for the judging of a case."""
    return inputs


SOME: list[tuple[str, Inputs]] = [(job, {job: pa.table({"x": [job]})}) for job in "abcd"]


def test_a_process_that_dies_loses_no_case() -> None:
    """Cases whose process is taken, and those that none takes any more, are judged here."""
    with _Dying(1) as executor:
        found = list(judging.judge_on(executor, SOME, 2, given_back))
    assert sorted(found, key=lambda one: one[0]) == SOME


def test_cases_without_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no processes can be started, all cases are judged in this one."""

    def refused(job_count: int) -> pool.Pool:
        raise pool.PoolError("no semaphores here")

    monkeypatch.setattr(pool, "processes", refused)
    monkeypatch.setattr(cases, "judge", given_back)
    assert list(judging.judging(2, "1GB")(SOME, len(SOME))) == SOME
