"""The folder beside a database where an ingest keeps rows on their way into it; what a killed one left is removed.

An owner holds a lock on a file in its folder as long as it lives, so a folder whose lock is free is nobody's.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from typing import IO

from aiscorr.errors import DatabaseError
from aiscorr.model import WORK_PREFIX

_LOCK = "owner.lock"


@contextlib.contextmanager
def work_folder(db_path: str) -> Iterator[str]:
    """A folder of this process's own, gone when the block ends. Raises DatabaseError where none can be made."""
    base = os.path.dirname(os.path.realpath(db_path))
    remove_stale(base)
    with contextlib.ExitStack() as stack:
        try:
            folder = _make(base, stack)
        except OSError as error:
            raise DatabaseError(
                f"the folder of the database cannot be written: {error.strerror}",
                where=db_path,
                try_this="name another file with --db",
            ) from None
        yield folder


def _make(base: str, stack: contextlib.ExitStack) -> str:
    """A new folder whose lock is held. The stack knows how to remove it before it is there: Ctrl-C may come between."""
    for _ in range(20):
        folder = os.path.join(base, f"{WORK_PREFIX}{secrets.token_hex(8)}")
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        os.mkdir(folder, 0o700)
        lock = _take(folder)
        if lock is not None:
            stack.enter_context(lock)
            return folder
        shutil.rmtree(folder, ignore_errors=True)  # another ingest took the new folder for a stale one
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


def _take(folder: str) -> IO[str] | None:
    """The folder's lock, held; None where another process holds it, has removed it, or owns the folder."""
    path = os.path.join(folder, _LOCK)
    try:
        handle = open(path, "a")  # noqa: SIM115 (the caller closes it)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(handle.fileno()), os.stat(path)):
            return handle
    except OSError:
        pass
    handle.close()
    return None


def remove_stale(base: str) -> None:
    """Removes the work folders in a folder whose owners are dead."""
    try:
        names = [name for name in os.listdir(base) if name.startswith(WORK_PREFIX)]
    except OSError:
        return
    for name in names:
        folder = os.path.join(base, name)
        if os.path.islink(folder) or not _holds_only_rows(folder):
            continue
        lock = _take(folder)
        if lock is not None:
            with lock:
                shutil.rmtree(folder, ignore_errors=True)


def _holds_only_rows(folder: str) -> bool:
    """Whether an ingest made it: a folder of that name with anything else in it is the user's."""
    try:
        return all(name == _LOCK or name.endswith((".arrow", ".parquet")) for name in os.listdir(folder))
    except OSError:
        return False
