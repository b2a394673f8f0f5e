"""The first bytes of a stream, to tell by them what it is, and the stream with them in front again."""

from __future__ import annotations

from aiscorr.model import ByteStream
from aiscorr.parse.detect import HEAD_BYTES


def take_head(stream: ByteStream) -> bytes:
    """The first bytes; of an archive that ends early those there are."""
    buffer = bytearray(HEAD_BYTES)
    filled = 0
    with memoryview(buffer) as view:
        while filled < HEAD_BYTES:
            try:
                count = int(stream.readinto(view[filled:]) or 0)
            except Exception as error:
                if type(error).__name__ == "TruncatedError" and filled:
                    break
                raise
            if count == 0:
                break
            filled += count
    return bytes(buffer[:filled])


class HeadedStream:
    """A stream whose first bytes were already taken to look at them."""

    def __init__(self, head: bytes, stream: ByteStream) -> None:
        #: Of a small file, whose head is the whole.
        self.byte_count = len(head) if len(head) < HEAD_BYTES else None
        self._head = head
        self._stream = stream

    def readinto(self, buffer: memoryview, /) -> int:
        """First the head, then the stream."""
        if self._head:
            count = min(len(buffer), len(self._head))
            buffer[:count] = self._head[:count]
            self._head = self._head[count:]
            return count
        return int(self._stream.readinto(buffer) or 0)

    def close(self) -> None:
        """Closes the stream."""
        self._stream.close()
