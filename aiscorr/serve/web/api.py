"""The answers for programs: probes, metrics, failures as JSON, and queries in four forms."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from starlette.responses import PlainTextResponse, Response

from aiscorr.analysis.refresh import are_views_current
from aiscorr.errors import AiscorrError, QueryError, UsageError
from aiscorr.report.html import policy
from aiscorr.sandbox.question import FORMATS, MOST_SQL_BYTES, Answer
from aiscorr.serve.reader import REPORT_FORMS
from aiscorr.serve.web.answers import NotFoundError, Site, body_of, json_answer, loaded
from aiscorr.serve.web.failure_list import failure_filter
from aiscorr.serve.web.metrics import metrics_text

if TYPE_CHECKING:
    from starlette.requests import Request

_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_TYPES = {
    "json": "application/json",
    "jsonl": "application/jsonl",
    "csv": "text/csv",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
}
_REPORT_TYPES = {"json": "application/json", "markdown": "text/markdown", "text": "text/plain", "html": "text/html"}
_OF_ANSWER = ("format", "limit")


async def livez(site: Site, request: Request) -> Response:
    """The server runs."""
    return PlainTextResponse("ok\n")


async def readyz(site: Site, request: Request) -> Response:
    """The database or lake is there and can be read; else 503 and what is missing, but not where: anyone may ask."""
    path = os.path.abspath(site.reader.settings.base_path)

    def look() -> dict[str, object]:
        try:
            with site.reader.connection() as connection:
                connection.execute("select 1 from failure limit 1").fetchall()
                notices = [] if are_views_current(connection) else ["the views are of another version: ingest again"]
                notices += site.reader.notices()
        except AiscorrError as error:
            # what a lake's catalogue says behind a colon names hosts
            what = error.what if site.reader.settings.lake is None else error.what.partition(": ")[0]
            said = what.replace(os.path.realpath(path), os.path.basename(path)).replace(path, os.path.basename(path))
            return {"ready": False, "error": said, "try": error.try_this}
        return {"ready": True, "notices": notices}

    found = await site.read(look)
    return json_answer(found, 200 if found["ready"] else 503)


async def metrics(site: Site, request: Request) -> Response:
    """Everything Prometheus asks for."""
    text = await site.read(metrics_text, site.reader, site.counts, site.reports)
    return Response(text, media_type=_METRICS_TYPE)


async def failures(site: Site, request: Request) -> Response:
    """The failures that fit, the newest first, and how many there are in all."""
    wanted = failure_filter(request)
    found = await site.read(site.reader.failures, wanted)
    return json_answer({
        "total": found.total, "limit": wanted.limit, "offset": wanted.offset, "failures": found.failures,
    })  # fmt: skip


async def failure(site: Site, request: Request) -> Response:
    """The report of one failure."""
    form = request.query_params.get("format", "json")
    if form not in REPORT_FORMS:
        raise UsageError(f"no report has the format {form!r}", where="format", try_this=", ".join(REPORT_FORMS))
    is_verified = request.query_params.get("verify", "1") not in ("0", "no", "false")
    text = await site.read(report_of, site, request.path_params["failure"], form, is_verified)
    headers = {"Content-Security-Policy": f"{policy()}; frame-ancestors 'none'"} if form == "html" else None
    return Response(text, media_type=_REPORT_TYPES[form], headers=headers)


def report_of(site: Site, which: str, form: str, is_verified: bool) -> str:
    """The report as text. Raises NotFoundError for a failure that is not known."""
    try:
        if which == "all":
            raise UsageError("reports come one by one", where="failures", try_this="/api/failures names them")
        return site.reader.report_text(which, form, is_verified=is_verified)
    except UsageError as error:
        raise NotFoundError(error.what, where=error.where, try_this=error.try_this) from None


async def queries(site: Site, request: Request) -> Response:
    """The named queries: what each shows, and its parameters."""
    known = await site.read(site.reader.queries)
    return json_answer({
        "queries": [
            {"name": query.name, "shows": query.sentence, "parameters": list(query.parameters)}
            for query in known.values()
        ]
    })  # fmt: skip


async def named_query(site: Site, request: Request) -> Response:
    """The rows of a named query; whatever the address gives beside format and limit is a parameter."""
    given = dict(request.query_params)
    form, limit = _form(request, given.get("format")), _number(given.get("limit"), "limit")
    parameters = {name: value for name, value in given.items() if name not in _OF_ANSWER}
    name = request.path_params["name"]
    if name not in await site.read(site.reader.queries):
        raise NotFoundError(f"no query is called {name!r}", where="/api/queries", try_this="/api/queries names them")
    answer = await site.ask(site.reader.ask_named, name, parameters, form, limit)
    return rows_answer(answer, is_limited=limit is not None)


async def query(site: Site, request: Request) -> Response:
    """The rows of one statement: GET ?sql=…, with p.NAME=… for a parameter, or POST of a JSON object."""
    given: dict[str, object] = dict(request.query_params)
    if request.method == "POST":
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise UsageError("the request is no JSON", where="Content-Type", try_this="application/json")
        given |= loaded(await body_of(request, 4 * MOST_SQL_BYTES))
    in_address = {name[2:]: value for name, value in request.query_params.items() if name.startswith("p.")}
    sql, parameters = given.get("sql"), given.get("parameters", in_address)
    if not isinstance(sql, str) or not isinstance(parameters, dict):
        raise UsageError("no statement was given", where="/api/query", try_this='{"sql": "select …"}, or ?sql=select…')
    form, limit = _form(request, given.get("format")), _number(given.get("limit"), "limit")
    values = {str(name): str(value) for name, value in parameters.items() if value is not None}
    answer = await site.ask(site.reader.ask, sql, values, form, limit)
    return rows_answer(answer, is_limited=limit is not None)


def rows_answer(answer: Answer, *, is_limited: bool) -> Response:
    """The rows, how many, and whether these are all. Forms that cannot say it are not cut unless asked to."""
    headers = {
        "X-Row-Count": str(answer.row_count),
        "X-Row-Limit": str(answer.row_limit),
        "X-Complete": str(answer.is_complete).lower(),
    }
    if answer.form != "json":
        if not answer.is_complete and not is_limited:
            raise QueryError(
                f"there are more than {answer.row_limit:,} rows",
                where=answer.form,
                try_this=f"limit={answer.row_limit} for the first ones, or format=json, which says so",
            )
        headers["Content-Disposition"] = f'attachment; filename="rows.{answer.form}"'
        return Response(answer.body, media_type=_TYPES[answer.form], headers=headers)
    head = json_answer({
        "columns": [{"name": name, "type": kind} for name, kind in zip(answer.columns, answer.types, strict=True)],
        "row_count": answer.row_count, "row_limit": answer.row_limit, "is_complete": answer.is_complete,
    }).body  # fmt: skip
    body = bytes(head).rstrip(b"}\n") + b', "rows": ' + answer.body.rstrip() + b"}\n"
    return Response(body, media_type="application/json", headers=headers)


def _form(request: Request, named: object) -> str:
    """The form that `format` names, else the first that Accept names."""
    if named is not None:
        if named not in FORMATS:
            raise UsageError(f"no answer has the format {named!r}", where="format", try_this=", ".join(FORMATS))
        return str(named)
    accepted = [part.partition(";")[0].strip() for part in request.headers.get("accept", "").split(",")]
    forms = {kind: form for form, kind in _TYPES.items()} | {"application/x-ndjson": "jsonl"}
    return next((forms[kind] for kind in accepted if kind in forms), "json")


def _number(value: object, name: str) -> int | None:
    if value is None:
        return None
    if not str(value).isdecimal():
        raise UsageError(f"{value!r} is no number", where=name, try_this=f"{name}=100")
    return int(str(value))
