"""What the page's script reads: ranks, their events, and counters, as JSON that no text of a log can break out of."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from aiscorr.report import document as doc
from aiscorr.report.page.grid import seats
from aiscorr.report.page.multiples import Plot
from aiscorr.report.page.scene import Scene
from aiscorr.report.page.shapes import shape_of

_MOST_EVENTS = 20_000
#: What ends a script or begins a comment in HTML, and what ends a line in JavaScript.
_ESCAPED = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def data_block(failure: doc.FailureReport, scene: Scene, shown: list[Plot]) -> str:
    """The data as an element that no browser runs."""
    values = {
        "start": scene.start.timestamp(),
        "length": round(scene.length, 3),
        "window": scene.window,
        "moments": dict(scene.moments),
        "ranks": _ranks(failure, scene),
        "events": _events(failure, scene),
        "plots": [_plot(plot) for plot in shown],
    }
    return f'<script type="application/json" class="data">{json_for_html(values)}</script>\n'


def json_for_html(values: object) -> str:
    """JSON for an element of HTML: `<`, `>`, `&` and the line ends of JavaScript as escapes."""
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_ESCAPED)


def _ranks(failure: doc.FailureReport, scene: Scene) -> dict[str, Any]:
    """Columns of the ranks, in the order of the grid; names are told once."""
    ranks = seats(failure)
    roles, hosts, doings = ([*dict.fromkeys(names)] for names in zip(*map(_named, ranks), strict=True)) if (
        ranks
    ) else ([], [], [])  # fmt: skip
    return {
        "names": {"role": roles, "host": hosts, "doing": doings},
        "rank": [line.rank for line in ranks],
        "role": [roles.index(line.role) for line in ranks],
        "host": [hosts.index(line.host or "") for line in ranks],
        "doing": [doings.index(line.activity.replace("_", " ")) for line in ranks],
        "seen": [_seconds(line.last_seen_at, scene) for line in ranks],
        "enqueued": [line.last_enqueued for line in ranks],
        "completed": [line.last_completed for line in ranks],
        "since": [since.get(line.rank) for since in (_since(failure, scene),) for line in ranks],
    }


def _named(line: doc.RankLine) -> tuple[str, str, str]:
    return line.role, line.host or "", line.activity.replace("_", " ")


def _since(failure: doc.FailureReport, scene: Scene) -> dict[int, float | None]:
    return {
        one.rank: _seconds(one.from_, scene)
        for one in failure.coverage
        if one.kind == "output" and one.rank is not None
    }


def _events(failure: doc.FailureReport, scene: Scene) -> list[list[Any]]:
    """The events of ranks: rank, seconds, shape, and the first word of what it says."""
    own = [item for item in failure.timeline if item.rank is not None][:_MOST_EVENTS]
    return [[item.rank, _seconds(item.at, scene), shape_of(item), item.text.partition(":")[0][:24]] for item in own]


def _seconds(moment: datetime | None, scene: Scene) -> float | None:
    return None if moment is None else round((moment - scene.start).total_seconds(), 3)


def _plot(plot: Plot) -> dict[str, Any]:
    return {
        "counter": plot.counter,
        "series": [
            {"node": node, "points": [[round(a, 3), round(b, 3), float(f"{rate:.4g}")] for a, b, rate in points]}
            for node, points in plot.series
        ],
    }
