"""Runs one SQL statement against the views and writes its rows: table, csv, json, jsonl, markdown, parquet, arrow."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from aiscorr.errors import QueryError, SpecError, UsageError

if TYPE_CHECKING:
    import duckdb

TEXT_FORMATS = ("table", "csv", "json", "jsonl", "markdown")
BINARY_FORMATS = ("parquet", "arrow")
FORMATS = TEXT_FORMATS + BINARY_FORMATS
_NAME = re.compile(r"^[a-z][a-z0-9_]*$")
_PARAMETER = re.compile(r"(?<![\w$])\$([a-z_][a-z0-9_]*)")


@dataclass(frozen=True)
class NamedQuery:
    """A query with a name: its sentence, its parameters (null where not given) and its SQL."""

    name: str
    sentence: str
    sql: str
    path: str

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
    for folder in (str(files("aiscorr") / "queries"), *folders):
        for path in sorted(Path(folder).glob("*.sql")):
            text = path.read_text("utf-8")
            first, _, body = text.partition("\n")
            if not _NAME.match(path.stem) or not first.startswith("-- "):
                raise SpecError(
                    "a named query is a file NAME.sql (small letters) whose first line says what it shows",
                    where=str(path), try_this="-- One sentence.",
                )  # fmt: skip
            found[path.stem] = NamedQuery(path.stem, first[3:].strip(), body.strip(), str(path))
    return found


def named_query(name: str, folders: Iterable[str] = ()) -> NamedQuery:
    """The query called `name`. Raises UsageError with the names there are."""
    known = named_queries(folders)
    if name not in known:
        raise UsageError(
            f"no query is called @{name}",
            where="aiscorr query",
            try_this="one of: " + ", ".join("@" + n for n in known),
        )
    return known[name]


def single_statement(sql: str) -> str:
    """The one statement of the text. Raises QueryError for none, several, or a syntax error."""
    import duckdb

    try:
        statements = duckdb.extract_statements(sql)
    except duckdb.Error as error:
        raise _failed(sql, error) from None
    if len(statements) != 1:
        raise QueryError(
            f"expected one statement, found {len(statements)}",
            where=sql.strip()[:80] or "(empty)",
            try_this="run them one by one",
        )
    return sql


def parameters_of(sql: str, given: dict[str, str]) -> dict[str, str | None]:
    """Values for the statement's `$names`: as given, else null. Raises UsageError for a name it does not use."""
    names = tuple(dict.fromkeys(_PARAMETER.findall(sql)))
    for name in given:
        if name not in names:
            raise UsageError(
                f"the query has no parameter {name!r}", where="-p", try_this="it has: " + (", ".join(names) or "none")
            )
    return {name: given.get(name) for name in names}


def run(connection: duckdb.DuckDBPyConnection, sql: str, given: dict[str, str]) -> duckdb.DuckDBPyConnection:
    """Executes one statement and returns the connection with its pending result. Raises QueryError."""
    import duckdb

    single_statement(sql)
    values = parameters_of(sql, given)
    try:
        return connection.execute(sql, values) if values else connection.execute(sql)
    except duckdb.Error as error:
        raise _failed(sql, error) from None


def _failed(sql: str, error: Exception) -> QueryError:
    text = str(error)
    hint = "aiscorr query --list shows the views, --describe VIEW their columns"
    if "read-only" in text:
        hint = "the database is only read here; ingest writes it"
    return QueryError(text, where=sql.strip()[:200], try_this=hint)


def fetch(result: duckdb.DuckDBPyConnection) -> Rows:
    """All rows of a pending result."""
    columns = tuple(column[0] for column in result.description or [])
    return Rows(columns, result.fetchall() if columns else [])


def write_text(rows: Rows, form: str, *, width: int | None = None) -> str:
    """The rows in a text format. `width` (columns of the terminal) cuts the cells of a table, and says so."""
    if form == "csv":
        return _csv(rows)
    if form == "json":
        return json.dumps([_object(rows.columns, row) for row in rows.rows], ensure_ascii=False, indent=1) + "\n"
    if form == "jsonl":
        return "".join(json.dumps(_object(rows.columns, row), ensure_ascii=False) + "\n" for row in rows.rows)
    if form == "markdown":
        return _markdown(rows)
    return _table(rows, width)


def write_binary(result: duckdb.DuckDBPyConnection, form: str, target: BinaryIO) -> None:
    """The pending result as Parquet, or as an Arrow IPC stream."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    reader: pa.RecordBatchReader = result.to_arrow_reader(100_000)
    if form == "parquet":
        with pq.ParquetWriter(target, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
    else:
        with pa.ipc.new_stream(target, reader.schema) as stream:
            for batch in reader:
                stream.write_batch(batch)


def completion_words(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Names of views, tables, columns, functions and keywords, for completion."""
    sources = (
        "select view_name from duckdb_views() where not internal",
        "select distinct column_name from duckdb_columns() where not internal",
        "select distinct function_name from duckdb_functions() where regexp_matches(function_name, '^[a-z]')",
        "select keyword_name from duckdb_keywords()",
    )
    return [str(row[0]) for sql in sources for row in connection.execute(sql).fetchall()]


def _object(columns: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    return {name: _json_value(value) for name, value in zip(columns, row, strict=True)}


def _json_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Decimal):
        return float(value)
    return _text(value)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="microseconds" if value.microsecond else "seconds")
    if isinstance(value, list | tuple | dict):
        return json.dumps(_json_value(value), ensure_ascii=False)
    if isinstance(value, date | time | timedelta | bytes):
        return str(value)
    return f"{value}"


def _csv(rows: Rows) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(rows.columns)
    writer.writerows([_text(value) for value in row] for row in rows.rows)
    return buffer.getvalue()


def _markdown(rows: Rows) -> str:
    def cells(values: Iterable[str]) -> str:
        return "| " + " | ".join(value.replace("|", "\\|").replace("\n", " ") for value in values) + " |\n"

    head = cells(rows.columns) + cells(
        "---:" if _is_numeric(rows, index) else "---" for index in range(len(rows.columns))
    )
    return head + "".join(cells(_text(value) for value in row) for row in rows.rows)


def _is_numeric(rows: Rows, index: int) -> bool:
    values = [row[index] for row in rows.rows if row[index] is not None]
    return bool(values) and all(
        isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in values
    )


def _table(rows: Rows, width: int | None) -> str:
    if not rows.columns:
        return ""
    lines = [[_text(value).replace("\n", "⏎") for value in row] for row in rows.rows]
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
