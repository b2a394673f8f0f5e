"""Lays a report document out as HTML: no script, nothing fetched from elsewhere, and every text of a log escaped."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable
from functools import lru_cache
from html import escape
from importlib.resources import files

from aiscorr.report import document as doc
from aiscorr.report.blocks import PLACE_MARK, Block, Bullets, Command, Facts, Paragraph, Steps, Table
from aiscorr.report.layout import Extent, LaidOut, foot, laid_out, no_failure, other_failures, standing_apart

_NO_LETTER = re.compile(r"[^a-z0-9]+")


@lru_cache(maxsize=1)
def style() -> str:
    """The style sheet of reports and pages."""
    return files("aiscorr.report").joinpath("style.css").read_text("utf-8")


@lru_cache(maxsize=1)
def policy_of_file() -> str:
    """What a browser may do with a report that is one file: show its own style sheet, and nothing else."""
    digest = b64encode(hashlib.sha256(style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'"


def render_html(report: doc.Report, *, extent: Extent = "usual") -> str:
    """The report as one HTML file."""
    shown = [laid_out(failure, extent) for failure in report.failures]
    title = f"Failure {shown[0].failure_id}" if len(shown) == 1 else "Failures"
    parts = [section(failure, f"f{number}-") for number, failure in enumerate(shown)]
    parts = [*map(block_html, other_failures(report)), *parts]
    if not shown:
        parts = [block_html(block) for block in no_failure(report)]
    parts += [block_html(block) for block in standing_apart(report)]
    head = f"<style>{style()}</style>\n"
    policy = f'<meta http-equiv="Content-Security-Policy" content="{policy_of_file()}">\n'
    return page(title, "".join(parts) + f"<footer>{escape(foot(report))}</footer>\n", policy + head)


def page(title: str, body: str, head: str) -> str:
    """A whole page; `body` and `head` are HTML, the title is text."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)} – aiscorr</title>\n{head}</head>\n<body>\n{body}</body>\n</html>\n"
    )


def section(failure: LaidOut, prefix: str = "") -> str:
    """One failure: its name, links to its sections, and these; `prefix` keeps their ids apart from others'."""
    ids = [prefix + _NO_LETTER.sub("-", title.lower()).strip("-") for title, _ in failure.sections]
    links = "".join(
        f'<a href="#{name}">{escape(title)}</a>\n' for name, (title, _) in zip(ids, failure.sections, strict=True)
    )
    parts = [f"<h1>Failure <code>{escape(failure.failure_id)}</code></h1>\n<nav>\n{links}</nav>\n"]
    if failure.root:
        parts.append(f'<p class="dim">Paths are below <code>{escape(failure.root)}</code>.</p>\n')
    for name, (title, blocks) in zip(ids, failure.sections, strict=True):
        parts.append(f'<section id="{name}">\n<h2>{escape(title)}</h2>\n')
        parts += [block_html(block) for block in blocks]
        parts.append("</section>\n")
    return "".join(parts)


def block_html(block: Block) -> str:
    """One block."""
    match block:
        case Paragraph(text, tone):
            return f'<p class="{tone}">{escape(text)}</p>\n'
        case Command(text):
            return f"<pre>{escape(text)}</pre>\n"
        case Facts(pairs):
            rows = "".join(f"<dt>{escape(label)}</dt><dd>{escape(value)}</dd>\n" for label, value in pairs)
            return f"<dl>\n{rows}</dl>\n"
        case Bullets(items):
            rows = "".join(f"<li>{escape(text)}{_place(place)}</li>\n" for text, place in items)
            return f"<ul>\n{rows}</ul>\n"
        case Steps(items):
            rows = "".join(
                f"<li><b>{escape(head)}</b>{_place(place)}{_line(text)}</li>\n" for head, text, place in items
            )
            return f'<ol class="chain">\n{rows}</ol>\n'
        case Table(columns, rows_of_text, numeric, wide):
            kinds = ["n" if name in numeric else "w" if name in wide else "" for name in columns]
            return table(columns, ([_cell(cell) for cell in row] for row in rows_of_text), kinds)


def table(columns: Iterable[str], rows: Iterable[Iterable[str]], kinds: Iterable[str]) -> str:
    """A table whose cells are HTML; of a column's kinds `n` is a number and `w` may wrap."""
    classes = [f' class="{kind}"' if kind else "" for kind in kinds]

    def line(tag: str, cells: Iterable[str]) -> str:
        shown = "".join(f"<{tag}{kind}>{cell}</{tag}>" for cell, kind in zip(cells, classes, strict=True))
        return f"<tr>{shown}</tr>\n"

    head, body = line("th", map(escape, columns)), "".join(line("td", row) for row in rows)
    return f'<div class="scroll"><table>\n<thead>\n{head}</thead>\n<tbody>\n{body}</tbody>\n</table></div>\n'


def _place(place: str) -> str:
    return f" <code>{escape(place)}</code>" if place else ""


def _line(text: str) -> str:
    """A line of a log."""
    return f'<br><span class="line">{escape(text)}</span>' if text else ""


def _cell(cell: str) -> str:
    text, mark, place = cell.partition(PLACE_MARK)
    return f"{escape(text)}<br><code>{escape(place)}</code>" if mark else escape(cell)
