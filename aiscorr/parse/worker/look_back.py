"""Looks back from a place in a worker log: for the stamp of a line that has none, for the last lines before it."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from aiscorr.native import count_newlines
from aiscorr.parse.search.chunks import Block
from aiscorr.parse.stamps import SECOND_NS, YearContext
from aiscorr.parse.worker.prefixes import STAMP_BYTES, TIME, PrefixReader
from aiscorr.parse.worker.state import MONTH_NS, WorkerState
from aiscorr.parse.worker.tail import Tail

#: How much of the text in front of a place is kept.
KEEP_BYTES = 128 * 1024
_EDGE_BYTES = 32 * 1024
_EDGE_LINES = 200
#: Of how much text at the beginning of a file a date may tell the day of a time of day in front of it.
_DAY_BYTES = 256 * 1024
_END_LINES = 400
#: What lines with a full date hold, whatever else they do.
_FULL_DATE = re.compile(rb"20\d\d-\d\d-\d\d[ T]\d\d:|\d\d:\d\d:\d\d (?:[A-Z]{2,5} )?20\d\d|received at time=\d{10}\b")
_UNIX_TIME = re.compile(rb"\b(\d{10}) \(unix time\)")


@dataclass
class _Part:
    """The end of a block: where it lies in the block's buffer, and the number of the line behind it."""

    data: bytes | bytearray
    start: int
    end: int
    next_line_no: int

    def keep(self) -> None:
        """Takes a copy, before the buffer is used for another block."""
        if isinstance(self.data, bytearray):
            self.data, self.start, self.end = bytes(self.data[self.start : self.end]), 0, self.end - self.start


class RecentText:
    """The last bytes of the text already read, with the number of its first line, for looking back.

    Parts follow each other without a gap: a part that is only the end of its block fills the limit alone. The latest
    lies in its block's buffer, which stays as it is while the next block is read (see BlockReader); most are never
    looked at, so none is copied before it must be.
    """

    def __init__(self, limit: int = KEEP_BYTES) -> None:
        self._limit = limit
        self._parts: deque[_Part] = deque()

    def add(self, data: bytes | bytearray, size: int, next_line_no: int) -> None:
        """The block just read: its buffer, how much of it counts, the number of the line behind it."""
        start = max(0, size - self._limit)
        if start:
            self._parts.clear()
        for part in self._parts:
            part.keep()
        self._parts.append(_Part(data, start, size, next_line_no))
        total = sum(part.end - part.start for part in self._parts)
        while len(self._parts) > 1 and total - (self._parts[0].end - self._parts[0].start) >= self._limit:
            first = self._parts.popleft()
            total -= first.end - first.start

    def parts_down_to(self, low: int, end: int) -> Iterator[tuple[bytes, int]]:
        """The kept text between two places of the file, the latest part first, each with its place."""
        for part in reversed(self._parts):
            if end <= low:
                return
            start = end - (part.end - part.start)
            skip = max(0, low - start)
            yield bytes(part.data[part.start + skip : part.end]), start + skip
            end = start

    def text(self) -> bytes:
        """What is kept, in one piece."""
        return b"".join(bytes(part.data[part.start : part.end]) for part in self._parts)


class LookBack:
    """The text of a file up to where it is read; tells `state` the stamps that it finds."""

    def __init__(self, prefixes: PrefixReader, state: WorkerState, years: YearContext) -> None:
        self._prefixes = prefixes
        self._state = state
        self._years = years
        self._recent = RecentText()
        self._block: Block | None = None
        self._block_line_no = state.line_no

    def preload(self, before: bytes) -> None:
        """The text in front of the place where reading goes on."""
        keep = before[before.find(b"\n") + 1 :]
        self._recent.add(keep, len(keep), self._state.line_no)

    def open_block(self, block: Block, line_no: int) -> None:
        """The next block, and the number of its first line."""
        self._block, self._block_line_no = block, line_no
        if block.offset == 0:
            self._find_first_stamp(block)

    def close_block(self, block: Block, next_line_no: int) -> None:
        """The block is read."""
        if block.data.find(b"\n", max(0, block.size - KEEP_BYTES), block.size - 1) < 0 < block.size - KEEP_BYTES:
            self.find_stamp(block.size)  # behind a line as long as that nothing in front of it is found any more
        self._recent.add(block.data, block.size, next_line_no)

    def find_stamp(self, end: int) -> None:
        """Finds the nearest stamped line before a place in the block."""
        if self._block is None:
            return
        low = max(0, self._state.searched_offset - self._block.offset)
        if not self._note_last_stamp(self._block.data, low, end, self._block.offset):
            for part, offset in self._recent.parts_down_to(self._state.searched_offset, self._block.offset):
                if self._note_last_stamp(part, 0, len(part), offset):
                    break
        self._state.searched_offset = self._block.offset + end

    def find_last_stamp(self, next_line_no: int) -> None:
        """Finds the last stamped line of the file, at its end."""
        tail = self.tail_at_end(next_line_no)
        low = tail.place_of(_END_LINES)
        found = self._prefixes.last_stamp(tail.text, low, tail.end, -1, self._years)
        if found is not None and found[1] is not None:
            self._state.note_stamp(found[1], found[2], tail.offset + found[0])

    def tail_before(self, end: int) -> Tail:
        """The last lines before a place in the block."""
        if self._block is None:
            return Tail(b"", 0, 1)
        low = self._block.data.rfind(b"\n", 0, max(0, end - KEEP_BYTES - 1)) + 1
        text = bytes(self._block.data[low:end])
        next_line_no = self._block_line_no + count_newlines(self._block.data, 0, end)
        return Tail(text if low else self._recent.text() + text, self._block.offset + end, next_line_no)

    def tail_at_end(self, next_line_no: int) -> Tail:
        """The last lines of all that was read."""
        offset = self._block.offset + self._block.size if self._block else 0
        return Tail(self._recent.text(), offset, next_line_no)

    def _find_first_stamp(self, block: Block) -> None:
        """Reads the stamps at the beginning of the file, for its first time and its year."""
        offset, anchor_ns, is_dated = 0, self._years.anchor_ns, self._years.near_ns is not None
        pieces = bytes(block.data[: min(block.size, _EDGE_BYTES)]).split(b"\n")[:_EDGE_LINES]
        for number, piece in enumerate(pieces, 1):
            may_be = TIME.search(piece) is not None
            stamp, outer = self._prefixes.stamps(piece[:STAMP_BYTES], self._years) if may_be else (None, None)
            if may_be and stamp is None and not is_dated:
                self._find_day(block)
                is_dated = True
                stamp, outer = self._prefixes.stamps(piece[:STAMP_BYTES], self._years)
            elif stamp is not None and not stamp.is_year_known and self._find_full_date(block):
                stamp, outer = self._prefixes.stamps(piece[:STAMP_BYTES], self._years)
            if stamp is not None:
                self._state.note_stamp(stamp, outer, offset)
                self._state.searched_offset = 0
                if abs(stamp.local_ns - anchor_ns) > MONTH_NS:
                    self._find_second_stamp(pieces[number:])
                break
            offset += len(piece) + 1

    def _find_day(self, block: Block) -> None:
        """Goes back from the dates of the block to its begin: a time of day in front of them is of a day by then."""
        for piece in reversed(bytes(block.data[: min(block.size, _DAY_BYTES)]).split(b"\n")):
            if TIME.search(piece) is not None:
                self._prefixes.stamps(piece[:STAMP_BYTES], self._years)

    def _find_second_stamp(self, pieces: list[bytes]) -> None:
        """Reads the next stamp as well, as the first may be of a wrong clock."""
        near_ns = self._years.near_ns
        for piece in pieces:
            stamp, outer = self._prefixes.stamps(piece[:STAMP_BYTES], self._years)
            if stamp is not None:
                self._state.note_span(stamp, outer)
                break
        self._years.near_ns = near_ns

    def _find_full_date(self, block: Block) -> bool:
        """Whether a line of the block has a full date, which tells the year of those in front of it."""
        for found in islice(_FULL_DATE.finditer(block.data, 0, block.size), _EDGE_LINES):
            start = block.data.rfind(b"\n", 0, found.start()) + 1
            line = bytes(block.data[start : min(block.size, start + STAMP_BYTES)]).partition(b"\n")[0]
            stamp, _ = self._prefixes.stamps(line, self._years)
            if stamp is not None and stamp.is_year_known:
                return True
        told = _UNIX_TIME.search(block.data, 0, block.size)
        if told is not None:
            self._years.note(int(told[1]) * SECOND_NS)
        return told is not None

    def _note_last_stamp(self, data: bytes | bytearray, low: int, end: int, offset: int) -> bool:
        """Takes the last stamp of a part of a text that begins at this place, if it has one."""
        found = self._prefixes.last_stamp(data, low, end, self._state.stamp_offset - offset, self._years)
        if found is None:
            return False
        start, stamp, outer = found
        if stamp is not None:
            self._state.note_stamp(stamp, outer, offset + start)
        return True
