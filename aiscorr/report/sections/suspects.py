"""What may be the cause where the logs cannot tell, how probable each is, and the command that would decide."""

from __future__ import annotations

from aiscorr.report.blocks import Block, Paragraph, Places, Table, cited
from aiscorr.report.document import FailureReport

TITLE = "Suspects"
ORDER = 65
EMPTY = ""

_LIMIT = 5


def is_hidden(failure: FailureReport) -> bool:
    """Whether the verdict says it all: its class and what it says of storage are determined."""
    return failure.is_determined


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """The likeliest candidates with the line that points at each."""
    shown = failure.suspects[:_LIMIT]
    if not shown:
        return []
    rows = tuple(
        (
            f"{item.probability:.2f}",
            cited(item.what, places.line(item.path, item.line_no, item.locator)),
            "as above" if item.would_decide and item.would_decide == before else item.would_decide or "",
        )
        for item, before in zip(shown, (None, *(one.would_decide for one in shown)), strict=False)
    )
    columns = ("probability", "what may be the cause", "what would decide it")
    result: list[Block] = [Table(columns, rows, numeric=columns[:1], wide=columns[1:])]
    hidden = len(failure.suspects) - len(shown)
    if hidden > 0:
        query = f"select * from suspect where failure_id = '{failure.failure_id}'"
        result.append(Paragraph(f'{hidden} more; all {len(failure.suspects)}: aiscorr query "{query}"', "dim"))
    return result
