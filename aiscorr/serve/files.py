"""Writes files so that a crash leaves the old one or the new one."""

from __future__ import annotations

import os


def replace_file(path: str, text: str) -> None:
    """Puts a text in the place of a file; it is on the disk when this returns."""
    part = f"{path}.writing"
    with open(part, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
