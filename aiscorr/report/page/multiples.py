"""Draws counters of AIStore as small plots below the lanes, with the same time axis: growth a second, node by node."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from html import escape

from aiscorr.report.blocks import number, shorten
from aiscorr.report.page.drawing import GUTTER, RIGHT, WIDTH
from aiscorr.report.picture_side import Picture, Reading

HEIGHT = 62
_TOP = 6
_LABEL, _NOTE = 20, 26


@dataclass(frozen=True)
class Plot:
    """A counter: its nodes, each with (begin, end, growth a second) in seconds from the left edge."""

    counter: str
    meaning: str
    is_error: bool
    series: tuple[tuple[str, tuple[tuple[float, float, float], ...]], ...]

    @property
    def grown(self) -> float:
        """How much the counter grew in all."""
        return sum((end - begin) * rate for _, points in self.series for begin, end, rate in points)

    @property
    def most(self) -> float:
        """The greatest growth a second."""
        return max((rate for _, points in self.series for _, _, rate in points), default=0.0)


def plots(picture: Picture) -> list[Plot]:
    """The plots in their order."""
    counters: dict[str, dict[str, list[Reading]]] = {}
    for reading in picture.readings:
        counters.setdefault(reading.counter, {}).setdefault(reading.node_id, []).append(reading)
    result = []
    for counter, nodes in counters.items():
        first = next(iter(nodes.values()))[0]
        series = tuple((node, tuple(_points(readings, picture.from_))) for node, readings in nodes.items())
        result.append(Plot(counter, first.meaning or "", first.is_error, series))
    return result


def _points(readings: Iterable[Reading], start: datetime) -> Iterable[tuple[float, float, float]]:
    for one in readings:
        begin, end = (one.from_ - start).total_seconds(), (one.to - start).total_seconds()
        if end > begin:
            yield begin, end, one.delta / (end - begin)


def multiples(shown: list[Plot], picture: Picture, prefix: str) -> str:
    """Each plot as SVG; the script lays an interactive plot over its lines."""
    length = max((picture.to - picture.from_).total_seconds(), 1.0)
    return "".join(_figure(no, plot, length, prefix) for no, plot in enumerate(shown))


def _figure(no: int, plot: Plot, length: float, prefix: str) -> str:
    nodes = "".join(
        f'<li><svg viewBox="0 0 22 8" aria-hidden="true"><path class="series s{i}" d="M1 4H21"/></svg>'
        f"{escape(node)}</li>\n"
        for i, (node, _) in enumerate(plot.series)
    )
    lines = "".join(_line(points, i, plot.most, length) for i, (_, points) in enumerate(plot.series))
    words = f"{plot.counter}: {plot.meaning}" if plot.meaning else plot.counter
    names = ", ".join(node for node, _ in plot.series)
    kind = " error" if plot.is_error else ""
    return (
        f'<figure class="multi{kind}" data-plot="{no}">\n<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        f' aria-label="{escape(f"{words}, growth per second of {names}, at most {_rate(plot.most)}")}">\n'
        f'<rect class="unknown" data-full="1" x="{GUTTER}" y="{_TOP}" width="{WIDTH - GUTTER - RIGHT}"'
        f' height="{HEIGHT - 2 * _TOP}" fill="url(#{prefix}u)"/>\n'
        f'<text class="label" x="4" y="20">{escape(shorten(plot.counter, _LABEL))}</text>'
        f'<text class="note" x="4" y="33">{escape(shorten(plot.meaning, _NOTE))}</text>'
        f'<text class="note" x="4" y="46">{_size(plot)}</text>\n'
        f'<g class="plot">{_known(plot, length)}{lines}</g>\n</svg>\n<ul class="legend">\n{nodes}</ul>\n</figure>\n'
    )


def _size(plot: Plot) -> str:
    return f"{number(round(plot.grown))} in all" if plot.is_error else f"at most {_rate(plot.most)}"


def _rate(rate: float) -> str:
    return f"{number(round(rate, 1) if rate < 100 else round(rate))}/s" if rate >= 0.1 else f"{rate:.3g}/s"


def _x(moment: float, length: float) -> float:
    return GUTTER + min(max(moment, 0.0), length) / length * (WIDTH - GUTTER - RIGHT)


def _known(plot: Plot, length: float) -> str:
    """White where some node has a reading."""
    spans: list[tuple[float, float]] = []
    for begin, end, _ in sorted(point for _, points in plot.series for point in points):
        if spans and begin <= spans[-1][1] + 0.001:
            spans[-1] = spans[-1][0], max(spans[-1][1], end)
        else:
            spans.append((begin, end))
    return "".join(
        f'<rect class="known" data-a="{begin:.3f}" data-b="{end:.3f}" x="{_x(begin, length):.1f}" y="{_TOP}"'
        f' width="{_x(end, length) - _x(begin, length):.1f}" height="{HEIGHT - 2 * _TOP}"/>'
        for begin, end in spans
    )


def _line(points: tuple[tuple[float, float, float], ...], no: int, most: float, length: float) -> str:
    path, last = [], None
    for begin, end, rate in points:
        y = HEIGHT - _TOP - 2 - (rate / most if most else 0.0) * (HEIGHT - 2 * _TOP - 6)
        pen = "L" if last is not None and begin <= last + 0.001 else "M"
        path.append(f"{pen}{_x(begin, length):.1f} {y:.1f}H{_x(end, length):.1f}")
        last = end
    return f'<path class="series s{no}" d="{"".join(path)}"/>' if path else ""
