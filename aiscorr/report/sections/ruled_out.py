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
_RANK = re.compile(r"\brank (\d+)\b")
_RANKS = re.compile(r"\branks \d")


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """One item a suspicion: what, because, line; what differs only in the node or in one rank stands once."""
    alike = gathered(failure.ruled_out, _alike)
    items = tuple(
        (
            f"{item.what}: {item.because}{and_more(len(more), _ranks(more))}",
            places.line(item.path, item.line_no),
        )
        for item, more in alike[:_LIMIT]
    )
    result: list[Block] = [Bullets(items)] if items else []
    hidden = sum(1 + len(more) for _, more in alike[_LIMIT:])
    if hidden or len(alike) < len(failure.ruled_out):
        query = f"select * from ruled_out where failure_id = '{failure.failure_id}'"
        words = f"{hidden} more; all {len(failure.ruled_out)}" if hidden else "each"
        result.append(Paragraph(f'{words}: aiscorr query "{query}"', "dim"))
    return result


def _alike(item: RuledOut) -> str | None:
    """What differs only in the node, or in the rank of which it is said; None for what names several ranks."""
    words = f"{_RANK.sub('rank', item.what)}: {item.because}"
    if _RANKS.search(words):
        return None
    return words if _RANK.search(item.what) else None if _RANK.search(words) else without_node(words)


def _ranks(items: list[RuledOut]) -> list[int]:
    return [int(number) for item in items for number in _RANK.findall(item.what)]
