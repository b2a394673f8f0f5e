"""What could not be seen, and the command that would fetch it."""

from __future__ import annotations

from aiscorr.report.blocks import Block, Command, Paragraph, Places
from aiscorr.report.document import FailureReport

TITLE = "Blind spots"
ORDER = 100
EMPTY = "None: every log that the analysis needs is available."


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """A sentence and a command each."""
    result: list[Block] = []
    for spot in failure.blind:
        result += [Paragraph(f"{spot.what[:1].upper()}{spot.what[1:]}: {spot.why}."), Command(spot.command)]
    return result
