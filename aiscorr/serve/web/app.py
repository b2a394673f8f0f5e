"""The addresses of the server, each with what answers it, behind the access check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse
from starlette.routing import Route

from aiscorr.errors import AiscorrError
from aiscorr.serve.web import api, failure_list, failure_page, line_page, note_page, pages, sql_page
from aiscorr.serve.web.access import Access
from aiscorr.serve.web.answers import Endpoint, NotFoundError, Site, answering, error_answer
from aiscorr.serve.web.frame import add_notices

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from aiscorr.serve.web.settings import HttpSettings

_PROGRAMS = (
    ("/livez", api.livez, ("GET",)),
    ("/readyz", api.readyz, ("GET",)),
    ("/metrics", api.metrics, ("GET",)),
    ("/api/failures", api.failures, ("GET",)),
    ("/api/failures/{failure:path}", api.failure, ("GET",)),
    ("/api/truth", note_page.truths, ("GET",)),
    ("/api/truth/{failure:path}", note_page.truths, ("GET",)),
    ("/api/queries", api.queries, ("GET",)),
    ("/api/queries/{name}", api.named_query, ("GET",)),
    ("/api/query", api.query, ("GET", "POST")),
)
_PAGES = (
    ("/", pages.home),
    ("/style.css", pages.sheet),
    ("/failures", failure_list.failures),
    ("/failures.atom", failure_list.feed),
    ("/failures/{failure:path}", failure_page.failure),
    ("/overview", failure_page.overview),
    ("/jobs", pages.jobs),
    ("/lines", line_page.lines),
    ("/search", line_page.search),
    ("/sql", sql_page.sql),
    ("/explain/{name}", failure_page.explained),
    ("/runs", pages.runs),
    ("/queries", pages.queries),
    ("/queries/{name}", pages.named_query),
)
#: What shows rows of logs, of which a large lake has more than are looked at.
_OF_ROWS = ("/api/quer", "/jobs", "/queries", "/search", "/sql")
#: What a form of a page sends; it changes what is kept beside the database.
_FORMS = (("/notes/{failure:path}", note_page.note),)


def app(site: Site, settings: HttpSettings) -> Access:
    """The whole application."""
    routes = [
        Route(path, _noted(site, answering(site, endpoint, error_answer)), methods=list(methods))
        for path, endpoint, methods in _PROGRAMS
    ]
    routes += [
        Route(path, _noted(site, answering(site, endpoint, pages.refused)), methods=["GET"])
        for path, endpoint in _PAGES
    ]
    routes += [Route(path, answering(site, endpoint, pages.refused), methods=["POST"]) for path, endpoint in _FORMS]
    made = Starlette(routes=routes, exception_handlers={HTTPException: _no_route})
    return Access(made, settings.token, settings.host)


def _noted(site: Site, endpoint: Endpoint) -> Endpoint:
    """The endpoint, with what should be known of its answers: above a page, else in the head of the answer."""

    async def noted(request: Request) -> Response:
        answer = await endpoint(request)
        notices = site.reader.notices(has_rows=request.url.path.startswith(_OF_ROWS))
        if notices and isinstance(answer, HTMLResponse):
            add_notices(answer, notices)
        elif notices:
            answer.headers["X-Notice"] = "; ".join(notices)
        return answer

    return noted


async def _no_route(request: Request, error: Exception) -> Response:
    """An address or a method that nothing answers."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    what = "there is nothing here" if status == 404 else f"{request.method} is not answered here"
    said = (NotFoundError if status == 404 else AiscorrError)(what, try_this="/, /failures, /queries, /api/failures")
    answer = error_answer(said) if request.url.path.startswith("/api/") else pages.refused(said)
    answer.status_code = status
    return answer
