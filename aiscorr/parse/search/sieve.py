"""A search for candidates that gives another one only the lines that may hold any, where the compiled part is there.

Every match of an expression holds one of its literals, so a line without any of all literals has no match.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aiscorr import native
from aiscorr.parse.search.prefilter import Expression, Hit, Prefilter

if TYPE_CHECKING:
    from aiscorr.native._native import Sieve

#: Making a sieve takes as long as searching some MiB.
WORTH_BYTES = 2 << 20
#: Where one byte in so many is to be searched after all, the sieve rests for so many blocks.
_SHARE, _REST_BLOCKS = 4, 64
_SHORTEST, _LONGEST = 3, 255


class SievedPrefilter:
    """One in a process. `statistics`: the number of the expression for AIStore's statistics lines, else -1.

    Lines of AIStore are searched where they are warnings or errors as well.
    """

    def __init__(self, inner: Prefilter, texts: tuple[bytes, ...], statistics: int = -1) -> None:
        self._inner = inner
        self._texts = texts
        self._statistics = statistics
        self._sieve: Sieve | None = None
        self._left = WORTH_BYTES
        self._rest_blocks = 0

    def find(self, block: memoryview) -> list[Hit]:
        """As Prefilter."""
        if self._left > 0 or self._rest_blocks:
            self._left -= len(block)
            self._rest_blocks = max(0, self._rest_blocks - 1)
            return self._inner.find(block)
        if self._sieve is None:
            self._sieve = native.module.Sieve(self._texts, self._statistics)  # type: ignore[union-attr]
        lines = self._sieve.lines(block)
        if len(lines) * _SHARE > len(block):
            self._rest_blocks = _REST_BLOCKS
        return self._sieve.placed(self._inner.find(memoryview(lines)) if lines else [])


def sieved(inner: Prefilter, expressions: Sequence[Expression], statistics: int = -1) -> Prefilter:
    """The search with a sieve of the expressions' literals in front of it, where that is faster.

    `statistics`: as SievedPrefilter.
    """
    texts = tuple(dict.fromkeys(text for one in expressions for text in one.literals))
    is_fit = all(_SHORTEST <= len(text) <= _LONGEST and b"\n" not in text for text in texts)
    is_fit = is_fit and not any(one.is_caseless for one in expressions)
    is_there = native.module is not None and native.module.HAS_SIEVE
    return SievedPrefilter(inner, texts, statistics) if is_there and is_fit else inner
