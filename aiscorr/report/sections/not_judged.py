"""What may be the cause and could not be judged, because what would tie it to a rank is not available."""

from __future__ import annotations

from aiscorr.report.blocks import Block, Bullets, Places
from aiscorr.report.document import FailureReport

TITLE = "Not judged"
ORDER = 75
EMPTY = ""


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """One item a fault of AIStore that is neither tied nor ruled out: what, why it stays open, line."""
    items = tuple((f"{item.what}: {item.because}", places.line(item.path, item.line_no)) for item in failure.not_judged)
    return [Bullets(items)] if items else []
