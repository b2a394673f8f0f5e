"""Gzip data as blocks of what it holds: all up to where it is cut off, or up to a block before where it is damaged.

Comes in: a stream of compressed bytes, of one member or several. Goes out: blocks of at most 64 KiB.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Generator
from typing import IO, Any

from aiscorr.checksum import crc32

#: Deflate without a head: heads and trailers are read here, so that a wrong checksum takes nothing with it.
_BARE_WINDOW = -15


class PlainInflater:
    """Inflates bare deflate with the standard library, in the form of isal's decompressor."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(_BARE_WINDOW)

    @property
    def eof(self) -> bool:
        """Whether the end mark was met."""
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        """Whether all that was given is used up."""
        return not self._inner.unconsumed_tail and not self._inner.eof

    @property
    def unused_data(self) -> bytes:
        """What was given behind the end mark."""
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """At most so many bytes of what was given so far."""
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


def _isal_inflater() -> Any:
    """isal's decompressor that keeps what it is given: with one that hands back the rest all is copied each time."""
    return igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_DEFLATE)


try:
    from isal import igzip_lib

    new_inflater: Callable[[], Any] = _isal_inflater
    GzipError: Any = igzip_lib.error
except ImportError:  # no wheel for this machine: the standard library does the same, slower
    new_inflater, GzipError = PlainInflater, zlib.error

GZIP_MAGIC = b"\x1f\x8b"
_HEAD_BYTES, _DEFLATE = 10, 8
_TRAILER = struct.Struct("<II")
_EXTRA, _NAME, _COMMENT, _CHECK = 4, 8, 16, 2
_LONGEST_HEAD = 1 << 20
_CUT = "compressed data ended before its end mark"
_READ_BYTES = 1 << 18
#: So much is lost in front of damaged data at most. Blocks of a MiB take longer: each is asked of the system again.
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
    while (start := _head_size(data)) is None or start > len(data):
        data = _more(stream, data)
    member, checksum, count = new_inflater(), 0, 0
    data = data[start:]
    while not member.eof:
        block = member.decompress(data, _BLOCK_BYTES)
        if block:
            checksum, count = crc32(block, checksum), count + len(block)
            yield block
        if not member.eof:
            data = stream.read(_READ_BYTES) if member.needs_input else b""
            if not data and not block:
                raise EOFError(_CUT)
    data = bytes(member.unused_data)
    while len(data) < _TRAILER.size:
        data = _more(stream, data)
    if _TRAILER.unpack_from(data) != (checksum, count & 0xFFFFFFFF):
        raise GzipError("the checksum is that of other data")
    return data[_TRAILER.size :]


def _more(stream: IO[bytes], data: bytes) -> bytes:
    """The data with what comes next. Raises EOFError where that is nothing."""
    found = stream.read(_READ_BYTES)
    if not found:
        raise EOFError(_CUT)
    return data + found


def _head_size(data: bytes) -> int | None:
    """Bytes in front of the deflated data (RFC 1952); None where more is to be read to tell. Raises GzipError."""
    if data[:2] != GZIP_MAGIC[: len(data)] or len(data) > _LONGEST_HEAD:
        raise GzipError("no gzip data")
    if len(data) < _HEAD_BYTES:
        return None
    method, flags = data[2], data[3]
    if method != _DEFLATE:
        raise GzipError(f"unknown compression method {method}")
    place = _HEAD_BYTES
    if flags & _EXTRA:
        if len(data) < place + 2:
            return None
        place += 2 + int.from_bytes(data[place : place + 2], "little")
    for flag in (_NAME, _COMMENT):
        if flags & flag:
            end = data.find(b"\0", place)
            if end < 0:
                return None
            place = end + 1
    return place + 2 if flags & _CHECK else place


class BlockStream(io.RawIOBase):
    """Blocks as a file object."""

    def __init__(self, blocks: Generator[bytes, None, None]) -> None:
        super().__init__()
        self._blocks = blocks
        self._rest = memoryview(b"")
        self._damage: Exception | None = None

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fills the buffer, as each block that is asked for goes through many hands.

        An error comes once all in front of it is read.
        """
        count, size = 0, len(buffer)
        while count < size and self._damage is None:
            if not self._rest and not self._take_block():
                break
            more = min(size - count, len(self._rest))
            buffer[count : count + more] = self._rest[:more]
            self._rest = self._rest[more:]
            count += more
        if self._damage is not None and not count:
            raise self._damage
        return count

    def _take_block(self) -> bool:
        """The next block that is not empty; False at the end, and where there is damage."""
        try:
            self._rest = memoryview(next(self._blocks, b""))
        except Exception as error:
            self._damage = error
        return len(self._rest) > 0

    def close(self) -> None:
        """Ends what makes the blocks too."""
        if not self.closed:
            self._blocks.close()
        super().close()
