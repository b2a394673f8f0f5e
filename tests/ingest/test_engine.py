"""The tasks of an ingest run on any executor, on a Dask cluster too, and give what they give in this process."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from operator import floordiv
from pathlib import Path
from typing import Any

import pytest
from commands import Command
from scenes import Library, rows

from aiscorr.errors import UsageError
from aiscorr.ingest import engine
from aiscorr.model import PROCESSES

SCENARIO = "target_killed_short_batch"
#: Ends its process once; the marker that it leaves has the second call give 7.
_DIES_ONCE = "7 if __import__('os').path.exists({0!r}) else (open({0!r}, 'w').close(), __import__('os')._exit(9))"


def never() -> bool:
    """Nobody asks for a stop."""
    return False


@pytest.mark.parametrize("name", [PROCESSES, "dask", "dask://h:8786", "dask+tls://h:8786", "dask-file:/s.json"])
def test_names(name: str) -> None:
    """Processes, a cluster of this machine, a scheduler by its address or by its file are engines."""
    assert engine.check_name(name, "--engine") == name


@pytest.mark.parametrize("name", ["", "ray", "dask:", "dask:h", "dask-file:", "processes:2", "tcp://h:1"])
def test_names_of_nothing(name: str) -> None:
    """What is no engine is refused, with those that there are."""
    with pytest.raises(UsageError, match="is no engine") as raised:
        engine.check_name(name, "--engine")
    assert "dask://HOST:PORT" in raised.value.try_this


def test_results_of_any_executor() -> None:
    """Calls end with their number and result; what one raises comes back."""
    with ThreadPoolExecutor(2) as pool:
        assert sorted(engine.run(pool, floordiv, [(7, 2), (9, 3)], never)) == [(0, 3), (1, 3)]
        with pytest.raises(ZeroDivisionError):
            list(engine.run(pool, floordiv, [(7, 0)], never))


class _Losing(ThreadPoolExecutor):
    """An executor whose workers are lost, and one that keeps calls for later."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        """A call whose worker is lost where it divides by 1; one that never begins where by 2."""
        future: Future[Any] = Future()
        if args[-1] == 1:
            future.set_exception(BrokenProcessPool("a process was taken"))
        return future if args[-1] in (1, 2) else super().submit(fn, *args, **kwargs)


def test_a_lost_worker_gives_nothing_and_a_stop_drops_what_waits() -> None:
    """A call whose worker was lost has no result; one that has not begun when a stop comes is dropped."""
    with _Losing(1) as pool:
        assert sorted(engine.run(pool, floordiv, [(7, 1), (8, 2), (9, 3)], lambda: True)) == [(0, None), (2, 3)]


def test_a_worker_of_another_release_refuses() -> None:
    """A worker that would read or judge otherwise says so, and what to do, on its way through a pickle too."""
    assert engine.checked(engine.own_key(), floordiv, 7, 2) == 3
    with pytest.raises(engine.WorkerError, match="another aiscorr") as raised:
        engine.checked("of another", floordiv, 7, 2)
    back = pickle.loads(pickle.dumps(raised.value))  # noqa: S301
    assert str(back) == str(raised.value) and "same release on every worker" in str(back)


def test_a_worker_that_lacks_the_folder_says_so(tmp_path: Path) -> None:
    """Rows go to a folder beside the database, which every worker must reach."""
    engine.check_folder(str(tmp_path))
    with pytest.raises(engine.WorkerError, match="does not see"):
        engine.check_folder(str(tmp_path / "elsewhere"))


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a Dask cluster with two workers."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed (requirements/cluster.txt)")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as found,
        distributed.Client(found, set_as_default=False) as client,
    ):
        client.wait_for_workers(2)
        yield "dask://" + found.scheduler_address.removeprefix("tcp://")


@pytest.mark.slow
def test_the_same_on_a_cluster(run: Command, library: Library, tmp_path: Path, cluster: str) -> None:
    """Workers of a cluster store the same rows, and the reports are the same but for the time of making."""
    folder = library.folder(SCENARIO)
    reports = []
    for name in (PROCESSES, cluster):
        db = tmp_path / f"{len(reports)}.duckdb"
        outcome = run("--db", db, "ingest", "--engine", name, "--format", "json", folder / "ais", folder / "workers")
        assert outcome.code == 0, outcome.err
        found = json.loads(run("--db", db, "report", "all", "--format", "json").out)
        found.pop("generated_at")
        reports.append((found, rows(db, "select path, line_no, text from evidence order by all")))
    assert reports[0] == reports[1] and reports[0][0]["failures"]


@pytest.mark.slow
def test_a_killed_worker_loses_nothing(tmp_path: Path, cluster: str) -> None:
    """A task whose worker is killed is run again by the engine."""
    with engine.executor(cluster, 1) as pool:
        call = (_DIES_ONCE.format(str(tmp_path / "marker")),)
        assert list(engine.run(pool, eval, [call], never)) == [(0, 7)]


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer(
    run: Command, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody listens the command ends with what to check, and stores nothing."""
    pytest.importorskip("distributed", reason="Dask is not installed (requirements/cluster.txt)")
    monkeypatch.setattr(engine, "_CONNECT_S", 0.3)
    folder, db = library.folder(SCENARIO), tmp_path / "x.duckdb"
    outcome = run("--db", db, "ingest", "--engine", "dask://127.0.0.1:1", folder / "ais")
    assert outcome.code == 1 and "does not answer" in outcome.err and "--engine processes" in outcome.err
    assert not db.exists()
