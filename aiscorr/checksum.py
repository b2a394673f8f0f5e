"""The identity of bytes: length, CRC-32 of all and SHA-256 of both ends; fast enough to run on everything."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from typing import NamedTuple

try:
    from isal import isal_zlib

    crc32 = isal_zlib.crc32
except ImportError:  # no wheel for this machine: the standard library gives the same sums, slower
    crc32 = zlib.crc32

END_BYTES = 4096


@dataclass(frozen=True)
class SumMark:
    """A place in a stream from which summing can go on.

    Bytes before it, their CRC, and the hashes of the first and the last 4096 bytes before it.
    """

    byte_count: int
    crc: int
    head_hash: str
    tail_hash: str


class SumPlace(NamedTuple):
    """A SumMark to be: the bytes whose hashes it will have, for the many places that are never gone on from."""

    byte_count: int
    crc: int
    known_head: str
    head: bytes
    tail: bytes

    def mark(self) -> SumMark:
        """The mark of this place."""
        return SumMark(self.byte_count, self.crc, self.known_head or short_hash(self.head), short_hash(self.tail))


class ContentSum:
    """Sums up a stream part by part; `identity()` is equal for equal bytes whatever way they came in."""

    def __init__(self, mark: SumMark | None = None, tail: bytes = b"") -> None:
        self.byte_count = mark.byte_count if mark else 0
        self._crc = mark.crc if mark else 0
        self._known_head = mark.head_hash if mark and mark.byte_count >= END_BYTES else ""
        self._head = b"" if self._known_head else tail
        self._tail = tail

    def add(self, part: memoryview) -> None:
        """The next bytes of the stream."""
        self._crc = crc32(part, self._crc)
        self.byte_count += len(part)
        if not self._known_head:
            self._head += bytes(part[: END_BYTES - len(self._head)])
            if len(self._head) >= END_BYTES:
                self._known_head = short_hash(self._head)
        if len(part) >= END_BYTES:
            self._tail = bytes(part[-END_BYTES:])
        else:
            self._tail = (self._tail + bytes(part))[-END_BYTES:]

    def place(self) -> SumPlace:
        """This place. Going on from it needs the (up to 4096) bytes before it as well."""
        return SumPlace(self.byte_count, self._crc, self._known_head, self._head, self._tail)

    def head_hash(self) -> str:
        """SHA-256 of the first 4096 bytes, 16 hexadecimal digits."""
        return self._known_head or short_hash(self._head)

    def identity(self) -> str:
        """Length, CRC-32 and hashes of both ends, as text."""
        return f"{self.byte_count}-{self._crc:08x}-{self.head_hash()}-{short_hash(self._tail)}"


def short_hash(part: bytes) -> str:
    """SHA-256 of some bytes, 16 hexadecimal digits."""
    return hashlib.sha256(part).hexdigest()[:16]
