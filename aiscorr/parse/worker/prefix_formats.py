"""The formats of line prefixes, each tried only where it can match: by the first byte, or by a word it needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, reduce
from operator import or_
from typing import TypeVar

from aiscorr.parse.spec.formats import LineFormat
from aiscorr.parse.stamps import Stamp, StampReader, YearContext

#: So much of a line is searched for what stands in front of it, and so much for words of formats.
SEARCH_LIMIT = 512
WORD_LIMIT = 8 * SEARCH_LIMIT
_Form = TypeVar("_Form", bound="TriedFormat")


class SearchedFormat:
    """A format that may stand anywhere in a line, with the bits of its words."""

    def __init__(self, form: LineFormat, bits: int) -> None:
        self.form, self.bits = form, bits
        words, self._width = form.facts.words, form.facts.width
        self._word = words[0] if words is not None and len(words) == 1 else None

    def search(self, line: bytes, limit: int) -> re.Match[bytes] | None:
        """The first match in the first bytes of a line, which holds one of the words."""
        start = 0
        if self._word is not None and self._width is not None:
            # the word, in lower case, is in the match, so that begins no further in front of it than a match is wide
            start = line[:WORD_LIMIT].lower().find(self._word) - self._width
        return self.form.regex.search(line, max(0, start), limit)


class TriedFormat:
    """A format with the bits of its words: of those a line has one where the format may match in it.

    Its regex is compiled when a line is tried with it.
    """

    def __init__(self, form: LineFormat, bits: int) -> None:
        self.form, self.bits = form, bits
        self.firsts = form.facts.first_bytes if not form.is_anywhere else None
        self.has_rank = bool({"rank", "local_rank"} & form.facts.groups)
        self.is_passed = form.name != "stamp_slurm"  # which stands behind the message
        self.has_epoch = "epoch" in form.facts.groups
        self.has_time = bool({"iso", "hms"} & form.facts.groups)

    @cached_property
    def match(self) -> Callable[[bytes], re.Match[bytes] | None]:
        """Looks where a text begins."""
        return self.form.regex.match

    @cached_property
    def look(self) -> Callable[[bytes], re.Match[bytes] | None]:
        """Looks wherever the format may stand."""
        return self.form.regex.search if self.form.is_anywhere else self.form.regex.match

    @cached_property
    def stamp_of(self) -> Callable[[re.Match[bytes], YearContext], Stamp | None]:
        """The stamp of a match."""
        return StampReader(self.form.regex).read


def by_first_byte(tried: Sequence[_Form]) -> list[tuple[_Form, ...]]:
    """For each byte the formats that can match a text that begins with it; the last entry is for no text."""
    chosen = [tuple(one for one in tried if one.firsts is None or byte in one.firsts) for byte in range(256)]
    return [*chosen, tuple(tried)]


def either(bits: Iterable[int]) -> int:
    """The bits that any has."""
    return reduce(or_, bits, 0)
