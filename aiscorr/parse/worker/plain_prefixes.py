"""Gives the compiled part the formats of line prefixes, where it is there and each of them can be written as code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aiscorr import native
from aiscorr.parse.search.expression_code import code_of
from aiscorr.parse.spec.formats import LineFormat
from aiscorr.parse.stamps import plain_group

if TYPE_CHECKING:
    from aiscorr.native._native import Prefixes

#: As in prefixes.h.
_GROUPS = ("zone", "pid", "rank", "local_rank", "task", "host")
_MOST_WORDS, _LONGEST_WORD = 8, 32


def plain_prefixes(
    wrappers: Sequence[LineFormat], stamps: Sequence[LineFormat], ranks: Sequence[LineFormat], types: tuple[type, type]
) -> Prefixes | None:
    """What reads most lines; `ranks`: rank_tag, rank_group, rank_bare, others; `types`: LinePrefix and Stamp."""
    if native.module is None:
        return None
    forms = [
        *(_form(form, is_anywhere=False) for form in wrappers),
        *(_form(form, is_anywhere=form.is_anywhere) for form in stamps),
        *(_form(form, is_anywhere=True) for form in ranks),
    ]
    if None in forms:
        return None
    found: Prefixes = native.module.Prefixes(tuple(forms), len(wrappers), len(stamps), *types, tuple.__new__)
    return found


def _form(form: LineFormat, *, is_anywhere: bool) -> tuple[object, ...] | None:
    """A format as prefixes.c takes it; None where it cannot be written as code."""
    code, words = code_of(form.regex), form.facts.words or ()
    if code is None or len(words) > _MOST_WORDS or any(len(word) > _LONGEST_WORD for word in words):
        return None
    numbers = form.regex.groupindex
    groups = [numbers.get(name, 0) for name in _GROUPS]
    groups[_GROUPS.index("rank")] = numbers.get("rank") or numbers.get("group_rank", 0)
    width = form.facts.width
    is_passed, is_timed = form.name != "stamp_slurm", bool({"iso", "hms"} & set(numbers))
    has_rank = "rank" in numbers or "local_rank" in numbers
    return (
        *code,
        (plain_group(form.regex), *groups),
        is_anywhere,
        is_passed,
        is_timed,
        has_rank,
        words,
        -1 if width is None else width,
    )
