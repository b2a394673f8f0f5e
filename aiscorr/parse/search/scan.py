"""Walks the lines of a stream that matter: candidate lines of the prefilter and lines a record asks for.

Lines end at \\n and are numbered as grep numbers them; a segment is the part of a line between \\r and
\\n, because progress bars share a line with errors. The caller handles segments in file order.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from aiscorr import native
from aiscorr.parse.search.chunks import Block
from aiscorr.parse.search.prefilter import Hit, Prefilter

if TYPE_CHECKING:
    from aiscorr.native._native import Events, Stats

MAX_SEGMENT_BYTES = 64 * 1024
_WINDOW_BEFORE = 8 * 1024
_TERMINATORS = b"\r\n"


class Segment(NamedTuple):
    """A piece of a line: its bytes, the line it is on and where in the block it stands.

    `candidates`: numbers of the expressions that fired in it, in order. `is_clipped`: only a window of 64 KiB
    of a longer piece.
    """

    text: bytes
    line_no: int
    line_offset: int
    start: int
    end: int
    candidates: tuple[int, ...]
    is_clipped: bool = False


#: As Segment._make, for less work.
_segment = partial(tuple.__new__, Segment)


class Taker(Protocol):
    """Takes whole lines into the columns of the compiled part, so that they never become segments."""

    def open(self) -> Stats | Events | None:
        """Where the next such lines go; None where each is to be looked at."""

    def close(self) -> bool:
        """Lines may have been taken since `open`; whether the first of them ended a record that wanted every line."""


class LineWalker:
    """Turns blocks into segments. While `wants_every_line` is true, lines without a candidate come too."""

    def __init__(self, prefilter: Prefilter, *, line_no: int = 1) -> None:
        self._prefilter = prefilter
        self.line_no = line_no
        self.wants_every_line = False

    def walk(self, block: Block, taker: Taker | None = None) -> Iterator[Segment]:
        """The segments of a block in order; afterwards `line_no` is the number of the next line."""
        with memoryview(block.data) as view, view[: block.size] as part:
            hits = self._prefilter.find(part)
        return self._walk(block, hits) if native.module is None else self._walk_compiled(block, hits, taker)

    def _walk_compiled(self, block: Block, hits: list[Hit], taker: Taker | None) -> Iterator[Segment]:
        """As `_walk`; lines that `taker` takes are left out."""
        walk = native.module.Walk(_segment, block.data, block.size, hits, self.line_no, block.offset)  # type: ignore[union-attr]
        while True:
            takes = taker.open() if taker is not None else None
            segment = walk.next(self.wants_every_line, takes)
            if takes is not None and taker is not None and taker.close():
                self.wants_every_line = False
            if segment is None:
                break
            self.line_no = segment.line_no
            yield segment
        self.line_no = walk.line_no()

    def _walk(self, block: Block, hits: list[Hit]) -> Iterator[Segment]:
        data, size = block.data, block.size
        line_start = index = free = 0  # start of the counted line, next hit, first byte not handed out
        while True:
            while index < len(hits) and hits[index][0] <= free:
                index += 1
            if self.wants_every_line and free < size:
                anchor = free
            elif index < len(hits):
                anchor = max(hits[index][0] - 1, free)
            else:
                break
            start, end, is_clipped = self._bounds(data, size, free, anchor)
            index, candidates = _take(hits, index, end)
            new_start = data.rfind(b"\n", line_start, start) + 1
            if new_start > line_start:
                self.line_no += data.count(b"\n", line_start, new_start)
                line_start = new_start
            yield Segment(
                bytes(data[start:end]), self.line_no, block.offset + line_start, start, end, candidates, is_clipped
            )
            free = _next_start(data, end, size)
            if free >= size:
                break
        self.line_no += data.count(b"\n", line_start, size)

    @staticmethod
    def _bounds(data: bytearray, size: int, free: int, anchor: int) -> tuple[int, int, bool]:
        start = max(data.rfind(b"\n", free, anchor), data.rfind(b"\r", free, anchor), free - 1) + 1
        end = data.find(b"\n", anchor, size)
        if end < 0:
            end = size
        carriage = data.find(b"\r", anchor, end)
        if carriage >= 0:
            end = carriage
        if end - start <= MAX_SEGMENT_BYTES:
            return start, max(start, end), False
        start = max(start, anchor - _WINDOW_BEFORE)
        return start, min(end, start + MAX_SEGMENT_BYTES), True


def _next_start(data: bytearray, end: int, size: int) -> int:
    """Where the next segment begins: behind one terminator, `\\r\\n` being one."""
    if end < size and data[end] in _TERMINATORS:
        return end + 2 if data[end : end + 2] == b"\r\n" else end + 1
    return end


def _take(hits: list[Hit], index: int, end: int) -> tuple[int, tuple[int, ...]]:
    """The expressions that fired up to the end of a segment (its line end may belong to the match)."""
    first = index
    while index < len(hits) and hits[index][0] <= end + 1:
        index += 1
    if index - first < 2:
        return index, (hits[first][1],) if index > first else ()
    return index, tuple(sorted({number for _, number in hits[first:index]}))
