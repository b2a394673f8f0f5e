"""AIStore's counters until the failure was over, and in spans of the same length before and after."""

from __future__ import annotations

from collections.abc import Sequence

from aiscorr.report.blocks import Block, Bullets, Paragraph, Places, Table, number
from aiscorr.report.document import CounterDelta, ErrorSide, FailureReport

TITLE = "Counters"
ORDER = 70
EMPTY = "No statistics line of AIStore that was read is of the time of the failure."

_LIMIT = 8
#: A node is named where so much of an error's growth is its own.
_MOST_OF_IT = 0.5
_SUMMED = ("get.n", "put.n", "getbatch.n")


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """Where errors grew, then a table; what is not known at the edges is bounded."""
    if not failure.counter_deltas:
        return []
    result: list[Block] = []
    sides = tuple((_side(side), "") for side in failure.error_sides if side.inside >= 1)
    if sides:
        result.append(Bullets(sides))
    guilty = {node.node_id for node in failure.ais_nodes}
    telling = [
        delta
        for delta in failure.counter_deltas
        if (delta.is_error or delta.node_id in guilty) and delta.counter != "getbatch.obj.n"
    ]
    rows = [_row(delta) for delta in telling[:_LIMIT]]
    rows += [_sum(role, counter, failure.counter_deltas) for role in ("proxy", "target") for counter in _SUMMED]
    columns = ("node", "counter", "before", "inside", "after", "complete")
    result.append(Table(columns, tuple(row for row in rows if row), numeric=("before", "inside", "after")))
    lines: dict[str, str] = {}
    for delta in telling[:_LIMIT]:
        if delta.path:
            lines.setdefault(_node(delta), places.line(delta.path, delta.line_no))
    if lines:
        result.append(Paragraph("Printed at, for example: " + "; ".join(lines.values())))
    return [*result, Paragraph(_note(failure), "dim")]


def _note(failure: FailureReport) -> str:
    """How the growth was counted, and what the words of the last column say."""
    span_s = failure.counter_deltas[0].span_s
    return (
        f"Growth in the {span_s or 0:.0f} s until the failure was over, and in as long a time before and after."
        " Statistics are printed every 10 s to minutes. An interval across an edge counts its errors where the node's"
        " own error lines are, else where most of it lies; brackets give the least and the most. Other counters are"
        " shared out by time. `no`: statistics of the node are missing. `not after`: only those after it, where logs"
        " often end. All:"
        f" aiscorr query @counters -p failure={failure.failure_id}"
    )


def _sum(role: str, counter: str, deltas: tuple[CounterDelta, ...]) -> tuple[str, ...]:
    found = [delta for delta in deltas if delta.role == role and delta.counter == counter]
    if not found:
        return ()
    before, inside, after = (sum(getattr(delta, span) for delta in found) for span in ("before", "inside", "after"))
    name = {"proxy": "proxies", "target": "targets"}[role]
    return f"all {name}", counter, number(before), number(inside), number(after), _complete(found)


def _row(delta: CounterDelta) -> tuple[str, ...]:
    return (
        _node(delta),
        delta.counter,
        number(delta.before),
        number(delta.inside) + (_bounds(delta) if delta.is_error else ""),
        number(delta.after),
        _complete([delta]),
    )


def _complete(found: Sequence[CounterDelta]) -> str:
    """Whether statistics lines cover the spans of all: before and inside, and the one after, where logs often end."""
    if not all(delta.is_complete for delta in found):
        return "no"
    return "yes" if all(delta.is_after_complete for delta in found) else "not after"


def _node(delta: CounterDelta) -> str:
    return f"{delta.role or ''} {delta.node_id}".strip()


def _side(side: ErrorSide) -> str:
    where = {"target": "grew at targets only", "proxy": "grew at proxies only", "both": "grew at proxies and targets"}[
        side.side
    ]
    share = rate = ""
    if side.top_share_ratio >= _MOST_OF_IT:
        part = f"{side.top_share_ratio:.0%} of it at" if side.top_share_ratio < 1 else "seen only at"
        share = f", {part} {side.top_node_id}"
        rate = f" ({side.top_error_ratio:.1%} of its requests then)" if side.top_error_ratio else ""
    inside = f"{number(side.inside)} inside{_bounds(side)}"
    return f"{side.counter}: {number(side.before)} before, {inside}; {where}{share}{rate}"


def _bounds(growth: CounterDelta | ErrorSide) -> str:
    """Between which numbers the growth inside lies, where the logs leave it open."""
    if growth.inside_least >= growth.inside_most:
        return ""
    return f" ({number(growth.inside_least)} to {number(growth.inside_most)})"
