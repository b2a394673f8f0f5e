"""Takes rows out of the stored tables by age, and notes of each file what went.

Says nothing of what may go: it is given, for each cluster, the stretches of time without a failure, and the files whose
rows are to go all. Views of the database turn a file's own clock into UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from aiscorr.schema.retention import ROW_REMOVAL
from aiscorr.schema.tables import FILE_TABLES, REJECTED_LINE

if TYPE_CHECKING:
    import duckdb

#: From, and up to but without, nanoseconds since 1970, UTC.
Stretch = tuple[int, int]
#: The cluster of stretches that are free of failures in every cluster.
EVERYWHERE = "*"
BEGINNING = -4_000_000_000_000_000_000
#: The first and last line of each run of a daemon: they date its coming and going.
_EDGE = """exists (select 1 from run_edge as e
    where e.cluster = s.cluster and e.node_id = s.node_id and e.utc_ns = t.local_ns - s.shift_ns)"""
#: Rows of ais_line that tell who a node is and when it came and went; they are few, and later ones build on them.
_LASTING = f"""coalesce(t.severity is null or t.smap_version is not null or t.smap_uuid is not null
    or t.pattern in (select p.pattern from pattern as p where p.node_effect is not null) or {_EDGE}, false)"""
_NEWEST = """(t.sampled_ns, t.file_id, t.line_no) in (
    select max((n.sampled_ns, n.file_id, n.line_no)) from node_snapshot as n group by n.cluster, n.node_id)"""
#: By kind: table, its column of time, whether that is the file's own clock, and what of it stays.
_AGED: dict[str, tuple[tuple[str, str, bool, str], ...]] = {
    "counters": (
        ("counter_sample", "t.local_ns", True, "false"),
        ("node_snapshot_counter", "n.sampled_ns", False, "false"),
    ),
    "events": (
        ("ais_line", "t.local_ns", True, _LASTING),
        ("stats_line", "t.local_ns", True, _EDGE),
        ("node_snapshot", "t.sampled_ns", False, _NEWEST),
        ("pull_miss", "t.tried_ns", False, "false"),
    ),
}
_STAYING = (REJECTED_LINE, ROW_REMOVAL)


def mark_stretches(connection: duckdb.DuckDBPyConnection, stretches: Mapping[str, Iterable[Stretch]]) -> None:
    """Finds the files that stretches of time reach into, by their own clocks."""
    connection.execute("create or replace temporary table stretch (cluster varchar, low_ns bigint, high_ns bigint)")
    rows = [(cluster, low, high) for cluster, found in stretches.items() for low, high in found]
    if rows:
        columns = [list(column) for column in zip(*rows, strict=True)]
        connection.execute("insert into stretch select unnest(?), unnest(?), unnest(?)", columns)
    connection.execute(
        "create or replace temporary table run_edge as"
        " select cluster, node_id, unnest([first_ns, last_ns]) as utc_ns from node_process"
    )
    connection.execute(
        "create or replace temporary table file_stretch as"
        " select f.file_id, a.cluster, a.node_id, k.shift_ns,"
        "  s.low_ns + k.shift_ns as low_ns, s.high_ns + k.shift_ns as high_ns,"
        "  greatest(s.low_ns + k.shift_ns, f.first_ns) as first_ns,"
        "  least(s.high_ns + k.shift_ns, f.last_ns + 1) as end_ns"
        " from stretch as s join ais_file as a on a.cluster = s.cluster"
        " join ingested_file as f on f.file_id = a.file_id join clock as k on k.file_id = a.file_id"
        " where f.first_ns < s.high_ns + k.shift_ns and f.last_ns >= s.low_ns + k.shift_ns"
    )


def mark_files(connection: duckdb.DuckDBPyConnection, file_ids: Iterable[int]) -> None:
    """Notes the files all of whose rows are to go."""
    sql = "create or replace temporary table old_file as select unnest(?::integer[]) as file_id"
    connection.execute(sql, [[*file_ids]])


def removable_count(connection: duckdb.DuckDBPyConnection, kind: str) -> int:
    """How many rows of a kind lie in the stretches that are marked."""
    counts = (f"select count(*) as n from {row[0]} as t, {_found(row)}" for row in _AGED[kind])
    return int(connection.execute(f"select sum(n) from ({' union all '.join(counts)})").fetchall()[0][0])


def whole_count(connection: duckdb.DuckDBPyConnection) -> int:
    """How many rows the files have whose rows are to go all."""
    names = (table.name for table in FILE_TABLES if table not in _STAYING)
    counts = (f"select count(*) as n from {name} semi join old_file using (file_id)" for name in names)
    return int(connection.execute(f"select sum(n) from ({' union all '.join(counts)})").fetchall()[0][0])


def remove_aged(connection: duckdb.DuckDBPyConnection, kind: str, now: datetime) -> tuple[int, int]:
    """Removes the rows of a kind that lie in the marked stretches; how many, and of how many files."""
    _begin(connection)
    for row in _AGED[kind]:
        name, _, is_local, _ = row
        span = "s.first_ns, s.end_ns" if is_local else "null, null"
        found = _found(row)
        connection.execute(
            f"insert into gone select t.file_id, '{name}', {span}, count(*) from {name} as t, {found} group by all"
        )
        connection.execute(f"delete from {name} as t using {found}")
    return _note(connection, now)


def remove_whole(connection: duckdb.DuckDBPyConnection, now: datetime) -> tuple[int, int]:
    """Removes all rows of the marked files but what was rejected; how many, and of how many files."""
    _begin(connection)
    for table in FILE_TABLES:
        if table in _STAYING:
            continue
        connection.execute(
            f"insert into gone select file_id, '{table.name}', null, null, count(*) from {table.name}"
            " semi join old_file using (file_id) group by file_id"
        )
        connection.execute(f"delete from {table.name} where file_id in (select file_id from old_file)")
    return _note(connection, now)


def _found(row: tuple[str, str, bool, str]) -> str:
    """What is joined to a table, and on what condition, to have its rows that lie in a stretch and do not stay."""
    _, moment, is_local, staying = row
    inside = f"{moment} >= s.low_ns and {moment} < s.high_ns and not {staying}"
    if is_local:
        return f"file_stretch as s where s.file_id = t.file_id and {inside}"
    if moment.startswith("n."):
        same = "n.file_id = t.file_id and n.line_no = t.line_no and n.node_id = t.node_id"
        return f"node_snapshot as n, stretch as s where {same} and s.cluster = '{EVERYWHERE}' and {inside}"
    return f"stretch as s where s.cluster = '{EVERYWHERE}' and {inside}"


def _begin(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(
        "create or replace temporary table gone"
        " (file_id integer, table_name varchar, low_ns bigint, high_ns bigint, row_count bigint)"
    )


def _note(connection: duckdb.DuckDBPyConnection, now: datetime) -> tuple[int, int]:
    """Adds what is gone to row_removal, one span where it goes on from before, and marks the tables as changed."""
    connection.execute("delete from gone where row_count = 0")
    connection.execute(
        "create or replace temporary table joined as"
        " select g.file_id, g.table_name, least(g.low_ns, min(r.low_ns)) as low_ns,"
        "  greatest(g.high_ns, max(r.high_ns)) as high_ns, g.row_count + coalesce(sum(r.row_count), 0) as row_count,"
        "  list(r.rowid) filter (where r.rowid is not null) as old_rows"
        " from gone as g left join row_removal as r on r.file_id = g.file_id and r.table_name = g.table_name"
        "  and (g.low_ns is null or r.low_ns is null or (r.low_ns <= g.high_ns and r.high_ns >= g.low_ns))"
        " group by g.file_id, g.table_name, g.low_ns, g.high_ns, g.row_count"
    )
    connection.execute("delete from row_removal where rowid in (select unnest(old_rows) from joined)")
    connection.execute(
        "insert into row_removal select file_id, table_name, low_ns, high_ns, row_count, ?::timestamp from joined",
        [now.astimezone(UTC).replace(tzinfo=None)],
    )
    connection.execute(
        "insert into changed_table select distinct table_name from gone union all"
        f" select '{ROW_REMOVAL.name}' where exists (select 1 from gone)"
    )
    counted = connection.execute("select coalesce(sum(row_count), 0), count(distinct file_id) from gone").fetchall()[0]
    return int(counted[0]), int(counted[1])
