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


def cached(name: str, make: Callable[[], bytes]) -> bytes:
    """The entry's bytes; made and kept where missing. A cache that cannot be written is no error."""
    path = cache_folder() / name
    with contextlib.suppress(OSError):
        return path.read_bytes()
    data = make()
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    return data


def drop(name: str) -> None:
    """Forgets an entry that turned out to be useless."""
    with contextlib.suppress(OSError):
        (cache_folder() / name).unlink()


def cached_json(name: str, make: Callable[[], bytes], read: Callable[[Any], _Read]) -> _Read:
    """What `read` makes of the entry's JSON; an entry that is damaged is forgotten and made anew."""
    try:
        return read(json.loads(cached(name, make)))
    except (ValueError, TypeError, AttributeError):  # no JSON, or that of something else
        drop(name)
        return read(json.loads(make()))
