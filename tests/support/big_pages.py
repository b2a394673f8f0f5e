"""Reports of jobs far larger than any scenario, made of the report of one: more ranks, more nodes, more events."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from aiscorr.report import document as doc
from aiscorr.report.picture_side import Picture

PER_HOST = 8


def grown(report: doc.Report, rank_count: int, node_count: int) -> doc.Report:
    """The report as of a job with so many ranks and a cluster of so many nodes."""
    return replace(report, failures=tuple(_grown(one, rank_count, node_count) for one in report.failures))


def _grown(failure: doc.FailureReport, rank_count: int, node_count: int) -> doc.FailureReport:
    waiting = next(line for line in failure.ranks if line.role != "culprit")
    culprits = {line.rank: line for line in failure.ranks if line.role == "culprit"}
    roles = {rank: waiting.role if rank % 5 else "notified" for rank in range(rank_count)}
    ranks = tuple(
        replace(culprits.get(rank, waiting), rank=rank, host=f"pool3-{rank // PER_HOST:05d}")
        if rank in culprits
        else replace(
            waiting, rank=rank, role=roles[rank], host=f"pool3-{rank // PER_HOST:05d}",
            last_seen_at=waiting.last_seen_at and waiting.last_seen_at + timedelta(milliseconds=rank),
        )
        for rank in range(rank_count)
    )  # fmt: skip
    output = next(one for one in failure.coverage if one.kind == "output")
    coverage = tuple(replace(output, of=f"rank {rank}", rank=rank) for rank in range(rank_count))
    spoken = next(item for item in failure.timeline if item.rank is not None)
    events = tuple(
        replace(spoken, rank=rank, weight=2, text=text, at=spoken.at + timedelta(milliseconds=17 * rank % 40_000))
        for rank in range(rank_count)
        for text in ("notified: Received a dump signal due to a collective timeout", "exit: exitcode: -6")
    )
    every = tuple(range(rank_count))
    return replace(
        failure,
        ranks=ranks,
        coverage=coverage,
        timeline=(*failure.timeline, *events),
        initiator_ranks=tuple(rank for rank in every if rank not in culprits),
        triage=tuple(replace(line, ranks=every, line_count=rank_count) for line in failure.triage),
        job=replace(failure.job, world_size=rank_count, rank_count=rank_count, ranks_per_node=PER_HOST),
        impact=replace(failure.impact, ranks=rank_count),
        picture=failure.picture and _more_nodes(failure.picture, node_count),
    )


def _more_nodes(picture: Picture, node_count: int) -> Picture:
    """Each node several times, under other names."""
    nodes = list(dict.fromkeys(span.node_id for span in picture.node_spans))
    spans = list(picture.node_spans)
    for copy in range(1, -(-node_count // max(len(nodes), 1))):
        spans += [replace(span, node_id=f"{span.node_id[:5]}{copy:03d}") for span in picture.node_spans]
    return replace(picture, node_spans=tuple(spans))
