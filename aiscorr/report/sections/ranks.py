"""Where every rank stood: the stuck collective and the role of each rank."""

from __future__ import annotations

from aiscorr.report.blocks import Block, Facts, Paragraph, Places, Table, clock, ranges
from aiscorr.report.document import Collective, FailureReport, RankLine

TITLE = "Ranks"
ORDER = 30
EMPTY = "No rank differs from the others."

#: What each role means, the strongest first.
MEANS = {
    "culprit": "kept the others waiting, or failed first",
    "crashed": "failed on its own as well",
    "absent": "no line of it",
    "behind": "had not entered the collective",
    "ahead": "was past it (its part was done)",
    "initiator": "waited; its own time-out fired",
    "notified": "notified of another rank's time-out",
    "waiting": "waited",
    "victim": "no error of its own shown",
}


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """The collective in one paragraph, then ranks grouped by role, counters and activity."""
    result: list[Block] = []
    words = _collective(failure.collective)
    if words:
        result.append(Paragraph(words))
    if failure.collective.user_location:
        result.append(Facts((("called at", failure.collective.user_location),)))
    groups: dict[tuple[str, str, str, str], list[RankLine]] = {}
    for line in failure.ranks:
        counters = f"{line.last_enqueued} / {line.last_completed}" if line.last_enqueued is not None else "–"
        groups.setdefault((line.role, counters, line.activity.replace("_", " "), MEANS[line.role]), []).append(line)
    order = list(MEANS)
    rows = tuple(
        (
            role,
            ranges([line.rank for line in lines]),
            counters,
            activity,
            clock(max((line.last_seen_at for line in lines if line.last_seen_at), default=None)),
            means,
        )
        for (role, counters, activity, means), lines in sorted(
            groups.items(), key=lambda item: (order.index(item[0][0]), item[1][0].rank)
        )
    )
    if rows:
        columns = ("role", "ranks", "enqueued / completed", "doing", "last seen", "meaning")
        result.append(Table(columns, rows, wide=("ranks", "meaning")))
    return result


def _collective(collective: Collective) -> str:
    if collective.op_type is None and collective.seq_num is None:
        return ""
    number = f" number {collective.seq_num}" if collective.seq_num is not None else ""
    group = f" of process group {collective.process_group}" if collective.process_group else ""
    size = f", {collective.numel_in:,} elements" if collective.numel_in else ""
    limit = f", time-out {collective.timeout_ms / 1000:g} s" if collective.timeout_ms else ""
    ran = f", ran for {collective.ran_for_ms / 1000:g} s" if collective.ran_for_ms else ""
    return f"Ranks waited in {collective.op_type or 'a collective'}{number}{group}{size}{limit}{ran}."
