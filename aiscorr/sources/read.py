"""Bytes of a source: plain, gzip, zstd, tar and zip, members in one pass, one level of nesting.

Goes out: open streams and, for archives, one stream after the other. Nothing is written to disk and
member names are never used as paths, so `../` in a tar is only a name.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import IO, Any, cast

from aiscorr.errors import SourceError
from aiscorr.model import ByteStream, SourceRef, Unreadable
from aiscorr.sources.names import file_on_disk, printable

igzip: Any
try:
    from isal import igzip
except ImportError:  # no wheel for this machine: the standard library does the same, slower
    igzip = None

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZIP = b"PK\x03\x04"
_READ_ERRORS = (OSError, EOFError, zlib.error, tarfile.TarError, zipfile.BadZipFile, RuntimeError)


class TruncatedError(Exception):
    """A compressed stream ended before its end mark; what came before it is good."""


class GuardedStream:
    """A stream that turns the many faces of a damaged archive into TruncatedError."""

    def __init__(self, inner: IO[bytes]) -> None:
        self._inner = inner

    def readinto(self, buffer: memoryview, /) -> int:
        """As the inner stream; raises TruncatedError where the data is damaged."""
        try:
            count = self._inner.readinto(buffer)  # type: ignore[attr-defined]
        except _READ_ERRORS as error:
            raise TruncatedError(str(error) or type(error).__name__) from None
        return int(count or 0)

    def close(self) -> None:
        """Closes the inner stream."""
        self._inner.close()


def compression_of(head: bytes) -> str | None:
    """gzip, zstd, zip or tar by the first bytes (512 are enough), None for anything else."""
    if head.startswith(_GZIP):
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
        return cast(IO[bytes], (igzip or gzip).GzipFile(fileobj=inner))
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(inner, mode="r"), "zstd")  # type: ignore[no-any-return]


def buffered(stream: IO[bytes], size: int = 1 << 16) -> io.BufferedReader:
    """The stream with a buffer, so that one can look ahead and read lines."""
    return io.BufferedReader(cast(Any, stream), size)


def open_plain(ref: SourceRef, offset: int = 0) -> IO[bytes]:
    """A plain file, positioned at a byte offset."""
    handle = open(ref.file_path, "rb", buffering=0)  # noqa: SIM115 (the caller closes it)
    if offset:
        handle.seek(offset)
    return handle


def _head(handle: IO[bytes]) -> bytes:
    head = handle.read(512)
    handle.seek(0)
    return head


def expand(ref: SourceRef) -> Iterator[tuple[SourceRef, ByteStream] | Unreadable]:
    """The streams of a file: itself, or each member of an archive, nested once.

    A stream must be read before the next one is asked for. Links, devices and folders inside a tar
    are named, not followed.
    """
    try:
        handle = open_plain(ref)
    except OSError as error:
        yield Unreadable(ref.path, f"cannot be read: {error.strerror}")
        return
    with handle:
        try:
            head = _head(handle)
        except OSError as error:
            yield Unreadable(ref.path, f"cannot be read: {error.strerror}")
            return
        yield from _expand(ref, handle, head, depth=0)


def _expand(
    ref: SourceRef, handle: IO[bytes], head: bytes, depth: int
) -> Iterator[tuple[SourceRef, ByteStream] | Unreadable]:
    compression = compression_of(head)
    if compression is None or depth > 2:
        yield ref, GuardedStream(handle)
    elif compression == "zip":
        yield from _expand_zip(ref, handle, depth)
    elif compression == "tar":
        yield from _expand_tar(ref, handle, depth)
    else:
        try:
            inner = buffered(_decompress(handle, compression))
            inner_head = inner.peek(512)[:512]
        except _READ_ERRORS as error:
            yield Unreadable(ref.path, f"damaged {compression} data: {error}")
            return
        stem = replace(ref, compression=compression)
        if compression_of(inner_head) == "tar":
            yield from _expand_tar(stem, inner, depth)
        else:
            yield stem, GuardedStream(inner)


def _member(ref: SourceRef, name: str, modified_ns: int) -> SourceRef:
    shown = printable(name)
    clean = shown.lstrip("./") or shown
    return replace(ref, path=f"{ref.path}!{clean}", members=(*ref.members, shown), modified_ns=modified_ns)


def _expand_tar(ref: SourceRef, handle: IO[bytes], depth: int) -> Iterator[tuple[SourceRef, ByteStream] | Unreadable]:
    try:
        with tarfile.open(fileobj=handle, mode="r|") as archive:
            for info in archive:
                member = _member(ref, info.name, int(info.mtime * 1_000_000_000))
                if info.isdir():
                    continue
                if not info.isreg():
                    yield Unreadable(member.path, "a link or device inside an archive: skipped", is_error=False)
                    continue
                stream = archive.extractfile(info)
                if stream is not None:
                    yield from _nested(member, stream, depth)
    except _READ_ERRORS as error:
        yield Unreadable(ref.path, f"archive ends early or is damaged: {error}")


def _expand_zip(ref: SourceRef, handle: IO[bytes], depth: int) -> Iterator[tuple[SourceRef, ByteStream] | Unreadable]:
    try:
        with zipfile.ZipFile(handle) as archive:
            for info in archive.infolist():
                if info.is_dir():
                    continue
                member = _member(ref, info.filename, _zip_time_ns(info))
                try:
                    with archive.open(info) as stream:
                        yield from _nested(member, stream, depth)
                except (RuntimeError, NotImplementedError) as error:
                    yield Unreadable(member.path, f"cannot be read: {error}")
    except _READ_ERRORS as error:
        yield Unreadable(ref.path, f"archive ends early or is damaged: {error}")


def _zip_time_ns(info: zipfile.ZipInfo) -> int:
    try:
        return int(datetime(*info.date_time, tzinfo=UTC).timestamp()) * 1_000_000_000  # zip times have no zone
    except ValueError:
        return 0


def _nested(member: SourceRef, stream: IO[bytes], depth: int) -> Iterator[tuple[SourceRef, ByteStream] | Unreadable]:
    reader = buffered(stream)
    try:
        head = reader.peek(512)[:512]
    except _READ_ERRORS as error:
        yield Unreadable(member.path, f"damaged: {error}")
        return
    compression = compression_of(head)
    if compression == "zip":
        yield from _expand(member, io.BytesIO(reader.read(256 << 20)), head, depth + 1)
    elif compression is not None and depth == 0:
        yield from _expand(member, reader, head, depth + 1)
    else:
        yield member, GuardedStream(reader)


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
