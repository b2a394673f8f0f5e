"""What every match of a regex holds, told from the regex itself: words, one of given literals, its first byte.

Where nothing is sure the answer says so, and the caller searches as if it had not asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

sre: Any
sre_parser: Any
try:  # the parts of `re` that have no public name; where another Python keeps them elsewhere, nothing is sure
    sre, sre_parser = (import_module(f"re.{name}") for name in ("_constants", "_parser"))
except ImportError:
    sre = sre_parser = None

_GAP = "\uffff"
_MAX_TEXTS = 400
_MAX_SET = 4
_MAX_WORDS = 8
_MAX_WIDTH = 256


class TooManyError(Exception):
    """More texts than are worth a look."""


class RegexFacts(NamedTuple):
    """What is known of a regex without compiling it: see `words_needed`, `widest`, `first_bytes`; and its groups."""

    words: tuple[bytes, ...] | None
    width: int | None
    first_bytes: frozenset[int] | None
    groups: frozenset[str]

    @classmethod
    def of(cls, regex: re.Pattern[bytes]) -> RegexFacts:
        """The facts of a compiled regex."""
        return cls(words_needed(regex), widest(regex), first_bytes(regex), frozenset(regex.groupindex))


def always_holds_one(regex: re.Pattern[bytes], literals: Sequence[bytes]) -> bool:
    """Whether every match is sure to hold one of the literals (in any case, where the regex ignores it).

    `(?:GET|HEAD) \\S+: 404` and `: 404` → True; `a.*b` and `ab` → False.
    """
    is_caseless = bool(regex.flags & re.IGNORECASE)
    words = [literal.decode("latin-1") for literal in literals]
    folded = [word.lower() for word in words] if is_caseless else words
    try:
        rest = _texts(tree_of(regex), folded, is_caseless)
    except (TooManyError, re.error, RecursionError, AttributeError):
        return False
    return not [text for text in rest if not _holds(text, folded)]


@lru_cache(maxsize=1024)
def words_needed(regex: re.Pattern[bytes]) -> tuple[bytes, ...] | None:
    """ASCII words in lower case of which every match holds one, whatever its case; None where there is no telling one.

    `\\[rank(\\d+)\\]|RANK (\\d+)` → (b"rank",).
    """
    try:
        texts = _texts(tree_of(regex), (), folds=True)
    except (TooManyError, re.error, RecursionError, AttributeError):
        return None
    common = _common_word(texts)
    if len(common) >= 3 and common.isascii():
        return (common.encode("latin-1"),)
    longest = {max(text.split(_GAP), key=len) for text in texts}
    if len(longest) > _MAX_WORDS or any(len(word) < 2 or not word.isascii() for word in longest):
        return None
    return tuple(sorted(word.encode("latin-1") for word in longest))


@lru_cache(maxsize=1024)
def widest(regex: re.Pattern[bytes]) -> int | None:
    """The most bytes a match can have; None where there is no small limit."""
    try:
        tree = sre_parser.parse(regex.pattern, regex.flags & ~re.UNICODE)
        width = int(tree.getwidth()[1])
    except (re.error, RecursionError, AttributeError):
        return None
    return width if width <= _MAX_WIDTH else None


@lru_cache(maxsize=1024)
def first_bytes(regex: re.Pattern[bytes]) -> frozenset[int] | None:
    """The bytes a match may begin with; None where any will do, or none is needed."""
    if regex.flags & re.IGNORECASE:
        return None
    try:
        found, may_be_empty = first_of(tree_of(regex))
    except (TooManyError, re.error, RecursionError, AttributeError):
        return None
    return None if may_be_empty else frozenset(found)


@lru_cache(maxsize=256)
def tree_of(regex: re.Pattern[bytes]) -> list[Any]:
    """The parsed items of a regex. Raises AttributeError where this Python keeps its parser elsewhere."""
    return list(sre_parser.parse(regex.pattern, regex.flags & ~re.UNICODE))


def _texts(items: Sequence[Any], wanted: Sequence[str], folds: bool) -> list[str]:
    """Every text that the items match, with a gap for what is not fixed.

    Texts that hold a wanted word already are left out. `folds`: case does not count, all is lower case.
    """
    found = {""}
    for op, value in items:
        choices = _choices(op, value, folds)
        found = {text + choice for text in found for choice in choices}
        found = {text for text in found if not _holds(text, wanted)}
        if len(found) > _MAX_TEXTS:
            raise TooManyError
    return sorted(found)


def _holds(text: str, wanted: Sequence[str]) -> bool:
    return any(word in text for word in wanted)


def _choices(op: Any, value: Any, folds: bool) -> list[str]:
    if op is sre.LITERAL:
        return [chr(value).lower() if folds else chr(value)]
    if op is sre.IN and len(value) <= _MAX_SET and all(part[0] is sre.LITERAL for part in value):
        return [chr(part[1]).lower() if folds else chr(part[1]) for part in value]
    if op is sre.SUBPATTERN:
        return [_GAP] if value[1] & re.IGNORECASE and not folds else _texts(list(value[3]), (), folds)
    if op is sre.BRANCH:
        return [text for branch in value[1] for text in _texts(list(branch), (), folds)]
    if op in (sre.AT, sre.ASSERT, sre.ASSERT_NOT):
        return [""]
    if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        low, high, inner_items = value
        inner = _texts(list(inner_items), (), folds)
        if (low, high) == (1, 1):
            return inner
        if (low, high) == (0, 1):
            return ["", *inner]
        return [text + _GAP + text for text in inner] if low else [_GAP]
    return [_GAP]


def _common_word(texts: Sequence[str]) -> str:
    shortest = min(texts, key=len, default="")
    for size in range(len(shortest), 2, -1):
        for start in range(len(shortest) - size + 1):
            word = shortest[start : start + size]
            if _GAP not in word and all(word in text for text in texts):
                return word
    return ""


def first_of(items: Sequence[Any]) -> tuple[set[int], bool]:
    """The first bytes of the items, and whether they may match nothing."""
    found: set[int] = set()
    for op, value in items:
        more, may_be_empty = _first_of_one(op, value)
        found |= more
        if not may_be_empty:
            return found, False
    return found, True


def _first_of_one(op: Any, value: Any) -> tuple[set[int], bool]:
    if op is sre.LITERAL:
        return {value}, False
    if op is sre.NOT_LITERAL:
        return set(range(256)) - {value}, False
    if op is sre.ANY:
        return set(range(256)), False
    if op is sre.IN:
        return set_bytes(value), False
    if op is sre.SUBPATTERN:
        if value[1] & re.IGNORECASE:
            raise TooManyError
        return first_of(list(value[3]))
    if op is sre.BRANCH:
        parts = [first_of(list(branch)) for branch in value[1]]
        return {byte for found, _ in parts for byte in found}, any(empty for _, empty in parts)
    if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        found, may_be_empty = first_of(list(value[2]))
        return found, may_be_empty or value[0] == 0
    if op in (sre.AT, sre.ASSERT, sre.ASSERT_NOT):
        return set(), True
    raise TooManyError


def set_bytes(parts: Sequence[Any]) -> set[int]:
    """The bytes of a set, found by asking each byte. Raises TooManyError for a part that is not understood."""
    found: set[int] = set()
    is_negated = False
    for op, value in parts:
        if op is sre.NEGATE:
            is_negated = True
        elif op is sre.LITERAL:
            found.add(value)
        elif op is sre.RANGE:
            found |= set(range(value[0], value[1] + 1))
        elif op is sre.CATEGORY:
            found |= _bytes_like(_CATEGORY_LETTERS[str(value)])
        else:
            raise TooManyError
    return set(range(256)) - found if is_negated else found


@lru_cache(maxsize=16)
def _bytes_like(letter: bytes) -> frozenset[int]:
    """The bytes that a regex of one byte takes."""
    return frozenset(byte for byte in range(256) if re.match(letter, bytes((byte,))))


_CATEGORY_LETTERS = {
    "CATEGORY_DIGIT": rb"\d",
    "CATEGORY_NOT_DIGIT": rb"\D",
    "CATEGORY_SPACE": rb"\s",
    "CATEGORY_NOT_SPACE": rb"\S",
    "CATEGORY_WORD": rb"\w",
    "CATEGORY_NOT_WORD": rb"\W",
}
