"""Lays a report document out as HTML: one file, nothing fetched from elsewhere, and every text of a log escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from aiscorr.report import document as doc
from aiscorr.report.blocks import PLACE_MARK, Block, Bullets, Command, Facts, Paragraph, Steps, Table
from aiscorr.report.layout import Extent, LaidOut, foot, laid_out, latest_of, no_failure, other_failures, standing_apart
from aiscorr.report.page.assets import policy, script, script_source, style
from aiscorr.report.page.first import first_screen, verdict_words
from aiscorr.report.page.links import Links
from aiscorr.report.page.picture import picture
from aiscorr.report.page.times import Times
from aiscorr.report.page.trees import stack_tree, tracebacks
from aiscorr.report.sections import causes, clocks, counters, coverage, glossary, key_files, ranks, triage, verdict

__all__ = ["block_html", "page", "policy", "render_html", "script", "script_source", "section", "style", "table"]

_NO_LETTER = re.compile(r"[^a-z0-9]+")
#: Sections that are closed until somebody asks for them.
_CLOSED = {one.TITLE for one in (clocks, coverage, glossary, key_files, triage)}
_COMMAND = re.compile(r"(?s)(.*[:;,] )(aiscorr (?:query|report|lines|ingest|pull|verify|collect|explain)\b.*)")


def render_html(report: doc.Report, *, extent: Extent = "usual") -> str:
    """The report as one HTML file."""
    shown = [laid_out(failure, extent) for failure in report.failures]
    title = f"Failure {shown[0].failure_id}" if len(shown) == 1 else "Failures"
    parts = [section(failure, f"f{number}-") for number, failure in enumerate(shown)]
    parts = [*map(block_html, latest_of(report)), *parts]
    if not shown:
        parts = [block_html(block) for block in no_failure(report)]
    parts += [block_html(block) for block in (*other_failures(report), *standing_apart(report))]
    return one_file(title, parts, foot(report))


def one_file(title: str, parts: Iterable[str], foot_line: str, *more_styles: str) -> str:
    """A page that needs nothing else: its parts are HTML, and style sheets come after its own."""
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy(*more_styles)}">\n'
    head += "".join(f"<style>{one}</style>\n" for one in (style(), *more_styles))
    body = f"<main>\n{''.join(parts)}</main>\n<footer>{escape(foot_line)}</footer>\n<script>{script()}</script>\n"
    return page(title, body, head)


def render_sections_html(sections: Sequence[tuple[str, list[Block]]], foot_line: str) -> str:
    """Sections of another document than a report as one HTML file; the first one's title is the document's."""
    parts = []
    for number, (title, blocks) in enumerate(sections):
        level = "h2" if number else "h1"
        parts.append(f"<section>\n<{level}>{escape(title)}</{level}>\n{''.join(map(block_html, blocks))}</section>\n")
    return one_file(sections[0][0], parts, foot_line)


def page(title: str, body: str, head: str) -> str:
    """A whole page; `body` and `head` are HTML, the title is text."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)} – aiscorr</title>\n{head}</head>\n<body>\n{body}</body>\n</html>\n"
    )


def section(failure: LaidOut, prefix: str = "") -> str:
    """One failure: first screen, picture, links to its sections, and these; `prefix` keeps their ids apart."""
    one, rest = failure.failure, dict(failure.sections)
    spot = Spot(failure, prefix)
    words = verdict_words(one, rest.get(verdict.TITLE, []))
    ids = {title: prefix + _NO_LETTER.sub("-", title.lower()).strip("-") for title in rest}
    links = "".join(f'<a href="#{name}">{escape(title)}</a>\n' for title, name in ids.items())
    parts = [
        f"<header>\n<h1>Failure <code>{escape(failure.failure_id)}</code></h1>\n</header>\n",
        first_screen(one, words),
    ]
    drawn = picture(one, failure.places, prefix)
    parts.append(f'{drawn}<nav aria-label="Sections">\n{links}</nav>\n')
    if failure.root:
        parts.append(f'<p class="dim root">Paths are below <code>{escape(failure.root)}</code>.</p>\n')
    for title, blocks in rest.items():
        told = blocks[len(words) :] if title == verdict.TITLE else blocks
        body = "".join(block_html(block, spot) for block in told) + _beside(title, failure, spot)
        parts.append(_titled(title, ids[title], body, is_closed=_is_closed(title, one)))
    return f'<article data-root="{escape(failure.root)}">\n{"".join(parts)}</article>\n'


class Spot:
    """Where on a page blocks are: their links, the names of their rows, and the day of their times."""

    def __init__(self, failure: LaidOut, prefix: str) -> None:
        self.links = Links(failure.failure, failure.places, prefix)
        self.times = Times(failure.failure)


def block_html(block: Block, spot: Spot | None = None) -> str:
    """One block."""
    match block:
        case Paragraph(text, tone):
            return _paragraph(text, tone)
        case Command(text):
            return f'<pre class="command">{escape(text)}</pre>\n'
        case Facts(pairs):
            rows = "".join(f"<dt>{escape(label)}</dt><dd>{escape(value)}</dd>\n" for label, value in pairs)
            return f"<dl>\n{rows}</dl>\n"
        case Bullets(items):
            rows = "".join(f"<li{_id(place, spot)}>{escape(text)}{_place(place, spot)}</li>\n" for text, place in items)
            return f"<ul>\n{rows}</ul>\n"
        case Steps(items):
            rows = "".join(
                f"<li{_id(place, spot)}><b>{_time(head, spot)}</b>{_line(text)}{_place(place, spot)}</li>\n"
                for head, text, place in items
            )
            return f'<ol class="chain">\n{rows}</ol>\n'
        case Table(columns, rows_of_text, numeric, wide):
            kinds = ["n" if name in numeric else "w" if name in wide else "" for name in columns]
            named = [(_name(row, spot), [_cell(cell, spot) for cell in row]) for row in rows_of_text]
            return table(columns, [cells for _, cells in named], kinds, [name for name, _ in named])


def table(
    columns: Iterable[str], rows: Iterable[Iterable[str]], kinds: Sequence[str], names: Iterable[str] = ()
) -> str:
    """A table whose cells are HTML; of a column's kinds `n` is a number and `w` may wrap; `names` are ids of rows.

    Where the last column may wrap, a phone shows it below the others.
    """
    classes = [f' class="{kind}"' if kind else "" for kind in kinds]

    def line(tag: str, cells: Iterable[str], name: str = "") -> str:
        shown = "".join(f"<{tag}{kind}>{cell}</{tag}>" for cell, kind in zip(cells, classes, strict=True))
        return f'<tr id="{name}">{shown}</tr>\n' if name else f"<tr>{shown}</tr>\n"

    head = line("th", map(escape, columns))
    stack = ' class="stack"' if kinds and kinds[-1] == "w" else ""
    ids = iter(names)
    body = "".join(line("td", row, next(ids, "")) for row in rows)
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="table">\n<table{stack}>\n<thead>\n{head}</thead>\n'
        f"<tbody>\n{body}</tbody>\n</table></div>\n"
    )


def _beside(title: str, failure: LaidOut, spot: Spot) -> str:
    """What a page shows below a section beyond its text."""
    if title == causes.TITLE:
        return tracebacks(failure.failure, failure.places, spot.links)
    if title == ranks.TITLE:
        return stack_tree(failure.failure, failure.places, spot.links)
    return ""


def _is_closed(title: str, failure: doc.FailureReport) -> bool:
    """Counters stand open only where errors grew, or a node is held responsible."""
    if title == counters.TITLE:
        return not failure.ais_nodes and not any(side.inside >= 1 for side in failure.error_sides)
    return title in _CLOSED


def _titled(title: str, name: str, body: str, *, is_closed: bool) -> str:
    head = f"<h2>{escape(title)}</h2>"
    if is_closed:
        return f'<section id="{name}">\n<details class="more"><summary>{head}</summary>\n{body}</details>\n</section>\n'
    return f'<section id="{name}">\n{head}\n{body}</section>\n'


def _paragraph(text: str, tone: str) -> str:
    """Running text; a command at its end is on a line of its own."""
    found = _COMMAND.fullmatch(text)
    if found is None:
        return f'<p class="{tone}">{escape(text)}</p>\n'
    return f'<p class="{tone}">{escape(found[1])}<code class="command">{escape(found[2])}</code></p>\n'


def _id(place: str, spot: Spot | None) -> str:
    return f' id="{spot.links.row()}"' if place and spot else ""


def _name(row: Iterable[str], spot: Spot | None) -> str:
    """The id of a row that cites a line."""
    return spot.links.row() if spot and any(PLACE_MARK in cell for cell in row) else ""


def _place(place: str, spot: Spot | None) -> str:
    if not place:
        return ""
    return " " + (spot.links.place(place) if spot else f'<code class="place">{escape(place)}</code>')


def _line(text: str) -> str:
    """A line of a log."""
    return f'<br><span class="line">{escape(text)}</span>' if text else ""


def _time(text: str, spot: Spot | None) -> str:
    return spot.times.marked(text) if spot else escape(text)


def _cell(cell: str, spot: Spot | None) -> str:
    text, mark, place = cell.partition(PLACE_MARK)
    return f"{_time(text, spot)}<br>{_place(place, spot).strip()}" if mark else _time(text, spot)
