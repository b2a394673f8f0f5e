"""A line in its surroundings, and stored lines that hold a text."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.responses import Response

from aiscorr.errors import UsageError
from aiscorr.query.formats import printable
from aiscorr.report.sections.clocks import METHODS
from aiscorr.serve.surroundings import AROUND, MOST_AROUND, Line, Surroundings
from aiscorr.serve.web.answers import NotFoundError
from aiscorr.serve.web.failure_list import number
from aiscorr.serve.web.frame import framed, inputs, line_address, link, moment

if TYPE_CHECKING:
    from starlette.requests import Request

    from aiscorr.serve.web.answers import Site

_SEARCH = "search"
_HEADS = "<thead><tr><th>no.</th><th>when</th><th>line</th><th>pattern</th></tr></thead>"
_TONES = {"E": "guilty", "F": "guilty", "W": "open", "error": "guilty", "fatal": "guilty", "warning": "open"}


async def lines(site: Site, request: Request) -> Response:
    """The lines of an ingested file around one of them."""
    given = request.query_params
    path, around = given.get("path", ""), number(given.get("around"), "around", AROUND)
    line_no = number(given.get("line"), "line", 1)
    try:
        found = await site.read(site.reader.surroundings, path, line_no, around)
    except UsageError as error:
        raise NotFoundError(error.what, where=error.where, try_this=error.try_this) from None
    return framed(f"{path}:{line_no}", _page(found))


async def search(site: Site, request: Request) -> Response:
    """Stored lines that hold a text, the newest first."""
    known = (await site.read(site.reader.queries))[_SEARCH]
    given = {name: request.query_params.get(name, "") for name in known.parameters}
    asked = {name: value for name, value in given.items() if value}
    sentence = escape(known.sentence.partition(" (")[0])
    body = f"<h1>Lines</h1>\n<p>{sentence}.</p>\n{inputs('/search', given, button='search')}"
    if given["text"]:
        answer = await site.ask(site.reader.ask_named, _SEARCH, asked, "json")
        rows: list[dict[str, Any]] = json.loads(answer.body)
        failures = link(f"/failures?{urlencode({'q': given['text']})}", "failures that speak of it")
        taken = link(f"/api/queries/{_SEARCH}?{urlencode({**asked, 'format': 'csv'})}", "as CSV")
        body += f"<p>{len(rows):,} lines · {failures} · {taken}</p>\n"
        body += _found(rows) if rows else f'<p class="dim">{escape(known.without_rows)}</p>\n'
    return framed("Lines", body, "/search")


def _found(rows: list[dict[str, Any]]) -> str:
    """Lines of several files: when, who, what, and where, which leads to the surroundings."""
    heads = "<thead><tr><th>of</th><th>when</th><th>line</th></tr></thead>"
    return f'<table class="log">\n{heads}\n{"".join(map(_found_row, rows))}</table>\n'


def _found_row(row: dict[str, Any]) -> str:
    at = moment(row["event_at"], has_seconds=True) if row["event_at"] else ""
    who = link(f"/failures?{urlencode({'node': row['node_id']})}", row["node_id"]) if row["node_id"] else ""
    if row["job_id"]:
        rank = "" if row["rank"] is None else f" rank {row['rank']}"
        who = link(f"/failures?{urlencode({'job': row['job_id']})}", row["job_id"]) + rank
    place = f"{str(row['path']).rpartition('/')[2]}:{row['line_no']}"
    return (
        f'<tr><td>{who}</td><td>{at}</td><td class="line">{escape(printable(row["text"] or ""))}<br>'
        f"{link(line_address(row['path'], row['line_no']), place)}</td></tr>\n"
    )


def _page(found: Surroundings) -> str:
    file, number_, around = found.file, found.line_no, found.around
    name = str(file["path"]).rpartition("/")[2]
    facts = [
        ("file", f"<code>{escape(printable(file['path']))}</code>"),
        ("of", " ".join(_subjects(file)) or escape(str(file["kind"]).replace("_", " "))),
        (
            "clock",
            f"{escape(METHODS.get(file['method'], 'unknown'))}, {_offset(file['zone_offset_s'])}",
        ),
    ]
    rows = "".join(f"<dt>{words}</dt><dd>{value}</dd>\n" for words, value in facts)
    problem = f'<p class="open">{escape(printable(found.problem))}</p>\n' if found.problem else ""
    shown = "".join(_row(line, number_) for line in found.lines)
    return (
        f"<h1>Line {number_:,} of <code>{escape(printable(name))}</code></h1>\n<dl>\n{rows}</dl>\n{problem}"
        f'{_moves(found)}<div class="scroll" tabindex="0" role="group" aria-label="lines">'
        f'<table class="log">\n{_HEADS}\n{shown}'
        f"</table></div>\n{_moves(found)}"
        + inputs("/lines", {"line": str(number_), "around": str(around)}, kept={"path": str(file["path"])})
    )


def _subjects(file: dict[str, Any]) -> list[str]:
    """Whose file it is, each a list of failures."""
    shown = (("node", file["node_id"]), ("job", file["job_id"]))
    return [f"{name} {link(f'/failures?{urlencode({name: value})}', value)}" for name, value in shown if value]


def _offset(seconds: int | None) -> str:
    if seconds is None:
        return "the zone is not known"
    minutes = abs(seconds) // 60
    return f"UTC{'-' if seconds < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def _moves(found: Surroundings) -> str:
    """Links further up and down the file, and to more around the line."""
    path, line_no, around = str(found.file["path"]), found.line_no, found.around
    step = 2 * around + 1
    moves = [("↑ earlier lines", line_no - step, around), ("↓ later lines", line_no + step, around)]
    if around < MOST_AROUND:
        moves.append(("more around it", line_no, min(4 * max(around, 5), MOST_AROUND)))
    links = [link(line_address(path, at, around=size), words) for words, at, size in moves if at > 0]
    return f"<nav>{' '.join(links)}</nav>\n"


def _row(line: Line, wanted: int) -> str:
    event = line.event or {}
    tone = _TONES.get(str(event.get("severity") or ""), "")
    here = ' class="here" id="here"' if line.line_no == wanted else ""
    pattern = event.get("pattern")
    at = moment(event["event_at"], has_seconds=True) if event.get("event_at") else ""
    known = link(f"/explain/{pattern}", str(pattern)) if pattern else ""
    return (
        f'<tr{here}><td class="n">{line.line_no}</td><td>{at}</td>'
        f'<td class="line {tone}">{escape(printable(line.text))}</td><td>{known}</td></tr>\n'
    )
