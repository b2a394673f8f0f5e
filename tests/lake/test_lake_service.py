"""The service on a lake: readers of their own over HTTP, and one that commits."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest
from http_site import TOKEN, Site, site
from outside import ended, started
from scenes import FIXTURES, copy_with_times
from serve_home import CONFIG, arrive, furnish, setting
from waiting import wait_for

from aiscorr.lake.local import newest_slice
from aiscorr.lake.upkeep import keep_up
from aiscorr.model import Retention
from aiscorr.pull.clean import clean
from aiscorr.sandbox.question import Limits
from aiscorr.serve import source
from aiscorr.serve.ledger import last_runs
from aiscorr.serve.mcp import Tools
from aiscorr.serve.reader import Reader
from aiscorr.serve.run import run_once
from aiscorr.store.database import reading

if TYPE_CHECKING:
    from servers.postgres import Postgres

    from aiscorr.lake.address import Lake

KILLED = "train-7.0-20260914T102238"
OTHER = "worker_logs_only"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
FORM = {"Content-Type": "application/x-www-form-urlencoded", **HEADERS}
SERVES = {"AISCORR_HTTP_TOKEN": TOKEN}


@pytest.fixture
def home(postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the service with a new lake: its logs are there, and nobody has read them."""
    for name, value in postgres.environment().items():
        monkeypatch.setenv(name, value)
    (tmp_path / "home").mkdir()
    folder = furnish(tmp_path / "home")
    arrive(folder, 1)
    db = f'db = "ducklake:postgres:{postgres.dsn(postgres.new_database())}"\n[lake]\ndata = "{tmp_path}/data"\n'
    (folder / "aiscorr.toml").write_text(db + CONFIG)
    return folder


def ran(home: Path, *arguments: str | Path) -> str:
    """What a process of its own says that writes the lake."""
    done = ended(started(home, *arguments, analysed=True))
    assert done.code == 0, done.err
    return done.out


def lake_of(home: Path) -> Lake:
    """The lake of the folder."""
    lake = setting(home)[1].lake
    assert lake is not None
    return lake


def address(home: Path) -> str:
    """The address of the lake."""
    return lake_of(home).name


@contextmanager
def readers(home: Path, count: int, **others: str) -> Iterator[list[Site]]:
    """Services that only answer, over one lake and with the files of one folder."""
    with ExitStack() as stack:
        yield [stack.enter_context(site(address(home), home, environment={**SERVES, **others})) for _ in range(count)]


def total(served: Site) -> int:
    """How many failures a reader lists."""
    return int(served.get("/api/failures", HEADERS).json["total"])


def key_of(served: Site) -> str:
    """What the form of a page has to be known again."""
    found = re.search(r'name="key" value="([0-9a-f]{64})"', served.get(f"/failures/{KILLED}", HEADERS).text)
    assert found
    return found[1]


def test_readers_and_one_committer(home: Path, tmp_path: Path) -> None:
    """Readers show what another process commits, and share runs and notes, whichever of them took a note."""
    assert "ok, 12 new files" in ran(home, "serve", "--once")
    tools = Tools(Reader(setting(home)[1], Limits()))
    assert "AZq6Oo53" in tools.get_report() and tools.query("from failure")["row_count"] == 1
    with readers(home, 2) as (first, second):
        assert [total(one) for one in (first, second)] == [1, 1]
        page = first.get(f"/failures/{KILLED}", HEADERS)
        assert page.status == 200 and "AZq6Oo53" in page.text and "/lines?path=" in page.text
        given = urlencode({"key": key_of(first), "text": "the target was swapped", "owner": "storage"})
        assert second.ask("POST", f"/notes/{KILLED}", FORM, given).status == 303, "the form is another reader's"
        assert "the target was swapped" in first.get(f"/failures/{KILLED}", HEADERS).text
        assert "once" in second.get("/runs", HEADERS).text
        ran(home, "ingest", "-q", copy_with_times(FIXTURES / OTHER, tmp_path / "other") / "workers")
        assert [wait_for(lambda one=one: total(one) == 2) for one in (first, second)] == [True, True]
        assert second.query("select 1").status == 401 and second.get("/readyz").json["ready"]
        said = second.get("/metrics", HEADERS).text
    assert "aiscorr_lake_reached 1" in said and 'aiscorr_rows{table="worker_line"}' in said
    assert int(re.findall(r"aiscorr_database_bytes (\d+)", said)[0]) > 100_000
    assert {path.name for path in home.glob("aiscorr-lake.*")} == {
        "aiscorr-lake.runs.jsonl", "aiscorr-lake.notes.json", "aiscorr-lake.notes.json.lock",
    }  # fmt: skip


def test_a_catalogue_that_is_away(home: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without PostgreSQL a reader answers from what it read last, and says so; one that read nothing says why."""
    monkeypatch.setattr(source, "_AGAIN_S", 0.0)
    ran(home, "serve", "--once")
    with readers(home, 2) as (served, late):
        assert total(served) == 1
        postgres.stop()
        try:
            said = wait_for(lambda: served.get("/readyz").json["notices"])
            assert "cannot be reached; what is shown is the lake as of 20" in said[0] and postgres.host not in said[0]
            page = served.get("/failures", HEADERS)
            assert (
                page.status == 200
                and KILLED in page.text
                and '<p class="open" role="status">the catalogue' in page.text
            )
            answer = served.get("/api/failures", HEADERS)
            assert answer.json["total"] == 1 and "cannot be reached" in answer.headers["x-notice"]
            assert "aiscorr_lake_reached 0" in served.get("/metrics", HEADERS).text
            assert late.get("/failures", HEADERS).status == 503
            ready = late.get("/readyz")
            assert ready.status == 503 and "cannot be reached" in ready.text and postgres.host not in ready.text
        finally:
            postgres.start()
        assert wait_for(lambda: not served.get("/readyz").json["notices"]) and total(late) == 1
        assert "x-notice" not in served.get("/api/failures", HEADERS).headers


def test_a_large_lake(home: Path, tmp_path: Path) -> None:
    """A lake that is not pulled whole shows the same of a failure: report, counters, and lines with their patterns."""
    ran(home, "serve", "--once")
    ran(home, "ingest", "-q", copy_with_times(FIXTURES / OTHER, tmp_path / "other") / "workers")
    at = {"path": str(home / "logs" / "train-7" / "error-4184269-0.out"), "line": "60"}
    seen = []
    for most_rows in ("1000000", "0"):
        with readers(home, 1, AISCORR_LAKE_MOST_ROWS=most_rows) as (served,):
            report = served.get(f"/api/failures/{KILLED}", HEADERS).json
            report.pop("generated_at")
            counters = served.get("/api/queries/counters", HEADERS, failure=KILLED).json["rows"]
            timeline = served.get("/api/queries/timeline", HEADERS, failure=KILLED).json["rows"]
            lines = served.get(f"/lines?{urlencode(at)}", HEADERS).text
            assert served.get(f"/failures/{KILLED}", HEADERS).status == 200 and total(served) == 2
            assert counters and timeline and "/explain/" in lines
            seen.append((report, counters, timeline, lines, served.get("/search", HEADERS, text="AISBatch").text))
    assert [seen[0][place] == seen[1][place] for place in range(4)] == [True] * 4
    notice = "UTC on are looked at"
    assert notice in seen[1][4] and notice not in seen[0][4] and notice not in seen[1][3]


def test_reports_of_a_large_lake_are_read_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run pulls the rows of the failures that changed only; what a file's reports say, those of a lake say too."""
    config = home / "aiscorr.toml"
    config.write_text(config.read_text().replace("[lake]\n", "[lake]\nmost_rows = 0\n"))
    assert f"reports: {KILLED}" in ran(home, "serve", "--once")
    assert "AZq6Oo53 was killed" in (home / "reports" / f"{KILLED}.txt").read_text()
    said: list[object] = []
    whole = source.LakeSource.report_on
    monkeypatch.setattr(source.LakeSource, "report_on", lambda *given: said.append(given[2]) or whole(*given))
    plan, settings = setting(home)
    assert run_once(plan, settings, "once").reports == () and said == []


def test_a_night(home: Path) -> None:
    """At night small files become one and old ones go, reports stay; that retention is for files is said."""
    ran(home, "ingest", "-q", home / "ais")
    ran(home, "ingest", "-q", home / "logs")
    before = sorted((home.parent / "data").rglob("*.parquet"))
    with readers(home, 1) as (served,):
        report = served.get(f"/api/failures/{KILLED}", HEADERS, verify="0").json
    keep_up(lake_of(home), kept=timedelta(0))
    assert 0 < len(list((home.parent / "data").rglob("*.parquet"))) < len(before)
    with readers(home, 1) as (served,):
        after = served.get(f"/api/failures/{KILLED}", HEADERS, verify="0").json
    assert {**after, "generated_at": ""} == {**report, "generated_at": ""}
    plan, settings = setting(home)
    plan = plan.__class__(**{**plan.__dict__, "retention": Retention(events=timedelta(days=1))})
    run = run_once(plan, settings, "nightly")
    assert run.outcome == "ok" and run.notices == (
        "notice: [serve.retention] is for a database file; of a lake nothing is removed so far",
    )
    assert [one.kind for one in last_runs(str(home / "aiscorr-lake.runs.jsonl"))] == ["nightly"]


def test_a_slice_is_filled_once(home: Path) -> None:
    """Processes that want the same slice at the same time have each row once."""
    ran(home, "ingest", "-q", home / "ais")
    lake, found = lake_of(home), list[str]()

    def pull() -> None:
        made = newest_slice(lake, source.NEWEST, memory_limit="512MB", threads=1, say=found.append)
        found.append(made.path)

    threads = [threading.Thread(target=pull) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3 and len(set(found)) == 1
    with reading(found[0]) as connection:
        assert connection.execute("select count(*), count(distinct path) from ingested_file").fetchall() == [(10, 10)]


def test_a_spool_is_cleaned_of_what_the_lake_holds(home: Path) -> None:
    """A file that the lake holds to its end goes when it is old; one that has grown since, or is unknown, stays."""
    ran(home, "ingest", "-q", home / "ais")
    files = sorted(path for path in (home / "ais").rglob("*") if path.is_file())
    with files[0].open("ab") as grown:
        grown.write(b"W 10:04:11.120400 common:592 CPU utilization: high [ 61 58 ]\n")
    (home / "ais" / "other.log").write_text("nobody has read this\n")
    limits = {"keep_days": 14.0, "max_bytes": 10 << 30}
    now = datetime.now(UTC)
    assert clean(str(home / "ais"), lake_of(home), **limits, now=now + timedelta(days=13)) == (0, 0)
    assert clean(str(home / "ais"), lake_of(home), **limits, now=now + timedelta(days=15))[0] == len(files) - 1
    assert files[0].exists() and (home / "ais" / "other.log").exists()
