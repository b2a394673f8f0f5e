"""Writes what an ingest changed in a pulled slice to the lake, in one transaction of DuckLake."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiscorr.analysis.cases import rows_of_cases
from aiscorr.analysis.spec import views_key
from aiscorr.errors import DatabaseBusyError
from aiscorr.lake.shape import (
    CASES,
    ENDPOINTS,
    LAKE,
    LAKE_VERSION,
    NOTES,
    TURN,
    case_table,
    joined_views,
    kept_views,
)
from aiscorr.model import FileSummary
from aiscorr.schema.analysis import CASE_INPUT, CONCLUSION, FAILURE_NAME
from aiscorr.schema.tables import (
    FILE_TABLES,
    INGEST_LOG,
    INGESTED_FILE,
    PATTERN_INFO,
    STEP_LINE,
    WORKER_TAIL,
    Table,
)
from aiscorr.store.arrow_rows import GIVEN_LIST, arrow_rows
from aiscorr.store.database import SCHEMA_VERSION

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

#: The moment that says on which day a row lies, where its table has one.
_MOMENTS = ("local_ns", "sampled_ns", "tried_ns", "taken_ns", "created_ns", "first_ns")


@dataclass(frozen=True)
class Change:
    """What a run changed: files read anew and on from where they ended, files seen again, cases judged and gone.

    `turn`: that of the lake when the run began to write.
    """

    run_id: int
    summaries: Collection[FileSummary]
    touched: Collection[FileSummary]
    replaced: Collection[int]
    judged: Collection[str]
    forgotten: Collection[str]
    turn: int


def note(connection: duckdb.DuckDBPyConnection, name: str) -> str | None:
    """A note on the lake itself."""
    rows = connection.execute(f"select value from {LAKE}.{NOTES} where name = ?", [name]).fetchall()
    return None if not rows else str(rows[0][0])


def put_note(connection: duckdb.DuckDBPyConnection, name: str, value: str) -> None:
    """Writes a note, where it says something else."""
    if note(connection, name) != value:
        connection.execute(f"delete from {LAKE}.{NOTES} where name = ?", [name])
        connection.execute(f"insert into {LAKE}.{NOTES} values (?, ?)", [name, value])


def versions() -> dict[str, str]:
    """What a lake is noted to be made by."""
    return {"lake_version": LAKE_VERSION, "schema_version": SCHEMA_VERSION}


def turn(connection: duckdb.DuckDBPyConnection) -> int:
    """Whose turn it is to write: a number that grows with every commit."""
    return int(connection.execute(f"select turn from {LAKE}.{TURN}").fetchall()[0][0])


def take_turn(connection: duckdb.DuckDBPyConnection, seen: int | None = None) -> None:
    """Makes the caller's transaction the only one of its turn; `seen`: the turn of which it knows the lake.

    Raises DatabaseBusyError where another program has written since. A writer that others took for dead, as its
    connection to the ledger was cut, cannot commit what they gave back: they have taken a turn before.
    """
    if seen is not None and turn(connection) != seen:
        raise DatabaseBusyError(
            "another ingest has written the lake in the place of this one",
            try_this="run this again: nothing of this run was stored",
        )
    connection.execute(f"update {LAKE}.{TURN} set turn = turn + 1")


def push(connection: duckdb.DuckDBPyConnection, change: Change, pattern_key: str) -> None:
    """Writes a change, in the caller's transaction; the slice holds the rows as they are now."""
    take_turn(connection, change.turn)
    _mark_new(connection, change)
    _remove_old(connection, change)
    _push_files(connection, change)
    for table in FILE_TABLES:
        _push_rows(connection, table)
    push_endpoints(connection)
    _insert(connection, INGEST_LOG, "run_id = ?", [change.run_id])
    _insert(connection, CONCLUSION, "run_id = ?", [change.run_id])
    _insert(
        connection, FAILURE_NAME,
        f"not exists (select 1 from {LAKE}.failure_name as o where o.job_id = t.job_id and o.attempt = t.attempt)",
    )  # fmt: skip
    if note(connection, "patterns") != pattern_key:
        connection.execute(f"delete from {LAKE}.{PATTERN_INFO.name}")
        _insert(connection, PATTERN_INFO, "true")
        put_note(connection, "patterns", pattern_key)
    make_result_tables(connection)
    put_cases(connection, [*change.judged, *change.forgotten], case_rows(connection, change.judged))


def _mark_new(connection: duckdb.DuckDBPyConnection, change: Change) -> None:
    """Notes the files whose rows are new, from which line and attempt on, with their cluster and day."""
    connection.execute(
        "create or replace temporary table new_file (file_id integer, line_no bigint, attempt_no integer)"
    )
    rows = [
        (s.file_id, *((s.resume_line_no, s.resume_attempt_no) if s.is_tail_only else (None, None)))
        for s in change.summaries
        if s.state == "ingested"
    ]
    if rows:
        columns = [list(column) for column in zip(*rows, strict=True)]
        connection.execute("insert into new_file select unnest(?), unnest(?), unnest(?)", columns)
    _mark_pushed(connection)


def _mark_pushed(connection: duckdb.DuckDBPyConnection) -> None:
    """Notes the files of new_file with their cluster and day."""
    connection.execute(
        "create or replace temporary table pushed_file as"
        " select n.*, coalesce(a.cluster, i.cluster, '-') as cluster,"
        "  make_timestamp_ns(coalesce(i.first_ns, i.modified_ns, 0))::date as day"
        " from new_file as n join ingested_file as i on i.file_id = n.file_id"
        " left join ais_file as a on a.file_id = n.file_id"
    )


def _remove_old(connection: duckdb.DuckDBPyConnection, change: Change) -> None:
    """Takes out of the lake what these files had, or what of them was read again."""
    replaced = list(change.replaced)
    tails = connection.execute(
        "select min(file_id), max(file_id), min(line_no) from new_file where line_no is not null"
    ).fetchall()[0]
    for table in FILE_TABLES:
        if replaced:
            connection.execute(
                f"delete from {LAKE}.{table.name} where file_id between ? and ? and list_contains(?, file_id)",
                [min(replaced), max(replaced), replaced],
            )
        if tails[0] is None or "line_no" not in table.column_names:
            continue
        first = 0 if table in (WORKER_TAIL, STEP_LINE) else tails[2]
        bounds = f"t.file_id between {tails[0]} and {tails[1]} and t.line_no >= {first}"
        connection.execute(
            f"delete from {LAKE}.{table.name} as t where {bounds} and exists (select 1 from new_file as n"
            f" where n.file_id = t.file_id and {_is_read_again(table)})"
        )
    if replaced:
        connection.execute(
            f"update {LAKE}.ingested_file set modified_ns = null"
            " where duplicate_of is not null and list_contains(?, duplicate_of)",
            [replaced],
        )


def _is_read_again(table: Table) -> str:
    """Of a grown file (n), the rows (t) that the run read; see store.load.delete_rows_read_again."""
    found = "t.line_no >= n.line_no"
    if table is WORKER_TAIL:
        return f"({found} or t.attempt_no >= n.attempt_no)"
    return f"({found} or t.attempt_no >= n.attempt_no and t.kept = 'last')" if table is STEP_LINE else found


def _push_files(connection: duckdb.DuckDBPyConnection, change: Change) -> None:
    ids = [summary.file_id for summary in (*change.summaries, *change.touched)]
    if not ids:
        return
    connection.execute(
        f"delete from {LAKE}.ingested_file where file_id between ? and ? and list_contains(?, file_id)",
        [min(ids), max(ids), ids],
    )
    insert_files(connection, "where list_contains(?, t.file_id)", [ids])


def insert_files(
    connection: duckdb.DuckDBPyConnection, condition: str = "", values: list[object] | None = None
) -> None:
    """Puts the rows of files into the lake, with their clock, cluster and day."""
    connection.execute(
        f"insert into {LAKE}.ingested_file select {_columns(INGESTED_FILE)}, k.shift_ns,"
        " coalesce(a.cluster, t.cluster, '-'), make_timestamp_ns(coalesce(t.first_ns, t.modified_ns, 0))::date"
        " from ingested_file as t left join ais_file as a on a.file_id = t.file_id"
        f" left join clock as k on k.file_id = t.file_id {condition} order by t.file_id",
        values,
    )


def push_endpoints(connection: duckdb.DuckDBPyConnection) -> None:
    """Puts the addresses of storage nodes into the lake that it does not know."""
    connection.execute(
        f"insert into {LAKE}.{ENDPOINTS} select cluster, endpoint from node_endpoint except from {LAKE}.{ENDPOINTS}"
    )


def push_range(connection: duckdb.DuckDBPyConnection, low: int, high: int) -> None:
    """Puts all rows of the files with these numbers into a lake that has none of them."""
    connection.execute(
        "create or replace temporary table new_file as"
        " select file_id, null::bigint as line_no, null::integer as attempt_no"
        " from ingested_file where file_id between ? and ?",
        [low, high],
    )
    _mark_pushed(connection)
    for table in FILE_TABLES:
        _push_rows(connection, table)


def _push_rows(connection: duckdb.DuckDBPyConnection, table: Table) -> None:
    moment = next((name for name in _MOMENTS if name in table.column_names), None)
    day = f"coalesce(make_timestamp_ns(t.{moment})::date, n.day)" if moment else "n.day"
    line = ", t.line_no" if "line_no" in table.column_names else ""
    again = f"n.line_no is null or {_is_read_again(table)}" if line else "true"
    connection.execute(
        f"insert into {LAKE}.{table.name} select {_columns(table)}, n.cluster, {day} as day"
        f" from {table.name} as t join pushed_file as n on n.file_id = t.file_id where {again}"
        f" order by n.cluster, day, t.file_id{line}"
    )


def _columns(table: Table) -> str:
    return ", ".join(f"t.{name}" for name in table.column_names)


def _insert(
    connection: duckdb.DuckDBPyConnection, table: Table, condition: str, values: list[object] | None = None
) -> None:
    names = ", ".join(table.column_names)
    connection.execute(
        f"insert into {LAKE}.{table.name} ({names}) select {_columns(table)} from {table.name} as t where {condition}",
        values,
    )


def case_rows(connection: duckdb.DuckDBPyConnection, jobs: Collection[str]) -> dict[str, pa.Table]:
    """By table of the lake, what judging gave for these jobs and what is kept of their cases; read in a slice."""
    wanted = list(jobs)

    def rows(sql: str) -> pa.Table:
        return arrow_rows(connection, sql, wanted)

    found = {
        spec.stored_name: rows(f"from {spec.stored_name} where list_contains({GIVEN_LIST}, case_job_id)")
        for spec in kept_views()
    }
    for spec in joined_views():
        found[case_table(spec)] = rows(
            f"select s.job_id as case_job_id, r.* {rows_of_cases(connection, spec.name)}"
            f" and list_contains({GIVEN_LIST}, s.job_id)"
        )
    found[CASE_INPUT.name] = rows(f"from case_input where list_contains({GIVEN_LIST}, job_id)")
    found[CASES] = rows(
        "select s.job_id, s.since_ns, s.until_ns, s.counters_since_ns, s.counters_until_ns,"
        " coalesce((select list_sort(list(c.cluster)) from case_cluster as c where c.job_id = s.job_id), []) as c,"
        " coalesce((select list_sort(list(f.file_id)) from worker_file as f where f.job_id = s.job_id), []) as f"
        f" from case_scope as s where list_contains({GIVEN_LIST}, s.job_id)"
    )
    return found


def put_cases(connection: duckdb.DuckDBPyConnection, gone: Collection[str], rows: Mapping[str, pa.Table]) -> None:
    """Puts rows of cases in the place of what the lake had of these jobs, in the caller's transaction."""
    for table, given in rows.items():
        column = "job_id" if table in (CASES, CASE_INPUT.name) else "case_job_id"
        if gone:
            connection.execute(f"delete from {LAKE}.{table} where list_contains(?, {column})", [list(gone)])
        if given.num_rows:
            connection.register("given", given)
            connection.execute(f"insert into {LAKE}.{table} from given")
            connection.unregister("given")


def make_result_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Makes the tables of results where other SQL made them, or none; they are then to be filled for all cases."""
    if note(connection, "views") == views_key():
        return
    columns = dict(
        connection.execute(
            "select table_name, string_agg('\"' || column_name || '\" ' || data_type, ', ' order by column_index)"
            " from duckdb_columns() where database_name = current_database() group by table_name"
        ).fetchall()
    )
    found = connection.execute(f"select table_name from duckdb_tables() where database_name = '{LAKE}'").fetchall()
    for (name,) in found:
        if name.startswith(("stored_", "case_")) and name != "case_input":
            connection.execute(f"drop table {LAKE}.{name}")
    connection.execute(f"delete from {LAKE}.case_input")
    for spec in kept_views():
        connection.execute(f"create table {LAKE}.{spec.stored_name} ({columns[spec.stored_name]})")
    for spec in joined_views():
        connection.execute(f"create table {LAKE}.{case_table(spec)} (case_job_id varchar, {columns[spec.stored_name]})")
    put_note(connection, "views", views_key())
