"""The sections of a report, one file each: TITLE, ORDER, EMPTY (the text when there is nothing) and `blocks`.

A section with `is_hidden` is left out of a report that is not printed in full where that says so.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module

from aiscorr.report.blocks import Block, Places
from aiscorr.report.document import FailureReport


@dataclass(frozen=True)
class Section:
    """One section: where it stands, what it is called, what it says."""

    name: str
    order: int
    title: str
    empty: str
    blocks: Callable[[FailureReport, Places], list[Block]]
    is_hidden: Callable[[FailureReport], bool]


@lru_cache(maxsize=1)
def sections() -> tuple[Section, ...]:
    """All sections, in their order."""
    found = []
    for info in pkgutil.iter_modules(__path__):
        module = import_module(f"{__name__}.{info.name}")
        hidden = getattr(module, "is_hidden", _never)
        found.append(Section(info.name, module.ORDER, module.TITLE, module.EMPTY, module.blocks, hidden))
    return tuple(sorted(found, key=lambda section: section.order))


def _never(failure: FailureReport) -> bool:
    return False
