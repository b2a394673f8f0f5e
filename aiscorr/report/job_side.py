"""What a report says of the training side: the job, the collective its ranks waited in, each rank, its worker logs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


def world_words(world_size: int, world_size_is: str) -> str:
    """A world size; that it is the least one where ranks were only seen: there may be more."""
    return str(world_size) if world_size_is == "stated" else f"at least {world_size}"


@dataclass(frozen=True)
class JobDetails:
    """What the job trained, where and on which data, by its log; `world_size_is` stated or at_least."""

    framework: str | None
    task: str | None
    resumed_from: str | None
    world_size: int | None
    world_size_is: str
    rank_count: int
    node_count: int | None
    ranks_per_node: int | None
    data_source: str | None
    started_at: datetime | None
    ended_at: datetime | None
    least_s: float | None
    end_reason: str | None
    hosts: tuple[str, ...]
    attempt: int
    torch_release: str | None

    @property
    def world(self) -> str:
        """The world size as far as it is known."""
        return "not said" if self.world_size is None else world_words(self.world_size, self.world_size_is)


@dataclass(frozen=True)
class Collective:
    """The collective the ranks waited in; sizes in elements, times in milliseconds."""

    process_group: str | None
    seq_num: int | None
    op_type: str | None
    numel_in: int | None
    numel_out: int | None
    timeout_ms: int | None
    ran_for_ms: int | None
    user_location: str | None


@dataclass(frozen=True)
class RankLine:
    """A rank in the failure."""

    rank: int
    role: str
    host: str | None
    last_enqueued: int | None
    last_completed: int | None
    activity: str
    activity_detail: str
    last_seen_at: datetime | None
    path: str | None
    line_no: int | None


@dataclass(frozen=True)
class TriageLine:
    """A message of the worker logs: how often, on which ranks, in how many files."""

    tier: str
    pattern: str
    title: str | None
    role: str
    line_count: int
    ranks: tuple[int, ...]
    file_count: int
    top_retry: int | None
    retry_limit: int | None
    path: str
    line_no: int


@dataclass(frozen=True)
class WorkerFile:
    """A worker log at a glance."""

    path: str
    ranks: tuple[int, ...]
    reset_count: int
    retry_count: int
    top_retry: int | None
    retry_limit: int | None
    error_count: int
