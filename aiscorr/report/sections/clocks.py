"""How the clocks of the logs became UTC."""

from __future__ import annotations

from collections.abc import Sequence

from aiscorr.report.blocks import Block, Paragraph, Places, Table, cited, listed, shorten
from aiscorr.report.document import ClockLine, FailureReport
from aiscorr.report.speaking import RECORD_HEAD

TITLE = "Clocks"
ORDER = 130
EMPTY = "No log has a clock."

_UNTOLD = (
    "No log prints its time zone: the logs are matched with each other and taken as UTC. Order and durations hold; all "
    "moments may be off by the same hours. If they are: aiscorr ingest --timezone <Area/City> <AIStore's logs>"
)
_HOW = "how it is known, and the line"
#: What a method of clocks is called.
METHODS = {
    "utc_marker": "prints UTC",
    "header": "date of the header",
    "file_name": "date of the file name",
    "anchor": "matched with another log",
    "given": "given by --timezone or aiscorr.toml",
    "mtime": "time of the file",
    "assumed": "taken as UTC",
}


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """One row a group of files with the same method and offset, and whether any of them tells UTC at all."""
    usual = _usual_offset(failure.clocks)
    rows = tuple(_row(line, places, usual) for line in failure.clocks)
    if not rows:
        return []
    head = ("logs", "files", "offset", "sure", _HOW)
    result: list[Block] = [Table(head, rows, numeric=("files", "sure"), wide=("logs", _HOW))]
    if any(line.is_untold for line in failure.clocks):
        result.append(Paragraph(_UNTOLD, "dim"))
    return result


def _usual_offset(lines: Sequence[ClockLine]) -> int | None:
    """The offset of most of AIStore's nodes, in seconds: nodes of another one are named."""
    nodes: dict[int, set[str]] = {}
    for line in lines:
        nodes.setdefault(line.offset_s, set()).update(line.node_ids)
    return max(nodes, key=lambda offset: len(nodes[offset]), default=None)


def _row(line: ClockLine, places: Places, usual: int | None) -> tuple[str, ...]:
    sign = "+" if line.offset_s >= 0 else "-"
    hours, minutes = divmod(abs(line.offset_s) // 60, 60)
    told = shorten(RECORD_HEAD.sub("", line.evidence or ""), 72) if line.line_no is None else ""
    how = ": ".join(part for part in (METHODS.get(line.method, line.method), told) if part)
    return (
        line.who if line.offset_s == usual or not line.node_ids else f"{line.who} of {listed(line.node_ids, 3)}",
        str(line.file_count),
        (line.method == "given" and line.timezone) or f"UTC{sign}{hours:02d}:{minutes:02d}",
        f"{line.confidence:.2f}",
        how if told else cited(how, places.line(line.path, line.line_no)),
    )
