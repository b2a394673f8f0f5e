"""A folder for things that are slow to make and cheap to lose; every entry is named by what it was made from."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

_Read = TypeVar("_Read")


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/aiscorr`, else `~/.cache/aiscorr`."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "aiscorr"


def key_of(parts: Iterable[bytes | str]) -> str:
    """A name for an entry, from everything it depends on."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:40]


def cached(name: str, make: Callable[[], bytes], read: Callable[[bytes], _Read]) -> _Read:
    """What `read` makes of the entry's bytes; an entry that is missing or damaged is made and kept.

    Damaged is what `read` refuses with a ValueError, or a TypeError or AttributeError where it is something else. A
    cache that cannot be written is no error.
    """
    there = kept(name, read)
    if there is not None:
        return there
    data = make()
    keep(name, data)
    return read(data)


def kept(name: str, read: Callable[[bytes], _Read]) -> _Read | None:
    """What `read` makes of the entry's bytes; None for an entry that is missing or damaged."""
    with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
        return read((cache_folder() / name).read_bytes())
    return None


def cached_json(name: str, make: Callable[[], bytes], read: Callable[[Any], _Read]) -> _Read:
    """As `cached`, for an entry that is JSON."""
    return cached(name, make, lambda data: read(json.loads(data)))


def keep(name: str, data: bytes) -> None:
    """Keeps an entry; a cache that cannot be written is no error."""
    path = cache_folder() / name
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
