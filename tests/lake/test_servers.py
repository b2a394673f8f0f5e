"""The servers that tests of a lake run on: what one process writes another reads, and faults come and go."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from scenes import REPO
from servers.processes import answers
from waiting import wait_for

from aiscorr.ingest.engine import own_key

if TYPE_CHECKING:
    from servers.dask import Cluster
    from servers.postgres import Postgres
    from servers.s3 import S3

#: Attaches a lake by its address and folder, as a process of its own, and runs statements on it.
_PROGRAM = """
import os, sys
from importlib.metadata import distribution
from urllib.parse import urlsplit
import duckdb

address, data, *statements = sys.argv[1:]
connection = duckdb.connect(config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"})
for name in ("ducklake", "postgres_scanner", "httpfs"):
    home = distribution("duckdb-extension-" + name.replace("_", "-")).locate_file("duckdb_extension_" + name)
    connection.execute(f"load '{home}/extensions/v{duckdb.__version__}/{name}.duckdb_extension'")
if "AWS_ENDPOINT_URL" in os.environ:
    connection.execute(
        "create secret (type s3, key_id '{AWS_ACCESS_KEY_ID}', secret '{AWS_SECRET_ACCESS_KEY}', "
        "region '{AWS_REGION}', endpoint '{place}', url_style 'path', use_ssl false)".format(
            place=urlsplit(os.environ["AWS_ENDPOINT_URL"]).netloc, **os.environ))
connection.execute(f"attach '{address}' as lake (data_path '{data}')")
for statement in statements:
    print(connection.execute(statement).fetchall())
"""
_WRITE = "create table lake.line as select range as number, 'l' || range as text from range(5000)"
_READ = "select count(*), sum(number), max(text) from lake.line"
_FOUND = "[(5000, 12497500, 'l999')]\n"


def on_lake(
    address: str, data: str, environment: Mapping[str, str], *statements: str
) -> subprocess.CompletedProcess[str]:
    """What a new process says that attaches a lake and runs statements on it."""
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM, address, data, *statements],
        env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


@pytest.fixture(params=["folder", "s3"])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a lake keeps its Parquet."""
    if request.param == "folder":
        return f"{tmp_path}/lake/"
    store: S3 = request.getfixturevalue("s3")
    return store.new_bucket(f"lake-{os.getpid()}-servers")


def test_what_one_process_writes_another_reads(
    postgres: Postgres, lake_environment: dict[str, str], s3: S3, data: str, tmp_path: Path
) -> None:
    """A lake with its catalogue in PostgreSQL and its Parquet in a folder or on S3 is one to all processes."""
    address = f"ducklake:postgres:{postgres.dsn(postgres.new_database())}"
    written = on_lake(address, data, lake_environment, _WRITE)
    assert written.returncode == 0, written.stderr
    assert on_lake(address, data, lake_environment, _READ).stdout == _FOUND
    files = s3.keys(data.split("/")[2]) if data.startswith("s3:") else [str(p) for p in Path(data).rglob("*.parquet")]
    assert files and all(name.endswith(".parquet") for name in files)


def test_the_password_comes_from_the_environment_alone(postgres: Postgres, tmp_path: Path) -> None:
    """A wrong password lets nobody in, and neither address nor catalogue holds the right one."""
    database = postgres.new_database()
    address = f"ducklake:postgres:{postgres.dsn(database)}"
    wrong = on_lake(address, f"{tmp_path}/", {**postgres.environment(), "PGPASSWORD": "guess"}, _WRITE)
    assert wrong.returncode == 1 and "password authentication failed" in wrong.stderr
    right = on_lake(address, f"{tmp_path}/", postgres.environment(), _WRITE)
    assert right.returncode == 0, right.stderr
    assert postgres.password not in address
    assert postgres.password not in str(postgres.run("select * from ducklake_metadata", database))


def test_a_kill_of_postgres_loses_nothing(postgres: Postgres) -> None:
    """A server that was killed comes back on its port with what was committed."""
    database = postgres.new_database()
    postgres.run("create table kept as select 7 as value", database)
    port = postgres.port
    postgres.kill9()
    assert not answers(port)
    postgres.start()
    assert postgres.port == port and postgres.run("select value from kept", database) == [(7,)]


@pytest.fixture
def open_again(s3: S3) -> Iterator[None]:
    """The endpoint lets clients in after a test."""
    yield
    s3.start()


def _status(address: str) -> int:
    """The status of an answer to GET; 0 where nothing listens."""
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except OSError:
        return 0


def test_an_endpoint_refuses_for_a_while(s3: S3, open_again: None) -> None:
    """S3 refuses connections, or answers an error, for as long as a test wants, and keeps its objects."""
    s3.new_bucket("kept")
    s3.ask("PUT", "/kept/one", b"7")
    address = f"{s3.address}/kept"
    assert _status(address) == 200
    s3.refuse(0.5)
    assert _status(address) == 0
    wait_for(lambda: _status(address) == 200, 20)
    s3.refuse(0.5, "SlowDown")
    assert _status(address) == 503
    wait_for(lambda: _status(address) == 200, 20)
    s3.refuse(error="ExpiredToken")
    assert _status(address) == 400
    s3.stop()
    assert _status(address) == 0
    s3.start()
    assert _status(address) == 200 and s3.keys("kept") == ["one"]


def test_an_endpoint_refuses_the_lake(
    postgres: Postgres, lake_environment: dict[str, str], s3: S3, open_again: None
) -> None:
    """A lake whose store says that a token has expired writes nothing, and passes on what the store says."""
    data = s3.new_bucket(f"lake-{os.getpid()}-expired")
    s3.refuse(error="ExpiredToken")
    address = f"ducklake:postgres:{postgres.dsn(postgres.new_database())}"
    written = on_lake(address, data, lake_environment, _WRITE)
    assert written.returncode == 1 and "HTTP" in written.stderr
    assert s3.keys(data.split("/")[2]) == []


def test_workers_are_replaced(dask_workers: Cluster) -> None:
    """Two workers run this aiscorr with the variables that lead to the servers; one that is killed can be replaced."""
    from distributed import Client

    with Client(scheduler_file=str(dask_workers.scheduler_file), timeout=20, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=20)
        assert list(client.run(own_key).values()) == [own_key()] * 2
        assert set(client.run(os.getenv, "PGPORT").values()) == {dask_workers.environment["PGPORT"]}
        dask_workers.kill9(next(iter(dask_workers.workers)))
        dask_workers.start_worker()
        assert len(client.run(os.getpid)) == 2


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A temporary folder that every user may pass through."""
    folder = Path(tempfile.mkdtemp(prefix="aiscorr-servers-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


_SERVERS = [sys.executable, "-m", "tests.support.servers"]


def test_a_command_beside_the_servers(dask_workers: Cluster, open_folder: Path) -> None:
    """`python -m tests.support.servers COMMAND` runs it on servers of its own, and leaves nothing when it ends."""
    command = 'echo "$PGPORT ${AWS_ENDPOINT_URL##*:} $AISCORR_LAKE_DATA $AISCORR_ENGINE $AISCORR_DB"; exit 7'
    environment = {**os.environ, "TMPDIR": str(open_folder)}
    done = subprocess.run(
        [*_SERVERS, "--", "sh", "-c", command], cwd=REPO, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 7, done.stderr
    catalogue, store, data, engine, db = done.stdout.split(maxsplit=4)
    assert data == "s3://lake/" and engine.startswith(f"dask-file:{open_folder}/")
    assert db.startswith(f"ducklake:postgres:dbname=lake host=127.0.0.1 port={catalogue} ")
    assert not answers(int(catalogue)) and not answers(int(store)) and list(open_folder.iterdir()) == []


def test_servers_end_with_what_started_them(dask_workers: Cluster, open_folder: Path) -> None:
    """Servers end with the process that started them, even if that is killed."""
    environment = {**os.environ, "TMPDIR": str(open_folder)}
    with subprocess.Popen(_SERVERS, cwd=REPO, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = dict(process.stdout.readline().removeprefix("export ").strip().split("=", 1) for _ in range(2))
        port = int(found["PGPORT"])
        assert answers(port)
        process.send_signal(signal.SIGKILL)
    wait_for(lambda: not answers(port), 20)
