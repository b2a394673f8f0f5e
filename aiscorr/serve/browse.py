"""Which failures are asked for, in which order, and how many more each facet would leave: what lists are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from aiscorr.errors import UsageError
from aiscorr.report.document import to_json
from aiscorr.report.period import moment_since
from aiscorr.store.records import records

if TYPE_CHECKING:
    import duckdb

A_PAGE, MOST_FAILURES = 100, 1000
#: What failures can be narrowed by, in the order in which pages show it.
FACETS = ("verdict", "class", "node", "mountpath", "bucket", "host", "job", "cluster", "week")
#: What lists can be sorted by; a `-` before the name turns the order round.
ORDERS = {
    "when": "failed_at", "verdict": "storage_verdict", "confidence": "confidence", "class": "failure_class",
    "job": "job_id", "statement": "statement",
}  # fmt: skip
NEWEST = "-when"
_MOST_VALUES = 60

_BASE = """
with wanted as (
    select unnest($facets::varchar[]) as facet, unnest($values::varchar[]) as value
),
said as (
    select failure_id from failure
    where contains(lower(statement), lower($text)) or contains(lower(failure_id), lower($text))
    union
    select failure_id from timeline where contains(lower(text), lower($text))
    union
    select failure_id from evidence where contains(lower(text), lower($text)) or contains(lower(why), lower($text))
),
base as (
    select f.*, coalesce(f.ended_at, f.first_error_at, f.hang_started_at) as failed_at
    from failure as f
    where ($text is null or f.failure_id in (from said))
        and ($since is null or coalesce(f.ended_at, f.first_error_at, f.hang_started_at) >= make_timestamp_ns($since))
),
missed as (
    select b.failure_id, w.facet
    from base as b
    cross join wanted as w
    where not exists (
        from failure_facet as x where x.failure_id = b.failure_id and x.facet = w.facet and x.value = w.value
    )
)
"""
_FAILURES = """
select failure_id, job_id, attempt, cluster, failure_class, failure_kind, storage_verdict, confidence, statement,
    culprit_ranks, hang_started_at, first_error_at, ended_at, count(*) over () as total
from base
where failure_id not in (select failure_id from missed)
order by {order}, failed_at desc nulls last, failure_id desc
limit $limit offset $offset
"""
_VALUES = """
select x.facet, x.value, count(*)::integer as failure_count, max(x.failed_at) as last_at
from base as b
join failure_facet as x on x.failure_id = b.failure_id
where not exists (from missed as m where m.failure_id = b.failure_id and m.facet <> x.facet)
group by x.facet, x.value
qualify row_number() over (partition by x.facet order by count(*) desc, x.value) <= {most}
    or (x.facet, x.value) in (from wanted)
order by x.facet, if(x.facet = 'week', x.value, null) desc, failure_count desc, x.value
"""
_ALIKE = """
select x.facet, x.value, count(y.failure_id)::integer as failure_count
from failure_facet as x
join failure_facet as y on y.facet = x.facet and y.value = x.value
where x.failure_id = $id
group by x.facet, x.value
order by failure_count desc, x.value
"""


@dataclass(frozen=True)
class FailureFilter:
    """Which failures are asked for. `since`: a day, a moment in UTC, or how long ago, such as 7d.

    `text` is looked for in statements, timelines and the lines that are evidence.
    """

    facets: Mapping[str, str] = field(default_factory=dict)
    since: str | None = None
    text: str | None = None
    order: str = NEWEST
    limit: int = A_PAGE
    offset: int = 0

    def narrowed(self, facet: str, value: str | None) -> FailureFilter:
        """The same with one facet as given, or without it, from the first failure on."""
        facets = {name: kept for name, kept in self.facets.items() if name != facet}
        return replace(self, facets=facets if value is None else {**facets, facet: value}, offset=0)

    @property
    def parameters(self) -> dict[str, str]:
        """The filter as parameters of an address, what is usual left out."""
        given = {**self.facets, "since": self.since or "", "q": self.text or ""}
        given["sort"] = "" if self.order == NEWEST else self.order
        given["limit"] = "" if self.limit == A_PAGE else str(self.limit)
        given["offset"] = str(self.offset or "")
        return {name: value for name, value in given.items() if value}


@dataclass(frozen=True)
class FailureList:
    """Failures as JSON values, in the order that was asked for, and how many there are in all."""

    total: int
    failures: list[dict[str, Any]]


@dataclass(frozen=True)
class FacetValue:
    """A value of a facet, and how many failures are left with it and with all that is chosen of other facets."""

    facet: str
    value: str
    failure_count: int


def list_failures(
    connection: duckdb.DuckDBPyConnection, wanted: FailureFilter, now: datetime | None = None
) -> FailureList:
    """The failures that fit. Raises UsageError for a facet, a time, an order or a number that is none."""
    if not 0 <= wanted.limit <= MOST_FAILURES or wanted.offset < 0:
        raise UsageError(
            f"'limit' is 0 to {MOST_FAILURES} and 'offset' 0 or more", where="failures", try_this="correct it"
        )
    sql = _BASE + _FAILURES.replace("{order}", _order(wanted.order))
    values = _values(wanted, now) | {"limit": wanted.limit, "offset": wanted.offset}
    rows = json_records(connection, sql, values)
    total = rows[0]["total"] if rows else 0
    if not rows and (wanted.offset or not wanted.limit):
        first = json_records(connection, sql, {**values, "limit": 1, "offset": 0})
        total = first[0]["total"] if first else 0
    return FailureList(total, [{name: row[name] for name in row if name != "total"} for row in rows])


def facet_values(
    connection: duckdb.DuckDBPyConnection, wanted: FailureFilter, now: datetime | None = None
) -> dict[str, list[FacetValue]]:
    """For each facet its values, those with most failures first, weeks in order of time."""
    rows = records(connection, _BASE + _VALUES.replace("{most}", str(_MOST_VALUES)), _values(wanted, now))
    found: dict[str, list[FacetValue]] = {facet: [] for facet in FACETS}
    for row in rows:
        found[row["facet"]].append(FacetValue(row["facet"], row["value"], row["failure_count"]))
    return found


def alike(connection: duckdb.DuckDBPyConnection, failure_id: str) -> list[FacetValue]:
    """What a failure is counted under, with how many failures share it, itself included."""
    return [FacetValue(**row) for row in records(connection, _ALIKE, {"id": failure_id})]


def json_records(connection: duckdb.DuckDBPyConnection, sql: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows as JSON values, by the names of their columns."""
    return [{name: to_json(value) for name, value in row.items()} for row in records(connection, sql, values)]


def _values(wanted: FailureFilter, now: datetime | None) -> dict[str, Any]:
    unknown = sorted(set(wanted.facets) - set(FACETS))
    if unknown:
        raise UsageError(f"unknown filter {unknown[0]!r}", where="failures", try_this=", ".join(FACETS))
    since = moment_since(wanted.since, now or datetime.now(UTC), "since") if wanted.since else None
    return {
        "facets": list(wanted.facets), "values": list(wanted.facets.values()), "text": wanted.text or None,
        "since": None if since is None else int(since.timestamp() * 1e6) * 1000,
    }  # fmt: skip


def _order(order: str) -> str:
    column = ORDERS.get(order.removeprefix("-"))
    if column is None:
        raise UsageError(f"failures cannot be sorted by {order!r}", where="sort", try_this=", ".join(ORDERS))
    return f"{column} {'desc' if order.startswith('-') else 'asc'} nulls last"
