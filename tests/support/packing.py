"""Files and archives that tests make."""

from __future__ import annotations

import io
import random
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

LOG = b"[rank3]: Traceback (most recent call last):\n[rank3]: RuntimeError: boom\n"


def tar_of(members: Iterable[tuple[str, bytes]], mode: str = "w") -> bytes:
    """A tar archive of these members."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def zip_of(members: Iterable[tuple[str, bytes]]) -> bytes:
    """A zip archive of these members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return buffer.getvalue()


def zstd(data: bytes) -> bytes:
    """The data as one Zstandard frame."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


def written(path: Path, data: bytes = LOG) -> Path:
    """A file with these bytes; its folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def noise(size: int) -> bytes:
    """Lines that do not compress."""
    text = random.Random(7).randbytes(size // 2).hex().encode()
    return b"".join(text[start : start + 80] + b"\n" for start in range(0, len(text), 80))
