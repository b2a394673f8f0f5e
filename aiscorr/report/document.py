"""What a report says, before it is laid out: frozen objects in the order and with the names of the JSON.

Times are UTC. Paths are absolute, `archive!member` inside an archive; line numbers are 1-based in the
decompressed original. What belongs to one side is in job_side.py, storage_side.py and decision_side.py, what its page
shows beside the text in picture_side.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime

from aiscorr.report.decision_side import CoverageItem, Decision, Impact, Suspect
from aiscorr.report.job_side import Collective, JobDetails, RankLine, TriageLine, WorkerFile
from aiscorr.report.overview import Group, Overview, Repeat
from aiscorr.report.picture_side import Picture, Recurrence, StackBranch, Traceback
from aiscorr.report.storage_side import (
    AisVersion,
    Chain,
    ChainRequest,
    ChainStep,
    CounterDelta,
    ErrorSide,
    ResponsibleNode,
)
from aiscorr.report.without_failure import Covered, CoveredFault, CoveredJob, StandingApart

__all__ = [
    "AisVersion",
    "Chain",
    "ChainRequest",
    "ChainStep",
    "Collective",
    "CounterDelta",
    "CoverageItem",
    "Covered",
    "CoveredFault",
    "CoveredJob",
    "Decision",
    "ErrorSide",
    "Group",
    "Impact",
    "JobDetails",
    "Overview",
    "Picture",
    "RankLine",
    "Recurrence",
    "Repeat",
    "ResponsibleNode",
    "StackBranch",
    "StandingApart",
    "Suspect",
    "Traceback",
    "TriageLine",
    "WorkerFile",
]

SCHEMA = "aiscorr.report/1"
#: A field that only the page shows; the JSON is without it.
_FOR_THE_PAGE = {"json": False}


@dataclass(frozen=True)
class TimelineItem:
    """An event of the timeline; not exact where the line has no time of its own."""

    at: datetime
    is_exact: bool
    source: str
    node_id: str | None
    rank: int | None
    weight: int
    text: str
    path: str | None
    line_no: int | None


@dataclass(frozen=True)
class CitedLine:
    """A line that supports or contradicts; `check` is verified, moved or gone, None before it was read again.

    A line without a time of its own was written between `at` and `latest_at`; is_estimate: `at` is the moment at
    which the timeline puts it.
    """

    path: str
    line_no: int | None
    locator: str | None
    at: datetime | None
    latest_at: datetime | None
    text: str | None
    why: str
    is_estimate: bool = False
    check: str | None = None

    @property
    def key(self) -> tuple[str, int | str]:
        """Path, and line number or the locator of a dump's record."""
        return self.path, self.line_no or self.locator or 0


@dataclass(frozen=True)
class Term:
    """What a hypothesis weighs for or against itself; `weight` is in log-odds, None for a part of a link."""

    term: str
    strength: float
    weight: float | None
    why: str


@dataclass(frozen=True)
class RootCause:
    """A hypothesis; place 1 is the verdict."""

    place: int
    failure_class: str
    failure_kind: str | None
    storage_verdict: str
    node_id: str | None
    rank: int | None
    score: float
    statement: str
    supports: tuple[CitedLine, ...]
    contradicts: tuple[CitedLine, ...]
    rule: str = ""
    terms: tuple[Term, ...] = ()


@dataclass(frozen=True)
class RuledOut:
    """Something that looks like the cause and is not, or that could not be judged."""

    what: str
    because: str
    path: str | None
    line_no: int | None


@dataclass(frozen=True)
class AskedFor:
    """What a culprit had asked storage for: an object, or an address where no object is known.

    `is_inner_address`: it is not the rank that asks there, but AIStore's proxy for it. `retry_endpoint`: where most of
    the repeats went.
    """

    rank: int
    bucket: str | None
    object: str | None
    url: str | None
    endpoint: str | None
    node_id: str | None
    outcome: str
    retry_count: int
    first_at: datetime | None
    path: str | None
    line_no: int | None
    is_inner_address: bool = False
    retry_endpoint: str | None = None


@dataclass(frozen=True)
class Excerpt:
    """Lines of a file around those that are cited, as they were read with the report."""

    path: str
    first_line_no: int
    lines: tuple[str, ...]
    cited: tuple[int, ...]


@dataclass(frozen=True)
class KeyFile:
    """A file to open first."""

    path: str
    why: str


@dataclass(frozen=True)
class ClockLine:
    """How the clocks of a group of files became UTC; `is_untold`: matched with logs of which none tells UTC;
    `is_year_guessed`: none of them prints a year, nor does another log of the job.

    `node_ids`: the AIStore nodes whose logs they are.
    """

    who: str
    method: str
    timezone: str | None
    offset_s: int
    confidence: float
    file_count: int
    evidence: str | None
    path: str | None
    line_no: int | None
    is_untold: bool
    is_year_guessed: bool
    node_ids: tuple[str, ...]


@dataclass(frozen=True)
class Recommendation:
    """What to do, for whom, why."""

    to: str
    text: str
    why: str


@dataclass(frozen=True)
class BlindSpot:
    """What could not be seen, what that hides, and the command that would fetch it."""

    what: str
    why: str
    command: str


@dataclass(frozen=True)
class Change:
    """A conclusion that later logs changed. `is_` is `is` in the JSON."""

    field: str
    was: str
    is_: str
    because: str
    changed_at: datetime


@dataclass(frozen=True)
class RuleState:
    """What a rule says: fired, quiet, or blind because its inputs are missing. Without a class it is an observation."""

    finding: str
    state: str
    failure_class: str | None
    statement: str


@dataclass(frozen=True)
class FailureReport:
    """All that is said of one failure."""

    failure_id: str
    job_id: str
    failure_class: str
    failure_kind: str | None
    storage_verdict: str
    confidence: float
    statement: str
    hang_started_at: datetime | None
    first_error_at: datetime | None
    first_error_at_is: str | None
    ended_at: datetime | None
    window_started_at: datetime | None
    window_ended_at: datetime | None
    job: JobDetails
    ais_versions: tuple[AisVersion, ...]
    collective: Collective
    culprit_ranks: tuple[int, ...]
    initiator_ranks: tuple[int, ...]
    notified_ranks: tuple[int, ...]
    absent_ranks: tuple[int, ...]
    ais_nodes: tuple[ResponsibleNode, ...]
    asked_for: tuple[AskedFor, ...]
    chains: tuple[Chain, ...]
    timeline: tuple[TimelineItem, ...]
    root_causes: tuple[RootCause, ...]
    ruled_out: tuple[RuledOut, ...]
    not_judged: tuple[RuledOut, ...]
    key_files: tuple[KeyFile, ...]
    counter_deltas: tuple[CounterDelta, ...]
    error_sides: tuple[ErrorSide, ...]
    recommendations: tuple[Recommendation, ...]
    blind: tuple[BlindSpot, ...]
    changed: tuple[Change, ...]
    ranks: tuple[RankLine, ...]
    triage: tuple[TriageLine, ...]
    worker_files: tuple[WorkerFile, ...]
    clocks: tuple[ClockLine, ...]
    rules: tuple[RuleState, ...]
    suspects: tuple[Suspect, ...]
    coverage: tuple[CoverageItem, ...]
    decision: Decision
    impact: Impact
    recurrence: tuple[Recurrence, ...]
    stacks: tuple[StackBranch, ...]
    tracebacks: tuple[Traceback, ...]
    reject_count: int
    picture: Picture | None = field(default=None, metadata=_FOR_THE_PAGE)
    excerpts: tuple[Excerpt, ...] = field(default=(), metadata=_FOR_THE_PAGE)

    @property
    def is_determined(self) -> bool:
        """Whether the logs show both what failed the job and whether that was storage."""
        return "undetermined" not in (self.failure_class, self.storage_verdict)

    @property
    def verdict_chain(self) -> Chain | None:
        """The chain that carries the verdict."""
        return next((chain for chain in self.chains if chain.is_verdict), None)

    @property
    def deciding(self) -> str | None:
        """The command that would tell most, where nobody is advised; None where somebody is."""
        return self.suspects[0].would_decide if self.suspects and not self.recommendations else None

    @property
    def cited(self) -> tuple[CitedLine | ChainStep, ...]:
        """What is cited as evidence or as a step of a chain, once each line or record."""
        found: dict[tuple[str, int | str], CitedLine | ChainStep] = {}
        for cause in self.root_causes:
            for line in (*cause.supports, *cause.contradicts):
                found.setdefault(line.key, line)
        for chain in self.chains:
            for step in chain.steps:
                if step.path and step.line_no:
                    found.setdefault(step.key, step)
        return tuple(found.values())


@dataclass(frozen=True)
class OtherFailure:
    """A failure that the database holds and the report does not show."""

    failure_id: str
    job_id: str
    storage_verdict: str
    statement: str


@dataclass(frozen=True)
class Report:
    """Failures, the newest first, or none; jobs that may hang now; and without a failure what was looked at.

    `other_failures` are the older ones where only the latest is shown; `overview` is there for all failures of a time.
    """

    schema: str
    generated_at: datetime
    aiscorr_version: str
    failures: tuple[FailureReport, ...]
    standing_apart: tuple[StandingApart, ...] = ()
    covered: Covered | None = None
    other_failures: tuple[OtherFailure, ...] = ()
    overview: Overview | None = None


def to_json(value: object) -> object:
    """A report object as plain JSON values: times as `…Z`, names as in the contract."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
    if is_dataclass(value):
        told = [one.name for one in fields(value) if one.metadata.get("json", True)]
        return {name.rstrip("_"): to_json(getattr(value, name)) for name in told}
    if isinstance(value, tuple | list):
        return [to_json(item) for item in value]
    return value
