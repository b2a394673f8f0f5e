"""Finds the processes of a recording by an environment variable only it has, so that nothing else is ever touched."""

from __future__ import annotations

import os
import signal
from pathlib import Path

MARK = "TRAIN_SUBMISSION"


def environment_of(pid: int) -> dict[str, str]:
    """The environment a process was started with; empty where it is gone or another user's."""
    try:
        raw = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return {}
    pairs = (part.partition("=") for part in raw.decode("utf-8", "replace").split("\0") if "=" in part)
    return {name: value for name, _, value in pairs}


def parent_of(pid: int) -> int:
    """The parent of a process, 0 where it is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def marked(mark: str) -> list[int]:
    """All processes of a recording, in the order of their ids."""
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return sorted(pid for pid in pids if environment_of(pid).get(MARK) == mark)


def rank_processes(mark: str, launchers: tuple[int, ...]) -> dict[int, int]:
    """The main process of each rank: the one its launcher started."""
    found = {}
    for pid in marked(mark):
        rank = environment_of(pid).get("RANK", "")
        if rank.isdigit() and parent_of(pid) in launchers:
            found[int(rank)] = pid
    return found


def loader_processes(mark: str, parent: int) -> list[int]:
    """The data loading processes a rank forked."""
    return [pid for pid in marked(mark) if parent_of(pid) == parent and not _is_tracker(pid)]


def end_all(mark: str) -> None:
    """Kills what is left of a recording."""
    for pid in marked(mark):
        send(pid, signal.SIGKILL)


def send(pid: int, number: int) -> None:
    """Sends a signal to a process that may be gone already."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def _is_tracker(pid: int) -> bool:
    try:
        return b"resource_tracker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
