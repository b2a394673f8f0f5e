"""What a report says of jobs without a known failure: who stands apart in one that hangs, and what was looked at."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


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
    """A job without a failure whose logs are at hand."""

    job_id: str
    attempt: int
    rank_count: int
    world_size: int | None
    started_at: datetime | None
    ended_at: datetime | None
    end_reason: str | None


@dataclass(frozen=True)
class CoveredFault:
    """A fault of an AIStore node that a client may have felt, and the line that says so."""

    statement: str
    path: str | None
    line_no: int | None


@dataclass(frozen=True)
class Covered:
    """What logs are at hand where no failure was found; faults are AIStore's own that a client may have felt.

    `faults`: the heaviest of them, in order of time. `broken_request_count`: x-get-batch requests that broke, in
    `broken_chain_count` chains.
    """

    jobs: tuple[CoveredJob, ...]
    node_ids: tuple[str, ...]
    fault_count: int
    worst_fault: str | None
    faults: tuple[CoveredFault, ...]
    broken_chain_count: int
    broken_request_count: int
