"""The failures of a time as one HTML file: what they come to, an index that leads to each report, and the reports."""

from __future__ import annotations

from functools import lru_cache
from html import escape
from importlib.resources import files

from aiscorr.query.formats import printable
from aiscorr.report import document as doc
from aiscorr.report.blocks import number
from aiscorr.report.html import block_html, one_file, section, table
from aiscorr.report.layout import Extent, foot, laid_out, standing_apart
from aiscorr.report.overview import FACETS, Group, Overview
from aiscorr.report.overview_layout import (
    IndexLine,
    group_blocks,
    index_lines,
    none_in_time,
    rank_hours,
    recurring_blocks,
    shown_groups,
    sums,
    title,
    undated,
)

TONES = {"guilty": "guilty", "innocent": "innocent", "undetermined": "open"}
_BAR = 100


@lru_cache(maxsize=1)
def overview_style() -> str:
    """What an overview needs besides the style of reports."""
    return files("aiscorr.report").joinpath("overview.css").read_text("utf-8")


def render_overview(report: doc.Report, *, extent: Extent = "usual") -> str:
    """The report of the failures of a time as one HTML file."""
    overview = report.overview
    if overview is None:
        raise ValueError("the report is not that of a time")
    parts = [overview_html(overview, index_lines(report), [f"#failure-{no}" for no in range(len(report.failures))])]
    for place, failure in enumerate(report.failures):
        shown = section(laid_out(failure, extent), f"f{place}-")
        parts.append(f'<div class="failed" id="failure-{place}">\n{shown}</div>\n')
    parts += [block_html(block) for block in standing_apart(report)]
    return one_file(title(overview), parts, foot(report), overview_style())


def overview_html(overview: Overview, lines: list[IndexLine], links: list[str]) -> str:
    """The overview; `links` are the addresses of the reports, one for each line of the index."""
    head = f"<h1>{escape(title(overview))}</h1>\n"
    if not overview.failure_count:
        return head + f"<p>{escape(none_in_time(overview))}</p>\n" + "".join(map(block_html, undated(overview)))
    counts = (overview.guilty_count, overview.innocent_count, overview.undetermined_count)
    parts = [head, '<div class="sum">\n', *map(block_html, sums(overview)), bar(counts), "</div>\n"]
    parts += ["<h2>Index</h2>\n", _index(lines, links)]
    for facet in FACETS:
        parts.append(f"<h2>By {facet}</h2>\n")
        groups = shown_groups(overview, facet)
        parts += [_group_table(facet, groups)] if groups else []
        parts += [block_html(block) for block in group_blocks(overview, facet)[1 if groups else 0 :]]
    parts += ["<h2>Trouble that came back</h2>\n", *map(block_html, recurring_blocks(overview))]
    return "".join(parts)


def bar(counts: tuple[int, int, int]) -> str:
    """How many are guilty, innocent and undetermined, as a bar."""
    whole, begin, parts = sum(counts) or 1, 0.0, []
    words = [f"{count} {verdict}" for count, verdict in zip(counts, TONES, strict=True) if count]
    for count, tone in zip(counts, TONES.values(), strict=True):
        width = _BAR * count / whole
        if count:
            parts.append(f'<rect class="{tone}" x="{begin:.2f}" width="{width:.2f}" height="10"></rect>')
        begin += width
    said = escape(", ".join(words))
    return (
        f'<svg class="share" viewBox="0 0 {_BAR} 10" preserveAspectRatio="none" role="img" aria-label="{said}">'
        f"<title>{said}</title>{''.join(parts)}</svg>\n"
    )


def _index(lines: list[IndexLine], links: list[str]) -> str:
    return '<ol class="index">\n' + "".join(map(_index_line, lines, links)) + "</ol>\n"


def _index_line(line: IndexLine, link: str) -> str:
    moment = "?"
    if line.failed_at is not None:
        moment = f'<time datetime="{line.failed_at:%Y-%m-%dT%H:%M:%S}Z">{line.failed_at:%Y-%m-%d %H:%M}</time>'
    verdict = f"storage {escape(line.storage_verdict)} {line.confidence:.2f}"
    return (
        f'<li><div class="head"><span class="{TONES.get(line.storage_verdict, "open")}">{verdict}</span>'
        f'<span>{escape(line.failure_class)}</span><span class="dim">{moment}</span>'
        f'<a href="{escape(link)}">{escape(line.failure_id)}</a></div>{escape(line.statement)}</li>\n'
    )


def _group_table(facet: str, groups: tuple[Group, ...]) -> str:
    columns = (facet, "", "failures", "guilty", "innocent", "undetermined", "rank hours", "last (UTC)")
    rows = []
    for group in groups:
        counts = (group.guilty_count, group.innocent_count, group.undetermined_count)
        last = f'<time datetime="{group.last_at:%Y-%m-%dT%H:%M:%S}Z">{group.last_at:%Y-%m-%d %H:%M}</time>'
        numbers = (*map(number, (group.failure_count, *counts)), escape(rank_hours(group.lost_rank_hours)))
        rows.append((escape(printable(group.value)), bar(counts), *numbers, last))
    return table(columns, rows, ("w", "", "n", "n", "n", "n", "n", ""))
