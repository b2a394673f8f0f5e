"""What happened, in order, from all sources, each with its line; the chain's own steps stand in its section."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from datetime import datetime, timedelta

from aiscorr.report.alike import and_more, gathered, without_node
from aiscorr.report.blocks import Block, Paragraph, Places, Table, cited, clock, days_apart, shorten
from aiscorr.report.document import FailureReport, TimelineItem
from aiscorr.report.sections.chain import cited_lines

TITLE = "Timeline (UTC)"
ORDER = 40
EMPTY = "No event has a time."

_LIMIT = 40
_SECOND = timedelta(microseconds=999_999)
_TEXT = 130
_FEW = 6
#: Of fewer main events, the lesser ones are shown too.
_BARE = 5
_RETRY = "retry: "
#: Tags between what a line is and what it says, which the column of who says it has too.
_TAGS = re.compile(r"(?<=: )\s*(?:\[(?:PG ID|Rank|rank)[^\][]*\]:?\s*)+(?=\w)")
Lines = Collection[tuple[str | None, int | None]]
_UNDATED = "~: the latest moment that fits, of a fault's begin the earliest"


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """The events of weight 1 that are no step of the chain shown below; the rest is counted and named."""
    shown = shown_events(failure)
    has_day = days_apart(item.at for item, _ in shown)
    rows = tuple(_row(item, more, places, has_day) for item, more in shown)
    columns = ("time", "who", "what, and the line that says so")
    result: list[Block] = [Table(columns, rows, wide=columns[2:])] if rows else []
    if rows:
        result += [Paragraph(words, "dim") for words in _below(failure, shown)]
    return result


def _below(failure: FailureReport, shown: list[tuple[TimelineItem, list[TimelineItem]]]) -> Iterator[str]:
    """Where the rest is, and what the marks of the moments mean."""
    hidden = len(failure.timeline) - sum(1 + len(more) for _, more in shown)
    if hidden > 0:
        query = f"select * from timeline where failure_id = '{failure.failure_id}' and weight < 3 order by event_at"
        below = ", with the steps of the chain below," if failure.verdict_chain else ""
        whole = f"all {len(failure.timeline)} events, with those above"
        count = f"{hidden} lesser events{below} are" if hidden > 1 else f"1 lesser event{below} is"
        yield f'{count} not shown; {whole}: aiscorr query "{query}"'
    yield f"All lines of all files in this time: aiscorr lines {failure.failure_id}"
    notes = [
        _UNDATED if any(not item.is_exact for item, _ in shown) else "",
        "no decimals: its clock prints whole seconds" if any(not item.at.microsecond for item, _ in shown) else "",
    ]
    if any(notes):
        yield f"{'; '.join(note for note in notes if note)}.".capitalize()


def _row(item: TimelineItem, more: list[TimelineItem], places: Places, has_day: bool) -> tuple[str, str, str]:
    ranks = sorted({other.rank for other in more if other.rank is not None})
    words = shorten(_TAGS.sub("", item.text), _TEXT) + and_more(len(more), ranks)
    who = _who(item)
    when = clock(item.at, is_exact=item.is_exact, has_day=has_day)
    return when, who, cited(words, places.line(item.path, item.line_no))


def shown_events(failure: FailureReport) -> list[tuple[TimelineItem, list[TimelineItem]]]:
    """The events that the timeline shows, each with those that say the same at that time."""
    chain = failure.verdict_chain
    carrying = cited_lines(failure)
    steps = {(step.path, step.line_no) for step in chain.steps[1:]} - carrying if chain else set()
    shown = [item for item in failure.timeline if item.weight == 1 and (item.path, item.line_no) not in steps]
    if len(shown) < _BARE:
        shown = [item for item in failure.timeline if (item.path, item.line_no) not in steps]
    in_order = _thinned(sorted(shown, key=_order))
    alike = gathered(in_order, lambda item: _said_by_many(item, failure.culprit_ranks, carrying))
    kept = sorted(alike, key=lambda one: _distance(one[0], failure.first_error_at, carrying))[:_LIMIT]
    return sorted(kept, key=lambda one: _order(one[0]))


def _said_by_many(item: TimelineItem, culprits: Collection[int], carrying: Lines) -> tuple[str, int] | None:
    """What a node, a launcher or a rank says, in its minute; of ranks, whose numbers tell them apart, as it is shown.

    None for an end of one of few culprits and for what carries the verdict, which have their own rows.
    """
    is_end = item.rank in culprits and len(culprits) <= _FEW and not item.text.startswith(_RETRY)
    if is_end or (item.path, item.line_no) in carrying:
        return None
    said = without_node(item.text) if item.rank is None else shorten(item.text, _TEXT)
    return said, int(item.at.timestamp()) // 60


def _distance(item: TimelineItem, moment: datetime | None, carrying: Lines) -> tuple[bool, timedelta]:
    """What is left out first: what AIStore said, unless the verdict stands on it, and what is far off."""
    is_beside = item.node_id is not None and (item.path, item.line_no) not in carrying
    return is_beside, abs(item.at - moment) if moment else timedelta(0)


def _moment(item: TimelineItem) -> datetime:
    """When it was at the latest: a worker's stamp in whole seconds stands for all of its second."""
    return item.at + _SECOND if item.source == "worker" and not item.at.microsecond else item.at


def _order(item: TimelineItem) -> tuple[datetime, str, int]:
    """Of one moment, lines of a file follow each other as they stand there."""
    return _moment(item), item.path or "", item.line_no or 0


def _thinned(items: list[TimelineItem]) -> list[TimelineItem]:
    """Without the retries of a rank between its first and its last one."""
    last: dict[int | None, int] = {}
    for number, item in enumerate(items):
        if item.text.startswith(_RETRY):
            last[item.rank] = number
    seen: set[int | None] = set()
    kept: list[TimelineItem] = []
    for number, item in enumerate(items):
        is_between = item.text.startswith(_RETRY) and item.rank in seen and last[item.rank] != number
        if not is_between:
            kept.append(item)
        if item.text.startswith(_RETRY):
            seen.add(item.rank)
    return kept


def _who(item: TimelineItem) -> str:
    """Who says it; an error or a try of no rank may be anybody's of the job."""
    if item.node_id:
        return item.node_id
    if item.rank is not None:
        return f"rank {item.rank}"
    teller = "job" if item.text.startswith((_RETRY, "error:", "crash:", "chained:")) else "launcher"
    return teller if item.source == "worker" else item.source
