"""Finds candidate places for many patterns at once in a block of bytes; never misses a match.

Hyperscan searches literals where every match is sure to hold one of some length, else a shortened form of
the regex (variable tails dropped, look-around removed), so it reports too much rather than too little; the
full regex decides later. Without the hyperscan wheel the patterns' literals are searched one by one, with
the same result and less speed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

from aiscorr.cache import cached, drop, key_of
from aiscorr.parse.regex_facts import always_holds_one, sre, sre_parser

hyperscan: Any
try:
    import hyperscan
except ImportError:
    hyperscan = None

Hit = tuple[int, int]
_LITERAL_BYTES = 12
#: A gap of this many bytes or more in a regex; what stands in front of one is left out where it is a short word.
_GAP_BYTES = 16
_SHORT_WORD, _LONG_WORD = 5, 6
#: A regex without a run of so many fixed bytes is not worth a search.
_SHORTEST_WORD = 3
#: Raise when the same expressions are searched with other texts: what was compiled is then compiled anew.
_TEXTS_VERSION = "3"


class Prefilter(Protocol):
    """Candidate search over one block."""

    def find(self, block: memoryview) -> list[Hit]:
        """(end offset, expression number) of every candidate, sorted by offset."""


class Expression:
    """One thing to search for: a regex, the literals that stand in for it, a shorter regex given for it.

    The regex is compiled only where it is looked at: what was compiled for the search is found again by its text.
    """

    def __init__(self, text: bytes, literals: Sequence[bytes], override: str | None = None) -> None:
        self.text = text
        self.literals = tuple(literals)
        self.override = override

    @cached_property
    def regex(self) -> re.Pattern[bytes]:
        """The whole regex."""
        return re.compile(self.text)

    @property
    def is_caseless(self) -> bool:
        """Whether case does not count."""
        return bool(self.regex.flags & re.IGNORECASE)

    @cached_property
    def shortened(self) -> bytes | None:
        """A regex for Hyperscan; None where the literals serve better, or where there is none.

        Many regexes at once cost Hyperscan several times what as many literals cost, but a short literal fires too
        often.
        """
        if self.override:
            return self.override.encode()
        if min(map(len, self.literals)) >= _LITERAL_BYTES and always_holds_one(self.regex, self.literals):
            return None
        return shorten(self.regex)

    def key(self) -> str:
        """All that its search depends on."""
        return repr((self.text, self.literals, self.override))


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
        return _byte(value)
    if op is sre.NOT_LITERAL:
        return b"[^" + _byte(value) + b"]"
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
            text += _byte(value)
        elif op is sre.RANGE:
            text += _byte(value[0]) + b"-" + _byte(value[1])
        elif op is sre.CATEGORY:
            text += _CATEGORIES[str(value)]
        else:
            raise NotImplementedError(str(op))
    return text + b"]"


def _byte(value: int) -> bytes:
    if 0x30 <= value <= 0x39 or 0x41 <= value <= 0x5A or 0x61 <= value <= 0x7A or value in b" _=,:<>/@%&;'\"~`!":
        return bytes((value,))
    return b"\\x%02x" % value


class HyperscanPrefilter:
    """Block-mode Hyperscan over the shortened regexes; one scratch space, so one per process."""

    def __init__(self, expressions: Sequence[Expression]) -> None:
        name = f"prefilter-{key_of([hyperscan.__version__, _TEXTS_VERSION, *(e.key() for e in expressions)])}.hs"
        try:
            head, _, body = cached(name, lambda: _packed(expressions)).partition(b"\n")
            self._owner: list[int] = json.loads(head)
            self._database = hyperscan.loadb(body, hyperscan.HS_MODE_BLOCK)
        except (hyperscan.error, ValueError, TypeError):
            drop(name)
            texts, flags, self._owner = _expression_lists(expressions, [_usable(e.shortened) for e in expressions])
            self._database = hyperscan.loadb(_compiled(texts, flags), hyperscan.HS_MODE_BLOCK)
        self._database.scratch = hyperscan.Scratch(self._database)

    def find(self, block: memoryview) -> list[Hit]:
        """(end offset, expression number) of every candidate, sorted by offset."""
        hits: list[Hit] = []
        owner = self._owner

        def on_match(number: int, start: int, end: int, flags: int, context: object) -> None:
            hits.append((end, owner[number]))

        self._database.scan(block, match_event_handler=on_match)
        hits.sort()
        return hits


def _packed(expressions: Sequence[Expression]) -> bytes:
    """The numbers of the expressions that the compiled texts stand for, a newline, and the compiled texts."""
    texts, flags, owners = _expression_lists(expressions, [e.shortened for e in expressions])
    return json.dumps(owners).encode() + b"\n" + _compiled(texts, flags)


def _expression_lists(
    expressions: Sequence[Expression], shortened: Sequence[bytes | None]
) -> tuple[list[bytes], list[int], list[int]]:
    """Texts and flags for Hyperscan, and the number of the expression each text stands for."""
    texts: list[bytes] = []
    flags: list[int] = []
    owners: list[int] = []
    for number, (expression, text) in enumerate(zip(expressions, shortened, strict=True)):
        chosen = [text] if text is not None else [b"".join(map(_byte, literal)) for literal in expression.literals]
        texts += chosen
        flags += [hyperscan.HS_FLAG_CASELESS if expression.is_caseless else 0] * len(chosen)
        owners += [number] * len(chosen)
    return texts, flags, owners


def _compiled(texts: Sequence[bytes], flags: Sequence[int]) -> bytes:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(expressions=list(texts), ids=list(range(len(texts))), elements=len(texts), flags=list(flags))
    return bytes(hyperscan.dumpb(database))


def _usable(text: bytes | None) -> bytes | None:
    """The text if Hyperscan takes it, else None: the literals serve then."""
    if text is None:
        return None
    try:
        _compiled([text], [0])
    except hyperscan.error:
        return None
    return text


class LiteralPrefilter:
    """The same search with bytes.find, for machines without a hyperscan wheel."""

    def __init__(self, expressions: Sequence[Expression]) -> None:
        self._plain = [
            (literal, number)
            for number, expression in enumerate(expressions)
            if not expression.is_caseless
            for literal in expression.literals
        ]
        self._folded = [
            (literal.lower(), number)
            for number, expression in enumerate(expressions)
            if expression.is_caseless
            for literal in expression.literals
        ]

    def find(self, block: memoryview) -> list[Hit]:
        """(end offset, expression number) of every candidate, sorted by offset."""
        text = bytes(block)
        hits = _find_all(text, self._plain)
        if self._folded:
            hits += _find_all(text.lower(), self._folded)
        hits.sort()
        return hits


def _find_all(text: bytes, literals: list[tuple[bytes, int]]) -> list[Hit]:
    hits: list[Hit] = []
    for literal, number in literals:
        start = text.find(literal)
        while start >= 0:
            hits.append((start + len(literal), number))
            start = text.find(literal, start + len(literal))
    return hits


def build_prefilter(expressions: Sequence[Expression], *, use_hyperscan: bool = True) -> Prefilter:
    """The fastest search this machine has."""
    if use_hyperscan and hyperscan is not None:
        return HyperscanPrefilter(expressions)
    return LiteralPrefilter(expressions)
