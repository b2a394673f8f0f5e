"""How wide the columns of a table are, so that no citation is cut: who copies one has to get it whole."""

from __future__ import annotations

from aiscorr.report.blocks import PLACE_MARK, Table

#: Columns between two cells.
GAP = 3
#: A word of running text that is longer may be cut.
_LONG_WORD = 30
#: Text gives way to the columns beside it down to this.
_SHORT_LINE = 12


def table_widths(table: Table, width: int) -> list[int] | None:
    """The width of each column where the table is wider than `width`; None where it fits, or where nothing helps.

    Where places alone are wider they stand whole all the same, beyond the page.
    """
    cells = list(zip(table.columns, *table.rows, strict=True))
    wanted = [max(map(_whole, column)) for column in cells]
    if sum(wanted) + GAP * (len(wanted) - 1) <= width:
        return None
    is_wide = [name in table.wide for name in table.columns]
    least = [max(map(_least, cells[no])) if is_wide[no] else wanted[no] for no in range(len(wanted))]
    left = width - sum(least) - GAP * (len(wanted) - 1)
    if left < 0:
        is_placed = any(PLACE_MARK in cell for column in cells for cell in column)
        return [min(most, max(few, _LONG_WORD)) for most, few in zip(wanted, least, strict=True)] if is_placed else None
    result = list(least)
    growing = sorted((no for no, wide in enumerate(is_wide) if wide), key=lambda no: wanted[no] - least[no])
    for done, no in enumerate(growing):
        more = min(wanted[no] - least[no], left // (len(growing) - done))
        result[no] += more
        left -= more
    return result


def text_widths(widths: list[int] | None, width: int) -> list[int | None]:
    """Where the text of each column wraps: in a table beyond the page only places stand beyond it."""
    if widths is None:
        return []
    over = sum(widths) + GAP * (len(widths) - 1) - width
    return [max(size - over, _SHORT_LINE) if over > 0 and size == max(widths) else None for size in widths]


def _whole(cell: str) -> int:
    text, mark, place = cell.partition(PLACE_MARK)
    return max(map(len, (text + "  " + place if mark else text).split("\n")))


def _least(cell: str) -> int:
    """What must not be cut: a place, and a cell that is one word; of other words the beginning."""
    text, _, place = cell.partition(PLACE_MARK)
    words = text.split()
    longest = max(map(len, words), default=0)
    return max(len(place), longest if len(words) == 1 else min(longest, _LONG_WORD))
