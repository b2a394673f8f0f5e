"""Reads the processes below a given /proc: command, environment, open files, and how they hang together.

Needs only the standard library: it is sent to the nodes as text.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

_PIPE = re.compile(r"(\d{1,6})\.pipe$")


@dataclass(frozen=True)
class Process:
    """A process as /proc shows it; `environment` is empty where it may not be read."""

    pid: int
    parent_pid: int
    name: str
    state: str
    started_s: float
    uid: int
    command: tuple[str, ...]
    environment: dict[str, str]
    program: str
    is_readable: bool


def read_processes(proc: str = "/proc") -> dict[int, Process]:
    """Every process below `proc`; one that ends meanwhile is left out."""
    boot_s = _boot_s(proc)
    found = {}
    for name in sorted(os.listdir(proc)):
        if name.isdigit():
            try:
                found[int(name)] = _read_process(proc, int(name), boot_s)
            except (OSError, ValueError, IndexError):
                continue
    return found


def _read_process(proc: str, pid: int, boot_s: float) -> Process:
    base = os.path.join(proc, str(pid))
    text = _bytes(os.path.join(base, "stat")).decode("utf-8", "replace")
    name = text[text.index("(") + 1 : text.rindex(")")]
    values = text[text.rindex(")") + 2 :].split()
    try:
        block, is_readable = _bytes(os.path.join(base, "environ")), True
    except OSError:
        block, is_readable = b"", False
    pairs = [item.decode("utf-8", "replace").partition("=") for item in block.split(b"\0") if b"=" in item]
    words = _bytes(os.path.join(base, "cmdline")).rstrip(b"\0").split(b"\0")
    return Process(
        pid=pid,
        parent_pid=int(values[1]),
        name=name,
        state=values[0],
        started_s=boot_s + int(values[19]) / os.sysconf("SC_CLK_TCK"),
        uid=os.stat(base).st_uid,
        command=tuple(word.decode("utf-8", "replace") for word in words),
        environment={key: value for key, _, value in pairs},
        program=_link(os.path.join(base, "exe")),
        is_readable=is_readable,
    )


def _boot_s(proc: str) -> float:
    for line in _bytes(os.path.join(proc, "stat")).splitlines():
        if line.startswith(b"btime "):
            return float(line.split()[1])
    return 0.0


def _bytes(path: str) -> bytes:
    with open(path, "rb") as handle:
        return handle.read()


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def open_files(pid: int, proc: str = "/proc") -> list[str]:
    """What the file descriptors of a process stand for; nothing where that may not be read."""
    base = os.path.join(proc, str(pid), "fd")
    try:
        return [_link(os.path.join(base, name)) for name in sorted(os.listdir(base))]
    except OSError:
        return []


def dump_pipe(pid: int, proc: str = "/proc") -> tuple[str, int] | None:
    """The pipe a rank reads dump signals from and the rank in its name: `/tmp/fr_3.pipe` → 3 (PyTorch 2.3 on)."""
    for path in open_files(pid, proc):
        match = _PIPE.search(path)
        if match:
            return path, int(match.group(1))
    return None


class Tree:
    """The processes of a node and how they hang together."""

    def __init__(self, processes: dict[int, Process], proc: str) -> None:
        self.processes, self.proc = processes, proc
        self.children: dict[int, list[Process]] = {}
        for process in processes.values():
            self.children.setdefault(process.parent_pid, []).append(process)

    def ancestors(self, process: Process) -> list[Process]:
        """Parents from the nearest on."""
        found: list[Process] = []
        while process.parent_pid in self.processes and process.parent_pid not in {item.pid for item in found}:
            process = self.processes[process.parent_pid]
            found.append(process)
        return found

    def below(self, pid: int, stop: set[int]) -> list[Process]:
        """Everything below a process, but not what belongs to a process of `stop`."""
        found: list[Process] = []
        for child in self.children.get(pid, []):
            if child.pid not in stop:
                found += [child, *self.below(child.pid, stop)]
        return found

    def uses_torch(self, process: Process) -> bool:
        """Torch is loaded or a GPU is open."""
        try:
            maps = _bytes(os.path.join(self.proc, str(process.pid), "maps"))
        except OSError:
            maps = b""
        return b"libtorch" in maps or b"libc10" in maps or self.holds_gpu(process)

    def holds_gpu(self, process: Process) -> bool:
        """A device file of a GPU is open."""
        return any(re.match(r"/dev/(?:nvidia\d|kfd)", path) for path in open_files(process.pid, self.proc))
