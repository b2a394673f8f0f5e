"""Pulls a slice of a lake into a database file: all of a small lake, else what lies around some times and jobs.

The rows of a slice are those that judging its cases reads in a database of everything (`case_file`, `case_cluster`,
`case_scope`): all lines of a job, a day of the storage around it, counters around the first sign.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiscorr.lake.shape import CASES, CLUSTER, DAY, LAKE, WHOLE_TABLES, case_table, joined_views, kept_views
from aiscorr.schema.tables import FILE_TABLES, INGESTED_FILE, Table
from aiscorr.store.arrow_rows import GIVEN_LIST, arrow_rows

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_HOUR_NS = 3_600_000_000_000
#: As the thresholds case_margin_s and counter_margin_s of sql/facts; one statistics line more on either side.
MARGIN_NS = 25 * _HOUR_NS
COUNTER_MARGIN_NS = 2 * _HOUR_NS + 600_000_000_000
#: Clocks of files whose shift is not known yet are off by less.
ZONE_NS = 14 * _HOUR_NS
#: Of a storage daemon, rows outside the time of interest: who it is, and what the cluster's map was.
_LASTING = {"ais_line": "t.severity is null or t.smap_version is not null or t.smap_uuid is not null"}
#: In the place of a cluster, of files that name none, or did not when their rows were written.
NOBODY = ("-", "unknown")
_COUNTERS = ("counter_sample",)
_STORAGE = ("ais_line", "stats_line", *_COUNTERS)


@dataclass(frozen=True)
class Span:
    """A time of interest, UTC nanoseconds: of storage lines, and of counters in it."""

    low_ns: int
    high_ns: int
    counters_low_ns: int
    counters_high_ns: int


@dataclass(frozen=True)
class Scope:
    """What is pulled. `is_whole`: everything; else the spans, and these files whole with what belongs to their jobs.

    `named_ids`: files of which the names are pulled and no rows, as results cite them. `clusters`: of other clusters'
    storage nothing is pulled; None: of no matter which.
    """

    is_whole: bool = False
    spans: tuple[Span, ...] = ()
    file_ids: tuple[int, ...] = ()
    folders: tuple[str, ...] = ()
    job_ids: tuple[str, ...] = ()
    run_names: tuple[str, ...] = ()
    named_ids: tuple[int, ...] = ()
    clusters: tuple[str, ...] | None = None


def scope_of_cases(connection: duckdb.DuckDBPyConnection, jobs: Iterable[str]) -> Scope:
    """The times of cases, the files of their jobs, and the clusters that these may have used."""
    rows = connection.execute(
        f"select since_ns, until_ns, counters_since_ns, counters_until_ns, file_ids, clusters from {LAKE}.{CASES}"
        " where list_contains(?, job_id)",
        [list(jobs)],
    ).fetchall()
    spans = tuple(Span(row[0] - MARGIN_NS, row[1] + MARGIN_NS, row[2], row[3]) for row in rows if None not in row[:4])
    ids, clusters = ({one for row in rows for one in row[place]} for place in (4, 5))
    return Scope(spans=spans, file_ids=tuple(sorted(ids)), clusters=tuple(sorted(clusters)))


def cases_near(connection: duckdb.DuckDBPyConnection, spans: Collection[Span], file_ids: Collection[int]) -> list[str]:
    """The judged jobs of which new rows in these spans, or in these files, may be a concern."""
    _mark_spans(connection, spans)
    rows = connection.execute(
        f"select distinct c.job_id from {LAKE}.{CASES} as c left join slice_span as s on c.since_ns <= s.high_ns"
        f" + {MARGIN_NS} and c.until_ns >= s.low_ns - {MARGIN_NS} or c.since_ns is null"
        " where s.low_ns is not null or list_has_any(c.file_ids, ?::integer[]) order by 1",
        [list(file_ids)],
    ).fetchall()
    return [row[0] for row in rows]


def pull(connection: duckdb.DuckDBPyConnection, scope: Scope) -> None:
    """Fills the tables of the current database, which are empty, from the lake."""
    if not scope.is_whole:
        _mark_files(connection, scope)
    _pull_files(connection, scope)
    filled = filled_tables(connection)
    for table in FILE_TABLES:
        if table.name in filled:
            _pull_rows(connection, table, scope)
    for table in WHOLE_TABLES:
        if table.name in filled:
            _copy(connection, table)


def filled_tables(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """The tables of the lake that hold rows, or once held some: to ask each of the others takes long in sum."""
    rows = connection.execute(
        "select table_name from postgres_query(?, 'select distinct t.table_name from ducklake_table as t"
        " join ducklake_data_file as f on f.table_id = t.table_id')",
        [f"__ducklake_metadata_{LAKE}"],
    ).fetchall()
    return {row[0] for row in rows}


def _mark_spans(connection: duckdb.DuckDBPyConnection, spans: Iterable[Span]) -> None:
    connection.execute(
        "create or replace temporary table slice_span"
        " (low_ns bigint, high_ns bigint, counters_low_ns bigint, counters_high_ns bigint)"
    )
    rows = [(one.low_ns, one.high_ns, one.counters_low_ns, one.counters_high_ns) for one in spans]
    if rows:
        columns = [list(column) for column in zip(*rows, strict=True)]
        connection.execute("insert into slice_span select unnest(?), unnest(?), unnest(?), unnest(?)", columns)


def _mark_files(connection: duckdb.DuckDBPyConnection, scope: Scope) -> None:
    """Notes the files of the slice in slice_file, with the spans of interest by their own clocks.

    A file of a job is there with those of its folder, job and run; a storage file where its time meets a span; a file
    of no time (a dump, an answer of a node) where it was modified then.
    """
    _mark_spans(connection, scope.spans)
    connection.execute(
        f"create or replace temporary table slice_file as"
        f" with file as (select file_id, kind, {CLUSTER}, coalesce(shift_ns, 0) as shift_ns,"
        f"  coalesce(first_ns - coalesce(shift_ns, 0), modified_ns) as first_ns,"
        f"  coalesce(last_ns - coalesce(shift_ns, 0), modified_ns) as last_ns,"
        f"  case when shift_ns is null then {ZONE_NS} else 0 end as doubt_ns,"
        f"  coalesce(job_folder, regexp_replace(path, '[/!][^/!]*$', '')) as folder, job_id, run_name"
        f" from {LAKE}.ingested_file),"
        f" near as (select f.file_id, min(s.low_ns) as low_ns, max(s.high_ns) as high_ns,"
        f"  min(s.counters_low_ns) as counters_low_ns, max(s.counters_high_ns) as counters_high_ns"
        f"  from file as f join slice_span as s on f.first_ns <= s.high_ns + f.doubt_ns"
        f"  and f.last_ns >= s.low_ns - f.doubt_ns"
        f"  where f.kind <> 'ais_log' or $clusters is null or list_contains($clusters, f.{CLUSTER}) group by f.file_id)"
        f" select f.file_id, f.{CLUSTER}, f.kind = 'ais_log' as is_storage, f.first_ns + f.shift_ns as first_ns,"
        f"  f.last_ns + f.shift_ns as last_ns, n.low_ns + f.shift_ns - f.doubt_ns as low_ns,"
        f"  n.high_ns + f.shift_ns + f.doubt_ns as high_ns,"
        f"  n.counters_low_ns + f.shift_ns - f.doubt_ns as counters_low_ns,"
        f"  n.counters_high_ns + f.shift_ns + f.doubt_ns as counters_high_ns"
        f" from file as f left join near as n on n.file_id = f.file_id"
        f" where n.file_id is not null or list_contains($files, f.file_id) or f.kind <> 'ais_log' and"
        f"  (list_contains($folders, f.folder) or list_contains($jobs, f.job_id) or list_contains($runs, f.run_name))",
        {
            "files": list(scope.file_ids), "folders": list(scope.folders), "jobs": list(scope.job_ids),
            "runs": list(scope.run_names),
            "clusters": None if scope.clusters is None else [*scope.clusters, *NOBODY],
        },
    )  # fmt: skip


def _pull_files(connection: duckdb.DuckDBPyConnection, scope: Scope) -> None:
    names = ", ".join(INGESTED_FILE.column_names)
    chosen = "true" if scope.is_whole else "file_id in (select file_id from slice_file) or list_contains(?, file_id)"
    connection.execute(
        f"insert into ingested_file ({names}) select {names} from {LAKE}.ingested_file where {chosen} order by file_id",
        [] if scope.is_whole else [list(scope.named_ids)],
    )


def _pull_rows(connection: duckdb.DuckDBPyConnection, table: Table, scope: Scope) -> None:
    """The rows of a table; DuckLake and Parquet leave out what cannot be among them by partitions and statistics."""
    names = ", ".join(table.column_names)
    into = f"insert into {table.name} ({names}) select "
    if scope.is_whole:
        connection.execute(f"{into}{names} from {LAKE}.{table.name} order by file_id{_line(table)}")
        return
    is_counter, is_storage = table.name in _COUNTERS, table.name in _STORAGE
    low, high = ("n.counters_low_ns", "n.counters_high_ns") if is_counter else ("n.low_ns", "n.high_ns")
    bounds = connection.execute(
        "select min(file_id), max(file_id), min(make_timestamp_ns(first)::date), max(make_timestamp_ns(last)::date)"
        f" from (select file_id, {f'greatest(first_ns, {low})' if is_storage else 'first_ns'} as first,"
        f"  {f'least(last_ns, {high})' if is_storage else 'last_ns'} as last"
        f" from slice_file as n where is_storage or not {str(is_storage).lower()})"
    ).fetchall()[0]
    if bounds[0] is None:
        return
    when = f" and t.{DAY} between '{bounds[2]}' and '{bounds[3]}'" if is_storage and bounds[2] is not None else ""
    inside = f"t.local_ns between {low} and {high}" if is_storage else "true"
    lasting = f" or {_LASTING[table.name]}" if table.name in _LASTING else ""
    columns = ", ".join(f"t.{name}" for name in table.column_names)
    connection.execute(
        f"{into}{columns} from {LAKE}.{table.name} as t join slice_file as n on n.file_id = t.file_id"
        f" where t.{CLUSTER} in ({_clusters(connection)}) and t.file_id between {bounds[0]} and {bounds[1]}{when}"
        f" and ({inside}{lasting})"
        f" order by t.file_id{_line(table)}"
    )


def _clusters(connection: duckdb.DuckDBPyConnection) -> str:
    """The clusters of the files of the slice, as SQL: by values that stand there DuckLake leaves partitions out."""
    found = connection.execute(f"select distinct {CLUSTER} from slice_file").fetchall()
    names = sorted({*NOBODY, *(str(row[0]) for row in found)})
    return ", ".join("'" + name.replace("'", "''") + "'" for name in names)


def _line(table: Table) -> str:
    return ", line_no" if "line_no" in table.column_names else ""


def _copy(connection: duckdb.DuckDBPyConnection, table: Table) -> None:
    names = ", ".join(table.column_names)
    connection.execute(f"insert into {table.name} ({names}) select {names} from {LAKE}.{table.name}")


def results(connection: duckdb.DuckDBPyConnection, jobs: Collection[str] | None) -> Results:
    """What judging gave for these cases, or for all, and what it was given; tables without rows may be missing."""
    filled = {*filled_tables(connection), "case_input"}

    def rows(table: str, column: str) -> pa.Table:
        chosen = "" if jobs is None else f" where list_contains({GIVEN_LIST}, {column})"
        return arrow_rows(connection, f"from {LAKE}.{table}{chosen}", None if jobs is None else list(jobs))

    kept = [spec.stored_name for spec in kept_views() if spec.stored_name in filled]
    joined = [spec for spec in joined_views() if case_table(spec) in filled]
    found = {name: rows(name, "case_job_id") for name in kept} | {"case_input": rows("case_input", "job_id")}
    return Results(found, {spec.stored_name: rows(case_table(spec), "case_job_id") for spec in joined})


@dataclass(frozen=True)
class Results:
    """Rows of the tables of results, and those that other views join to them."""

    rows: Mapping[str, pa.Table]
    joined: Mapping[str, pa.Table]

    def file_ids(self) -> tuple[int, ...]:
        """The files that results cite."""
        tables = (table for table in self.rows.values() if "file_id" in table.column_names)
        found = {file_id for table in tables for file_id in table["file_id"].unique().to_pylist()}
        return tuple(sorted(found - {None}))

    def fill(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Puts the rows into the tables, which are there; of joined ones those of cases outside the database."""
        connection.execute("delete from case_input")
        for table, rows in self.rows.items():
            _put(connection, table, rows, "select * from given")
        for table, rows in self.joined.items():
            _put(
                connection, table, rows,
                "select distinct * exclude (case_job_id) from given"
                f" where case_job_id not in (select job_id from case_scope) except from {table}",
            )  # fmt: skip


def _put(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table, select: str) -> None:
    if rows.num_rows:
        connection.register("given", rows)
        connection.execute(f"insert into {table} {select}")
        connection.unregister("given")
