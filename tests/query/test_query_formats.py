"""`aiscorr query --format`: values come out of every format as they went in, and control characters do no harm."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import Command
from scenes import Library

from aiscorr.query.formats import Rows, printable, write_text

ODD = """
select null as nothing, '' as bare, 'Grüße 漢字 🎉' as words, 'say "a, b"' as quoted, 'a|b `c` <d>' as marks,
    timestamp '2026-09-14 10:21:38.002577' as moment, '2026-09-14 10:22:38.952633025'::timestamp_ns as nanos,
    timestamptz '2026-09-14 12:00:00+02' as zoned, [1, null, 3] as numbers, {'a': 1, 'b': ['x']} as record,
    1.5::double as number, 0.25::decimal(5, 2) as money, true as fact, 170141183460469231731::hugeint as huge
"""


@pytest.fixture
def db(library: Library) -> str:
    """The database of one incident."""
    return library.database("target_killed_short_batch")


def objects(run: Command, db: str, sql: str, *options: str) -> list[dict[str, Any]]:
    """The rows of a query as JSON objects."""
    outcome = run("--db", db, "query", sql, "--format", "json", *options)
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert isinstance(found, list)
    return found


def test_json(run: Command, db: str) -> None:
    """JSON keeps NULL, text, lists, records, numbers and truth values, and prints times in UTC to the nanosecond."""
    assert objects(run, db, ODD) == [
        {
            "nothing": None,
            "bare": "",
            "words": "Grüße 漢字 🎉",
            "quoted": 'say "a, b"',
            "marks": "a|b `c` <d>",
            "moment": "2026-09-14 10:21:38.002577",
            "nanos": "2026-09-14 10:22:38.952633025",
            "zoned": "2026-09-14 10:00:00",
            "numbers": [1, None, 3],
            "record": {"a": 1, "b": ["x"]},
            "number": 1.5,
            "money": 0.25,
            "fact": True,
            "huge": 170141183460469231731,
        }
    ]


def test_jsonl(run: Command, db: str) -> None:
    """JSON lines are the objects of JSON, one a line, whatever line breaks the values hold."""
    sql = "select unnest(['one', 'two' || chr(10) || 'lines', null]) as text"
    outcome = run("--db", db, "query", sql, "--format", "jsonl")
    lines = [json.loads(line) for line in outcome.out.splitlines()]
    assert lines == objects(run, db, sql) == [{"text": "one"}, {"text": "two\nlines"}, {"text": None}]


def test_json_is_strict(run: Command, db: str) -> None:
    """What JSON has no number for becomes text, so that every reader of JSON takes it."""
    sql = "select 'nan'::double as a, 'inf'::double as b, ['-inf'::double] as c"
    assert objects(run, db, sql) == [{"a": "nan", "b": "inf", "c": ["-inf"]}]


def test_json_keeps_columns_of_one_name(run: Command, db: str) -> None:
    """Two columns of one name are both in the JSON."""
    (row,) = objects(run, db, "select 1 as a, 2 as a, 3 as b")
    assert sorted(row.values()) == [1, 2, 3] and row["a"] == 1


def test_csv(run: Command, db: str) -> None:
    """CSV is what its readers expect, with NULL as nothing and an empty text as two quotes."""
    outcome = run("--db", db, "query", ODD, "--format", "csv")
    head, row = csv.reader(io.StringIO(outcome.out))
    found = dict(zip(head, row, strict=True))
    assert outcome.out.splitlines()[1].startswith(',"",')
    assert found["words"] == "Grüße 漢字 🎉" and found["quoted"] == 'say "a, b"'
    assert json.loads(found["numbers"]) == [1, None, 3] and json.loads(found["record"]) == {"a": 1, "b": ["x"]}
    assert (found["number"], found["money"], found["fact"]) == ("1.5", "0.25", "true")
    assert found["nanos"] == "2026-09-14 10:22:38.952633025"


@pytest.mark.parametrize("text", ["two\nlines", "carriage\rreturn", 'a "quote"', ",", " padded ", "#"])
def test_csv_of_odd_text(text: str) -> None:
    """Any text comes back from CSV as it went in."""
    written = write_text(Rows(("a", "b"), [(text, text)]), "csv")
    assert list(csv.reader(io.StringIO(written, newline="")))[1] == [text, text]


def test_csv_of_a_lone_null() -> None:
    """A row of nothing but NULL is still a row."""
    assert write_text(Rows(("a",), [(None,), ("x",)]), "csv") == 'a\n""\nx\n'


def test_markdown(run: Command, db: str) -> None:
    """A Markdown table keeps its columns whatever marks the values hold."""
    outcome = run("--db", db, "query", "select 'a|b `c` <d>' as marks, chr(10) as line, 7 as n", "--format", "markdown")
    assert outcome.out == "| marks | line | n |\n| --- | --- | ---: |\n| a\\|b \\`c\\` \\<d> | ⏎ | 7 |\n"


def test_table(run: Command, db: str) -> None:
    """A table aligns numbers to the right and counts its rows."""
    outcome = run("--db", db, "query", "select * from (values ('a', 1), ('bcd', 100), (null, null)) as t(name, n)")
    assert outcome.out == "name    n\n----  ---\na       1\nbcd   100\n\n(3 rows)\n"


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_control_characters_are_shown(form: str, run: Command, db: str) -> None:
    """Control characters of a log do not reach the terminal."""
    sql = "select chr(27) || '[31mred' || chr(7) || chr(155) || chr(13) || chr(9) as text"
    outcome = run("--db", db, "query", sql, "--format", form)
    assert not [letter for letter in outcome.out if letter != "\n" and not letter.isprintable()]
    assert "x1b[31mred" in outcome.out


def test_printable() -> None:
    """Text without control characters stays as it is."""
    assert printable("Grüße 漢字 \\x1b | `") == "Grüße 漢字 \\x1b | `"


def binary(path: Path, form: str) -> pa.Table:
    """The table in a file."""
    return pq.read_table(path) if form == "parquet" else pa.ipc.open_stream(path.read_bytes()).read_all()


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_binary(form: str, run: Command, db: str, tmp_path: Path) -> None:
    """Parquet and Arrow keep every value and its type, nanoseconds too."""
    path = tmp_path / f"odd.{form}"
    sql = ODD.replace(", 170141183460469231731::hugeint as huge", "")
    outcome = run("--db", db, "query", sql, "--format", form, "-o", path)
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    table = binary(path, form)
    assert table.num_rows == 1
    nanos = table.column("nanos")[0]
    assert nanos.value == 1789381358952633025 and nanos.type == pa.timestamp("ns")
    found = table.drop_columns(["nanos"]).to_pylist()[0]
    assert found["nothing"] is None and found["bare"] == "" and found["words"] == "Grüße 漢字 🎉"
    assert found["moment"] == datetime(2026, 9, 14, 10, 21, 38, 2577)
    assert found["zoned"].astimezone(UTC) == datetime(2026, 9, 14, 10, tzinfo=UTC)
    assert found["numbers"] == [1, None, 3] and found["record"] == {"a": 1, "b": ["x"]}
    assert found["money"] == Decimal("0.25") and found["fact"] is True


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_binary_of_nothing(form: str, run: Command, db: str, tmp_path: Path) -> None:
    """A result without rows is a file with columns."""
    path = tmp_path / "none"
    assert run("--db", db, "query", "from failure where false", "--format", form, "-o", path).code == 0
    table = binary(path, form)
    assert table.num_rows == 0 and "failure_id" in table.column_names


def test_binary_to_a_pipe(db: str) -> None:
    """Parquet goes to a pipe as it would to a file."""
    ended = subprocess.run(
        [sys.executable, "-m", "aiscorr", "--db", db, "query", "select 7 as n", "--format", "parquet"],
        capture_output=True,
        check=True,
    )
    assert ended.stderr == b""
    assert pq.read_table(pa.BufferReader(ended.stdout)).to_pylist() == [{"n": 7}]


def test_binary_is_not_shown_on_a_terminal(run: Command, db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parquet is not written to a terminal."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    outcome = run("--db", db, "query", "select 1", "--format", "parquet")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "error: parquet is binary\n  at: --format\n  try: add -o result.parquet\n"
