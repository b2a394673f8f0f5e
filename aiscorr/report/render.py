"""Lays a report document out: coloured or plain text, Markdown, JSON. Knows blocks, not their meaning."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aiscorr.query.formats import json_text
from aiscorr.report import document as doc
from aiscorr.report.blocks import PLACE_MARK, Block, Bullets, Command, Facts, Paragraph, Steps, Table
from aiscorr.report.brief_lines import in_one_line
from aiscorr.report.commands import COMMAND
from aiscorr.report.layout import Extent, LaidOut, foot, laid_out, latest_of, no_failure, other_failures, standing_apart
from aiscorr.report.overview_layout import overview_sections
from aiscorr.report.table_lines import table_lines
from aiscorr.report.wrapping import hanging, lines_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

#: Titles with what is below them.
Sections = Sequence[tuple[str, list[Block]]]
_STYLE = {"guilty": "bold red", "innocent": "bold green", "open": "bold yellow", "dim": "dim", "plain": ""}


def render_json(report: doc.Report) -> str:
    """The report as JSON, schema `aiscorr.report/1`."""
    return json_text(doc.to_json(report), indent=2) + "\n"


def render_markdown(report: doc.Report, *, extent: Extent = "usual") -> str:
    """The report as Markdown."""
    apart = [_markdown(block) for block in standing_apart(report)]
    parts = []
    for number, (title, blocks) in enumerate(overview_sections(report)):
        parts += [f"{'##' if number else '#'} {title}\n", *map(_markdown, blocks)]
    if not report.failures:
        return "\n".join([*parts, *map(_markdown, no_failure(report)), *apart])
    others = other_failures(report)
    parts += [_markdown(block) for block in latest_of(report)]
    for failure in (laid_out(one, extent) for one in report.failures):
        parts.append(f"# Failure {failure.failure_id}\n")
        if failure.root:
            parts.append(f"Paths are below {_code(failure.root)}.\n")
        for title, blocks in failure.sections:
            parts.append(f"## {title}\n")
            parts += [_markdown(block) for block in blocks]
    parts += [*map(_markdown, others), *apart, foot(report) + "\n"]
    return "\n".join(parts)


def render_text(report: doc.Report, *, width: int, color: bool, extent: Extent = "usual") -> str:
    """The report as text of the given width in columns; ANSI colours where `color`."""
    buffer = io.StringIO()
    console = _console(buffer, width, color)
    for number, (title, blocks) in enumerate(overview_sections(report)):
        _heading(console, title, "-" if number else "=", width)
        _show(console, blocks, gap=True)
    _show(console, latest_of(report), gap=True)
    for failure in (laid_out(one, extent) for one in report.failures):
        if extent == "brief":
            _brief(console, failure)
            continue
        _heading(console, f"FAILURE {failure.failure_id}", "=", width)
        if failure.root:
            console.print(f"Paths are below {failure.root}", style="dim", soft_wrap=True)
        for title, blocks in failure.sections:
            console.print()
            _heading(console, title, "-", width)
            _show(console, blocks)
        console.print()
    _show(console, other_failures(report), gap=True)
    apart = standing_apart(report)
    if not report.failures:
        _show(console, no_failure(report), gap=bool(apart))
    _show(console, apart)
    if report.failures and extent != "brief":
        console.print(foot(report) + "\n", style="dim", end="")
    return _without_ends(buffer)


def render_sections_text(sections: Sections, foot_line: str, *, width: int, color: bool) -> str:
    """Sections of another document than a report as text; the first one's title is the document's."""
    buffer = io.StringIO()
    console = _console(buffer, width, color)
    for number, (title, blocks) in enumerate(sections):
        _heading(console, title, "-" if number else "=", width)
        _show(console, blocks, gap=True)
    console.print(foot_line + "\n", style="dim", end="")
    return _without_ends(buffer)


def render_sections_markdown(sections: Sections, foot_line: str) -> str:
    """The same as Markdown."""
    parts = []
    for number, (title, blocks) in enumerate(sections):
        parts += [f"{'##' if number else '#'} {title}\n", *map(_markdown, blocks)]
    return "\n".join([*parts, foot_line + "\n"])


def _console(buffer: io.StringIO, width: int, color: bool) -> Console:
    from rich.console import Console

    return Console(
        file=buffer,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


def _without_ends(buffer: io.StringIO) -> str:
    """The text without blanks at the ends of its lines."""
    return "\n".join(line.rstrip() for line in buffer.getvalue().split("\n"))


def _show(console: Console, blocks: Sequence[Block], *, gap: bool = False) -> None:
    """Blocks one after the other, and with `gap` an empty line behind them. What is too wide stands beyond the page."""
    from rich.text import Text

    for block in blocks:
        console.print(Text("\n").join(_lines(block, console.width)), soft_wrap=True)
    if gap and blocks:
        console.print()


def _brief(console: Console, failure: LaidOut) -> None:
    """A failure in about ten lines: no headings, and each advice and each line of evidence on one line."""
    console.print(f"FAILURE {failure.failure_id}", style="bold", soft_wrap=True)
    if failure.root:
        console.print(f"Paths are below {failure.root}", style="dim", soft_wrap=True)
    for _, blocks in failure.sections:
        _show(console, [in_one_line(block, console.width) for block in blocks])


def _heading(console: Console, title: str, line: str, width: int) -> None:
    console.print(title, style="bold", soft_wrap=True)
    console.print(line * min(len(title), width), style="dim")


def _lines(block: Block, width: int) -> list[Text]:
    from rich.text import Text

    match block:
        case Paragraph(text, tone):
            return lines_of(Text(text, style=_STYLE[tone]), width)
        case Command(text):
            return [Text(f"    $ {text}", style="cyan")]
        case Facts(pairs):
            size = 4 + max((len(label) for label, _ in pairs), default=0)
            facts = ((Text(f"  {label}".ljust(size), "dim"), Text(value)) for label, value in pairs)
            return [line for label, value in facts for line in hanging(label, lines_of(value, width - size))]
        case Bullets(items):
            bullets = (Text.assemble(text, ("  " + place if place else "", "cyan")) for text, place in items)
            return [line for bullet in bullets for line in hanging(Text("  - "), lines_of(bullet, width - 4))]
        case Steps(items):
            return [line for no, step in enumerate(items) for line in _step_lines(no, step, width)]
        case Table():
            return table_lines(block, width)


def _step_lines(number: int, step: tuple[str, str, str], width: int) -> list[Text]:
    """What happened and where it stands, whole; below it the words of the line, which may be cut."""
    from rich.text import Text

    mark = Text("      " if number == 0 else "  --> ")
    head, text, place = step
    lines = lines_of(Text.assemble((head, "bold"), ("  " + place if place else "", "cyan")), width - mark.cell_len)
    if text:
        lines += lines_of(Text(text), width - mark.cell_len, is_cut=True)
    return hanging(mark, lines)


def _markdown(block: Block) -> str:
    match block:
        case Paragraph(text, tone):
            return (f"**{_running(text)}**" if tone in ("guilty", "innocent", "open") else _running(text)) + "\n"
        case Command(text):
            return f"```sh\n{text}\n```\n"
        case Facts(pairs):
            return "\n".join(f"- **{label}**: {_running(value)}" for label, value in pairs) + "\n"
        case Bullets(items):
            return (
                "\n".join(f"- {_running(text)}" + (f" {_code(place)}" if place else "") for text, place in items) + "\n"
            )
        case Steps(items):
            lines = []
            for number, (head, text, place) in enumerate(items):
                arrow = "" if number == 0 else "→ "
                lines.append(
                    f"{number + 1}. {arrow}**{_escape(head)}**"
                    + (f" {_code(place)}" if place else "")
                    + (f"<br>{_escape(text)}" if text else "")
                )
            return "\n".join(lines) + "\n"
        case Table(columns, rows, numeric, _):
            head = (
                "| "
                + " | ".join(columns)
                + " |\n| "
                + " | ".join("---:" if name in numeric else "---" for name in columns)
                + " |\n"
            )
            return (
                head + "\n".join("| " + " | ".join(_markdown_cell(cell) for cell in row) + " |" for row in rows) + "\n"
            )


def _markdown_cell(cell: str) -> str:
    text, mark, place = cell.partition(PLACE_MARK)
    if not mark:
        return _escape(cell)
    shown = _code(place).replace("|", "\\|")
    return f"{_escape(text)}<br>{shown}"


def _code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _running(text: str) -> str:
    """Running text, its commands as code: what is copied has to work."""
    line, end, parts = " ".join(text.split()), 0, []
    for found in COMMAND.finditer(line):
        parts += [_escape(line[end : found.start()], is_whole=False), _code(found[0])]
        end = found.end()
    return "".join(parts) + _escape(line[end:], is_whole=False)


def _escape(text: str, *, is_whole: bool = True) -> str:
    for mark in ("\\", "|", "<", "*", "_", "`", "["):
        text = text.replace(mark, "\\" + mark)
    return " ".join(text.split()) if is_whole else text
