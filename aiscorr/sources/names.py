"""Names of files as text that can be shown and stored, and back to the file on disk.

A name is any bytes; those that are no UTF-8 are shown as `\\xNN`. Behind `!` stands the name inside an archive.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

_ESCAPE = re.compile(rb"\\x([0-9a-f]{2})")


def printable(name: str) -> str:
    """A name as Python hands it out, without the surrogates that no database takes: `a\\udcff` → `a\\xff`."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def words(error: Exception) -> str:
    """What went wrong with a file, and what to try where that is known."""
    if isinstance(error, PermissionError):
        return "Permission denied (run as a user who may read it, or have it made readable)"
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__


def file_on_disk(path: str) -> tuple[str, str]:
    """The part of a shown path that names a file, and the name to open it with.

    `/a/b.tar.gz!c` → `/a/b.tar.gz`, unless a file is called `b.tar.gz!c`. Where there is no such file, the text before
    the first `!`.
    """
    parts = path.split("!")
    for end in range(len(parts), 0, -1):
        shown = "!".join(parts[:end])
        for name in _spellings(shown):
            if os.path.isfile(name):
                return shown, name
    return parts[0], parts[0]


def _spellings(shown: str) -> Iterator[str]:
    yield shown
    if "\\x" in shown:
        yield os.fsdecode(_ESCAPE.sub(lambda match: bytes([int(match.group(1), 16)]), os.fsencode(shown)))
