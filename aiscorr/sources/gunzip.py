"""Gzip data as blocks of what it holds: all up to where it is cut off, or up to a block before where it is damaged.

Comes in: a stream of compressed bytes, of one member or several. Goes out: blocks of at most 64 KiB.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Generator
from typing import IO, Any

new_decompressor: Callable[[int], Any]
GzipError: Any = zlib.error
try:
    from isal import isal_zlib

    new_decompressor, GzipError = isal_zlib.decompressobj, isal_zlib.error
except ImportError:  # no wheel for this machine: the standard library does the same, slower
    new_decompressor = zlib.decompressobj

#: Head and trailer of gzip around each member, of which the checksum is compared.
_GZIP_WINDOW = 31
_READ_BYTES = 1 << 18
#: So much is lost in front of damaged data at most. Blocks of a MiB take longer: each is asked of the system anew.
_BLOCK_BYTES = 1 << 16


def unzipped(stream: IO[bytes]) -> Generator[bytes, None, None]:
    """The blocks of all members; zeros between and behind them are left out, as gzip does.

    Raises EOFError where the stream ends before a member does, GzipError where it is damaged or goes on with something
    else: both after the last block before that place.
    """
    data = stream.read(_READ_BYTES)
    while data:
        data = yield from _member(stream, data)
        while not (data := data.lstrip(b"\0")):
            data = stream.read(_READ_BYTES)
            if not data:
                return


def _member(stream: IO[bytes], data: bytes) -> Generator[bytes, None, bytes]:
    """The blocks of a member that begins with `data`; returns what was read behind it."""
    member = new_decompressor(_GZIP_WINDOW)
    while True:
        block = member.decompress(data, _BLOCK_BYTES)
        if block:
            yield block
        if member.eof:
            return bytes(member.unused_data)
        data = member.unconsumed_tail or stream.read(_READ_BYTES)
        if not data and not block:
            raise EOFError("compressed data ended before its end mark")


class BlockStream(io.RawIOBase):
    """Blocks as a file object."""

    def __init__(self, blocks: Generator[bytes, None, None]) -> None:
        super().__init__()
        self._blocks = blocks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Reads on, to the end of a block at most."""
        if not self._rest:
            self._rest = memoryview(next(self._blocks, b""))
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def close(self) -> None:
        """Ends what makes the blocks too."""
        if not self.closed:
            self._blocks.close()
        super().close()
