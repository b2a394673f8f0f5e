"""Cuts a byte stream into blocks of whole lines and sums up the content's identity.

Two buffers are used in turns; a block's buffer stays as it is until the block after the next is asked for. A line
longer than the limit comes in several blocks (`is_cut`), so memory stays bounded whatever the input.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aiscorr.checksum import ContentSum, SumPlace
from aiscorr.model import ByteStream

BLOCK_BYTES = 512 * 1024
MAX_LINE_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines: the buffer, how much of it counts, and the offset of its start in the file.

    `is_cut`: the last line has no newline, because it is longer than the limit or the file ends there.
    `before`: the place before this block, from which reading can go on later.
    """

    data: bytearray
    size: int
    offset: int
    is_cut: bool
    before: SumPlace


class BlockReader:
    """Reads a stream to its end, block by block; afterwards `content` knows the identity of the bytes.

    `byte_count`: how many bytes there are, where it is known; few need no large buffer.
    """

    def __init__(
        self,
        stream: ByteStream,
        *,
        content: ContentSum | None = None,
        block_bytes: int = BLOCK_BYTES,
        byte_count: int | None = None,
    ) -> None:
        self._stream = stream
        self._block_bytes = block_bytes if byte_count is None else min(block_bytes, byte_count + 1)
        self.content = content or ContentSum()
        self.is_ended_by_newline = True

    def __iter__(self) -> Iterator[Block]:
        buffer, other = bytearray(self._block_bytes), bytearray()
        kept = 0
        while True:
            if kept == len(buffer):
                if len(buffer) >= MAX_LINE_BYTES:
                    yield self._block(buffer, kept, is_cut=True)
                    buffer, other = bytearray(len(buffer)), buffer
                    kept = 0
                else:
                    buffer = buffer + bytearray(len(buffer))
            count = self._fill(buffer, kept)
            if count == 0:
                break
            end = kept + count
            cut = buffer.rfind(b"\n", kept, end) + 1
            if cut == 0:
                kept = end
                continue
            yield self._block(buffer, cut, is_cut=False)
            kept = end - cut
            if len(other) < len(buffer):
                other = bytearray(len(buffer))
            other[:kept] = buffer[cut:end]
            buffer, other = other, buffer
        self.is_ended_by_newline = kept == 0
        if kept:
            yield self._block(buffer, kept, is_cut=True)

    def _fill(self, buffer: bytearray, kept: int) -> int:
        with memoryview(buffer) as view, view[kept:] as free:
            return int(self._stream.readinto(free) or 0)

    def _block(self, buffer: bytearray, size: int, *, is_cut: bool) -> Block:
        before = self.content.place()
        with memoryview(buffer) as view, view[:size] as part:
            self.content.add(part)
        return Block(buffer, size, before.byte_count, is_cut, before)
