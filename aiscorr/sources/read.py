"""Bytes of a source: plain, gzip, zstd, tar and zip, members in one pass, one level of nesting.

Goes out: open streams and, for archives, one stream after the other. Nothing is written to disk and
member names are never used as paths, so `../` in a tar is only a name.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from typing import IO, Any, cast

from aiscorr.errors import SourceError
from aiscorr.model import ByteStream, SourceRef, Unreadable
from aiscorr.sources.bounded import Expanded, ExpandsTooFarError, SourceFile, Tick, UpTo, once_reader
from aiscorr.sources.gunzip import GZIP_MAGIC, BlockStream, GzipError, unzipped
from aiscorr.sources.names import file_on_disk, printable, words
from aiscorr.sources.tar_members import TapeState, members

_ZSTD = b"\x28\xb5\x2f\xfd"
_ZIP = b"PK\x03\x04"
_READ_ERRORS = (
    OSError, EOFError, zlib.error, GzipError, tarfile.TarError, zipfile.BadZipFile, RuntimeError, ValueError,
    OverflowError, struct.error,
)  # fmt: skip
#: A zip inside an archive is kept in memory up to this size, and beyond it in a temporary file.
_ZIP_MEMORY_BYTES = 16 << 20
_LATEST_S = 9e9
_CLIMB = re.compile(r"\A(?:\.{0,2}/+)+")


class TruncatedError(Exception):
    """A compressed stream ended before its end mark; what came before it is good."""


class GuardedStream:
    """A stream that turns the many faces of a damaged archive into TruncatedError, behind the last byte before it."""

    def __init__(self, inner: IO[bytes]) -> None:
        self._inner = inner
        self._read_once = once_reader(inner)
        self._damage: TruncatedError | None = None

    def readinto(self, buffer: memoryview, /) -> int:
        """As the inner stream; raises TruncatedError where the data is damaged."""
        count = 0
        while count < len(buffer) and self._damage is None:
            try:
                more = int(self._read_once(buffer[count:]) or 0)
            except _READ_ERRORS as error:
                self._damage = TruncatedError(str(error) or type(error).__name__)
                break
            if more == 0:
                break
            count += more
        if self._damage is not None and not count:
            raise self._damage
        return count

    def close(self) -> None:
        """Closes the inner stream."""
        self._inner.close()


def compression_of(head: bytes) -> str | None:
    """gzip, zstd, zip or tar by the first bytes (512 are enough), None for anything else."""
    if head.startswith(GZIP_MAGIC):
        return "gzip"
    if head.startswith(_ZSTD):
        return "zstd"
    if head.startswith(_ZIP):
        return "zip"
    if len(head) > 262 and head[257:262] == b"ustar":
        return "tar"
    return None


def _decompress(inner: IO[bytes], compression: str) -> IO[bytes]:
    if compression == "gzip":
        return cast(IO[bytes], BlockStream(unzipped(inner)))
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(inner, mode="r"), "zstd")  # type: ignore[no-any-return]


def _buffered_stream(stream: Any) -> Any:
    """As `buffered`, for streams that the type checker has no common name for."""
    return buffered(stream)


def buffered(stream: IO[bytes], size: int = 1 << 16) -> io.BufferedReader:
    """The stream with a buffer, so that one can look ahead and read lines."""
    return io.BufferedReader(cast(Any, stream), size)


def open_plain(ref: SourceRef, offset: int = 0, tick: Tick = lambda _count: None) -> SourceFile:
    """A plain file, positioned at a byte offset; `tick` is told of every read."""
    handle = SourceFile(ref.file_path, tick)
    if offset:
        handle.seek(offset)
    return handle


def _head(handle: IO[bytes]) -> bytes:
    head = handle.read(512)
    handle.seek(0)
    return head


Found = tuple[SourceRef, ByteStream] | Unreadable


def expand(ref: SourceRef, tick: Tick = lambda _count: None) -> Iterator[Found]:
    """The streams of a file: itself, or each member of an archive, nested once.

    A stream must be read before the next one is asked for. Links, devices and folders inside a tar
    are named, not followed. `tick` is told of every read of the file and may raise to stop.
    """
    try:
        handle = open_plain(ref, tick=tick)
    except (OSError, ValueError) as error:
        yield Unreadable(ref.path, f"cannot be read: {words(error)}")
        return
    with handle:
        try:
            head = _head(handle)
        except OSError as error:
            yield Unreadable(ref.path, f"cannot be read: {words(error)}")
            return
        if compression_of(head) is None:
            yield ref, GuardedStream(cast(Any, UpTo(handle)))
        else:
            yield from _expand(ref, handle, head, depth=0)


def _expand(ref: SourceRef, handle: IO[bytes], head: bytes, depth: int) -> Iterator[Found]:
    """The streams of an archive or a compressed file that `depth` archives are around."""
    compression = compression_of(head)
    if compression == "zip":
        yield from _expand_zip(ref, handle, depth)
    elif compression == "tar":
        yield from _expand_tar(ref, handle, depth)
    elif compression is not None:
        try:
            inner = _buffered_stream(Expanded(_decompress(handle, compression), ref.stored_byte_count))
            inner_head = inner.peek(512)[:512]
        except _READ_ERRORS as error:
            yield Unreadable(ref.path, f"damaged {compression} data: {words(error)}")
            return
        is_tar = compression_of(inner_head) == "tar"
        yield from _inside(replace(ref, compression=compression), inner, inner_head, depth if is_tar else depth + 1)


def _inside(ref: SourceRef, reader: Any, head: bytes, depth: int) -> Iterator[Found]:
    """What stands in an archive or a compressed file: a stream, or archives again, two deep at most."""
    compression = compression_of(head)
    if compression is None:
        yield ref, GuardedStream(reader)
    elif depth > 2:
        yield Unreadable(ref.path, "an archive in archives in an archive: not opened; unpack it by hand")
    elif compression == "zip":
        yield from _nested_zip(ref, reader, depth)
    else:
        yield from _expand(ref, reader, head, depth)


def _member(ref: SourceRef, name: str, modified_ns: int, seen: set[str]) -> SourceRef:
    """A member by its name; a second one of that name, which `tar -r` makes, is `NAME (2)`."""
    shown = printable(name)
    clean = plain = _CLIMB.sub("", shown) or shown
    number = 1
    while clean in seen:
        number += 1
        clean = f"{plain} ({number})"
    seen.add(clean)
    return replace(ref, path=f"{ref.path}!{clean}", members=(*ref.members, shown), modified_ns=modified_ns)


def _tar_time_ns(info: tarfile.TarInfo) -> int:
    return int(info.mtime * 1_000_000_000) if 0 < info.mtime < _LATEST_S else 0  # neither NaN nor nonsense


def _expand_tar(ref: SourceRef, handle: IO[bytes], depth: int) -> Iterator[Found]:
    state = TapeState()
    seen: set[str] = set()
    try:
        for info, stream in members(handle, state):
            if info.isdir():
                continue
            member = _member(ref, info.name, _tar_time_ns(info), seen)
            if stream is None:
                yield Unreadable(member.path, "a link or device inside an archive: skipped", is_error=False)
                continue
            if info.issparse():
                stream = _limited(stream, ref)
            yield from _nested(member, stream, depth)
    except _READ_ERRORS as error:
        yield Unreadable(ref.path, _broken_archive(error))
        return
    if not state.damaged_count and not state.empty_count:
        yield Unreadable(ref.path, "archive ends without its end mark: members may be missing; fetch it again")
    if state.damaged_count:
        yield Unreadable(
            ref.path,
            f"archive is damaged: {state.damaged_count:,} blocks of 512 bytes are neither a member nor its header;"
            " what stands whole around them was read",
        )


def _limited(stream: IO[bytes], ref: SourceRef) -> IO[bytes]:
    return cast(Any, Expanded(stream, ref.stored_byte_count))  # type: ignore[no-any-return]


def _broken_archive(error: Exception) -> str:
    if isinstance(error, ExpandsTooFarError):
        return str(error)
    return f"archive ends early or is damaged: {words(error)} (what came before was read; fetch it again)"


def _expand_zip(ref: SourceRef, handle: IO[bytes], depth: int) -> Iterator[Found]:
    seen: set[str] = set()
    try:
        with zipfile.ZipFile(handle) as archive:
            for info in archive.infolist():
                if info.is_dir():
                    continue
                member = _member(ref, info.filename, _zip_time_ns(info), seen)
                try:
                    with archive.open(info) as stream:
                        yield from _nested(member, _limited(stream, ref), depth)
                except _READ_ERRORS as error:
                    yield Unreadable(member.path, f"cannot be read: {words(error)}")
    except _READ_ERRORS as error:
        yield Unreadable(ref.path, _broken_archive(error))


def _zip_time_ns(info: zipfile.ZipInfo) -> int:
    try:
        return int(datetime(*info.date_time, tzinfo=UTC).timestamp()) * 1_000_000_000  # zip times have no zone
    except ValueError:
        return 0


def _nested(member: SourceRef, stream: IO[bytes], depth: int) -> Iterator[Found]:
    reader = _buffered_stream(stream)
    try:
        head = reader.peek(512)[:512]
    except _READ_ERRORS as error:
        yield Unreadable(member.path, f"damaged: {words(error)}")
        return
    yield from _inside(member, reader, head, depth + 1)


def _nested_zip(member: SourceRef, reader: io.BufferedReader, depth: int) -> Iterator[Found]:
    """A zip is read from its end, so one inside an archive is unpacked first: into memory, or a nameless file."""
    with ExitStack() as kept:
        try:
            whole = kept.enter_context(tempfile.SpooledTemporaryFile(max_size=_ZIP_MEMORY_BYTES))
            shutil.copyfileobj(reader, whole, 1 << 20)
            whole.seek(0)
        except _READ_ERRORS as error:
            yield Unreadable(member.path, f"a zip inside an archive that cannot be unpacked: {words(error)}")
            return
        yield from _expand_zip(member, cast(Any, whole), depth)


def open_member(ref_path: str) -> IO[bytes]:
    """The bytes of a path as stored (`/a/b.tar.gz!c`), from the start, for reading a line again.

    Raises SourceError where it is gone.
    """
    shown, file_path = file_on_disk(ref_path)
    streams = expand(SourceRef(shown, file_path))
    for found in streams:
        if isinstance(found, Unreadable):
            if shown == ref_path:
                raise SourceError(f"{ref_path}: {found.reason}", where=ref_path)
            continue
        ref, stream = found
        if ref.path == ref_path:
            return _Kept(stream, streams)  # type: ignore[return-value]
    raise SourceError(f"{ref_path}: no longer in {shown}" if shown != ref_path else f"{ref_path}: gone", where=ref_path)


class _Kept(io.RawIOBase):
    """A byte stream as a file object; it keeps the archive around it open."""

    def __init__(self, stream: ByteStream, streams: Iterator[object]) -> None:
        super().__init__()
        self._stream = stream
        self._streams = streams

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: bytearray, /) -> int:  # type: ignore[override]
        """Reads on."""
        return int(self._stream.readinto(memoryview(buffer)) or 0)


def exists(path: str) -> bool:
    """Whether the file (or the archive around the member) is still there."""
    return os.path.exists(file_on_disk(path)[1])
