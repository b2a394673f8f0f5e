"""What to do: with the job, and for the storage team, for the client and for the training side."""

from __future__ import annotations

from aiscorr.report.blocks import Block, Bullets, Command, Paragraph, Places
from aiscorr.report.document import FailureReport

TITLE = "What to do"
ORDER = 12
EMPTY = ""

_WHO = {"storage": "Storage team", "client": "Client (data loading code, SDK)", "training": "Training"}


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """Grouped by whom it is for; where nobody is advised, the command that would tell most."""
    result: list[Block] = [Paragraph(f"{failure.decision.words}: {failure.decision.because}.")]
    for recipient, words in _WHO.items():
        items = tuple((f"{item.text} — {item.why}", "") for item in failure.recommendations if item.to == recipient)
        if items:
            result += [Paragraph(f"{words}:"), Bullets(items)]
    if failure.deciding:
        result += [Paragraph("What would tell most:"), Command(failure.deciding)]
    return result
