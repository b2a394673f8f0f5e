"""What looks like the cause and is not, and the line that says so."""

from __future__ import annotations

import re

from aiscorr.report.alike import and_more, gathered, without_node
from aiscorr.report.blocks import Block, Bullets, Paragraph, Places
from aiscorr.report.document import FailureReport, RuledOut

TITLE = "Ruled out"
ORDER = 80
EMPTY = "Nothing else looked like the cause."

_LIMIT = 15
_RANK = re.compile(r"\branks? \d")


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """One item a suspicion: what, because, line; what differs only in the node stands once."""
    alike = gathered(failure.ruled_out, _said_of_a_node)
    items = tuple(
        (f"{item.what}: {item.because}{and_more(more)}", places.line(item.path, item.line_no))
        for item, more in alike[:_LIMIT]
    )
    result: list[Block] = [Bullets(items)] if items else []
    hidden = sum(1 + more for _, more in alike[_LIMIT:])
    if hidden or len(alike) < len(failure.ruled_out):
        query = f"select * from ruled_out where failure_id = '{failure.failure_id}'"
        words = f"{hidden} more; all {len(failure.ruled_out)}" if hidden else "each"
        result.append(Paragraph(f'{words}: aiscorr query "{query}"', "dim"))
    return result


def _said_of_a_node(item: RuledOut) -> str | None:
    """What differs only in the node; None for what names a rank, as which one it is matters."""
    words = f"{item.what}: {item.because}"
    return None if _RANK.search(words) else without_node(words)
