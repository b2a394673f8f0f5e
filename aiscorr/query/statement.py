"""Runs one SQL statement against the views and hands out its rows, or writes them as Parquet or Arrow."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from aiscorr.errors import QueryError, UsageError
from aiscorr.query.formats import Rows

if TYPE_CHECKING:
    import duckdb

BINARY_FORMATS = ("parquet", "arrow")
#: Times are shown in UTC, and no variable of Python is taken for a table.
QUERY_SETTINGS = ("set TimeZone = 'UTC'", "set python_enable_replacements = false")
_PARAMETER = re.compile(r"(?<![\w$])\$([a-z_][a-z0-9_]*)")
_PIVOT = re.compile(r"\s*pivot\b", re.IGNORECASE)
#: Statements that only change what is there.
_WRITES = ("DELETE", "UPDATE", "INSERT", "MERGE_INTO", "ALTER", "DROP")
_ODD_TIME = re.compile(r"TIMESTAMP(_NS)?( WITH TIME ZONE)?")


@dataclass(frozen=True)
class Single:
    """One statement of DuckDB's, and what runs before it: a PIVOT of DuckDB 1.5 makes a type of the values it found."""

    statement: duckdb.Statement
    before: tuple[duckdb.Statement, ...] = ()

    @property
    def kind(self) -> str:
        """The kind, as DuckDB's parser names it; MULTI for a PIVOT over all values of a column."""
        return "MULTI" if self.before else self.statement.type.name


def single_statement(sql: str, connection: duckdb.DuckDBPyConnection) -> Single:
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
    before = tuple(statements[:-1])
    if before and all(each.type.name == "CREATE" and not each.query for each in before):
        return Single(statements[-1], before)
    if len(statements) != 1:
        raise QueryError(
            f"expected one statement, found {len(statements)}",
            where=sql.strip()[:80] or "(empty)",
            try_this="run them one by one" if statements else "write one; aiscorr query --list shows the views",
        )
    return Single(statements[0])


def parameters_of(statement: duckdb.Statement, given: dict[str, str]) -> dict[str, str | None]:
    """Values for the statement's `$names`: as given, else null. Raises UsageError for a name it does not use."""
    names = sorted(statement.named_parameters)
    _check_given(given, names)
    return {name: given.get(name) for name in names}


def parameter_names(sql: str) -> tuple[str, ...]:
    """Names of the `$parameters` of a text, in the order of their first use."""
    return tuple(dict.fromkeys(_PARAMETER.findall(sql)))


def _check_given(given: dict[str, str], names: list[str]) -> None:
    for name in given:
        if name not in names:
            raise UsageError(
                f"the query has no parameter {name!r}", where="-p", try_this="it has: " + (", ".join(names) or "none")
            )


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
    single = single_statement(sql, connection)
    statement, values = single.statement, parameters_of(single.statement, given)
    try:
        for each in single.before:
            connection.execute(each)
        return connection.sql(statement, params=values) if values else connection.sql(statement)
    except duckdb.Error as error:
        raise failed(sql, error, is_write=single.kind in _WRITES) from None


def _with_values(sql: str, given: dict[str, str]) -> str:
    """The text with quoted values in place of `$names`: DuckDB 1.5 takes no parameters below a pivot."""
    _check_given(given, sorted(parameter_names(sql)))
    quoted = {name: "'" + value.replace("'", "''") + "'" for name, value in given.items()}
    return _PARAMETER.sub(lambda match: quoted.get(match[1], "null"), sql)


def failed(sql: str, error: Exception, *, is_write: bool = False) -> QueryError:
    """What the user is told of a statement that DuckDB refused or gave up."""
    text = f"query is read-only: {error}" if is_write else str(error)
    hint = "aiscorr query --list shows the views, --describe VIEW their columns (in the shell .tables, .describe VIEW)"
    if "read-only" in text:
        hint = "the database is only read here; ingest writes it"
    return QueryError(text, where=sql.strip()[:200], try_this=hint)


def fetch(result: duckdb.DuckDBPyRelation | None, sql: str, most: int | None = None) -> Rows:
    """All rows of a result, or the first `most`, times in UTC; what Python's times do not hold as text.

    Raises QueryError.
    """
    import duckdb

    if result is None:
        return Rows((), [])
    columns = tuple(result.columns)
    try:
        kinds = [str(kind) for kind in result.types]
        if any(_plain_time(kind) != kind for kind in kinds):
            cells = [f'#{n}::{_plain_time(kind)} as "c{n}"' for n, kind in enumerate(kinds, start=1)]
            result = result.project(", ".join(cells))
        rows = (result if most is None else result.limit(most + 1)).fetchall()
        return Rows(columns, rows[:most], is_cut=most is not None and len(rows) > most)
    except duckdb.Error as error:
        raise failed(sql, error) from None


def _plain_time(kind: str) -> str:
    """The type with what Python's times cannot hold as something they can: `TIMESTAMP_NS[]` is `VARCHAR[]`."""
    return _ODD_TIME.sub(lambda match: "VARCHAR" if match[1] else "TIMESTAMP", kind)


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
