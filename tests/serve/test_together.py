"""The service and those who read: nobody waits for anybody, and everybody sees a whole database."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from serve_home import arrive, furnish, setting, work
from stored_rows import leave_analysis_out

from aiscorr.serve import run as one_run
from aiscorr.store.database import reading

READ = """
import json, os, sys, time
from datetime import UTC, datetime
from aiscorr.report.build import build_report
from aiscorr.report.render import render_json
from aiscorr.store.database import reading
db, stop = sys.argv[1:]
seen, errors = [], []
print("reads", flush=True)
while not os.path.exists(stop):
    try:
        with reading(db) as connection:
            report = json.loads(render_json(build_report(connection, "all", datetime.now(UTC))))
            jobs = connection.execute("select count(*) from job").fetchall()[0][0]
            files = connection.execute("select count(*) from source_file").fetchall()[0][0]
        seen.append([files, jobs, len(report["failures"])])
    except Exception as error:
        errors.append(repr(error))
    time.sleep(0.2)
print(json.dumps({"seen": seen, "errors": errors}))
"""


_COUNT = b"select 'files=' || count(*)::varchar from ingested_file;\r"


def test_readers_beside_the_service(tmp_path: Path) -> None:
    """While runs of the service write, readers of other processes never fail, and see one publication or another."""
    home = furnish(tmp_path, ais=False)
    first = work(home)
    _, settings = setting(home)
    states = []

    def state() -> list[int]:
        with reading(settings.db_path) as connection:
            counts = [
                connection.execute(f"select count(*) from {name}").fetchall()[0][0]
                for name in ("source_file", "job", "failure")
            ]
        return [int(count) for count in counts]

    states.append(state())
    stop = tmp_path / "stop"
    readers = [
        subprocess.Popen([sys.executable, "-c", READ, settings.db_path, str(stop)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for reader in readers:
        assert reader.stdout is not None and reader.stdout.readline() == "reads\n"
    arrive(home, 1)
    assert (first.outcome, work(home).outcome) == ("ok", "ok")
    states.append(state())
    stop.touch()
    for reader in readers:
        told = json.loads(reader.communicate()[0])
        assert told["errors"] == [] and told["seen"]
        assert all(seen in states for seen in told["seen"])


def test_an_open_shell_does_not_stop_the_night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interactive shell in which a query has run keeps nothing open: the nightly run goes in, the shell sees it."""
    leave_analysis_out(monkeypatch)
    monkeypatch.setattr(one_run, "_report", lambda *_: None)
    home = furnish(tmp_path, ais=False)
    work(home)
    _, settings = setting(home)
    keyboard, screen = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "XDG_STATE_HOME": str(tmp_path), "PROMPT_TOOLKIT_NO_CPR": "1"}
    command = [sys.executable, "-m", "aiscorr", "--db", settings.db_path, "query"]
    shell = subprocess.Popen(command, stdin=screen, stdout=screen, stderr=screen, env=environment, cwd=home)
    os.close(screen)
    try:
        wait_for(keyboard, "aiscorr> ")
        os.write(keyboard, _COUNT)
        wait_for(keyboard, "files=1")
        arrive(home, 1)
        assert work(home).outcome == "ok"
        os.write(keyboard, _COUNT)
        wait_for(keyboard, "files=2")
    finally:
        shell.kill()
        shell.wait()
        os.close(keyboard)


def wait_for(keyboard: int, text: str) -> None:
    """Reads what the shell shows until the text stands there."""
    shown = b""
    end = time.monotonic() + 60
    while text.encode() not in shown:
        assert select.select([keyboard], [], [], max(end - time.monotonic(), 0))[0], shown
        shown += os.read(keyboard, 65536)
