"""A /proc made of files, as the collector reads it."""

from __future__ import annotations

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


class FakeProc:
    """A /proc to which processes are added; the machine booted at second 1000."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(exist_ok=True)
        (root / "stat").write_text("cpu 1 2 3\nbtime 1000\n")

    def add(
        self, pid: int, parent: int, command: str, environment: str = "", *, name: str = "python3", state: str = "S",
        files: tuple[str, ...] = (), maps: str = "", started: int = 10,
    ) -> Path:  # fmt: skip
        """A process: words of command and NAME=VALUE pairs are parted by blanks."""
        base = self.root / str(pid)
        (base / "fd").mkdir(parents=True)
        values = [state, str(parent), *["0"] * 17, str(started * TICKS), "0"]
        (base / "stat").write_text(f"{pid} ({name}) {' '.join(values)}\n")
        (base / "cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in command.split()))
        (base / "environ").write_bytes(b"".join(word.encode() + b"\0" for word in environment.split()))
        (base / "maps").write_text(maps)
        for number, path in enumerate(files):
            (base / "fd" / str(number)).symlink_to(path)
        return base


def fake_py_spy(folder: Path, script: str) -> str:
    """A program that stands for py-spy."""
    path = folder / "py-spy"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)
