"""The page of a failure: its report with its picture, links where it prints commands, and what else is like it."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from starlette.responses import Response

from aiscorr.errors import UsageError
from aiscorr.query.formats import printable
from aiscorr.report.html import block_html, section
from aiscorr.report.layout import laid_out, no_failure
from aiscorr.report.overview_html import overview_html
from aiscorr.report.overview_layout import IndexLine
from aiscorr.report.period import moment_since
from aiscorr.serve.browse import A_PAGE, FACETS, MOST_FAILURES, FacetValue, FailureFilter
from aiscorr.serve.web.answers import NotFoundError
from aiscorr.serve.web.failure_list import address
from aiscorr.serve.web.frame import failure_address, framed, inputs, link
from aiscorr.serve.web.linking import named_address, shown_places, with_links
from aiscorr.serve.web.note_page import note_html

if TYPE_CHECKING:
    from starlette.requests import Request

    from aiscorr.report.document import FailureReport, Overview, Report
    from aiscorr.serve.web.answers import Site

_FORMS = (("JSON", "json"), ("text", "text"), ("Markdown", "markdown"), ("one HTML file", "html"))
_MORE = (
    ("timeline", "whole timeline"), ("evidence", "evidence"), ("why", "every rule"), ("counters", "counters"),
    ("rank_targets", "what each rank met at each node"), ("missing_ranks", "missing ranks"),
)  # fmt: skip
_USUAL_TIME = "30d"


async def failure(site: Site, request: Request) -> Response:
    """The report of a failure, with its cited lines read again."""
    which = request.path_params["failure"]
    try:
        report = await site.read(site.reader.report, which, has_lines=True)
    except UsageError as error:
        raise NotFoundError(error.what, where=error.where, try_this=error.try_this) from None
    parts = [block_html(block) for block in no_failure(report)] if not report.failures else []
    for number, one in enumerate(report.failures):
        shown = laid_out(one)
        html = section(shown, f"f{number}-")
        paths = await site.read(site.reader.ingested, shown_places(html, shown.root))
        parts.append(with_links(html, shown.root, paths, _names(one)))
        parts.append(await site.read(note_html, site, one.failure_id))
        parts.append(_alike(await site.read(site.reader.alike, one.failure_id)))
        parts.append(f"<p>{_forms(one.failure_id)}</p>\n")
    return framed(f"Failure {which}", "".join(parts), has_picture=True)


async def overview(site: Site, request: Request) -> Response:
    """The failures of a time: their sums, an index, and what they have in common."""
    since = request.query_params.get("since") or _USUAL_TIME
    now = datetime.now(UTC)
    begin = moment_since(since, now, "since")
    report: Report = await site.read(site.reader.overview, begin, now)
    wanted = FailureFilter(since=since, limit=MOST_FAILURES)
    found = await site.read(site.reader.failures, wanted)
    lines = [_index_line(one) for one in found.failures]
    body = inputs("/overview", {"since": since})
    if found.total > len(lines):
        body += f"<p>The index has the newest {len(lines):,} of {found.total:,} failures: "
        body += f"{link(address(wanted, limit=A_PAGE), 'all of them')}</p>\n"
    if report.overview is not None:
        shown = overview_html(report.overview, lines, [failure_address(one.failure_id) for one in lines])
        body += with_links(shown, "", (), _names_in(report.overview, since))
    return framed("Overview", body, "/overview")


async def explained(site: Site, request: Request) -> Response:
    """What a name means."""
    name = request.path_params["name"]
    try:
        text = await site.read(site.reader.explain, name)
    except UsageError as error:
        raise NotFoundError(error.what, where=error.where, try_this=error.try_this) from None
    paragraphs = "".join(f"<pre>{escape(printable(line))}</pre>\n" for line in text.split("\n\n"))
    return framed(name, f"<h1>{escape(printable(name))}</h1>\n{with_links(paragraphs, '', ())}")


def _names(one: FailureReport) -> dict[str, str]:
    """What of a report leads to a list of failures, or to another failure, where it stands alone."""
    nodes = {event.node_id for event in one.timeline if event.node_id} | {node.node_id for node in one.ais_nodes}
    hosts = {rank.host for rank in one.ranks if rank.host and rank.rank in one.culprit_ranks}
    found = {node: address(FailureFilter({"node": node})) for node in nodes}
    found |= {host: address(FailureFilter({"host": host})) for host in hosts}
    found |= {one.job_id: address(FailureFilter({"job": one.job_id}))}
    return found | {item.last_failure_id: failure_address(item.last_failure_id) for item in one.recurrence}


def _names_in(shown: Overview, since: str) -> dict[str, str]:
    """What of an overview leads to the failures of that time that have it."""
    found = {group.value: address(FailureFilter({group.facet: group.value}, since)) for group in reversed(shown.groups)}
    return found | {one.node_id: address(FailureFilter({"node": one.node_id}, since)) for one in shown.recurring}


def _index_line(one: dict[str, object]) -> IndexLine:
    at = one["ended_at"] or one["first_error_at"] or one["hang_started_at"]
    return IndexLine(
        datetime.fromisoformat(str(at)) if at else None, printable(str(one["failure_id"])),
        printable(str(one["failure_class"])), str(one["storage_verdict"]), float(str(one["confidence"])),
        printable(str(one["statement"])),
    )  # fmt: skip


def _alike(values: list[FacetValue]) -> str:
    """What the failure shares with others, each as a list of them."""
    items = [
        f"<li>{escape(value.facet)} {link(address(FailureFilter({value.facet: value.value})), value.value)}"
        f' <span class="dim">{value.failure_count}</span></li>\n'
        for value in sorted(values, key=lambda value: FACETS.index(value.facet))
    ]
    return f'<h2>Failures like this</h2>\n<ul class="chips">\n{"".join(items)}</ul>\n'


def _forms(failure_id: str) -> str:
    base = f"/api/failures/{quote(failure_id, safe='')}"
    links = [link(f"{base}?{urlencode({'format': form})}", words) for words, form in _FORMS]
    links += [link(named_address(name, {"failure": failure_id}), words) for name, words in _MORE]
    return " · ".join(links)
