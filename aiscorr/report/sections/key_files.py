"""Which files to open first."""

from __future__ import annotations

import re

from aiscorr.report.blocks import Block, Bullets, Paragraph, Places, shorten
from aiscorr.report.document import FailureReport

TITLE = "Key files"
ORDER = 110
EMPTY = "None."

_LIMIT = 6
_TEXT = 70
_CHAIN = re.compile(r"steps of chain [\w-]+")


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """Path and why, the most telling first."""
    items = tuple(
        (f"{places.path(item.path)} — {shorten(_CHAIN.sub('the chain', item.why), _TEXT)}", "")
        for item in failure.key_files[:_LIMIT]
    )
    result: list[Block] = [Bullets(items)] if items else []
    hidden = len(failure.key_files) - len(items)
    if hidden > 0:
        query = f"select * from key_file where failure_id = '{failure.failure_id}'"
        result.append(Paragraph(f'{hidden} more; all {len(failure.key_files)}: aiscorr query "{query}"', "dim"))
    return result
