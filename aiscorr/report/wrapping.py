"""Breaks running text into lines between words alone: who copies a place or an address has to get it whole."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

_WORD = re.compile(r"\s*\S+\s*")


def lines_of(text: Text, width: int, *, is_cut: bool = False) -> list[Text]:
    """The lines of a text. A word wider than a line stands beyond its end, or with `is_cut` goes on in the next.

    Of width 10 `at workers/0.out:3` becomes `at` and `workers/0.out:3`.
    """
    result: list[Text] = []
    for line in text.split("\n", allow_blank=True):
        result += line.divide(list(_breaks(line.plain, width, is_cut=is_cut)))
    for line in result:
        line.rstrip()
    return result


def hanging(mark: Text, lines: Iterable[Text]) -> list[Text]:
    """The lines behind a mark, those after the first indented as deep as the mark is wide."""
    from rich.text import Text

    return [Text.assemble(" " * mark.cell_len if no else mark, line) for no, line in enumerate(lines)]


def _breaks(line: str, width: int, *, is_cut: bool) -> Iterable[int]:
    from rich.cells import cell_len, chop_cells

    start = 0
    for found in _WORD.finditer(line):
        if cell_len(line[start : found.end()].rstrip()) > width and found.start() > start:
            start = found.start()
            yield start
        while is_cut and cell_len(line[start : found.end()].rstrip()) > width:
            start += len(chop_cells(line[start:], width)[0])
            yield start
