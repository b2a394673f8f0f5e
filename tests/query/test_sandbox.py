"""Statements from outside: what is answered, what hostile ones get, and what their process cannot do."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from duckdb_release import IS_1_5, of_2
from scenes import REPO, Library
from waiting import statements_of, wait_for

from aiscorr.errors import DatabaseError, QueryError
from aiscorr.query.named import named_queries
from aiscorr.sandbox.__main__ import _LOCK, _rows
from aiscorr.sandbox.ask import Sandbox
from aiscorr.sandbox.question import MOST_SQL_BYTES, LimitError, Limits, Question
from aiscorr.store.database import reading

SCENARIO = "target_killed_short_batch"
Locked = Callable[..., tuple[dict[str, Any], bytes]]


@pytest.fixture(scope="module")
def db(library: Library) -> str:
    """The database of one failure."""
    return library.database(SCENARIO)


@pytest.fixture
def sandbox(db: str) -> Iterator[Sandbox]:
    """A sandbox with room for slow machines."""
    made = Sandbox(db, Limits(seconds=30, row_count=50))
    yield made
    made.close()


@pytest.fixture
def locked(db: str) -> Iterator[Locked]:
    """Answers as the process of a statement does, in this process: under its settings, without its limits."""
    with reading(db, memory_limit="256MB", threads=1) as connection:
        for setting in _LOCK:
            connection.execute(setting)

        def answer(sql: str, *, is_named: bool = False) -> tuple[dict[str, Any], bytes]:
            asked = {"sql": sql, "form": "json", "is_named": is_named, "parameters": {}}
            return _rows(connection, {**asked, "row_count": 50, "byte_count": 1 << 30})

        yield answer


@pytest.mark.parametrize(
    "sql",
    [
        "select failure_id from failure",
        "from failure select failure_id;",
        "-- a comment\nwith f as (select * from failure) select failure_id from f -- ; drop table t",
        "describe failure",
        "show tables",
        "summarize failure",
        "values (1)",
        "pivot (select 1 as a, 2 as b) on a in (1) using sum(b)",
        "explain select * from failure",
        "explain analyze (select 1)",
        "EXPLAIN /* x */ (ANALYZE, format json) -- y\n select 'ü'",
        pytest.param("EXPLAIN ANALYZE (format json) select 1", marks=of_2("DuckDB 1.5 has no options after ANALYZE")),
        'select 1 as "ü☃"',
    ],
)
def test_reading_statements_are_answered(sql: str, locked: Locked) -> None:
    """Whatever only reads the database is answered."""
    head, body = locked(sql)
    assert head["row_count"] == len(json.loads(body)) > 0


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("select 1; select 2", "found 2"),
        ("from read_text('/etc/passwd')", "disabled"),
        ("copy failure to '/tmp/stolen.csv'", "COPY is not answered"),
        ("select 'a\ud800'", "not UTF-8"),
    ],
)
def test_refusals_come_out_of_the_process(sql: str, said: str, sandbox: Sandbox) -> None:
    """The process of a statement answers what it may, and what it refuses reaches who asked with the reason."""
    assert sandbox.ask(Question("select failure_id from failure")).row_count == 1
    with pytest.raises(QueryError) as error:
        sandbox.ask(Question(sql))
    assert said in str(error.value) and not Path("/tmp/stolen.csv").exists()


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("select 1; select 2", "expected one statement, found 2"),
        ("", "expected one statement, found 0"),
        ("select 1 /* ; */ ; attach 'x'", "expected one statement, found 2"),
        ("selec 1", "syntax error"),
        ("select * from no_such_view", "no_such_view does not exist"),
        ("set memory_limit = '100GB'", "SET is not answered"),
        ("reset memory_limit", "SET is not answered"),
        ("/* select */ pragma database_list", "PRAGMA is not answered"),
        ("call pragma_version()", "CALL is not answered"),
        ("checkpoint", "is not answered"),
        ("attach '/tmp/x.duckdb'", "ATTACH is not answered"),
        ("copy failure to '/tmp/stolen.csv'", "COPY is not answered"),
        ("copy (select 1) to '/tmp/stolen.csv'", "COPY is not answered"),
        ("export database '/tmp/stolen'", "EXPORT is not answered"),
        ("import database '/tmp'", "is not answered"),
        ("install httpfs", "LOAD is not answered"),
        ("load httpfs", "LOAD is not answered"),
        ("create table t as select 1", "CREATE is not answered"),
        ("create temp table t as select 1", "CREATE is not answered"),
        ("create secret s (type s3, key_id 'x', secret 'y')", "is not answered"),
        ("insert into schema_info values ('9')", "INSERT is not answered"),
        ("delete from schema_info", "DELETE is not answered"),
        ("drop table schema_info", "DROP is not answered"),
        ("begin", "TRANSACTION is not answered"),
        ("prepare p as select 1", "PREPARE is not answered"),
        ("pivot (select 1 as a, 2 as b) on a using sum(b)", "name the values"),
        ("explain analyze copy failure to '/tmp/stolen.csv'", "EXPLAIN is not answered"),
        ("explain (format json) call pragma_version()", "EXPLAIN is not answered"),
        ("explain set threads = 9", "EXPLAIN is not answered"),
        (
            "with w as (insert into schema_info values ('9') returning *) select * from w",
            "A CTE needs a SELECT" if IS_1_5 else "read-only",
        ),
        ("select * from read_csv('/etc/passwd')", "disabled by configuration"),
        ("from read_text('/etc/passwd')", "disabled by configuration"),
        ("from read_blob('/proc/self/environ')", "disabled by configuration"),
        ("from glob('/etc/*')", "disabled by configuration"),
        ("from parquet_metadata('/etc/passwd')", "disabled by configuration"),
        ("from sniff_csv('/etc/passwd')", "disabled by configuration"),
        ("from '/etc/passwd'", "does not exist"),
        ("from 'https://example.com/x.csv'", "disabled by configuration"),
        ("from read_csv('https://example.com/x.csv')", "disabled by configuration"),
        ("from query('copy failure to ''/tmp/stolen.csv''')", "SELECT"),
        ("from query_table('/etc/passwd')", "does not exist"),
        ("select getenv('HOME')", "getenv does not exist"),
        pytest.param(
            "select * from enable_logging()", "configuration has been locked",
            marks=of_2("DuckDB 1.5 lets a statement log: `test_a_log_goes_nowhere`"),
        ),
        ("select " + "abs(" * 2000 + "1" + ")" * 2000, "expression depth"),
        ("select " + "(" * 20_000 + "1" + ")" * 20_000, "memory exhausted" if IS_1_5 else "expression depth"),
        ("select 'a\ud800'", "not UTF-8"),
    ],
)  # fmt: skip
def test_hostile_statements_are_refused(sql: str, said: str, locked: Locked) -> None:
    """What would write, load, set, or read another file is refused, and the refusal says why."""
    with pytest.raises(QueryError) as error:
        locked(sql)
    assert said in str(error.value)
    assert not Path("/tmp/stolen.csv").exists() and not Path("/tmp/stolen").exists()


@pytest.mark.parametrize("storage", ["memory", "stdout", "file"])
def test_a_log_goes_nowhere(storage: str, sandbox: Sandbox) -> None:
    """A statement that has DuckDB log is refused, or answered without a line of the log; no file is written."""
    place = ", storage_config={'path': '/tmp/stolen'}" if storage == "file" else ""
    with contextlib.suppress(QueryError):
        assert json.loads(sandbox.ask(Question(f"from enable_logging(storage='{storage}'{place})")).body) == []
    assert not Path("/tmp/stolen").exists()


@pytest.mark.parametrize(
    "sql",
    [
        "select count(*) from range(100000000000) as a, range(1000000) as b where a.range * b.range % 7 = 3",
        "with recursive t(x) as (select 1 union all select x + 1 from t) select count(*) from t",
        "select sleep_ms(1000000)",
    ],
)
def test_a_statement_without_end_is_ended(sql: str, db: str) -> None:
    """A statement that takes longer than it may is ended from outside, even where it looks at no clock itself."""
    if "sleep_ms" in sql and not _has_sleep(Sandbox(db, Limits(seconds=30))):
        pytest.skip("this DuckDB has no sleep_ms")
    began = time.monotonic()
    with pytest.raises(LimitError) as error:
        Sandbox(db, Limits(seconds=1)).ask(Question(sql))
    assert error.value.limit == "time" and "longer than 1 s" in str(error.value)
    assert time.monotonic() - began < 30


def _has_sleep(sandbox: Sandbox) -> bool:
    found = sandbox.ask(Question("select 1 from duckdb_functions() where function_name = 'sleep_ms'"))
    return found.row_count > 0


@pytest.mark.parametrize(
    "sql",
    [
        "select length(repeat('x', 2000000000))",
        "select list(range) from range(1000000000)",
        "select count(*) from (select distinct hash(range), range::varchar || 'x' from range(2000000000))",
        "with recursive t(x) as (select repeat('a', 999) union all select x || x from t) select max(length(x)) from t",
    ],
)
def test_a_statement_that_needs_too_much_memory_is_ended(sql: str, db: str) -> None:
    """Memory is bounded by the kernel, also where DuckDB does not count it."""
    with pytest.raises(LimitError) as error:
        Sandbox(db, Limits(seconds=60, memory_bytes=128 << 20)).ask(Question(sql))
    assert error.value.limit == "memory" and "more than 128 MiB" in str(error.value)


@pytest.mark.parametrize("form", ["json", "jsonl", "csv", "arrow"])
def test_more_rows_than_are_given_are_told(form: str, sandbox: Sandbox) -> None:
    """Rows beyond the limit are left out, and the answer says that it is not complete."""
    answer = sandbox.ask(Question("select range as n from range(51)", form=form))
    assert (answer.row_count, answer.row_limit, answer.is_complete) == (50, 50, False)
    assert (answer.columns, answer.types) == (("n",), ("BIGINT",))
    whole = sandbox.ask(Question("select range as n from range(50)", form=form))
    assert whole.is_complete and (form == "arrow" or whole.body == answer.body)
    text = answer.body.decode() if form != "arrow" else ""
    found = {
        "json": lambda: [row["n"] for row in json.loads(text)],
        "jsonl": lambda: [json.loads(line)["n"] for line in text.splitlines()],
        "csv": lambda: [int(line) for line in text.splitlines()[1:]],
        "arrow": lambda: pa.ipc.open_stream(io.BytesIO(answer.body)).read_all()["n"].to_pylist(),
    }[form]()
    assert found == list(range(50))


def test_an_answer_that_is_too_large_is_refused(db: str) -> None:
    """Wide rows are bounded in bytes, and so is the statement."""
    sandbox = Sandbox(db, Limits(seconds=60, byte_count=100_000))
    for sql in ("select repeat('x', 1000) from range(101)", "select '" + "x" * MOST_SQL_BYTES + "'"):
        with pytest.raises(LimitError) as error:
            sandbox.ask(Question(sql))
        assert error.value.limit == "size"


def test_every_type_has_a_form(sandbox: Sandbox) -> None:
    """Values of every kind are written by a process that can open no file any more."""
    sql = """select now(), timestamptz '2026-01-01', interval 1 day, uuid(), 1.5::decimal(9, 2), {'a': 1}, map {1: 2},
        'x'::blob, time '10:00', date '2026-01-01', 1::hugeint, [now()], '1'::bit, 'NaN'::double, '10:00:00+01'::timetz,
        timestamp_ns '2026-01-01 00:00:00.123456789', strftime(now(), '%c'), null"""
    for form in ("json", "csv", "jsonl"):
        assert sandbox.ask(Question(sql, form=form)).row_count == 1


def test_every_named_query_is_answered(sandbox: Sandbox, locked: Locked) -> None:
    """Named queries run there too, under the settings of its process; one that pivots and one with values in it."""
    for query in named_queries().values():
        assert locked(query.sql, is_named=True)[0]["columns"], query.name
    pivots = next(query for query in named_queries().values() if "pivot" in query.sql)
    assert sandbox.ask(Question(pivots.sql, form="csv", is_named=True)).columns
    (row,) = json.loads(sandbox.ask(Question("select $a || $b as c", {"a": "x'; drop table t"})).body)
    assert row == {"c": None}, "what is not given is null"


LONG = "select count(*) from range(100000000000) as secret_name, range(1000000)"


def asking(sandbox: Sandbox, said: list[str]) -> threading.Thread:
    """A thread that asks for something long."""

    def ask() -> None:
        try:
            sandbox.ask(Question(LONG))
        except LimitError as error:
            said.append(error.limit)

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


def test_nothing_is_told_to_the_machine(db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither arguments nor environment of the process hold the statement, or anything of the service's own."""
    monkeypatch.setenv("AISCORR_HTTP_TOKEN", "s3cret")
    sandbox, said = Sandbox(db, Limits(seconds=60)), list[str]()
    thread = asking(sandbox, said)
    wait_for(statements_of)
    (child,) = statements_of()
    shown = Path(f"/proc/{child}/cmdline").read_bytes() + Path(f"/proc/{child}/environ").read_bytes()
    sandbox.close()
    thread.join()
    assert said == ["closed"] and statements_of() == []
    assert b"aiscorr.sandbox" in shown and b"secret_name" not in shown and b"s3cret" not in shown


def test_so_many_at_a_time(db: str) -> None:
    """One statement more than may run together is refused at once, and answered when there is room again."""
    sandbox, said = Sandbox(db, Limits(seconds=60, at_a_time=1)), list[str]()
    thread = asking(sandbox, said)
    (child,) = wait_for(statements_of)
    with pytest.raises(LimitError) as error:
        sandbox.ask(Question("select 1"))
    assert error.value.limit == "count"
    os.kill(child, signal.SIGKILL)
    thread.join()
    assert said == ["memory"], "whoever kills without a word is the kernel that lacks memory"
    assert sandbox.ask(Question("select 1")).row_count == 1


def test_the_kernel_ends_what_nobody_waits_for(db: str, tmp_path: Path) -> None:
    """Where the service is killed the process of its statement ends on its own."""
    program = (
        "import sys\nfrom aiscorr.sandbox.ask import Sandbox\nfrom aiscorr.sandbox.question import Limits, Question\n"
        f"Sandbox({db!r}, Limits(seconds=3)).ask(Question({LONG!r}))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(REPO)}
    parent = subprocess.Popen([sys.executable, "-c", program], env=environment)
    (child,) = wait_for(lambda: statements_of(parent.pid))
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    wait_for(lambda: not Path(f"/proc/{child}").exists())


def test_no_database(tmp_path: Path) -> None:
    """Without a database that is what is said."""
    with pytest.raises(DatabaseError, match="there is no database yet"):
        Sandbox(str(tmp_path / "none.duckdb"), Limits()).ask(Question("select 1"))
