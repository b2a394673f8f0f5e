"""Pages to browse failures, reports, runs and named queries: plain HTML that needs no script."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from starlette.responses import HTMLResponse, Response

from aiscorr import __version__
from aiscorr.errors import AiscorrError, UsageError
from aiscorr.query.formats import printable
from aiscorr.report.html import block_html, page, script, script_source, section, style, table
from aiscorr.report.layout import laid_out, no_failure
from aiscorr.serve.ledger import ServiceRun, last_runs, ledger_path
from aiscorr.serve.reader import HANGING, FailureFilter, FailureList
from aiscorr.serve.web.access import POLICY
from aiscorr.serve.web.answers import NotFoundError, Site, error_answer
from aiscorr.serve.web.api import failure_filter

if TYPE_CHECKING:
    from starlette.requests import Request

_HEAD = '<link rel="stylesheet" href="/style.css">\n'
_LINKS = (("/", "aiscorr"), ("/failures", "Failures"), ("/runs", "Runs"), ("/queries", "Queries"))
_TONES = {"guilty": "guilty", "innocent": "innocent", "undetermined": "open"}
_SHOWN_RUNS = 100
_LATEST = 10
_CELL = 500


async def sheet(site: Site, request: Request) -> Response:
    """The style sheet of all pages."""
    return Response(style(), media_type="text/css")


async def home(site: Site, request: Request) -> Response:
    """The latest failures, jobs that may hang now, and the last run."""
    found = await site.read(site.reader.failures, FailureFilter(limit=_LATEST))
    runs = await site.read(last_runs, ledger_path(site.reader.settings.db_path), 1)
    body = "<h1>Was it the storage?</h1>\n"
    body += f"<p>{found.total} failures are known. " + ("The last run:</p>\n" if runs else "No run so far.</p>\n")
    body += _run_table(runs) if runs else ""
    hanging = await site.read(site.reader.hanging)
    if hanging:
        body += f"<h2>Jobs that may hang now</h2>\n<p>{_link(f'/queries/{HANGING}', HANGING)}: no failure yet, but "
        body += "some ranks stand elsewhere than those that wait for them.</p>\n"
        body += _rows((), hanging)
    body += "<h2>Latest failures</h2>\n" + _failure_table(found)
    return _page("Was it the storage?", body)


async def failures(site: Site, request: Request) -> Response:
    """Failures, with a form to narrow them."""
    wanted = failure_filter(request)
    found = await site.read(site.reader.failures, wanted)
    last = min(wanted.offset + len(found.failures), found.total)
    shown = f"{wanted.offset + 1} to {last} of {found.total}" if found.failures else f"none of {found.total}"
    body = f"<h1>Failures</h1>\n{_form(wanted)}<p>{shown}</p>\n{_failure_table(found)}<nav>\n"
    for words, offset in (("newer", wanted.offset - wanted.limit), ("older", wanted.offset + wanted.limit)):
        if (words == "newer" and wanted.offset > 0) or (words == "older" and last < found.total):
            address = urlencode({**dict(request.query_params), "offset": str(max(offset, 0))})
            body += f'<a href="/failures?{escape(address)}">{words}</a>\n'
    return _page("Failures", body + "</nav>\n")


async def failure(site: Site, request: Request) -> Response:
    """The report of a failure, with its cited lines read again."""
    which = request.path_params["failure"]
    try:
        report = await site.read(site.reader.report, which, has_lines=True)
    except UsageError as error:
        raise NotFoundError(error.what, where=error.where, try_this=error.try_this) from None
    parts = [block_html(block) for block in no_failure(report)] if not report.failures else []
    for number, one in enumerate(report.failures):
        parts.append(section(laid_out(one), f"f{number}-") + "<p>" + _forms(one.failure_id) + "</p>\n")
    answer = _page(f"Failure {which}", "".join(parts) + f"<script>{script()}</script>\n")
    answer.headers["Content-Security-Policy"] = f"{POLICY}; script-src '{script_source()}'"
    return answer


async def runs(site: Site, request: Request) -> Response:
    """The last runs of the service, the newest first."""
    found = await site.read(last_runs, ledger_path(site.reader.settings.db_path), _SHOWN_RUNS)
    return _page("Runs", "<h1>Runs</h1>\n" + (_run_table(found[::-1]) if found else "<p>No run so far.</p>\n"))


async def queries(site: Site, request: Request) -> Response:
    """The named queries."""
    known = await site.read(site.reader.queries)
    rows = [
        (
            _link(f"/queries/{quote(query.name)}", query.name),
            escape(query.sentence),
            escape(", ".join(query.parameters)),
        )
        for query in known.values()
    ]
    return _page("Queries", "<h1>Queries</h1>\n" + table(("query", "shows", "parameters"), rows, ("", "w", "")))


async def named_query(site: Site, request: Request) -> Response:
    """The rows of a named query as a table, with a form for its parameters."""
    name, known = request.path_params["name"], await site.read(site.reader.queries)
    if name not in known:
        raise NotFoundError(f"no query is called {name!r}", where="/queries", try_this="/queries lists them")
    given = {key: value for key, value in request.query_params.items() if value}
    answer = await site.ask(site.reader.ask_named, name, given, "json")
    address = escape(f"/api/queries/{quote(name)}?{urlencode({**given, 'format': 'csv'})}")
    count = (
        f"{answer.row_count:,} rows" if answer.is_complete else f"the first {answer.row_limit:,} rows, there are more"
    )
    body = f"<h1>{escape(name)}</h1>\n<p>{escape(known[name].sentence)}</p>\n"
    body += _inputs(f"/queries/{quote(name)}", {key: given.get(key, "") for key in known[name].parameters})
    body += f'<p>{count}; <a href="{address}">as CSV</a></p>\n'
    return _page(name, body + _rows(answer.columns, json.loads(answer.body)))


def refused(error: AiscorrError) -> Response:
    """What went wrong, as a page."""
    answer = error_answer(error)
    said = "".join(
        f"<p{kind}>{escape(printable(text))}</p>\n"
        for kind, text in ((' class="guilty"', error.what), (' class="dim"', error.try_this)) if text
    )  # fmt: skip
    shown = _page("It did not work", "<h1>It did not work</h1>\n" + said)
    shown.status_code = answer.status_code
    return shown


def _page(title: str, body: str) -> Response:
    links = "".join(f'<a href="{address}">{words}</a>\n' for address, words in _LINKS)
    foot = f"<footer>aiscorr {__version__}</footer>\n"
    return HTMLResponse(page(printable(title), f"<nav>\n{links}</nav>\n{body}{foot}", _HEAD))


def _failure_table(found: FailureList) -> str:
    if not found.failures:
        return "<p>No failure.</p>\n"
    columns = ("ended (UTC)", "failure", "class", "storage", "confidence", "statement")
    rows = [
        (
            escape(
                str(one["ended_at"] or one["first_error_at"] or one["hang_started_at"] or "?")[:19].replace("T", " ")
            ),
            _link(f"/failures/{quote(one['failure_id'], safe='')}", one["failure_id"]),
            escape(one["failure_class"]),
            f'<span class="{_TONES.get(one["storage_verdict"], "open")}">{escape(one["storage_verdict"])}</span>',
            f"{one['confidence']:.2f}",
            escape(printable(one["statement"])),
        )
        for one in found.failures
    ]
    return table(columns, rows, ("", "", "", "", "n", "w"))


def _run_table(runs: Iterable[ServiceRun]) -> str:
    columns = ("began (UTC)", "kind", "outcome", "new files", "events", "reports and problems")
    rows = []
    for run in runs:
        reports = [_link(f"/failures/{quote(name.split(' ')[0], safe='')}", name) for name in run.reports]
        said = reports + [escape(printable(problem)) for problem in run.problems]
        counts = (f"{run.file_count:,}", f"{run.event_count:,}")
        rows.append((escape(run.started_at[:19]), escape(run.kind), escape(run.outcome), *counts, "<br>".join(said)))
    return table(columns, rows, ("", "", "", "n", "n", "w"))


def _rows(columns: Iterable[str], rows: list[dict[str, Any]]) -> str:
    """Rows of an answer; a long cell is cut, and says so by its end."""
    names = list(rows[0]) if rows else list(columns)

    def cell(value: object) -> str:
        text = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        shown = printable(text)
        return escape(shown if len(shown) <= _CELL else shown[:_CELL] + " … (cut, the CSV has all)")

    kinds = [
        "w" if any(len(str(row[name])) > 60 for row in rows) else
        "n" if rows and all(isinstance(row[name], int | float) for row in rows) else "" for name in names
    ]  # fmt: skip
    return table(names, ([cell(row[name]) for name in names] for row in rows), kinds)


def _form(wanted: FailureFilter) -> str:
    return _inputs("/failures", {
        "job": wanted.job or "", "since": wanted.since or "", "class": wanted.failure_class or "",
        "verdict": wanted.verdict or "",
    })  # fmt: skip


def _inputs(address: str, values: Mapping[str, str]) -> str:
    if not values:
        return ""
    inputs = "".join(
        f'<label>{escape(name)}<input name="{escape(name)}" value="{escape(value)}"></label>\n'
        for name, value in values.items()
    )
    return f'<form action="{address}">\n{inputs}<button>show</button>\n</form>\n'


def _forms(failure_id: str) -> str:
    address = f"/api/failures/{quote(failure_id, safe='')}"
    forms = (("JSON", "json"), ("text", "text"), ("Markdown", "markdown"))
    links = [_link(f"{address}?format={form}", words) for words, form in forms]
    asked = urlencode({"failure": failure_id})
    links += [_link(f"/queries/{name}?{asked}", words) for name, words in _MORE]
    return " · ".join(links)


_MORE = (
    ("timeline", "whole timeline"), ("evidence", "evidence"), ("rank_targets", "what each rank met at each node"),
    ("counters", "counters"), ("missing_ranks", "missing ranks"),
)  # fmt: skip


def _link(address: str, words: str) -> str:
    return f'<a href="{escape(address)}">{escape(printable(words))}</a>'
