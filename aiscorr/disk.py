"""Puts files on the disk so that a crash leaves the old one or the new one."""

from __future__ import annotations

import os


def sync(path: str | os.PathLike[str]) -> None:
    """Waits until a file, or a folder's list of names, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_file(path: str | os.PathLike[str], text: str, *, part: str | os.PathLike[str] | None = None) -> None:
    """Puts a text in the place of a file, whole and on the disk; `part`: what it is called until then."""
    part = part if part is not None else f"{os.fspath(path)}.writing"
    with open(part, "w", encoding="utf-8") as file:
        file.write(text)
    sync(part)
    os.replace(part, path)
    sync(os.path.dirname(os.path.abspath(path)))
