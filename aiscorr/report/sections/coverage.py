"""What was read of the case: the output of each rank, the log of each AIStore node, dumps and stacks."""

from __future__ import annotations

from collections.abc import Sequence

from aiscorr.report.blocks import Block, Bullets, Places, listed, ranges
from aiscorr.report.decision_side import CoverageItem
from aiscorr.report.document import FailureReport

TITLE = "Coverage"
ORDER = 95
EMPTY = ""

_KINDS = {"output": "Output of ranks", "log": "Logs of AIStore", "dump": "Flight Recorder dumps", "stack": "Stacks"}
_STATES = ("complete", "cut", "missing", "unknown")
_MANY = 4


def is_hidden(failure: FailureReport) -> bool:
    """Whether the verdict says it all: its class and what it says of storage are determined."""
    return failure.is_determined


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """One item a kind: how many are complete, and which are not."""
    items = []
    for kind, title in _KINDS.items():
        found = [item for item in failure.coverage if item.kind == kind]
        parts = [_part(state, alike) for state in _STATES if (alike := [item for item in found if item.state == state])]
        if parts:
            items.append((f"{title}: {'; '.join(parts)}", ""))
    return [Bullets(tuple(items))] if items else []


def _part(state: str, items: Sequence[CoverageItem]) -> str:
    """`3 complete`, or what is not, with the reason where all share it."""
    if state == "complete":
        return f"{len(items)} complete"
    numbers = [item.rank for item in items if item.rank is not None]
    word = "ranks" if len(numbers) > 1 else "rank"
    names = f"{word} {ranges(numbers)}" if numbers else listed([item.of for item in items], _MANY)
    reasons = {item.because for item in items}
    return f"{state}: {names}" + (f" ({reasons.pop()})" if len(reasons) == 1 else "")
