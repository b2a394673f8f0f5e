"""Which of some words a text holds, asked once for all questions about it: each word is a bit of the answer."""

from __future__ import annotations

from collections.abc import Iterable

from aiscorr import native


class WordBits:
    """Words to look for, all in one pass; `folds`: they are in lower case, and the case of the text does not count."""

    def __init__(self, words: Iterable[str | bytes], *, folds: bool = False) -> None:
        chosen = tuple(dict.fromkeys(map(_raw, words)))
        self._numbers = {word: number for number, word in enumerate(chosen)}
        #: The bits of the words that a text holds.
        self.of = native.finder(chosen, folds=folds)

    def bits(self, *words: str | bytes) -> int:
        """The bits of these words: a text holds one of them where its own bits and these have one in common."""
        return sum(1 << number for number in {self._numbers[_raw(word)] for word in words})


def _raw(word: str | bytes) -> bytes:
    return word.encode() if isinstance(word, str) else word
