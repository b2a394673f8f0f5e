"""Which files a path stands for: folders recursively, links resolved once, loops and devices named."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

from aiscorr.model import WORK_PREFIX, SourceRef, Unreadable
from aiscorr.sources.names import printable, words

_SKIPPED_FOLDERS = {".git", "__pycache__", ".venv", "node_modules"}
_INT64 = (1 << 63) - 1


def discover(paths: Iterable[str]) -> Iterator[SourceRef | Unreadable]:
    """Every regular file below the paths, once each by its real path, in sorted order.

    A link is followed to the file it names, so `aistarget.INFO` and the file behind it are one. A
    folder that contains itself through a link is entered once. Sockets, pipes and devices are named.
    """
    seen_files: set[tuple[int, int]] = set()
    seen_folders: set[tuple[int, int]] = set()
    for path in paths:
        yield from _walk(os.path.abspath(path), seen_files, seen_folders)


def _walk(
    path: str, seen_files: set[tuple[int, int]], seen_folders: set[tuple[int, int]]
) -> Iterator[SourceRef | Unreadable]:
    folders: dict[str, str] = {}
    pending = [path]
    while pending:
        current = pending.pop()
        try:
            info = os.stat(current)
        except OSError as error:
            yield _broken(current, error)
            continue
        identity = (info.st_dev, info.st_ino)
        if stat.S_ISDIR(info.st_mode):
            if identity in seen_folders:
                continue
            seen_folders.add(identity)
            try:
                names = sorted(os.listdir(current), reverse=True)
            except OSError as error:
                yield Unreadable(printable(current), f"folder cannot be listed: {words(error)}")
                continue
            pending.extend(os.path.join(current, name) for name in names if not _is_skipped(name))
        elif stat.S_ISREG(info.st_mode):
            if identity in seen_files:
                continue
            seen_files.add(identity)
            real = _real(current, folders)
            yield SourceRef(
                printable(real), real, stored_byte_count=info.st_size, modified_ns=min(info.st_mtime_ns, _INT64)
            )
        else:
            yield Unreadable(printable(current), "not a regular file (socket, pipe or device): skipped", is_error=False)


def _real(path: str, folders: dict[str, str]) -> str:
    """The path without links; that of a folder is found once for all files in it."""
    if os.path.islink(path):
        return os.path.realpath(path)
    folder, name = os.path.split(path)
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    return os.path.join(folders[folder], name)


def _is_skipped(name: str) -> bool:
    """No logs: version control, caches, and the folders that ingests work in."""
    return name in _SKIPPED_FOLDERS or name.startswith(WORK_PREFIX)


def _broken(path: str, error: OSError) -> Unreadable:
    if os.path.islink(path):
        return Unreadable(printable(path), f"link to nothing: {printable(os.readlink(path))}", is_error=False)
    return Unreadable(printable(path), f"cannot be read: {words(error)}")
