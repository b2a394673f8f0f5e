"""The hypotheses in their order, each with the lines for and against it, read again."""

from __future__ import annotations

from collections.abc import Sequence

from aiscorr.report.blocks import Block, Bullets, Paragraph, Places, Table, cited, clock_between
from aiscorr.report.citation import is_statistics
from aiscorr.report.document import CitedLine, FailureReport
from aiscorr.report.sections.chain import told_above
from aiscorr.report.sections.timeline import shown_events
from aiscorr.report.speaking import said

TITLE = "Hypotheses and evidence"
ORDER = 60
EMPTY = "No rule fired."

_LIMIT = 3
_TEXT = 100


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """For each of the best hypotheses a sentence and a table of lines; then observations and blind rules."""
    result: list[Block] = []
    in_chain = told_above(failure)
    above = in_chain | {(item.path, item.line_no) for item, _ in shown_events(failure)}
    told = [cause for cause in failure.root_causes if cause.place == 1 or cause.failure_class != "undetermined"]
    for number, cause in enumerate(told[:_LIMIT], start=1):
        verdict = f"{cause.failure_class}, storage {cause.storage_verdict}, score {cause.score:.2f}"
        result.append(Paragraph(f"{number}. {cause.statement} — {verdict}"))
        chained = [line for line in cause.supports if number == 1 and _is_told(line, in_chain)]
        if chained:
            result.append(Paragraph(_as_chain_says(chained)))
        rows = [_row("for", line, places, above) for line in cause.supports if line not in chained]
        rows += [_row("against", line, places, above) for line in cause.contradicts]
        if rows:
            result.append(
                Table(
                    ("", "checked", "why, the line, and its place"),
                    tuple(rows),
                    wide=("why, the line, and its place",),
                )
            )
    seen = [rule.statement for rule in failure.rules if rule.state == "fired" and rule.failure_class is None]
    if seen:
        result += [Paragraph("Also seen, and not a cause on their own:"), Bullets(tuple((text, "") for text in seen))]
    unjudged = [rule for rule in failure.rules if rule.state == "blind"]
    blind = [rule.finding.replace("_", " ") for rule in unjudged if rule.failure_class is not None]
    if blind:
        result.append(
            Paragraph(
                "Could not be judged, because inputs are missing: " + ", ".join(blind) + _where_missing(failure),
                "open",
            )
        )
    result += [Paragraph(f"Not seen: {rule.statement}.", "open") for rule in unjudged if rule.failure_class is None]
    return result


def _where_missing(failure: FailureReport) -> str:
    """Where it says what is missing; who acquits storage for what a rank says of its own end needs none of it."""
    is_told = any("AIStore" in spot.what or "AIStore" in spot.why for spot in failure.blind)
    is_needed = is_told or failure.storage_verdict != "innocent"
    if not is_needed:
        return "; the verdict needs none of them."
    return ". See the blind spots." if failure.blind else "."


def _is_told(line: CitedLine, in_chain: set[tuple[str | None, int | None]]) -> bool:
    """Whether the chain shows the line, and nothing else is to be said of it than that it was found again."""
    return (line.path, line.line_no) in in_chain and line.check in (None, "verified")


def _as_chain_says(lines: Sequence[CitedLine]) -> str:
    """That the lines of the chain speak for it, and whether they were read again."""
    what = f"{len(lines)} lines" if len(lines) > 1 else "a line"
    checked = "not read again" if any(line.check is None for line in lines) else "verified"
    return f"For it: {what} of the root-cause chain above ({checked})."


def _row(side: str, line: CitedLine, places: Places, above: set[tuple[str | None, int | None]]) -> tuple[str, str, str]:
    moment = clock_between(line.at, line.latest_at, is_estimate=line.is_estimate)
    told = "(statistics)" if line.text is None or is_statistics(line.text) else line.text
    words = "" if (line.path, line.line_no) in above else said(told, _TEXT)
    text = f"{line.why}: {' '.join(part for part in (moment, words) if part)}".removesuffix(": ")
    return side, line.check or "not read", cited(text, places.line(line.path, line.line_no, line.locator))
