"""Streams with a bound: a file up to the size it had when it was opened, decompressed data up to a limit.

Every read of a file on disk is told to `tick`, which may raise to stop.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import IO, Any, cast

Tick = Callable[[int], None]
#: What one file may expand to, in bytes, before its ratio counts; logs compress 10 to 100 times.
EXPANDED_BYTES = 16 << 30
EXPANDED_RATIO = 200


class ExpandsTooFarError(OSError):
    """A compressed file grew far beyond what logs do; taken for a decompression bomb."""


def once_reader(stream: IO[bytes]) -> Callable[[Any], int | None]:
    """What fills a buffer with what comes at once.

    A buffered stream that reads until the buffer is full loses what it has read when it then meets an error.
    """
    return cast(Callable[[Any], int | None], getattr(stream, "readinto1", None) or cast(Any, stream).readinto)


class SourceFile(io.FileIO):
    """A plain file, unbuffered, that tells every read."""

    def __init__(self, path: str, tick: Tick) -> None:
        super().__init__(path, "rb")
        self._tick = tick

    def readinto(self, buffer: Any, /) -> int:
        """As io.FileIO."""
        count = super().readinto(buffer) or 0
        self._tick(count)
        return count

    def read(self, size: int | None = -1, /) -> bytes:
        """As io.FileIO."""
        data = super().read(-1 if size is None else size) or b""
        self._tick(len(data))
        return data


class UpTo(io.RawIOBase):
    """The bytes a plain file held when it was opened: one that grows as fast as it is read would never end.

    What comes later is for the next ingest. A file that states no size (those of /proc) is read to its end.
    """

    def __init__(self, handle: io.FileIO) -> None:
        super().__init__()
        self._handle = handle
        size = os.fstat(handle.fileno()).st_size
        self._left = size - handle.tell() if size else 1 << 62

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Reads on, up to the bound."""
        if self._left < len(buffer):
            with memoryview(buffer) as view, view[: max(self._left, 0)] as part:
                count = self._handle.readinto(part) if part else 0
        else:
            count = self._handle.readinto(buffer)
        self._left -= count
        return count


class Expanded(io.RawIOBase):
    """Decompressed data; ends with ExpandsTooFarError beyond a limit that depends on the stored size."""

    def __init__(self, inner: IO[bytes], stored_byte_count: int) -> None:
        super().__init__()
        self._inner = cast(Any, inner)
        self._stored = stored_byte_count
        self._limit = max(EXPANDED_BYTES, EXPANDED_RATIO * stored_byte_count)
        self._count = 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Reads on."""
        count = int(self._inner.readinto(buffer) or 0)
        self._count += count
        if self._count > self._limit:
            raise ExpandsTooFarError(
                f"{self._stored:,} bytes expand to more than {self._limit:,}, as a decompression bomb does:"
                " the rest was left out; if it is a log, unpack it and ingest the file"
            )
        return count

    def close(self) -> None:
        """Closes the inner stream too."""
        if not self.closed:
            self._inner.close()
        super().close()
