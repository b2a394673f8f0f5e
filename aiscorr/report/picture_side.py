"""What the page of a failure shows beyond the text: recurrence, spans and readings on one time axis, stacks, traces.

Moments are UTC. A span or an event whose moment is not known lies between two moments.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from aiscorr.report.plain_records import all_of, plain_records

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Recurrence:
    """A node, host or kind of failure that failed jobs before; 3 is the third within `span_days`."""

    subject_kind: str
    subject: str
    occurrence_no: int
    span_days: int
    first_failure_id: str
    last_failure_id: str


@dataclass(frozen=True)
class NodeSpan:
    """A span of an AIStore node: `kind` is up (its log covers it), down, rebalancing or alert; `state` says it finer.

    It began between `from_` and `from_latest`; is_cut: no line shows its end.
    """

    node_id: str
    role: str | None
    host: str | None
    kind: str
    state: str
    from_: datetime
    from_latest: datetime
    to: datetime
    is_cut: bool
    text: str
    path: str | None
    line_no: int | None


@dataclass(frozen=True)
class Reading:
    """How much a counter of a node grew between two statistics lines."""

    counter: str
    node_id: str
    from_: datetime
    to: datetime
    delta: int
    is_error: bool
    meaning: str | None
    path: str | None
    line_no: int | None


@dataclass(frozen=True)
class Bounds:
    """Between which moments a line without a time of its own was written."""

    path: str
    line_no: int
    from_: datetime
    to: datetime


@dataclass(frozen=True)
class Picture:
    """What lies on the time axis of a failure's page, from before its window to after it."""

    from_: datetime
    to: datetime
    node_spans: tuple[NodeSpan, ...]
    readings: tuple[Reading, ...]
    bounds: tuple[Bounds, ...]


@dataclass(frozen=True)
class StackBranch:
    """A run of calls that the same ranks were in when stacks were last taken; `indent` says how many lie outside."""

    indent: int
    rank_count: int
    ranks: tuple[int, ...]
    first_call: str
    last_call: str
    call_count: int
    activity: str | None
    path: str
    line_no: int


@dataclass(frozen=True)
class Traceback:
    """A culprit's own traceback, from its first line to the line of its error; `lines` as read in the file."""

    rank: int
    path: str
    line_no: int
    last_line_no: int
    lines: tuple[str, ...] = ()


def picture_side(connection: duckdb.DuckDBPyConnection, failure_id: str) -> dict[str, Any]:
    """The fields of a failure's report that this file describes."""
    return {
        "recurrence": all_of(connection, Recurrence, _RECURRENCE, failure_id),
        "picture": _picture(connection, failure_id),
        "stacks": all_of(connection, StackBranch, _STACK, failure_id),
        "tracebacks": all_of(connection, Traceback, _TRACEBACK, failure_id),
    }


def _picture(connection: duckdb.DuckDBPyConnection, failure_id: str) -> Picture | None:
    edges = plain_records(connection, f"with {_EXTENT} select from_at, to_at from extent", failure_id)[0]
    if edges["from_at"] is None or edges["to_at"] is None:
        return None
    return Picture(
        edges["from_at"],
        edges["to_at"],
        all_of(connection, NodeSpan, _NODE_SPAN, failure_id),
        all_of(connection, Reading, _READING, failure_id),
        all_of(connection, Bounds, _BOUNDS, failure_id),
    )


#: As much time before and after the window as it is long, between half a minute and a quarter of an hour.
_EXTENT = """
edge as (
    select failure_id, job_id, attempt,
        coalesce(window_started_at, hang_started_at, first_error_at, ended_at) as low_at,
        coalesce(window_ended_at, ended_at, first_error_at, hang_started_at) as high_at
    from failure where failure_id = $id
),
extent as (
    select failure_id, job_id, attempt,
        low_at - to_milliseconds(least(greatest(epoch_ms(high_at) - epoch_ms(low_at), 30000), 900000)) as from_at,
        high_at + to_milliseconds(least(greatest(epoch_ms(high_at) - epoch_ms(low_at), 30000), 900000) // 2) as to_at
    from edge
)
"""
_RECURRENCE = """
select subject_kind, subject, occurrence_no, span_days, first_failure_id, last_failure_id
from recurrence where failure_id = $id
order by case subject_kind when 'node' then 1 when 'host' then 2 else 3 end, occurrence_no desc, subject
"""
_NODE_SPAN = f"""
with {_EXTENT},
used as (
    select e.from_at, e.to_at, c.cluster
    from extent as e join job_cluster as c on c.job_id = e.job_id and c.attempt = e.attempt
),
span as (
    select u.from_at, u.to_at, n.cluster, n.node_id, 'up' as kind, 'its log covers this time' as state,
        n.started_at as began_at, n.started_at as latest_at, n.ended_at as over_at, false as is_cut,
        '' as text, n.file_id, n.line_no
    from used as u join node_coverage as n on n.cluster = u.cluster
    union all
    select u.from_at, u.to_at, s.cluster, s.subject as node_id,
        case
            when s.state in ('killed', 'crashed', 'hung', 'down', 'stopped', 'isolated', 'maintenance') then 'down'
            when s.state in ('rebalance', 'resilver') then 'rebalancing' else 'alert'
        end as kind,
        replace(s.state, '_', ' ') as state, coalesce(s.begin_min_at, s.begin_max_at) as began_at,
        s.begin_max_at as latest_at, coalesce(s.end_max_at, s.end_min_at, s.begin_max_at) as over_at, s.is_cut,
        s.text, s.file_id, s.line_no
    from used as u join episode as s on s.cluster = u.cluster and s.subject_kind = 'node'
)
select s.node_id, n.role, n.host, s.kind, s.state, s.began_at as from_,
    greatest(s.latest_at, s.began_at) as from_latest, greatest(s.over_at, s.began_at) as "to", s.is_cut,
    coalesce(s.text, '') as text, i.path, s.line_no
from span as s
left join node as n on n.cluster = s.cluster and n.node_id = s.node_id
left join ingested_file as i on i.file_id = s.file_id
where s.began_at <= s.to_at and s.over_at >= s.from_at
order by s.node_id, s.began_at, s.kind, s.state
"""
#: Counters that say something, those of errors first, each of the few nodes where it grew most.
_READING = f"""
with {_EXTENT},
ranked as (
    select d.counter, d.node_id, d.is_error, d.meaning,
        row_number() over (
            partition by d.counter
            order by n.node_id is null, d.inside + d.before + d.after desc, d.node_id
        ) as node_no,
        max(d.inside) over (partition by d.counter) as most
    from failure_counter_delta as d
    left join failure_node as n on n.failure_id = d.failure_id and n.node_id = d.node_id
    where d.failure_id = $id and (
        (d.is_error and d.before + d.inside + d.after > 0)
        or (d.counter in ('get.n', 'getbatch.n')
            and exists (select 1 from failure_node where failure_id = $id))
    )
),
chosen as (
    select *, dense_rank() over (order by is_error desc, most desc, counter) as counter_no
    from ranked where node_no <= 4
)
select d.counter, d.node_id, d.previous_at as from_, d.sampled_at as "to", d.delta, c.is_error, c.meaning, i.path,
    d.line_no
from extent as e
join job_cluster as j on j.job_id = e.job_id and j.attempt = e.attempt
join counter_delta as d on d.cluster = j.cluster and d.sampled_at > e.from_at and d.previous_at < e.to_at
join chosen as c on c.counter = d.counter and c.node_id = d.node_id and c.counter_no <= 8
left join ingested_file as i on i.file_id = d.file_id
where d.delta is not null and d.previous_at is not null
order by c.counter_no, c.node_no, d.sampled_at
"""
_BOUNDS = """
select distinct t.path, t.line_no, w.event_at as from_, w.latest_at as "to"
from timeline as t
join worker_event as w on w.file_id = t.file_id and w.line_no = t.line_no
where t.failure_id = $id and not t.is_exact and t.weight < 3 and w.latest_at > w.event_at
order by t.path, t.line_no, w.event_at, w.latest_at
"""
_STACK = """
select s.indent, s.rank_count, s.ranks, s.first_call, s.last_call, s.call_count, s.activity, i.path, s.line_no
from failure as f
join stack_tree as s on s.job_id = f.job_id
join ingested_file as i on i.file_id = s.file_id
where f.failure_id = $id order by s.position
"""
_TRACEBACK = """
with block as (
    select w.rank, w.file_id, w.block_line_no, max(w.line_no) as last_line_no, min(w.utc_ns) as utc_ns,
        bool_or(e.line_no is not null) as is_cited, bool_or(coalesce(w.is_uncaught, false)) as is_uncaught
    from failure as f
    join worker_event as w on w.job_id = f.job_id and w.attempt = f.attempt
    left join evidence as e on e.failure_id = f.failure_id and e.place = 1 and e.kind = 'supports'
        and e.file_id = w.file_id and e.line_no = w.line_no
    where f.failure_id = $id and w.block_line_no < w.line_no and w.exception is not null
        and list_contains(f.culprit_ranks, w.rank)
    group by w.rank, w.file_id, w.block_line_no
)
select b.rank, i.path, b.block_line_no as line_no, b.last_line_no
from block as b
join ingested_file as i on i.file_id = b.file_id
where b.is_cited or b.is_uncaught
order by b.is_cited desc, b.is_uncaught desc, b.utc_ns, b.rank, b.block_line_no limit 2
"""
