"""Reads a secret out of a file that only its owner, and a group as Kubernetes mounts them for, may read."""

from __future__ import annotations

import os
import stat

from aiscorr.errors import UsageError

#: Others may not read or write a secret; the group may read it, as Kubernetes mounts secrets for a group.
_OPEN_MODE = stat.S_IRWXO | stat.S_IWGRP | stat.S_IXGRP
_MOST_BYTES = 1 << 16


def read_secret(path: str, what: str, where: str = "") -> str:
    """The text in a file; `what` it is (a token, an address), `where` the path is named.

    Raises UsageError where it cannot be read, or where others may read or change it.
    """
    place = f"{where}: {path}" if where else path
    try:
        with open(path, encoding="utf-8") as handle:
            mode = stat.S_IMODE(os.fstat(handle.fileno()).st_mode)
            text = handle.read(_MOST_BYTES).strip()
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UsageError(f"the {what} cannot be read: {said}", where=place, try_this="check the path") from None
    if mode & _OPEN_MODE:
        raise UsageError(
            f"others than its owner may read or change the {what} (mode {mode:04o})",
            where=place,
            try_this=f"chmod 600 {path}, and a new {what} if others were at it",
        )
    return text
