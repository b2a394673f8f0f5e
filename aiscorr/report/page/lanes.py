"""What the picture of a failure shows before it is drawn: lanes, bars, marks and arrows, in seconds from its left edge.

Ranks of one role share a lane, but for the culprits; of AIStore's nodes those that the failure is about have their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise

from aiscorr.report import document as doc
from aiscorr.report.blocks import Places, clock, ranges, shorten
from aiscorr.report.page.scene import Arrow, Bar, Lane, Mark, Scene
from aiscorr.report.page.shapes import shape_of
from aiscorr.report.picture_side import NodeSpan, Picture
from aiscorr.report.sections.chain import shown_steps
from aiscorr.report.sections.ranks import MEANS

#: More culprits, or more nodes that nothing happened to, share a lane.
_MOST_CULPRITS, _MOST_NODES = 8, 12
#: Marks of one shape on one lane that lie closer than this share of the axis are one; on a lane of many ranks or nodes.
_CLOSE, _CLOSE_OF_MANY = 1 / 250, 1 / 90
_TEXT = 160
_LIGHT = ("cpu high", "low space", "busy", "goroutines")


class _Axis:
    """From moments to seconds on the axis."""

    def __init__(self, picture: Picture) -> None:
        self.start = picture.from_
        self.length = max((picture.to - picture.from_).total_seconds(), 1.0)

    def at(self, moment: datetime) -> float:
        """Seconds from the left edge, also where it lies outside."""
        return (moment - self.start).total_seconds()

    def inside(self, moment: datetime) -> float:
        """The same, moved to the edge where it lies outside."""
        return min(max(self.at(moment), 0.0), self.length)


def scene(failure: doc.FailureReport, places: Places) -> Scene | None:
    """The picture of a failure; None where no line has a time."""
    picture = failure.picture
    if picture is None:
        return None
    axis = _Axis(picture)
    node_lanes = _node_lanes(failure, picture)
    rank_lanes = _rank_lanes(failure)
    lane_of_node = {node: lane.key for lane, nodes in node_lanes for node in nodes}
    lane_of_rank = {rank: lane.key for lane, ranks in rank_lanes for rank in ranks}
    marks = [
        *_last_lines(failure, axis, places, rank_lanes),
        *_marks(failure, axis, places, lane_of_node, lane_of_rank),
    ]
    many = {lane.key for lane, members in (*node_lanes, *rank_lanes) if len(members) > 1}
    lanes = [lane for lane, _ in node_lanes] + [lane for lane, _ in rank_lanes]
    if any(mark.lane == "job" for mark in marks):
        lanes.append(Lane("job", "job", "launcher, all ranks", "job"))
    bars = [*_node_bars(picture, axis, places, node_lanes), *_rank_bars(failure, axis, rank_lanes)]
    window = None
    if failure.window_started_at and failure.window_ended_at:
        window = axis.inside(failure.window_started_at), axis.inside(failure.window_ended_at)
    named = (
        ("first error", failure.first_error_at), ("hang", failure.hang_started_at), ("ended", failure.ended_at),
    )  # fmt: skip
    moments = tuple((name, axis.at(at)) for name, at in named if at and 0 <= axis.at(at) <= axis.length)
    arrows = tuple(_arrows(failure, axis, lane_of_node, lane_of_rank))
    return Scene(
        axis.start,
        axis.length,
        window,
        moments,
        tuple(lanes),
        tuple(bars),
        tuple(_joined(marks, axis.length, many)),
        arrows,
    )


def _node_lanes(failure: doc.FailureReport, picture: Picture) -> list[tuple[Lane, tuple[str, ...]]]:
    """A lane for each node that the failure is about, that was away or stands in the chain; one for all others."""
    held = [node.node_id for node in failure.ais_nodes]
    chain = failure.verdict_chain
    steps = [step.node_id for step in chain.steps if step.node_id] if chain else []
    away = [span.node_id for span in picture.node_spans if span.kind == "down"]
    asked = [one.node_id for one in failure.asked_for if one.node_id]
    spoke = [item.node_id for item in failure.timeline if item.node_id and item.weight == 1]
    seen = [span.node_id for span in picture.node_spans]
    first = list(dict.fromkeys([*held, *steps, *away, *asked, *spoke]))
    every = list(dict.fromkeys([*first, *seen]))
    own = every if len(every) <= _MOST_NODES else first[:_MOST_NODES]
    roles = {span.node_id: (span.role or "node", span.host) for span in picture.node_spans}
    roles |= {node.node_id: (node.role or "node", node.host) for node in failure.ais_nodes}
    result: list[tuple[Lane, tuple[str, ...]]] = []
    for node_id in own:
        role, host = roles.get(node_id, ("node", None))
        note = f"{role}, {host}" if host else role
        result.append((Lane(f"n{len(result)}", node_id, note, "nodes", node_id in held), (node_id,)))
    others = tuple(node for node in every if node not in own)
    if others:
        lane = Lane(f"n{len(result)}", f"{len(others)} more", "nodes of AIStore", "nodes")
        result.append((lane, others))
    return result


def _rank_lanes(failure: doc.FailureReport) -> list[tuple[Lane, tuple[int, ...]]]:
    """A lane for each culprit, and one for all ranks of every other role."""
    by_role: dict[str, list[int]] = {}
    for line in failure.ranks:
        by_role.setdefault(line.role, []).append(line.rank)
    hosts = {line.rank: line.host for line in failure.ranks}
    result: list[tuple[Lane, tuple[int, ...]]] = []
    for role in sorted(by_role, key=list(MEANS).index):
        ranks = by_role[role]
        if role == "culprit" and len(ranks) <= _MOST_CULPRITS:
            for rank in ranks:
                note = f"culprit, {hosts[rank]}" if hosts.get(rank) else "culprit"
                result.append((Lane(f"r{len(result)}", f"rank {rank}", note, "ranks", True), (rank,)))
            continue
        label = f"rank {ranks[0]}" if len(ranks) == 1 else f"{len(ranks):,} ranks"
        lane = Lane(f"r{len(result)}", label, f"{role}: {ranges(ranks)}", "ranks", role == "culprit")
        result.append((lane, tuple(ranks)))
    return result


def _node_bars(
    picture: Picture, axis: _Axis, places: Places, lanes: list[tuple[Lane, tuple[str, ...]]]
) -> Iterable[Bar]:
    """Spans of nodes; on a lane of many nodes up is where all are."""
    by_node: dict[str, list[NodeSpan]] = {}
    for span in picture.node_spans:
        by_node.setdefault(span.node_id, []).append(span)
    for lane, nodes in lanes:
        spans = [span for node in nodes for span in by_node.get(node, ())]
        up = [span for span in spans if span.kind == "up"]
        if len(nodes) > 1 and up:
            begin, end = max(span.from_ for span in up), min(span.to for span in up)
            if len({span.node_id for span in up}) == len(nodes) and end > begin:
                yield _span_bar(axis, lane, "up", begin, begin, end, "the logs of all cover this time")
        for span in spans:
            if span.kind == "up" and len(nodes) > 1:
                continue
            kind = "light" if span.state in _LIGHT else span.kind
            until = "no line shows its end" if span.is_cut else f"until {clock(span.to)}"
            since = clock(span.from_, is_exact=span.from_ == span.from_latest)
            where = places.line(span.path, span.line_no)
            words = f"{span.node_id} {span.state}: {since}, {until}" + (f"\n{where}" if where and kind != "up" else "")
            yield _span_bar(axis, lane, kind, span.from_, span.from_latest, span.to, words, span.is_cut)


def _span_bar(
    axis: _Axis, lane: Lane, kind: str, begin: datetime, sure: datetime, end: datetime, title: str,
    is_open: bool = False,
) -> Bar:  # fmt: skip
    return Bar(lane.key, kind, axis.inside(begin), axis.inside(sure), axis.inside(end), title, is_open)


def _rank_bars(failure: doc.FailureReport, axis: _Axis, lanes: list[tuple[Lane, tuple[int, ...]]]) -> Iterable[Bar]:
    """Since when and until when a rank, or the ranks of a role, printed anything, and when they waited."""
    output = {one.rank: one for one in failure.coverage if one.kind == "output" and one.rank is not None}
    state = {line.rank: line for line in failure.ranks}
    for lane, ranks in lanes:
        spoken = [output[rank] for rank in ranks if rank in output]
        begins = [one.from_ for one in spoken if one.from_] or (
            [failure.job.started_at] if failure.job.started_at else []
        )
        last = [state[rank].last_seen_at for rank in ranks] + [one.to for one in spoken]
        ends = [moment for moment in last if moment]
        if not begins or not ends:
            continue
        begin, end = min(begins), max(ends)
        waits = {"initiator", "notified", "waiting", "ahead"} & {state[rank].role for rank in ranks}
        hang = failure.hang_started_at
        split = min(max(hang, begin), end) if hang and (waits or lane.is_held) else end
        name = lane.label
        yield _span_bar(axis, lane, "run", begin, begin, split, f"{name}: lines of output since {clock(begin)}")
        if split < end:
            doing = ", ".join(sorted({state[rank].activity.replace("_", " ") for rank in ranks}))
            words = (
                f"{name}: {'waited' if waits else 'kept the others waiting'} ({doing}) {clock(split)} to {clock(end)}"
            )
            yield _span_bar(axis, lane, "wait" if waits else "held", split, split, end, words)


def _marks(
    failure: doc.FailureReport, axis: _Axis, places: Places, nodes: dict[str, str], ranks: dict[int, str]
) -> Iterable[Mark]:
    """The events of the timeline on their lanes."""
    bounds = {(one.path, one.line_no): one for one in failure.picture.bounds} if failure.picture else {}
    for item in failure.timeline:
        if not 0 <= axis.at(item.at) <= axis.length:
            continue
        lane = nodes.get(item.node_id or "") if item.node_id else ranks.get(-1 if item.rank is None else item.rank)
        bound = bounds.get((item.path or "", item.line_no or 0))
        low = high = axis.at(item.at)
        if not item.is_exact and bound is not None:
            low, high = axis.inside(bound.from_), axis.inside(bound.to)
        elif item.source == "worker" and not item.at.microsecond:
            high = min(high + 1.0, axis.length)
        who = item.node_id or (f"rank {item.rank}" if item.rank is not None else "")
        words = f"{clock(item.at, is_exact=item.is_exact)} {who} {shorten(item.text, _TEXT)}"
        where = places.line(item.path, item.line_no)
        yield Mark(lane or "job", shape_of(item), axis.at(item.at), min(low, axis.at(item.at)), high, words, where)


def _last_lines(
    failure: doc.FailureReport, axis: _Axis, places: Places, lanes: list[tuple[Lane, tuple[int, ...]]]
) -> Iterable[Mark]:
    """The last line of each culprit that has a lane."""
    state = {line.rank: line for line in failure.ranks}
    for lane, ranks in lanes:
        line = state[ranks[0]]
        if lane.is_held and len(ranks) == 1 and line.last_seen_at and 0 <= axis.at(line.last_seen_at) <= axis.length:
            moment = axis.at(line.last_seen_at)
            words = f"{clock(line.last_seen_at)} rank {line.rank}: its last line"
            yield Mark(lane.key, "last", moment, moment, moment, words, places.line(line.path, line.line_no))


def _joined(marks: list[Mark], length: float, many: set[str]) -> Iterable[Mark]:
    """Marks of one shape that lie on each other as one, with their number."""
    last: dict[tuple[str, str], Mark] = {}
    for mark in sorted(marks, key=lambda mark: mark.moment):
        before = last.get((mark.lane, mark.shape))
        close = _CLOSE_OF_MANY if mark.lane in many else _CLOSE
        if before is not None and mark.moment - before.moment < length * close:
            joined = Mark(
                before.lane, before.shape, before.moment, min(before.low, mark.low), max(before.high, mark.high),
                before.title, before.place, before.count + 1,
            )  # fmt: skip
            last[mark.lane, mark.shape] = joined
            continue
        if before is not None:
            yield before
        last[mark.lane, mark.shape] = mark
    yield from last.values()


def _arrows(failure: doc.FailureReport, axis: _Axis, nodes: dict[str, str], ranks: dict[int, str]) -> Iterable[Arrow]:
    """The chain from lane to lane, in order of time, and from its last node to the culprit; else what was asked."""
    chain = failure.verdict_chain
    culprit = next((rank for rank in failure.culprit_ranks if rank in ranks), None)
    failed = failure.first_error_at or failure.hang_started_at
    if chain is not None:
        steps = [step for step, _ in shown_steps(failure, chain) if step.at and step.node_id in nodes]
        stops = [(nodes[step.node_id or ""], axis.inside(step.at), step.step) for step in steps if step.at]
        if culprit is not None and stops:
            error = _error_of(failure, culprit) or failed
            stops = [stop for stop in stops if error is None or stop[1] <= axis.inside(error) + 1.0] or stops[:1]
            if error is not None:
                stops.append((ranks[culprit], axis.inside(error), f"reaches rank {culprit}"))
        for (lane, moment, _), (to_lane, to_moment, step) in pairwise(stops):
            if lane != to_lane:
                yield Arrow(lane, moment, to_lane, max(moment, to_moment), step.replace("_", " "))
    elif culprit is not None:
        for one in failure.asked_for[:1]:
            if one.first_at and one.node_id in nodes and one.rank in ranks:
                moment = axis.inside(one.first_at)
                yield Arrow(ranks[one.rank], moment, nodes[one.node_id or ""], moment, "asked")


def _error_of(failure: doc.FailureReport, rank: int) -> datetime | None:
    """When the timeline puts the error of a rank."""
    own = [item for item in failure.timeline if item.rank == rank and item.weight == 1]
    return min((item.at for item in own), default=None)
