"""Lays a report document out: coloured or plain text, Markdown, JSON. Knows blocks, not their meaning."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, TypeVar, cast

from aiscorr.query import json_text, printable
from aiscorr.report import document as doc
from aiscorr.report.blocks import PLACE_MARK, Block, Bullets, Command, Facts, Paragraph, Places, Steps, Table
from aiscorr.report.sections import sections

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_T = TypeVar("_T")
_STYLE = {"guilty": "bold red", "innocent": "bold green", "open": "bold yellow", "dim": "dim", "plain": ""}
NO_FAILURE = "No failure was found in the logs at hand."
_ONE_LOOK = (
    "One set of stacks proves no hang. Take them again after a minute (aiscorr collect stacks) and read them in too:"
    " who stands there still keeps the others waiting. Where all stand: aiscorr query @stacks"
)


def render_json(report: doc.Report) -> str:
    """The report as JSON, schema `aiscorr.report/1`."""
    return json_text(doc.to_json(report), indent=2) + "\n"


def render_markdown(report: doc.Report) -> str:
    """The report as Markdown."""
    if not report.failures:
        return f"{NO_FAILURE}\n{_apart(report)}"
    parts: list[str] = []
    for failure in map(_printable, report.failures):
        places = Places(_paths(failure))
        parts.append(f"# Failure {failure.failure_id}\n")
        if places.root:
            parts.append(f"Paths are below {_code(places.root)}.\n")
        for title, blocks in _laid_out(failure, places):
            parts.append(f"## {title}\n")
            parts += [_markdown(block) for block in blocks]
    parts += [_apart(report), _foot(report)] if report.standing_apart else [_foot(report)]
    return "\n".join(parts)


def render_text(report: doc.Report, *, width: int, color: bool) -> str:
    """The report as text of the given width in columns; ANSI colours where `color`."""
    from rich.console import Console

    if not report.failures:
        return f"{NO_FAILURE}\n{_apart(report)}"
    buffer = io.StringIO()
    console = Console(
        file=buffer,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    for failure in map(_printable, report.failures):
        places = Places(_paths(failure))
        _heading(console, f"FAILURE {failure.failure_id}", "=", width)
        if places.root:
            console.print(f"Paths are below {places.root}", style="dim", soft_wrap=True)
        for title, blocks in _laid_out(failure, places):
            console.print()
            _heading(console, title, "-", width)
            for block in blocks:
                console.print(_rich(block), soft_wrap=isinstance(block, Command))
        console.print()
    if report.standing_apart:
        console.print(f"{_apart(report)}\n", soft_wrap=True, end="")
    console.print(_foot(report), style="dim", end="")
    return "\n".join(line.rstrip() for line in buffer.getvalue().split("\n"))


def _printable(value: _T) -> _T:
    """The same with control characters of logs and file names shown by their codes: a terminal must not obey them."""
    if isinstance(value, str):
        return cast(_T, printable(value))
    if isinstance(value, tuple):
        return cast(_T, tuple(map(_printable, value)))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: _printable(getattr(value, field.name)) for field in fields(value)})
    return value


def _laid_out(failure: doc.FailureReport, places: Places) -> Iterable[tuple[str, list[Block]]]:
    for section in sections():
        blocks = section.blocks(failure, places)
        if blocks:
            yield section.title, blocks
        elif section.empty:
            yield section.title, [Paragraph(section.empty, "dim")]


def _paths(failure: doc.FailureReport) -> Iterable[str]:
    placed: tuple[doc.Placed, ...] = (
        *failure.timeline,
        *failure.key_files,
        *failure.ruled_out,
        *failure.ranks,
        *failure.triage,
        *failure.worker_files,
        *failure.counter_deltas,
        *failure.clocks,
        *(step for chain in failure.chains for step in chain.steps),
    )
    yield from (item.path or "" for item in placed)
    for cause in failure.root_causes:
        yield from (line.path for line in (*cause.supports, *cause.contradicts))


def _apart(report: doc.Report) -> str:
    """Jobs that may hang now, as lines that are good Markdown too; nothing where there are none."""
    if not report.standing_apart:
        return ""
    lines = ["", "A job may hang now:", ""]
    for item in map(_printable, report.standing_apart):
        lines += [f"- job {item.job_id}: {item.statement}", f"  {item.path}:{item.line_no}"]
    is_sure = all(item.is_still for item in report.standing_apart)
    return "\n".join(lines + ([""] if is_sure else ["", _ONE_LOOK, ""]))


def _foot(report: doc.Report) -> str:
    return f"aiscorr {report.aiscorr_version}, {report.generated_at:%Y-%m-%d %H:%M:%S} UTC\n"


def _heading(console: Console, title: str, line: str, width: int) -> None:
    console.print(title, style="bold", soft_wrap=True)
    console.print(line * min(len(title), width), style="dim")


def _rich(block: Block) -> RenderableType:
    from rich.padding import Padding
    from rich.table import Table as Grid
    from rich.text import Text

    match block:
        case Paragraph(text, tone):
            return Text(text, style=_STYLE[tone])
        case Command(text):
            return Text(f"    $ {text}", style="cyan")
        case Facts(pairs):
            grid = Grid.grid(padding=(0, 2))
            grid.add_column(style="dim", no_wrap=True)
            grid.add_column()
            for label, value in pairs:
                grid.add_row(label, Text(value))
            return Padding(grid, (0, 0, 0, 2))
        case Bullets(items):
            grid = Grid.grid(padding=(0, 1))
            grid.add_column(no_wrap=True)
            grid.add_column()
            for text, place in items:
                grid.add_row("-", Text(text) if not place else Text.assemble(text, ("  " + place, "cyan")))
            return Padding(grid, (0, 0, 0, 2))
        case Steps(items):
            return Padding(_rich_steps(items), (0, 0, 0, 2))
        case Table():
            return _rich_table(block)


def _rich_steps(items: tuple[tuple[str, str, str], ...]) -> RenderableType:
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for number, (head, text, place) in enumerate(items):
        body = Text.assemble((head, "bold"), ("  " + place if place else "", "cyan"), "\n" if text else "", text)
        grid.add_row("   " if number == 0 else "-->", body)
    return grid


def _rich_table(block: Table) -> RenderableType:
    from rich import box
    from rich.table import Table as Grid

    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1), header_style="dim")
    for name in block.columns:
        grid.add_column(
            name, justify="right" if name in block.numeric else "left", no_wrap=name not in block.wide, overflow="fold"
        )
    for row in block.rows:
        grid.add_row(*(_rich_cell(cell) for cell in row))
    return grid


def _rich_cell(cell: str) -> RenderableType:
    from rich.text import Text

    text, mark, place = cell.partition(PLACE_MARK)
    return Text.assemble(text, ("\n" + place, "cyan")) if mark else Text(cell)


def _markdown(block: Block) -> str:
    match block:
        case Paragraph(text, tone):
            return (f"**{_escape(text)}**" if tone in ("guilty", "innocent", "open") else _escape(text)) + "\n"
        case Command(text):
            return f"```sh\n{text}\n```\n"
        case Facts(pairs):
            return "\n".join(f"- **{label}**: {_escape(value)}" for label, value in pairs) + "\n"
        case Bullets(items):
            return (
                "\n".join(f"- {_escape(text)}" + (f" {_code(place)}" if place else "") for text, place in items) + "\n"
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


def _escape(text: str) -> str:
    for mark in ("\\", "|", "<", "*", "_", "`", "["):
        text = text.replace(mark, "\\" + mark)
    return " ".join(text.split())
