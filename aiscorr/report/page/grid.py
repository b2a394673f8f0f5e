"""Draws all ranks of a failure as a grid, a cell a rank, hatched and coloured by role; hosts stand side by side."""

from __future__ import annotations

from collections import Counter
from html import escape

from aiscorr.report import document as doc
from aiscorr.report.blocks import ranges, shorten
from aiscorr.report.sections.ranks import MEANS

CELL, GAP = 10, 1
#: So many cells a row, and how wide a cell is on a wide screen, up to so many ranks.
_SIZES = ((64, 16, 30), (256, 32, 22), (1024, 64, 14), (1 << 62, 128, 8))
_RANKS = 60
#: What is drawn into a cell of a role, from its upper left corner: never colour alone.
_INNER = {
    "culprit": "m2 2 5 5m0-5-5 5", "crashed": "m2 7 5-5", "absent": "m4.5 4.5h0", "behind": "m4.5 2v5",
    "ahead": "m2 4.5h5", "initiator": "m2.5 4.5h4m-2-2v4", "notified": "m2.5 6h4", "victim": "m2 2 5 5",
}  # fmt: skip


_UNSEEN = "unseen"
_MEANS = {**MEANS, _UNSEEN: "no line of its own was read"}


def seats(failure: doc.FailureReport) -> list[doc.RankLine]:
    """The ranks of the failure in order, with those of the job of which nothing was read."""
    known = {line.rank: line for line in failure.ranks}
    missed = {one.rank for one in failure.coverage if one.kind == "output" and one.rank is not None} - known.keys()
    unseen = [doc.RankLine(rank, _UNSEEN, None, None, None, "unknown", "", None, None, None) for rank in missed]
    return sorted([*failure.ranks, *unseen], key=lambda line: line.rank)


def columns(count: int, per_host: int | None) -> int:
    """How many cells a row has: whole hosts where they are known."""
    most = next(row for limit, row, _ in _SIZES if count <= limit)
    if per_host and 1 < per_host <= most:
        most -= most % per_host
    return max(min(most, count), 1)


def grid(failure: doc.FailureReport) -> str:
    """The grid with its legend; nothing for fewer than two ranks."""
    ranks = seats(failure)
    count = len(ranks)
    if count < 2:
        return ""
    wide = columns(count, failure.job.ranks_per_node)
    step = CELL + GAP
    height = -(-count // wide) * step
    size = next(size for limit, _, size in _SIZES if count <= limit)
    roles = Counter(line.role for line in ranks)
    usual = next((role for role, _ in roles.most_common() if role != "culprit"), "")  # needs no sign of its own
    cells: dict[str, list[str]] = {}
    inner: dict[str, list[str]] = {}
    for no, line in enumerate(ranks):
        spot = f"M{no % wide * step} {no // wide * step}"
        cells.setdefault(line.role, []).append(f"{spot}h{CELL}v{CELL}h-{CELL}z")
        if line.role in _INNER and line.role != usual:
            inner.setdefault(line.role, []).append(f"{spot}{_INNER[line.role]}")
    drawn = "".join(f'<path class="rank {role}" d="{"".join(paths)}"/>\n' for role, paths in cells.items())
    drawn += "".join(f'<path class="in {role}" d="{"".join(paths)}"/>\n' for role, paths in inner.items())
    words = f"{count:,} ranks: " + ", ".join(f"{number:,} {role}" for role, number in roles.items())
    return (
        f'<div class="ranks" data-columns="{wide}">\n<svg class="grid" viewBox="0 0 {wide * step} {height}"'
        f' width="{wide * size}" tabindex="0" role="img" aria-label="{escape(words)}">\n'
        f'{drawn}<rect class="pick" width="{CELL}" height="{CELL}"/></svg>\n'
        f'<ul class="legend">\n{"".join(_entry(role, roles, ranks, usual) for role in _MEANS if role in roles)}</ul>\n'
        '<p class="picked" role="status"></p>\n</div>\n'
    )


def _entry(role: str, roles: Counter[str], ranks: list[doc.RankLine], usual: str) -> str:
    which = shorten(ranges([line.rank for line in ranks if line.role == role]), _RANKS)
    inner = f'<path class="in {role}" d="M0 0{_INNER[role]}"/>' if role in _INNER and role != usual else ""
    return (
        f'<li><svg viewBox="-1 -1 12 12" aria-hidden="true">'
        f'<path class="rank {role}" d="M0 0h{CELL}v{CELL}h-{CELL}z"/>{inner}</svg>'
        f"<span><b>{roles[role]:,} {escape(role)}</b>: {_MEANS[role]} ({escape(which)})</span></li>\n"
    )
