"""The Markdown files for people: their texts, fenced blocks, sections, tables and what is set as code."""

from __future__ import annotations

import re
from functools import lru_cache

from scenes import REPO

_FENCE = re.compile(r"^```(?P<kind>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@lru_cache(maxsize=1)
def papers() -> dict[str, str]:
    """Every Markdown file for people, by its path in the repository."""
    paths = [*REPO.glob("*.md"), *REPO.glob("docs/**/*.md"), *REPO.glob("benchmarks/**/README.md")]
    return {str(path.relative_to(REPO)): path.read_text("utf-8") for path in sorted(paths)}


def blocks(kind: str) -> list[tuple[str, str, str]]:
    """The fenced blocks of a kind: the file, what stands behind the kind in the fence, the text."""
    return [
        (name, match["kind"].removeprefix(kind).strip(), match["text"])
        for name, text in papers().items()
        for match in _FENCE.finditer(text)
        if match["kind"].split(" ")[0] == kind
    ]


def section(name: str, title: str) -> str:
    """The text below a heading."""
    return papers()[name].partition(f"## {title}\n")[2].partition("\n## ")[0]


def first_cells(text: str) -> list[str]:
    """The first cell of every row of a text's tables."""
    rows = re.findall(r"^\| (.*?) \|.*\n\|[-|]+\|\n((?:\|.*\n)*)", text + "\n", re.MULTILINE)
    return [line.split(" | ")[0].removeprefix("| ") for _, body in rows for line in body.splitlines()]


def prose(text: str) -> str:
    """The text without its fenced blocks."""
    return _FENCE.sub("", text)


def in_code(text: str) -> list[str]:
    """What is set as code outside of fenced blocks."""
    return re.findall(r"`([^`]+)`", prose(text))
