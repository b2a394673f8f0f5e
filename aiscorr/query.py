"""Runs one SQL statement against the views and writes its rows: table, csv, json, jsonl, markdown, parquet, arrow."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from aiscorr.errors import QueryError, SpecError, UsageError

if TYPE_CHECKING:
    import duckdb

TEXT_FORMATS = ("table", "csv", "json", "jsonl", "markdown")
BINARY_FORMATS = ("parquet", "arrow")
FORMATS = TEXT_FORMATS + BINARY_FORMATS
#: Times are shown in UTC, and no variable of Python is taken for a table.
QUERY_SETTINGS = ("set TimeZone = 'UTC'", "set python_enable_replacements = false")
_NAME = re.compile(r"^[a-z][a-z0-9_]*$")
_PARAMETER = re.compile(r"(?<![\w$])\$([a-z_][a-z0-9_]*)")
_WITHOUT_ROWS = "-- without rows:"
_PIVOT = re.compile(r"\s*pivot\b", re.IGNORECASE)
_ODD_TIME = re.compile(r"TIMESTAMP(_NS)?( WITH TIME ZONE)?")
_CSV_MARK = re.compile(r'[",\r\n]')
_MARKDOWN_MARK = re.compile(r"[\\|<`*]")
_LATE_CONTROL = re.compile(r"[\x7f-\x9f]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class NamedQuery:
    """A query with a name: its sentence, its parameters (null where not given), its SQL, why it may have no rows."""

    name: str
    sentence: str
    sql: str
    path: str
    without_rows: str = ""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the `$parameters`, in the order of their first use."""
        return tuple(dict.fromkeys(_PARAMETER.findall(self.sql)))


@dataclass(frozen=True)
class Rows:
    """A result: column names and rows of Python values."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def named_queries(folders: Iterable[str] = ()) -> dict[str, NamedQuery]:
    """The bundled queries and those of the user's folders; a user's goes before a bundled one of its name."""
    found: dict[str, NamedQuery] = {}
    for folder in (str(Path(__file__).parent / "queries"), *folders):
        for path in sorted(Path(folder).glob("*.sql")):
            text = path.read_text("utf-8")
            first, _, body = text.partition("\n")
            if not _NAME.match(path.stem) or not first.startswith("-- "):
                raise SpecError(
                    "a named query is a file NAME.sql (small letters) whose first line says what it shows",
                    where=str(path), try_this="-- One sentence.",
                )  # fmt: skip
            why, _, rest = body.partition("\n") if body.startswith(_WITHOUT_ROWS) else ("", "", body)
            why = why.removeprefix(_WITHOUT_ROWS).strip()
            found[path.stem] = NamedQuery(path.stem, first[3:].strip(), rest.strip(), str(path), why)
    return found


def named_query(name: str, folders: Iterable[str] = ()) -> NamedQuery:
    """The query called `name`. Raises UsageError with the names there are."""
    known = named_queries(folders)
    if name not in known:
        from difflib import get_close_matches

        raise UsageError(
            f"no query is called @{name}",
            where="aiscorr query",
            try_this=", ".join("@" + near for near in get_close_matches(name, known, n=4)) or "aiscorr query --list",
        )
    return known[name]


def why_no_rows(connection: duckdb.DuckDBPyConnection, asked: NamedQuery, given: dict[str, str]) -> str:
    """Why a named query has no rows: a failure or job of that name is not known, or what the query says of it."""
    for name, column in (("failure", "failure_id"), ("job", "job_id")):
        if name not in given:
            continue
        known = [
            str(row[0]) for row in connection.execute(f"select distinct {column} from {name} order by 1").fetchall()
        ]
        jobs = connection.execute("select 1 from job where job_id = ?", [given[name]]).fetchall()
        if given[name] not in known and not jobs:
            return f"no {name} is called {given[name]!r}" + (f"; there is {', '.join(known[:6])}" if known else "")
    return asked.without_rows


def single_statement(sql: str, connection: duckdb.DuckDBPyConnection) -> duckdb.Statement:
    """The one statement of the text. Raises QueryError for none, several, or a syntax error."""
    import duckdb

    try:
        sql.encode()
        statements = connection.extract_statements(sql)
    except UnicodeEncodeError:
        raise QueryError(
            "the statement is not UTF-8", where=ascii(sql.strip()[:80]), try_this="convert it, with iconv for example"
        ) from None
    except duckdb.Error as error:
        raise failed(sql, error) from None
    if len(statements) != 1:
        raise QueryError(
            f"expected one statement, found {len(statements)}",
            where=sql.strip()[:80] or "(empty)",
            try_this="run them one by one" if statements else "write one; aiscorr query --list shows the views",
        )
    return statements[0]


def parameters_of(statement: duckdb.Statement, given: dict[str, str]) -> dict[str, str | None]:
    """Values for the statement's `$names`: as given, else null. Raises UsageError for a name it does not use."""
    names = sorted(statement.named_parameters)
    for name in given:
        if name not in names:
            raise UsageError(
                f"the query has no parameter {name!r}", where="-p", try_this="it has: " + (", ".join(names) or "none")
            )
    return {name: given.get(name) for name in names}


def run(connection: duckdb.DuckDBPyConnection, sql: str, given: dict[str, str]) -> duckdb.DuckDBPyRelation | None:
    """Starts one statement; its rows are made when they are fetched. None for one without rows. Raises QueryError."""
    for setting in QUERY_SETTINGS:
        connection.execute(setting)
    return start(connection, sql, given)


def start(connection: duckdb.DuckDBPyConnection, sql: str, given: dict[str, str]) -> duckdb.DuckDBPyRelation | None:
    """As `run`, over a connection that has the settings of queries already, or cannot be set any more."""
    import duckdb

    if _PIVOT.match(sql):
        sql, given = _with_values(sql, given), {}
    statement = single_statement(sql, connection)
    values = parameters_of(statement, given)
    try:
        return connection.sql(statement, params=values) if values else connection.sql(statement)
    except duckdb.Error as error:
        raise failed(sql, error) from None


def _with_values(sql: str, given: dict[str, str]) -> str:
    """The text with quoted values in place of `$names`: DuckDB 1.5 takes no parameters below a pivot."""
    names = sorted(set(_PARAMETER.findall(sql)))
    for name in given:
        if name not in names:
            raise UsageError(
                f"the query has no parameter {name!r}", where="-p", try_this="it has: " + (", ".join(names) or "none")
            )
    quoted = {name: "'" + value.replace("'", "''") + "'" for name, value in given.items()}
    return _PARAMETER.sub(lambda match: quoted.get(match[1], "null"), sql)


def failed(sql: str, error: Exception) -> QueryError:
    """What the user is told of a statement that DuckDB refused or gave up."""
    text = str(error)
    hint = "aiscorr query --list shows the views, --describe VIEW their columns"
    if "read-only" in text:
        hint = "the database is only read here; ingest writes it"
    return QueryError(text, where=sql.strip()[:200], try_this=hint)


def fetch(result: duckdb.DuckDBPyRelation | None, sql: str) -> Rows:
    """All rows of a result, times in UTC; nanoseconds, which Python's times do not hold, as text. Raises QueryError."""
    import duckdb

    if result is None:
        return Rows((), [])
    columns = tuple(result.columns)
    try:
        kinds = [str(kind) for kind in result.types]
        if any(_plain_time(kind) != kind for kind in kinds):
            cells = [f'#{n}::{_plain_time(kind)} as "c{n}"' for n, kind in enumerate(kinds, start=1)]
            result = result.project(", ".join(cells))
        return Rows(columns, result.fetchall())
    except duckdb.Error as error:
        raise failed(sql, error) from None


def _plain_time(kind: str) -> str:
    """The type with what Python's times cannot hold as something they can: `TIMESTAMP_NS[]` is `VARCHAR[]`."""
    return _ODD_TIME.sub(lambda match: "VARCHAR" if match[1] else "TIMESTAMP", kind)


def write_text(rows: Rows, form: str, *, width: int | None = None) -> str:
    """The rows in a text format. `width` (columns of the terminal) cuts the cells of a table, and says so."""
    if form == "csv":
        return _csv(rows)
    if form in ("json", "jsonl"):
        names = _unique(rows.columns)
        objects = [_object(names, row) for row in rows.rows]
        if form == "json":
            return json_text(objects, indent=1) + "\n"
        return "".join(json_text(item) + "\n" for item in objects)
    if form == "markdown":
        return _markdown(rows)
    return _table(rows, width)


def write_binary(result: duckdb.DuckDBPyRelation | None, sql: str, form: str, target: BinaryIO) -> None:
    """The rows as Parquet, or as an Arrow IPC stream. Raises QueryError, or OSError of the target."""
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq

    if result is None:
        raise QueryError("the statement has no rows to write", where=f"--format {form}", try_this="leave --format away")
    try:
        reader: pa.RecordBatchReader = result.to_arrow_reader(100_000)
        with (
            pq.ParquetWriter(target, reader.schema)
            if form == "parquet"
            else pa.ipc.new_stream(target, reader.schema) as writer
        ):
            for batch in reader:
                writer.write_batch(batch)
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise failed(sql, error) from None


def json_text(value: object, indent: int | None = None) -> str:
    """The value as JSON; letters stay letters, every control character is escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _LATE_CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def printable(text: str) -> str:
    """The text as a terminal may show it: a line break as `⏎`, other control characters by their codes."""

    def shown(match: re.Match[str]) -> str:
        return {"\n": "⏎", "\t": " "}.get(match[0], f"\\x{ord(match[0]):02x}")

    return _CONTROL.sub(shown, text)


def completion_words(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Names of views, tables, columns, functions and keywords, for completion."""
    sources = (
        "select view_name from duckdb_views() where not internal",
        "select distinct column_name from duckdb_columns() where not internal",
        "select distinct function_name from duckdb_functions() where regexp_matches(function_name, '^[a-z]')",
        "select keyword_name from duckdb_keywords()",
    )
    return [str(row[0]) for sql in sources for row in connection.execute(sql).fetchall()]


def _unique(columns: Sequence[str]) -> list[str]:
    """The names, a second `a` called `a_1`: an object holds a name once, and no value may be lost."""
    names: list[str] = []
    for name in columns:
        number, wanted = 0, name
        while wanted in names:
            number += 1
            wanted = f"{name}_{number}"
        names.append(wanted)
    return names


def _object(columns: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    return {name: _json_value(value) for name, value in zip(columns, row, strict=True)}


def _json_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return _text(value)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="microseconds" if value.microsecond else "seconds")
    if isinstance(value, list | tuple | dict):
        return json.dumps(_json_value(value), ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _csv(rows: Rows) -> str:
    """NULL is nothing at all, an empty text is `""`; a lone NULL is quoted too, for an empty line is no row."""

    def cell(value: Any, is_alone: bool) -> str:
        if value is None and not is_alone:
            return ""
        text = _text(value)
        is_plain = text and not _CSV_MARK.search(text)
        return text if is_plain else '"' + text.replace('"', '""') + '"'

    lines: list[Sequence[Any]] = [rows.columns, *rows.rows] if rows.columns else []
    return "".join(",".join(cell(value, len(line) == 1) for value in line) + "\n" for line in lines)


def _markdown(rows: Rows) -> str:
    def cells(values: Iterable[str]) -> str:
        return "| " + " | ".join(_MARKDOWN_MARK.sub(r"\\\g<0>", printable(value)) for value in values) + " |\n"

    head = (
        cells(rows.columns)
        + "|"
        + "|".join(" ---: " if _is_numeric(rows, index) else " --- " for index in range(len(rows.columns)))
    )
    return f"{head}|\n" + "".join(cells(_text(value) for value in row) for row in rows.rows)


def _is_numeric(rows: Rows, index: int) -> bool:
    values = [row[index] for row in rows.rows if row[index] is not None]
    return bool(values) and all(
        isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in values
    )


def _table(rows: Rows, width: int | None) -> str:
    if not rows.columns:
        return ""
    lines = [[printable(_text(value)) for value in row] for row in rows.rows]
    widths = [max([len(name), *(len(line[index]) for line in lines)]) for index, name in enumerate(rows.columns)]
    shown = _fitted(widths, width)
    numeric = [_is_numeric(rows, index) for index in range(len(rows.columns))]

    def laid_out(cells: Sequence[str]) -> str:
        parts = []
        for cell, size, is_number in zip(cells, shown, numeric, strict=True):
            cut = cell if len(cell) <= size else cell[: size - 1] + "…"
            parts.append(cut.rjust(size) if is_number else cut.ljust(size))
        return "  ".join(parts).rstrip() + "\n"

    body = laid_out(rows.columns) + laid_out(["-" * size for size in shown]) + "".join(map(laid_out, lines))
    count = f"({len(lines)} row{'s' if len(lines) != 1 else ''}"
    return (
        body
        + count
        + ("; cells are cut to fit the terminal, --format csv shows all" if shown != widths else "")
        + ")\n"
    )


def _fitted(widths: list[int], width: int | None) -> list[int]:
    shown = list(widths)
    if width is None:
        return shown
    while sum(shown) + 2 * (len(shown) - 1) > width and max(shown) > 12:
        widest = shown.index(max(shown))
        shown[widest] -= 1
    return shown
