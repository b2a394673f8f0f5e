"""Messages of the worker logs by tier, retries and resets by file, ranks and files seen of those expected."""

from __future__ import annotations

from aiscorr.report.blocks import Block, Facts, Paragraph, Places, Table, cited, ranges, shorten
from aiscorr.report.document import FailureReport, TriageLine, WorkerFile

TITLE = "Triage of the worker logs"
ORDER = 120
EMPTY = "The worker logs hold no line that any pattern knows."

_LIMIT = 6


def is_hidden(failure: FailureReport) -> bool:
    """Always: only the whole report shows it."""
    return True


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """Patterns with ranks and counts, then one line a file that had resets, retries or errors."""
    telling = [line for line in failure.triage if line.role != "consequence"]
    rows = tuple(_row(line, places) for line in telling[:_LIMIT])
    result: list[Block] = [_seen(failure)]
    if rows:
        result.append(
            Table(
                ("tier", "lines", "ranks", "retry", "message, and its first line"),
                rows,
                numeric=("lines",),
                wide=("ranks", "message, and its first line"),
            )
        )
    hidden = len(failure.triage) - len(rows)
    if hidden:
        result.append(Paragraph(f"{hidden} more kinds of message, mostly consequences: aiscorr query @triage", "dim"))
    files = [item for item in failure.worker_files if item.reset_count or item.retry_count or item.error_count]
    if files:
        columns = ("file", "ranks", "errors", "resets", "retries")
        result.append(
            Table(
                columns,
                tuple(_file(item, places) for item in files[:_LIMIT]),
                numeric=("errors", "resets"),
                wide=("file",),
            )
        )
    return result


def _seen(failure: FailureReport) -> Facts:
    missing = f"; missing: {ranges(failure.absent_ranks)}" if failure.absent_ranks else ""
    count = failure.reject_count
    lines = f"{count} line{'s' * (count > 1)}"
    rejects = f" ({lines} of the logs could not be read: aiscorr query @rejects)" if count else ""
    return Facts(
        (
            ("ranks seen", f"{failure.job.rank_count} of {failure.job.world}{missing}"),
            ("worker logs", f"{len(failure.worker_files)}{rejects}"),
        )
    )


def _row(line: TriageLine, places: Places) -> tuple[str, ...]:
    retry = f"{line.top_retry}/{line.retry_limit or '?'}" if line.top_retry else ""
    text = cited(shorten(line.title or line.pattern, 100), places.line(line.path, line.line_no))
    return line.tier.replace("_", " "), str(line.line_count), ranges(line.ranks), retry, text


def _file(item: WorkerFile, places: Places) -> tuple[str, ...]:
    retry = f"{item.retry_count}" + (f" (highest {item.top_retry}/{item.retry_limit or '?'})" if item.top_retry else "")
    return places.path(item.path), ranges(item.ranks), str(item.error_count), str(item.reset_count), retry
