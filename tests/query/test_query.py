"""`aiscorr query`: named queries, every format, parameters, files and pipes, lists and descriptions, and its errors."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import Command, Outcome
from scenes import Library, read_in, rows

from aiscorr.analysis.spec import view_specs
from aiscorr.query.named import NamedQuery, named_queries

QUERIES = sorted(named_queries())
PUBLIC = [spec.name for spec in view_specs() if spec.is_public]
FORMATS = ("table", "csv", "json", "jsonl", "markdown")


@pytest.fixture
def db(library: Library) -> str:
    """The database of one incident."""
    return library.database("target_killed_short_batch")


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database into which nothing but a text was read."""
    base = tmp_path_factory.mktemp("empty")
    (base / "README").write_text("no log\n")
    read_in(base / "empty.duckdb", base / "README")
    return str(base / "empty.duckdb")


def said(outcome: Outcome) -> tuple[str, str, str]:
    """The three lines of an error: what, where, what to try."""
    what, _, rest = outcome.err.removeprefix("error: ").partition("\n  at: ")
    where, _, advice = rest.partition("\n  try: ")
    assert outcome.err.startswith("error: ") and advice, outcome.err
    assert outcome.out == "", "an error leaves stdout alone"
    return what, where, advice.strip()


def objects(run: Command, db: str, sql: str, *options: str) -> list[dict[str, Any]]:
    """The rows of a query as JSON objects."""
    outcome = run("--db", db, "query", sql, "--format", "json", *options)
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert isinstance(found, list)
    return found


#: What an incident without dumps, of one job that started once, has no rows for.
QUIET = {"changes", "collectives", "hanging", "missing_ranks", "not_finite", "rank_targets", "recurring", "rejects",
         "request", "retries", "running", "search", "silence", "stack_tree", "stacks", "trace_counts",
         "traces"}  # fmt: skip


@pytest.mark.parametrize("name", QUERIES)
def test_named_query(name: str, run: Command, db: str) -> None:
    """Every named query runs on an incident, and finds rows if it is about such incidents."""
    outcome = run("--db", db, "query", f"@{name}")
    is_quiet = "(0 rows)\n" in outcome.out
    assert outcome.code == 0 and (not outcome.err or is_quiet) and (not is_quiet or name in QUIET)
    assert outcome.out.endswith((" rows)\n", " row)\n"))


@pytest.mark.parametrize("name", QUERIES)
def test_named_query_on_nothing(name: str, run: Command, empty: str) -> None:
    """Every named query runs on a database without logs, and gives no rows but those of the files."""
    outcome = run("--db", empty, "query", f"@{name}", "--format", "jsonl")
    assert (outcome.code, outcome.err) == (
        0,
        f"no rows: {said}\n" if (said := named_queries()[name].without_rows) else "",
    )
    assert len(outcome.out.splitlines()) == (1 if name == "files" else 0)


@pytest.mark.parametrize("name", [name for name, query in named_queries().items() if "failure" in query.parameters])
def test_queries_of_a_failure(name: str, run: Command, library: Library) -> None:
    """A query of a failure shows the failure that -p names, by its id or its job, and no other."""
    db = library.database("two_jobs")
    ids = dict(rows(db, "select job_id, failure_id from failure"))
    by_id, by_job = (
        [objects(run, db, f"@{name}", "-p", f"failure={value}") for value in values]
        for values in (ids.values(), ids.keys())
    )
    assert by_id == by_job
    none = run("--db", db, "query", f"@{name}", "-p", "failure=another", "--format", "json")
    assert (none.code, json.loads(none.out)) == (0, []) and min(ids.values()) in none.err
    assert none.err.startswith("no rows: no failure is called 'another'; there is ")


@pytest.mark.parametrize("form", FORMATS)
def test_output_file(form: str, run: Command, db: str) -> None:
    """-o writes to a file what would have gone to stdout, and nothing to stdout."""
    sql = "select job_id, 'ü' as text from failure"
    shown = run("--db", db, "query", sql, "--format", form).out
    outcome = run("--db", db, "query", sql, "--format", form, "-o", "out.txt")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    assert Path("out.txt").read_text("utf-8") == shown and "4184269" in shown


def test_output_to_stdout_by_name(run: Command, db: str) -> None:
    """`-o -` is stdout."""
    assert "(1 row)" in run("--db", db, "query", "select 1", "-o", "-").out


@pytest.mark.parametrize("form", ["table", "parquet"])
def test_output_that_cannot_be_written(form: str, run: Command, db: str) -> None:
    """A file that cannot be written is an error with its name."""
    outcome = run("--db", db, "query", "select 1", "--format", form, "-o", "missing/out")
    assert outcome.code == 2
    assert said(outcome) == ("the file cannot be written: No such file or directory", "missing/out", "check -o")


def test_no_half_output(run: Command, db: str) -> None:
    """A query that fails while its rows are written leaves no file behind."""
    sql = "select case when i = 500000 then error('boom') else i end as i from range(1000000) as t(i)"
    outcome = run("--db", db, "query", sql, "--format", "parquet", "-o", "half.parquet")
    assert outcome.code == 1 and "boom" in said(outcome)[0]
    assert not Path("half.parquet").exists()


def test_statement_from_a_file(run: Command, db: str) -> None:
    """-f reads the statement from a file, comments and semicolon included."""
    Path("q.sql").write_text("-- wörds\nselect 'from the file' as text; -- done\n", encoding="utf-8")
    assert "from the file" in run("--db", db, "query", "-f", "q.sql").out


@pytest.mark.parametrize("arguments", [("-",), (), ("-f", "-")])
def test_statement_from_stdin(
    arguments: tuple[str, ...], run: Command, db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`-`, and nothing at all in a pipe, read the statement from stdin."""
    monkeypatch.setattr("sys.stdin", io.StringIO("select 'from a pipe' as text"))
    assert "from a pipe" in run("--db", db, "query", *arguments).out


def test_stdin_that_is_no_text(run: Command, db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that are no UTF-8 are an error, not a crash."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"select '\xff'"), encoding="utf-8"))
    outcome = run("--db", db, "query", "-")
    assert outcome.code == 2 and said(outcome)[1] == "stdin"
    monkeypatch.setattr("sys.stdin", io.StringIO("select '\udcff'"))
    assert run("--db", db, "query", "-").err.startswith("error: the statement is not UTF-8\n")


@pytest.mark.parametrize("value", ["x", "x' or '1' = '1", "'; drop table ais_line; --", "a=b", "", "$v", "ü漢"])
def test_parameters_are_bound(value: str, run: Command, db: str) -> None:
    """The value of -p is a value: nothing in it is read as SQL."""
    sql = "select $v as given, count(*) filter (where job_id = $v) as hits from failure"
    assert objects(run, db, sql, "-p", f"v={value}") == [{"given": value, "hits": 0}]


def test_parameters_that_are_not_given(run: Command, db: str) -> None:
    """A parameter that is not given is NULL."""
    sql = "select $a as a, $b as b"
    assert objects(run, db, sql, "-p", "b=1") == [{"a": None, "b": "1"}]


def test_dollars_that_are_no_parameters(run: Command, db: str) -> None:
    """A dollar in a text or a comment is no parameter."""
    assert objects(run, db, "select '$x' as a, $$ $y $$ as b, $z as c -- $w", "-p", "z=1") == [
        {"a": "$x", "b": " $y ", "c": "1"}
    ]


def test_parameters_the_query_does_not_have(run: Command, db: str) -> None:
    """A parameter that the query does not use is refused, with those it has."""
    outcome = run("--db", db, "query", "@counters", "-p", "faliure=1")
    assert outcome.code == 2
    assert said(outcome) == ("the query has no parameter 'faliure'", "-p", "it has: counter, failure, node")


@pytest.mark.parametrize("item", ["x", "=x"])
def test_parameters_without_a_name(item: str, run: Command, db: str) -> None:
    """-p wants NAME=VALUE."""
    outcome = run("--db", db, "query", "select 1", "-p", item)
    assert outcome.code == 2 and said(outcome)[0] == f"{item!r} is not NAME=VALUE"


def test_list(run: Command) -> None:
    """--list names every query, and every view with its sentence, the public ones first; it needs no database."""
    outcome = run("query", "--list")
    assert outcome.code == 0
    queries, public, further = (part.splitlines() for part in outcome.out.split("\n\n"))
    assert [line.split()[0] for line in public[1:]] == PUBLIC
    assert {line.split()[0] for line in (*public[1:], *further[1:])} == {
        spec.name for spec in view_specs() if spec.is_in_database
    }
    assert [line.split()[0] for line in queries[1:]] == [f"@{name}" for name in QUERIES]
    assert [line for line in (*public[1:], *further[1:], *queries[1:]) if len(line.split()) < 3] == []


@pytest.mark.parametrize("view", [*PUBLIC, "ais_line"])
def test_describe(view: str, run: Command, db: str) -> None:
    """--describe shows a view's or a table's sentence, and its columns as they are, each with its type."""
    outcome = run("query", "--describe", view)
    assert outcome.code == 0
    head, _, body = outcome.out.partition("\n\n")
    assert head.startswith(f"{view}: ")
    shown = [line.split()[0] for line in body.splitlines()]
    columns = [row[0] for row in rows(db, f"select column_name from (describe {view})")]
    assert shown == columns
    if view in PUBLIC:
        assert [line for line in body.splitlines() if len(line.split()) < 3] == []


def test_describe_unknown(run: Command) -> None:
    """A view that is not there is answered with those of like names."""
    outcome = run("query", "--describe", "failur")
    what, where, advice = said(outcome)
    assert (outcome.code, what, where) == (2, "there is no view 'failur'", "--describe")
    assert "failure" in advice.split(", ")


ERRORS = {
    "selec 1": ("syntax error", "--list"),
    "select * from failur": ('Did you mean "failure"?', "--list"),
    "select failur_id from failure": ("failure_id", "--describe"),
    "select 1; select 2": ("expected one statement, found 2", "one by one"),
    "": ("expected one statement, found 0", "write one"),
    ";": ("expected one statement, found 0", "write one"),
    "select cast(job_id || 'x' as integer) from failure": ("Could not convert", "--list"),
    "select error('boom')": ("boom", "--list"),
    "select * from rows": ("does not exist", "--list"),
    "delete from failure": ("query is read-only", "only read here; ingest writes it"),
}


@pytest.mark.parametrize("sql", ERRORS)
def test_errors(sql: str, run: Command, db: str) -> None:
    """A statement that fails ends with exit code 1, and says what failed, where, and what to try."""
    outcome = run("--db", db, "query", sql)
    what, where, advice = said(outcome)
    assert outcome.code == 1
    assert ERRORS[sql][0] in what and ERRORS[sql][1] in advice
    assert where == (sql or "(empty)")


@pytest.mark.parametrize(
    "sql",
    [
        "delete from ais_line",
        "create table mine (a integer)",
        "update job set job_id = 'x'",
        "insert into schema_info values ('x')",
        "drop view failure",
        "alter table ais_line drop column text",
    ],
)
def test_nothing_is_written(sql: str, run: Command, db: str) -> None:
    """A statement that would change the database is refused, and nothing has changed."""
    before = Path(db).read_bytes()
    outcome = run("--db", db, "query", sql)
    assert outcome.code == 1 and said(outcome)[0]
    assert Path(db).read_bytes() == before and not Path(f"{db}.wal").exists()


def test_refusal_says_why(run: Command, db: str) -> None:
    """The refusal of a write says that the database is only read."""
    outcome = run("--db", db, "query", "create table mine (a integer)")
    what, _, advice = said(outcome)
    assert "read-only" in what and advice == "the database is only read here; ingest writes it"


def test_unknown_named_query(run: Command, db: str) -> None:
    """A named query that is not there is a usage error with the names there are."""
    outcome = run("--db", db, "query", "@failurs")
    what, _, advice = said(outcome)
    assert (outcome.code, what) == (2, "no query is called @failurs") and "@failures" in advice


def test_two_statements_given(run: Command, db: str) -> None:
    """A statement and a file at once are refused."""
    outcome = run("--db", db, "query", "select 1", "-f", "q.sql")
    assert outcome.code == 2 and said(outcome)[0] == "a statement and -f at once"


def test_missing_file(run: Command, db: str) -> None:
    """A file that is not there is an error with its name."""
    outcome = run("--db", db, "query", "-f", "none.sql")
    what, where, advice = said(outcome)
    assert (outcome.code, where, advice) == (2, "none.sql", "check -f") and "No such file" in what


def test_missing_database(run: Command) -> None:
    """Where there is no database, the way to one is shown."""
    outcome = run("query", "select 1")
    what, where, advice = said(outcome)
    assert (outcome.code, what) == (1, "there is no database yet")
    assert where.endswith("aiscorr.duckdb") and advice.startswith("aiscorr ingest")


def test_file_that_is_no_database(run: Command) -> None:
    """A file that is no database is not taken for one, and stays as it is."""
    Path("notes.txt").write_text("no database\n")
    outcome = run("--db", "notes.txt", "query", "select 1")
    what, where, advice = said(outcome)
    assert (outcome.code, where) == (1, "notes.txt")
    assert what.startswith("not a database this DuckDB can read: ") and "--db" in advice
    assert Path("notes.txt").read_text() == "no database\n"


def test_database_of_another_program(run: Command) -> None:
    """A DuckDB file of another program is not taken for ours."""
    import duckdb

    with duckdb.connect("other.duckdb") as connection:
        connection.execute("create table t (a integer)")
    outcome = run("--db", "other.duckdb", "query", "select 1")
    assert outcome.code == 1 and said(outcome)[0] == "this database was not made by aiscorr"


def test_named_query_of_the_user(run: Command, db: str) -> None:
    """A query in a folder that aiscorr.toml names is listed, explained and run, and goes before one of its name."""
    Path("mine").mkdir()
    Path("aiscorr.toml").write_text('queries = ["mine"]\n')
    Path("mine/chains.sql").write_text("-- My own chains.\nselect $n as n\n")
    assert "@chains" in (shown := run("query", "--list").out) and "My own chains." in shown
    assert "My own chains." in run("explain", "@chains").out
    assert objects(run, db, "@chains", "-p", "n=3") == [{"n": "3"}]


def test_parameters_of_a_named_query() -> None:
    """The parameters of a named query are its $names in the order of their first use."""
    assert NamedQuery("q", "Q.", "select $b, $a, $b", "q.sql").parameters == ("b", "a")


def test_reader_that_leaves_early(db: str) -> None:
    """A reader that stops reading, as head does, is no error."""
    command = [sys.executable, "-m", "aiscorr", "--db", db, "query", "from range(300000)", "--format", "csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == b"range\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_how_retries_ended(run: Command, library: Library) -> None:
    """Retries of a rank that went on are told from those of a rank that failed."""
    recovered = objects(run, library.database("retry_storm_recovers"), "@retries")
    assert recovered and {item["outcome"] for item in recovered} == {"recovered"}


def test_slow_batches(run: Command, library: Library) -> None:
    """Slow batches are those that failed, were throttled or waited, and all on demand."""
    db = library.database("slow_target_throttles")
    slow, every = objects(run, db, "@slow_batches"), objects(run, db, "@slow_batches", "-p", "all=1")
    assert 0 < len(slow) < len(every)
    assert all(item["failed"] or item["throttled_s"] or item["waited_ms_per_batch"] for item in slow)


def test_lines_of_a_request(run: Command, library: Library) -> None:
    """All lines about a request, of nodes and of workers, stand in order of time, each with its place."""
    db = library.database("target_killed_short_batch")
    wid, xid = rows(db, "select c.wids[1], c.xid from failure_chain as f join get_batch_chain as c using (chain_id)")[0]
    found = objects(run, db, "@request", "-p", f"wid={wid}")
    assert {item["source"] for item in found} == {"ais", "worker"} and {item["tied_by"] for item in found} >= {"name"}
    assert found == sorted(found, key=lambda item: item["event_at"])
    for item in found:
        path, _, line_no = str(item["line"]).rpartition(":")
        line = Path(path).read_text("utf-8").splitlines()[int(line_no) - 1]
        assert str(item["text"])[:40] in line and (str(wid) in line or item["tied_by"] != "name")
    assert xid is None or objects(run, db, "@request", "-p", f"xid={xid}")
    assert "-p wid=ID" in run("--db", db, "query", "@request").err


def test_lines_tied_to_a_request(run: Command, library: Library) -> None:
    """A rank's error that gives only the count of entries is found by its request, at the moment of the report."""
    db = library.database("target_killed_short_batch")
    found = rows(db, "select wid, path || ':' || line_no from broken_request where told_by = 'count'")
    for wid, place in found:
        tied = {item["line"]: item for item in objects(run, db, "@request", "-p", f"wid={wid}")}
        error = tied[place]
        assert error["tied_by"] == "count" and "name" in {item["tied_by"] for item in tied.values()}
        assert not error["is_exact"] and next(iter(tied)) != place, "its cause comes first"
        reported = rows(db, "select distinct event_at::varchar from timeline where path || ':' || line_no = ?", [place])
        assert [(error["event_at"],)] == reported
    assert found


def test_what_a_failure_is_judged_from(run: Command, db: str) -> None:
    """--case opens the views that are computed for one failure; asked of the database, they say where they are."""
    ((failure_id,),) = rows(db, "select failure_id from failure")
    counted = "select count(*) as n from rank_suspect"
    assert objects(run, db, counted, "--case", failure_id[:9])[0]["n"] > 0
    outcome = run("--db", db, "query", "from rank_suspect")
    assert outcome.code == 1 and "only while a failure is judged" in outcome.err and "--case latest" in outcome.err
    outcome = run("--db", db, "query", "--case", "latest", "from slow_answer")
    assert outcome.code == 1 and "the same without --case" in outcome.err
    assert run("--db", db, "query", "--case", "nobody", "select 1").code == 2
