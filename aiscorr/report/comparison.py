"""Two failures next to each other: what they share, and where they part.

Compared is what a report says of each, trait by trait. Of a trait with several values (counters, steps of the chain)
those of both are shared, and each keeps its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from aiscorr import __version__
from aiscorr.errors import UsageError
from aiscorr.report import document as doc
from aiscorr.report.blocks import Block, Facts, Paragraph, Table, date_and_clock, ranges
from aiscorr.report.build import build_report
from aiscorr.report.layout import unseen_shown

if TYPE_CHECKING:
    import duckdb

#: A trait: its name, and its values.
_Trait = tuple[str, tuple[str, ...]]
#: Spans that differ by less than this share of the longer one are alike.
_ALIKE = 0.2
_NONE = "–"


@dataclass(frozen=True)
class Shared:
    """What is the same of both."""

    what: str
    value: str


@dataclass(frozen=True)
class Parted:
    """What differs; a `–` where a failure has none of it."""

    what: str
    first: str
    second: str


@dataclass(frozen=True)
class Comparison:
    """Two failures of a database, by their ids."""

    first: str
    second: str
    shared: tuple[Shared, ...]
    parted: tuple[Parted, ...]


@dataclass(frozen=True)
class ComparedReport:
    """Two failures with what they share, as a document."""

    schema: str
    generated_at: datetime
    aiscorr_version: str
    failures: tuple[doc.FailureReport, doc.FailureReport]
    comparison: Comparison


def build_comparison(connection: duckdb.DuckDBPyConnection, first: str, second: str, now: datetime) -> ComparedReport:
    """The comparison of two failures, each by its id, the beginning of one, a job or `latest`. Raises UsageError."""
    one, other = (_only(connection, which, now) for which in (first, second))
    if one.failure_id == other.failure_id:
        raise UsageError(
            f"{one.failure_id} is both failures", where="--against", try_this="name another: aiscorr query @failures"
        )
    return ComparedReport(doc.SCHEMA, now.astimezone(UTC), __version__, (one, other), compared(one, other))


def _only(connection: duckdb.DuckDBPyConnection, which: str, now: datetime) -> doc.FailureReport:
    found = build_report(connection, which, now).failures
    if len(found) != 1:
        known = ", ".join(one.failure_id for one in found[:8]) or "aiscorr ingest PATH…"
        said = f"{which!r} is {len(found)} failures, and one is compared with one"
        raise UsageError(said, where="aiscorr report", try_this=known)
    return found[0]


def compared(one: doc.FailureReport, other: doc.FailureReport) -> Comparison:
    """What two failures share and where they part, in the order of a report."""
    shared: list[Shared] = []
    parted: list[Parted] = []
    for (what, left), (_, right) in zip(_traits(one), _traits(other), strict=True):
        both = [value for value in left if value in right]
        rest = [", ".join(value for value in side if value not in both) for side in (left, right)]
        shared += [Shared(what, ", ".join(both))] if both else []
        parted += [Parted(what, rest[0] or _NONE, rest[1] or _NONE)] if any(rest) else []
    for what, spans in (
        ("hang until the end", _hangs(one, other)),
        ("first error until the hang", _delays(one, other)),
    ):
        words = [_NONE if span is None else f"{span.total_seconds():.1f} s" for span in spans]
        if _alike(*spans):
            shared.append(Shared(what, " and ".join(dict.fromkeys(words))))
        elif any(spans):
            parted.append(Parted(what, *words))
    return Comparison(one.failure_id, other.failure_id, tuple(shared), tuple(parted))


def _traits(failure: doc.FailureReport) -> Iterator[_Trait]:
    """The traits of a failure, the same ones in the same order for each."""
    job, collective, chain = failure.job, failure.collective, failure.verdict_chain
    culprits = set(failure.culprit_ranks)
    yield "storage", (failure.storage_verdict,)
    yield "class", (failure.failure_class,)
    yield "kind", _some(failure.failure_kind)
    yield "decision", (failure.decision.action.replace("_", " "),)
    yield "culprit ranks", _some(ranges(failure.culprit_ranks))
    yield "hosts of culprits", _each(line.host for line in failure.ranks if line.rank in culprits)
    yield (
        "what culprits were doing",
        _each(line.activity_detail.replace("_", " ") for line in failure.ranks if line.rank in culprits),
    )
    yield "AIStore nodes held responsible", _each(node.node_id for node in failure.ais_nodes)
    yield "buckets asked for", _each(asked.bucket for asked in failure.asked_for)
    yield "steps of the chain", _each(step.step.replace("_", " ") for step in chain.steps) if chain else ()
    yield "messages of failing ranks", _each(line.title for line in failure.triage if set(line.ranks) & culprits)
    yield "error counters that grew", _each(side.counter for side in failure.error_sides if side.inside >= 1)
    yield "collective", _some(collective.op_type)
    yield "elements", _some(collective.numel_in and f"{collective.numel_in:,}")
    yield "time-out", _some(collective.timeout_ms and f"{collective.timeout_ms / 1000:g} s")
    yield "called at", _some(collective.user_location)
    yield "job", (failure.job_id,)
    yield "task", _some(" / ".join(part for part in (job.task, job.framework, job.torch_release) if part))
    yield "resumed from", _some(job.resumed_from)
    yield "ranks", _some(f"{job.node_count or '?'} nodes, world size {job.world}" if job.world_size else None)
    yield "data", _some(job.data_source)
    yield "AIStore cluster", _each(one.cluster for one in failure.ais_versions)
    yield "AIStore release", _each(one.version for one in failure.ais_versions)


def _some(value: object) -> tuple[str, ...]:
    return (str(value),) if value else ()


def _each(values: Iterator[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value))


def _hangs(*failures: doc.FailureReport) -> list[timedelta | None]:
    return [_between(one.hang_started_at, one.ended_at) for one in failures]


def _delays(*failures: doc.FailureReport) -> list[timedelta | None]:
    return [_between(one.first_error_at, one.hang_started_at) for one in failures]


def _between(begin: datetime | None, end: datetime | None) -> timedelta | None:
    return end - begin if begin is not None and end is not None and end >= begin else None


def _alike(one: timedelta | None, other: timedelta | None) -> bool:
    return one is not None and other is not None and abs(one - other) <= _ALIKE * max(one, other)


def comparison_sections(report: ComparedReport) -> tuple[tuple[str, list[Block]], ...]:
    """The comparison as sections of blocks, with a title each."""
    found = unseen_shown(report.comparison)
    heads = [
        (
            f"{name}, {date_and_clock(one.ended_at)[:16] if one.ended_at else 'not ended'} UTC",
            f"{one.statement} (storage {one.storage_verdict}, confidence {one.confidence:.2f})",
        )
        for name, one in zip(("first", "second"), unseen_shown(report.failures), strict=True)
    ]
    shared: list[Block] = [Facts(tuple((one.what, one.value) for one in found.shared))]
    parted: list[Block] = [
        Table(
            ("what", "first", "second"),
            tuple((one.what, one.first, one.second) for one in found.parted),
            wide=("first", "second"),
        )
    ]
    return (
        (f"{found.first} against {found.second}", [Facts(tuple(heads))]),
        ("What they share", shared if found.shared else [Paragraph("Nothing.")]),
        ("Where they part", parted if found.parted else [Paragraph("Nowhere.")]),
    )
