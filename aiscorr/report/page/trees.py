"""The stacks of all ranks as a tree, and the culprit's own traceback."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import takewhile

from aiscorr.report import document as doc
from aiscorr.report.blocks import Places, ranges, shorten
from aiscorr.report.page.links import Links

_RANKS = 60


def stack_tree(failure: doc.FailureReport, places: Places, links: Links) -> str:
    """The tree of calls in which the ranks were, a branch where they part; nothing without stacks."""
    if not failure.stacks:
        return ""
    most = max(branch.rank_count for branch in failure.stacks)
    tree = _branches(list(failure.stacks), most, places, links)
    return f'<h3>Stacks when they were last taken</h3>\n<ul class="tree">\n{tree}</ul>\n'


def _branches(branches: list[doc.StackBranch], most: int, places: Places, links: Links) -> str:
    """Branches that lie side by side, each with those inside it, and the ranks that go no deeper."""
    parts = []
    while branches:
        branch, *rest = branches
        inner = list(_deeper(rest, branch.indent))
        branches = rest[len(inner) :]
        below = ""
        if inner:
            gone = {rank for one in inner if one.indent == inner[0].indent for rank in one.ranks}
            left = [rank for rank in branch.ranks if rank not in gone]
            stay = (
                f'<li class="odd">{_count(left)} here, in <code>{escape(branch.last_call)}</code></li>\n'
                if left
                else ""
            )
            below = f"<ul>\n{_branches(inner, most, places, links)}{stay}</ul>"
        parts.append(f"<li>{_branch(branch, most, places, links)}{below}</li>\n")
    return "".join(parts)


def tracebacks(failure: doc.FailureReport, places: Places, links: Links) -> str:
    """The tracebacks of the culprits; nothing where none has one, or its file is gone."""
    parts = []
    for one in failure.tracebacks:
        if one.lines:
            *body, last = one.lines
            text = "".join(f"{escape(line)}\n" for line in body)
            where = f"{places.line(one.path, one.line_no)}"
            parts.append(
                f'<figure class="traceback">\n<figcaption>Traceback of rank {one.rank} '
                f"{links.place(where)}</figcaption>\n"
                f'<pre tabindex="0">{text}<b>{escape(last)}</b></pre>\n</figure>\n'
            )
    return "".join(parts)


def _deeper(branches: list[doc.StackBranch], indent: int) -> Iterator[doc.StackBranch]:
    return takewhile(lambda one: one.indent > indent, branches)


def _branch(branch: doc.StackBranch, most: int, places: Places, links: Links) -> str:
    calls = branch.first_call
    if branch.call_count > 1:
        calls += (" › … › " if branch.call_count > 2 else " › ") + branch.last_call
    doing = f", {branch.activity.replace('_', ' ')}" if branch.activity else ""
    odd = ' class="odd"' if branch.rank_count < most / 2 else ""
    return (
        f'<div{odd}><code>{escape(calls)}</code> <span class="dim">{_count(branch.ranks)}{escape(doing)}</span> '
        f'<progress max="{most}" value="{branch.rank_count}" aria-hidden="true"></progress> '
        f"{links.place(places.line(branch.path, branch.line_no))}</div>"
    )


def _count(ranks: Sequence[int]) -> str:
    words = "1 rank" if len(ranks) == 1 else f"{len(ranks):,} ranks"
    return f"<b>{words}</b> ({escape(shorten(ranges(ranks), _RANKS))})"
