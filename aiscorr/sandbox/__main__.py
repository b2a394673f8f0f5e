"""The process of one statement: question on stdin, answer on stdout, and no way to anything but the database.

It opens the database, takes from itself whatever a statement does not need (other files, processes, memory, time,
settings), and only then looks at the statement.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import re
import resource
import signal
import sys
from typing import TYPE_CHECKING, Any

from aiscorr.errors import AiscorrError, DatabaseBusyError, DatabaseError, QueryError
from aiscorr.query.formats import Rows, write_text
from aiscorr.query.statement import QUERY_SETTINGS, failed, fetch, single_statement, start
from aiscorr.store.database import reading

if TYPE_CHECKING:
    import duckdb

_LOCK = (
    *QUERY_SETTINGS,
    "set temp_directory = ''",
    "set allow_community_extensions = false",
    "set allow_persistent_secrets = false",
    "set enable_external_access = false",
    "set lock_configuration = true",
)
#: Beyond what DuckDB itself counts: stacks of threads, rows as Python holds them, the text of the answer.
_SPARE_BYTES = 512 << 20
_SPARE_S = 2
_BINARY = ("arrow", "parquet")
#: What DuckDB 1.5 takes for the statements that it makes of it, so that its parser does not say it.
_EXPANDED = ("pragma", "import")
_REFUSED_HINT = "one SELECT (also WITH, FROM, VALUES, DESCRIBE, SHOW, SUMMARIZE, EXPLAIN)"


def main() -> None:
    """Answers the question on stdin. What DuckDB itself may write to stdout (its log, for one) goes nowhere."""
    question = json.load(sys.stdin.buffer)
    _limit_time(question["seconds"])
    answer, nowhere = os.dup(sys.stdout.fileno()), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    head, body = _answered(question)
    with os.fdopen(answer, "wb") as out:
        out.write(json.dumps(head).encode() + b"\n" + body)


def _answered(question: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """The head of the answer, which is one line, and its rows; of an error what, where and what to try."""
    try:
        if question["form"] in _BINARY:
            import pyarrow.ipc  # (no file can be opened later)
            import pyarrow.parquet  # noqa: F401
        memory = f"{question['memory_bytes'] >> 20}MiB"
        with reading(question["db_path"], memory_limit=memory, threads=1) as connection:
            for setting in _LOCK:
                connection.execute(setting)
            _limit_process(question["memory_bytes"])
            return _rows(connection, question)
    except MemoryError:
        return {"limit": "memory"}, b""
    except AiscorrError as error:
        limit = "memory" if "Out of Memory" in error.what or "bad_alloc" in error.what else None
        is_database = isinstance(error, DatabaseError | DatabaseBusyError)
        head = {"what": error.what, "where": error.where, "try": error.try_this, "limit": limit}
        return head | {"is_database": is_database}, b""


def _rows(connection: duckdb.DuckDBPyConnection, question: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    import duckdb

    sql, limit = question["sql"], question["row_count"]
    kind = "SELECT" if question["is_named"] else _kind(connection, sql)
    result = start(connection, sql, question["parameters"])
    if result is None:
        raise QueryError("the statement has no rows", where=sql.strip()[:200], try_this=_REFUSED_HINT)
    try:
        columns, types = tuple(result.columns), [str(each) for each in result.types]
        if kind == "SELECT":
            result = result.limit(limit + 1)
        if question["form"] in _BINARY:
            body, count = _table(result, limit, question["form"])
        else:
            rows = fetch(result, sql)
            count = len(rows.rows)
            body = write_text(Rows(columns, rows.rows[:limit]), question["form"]).encode()
    except duckdb.Error as error:
        raise failed(sql, error) from None
    if len(body) > question["byte_count"]:
        return {"limit": "size"}, b""
    head = {"columns": columns, "types": types, "row_count": min(count, limit), "is_complete": count <= limit}
    return head, body


def _table(result: duckdb.DuckDBPyRelation, limit: int, form: str) -> tuple[bytes, int]:
    """The rows, up to the limit, as an Arrow IPC stream or a Parquet file, and how many there were."""
    import pyarrow as pa

    table = result.to_arrow_table()
    stream = io.BytesIO()
    if form == "parquet":
        pa.parquet.write_table(table.slice(0, limit), stream)
    else:
        with pa.ipc.new_stream(stream, table.schema) as writer:
            writer.write_table(table.slice(0, limit))
    return stream.getvalue(), table.num_rows


def _kind(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    """The kind of the one statement, as DuckDB's parser tells. Raises QueryError for one that is not answered."""
    kind = "PRAGMA" if _first_word(sql) in _EXPANDED else single_statement(sql, connection).kind
    if kind == "SELECT" or (kind == "EXPLAIN" and _explains_select(connection, sql)):
        return kind
    if kind == "MULTI":
        raise QueryError(
            "PIVOT over all values of a column is several statements",
            where=sql.strip()[:200],
            try_this="name the values: PIVOT … ON column IN ('a', 'b') USING …",
        )
    raise QueryError(f"{kind} is not answered here", where=sql.strip()[:200], try_this=_REFUSED_HINT)


def _first_word(sql: str) -> str:
    """The first word of a text in small letters, or nothing where DuckDB cannot split it into words."""
    import duckdb

    with contextlib.suppress(UnicodeEncodeError, duckdb.Error):
        text = sql.encode()
        for place, token in duckdb.tokenize(sql):
            if token == duckdb.token_type.keyword:
                return re.split(rb"\W", text[place:], maxsplit=1)[0].decode().lower()
    return ""


def _explains_select(connection: duckdb.DuckDBPyConnection, sql: str) -> bool:
    """Whether what stands behind EXPLAIN, its ANALYZE and its options is a SELECT."""
    import duckdb

    text = sql.encode()
    places = [place for place, token in duckdb.tokenize(sql) if token != duckdb.token_type.comment]
    depth, begins = 0, []
    for index, place in enumerate(places[1:], start=1):
        if depth == 0:
            begins.append(place)
        end = places[index + 1] if index + 1 < len(places) else len(text)
        word = text[place:end].split(b"--")[0].strip()
        depth += {b"(": 1, b")": -1}.get(word[:1], 0)
        if len(begins) > 3:
            break
    for place in begins[:3]:
        with contextlib.suppress(QueryError):
            return single_statement(text[place:].decode(), connection).kind == "SELECT"
    return False


def _limit_time(seconds: float) -> None:
    """The kernel ends this process a little after the one that asked should have, also where that one is gone."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    most = math.ceil(seconds) + _SPARE_S
    signal.alarm(most)
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))
    os.nice(5)


def _limit_process(memory_bytes: int) -> None:
    """No more files, processes and threads than there are, no writing to files, and bounded memory."""
    import datetime  # noqa: F401  (what rows are made with is loaded before no file can be opened)
    import decimal  # noqa: F401
    import uuid  # noqa: F401

    with open("/proc/self/statm", "rb") as handle:
        in_use = int(handle.read().split()[0]) * resource.getpagesize()
    free = os.dup(0)
    os.close(free)
    bounds = {
        resource.RLIMIT_AS: in_use + memory_bytes + _SPARE_BYTES,
        resource.RLIMIT_NOFILE: free,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
    }
    for what, bound in bounds.items():
        resource.setrlimit(what, (bound, bound))


if __name__ == "__main__":
    main()
