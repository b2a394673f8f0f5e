"""How wide the columns of a table are on a page, and which go below their row because the page is too narrow."""

from __future__ import annotations

from dataclasses import dataclass

from aiscorr.report.blocks import PLACE_MARK, Table

#: Columns between two cells.
GAP = 3
#: Text in a column that is narrower than this is hard to read: it goes below its row.
SHORT_LINE = 30
#: A word of running text that is longer may stand beyond its column.
_LONG_WORD = 30


@dataclass(frozen=True)
class Widths:
    """The width of each column, in order; None for one whose cells are written below their row."""

    columns: tuple[int | None, ...]

    @property
    def total(self) -> int:
        """Columns of the page that the cells next to each other take, with the gaps between them."""
        shown = [size for size in self.columns if size is not None]
        return sum(shown) + GAP * (len(shown) - 1)


def table_widths(table: Table, width: int) -> Widths:
    """Widths with which a table fits a page; the columns that may wrap give way, the last of them below the row.

    On a page of 40, `time` of 8 and `what` of 60 leave 29 for `what`: it is written below. Cells that may not wrap
    are never narrowed: where they alone are too wide the last of them go below their row, too.
    """
    cells = list(zip(table.columns, *table.rows, strict=True))
    sizes: list[int | None] = [max(map(_whole, column)) for column in cells]
    least = [
        min(whole, max(SHORT_LINE if whole > _LONG_WORD else 0, max(map(_least, column))))
        for whole, column in zip([size or 0 for size in sizes], cells, strict=True)
    ]
    growing = [number for number, name in enumerate(table.columns) if name in table.wide]
    while growing and Widths(tuple(sizes)).total > width:
        fixed = [size for number, size in enumerate(sizes) if size is not None and number not in growing]
        room = width - sum(fixed) - GAP * (len(fixed) + len(growing) - 1)
        if room >= sum(least[number] for number in growing) or len(fixed) + len(growing) == 1:
            return Widths(tuple(_shared(sizes, least, growing, room)))
        sizes[growing.pop()] = None
    for number in reversed(range(1, len(sizes))):
        if Widths(tuple(sizes)).total > width:
            sizes[number] = None
    return Widths(tuple(sizes))


def _shared(sizes: list[int | None], least: list[int], growing: list[int], room: int) -> list[int | None]:
    """The columns that may wrap with their share of the room: what the narrow ones do not need the wide ones get."""
    result, spare = list(sizes), max(room - sum(least[number] for number in growing), 0)
    in_order = sorted(growing, key=lambda number: (sizes[number] or 0) - least[number])
    for done, number in enumerate(in_order):
        more = min((sizes[number] or 0) - least[number], spare // (len(in_order) - done))
        result[number] = least[number] + more
        spare -= more
    return result


def _whole(cell: str) -> int:
    text, mark, place = cell.partition(PLACE_MARK)
    return max(map(len, (text + "  " + place if mark else text).split("\n")))


def _least(cell: str) -> int:
    """What must not be cut: a cell that is one word; of several words the longest, up to a limit."""
    words = cell.partition(PLACE_MARK)[0].split()
    longest = max(map(len, words), default=0)
    return longest if len(words) == 1 else min(longest, _LONG_WORD)
