"""Whatever is killed while a lake is written, the next ingest ends well, and each line is there once."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lakes import DIES, WAITS, LakeHere, check_whole, die_in_tasks, ended
from scenes import Library, parts_of, read_in
from stored_rows import stored

from aiscorr.lake.copying import Limits, copy_database

if TYPE_CHECKING:
    from servers.dask import Cluster

REFUSES_S = 5.0
SCENARIO, MORE = "gpu_ecc_error", "healthy_run"

pytestmark = pytest.mark.timeout(900)


def _visits(library: Library, tmp_path: Path) -> tuple[Path, str]:
    """Logs of which one grew since a database was made of them, one is another, and some are new."""
    logs, db = tmp_path / "logs", str(tmp_path / "file.duckdb")
    for part in parts_of(library.folder(SCENARIO)):
        shutil.copytree(part, logs / part.name)
    grown, other = _two_of(logs)
    whole = grown.read_bytes()
    grown.write_bytes(b"".join(whole.splitlines(keepends=True)[: whole.count(b"\n") // 2]))
    other.write_bytes(other.read_bytes() + b"ValueError: of the first visit\n")
    return logs, db


def _two_of(logs: Path) -> tuple[Path, Path]:
    """The largest log of AIStore, and the largest of a worker."""
    first, second = (
        max((logs / name).rglob("*.*"), key=lambda path: path.stat().st_size) for name in ("ais", "workers")
    )
    return first, second


def _change(library: Library, logs: Path) -> None:
    """What happens to the logs between two visits."""
    folder = library.folder(SCENARIO)
    for path in _two_of(logs):
        path.write_bytes((folder / path.relative_to(logs)).read_bytes())
    for part in parts_of(library.folder(MORE)):
        shutil.copytree(part, logs / "more" / part.name)


@pytest.mark.parametrize("lake", ["folder", "s3"], indirect=True)
def test_a_committer_is_killed(lake: LakeHere, library: Library, tmp_path: Path) -> None:
    """A committer that is killed where it has claimed, written or committed leaves nothing half, and nothing twice."""
    logs, db = _visits(library, tmp_path)
    read_in(db, logs)
    copy_database(db, lake.lake, Limits())
    before = lake.stored()
    _change(library, logs)
    for point, changed in DIES.items():
        assert lake.aiscorr("ingest", logs, changed=changed).returncode == -signal.SIGKILL
        assert (lake.stored() == before) == (point != "committed")
    assert lake.in_store() == lake.in_catalogue(), "what the last but one had written was not swept"
    read_in(db, logs)
    again = lake.aiscorr("ingest", logs)
    assert again.returncode == 0 and " 0 new" in again.stdout, again.stderr
    check_whole(lake, db)


def test_a_copy_of_what_is_gone_is_read_again(
    lake: LakeHere, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file whose bytes were stored as another's, which has others now, is read by the ingest after one that died."""
    logs, db = _visits(library, tmp_path)
    _, other = _two_of(logs)
    shutil.copy2(other, other.with_name(f"zz-{other.name}"))
    read_in(db, logs)
    copy_database(db, lake.lake, Limits())
    other.write_bytes(b"ValueError: of the second visit\n")
    for changed, code in ((DIES["committed"], -signal.SIGKILL), ("", 0)):
        read_in(db, logs)
        done = lake.aiscorr("ingest", logs, changed=changed)
        assert done.returncode == code, done.stderr
    check_whole(lake, db)


def test_a_database_server_is_killed(lake: LakeHere, library: Library, tmp_path: Path) -> None:
    """An ingest in the middle of which PostgreSQL is killed says so; the next, once that runs again, ends well."""
    logs, db = _visits(library, tmp_path)
    read_in(db, logs)
    copy_database(db, lake.lake, Limits())
    _change(library, logs)
    process = lake.begun("ingest", logs, changed=WAITS)
    lake.await_written()
    lake.postgres.kill9()
    try:
        lake.go()
        failed = ended(process)
        down = lake.aiscorr("report")
    finally:
        lake.postgres.start()
    for one in (failed, down):
        assert one.returncode == 1 and "the catalogue or the store of the lake cannot be reached" in one.stderr
        assert "Traceback" not in one.stderr and "then run this again; nothing is half done" in one.stderr
    assert lake.aiscorr("ingest", logs).returncode == 0
    read_in(db, logs)
    check_whole(lake, db)


def test_a_committer_that_was_given_up(lake: LakeHere, library: Library, tmp_path: Path) -> None:
    """A committer that others took for dead, as its connection to the ledger was cut, stores nothing twice."""
    logs, db = _visits(library, tmp_path)
    process = lake.begun("ingest", logs, changed=WAITS)
    lake.await_written()
    lake.postgres.run(
        "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted"
        f" and database = (select oid from pg_database where datname = '{lake.database}')"
    )
    other = lake.aiscorr("ingest", logs)
    assert other.returncode == 0, other.stderr
    lake.go()
    failed = ended(process)
    assert failed.returncode in (1, 4) and "error: " in failed.stderr and "Traceback" not in failed.stderr
    read_in(db, logs)
    assert lake.stored() == stored(db)
    assert " 0 new" in lake.aiscorr("ingest", logs).stdout


@pytest.mark.parametrize("lake", ["s3"], indirect=True)
def test_a_store_that_refuses_for_a_while(lake: LakeHere, library: Library, tmp_path: Path) -> None:
    """An ingest waits for a store that refuses connections for some seconds, and then goes on."""
    logs, db = _visits(library, tmp_path)
    read_in(db, logs)
    copy_database(db, lake.lake, Limits())
    _change(library, logs)
    read_in(db, logs)
    assert lake.s3 is not None
    refuses = "push = into_lake.push; into_lake.push = lambda *given: (await_go(), push(*given))"
    process = lake.begun("ingest", logs, changed=refuses)
    lake.await_written()
    lake.s3.refuse(REFUSES_S)
    lake.go()
    done = ended(process)
    assert done.returncode == 0, done.stderr
    check_whole(lake, db)


def test_four_at_once(lake: LakeHere, library: Library, tmp_path: Path) -> None:
    """Four processes that ingest overlapping folders into a lake that none has made yet store each line once."""
    names = (SCENARIO, MORE)
    parts = [part for name in names for part in parts_of(library.folder(name))]
    db = tmp_path / "file.duckdb"
    read_in(db, *parts)
    given = (parts, parts[1:], parts[:-1], parts[::2])
    done = [ended(process) for process in [lake.begun("ingest", *some) for some in given]]
    assert [one.returncode for one in done] == [0] * 4, "\n".join(one.stderr for one in done)
    check_whole(lake, db)


@pytest.mark.parametrize("what", ["_engine_task", "judge"])
def test_a_worker_is_killed(what: str, lake: LakeHere, library: Library, tmp_path: Path, dask_workers: Cluster) -> None:
    """A Dask worker that is killed where it reads or judges loses nothing: another does what it was to do."""
    from distributed import Client

    logs, db = _visits(library, tmp_path)
    read_in(db, logs)
    with Client(scheduler_file=str(dask_workers.scheduler_file), timeout=20, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=20)
        (worker,) = [one["name"] for one in list(client.scheduler_info()["workers"].values())[:1]]
        client.run(die_in_tasks, what, workers=list(client.scheduler_info()["workers"])[:1])
    work = tmp_path / "work"
    done = lake.aiscorr("ingest", logs, "--engine", dask_workers.engine, AISCORR_LAKE_WORK=str(work))
    dask_workers.kill9(int(worker.removeprefix("w")))
    dask_workers.start_worker()
    assert done.returncode == 0, done.stderr
    check_whole(lake, db)
