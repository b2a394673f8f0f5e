"""Puts the rows of one ingest run into the stored tables, and takes out what they replace."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from aiscorr.model import FileSummary, KnownFile, SourceRef, Unreadable
from aiscorr.schema.tables import FILE_TABLES, INGEST_LOG, INGESTED_FILE, PATTERN_INFO, STEP_LINE, WORKER_TAIL, Table

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_MANY_FILES = 10_000


def known_files(connection: duckdb.DuckDBPyConnection, source: str = "ingested_file") -> dict[str, KnownFile]:
    """What the database holds, by path; `source`: the table and perhaps a condition."""
    return {one.path: one for one in each_known_file(connection, source)}


def each_known_file(connection: duckdb.DuckDBPyConnection, source: str) -> Iterator[KnownFile]:
    """As `known_files`, one after the other; the connection does nothing else meanwhile."""
    found = connection.execute(
        "select file_id, path, content_hash, head_hash, byte_count, stored_byte_count, modified_ns, kind, state,"
        f" resume_offset, resume_state, parser_version, options_key, duplicate_of from {source}"
    )
    while rows := found.fetchmany(_MANY_FILES):
        yield from (KnownFile(*row) for row in rows)


def _changed(connection: duckdb.DuckDBPyConnection, table: Table) -> None:
    """Notes that views on the table are to be computed again."""
    connection.execute("insert into changed_table values (?)", [table.name])


def _delete(connection: duckdb.DuckDBPyConnection, table: Table, condition: str, values: list[Any]) -> None:
    """Deletes rows, and notes it where there were any."""
    if connection.execute(f"delete from {table.name} where {condition}", values).fetchall()[0][0]:
        _changed(connection, table)


def delete_rows(connection: duckdb.DuckDBPyConnection, file_ids: Iterable[int]) -> None:
    """Takes out all rows of these files."""
    ids = list(file_ids)
    if not ids:
        return
    for table in FILE_TABLES:
        _delete(connection, table, "list_contains(?, file_id)", [ids])


def forget_copies(connection: duckdb.DuckDBPyConnection, file_ids: Iterable[int]) -> None:
    """Copies of files whose bytes are gone are to be read when they are seen next, and the archives they are in."""
    stale = "duplicate_of is not null and list_contains(?, duplicate_of)"
    ids = list(file_ids)
    if not ids:
        return
    connection.execute(
        "delete from archive_seen where exists (select 1 from ingested_file as f"
        f" where f.member is not null and starts_with(f.path, archive_seen.path || '!') and f.{stale})",
        [ids],
    )
    connection.execute(f"update ingested_file set modified_ns = null where {stale}", [ids])
    _changed(connection, INGESTED_FILE)


def delete_rows_read_again(connection: duckdb.DuckDBPyConnection, summary: FileSummary) -> None:
    """Takes out the rows of a grown file that are read again, from the line on where reading went on."""
    for table in FILE_TABLES:
        if "line_no" in table.column_names:
            _delete(connection, table, "file_id = ? and line_no >= ?", [summary.file_id, summary.resume_line_no])
    # the last words and steps of attempts that were open there are found again at the new end
    for table, which in ((WORKER_TAIL, "true"), (STEP_LINE, "kept = 'last'")):
        place = [summary.file_id, summary.resume_attempt_no]
        _delete(connection, table, f"file_id = ? and attempt_no >= ? and {which}", place)


def load_parts(
    connection: duckdb.DuckDBPyConnection, parts: Iterable[tuple[str, str]], file_ids: dict[int, int]
) -> None:
    """Inserts parts of a scan; provisional file ids become final, rows of files not in the map are dropped."""
    tables = {table.name: table for table in FILE_TABLES}
    for table_name, found in groupby(sorted(parts), key=itemgetter(0)):
        names = ", ".join(tables[table_name].column_names)
        connection.register("incoming_rows", _Streamed([path for _, path in found], file_ids))
        connection.execute(
            f"insert into {table_name} ({names}) select {names} from incoming_rows where file_id is not null"
        )
        connection.unregister("incoming_rows")
        _changed(connection, tables[table_name])


class _Streamed:
    """The rows of Arrow files of one shape, with final file ids (null for a file that is not in the map).

    One insert takes them all, a batch at a time: what is given to DuckDB as a table stays in memory until the
    transaction ends. The files are removed.
    """

    def __init__(self, paths: Sequence[str], file_ids: dict[int, int]) -> None:
        self._paths = paths
        self._final_of = file_ids

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """As Arrow's C stream interface calls it."""
        import pyarrow as pa

        with pa.memory_map(self._paths[0]) as file:
            schema = pa.ipc.open_file(file).schema
        return pa.RecordBatchReader.from_batches(schema, self._batches()).__arrow_c_stream__(requested_schema)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for path in self._paths:
            with pa.memory_map(path) as file:
                rows = pa.ipc.open_file(file)
                for number in range(rows.num_record_batches):
                    batch = rows.get_batch(number)
                    place = batch.schema.get_field_index("file_id")
                    yield batch.set_column(place, batch.schema.field(place), self._with_final(batch.column(place)))
            os.remove(path)

    def _with_final(self, ids: pa.Array) -> pa.Array:
        import pyarrow as pa

        if pa.types.is_run_end_encoded(ids.type):
            return pa.RunEndEncodedArray.from_arrays(ids.run_ends, self._with_final(ids.values))
        return pa.array(map(self._final_of.get, ids.to_pylist()), pa.int32())


def upsert_files(connection: duckdb.DuckDBPyConnection, summaries: Iterable[FileSummary], run_id: int) -> None:
    """Writes the rows of ingested_file for files read in this run."""
    import pyarrow as pa

    from aiscorr.schema.arrow import arrow_schema

    rows = [_file_row(summary, run_id) for summary in summaries]
    if not rows:
        return
    ids = [row["file_id"] for row in rows]
    connection.execute("delete from ingested_file where list_contains(?, file_id)", [ids])
    incoming = pa.Table.from_pylist(rows, schema=arrow_schema(INGESTED_FILE))
    _insert(connection, INGESTED_FILE, incoming)
    _changed(connection, INGESTED_FILE)


def touch_files(connection: duckdb.DuckDBPyConnection, summaries: Iterable[FileSummary]) -> None:
    """Files whose bytes are those of last time: only their size on disk and time are new."""
    for summary in summaries:
        connection.execute(
            "update ingested_file set stored_byte_count = ?, modified_ns = ? where file_id = ?",
            [_size_to_know(summary), summary.ref.modified_ns, summary.file_id],
        )
        _changed(connection, INGESTED_FILE)


def _size_to_know(summary: FileSummary) -> int | None:
    """The size by which a file is known again; none where reading broke off, so that it is looked at again."""
    return None if summary.is_cut_short else summary.ref.stored_byte_count


def _file_row(summary: FileSummary, run_id: int) -> dict[str, object]:
    ref = summary.ref
    fixed: dict[str, object] = {
        "path": ref.path,
        "member": ref.member,
        "stored_byte_count": _size_to_know(summary),
        "modified_ns": ref.modified_ns,
        "run_id": run_id,
    }
    names = [name for name in INGESTED_FILE.column_names if name not in fixed]
    return {**{name: getattr(summary, name) for name in names}, **fixed}


def patterns_key(connection: duckdb.DuckDBPyConnection) -> str | None:
    """What the pattern table was written from, as `replace_patterns` was told."""
    sql = "select comment from duckdb_tables() where table_name = ?"
    return str(connection.execute(sql, [PATTERN_INFO.name]).fetchall()[0][0])


def replace_patterns(connection: duckdb.DuckDBPyConnection, rows: list[dict[str, object]], key: str) -> None:
    """Writes the pattern table again, so that SQL knows what each pattern means; `key` names what it was made from."""
    import pyarrow as pa

    from aiscorr.schema.arrow import arrow_schema

    connection.execute("delete from pattern")
    if rows:
        _insert(connection, PATTERN_INFO, pa.Table.from_pylist(rows, schema=arrow_schema(PATTERN_INFO)))
    connection.execute(f"comment on table pattern is '{key}'")
    _changed(connection, PATTERN_INFO)


def _insert(connection: duckdb.DuckDBPyConnection, table: Table, incoming: object) -> None:
    connection.register("incoming_rows", incoming)
    names = ", ".join(table.column_names)
    connection.execute(f"insert into {table.name} ({names}) select {names} from incoming_rows")
    connection.unregister("incoming_rows")


def note_archives(
    connection: duckdb.DuckDBPyConnection, archives: Iterable[SourceRef], options_key: str, parser_version: int
) -> None:
    """Remembers archives that were read to their end."""
    for ref in archives:
        connection.execute("delete from archive_seen where path = ?", [ref.path])
        connection.execute(
            "insert into archive_seen values (?, ?, ?, ?, ?)",
            [ref.path, ref.stored_byte_count, ref.modified_ns, options_key, parser_version],
        )


def log_run(
    connection: duckdb.DuckDBPyConnection,
    run_id: int,
    started: datetime,
    outcome: str,
    file_count: int,
    summaries: Iterable[FileSummary],
    problems: Iterable[Unreadable],
    version: str,
) -> None:
    """Writes the run's row."""
    read = list(summaries)
    error = "; ".join(f"{problem.path}: {problem.reason}" for problem in problems if problem.is_error)
    connection.execute(
        "insert into ingest_log"
        " select ?, ?::timestamp, (now() at time zone 'UTC')::timestamp, ?, ?, ?, ?, ?, ?, ?, ?, ?",
        [
            run_id,
            started.astimezone(UTC).replace(tzinfo=None),
            outcome,
            file_count,
            sum(1 for s in read if s.state == "ingested"),
            sum(s.byte_count for s in read),
            sum(s.line_count for s in read),
            sum(s.event_count for s in read),
            sum(s.reject_count for s in read),
            error[:4096] or None,
            version,
        ],
    )
    _changed(connection, INGEST_LOG)
