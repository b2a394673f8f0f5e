"""How an event is drawn: a shape for what kind of event it is, so that colour is never all that tells it."""

from __future__ import annotations

import re

from aiscorr.report.document import TimelineItem

#: What the text of an event looks like, the first that fits.
_BY_TEXT = tuple(
    (shape, re.compile(text))
    for shape, text in (
        ("back", r" is back$"),
        (
            "other",
            r"^\w+ \S+ (?:was (?:rebalancing|resilvering|busy|low on space)|became primary|had (?:a high|very many))",
        ),
        ("crash", r"^(?:crash|killed|error|chained):|^(?:short batch|client error|aborted)\b"),
        ("fault", r"^node loss\b|^(?:target|proxy|node) \S+ (?!has begun)"),
        ("wait", r"begins? to wait in|^slower than before"),
        ("timeout", r"^(?:timeout|names peer|notified):"),
        ("exit", r"^(?:exit|cancel|launcher):"),
        ("break", r"^(?:stream break|reconnect|abort broadcast|abort notice|retry)\b"),
    )
)
#: What each shape means, in the order of the legend.
MEANINGS = {
    "fault": "fault of a node",
    "crash": "error",
    "break": "broken stream, retry",
    "wait": "ranks begin to wait",
    "timeout": "time-out",
    "exit": "end",
    "back": "back again",
    "last": "last line of a culprit",
    "other": "other",
}
#: The outline of each shape around 0,0.
OUTLINES = {
    "fault": "M0-7 7 0 0 7-7 0Z",
    "crash": "M-6-4-4-6 0-2 4-6 6-4 2 0 6 4 4 6 0 2-4 6-6 4-2 0Z",
    "break": "M-6 5 0-6 6 5Z",
    "wait": "M-5-6H5L0 0 5 6H-5L0 0Z",
    "timeout": "M0-6A6 6 0 1 1 0 6A6 6 0 1 1 0-6ZM-1-4V1H3V-1H1V-4Z",
    "exit": "M-5-5H5V5H-5Z",
    "back": "M-6 1-3-2-1 1 5-6 7-4-1 5Z",
    "last": "M-1.5-9H1.5V9H-1.5Z",
    "other": "M0-4A4 4 0 1 1 0 4A4 4 0 1 1 0-4Z",
}


def shape_of(item: TimelineItem) -> str:
    """The shape of an event."""
    return next((shape for shape, text in _BY_TEXT if text.search(item.text)), "other")
