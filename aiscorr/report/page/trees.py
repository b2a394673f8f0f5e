"""The stacks of all ranks as a tree, and the culprit's own traceback."""

from __future__ import annotations

from html import escape

from aiscorr.report import document as doc
from aiscorr.report.blocks import Places, ranges, shorten
from aiscorr.report.page.links import Links

_RANKS = 60


def stack_tree(failure: doc.FailureReport, places: Places, links: Links) -> str:
    """The tree of calls in which the ranks were, a branch where they part; nothing without stacks."""
    if not failure.stacks:
        return ""
    most = max(branch.rank_count for branch in failure.stacks)
    rows, depth = [], -1
    for branch in failure.stacks:
        level = min(branch.indent, depth + 1)
        rows.append("</li>\n" + "</ul></li>\n" * (depth - level) if level <= depth else "<ul>\n" if depth >= 0 else "")
        depth = level
        rows.append(f"<li>{_branch(branch, most, places, links)}")
    tree = "".join(rows) + "</li>\n" + "</ul></li>\n" * depth
    return f'<h3>Stacks when they were last taken</h3>\n<ul class="tree">\n{tree}</ul>\n'


def tracebacks(failure: doc.FailureReport, places: Places, links: Links) -> str:
    """The tracebacks of the culprits; nothing where none has one, or its file is gone."""
    parts = []
    for one in failure.tracebacks:
        if one.lines:
            *body, last = one.lines
            text = "".join(f"{escape(line)}\n" for line in body)
            where = f"{places.line(one.path, one.line_no)}"
            parts.append(
                f'<figure class="traceback">\n<figcaption>Traceback of rank {one.rank} {links.place(where)}</figcaption>\n'
                f'<pre tabindex="0">{text}<b>{escape(last)}</b></pre>\n</figure>\n'
            )
    return "".join(parts)


def _branch(branch: doc.StackBranch, most: int, places: Places, links: Links) -> str:
    calls = branch.first_call
    if branch.call_count > 1:
        calls += (" › … › " if branch.call_count > 2 else " › ") + branch.last_call
    ranks = "1 rank" if branch.rank_count == 1 else f"{branch.rank_count:,} ranks"
    doing = f", {branch.activity.replace('_', ' ')}" if branch.activity else ""
    which = shorten(ranges(branch.ranks), _RANKS)
    odd = ' class="odd"' if branch.rank_count < most / 2 else ""
    return (
        f'<div{odd}><code>{escape(calls)}</code> <span class="dim"><b>{ranks}</b> ({escape(which)}){escape(doing)}</span> '
        f'<progress max="{most}" value="{branch.rank_count}" aria-hidden="true"></progress> '
        f"{links.place(places.line(branch.path, branch.line_no))}</div>"
    )
