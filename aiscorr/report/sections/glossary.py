"""The words a storage engineer may not know, and those an ML engineer may not: only those the report uses."""

from __future__ import annotations

from aiscorr.catalog.glossary import words
from aiscorr.report.blocks import Block, Facts, Places
from aiscorr.report.document import FailureReport

TITLE = "Words"
ORDER = 140
EMPTY = ""


def is_hidden(failure: FailureReport) -> bool:
    """Always: only the whole report shows it."""
    return True


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """The words that occur in the other sections."""
    from aiscorr.report.sections import sections

    others = [section for section in sections() if section.order < ORDER]
    said = "\n".join(str(block) for section in others for block in section.blocks(failure, places))
    return [Facts(tuple((word.names[0], word.means) for word in words() if word.seen and word.seen.search(said)))]
