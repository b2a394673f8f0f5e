"""The HTTP server inside the service: beside ingests, as a process, and at its end."""

from __future__ import annotations

import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from http_site import TOKEN, Site, site
from outside import ended, started
from packing import written
from scenes import Library, read_in
from serve_home import arrive, furnish
from stored_rows import leave_analysis_out
from waiting import statements_of, wait_for

from aiscorr.store.database import reading_newest

FIRST = "worker_logs_only"
LONG = "select count(*) from range(100000000000) as a, range(1000000)"


@contextmanager
def asked_all_the_time(served: Site, path: str, said: list[int]) -> Iterator[None]:
    """Three clients that hardly pause, so that the database is nearly always open for one of them."""
    is_over = threading.Event()

    def ask() -> None:
        while not is_over.wait(0.02):
            said.append(served.get(path).status)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def test_what_is_published_is_seen(tmp_path: Path, library: Library) -> None:
    """Whoever asks after an ingest gets what it stored, also while others have the database open all the time."""
    db = str(library.own(FIRST, tmp_path / "x.duckdb"))
    said: list[int] = []
    with site(db, tmp_path) as served, asked_all_the_time(served, "/api/failures", said):
        assert served.get("/api/failures").json["total"] == 1
        read_in(db, written(tmp_path / "rank0.log"))
        assert served.get("/api/failures").json["total"] == 2
        assert served.query("select count(*) as n from failure").json["rows"] == [{"n": 2}]
    assert set(said) == {200}


def test_readers_of_a_process_see_the_newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that begins after an ingest sees it, while one that began before keeps what it had."""
    leave_analysis_out(monkeypatch)
    db = str(tmp_path / "x.duckdb")
    (tmp_path / "README").write_text("no log\n")
    read_in(db, tmp_path / "README")
    count = "select count(*) from ingested_file"
    with reading_newest(db) as before:
        assert before.execute(count).fetchall() == [(1,)]
        read_in(db, written(tmp_path / "rank0.log"))
        with reading_newest(db) as after:
            assert (before.execute(count).fetchall(), after.execute(count).fetchall()) == ([(1,)], [(2,)])


def begun(folder: Path, *arguments: str) -> tuple[subprocess.Popen[str], Site]:
    """The service as a process, and its server, once it listens."""
    process = started(folder, *arguments, analysed=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line.startswith("listening on http://127.0.0.1:"), line
    return process, Site(line.split()[-1])


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder for the service, with all logs of a job."""
    home = furnish(tmp_path, ais=False)
    arrive(home, 1)
    return home


def test_service_that_listens_ends_on_sigterm(home: Path) -> None:
    """The service answers from its start on, shows the run it makes, and SIGTERM ends it, a long query included."""
    process, served = begun(home, "--config", "aiscorr.toml", "serve", "--listen", "127.0.0.1:0")
    assert served.get("/livez").status == 200
    wait_for(lambda: 'aiscorr_runs_total{kind="catch_up",outcome="ok"} 1\n' in served.get("/metrics").text)
    assert served.get("/readyz").status == 200
    assert served.get("/api/failures").json["failures"][0]["job_id"] == "train-7"
    answers: list[int] = []

    def ask() -> None:
        answers.append(served.query(LONG).status)

    thread = threading.Thread(target=ask)
    thread.start()
    wait_for(lambda: statements_of(process.pid))
    process.send_signal(signal.SIGTERM)
    done = ended(process)
    thread.join()
    assert done.code == 0 and "Traceback" not in done.err, done.err
    assert answers == [503]


def test_only_http(home: Path, library: Library) -> None:
    """Alone it reads nothing, needs no [serve], and keeps its token to itself."""
    db = library.database(FIRST)
    (home / "token").write_text(TOKEN)
    (home / "token").chmod(0o600)
    (home / "aiscorr.toml").write_text('[serve.http]\nlisten = "127.0.0.1:0"\ntoken_file = "token"\n')
    process, served = begun(home, "--db", db, "serve", "--only-http")
    shown = Path(f"/proc/{process.pid}/cmdline").read_text()
    assert served.get("/api/failures").status == 401
    assert served.get("/api/failures", {"Authorization": "Bearer wrong-wrong-wrong-wrong"}).status == 401
    answer = served.get("/api/query", {"Authorization": f"Bearer {TOKEN}"}, sql="select 'seen' || 'once'")
    assert answer.json["rows"] == [{"('seen' || 'once')": "seenonce"}]
    process.send_signal(signal.SIGTERM)
    done = ended(process)
    assert (done.code, done.out, done.err) == (0, "", ""), "neither requests nor tokens are logged"
    assert TOKEN not in shown and not list(home.glob("*.runs.jsonl"))


def test_port_that_is_taken(home: Path) -> None:
    """Where another program listens the service ends at once and says so."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        listen = f"127.0.0.1:{other.getsockname()[1]}"
        done = ended(started(home, "--config", "aiscorr.toml", "serve", "--listen", listen, analysed=True))
    assert done.code == 1 and "not possible to listen" in done.err and listen in done.err
    assert not list(home.glob("*.duckdb"))


def test_nothing_listens_unasked(home: Path) -> None:
    """Without --listen and [serve.http] the service opens no port."""
    process = started(home, "--config", "aiscorr.toml", "serve")
    wait_for(lambda: list(home.glob("*.runs.jsonl")))
    tables = [Path(f"/proc/{process.pid}/net/{name}").read_text() for name in ("tcp", "tcp6")]
    sockets = {link.readlink().name for link in Path(f"/proc/{process.pid}/fd").iterdir() if link.is_symlink()}
    listening = {
        f"socket:[{line.split()[9]}]" for table in tables for line in table.splitlines()[1:] if line.split()[3] == "0A"
    }
    process.send_signal(signal.SIGTERM)
    assert ended(process).code == 0 and not sockets & listening
