"""The service: its plan, its ledger, one run, and the process that runs it."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from commands import Command
from outside import aiscorr, ended, started
from scenes import FIXTURES, rows
from stored_rows import stored

from aiscorr.config import Settings, load_settings
from aiscorr.errors import UsageError
from aiscorr.parse.path_hints import job_of
from aiscorr.serve import nightly
from aiscorr.serve.ledger import ServiceRun, add_run, last_runs, ledger_path
from aiscorr.serve.nightly import run_once
from aiscorr.serve.plan import ServePlan, duration, read_plan
from aiscorr.serve.service import is_overdue, last_due, next_due

SCENARIO = FIXTURES / "target_killed_short_batch"
JOB = "4184269"
NOW = datetime(2026, 9, 15, 6, 0, tzinfo=UTC)
CONFIG = """
[serve]
every = "1s"
wait = "10m"
recent = "9000d"
[[serve.cluster]]
logs = ["ais"]
[[serve.jobs]]
path = "logs/{job_id}/error-*.out"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with a configuration, AIStore logs, and the first of a job's two worker logs."""
    (tmp_path / "aiscorr.toml").write_text(CONFIG)
    shutil.copytree(SCENARIO / "ais", tmp_path / "ais")
    arrive(tmp_path, 0)
    return tmp_path


def arrive(home: Path, node: int) -> None:
    """The log of a worker node comes in."""
    target = home / "logs" / "train-7" / f"error-{JOB}-{node}.out"
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(SCENARIO / "workers" / target.name, target)


def setting(home: Path) -> tuple[ServePlan, Settings]:
    """Plan and settings as the verb reads them."""
    settings = load_settings(db=None, config=str(home / "aiscorr.toml"), environment={}, folder=str(home))
    return read_plan(settings.serve, base=settings.folder, where=settings.config_path), settings


def work(home: Path, now: datetime = NOW) -> ServiceRun:
    """One run at that time."""
    plan, settings = setting(home)
    return run_once(plan, settings, "nightly", now=lambda: now)


def reports(home: Path) -> dict[str, str]:
    """The reports that lie there, as text by failure."""
    return {path.stem: path.read_text() for path in sorted((home / "reports").glob("*.txt"))}


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

    monkeypatch.setattr(nightly, "write_reports", fail)
    made = work(home)
    assert made.outcome == "partial" and made.problems[-1].endswith("reports: ZeroDivisionError: by zero")


def test_stopped_before_it_reads(home: Path) -> None:
    """A run that is told to stop says so, and the next one reads all."""
    plan, settings = setting(home)
    assert run_once(plan, settings, "nightly", now=lambda: NOW, should_stop=lambda: True).outcome == "stopped"
    arrive(home, 1)
    assert work(home).outcome == "ok" and len(reports(home)) == 1


def service(home: Path) -> subprocess.Popen[str]:
    """The service as a process."""
    return started(home, "--config", home / "aiscorr.toml", "serve", analysed=True)


def wait_for(found: Any, process: subprocess.Popen[str], seconds: float = 60) -> None:
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


@dataclass
class Receiver:
    """A server on this host that takes notifications, or refuses them."""

    url: str
    status: int = 200
    bodies: list[Any] = field(default_factory=list)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A server that runs as long as the test."""
    receiver = Receiver("")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(receiver.status)
            self.end_headers()
            if receiver.status == 200:
                receiver.bodies.append(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        receiver.url = f"http://127.0.0.1:{server.server_port}/T0/SECRET"
        yield receiver
        server.shutdown()
        thread.join()


def add_target(home: Path, text: str) -> None:
    """One more table for the configuration."""
    with (home / "aiscorr.toml").open("a") as file:
        file.write(f"\n[[serve.notify]]\n{text}\n")


def test_people_are_told_once(home: Path, receiver: Receiver) -> None:
    """Each kind of target hears of the failure once, in its own form."""
    (home / "url").write_text(receiver.url)
    (home / "url").chmod(0o600)
    add_target(home, f'kind = "webhook"\nurl = "{receiver.url}"')
    add_target(home, 'kind = "slack"\nurl_file = "url"')
    add_target(home, f'kind = "alertmanager"\nurl = "{receiver.url}"')
    add_target(home, f'kind = "command"\ncommand = ["tee", "{home}/told"]')
    add_target(home, f'kind = "webhook"\nname = "sure"\nurl = "{receiver.url}"\nconfidence = 0.99')
    arrive(home, 1)
    assert work(home).problems == () and work(home).problems == ()
    webhook, slack, alerts = receiver.bodies
    assert webhook["failure"]["storage_verdict"] == "guilty" and webhook["failure"]["culprit_ranks"] == [5]
    assert slack["text"].startswith("*storage guilty in train-7.") and "Rank 5" in slack["text"]
    assert alerts[0]["labels"]["job_id"] == "train-7" and alerts[0]["startsAt"].endswith("Z")
    assert json.loads((home / "told").read_text()) == webhook


def test_a_changed_verdict_is_told(home: Path, receiver: Receiver) -> None:
    """When more logs take the blame from storage, who was told of it is told that."""
    add_target(home, f'kind = "slack"\nurl = "{receiver.url}"')
    arrive(home, 1)
    work(home)
    failure = json.loads((home / "reports" / "notified.json").read_text())
    (key,) = failure
    failure[key]["verdict"] = "guilty data"
    (home / "reports" / "notified.json").write_text(json.dumps(failure))
    work(home)
    assert [body["text"].startswith("*changed: ") for body in receiver.bodies] == [False, True]


def test_what_cannot_be_delivered_is_tried_again_and_given_up(home: Path, receiver: Receiver) -> None:
    """A target that refuses is a problem of the run, without its address; after five tries there is no more."""
    add_target(home, f'kind = "slack"\nurl = "{receiver.url}"')
    receiver.status = 500
    arrive(home, 1)
    said = [work(home).problems for _ in range(6)]
    assert all(len(problems) == 1 and "HTTP 500" in problems[0] for problems in said[:5]) and said[5] == ()
    assert said[0][0].endswith("tried again at the next run") and said[4][0].endswith("given up after 5 tries")
    assert "SECRET" not in repr(said) + (home / "reports" / "notified.json").read_text()


def test_a_later_try_delivers(home: Path, receiver: Receiver) -> None:
    """A server that was away for a run is told at the next."""
    add_target(home, f'kind = "webhook"\nurl = "{receiver.url}"')
    arrive(home, 1)
    receiver.status = 503
    assert len(work(home).problems) == 1
    receiver.status = 200
    assert work(home).problems == () and len(receiver.bodies) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('kind = "pager"', "kind = 'pager' is not known"),
        ('kind = "slack"', "slack needs url or url_file"),
        ('kind = "slack"\nurl = "https://x"\nurl_file = "y"', "slack needs url or url_file"),
        ('kind = "command"\nurl = "https://x"', "command needs command"),
        ('kind = "slack"\nurl = "ftp://x"', "must begin with http"),
        ('kind = "slack"\nurl_file = "aiscorr.toml"', "can be read by others"),
        ('kind = "slack"\nurl_file = "none"', "cannot be read"),
        ('kind = "slack"\nurl = "https://x"\nconfidence = 7', "from 0 to 1"),
    ],
)
def test_wrong_target(text: str, said: str, home: Path) -> None:
    """What is wrong in [[serve.notify]] is said with its place."""
    (home / "aiscorr.toml").chmod(0o644)
    add_target(home, text)
    with pytest.raises(UsageError) as error:
        setting(home)
    assert said in str(error.value) and "[[serve.notify]]" in str(error.value)


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
    assert aiscorr(home, "serve", "--once", analysed=True).code == 0
    assert "once: ok, " in run("serve", "--status").out
