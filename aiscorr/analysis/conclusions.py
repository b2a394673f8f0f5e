"""What the analysis concluded, kept: ids of failures stay the same, and changes of mind are remembered."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb


def name_failures(connection: duckdb.DuckDBPyConnection) -> None:
    """Keeps the id of every failure seen for the first time."""
    connection.execute(
        "insert into failure_name select job_id, attempt, failure_id from failure as f"
        " where not exists (select 1 from failure_name as n where n.job_id = f.job_id and n.attempt = f.attempt)"
    )


def keep_conclusions(connection: duckdb.DuckDBPyConnection, run_id: int, now: datetime) -> None:
    """Adds what is concluded now, where it differs from what was concluded last."""
    connection.execute(
        "insert into conclusion"
        " select ?, n.failure_id, ?::timestamp, n.field, n.value, n.new_files"
        " from current_conclusion as n"
        " left join ("
        "   select failure_id, field, arg_max(value, run_id) as value from conclusion group by failure_id, field"
        " ) as o"
        " on o.failure_id = n.failure_id and o.field = n.field"
        " where o.value is distinct from n.value",
        [run_id, now.astimezone(UTC).replace(tzinfo=None)],
    )


def newest_first(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    """(failure_id, job_id) of all failures in the order of reports: the first is the one that is meant by `latest`."""
    statement = "select failure_id, job_id from failure order by ended_at desc nulls last, failure_id desc"
    return [(str(row[0]), str(row[1])) for row in connection.execute(statement).fetchall()]


def changed_failures(connection: duckdb.DuckDBPyConnection, run_id: int) -> tuple[tuple[str, str, str, str], ...]:
    """(failure_id, failure_class, storage_verdict, statement) of failures that a run found or concluded again."""
    rows = connection.execute(
        "select failure_id, failure_class, storage_verdict, statement from failure"
        " where failure_id in (select failure_id from conclusion where run_id = ?)"
        " order by ended_at desc nulls last, failure_id",
        [run_id],
    ).fetchall()
    return tuple((str(row[0]), str(row[1]), str(row[2]), str(row[3])) for row in rows)
