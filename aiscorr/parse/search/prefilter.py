"""Finds candidate places for many patterns at once in a block of bytes; never misses a match.

Hyperscan searches literals where every match is sure to hold one of some length, else a shortened form of the
regex, so it reports too much rather than too little; the full regex decides later. Without the hyperscan wheel the
patterns' literals are searched one by one, with the same result and less speed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

from aiscorr.cache import cached, kept, key_of
from aiscorr.parse.search.regex_facts import always_holds_one
from aiscorr.parse.search.shortened import escaped, shorten

hyperscan: Any
try:
    import hyperscan
except ImportError:
    hyperscan = None

Hit = tuple[int, int]
_LITERAL_BYTES = 12
_CASELESS = re.compile(rb"\(\?[aLmsux]*i[aLmsux]*\)")
#: Raise when the same expressions are searched with other texts: what was compiled is then compiled anew.
_TEXTS_VERSION = "4"
#: Searching so many bytes for literals takes about as long as compiling all expressions.
PATIENCE_BYTES = 2 << 20


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
        """Whether case does not count: flags stand at the beginning, and to compile all regexes takes too long."""
        return bool(_CASELESS.match(self.text))

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


class HyperscanPrefilter:
    """Block-mode Hyperscan over the shortened regexes; one scratch space, so one per process.

    Where they were never compiled before, which takes seconds, the literals serve for the first bytes.
    """

    def __init__(self, expressions: Sequence[Expression], patience_bytes: int = PATIENCE_BYTES) -> None:
        self._expressions = expressions
        self._name = f"prefilter-{key_of([hyperscan.__version__, _TEXTS_VERSION, *(e.key() for e in expressions)])}.hs"
        self._left = patience_bytes
        self._plain: LiteralPrefilter | None = None
        self._owner: list[int] = []
        self._database: Any = None
        known = kept(self._name, _unpacked)
        if known is not None:
            self._use(*known)

    def _use(self, owner: list[int], database: Any) -> None:
        self._owner, self._database = owner, database
        database.scratch = hyperscan.Scratch(database)

    def find(self, block: memoryview) -> list[Hit]:
        """(end offset, expression number) of every candidate, sorted by offset."""
        if self._database is None:
            self._left -= len(block)
            if self._left >= 0:
                self._plain = self._plain or LiteralPrefilter(self._expressions)
                return self._plain.find(block)
            self._use(*cached(self._name, lambda: _packed(self._expressions), _unpacked))
        hits: list[Hit] = []
        owner = self._owner

        def on_match(number: int, start: int, end: int, flags: int, context: object) -> None:
            hits.append((end, owner[number]))

        self._database.scan(block, match_event_handler=on_match)
        hits.sort()
        return hits


def _packed(expressions: Sequence[Expression]) -> bytes:
    """What `_unpacked` reads: the numbers of the expressions that the texts stand for, and the compiled texts."""
    try:
        return _pack(expressions, [expression.shortened for expression in expressions])
    except hyperscan.error:  # which of them it does not take is told by trying each
        return _pack(expressions, [_usable(expression.shortened) for expression in expressions])


def _unpacked(packed: bytes) -> tuple[list[int], Any]:
    """The numbers and the database. Raises ValueError where they were damaged."""
    head, _, body = packed.partition(b"\n")
    try:
        return json.loads(head), hyperscan.loadb(body, hyperscan.HS_MODE_BLOCK)
    except hyperscan.error as error:
        raise ValueError("damaged") from error


def _pack(expressions: Sequence[Expression], shortened: Sequence[bytes | None]) -> bytes:
    texts: list[bytes] = []
    flags: list[int] = []
    owners: list[int] = []
    for number, (expression, text) in enumerate(zip(expressions, shortened, strict=True)):
        chosen = [text] if text is not None else [b"".join(map(escaped, literal)) for literal in expression.literals]
        texts += chosen
        flags += [_flags(expression)] * len(chosen)
        owners += [number] * len(chosen)
    return json.dumps(owners).encode() + b"\n" + _compiled(texts, flags)


def _flags(expression: Expression) -> int:
    """A given regex may say where a line begins or ends; a shortened one never does."""
    caseless = hyperscan.HS_FLAG_CASELESS if expression.is_caseless else 0
    return caseless | (hyperscan.HS_FLAG_MULTILINE if expression.override else 0)


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


def build_prefilter(
    expressions: Sequence[Expression], *, use_hyperscan: bool = True, patience_bytes: int = PATIENCE_BYTES
) -> Prefilter:
    """The fastest search this machine has; `patience_bytes`: so much is searched before anything is compiled."""
    if use_hyperscan and hyperscan is not None:
        return HyperscanPrefilter(expressions, patience_bytes)
    return LiteralPrefilter(expressions)
