"""What the failures of a time have in common: counts by what they are counted under, trouble that came back, times.

The figures are those of the named queries `share`, `overview` and `recurring`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from aiscorr.query.named import named_queries
from aiscorr.store.records import records

if TYPE_CHECKING:
    import duckdb

#: What failures are counted by, in the order of the report.
FACETS = ("class", "node", "mountpath", "bucket", "host", "job")


@dataclass(frozen=True)
class Group:
    """Failures with the same class, node and so on: how many, what is said of storage, and what they cost."""

    facet: str
    value: str
    failure_count: int
    guilty_count: int
    innocent_count: int
    undetermined_count: int
    lost_rank_hours: float
    last_at: datetime
    last_failure_id: str


@dataclass(frozen=True)
class Repeat:
    """A node that had the same kind of trouble several times, before failures or in chains of broken batches."""

    cluster: str
    node_id: str
    beginning: str
    times: int
    chain_count: int
    broken_request_count: int
    failure_count: int
    failure_ids: tuple[str, ...]
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True)
class Overview:
    """The failures of a time in numbers. Ratios are of all failures, or of those with a verdict on storage.

    `mean_until_hang_s`: from the first sign of storage to the hang, of the `timed_count` failures that have both.
    `undated_count` failures have no known time, and belong to none.
    """

    since: datetime
    until: datetime
    failure_count: int = 0
    guilty_count: int = 0
    innocent_count: int = 0
    undetermined_count: int = 0
    guilty_ratio: float | None = None
    guilty_of_determined_ratio: float | None = None
    lost_rank_hours: float = 0.0
    guilty_lost_rank_hours: float = 0.0
    mean_until_hang_s: float | None = None
    median_until_hang_s: float | None = None
    timed_count: int = 0
    earlier_count: int = 0
    undated_count: int = 0
    groups: tuple[Group, ...] = ()
    recurring: tuple[Repeat, ...] = ()

    def groups_of(self, facet: str) -> tuple[Group, ...]:
        """The groups of one facet, the one with most failures first."""
        return tuple(group for group in self.groups if group.facet == facet)


def read_overview(connection: duckdb.DuckDBPyConnection, since: datetime, now: datetime) -> Overview:
    """The numbers of the failures from `since` on; one that a clock puts ahead of `now` counts too."""
    share = _rows(connection, "share", since)
    groups = (Group(**row) for row in _rows(connection, "overview", since))
    recurring = (
        Repeat(**{**row, "failure_ids": tuple(row["failure_ids"])}) for row in _rows(connection, "recurring", since)
    )
    earlier, undated = connection.execute(
        "select (count(*) filter (where failed_at < ?::timestamp))::integer,"
        " (count(*) filter (where failed_at is null))::integer from failure_facet where facet = 'verdict'",
        [_shown(since)],
    ).fetchall()[0]
    counts = share[0] if share else {}
    return Overview(
        since, now, **counts, earlier_count=earlier, undated_count=undated, groups=tuple(groups),
        recurring=tuple(recurring),
    )  # fmt: skip


def failures_since(connection: duckdb.DuckDBPyConnection, since: datetime) -> set[str]:
    """The ids of the failures from then on."""
    rows = connection.execute(
        "select failure_id from failure_facet where facet = 'verdict' and failed_at >= ?::timestamp", [_shown(since)]
    ).fetchall()
    return {str(row[0]) for row in rows}


def _rows(connection: duckdb.DuckDBPyConnection, name: str, since: datetime) -> list[dict[str, Any]]:
    query = named_queries()[name]
    values: dict[str, str | None] = dict.fromkeys(query.parameters)
    return records(connection, query.sql, {**values, "since": _shown(since)})


def _shown(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ")
