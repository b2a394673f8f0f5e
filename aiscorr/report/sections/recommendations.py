"""What to do, for the storage team, for the client and for the training side."""

from __future__ import annotations

from aiscorr.report.blocks import Block, Bullets, Paragraph, Places
from aiscorr.report.document import FailureReport

TITLE = "What to do"
ORDER = 12
EMPTY = "These logs name no action; the commands under the blind spots fetch what is missing."

_WHO = {"storage": "Storage team", "client": "Client (data loading code, SDK)", "training": "Training"}


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """Grouped by whom it is for."""
    result: list[Block] = []
    for recipient, words in _WHO.items():
        items = tuple((f"{item.text} — {item.why}", "") for item in failure.recommendations if item.to == recipient)
        if items:
            result += [Paragraph(f"{words}:"), Bullets(items)]
    return result
