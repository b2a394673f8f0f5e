"""The SQL page: a statement in the address, so that a link keeps it; its rows, and the same rows to take away."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.responses import Response

from aiscorr.analysis.spec import view_specs
from aiscorr.errors import AiscorrError
from aiscorr.query.formats import printable
from aiscorr.query.statement import parameter_names
from aiscorr.serve.web.answers import NotFoundError
from aiscorr.serve.web.frame import framed, link, rows_table
from aiscorr.serve.web.linking import named_address, query_address

if TYPE_CHECKING:
    from starlette.requests import Request

    from aiscorr.query.named import NamedQuery
    from aiscorr.sandbox.question import Answer
    from aiscorr.serve.web.answers import Site

_TAKEN_AWAY = (("CSV", "csv"), ("Parquet", "parquet"), ("Arrow", "arrow"), ("JSON", "json"))
#: In an address a parameter of the statement has this before its name, to be no field of the page.
_MARK = "p."
_EXAMPLE = "select failure_id, storage_verdict, statement\nfrom failure\norder by ended_at desc"


async def sql(site: Site, request: Request) -> Response:
    """A statement, or a named query, with its rows."""
    given = request.query_params
    known = await site.read(site.reader.queries)
    query = known.get(given.get("query", ""))
    if query is None and given.get("query"):
        raise NotFoundError(f"no query is called {given['query']!r}", where="/sql", try_this="/queries lists them")
    written = (given.get("sql") or "").strip()
    text = written or (query.sql if query is not None else "")
    named = query if query is not None and text == query.sql else None
    names = parameter_names(text)
    values = {name: given.get(_MARK + name, "") for name in names}
    title = f"@{named.name}" if named is not None else "SQL"
    head = f"<h1>{escape(title)}</h1>\n" + (f"<p>{escape(named.sentence)}</p>\n" if named is not None else "")
    body = head + _form(text or _EXAMPLE, values)
    if text:
        body += await _answered(site, text, named, {name: value for name, value in values.items() if value})
    return framed(title, body + _known(known), "/sql")


async def _answered(site: Site, text: str, named: NamedQuery | None, values: Mapping[str, str]) -> str:
    """The rows, or what is wrong with the statement: the page stays, so that it can be mended."""
    try:
        if named is not None:
            answer = await site.ask(site.reader.ask_named, named.name, values, "json")
        else:
            answer = await site.ask(site.reader.ask, text, values, "json")
    except AiscorrError as error:
        said = "".join(
            f"<pre>{escape(printable(line))}</pre>\n" if "\n" in error.what else f"<p>{escape(printable(line))}</p>\n"
            for line in error.what.split("\n")
        )
        hint = escape(printable(error.try_this or ""))
        return f'<div class="refused" role="alert">\n{said}<p class="dim">{hint}</p></div>\n'
    hint = named.without_rows if named is not None and not answer.row_count else ""
    shown = f'<p class="dim">{escape(hint)}</p>\n' if hint else rows_table(answer.columns, json.loads(answer.body))
    return f"<p>{row_count(answer)} · download: {_taken_away(text, named, values)}</p>\n{shown}"


def row_count(answer: Answer) -> str:
    """How many rows there are, or that there are more than are shown."""
    if answer.is_complete:
        return f"{answer.row_count:,} row{'s' * (answer.row_count != 1)}"
    return f"the first {answer.row_limit:,} rows, there are more"


def _taken_away(text: str, named: NamedQuery | None, values: Mapping[str, str]) -> str:
    if named is not None:
        base, kept = f"/api/queries/{named.name}", dict(values)
    else:
        base, kept = "/api/query", {"sql": text, **{_MARK + name: value for name, value in values.items()}}
    links = [link(f"{base}?{urlencode({**kept, 'format': form})}", words) for words, form in _TAKEN_AWAY]
    return " · ".join(links)


def _form(text: str, values: Mapping[str, str]) -> str:
    seen = "\n".join(map(printable, text.split("\n")))
    rows = min(max(text.count("\n") + 2, 6), 24)
    fields = "".join(
        f'<label>{escape(name)}<input name="{escape(_MARK + name)}" value="{escape(value)}"></label>\n'
        for name, value in values.items()
    )
    return (
        '<form action="/sql" class="sql">\n'
        f'<label class="wide">SQL, one SELECT; the address keeps it\n<textarea name="sql" rows="{rows}"'
        f' spellcheck="false" autocapitalize="off">\n{escape(seen)}</textarea></label>\n'
        f"{fields}<button>run</button>\n</form>\n"
    )


def _known(known: Mapping[str, NamedQuery]) -> str:
    """The public views and the named queries, each a link that fills the page."""
    views = " ".join(
        link(query_address(f"select *\nfrom {spec.name}\nlimit 100"), spec.name)
        for spec in sorted(view_specs(), key=lambda spec: spec.name) if spec.is_public
    )  # fmt: skip
    queries = " ".join(link(named_address(name, {}), f"@{name}") for name in known)
    return (
        f'<details class="names"><summary>Views</summary><p>{views}</p>\n</details>\n'
        f'<details class="names"><summary>Named queries</summary><p>{queries}</p>\n</details>\n'
    )
