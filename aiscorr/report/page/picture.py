"""The picture of a failure: all ranks as a grid, then lanes, counters and what they mean, on one time axis."""

from __future__ import annotations

from html import escape

from aiscorr.report import document as doc
from aiscorr.report.blocks import Places
from aiscorr.report.page.data import data_block
from aiscorr.report.page.drawing import drawing, legend
from aiscorr.report.page.grid import grid
from aiscorr.report.page.lanes import scene
from aiscorr.report.page.multiples import multiples, plots
from aiscorr.report.sections.clocks import METHODS

_KEYS = (
    "Drag to zoom, double-click for all; arrow keys move, + and − zoom, 0 shows all, n and p go from event to event."
)
_DOUBTED = 0.5


def picture(failure: doc.FailureReport, places: Places, prefix: str) -> str:
    """The picture as HTML; nothing where no line has a time."""
    drawn = scene(failure, places)
    if drawn is None or failure.picture is None:
        return ""
    shown = plots(failure.picture)
    counters = multiples(shown, failure.picture, prefix)
    return (
        f'<section class="picture" id="{prefix}picture" aria-label="Picture of the failure">\n'
        "<h2>What happened when</h2>\n"
        f"{grid(failure)}"
        f'<div class="plots" tabindex="0" role="group" aria-label="Plots on one time axis. {_KEYS}">\n'
        '<p class="tools"></p>\n'
        f'<div class="scroll">{drawing(drawn, prefix)}</div>\n{legend(prefix, drawn)}'
        f"{_counters(counters)}</div>\n"
        f'<p class="keys dim">{_KEYS}</p>\n{_clocks(failure)}{data_block(failure, drawn, shown)}</section>\n'
    )


def _counters(counters: str) -> str:
    return f"<h3>Counters, growth per second</h3>\n{counters}" if counters else ""


def _clocks(failure: doc.FailureReport) -> str:
    """How sure the clocks are that place the lines."""
    words = []
    for line in failure.clocks:
        if line.is_untold or line.confidence < _DOUBTED or line.method == "assumed":
            how = METHODS.get(line.method, line.method)
            words.append(f"{line.who}: {how}, confidence {line.confidence:.2f}")
    if not words:
        return ""
    known = escape("; ".join(words))
    return f'<p class="dim">All moments may be off by the same hours: no line gives the time zone ({known}).</p>\n'
