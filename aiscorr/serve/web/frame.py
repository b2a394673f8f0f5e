"""What all pages share: their frame, times, tables of rows with links, and forms. Every text given to it is escaped."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from html import escape
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

from starlette.responses import HTMLResponse, Response

from aiscorr import __version__
from aiscorr.query.formats import printable
from aiscorr.report.html import page, script, script_source, style, table
from aiscorr.report.overview_html import TONES, overview_style

_PAGES = (
    ("/", "aiscorr"), ("/failures", "Failures"), ("/overview", "Overview"), ("/jobs", "Jobs"), ("/search", "Lines"),
    ("/queries", "Queries"), ("/sql", "SQL"), ("/runs", "Runs"),
)  # fmt: skip
_HEAD = (
    '<link rel="stylesheet" href="/style.css">\n'
    '<link rel="alternate" type="application/atom+xml" title="Failures" href="/failures.atom">\n'
)
_CELL = 500
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?")
_PLACE = re.compile(r"(?P<path>/.+):(?P<line>\d+)")
#: Columns whose values lead to a page, and the parameter of the list of failures that they are.
_FACET_COLUMNS = {"node_id": "node", "suspect_node_id": "node", "host": "host", "job_id": "job", "bucket": "bucket"}
_PLACE_COLUMNS = ("where", "line")
#: How fields of forms are called where their name in the address says too little.
_LABELS = {"q": "text"}


@lru_cache(maxsize=1)
def sheet() -> str:
    """The style sheet of all pages."""
    return style() + overview_style() + files("aiscorr.serve.web").joinpath("site.css").read_text("utf-8")


@lru_cache(maxsize=1)
def zone_script() -> str:
    """The script that shows times in the reader's zone; without it they are in UTC."""
    return files("aiscorr.serve.web").joinpath("zone.js").read_text("utf-8")


@lru_cache(maxsize=2)
def policy_of_page(*, has_picture: bool = False) -> str:
    """What a browser may do with a page: its own style sheet and forms, and the scripts that are on it."""
    digest = b64encode(hashlib.sha256(zone_script().encode()).digest()).decode()
    scripts = f"'sha256-{digest}'" + (f" '{script_source()}'" if has_picture else "")
    return (
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none';"
        f" script-src {scripts}"
    )


def framed(title: str, body: str, here: str = "", *, has_picture: bool = False) -> Response:
    """A page; `here` is its entry among the links, `has_picture`: it holds a report, whose script it runs too."""
    links = "".join(
        f'<a href="{address}"{" aria-current=page" if address == here else ""}>{words}</a>\n'
        for address, words in _PAGES
    ).replace("aria-current=page", 'aria-current="page"')
    scripts = f"<script>{script()}</script>\n" * has_picture + f"<script>{zone_script()}</script>\n"
    foot = f"<footer>aiscorr {__version__}. Times are in UTC.</footer>\n"
    shown = f'<nav class="site" aria-label="Pages">\n{links}</nav>\n<main>\n{body}</main>\n{foot}{scripts}'
    headers = {"Content-Security-Policy": policy_of_page(has_picture=has_picture)}
    return HTMLResponse(page(printable(title), shown, _HEAD), headers=headers)


def add_notices(shown: Response, notices: Iterable[str]) -> None:
    """Puts notices above what a page shows."""
    said = "".join(f'<p class="open" role="status">{escape(printable(notice))}</p>\n' for notice in notices)
    shown.body = bytes(shown.body).replace(b"<main>\n", b"<main>\n" + said.encode(), 1)
    shown.headers["Content-Length"] = str(len(shown.body))


def moment(value: object, *, has_seconds: bool = False) -> str:
    """A moment of JSON or of Python as a `<time>`; `?` for none."""
    text = value.isoformat() if isinstance(value, datetime) else str(value or "")
    if not text:
        return "?"
    shown = text.rstrip("Z").replace("T", " ")[: None if has_seconds else 16]
    return f'<time datetime="{escape(text[:19].replace(" ", "T"))}Z">{escape(shown)}</time>'


def verdict(value: str, confidence: float | None = None) -> str:
    """The verdict on storage in its colour."""
    sure = "" if confidence is None else f" {confidence:.2f}"
    return f'<span class="{TONES.get(value, "open")}">{escape(value)}{sure}</span>'


def link(address: str, words: str) -> str:
    """A link; both are text."""
    return f'<a href="{escape(address)}">{escape(printable(words))}</a>'


def failure_address(failure_id: str) -> str:
    """The page of a failure."""
    return f"/failures/{quote(failure_id, safe='')}"


def line_address(path: str, line_no: int | str, **more: object) -> str:
    """The page of a line in its surroundings, at that line; `more` goes into the address too."""
    return f"/lines?{urlencode({'path': path, 'line': line_no, **more})}#here"


def inputs(
    address: str, values: Mapping[str, str], *, button: str = "show", kept: Mapping[str, str] | None = None
) -> str:
    """A form with a field for each value; `kept` goes along unseen."""
    if not values:
        return ""
    fields = "".join(
        f"<label>{escape(_LABELS.get(name, name))}"
        f'<input name="{escape(name)}" value="{escape(printable(value))}"></label>\n'
        for name, value in values.items()
    )
    fields += "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">\n' for name, value in (kept or {}).items()
    )
    return f'<form action="{escape(address)}">\n{fields}<button>{escape(button)}</button>\n</form>\n'


def rows_table(columns: Iterable[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows of an answer, with links from what has a page; a long cell is cut, and says so by its end."""
    names = list(rows[0]) if rows else list(columns)
    kinds = [
        "w" if any(len(str(row[name])) > 60 for row in rows) else
        "n" if rows and all(isinstance(row[name], int | float) for row in rows) else "" for name in names
    ]  # fmt: skip
    return table(names, [[_cell(row, name) for name in names] for row in rows], kinds)


def _cell(row: Mapping[str, Any], name: str) -> str:
    value = row[name]
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and _MOMENT.fullmatch(value):
        return moment(value, has_seconds=True)
    address = _address(row, name, value)
    shown = printable(text)
    shown = shown if len(shown) <= _CELL else shown[:_CELL] + " … (cut, the CSV has all)"
    return link(address, shown) if address else escape(shown)


def _address(row: Mapping[str, Any], name: str, value: object) -> str:
    """The page that a cell leads to, or nothing."""
    if not isinstance(value, str):
        return ""
    if name == "failure_id":
        return failure_address(value)
    if name in _FACET_COLUMNS:
        return f"/failures?{urlencode({_FACET_COLUMNS[name]: value})}"
    if name == "path" and isinstance(row.get("line_no"), int):
        return line_address(value, row["line_no"])
    place = _PLACE.fullmatch(value) if name in _PLACE_COLUMNS else None
    return line_address(place["path"], place["line"]) if place else ""
