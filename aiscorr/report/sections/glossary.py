"""The words a storage engineer may not know, and those an ML engineer may not: only those the report uses."""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from importlib.resources import files

from aiscorr.report.blocks import Block, Facts, Places
from aiscorr.report.document import FailureReport

TITLE = "Words"
ORDER = 140
EMPTY = ""


@lru_cache(maxsize=1)
def _words() -> tuple[tuple[str, re.Pattern[str], str], ...]:
    known = tomllib.loads((files("aiscorr") / "words.toml").read_text("utf-8"))["word"]
    return tuple((item["word"], re.compile(item["seen"]), item["means"]) for item in known)


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """The words that occur in the other sections."""
    from aiscorr.report.sections import sections

    others = [section for section in sections() if section.order < ORDER]
    said = "\n".join(str(block) for section in others for block in section.blocks(failure, places))
    return [Facts(tuple((word, means) for word, seen, means in _words() if seen.search(said)))]
