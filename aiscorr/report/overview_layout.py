"""The failures of a time as blocks: their sums, an index, counts by facet, and trouble that came back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from aiscorr.query.formats import printable
from aiscorr.report import document as doc
from aiscorr.report.blocks import Block, Paragraph, Table, listed, number, shorten
from aiscorr.report.overview import FACETS, Group, Overview, Repeat

Sections = tuple[tuple[str, list[Block]], ...]
#: Of a facet so many rows are shown; the query shows all.
_MANY = 10
#: Most have one failure each, which the index shows already.
_SELDOM = ("host", "job")
_STATEMENT = 110
_COUNTS = ("failures", "guilty", "innocent", "undetermined", "rank hours")
_PER_CENT = 100
_UNDATED = (
    'aiscorr query "select failure_id, storage_verdict, statement from failure'
    ' where coalesce(ended_at, first_error_at, hang_started_at) is null"'
)


@dataclass(frozen=True)
class IndexLine:
    """A failure in the index: when, which, class, what is said of storage, how sure, and the statement."""

    failed_at: datetime | None
    failure_id: str
    failure_class: str
    storage_verdict: str
    confidence: float
    statement: str


def title(overview: Overview) -> str:
    """`Failures from 2026-10-30 00:00 UTC to 2026-11-29 12:00 UTC`."""
    return f"Failures from {_day(overview.since)} to {_day(overview.until)}"


def overview_sections(report: doc.Report) -> Sections:
    """What stands above the reports of the failures of a time; nothing for a report of one failure."""
    overview = report.overview
    if overview is None:
        return ()
    if not overview.failure_count:
        return ((title(overview), [Paragraph(none_in_time(overview)), *undated(overview)]),)
    parts: list[tuple[str, list[Block]]] = [
        (title(overview), sums(overview)),
        ("Index", [_index(index_lines(report))]),
    ]
    parts += [(f"By {facet}", group_blocks(overview, facet)) for facet in FACETS]
    return (*parts, ("Trouble that came back", recurring_blocks(overview)))


def none_in_time(overview: Overview) -> str:
    """That no failure is known of the time, and how many there were before it."""
    before = "none is known from before"
    if overview.earlier_count:
        before = f"{overview.earlier_count} earlier: aiscorr query @failures"
    return f"No failure from {_day(overview.since)} to {_day(overview.until)}; {before}."


def index_lines(report: doc.Report) -> list[IndexLine]:
    """The failures in the order of the report."""
    return [
        IndexLine(
            one.ended_at or one.first_error_at or one.hang_started_at, printable(one.failure_id),
            printable(one.failure_class), one.storage_verdict, one.confidence, printable(one.statement),
        )
        for one in report.failures
    ]  # fmt: skip


def sums(overview: Overview) -> list[Block]:
    """How many failures, in how many storage is guilty, what they cost, and how long it took to a hang."""
    count = overview.failure_count
    verdicts = (
        f"storage is guilty in {overview.guilty_count}, innocent in {overview.innocent_count},"
        f" undetermined in {overview.undetermined_count}"
    )
    blocks: list[Block] = [Paragraph(f"{count} failure{'s' * (count > 1)}: {verdicts}.", _tone(overview))]
    if overview.guilty_of_determined_ratio is not None:
        share, of_determined = (
            f"{ratio * _PER_CENT:.0f}%" for ratio in (overview.guilty_ratio or 0, overview.guilty_of_determined_ratio)
        )
        blocks.append(Paragraph(f"Share of guilty storage: {share}; of the failures with a verdict {of_determined}."))
    blocks.append(
        Paragraph(
            f"Lost: {rank_hours(overview.lost_rank_hours)} rank hours,"
            f" {rank_hours(overview.guilty_lost_rank_hours)} of them where storage is guilty."
        )
    )
    if overview.mean_until_hang_s is not None:
        timed = overview.timed_count
        blocks.append(
            Paragraph(
                f"From the first storage error to the hang: mean {span(overview.mean_until_hang_s)},"
                f" median {span(overview.median_until_hang_s or 0)} ({timed} failure{'s' * (timed > 1)})."
            )
        )
    return blocks + undated(overview)


def undated(overview: Overview) -> list[Block]:
    """How many failures no time is known of, so that they are missing here, and the command that shows them."""
    count = overview.undated_count
    if not count:
        return []
    said = "1 failure without a known time is" if count == 1 else f"{number(count)} failures without a known time are"
    return [Paragraph(f"{said} not counted here: {_UNDATED}", "dim")]


def group_blocks(overview: Overview, facet: str) -> list[Block]:
    """The failures by one facet; of hosts and jobs those that failed several times."""
    groups = overview.groups_of(facet)
    shown = shown_groups(overview, facet)
    blocks: list[Block] = []
    if shown:
        rows = tuple(_group_row(group) for group in shown)
        blocks.append(Table((facet, *_COUNTS, "last"), rows, _COUNTS, (facet,)))
    left = len(groups) - len(shown)
    if not groups:
        blocks.append(Paragraph(f"No {facet} is known of these failures.", "dim"))
    elif left:
        others = f"{left} more" if shown else f"No {facet} failed twice; all {left}"
        blocks.append(Paragraph(f"{others}: {_query(overview, 'overview', facet)}", "dim"))
    return blocks


def shown_groups(overview: Overview, facet: str) -> tuple[Group, ...]:
    """The groups of a facet that are shown."""
    groups = overview.groups_of(facet)
    if facet in _SELDOM:
        groups = tuple(group for group in groups if group.failure_count > 1)
    return groups[:_MANY]


def recurring_blocks(overview: Overview) -> list[Block]:
    """Nodes that had the same kind of trouble several times."""
    if not overview.recurring:
        return [Paragraph("No node had the same kind of trouble twice.", "dim")]
    columns = ("node", "trouble", "times", "chains", "requests", "failures", "first", "last")
    rows = tuple(_recurring_row(one) for one in overview.recurring[:_MANY])
    blocks: list[Block] = [Table(columns, rows, ("times", "chains", "requests", "failures"), ("node",))]
    left = len(overview.recurring) - len(rows)
    if left:
        blocks.append(Paragraph(f"{left} more: {_query(overview, 'recurring')}", "dim"))
    return blocks


def rank_hours(hours: float) -> str:
    """`1.4`, `70`, and `<0.1` for what is little but not nothing."""
    return "<0.1" if 0 < hours < 0.05 else number(round(hours, 1))


def span(seconds: float) -> str:
    """`0.3 s`, `33 s`, `5 min 12 s` or `3 h 20 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _index(lines: list[IndexLine]) -> Table:
    columns = ("when (UTC)", "storage", "class", "failure, and what happened")
    rows = tuple(
        (
            "?" if line.failed_at is None else f"{line.failed_at:%Y-%m-%d %H:%M}",
            f"{line.storage_verdict} {line.confidence:.2f}",
            line.failure_class,
            f"{line.failure_id}: {shorten(line.statement, _STATEMENT)}",
        )
        for line in lines
    )
    return Table(columns, rows, (), ("failure, and what happened",))


def _group_row(group: Group) -> tuple[str, ...]:
    counts = (group.failure_count, group.guilty_count, group.innocent_count, group.undetermined_count)
    hours = rank_hours(group.lost_rank_hours)
    return (printable(group.value), *map(number, counts), hours, f"{group.last_at:%Y-%m-%d %H:%M}")


def _recurring_row(one: Repeat) -> tuple[str, ...]:
    counts = (one.times, one.chain_count, one.broken_request_count)
    failures = f"{one.failure_count}" + (f": {listed(one.failure_ids, 3)}" if one.failure_ids else "")
    moments = (f"{moment:%Y-%m-%d %H:%M}" for moment in (one.first_at, one.last_at))
    return (printable(one.node_id), printable(one.beginning), *map(number, counts), printable(failures), *moments)


def _query(overview: Overview, name: str, facet: str | None = None) -> str:
    """The command that shows all."""
    since = f"{overview.since:%Y-%m-%dT%H:%M:%S}"
    return f"aiscorr query @{name}{f' -p facet={facet}' if facet else ''} -p since={since}"


def _tone(overview: Overview) -> str:
    if overview.guilty_count:
        return "guilty"
    return "open" if overview.undetermined_count else "innocent"


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
