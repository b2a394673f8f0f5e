"""Draws a table of a report as lines of text; what its columns have no room for stands below the row, whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from aiscorr.report.blocks import PLACE_MARK, Table
from aiscorr.report.table_width import GAP, table_widths
from aiscorr.report.wrapping import lines_of

if TYPE_CHECKING:
    from rich.text import Text

#: How deep what stands below a row is indented.
_BELOW = 4


def table_lines(table: Table, width: int) -> list[Text]:
    """The head, a rule, and each row with what is written below it."""
    from rich.text import Text

    widths = table_widths(table, width)
    head = list(_row_lines(table, table.columns, widths.columns, width, is_head=True))
    for line in head:
        line.stylize("dim")
    result = [*head, Text("─" * min(widths.total if None not in widths.columns else width, width), "dim")]
    for row in table.rows:
        result += _row_lines(table, row, widths.columns, width)
    return result


def _row_lines(
    table: Table, row: Sequence[str], sizes: Sequence[int | None], width: int, *, is_head: bool = False
) -> Iterable[Text]:
    """The cells next to each other, and below them those without a column and the places that are too wide for one."""
    from rich.text import Text

    columns: list[tuple[int, bool]] = []
    beside: list[list[Text]] = []
    labelled: list[str] = []
    below: list[Text] = []
    for name, cell, size in zip(table.columns, row, sizes, strict=True):
        if size is None and name not in table.wide:
            labelled += [f"{name} {cell}"] if cell and not is_head else []
            continue
        lines, place = _cell_lines(cell, width - _BELOW if size is None else size)
        start = sum(one + GAP for one, _ in columns) if size is not None else _BELOW
        if size is None:
            below += [Text(" " * _BELOW) + line for line in lines]
        else:
            columns.append((size, name in table.numeric))
            beside.append(lines)
        if place is not None:
            below.append(Text(" " * max(_BELOW, min(start, width - place.cell_len))) + place)
    for parts in zip_longest(*beside):
        yield _joined(parts, columns)
    yield from (Text(" " * _BELOW) + line for line in lines_of(Text(", ".join(labelled)), width - _BELOW) if labelled)
    yield from below


def _joined(parts: Sequence[Text | None], columns: Sequence[tuple[int, bool]]) -> Text:
    """One line of the cells that stand next to each other."""
    from rich.text import Text

    result = Text()
    for number, (part, (size, is_number)) in enumerate(zip(parts, columns, strict=True)):
        cell = part or Text()
        blank = " " * max(size - cell.cell_len, 0)
        result.append_text(Text.assemble(" " * GAP if number else "", blank if is_number else "", cell))
        result.append("" if is_number else blank)
    result.rstrip()
    return result


def _cell_lines(cell: str, width: int) -> tuple[list[Text], Text | None]:
    """The lines of a cell, its place behind the last word or on the next line; apart the place where neither fits."""
    from rich.text import Text

    text, mark, place = cell.partition(PLACE_MARK)
    shown = Text(place, "cyan")
    if mark and shown.cell_len > width:
        return (lines_of(Text(text), width) if text else []), shown
    return lines_of(Text.assemble(text, ("  " if text else "") if mark else "", shown), width), None
