"""What happened, in order, from all sources, each with its line."""

from __future__ import annotations

from aiscorr.report.blocks import Block, Paragraph, Places, Table, cited, clock, shorten
from aiscorr.report.document import FailureReport

TITLE = "Timeline (UTC)"
ORDER = 40
EMPTY = "No event has a time."

_LIMIT = 40


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """The events of weight 1; the rest is counted and named."""
    shown = [item for item in failure.timeline if item.weight == 1]
    if len(shown) < 6:
        shown = list(failure.timeline)
    rows = tuple(
        (
            clock(item.at, is_exact=item.is_exact),
            _who(item.node_id, item.rank, item.source),
            cited(shorten(item.text, 180), places.line(item.path, item.line_no)),
        )
        for item in shown[:_LIMIT]
    )
    result: list[Block] = (
        [Table(("time", "who", "what, and the line that says so"), rows, wide=("what, and the line that says so",))]
        if rows
        else []
    )
    hidden = len(failure.timeline) - len(rows)
    if rows and hidden > 0:
        query = f"select * from timeline where failure_id = '{failure.failure_id}' order by event_at"
        result.append(Paragraph(f'{hidden} lesser events are not shown: aiscorr query "{query}"', "dim"))
    return result


def _who(node_id: str | None, rank: int | None, source: str) -> str:
    if node_id:
        return node_id
    return f"rank {rank}" if rank is not None else {"worker": "launcher"}.get(source, source)
