"""Shortens a regex to a part that Hyperscan takes and that every match contains.

Captures, look-around and variable tails go, and what a search would begin at too often; the full regex decides later.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from aiscorr.parse.search.regex_facts import sre, sre_parser

#: A gap of this many bytes or more in a regex; what stands in front of one is left out where it is a short word.
_GAP_BYTES = 16
_SHORT_WORD, _LONG_WORD = 5, 6
#: A regex without a run of so many fixed bytes is not worth a search.
_SHORTEST_WORD = 3


def shorten(regex: re.Pattern[bytes]) -> bytes | None:
    """The regex without captures, look-around and variable tail, in a form Hyperscan takes.

    Every text the regex matches contains a match of the result. None where too little is left to be
    worth a search (no run of three fixed bytes).
    """
    if sre_parser is None:
        return None
    try:
        tree = sre_parser.parse(regex.pattern, regex.flags & ~re.UNICODE)
        items = _head(_trim(list(tree)))
        text = _render(items)
    except (NotImplementedError, re.error, RecursionError):
        return None
    return text if _word(items) >= _SHORTEST_WORD else None


def _trim(items: list[Any]) -> list[Any]:
    while items:
        op, value = items[-1]
        if op in (sre.AT, sre.ASSERT, sre.ASSERT_NOT):
            items = items[:-1]
        elif op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            low, _, inner = value
            items = items[:-1]
            if low > 0:
                return [*items, (sre.MAX_REPEAT, (low, low, inner))]
        elif op is sre.SUBPATTERN:
            group, add, remove, inner = value
            inner_items = _trim(list(inner))
            items = items[:-1]
            if inner_items:
                return [*items, (sre.SUBPATTERN, (group, add, remove, inner_items))]
        elif op is sre.BRANCH:
            branches = [_trim(list(branch)) for branch in value[1]]
            items = items[:-1]
            if all(branches):
                return [*items, (sre.BRANCH, (None, branches))]
        else:
            return items
    return items


def _head(items: list[Any]) -> list[Any]:
    """The items from where a search best begins."""
    return _trim_head(_behind_gap(_trim_head(items)))


def _trim_head(items: list[Any]) -> list[Any]:
    while items:
        op, value = items[0]
        if op in (sre.AT, sre.ASSERT, sre.ASSERT_NOT) or (
            op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT) and value[0] == 0
        ):
            items = items[1:]
        elif op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT) and value[0] != value[1]:
            return [(sre.MAX_REPEAT, (value[0], value[0], value[2])), *items[1:]]
        elif op in (sre.SUBPATTERN, sre.BRANCH):
            first = _trim_first(op, value)
            if first is not None:
                return [first, *items[1:]]
            items = items[1:]
        else:
            return items
    return items


def _trim_first(op: Any, value: Any) -> tuple[Any, Any] | None:
    """A group or an alternative whose heads are chosen so too; None where a match of it may be empty then."""
    if op is sre.SUBPATTERN:
        inner = _head(list(value[3]))
        return (op, (*value[:3], inner)) if inner else None
    branches = [_head(list(branch)) for branch in value[1]]
    return (op, (None, branches)) if all(branches) else None


def _behind_gap(items: list[Any]) -> list[Any]:
    """What stands behind a wide gap, where only a short and therefore frequent word stands in front of it.

    `rank=\\d+ .{0,80}world_size=` → `world_size=`: a search would otherwise begin at each `rank`.
    """
    for place, (op, value) in enumerate(items):
        is_gap = op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT) and value[1] - value[0] >= _GAP_BYTES
        if is_gap and _word(items[:place]) < _SHORT_WORD and _word(items[place + 1 :]) >= _LONG_WORD:
            return items[place + 1 :]
    return items


def _word(items: Sequence[Any]) -> int:
    """The length of the longest run of fixed bytes that every match of the items holds."""
    longest = run = 0
    for op, value in items:
        run = run + 1 if op is sre.LITERAL else run if op in (sre.AT, sre.ASSERT, sre.ASSERT_NOT) else 0
        inner = 0
        if op is sre.SUBPATTERN:
            inner = _word(value[3])
        elif op is sre.BRANCH:
            inner = min(_word(branch) for branch in value[1])
        elif op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT) and value[0] > 0:
            inner = _word(value[2])
        longest = max(longest, run, inner)
    return longest


def _render(items: Sequence[Any]) -> bytes:
    return b"".join(_render_one(op, value) for op, value in items)


def _render_one(op: Any, value: Any) -> bytes:
    if op is sre.LITERAL:
        return escaped(value)
    if op is sre.NOT_LITERAL:
        return b"[^" + escaped(value) + b"]"
    if op is sre.ANY:
        return b"[^\\n]"
    if op is sre.IN:
        return _render_set(value)
    if op is sre.SUBPATTERN:
        if value[1] & re.IGNORECASE:
            return b"(?i:" + _render(value[3]) + b")"
        return b"(?:" + _render(value[3]) + b")"
    if op is sre.BRANCH:
        return b"(?:" + b"|".join(_render(branch) for branch in value[1]) + b")"
    if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        low, high, inner = value
        high_text = b"" if high is sre.MAXREPEAT else str(min(int(high), 4096)).encode()
        return b"(?:" + _render(inner) + b"){%d,%b}" % (low, high_text)
    if op in (sre.AT, sre.ASSERT, sre.ASSERT_NOT):
        return b""
    raise NotImplementedError(str(op))


_CATEGORIES = {
    "CATEGORY_DIGIT": b"\\d",
    "CATEGORY_NOT_DIGIT": b"\\D",
    "CATEGORY_SPACE": b"\\s",
    "CATEGORY_NOT_SPACE": b"\\S",
    "CATEGORY_WORD": b"\\w",
    "CATEGORY_NOT_WORD": b"\\W",
}


def _render_set(parts: Sequence[Any]) -> bytes:
    text = b"["
    for op, value in parts:
        if op is sre.NEGATE:
            text += b"^"
        elif op is sre.LITERAL:
            text += escaped(value)
        elif op is sre.RANGE:
            text += escaped(value[0]) + b"-" + escaped(value[1])
        elif op is sre.CATEGORY:
            text += _CATEGORIES[str(value)]
        else:
            raise NotImplementedError(str(op))
    return text + b"]"


def escaped(value: int) -> bytes:
    """A byte as a regex of Hyperscan that matches it."""
    if 0x30 <= value <= 0x39 or 0x41 <= value <= 0x5A or 0x61 <= value <= 0x7A or value in b" _=,:<>/@%&;'\"~`!":
        return bytes((value,))
    return b"\\x%02x" % value
