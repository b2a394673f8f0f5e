"""Tells from the beginning of a text whether its lines were broken by a terminal, labelled or quoted.

A quoted text has a mark before nearly every line, one that is shown as code stands between marks. What a collector of
any kind puts before each line differs in its numbers alone, and hides a time, a rank or a traceback's beginning. A
terminal breaks every line that is longer than its width, at any column: no line is longer, and what stands behind
a full one goes on in the middle of a word. Of a text pasted from several such, a line and the next are one where only
both together are a message that is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from aiscorr.parse.detect import HEAD_BYTES
from aiscorr.parse.mended import (
    Mending,
    is_all_code,
    is_padded,
    label_of,
    label_regex,
    margin_of,
    quote_depth,
    unquoted,
    width_of,
)
from aiscorr.parse.packed import packing_of
from aiscorr.parse.spec.pattern import Pattern
from aiscorr.parse.stamps import YearContext
from aiscorr.parse.values import strip_ansi
from aiscorr.parse.worker.patterns import WorkerPatterns
from aiscorr.parse.worker.prefixes import LinePrefix, PrefixReader

_LEAST_WIDTH, _MOST_WIDTH = 40, 500
#: A line that may be the first part of a broken one has as many bytes, and each part of a message a few.
_LEAST_BYTES, _LEAST_PART = 60, 3
_MOST_PARTS = 4
_MOST_PAIRS = 1500
_HARD_SHARE, _SHAPE_SHARE = 0.34, 0.7
#: Of so many lines of a text at least this share tells more without its label.
_SAMPLE, _MORE_SHARE = 24, 0.1
_WORD = re.compile(rb"\S*[ \t]+")
#: What says how grave a line is belongs to the line.
_LEVEL = re.compile(rb"(?i)\b(?:trace|debug|info|notice|warn(?:ing)?|error|critical|fatal)\b")
_OPENING, _CLOSING = b"([{", b")]}"
#: The beginning of a line that has no prefix: what Python, C++, a shell, a table or NCCL prints.
_BEGINS = re.compile(
    rb"    |\t|  File \"|Traceback \(|  what\(\): |terminate called|[|+#=*-]{2}|[|+] |[\w.-]+:\d+:\d+ \[-?\d+\] NCCL "
)
_FRAME_BEGUN = re.compile(rb"\s*(?:\[rank\d+\]: +)?File \"(?!.*, in \S)")
_FRAME = re.compile(rb"\s*(?:\[rank\d+\]: +)?File \"[^\"]+\", line \d+, in \S+\s*$")


class BrokenLines:
    """Looks at the beginnings of texts, with the patterns and prefixes of worker logs."""

    def __init__(self, patterns: WorkerPatterns, prefixes: PrefixReader) -> None:
        self._patterns = patterns
        self._prefixes = prefixes

    def look(self, head: bytes) -> Mending:
        """What is to be mended of the text that begins so."""
        lines = head.split(b"\n")
        if len(head) >= HEAD_BYTES or not lines[-1]:
            lines.pop()
        packing = packing_of(lines)
        if packing is not None:
            lines = [packing.line(line) for line in lines]
        depth = quote_depth(lines)
        if depth:
            lines = [unquoted(line, depth) for line in lines]
        label = self._label(lines)
        if label is not None:
            lines = [Mending(label=label).bare(line) for line in lines]
        shape = Mending(packing, depth, label, margin_of(lines), is_all_code(lines), begins=self.begins)
        if shape.margin or shape.is_code:
            unquoted_shape = replace(shape, packing=None, quote_depth=0, label=None)
            lines = [unquoted_shape.bare(line) for line in lines]
        if b"\x1b" in head:
            lines = [_plain(line) for line in lines]
        if b"\r" in head:
            lines = [line.rstrip(b"\r") for line in lines]
        # what is longer than any post is no text that was pasted from several places
        rests = self._told_rests(lines) if len(head) < HEAD_BYTES else set()
        width = self._width(lines, rests)
        return replace(shape, width=width, rest_line_nos=frozenset(number + 1 for number in rests))

    def _label(self, lines: Sequence[bytes]) -> re.Pattern[bytes] | None:
        """What a collector put before each line, up to where a program's own line begins; None where nothing is, or
        what it says is known."""
        filled = [line for line in lines if line.strip()]
        sample = filled[:: max(1, len(filled) // _SAMPLE)]
        if not label_of(sample) or not (shape := label_of(filled)):
            return None
        longest = label_regex(shape)
        shown = next((match[0] for line in sample if (match := longest.match(line)) is not None), b"")
        ends = (word.start() for word in _WORD.finditer(shown))
        told = shown[: next((end for end in ends if self._prefixes.has_prefix(shown[end:] + b"x")), len(shown))]
        if not told.strip() or _LEVEL.search(told) or self._read(told + b"x").rank is not None:
            return None
        label = label_regex(told)
        rests = ((line, line[match.end() :]) for line in sample if (match := label.match(line)) is not None)
        return label if sum(self._tells_more(*pair) for pair in rests) >= _MORE_SHARE * len(sample) else None

    def _tells_more(self, line: bytes, rest: bytes) -> bool:
        """Whether a line without its label has a time, a rank or the beginning of a block that it has not with it."""
        whole, bare = self._read(line), self._read(rest)
        return (
            (whole.stamp is None and bare.stamp is not None)
            or (whole.rank is None and bare.rank is not None)
            or (_BEGINS.match(line) is None and _BEGINS.match(rest) is not None)
        )

    def _read(self, line: bytes) -> LinePrefix:
        return self._prefixes.read(line[:1024], YearContext(0))

    def begins(self, line: bytes) -> bool:
        """Whether a line begins as one of its own does: with a prefix, or as the lines of a block do."""
        line = _plain(line)
        return _BEGINS.match(line) is not None or self._prefixes.has_prefix(line[:1024])

    def _told_rests(self, lines: Sequence[bytes]) -> set[int]:
        """The numbers, from 0, of lines that make a known message only together with the line above."""

        @cache
        def goes_on(number: int) -> bool:
            return number < len(lines) and bool(lines[number].strip()) and not self.begins(lines[number])

        pairs = [
            number
            for number, above in enumerate(lines[:-1], 1)
            if len(above) >= _LEAST_BYTES and not is_padded(above) and goes_on(number)
        ][:_MOST_PAIRS]
        told = self._numbers_by_part(pairs, lines, goes_on)
        rests: set[int] = set()
        for number in pairs:
            above, place, parts = lines[number - 1], number, told[number]
            while place not in rests and (count := self._part_count(above, lines[place : place + len(parts)], parts)):
                rests.update(range(place, place + count))
                above += b"".join(lines[place : place + count])
                place += count
                parts = self._numbers_by_part([place], [*lines[: place - 1], above, *lines[place:]], goes_on)[place]
        return rests

    def _numbers_by_part(
        self, places: Sequence[int], lines: Sequence[bytes], goes_on: Callable[[int], bool]
    ) -> dict[int, list[list[int]]]:
        """For lines that may go on with the one above, and for each with the next as well, and so on: what they may be.

        No further than where none of the lines so far is likely to be a message, or where one begins as its own.
        """
        found: dict[int, list[list[int]]] = {place: [] for place in places}
        left = list(places)
        for count in range(1, _MOST_PARTS + 1):
            left = [place for place in left if goes_on(place + count - 1)]
            pairs = [(lines[place - 1], b"".join(lines[place : place + count])) for place in left]
            for place, numbers in zip(left, self._candidates(pairs), strict=True):
                if numbers or count > 1:
                    found[place].append(numbers)
            left = [place for place in left if found[place] and found[place][-1]]
        return found

    def _part_count(self, above: bytes, lines: Sequence[bytes], parts: Sequence[list[int]]) -> int:
        """How many of these lines are needed for a message that the line above begins; 0 where it begins none."""
        rest = b""
        for count, (line, numbers) in enumerate(zip(lines, parts, strict=True), 1):
            rest += line
            if self._is_one(above, rest, numbers) and self._is_one((above + rest)[: -len(line)], line, numbers):
                return count
        return 0

    def _candidates(self, pairs: Sequence[tuple[bytes, bytes]]) -> list[list[int]]:
        """The numbers of the patterns that each pair, as one line, may be."""
        text = bytearray(b"\n".join(above + line for above, line in pairs))
        found: list[list[int]] = [[] for _ in pairs]
        if not pairs:
            return found
        ends: list[int] = []
        place = 0
        for above, line in pairs:
            place += len(above) + len(line) + 1
            ends.append(place)
        with memoryview(text) as view:
            hits = self._patterns.prefilter.find(view)
        index = 0
        for end, number in sorted(hits):
            while end > ends[index]:
                index += 1
            found[index].append(number)
        return found

    def _is_one(self, above: bytes, line: bytes, numbers: Sequence[int]) -> bool:
        """Whether two lines are one: together they are a known message, or more of it, and apart they are not."""
        if _FRAME_BEGUN.match(above) and _FRAME.match(above + line):
            return True
        return any(_is_told_by(pattern, above, line) for pattern in self._patterns.exact(numbers))

    def _width(self, lines: Sequence[bytes], rests: set[int]) -> int | None:
        """The width of the terminal that broke the lines."""
        widths = [width_of(line) for line in lines]
        width = max(widths, default=0)
        if not _LEAST_WIDTH <= width <= _MOST_WIDTH:
            return None
        full = [n for n in range(1, len(lines)) if widths[n - 1] == width and not is_padded(lines[n - 1])]
        followed = [number for number in full if lines[number].strip() and not self.begins(lines[number])]
        if 2 * len(followed) < len(full) or not followed:
            return None
        is_edge_seen = sum(n == width and is_padded(line) for n, line in zip(widths, lines, strict=True)) > 1
        if is_edge_seen or any(number in rests for number in followed):
            return width
        hard = sum(_is_word(lines[number - 1][-1:]) and _is_word(lines[number][:1]) for number in followed)
        begun = {_shape(line) for number, line in enumerate(lines) if number not in followed}
        shapes = {_shape(lines[number]) for number in followed} - begun
        is_broken = hard >= max(2, _HARD_SHARE * len(followed)) and len(shapes) >= _SHAPE_SHARE * len(followed)
        return width if is_broken else None


def _is_told_by(pattern: Pattern, above: bytes, line: bytes) -> bool:
    """Whether a pattern finds its message, or more of what the message tells, only where both lines are one.

    The break must lie where the message leaves no choice, or inside brackets that the first line opens.
    """
    cut = len(above)
    match = pattern.regex.search(above + line)
    if match is None or not match.start() <= cut - _LEAST_PART or match.end() < cut + _LEAST_PART:
        return False
    is_open = len(above.translate(None, _OPENING)) < len(above.translate(None, _CLOSING))
    parted = None if is_open else pattern.regex.search(above + b"\0" + line)
    return all(other is None or _is_less(other, match, cut) for other in (pattern.regex.search(above), parted)) and (
        pattern.regex.search(line) is None
    )


def _is_less(other: re.Match[bytes], match: re.Match[bytes], cut: int) -> bool:
    """Whether a match tells less than that of the whole: one word fewer, of those that reach behind the break."""
    told = other.groupdict()
    return any(
        value is not None and told[name] is None and match.end(name) > cut and not re.search(rb"\s", value)
        for name, value in match.groupdict().items()
    )


def _plain(line: bytes) -> bytes:
    """A line without terminal colours."""
    if b"\x1b" not in line:
        return line
    return strip_ansi(line.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _shape(line: bytes) -> bytes:
    """How a line begins, whatever its numbers are."""
    return re.sub(rb"\d", b"0", line[:6])


def _is_word(text: bytes) -> bool:
    return text.isalnum()
