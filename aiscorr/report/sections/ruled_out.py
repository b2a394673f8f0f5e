"""What looks like the cause and is not, and the line that says so."""

from __future__ import annotations

from aiscorr.report.blocks import Block, Bullets, Paragraph, Places
from aiscorr.report.document import FailureReport

TITLE = "Ruled out"
ORDER = 80
EMPTY = "Nothing else looked like the cause."

_LIMIT = 15


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """One item a suspicion: what, because, line."""
    items = tuple(
        (f"{item.what}: {item.because}", places.line(item.path, item.line_no)) for item in failure.ruled_out[:_LIMIT]
    )
    result: list[Block] = [Bullets(items)] if items else []
    hidden = len(failure.ruled_out) - len(items)
    if hidden > 0:
        query = f"select * from ruled_out where failure_id = '{failure.failure_id}'"
        result.append(Paragraph(f'{hidden} more: aiscorr query "{query}"', "dim"))
    return result
