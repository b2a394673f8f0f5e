"""The tables of a lake: those of a database file, with what they are partitioned by, and what is kept of cases.

A lake holds the rows that were read, and what judging gave. What lies between (clocks, intervals of counters) is
computed again from a pulled slice; of the views among it that other views join to results, the rows that concern a case
are kept with it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from aiscorr.analysis.spec import ViewSpec, view_specs
from aiscorr.schema.analysis import CASE_INPUT, CONCLUSION, FAILURE_NAME
from aiscorr.schema.retention import RETENTION_LOG
from aiscorr.schema.tables import FILE_TABLES, INGEST_LOG, INGESTED_FILE, PATTERN_INFO, Table

if TYPE_CHECKING:
    import duckdb

#: Of the tables of a lake; another number is another shape.
LAKE_VERSION = "1"
#: The catalogue's name in a connection.
LAKE = "lake"
#: Columns that only the lake has; partitions are of the first two.
CLUSTER, DAY = "lake_cluster", "lake_day"
#: Pulled and written whole: they have few rows.
WHOLE_TABLES: tuple[Table, ...] = (INGEST_LOG, FAILURE_NAME, CONCLUSION, RETENTION_LOG, PATTERN_INFO)
#: Notes on the lake itself: its version, what views its results are of, what its patterns are of.
NOTES = "lake_note"
#: The job, time and clusters of a judged case.
CASES = "lake_case"
#: Addresses of storage nodes, by cluster.
ENDPOINTS = "lake_endpoint"
#: One row, which every commit changes: of two at a time DuckLake lets one be.
TURN = "lake_turn"


@lru_cache(maxsize=1)
def kept_views() -> tuple[ViewSpec, ...]:
    """The views whose rows judging gives."""
    return tuple(spec for spec in view_specs() if spec.is_kept)


@lru_cache(maxsize=1)
def joined_views() -> tuple[ViewSpec, ...]:
    """The computed views of the database that other views join to results."""
    by_name = {spec.name: spec for spec in view_specs()}
    late = {spec.name for spec in view_specs() if spec.is_case}
    wanted: dict[str, ViewSpec] = {}
    for spec in view_specs():
        if spec.is_case or late.isdisjoint(spec.reads):
            continue
        late.add(spec.name)
        found = (by_name[name] for name in spec.reads if name in by_name and name not in late)
        wanted.update({one.name: one for one in found if one.is_stored and not one.path.endswith(".csv")})
    return tuple(wanted.values())


def case_table(spec: ViewSpec) -> str:
    """The lake's table for rows of a view that concern a case."""
    return f"case_{spec.name}"


def make_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Makes the tables that do not depend on views, in the caller's transaction."""
    connection.execute(f"create table {LAKE}.{NOTES} (name varchar, value varchar)")
    connection.execute(f"create table {LAKE}.{TURN} (turn bigint)")
    connection.execute(f"insert into {LAKE}.{TURN} values (0)")
    connection.execute(
        f"create table {LAKE}.{CASES} (job_id varchar, since_ns bigint, until_ns bigint, counters_since_ns bigint,"
        " counters_until_ns bigint, clusters varchar[], file_ids integer[])"
    )
    connection.execute(f"create table {LAKE}.{ENDPOINTS} (cluster varchar, endpoint varchar)")
    _make(connection, INGESTED_FILE, f", shift_ns bigint, {CLUSTER} varchar, {DAY} date")
    for table in FILE_TABLES:
        _make(connection, table, f", {CLUSTER} varchar, {DAY} date")
        connection.execute(f"alter table {LAKE}.{table.name} set partitioned by ({CLUSTER}, {DAY})")
    for table in (*WHOLE_TABLES, CASE_INPUT):
        _make(connection, table)


def _make(connection: duckdb.DuckDBPyConnection, table: Table, more: str = "") -> None:
    columns = ", ".join(f"{column.name} {column.type}" for column in table.columns)
    connection.execute(f"create table {LAKE}.{table.name} ({columns}{more})")
    said = table.sentence.replace("'", "''")
    connection.execute(f"comment on table {LAKE}.{table.name} is '{said}'")
