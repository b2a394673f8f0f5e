"""Draws the lanes of a failure as SVG; the page's script moves what has `data-a`, `data-b` or `data-t` (seconds)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from html import escape

from aiscorr.report.blocks import shorten
from aiscorr.report.page.scene import Arrow, Bar, Lane, Mark, Scene
from aiscorr.report.page.shapes import MEANINGS, OUTLINES

WIDTH, GUTTER, RIGHT = 1000, 150, 12
_TOP, _LANE, _HEAD, _AXIS = 46, 28, 20, 24
_GROUPS = {"nodes": "AIStore nodes", "ranks": "Training ranks", "job": ""}
_LABEL, _NOTE = 17, 25
#: Seconds between two ticks of the axis.
_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600)
_MOST_TICKS = 8
#: What is below what, and how much of a lane's height it takes: y and height.
_BARS = {
    "run": (5, 18), "up": (5, 18), "wait": (5, 18), "held": (5, 18), "rebalancing": (5, 18), "down": (3, 22),
    "alert": (21, 5), "light": (23, 3),
}  # fmt: skip
_HATCHED = {"down": "d", "rebalancing": "r", "wait": "w", "held": "h"}


def drawing(scene: Scene, prefix: str) -> str:
    """The lanes as one SVG; `prefix` keeps its ids apart from those of other failures."""
    rows = dict(_rows(scene.lanes))
    height = (
        _TOP
        + sum(_LANE for _ in scene.lanes)
        + _HEAD * len({lane.group for lane in scene.lanes if _GROUPS[lane.group]})
        + _AXIS
    )
    bottom = height - _AXIS
    x = _Scale(scene.length)
    words = f"Timeline of the failure: {len(scene.lanes)} lanes, {len(scene.marks)} events"
    parts = [
        f'<svg class="lanes" viewBox="0 0 {WIDTH} {height}" role="group" aria-label="{words}"'
        f' data-bottom="{bottom}">\n{patterns(prefix)}<clipPath id="{prefix}c">'
        f'<rect class="clip" x="{GUTTER}" y="0" width="{WIDTH - GUTTER - RIGHT}" height="{height}"/></clipPath>\n',
        *_heads(scene.lanes, rows),
        *(_lane(lane, rows[lane.key], prefix) for lane in scene.lanes),
        f'<g clip-path="url(#{prefix}c)">\n',
        _window(scene, x, bottom),
        *(
            _bar(bar, rows[bar.lane], x, prefix)
            for bar in sorted(scene.bars, key=lambda bar: list(_BARS).index(bar.kind))
        ),
        *_moments(scene, x, bottom),
        *(_arrow(arrow, rows, x, prefix) for arrow in scene.arrows),
        *_blurs(scene.marks, rows, x, prefix),
        *(_mark(mark, rows[mark.lane], x, prefix) for mark in scene.marks),
        "</g>\n",
        axis(scene.start, scene.length, bottom),
        "</svg>\n",
    ]
    return "".join(parts)


def legend(prefix: str, scene: Scene) -> str:
    """What the shapes and hatchings mean, those that occur."""
    shapes = {mark.shape for mark in scene.marks}
    kinds = {bar.kind for bar in scene.bars}
    words = {
        "up": "log covers it", "down": "node away", "rebalancing": "rebalancing", "alert": "alert",
        "light": "light load or space alert", "run": "running", "wait": "waiting", "held": "keeps others waiting",
    }  # fmt: skip
    items = [_swatch(f'class="bar {kind}"{_fill(kind, prefix)}', text) for kind, text in words.items() if kind in kinds]
    items.append(_swatch(f'class="unknown" fill="url(#{prefix}u)"', "unknown: no line"))
    items += [
        f'<li><svg viewBox="-9 -9 18 18" aria-hidden="true"><use href="#{prefix}s-{shape}" class="mark {shape}"/></svg>'
        f"{text}</li>\n"
        for shape, text in MEANINGS.items()
        if shape in shapes
    ]
    if any(mark.low < mark.high for mark in scene.marks) or any(bar.begin < bar.sure for bar in scene.bars):
        items.append(_swatch(f'class="blur" filter="url(#{prefix}b)"', "some moment in this time"))
    if scene.arrows:
        items.append(
            '<li><svg viewBox="0 0 22 14" aria-hidden="true"><path class="arrow" d="M1 7H20"/>'
            '<path class="tip" d="M21 7 15 4V10Z"/></svg>chain</li>\n'
        )
    return f'<ul class="legend">\n{"".join(items)}</ul>\n'


def patterns(prefix: str) -> str:
    """Hatchings, blur and shapes."""
    hatches = {"u": ("6", "M0 6 6 0"), "d": ("5", "M0 5 5 0M0 0 5 5"), "r": ("7", "M0 0 7 7"), "w": ("5", "M2 0V5"),
               "h": ("6", "M0 3H6")}  # fmt: skip
    drawn = "".join(
        f'<pattern id="{prefix}{name}" class="p-{name}" width="{size}" height="{size}" patternUnits="userSpaceOnUse">'
        f'<rect width="{size}" height="{size}"/><path d="{path}"/></pattern>\n'
        for name, (size, path) in hatches.items()
    )
    shapes = "".join(f'<path id="{prefix}s-{shape}" d="{path}"/>\n' for shape, path in OUTLINES.items())
    blur = (
        f'<filter id="{prefix}b" x="-20%" width="140%" y="-50%" height="200%">'
        '<feGaussianBlur stdDeviation="5 1"/></filter>\n'
    )
    tip = (
        f'<marker id="{prefix}a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="tip" d="M0 0 8 4 0 8Z"/></marker>\n'
    )
    return f"<defs>\n{drawn}{shapes}{blur}{tip}</defs>\n"


class _Scale:
    """From seconds to the horizontal place."""

    def __init__(self, length: float) -> None:
        self.length = length

    def __call__(self, moment: float) -> float:
        return GUTTER + moment / self.length * (WIDTH - GUTTER - RIGHT)


def axis(start: datetime, length: float, top: float) -> str:
    """The ticks of the axis with their times."""
    x = _Scale(length)
    step = next((step for step in _STEPS if length / step <= _MOST_TICKS), _STEPS[-1])
    base = start.replace(hour=0, minute=0, second=0, microsecond=0)
    parts = []
    moment = (base - start).total_seconds() % step
    while moment <= length:
        at = start + timedelta(seconds=moment)
        text = f"{at:%H:%M:%S}" if step >= 1 else f"{at:%H:%M:%S.%f}"[:-3]
        middle = min(x(moment), WIDTH - 3.1 * len(text) - 1)  # whole at the edge too
        parts.append(f'<path d="M{x(moment):.1f} {top}v5"/><text x="{middle:.1f}" y="{top + 17}">{text}</text>\n')
        moment += step
    line = f'<path d="M{GUTTER} {top}H{WIDTH - RIGHT}"/>'
    day = f'<text class="note" x="4" y="{top + 17}">UTC, {start:%Y-%m-%d}</text>\n'
    return f'<g class="axis">{line}{"".join(parts)}</g>\n{day}'


def _rows(lanes: Iterable[Lane]) -> Iterable[tuple[str, float]]:
    """The upper edge of each lane."""
    y, group = float(_TOP), ""
    for lane in lanes:
        if lane.group != group:
            y, group = y + (_HEAD if _GROUPS[lane.group] else 0), lane.group
        yield lane.key, y
        y += _LANE


def _heads(lanes: tuple[Lane, ...], rows: dict[str, float]) -> Iterable[str]:
    seen: set[str] = set()
    for lane in lanes:
        if lane.group not in seen:
            seen.add(lane.group)
            if not _GROUPS[lane.group]:
                continue
            yield f'<text class="head" x="4" y="{rows[lane.key] - 6:.0f}">{_GROUPS[lane.group]}</text>\n'


def _lane(lane: Lane, y: float, prefix: str) -> str:
    held = " held" if lane.is_held else ""
    label = shorten(lane.label, _LABEL)
    size = f'data-full="1" x="{GUTTER}" width="{WIDTH - GUTTER - RIGHT}"'
    ground = f'<rect class="unknown" {size} y="{y + 5:.0f}" height="18" fill="url(#{prefix}u)"/>'
    if lane.group == "job":
        ground = f'<rect class="rail" {size} y="{y + 13:.0f}" height="1"/>'
    return (
        f'<g class="lane{held}" data-lane="{lane.key}" data-y="{y:.0f}">'
        f"<title>{escape(f'{lane.label}: {lane.note}')}</title>"
        f"{ground}"
        f'<text class="label" x="4" y="{y + 13:.0f}">{escape(label)}</text>'
        f'<text class="note" x="4" y="{y + 24:.0f}">{escape(shorten(lane.note, _NOTE))}</text></g>\n'
    )


def _window(scene: Scene, x: _Scale, bottom: float) -> str:
    if scene.window is None:
        return ""
    begin, end = scene.window
    return (
        f'<rect class="window" data-a="{begin:.3f}" data-b="{end:.3f}" x="{x(begin):.1f}" y="{_TOP - 6}"'
        f' width="{max(x(end) - x(begin), 1):.1f}" height="{bottom - _TOP + 6:.0f}"/>\n'
    )


def _bar(bar: Bar, y: float, x: _Scale, prefix: str) -> str:
    top, height = _BARS[bar.kind]
    shared = f'y="{y + top:.0f}" height="{height}"'

    def rect(begin: float, end: float, kind: str, more: str) -> str:
        return (
            f'<rect class="bar {kind}" data-a="{begin:.3f}" data-b="{end:.3f}" x="{x(begin):.1f}"'
            f' width="{max(x(end) - x(begin), 2):.1f}" {shared}{more}'
        )

    title = f"><title>{escape(bar.title)}</title></rect>\n"
    blurred = ""
    if bar.sure > bar.begin:
        blurred = rect(
            bar.begin, bar.sure, f"{bar.kind} soft", f'{_fill(bar.kind, prefix)} filter="url(#{prefix}b)"{title}'
        )
    return blurred + rect(
        bar.sure, bar.end, bar.kind + (" open" if bar.is_open else ""), _fill(bar.kind, prefix) + title
    )


def _moments(scene: Scene, x: _Scale, bottom: float) -> Iterable[str]:
    for number, (name, moment) in enumerate(scene.moments):
        at = x(moment)
        side = "end" if at > WIDTH * 0.85 else "start"
        shift = -4 if side == "end" else 4
        y = 11 + 13 * (number % 3)
        yield (
            f'<g class="moment"><path data-t="{moment:.3f}" d="M0 {y - 9}V{bottom}" transform="translate({at:.1f})"/>'
            f'<text data-t="{moment:.3f}" data-dx="4" x="{at + shift:.1f}" y="{y}" text-anchor="{side}">{name}'
            "</text></g>\n"
        )


def _arrow(arrow: Arrow, rows: dict[str, float], x: _Scale, prefix: str) -> str:
    begin, end = rows[arrow.from_lane] + 14, rows[arrow.to_lane] + 14
    end += -9 if end > begin else 9
    a, b = x(arrow.from_moment), x(arrow.to_moment)
    bend = (end - begin) / 2
    return (
        f'<path class="arrow" data-a="{arrow.from_moment:.3f}" data-b="{arrow.to_moment:.3f}"'
        f' data-y="{begin:.0f} {end:.0f}"'
        f' d="M{a:.1f} {begin:.0f}C{a:.1f} {begin + bend:.0f} {b:.1f} {end - bend:.0f} {b:.1f} {end:.0f}"'
        f' marker-end="url(#{prefix}a)"><title>{escape(arrow.title)}</title></path>\n'
    )


def _blurs(marks: Iterable[Mark], rows: dict[str, float], x: _Scale, prefix: str) -> Iterable[str]:
    """Where on each lane lie events whose moment is not known; spans that meet are one."""
    spans: dict[str, list[tuple[float, float]]] = {}
    for mark in sorted(marks, key=lambda mark: mark.low):
        if mark.high <= mark.low:
            continue
        known = spans.setdefault(mark.lane, [])
        if known and mark.low <= known[-1][1]:
            known[-1] = known[-1][0], max(known[-1][1], mark.high)
        else:
            known.append((mark.low, mark.high))
    for lane, found in spans.items():
        for low, high in found:
            yield (
                f'<rect class="blur" data-a="{low:.3f}" data-b="{high:.3f}" x="{x(low):.1f}" y="{rows[lane] + 10:.0f}"'
                f' width="{max(x(high) - x(low), 2):.1f}" height="8" filter="url(#{prefix}b)">'
                "<title>the moment of an event lies somewhere in this time</title></rect>\n"
            )


def _mark(mark: Mark, y: float, x: _Scale, prefix: str) -> str:
    more = f" (and {mark.count - 1} more like it)" if mark.count > 1 else ""
    title = f"<title>{escape(mark.title + more)}{escape(chr(10) + mark.place) if mark.place else ''}</title>"
    many = ' data-many="1"' if mark.count > 1 else ""
    place = f' data-place="{escape(mark.place)}"' if mark.place else ""
    return (
        f'<use class="mark {mark.shape}" href="#{prefix}s-{mark.shape}" data-t="{mark.moment:.3f}"'
        f' x="{x(mark.moment):.1f}" y="{y + 14:.0f}" role="img"{place}{many}>{title}</use>\n'
    )


def _fill(kind: str, prefix: str) -> str:
    return f' fill="url(#{prefix}{_HATCHED[kind]})"' if kind in _HATCHED else ""


def _swatch(attributes: str, text: str) -> str:
    return (
        f'<li><svg viewBox="0 0 22 14" aria-hidden="true"><rect {attributes} x="1" y="2" width="20" height="10"/></svg>'
        f"{text}</li>\n"
    )
