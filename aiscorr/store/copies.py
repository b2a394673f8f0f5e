"""Copies the file of a database and puts a copy in its place; knows nothing of what is in it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from typing import BinaryIO

from aiscorr.disk import sync

_FICLONE = 0x40049409


def copy_at_rest(path: str, copy: str) -> bool:
    """Copies a database with its log, or says no: a program has it open to write. Takes DuckDB's own lock to read."""
    with open(path, "rb") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return False
        _copy(file, copy)
        if os.path.exists(f"{path}.wal"):
            with open(f"{path}.wal", "rb") as log:
                _copy(log, f"{copy}.wal")
    return True


def publish(copy: str, path: str) -> None:
    """Puts a closed copy on the disk and in the place of the database."""
    sync(copy)
    os.replace(copy, path)
    remove(f"{path}.wal")


def remove(path: str) -> None:
    """Removes a copy, and what DuckDB keeps beside it, where they are."""
    for name in (path, f"{path}.wal", f"{path}.small", f"{path}.small.wal"):
        with contextlib.suppress(FileNotFoundError):
            os.remove(name)
    shutil.rmtree(f"{path}.tmp", ignore_errors=True)


def _copy(old: BinaryIO, target: str) -> None:
    """A copy that shares blocks where the file system can, else byte by byte."""
    with open(target, "wb") as new:
        try:
            fcntl.ioctl(new.fileno(), _FICLONE, old.fileno())
        except OSError:
            shutil.copyfileobj(old, new, 1 << 22)
