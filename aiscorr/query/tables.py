"""Rows as a table that cuts nothing: what all rows share goes above it, what has no room below its row."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from typing import Literal

#: Next to each other as far as there is room, all next to each other, or one value a line.
Shape = Literal["auto", "wide", "vertical"]
_TIME = re.compile(r"(~?)(\d{4}-\d\d-\d\d) (?=\d\d:\d\d)")
_GAP, _BELOW = 2, 4
#: A value below its row that is longer has a line of its own.
_SHORT = 36
#: A path of fewer parts is not worth a caption.
_PARTS = 3

Cells = list[list[str]]


def table_text(columns: Sequence[str], cells: Cells, numeric: Sequence[bool], width: int | None, shape: Shape) -> str:
    """The table with a count of its rows; `width` is that of the page, None for one without end."""
    columns, cells, numeric = _with_marks(columns, cells, numeric)
    count = f"({len(cells)} row{'s' if len(cells) != 1 else ''}"
    if shape == "vertical":
        return f"{_vertical(columns, cells, width)}{count})\n"
    names, kept, is_number = list(columns), cells, list(numeric)
    if shape == "wide" or width is None or _total(_widths(names, kept)) <= width:
        return f"{_grid(names, kept, is_number)}{count})\n"
    captions, names, kept, is_number = _without_shared(names, kept, is_number)
    head = "".join(f"{line}\n" for line in captions)
    if _total(_widths(names, kept)) <= width:
        return f"{head}{_grid(names, kept, is_number)}{count})\n"
    wide = "--wide, in the shell .mode wide, has all columns in one line"
    return f"{head}{_folded(names, kept, is_number, width)}{count}; {wide})\n"


def _with_marks(
    columns: Sequence[str], cells: Cells, numeric: Sequence[bool]
) -> tuple[Sequence[str], Cells, Sequence[bool]]:
    """A moment that no line has is marked with `~` as in a report, in the place of a column that says so."""
    moments = {number for number, name in enumerate(columns) if name in ("event_at", "first_at", "last_at")}
    if not moments or "is_exact" not in columns:
        return columns, cells, numeric
    exact = columns.index("is_exact")
    marked = [
        [f"~{cell}" if number in moments and row[exact] == "false" else cell for number, cell in enumerate(row)]
        for row in cells
    ]
    rest = [number for number in range(len(columns)) if number != exact]
    return [columns[n] for n in rest], [[row[n] for n in rest] for row in marked], [numeric[n] for n in rest]


def _widths(names: Sequence[str], cells: Cells) -> list[int]:
    return [max([len(name), *(len(row[number]) for row in cells)]) for number, name in enumerate(names)]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _grid(names: Sequence[str], cells: Cells, numeric: Sequence[bool]) -> str:
    widths = _widths(names, cells)
    line = _liner(widths, numeric)
    return line(names) + line(["-" * size for size in widths]) + "".join(map(line, cells))


def _liner(widths: Sequence[int], numeric: Sequence[bool]) -> Callable[[Sequence[str]], str]:
    """Lays the cells of a row next to each other."""

    def line(row: Sequence[str]) -> str:
        parts = (
            cell.rjust(size) if is_number else cell.ljust(size)
            for cell, size, is_number in zip(row, widths, numeric, strict=True)
        )
        return (" " * _GAP).join(parts).rstrip() + "\n"

    return line


def _folded(names: Sequence[str], cells: Cells, numeric: Sequence[bool], width: int) -> str:
    """The columns that have room next to each other; the values of the others below their row, with their names."""
    widths = _widths(names, cells)
    beside = [0]
    for number in range(1, len(names)):
        if _total([widths[one] for one in (*beside, number)]) <= width:
            beside.append(number)
    line = _liner([widths[one] for one in beside], [numeric[one] for one in beside])
    text = line([names[one] for one in beside]) + line(["-" * widths[one] for one in beside])
    for row in cells:
        text += line([row[one] for one in beside])
        text += _below([(names[one], row[one]) for one in range(len(names)) if one not in beside and row[one]], width)
    return text


def _below(pairs: Sequence[tuple[str, str]], width: int) -> str:
    short = "  ".join(f"{name}: {value}".replace(" ", "\0") for name, value in pairs if len(value) <= _SHORT)
    texts = ([short] if short else []) + [f"{name}: {value}" for name, value in pairs if len(value) > _SHORT]
    return "".join(f"{line}\n" for text in texts for line in _wrapped(text, width, " " * _BELOW)).replace("\0", " ")


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    """Lines that break between words alone; what is wider stands beyond the page."""
    return textwrap.wrap(
        text, max(width, len(indent) + 1), initial_indent=indent, subsequent_indent=indent, break_long_words=False,
        break_on_hyphens=False, drop_whitespace=True, replace_whitespace=False, expand_tabs=False,
    ) or [indent]  # fmt: skip


def _vertical(columns: Sequence[str], cells: Cells, width: int | None) -> str:
    """One value a line, behind its name; a long one goes on below itself."""
    size = max(map(len, columns), default=0) + _GAP
    parts = []
    for number, row in enumerate(cells, start=1):
        parts.append(f"-- {number} of {len(cells)}\n")
        for name, cell in zip(columns, row, strict=True):
            lines = [cell] if width is None else _wrapped(cell, width, " " * size)
            parts.append(f"{name:<{size}}{lines[0].removeprefix(' ' * size)}".rstrip() + "\n")
            parts += [f"{line}\n" for line in lines[1:]]
    return "".join(parts)


def _without_shared(
    names: list[str], cells: Cells, numeric: list[bool]
) -> tuple[list[str], list[str], Cells, list[bool]]:
    """What all rows share, as captions, and the table without it: a value, the date of its times, the root of paths."""
    if len(cells) < 2:
        return [], names, cells, numeric
    by_column = [[row[number] for row in cells] for number in range(len(names))]
    same = [number for number, values in enumerate(by_column) if number and len(set(values)) == 1]
    told = [f"{names[number]} {by_column[number][0]}" for number in same if by_column[number][0]]
    kept = [number for number in range(len(names)) if number not in same]
    captions = [f"in all rows: {', '.join(told)}"] if told else []
    columns = [by_column[number] for number in kept]
    date, columns = _without_date(columns)
    root, columns = _without_root(columns)
    captions += [f"all times are of {date}"] if date else []
    captions += [f"all paths are below {root}"] if root else []
    rows = [list(row) for row in zip(*columns, strict=True)]
    return captions, [names[number] for number in kept], rows, [numeric[number] for number in kept]


def _without_date(columns: Cells) -> tuple[str, Cells]:
    """The one day of all times, and the columns with the time of day alone."""
    timed = [
        number
        for number, values in enumerate(columns)
        if any(values) and all(_TIME.match(one) for one in values if one)
    ]
    days = {one.lstrip("~")[:10] for number in timed for one in columns[number] if one}
    if len(days) != 1:
        return "", columns
    return days.pop(), [
        [_TIME.sub(r"\1", one, count=1) for one in values] if number in timed else values
        for number, values in enumerate(columns)
    ]


def _without_root(columns: Cells) -> tuple[str, Cells]:
    """The folder that all paths are in, and the columns with what is below it."""
    placed = [
        number
        for number, values in enumerate(columns)
        if any(values) and all(one.startswith("/") for one in values if one)
    ]
    parts = [one.partition("!")[0].split("/")[:-1] for number in placed for one in columns[number] if one]
    shared: list[str] = []
    for level in zip(*parts, strict=False):
        if len(set(level)) > 1:
            break
        shared.append(level[0])
    if len(shared) < _PARTS:
        return "", columns
    root = "/".join(shared)
    return root, [
        [one.removeprefix(root + "/") for one in values] if number in placed else values
        for number, values in enumerate(columns)
    ]
