"""The service: its plan, its ledger, one run, and the process that runs it."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from commands import Command
from live_cluster import fake_cluster
from outside import ended, started
from pytest_httpserver import HTTPServer
from scenes import column, rows
from serve_home import JOB, JOBS_ONLY, NOW, arrive, furnish, reports, setting, work
from stored_rows import leave_analysis_out, stored
from werkzeug import Request, Response

from aiscorr.errors import UsageError
from aiscorr.parse.path_hints import job_of
from aiscorr.report.period import duration
from aiscorr.serve import run as one_run
from aiscorr.serve.ledger import ServiceRun, add_run, last_runs, ledger_path
from aiscorr.serve.plan import read_plan
from aiscorr.serve.run import run_once
from aiscorr.serve.service import is_overdue, last_due, next_due, run_line


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder for the service, which follows jobs and no cluster."""
    return furnish(tmp_path, ais=False)


@pytest.fixture
def ais_logs(home: Path) -> None:
    """It follows a cluster too, whose logs are there."""
    furnish(home)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no source is named"),
        ('nightly = "25:00"', "'25:00' is no time of day"),
        ('every = "10"', "'10' is no duration"),
        ('timezone = "Mars"', "'Mars' is no time zone"),
        ('nigthly = "02:00"', "unknown key 'nigthly'"),
        ("[serve.jobs]\npath = 'x'", "'jobs' must be tables"),
        ("[[serve.jobs]]\njob = '7'", "'path' is missing"),
        ("[[serve.jobs]]\npath = '/{job_id}/{job_id}.out'", "{job_id} may stand once"),
        ("[[serve.cluster]]\nname = 'prod'", "'logs' names no folder"),
        ("[[serve.cluster]]\nlogs = ['ais']\nendpont = 'x'", "unknown key 'endpont'"),
    ],
)
def test_wrong_plan(text: str, said: str, tmp_path: Path) -> None:
    """What is wrong in [serve] is said with its place."""
    (tmp_path / "aiscorr.toml").write_text(f"[serve]\nreports = 'r'\n{text}\n")
    with pytest.raises(UsageError) as error:
        setting(tmp_path)
    assert (said in str(error.value) and "aiscorr.toml [" in str(error.value)) or said == "'jobs' must be tables"


def test_no_plan(run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without [serve] the verb says what to write."""
    monkeypatch.chdir(tmp_path)
    done = run("serve", "--once")
    assert done.code == 2 and "--example config" in done.err


def test_durations() -> None:
    """A number and a unit."""
    assert [duration(text, "") for text in ("90s", "10m", "6h", "2d")] == [
        timedelta(seconds=90),
        timedelta(minutes=10),
        timedelta(hours=6),
        timedelta(days=2),
    ]


def at(text: str) -> datetime:
    """A moment in UTC."""
    return datetime.fromisoformat(f"{text}:00+00:00")


@pytest.mark.parametrize(
    ("now", "last", "following"),
    [
        ("2026-09-15T06:00", "2026-09-15T00:30", "2026-09-16T00:30"),
        ("2026-09-15T00:29", "2026-09-14T00:30", "2026-09-15T00:30"),
        ("2026-10-25T12:00", "2026-10-25T00:30", "2026-10-26T01:30"),  # the clock goes back: the first 02:30 counts
        ("2026-03-29T12:00", "2026-03-29T01:30", "2026-03-30T00:30"),  # 02:30 does not exist: an hour later
    ],
)
def test_when_a_night_is_due(now: str, last: str, following: str) -> None:
    """02:30 in Berlin, also where the clock changes."""
    plan = read_plan({"timezone": "Europe/Berlin", "jobs": [{"path": "x"}]}, base="/", where="")
    assert plan.zone == ZoneInfo("Europe/Berlin")
    assert (last_due(plan, at(now)), next_due(plan, at(now))) == (at(last), at(following))


def run_at(text: str, outcome: str) -> ServiceRun:
    """A run of the ledger."""
    return ServiceRun("nightly", at(text).isoformat(), at(text).isoformat(), outcome)


def test_missed_night() -> None:
    """A night counts as made when a run after it read its sources, whatever kind it was."""
    plan = read_plan({"nightly": "02:30", "jobs": [{"path": "x"}]}, base="/", where="")
    now = at("2026-09-15T06:00")
    assert is_overdue(plan, [], now)
    assert is_overdue(plan, [run_at("2026-09-15T02:00", "ok")], now)
    assert is_overdue(plan, [run_at("2026-09-15T02:30", "failed")], now)
    assert is_overdue(plan, [run_at("2026-09-15T02:30", "stopped")], now)
    assert not is_overdue(plan, [run_at("2026-09-15T02:30", "partial")], now)


def test_ledger_survives_a_cut_line(tmp_path: Path) -> None:
    """A line that a crash cut is left out, and the next run has a line of its own."""
    path = str(tmp_path / "x.runs.jsonl")
    add_run(path, run_at("2026-09-15T02:30", "ok"))
    with open(path, "ab") as file:
        file.write(b'{"kind": "nightly", "started')
    assert [run.outcome for run in last_runs(path)] == ["ok"]
    add_run(path, run_at("2026-09-16T02:30", "partial"))
    assert [run.outcome for run in last_runs(path)] == ["ok", "partial"]
    assert last_runs(str(tmp_path / "none")) == []


@pytest.mark.parametrize(
    ("template", "path", "job"),
    [
        ("/logs/{job_id}/error-*.out", "/logs/train-7/error-1.out", "train-7"),
        ("/logs/{job_id}/**/*.log", "/logs/train-7/a/b/rank0.log", "train-7"),
        ("/logs/{job_id}/**/*.log", "/logs/train-7/rank0.log", "train-7"),
        ("/logs/slurm-{job_id}-?.out", "/logs/slurm-51-3.out", "51"),
        ("/logs/{job_id}/error-*.out", "/logs/a/b/error-1.out", None),
        ("/logs/{job_id}.out", "/logs/x.outs", None),
    ],
)
def test_job_in_a_path(template: str, path: str, job: str | None) -> None:
    """`{job_id}` is one part of the path or less, `**/` any folders."""
    assert job_of(path, [template]) == job


@pytest.mark.usefixtures("ais_logs")
def test_a_report_waits_for_the_missing_log_and_is_made_again(home: Path) -> None:
    """With one of two worker logs the report waits; then it is partial; with the other log it is whole."""
    arrive(home, 1)
    hidden = home / "logs" / "train-7" / f"error-{JOB}-0.out"
    hidden.rename(home / "late")
    first = work(home)
    assert (first.outcome, first.reports) == ("ok", ()) and reports(home) == {}
    waited = work(home, NOW + timedelta(minutes=10))
    (failure,) = reports(home)
    assert waited.reports == (f"{failure} (partial: 1 worker logs have not come)",)
    assert failure.startswith("train-7.")
    assert work(home, NOW + timedelta(minutes=20)).reports == (), "nothing new is no reason to write again"
    (home / "late").rename(hidden)
    whole = work(home, NOW + timedelta(minutes=30))
    assert whole.reports == (failure,)
    text = reports(home)[failure]
    assert "storage guilty" in text and "Rank 5" in text
    document = json.loads((home / "reports" / f"{failure}.json").read_text())
    assert document["failures"][0]["failure_id"] == failure
    assert (home / "reports" / f"{failure}.md").read_text().startswith("#")


@pytest.mark.usefixtures("ais_logs")
def test_a_source_that_fails_stops_no_other(home: Path) -> None:
    """A cluster's folder that is gone is a problem of the run; the job's logs are read and reported."""
    arrive(home, 1)
    shutil.rmtree(home / "ais")
    made = work(home)
    assert made.outcome == "partial" and len(made.reports) == 1
    assert any("ais" in problem for problem in made.problems)
    assert [run.outcome for run in last_runs(ledger_path(str(home / "aiscorr.duckdb")))] == ["partial"]


def test_a_fault_of_our_own_leaves_a_row(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes wrong in a run, it ends with a row that says what."""

    def fail(*_: object, **__: object) -> list[str]:
        raise ZeroDivisionError("by zero")

    leave_analysis_out(monkeypatch)
    monkeypatch.setattr(one_run, "write_reports", fail)
    made = work(home)
    assert made.outcome == "partial" and made.problems[-1].endswith("reports: ZeroDivisionError: by zero")


def test_a_live_cluster_is_pulled(home: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster with an endpoint is pulled before anything is read; a node that does not answer is a problem."""
    cluster = fake_cluster(httpserver)
    (home / "aiscorr.toml").write_text(
        JOBS_ONLY + f'[[serve.cluster]]\nendpoint = "{cluster.url}"\n[pull]\ntimeout_s = 2.0\ntoken_file = "token"\n'
    )
    (home / "token").write_text("secret-of-the-test")
    (home / "token").chmod(0o600)
    first = work(home)
    assert first.outcome == "ok" and "goes to" in first.notices[0] and "unencrypted" in run_line(first)
    found = column(home / "aiscorr.duckdb", "select node_id from node")
    assert set(cluster.nodes) == set(found)
    node = cluster.nodes[sorted(cluster.nodes)[0]]
    node.fault = "dead"
    leave_analysis_out(monkeypatch)
    made = work(home)
    cluster.is_over.set()
    assert made.outcome == "partial" and any(node.node_id in problem for problem in made.problems)


def test_a_fault_behind_a_pull_leaves_a_row(
    home: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What goes wrong when room is made in the spool is a problem of the run, which reads its other sources."""

    def fail(*_: object) -> tuple[int, int]:
        raise PermissionError("not yours")

    monkeypatch.setattr(one_run, "make_room", fail)
    cluster = fake_cluster(httpserver)
    (home / "aiscorr.toml").write_text(JOBS_ONLY + f'[[serve.cluster]]\nendpoint = "{cluster.url}"\n')
    arrive(home, 1)
    made = work(home)
    cluster.is_over.set()
    assert made.outcome == "partial" and made.problems == (f"{cluster.url}: PermissionError: not yours",)
    assert len(made.reports) == 1 and last_runs(ledger_path(str(home / "aiscorr.duckdb"))) == [made]


def test_stopped_before_it_pulls(home: Path) -> None:
    """A run that is told to stop before its only source, a cluster, is asked has not read everything."""
    (home / "aiscorr.toml").write_text('[[serve.cluster]]\nendpoint = "http://127.0.0.1:9"\n')
    plan, settings = setting(home)
    assert run_once(plan, settings, "nightly", now=lambda: NOW, should_stop=lambda: True).outcome == "stopped"


def test_stopped_before_it_reads(home: Path) -> None:
    """A run that is told to stop says so, and the next one reads all."""
    plan, settings = setting(home)
    assert run_once(plan, settings, "nightly", now=lambda: NOW, should_stop=lambda: True).outcome == "stopped"
    arrive(home, 1)
    assert work(home).outcome == "ok" and len(reports(home)) == 1


def service(home: Path) -> subprocess.Popen[str]:
    """The service as a process."""
    return started(home, "--config", home / "aiscorr.toml", "serve", analysed=True)


def wait_for(found: Callable[[], object], process: subprocess.Popen[str], seconds: float = 60) -> None:
    """Until it is there, or the process has ended."""
    end = time.monotonic() + seconds
    while not found() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)


def test_the_service_follows_and_stops_on_sigterm(home: Path) -> None:
    """A missed night is made up for at the start, what comes later is read, and SIGTERM is a clean end."""
    process = service(home)
    ledger = ledger_path(str(home / "aiscorr.duckdb"))
    wait_for(lambda: last_runs(ledger), process)
    arrive(home, 1)
    wait_for(lambda: reports(home), process)
    process.send_signal(signal.SIGTERM)
    done = ended(process)
    assert done.code == 0, done.err
    assert "catch_up: ok" in done.err and "Traceback" not in done.err
    assert [run.kind for run in last_runs(ledger)][:1] == ["catch_up"] and len(reports(home)) == 1


@pytest.mark.parametrize("hanging", ["map", "node"])
def test_sigterm_while_a_pull_hangs(hanging: str, home: Path, httpserver: HTTPServer) -> None:
    """A service that waits for a cluster which does not answer ends within seconds of SIGTERM; its row says so."""
    cluster = fake_cluster(httpserver)
    asked = threading.Event()

    def hang(request: Request) -> Response:
        asked.set()
        cluster.is_over.wait(60)
        return Response(status=500)

    path = "/v1/daemon" if hanging == "map" else "/v1/reverse/daemon"
    httpserver.clear()
    if hanging == "node":
        httpserver.expect_request("/v1/daemon").respond_with_json(cluster.smap)
    httpserver.expect_request(path).respond_with_handler(hang)
    text = f'[[serve.cluster]]\nendpoint = "{cluster.url}"\n[pull]\ntimeout_s = 60\n'
    (home / "aiscorr.toml").write_text("[serve]\n" + text)
    process = started(home, "serve", analysed=True)
    assert asked.wait(60)
    process.send_signal(signal.SIGTERM)
    begun = time.monotonic()
    done = ended(process)
    cluster.is_over.set()
    assert done.code == 0 and time.monotonic() - begun < 15, done.err
    assert [run.outcome for run in last_runs(ledger_path(str(home / "aiscorr.duckdb")))] == ["stopped"]


@pytest.mark.slow
@pytest.mark.usefixtures("ais_logs")
def test_killed_at_any_moment(home: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """However often the service is killed, what it has read is there once, and the reports are whole."""
    arrive(home, 1)
    undisturbed = tmp_path_factory.mktemp("undisturbed")
    shutil.copytree(home, undisturbed, dirs_exist_ok=True)
    work(undisturbed)
    chance = random.Random(3)
    for _ in range(4):
        process = service(home)
        time.sleep(chance.uniform(0.3, 3.0))
        process.kill()
        ended(process)
    work(home)

    def of(place: Path) -> object:
        tables = stored(place / "aiscorr.duckdb")
        return {name: sorted(map(repr, ((str(row[0]).replace(str(place), ""), *row[1:]) for row in table)))
                for name, table in tables.items()}  # fmt: skip

    assert of(home) == of(undisturbed)
    assert list(reports(home)) == list(reports(undisturbed))
    assert rows(home / "aiscorr.duckdb", "select failure_id from failure") == rows(
        undisturbed / "aiscorr.duckdb", "select failure_id from failure"
    )


@pytest.mark.parametrize("what", ["config", "systemd", "kubernetes"])
def test_examples(what: str, run: Command, tmp_path: Path) -> None:
    """Each example is printed; that of the configuration is one the service takes."""
    done = run("serve", "--example", what)
    assert done.code == 0 and "aiscorr" in done.out
    if what == "config":
        (tmp_path / "aiscorr.toml").write_text(done.out)
        plan, _ = setting(tmp_path)
        assert plan.every == timedelta(minutes=10) and plan.jobs[0].has_job_id


def test_status(run: Command, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last runs, and when the next is due."""
    monkeypatch.chdir(home)
    assert "no run so far" in run("serve", "--status").out
    shutil.rmtree(home / "logs")
    assert run("serve", "--once").code == 0
    assert "once: ok, " in run("serve", "--status").out
