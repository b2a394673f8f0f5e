"""The list of failures: facets to narrow it by click, with counts, a search, an order, and the same as a feed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.responses import Response

from aiscorr.errors import UsageError
from aiscorr.query.formats import printable
from aiscorr.serve.browse import A_PAGE, FACETS, NEWEST, FacetValue, FailureFilter, FailureList
from aiscorr.serve.notes import notes_path, owners_of
from aiscorr.serve.web.frame import failure_address, framed, inputs, link, moment, verdict

if TYPE_CHECKING:
    from starlette.requests import Request

    from aiscorr.serve.web.answers import Site

_FILTERS = {*FACETS, "since", "q", "sort", "limit", "offset"}
_FEED = 50
#: Values of a facet that are seen at once; the others open below them.
_OPEN = 7
_COLUMNS = (
    ("verdict", "storage"), ("confidence", "sure"), ("when", "when"), ("class", "class"), ("job", "job"),
    ("statement", "what happened"),
)  # fmt: skip


def failure_filter(request: Request, most: int = A_PAGE) -> FailureFilter:
    """What the address asks for. Raises UsageError for a name or a number that is none."""
    given = {name: value for name, value in request.query_params.items() if value}
    unknown = sorted(set(given) - _FILTERS)
    if unknown:
        raise UsageError(f"unknown filter {unknown[0]!r}", where="failures", try_this=", ".join(sorted(_FILTERS)))
    return FailureFilter(
        {facet: given[facet] for facet in FACETS if facet in given}, given.get("since"), given.get("q"),
        given.get("sort", NEWEST), number(given.get("limit"), "limit", most), number(given.get("offset"), "offset", 0),
    )  # fmt: skip


def number(value: object, name: str, usual: int) -> int:
    """A number of an address. Raises UsageError for what is none."""
    if value is None:
        return usual
    if not str(value).isdecimal() or len(str(value)) > 18:
        raise UsageError(f"{value!r} is no number", where=name, try_this=f"{name}=100")
    return int(str(value))


async def failures(site: Site, request: Request) -> Response:
    """Failures, with what they can be narrowed by."""
    wanted = failure_filter(request)
    found = await site.read(site.reader.failures, wanted)
    facets = await site.read(site.reader.facets, wanted)
    owners = await site.read(owners_of, notes_path(site.reader.settings.base_path))
    last = min(wanted.offset + len(found.failures), found.total)
    shown = f"{wanted.offset + 1} to {last} of {found.total}" if found.failures else f"none of {found.total}"
    body = (
        f"<h1>Failures</h1>\n{_search(wanted)}{_chosen(wanted)}"
        f'<div class="browse">\n<div class="found"><p class="dim">{shown}</p>\n{_sorts(wanted)}'
        f"{failure_table(found, wanted, owners)}"
        f"{_pages(wanted, last, found.total)}</div>\n{_facets(facets, wanted)}</div>\n"
    )
    return framed("Failures", body, "/failures")


async def feed(site: Site, request: Request) -> Response:
    """The newest failures that fit, as an Atom feed."""
    wanted = replace(failure_filter(request), limit=_FEED, order=NEWEST)
    found = await site.read(site.reader.failures, wanted)
    base = str(request.base_url).rstrip("/")
    entries = "".join(_entry(one, base) for one in found.failures)
    updated = str(_when(found.failures[0]) or "")[:19] if found.failures else ""
    here = f"{base}/failures.atom" + (f"?{urlencode(wanted.parameters)}" if wanted.parameters else "")
    text = (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n<title>aiscorr: failures'
        f'</title>\n<id>{escape(here)}</id>\n<link rel="self" href="{escape(here)}"/>\n'
        f'<link href="{escape(base)}/failures"/>\n<updated>{updated or "1970-01-01T00:00:00"}Z</updated>\n'
        f"<author><name>aiscorr</name></author>\n{entries}</feed>\n"
    )
    return Response(text, media_type="application/atom+xml")


def failure_table(
    found: FailureList, wanted: FailureFilter | None = None, owners: Mapping[str, str] | None = None
) -> str:
    """Failures as a table whose heads sort it; on a phone each is a card that begins with the verdict."""
    if not found.failures:
        return "<p>No failure.</p>\n"
    heads = "".join(f"<th>{_head(name, words, wanted) if wanted else escape(words)}</th>" for name, words in _COLUMNS)
    rows = "".join(_row(one, (owners or {}).get(one["failure_id"], "")) for one in found.failures)
    return f'<table class="failures">\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n'


def address(wanted: FailureFilter, **changed: Any) -> str:
    """The list with a filter; `changed` are its fields."""
    given = replace(wanted, **changed).parameters
    return f"/failures?{urlencode(given)}" if given else "/failures"


def _row(one: Mapping[str, Any], owner: str) -> str:
    owned = f' <span class="dim">{escape(printable(owner))}</span>' if owner else ""
    page = link(failure_address(one["failure_id"]), one["failure_id"]) + owned
    cells = (
        ("v", verdict(one["storage_verdict"])),
        ("s n", f"{one['confidence']:.2f}"),
        ("t", moment(_when(one))),
        ("c", escape(one["failure_class"])),
        ("j", link(f"/failures?{urlencode({'job': one['job_id']})}", one["job_id"])),
        (
            "w",
            f"{escape(printable(one['statement']))}<br>{page}",
        ),
    )
    return "<tr>" + "".join(f'<td class="{kind}">{cell}</td>' for kind, cell in cells) + "</tr>\n"


def _when(one: Mapping[str, Any]) -> Any:
    return one["ended_at"] or one["first_error_at"] or one["hang_started_at"]


def _head(name: str, words: str, wanted: FailureFilter) -> str:
    """A column's name, which sorts by it, and turns the order round where it does already."""
    order = (
        f"-{name}" if wanted.order == name or (name in ("when", "confidence") and wanted.order != f"-{name}") else name
    )
    mark = {name: " ↑", f"-{name}": " ↓"}.get(wanted.order, "")
    return link(address(wanted, order=order, offset=0), words) + mark


def _sorts(wanted: FailureFilter) -> str:
    """The order by click, for a phone, which has no heads of columns."""
    links = " ".join(_head(name, words, wanted) for name, words in _COLUMNS)
    return f'<p class="sorts dim">sort: {links}</p>\n'


def _search(wanted: FailureFilter) -> str:
    kept = {name: value for name, value in wanted.parameters.items() if name not in ("q", "since", "offset")}
    form = inputs("/failures", {"q": wanted.text or "", "since": wanted.since or ""}, button="search", kept=kept)
    lines = f"/search?{urlencode({'text': wanted.text})}" if wanted.text else "/search"
    hint = "in statements, timelines and evidence; since: 7d, a day or a moment in UTC; "
    return form + f'<p class="dim search-note">{escape(hint)}{link(lines, "search all stored lines")}</p>\n'


def _chosen(wanted: FailureFilter) -> str:
    """What narrows the list, each with a link that takes it off."""
    chips = [
        f"{escape(facet)} <b>{escape(printable(value))}</b> {_off(_without(wanted, facet), facet)}"
        for facet, value in wanted.facets.items()
    ]
    if wanted.text:
        chips.append(
            f"text <b>{escape(printable(wanted.text))}</b> {_off(address(wanted, text=None, offset=0), 'text')}"
        )
    if wanted.since:
        chips.append(f"since <b>{escape(wanted.since)}</b> {_off(address(wanted, since=None, offset=0), 'since')}")
    if not chips:
        return ""
    shown = "".join(f"<li>{chip}</li>\n" for chip in chips)
    return f'<ul class="chips">\n{shown}<li>{link("/failures", "all failures")}</li>\n</ul>\n'


def _off(where: str, name: str) -> str:
    """The link that takes what narrows the list off again."""
    return f'<a href="{escape(where)}" aria-label="any {escape(name)}" title="any {escape(name)}">✕</a>'


def _without(wanted: FailureFilter, facet: str) -> str:
    return address(wanted.narrowed(facet, None))


def _facets(facets: Mapping[str, list[FacetValue]], wanted: FailureFilter) -> str:
    parts = [_facet(facet, values, wanted) for facet, values in facets.items() if values]
    return f'<div class="facets">\n{"".join(parts)}</div>\n'


def _facet(facet: str, values: list[FacetValue], wanted: FailureFilter) -> str:
    items = [_value(value, wanted) for value in values]
    open_items, more = "".join(items[:_OPEN]), "".join(items[_OPEN:])
    if more:
        more = f"<details><summary>{len(items) - _OPEN} more</summary>\n<ul>\n{more}</ul>\n</details>\n"
    return f"<section>\n<h2>{escape(facet)}</h2>\n<ul>\n{open_items}</ul>\n{more}</section>\n"


def _value(value: FacetValue, wanted: FailureFilter) -> str:
    is_chosen = wanted.facets.get(value.facet) == value.value
    narrowed = wanted.narrowed(value.facet, None if is_chosen else value.value)
    mark = ' aria-current="true"' if is_chosen else ""
    words = escape(printable(value.value))
    count = f'<span class="dim">{value.failure_count}</span>'
    return f'<li><a href="{escape(address(narrowed))}"{mark}>{words}</a> {count}</li>\n'


def _pages(wanted: FailureFilter, last: int, total: int) -> str:
    links = []
    if wanted.offset > 0:
        links.append(link(address(wanted, offset=max(wanted.offset - wanted.limit, 0)), "before"))
    if last < total:
        links.append(link(address(wanted, offset=wanted.offset + wanted.limit), "further"))
    return f"<nav>{' '.join(links)}</nav>\n" if links else ""


def _entry(one: Mapping[str, Any], base: str) -> str:
    title = f"storage {one['storage_verdict']}: {one['statement']}"
    at = f"{str(_when(one) or '1970-01-01T00:00:00')[:19]}Z"
    page = base + failure_address(one["failure_id"])
    return (
        f"<entry>\n<title>{escape(printable(title))}</title>\n<id>{escape(page)}</id>\n"
        f'<link href="{escape(page)}"/>\n<updated>{at}</updated>\n'
        f'<category term="{escape(one["failure_class"])}"/>\n</entry>\n'
    )
