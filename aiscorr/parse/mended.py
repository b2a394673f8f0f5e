"""A text as it was before a terminal broke its lines, a collector labelled or packed them, or a post quoted them, and
where each of its lines really stands.

What readers see is the mended text; rows get the numbers and places of the original's lines on their way out.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from aiscorr.checksum import ContentSum
from aiscorr.model import ByteStream, FileSummary
from aiscorr.parse.batches import PartSink
from aiscorr.parse.packed import Packing
from aiscorr.parse.search.chunks import BlockReader
from aiscorr.parse.values import Value
from aiscorr.parse.whole import sum_up

_NUMBERS = ("line_no", "block_line_no")
_QUOTED_SHARE = 0.8
_MOST_QUOTES = 5
_CODE_MARGIN = 4
_NUMBER = re.compile(rb"\d+")
_LABEL_BYTES, _LEAST_LABELLED, _ODD_SHARE = 120, 8, 0.05
#: A line that opens or closes a block of code, with the language that may stand behind the mark.
_FENCE = re.compile(rb"\s*(?:`{3,}|~{3,})[\w+-]*\s*$")
_TICK = b"`"


@dataclass(frozen=True)
class Mending:
    """What was done to a text: how a collector packed each line, how deep it is quoted, what a collector put before
    each line, how far it is indented, whether it is shown as code, at which width a terminal broke it, and which lines
    besides are the rest of the line above, by their numbers."""

    packing: Packing | None = None
    quote_depth: int = 0
    label: re.Pattern[bytes] | None = None
    margin: int = 0
    is_code: bool = False
    width: int | None = None
    rest_line_nos: frozenset[int] = field(default_factory=frozenset)
    begins: Callable[[bytes], bool] = bool

    @property
    def is_needed(self) -> bool:
        """Whether anything is to be mended."""
        return (
            self.packing is not None
            or self.breaks_lines
            or bool(self.quote_depth or self.label or self.margin or self.is_code)
        )

    @property
    def breaks_lines(self) -> bool:
        """Whether a line may stand in several of the text's."""
        return bool(self.width or self.rest_line_nos)

    def bare(self, line: bytes) -> bytes:
        """A line without marks of a quotation or of code, without the label and the margin."""
        line = unquoted(line if self.packing is None else self.packing.line(line), self.quote_depth)
        if self.label is not None and (found := self.label.match(line)) is not None:
            line = line[found.end() :]
        if self.is_code:
            line = uncoded(line)
        return line[min(self.margin, len(line) - len(line.lstrip(b" \t"))) :]

    def is_rest(self, line_no: int, line: bytes, above: bytes) -> bool:
        """Whether a line is the rest of the one above."""
        if line_no in self.rest_line_nos:
            return True
        is_full = (
            self.width is not None and bool(line.strip()) and width_of(above) == self.width and not is_padded(above)
        )
        return is_full and not self.begins(line)


def quote_depth(lines: Sequence[bytes]) -> int:
    """How many marks of a quotation stand before nearly every line; a prompt of Python is none."""
    filled = [line for line in lines if line.strip()]
    depth = 0
    while depth < _MOST_QUOTES and filled:
        marked = [line for line in filled if line.startswith(b">") and not line.startswith(b">>>")]
        if len(marked) < max(1, _QUOTED_SHARE * len(filled)):
            break
        depth += 1
        filled = [rest for line in marked if (rest := unquoted(line, 1)).strip()]
    return depth


def label_of(lines: Sequence[bytes]) -> bytes:
    """What stands before nearly every line, up to a blank, with 0 for each number in it; nothing where nothing does."""
    shapes = sorted(_NUMBER.sub(b"0", line[:_LABEL_BYTES]) for line in lines if line.strip())
    if len(shapes) < _LEAST_LABELLED:
        return b""
    odd = max(1, int(_ODD_SHARE * len(shapes)))
    first, last = shapes[odd], shapes[-1 - odd]
    end = next((n for n, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), len(first))
    shared = first[: max(first.rfind(b" ", 0, end), first.rfind(b"\t", 0, end)) + 1]
    return shared if len(shared.strip()) > 1 else b""


def label_regex(label: bytes) -> re.Pattern[bytes]:
    """Finds this label, whatever its numbers are."""
    return re.compile(rb"\d+".join(map(re.escape, _NUMBER.split(label))))


def margin_of(lines: Sequence[bytes]) -> int:
    """How many blanks or tabs stand before every line, as where a post shows text as code; few are a program's own."""
    if any(line[:1] not in (b" ", b"\t") and line.strip() for line in lines):
        return 0
    filled = [line for line in lines if line.strip()]
    margin = min((len(line) - len(line.lstrip(b" \t")) for line in filled), default=0)
    is_code = margin >= _CODE_MARGIN or (margin and all(line.startswith(b"\t") for line in filled))
    return margin if is_code else 0


def is_fence(line: bytes) -> bool:
    """Whether a line opens or closes a block of code."""
    return _FENCE.match(line) is not None


def outside_code(lines: Sequence[bytes]) -> list[bytes]:
    """The filled lines that stand in no block of code; a block that is not closed goes on to the end."""
    outside, is_inside = [], False
    for line in lines:
        if is_fence(line):
            is_inside = not is_inside
        elif not is_inside and line.strip():
            outside.append(line)
    return outside


def is_all_code(lines: Sequence[bytes]) -> bool:
    """Whether a text is nothing but what a post shows as code: in blocks, or between backquotes; a document has prose
    outside of them. Of the marks of a part of a post only the last may be left."""
    filled = [line.strip() for line in lines if line.strip()]
    count = len(filled)
    if not filled or not (filled[0].startswith((_TICK, b"~~~")) or is_fence(filled[-1])):
        return False
    while filled and is_fence(filled[-1]):
        filled.pop()
    if len(filled) < count and not any(map(is_fence, filled)):
        return bool(filled)
    is_open = False
    for line in outside_code(filled):
        if not is_open and not line.startswith(_TICK):
            return False
        is_open ^= line.count(_TICK) % 2 == 1
    return bool(filled) and filled[0].startswith((_TICK, b"~~~"))


def uncoded(line: bytes) -> bytes:
    """A line of code without the backquotes around it; nothing of one that only opens or closes a block."""
    text = line.rstrip()
    if is_fence(text):
        return b""
    if text.startswith(_TICK):
        return text.strip(_TICK)
    return text[:-1] if text.endswith(_TICK) and text.count(_TICK) % 2 else line


def unquoted(line: bytes, depth: int) -> bytes:
    """A line without so many marks of a quotation."""
    for _ in range(depth):
        if not line.startswith(b">"):
            break
        line = line[2:] if line[1:2] == b" " else line[1:]
    return line


def width_of(line: bytes) -> int:
    """How many characters a line has."""
    line = line.rstrip(b"\r")
    return len(line) if line.isascii() else len(line.decode("utf-8", "surrogateescape"))


def is_padded(line: bytes) -> bool:
    """Whether a terminal filled a line up with blanks: it ended before the edge, so that nothing of it follows."""
    return line.rstrip(b"\r").endswith(b"  ")


class MendedStream:
    """The mended text of a stream; `content` sums up the original."""

    def __init__(self, stream: ByteStream, mending: Mending, byte_count: int | None = None) -> None:
        self._stream = stream
        self._raw = BlockReader(stream, byte_count=byte_count)
        self._pieces = self._mend(mending)
        self.packing = mending.packing
        self._rest = b""
        #: For each line of the mended text: where it begins there, and the original line it begins with.
        self._starts, self._offsets, self._line_nos = array("q"), array("q"), array("q")
        self.line_count = 0

    @property
    def content(self) -> ContentSum:
        """The sum of the original's bytes so far."""
        return self._raw.content

    def readinto(self, buffer: memoryview, /) -> int:
        """The next bytes of the mended text."""
        if not self._rest:
            self._rest = next(self._pieces, b"")
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def close(self) -> None:
        """Closes the stream."""
        self._stream.close()

    def line_no_of(self, mended: int) -> int:
        """The number of the original line with which a line of the mended text begins."""
        return self._line_nos[mended - 1] if 0 < mended <= len(self._line_nos) else mended

    def offset_of(self, mended: int) -> int:
        """Where the original line begins whose mended one holds this place."""
        index = bisect_right(self._starts, mended) - 1
        return self._offsets[index] if index >= 0 else mended

    def restore(self, summary: FileSummary) -> None:
        """Puts what the original is into the summary, in place of what a reader saw; what it added is kept."""
        _, mark, added = summary.content_hash.partition(":")
        sum_up(summary, self.content)
        summary.content_hash += mark + added
        summary.line_count = self.line_count

    def _mend(self, mending: Mending) -> Iterator[bytes]:
        """The mended text, a block of the original at a time; a line's end is given with the line behind it."""
        place = offset = 0
        above: bytes | None = None
        for block in self._raw:
            lines = bytes(block.data[: block.size]).split(b"\n")
            if not lines[-1]:
                lines.pop()
            parts: list[bytes] = []
            for raw in lines:
                self.line_count += 1
                line = mending.bare(raw)
                if above is None:
                    is_new = True
                elif mending.is_rest(self.line_count, line, above):
                    is_new = False
                else:
                    is_new = True
                    parts.append(b"\n")
                    place += 1
                if is_new:
                    self._starts.append(place)
                    self._offsets.append(offset)
                    self._line_nos.append(self.line_count)
                above = line
                shown = line.removesuffix(b"\r")
                parts.append(shown)
                place += len(shown)
                offset += len(raw) + 1
            if block.is_cut and self._raw.is_ended_by_newline and parts:
                above = None  # in the middle of a line longer than a block
            if parts:
                yield b"".join(parts)
        if above is not None and self._raw.is_ended_by_newline:
            yield b"\n"


class MendedSink(PartSink):
    """Hands rows on to a sink, with the places of the original's lines."""

    def __init__(self, sink: PartSink, stream: MendedStream) -> None:
        self._sink, self._stream = sink, stream

    def add(self, table_name: str, values: dict[str, Value]) -> None:
        """One row."""
        placed = dict(values) if self._stream.packing is None else self._stream.packing.row(values)
        for name in _NUMBERS:
            if isinstance(number := placed.get(name), int):
                placed[name] = self._stream.line_no_of(number)
        if isinstance(offset := placed.get("byte_offset"), int):
            placed["byte_offset"] = self._stream.offset_of(offset)
        self._sink.add(table_name, placed)

    def add_columns(self, table_name: str, values: dict[str, list[Value]], count: int) -> None:
        """Rows given by column."""
        names = [name for name in values if values[name]]
        for number in range(count):
            self.add(table_name, {name: values[name][number] for name in names})

    def flush(self) -> None:
        """Nothing is held back here."""
