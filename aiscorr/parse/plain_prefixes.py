"""Gives the compiled part the formats of line prefixes, where it is there and each of them can be written as code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aiscorr import native
from aiscorr.parse.expression_code import code_of
from aiscorr.parse.formats import LineFormat
from aiscorr.parse.regex_facts import widest, words_needed
from aiscorr.parse.stamps import plain_group

#: As in prefixes.c.
_GROUPS = ("zone", "pid", "rank", "local_rank", "task", "host")
_MOST_WORDS, _LONGEST_WORD = 8, 32
#: Prefix, last time, last full date of a line, or None where Python is to read it; without ranks where told so.
PlainReader = Callable[[bytes, bool], tuple[Any, int | None, int | None] | None]


def plain_reader(
    wrappers: Sequence[LineFormat], stamps: Sequence[LineFormat], ranks: Sequence[LineFormat], types: tuple[type, type]
) -> PlainReader | None:
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
    reader = native.module.Prefixes(tuple(forms), len(wrappers), len(stamps), *types, tuple.__new__)
    return reader.read  # type: ignore[no-any-return]


def _form(form: LineFormat, *, is_anywhere: bool) -> tuple[object, ...] | None:
    """A format as prefixes.c takes it; None where it cannot be written as code."""
    code = code_of(form.regex)
    if code is None:
        return None
    numbers = form.regex.groupindex
    groups = [numbers.get(name, 0) for name in _GROUPS]
    groups[_GROUPS.index("rank")] = numbers.get("rank") or numbers.get("group_rank", 0)
    words = words_needed(form.regex) or ()
    words = words if len(words) <= _MOST_WORDS and all(len(word) <= _LONGEST_WORD for word in words) else ()
    width = widest(form.regex)
    is_passed, is_timed = form.name != "stamp_slurm", "iso" in numbers
    return (
        *code,
        (plain_group(form.regex), *groups),
        is_anywhere,
        is_passed,
        is_timed,
        words,
        -1 if width is None else width,
    )
