"""The other pages: home, jobs that go on, runs of the service, named queries, and what went wrong."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from starlette.responses import Response

from aiscorr.errors import AiscorrError
from aiscorr.query.formats import printable
from aiscorr.report.html import block_html, table
from aiscorr.report.overview_html import bar
from aiscorr.report.overview_layout import span, sums
from aiscorr.serve.browse import FailureFilter
from aiscorr.serve.ledger import ServiceRun, last_runs, ledger_path
from aiscorr.serve.web.answers import NotFoundError, Site, error_answer
from aiscorr.serve.web.failure_list import failure_table
from aiscorr.serve.web.frame import failure_address, framed, inputs, link, moment, rows_table
from aiscorr.serve.web.frame import sheet as sheet_text
from aiscorr.serve.web.linking import named_address
from aiscorr.serve.web.sql_page import row_count

if TYPE_CHECKING:
    from starlette.requests import Request

_SHOWN_RUNS = 100
_LATEST = 10
_MONTH = timedelta(days=30)
#: A job whose logs end without an end runs still, as far as one may think, if its last line is younger.
_YOUNG = timedelta(days=1)


async def sheet(site: Site, request: Request) -> Response:
    """The style sheet of all pages."""
    return Response(sheet_text(), media_type="text/css")


async def home(site: Site, request: Request) -> Response:
    """The latest failures, jobs that may hang now, the last month in numbers, and the last run."""
    found = await site.read(site.reader.failures, FailureFilter(limit=_LATEST))
    runs = await site.read(last_runs, ledger_path(site.reader.settings.base_path), 1)
    hanging = await site.read(site.reader.hanging)
    body = "<h1>Was it the storage?</h1>\n"
    if hanging:
        body += (
            f'<h2>Jobs that may hang now</h2>\n<p class="open">{_hang_words(hanging)} {link("/jobs", "all jobs")}</p>\n'
        )
    everything = link("/failures", f"all failures ({found.total:,})")
    body += f"<h2>Latest failures</h2>\n{failure_table(found)}<p>{everything}</p>\n"
    body += f"<h2>The last 30 days</h2>\n{await _month(site)}"
    body += "<h2>The last run</h2>\n" + (_run_table(runs) if runs else "<p>No run so far.</p>\n")
    return framed("Was it the storage?", body, "/")


async def jobs(site: Site, request: Request) -> Response:
    """Jobs that run or hang now, as far as their logs tell."""
    running = await site.read(site.reader.running)
    hanging = await site.read(site.reader.hanging)
    now = datetime.now(UTC)
    young = [one for one in running if _age(one, now) < _YOUNG]
    old = [one for one in running if _age(one, now) >= _YOUNG]
    body = "<h1>Jobs</h1>\n<h2>May hang now</h2>\n"
    body += (
        rows_table((), hanging)
        if hanging
        else "<p>No stack shows a job that hangs. To take stacks: aiscorr collect stacks</p>\n"
    )
    body += "<h2>Running</h2>\n"
    body += _job_table(young, now) if young else "<p>None wrote a line in the last day.</p>\n"
    if old:
        body += f"<h2>Logs stop without an end</h2>\n{_job_table(old, now)}"
    return framed("Jobs", body, "/jobs")


async def runs(site: Site, request: Request) -> Response:
    """The last runs of the service, the newest first."""
    found = await site.read(last_runs, ledger_path(site.reader.settings.base_path), _SHOWN_RUNS)
    shown = _run_table(found[::-1]) if found else "<p>No run so far.</p>\n"
    return framed("Runs", "<h1>Runs</h1>\n" + shown, "/runs")


async def queries(site: Site, request: Request) -> Response:
    """The named queries."""
    known = await site.read(site.reader.queries)
    rows = [
        (
            link(f"/queries/{quote(query.name)}", query.name),
            escape(", ".join(query.parameters)),
            escape(query.sentence),
        )
        for query in known.values()
    ]
    return framed(
        "Queries", "<h1>Queries</h1>\n" + table(("query", "parameters", "shows"), rows, ("", "", "w")), "/queries"
    )


async def named_query(site: Site, request: Request) -> Response:
    """The rows of a named query as a table, with a form for its parameters."""
    name, known = request.path_params["name"], await site.read(site.reader.queries)
    if name not in known:
        raise NotFoundError(f"no query is called {name!r}", where="/queries", try_this="/queries lists them")
    given = {key: value for key, value in request.query_params.items() if value}
    answer = await site.ask(site.reader.ask_named, name, given, "json")
    rows = json.loads(answer.body)
    links = [
        link(f"/api/queries/{quote(name)}?{urlencode({**given, 'format': form})}", f"as {words}")
        for words, form in (("CSV", "csv"), ("Parquet", "parquet"), ("Arrow", "arrow"))
    ]
    links.append(link(named_address(name, given), "as SQL"))
    body = f"<h1>{escape(name)}</h1>\n<p>{escape(known[name].sentence)}</p>\n"
    body += inputs(f"/queries/{quote(name)}", {key: given.get(key, "") for key in known[name].parameters})
    body += f"<p>{row_count(answer)} · {' · '.join(links)}</p>\n"
    body += f'<p class="dim">{escape(known[name].without_rows)}</p>\n' if not rows else ""
    return framed(name, body + rows_table(answer.columns, rows), "/queries")


def refused(error: AiscorrError) -> Response:
    """What went wrong, as a page."""
    answer = error_answer(error)
    said = "".join(
        f"<p{kind}>{escape(printable(text))}</p>\n"
        for kind, text in ((' class="guilty"', error.what), (' class="dim"', error.try_this)) if text
    )  # fmt: skip
    shown = framed("It did not work", "<h1>It did not work</h1>\n" + said)
    shown.status_code = answer.status_code
    return shown


async def _month(site: Site) -> str:
    """The numbers of the last month, without what is below them on the page of the overview."""
    now = datetime.now(UTC)
    overview = (await site.read(site.reader.overview, now - _MONTH, now)).overview
    if overview is None or not overview.failure_count:
        return "<p>No failure.</p>\n"
    counts = (overview.guilty_count, overview.innocent_count, overview.undetermined_count)
    shown = "".join(map(block_html, sums(overview)))
    return f"{shown}{bar(counts)}<p>{link('/overview?since=30d', 'by class, node, bucket, host and job')}</p>\n"


def _hang_words(hanging: list[dict[str, Any]]) -> str:
    return " ".join(
        f"Job {escape(printable(one['job_id']))}: ranks {escape(str(one['ranks']))} are in"
        f" {escape(printable(str(one['stand_in'])))} while {one['waiting_count']} wait."
        for one in hanging[:3]
    )


def _age(one: dict[str, Any], now: datetime) -> timedelta:
    """How long ago a job wrote its last line; long ago where that is not known."""
    if not one["last_line_at"]:
        return timedelta.max
    return now - datetime.fromisoformat(str(one["last_line_at"]).rstrip("Z")[:26]).replace(tzinfo=UTC)


def _job_table(running: list[dict[str, Any]], now: datetime) -> str:
    columns = ("job", "ranks", "began", "last step", "last line", "ago", "may hang")
    rows = []
    for one in running:
        age = _age(one, now)
        ago = "?" if age == timedelta.max else span(max(age.total_seconds(), 0))
        job = link(f"/queries/triage?{urlencode({'job': one['job_id']})}", one["job_id"])
        size = f"{one['rank_count']} of {one['world_size'] or '?'}"
        step = "" if one["last_step"] is None else f"{one['last_step']:,}"
        moments = (moment(one["started_at"]), moment(one["last_line_at"], has_seconds=True))
        said = escape(printable(one["may_hang"] or ""))
        rows.append((job, escape(size), moments[0], step, moments[1], escape(ago), said))
    return table(columns, rows, ("", "", "", "n", "", "n", "w"))


def _run_table(runs: Iterable[ServiceRun]) -> str:
    columns = ("began", "kind", "outcome", "new files", "events", "reports and problems")
    rows = []
    for run in runs:
        reports = [link(failure_address(name.split(" ")[0]), name) for name in run.reports]
        said = reports + [escape(printable(problem)) for problem in run.problems]
        counts = (f"{run.file_count:,}", f"{run.event_count:,}")
        rows.append((moment(run.started_at[:19]), escape(run.kind), escape(run.outcome), *counts, "<br>".join(said)))
    return table(columns, rows, ("", "", "", "n", "n", "w"))
