"""What was believed before and why it changed."""

from __future__ import annotations

from aiscorr.report.blocks import Block, Bullets, Places
from aiscorr.report.document import FailureReport

TITLE = "Changed since an earlier report"
ORDER = 15
EMPTY = ""


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """One item a change, the latest first."""
    items = tuple(
        (f"{change.field}: was {change.was}, is {change.is_}; {change.because}", "") for change in failure.changed
    )
    return [Bullets(items)] if items else []
