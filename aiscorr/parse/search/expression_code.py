"""Writes the code by which the compiled part matches an expression of a line format (native/expression.c).

Expressions with parts that are rare in formats get none, and Python's `re` is asked.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from aiscorr import native
from aiscorr.parse.search.regex_facts import TooManyError, first_of, set_bytes, sre, tree_of

_DONE, _BYTE, _SET, _BEGIN, _END, _BOUNDARY, _EITHER, _EITHER_LAST, _JUMP, _SAVE, _LOOK, _MANY, _FEW = range(13)
#: As in expression.h, and how often a group may be repeated.
_MOST_GROUPS, _MOST_COPIES, _ENDLESS = 15, 16, 2**31 - 1
_ANY_BYTE = frozenset(range(256))
#: What begins with so many bytes is hardly told by its first.
_MANY_BYTES = 160


class ExpressionCode(NamedTuple):
    """Code as numbers of 32 bits, sets of bytes as 32 bytes each, and the set of bytes that a match begins with."""

    code: bytes
    sets: bytes
    firsts: bytes


class _NoCodeError(Exception):
    """The expression has a part that is not written as code."""


@lru_cache(maxsize=256)
def code_of(regex: re.Pattern[bytes]) -> ExpressionCode | None:
    """The code of an expression; None where there is none."""
    if regex.flags & ~(re.UNICODE | re.IGNORECASE) or regex.groups > _MOST_GROUPS:
        return None
    writer = _Writer()
    try:
        code = writer.items(tree_of(regex), bool(regex.flags & re.IGNORECASE))
    except (_NoCodeError, TooManyError, RecursionError, AttributeError, re.error):
        return None
    first = writer.first(tree_of(regex), bool(regex.flags & re.IGNORECASE))
    sets = b"".join(map(_bits, writer.sets))
    return ExpressionCode(array("i", [*code, _DONE]).tobytes(), sets, _bits(first))


def holder(regex: re.Pattern[bytes]) -> Callable[[bytes], bool]:
    """What tells whether a text holds a match: the compiled part, where it can."""
    code = code_of(regex) if native.module is not None else None
    if code is None:
        return lambda text: regex.search(text) is not None
    holds = native.module.Search(*code).holds  # type: ignore[union-attr]

    def ask(text: bytes) -> bool:
        found = holds(text)
        return regex.search(text) is not None if found is None else found

    return ask


def _bits(chosen: frozenset[int]) -> bytes:
    found = bytearray(32)
    for byte in chosen:
        found[byte >> 3] |= 1 << (byte & 7)
    return bytes(found)


class _Writer:
    """Collects the sets that code refers to."""

    def __init__(self) -> None:
        self.sets: dict[frozenset[int], int] = {}
        self._group_count = 0

    def items(self, items: Sequence[Any], folds: bool) -> list[int]:
        """Code for items one behind the other; `folds`: case does not count."""
        return [
            number
            for place, (op, value) in enumerate(items, 1)
            for number in self._item(op, value, folds, items[place:])
        ]

    def first(self, items: Sequence[Any], folds: bool) -> frozenset[int]:
        """The bytes that a match may begin with."""
        try:
            found, may_be_empty = first_of(items)
        except TooManyError:
            return _ANY_BYTE
        return _ANY_BYTE if may_be_empty else _folded(found, folds)

    def _begins(self, items: Sequence[Any], folds: bool) -> int:
        """The set of bytes that items begin with; -1 where they may begin with nearly any, or be empty."""
        chosen = self.first(items, folds)
        return -1 if len(chosen) > _MANY_BYTES else self._set(chosen)

    def _item(self, op: Any, value: Any, folds: bool, behind: Sequence[Any]) -> list[int]:
        single = _single(op, value, folds)
        if single is not None:
            return [_BYTE, min(single)] if len(single) == 1 else [_SET, self._set(single)]
        if op is sre.AT:
            return _place(value)
        if op is sre.BRANCH:
            return self._branch([self.items(list(branch), folds) for branch in value[1]])
        if op is sre.SUBPATTERN:
            group, add, remove, inner = value
            if (add | remove) & ~re.IGNORECASE:
                raise _NoCodeError
            code = self.items(list(inner), (folds or bool(add & re.IGNORECASE)) and not remove & re.IGNORECASE)
            if group is None:
                return code
            self._group_count += 1
            return [_SAVE, 2 * group, *code, _SAVE, 2 * group + 1]
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            return self._repeat(value, folds, behind, is_greedy=op is sre.MAX_REPEAT)
        if op in (sre.ASSERT, sre.ASSERT_NOT):
            return self._look(value, folds, is_not=op is sre.ASSERT_NOT)
        raise _NoCodeError

    def _set(self, chosen: frozenset[int]) -> int:
        return self.sets.setdefault(chosen, len(self.sets))

    def _branch(self, branches: list[list[int]]) -> list[int]:
        """The first of some alternatives that lets the rest match."""
        code = branches[-1]
        for branch in reversed(branches[:-1]):
            code = [_EITHER, len(branch) + 4, *branch, _JUMP, len(code) + 2, *code]
        return code

    def _repeat(self, value: Any, folds: bool, behind: Sequence[Any], *, is_greedy: bool) -> list[int]:
        low, high, inner = value
        items = list(inner)
        most = _ENDLESS if high is sre.MAXREPEAT else int(high)
        single = _single(items[0][0], items[0][1], folds) if len(items) == 1 else None
        if single is not None:
            return [_MANY if is_greedy else _FEW, self._set(single), low, most, self._begins(behind, folds)]
        code: list[int] = self.items(items, folds)
        either = _EITHER if is_greedy else _EITHER_LAST
        if low > _MOST_COPIES or (most != _ENDLESS and most - low > _MOST_COPIES) or not inner.getwidth()[0]:
            raise _NoCodeError
        if most == _ENDLESS:
            more = [either, len(code) + 4, *code, _JUMP, -len(code) - 2]
        else:
            more = []
            for _ in range(most - low):
                more = [either, len(code) + len(more) + 2, *code, *more]
        return code * int(low) + more

    def _look(self, value: Any, folds: bool, *, is_not: bool) -> list[int]:
        direction, inner = value
        width, widest = inner.getwidth()
        before = self._group_count
        code = [*self.items(list(inner), folds), _DONE]
        if self._group_count > before or (direction < 0 and width != widest):
            raise _NoCodeError
        return [_LOOK, len(code) + 4, int(is_not), int(width) if direction < 0 else 0, *code]


def _single(op: Any, value: Any, folds: bool) -> frozenset[int] | None:
    """The bytes that an item of one byte takes; None for any other item."""
    if op is sre.LITERAL:
        found = {value}
    elif op is sre.NOT_LITERAL:
        return _ANY_BYTE - _folded({value}, folds)
    elif op is sre.ANY:
        return _ANY_BYTE - {0x0A}
    elif op is sre.IN:
        if folds and value[0][0] is sre.NEGATE:
            return _ANY_BYTE - _folded(set_bytes(value[1:]), folds)
        found = set_bytes(value)
    else:
        return None
    return _folded(found, folds)


def _folded(chosen: set[int], folds: bool) -> frozenset[int]:
    """The bytes, with the letters of the other case where case does not count."""
    letters = bytes(sorted(chosen))
    return frozenset(letters + letters.lower() + letters.upper() if folds else letters)


def _place(value: Any) -> list[int]:
    if value in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING):
        return [_BEGIN]
    if value is sre.AT_END:
        return [_END]
    if value is sre.AT_BOUNDARY:
        return [_BOUNDARY, 1]
    if value is sre.AT_NON_BOUNDARY:
        return [_BOUNDARY, 0]
    raise _NoCodeError
