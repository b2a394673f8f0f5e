"""What a report says of AIStore's side: nodes held responsible, chains of x-get-batch, counters that grew."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class AisVersion:
    """How many daemons of the cluster run a release of AIStore (null: none tells), and of how many there is no log."""

    cluster: str
    version: str | None
    target_count: int
    proxy_count: int
    unread_count: int


@dataclass(frozen=True)
class ResponsibleNode:
    """An AIStore node held responsible."""

    node_id: str
    role: str | None
    host: str | None
    why: str


@dataclass(frozen=True)
class ChainStep:
    """A step of an x-get-batch chain."""

    step: str
    at: datetime | None
    node_id: str | None
    wid: str | None
    path: str | None
    line_no: int | None
    text: str
    times: int
    is_exact: bool = True
    check: str | None = None
    last_at: datetime | None = None

    @property
    def key(self) -> tuple[str, int | str]:
        """Path and line number."""
        return self.path or "", self.line_no or 0


@dataclass(frozen=True)
class ChainRequest:
    """A request that a chain broke, its designated target, and the rank whose it is, as far as the job's logs tell.

    `told_by`: wid where a line of the rank names it (path, line_no), count where the entries of that line and the
    moment fit it alone.
    """

    wid: str
    designated_node_id: str | None
    rank: int | None
    told_by: str | None = None
    path: str | None = None
    line_no: int | None = None


@dataclass(frozen=True)
class Chain:
    """An x-get-batch chain that has to do with the failure."""

    chain_id: str
    xid: str | None
    wids: tuple[str, ...]
    ranks: tuple[int, ...]
    match_kind: str
    is_verdict: bool
    designated_node_id: str | None
    suspect_node_id: str | None
    requests: tuple[ChainRequest, ...]
    steps: tuple[ChainStep, ...]


@dataclass(frozen=True)
class CounterDelta:
    """Growth of a counter before, inside and after `span_s` seconds that end with the window; rates per second.

    `is_complete` is said of the spans before and inside, `is_after_complete` of the one after.
    """

    node_id: str
    role: str | None
    counter: str
    before: float
    inside: float
    after: float
    inside_per_s: float | None
    ratio: float | None
    is_complete: bool
    is_error: bool
    meaning: str | None
    path: str | None
    line_no: int | None
    inside_least: float
    inside_most: float
    is_after_complete: bool = False
    span_s: float | None = None


@dataclass(frozen=True)
class ErrorSide:
    """On which side of AIStore an error counter grew."""

    counter: str
    side: str
    before: float
    inside: float
    top_node_id: str
    top_share_ratio: float
    top_error_ratio: float | None
    inside_least: float
    inside_most: float
