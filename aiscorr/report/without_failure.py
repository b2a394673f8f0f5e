"""What a report says of jobs without a known failure: who stands apart in one that hangs, which logs there are."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from aiscorr.report.plain_records import all_of, plain_records

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class StandingApart:
    """Ranks whose stacks stand apart while others wait in a collective, in a job without a known failure."""

    job_id: str
    ranks: tuple[int, ...]
    is_still: bool
    is_moved: bool
    statement: str
    path: str
    line_no: int


@dataclass(frozen=True)
class CoveredJob:
    """A job without a failure whose logs are available."""

    job_id: str
    attempt: int
    rank_count: int
    world_size: int | None
    world_size_is: str
    started_at: datetime | None
    ended_at: datetime | None
    least_s: float | None
    end_reason: str | None


@dataclass(frozen=True)
class CoveredFault:
    """A fault of an AIStore node that a client may have felt, and the line that says so."""

    statement: str
    path: str | None
    line_no: int | None


@dataclass(frozen=True)
class Covered:
    """What logs are available where no failure was found; faults are AIStore's own that a client may have felt.

    `faults`: the heaviest of them, in order of time. `broken_request_count`: x-get-batch requests that broke, in
    `broken_chain_count` chains. `unknown_file_count`: files that were read and are no log in a known form.
    """

    jobs: tuple[CoveredJob, ...]
    node_ids: tuple[str, ...]
    fault_count: int
    worst_fault: str | None
    faults: tuple[CoveredFault, ...]
    broken_chain_count: int
    broken_request_count: int
    unknown_file_count: int


def standing_apart(connection: duckdb.DuckDBPyConnection) -> tuple[StandingApart, ...]:
    """Ranks that may hold up a job now, those first that stood there twice."""
    return all_of(connection, StandingApart, _APART)


def what_is_covered(connection: duckdb.DuckDBPyConnection) -> Covered:
    """What logs are available."""
    jobs = all_of(connection, CoveredJob, _COVERED_JOB)
    faults = all_of(connection, CoveredFault, _COVERED_FAULT)
    (seen,) = plain_records(connection, _COVERED_NODE)
    return Covered(jobs=jobs, faults=faults, **seen)


_COVERED_JOB = """
select job_id, attempt, rank_count, world_size,
    case when is_world_stated then 'stated' else 'at_least' end as world_size_is,
    started_at, ended_at, least_s, end_reason
from job order by started_at, job_id, attempt
"""
_FAULT_WORDS = """coalesce(n.role || ' ', '') || n.node_id || ' ' || k.broke_words
            || coalesce(strftime(n.started_at::timestamp, ' on %Y-%m-%d ') || n.moment_words,
                strftime(n.started_at::timestamp, ' at %Y-%m-%d %H:%M:%S UTC'))"""
_COVERED_NODE = f"""
select
    coalesce((select list(distinct node_id order by node_id) from node where has_log), []) as node_ids,
    (select count(*) from node_fault where weight >= 0.5)::integer as fault_count,
    (
        select arg_max({_FAULT_WORDS}, (n.weight, -n.started_ns, n.node_id))
        from node_fault as n join fault_kind as k on k.fault_kind = n.fault_kind where n.weight >= 0.5
    ) as worst_fault,
    (select count(*) from get_batch_chain where wid_count > 0)::integer as broken_chain_count,
    (select coalesce(sum(wid_count), 0) from get_batch_chain)::integer as broken_request_count,
    (select count(*) from ingested_file where state = 'unknown')::integer as unknown_file_count
"""
_COVERED_FAULT = f"""
select statement, path, line_no
from (
    select {_FAULT_WORDS} as statement,
        i.path, n.line_no, n.started_ns, n.node_id, n.weight
    from node_fault as n
    join fault_kind as k on k.fault_kind = n.fault_kind
    left join ingested_file as i on i.file_id = n.file_id
    where n.weight >= 0.5
    order by n.weight desc, n.started_ns, n.node_id, k.fault_kind limit 8
)
order by started_ns, node_id, statement
"""
_APART = """
select job_id, ranks, is_still, is_moved, statement, path, line_no
from standing_apart
order by is_still desc, is_moved, job_id, class_no
"""
