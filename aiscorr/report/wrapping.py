"""Breaks running text into lines between words alone: who copies a place, an address or a command gets it whole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from aiscorr.report.commands import COMMAND

if TYPE_CHECKING:
    from rich.text import Text

_WORD = re.compile(r"\s*\S+\s*")


def lines_of(text: Text, width: int, *, is_cut: bool = False) -> list[Text]:
    """The lines of a text. A word wider than a line stands beyond its end, or with `is_cut` goes on in the next.

    Of width 10 `at workers/0.out:3` becomes `at` and `workers/0.out:3`; a command is one word.
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
    for begin, end in _words(line, keeps_commands=not is_cut):
        if cell_len(line[start:end].rstrip()) > width and begin > start:
            start = begin
            yield start
        while is_cut and cell_len(line[start:end].rstrip()) > width:
            start += len(chop_cells(line[start:], width)[0])
            yield start


def _words(line: str, *, keeps_commands: bool) -> Iterator[tuple[int, int]]:
    """Where words begin and end, with the blanks around them; the words of a command are one."""
    commands = [found.span() for found in COMMAND.finditer(line)] if keeps_commands else []
    held: tuple[int, int] | None = None
    for found in _WORD.finditer(line):
        begin, end = found.span() if held is None else (held[0], found.end())
        is_inside = any(first < end < last for first, last in commands)
        held = (begin, end) if is_inside else None
        if held is None:
            yield begin, end
    if held is not None:
        yield held
