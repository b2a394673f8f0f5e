"""Members of a tar as a stream: damaged headers are counted and passed over, members of one name told apart.

The standard library ends silently at a damaged header; here the members behind it are found again.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, Self

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


@dataclass
class TapeState:
    """What was met while the headers were read: blocks that are none, empty ones since the last member."""

    damaged_count: int = 0
    empty_count: int = 0


def members(handle: IO[bytes], state: TapeState) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    """The members in order, each with its bytes where it is a file; read them before the next is asked for.

    Raises tarfile.TarError, and what the stream raises, where the archive cannot be read on.
    """
    with tarfile.open(fileobj=handle, mode="r|", tarinfo=_header_class(state), ignore_zeros=True) as archive:
        while (info := archive.next()) is not None:
            archive.members.clear()  # type: ignore[attr-defined]
            yield info, archive.extractfile(info) if info.isreg() else None


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
