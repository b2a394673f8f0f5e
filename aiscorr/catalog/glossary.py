"""The words that reports and `explain` explain, from words.toml."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files


@dataclass(frozen=True)
class Word:
    """A word: all names it goes by, the one it is shown under first, where it is said in a text, what it means.

    Without `seen` it is a heading or label of reports, which their list of words leaves out.
    """

    names: tuple[str, ...]
    seen: re.Pattern[str] | None
    means: str


@lru_cache(maxsize=1)
def words() -> tuple[Word, ...]:
    """All of them, in the order in which a report shows them."""
    known = tomllib.loads((files("aiscorr.catalog") / "words.toml").read_text("utf-8"))["word"]
    return tuple(
        Word(tuple(dict.fromkeys([item["word"], *item.get("also", ())])), _seen(item), item["means"]) for item in known
    )


def _seen(item: dict[str, str]) -> re.Pattern[str] | None:
    return re.compile(item["seen"]) if "seen" in item else None
