"""Members of a tar as a stream: damaged headers are counted and passed over, members of one name told apart.

The standard library ends silently at a damaged header; here the members behind it are found again.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, Self, cast

from aiscorr.sources.bounded import once_reader

#: A longer name or set of attributes than this is no name; it would be held in memory whole.
_HEADER_BYTES = 1 << 20
_LONG_HEADERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


#: So many empty blocks after the end mark are no padding: nothing more is looked for.
_EMPTY_BLOCKS = 4096
_SKIP_BYTES = 1 << 16


@dataclass
class TapeState:
    """What was met while the headers were read: blocks that are none, empty ones since the last member."""

    damaged_count: int = 0
    empty_count: int = 0


class _Tape:
    """A stream as tarfile wants a file: it knows its place, and goes forward by reading."""

    def __init__(self, handle: IO[bytes]) -> None:
        self._handle = cast(Any, handle)
        self._read_once = once_reader(handle)
        self._place = 0

    def tell(self) -> int:
        """How many bytes were read."""
        return self._place

    def seek(self, place: int) -> None:
        """Reads on to a place. Raises StreamError for one that is behind."""
        if place < self._place:
            raise tarfile.StreamError("seeking backwards is not allowed")
        while self._place < place and self.read(min(place - self._place, _SKIP_BYTES)):
            pass

    def read(self, size: int) -> bytes:
        """The next bytes."""
        data: bytes = self._handle.read(size)
        self._place += len(data)
        return data

    def readinto(self, buffer: memoryview) -> int:
        """The next bytes, into a buffer: what comes at once."""
        count = int(self._read_once(buffer) or 0)
        self._place += count
        return count


class _Member(io.RawIOBase):
    """The bytes of a member, straight from the tape into the reader's buffer."""

    def __init__(self, tape: _Tape, size: int) -> None:
        super().__init__()
        self._tape = tape
        self._left = size

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Reads on."""
        with memoryview(buffer) as view, view[: self._left] as part:
            count = self._tape.readinto(part) if len(part) else 0
            if count == 0 < len(part):
                raise tarfile.ReadError("unexpected end of data")
        self._left -= count
        return count


def members(handle: IO[bytes], state: TapeState) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    """The members in order, each with its bytes where it is a file; read them before the next is asked for.

    Raises tarfile.TarError, and what the stream raises, where the archive cannot be read on.
    """
    tape: Any = _Tape(handle)
    with tarfile.open(fileobj=tape, mode="r:", tarinfo=_header_class(state), ignore_zeros=True) as archive:
        while (info := archive.next()) is not None:
            archive.members.clear()  # type: ignore[attr-defined]
            yield info, _bytes_of(archive, tape, info)


def _bytes_of(archive: tarfile.TarFile, tape: _Tape, info: tarfile.TarInfo) -> IO[bytes] | None:
    if not info.isreg():
        return None
    return archive.extractfile(info) if info.issparse() else cast(Any, _Member(tape, info.size))


def _header_class(state: TapeState) -> type[tarfile.TarInfo]:
    class Header(tarfile.TarInfo):
        """A header whose faults are noted in the state."""

        @classmethod
        def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
            """As the base class."""
            try:
                info = super().fromtarfile(archive)
            except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
                state.empty_count += 1
                if state.empty_count > _EMPTY_BLOCKS:
                    raise tarfile.EmptyHeaderError("nothing but padding") from None  # type: ignore[attr-defined]
                raise
            except tarfile.InvalidHeaderError:  # type: ignore[attr-defined]
                state.damaged_count += 1
                raise
            state.empty_count = 0
            return info

        def _proc_member(self, archive: tarfile.TarFile) -> Any:
            if self.type in _LONG_HEADERS and self.size > _HEADER_BYTES:
                raise tarfile.ReadError(f"a header of {self.size:,} bytes")
            if self.size < 0:
                raise tarfile.ReadError("a member of negative size")
            return super()._proc_member(archive)  # type: ignore[misc]

    return Header
