"""Which files to open first."""

from __future__ import annotations

from aiscorr.report.blocks import Block, Bullets, Places
from aiscorr.report.document import FailureReport

TITLE = "Key files"
ORDER = 110
EMPTY = "None."

_LIMIT = 10


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """Path and why, the most telling first."""
    return (
        [Bullets(tuple((f"{places.path(item.path)} — {item.why}", "") for item in failure.key_files[:_LIMIT]))]
        if failure.key_files
        else []
    )
