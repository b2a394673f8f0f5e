"""What is wrong with a lake, its servers or its credentials is said in plain words, and nothing is stored half."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commands import Command
from lakes import DIES, LakeHere, be_of_another_release, check_whole
from scenes import Library, parts_of, read_in

from aiscorr import cache
from aiscorr.lake.copying import Limits, copy_database

if TYPE_CHECKING:
    from servers.dask import Cluster

SCENARIO = "gpu_ecc_error"
_Arguments = tuple[str | Path, ...]
_REPORT: _Arguments = ("report", "all", "--format", "json")

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def logs(library: Library) -> list[Path]:
    """Logs with one failure."""
    return parts_of(library.folder(SCENARIO))


@pytest.fixture
def filled(lake: LakeHere, library: Library) -> LakeHere:
    """A lake that holds them."""
    copy_database(library.database(SCENARIO), lake.lake, Limits())
    return lake


def without_time(report: str) -> str:
    """A report without the moment at which it was made."""
    return re.sub(r'"generated_at": "[^"]*"', "", report)


def forget_slices() -> None:
    """The next command pulls its rows again."""
    shutil.rmtree(cache.cache_folder() / "lake", ignore_errors=True)


def check_refused(lake: LakeHere, what: str, try_this: str, *arguments: str | Path, **more: str) -> str:
    """A command fails with these words, and leaves lake, catalogue and store as they were."""
    before = lake.in_store() if lake.s3 is None else set()
    done = lake.aiscorr(*arguments, **more)
    assert done.returncode == 1, done.stderr
    assert what in done.stderr and try_this in done.stderr and "  at: " in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and done.stdout == "" and not (lake.home / "copy.duckdb").exists()
    assert lake.s3 is not None or lake.in_store() == before
    return done.stderr


@pytest.mark.parametrize(("note", "what"), [("schema_version", "schema version 0"), ("lake_version", "lake version 0")])
def test_another_version(note: str, what: str, filled: LakeHere, library: Library) -> None:
    """A lake of another version of its tables is named with both versions, whatever is asked of it."""
    filled.write(f"update lake.lake_note set value = '0' where name = '{note}'")
    more = parts_of(library.folder("healthy_run"))
    given: tuple[_Arguments, ...] = (_REPORT, ("ingest", *more), ("copy", "--to", "copy.duckdb"))
    for arguments in given:
        check_refused(filled, f"this lake has {what}, this aiscorr writes ", "use the aiscorr that made it", *arguments)


def test_a_catalogue_that_may_only_be_read(filled: LakeHere, library: Library, tmp_path: Path) -> None:
    """A role that may only read reports and copies, and is told so where it would write."""
    role = f"reader_{filled.database}"
    filled.postgres.run(f"create role {role} login password 'read'")
    filled.postgres.run(f"grant select on all tables in schema public to {role}", filled.database)
    db = filled.lake.name.replace(f"user={filled.postgres.user}", f"user={role}")
    as_reader = {"AISCORR_DB": db, "PGPASSWORD": "read"}
    forget_slices()
    report = filled.aiscorr(*_REPORT, db=db, PGPASSWORD="read")
    wanted = filled.aiscorr(*_REPORT).stdout.replace(filled.lake.name, db)
    assert report.returncode == 0 and without_time(report.stdout) == without_time(wanted)
    copied = filled.aiscorr("copy", "--to", str(tmp_path / "x.duckdb"), db=db, PGPASSWORD="read")
    assert copied.returncode == 0, copied.stderr
    more = parts_of(library.folder("healthy_run"))
    said = check_refused(
        filled, "may only be read with these credentials", "a role of PostgreSQL", "ingest", *more, **as_reader
    )
    assert "'read'" not in said
    check_whole(filled, library.database(SCENARIO))


@pytest.mark.parametrize("arguments", [_REPORT, ("ingest", "."), ("copy", "--to", "copy.duckdb")])
def test_a_wrong_password(arguments: tuple[str | Path, ...], lake: LakeHere) -> None:
    """A password that PostgreSQL refuses is answered with where the right one is looked for."""
    said = check_refused(lake, "the catalogue refuses these credentials", "PGPASSWORD", *arguments, PGPASSWORD="guess")
    assert "guess" not in said
    assert lake.postgres.run("select 1 from pg_tables where schemaname = 'public'", lake.database) == []


@pytest.mark.parametrize("lake", ["s3"], indirect=True)
@pytest.mark.parametrize(
    ("error", "what", "try_this"),
    [
        ("ExpiredToken", "the token for the store has expired", "AWS_SESSION_TOKEN"),
        ("InvalidAccessKeyId", "the store refuses these credentials", "AWS_ACCESS_KEY_ID"),
    ],
)
def test_credentials_of_the_store(
    error: str, what: str, try_this: str, filled: LakeHere, library: Library, logs: list[Path]
) -> None:
    """A store that refuses a token or a key is answered with what to renew, and the next ingest goes on."""
    assert filled.s3 is not None
    more = parts_of(library.folder("healthy_run"))
    forget_slices()
    filled.s3.refuse(error=error)
    try:
        ingest: _Arguments = ("ingest", *more)
        for arguments in (_REPORT, ingest):
            check_refused(filled, what, try_this, *arguments)
    finally:
        filled.s3.start()
    done = filled.aiscorr("ingest", *more)
    assert done.returncode == 0, done.stderr
    db = filled.home / "file.duckdb"
    read_in(db, *logs, *more)
    check_whole(filled, db)


@pytest.mark.parametrize("lake", ["s3"], indirect=True)
def test_no_such_bucket(lake: LakeHere, logs: list[Path]) -> None:
    """A lake whose bucket does not exist is not begun; with the right bucket it is made."""
    nowhere = {"AISCORR_LAKE_DATA": "s3://nowhere-at-all/site/"}
    check_refused(lake, "the bucket of the lake does not exist", "AISCORR_LAKE_DATA", "ingest", *logs, **nowhere)
    found = lake.postgres.run("select 1 from pg_tables where tablename = 'ducklake_metadata'", lake.database)
    assert found == []
    assert lake.aiscorr("ingest", *logs).returncode == 0


_SHIFT = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
static long shift(void) { return SHIFT; }
int clock_gettime(clockid_t id, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(id, at);
    if (id == CLOCK_REALTIME) at->tv_sec += shift();
    return code;
}
time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
int gettimeofday(struct timeval *at, void *zone) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}
"""


def _other_clock(folder: Path, seconds: int) -> str:
    """A library that moves the clock of a process that loads it."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler to make another clock with")
    source, library = folder / f"{seconds}.c", folder / f"{seconds}.so"
    source.write_text(_SHIFT.replace("SHIFT", str(seconds)))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return str(library)


def test_clocks_of_committers_are_apart(lake: LakeHere, library: Library, tmp_path: Path, logs: list[Path]) -> None:
    """Committers whose clocks are years apart, one of which dies, store what committers with one clock do."""
    # who writes is settled by a lock, who died by its claim, and the order by numbers: no time is compared
    parts = [*logs, *parts_of(library.folder("healthy_run"))]
    behind, ahead = (_other_clock(tmp_path, years * 365 * 86_400) for years in (-2, 2))
    steps = [(ahead, parts[:1], "", 0), (behind, parts[:2], DIES["written"], -signal.SIGKILL),
             (ahead, parts[:2], DIES["committed"], -signal.SIGKILL), (behind, parts, "", 0)]  # fmt: skip
    for clock, some, changed, code in steps:
        done = lake.aiscorr("ingest", *some, changed=changed, LD_PRELOAD=clock)
        assert done.returncode == code, done.stderr
    began = lake.rows("select distinct year(started_at) from lake.ingest_log order by 1")
    assert len(began) == 2 and began[1][0] - began[0][0] >= 3
    db = tmp_path / "file.duckdb"
    for some in (parts[:1], parts[:2], parts):
        read_in(db, *some)
    check_whole(lake, db)


def test_a_worker_of_another_release(filled: LakeHere, library: Library, dask_workers: Cluster, tmp_path: Path) -> None:
    """A Dask worker with another aiscorr is refused by the name of its host, and nothing is stored."""
    from distributed import Client

    with Client(scheduler_file=str(dask_workers.scheduler_file), timeout=20, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=20)
        client.run(be_of_another_release)
    try:
        arguments: _Arguments = ("ingest", "--engine", dask_workers.engine, *parts_of(library.folder("healthy_run")))
        said = check_refused(
            filled, "a worker has another aiscorr", "the same release", *arguments, AISCORR_LAKE_WORK=str(tmp_path)
        )
    finally:
        for number in list(dask_workers.workers):
            dask_workers.kill9(number)
            dask_workers.start_worker()
    assert f"  at: {os.uname().nodename}\n" in said
    check_whole(filled, library.database(SCENARIO))


@pytest.mark.parametrize("share", [0.5, 0.0, None])
def test_a_damaged_file_of_the_lake(share: float | None, filled: LakeHere, tmp_path: Path) -> None:
    """A Parquet file that is cut, empty or gone is named; where it is back, everything is."""
    whole = filled.aiscorr(*_REPORT)
    path = max(Path(filled.data).rglob("*/ais_line/**/*.parquet"), key=lambda path: path.stat().st_size)
    content = path.read_bytes()
    what = "a file of the lake is gone" if share is None else "a Parquet file of the lake is damaged or half written"
    for arguments in (_REPORT, ("copy", "--to", "copy.duckdb")):
        path.unlink(missing_ok=True)
        if share is not None:
            path.write_bytes(content[: int(len(content) * share)])
        forget_slices()
        assert path.name in check_refused(filled, what, "restore", *arguments)
    path.write_bytes(content)
    again = filled.aiscorr(*_REPORT)
    assert again.returncode == 0 and without_time(again.stdout) == without_time(whole.stdout)


@pytest.mark.parametrize(
    "address",
    [
        "ducklake:postgres:dbname=x host=h user=u password=hunter2",
        "ducklake:postgres:dbname=x PASSWORD = 'hunter2'",
        "ducklake:postgres:postgresql://u:hunter2@h/x",
        "ducklake:postgres:postgresql://h/x?user=u&password=hunter2",
    ],
)
@pytest.mark.parametrize("way", ["--db", "--to", "AISCORR_DB", "aiscorr.toml"])
def test_a_password_in_an_address(
    address: str, way: str, run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A password in the address is refused wherever that is given, with the name of what to use, and not shown."""
    arguments = ("copy", "--to", address) if way == "--to" else ("report",)
    if way == "--db":
        arguments = ("--db", address, *arguments)
    elif way == "AISCORR_DB":
        monkeypatch.setenv("AISCORR_DB", address)
    elif way == "aiscorr.toml":
        Path("aiscorr.toml").write_text(f'db = """{address}"""\n')
    outcome = run(*arguments)
    assert outcome.code == 2 and outcome.out == "" and f"  at: {way}" in outcome.err.replace(str(Path.cwd()) + "/", "")
    assert "a password has no place in the address of a lake" in outcome.err and "PGPASSWORD" in outcome.err
    assert "hunter2" not in outcome.err


@pytest.mark.parametrize("lake", ["s3"], indirect=True)
def test_secrets_are_nowhere(lake: LakeHere, logs: list[Path], tmp_path: Path) -> None:
    """Neither password nor secret key is in what is said, a report, a slice, the catalogue, the ledger or the store."""
    assert lake.s3 is not None
    secrets = (lake.postgres.password, lake.s3.secret)
    forget_slices()
    asked: tuple[_Arguments, ...] = (("ingest", *logs), _REPORT, ("query", "from ingest_run"))
    said = [lake.aiscorr("-v", *given) for given in asked]
    said += [lake.aiscorr("-v", "copy", "--to", "copy.duckdb"), lake.aiscorr("-v", "query", "from lake.nothing")]
    lake.s3.refuse(error="SignatureDoesNotMatch")
    try:
        forget_slices()
        said.append(lake.aiscorr("-v", *_REPORT))
    finally:
        lake.s3.start()
    assert [one.returncode for one in said] == [0, 0, 0, 0, 1, 1], "\n".join(one.stderr for one in said)
    forget_slices()
    assert lake.aiscorr(*_REPORT).returncode == 0
    texts = [text.encode() for one in said for text in (one.stdout, one.stderr, *map(str, one.args))]
    texts += [path.read_bytes() for path in (cache.cache_folder() / "lake").iterdir()]
    texts.append((lake.home / "copy.duckdb").read_bytes())
    texts += [row[0] for row in lake.rows(f"select content from read_blob('{lake.data}**')")]
    tables = lake.postgres.run("select tablename from pg_tables where schemaname = 'public'", lake.database)
    texts += [str(lake.postgres.run(f'select * from "{name}"', lake.database)).encode() for (name,) in tables]
    assert len(tables) > 20 and len(texts) > 40
    for secret in secrets:
        assert [text for text in texts if secret.encode() in text] == []
