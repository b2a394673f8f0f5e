"""The HTTP server: probes, metrics, failures, reports and queries, as a client gets them."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from http_site import Site, site
from reports import REPORT, misfits
from scenes import read_in
from serve_home import arrive, furnish, work

from aiscorr.query.named import named_queries
from aiscorr.serve.ledger import ServiceRun, add_run, ledger_path
from aiscorr.serve.web.metrics import RunCounts

SCENARIO = "target_killed_short_batch"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the service has made a run, and failed in another."""
    home = furnish(tmp_path_factory.mktemp("home"))
    arrive(home, 1)
    work(home)
    at = "2026-09-15T07:00:00+00:00"
    run = ServiceRun("interval", at, at, "partial", problems=("a folder",))
    add_run(ledger_path(str(home / "aiscorr.duckdb")), run)
    return home


@pytest.fixture(scope="module")
def served(home: Path) -> Iterator[Site]:
    """The server over what the run stored."""
    with site(str(home / "aiscorr.duckdb"), home) as running:
        yield running


@pytest.fixture(scope="module")
def failure(served: Site) -> str:
    """The id of the failure that is stored."""
    return str(served.get("/api/failures").json["failures"][0]["failure_id"])


def test_probes(served: Site, tmp_path: Path) -> None:
    """It lives; it is ready where the database can be read, and says what is missing where not."""
    assert (served.get("/livez").status, served.get("/livez").text) == (200, "ok\n")
    assert served.get("/readyz").json == {"ready": True, "notices": []}
    assert served.ask("HEAD", "/livez").body == b""
    with site(str(tmp_path / "none.duckdb"), tmp_path) as empty:
        answer = empty.get("/readyz")
        assert answer.status == 503 and answer.json["error"] == "there is no database yet"
        assert str(tmp_path) not in answer.text, "it may be asked without a token"
        assert empty.get("/livez").status == 200
        assert empty.get("/api/failures").status == 503
        assert "aiscorr_up 0" in empty.get("/metrics").text and empty.get("/").status == 503
        (tmp_path / "none.duckdb").write_text("no database at all")
        assert empty.query("select 1").status == 503
        answer = empty.get("/readyz")
        assert answer.status == 503 and "none.duckdb" in answer.text and str(tmp_path) not in answer.text


def metric(text: str) -> dict[str, float]:
    """Values of a scrape by name and labels; every line is one of the format."""
    found = {}
    for line in text.splitlines():
        match = re.fullmatch(r'(aiscorr_\w+(?:\{(?:\w+="(?:[^"\\]|\\.)*",?)+\})?) (-?\d+(?:\.\d+)?)', line)
        assert match or re.fullmatch(r"# (HELP aiscorr_\w+ .+|TYPE aiscorr_\w+ (gauge|counter))", line), line
        if match:
            found[match[1]] = float(match[2])
    return found


def test_metrics(served: Site) -> None:
    """Runs, lag, failures by class, rows, errors and reports are told as Prometheus reads them."""
    answer = served.get("/metrics")
    assert answer.status == 200 and answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = metric(answer.text)
    assert found['aiscorr_runs_total{kind="nightly",outcome="ok"}'] == 1
    assert found['aiscorr_runs_total{kind="interval",outcome="partial"}'] == 1
    assert found['aiscorr_failures{failure_class="storage_io",storage_verdict="guilty"}'] == 1
    assert found['aiscorr_rows{table="worker_line"}'] > 0 and found["aiscorr_last_run_problems"] == 1
    assert found['aiscorr_reports{state="whole"}'] == 1 and found["aiscorr_up"] == 1
    lags = {name: value for name, value in found.items() if name.startswith("aiscorr_lag_seconds{")}
    assert len(lags) == 2 and all(value > 0 for value in lags.values())


def test_runs_are_counted_once(tmp_path: Path) -> None:
    """A scrape counts the runs that came since the last one, and all again where the ledger is another."""
    path = str(tmp_path / "x.runs.jsonl")
    run = ServiceRun("nightly", "2026-09-15T02:30:00+00:00", "2026-09-15T02:31:00+00:00", "ok")
    counts = RunCounts(path)
    assert counts.read() == ({}, None)
    for number in (1, 2):
        add_run(path, run)
        assert counts.read() == ({("nightly", "ok"): number}, run)
    with open(path, "ab") as file:
        file.write(b'{"kind": "nigh')
    assert counts.read()[0] == {("nightly", "ok"): 2}
    kept = ServiceRun("once", run.started_at, run.ended_at, "failed", problems=("x" * 2000,))
    add_run(f"{path}.new", kept)
    Path(f"{path}.new").replace(path)
    assert counts.read() == ({("once", "failed"): 1}, kept), "a ledger that was put in its place is read again"
    Path(path).unlink()
    assert counts.read() == ({}, None)


@pytest.mark.parametrize(
    ("given", "total"),
    [
        ({}, 1),
        ({"job": "train-7", "class": "storage_io", "verdict": "guilty", "since": "2026-09-14"}, 1),
        ({"job": "other"}, 0),
        ({"class": "gpu"}, 0),
        ({"verdict": "innocent"}, 0),
        ({"since": "2026-09-14T23:00:00Z"}, 0),
        ({"since": "9000d"}, 1),
        ({"offset": 1}, 1),
        ({"limit": 0}, 1),
        ({"node": "AZq6Oo53", "bucket": "ais://granary-en", "host": "pool3-0311", "week": "2026-W38"}, 1),
        ({"node": "gREiOVxt"}, 0),
        ({"q": "aisbatchloadererror"}, 1),
        ({"q": "bcast abort"}, 1),
        ({"q": "nobody wrote this"}, 0),
        ({"sort": "confidence"}, 1),
    ],
)
def test_failures(given: dict[str, object], total: int, served: Site) -> None:
    """Failures that fit are listed, and how many there are in all, whatever part is asked for."""
    found = served.get("/api/failures", **given).json
    is_part = "offset" in given or "limit" in given
    assert found["total"] == total and len(found["failures"]) == (0 if is_part else total)
    for one in found["failures"]:
        assert one["job_id"] == "train-7" and one["ended_at"].endswith("Z") and one["culprit_ranks"] == [5]


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/api/failures?limit=x", 400, "'x' is no number"),
        ("/api/failures?limit=1001", 400, "'limit' is 0 to 1000"),
        ("/api/failures?since=soon", 400, "'soon' is no duration"),
        ("/api/failures?verdct=guilty", 400, "unknown filter 'verdct'"),
        ("/api/failures?sort=rank", 400, "failures cannot be sorted by 'rank'"),
        ("/api/failures?since=2999-01-01", 400, "'2999-01-01' lies ahead"),
        ("/api/failures/none", 404, "no failure is called 'none'"),
        ("/api/failures/all", 404, "reports come one by one"),
        ("/api/failures/latest?format=pdf", 400, "no report has the format 'pdf'"),
        ("/api/queries/none", 404, "no query is called 'none'"),
        ("/api/queries/evidence?failur=x", 400, "the query has no parameter 'failur'"),
        ("/api/query", 400, "no statement was given"),
        ("/api/query?sql=select+1&format=xml", 400, "no answer has the format 'xml'"),
        ("/api/query?sql=selec+1", 400, "syntax error"),
        ("/api/query?sql=copy+failure+to+'x'", 400, "COPY is not answered"),
        ("/api/query?sql=from+read_text('/etc/passwd')", 400, "disabled by configuration"),
        ("/api/nothing", 404, "there is nothing here"),
    ],
)
def test_errors(path: str, status: int, said: str, served: Site) -> None:
    """What is wrong is said as JSON, with what to try."""
    answer = served.get(path)
    assert answer.status == status and said in answer.json["error"] and answer.json["try"]


def test_report(served: Site, failure: str) -> None:
    """The report of a failure, or of the latest, is the JSON of the contract, and there are other forms of it."""
    for which in (failure, "latest", "train-7", failure[:-3]):
        report = served.get(f"/api/failures/{which}").json
        assert misfits(report, REPORT) == [] and report["failures"][0]["failure_id"] == failure
    unread = served.get(f"/api/failures/{failure}", verify=0).json["failures"][0]
    assert {line["check"] for line in unread["root_causes"][0]["supports"]} == {None}
    for form, begin in (("text", "FAILURE "), ("markdown", "# Failure "), ("html", "<!doctype html>")):
        answer = served.get("/api/failures/latest", format=form)
        assert answer.text.startswith(begin) and "Storage failed this job" in answer.text
    style = re.search(r"style-src ('sha256-[^']+')", answer.text)
    assert style and style[1] in answer.headers["content-security-policy"], "its own style sheet is allowed"


def test_no_failure_yet(tmp_path: Path) -> None:
    """Where no failure is known, the latest is none, and that is no error."""
    (tmp_path / "notes.txt").write_text("no log\n", "utf-8")
    read_in(tmp_path / "x.duckdb", tmp_path / "notes.txt")
    with site(str(tmp_path / "x.duckdb"), tmp_path) as served:
        assert served.get("/api/failures/latest").json["failures"] == []
        assert served.get("/api/failures").json["total"] == 0
        assert "No failure" in served.get("/").text and "No run so far" in served.get("/runs").text
        assert "No failure was found" in served.get("/failures/latest").text


@pytest.mark.parametrize(
    ("given", "accept", "kind"),
    [
        ({}, "", "application/json"),
        ({}, "text/html, text/csv;q=0.9", "text/csv"),
        ({}, "application/x-ndjson", "application/jsonl"),
        ({"format": "arrow"}, "text/csv", "application/vnd.apache.arrow.stream"),
        ({"format": "parquet"}, "", "application/vnd.apache.parquet"),
    ],
)
def test_forms_of_rows(given: dict[str, str], accept: str, kind: str, served: Site) -> None:
    """Rows come as `format` says, else as Accept does, and each answer says how many and whether all."""
    answer = served.get("/api/query", {"Accept": accept}, sql="select failure_id, 1 as n from failure", **given)
    assert answer.status == 200 and answer.headers["content-type"].partition(";")[0] == kind
    assert (answer.headers["x-row-count"], answer.headers["x-complete"]) == ("1", "true")
    if kind.endswith("stream"):
        assert pa.ipc.open_stream(io.BytesIO(answer.body)).read_all().column_names == ["failure_id", "n"]
    elif kind.endswith("parquet"):
        assert pq.read_table(io.BytesIO(answer.body)).column_names == ["failure_id", "n"]
    elif kind == "application/json":
        assert answer.json["columns"] == [{"name": "failure_id", "type": "VARCHAR"}, {"name": "n", "type": "INTEGER"}]
        assert answer.json["rows"][0]["n"] == 1 and answer.json["is_complete"]


def test_no_silent_cut(served: Site) -> None:
    """JSON says that rows are missing; forms that cannot say it are refused unless so many were asked for."""
    cut = served.query("from range(10001)")
    assert not cut.json["is_complete"] and cut.json["row_limit"] == cut.json["row_count"] == len(cut.json["rows"])
    refused = served.query("from range(10001)", format="csv")
    assert refused.status == 400 and "limit=10000" in refused.json["try"]
    asked = served.query("from range(10001)", format="csv", limit=3)
    assert asked.text == "range\n0\n1\n2\n" and asked.headers["x-complete"] == "false"
    none = served.query("from range(3)", limit=0).json
    assert (none["rows"], none["row_limit"], none["is_complete"]) == ([], 0, False)


def test_post(served: Site) -> None:
    """A statement with parameters can be posted; what is no JSON or too long is refused."""
    answer = served.post("/api/query", {"sql": "select $a || 'x' as b", "parameters": {"a": "1"}, "format": "csv"})
    assert answer.text == "b\n1x\n"
    for body in ("[]", "{", '"x"'):
        refused = served.ask("POST", "/api/query", {"Content-Type": "application/json"}, body)
        assert refused.status == 400 and "no JSON object" in refused.json["error"]
    assert served.ask("POST", "/api/query", {"Content-Type": "text/plain"}, '{"sql": "select 1"}').status == 400
    assert served.post("/api/query", {"sql": "select '" + "x" * 100_000 + "'"}).status == 413
    assert served.post("/api/query", {"sql": "x" * 1_000_000}).status == 413
    assert served.ask("DELETE", "/api/query").status == 405


def test_limits_have_their_status(home: Path) -> None:
    """Time, memory and size that ran out are told apart by status."""
    db = str(home / "aiscorr.duckdb")
    with site(db, home, {"query_seconds": 1}) as served:
        assert served.query("select count(*) from range(100000000000) as a, range(1000000)").status == 504
    with site(db, home, {"query_seconds": 60, "query_memory": "64MiB", "query_bytes": "10K"}) as served:
        assert served.query("select length(repeat('x', 2000000000))").status == 422
        assert served.query("select repeat('x', 1000) from range(20)").status == 413


def test_named_queries(served: Site, failure: str) -> None:
    """Every named query is listed with its parameters and answered."""
    listed = {one["name"]: one for one in served.get("/api/queries").json["queries"]}
    assert sorted(listed) == sorted(named_queries())
    assert listed["evidence"]["parameters"] == ["failure"] and listed["evidence"]["shows"]
    answer = served.get("/api/queries/evidence", failure=failure, limit=2, format="csv")
    assert answer.status == 200 and len(answer.text.splitlines()) == 3
